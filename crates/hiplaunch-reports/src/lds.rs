//! Draws an LDS layout as SVG.

use plotters::prelude::{FontFamily, RGBColor};
use plotters::style::FontStyle;
use plotters::style::text_anchor::HPos;

use crate::canvas::{Canvas, picture};
use crate::style::{FAINT, ON_COLOUR, PALE, TEXT};

use lds_layout::LdsLayout;
use lds_layout::picture::{Grid, Mark};

/// Sizes are in pixels.
const WIDTH: i32 = 960;
const LEFT: i32 = 84;
const RIGHT: i32 = 16;
const TOP: i32 = 40;
/// The height of the bytes.
const HEIGHT: i32 = 320;
/// The height of a line below the bytes: positions, the legend, and one line for each barrier.
const LINE: i32 = 18;
/// The approximate width of a character.
const CHARACTER: i32 = 7;
/// The number of barriers that are explained at most.
const EXPLAINED: usize = 24;
/// The smallest height of a box with a name.
const NAMED: i32 = 14;

const INSERTED: RGBColor = RGBColor(0xcf, 0x22, 0x2e);
/// The fill colours of the boxes, in turn. White text is readable on each.
const FILLS: [RGBColor; 6] = [
    RGBColor(0x09, 0x69, 0xda),
    RGBColor(0x82, 0x50, 0xdf),
    RGBColor(0x1a, 0x7f, 0x37),
    RGBColor(0xbc, 0x4c, 0x00),
    RGBColor(0x0e, 0x6f, 0x7c),
    RGBColor(0xbf, 0x39, 0x89),
];

/// Draws the layout as a self-contained SVG picture, for light and dark pages: time from left to right, bytes from
/// bottom to top, a box for each buffer, a grey line for each barrier of the kernel, and a red line for each inserted
/// barrier, which is explained below.
pub fn lds_svg(layout: &LdsLayout) -> String {
    let grid = Grid::new(layout);
    let explained = layout.inserted().len().min(EXPLAINED);
    let rows = explained + usize::from(explained < layout.inserted().len());
    let height = TOP + HEIGHT + LINE * (2 + rows as i32);
    picture((WIDTH, height), &format!("LDS layout: {} bytes", layout.total()), |canvas| {
        text(canvas, LEFT, LINE, TEXT, &Grid::headline(layout));
        draw(layout, &grid, canvas);
        let mut y = TOP + HEIGHT + LINE * 2;
        for barrier in layout.inserted().iter().take(explained) {
            text(canvas, LEFT, y, INSERTED, &shortened(barrier.to_string(), WIDTH - LEFT - RIGHT));
            y += LINE;
        }
        if explained < layout.inserted().len() {
            let others = format!("and {} more barriers", layout.inserted().len() - explained);
            text(canvas, LEFT, y, FAINT, &others);
        }
    })
}

