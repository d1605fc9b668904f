//! Writes the report as a page without dependencies.

use std::fmt::Write;

use super::report::Section;
use super::results::Results;
use crate::output::Style;

const STYLE: &str = "\
:root { color-scheme: light dark; --text: #1f2328; --faint: #59636e; --line: #d8dee4; --page: #fff; --good: #1a7f37; --bad: #cf222e }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --faint: #9198a1; --line: #373e47; --page: #0d1117; --good: #3fb950; --bad: #ff7b72 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 1100px; margin: 0 auto; padding: 16px }
h1 { font-size: 1.6rem; margin: 8px 0 } h2 { font-size: 1.25rem; margin: 36px 0 8px }
p, dd { max-width: 75ch } .text, dd { color: var(--faint) }
.warning { border-left: 4px solid var(--bad); padding: 2px 12px; margin: 12px 0 }
svg { display: block; width: 100%; max-width: 640px; height: auto }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; white-space: nowrap }
th, td { padding: 3px 10px; border-bottom: 1px solid var(--line); text-align: right } th:first-child, td:first-child { text-align: left; padding-left: 0 }
th, .faint { color: var(--faint); font-weight: normal } .good { color: var(--good) } .bad { color: var(--bad) }
.pairs td { text-align: left; white-space: normal; overflow-wrap: anywhere }
summary { cursor: pointer; font-size: .875rem; margin-top: 6px } dt { font-weight: 600; margin-top: 8px } dd { margin: 0 }";

/// Escapes text for the page.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    // Control characters are not allowed in a page.
    text.replace(char::is_control, " ")
}

/// Returns the whole page.
pub(super) fn page(results: &Results, sections: &[Section]) -> String {
    let device = escaped(results.about("device").unwrap_or("an unknown device"));
    let mut page = format!(
        "<!DOCTYPE html>
<html lang=\"en\"><head><meta charset=\"utf-8\"/>
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>
<title>hiplaunch bench: {device}</title>
<link rel=\"icon\" href=\"data:,\"/>
<style>{STYLE}</style></head><body><main>
<h1>What a launch costs</h1>
"
    );
    sections.iter().for_each(|section| write_section(&mut page, section));
    page + "</main></body></html>\n"
}

fn write_section(page: &mut String, section: &Section) {
    let mut line = |text: std::fmt::Arguments<'_>| {
        // Writing to a string can't fail.
        let _ = writeln!(page, "{text}");
    };
    if !section.title.is_empty() {
        line(format_args!("<h2>{}</h2>", escaped(&section.title)));
    }
    for warning in &section.warnings {
        line(format_args!("<p class=\"warning\">{}</p>", escaped(warning)));
    }
    if !section.text.is_empty() {
        line(format_args!("<p class=\"text\">{}</p>", escaped(&section.text)));
    }
    if let Some(figure) = &section.figure {
        line(format_args!("{figure}"));
    }
    if !section.rows.is_empty() {
        let of_pairs = if section.head.is_empty() { " class=\"pairs\"" } else { "" };
        line(format_args!("<div class=\"scroll\"><table{of_pairs}>"));
        let head = (!section.head.is_empty()).then_some(("th", Style::Faint, &section.head));
        let rows = section.rows.iter().map(|(style, cells)| ("td", *style, cells));
        for (tag, style, cells) in head.into_iter().chain(rows) {
            let class = match style {
                Style::Good => " class=\"good\"",
                Style::Bad => " class=\"bad\"",
                Style::Faint => " class=\"faint\"",
                Style::Plain | Style::Strong => "",
            };
            let cells: String =
                cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
            line(format_args!("<tr{class}>{cells}</tr>"));
        }
        line(format_args!("</table></div>"));
    }
    if !section.terms.is_empty() {
        line(format_args!("<details><summary>What they mean</summary><dl>"));
        for (term, meaning) in &section.terms {
            line(format_args!("<dt>{}</dt><dd>{}</dd>", escaped(term), escaped(meaning)));
        }
        line(format_args!("</dl></details>"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::compare;
    use super::super::report::sections;
    use super::*;

    /// The page is XML, too, so a parser finds errors in it.
    #[test]
    fn the_page_is_well_formed_and_whole() {
        let (results, none) = (super::super::results::tests::results(), Results::default());
        let comparison = compare(&results, &results);
        let pages = [
            page(&results, &sections(&results, Some(&comparison))),
            page(&results, &sections(&results, None)),
            page(&none, &sections(&none, None)),
        ];
        for text in &pages {
            let body = text.strip_prefix("<!DOCTYPE html>\n").unwrap();
            let document = roxmltree::Document::parse(body).unwrap();
            for node in document.descendants().filter(|node| node.is_element()) {
                assert_ne!(node.tag_name().name(), "script");
                for attribute in ["src", "href"] {
                    assert!(node.attribute(attribute).is_none_or(|to| to.starts_with("data:")), "{node:?}");
                }
            }
            assert!(!text.replace("http://www.w3.org/2000/svg", "").contains("http:"));
        }
        assert!(pages[0].contains("2026-11-21 &lt;&amp;&gt;") && pages[0].contains("6 cases compared"));
        assert_eq!(pages[0].matches("<svg").count(), 4);
    }
}
