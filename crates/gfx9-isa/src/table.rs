//! The tables of instructions, and the search by opcode.

use std::sync::OnceLock;

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
        B32, B64, F16, F32, F64, I16, Mask as M, Mix as MIX, None as Z, P16F, P16I, P32, Wide as W,
    };
    pub(super) use crate::row::flags::*;
}

/// Makes a function that gives the table of a list.
macro_rules! rows {
    (
        $(#[$doc:meta])* $Encoding:ident:
        $($name:ident $gfx90a:literal $gfx942:literal $dst:expr, $src:expr, $flags:expr;)*
    ) => {
        impl $Encoding {
            fn rows() -> &'static [Row] {
                #[allow(unused_imports, reason = "no list has them all")]
                use columns::*;
                static ROWS: &[Row] = &[$(
                    Row {
                        name: stringify!($name),
                        mnemonic: Mnemonic::$Encoding($Encoding::$name),
                        op: [$gfx90a, $gfx942],
                        dst: $dst,
                        src: $src,
                        flags: $flags,
                    },
                )*];
                ROWS
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

impl Encoding {
    /// The instructions of this encoding, on either target.
    pub fn rows(self) -> &'static [Row] {
        match self {
            Encoding::Sop1 => Sop1::rows(),
            Encoding::Sop2 => Sop2::rows(),
            Encoding::Sopk => Sopk::rows(),
            Encoding::Sopc => Sopc::rows(),
            Encoding::Sopp => Sopp::rows(),
            Encoding::Smem => Smem::rows(),
            Encoding::Vop1 => Vop1::rows(),
            Encoding::Vop2 => Vop2::rows(),
            Encoding::Vopc => Vopc::rows(),
            Encoding::Vop3 => Vop3::rows(),
            Encoding::Vop3p => Vop3p::rows(),
            Encoding::Ds => Ds::rows(),
            Encoding::Flat => Flat::rows(),
            Encoding::Global => Global::rows(),
            Encoding::Scratch => Scratch::rows(),
            Encoding::Mubuf => Mubuf::rows(),
            Encoding::Mtbuf => Mtbuf::rows(),
            Encoding::Mimg => Mimg::rows(),
        }
    }

    /// The instruction that has an opcode on a target.
    ///
    /// ```
    /// use gfx9_isa::{Encoding, Target};
    ///
    /// let row = Encoding::Sopp.row(Target::Gfx90a, 1).ok_or("no such instruction")?;
    /// assert_eq!(row.name, "s_endpgm");
    /// # Ok::<(), &str>(())
    /// ```
    pub fn row(self, target: Target, opcode: u32) -> Option<&'static Row> {
        index(target)[self as usize].get(opcode as usize).copied().flatten()
    }

    /// The instructions of a target: opcode and mnemonic, without `_e32`, `_e64`, `_sdwa` and `_dpp`.
    ///
    /// ```
    /// use gfx9_isa::{Encoding, Target};
    ///
    /// assert!(Encoding::Sopp.opcodes(Target::Gfx90a).any(|op| op == (1, "s_endpgm")));
    /// assert_eq!(Encoding::Mimg.opcodes(Target::Gfx942).count(), 0);
    /// ```
    pub fn opcodes(self, target: Target) -> impl Iterator<Item = (u16, &'static str)> {
        self.rows().iter().filter_map(move |row| Some((row.opcode(target)?, row.name)))
    }
}

/// The rows of a target by encoding and opcode.
fn index(target: Target) -> &'static [Vec<Option<&'static Row>>] {
    static INDEX: [OnceLock<Vec<Vec<Option<&'static Row>>>>; 2] = [const { OnceLock::new() }; 2];
    INDEX[target as usize].get_or_init(|| {
        let by_opcode = |encoding: Encoding| {
            let mut table = Vec::new();
            for row in encoding.rows() {
                let Some(opcode) = row.opcode(target).map(usize::from) else { continue };
                if table.len() <= opcode {
                    table.resize(opcode + 1, None);
                }
                table[opcode] = Some(row);
            }
            table
        };
        Encoding::ALL.map(by_opcode).into()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_opcode_belongs_to_one_instruction() {
        for encoding in Encoding::ALL {
            for target in [Target::Gfx90a, Target::Gfx942] {
                let all: Vec<u16> = encoding.opcodes(target).map(|(opcode, _)| opcode).collect();
                let distinct: BTreeSet<u16> = all.iter().copied().collect();
                assert_eq!(distinct.len(), all.len(), "{encoding:?} on {target:?} has an opcode twice");
            }
        }
    }

    #[test]
    fn a_row_knows_its_encoding_and_is_found_by_its_opcode() {
        for encoding in Encoding::ALL {
            for row in encoding.rows() {
                assert_eq!(row.encoding(), Some(encoding), "{}", row.name);
                for target in [Target::Gfx90a, Target::Gfx942] {
                    let Some(opcode) = row.opcode(target) else { continue };
                    let found = encoding.row(target, opcode.into());
                    assert!(found.is_some_and(|found| std::ptr::eq(found, row)), "{}", row.name);
                }
            }
        }
    }
}
