//! What LLVM prints for RDNA and this crate refuses.

use crate::encoding::Encoding;
use crate::fields;
use crate::row::Ty;
use crate::target::Target;

/// Returns whether the bits of op_sel select halves that the instruction doesn't have. LLVM then prints whole registers in place of
/// halves.
fn selects_others(target: Target, words: &[u32; 3]) -> bool {
    let [first, second, _] = *words;
    if Encoding::of(target, first) != Some(Encoding::Vop3) {
        return false;
    }
    let f = fields::Vop3::of(target, u64::from(first) | u64::from(second) << 32);
    let (encoding, op) = f.operation(target);
    let Some(row) = encoding.row(target, op) else { return false };
    let is_half = |ty: &Ty| matches!(ty, Ty::F16 | Ty::I16 | Ty::Bf16);
    let sources = row.src.iter().filter(|ty| **ty != Ty::None).count();
    let others =
        7 >> sources << sources | if row.dst == Ty::Mask || encoding == Encoding::Vopc { 8 } else { 0 };
    (is_half(&row.dst) || row.src.iter().any(is_half)) && f.op_sel & others != 0
}

/// Returns whether the encoding is `v_fma_mixlo_f16`, `v_fma_mixhi_f16`, `v_cvt_pk_fp8_f32` or `v_cvt_pk_bf8_f32` with a permutation whose
/// highest bit LLVM loses.
pub(in super::super) fn is_misread(words: &[u32; 3]) -> bool {
    let [first, second, third] = *words;
    let control = third >> 8 & 0x1ff;
    matches!(first >> 16, 0xcc21 | 0xcc22 | 0xd769 | 0xd76a)
        && second & 0x1ff == 250
        && (0x80..0x100).contains(&control)
}

/// Returns whether an operand is in vector registers.
fn vgprs(text: &str) -> bool {
    text.starts_with('v') && text[1..].starts_with(|c: char| c == '[' || c.is_ascii_digit())
}

/// Returns why an encoding of gfx11 or gfx12 that LLVM prints as `text` is not an instruction here; `None` if it is one.
pub(in super::super) fn known_difference(
    target: Target,
    words: &[u32; 3],
    text: &str,
) -> Option<&'static str> {
    let (mnemonic, operands) = text.split_once(' ')?;
    let operands: Vec<&str> = operands.split(", ").collect();
    if text.contains("src_lds_direct") {
        return Some("a source that gfx11 no longer has");
    }
    let writes_scalar = mnemonic.starts_with("v_cmp") || mnemonic.starts_with("v_s_");
    if writes_scalar && operands.first()?.starts_with("src_") {
        return Some("a scalar destination that is no register");
    }
    if mnemonic.starts_with("v_fma_mix") {
        return Some("a scalar source where there are vector registers only");
    }
    let is_matrix = mnemonic.starts_with("v_wmma") || mnemonic.starts_with("v_swmmac");
    if is_matrix && operands.iter().any(|operand| !vgprs(operand)) {
        return Some("a matrix in scalar registers");
    }
    if matches!(mnemonic, "v_fmac_f32_e64_dpp" | "v_fmac_f16_e64_dpp") {
        return Some("a constant that LLVM prints as its code");
    }
    if selects_others(target, words) {
        return Some("op_sel of operands that don't exist");
    }
    common_difference(text)
}

/// Returns the same for what all generations of RDNA have in common.
pub(in super::super) fn common_difference(text: &str) -> Option<&'static str> {
    let (mnemonic, operands) = text.split_once(' ')?;
    let operands: Vec<&str> = operands.split(", ").collect();
    let last = operands.last()?.split(' ').next()?;
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
    let is_known = || Encoding::Mimg.rows().iter().any(|row| row.name == mnemonic);
    if ["image_bvh", "ds_bvh", "v_interp"].iter().any(|start| mnemonic.starts_with(start))
        || mnemonic.starts_with("image_") && !is_known()
    {
        return Some("an instruction of graphics");
    }
    if mnemonic.starts_with("image_") {
        return Some("an image instruction whose number of registers LLVM gets wrong");
    }
    None
}
