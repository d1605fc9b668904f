//! The tables of instructions, and the search by opcode.

use crate::encoding::Encoding;
use crate::lists;
use crate::mnemonic::{
    Ds, Flat, Global, Mimg, Mnemonic, Mtbuf, Mubuf, Scratch, Smem, Sop1, Sop2, Sopc, Sopk, Sopp, Vop1, Vop2,
    Vop3, Vop3p, Vopc, Vopd,
};
use crate::row::{ILLEGAL_ROW, Row};
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

/// Returns one more than the highest opcode of a table on any target.
const fn opcodes(rows: &[Row]) -> usize {
    let (mut end, mut n) = (0, 0);
    while n < rows.len() {
        let mut target = 0;
        while target < Target::ALL.len() {
            // The opcode -1 gives 0.
            let after = (rows[n].op[target] + 1) as usize;
            if after > end {
                end = after;
            }
            target += 1;
        }
        n += 1;
    }
    end
}

/// Returns the tables of the targets from their opcodes to the numbers of rows.
const fn by_opcode<const N: usize>(rows: &[Row]) -> [[u16; N]; Target::ALL.len()] {
    let (mut tables, mut n) = ([[NONE; N]; Target::ALL.len()], 0);
    while n < rows.len() {
        let mut target = 0;
        while target < Target::ALL.len() {
            let opcode = rows[n].op[target];
            if opcode >= 0 {
                tables[target][opcode as usize] = n as u16;
            }
            target += 1;
        }
        n += 1;
    }
    tables
}

/// Returns the rows of two lists.
const fn joined<const N: usize>(operations: &[Row], rdna: &[Row]) -> [Row; N] {
    let (mut rows, mut n) = ([ILLEGAL_ROW; N], 0);
    while n < N {
        rows[n] = if n < operations.len() { operations[n] } else { rdna[n - operations.len()] };
        n += 1;
    }
    rows
}

/// Generates the rows of a list of operations.
macro_rules! operations {
    (
        $(#[$doc:meta])* $Encoding:ident:
        $($name:ident $gfx90a:literal $gfx942:literal $gfx950:literal $dst:expr, $src:expr, $flags:expr;)*
    ) => {
        impl $Encoding {
            /// The operations, in the order of the enum, with their opcodes on the targets of gfx9's encodings.
            const OPERATIONS: &[Row] = {
                #[allow(unused_imports, reason = "no list has them all")]
                use columns::*;
                &[$(
                    Row {
                        name: stringify!($name),
                        mnemonic: Mnemonic::$Encoding($Encoding::$name),
                        encoding: Some(Encoding::$Encoding),
                        op: [$gfx90a, $gfx942, $gfx950, -1, -1, -1, -1],
                        dst: $dst,
                        src: $src,
                        flags: $flags,
                    },
                )*]
            };
        }
    };
}

/// Generates the rows of a list of RDNA, and the functions that return the table of an encoding and one row by its opcode.
macro_rules! rdna {
    (
        $Encoding:ident:
        $($name:ident $gfx103:literal $gfx11:literal $gfx115:literal $gfx12:literal = $Family:ident $operation:ident
        $(: $dst:expr, $src:expr, $flags:expr)?;)*
    ) => {
        impl $Encoding {
            const RDNA: &[Row] = {
                #[allow(unused_imports, reason = "no list has them all")]
                use columns::*;
                &[$(
                    {
                        let operation = $Family::OPERATIONS[$Family::$operation as usize];
                        $(let operation = Row { dst: $dst, src: $src, flags: $flags, ..operation };)?
                        Row {
                            name: stringify!($name),
                            encoding: Some(Encoding::$Encoding),
                            op: [-1, -1, -1, $gfx11, $gfx115, $gfx12, $gfx103],
                            ..operation
                        }
                    },
                )*]
            };

            const COUNT: usize = $Encoding::OPERATIONS.len() + $Encoding::RDNA.len();

            #[inline]
            fn rows() -> &'static [Row] {
                static ROWS: [Row; $Encoding::COUNT] = joined($Encoding::OPERATIONS, $Encoding::RDNA);
                &ROWS
            }

            #[inline]
            fn row(target: Target, opcode: u32) -> Option<&'static Row> {
                const ROWS: [Row; $Encoding::COUNT] = joined($Encoding::OPERATIONS, $Encoding::RDNA);
                const OPCODES: usize = opcodes(&ROWS);
                static BY_OPCODE: [[u16; OPCODES]; Target::ALL.len()] = by_opcode(&ROWS);
                let number = *BY_OPCODE[target as usize].get(opcode as usize)?;
                $Encoding::rows().get(usize::from(number))
            }
        }
    };
}

/// Generates the tables of all encodings.
macro_rules! tables {
    ($($list:ident)*) => {$(
        lists::$list!(operations);
        lists::rdna::$list!(rdna);
    )*};
}

tables! { sop1 sop2 sopk sopc sopp smem vop1 vop2 vopc vop3 vop3p vopd ds flat global scratch mubuf mtbuf mimg }

/// Generates the functions that return the table of an encoding, and one row of it.
macro_rules! of_encodings {
    ($($Encoding:ident $_name:literal $_d:literal $_gfx9:tt $_gfx10:tt $_gfx11:tt $_gfx12:tt;)*) => {
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
    fn gfx11_has_each_name_once_in_an_encoding_and_both_opcodes_are_the_same() {
        for encoding in Encoding::ALL {
            let rows: Vec<&Row> = encoding
                .rows()
                .iter()
                .filter(|row| Target::GFX11.iter().any(|&target| row.opcode(target).is_some()))
                .collect();
            let names: BTreeSet<&str> = rows.iter().map(|row| row.name).collect();
            assert_eq!(names.len(), rows.len(), "{encoding:?} has a name twice");
            for row in rows {
                let [gfx11, gfx115] = Target::GFX11.map(|target| row.opcode(target));
                assert!(gfx11.is_none() || gfx11 == gfx115, "{}", row.name);
            }
        }
    }

    #[test]
    fn an_operation_without_opcodes_on_gfx9_is_an_instruction_of_gfx11() {
        let on = |row: &Row, targets: &[Target]| targets.iter().any(|&target| row.opcode(target).is_some());
        let all = || Encoding::ALL.into_iter().flat_map(Encoding::rows);
        for operation in all().filter(|row| !on(row, &Target::ALL)) {
            let is_used = all().any(|row| row.mnemonic == operation.mnemonic && on(row, &Target::GFX11));
            assert!(is_used, "{}", operation.name);
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