const FONT: (FontFamily<'_>, f64, FontStyle) = (FontFamily::SansSerif, 12.0, FontStyle::Normal);

/// Draws text from `x` on, centred vertically on `y`.
fn text(canvas: &mut Canvas<'_>, x: i32, y: i32, colour: RGBColor, text: &str) {
    canvas.text((x, y), HPos::Left, FONT, colour, text);
}

fn draw(layout: &LdsLayout, grid: &Grid, canvas: &mut Canvas<'_>) {
    let columns = grid.columns.len().max(1) as i64;
    let across = i64::from(WIDTH - LEFT - RIGHT);
    let x = |column: usize| LEFT + (column as i64 * across / columns) as i32;
    let total = i64::from(layout.total().max(1));
    let y = |bytes: u32| TOP + HEIGHT - (i64::from(bytes) * i64::from(HEIGHT) / total) as i32;
    let mut free = i32::MAX;
    for &bound in &grid.bounds {
        canvas.fill(LEFT, y(bound), WIDTH - LEFT - RIGHT, 1, PALE);
        // Labels that would overlap are left out; the total is in the headline too.
        if y(bound) + NAMED <= free {
            canvas.text((LEFT - 8, y(bound)), HPos::Right, FONT, FAINT, &bound.to_string());
            free = y(bound);
        }
    }
    let mut free = 0;
    for (column, its) in grid.columns.iter().enumerate() {
        let middle = (x(column) + x(column + 1)) / 2;
        match its.mark {
            Mark::Inserted => canvas.fill(middle - 1, TOP - 8, 3, HEIGHT + 8, INSERTED),
            Mark::Barrier(true) => canvas.fill(middle, TOP - 8, 2, HEIGHT + 8, FAINT),
            Mark::Barrier(false) => canvas.fill(middle, TOP - 8, 2, 8, FAINT),
            Mark::Access => {}
        }
        let label = its.position.to_string();
        let width = text_width(&label);
        if its.mark != Mark::Inserted && x(column) >= free && x(column) + width <= WIDTH - RIGHT {
            text(canvas, x(column), TOP + HEIGHT + LINE / 2 + 4, FAINT, &label);
            free = x(column) + width + CHARACTER;
        }
    }
    for cell in &grid.boxes {
        let Some(buffer) = layout.buffers().get(cell.buffer) else { continue };
        let bound = |index: usize| grid.bounds.get(index).copied().unwrap_or(0);
        let (top, bottom) = (y(bound(cell.bounds.1)), y(bound(cell.bounds.0)));
        let (left, right) = (x(cell.columns.0), x(cell.columns.1 + 1));
        let fill = FILLS.get(cell.buffer % FILLS.len()).copied().unwrap_or(TEXT);
        let (width, height) = ((right - left - 1).max(1), (bottom - top - 1).max(1));
        canvas.fill(left, top + 1, width, height, fill);
        let label = format!("{} ({} B)", buffer.name, buffer.size);
        let label = if text_width(&label) + 8 <= width { label } else { buffer.name.to_string() };
        if height >= NAMED && text_width(&label) + 8 <= width {
            text(canvas, left + 4, (top + bottom) / 2 + 1, ON_COLOUR, &label);
        }
    }
}

fn text_width(text: &str) -> i32 {
    text.chars().count() as i32 * CHARACTER
}

fn shortened(text: String, width: i32) -> String {
    let most = (width / CHARACTER).max(1) as usize;
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['\u{2026}']).collect(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use lds_layout::{LdsBuilder, Uniformity};

    use super::*;

    /// Two tiles in a loop, and a sum after it.
    fn layout() -> LdsLayout {
        let mut kernel = LdsBuilder::new(0..=100).unwrap();
        let a = kernel.buffer("tile a", 4096).unwrap();
        let b = kernel.buffer("tile b", 2048).unwrap();
        let sum = kernel.buffer("<sum> & \"more\"", 1024).unwrap();
        kernel.begin_loop(10, Uniformity::UniformTaken).unwrap();
        kernel.write(a, 20).unwrap();
        kernel.read(a, 21).unwrap();
        kernel.barrier(25).unwrap();
        kernel.write(b, 30).unwrap();
        kernel.read(b, 31).unwrap();
        kernel.end_loop(40).unwrap();
        kernel.begin_branch(50, Uniformity::Divergent).unwrap();
        kernel.write(sum, 51).unwrap();
        kernel.barrier(52).unwrap();
        kernel.read(sum, 53).unwrap();
        kernel.end_branch(60).unwrap();
        kernel.build().unwrap().layout_within(4096).unwrap()
    }

    #[test]
    fn the_picture_has_every_buffer_and_barrier() {
        let layout = layout();
        let svg = lds_svg(&layout);
        let document = roxmltree::Document::parse(&svg).unwrap();
        assert_eq!(document.root_element().tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
        let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).map(str::trim).collect();
        for name in ["tile a (4096 B)", "tile b (2048 B)", "<sum> & \"more\" (1024 B)", "4096", "0"] {
            assert!(texts.contains(&name), "{name}: {texts:?}");
        }
        for barrier in layout.inserted() {
            assert!(texts.contains(&barrier.to_string().as_str()), "{barrier}: {texts:?}");
        }
        let number = |node: roxmltree::Node<'_, '_>, name: &str| {
            node.attribute(name).and_then(|v| v.parse::<i32>().ok())
        };
        let (width, height) = (
            number(document.root_element(), "width").unwrap(),
            number(document.root_element(), "height").unwrap(),
        );
        let rects: Vec<_> = document.descendants().filter(|node| node.has_tag_name("rect")).collect();
        for &rect in &rects {
            let at = |name| number(rect, name).unwrap();
            assert!(at("x") >= 0 && at("x") + at("width") <= width, "{rect:?}");
            assert!(at("y") >= 0 && at("y") + at("height") <= height, "{rect:?}");
        }
        let red = rects.iter().filter(|rect| rect.attribute("fill") == Some("#CF222E")).count();
        assert_eq!(red, layout.inserted().len());
    }
}
