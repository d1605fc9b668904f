//! The figures: lines for each axis, and bars for the typical launch.

mod bars;
mod canvas;
mod lines;
mod scale;

use hiplaunch_reports::style::FAINT;
use plotters::style::RGBColor;

use super::cases::{Axis, Point};
use super::methods::LaunchMethod;
use super::results::{Case, Measured, Results};
use super::statistics::Summary;
use lines::{Lines, Mark, Series};

/// A picture with its texts.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) axis: Axis,
    pub(super) title: String,
    pub(super) caption: String,
    pub(super) quantity: Quantity,
    pub(super) svg: String,
}

/// The quantity of the vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Microseconds of a launch.
    Total,
    /// Microseconds in the launch calls.
    Host,
    /// Microseconds on the device.
    Device,
    /// Launches a second.
    Rate,
}

impl Quantity {
    pub(super) fn unit(self) -> &'static str {
        match self {
            Quantity::Total => "microseconds a launch",
            Quantity::Host => "microseconds in a launch call",
            Quantity::Device => "microseconds of a launch on the device",
            Quantity::Rate => "thousand launches a second",
        }
    }

    /// The quantity of a case, in the unit.
    pub(super) fn of(self, case: &Case) -> Option<Summary> {
        let scaled = |s: Summary, by: f64| Summary {
            median: s.median * by,
            mad: s.mad * by,
            p10: s.p10 * by,
            p90: s.p90 * by,
            low: s.low * by,
            high: s.high * by,
            ..s
        };
        match self {
            Quantity::Total => case.total().map(|s| scaled(s, 1e-3)),
            Quantity::Host => case.host().map(|s| scaled(s, 1e-3)),
            Quantity::Device => super::statistics::summary(&[case.device? / 1e3]),
            Quantity::Rate => case.rate().map(|s| scaled(s, 1e-3)),
        }
    }
}

/// The colour of a method. All methods of driver calls alone have the same colour.
fn colour(method: LaunchMethod) -> RGBColor {
    match method {
        LaunchMethod::Naive => RGBColor(0xcf, 0x22, 0x2e),
        LaunchMethod::Async => RGBColor(0xbc, 0x4c, 0x00),
        LaunchMethod::Value => RGBColor(0x09, 0x69, 0xda),
        LaunchMethod::Block => RGBColor(0x1a, 0x7f, 0x37),
        LaunchMethod::Unchanged => RGBColor(0x82, 0x50, 0xdf),
        LaunchMethod::Mapped => RGBColor(0x1b, 0x7c, 0x83),
        LaunchMethod::Graph => RGBColor(0xbf, 0x39, 0x89),
        _ => FAINT,
    }
}

/// The style for dark mode: brighter colours for the methods and for lines.
const STYLE: &str = "<style>@media (prefers-color-scheme: dark) { \
    [stroke=\"#D8DEE4\"] { stroke: #373E47 } [stroke=\"#59636E\"] { stroke: #9198A1 } rect[fill=\"#59636E\"], \
    circle[fill=\"#59636E\"] { fill: #9198A1 } \
    [stroke=\"#CF222E\"] { stroke: #FF7B72 } [fill=\"#CF222E\"] { fill: #FF7B72 } \
    [stroke=\"#BC4C00\"] { stroke: #FFA657 } [fill=\"#BC4C00\"] { fill: #FFA657 } \
    [stroke=\"#0969DA\"] { stroke: #58A6FF } [fill=\"#0969DA\"] { fill: #58A6FF } \
    [stroke=\"#1A7F37\"] { stroke: #3FB950 } [fill=\"#1A7F37\"] { fill: #3FB950 } \
    [stroke=\"#8250DF\"] { stroke: #D2A8FF } [fill=\"#8250DF\"] { fill: #D2A8FF } \
    [stroke=\"#1B7C83\"] { stroke: #39C5CF } [fill=\"#1B7C83\"] { fill: #39C5CF } \
    [stroke=\"#BF3989\"] { stroke: #FF9BCE } [fill=\"#BF3989\"] { fill: #FF9BCE } }</style>\n";

/// Whether a method is in the line figures. They leave out a method of driver calls alone if another such method is at
/// least as fast.
fn is_drawn(method: LaunchMethod) -> bool {
    !method.is_floor() || matches!(method, LaunchMethod::RawBlock | LaunchMethod::RawMapped)
}

