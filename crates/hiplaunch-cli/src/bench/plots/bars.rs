//! The picture of the typical launch: a bar from zero for each method, with its spread.

use hiplaunch_reports::style::{FAINT, PALE, TEXT};

use super::canvas::{Align, Canvas, Rect, Text, width};
use super::colour;
use super::scale::number;
use crate::bench::methods::LaunchMethod;
use crate::bench::results::Measured;
use crate::bench::table::{digits, time};

/// Sizes in pixels.
const WIDTH: i32 = 520;
const LEFT: i32 = 146;
const TOP: i32 = 76;
const ROW: i32 = 28;
const BAR: i32 = 16;

/// The bar of a method, in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    method: LaunchMethod,
    median: f64,
    p10: f64,
    p90: f64,
    faster: Option<f64>,
}

impl Bar {
    pub(super) fn of(measured: &Measured, method: LaunchMethod) -> Option<Bar> {
        let total = measured.case(method)?.total()?;
        let faster = measured.over_naive(method).map(|s| s.median);
        Some(Bar { method, median: total.median, p10: total.p10, p90: total.p90, faster })
    }

    /// The label to the right of the bar.
    fn label(&self) -> String {
        match self.faster {
            Some(faster) if self.method != LaunchMethod::Naive => {
                format!("{}, {}x", time(self.median), digits(faster))
            }
            _ => time(self.median),
        }
    }
}

fn size(bars: &[Bar]) -> (u32, u32) {
    (WIDTH as u32, (TOP + ROW * bars.len() as i32 + 46) as u32)
}

pub(super) fn svg(bars: &[Bar]) -> String {
    lay_out(bars).svg(size(bars))
}

fn lay_out(bars: &[Bar]) -> Canvas {
    let mut canvas = Canvas::default();
    let title = "A launch, by method";
    let bold =
        Text { x: 12, y: 18, size: 15, bold: true, align: Align::Left, colour: TEXT, text: title.into() };
    canvas.texts.push(bold);
    canvas.text(12, 38, Align::Left, FAINT, "64 bytes of arguments, 64-byte result, 16 before a read");
    let under = match bars {
        [] => "not measured",
        _ => "median; thin: 10th to 90th percentile; x: against naive",
    };
    canvas.text(12, 56, Align::Left, FAINT, under);
    // A spread may leave the figure: a disturbance of the machine must not compress the bars.
    let longest = bars.iter().map(|bar| bar.median).fold(0.0, f64::max);
    let most = bars.iter().map(|bar| bar.p90.max(bar.median).min(longest * 1.1)).fold(0.0, f64::max);
    if most <= 0.0 {
        return canvas;
    }
    // The label of the longest bar must fit, too.
    let room = bars.iter().map(|bar| width(&bar.label(), 13)).max().unwrap_or(0) + 16;
    let right = WIDTH - 12 - room;
    let x = |ns: f64| LEFT + (ns / most * f64::from(right - LEFT)).round() as i32;
    let bottom = TOP + ROW * bars.len() as i32;
    let step = step(most);
    let mut tick = 0.0;
    let mut end = i32::MIN;
    while tick <= most {
        canvas.line((x(tick), TOP), (x(tick), bottom + 4), 1, PALE);
        let label = number_of(tick);
        let half = width(&label, 13) / 2 + 3;
        if x(tick) - half >= end {
            canvas.text(x(tick), bottom + 14, Align::Middle, FAINT, label);
            end = x(tick) + half;
        }
        tick += step;
    }
    canvas.text((LEFT + right) / 2, bottom + 32, Align::Middle, FAINT, "microseconds a launch");
    for (i, bar) in bars.iter().enumerate() {
        let middle = TOP + ROW * i as i32 + ROW / 2;
        let own = colour(bar.method);
        canvas.text(
            LEFT - 10,
            middle,
            Align::Right,
            if bar.method.is_floor() { FAINT } else { TEXT },
            bar.method.title(),
        );
        let long = (x(bar.median) - LEFT).max(2);
        let height = if bar.method.is_floor() { BAR / 2 } else { BAR };
        canvas.rects.push(Rect { x: LEFT, y: middle - height / 2, width: long, height, colour: own });
        let (low, high) = (x(bar.p10), x(bar.p90.min(most)));
        if high - low > 2 {
            // Below the bar, where there is no text.
            let y = middle + BAR / 2 + 2;
            canvas.line((low, y), (high, y), 1, own);
            canvas.line((low, y - 2), (low, y + 2), 1, own);
            if bar.p90 <= most {
                canvas.line((high, y - 2), (high, y + 2), 1, own);
            }
        }
        canvas.text(x(bar.median) + 8, middle, Align::Left, TEXT, bar.label());
    }
    canvas
}

/// Returns the distance between ticks: 1, 2 or 5 times a power of ten nanoseconds, so that there are three to seven
/// ticks.
fn step(most: f64) -> f64 {
    let power = 10f64.powf((most / 3.0).log10().floor());
    [5.0, 2.0].into_iter().map(|by| by * power).find(|step| most / step >= 3.0).unwrap_or(power)
}

fn number_of(ns: f64) -> String {
    if ns > 0.0 { number(ns / 1e3) } else { "0".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_covers_anything() {
        for scale in [1.0, 37.0, 950.0, 8520.0, 1.3e6, 7.7e7] {
            let bars: Vec<Bar> = LaunchMethod::ALL
                .into_iter()
                .enumerate()
                .map(|(i, method)| {
                    let median = scale / (1.0 + i as f64);
                    Bar { method, median, p10: median * 0.5, p90: median * 1.9, faster: Some(1.0 + i as f64) }
                })
                .collect();
            let canvas = lay_out(&bars);
            canvas.check(size(&bars));
            let longest = canvas.rects.iter().map(|rect| rect.width).max().unwrap();
            let old = canvas.rects.iter().find(|rect| rect.colour == colour(LaunchMethod::Naive)).unwrap();
            assert_eq!(old.width, longest);
        }
        lay_out(&[]).check(size(&[]));
    }

    #[test]
    fn ticks_are_neither_few_nor_many() {
        for most in [4.0, 9.9, 10.0, 39.0, 40.0, 123.0, 8520.0] {
            let ticks = most / step(most);
            assert!((3.0..=7.5).contains(&ticks), "{most}: {ticks}");
        }
    }
}
