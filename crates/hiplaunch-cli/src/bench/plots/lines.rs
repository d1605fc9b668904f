//! A figure of lines over two logarithmic axes. The name of each line is beside its end.

use hiplaunch_reports::style::{FAINT, PALE, TEXT};
use plotters::style::RGBColor;

use super::canvas::{Align, Canvas, Dot, width};
use super::scale::{Scale, number};

/// Sizes in pixels. The width fits on a phone, with letters of a readable size.
const SIZE: (u32, u32) = (480, 380);
const LEFT: i32 = 58;
const RIGHT: i32 = 344;
const TOP: i32 = 36;
const BOTTOM: i32 = 322;
/// The position where the names of lines begin, and their least distance.
const NAMES: i32 = RIGHT + 14;
const NAME_STEP: i32 = 16;

/// A point of a line, with its spread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) x: usize,
    pub(super) median: f64,
    pub(super) p10: f64,
    pub(super) p90: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) name: &'static str,
    pub(super) colour: RGBColor,
    pub(super) dashed: bool,
    pub(super) marks: Vec<Mark>,
}

pub(super) struct Lines {
    pub(super) x_unit: &'static str,
    pub(super) y_unit: &'static str,
    /// Returns the label of a value of the horizontal axis.
    pub(super) label: Box<dyn Fn(usize) -> String>,
    pub(super) series: Vec<Series>,
}

impl Lines {
    pub(super) fn svg(&self) -> String {
        self.lay_out().svg(SIZE)
    }

    fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.series.iter().flat_map(|series| &series.marks)
    }

    fn lay_out(&self) -> Canvas {
        let mut canvas = Canvas::default();
        let mut values: Vec<usize> = self.marks().map(|mark| mark.x).collect();
        values.sort_unstable();
        values.dedup();
        let x = across(&values);
        // Spreads may leave the figure: a disturbance of the machine must not compress the lines.
        let low = self.marks().map(|m| m.p10.max(m.median / 1.5)).fold(f64::INFINITY, f64::min);
        let high = self.marks().map(|m| m.p90.min(m.median * 1.5)).fold(0.0, f64::max);
        let y = Scale::new(low.min(high), high, BOTTOM, TOP);
        canvas.text(4, 14, Align::Left, FAINT, self.y_unit);
        self.grid(&mut canvas, &y);
        self.values(&mut canvas, &values, &x);
        for series in &self.series {
            draw(series, &mut canvas, &x, &y);
        }
        self.names(&mut canvas, &x, &y);
        canvas
    }

    fn grid(&self, canvas: &mut Canvas, y: &Scale) {
        let (labelled, all) = y.ticks();
        for tick in all {
            let at = y.pixel(tick);
            canvas.line((LEFT, at), (RIGHT, at), 1, PALE);
        }
        for tick in labelled {
            canvas.text(LEFT - 6, y.pixel(tick), Align::Right, FAINT, number(tick));
        }
        canvas.line((LEFT, BOTTOM), (RIGHT, BOTTOM), 1, FAINT);
    }

    /// Draws the horizontal axis: a tick for each value, and a label where it fits. The last value always has a label.
    fn values(&self, canvas: &mut Canvas, values: &[usize], x: &dyn Fn(usize) -> i32) {
        canvas.text((LEFT + RIGHT) / 2, BOTTOM + 44, Align::Middle, FAINT, self.x_unit);
        let span = |value: usize| {
            let half = width(&(self.label)(value), 13) / 2 + 4;
            (x(value) - half, x(value) + half)
        };
        let last = values.last().copied();
        let mut end = i32::MIN;
        for &value in values {
            canvas.line((x(value), BOTTOM), (x(value), BOTTOM + 5), 1, FAINT);
            let (from, to) = span(value);
            let before_last = Some(value) == last || last.is_none_or(|last| to <= span(last).0);
            if from >= end && before_last {
                canvas.text(x(value), BOTTOM + 18, Align::Middle, FAINT, (self.label)(value));
                end = to;
            }
        }
    }

    /// Draws the names to the right, in the order of the lines' ends and without overlap. A thin line leads to each.
    fn names(&self, canvas: &mut Canvas, x: &dyn Fn(usize) -> i32, y: &Scale) {
        let end = |series: &Series| series.marks.last().map(|mark| (x(mark.x), y.pixel(mark.median)));
        let mut named: Vec<(&Series, (i32, i32))> =
            self.series.iter().filter_map(|series| Some((series, end(series)?))).collect();
        named.sort_by_key(|(_, end)| end.1);
        let wanted: Vec<i32> = named.iter().map(|(_, end)| end.1).collect();
        let places = spread(&wanted, TOP, BOTTOM);
        for ((series, (from, level)), place) in named.into_iter().zip(places) {
            let colour = series.colour;
            if from < RIGHT - 24 {
                canvas.dashes((from + 6, level), (RIGHT, level), (1.0, 4.0), 1, colour);
            }
            canvas.line((from.max(RIGHT - 12) + 4, level), (NAMES - 3, place), 1, colour);
            canvas.text(NAMES, place, Align::Left, if series.dashed { TEXT } else { colour }, series.name);
        }
    }
}

