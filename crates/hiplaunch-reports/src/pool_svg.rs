//! A snapshot as an SVG picture: a bar for each segment, grouped by stream, its blocks coloured by what they are.
//!
//! First everything is laid out, as rectangles and texts, then drawn.

use plotters::prelude::{DrawingBackend, FontFamily, IntoFont, RGBColor, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, TextStyle};

use crate::style::{BACKGROUND, FAINT, ON_COLOUR, TEXT, finish};

use hiplaunch::memory::report::{Sums, amount, stream_line};
use hiplaunch::memory::{BlockState, PoolSnapshot, SegmentSnapshot};

/// Sizes in pixels.
const WIDTH: i32 = 960;
const MARGIN: i32 = 16;
const SIZE_LEFT: i32 = 148;
const BAR_LEFT: i32 = 232;
const BAR_WIDTH: i32 = WIDTH - MARGIN - BAR_LEFT;
const BAR_HEIGHT: i32 = 18;
const ROW: i32 = 24;
/// The narrowest bar: one that is to scale could not be seen.
const BAR_LEAST: i32 = 3;

/// Segments of a stream that get a bar of their own; the smallest of more share one.
const SEGMENTS_SHOWN: usize = 12;
/// Streams that are shown; those with the least memory of more are only counted.
const STREAMS_SHOWN: usize = 16;

/// What a stretch of a bar is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Requested,
    Slack,
    HeldBack,
    Cached,
    Free,
}

impl Part {
    const ALL: [Part; 5] = [Part::Requested, Part::Slack, Part::HeldBack, Part::Cached, Part::Free];

    fn colour(self) -> RGBColor {
        match self {
            Part::Requested => RGBColor(0x09, 0x69, 0xda),
            Part::Slack => RGBColor(0x80, 0xcc, 0xff),
            Part::HeldBack => RGBColor(0xbc, 0x4c, 0x00),
            Part::Cached => RGBColor(0x82, 0x50, 0xdf),
            Part::Free => RGBColor(0xd8, 0xde, 0xe4),
        }
    }

    fn legend(self) -> &'static str {
        match self {
            Part::Requested => "in use",
            Part::Slack => "in use, not asked for",
            Part::HeldBack => "held back for other streams",
            Part::Cached => "cached by size",
            Part::Free => "free",
        }
    }

    /// The colour of a text on it, if it has one.
    fn text(self) -> Option<RGBColor> {
        match self {
            Part::Slack => None,
            Part::Free => Some(TEXT),
            _ => Some(ON_COLOUR),
        }
    }
}

/// A filled rectangle.
#[derive(Clone, Debug)]
struct Rect {
    x: i32,
    y: i32,
    width: i32,
    height: i32,
    colour: RGBColor,
}

/// A line of text in a font whose characters are all as wide.
#[derive(Clone, Debug)]
struct Text {
    x: i32,
    /// Of its middle.
    y: i32,
    size: i32,
    bold: bool,
    colour: RGBColor,
    text: String,
}

/// Pixels of a text. The fonts that stand for `monospace` have characters 0.55 to 0.61 as wide as high.
fn text_width(text: &str, size: i32) -> i32 {
    (text.chars().count() as f64 * 0.61 * f64::from(size)).ceil() as i32
}

#[derive(Debug, Default)]
struct Picture {
    rects: Vec<Rect>,
    texts: Vec<Text>,
    /// How far down it goes.
    y: i32,
}

/// Bytes of one kind in a row.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    part: Part,
    bytes: u64,
    /// Whether a block begins with it.
    starts_block: bool,
}

/// The stretches of a segment, in order.
fn stretches(segment: &SegmentSnapshot) -> impl Iterator<Item = Stretch> {
    let parts = segment.blocks.iter().flat_map(|block| {
        let (part, bytes, rest) = match block.state {
            BlockState::InUse => {
                let requested = block.requested.min(block.bytes);
                (Part::Requested, requested, block.bytes - requested)
            }
            BlockState::HeldBack => (Part::HeldBack, block.bytes, 0),
            BlockState::Cached => (Part::Cached, block.bytes, 0),
            BlockState::Free => (Part::Free, block.bytes, 0),
        };
        let slack = Stretch { part: Part::Slack, bytes: rest, starts_block: false };
        [Stretch { part, bytes, starts_block: true }, slack]
    });
    parts.filter(|stretch| stretch.bytes > 0)
}