/// Returns all figures for which there are results.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let mut figures = Vec::new();
    for axis in [Axis::Args, Axis::Results, Axis::Depth, Axis::Streams, Axis::Threads] {
        let quantity = match axis {
            Axis::Streams | Axis::Threads => Quantity::Rate,
            _ => Quantity::Total,
        };
        figures.extend(figure(results, axis, quantity));
        if axis == Axis::Args {
            figures.extend(figure(results, axis, Quantity::Host));
            figures.extend(figure(results, axis, Quantity::Device));
        }
    }
    figures
}

fn figure(results: &Results, axis: Axis, quantity: Quantity) -> Option<Figure> {
    let points: Vec<&Measured> = results.points.iter().filter(|m| m.point.axis == axis).collect();
    let mark = |measured: &&Measured, method: LaunchMethod| {
        let Summary { median, p10, p90, .. } = quantity.of(measured.case(method)?)?;
        (median > 0.0).then_some(Mark { x: measured.point.value, median, p10, p90 })
    };
    let series = |method: LaunchMethod| Series {
        name: method.title(),
        colour: colour(method),
        dashed: method.is_floor(),
        marks: points.iter().filter_map(|measured| mark(measured, method)).collect(),
    };
    let methods = LaunchMethod::ALL.into_iter().filter(|method| is_drawn(*method));
    let series: Vec<Series> = methods.map(series).filter(|series| !series.marks.is_empty()).collect();
    // A line needs two points.
    if series.iter().all(|series| series.marks.len() < 2) {
        return None;
    }
    let title = match quantity {
        Quantity::Total | Quantity::Rate => axis.title().to_owned(),
        Quantity::Host => format!("{}: in the launch calls", axis.title()),
        Quantity::Device => format!("{}: on the device", axis.title()),
    };
    let lines = Lines {
        x_unit: axis.unit(),
        y_unit: quantity.unit(),
        label: Box::new(move |value| super::cases::label(axis, value)),
        series,
    };
    let caption = format!(
        "Along: {}. Up: {}. Both in powers; {}.",
        axis.description(),
        quantity.unit(),
        spread(quantity)
    );
    let svg = finish(lines.svg(), &format!("{title}: {} by {}", quantity.unit(), axis.unit()));
    Some(Figure { axis, title, caption, quantity, svg })
}

fn spread(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Device => "points are medians of nine batches",
        Quantity::Rate => {
            "points are medians, bars go from the 10th to the 90th percentile; higher is better"
        }
        _ => "points are medians, bars go from the 10th to the 90th percentile; lower is better",
    }
}

/// Returns the picture of the typical launch; an empty picture if it was not measured.
pub(super) fn typical(results: &Results) -> String {
    let bars = match results.find(Point::is_typical) {
        Some(measured) => {
            LaunchMethod::ALL.into_iter().filter_map(|method| bars::Bar::of(measured, method)).collect()
        }
        None => Vec::new(),
    };
    finish(bars::svg(&bars), "A typical launch: microseconds by method")
}

fn finish(svg: String, title: &str) -> String {
    hiplaunch_reports::style::finish(svg.replacen(">\n", &format!(">\n{STYLE}"), 1), title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_has_one_for_dark_mode() {
        for method in LaunchMethod::ALL {
            let RGBColor(r, g, b) = colour(method);
            assert!(STYLE.contains(&format!("[stroke=\"#{r:02X}{g:02X}{b:02X}\"]")), "{method}");
        }
    }

    #[test]
    fn figures_are_well_formed() {
        let results = super::super::json::tests::results();
        let figures = figures(&results);
        let titles: Vec<&str> = figures.iter().map(|figure| figure.title.as_str()).collect();
        assert_eq!(titles, ["Arguments", "Arguments: in the launch calls", "Arguments: on the device"]);
        for svg in figures.iter().map(|figure| &figure.svg).chain([&typical(&results)]) {
            let document = roxmltree::Document::parse(svg).unwrap();
            assert_eq!(document.root_element().tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
            assert!(document.descendants().any(|n| n.text().is_some_and(|t| t.contains("argument block"))));
        }
        roxmltree::Document::parse(&typical(&Results::default())).unwrap();
    }
}
