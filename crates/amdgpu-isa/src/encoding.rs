//! The instruction encodings: which one an instruction has, and how its first dword is composed.

use crate::lists;
use crate::target::{Generation, Target};

/// The positions of the prefix and the opcode in the first dword.
#[derive(Clone, Copy)]
struct Layout {
    prefix: u32,
    prefix_bits: u32,
    opcode_at: u32,
    opcode_bits: u32,
    /// The bits that tell FLAT, GLOBAL and SCRATCH apart, and MUBUF and MTBUF of gfx12.
    segment: u32,
    segment_mask: u32,
    dwords: usize,
}

/// Returns a layout of the list; `None` if the generation doesn't have the encoding. The number of dwords follows the layout, for those that
/// have no number of their own.
macro_rules! layout {
    ([none] $_dwords:literal) => {
        None
    };
    ([$prefix:literal $bits:literal, $at:literal $width:literal, $segment:literal $mask:literal] $dwords:literal) => {
        layout!([$prefix $bits, $at $width, $segment $mask, $dwords] $dwords)
    };
    ([
        $prefix:literal $prefix_bits:literal, $at:literal $width:literal, $segment:literal $segment_mask:literal, $dwords:literal
    ] $_usual:literal) => {
        Some(Layout {
            prefix: $prefix,
            prefix_bits: $prefix_bits,
            opcode_at: $at,
            opcode_bits: $width,
            segment: $segment,
            segment_mask: $segment_mask,
            dwords: $dwords,
        })
    };
}

/// Generates the enum from the list of encodings, with what follows from a line of it.
macro_rules! encodings {
    ($($Encoding:ident $name:literal $dwords:literal $gfx9:tt $gfx10:tt $gfx11:tt $gfx12:tt;)*) => {
        /// Instruction encodings, as the ISA documents name them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names are the documents'")]
        pub enum Encoding {
            $($Encoding,)*
        }

        impl Encoding {
            /// All encodings, in the order of the enum.
            pub const ALL: [Encoding; [$($name),*].len()] = [$(Encoding::$Encoding,)*];

            fn layout(self, target: Target) -> Option<Layout> {
                match (self, target.generation()) {
                    $(
                        (Encoding::$Encoding, Generation::Gfx9) => layout!($gfx9 $dwords),
                        (Encoding::$Encoding, Generation::Gfx10) => layout!($gfx10 $dwords),
                        (Encoding::$Encoding, Generation::Gfx11) => layout!($gfx11 $dwords),
                        (Encoding::$Encoding, Generation::Gfx12) => layout!($gfx12 $dwords),
                    )*
                }
            }

            /// Returns the name that the ISA documents use, such as `VOP2`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Encoding::$Encoding => $name,)*
                }
            }
        }
    };
}

lists::encodings!(encodings);

/// The prefix of the instructions of gfx12 with a sampler, which are in MIMG's list, too.
const VSAMPLE: u32 = 0x39;

/// Returns whether an opcode of MIMG on gfx12 is one of VSAMPLE, and not of VIMAGE. None is one of both.
pub(crate) fn has_sampler_on_gfx12(opcode: u32) -> bool {
    matches!(opcode, 27..=101 | 144)
}

impl Encoding {
    /// Returns the number of dwords of an instruction on a target, 1 to 3; 0 if the target doesn't have the encoding. What may follow is not
    /// counted: a literal, a control dword, more addresses.
    #[inline]
    pub fn dwords(self, target: Target) -> usize {
        self.layout(target).map_or(0, |layout| layout.dwords)
    }

    /// Composes the first dword of an instruction. The other fields are taken from `rest`, whose bits in the positions
    /// of the encoding's prefix and the opcode are ignored. Returns 0 if the target doesn't have the encoding. On gfx10, the opcode's
    /// highest bit in MTBUF is in the second dword ([`fields::Mtbuf::opcode`](crate::fields::Mtbuf::opcode)).
    ///
    /// ```
    /// use amdgpu_isa::{Encoding, Target};
    ///
    /// // s_nop 3
    /// assert_eq!(Encoding::Sopp.first_dword(Target::Gfx90a, 0, 3), 0xbf80_0003);
    /// ```
    pub fn first_dword(self, target: Target, opcode: u32, rest: u32) -> u32 {
        let Some(layout) = self.layout(target) else { return 0 };
        let opcode_mask = (1 << layout.opcode_bits) - 1;
        let prefix_at = 32 - layout.prefix_bits;
        let prefix = match self {
            Encoding::Mimg if target.is_gfx12() && has_sampler_on_gfx12(opcode) => VSAMPLE,
            _ => layout.prefix,
        };
        // The first bit of MIMG on gfx10 is the opcode's highest.
        let last_mask = u32::from(self == Encoding::Mimg && target.is_gfx10());
        let fixed = u32::MAX << prefix_at | opcode_mask << layout.opcode_at | layout.segment_mask | last_mask;
        prefix << prefix_at
            | (opcode & opcode_mask) << layout.opcode_at
            | layout.segment
            | opcode >> layout.opcode_bits & last_mask
            | rest & !fixed
    }

