//! What LLVM prints for gfx11 and this crate refuses.

/// Returns why an encoding that LLVM prints as `text` is not an instruction here; `None` if it is one.
pub(in super::super) fn known_difference(_words: &[u32; 3], text: &str) -> Option<&'static str> {
    let (_mnemonic, operands) = text.split_once(' ')?;
    let operands: Vec<&str> = operands.split(", ").collect();
    let vgprs = |text: &str| text.starts_with('v') && text[1..].starts_with('[');
    let beyond = operands.iter().any(|text| {
        let end = text.split(']').next().and_then(|text| text.rsplit(':').next());
        vgprs(text.trim_start_matches('[')) && end.and_then(|end| end.parse::<u32>().ok()).is_some_and(|end| end > 255)
    });
    if beyond {
        return Some("vector registers past the last");
    }
    None
}