/// Returns a function from a value to its horizontal position, in powers of two. 0 is two powers left of the least
/// value.
fn across(values: &[usize]) -> impl Fn(usize) -> i32 + use<> {
    let power = |value: usize| (value as f64).log2();
    let least = values.iter().copied().filter(|value| *value > 0).min().map_or(0.0, power);
    let zero = values.first() == Some(&0);
    let from = if zero { least - 2.0 } else { least };
    let to = values.last().copied().filter(|value| *value > 0).map_or(from, power);
    move |value| {
        let at = if value == 0 { from } else { power(value) };
        let part = if to > from { (at - from) / (to - from) } else { 0.5 };
        LEFT + 12 + (part * f64::from(RIGHT - LEFT - 24)).round() as i32
    }
}

fn draw(series: &Series, canvas: &mut Canvas, x: &dyn Fn(usize) -> i32, y: &Scale) {
    let at = |mark: &Mark| (x(mark.x), y.pixel(mark.median));
    let colour = series.colour;
    for pair in series.marks.windows(2) {
        if let [from, to] = pair {
            match series.dashed {
                true => canvas.dashes(at(from), at(to), (6.0, 4.0), 2, colour),
                false => canvas.line(at(from), at(to), 2, colour),
            }
        }
    }
    for mark in &series.marks {
        let (low, high) = (y.pixel(mark.p10), y.pixel(mark.p90));
        if low - high > 6 {
            canvas.line((x(mark.x), low), (x(mark.x), high), 1, colour);
        }
        canvas.dots.push(Dot { at: at(mark), radius: 3, colour });
    }
}

/// Returns positions close to the wanted ones, in ascending order, at least [`NAME_STEP`] apart.
fn spread(wanted: &[i32], top: i32, bottom: i32) -> Vec<i32> {
    let mut places = wanted.to_vec();
    // Moves positions down from the top, then moves those that are too low up again.
    let mut least = top;
    for place in &mut places {
        *place = (*place).max(least);
        least = *place + NAME_STEP;
    }
    let mut most = bottom;
    for place in places.iter_mut().rev() {
        *place = (*place).min(most);
        most = *place - NAME_STEP;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(values: &[usize], of: impl Fn(usize, usize) -> f64) -> Lines {
        let names = [
            "hipMallocAsync",
            "block unchanged",
            "argument block",
            "by value",
            "mapped",
            "naive launch",
            "x",
            "y",
            "z",
        ];
        let series = names.into_iter().enumerate().map(|(i, name)| Series {
            name,
            colour: TEXT,
            dashed: i > 6,
            marks: values
                .iter()
                .map(|&x| {
                    let median = of(i, x);
                    Mark { x, median, p10: median * 0.9, p90: median * 1.3 }
                })
                .collect(),
        });
        Lines {
            x_unit: "bytes",
            y_unit: "microseconds a launch",
            label: Box::new(|v| crate::bench::cases::label(crate::bench::cases::Axis::Args, v)),
            series: series.collect(),
        }
    }

    #[test]
    fn nothing_covers_anything() {
        let sizes: Vec<usize> = [8, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20].into();
        for values in [&sizes[..], &[0, 8, 64, 512, 4096, 65536], &[1, 2, 4, 8], &[1, 4, 16, 64, 256, 1000]] {
            // All at one position, spread out, and in a bundle at either end.
            lines(values, |_, _| 1.0).lay_out().check(SIZE);
            lines(values, |i, x| 10f64.powi(i as i32) + x as f64).lay_out().check(SIZE);
            lines(values, |i, x| 0.01 * (1.0 + i as f64 / 100.0) + if x == 1 { 1e4 } else { 0.0 })
                .lay_out()
                .check(SIZE);
        }
    }

    #[test]
    fn values_are_in_order() {
        let values = [0, 8, 64, 4096];
        let x = across(&values);
        let at = values.map(&x);
        assert!(at.windows(2).all(|pair| pair[0] < pair[1]), "{at:?}");
        // 8 to 64 is three powers, 64 to 4096 six.
        assert!(((at[3] - at[2]) - 2 * (at[2] - at[1])).abs() <= 2, "{at:?}");
        assert_eq!(across(&[5])(5), (LEFT + RIGHT) / 2);
    }

    #[test]
    fn names_stay_apart_and_inside() {
        for wanted in [vec![40; 9], vec![320; 9], vec![36, 37, 100, 101, 102, 322], vec![50, 150]] {
            let places = spread(&wanted, TOP, BOTTOM);
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= NAME_STEP), "{places:?}");
            assert!(places.iter().all(|place| (TOP..=BOTTOM).contains(place)), "{places:?}");
        }
        assert_eq!(spread(&[50, 150], TOP, BOTTOM), [50, 150]);
    }
}