    /// Returns the encoding of the instruction that begins with a dword; `None` if no encoding does.
    ///
    /// `Vop3` includes the long forms of VOP1, VOP2 and VOPC: see [`fields::Vop3::operation`](crate::fields::Vop3).
    ///
    /// ```
    /// use amdgpu_isa::{Encoding, Target};
    ///
    /// // s_endpgm
    /// assert_eq!(Encoding::of(Target::Gfx90a, 0xbf81_0000), Some(Encoding::Sopp));
    /// ```
    #[inline]
    pub fn of(target: Target, first: u32) -> Option<Encoding> {
        if first >> 31 == 0 {
            return Some(match first >> 25 {
                0x3e => Encoding::Vopc,
                0x3f => Encoding::Vop1,
                _ => Encoding::Vop2,
            });
        }
        if first >> 30 == 2 {
            return Some(match first >> 23 {
                0x17d => Encoding::Sop1,
                0x17e => Encoding::Sopc,
                0x17f => Encoding::Sopp,
                _ if first >> 28 == 0xb => Encoding::Sopk,
                _ => Encoding::Sop2,
            });
        }
        match (first >> 26, target.generation()) {
            (0x36, _) => Some(Encoding::Ds),
            (_, Generation::Gfx9) => Encoding::of_gfx9(first),
            (0x33, _) if first >> 23 & 7 == 0 => Some(Encoding::Vop3p),
            (0x35, _) => Some(Encoding::Vop3),
            (0x32, Generation::Gfx11 | Generation::Gfx12) => Some(Encoding::Vopd),
            (0x3d, _) => Some(Encoding::Smem),
            (0x31, Generation::Gfx12) => match first >> 18 & 15 {
                0..=7 => Some(Encoding::Mubuf),
                8 => Some(Encoding::Mtbuf),
                _ => None,
            },
            // VIMAGE, and VSAMPLE with a sampler.
            (0x34 | 0x39, Generation::Gfx12) => Some(Encoding::Mimg),
            (0x3b, Generation::Gfx12) => Encoding::of_segment(first >> 24),
            (_, Generation::Gfx12) => None,
            (0x37, Generation::Gfx10) => Encoding::of_segment(first >> 14),
            (0x37, _) => Encoding::of_segment(first >> 16),
            (0x38, _) => Some(Encoding::Mubuf),
            (0x3a, _) => Some(Encoding::Mtbuf),
            (0x3c, _) => Some(Encoding::Mimg),
            _ => None,
        }
    }

    /// Returns the long encoding of gfx9 that an instruction begins with.
    fn of_gfx9(first: u32) -> Option<Encoding> {
        match first >> 26 {
            0x30 => Some(Encoding::Smem),
            0x34 if first >> 23 & 7 == 7 => Some(Encoding::Vop3p),
            0x34 => Some(Encoding::Vop3),
            0x37 => Encoding::of_segment(first >> 14),
            0x38 => Some(Encoding::Mubuf),
            0x3a => Some(Encoding::Mtbuf),
            0x3c => Some(Encoding::Mimg),
            _ => None,
        }
    }

    /// Returns which of FLAT, SCRATCH and GLOBAL the two lowest bits select.
    fn of_segment(bits: u32) -> Option<Encoding> {
        match bits & 3 {
            0 => Some(Encoding::Flat),
            1 => Some(Encoding::Scratch),
            2 => Some(Encoding::Global),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_dwords_have_the_encoding_they_were_composed_for() {
        for encoding in Encoding::ALL {
            for target in Target::ALL {
                for (opcode, name) in encoding.opcodes(target) {
                    let word = encoding.first_dword(target, opcode.into(), 0);
                    assert_eq!(Encoding::of(target, word), Some(encoding), "{name}: {word:#010x}");
                }
            }
        }
    }

    #[test]
    fn other_fields_change_neither_encoding_nor_opcode() {
        for encoding in Encoding::ALL {
            for target in [Target::Gfx90a, Target::Gfx103, Target::Gfx11, Target::Gfx12] {
                for (opcode, name) in encoding.opcodes(target) {
                    let [zeros, ones] = [0, !0].map(|rest| encoding.first_dword(target, opcode.into(), rest));
                    assert_eq!(Encoding::of(target, ones), Some(encoding), "{name}");
                    assert_eq!(zeros & ones, zeros, "{name}: a bit of the encoding or opcode was cleared");
                }
            }
        }
    }
}