impl Picture {
    fn text(&mut self, x: i32, y: i32, size: i32, colour: RGBColor, text: impl Into<String>) {
        self.texts.push(Text { x, y, size, bold: false, colour, text: text.into() });
    }

    fn header(&mut self, snapshot: &PoolSnapshot) {
        let title = snapshot.title();
        self.texts.push(Text { x: MARGIN, y: 24, size: 15, bold: true, colour: TEXT, text: title });
        self.y = 48;
        for line in snapshot.totals() {
            self.text(MARGIN, self.y, 12, TEXT, line);
            self.y += 18;
        }
        self.y += 6;
        let mut x = MARGIN;
        for part in Part::ALL {
            self.rects.push(Rect { x, y: self.y - 6, width: 12, height: 12, colour: part.colour() });
            self.text(x + 18, self.y, 11, FAINT, part.legend());
            x += 18 + text_width(part.legend(), 11) + 18;
        }
        self.y += 28;
    }

    /// A bar of stretches that are `width` pixels together, `total` bytes.
    fn bar(&mut self, stretches: impl Iterator<Item = Stretch>, total: u64, width: i32) {
        let top = self.y - BAR_HEIGHT / 2;
        let (mut from, mut offset, mut sums) = (0, 0u64, [0u64; Part::ALL.len()]);
        for Stretch { part, bytes, starts_block } in stretches {
            sums[part as usize] += bytes;
            offset += bytes;
            let to = (offset as f64 / total.max(1) as f64 * f64::from(width)).round() as i32;
            if to <= from {
                continue;
            }
            // Stretches of less than a pixel go by what most of them are.
            let most = Part::ALL.into_iter().max_by_key(|part| sums[*part as usize]).unwrap_or(part);
            // A gap between blocks that are wide enough for one.
            let gap = i32::from(starts_block && from > 0 && to - from > 3);
            let rect = Rect {
                x: BAR_LEFT + from + gap,
                y: top,
                width: to - from - gap,
                height: BAR_HEIGHT,
                colour: most.colour(),
            };
            let label = amount(bytes);
            let fits = most == part && text_width(&label, 10) + 8 <= rect.width;
            if let Some(colour) = most.text().filter(|_| fits) {
                self.text(rect.x + 4, self.y, 10, colour, label);
            }
            self.rects.push(rect);
            (from, sums) = (to, [0; Part::ALL.len()]);
        }
    }

    fn row(&mut self, label: String, stretches: impl Iterator<Item = Stretch>, total: u64, most: u64) {
        self.text(MARGIN, self.y, 11, FAINT, label);
        self.text(SIZE_LEFT, self.y, 11, FAINT, amount(total));
        let width = (total as f64 / most.max(1) as f64 * f64::from(BAR_WIDTH)).round();
        self.bar(stretches, total, (width as i32).clamp(BAR_LEAST, BAR_WIDTH));
        self.y += ROW;
    }

    fn stream(&mut self, stream: u64, segments: &[&SegmentSnapshot], most: u64) {
        self.text(MARGIN, self.y, 12, TEXT, stream_line(stream, segments));
        self.y += 22;
        let shown = if segments.len() > SEGMENTS_SHOWN { SEGMENTS_SHOWN - 1 } else { segments.len() };
        let mut by_size: Vec<usize> = (0..segments.len()).collect();
        by_size.sort_by_key(|&i| std::cmp::Reverse(segments[i].bytes));
        let (large, small) = by_size.split_at(shown);
        let mut large = large.to_vec();
        large.sort_unstable();
        for segment in large.into_iter().map(|i| segments[i]) {
            self.row(format!("{:#x}", segment.address), stretches(segment), segment.bytes, most);
        }
        if !small.is_empty() {
            let rest = small.iter().map(|&i| segments[i]);
            let (sums, bytes) = (Sums::of(rest.clone()), rest.map(|s| s.bytes).sum::<u64>());
            let parts = [sums.requested, sums.slack, sums.held_back, sums.cached, sums.free];
            let stretches = Part::ALL.into_iter().zip(parts).filter(|(_, bytes)| *bytes > 0);
            let stretches = stretches.map(|(part, bytes)| Stretch { part, bytes, starts_block: false });
            self.row(format!("{} others", small.len()), stretches, bytes, most.max(bytes));
        }
        self.y += 8;
    }

