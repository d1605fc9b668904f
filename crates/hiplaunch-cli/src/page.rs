//! Reports of sections: printed, or written as a page without dependencies.

use std::fmt::Write;

use crate::output::{Output, Style, wrapped};

/// A part of the report.
#[derive(Default)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) warnings: Vec<String>,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<(Style, Vec<String>)>,
    /// Terms with their meanings.
    pub(crate) terms: Vec<(&'static str, &'static str)>,
    /// A picture as SVG, for the page.
    pub(crate) figure: Option<String>,
    /// Whether the section is for the page alone, which has more room.
    pub(crate) only_page: bool,
}

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
.pairs td { text-align: left } .pairs td + td { white-space: normal; overflow-wrap: anywhere }
summary { cursor: pointer; font-size: .875rem; margin-top: 6px } dt { font-weight: 600; margin-top: 8px } dd { margin: 0 }";

/// Escapes text for the page.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    // Control characters are not allowed in a page.
    text.replace(char::is_control, " ")
}

/// Returns the whole page. `title` is the browser's, `heading` the page's own.
pub(crate) fn page(title: &str, heading: &str, sections: &[Section]) -> String {
    let (title, heading) = (escaped(title), escaped(heading));
    let mut page = format!(
        "<!DOCTYPE html>
<html lang=\"en\"><head><meta charset=\"utf-8\"/>
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>
<title>{title}</title>
<link rel=\"icon\" href=\"data:,\"/>
<style>{STYLE}</style></head><body><main>
<h1>{heading}</h1>
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

/// Prints the sections.
pub(crate) fn print(sections: &[Section], out: &mut Output) -> std::io::Result<()> {
    for section in sections.iter().filter(|section| !section.only_page) {
        if !section.title.is_empty() {
            out.line("")?;
            out.line(out.styled(Style::Strong, &section.title))?;
        }
        section.warnings.iter().try_for_each(|warning| paragraph(warning, "", out, Style::Bad))?;
        if !section.text.is_empty() {
            paragraph(&section.text, "", out, Style::Faint)?;
        }
        let head = (!section.head.is_empty()).then_some((Style::Faint, &section.head));
        let rows: Vec<_> =
            head.into_iter().chain(section.rows.iter().map(|(s, cells)| (*s, cells))).collect();
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|(_, cells)| cells.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        for (style, cells) in &rows {
            let mut line = String::new();
            for (column, cell) in cells.iter().enumerate() {
                line += &match column {
                    0 => format!("{cell:0$}", width(0)),
                    _ if section.head.is_empty() => format!("  {cell}"),
                    _ => format!("  {cell:>0$}", width(column)),
                };
            }
            out.line(out.styled(*style, &line))?;
        }
        for (term, meaning) in &section.terms {
            paragraph(&format!("{term}: {meaning}"), "    ", out, Style::Faint)?;
        }
    }
    Ok(())
}

fn paragraph(text: &str, indent: &str, out: &mut Output, style: Style) -> std::io::Result<()> {
    let lines = wrapped(indent, text.split_whitespace(), " ");
    lines.iter().try_for_each(|line| out.line(out.styled(style, line)))
}
