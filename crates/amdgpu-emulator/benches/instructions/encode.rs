//! Encodes each instruction of the instruction table, with fixed registers.

use amdgpu_isa::flags::*;
use amdgpu_isa::{Encoding, MemoryAccess, Row, Target, Ty};

/// The first vector registers of the result, of each source, and of the address.
pub(crate) const RESULT: u32 = 4;
pub(crate) const SOURCES: [u32; 3] = [40, 72, 104];
pub(crate) const ADDRESS: u32 = 136;
/// Scalar registers: a buffer descriptor; the buffer's address; the result; a mask; sources.
pub(crate) const DESCRIPTOR_AT: u32 = 16;
pub(crate) const BUFFER_AT: u32 = 36;
const SCALAR_RESULT: u32 = 48;
const MASK: u32 = 66;
pub(crate) const SCALARS: [u32; 2] = [68, 72];
/// `s_mov_b64 exec, -1`.
const ALL_LANES: u32 = 0xbefe_01c1;
/// The operands of inline constants.
const ZERO: u32 = 128;
const THREE: u32 = 131;

/// Instructions that are also measured with every form of an operand.
const IN_ALL_FORMS: [&str; 11] = [
    "v_mov_b32",
    "v_add_f32",
    "v_max_f32",
    "v_add_u32",
    "v_lshlrev_b32",
    "v_cndmask_b32",
    "v_fmac_f32",
    "v_add_f16",
    "v_add_u16",
    "v_cvt_f32_f16",
    "v_cmp_lt_f32",
];

/// Where the lanes access memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// At addresses beside each other.
    Beside,
    /// At addresses that are 4 bytes apart, though less is accessed.
    By4,
    /// At addresses all over the memory.
    Scattered,
    /// All at one address.
    Same,
}

/// An instruction to measure.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) row: &'static Row,
    pub(crate) encoding: Encoding,
    pub(crate) target: Target,
    pub(crate) words: Vec<u32>,
    pub(crate) pattern: Pattern,
}

/// Returns whether an instruction can be repeated: it neither jumps, nor ends or stops the wave, nor changes its mode,
/// nor is half of another instruction.
pub(crate) fn is_measured(encoding: Encoding, row: &Row) -> bool {
    encoding != Encoding::Sopp
        && encoding != Encoding::Mimg
        && !row.is(BRANCH | MODE_OUT | GWS)
        && row.name != "v_mfma_ld_scale_b32"
}

/// Returns an instruction in its forms, or with its patterns of access.
pub(crate) fn cases(encoding: Encoding, row: &'static Row, target: Target) -> Vec<Case> {
    let op = u32::from(row.opcode(target).unwrap_or(0));
    let case = |(suffix, mut words): (&str, Vec<u32>), pattern| {
        if row.is(EXEC_OUT) {
            words.push(ALL_LANES);
        }
        Case { name: format!("{}{suffix}", row.name), row, encoding, target, words, pattern }
    };
    let forms = match encoding {
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => short(encoding, row, op),
        Encoding::Vop3 => vec![("", vop3(row, op))],
        Encoding::Vop3p => vop3p(row, op),
        Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc | Encoding::Sopk => {
            vec![("", scalar(encoding, row, op))]
        }
        _ => {
            return accesses(encoding, row, op, target)
                .into_iter()
                .map(|(suffix, words, pattern)| case((&suffix, words), pattern))
                .collect();
        }
    };
    forms.into_iter().map(|form| case(form, Pattern::Beside)).collect()
}

/// Returns the number of a vector register as a source.
fn vector(register: u32) -> u32 {
    256 + register
}

/// Returns a literal of a type: 1 as a float.
fn literal(row: &Row) -> Option<u32> {
    row.is(LIT).then(|| if row.dst == Ty::F16 { 0x3c00 } else { 0x3f80_0000 })
}

