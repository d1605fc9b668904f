//! A decoded instruction: a pointer to what executes it, and operands as plain indices.

use gfx9_isa::Row;

use crate::isa::ExecFn;
use crate::modifiers::Ext;

/// What the interpreter does after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Flow {
    /// Goes on with the next instruction.
    Next,
    /// Goes on at `Wave::next`, which the executor has set to an index into the program's instructions.
    Jump,
    /// As `Next`, but lets other waves run first (sleep, and the like of spinning).
    Yield,
    /// Waits at the workgroup's barrier; then as `Next`.
    Barrier,
    /// Waits for other workgroups, as the executor has put into `Wave::wait`; then as `Next`.
    Wait,
    /// As `Next`, but MODE now says that vector instructions do other than they say: `altered::run` goes on.
    Altered,
    /// The wave has ended.
    End,
    /// The executor has put the cause into `Ctx::fault`.
    Fault,
}

/// Index that stands for an operand that is not there.
pub(crate) const NONE: u16 = u16::MAX;

/// One decoded instruction, one cache line.
///
/// Vector operands are indices into [`crate::wave::Regs::v`]: 0 to 255 VGPRs, 256 to 511 AGPRs, then temporaries.
/// Scalar operands are indices into [`crate::wave::Regs::s`]: below 128 the hardware's numbers (SGPRs, VCC, M0,
/// EXEC), above them the constants. 64-bit operands take the index and the next one.
#[repr(C, align(64))]
pub(crate) struct Inst {
    pub(crate) exec: ExecFn,
    /// Vector or scalar destination.
    pub(crate) dst: u16,
    /// Scalar destination of a mask (VOPC in VOP3, carries); `saddr`/`soffset` of memory instructions.
    pub(crate) sdst: u16,
    pub(crate) src: [u16; 3],
    /// The `flag` bits of the encoding, see `decode`.
    pub(crate) flags: u16,
    /// Immediate, or offset.
    pub(crate) imm: u32,
    /// Direct branches: index of the instruction branched to.
    pub(crate) target: u32,
    /// Where it is: dwords from the start of the code.
    pub(crate) pc: u32,
    /// Its first two dwords; the second is 0 if it has only one.
    pub(crate) raw: [u32; 2],
    /// Its row in the tables.
    pub(crate) row: &'static Row,
    /// What source and result modifiers, DPP and SDWA need; executed by `modifiers::Modified`.
    pub(crate) ext: Option<Box<Ext>>,
}

/// `Inst::flags`, of memory instructions but for the last.
pub(crate) mod flag {
    /// Return the value before (atomics); sc0 on gfx942.
    pub(crate) const GLC: u16 = 1;
    /// System level coherent; nt on gfx942.
    pub(crate) const SLC: u16 = 2;
    /// MUBUF, MTBUF: the vaddr operand gives an offset.
    pub(crate) const OFFEN: u16 = 4;
    /// MUBUF, MTBUF: the vaddr operand gives an index.
    pub(crate) const IDXEN: u16 = 8;
    /// MUBUF, FLAT: to or from LDS.
    pub(crate) const LDS: u16 = 16;
    /// DS: global data share.
    pub(crate) const GDS: u16 = 32;
    /// scc on gfx90a; sc1 on gfx942.
    pub(crate) const SC1: u16 = 64;
    /// SCRATCH: there is a vaddr operand.
    pub(crate) const VADDR: u16 = 128;
    /// Any: no instruction, whatever else there is.
    pub(crate) const ILLEGAL: u16 = 256;

    /// The flags whose bit in the encoding is set.
    pub(crate) fn where_set<const N: usize>(flags: [(u16, bool); N]) -> u16 {
        flags.into_iter().filter(|(_, set)| *set).fold(0, |all, (flag, _)| all | flag)
    }
}
