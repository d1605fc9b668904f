//! The mnemonics: an enum for each encoding, and [`Mnemonic`], which contains all of them.

use crate::lists;

/// Generates an enum from a list's mnemonics.
macro_rules! mnemonics {
    ($(#[$doc:meta])* $Encoding:ident: $($name:ident $_90a:literal $_942:literal $_950:literal $_d:expr, $_s:expr, $_f:expr;)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, non_camel_case_types, reason = "the names are the ISA documents'")]
        pub enum $Encoding {
            $($name,)*
        }
    };
}

lists::sop1!(mnemonics);
lists::sop2!(mnemonics);
lists::sopk!(mnemonics);
lists::sopc!(mnemonics);
lists::sopp!(mnemonics);
lists::smem!(mnemonics);
lists::vop1!(mnemonics);
lists::vop2!(mnemonics);
lists::vopc!(mnemonics);
lists::vop3!(mnemonics);
lists::vop3p!(mnemonics);
lists::vopd!(mnemonics);
lists::ds!(mnemonics);
lists::flat!(mnemonics);
lists::global!(mnemonics);
lists::scratch!(mnemonics);
lists::mubuf!(mnemonics);
lists::mtbuf!(mnemonics);
lists::mimg!(mnemonics);

macro_rules! of_all {
    ($($Encoding:ident $_name:literal $_d:literal $_gfx9:tt $_gfx10:tt $_gfx11:tt $_gfx12:tt;)*) => {
        /// What an instruction does, independent of the target, its encoding there and its opcodes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Mnemonic {
            /// Not an instruction: the mnemonic of [`ILLEGAL`](crate::ILLEGAL).
            Illegal,
            $(
                #[doc = concat!("An operation of the list of [`Encoding::", stringify!($Encoding), "`](crate::Encoding).")]
                $Encoding($Encoding),
            )*
        }
    };
}

lists::encodings!(of_all);
