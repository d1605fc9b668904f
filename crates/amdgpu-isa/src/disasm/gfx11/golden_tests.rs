//! What LLVM prints for gfx11 and this crate refuses.

use crate::encoding::Encoding;
use crate::fields;
use crate::row::Ty;
use crate::target::Target;

/// Returns whether the bits of op_sel select halves that the instruction doesn't have. LLVM then prints whole registers in place of
/// halves.
fn selects_others(words: &[u32; 3]) -> bool {
    let [first, second, _] = *words;
    if Encoding::of(Target::Gfx11, first) != Some(Encoding::Vop3) {
        return false;
    }
    let f = fields::Vop3::of(Target::Gfx11, u64::from(first) | u64::from(second) << 32);
    let (encoding, op) = f.operation(Target::Gfx11);
    let Some(row) = encoding.row(Target::Gfx11, op) else { return false };
    let is_half = |ty: &Ty| matches!(ty, Ty::F16 | Ty::I16 | Ty::Bf16);
    let sources = row.src.iter().filter(|ty| **ty != Ty::None).count();
    let others =
        7 >> sources << sources | if row.dst == Ty::Mask || encoding == Encoding::Vopc { 8 } else { 0 };
    (is_half(&row.dst) || row.src.iter().any(is_half)) && f.op_sel & others != 0
}

/// Returns whether the encoding is `v_fma_mixlo_f16` or `v_fma_mixhi_f16` with a permutation whose highest bit LLVM loses.
pub(in super::super) fn is_misread(words: &[u32; 3]) -> bool {
    let [first, second, third] = *words;
    let control = third >> 8 & 0x1ff;
    matches!(first >> 16, 0xcc21 | 0xcc22) && second & 0x1ff == 250 && (0x80..0x100).contains(&control)
}

/// Returns why an encoding that LLVM prints as `text` is not an instruction here; `None` if it is one.
pub(in super::super) fn known_difference(words: &[u32; 3], text: &str) -> Option<&'static str> {
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
    if text.contains("src_lds_direct") {
        return Some("a source that gfx11 no longer has");
    }
    if mnemonic == "s_getpc_b64" {
        return Some("a source where the instruction has none");
    }
    let wants_vector =
        ["v_mqsad_u32_u8", "v_swap", "v_permlane", "v_readfirstlane_b32", "v_movrels", "v_fma_mix"];
    if wants_vector.iter().any(|start| mnemonic.starts_with(start)) || mnemonic == "v_readlane_b32" {
        return Some("a scalar source where there are vector registers only");
    }
    if mnemonic.starts_with("v_wmma") {
        return Some("a matrix in scalar registers");
    }
    if matches!(mnemonic, "v_fmac_f32_e64_dpp" | "v_fmac_f16_e64_dpp") {
        return Some("a constant that LLVM prints as its code");
    }
    if selects_others(words) {
        return Some("op_sel of operands that don't exist");
    }
    if ["v_cndmask_", "v_add_co_ci_", "v_sub_co_ci_", "v_subrev_co_ci_"]
        .iter()
        .any(|start| mnemonic.starts_with(start))
        && vgprs(last)
    {
        return Some("a mask in vector registers");
    }
    if ["image_bvh", "ds_bvh"].iter().any(|start| mnemonic.starts_with(start)) {
        return Some("an instruction of graphics");
    }
    if mnemonic.starts_with("image_") {
        return Some("an image instruction whose number of registers LLVM gets wrong");
    }
    None
}
