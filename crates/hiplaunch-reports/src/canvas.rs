//! Rectangles and texts of a picture, drawn as SVG.

use plotters::prelude::{DrawingBackend, FontFamily, IntoFont, RGBColor, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, TextStyle};

use crate::style::{BACKGROUND, finish};

/// A picture that is being drawn. Positions and sizes are in pixels.
pub(crate) struct Canvas<'a>(SVGBackend<'a>);

/// Draws a picture on the background of all.
pub(crate) fn picture(
    (width, height): (i32, i32),
    title: &str,
    draw: impl FnOnce(&mut Canvas<'_>),
) -> String {
    let mut svg = String::new();
    {
        let mut canvas = Canvas(SVGBackend::with_string(&mut svg, (width as u32, height as u32)));
        canvas.fill(0, 0, width, height, BACKGROUND);
        draw(&mut canvas);
        checked(canvas.0.present());
    }
    finish(svg, title)
}

/// Writing to a string does not fail.
fn checked<T, E: std::fmt::Display>(drawn: Result<T, E>) {
    if let Err(error) = drawn {
        log::error!("drawing a picture: {error}");
    }
}

impl Canvas<'_> {
    pub(crate) fn fill(&mut self, x: i32, y: i32, width: i32, height: i32, colour: RGBColor) {
        checked(self.0.draw_rect((x, y), (x + width, y + height), &colour, true));
    }

    pub(crate) fn frame(&mut self, x: i32, y: i32, width: i32, height: i32, colour: RGBColor) {
        checked(self.0.draw_rect((x, y), (x + width, y + height), &colour, false));
    }

    /// Draws text at `x`, centred vertically on `y`. The size is the backend's, which divides it by 1.24.
    pub(crate) fn text(
        &mut self,
        (x, y): (i32, i32),
        across: HPos,
        font: (FontFamily<'_>, f64, FontStyle),
        colour: RGBColor,
        text: &str,
    ) {
        let style = TextStyle::from(font.into_font()).color(&colour).pos(Pos::new(across, VPos::Center));
        checked(self.0.draw_text(text, &style, (x, y)));
    }
}
