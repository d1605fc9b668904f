//! The colours that all pictures use, in light and dark mode, and their title. It is public for the command line, and
//! not part of the stable interface.

use plotters::style::RGBColor;

/// The background.
pub const BACKGROUND: RGBColor = RGBColor(0xff, 0xff, 0xff);
/// Text.
pub const TEXT: RGBColor = RGBColor(0x1f, 0x23, 0x28);
/// Less important text.
pub const FAINT: RGBColor = RGBColor(0x59, 0x63, 0x6e);
/// Lines and areas in the background.
pub const PALE: RGBColor = RGBColor(0xd8, 0xde, 0xe4);
/// Text on a coloured area.
pub const ON_COLOUR: RGBColor = RGBColor(0xff, 0xff, 0xff);

/// The colours of dark mode, which replace the colours above.
const STYLE: &str = "<style>@media (prefers-color-scheme: dark) { \
    rect[fill=\"#FFFFFF\"] { fill: #0D1117 } rect[fill=\"#D8DEE4\"] { fill: #373E47 } \
    text[fill=\"#1F2328\"] { fill: #E6EDF3 } text[fill=\"#59636E\"] { fill: #9198A1 } }</style>\n";

/// Inserts title and style after the start tag of a picture. The title must not contain characters that XML escapes.
pub fn finish(mut svg: String, title: &str) -> String {
    if let Some(at) = svg.find(">\n") {
        svg.insert_str(at + 2, &format!("<title>{title}</title>\n{STYLE}"));
    }
    svg
}