    fn of(snapshot: &PoolSnapshot) -> Picture {
        let mut picture = Picture::default();
        picture.header(snapshot);
        let streams = snapshot.by_stream();
        let most = snapshot.segments.iter().map(|s| s.bytes).max().unwrap_or(0);
        let mut shown: Vec<(u64, u64)> = streams
            .iter()
            .map(|(stream, segments)| (segments.iter().map(|s| s.bytes).sum(), *stream))
            .collect();
        shown.sort_by_key(|&(bytes, stream)| (std::cmp::Reverse(bytes), stream));
        let hidden = shown.split_off(shown.len().min(STREAMS_SHOWN));
        for (stream, segments) in &streams {
            if shown.iter().any(|(_, number)| number == stream) {
                picture.stream(*stream, segments, most);
            }
        }
        let last = if most == 0 {
            "it holds no memory".to_owned()
        } else {
            let widths = format!("The full width is {}", amount(most));
            let bytes = hidden.iter().map(|(bytes, _)| bytes).sum();
            match hidden.len() {
                0 => widths,
                n => format!("{widths}. Not shown: {n} more streams, {} in all", amount(bytes)),
            }
        };
        picture.text(MARGIN, picture.y, 11, FAINT, last);
        picture.y += ROW;
        picture
    }

    fn draw(&self, backend: &mut SVGBackend<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        backend.draw_rect((0, 0), (WIDTH, self.y), &BACKGROUND, true)?;
        for Rect { x, y, width, height, colour } in &self.rects {
            backend.draw_rect((*x, *y), (x + width, y + height), colour, true)?;
        }
        for Text { x, y, size, bold, colour, text } in &self.texts {
            // The backend writes the size over 1.24.
            let font = (FontFamily::Monospace, f64::from(*size) * 1.24).into_font();
            let font = font.style(if *bold { FontStyle::Bold } else { FontStyle::Normal });
            let style = TextStyle::from(font).color(colour).pos(Pos::new(HPos::Left, VPos::Center));
            backend.draw_text(text, &style, (*x, *y))?;
        }
        backend.present()?;
        Ok(())
    }
}

