//! The instruction encodings: which one an instruction has, and how its first dword is composed.

use crate::lists;

/// Generates the enum from the list of encodings, with what follows from a line of it.
macro_rules! encodings {
    ($($Encoding:ident $name:literal $dwords:literal, $prefix:literal $prefix_bits:literal, $at:literal $width:literal,
    $segment:literal $segment_mask:literal;)*) => {
        /// Instruction encodings, as the ISA documents name them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names are the documents'")]
        pub enum Encoding {
            $($Encoding,)*
        }

        impl Encoding {
            /// All encodings, in the order of the enum.
            pub const ALL: [Encoding; [$($name),*].len()] = [$(Encoding::$Encoding,)*];

            /// Returns the number of dwords of an instruction, 1 or 2. The literal or control dword that may follow an encoding
            /// of one dword is not counted.
            #[inline]
            pub fn dwords(self) -> usize {
                match self {
                    $(Encoding::$Encoding => $dwords,)*
                }
            }

            /// Composes the first dword of an instruction. The other fields are taken from `rest`, whose bits in the positions
            /// of the encoding's prefix and the opcode are ignored.
            ///
            /// ```
            /// use amdgpu_isa::Encoding;
            ///
            /// // s_nop 3
            /// assert_eq!(Encoding::Sopp.first_dword(0, 3), 0xbf80_0003);
            /// ```
            pub fn first_dword(self, opcode: u32, rest: u32) -> u32 {
                let (prefix, prefix_bits, at, width, segment, segment_mask): (u32, u32, u32, u32, u32, u32) = match self {
                    $(Encoding::$Encoding => ($prefix, $prefix_bits, $at, $width, $segment, $segment_mask),)*
                };
                let opcode_mask = (1 << width) - 1;
                let fixed = u32::MAX << (32 - prefix_bits) | opcode_mask << at | segment_mask;
                prefix << (32 - prefix_bits) | (opcode & opcode_mask) << at | segment | rest & !fixed
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

impl Encoding {
    /// Returns the encoding of the instruction that begins with a dword; `None` if no encoding does.
    ///
    /// `Vop3` includes the long forms of VOP1, VOP2 and VOPC: see [`fields::Vop3::operation`](crate::fields::Vop3).
    ///
    /// ```
    /// use amdgpu_isa::Encoding;
    ///
    /// // s_endpgm
    /// assert_eq!(Encoding::of(0xbf81_0000), Some(Encoding::Sopp));
    /// ```
    #[inline]
    pub fn of(first: u32) -> Option<Encoding> {
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
        match first >> 26 {
            0x30 => Some(Encoding::Smem),
            0x34 if first >> 23 & 7 == 7 => Some(Encoding::Vop3p),
            0x34 => Some(Encoding::Vop3),
            0x36 => Some(Encoding::Ds),
            0x37 => match first >> 14 & 3 {
                0 => Some(Encoding::Flat),
                1 => Some(Encoding::Scratch),
                2 => Some(Encoding::Global),
                _ => None,
            },
            0x38 => Some(Encoding::Mubuf),
            0x3a => Some(Encoding::Mtbuf),
            0x3c => Some(Encoding::Mimg),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    #[test]
    fn first_dwords_have_the_encoding_they_were_composed_for() {
        for encoding in Encoding::ALL {
            for target in Target::ALL {
                for (opcode, name) in encoding.opcodes(target) {
                    let word = encoding.first_dword(opcode.into(), 0);
                    assert_eq!(Encoding::of(word), Some(encoding), "{name}: {word:#010x}");
                }
            }
        }
    }

    #[test]
    fn other_fields_change_neither_encoding_nor_opcode() {
        for encoding in Encoding::ALL {
            for (opcode, name) in encoding.opcodes(Target::Gfx90a) {
                let (zeros, ones) =
                    (encoding.first_dword(opcode.into(), 0), encoding.first_dword(opcode.into(), !0));
                assert_eq!(Encoding::of(ones), Some(encoding), "{name}");
                assert_eq!(zeros & ones, zeros, "{name}: a bit of the encoding or opcode was cleared");
            }
        }
    }
}
