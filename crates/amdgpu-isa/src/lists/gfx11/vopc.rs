//! VOPC on gfx11.

/// Passes the instructions of VOPC on gfx11 to a macro.
macro_rules! vopc {
    ($make:ident) => {
        $make! {
            Vopc:
        }
    };
}

pub(crate) use vopc;
