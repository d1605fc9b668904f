//! What LLVM prints for gfx10 and this crate refuses.

/// Returns why an encoding that LLVM prints as `text` is not an instruction here; `None` if it is one.
pub(in super::super) fn known_difference(text: &str) -> Option<&'static str> {
    let (mnemonic, operands) = text.split_once(' ')?;
    let operands: Vec<&str> = operands.split(", ").collect();
    let last = operands.last()?.split(' ').next()?;
    let vgprs =
        |text: &str| text.starts_with('v') && text[1..].starts_with(|c: char| c == '[' || c.is_ascii_digit());
    let beyond = operands.iter().any(|text| {
        let end = text.split(']').next().and_then(|text| text.rsplit(':').next());
        vgprs(text.trim_start_matches('['))
            && end.and_then(|end| end.parse::<u32>().ok()).is_some_and(|end| end > 255)
    });
    if beyond {
        return Some("vector registers past the last");
    }
    if text.contains("src_flat_scratch_base") {
        return Some("a source that gfx1250 has");
    }
    if mnemonic == "s_getpc_b64" {
        return Some("a source where the instruction has none");
    }
    let wants_vector = ["v_mqsad_u32_u8", "v_swap", "v_permlane", "v_readfirstlane_b32", "v_movrels"];
    if wants_vector.iter().any(|start| mnemonic.starts_with(start)) || mnemonic == "v_readlane_b32" {
        return Some("a scalar source where there are vector registers only");
    }
    if ["v_cndmask_", "v_add_co_ci_", "v_sub_co_ci_", "v_subrev_co_ci_"]
        .iter()
        .any(|start| mnemonic.starts_with(start))
        && vgprs(last)
    {
        return Some("a mask in vector registers");
    }
    if ["image_sample", "image_gather4", "image_get_lod", "image_bvh", "v_interp"]
        .iter()
        .any(|start| mnemonic.starts_with(start))
    {
        return Some("an instruction of graphics");
    }
    if mnemonic.starts_with("image_") {
        return Some("an image instruction whose number of registers LLVM gets wrong");
    }
    None
}
