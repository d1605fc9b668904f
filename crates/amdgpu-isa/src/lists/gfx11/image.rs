//! MIMG on gfx11.

/// Passes the instructions of MIMG on gfx11 to a macro.
macro_rules! mimg {
    ($make:ident) => {
        $make! {
            Mimg:
        }
    };
}

pub(crate) use mimg;
