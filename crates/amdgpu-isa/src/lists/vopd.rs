//! VOPD instructions: two operations at once, which other encodings have one by one.

/// Passes the instructions of VOPD to a macro.
macro_rules! vopd {
    ($make:ident) => {
        $make! {
            /// The mnemonics of VOPD: none, since each half is an operation of VOP1, VOP2 or VOP3.
            Vopd:
        }
    };
}

pub(crate) use vopd;
