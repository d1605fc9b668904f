//! VOPD on gfx11.

/// Passes the instructions of VOPD on gfx11 to a macro.
macro_rules! vopd {
    ($make:ident) => {
        $make! {
            Vopd:
        }
    };
}

pub(crate) use vopd;
