//! DS on gfx11.

/// Passes the instructions of DS on gfx11 to a macro.
macro_rules! ds {
    ($make:ident) => {
        $make! {
            Ds:
        }
    };
}

pub(crate) use ds;