/// Encodes an instruction of VOP1, VOP2 or VOPC, some also with DPP, SDWA and modifiers.
fn short(encoding: Encoding, row: &Row, op: u32) -> Vec<(&'static str, Vec<u32>)> {
    let dst = if row.is(SGPR_DST) { SCALAR_RESULT } else { RESULT };
    let rest = match encoding {
        Encoding::Vop1 if row.dst == Ty::None => {
            return vec![("", vec![encoding.first_dword(Target::Gfx90a, op, 0)])];
        }
        Encoding::Vop1 => dst << 17,
        Encoding::Vop2 => dst << 17 | SOURCES[1] << 9,
        _ => SOURCES[1] << 9,
    };
    let with = |src0: u32| encoding.first_dword(Target::Gfx90a, op, rest | src0);
    let mut forms = vec![("", [with(vector(SOURCES[0]))].into_iter().chain(literal(row)).collect())];
    if !IN_ALL_FORMS.contains(&row.name) {
        return forms;
    }
    if encoding != Encoding::Vopc {
        for (suffix, control) in [
            (" row_shr:1", 0x111),
            (" quad_perm:[1,0,3,2]", 0xb1),
            (" row_bcast:15", 0x142),
            (" row_ror:4", 0x124),
            (" wave_shl:1", 0x130),
            (" row_mirror", 0x140),
        ] {
            forms.push((suffix, vec![with(0xfa), 0xff << 24 | control << 8 | SOURCES[0]]));
        }
    }
    // Selectors of destination and sources: 0 is a byte, 4 and 5 are words, 6 is the dword. 2 << 3 keeps the rest of the
    // destination, which VOPC doesn't have.
    let selectors =
        [(" sdwa byte, word", 5 | 2 << 3, 0, 5), (" sdwa word", 5 | 2 << 3, 5, 6), (" sdwa pad", 4, 4, 4)];
    for (suffix, dst_sel, src0_sel, src1_sel) in selectors.into_iter().filter(|_| !row.is(ACC)) {
        let dst = if encoding == Encoding::Vopc { 0 } else { dst_sel << 8 };
        let src1_sel = if encoding == Encoding::Vop1 { 6 } else { src1_sel };
        forms.push((suffix, vec![with(0xf9), src1_sel << 24 | src0_sel << 16 | dst | SOURCES[0]]));
    }
    // The long form, with |src0| and -src1, or with clamp and omod.
    let base = match encoding {
        Encoding::Vopc => 0,
        Encoding::Vop2 => 256,
        _ => 320,
    };
    let src1 = if encoding == Encoding::Vop1 { 0 } else { vector(SOURCES[1]) };
    let mask = if row.is(MASK_IN) { MASK << 18 } else { 0 };
    let long =
        [Encoding::Vop3.first_dword(Target::Gfx90a, base + op, dst), mask | src1 << 9 | vector(SOURCES[0])];
    forms.push((" e64", long.to_vec()));
    forms.push((" scalar source", vec![with(SCALARS[0])]));
    if [row.dst, row.src[0]].iter().any(|ty| matches!(ty, Ty::F32 | Ty::F16)) {
        forms.push((" abs, neg", vec![long[0] | 1 << 8, long[1] | (if src1 == 0 { 1 } else { 2 }) << 29]));
        if encoding != Encoding::Vopc {
            forms.push((" clamp", vec![long[0] | 1 << 15, long[1]]));
            forms.push((" omod", vec![long[0], long[1] | 1 << 27]));
        }
    }
    forms
}

fn vop3(row: &Row, op: u32) -> Vec<u32> {
    let mut src = [0; 3];
    for n in (0..3).filter(|n| row.src[*n] != Ty::None) {
        src[n] = vector(SOURCES[n]);
    }
    match row.name {
        "v_readlane_b32" => src[1] = THREE,
        "v_writelane_b32" => src[..2].copy_from_slice(&[SCALARS[0], THREE]),
        // The first source is one of the others.
        "v_div_scale_f32" | "v_div_scale_f64" => src[0] = src[1],
        _ => {}
    }
    let dst = if row.is(SGPR_DST) { SCALAR_RESULT } else { RESULT };
    let sdst = if row.is(SDST) { MASK << 8 } else { 0 };
    vec![Encoding::Vop3.first_dword(Target::Gfx90a, op, dst | sdst), src[0] | src[1] << 9 | src[2] << 18]
}

/// Encodes an instruction of VOP3P, some also with other formats.
fn vop3p(row: &Row, op: u32) -> Vec<(&'static str, Vec<u32>)> {
    let mut high = 0;
    for n in (0..3).filter(|n| row.src[*n] != Ty::None) {
        high |= vector(SOURCES[n]) << (9 * n);
    }
    let words = [Encoding::Vop3p.first_dword(Target::Gfx90a, op, RESULT), high];
    if !row.is(MATRIX) {
        // op_sel_hi is all ones, as if it is not given. Sources of mixed precision are then f16.
        let mut forms = vec![("", vec![words[0] | 1 << 14, words[1] | 3 << 27])];
        if row.src[0] == Ty::Mix {
            forms.push((" of f32", words.to_vec()));
        }
        return forms;
    }
    let mut forms = vec![("", words.to_vec())];
    let scale = Encoding::Vop3p.rows().iter().find(|row| row.name == "v_mfma_ld_scale_b32");
    if let (true, Some(scale)) = (row.is(F8F6F4), scale.and_then(|row| row.opcode(Target::Gfx950))) {
        // The formats of A and B are fields.
        for (suffix, format) in [(" bf8", 1), (" fp6", 2), (" fp4", 4)] {
            forms.push((suffix, vec![words[0] | format << 8, words[1] | format << 29]));
        }
        let scale = Encoding::Vop3p.first_dword(Target::Gfx90a, scale.into(), 0);
        let scales = vector(SOURCES[2]) | vector(SOURCES[2] + 1) << 9;
        forms.push((" scaled", [&[scale, scales], words.as_slice()].concat()));
    }
    forms
}

