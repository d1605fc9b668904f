//! The shapes of a figure. They are laid out before they are drawn, so a test can check that none overlap.

use hiplaunch_reports::style::BACKGROUND;
use plotters::prelude::{DrawingBackend, FontFamily, IntoFont, RGBColor, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, ShapeStyle, TextStyle};

/// A filled rectangle.
#[derive(Clone, Debug)]
pub(super) struct Rect {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) colour: RGBColor,
}

/// A line through points.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) points: Vec<(i32, i32)>,
    pub(super) width: u32,
    pub(super) colour: RGBColor,
}

/// A filled circle.
#[derive(Clone, Debug)]
pub(super) struct Dot {
    pub(super) at: (i32, i32),
    pub(super) radius: u32,
    pub(super) colour: RGBColor,
}

/// The alignment of a text at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Middle,
    Right,
}

/// A line of text. `y` is the position of its middle.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) size: i32,
    pub(super) bold: bool,
    pub(super) align: Align,
    pub(super) colour: RGBColor,
    pub(super) text: String,
}

#[cfg(test)]
impl Text {
    /// The left, top, right and bottom of the text, for a wide font.
    pub(super) fn area(&self) -> (i32, i32, i32, i32) {
        let width = width(&self.text, self.size);
        let left = match self.align {
            Align::Left => self.x,
            Align::Middle => self.x - width / 2,
            Align::Right => self.x - width,
        };
        let half = self.size / 2;
        (left, self.y - half, left + width, self.y + half)
    }
}

/// The width of a text in pixels. Letters and digits of common fonts for `sans-serif` are 0.5 to 0.64 times as wide as
/// high.
pub(super) fn width(text: &str, size: i32) -> i32 {
    (text.chars().count() as f64 * 0.6 * f64::from(size)).ceil() as i32
}

#[derive(Debug, Default)]
pub(super) struct Canvas {
    pub(super) rects: Vec<Rect>,
    pub(super) paths: Vec<Path>,
    pub(super) dots: Vec<Dot>,
    pub(super) texts: Vec<Text>,
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

impl Canvas {
    pub(super) fn line(&mut self, from: (i32, i32), to: (i32, i32), width: u32, colour: RGBColor) {
        self.paths.push(Path { points: vec![from, to], width, colour });
    }

    /// Adds a line in dashes and gaps of given lengths in pixels.
    pub(super) fn dashes(
        &mut self,
        from: (i32, i32),
        to: (i32, i32),
        (dash, gap): (f64, f64),
        width: u32,
        colour: RGBColor,
    ) {
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = dx.hypot(dy);
        let at = |d: f64| {
            let part = if length > 0.0 { d / length } else { 0.0 };
            let on = |from: i32, by: f64| from + (by * part).round() as i32;
            (on(from.0, dx), on(from.1, dy))
        };
        let mut begin = 0.0;
        while begin < length {
            let end = (begin + dash).min(length);
            self.line(at(begin), at(end), width, colour);
            begin = end + gap;
        }
    }

    pub(super) fn text(&mut self, x: i32, y: i32, align: Align, colour: RGBColor, text: impl Into<String>) {
        self.texts.push(Text { x, y, size: 13, bold: false, align, colour, text: text.into() });
    }

    pub(super) fn svg(&self, size: (u32, u32)) -> String {
        let mut svg = String::new();
        {
            let mut backend = SVGBackend::with_string(&mut svg, size);
            if let Err(e) = self.draw(&mut backend, size) {
                // Writing to a string can't fail.
                log::error!("drawing a figure: {e}");
            }
        }
        svg
    }

    fn draw(&self, backend: &mut SVGBackend<'_>, (width, height): (u32, u32)) -> Result<(), Failed> {
        backend.draw_rect((0, 0), (width as i32, height as i32), &BACKGROUND, true)?;
        for Path { points, width, colour } in &self.paths {
            backend.draw_path(points.iter().copied(), &ShapeStyle::from(colour).stroke_width(*width))?;
        }
        // Drawn over the grid.
        for Rect { x, y, width, height, colour } in &self.rects {
            backend.draw_rect((*x, *y), (x + width, y + height), colour, true)?;
        }
        for Dot { at, radius, colour } in &self.dots {
            backend.draw_circle(*at, *radius, &colour.filled(), true)?;
        }
        for Text { x, y, size, bold, align, colour, text } in &self.texts {
            // The backend divides the size by 1.24.
            let font = (FontFamily::SansSerif, f64::from(*size) * 1.24).into_font();
            let font = font.style(if *bold { FontStyle::Bold } else { FontStyle::Normal });
            let across = match align {
                Align::Left => HPos::Left,
                Align::Middle => HPos::Center,
                Align::Right => HPos::Right,
            };
            let style = TextStyle::from(font).color(colour).pos(Pos::new(across, VPos::Center));
            backend.draw_text(text, &style, (*x, *y))?;
        }
        backend.present()?;
        Ok(())
    }

    /// Panics if a text leaves the picture or covers another one.
    #[cfg(test)]
    pub(super) fn check(&self, (width, height): (u32, u32)) {
        for (i, text) in self.texts.iter().enumerate() {
            let (left, top, right, bottom) = text.area();
            assert!(left >= 0 && top >= 0 && right <= width as i32 && bottom <= height as i32, "{text:?}");
            for other in &self.texts[..i] {
                let (l, t, r, b) = other.area();
                assert!(right <= l || r <= left || bottom <= t || b <= top, "{text:?} covers {other:?}");
            }
        }
    }
}