/// The snapshot as an SVG picture that needs nothing else, for light and dark pages: a bar for each segment, to one
/// scale and grouped by stream, its blocks coloured by what they are; the totals above.
///
/// The smallest of many segments share a bar, and the smallest of many streams are only counted, so that the picture
/// is never higher than a few thousand pixels.
pub fn pool_svg(snapshot: &PoolSnapshot) -> String {
    let picture = Picture::of(snapshot);
    let mut svg = String::new();
    {
        let mut backend = SVGBackend::with_string(&mut svg, (WIDTH as u32, picture.y as u32));
        if let Err(e) = picture.draw(&mut backend) {
            // Only files can fail to be written, not strings.
            log::error!("drawing a pool: {e}");
        }
    }
    finish(svg, &snapshot.title())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{pool, segment};

    fn area(text: &Text) -> (i32, i32, i32, i32) {
        let half = text.size / 2 + 1;
        (text.x, text.y - half, text.x + text_width(&text.text, text.size), text.y + half)
    }

    /// No text leaves the picture or covers another, no bar leaves its column, and no text of a bar leaves its block.
    fn check(snapshot: &PoolSnapshot) -> Picture {
        let picture = Picture::of(snapshot);
        for (i, text) in picture.texts.iter().enumerate() {
            let (left, top, right, bottom) = area(text);
            assert!(left >= MARGIN && right <= WIDTH - MARGIN && top >= 0 && bottom <= picture.y, "{text:?}");
            for other in &picture.texts[..i] {
                let (l, t, r, b) = area(other);
                assert!(right <= l || r <= left || bottom <= t || b <= top, "{text:?} covers {other:?}");
            }
            if text.size == 10 {
                let holds = |r: &Rect| {
                    r.x <= left && right <= r.x + r.width && r.y <= top + 2 && bottom - 2 <= r.y + r.height
                };
                assert!(picture.rects.iter().any(holds), "{text:?}");
            }
        }
        for (i, rect) in picture.rects.iter().enumerate() {
            assert!(rect.width > 0 && rect.x + rect.width <= WIDTH - MARGIN, "{rect:?}");
            for other in &picture.rects[..i] {
                let beside = rect.x + rect.width <= other.x || other.x + other.width <= rect.x;
                assert!(
                    beside || (rect.y - other.y).abs() >= BAR_HEIGHT.min(rect.height),
                    "{rect:?} {other:?}"
                );
            }
        }
        let svg = pool_svg(snapshot);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let root = document.root_element();
        assert_eq!(root.attribute("height"), Some(picture.y.to_string().as_str()));
        assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
        let count = |name: &str| document.descendants().filter(|n| n.has_tag_name(name)).count();
        assert_eq!((count("rect"), count("text")), (picture.rects.len() + 1, picture.texts.len()));
        picture
    }

    #[test]
    fn every_state_has_its_bytes() {
        let snapshot = pool(vec![
            segment(
                1,
                &[
                    (BlockState::InUse, 4 << 20, 3 << 20),
                    (BlockState::HeldBack, 2 << 20, 0),
                    (BlockState::Cached, 1 << 20, 0),
                    (BlockState::Free, 1 << 20, 0),
                ],
            ),
            segment(2, &[(BlockState::Free, 4 << 20, 0)]),
        ]);
        let picture = check(&snapshot);
        let width = |part: Part| -> i32 {
            // The legend's are 12 wide.
            let own = picture.rects.iter().filter(|r| r.colour == part.colour() && r.height == BAR_HEIGHT);
            own.map(|r| r.width).sum()
        };
        let eighth = BAR_WIDTH / 8;
        for (part, eighths) in
            [(Part::Requested, 3), (Part::Slack, 1), (Part::HeldBack, 2), (Part::Cached, 1), (Part::Free, 5)]
        {
            assert!((width(part) - eighths * eighth).abs() <= 3, "{part:?}: {}", width(part));
        }
        for label in ["3 MiB", "2 MiB", "4 MiB", "in use", "The full width is 8 MiB"] {
            assert!(picture.texts.iter().any(|t| t.text == label), "{label}");
        }
    }

    #[test]
    fn nothing_and_the_largest_numbers_fit() {
        let picture = check(&pool(Vec::new()));
        assert!(picture.texts.iter().any(|t| t.text == "it holds no memory"));
        let mut large = pool(vec![segment(1, &[(BlockState::InUse, 1 << 62, 1)])]);
        let most = u64::MAX;
        let c = &mut large.counters;
        (c.requested, c.in_use, c.held_back, c.cached) = (most, most, most, most);
        (c.reserved, c.peak_reserved, c.live_blocks, c.segments) = (most, most, most, most);
        (large.segments[0].address, large.segments[0].stream) = (most, most);
        check(&large);
    }

    #[test]
    fn many_streams_segments_and_blocks_are_summed_up() {
        let blocks = (0..100_000).map(|i| {
            let state = if i % 3 == 0 { BlockState::Free } else { BlockState::InUse };
            (state, 256, if i % 3 == 0 { 0 } else { 200 })
        });
        let blocks: Vec<_> = blocks.collect();
        let mut segments = vec![segment(1, &blocks)];
        for stream in 1..40 {
            for k in 0..30 {
                segments.push(segment(stream, &[(BlockState::InUse, 65536 * (k + 1), 65536)]));
            }
        }
        let picture = check(&pool(segments));
        assert!(picture.rects.len() < 10_000 && picture.y < 8000, "{} {}", picture.rects.len(), picture.y);
        let has = |words: &str| picture.texts.iter().any(|t| t.text.contains(words));
        assert!(
            has("19 others") && has("20 others") && has("Not shown: 23 more streams"),
            "{:?}",
            picture.texts
        );
    }
}
