//! SMEM on gfx11.

/// Passes the instructions of SMEM on gfx11 to a macro.
macro_rules! smem {
    ($make:ident) => {
        $make! {
            Smem:
        }
    };
}

pub(crate) use smem;
