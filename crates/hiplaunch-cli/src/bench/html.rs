//! Writes a page without dependencies: figures, tables, their meaning, and the circumstances of the run.

use std::fmt::Write;

use super::cases::{Axis, Point};
use super::compare::{Comparison, Significance};
use super::methods::LaunchMethod;
use super::plots::{self, Figure, Quantity};
use super::results::{Measured, Results};
use super::table::{LEGEND, columns, digits, notes, time};

const STYLE: &str = "\
:root { color-scheme: light dark; --text: #1f2328; --faint: #59636e; --line: #d8dee4; --page: #fff; --good: #1a7f37; --bad: #cf222e }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --faint: #9198a1; --line: #373e47; --page: #0d1117; --good: #3fb950; --bad: #ff7b72 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 1100px; margin: 0 auto; padding: 16px }
h1 { font-size: 1.6rem; margin: 8px 0 } h2 { font-size: 1.25rem; margin: 36px 0 8px } h3 { font-size: 1.05rem; margin: 0 0 4px }
p, dd, figcaption { max-width: 75ch } .faint, figcaption, dd { color: var(--faint) }
.note { border-left: 4px solid var(--bad); padding: 2px 12px; margin: 12px 0 }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 32px 24px }
figure { margin: 0; min-width: 0 } svg { display: block; width: 100%; height: auto } .wide { max-width: 640px }
figcaption { font-size: .875rem; margin-top: 4px }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; white-space: nowrap }
th, td { padding: 3px 10px; border-bottom: 1px solid var(--line); text-align: right } th:first-child, td:first-child { text-align: left; padding-left: 0 }
tr.floor td, tr.floor th, th { color: var(--faint); font-weight: normal } tr > th:first-child { color: var(--text) } tr.floor > th:first-child { color: var(--faint) }
.faster { color: var(--good) } .slower { color: var(--bad) }
summary { cursor: pointer; font-size: .875rem; margin-top: 6px } dt { font-weight: 600; margin-top: 8px } dd { margin: 0 }
.about td { text-align: left; white-space: normal; overflow-wrap: anywhere }";

/// Escapes text for the page.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // Control characters are not allowed in a page.
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// A page that is being written. Writing to a string can't fail.
#[derive(Default)]
struct Page(String);

impl Page {
    fn line(&mut self, text: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{text}");
    }

    /// Writes a table with a head and rows. The flag of a row says whether it is a method of driver calls alone.
    fn table(&mut self, head: &[String], rows: &[(bool, Vec<String>)]) {
        self.line("<div class=\"scroll\"><table><thead><tr>");
        head.iter().for_each(|cell| self.line(format_args!("<th>{}</th>", escaped(cell))));
        self.line("</tr></thead><tbody>");
        for (floor, cells) in rows {
            self.line(if *floor { "<tr class=\"floor\">" } else { "<tr>" });
            for (i, cell) in cells.iter().enumerate() {
                let tag = if i == 0 { "th" } else { "td" };
                self.line(format_args!("<{tag}>{}</{tag}>", escaped(cell)));
            }
            self.line("</tr>");
        }
        self.line("</tbody></table></div>");
    }
}

/// Returns the whole page.
pub(super) fn page(results: &Results, comparison: Option<&Comparison>) -> String {
    let mut page = Page::default();
    let device = escaped(results.about("device").unwrap_or("an unknown device"));
    page.line("<!DOCTYPE html>");
    page.line("<html lang=\"en\"><head><meta charset=\"utf-8\"/>");
    page.line("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>");
    page.line(format_args!("<title>hiplaunch bench: {device}</title>"));
    page.line("<link rel=\"icon\" href=\"data:,\"/>");
    page.line(format_args!("<style>{STYLE}</style></head><body><main>"));
    page.line("<h1>What a launch costs</h1>");
    page.line(format_args!("<p class=\"faint\">{device}"));
    for (name, before) in
        [("driver", "driver "), ("processor", ""), ("hiplaunch", "hiplaunch "), ("date", "")]
    {
        if let Some(text) = results.about(name) {
            page.line(format_args!("<br/>{before}{}", escaped(text)));
        }
    }
    page.line("</p>");
    notes(results).iter().for_each(|note| page.line(format_args!("<p class=\"note\">{}</p>", escaped(note))));
    if let Some(typical) = results.find(Point::is_typical) {
        summary(&mut page, results, typical);
    }
    figures(&mut page, results);
    if results.points.iter().any(|m| m.point.axis == Axis::Empty) {
        page.line("<h2>An empty kernel</h2>");
        page.line("<p>No arguments, no results: what is left of a launch. Microseconds a launch, by the number of launches before a wait; one stream.</p>");
        values(&mut page, results, Axis::Empty, Quantity::Total);
    }
    if let Some(comparison) = comparison {
        compared(&mut page, comparison);
    }
    methods(&mut page, results);
    page.line("<h2>On what</h2><div class=\"scroll\"><table class=\"about\"><tbody>");
    for (name, text) in &results.about.lines {
        page.line(format_args!("<tr><th>{}</th><td>{}</td></tr>", escaped(name), escaped(text)));
    }
    page.line("</tbody></table></div></main></body></html>");
    page.0
}