fn scalar(encoding: Encoding, row: &Row, op: u32) -> Vec<u32> {
    let rest = match encoding {
        Encoding::Sop1 if row.src[0] == Ty::None => SCALAR_RESULT << 16,
        Encoding::Sop1 => SCALAR_RESULT << 16 | SCALARS[0],
        Encoding::Sop2 => SCALAR_RESULT << 16 | SCALARS[1] << 8 | SCALARS[0],
        Encoding::Sopc => SCALARS[1] << 8 | SCALARS[0],
        _ => SCALAR_RESULT << 16 | 7,
    };
    [encoding.first_dword(Target::Gfx90a, op, rest)].into_iter().chain(literal(row)).collect()
}

/// Returns the bytes between the addresses of lanes beside each other.
pub(crate) fn stride(row: &Row, pattern: Pattern) -> u32 {
    let bytes = if row.is(FORMAT) { 16 } else { row.bytes() };
    match pattern {
        Pattern::By4 => 4,
        _ if row.is(EXCHANGE) => 4,
        _ if row.is(TWO) => 2 * bytes,
        _ => bytes,
    }
}

/// Encodes an instruction that may access memory, with the patterns of its addresses.
fn accesses(encoding: Encoding, row: &Row, op: u32, target: Target) -> Vec<(String, Vec<u32>, Pattern)> {
    use Pattern::{Beside, By4, Same, Scattered};
    let patterns: &[(Pattern, &str)] = match row.access() {
        None => &[(Beside, "")],
        Some(_) if encoding == Encoding::Smem || row.is(BY_LANE | COUNT) => &[(Beside, "")],
        Some(MemoryAccess::Atomic) => &[(Beside, ""), (Scattered, " scattered"), (Same, " same")],
        Some(_) if matches!(row.bytes(), 1 | 2) => &[(Beside, ""), (By4, " by 4"), (Scattered, " scattered")],
        Some(_) => &[(Beside, ""), (Scattered, " scattered")],
    };
    let returns = row.is(ATOMIC) && !matches!(encoding, Encoding::Ds | Encoding::Smem);
    let mut all = Vec::new();
    for (pattern, suffix) in patterns {
        all.push((suffix.to_string(), access(encoding, row, op, target, false), *pattern));
        if returns {
            all.push((format!(" glc{suffix}"), access(encoding, row, op, target, true), *pattern));
        }
    }
    all
}

fn access(encoding: Encoding, row: &Row, op: u32, target: Target, glc: bool) -> Vec<u32> {
    let accesses = row.access().is_some();
    let or_zero = |ty: Ty, register: u32| if ty == Ty::None { 0 } else { register };
    let dst = if row.is(ATOMIC) && !glc { 0 } else { or_zero(row.dst, RESULT) };
    let data = or_zero(row.src[0], SOURCES[0]);
    let glc = u32::from(glc);
    let (low, high) = match encoding {
        Encoding::Smem => {
            let base = if row.is(DESCRIPTOR) { DESCRIPTOR_AT } else { BUFFER_AT };
            let data = if row.dst == Ty::None && row.src[0] == Ty::None { 0 } else { SCALAR_RESULT };
            let address = if accesses { base >> 1 | 1 << 17 } else { 0 };
            (address | data << 6, 0)
        }
        Encoding::Ds => {
            let sources = [ADDRESS, SOURCES[1], SOURCES[2]];
            let [address, data0, data1] = [0, 1, 2].map(|n| or_zero(row.src[n], sources[n]));
            // The second of two addresses is that of the next element. ds_swizzle: lane ^ 4.
            let offset = match row.name {
                "ds_swizzle_b32" => 0x101f,
                _ if row.is(TWO) => 0x0100,
                _ => 0,
            };
            (offset, address | data0 << 8 | data1 << 16 | or_zero(row.dst, RESULT) << 24)
        }
        Encoding::Mubuf | Encoding::Mtbuf => {
            // 14 is a format of four dwords, 7 that of floats.
            let format = if encoding == Encoding::Mtbuf { (14 | 7 << 4) << 19 } else { 0 };
            let data = if row.is(LOAD) { RESULT } else { data };
            let operands = ADDRESS | data << 8 | DESCRIPTOR_AT >> 2 << 16 | ZERO << 24;
            if accesses { (1 << 12 | glc << 14 | format, operands) } else { (0, 0) }
        }
        _ => {
            let base = match encoding {
                Encoding::Global => BUFFER_AT,
                Encoding::Scratch => 0x7f,
                _ => 0,
            };
            // From gfx942 on, a bit says that a vector register has the offset in private memory.
            let sve = u32::from(encoding == Encoding::Scratch && target != Target::Gfx90a) << 13;
            (glc << 16 | sve, ADDRESS | data << 8 | base << 16 | dst << 24)
        }
    };
    [encoding.first_dword(Target::Gfx90a, op, low)]
        .into_iter()
        .chain((encoding.dwords(target) == 2).then_some(high))
        .collect()
}
