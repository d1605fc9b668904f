//! Buffer descriptors: the fields of the four SGPRs that MUBUF and MTBUF take (CDNA ISA, "Buffer resource descriptor"; RDNA3 ISA,
//! 9.6).

use amdgpu_isa::Generation;

use crate::exec::inst::{Inst, flag};
use crate::state::wave::Wave;

/// The fields of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) base: u64,
    /// The number of bytes from a record to the next one.
    pub(crate) stride: u64,
    /// The number of contiguous bytes of one index in a swizzled buffer; `None` if the buffer is not swizzled.
    pub(crate) element: Option<u32>,
    /// The number of consecutive indices that are interleaved in a swizzled buffer.
    pub(crate) index_stride: u64,
    pub(crate) records: u32,
    /// The lane's number is added to the index.
    pub(crate) add_tid: bool,
    pub(crate) check: Check,
    pub(crate) format: FormatNumber,
    /// What a load gives for each of x, y, z, w: 0 and 1 select these constants, 4 to 7 a component.
    pub(crate) select: [u32; 4],
}

/// The rule of the range check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// That of gfx9: the instruction and the stride decide what is checked.
    ByStride,
    /// The index, and the end of the access in its record.
    IndexAndOffset,
    /// The index.
    Index,
    /// Whether there are records.
    Empty,
    /// The end of the access, in bytes; [`Check::IndexAndOffset`] in a swizzled buffer with a stride.
    Raw,
}

/// The number of a format of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormatNumber {
    /// The numbers of the data format and of the number format.
    Split(u32, u32),
    /// One number for both, as gfx10 has it.
    UnifiedOfGfx10(u32),
    /// One number for both, as gfx11 has it.
    Unified(u32),
}

/// The number formats of gfx9's data formats from 1 on, on gfx10 and on gfx11, in the order in which unified numbers count them from 1 on
/// (RDNA3 ISA, 10.7, table 52; of gfx10 LLVM, `UfmtGFX10`, and RDNA2 ISA, "Memory buffer formats").
const UNIFIED: [[&[u32]; 2]; 14] = [
    [INTEGERS; 2],
    [ALL; 2],
    [INTEGERS; 2],
    [WHOLE; 2],
    [ALL; 2],
    [ALL, &[7]],
    [ALL, &[7]],
    [INTEGERS, &[0, 1, 4, 5]],
    [INTEGERS; 2],
    [INTEGERS; 2],
    [WHOLE; 2],
    [ALL; 2],
    [WHOLE; 2],
    [WHOLE; 2],
];
/// Integers of all kinds, which 8 and 10 bits can be; the same and floats, of 16 bits; and what 32 bits can be.
const INTEGERS: &[u32] = &[0, 1, 2, 3, 4, 5];
const ALL: &[u32] = &[0, 1, 2, 3, 4, 5, 7];
const WHOLE: &[u32] = &[4, 5, 7];

impl FormatNumber {
    /// Returns the numbers of the data format and of the number format. They are 0 if the format is invalid, or one of images.
    pub(crate) fn parts(self) -> (u32, u32) {
        let (column, unified) = match self {
            FormatNumber::Split(data, number) => return (data, number),
            FormatNumber::UnifiedOfGfx10(unified) => (0, unified),
            FormatNumber::Unified(unified) => (1, unified),
        };
        let mut first = 1;
        for (data, columns) in (1..).zip(UNIFIED) {
            let numbers = columns[column];
            if let Some(number) = unified.checked_sub(first).and_then(|n| numbers.get(n as usize)) {
                return (data, *number);
            }
            first += numbers.len() as u32;
        }
        (0, 0)
    }
}

impl Descriptor {
    /// Returns the descriptor of a MUBUF or MTBUF instruction.
    pub(crate) fn of(w: &Wave, i: &Inst) -> Descriptor {
        let (low, records, word3) = (w.s64(i.src[2]), w.s32(i.src[2] + 2), w.s32(i.src[2] + 3));
        let add_tid = word3 >> 23 & 1 != 0;
        let common = Descriptor {
            base: low & 0xffff_ffff_ffff,
            stride: low >> 48 & 0x3fff,
            element: (low >> 63 != 0).then_some(4),
            index_stride: 8 << (word3 >> 21 & 3),
            records,
            add_tid,
            check: Check::ByStride,
            format: FormatNumber::Split(word3 >> 15 & 15, word3 >> 12 & 7),
            select: [0, 3, 6, 9].map(|at| word3 >> at & 7),
        };
        let check =
            [Check::IndexAndOffset, Check::Index, Check::Empty, Check::Raw][(word3 >> 28 & 3) as usize];
        match flag::generation(i.flags) {
            Generation::Gfx9 => {
                // With `add_tid`, the field of the data format holds the upper bits of the stride.
                let upper = if add_tid { u64::from(word3 >> 15 & 0xf) << 14 } else { 0 };
                Descriptor { stride: common.stride | upper, ..common }
            }
            Generation::Gfx10 => {
                Descriptor { check, format: FormatNumber::UnifiedOfGfx10(word3 >> 12 & 0x7f), ..common }
            }
            generation => Descriptor {
                // RDNA4 ISA, 9.6, "Stride Scale".
                stride: match generation {
                    Generation::Gfx12 => common.stride * [1, 4, 8, 32][(word3 >> 18 & 3) as usize],
                    _ => common.stride,
                },
                // The documents reserve the number between those of 4 and 16 bytes.
                element: [None, Some(4), Some(8), Some(16)][(low >> 62) as usize],
                check,
                format: FormatNumber::Unified(word3 >> 12 & 0x3f),
                ..common
            },
        }
    }

    /// Returns whether no buffer is bound: every access is out of range (RDNA3 ISA, 9.6, "Unbound resources"). `typed` says that
    /// the instruction is MTBUF.
    pub(crate) fn is_unbound(&self, typed: bool) -> bool {
        matches!(self.format, FormatNumber::Unified(0) | FormatNumber::UnifiedOfGfx10(0))
            && (typed || !self.add_tid)
    }
}
