//! Draws a plan as SVG.

use plotters::prelude::{FontFamily, RGBColor};
use plotters::style::FontStyle;
use plotters::style::text_anchor::HPos;

use crate::canvas::{Canvas, picture};
use crate::style::{BACKGROUND, FAINT, ON_COLOUR, PALE, TEXT};

use offset_planner::{Plan, Problem};

/// Sizes are in pixels.
const WIDTH: i32 = 960;
const HEIGHT: i32 = 540;
const LEFT: i32 = 96;
const RIGHT: i32 = 16;
const TOP: i32 = 40;
const BOTTOM: i32 = 40;
/// The height of the smallest rectangle with a name, and the width of a character of the name.
const NAMED_HEIGHT: i32 = 13;
const CHARACTER: f64 = 6.6;

const COLOURS: [RGBColor; 6] = [
    RGBColor(0x09, 0x69, 0xda),
    RGBColor(0xbc, 0x4c, 0x00),
    RGBColor(0x82, 0x50, 0xdf),
    RGBColor(0x1a, 0x7f, 0x37),
    RGBColor(0xbf, 0x39, 0x89),
    RGBColor(0x4d, 0x6a, 0x8a),
];

/// Draws the plan of a problem as a self-contained SVG picture, for light and dark pages: time from left to right,
/// bytes from bottom to top, a rectangle for each buffer, free bytes grey. If lifetimes are nodes of a graph, time is
/// one topological order, and a buffer extends from its definition to its last use in that order.
pub fn plan_svg(plan: &Plan, problem: &Problem) -> String {
    picture((WIDTH, HEIGHT), &title(plan), |canvas| draw(plan, problem, canvas))
}

fn title(plan: &Plan) -> String {
    let bound = match plan.is_optimal() {
        true => "optimal".to_owned(),
        false => format!("at least {} are needed", plan.lower_bound()),
    };
    format!("{} buffers in {} bytes, {bound}", plan.offsets().len(), plan.total())
}

fn text(canvas: &mut Canvas<'_>, at: (i32, i32), across: HPos, size: f64, colour: RGBColor, text: &str) {
    canvas.text(at, across, (FontFamily::Monospace, size * 1.24, FontStyle::Normal), colour, text);
}

fn draw(plan: &Plan, problem: &Problem, canvas: &mut Canvas<'_>) {
    text(canvas, (LEFT, TOP / 2), HPos::Left, 15.0, TEXT, &title(plan));
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    canvas.fill(LEFT, TOP, right - LEFT, bottom - TOP, PALE);

    let spans: Vec<(u64, u64)> = (0..problem.buffers().len()).map(|i| problem.span(i)).collect();
    let first = spans.iter().map(|s| s.0).min().unwrap_or(0);
    let last = spans.iter().map(|s| s.1).max().unwrap_or(0);
    // The last position is part of the lifetime, so a position has a width.
    let length = (last - first) as f64 + 1.0;
    let x = |position: f64| LEFT + (position / length * f64::from(right - LEFT)).round() as i32;
    let y = |bytes: u64| {
        bottom - (bytes as f64 / plan.total().max(1) as f64 * f64::from(bottom - TOP)).round() as i32
    };
    for (i, ((buffer, &offset), span)) in problem.buffers().iter().zip(plan.offsets()).zip(&spans).enumerate()
    {
        let (from, to) = (x((span.0 - first) as f64), x((span.1 - first) as f64 + 1.0));
        let (high, low) = (y(offset + buffer.size), y(offset));
        if high >= low || from >= to {
            continue;
        }
        let colour = COLOURS[i % COLOURS.len()];
        canvas.fill(from, high, to - from, low - high, colour);
        canvas.frame(from, high, to - from, low - high, BACKGROUND);
        let width = buffer.name.chars().count() as f64 * CHARACTER + 4.0;
        if low - high >= NAMED_HEIGHT && width <= f64::from(to - from) {
            let middle = ((from + to) / 2, (high + low) / 2);
            text(canvas, middle, HPos::Center, 11.0, ON_COLOUR, &buffer.name);
        }
    }
    for part in 0..=4u64 {
        let bytes = plan.total() / 4 * part + plan.total() % 4 * part / 4;
        text(canvas, (LEFT - 8, y(bytes)), HPos::Right, 11.0, FAINT, &bytes.to_string());
    }
    let under = bottom + BOTTOM / 2;
    text(canvas, (LEFT, under), HPos::Left, 11.0, FAINT, &first.to_string());
    text(canvas, (right, under), HPos::Right, 11.0, FAINT, &last.to_string());
}
