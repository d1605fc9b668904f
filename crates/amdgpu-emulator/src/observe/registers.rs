//! The registers that a disassembled instruction names, and their values.

use std::fmt;

use crate::state::wave::{AGPR, Wave, sreg};

/// The largest number of registers of one operand that are reported: that of the widest matrices.
const WIDEST: u16 = 32;

/// A register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Register {
    /// A vector register, with its index in `Regs::v`.
    Vector(u16),
    /// A 32-bit scalar register, with its index in `Regs::s`.
    Scalar(u16),
    Vcc,
    Exec,
    Scc,
}

impl Register {
    /// The registers that instructions change without naming them.
    pub(crate) const FLAGS: [Register; 3] = [Register::Vcc, Register::Exec, Register::Scc];

    /// Returns the value; of a vector register, that of the lane.
    pub(crate) fn value(self, w: &Wave, lane: usize) -> u64 {
        match self {
            Register::Vector(index) => w.v(index).flat().get(lane).copied().unwrap_or(0).into(),
            Register::Scalar(index) => w.s32(index).into(),
            Register::Vcc => w.vcc(),
            Register::Exec => w.exec(),
            Register::Scc => w.scc().into(),
        }
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Register::Vector(index) if index >= AGPR => write!(f, "a{}", index - AGPR),
            Register::Vector(index) => write!(f, "v{index}"),
            Register::Scalar(sreg::M0) => f.write_str("m0"),
            Register::Scalar(sreg::FLAT_SCRATCH) => f.write_str("flat_scratch_lo"),
            Register::Scalar(index) => write!(f, "s{index}"),
            Register::Vcc => f.write_str("vcc"),
            Register::Exec => f.write_str("exec"),
            Register::Scc => f.write_str("scc"),
        }
    }
}

/// Returns the registers of an instruction's operands, each once, in the order of the text.
pub(crate) fn named(text: &str) -> Vec<Register> {
    let operands = text.split_once(' ').map_or("", |(_, operands)| operands);
    let mut found: Vec<Register> = Vec::new();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '[' | ']' | ':');
    for word in operands.split(|c| !is_part(c)) {
        for register in of_word(word) {
            if !found.contains(&register) {
                found.push(register);
            }
        }
    }
    found
}

fn of_word(word: &str) -> Vec<Register> {
    match word {
        "vcc" | "vcc_lo" | "vcc_hi" => return vec![Register::Vcc],
        "exec" | "exec_lo" | "exec_hi" => return vec![Register::Exec],
        "scc" | "src_scc" => return vec![Register::Scc],
        "m0" => return vec![Register::Scalar(sreg::M0)],
        "flat_scratch" => return vec![Register::Scalar(sreg::FLAT_SCRATCH)],
        _ => {}
    }
    let (file, rest) = match word.split_at_checked(1) {
        Some((file @ ("v" | "s" | "a"), rest)) => (file, rest),
        _ => return Vec::new(),
    };
    let range = match rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(range) => range.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?))),
        None => rest.parse().ok().map(|n: u16| (n, n)),
    };
    let Some((first, last)) = range.filter(|(_, last)| *last < AGPR) else { return Vec::new() };
    let register = |n: u16| match file {
        "v" => Register::Vector(n),
        "a" => Register::Vector(AGPR + n),
        _ => Register::Scalar(n),
    };
    (first..=last).take(WIDEST.into()).map(register).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> String {
        named(text).iter().map(Register::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn registers_are_found_in_the_text() {
        assert_eq!(names("v_add_f32_e64 v0, -v1, |v2| clamp"), "v0 v1 v2");
        assert_eq!(names("v_cndmask_b32_e32 v3, v3, v4, vcc"), "v3 v4 vcc");
        assert_eq!(names("global_load_dwordx2 v[2:3], v1, s[4:5] offset:16 glc"), "v2 v3 v1 s4 s5");
        assert_eq!(names("v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3] cbsz:1"), "a0 a1 a2 a3 v0 v1");
        assert_eq!(names("s_and_saveexec_b64 s[0:1], vcc"), "s0 s1 vcc");
        assert_eq!(names("s_mov_b32 m0, 0x1234"), "m0");
        assert_eq!(names("v_mov_b32_sdwa v1, sext(v2) dst_sel:DWORD src0_sel:BYTE_0"), "v1 v2");
        assert_eq!(names("s_endpgm"), "");
        assert_eq!(names("s_waitcnt vmcnt(0) lgkmcnt(0)"), "");
    }
}
