//! MUBUF, MTBUF on gfx11.

/// Passes the instructions of MUBUF on gfx11 to a macro.
macro_rules! mubuf {
    ($make:ident) => {
        $make! {
            Mubuf:
        }
    };
}

/// Passes the instructions of MTBUF on gfx11 to a macro.
macro_rules! mtbuf {
    ($make:ident) => {
        $make! {
            Mtbuf:
        }
    };
}

pub(crate) use {mtbuf, mubuf};
