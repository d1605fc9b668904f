//! What LLVM prints for gfx12 and this crate refuses, besides what it refuses on gfx11.

/// Returns why an encoding that LLVM prints as `text` is not an instruction here; `None` if it is one.
pub(in super::super) fn known_difference(_words: &[u32; 3], text: &str) -> Option<&'static str> {
    let mut modifiers = text.split(' ').skip(1);
    if modifiers.any(|modifier| matches!(modifier, "nv" | "scale_offset")) {
        return Some("a bit that gfx1250 has");
    }
    None
}
