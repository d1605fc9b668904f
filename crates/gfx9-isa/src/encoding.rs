//! The instruction encodings: which one an instruction has, and how its first dword is composed.

/// Instruction encodings, as the ISA documents name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the documents'")]
pub enum Encoding {
    Sop1,
    Sop2,
    Sopk,
    Sopc,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3,
    Vop3p,
    Ds,
    Flat,
    Global,
    Scratch,
    Mubuf,
    Mtbuf,
    Mimg,
}

impl Encoding {
    /// All encodings, in the order of the enum.
    pub const ALL: [Encoding; 18] = [
        Encoding::Sop1,
        Encoding::Sop2,
        Encoding::Sopk,
        Encoding::Sopc,
        Encoding::Sopp,
        Encoding::Smem,
        Encoding::Vop1,
        Encoding::Vop2,
        Encoding::Vopc,
        Encoding::Vop3,
        Encoding::Vop3p,
        Encoding::Ds,
        Encoding::Flat,
        Encoding::Global,
        Encoding::Scratch,
        Encoding::Mubuf,
        Encoding::Mtbuf,
        Encoding::Mimg,
    ];

    /// Returns the encoding of the instruction that begins with a dword; `None` if no encoding does.
    ///
    /// `Vop3` includes the long forms of VOP1, VOP2 and VOPC: see [`fields::Vop3::operation`](crate::fields::Vop3).
    ///
    /// ```
    /// use gfx9_isa::Encoding;
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

    /// Returns the number of dwords of an instruction, 1 or 2. The literal or control dword that may follow an encoding
    /// of one dword is not counted.
    #[inline]
    pub fn dwords(self) -> usize {
        match self {
            Encoding::Sop1
            | Encoding::Sop2
            | Encoding::Sopk
            | Encoding::Sopc
            | Encoding::Sopp
            | Encoding::Vop1
            | Encoding::Vop2
            | Encoding::Vopc => 1,
            _ => 2,
        }
    }

    /// Composes the first dword of an instruction. The other fields are taken from `rest`, whose bits in the positions
    /// of the encoding's prefix and the opcode are ignored.
    ///
    /// ```
    /// use gfx9_isa::Encoding;
    ///
    /// // s_nop 3
    /// assert_eq!(Encoding::Sopp.first_dword(0, 3), 0xbf80_0003);
    /// ```
    pub fn first_dword(self, opcode: u32, rest: u32) -> u32 {
        let field = |prefix: u32, prefix_bits: u32, at: u32, width: u32| {
            let fixed = u32::MAX << (32 - prefix_bits) | ((1u32 << width) - 1) << at;
            prefix << (32 - prefix_bits) | (opcode & ((1 << width) - 1)) << at | rest & !fixed
        };
        match self {
            Encoding::Sop2 => field(0b10, 2, 23, 7),
            Encoding::Sop1 => field(0x17d, 9, 8, 8),
            Encoding::Sopk => field(0xb, 4, 23, 5),
            Encoding::Sopc => field(0x17e, 9, 16, 7),
            Encoding::Sopp => field(0x17f, 9, 16, 7),
            Encoding::Smem => field(0x30, 6, 18, 8),
            Encoding::Vop1 => field(0x3f, 7, 9, 8),
            Encoding::Vop2 => field(0, 1, 25, 6),
            Encoding::Vopc => field(0x3e, 7, 17, 8),
            Encoding::Vop3 => field(0x34, 6, 16, 10),
            Encoding::Vop3p => field(0x1a7, 9, 16, 7),
            Encoding::Ds => field(0x36, 6, 17, 8),
            Encoding::Flat => field(0x37, 6, 18, 7) & !0xc000,
            Encoding::Scratch => field(0x37, 6, 18, 7) & !0xc000 | 0x4000,
            Encoding::Global => field(0x37, 6, 18, 7) & !0xc000 | 0x8000,
            Encoding::Mubuf => field(0x38, 6, 18, 7),
            Encoding::Mtbuf => field(0x3a, 6, 15, 4),
            Encoding::Mimg => field(0x3c, 6, 18, 7),
        }
    }

    /// Returns the name that the ISA documents use, such as `VOP2`.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Sop1 => "SOP1",
            Encoding::Sop2 => "SOP2",
            Encoding::Sopk => "SOPK",
            Encoding::Sopc => "SOPC",
            Encoding::Sopp => "SOPP",
            Encoding::Smem => "SMEM",
            Encoding::Vop1 => "VOP1",
            Encoding::Vop2 => "VOP2",
            Encoding::Vopc => "VOPC",
            Encoding::Vop3 => "VOP3",
            Encoding::Vop3p => "VOP3P",
            Encoding::Ds => "DS",
            Encoding::Flat => "FLAT",
            Encoding::Global => "GLOBAL",
            Encoding::Scratch => "SCRATCH",
            Encoding::Mubuf => "MUBUF",
            Encoding::Mtbuf => "MTBUF",
            Encoding::Mimg => "MIMG",
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
