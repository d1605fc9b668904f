//! The tables of instructions, and the search by opcode.

use crate::encoding::Encoding;
use crate::lists;
use crate::mnemonic::{
    Ds, Flat, Global, Mimg, Mnemonic, Mtbuf, Mubuf, Scratch, Smem, Sop1, Sop2, Sopc, Sopk, Sopp, Vop1, Vop2,
    Vop3, Vop3p, Vopc,
};
use crate::row::Row;
use crate::target::Target;

/// Short names for the lists' columns.
mod columns {
    pub(super) use crate::row::Ty::{
        B32, B64, Bf16 as BF16, F16, F32, F64, I16, Mask as M, Mix as MIX, None as Z, P16Bf as P16B, P16F,
        P16I, P32, Wide as W,
    };
    pub(super) use crate::row::flags::*;
}

/// Marks the opcodes without an instruction in a table by opcode.
const NONE: u16 = u16::MAX;

/// Returns one more than the highest opcode of a list on any target.
const fn opcodes(list: &[[i16; 3]]) -> usize {
    let (mut end, mut n) = (0, 0);
    while n < list.len() {
        let mut target = 0;
        while target < 3 {
            // The opcode -1 gives 0.
            let after = (list[n][target] + 1) as usize;
            if after > end {
                end = after;
            }
            target += 1;
        }
        n += 1;
    }
    end
}

/// Returns a table from a target's opcodes to the indices of their rows.
const fn by_opcode<const N: usize>(list: &[[i16; 3]], target: Target) -> [u16; N] {
    let (mut table, mut n) = ([NONE; N], 0);
    while n < list.len() {
        let opcode = list[n][target as usize];
        if opcode >= 0 {
            table[opcode as usize] = n as u16;
        }
        n += 1;
    }
    table
}

/// Generates the functions that return the table of a list, and one row by its opcode.
macro_rules! rows {
    (
        $(#[$doc:meta])* $Encoding:ident:
        $($name:ident $gfx90a:literal $gfx942:literal $gfx950:literal $dst:expr, $src:expr, $flags:expr;)*
    ) => {
        impl $Encoding {
            #[inline]
            fn rows() -> &'static [Row] {
                #[allow(unused_imports, reason = "no list has them all")]
                use columns::*;
                static ROWS: &[Row] = &[$(
                    Row {
                        name: stringify!($name),
                        mnemonic: Mnemonic::$Encoding($Encoding::$name),
                        op: [$gfx90a, $gfx942, $gfx950],
                        dst: $dst,
                        src: $src,
                        flags: $flags,
                    },
                )*];
                ROWS
            }

            #[inline]
            fn row(target: Target, opcode: u32) -> Option<&'static Row> {
                const LIST: &[[i16; 3]] = &[$([$gfx90a, $gfx942, $gfx950]),*];
                const COUNT: usize = opcodes(LIST);
                static BY_OPCODE: [[u16; COUNT]; 3] = [
                    by_opcode(LIST, Target::Gfx90a),
                    by_opcode(LIST, Target::Gfx942),
                    by_opcode(LIST, Target::Gfx950),
                ];
                let number = *BY_OPCODE[target as usize].get(opcode as usize)?;
                $Encoding::rows().get(usize::from(number))
            }
        }
    };
}

lists::sop1!(rows);
lists::sop2!(rows);
lists::sopk!(rows);
lists::sopc!(rows);
lists::sopp!(rows);
lists::smem!(rows);
lists::vop1!(rows);
lists::vop2!(rows);
lists::vopc!(rows);
lists::vop3!(rows);
lists::vop3p!(rows);
lists::ds!(rows);
lists::flat!(rows);
lists::global!(rows);
lists::scratch!(rows);
lists::mubuf!(rows);
lists::mtbuf!(rows);
lists::mimg!(rows);

/// Generates the functions that return the table of an encoding, and one row of it.
macro_rules! of_encodings {
    ($($Encoding:ident $_name:literal $_d:literal, $_p:literal $_pb:literal, $_at:literal $_w:literal, $_s:literal $_m:literal;)*) => {
        impl Encoding {
            /// Returns the instructions of this encoding, those of all targets.
            pub fn rows(self) -> &'static [Row] {
                match self {
                    $(Encoding::$Encoding => $Encoding::rows(),)*
                }
            }

            /// Returns the instruction with an opcode on a target; `None` if the target has no such instruction.
            ///
            /// ```
            /// use amdgpu_isa::{Encoding, Target};
            ///
            /// let row = Encoding::Sopp.row(Target::Gfx90a, 1).ok_or("no such instruction")?;
            /// assert_eq!(row.name, "s_endpgm");
            /// # Ok::<(), &str>(())
            /// ```
            #[inline]
            pub fn row(self, target: Target, opcode: u32) -> Option<&'static Row> {
                match self {
                    $(Encoding::$Encoding => $Encoding::row(target, opcode),)*
                }
            }
        }
    };
}

lists::encodings!(of_encodings);

impl Encoding {
    /// Returns the opcode and name ([`Row::name`]) of each instruction that a target has.
    ///
    /// ```
    /// use amdgpu_isa::{Encoding, Target};
    ///
    /// assert!(Encoding::Sopp.opcodes(Target::Gfx90a).any(|op| op == (1, "s_endpgm")));
    /// assert_eq!(Encoding::Mimg.opcodes(Target::Gfx942).count(), 0);
    /// ```
    pub fn opcodes(self, target: Target) -> impl Iterator<Item = (u16, &'static str)> {
        self.rows().iter().filter_map(move |row| Some((row.opcode(target)?, row.name)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_opcode_belongs_to_one_instruction() {
        for encoding in Encoding::ALL {
            for target in Target::ALL {
                let all: Vec<u16> = encoding.opcodes(target).map(|(opcode, _)| opcode).collect();
                let distinct: BTreeSet<u16> = all.iter().copied().collect();
                assert_eq!(distinct.len(), all.len(), "{encoding:?} has the same opcode twice on {target:?}");
            }
        }
    }

    #[test]
    fn a_row_knows_its_encoding_and_is_found_by_its_opcode() {
        for encoding in Encoding::ALL {
            for row in encoding.rows() {
                assert_eq!(row.encoding(), Some(encoding), "{}", row.name);
                for target in Target::ALL {
                    let Some(opcode) = row.opcode(target) else { continue };
                    let found = encoding.row(target, opcode.into());
                    assert!(found.is_some_and(|found| std::ptr::eq(found, row)), "{}", row.name);
                }
            }
        }
    }
}
