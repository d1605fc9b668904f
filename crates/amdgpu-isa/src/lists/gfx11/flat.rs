//! FLAT, GLOBAL, SCRATCH on gfx11.

/// Passes the instructions of FLAT on gfx11 to a macro.
macro_rules! flat {
    ($make:ident) => {
        $make! {
            Flat:
        }
    };
}

/// Passes the instructions of GLOBAL on gfx11 to a macro.
macro_rules! global {
    ($make:ident) => {
        $make! {
            Global:
        }
    };
}

/// Passes the instructions of SCRATCH on gfx11 to a macro.
macro_rules! scratch {
    ($make:ident) => {
        $make! {
            Scratch:
        }
    };
}

pub(crate) use {flat, global, scratch};
