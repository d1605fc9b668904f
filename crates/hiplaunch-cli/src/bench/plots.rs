//! The figures: lines for each axis, and bars for the typical launch.

use hiplaunch_reports::style::{BACKGROUND, FAINT, PALE, TEXT, finish};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::cases::Point;
use super::methods::LaunchMethod;
use super::report::{Quantity, digits, time, times};
use super::results::{Measured, Results};

/// The widths of the figures in pixels, and of the names of lines. They fit on a phone, with letters of a readable size.
const WIDTH: u32 = 520;
const NAMES: i32 = 390;
const LINES_HEIGHT: u32 = 340;

/// The colour of a method in light and in dark mode. All methods of driver calls alone have the same colour.
fn colours(method: LaunchMethod) -> (RGBColor, RGBColor) {
    let rgb = |word: u32| RGBColor((word >> 16) as u8, (word >> 8) as u8, word as u8);
    match method {
        LaunchMethod::Naive => (rgb(0xcf222e), rgb(0xff7b72)),
        LaunchMethod::Async => (rgb(0xbc4c00), rgb(0xffa657)),
        LaunchMethod::Value => (rgb(0x0969da), rgb(0x58a6ff)),
        LaunchMethod::Block => (rgb(0x1a7f37), rgb(0x3fb950)),
        LaunchMethod::Unchanged => (rgb(0x8250df), rgb(0xd2a8ff)),
        LaunchMethod::Mapped => (rgb(0x1b7c83), rgb(0x39c5cf)),
        LaunchMethod::Graph => (rgb(0xbf3989), rgb(0xff9bce)),
        _ => (FAINT, rgb(0x9198a1)),
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Returns a picture with colours for light and dark pages, and a title.
fn picture(height: u32, title: &str, draw: impl FnOnce(&Area<'_>) -> Drawn) -> String {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        let drawn = area.fill(&BACKGROUND).map_err(Into::into).and_then(|()| draw(&area));
        if let Err(e) = drawn.and_then(|()| Ok(area.present()?)) {
            // Writing to a string can't fail.
            log::error!("drawing a figure: {e}");
        }
    }
    let hex = |RGBColor(r, g, b): RGBColor| format!("#{r:02X}{g:02X}{b:02X}");
    let dark = |(from, to): (RGBColor, RGBColor)| {
        let (from, to) = (hex(from), hex(to));
        format!("[stroke=\"{from}\"] {{ stroke: {to} }} [fill=\"{from}\"] {{ fill: {to} }} ")
    };
    let lines = (PALE, RGBColor(0x37, 0x3e, 0x47));
    let rules: String = std::iter::once(lines).chain(LaunchMethod::all().map(colours)).map(dark).collect();
    let style = format!("<style>@media (prefers-color-scheme: dark) {{ {rules}}}</style>\n");
    finish(svg.replacen(">\n", &format!(">\n{style}"), 1), title)
}

fn text(size: f64, colour: &RGBColor, across: HPos) -> TextStyle<'_> {
    // The backend divides the size by 1.24.
    TextStyle::from(("sans-serif", size * 1.24).into_font()).color(colour).pos(Pos::new(across, VPos::Center))
}

/// Returns the picture of the typical launch, a bar for each method; an empty picture if it was not measured.
pub(super) fn bars(results: &Results) -> String {
    let typical = results.find(Point::TYPICAL);
    let bars = typical.into_iter().flat_map(|measured| {
        measured.cases.iter().filter_map(|case| {
            let faster = measured.over_naive(case.method).filter(|_| case.method != LaunchMethod::Naive);
            let faster = faster.map_or_else(String::new, |s| format!(", {}", times(s.median)));
            let total = case.total()?;
            Some((case.method, total, format!("{}{faster}", time(total.median))))
        })
    });
    let bars: Vec<_> = bars.collect();
    let longest = bars.iter().map(|(_, total, _)| total.median).fold(1e-3, f64::max);
    picture(90 + 28 * bars.len() as u32, "A typical launch: microseconds by method", |area| {
        area.draw_text("A launch, by method", &text(15.0, &TEXT, HPos::Left), (12, 18))?;
        let job =
            "64 bytes of arguments, 64-byte result, 16 before a read; median; thin: 10th to 90th percentile";
        area.draw_text(job, &text(10.5, &FAINT, HPos::Left), (12, 38))?;
        // To the right of the longest bar is room for its label.
        let mut chart = ChartBuilder::on(area)
            .margin_top(50)
            .margin_left(146)
            .x_label_area_size(36)
            .build_cartesian_2d(0.0..longest * 1.5 / 1e3, bars.len() as f64..0.0)?;
        let x_text = |us: &f64| format!("{us}");
        let mut mesh = chart.configure_mesh();
        mesh.disable_y_mesh().disable_y_axis().light_line_style(PALE.mix(0.0)).bold_line_style(PALE);
        mesh.x_labels(5).x_label_formatter(&x_text).x_desc("microseconds a launch").axis_style(PALE);
        mesh.label_style(text(11.0, &FAINT, HPos::Center)).draw()?;
        for (row, (method, total, label)) in bars.iter().enumerate() {
            let (colour, middle) = (colours(*method).0, row as f64 + 0.5);
            let half = if method.is_floor() { 0.15 } else { 0.3 };
            let us = |ns: f64| ns.min(longest * 1.2) / 1e3;
            let corners = [(0.0, middle - half), (us(total.median), middle + half)];
            chart.plotting_area().draw(&Rectangle::new(corners, colour.filled()))?;
            let spread = [(us(total.p10), middle + 0.4), (us(total.p90), middle + 0.4)];
            chart.plotting_area().draw(&PathElement::new(spread, colour))?;
            let end = (us(total.median) + longest * 0.02 / 1e3, middle);
            chart.plotting_area().draw(&Text::new(label.as_str(), end, text(13.0, &TEXT, HPos::Left)))?;
            let name = if method.is_floor() { &FAINT } else { &TEXT };
            let y = chart.plotting_area().map_coordinate(&(0.0, middle)).1;
            area.draw_text(method.row().title, &text(13.0, name, HPos::Right), (138, y))?;
        }
        Ok(())
    })
}

/// Returns a picture with a line for each method over the points of an axis; `None` if no line has two points. Times are in
/// powers of two. It leaves out a method of driver calls alone if another such method is at least as fast.
pub(super) fn lines(points: &[&Measured], quantity: Quantity) -> Option<String> {
    let of = |method: LaunchMethod| {
        let mark = |(x, m): (usize, &&Measured)| Some((x as f64, quantity.of(m.case(method)?)?));
        let marks: Vec<_> =
            points.iter().enumerate().filter_map(mark).filter(|(_, [y, ..])| *y > 0.0).collect();
        (method, marks)
    };
    let drawn = |method: &LaunchMethod| {
        !method.is_floor() || matches!(method, LaunchMethod::RawBlock | LaunchMethod::RawMapped)
    };
    let mut series: Vec<_> = LaunchMethod::all().filter(drawn).map(of).collect();
    series.retain(|(_, marks)| !marks.is_empty());
    if series.iter().all(|(_, marks)| marks.len() < 2) {
        return None;
    }
    // The names are in the order of the lines' ends.
    let end = |marks: &[(f64, [f64; 3])]| marks.last().map_or(0.0, |(_, [median, ..])| *median);
    series.sort_by(|(_, a), (_, b)| end(b).total_cmp(&end(a)));
    let axis = points.first()?.point.axis.row();
    let medians = || series.iter().flat_map(|(_, marks)| marks).map(|(_, [median, ..])| *median);
    let (low, high) = (medians().fold(f64::MAX, f64::min), medians().fold(0.0, f64::max));
    // Spreads may leave the figure: a disturbance of the machine must not compress the lines.
    let (low, high) = ((low / 1.2).log2().floor().exp2(), (high * 1.2).log2().ceil().exp2());
    let title = format!("{}: {} by {}", axis.title, quantity.unit(), axis.unit);
    Some(picture(LINES_HEIGHT, &title, |area| {
        let (left, right) = area.split_horizontally(NAMES);
        let mut chart = ChartBuilder::on(&left)
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(52)
            .build_cartesian_2d(-0.3..points.len() as f64 - 0.7, (low..high).log_scale().base(2.0))?;
        let x_text = |x: &f64| {
            let whole = (x - x.round()).abs() < 1e-6 && *x >= 0.0;
            points.get(x.round() as usize).filter(|_| whole).map_or_else(String::new, |m| m.point.label())
        };
        let y_text = |y: &f64| digits(*y);
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh().light_line_style(PALE.mix(0.0)).bold_line_style(PALE).axis_style(PALE);
        mesh.x_labels(points.len()).x_label_formatter(&x_text).x_desc(axis.unit);
        mesh.y_labels(12).y_label_formatter(&y_text).y_desc(quantity.unit());
        mesh.label_style(text(11.0, &FAINT, HPos::Center)).draw()?;
        for (row, (method, marks)) in series.iter().enumerate() {
            let colour = colours(*method).0;
            let line: Vec<_> = marks.iter().map(|(x, [median, ..])| (*x, *median)).collect();
            let style = colour.stroke_width(if method.is_floor() { 1 } else { 2 });
            chart.plotting_area().draw(&PathElement::new(line, style))?;
            for (x, [median, p10, p90]) in marks {
                let spread = [(*x, p10.max(low)), (*x, p90.min(high))];
                chart.plotting_area().draw(&PathElement::new(spread, colour))?;
                chart.plotting_area().draw(&Circle::new((*x, *median), 3, colour.filled()))?;
            }
            let y = 40 + 20 * row as i32;
            right.draw(&Rectangle::new([(0, y - 1), (12, y + 1)], colour.filled()))?;
            right.draw_text(method.row().title, &text(12.0, &colour, HPos::Left), (17, y))?;
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::results;
    use super::*;

    #[test]
    fn figures_are_well_formed_and_name_their_lines() {
        let results = results();
        let points: Vec<_> = results.points.iter().collect();
        let figures = [Quantity::Total, Quantity::Host, Quantity::Device, Quantity::Rate]
            .map(|quantity| lines(&points, quantity).unwrap());
        for svg in figures.iter().chain([&bars(&results)]) {
            let document = roxmltree::Document::parse(svg).unwrap();
            assert_eq!(document.root_element().tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
            assert!(document.descendants().any(|n| n.text().is_some_and(|t| t.contains("argument block"))));
        }
        assert!(lines(&points[..1], Quantity::Total).is_none(), "a line needs two points");
        roxmltree::Document::parse(&bars(&Results::default())).unwrap();
    }
}
