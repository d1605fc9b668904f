//! Draws a snapshot of a memory pool as SVG: a bar for each segment, grouped by stream, with the blocks coloured by
//! state.
//!
//! Everything is first laid out as rectangles and labels, and then drawn.

use plotters::prelude::{FontFamily, RGBColor};
use plotters::style::FontStyle;
use plotters::style::text_anchor::HPos;

use crate::canvas::{Canvas, picture};
use crate::style::{FAINT, ON_COLOUR, TEXT};

use hiplaunch::memory::report::{Sums, amount, stream_line};
use hiplaunch::memory::{PoolBlockState, PoolSegmentSnapshot, PoolSnapshot};

/// Sizes are in pixels.
const WIDTH: i32 = 960;
const MARGIN: i32 = 16;
const SIZE_LEFT: i32 = 148;
const BAR_LEFT: i32 = 232;
const BAR_WIDTH: i32 = WIDTH - MARGIN - BAR_LEFT;
const BAR_HEIGHT: i32 = 18;
const ROW: i32 = 24;
/// The width of the narrowest bar. A bar to scale could be invisible.
const BAR_LEAST: i32 = 3;

/// The number of segments of a stream with a bar of their own. The smallest of more segments share one.
const SEGMENTS_SHOWN: usize = 12;
/// The number of streams that are shown. Of more streams, those with the least memory are only counted.
const STREAMS_SHOWN: usize = 16;

/// The state of bytes in a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteState {
    Requested,
    Slack,
    HeldBack,
    Cached,
    Free,
}

impl ByteState {
    const ALL: [ByteState; 5] =
        [ByteState::Requested, ByteState::Slack, ByteState::HeldBack, ByteState::Cached, ByteState::Free];

    fn colour(self) -> RGBColor {
        match self {
            ByteState::Requested => RGBColor(0x09, 0x69, 0xda),
            ByteState::Slack => RGBColor(0x80, 0xcc, 0xff),
            ByteState::HeldBack => RGBColor(0xbc, 0x4c, 0x00),
            ByteState::Cached => RGBColor(0x82, 0x50, 0xdf),
            ByteState::Free => RGBColor(0xd8, 0xde, 0xe4),
        }
    }

