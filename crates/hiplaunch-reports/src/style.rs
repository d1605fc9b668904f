//! What all pictures have in common: the colours of what is plain, in light and dark mode, and the title. For this
//! crate's command line too; no part of the interface.

use plotters::style::RGBColor;

/// The page.
pub const BACKGROUND: RGBColor = RGBColor(0xff, 0xff, 0xff);
/// What is to be read.
pub const TEXT: RGBColor = RGBColor(0x1f, 0x23, 0x28);
/// What is to be found when it is looked for.
pub const FAINT: RGBColor = RGBColor(0x59, 0x63, 0x6e);
/// Lines and areas behind the rest.
pub const PALE: RGBColor = RGBColor(0xd8, 0xde, 0xe4);
/// Text on a coloured area.
pub const ON_COLOUR: RGBColor = RGBColor(0xff, 0xff, 0xff);

/// Dark mode: other colours for what is plain, by the colours above.
const STYLE: &str = "<style>@media (prefers-color-scheme: dark) { \
    rect[fill=\"#FFFFFF\"] { fill: #0D1117 } rect[fill=\"#D8DEE4\"] { fill: #373E47 } \
    text[fill=\"#1F2328\"] { fill: #E6EDF3 } text[fill=\"#59636E\"] { fill: #9198A1 } }</style>\n";

/// Puts title and style behind the start tag of a picture. The title has nothing in it that XML would have escaped.
pub fn finish(mut svg: String, title: &str) -> String {
    if let Some(at) = svg.find(">\n") {
        svg.insert_str(at + 2, &format!("<title>{title}</title>\n{STYLE}"));
    }
    svg
}