fn summary(page: &mut Page, results: &Results, typical: &Measured) {
    page.line("<h2>A typical launch</h2>");
    page.line("<figure class=\"wide\">");
    page.line(plots::typical(results));
    page.line("<figcaption>The rows named driver are the driver's calls alone, with everything else created before.</figcaption></figure>");
    let columns = columns(typical, results.find(Point::is_latency));
    let head: Vec<String> =
        std::iter::once("method").chain(columns.iter().map(|(name, _)| *name)).map(str::to_owned).collect();
    let measured = LaunchMethod::ALL.into_iter().filter(|method| typical.case(*method).is_some());
    let row = |method: LaunchMethod| {
        let figures = columns.iter().map(|(_, figure)| figure(method).unwrap_or_else(|| "-".to_owned()));
        (method.is_floor(), std::iter::once(method.title().to_owned()).chain(figures).collect())
    };
    page.table(&head, &measured.map(row).collect::<Vec<_>>());
    page.line("<details><summary>What the columns mean</summary><dl>");
    for (name, meaning) in LEGEND.iter().filter(|(name, _)| head.iter().any(|column| column == name)) {
        page.line(format_args!("<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(meaning)));
    }
    page.line("</dl></details>");
}

fn figures(page: &mut Page, results: &Results) {
    let figures = plots::figures(results);
    if figures.is_empty() {
        return;
    }
    page.line("<h2>What changes it</h2><div class=\"figures\">");
    for Figure { axis, title, caption, quantity, svg } in figures {
        page.line(format_args!("<figure><h3>{}</h3>", escaped(&title)));
        page.line(svg);
        page.line(format_args!("<figcaption>{}</figcaption>", escaped(&caption)));
        page.line("<details><summary>As a table</summary>");
        values(page, results, axis, quantity);
        page.line("</details></figure>");
    }
    page.line("</div>");
}

/// Writes the medians and spreads of every method at the points of an axis.
fn values(page: &mut Page, results: &Results, axis: Axis, quantity: Quantity) {
    let points: Vec<&Measured> = results.points.iter().filter(|m| m.point.axis == axis).collect();
    let head: Vec<String> =
        std::iter::once(quantity.unit().to_owned()).chain(points.iter().map(|m| m.point.label())).collect();
    let cell = |measured: &Measured, method: LaunchMethod| -> String {
        match measured.case(method).and_then(|case| quantity.of(case)) {
            Some(s) if s.samples > 1 => {
                format!("{} ({} - {})", digits(s.median), digits(s.p10), digits(s.p90))
            }
            Some(s) => digits(s.median),
            None => "-".to_owned(),
        }
    };
    let measured =
        LaunchMethod::ALL.into_iter().filter(|method| points.iter().any(|m| m.case(*method).is_some()));
    let row = |method: LaunchMethod| {
        let cells = points.iter().map(|measured| cell(measured, method));
        (method.is_floor(), std::iter::once(method.title().to_owned()).chain(cells).collect())
    };
    page.table(&head, &measured.map(row).collect::<Vec<_>>());
}

fn compared(page: &mut Page, comparison: &Comparison) {
    page.line(format_args!("<h2>Compared with before</h2><p>{}</p>", escaped(&comparison.sum())));
    for line in &comparison.differs {
        page.line(format_args!("<p class=\"note\">Not the same {}</p>", escaped(line)));
    }
    page.line(
        "<details open=\"open\"><summary>Every case: the ratio of new to old, and its interval</summary>",
    );
    page.line("<div class=\"scroll\"><table><thead><tr><th>case</th><th>old</th><th>new</th><th>ratio</th><th>between</th><th></th></tr></thead><tbody>");
    for change in &comparison.changes {
        let class = if change.verdict() == Significance::Same { "" } else { change.verdict().name() };
        page.line(format_args!(
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{} - {}</td><td class=\"{class}\">{}</td></tr>",
            escaped(&change.point.case(change.method)),
            time(change.old),
            time(change.new),
            digits(change.ratio),
            digits(change.low),
            digits(change.high),
            change.verdict().name(),
        ));
    }
    page.line("</tbody></table></div></details>");
}

fn methods(page: &mut Page, results: &Results) {
    page.line("<h2>The methods</h2>");
    page.line("<p>All do the same work: the kernel reads its arguments and writes the result, and the host reads the result. They take turns in every round, so that noise affects all alike, and results are compared with the host's.</p><dl>");
    for method in LaunchMethod::ALL {
        if results.points.iter().any(|point| point.case(method).is_some()) {
            page.line(format_args!(
                "<dt>{}</dt><dd>{}</dd>",
                escaped(method.title()),
                escaped(method.description())
            ));
        }
    }
    page.line("</dl>");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page is XML, too, so a parser finds errors in it.
    #[test]
    fn the_page_is_well_formed_and_whole() {
        let results = super::super::json::tests::results();
        let comparison = super::super::compare::compare(&results, &results);
        for text in [page(&results, None), page(&results, Some(&comparison)), page(&Results::default(), None)]
        {
            let body = text.strip_prefix("<!DOCTYPE html>\n").unwrap();
            let document = roxmltree::Document::parse(body).unwrap();
            for node in document.descendants().filter(|node| node.is_element()) {
                assert_ne!(node.tag_name().name(), "script");
                for attribute in ["src", "href"] {
                    assert!(node.attribute(attribute).is_none_or(|to| to.starts_with("data:")), "{node:?}");
                }
            }
            assert!(
                !text.contains("http:") || !text.replace("http://www.w3.org/2000/svg", "").contains("http:")
            );
        }
        let text = page(&results, Some(&comparison));
        assert!(text.contains("2026-11-21 &lt;&amp;&gt;") && text.contains("6 cases compared"));
        assert_eq!(text.matches("<svg").count(), 4);
    }
}