    fn legend(self) -> &'static str {
        match self {
            ByteState::Requested => "in use",
            ByteState::Slack => "in use, not asked for",
            ByteState::HeldBack => "held back for other streams",
            ByteState::Cached => "cached by size",
            ByteState::Free => "free",
        }
    }

    /// Returns the colour of a label on it, if it has one.
    fn text(self) -> Option<RGBColor> {
        match self {
            ByteState::Slack => None,
            ByteState::Free => Some(TEXT),
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

/// A line of text in a monospace font.
#[derive(Clone, Debug)]
struct Label {
    x: i32,
    /// The vertical centre.
    y: i32,
    size: i32,
    bold: bool,
    colour: RGBColor,
    text: String,
}

/// Returns the width of a text in pixels. The usual `monospace` fonts have characters 0.55 to 0.61 times as wide as
/// high.
fn text_width(text: &str, size: i32) -> i32 {
    (text.chars().count() as f64 * 0.61 * f64::from(size)).ceil() as i32
}

#[derive(Debug, Default)]
struct Picture {
    rects: Vec<Rect>,
    texts: Vec<Label>,
    /// The lower end of what is laid out so far.
    y: i32,
}

/// Consecutive bytes of one state.
#[derive(Clone, Copy, Debug)]
struct BlockRun {
    part: ByteState,
    bytes: u64,
    /// Whether a block begins with it.
    starts_block: bool,
}

/// Returns the runs of a segment, in order.
fn runs(segment: &PoolSegmentSnapshot) -> impl Iterator<Item = BlockRun> {
    let parts = segment.blocks.iter().flat_map(|block| {
        let (part, bytes, rest) = match block.state {
            PoolBlockState::InUse => {
                let requested = block.requested.min(block.bytes);
                (ByteState::Requested, requested, block.bytes - requested)
            }
            PoolBlockState::HeldBack => (ByteState::HeldBack, block.bytes, 0),
            PoolBlockState::Cached => (ByteState::Cached, block.bytes, 0),
            PoolBlockState::Free => (ByteState::Free, block.bytes, 0),
        };
        let slack = BlockRun { part: ByteState::Slack, bytes: rest, starts_block: false };
        [BlockRun { part, bytes, starts_block: true }, slack]
    });
    parts.filter(|run| run.bytes > 0)
}

impl Picture {
    fn text(&mut self, x: i32, y: i32, size: i32, colour: RGBColor, text: impl Into<String>) {
        self.texts.push(Label { x, y, size, bold: false, colour, text: text.into() });
    }

    fn header(&mut self, snapshot: &PoolSnapshot) {
        let title = snapshot.title();
        self.texts.push(Label { x: MARGIN, y: 24, size: 15, bold: true, colour: TEXT, text: title });
        self.y = 48;
        for line in snapshot.totals() {
            self.text(MARGIN, self.y, 12, TEXT, line);
            self.y += 18;
        }
        self.y += 6;
        let mut x = MARGIN;
        for part in ByteState::ALL {
            self.rects.push(Rect { x, y: self.y - 6, width: 12, height: 12, colour: part.colour() });
            self.text(x + 18, self.y, 11, FAINT, part.legend());
            x += 18 + text_width(part.legend(), 11) + 18;
        }
        self.y += 28;
    }

    /// Lays out a bar of runs that have `total` bytes and `width` pixels together.
    fn bar(&mut self, runs: impl Iterator<Item = BlockRun>, total: u64, width: i32) {
        let top = self.y - BAR_HEIGHT / 2;
        let (mut from, mut offset, mut sums) = (0, 0u64, [0u64; ByteState::ALL.len()]);
        for BlockRun { part, bytes, starts_block } in runs {
            sums[part as usize] += bytes;
            offset += bytes;
            let to = (offset as f64 / total.max(1) as f64 * f64::from(width)).round() as i32;
            if to <= from {
                continue;
            }
            // Runs narrower than a pixel are drawn together, in the colour of most of their bytes.
            let most = ByteState::ALL.into_iter().max_by_key(|part| sums[*part as usize]).unwrap_or(part);
            // A gap between blocks, if they are wide enough.
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
            (from, sums) = (to, [0; ByteState::ALL.len()]);
        }
    }

    fn row(&mut self, label: String, runs: impl Iterator<Item = BlockRun>, total: u64, most: u64) {
        self.text(MARGIN, self.y, 11, FAINT, label);
        self.text(SIZE_LEFT, self.y, 11, FAINT, amount(total));
        let width = (total as f64 / most.max(1) as f64 * f64::from(BAR_WIDTH)).round();
        self.bar(runs, total, (width as i32).clamp(BAR_LEAST, BAR_WIDTH));
        self.y += ROW;
    }

    fn stream(&mut self, stream: u64, segments: &[&PoolSegmentSnapshot], most: u64) {
        self.text(MARGIN, self.y, 12, TEXT, stream_line(stream, segments));
        self.y += 22;
        let shown = if segments.len() > SEGMENTS_SHOWN { SEGMENTS_SHOWN - 1 } else { segments.len() };
        let mut by_size: Vec<usize> = (0..segments.len()).collect();
        by_size.sort_by_key(|&i| std::cmp::Reverse(segments[i].bytes));
        let (large, small) = by_size.split_at(shown);
        let mut large = large.to_vec();
        large.sort_unstable();
        for segment in large.into_iter().map(|i| segments[i]) {
            self.row(format!("{:#x}", segment.address), runs(segment), segment.bytes, most);
        }
        if !small.is_empty() {
            let rest = small.iter().map(|&i| segments[i]);
            let (sums, bytes) = (Sums::of(rest.clone()), rest.map(|s| s.bytes).sum::<u64>());
            let parts = [sums.requested, sums.slack, sums.held_back, sums.cached, sums.free];
            let runs = ByteState::ALL.into_iter().zip(parts).filter(|(_, bytes)| *bytes > 0);
            let runs = runs.map(|(part, bytes)| BlockRun { part, bytes, starts_block: false });
            self.row(format!("{} others", small.len()), runs, bytes, most.max(bytes));
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

    fn draw(&self, canvas: &mut Canvas<'_>) {
        for Rect { x, y, width, height, colour } in &self.rects {
            canvas.fill(*x, *y, *width, *height, *colour);
        }
        for Label { x, y, size, bold, colour, text } in &self.texts {
            let style = if *bold { FontStyle::Bold } else { FontStyle::Normal };
            let font = (FontFamily::Monospace, f64::from(*size) * 1.24, style);
            canvas.text((*x, *y), HPos::Left, font, *colour, text);
        }
    }
}

/// Draws the snapshot as a self-contained SVG picture, for light and dark pages: a bar for each segment, all to one
/// scale and grouped by stream, with the blocks coloured by state; the totals are above.
///
/// The smallest of many segments share a bar, and the smallest of many streams are only counted, so the picture is
/// never higher than a few thousand pixels.
pub fn pool_svg(snapshot: &PoolSnapshot) -> String {
    let laid_out = Picture::of(snapshot);
    picture((WIDTH, laid_out.y), &snapshot.title(), |canvas| laid_out.draw(canvas))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{pool, segment};

    fn area(text: &Label) -> (i32, i32, i32, i32) {
        let half = text.size / 2 + 1;
        (text.x, text.y - half, text.x + text_width(&text.text, text.size), text.y + half)
    }

    /// Checks that no label leaves the picture or covers another, that no bar leaves its column, and that no label of a
    /// bar leaves its block.
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
    fn every_state_is_drawn_with_its_share_of_the_bytes() {
        let snapshot = pool(vec![
            segment(
                1,
                &[
                    (PoolBlockState::InUse, 4 << 20, 3 << 20),
                    (PoolBlockState::HeldBack, 2 << 20, 0),
                    (PoolBlockState::Cached, 1 << 20, 0),
                    (PoolBlockState::Free, 1 << 20, 0),
                ],
            ),
            segment(2, &[(PoolBlockState::Free, 4 << 20, 0)]),
        ]);
        let picture = check(&snapshot);
        let width = |part: ByteState| -> i32 {
            // The rectangles of the legend are 12 wide.
            let own = picture.rects.iter().filter(|r| r.colour == part.colour() && r.height == BAR_HEIGHT);
            own.map(|r| r.width).sum()
        };
        let eighth = BAR_WIDTH / 8;
        for (part, eighths) in [
            (ByteState::Requested, 3),
            (ByteState::Slack, 1),
            (ByteState::HeldBack, 2),
            (ByteState::Cached, 1),
            (ByteState::Free, 5),
        ] {
            assert!((width(part) - eighths * eighth).abs() <= 3, "{part:?}: {}", width(part));
        }
        for label in ["3 MiB", "2 MiB", "4 MiB", "in use", "The full width is 8 MiB"] {
            assert!(picture.texts.iter().any(|t| t.text == label), "{label}");
        }
    }

    #[test]
    fn an_empty_pool_and_the_largest_numbers_fit_the_picture() {
        let picture = check(&pool(Vec::new()));
        assert!(picture.texts.iter().any(|t| t.text == "it holds no memory"));
        let mut large = pool(vec![segment(1, &[(PoolBlockState::InUse, 1 << 62, 1)])]);
        let most = u64::MAX;
        let c = &mut large.counters;
        (c.requested, c.in_use, c.held_back, c.cached) = (most, most, most, most);
        (c.reserved, c.peak_reserved, c.live_blocks, c.segments) = (most, most, most, most);
        (large.segments[0].address, large.segments[0].stream) = (most, most);
        check(&large);
    }

    #[test]
    fn many_streams_segments_and_blocks_are_summarised() {
        let blocks = (0..100_000).map(|i| {
            let state = if i % 3 == 0 { PoolBlockState::Free } else { PoolBlockState::InUse };
            (state, 256, if i % 3 == 0 { 0 } else { 200 })
        });
        let blocks: Vec<_> = blocks.collect();
        let mut segments = vec![segment(1, &blocks)];
        for stream in 1..40 {
            for k in 0..30 {
                segments.push(segment(stream, &[(PoolBlockState::InUse, 65536 * (k + 1), 65536)]));
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
