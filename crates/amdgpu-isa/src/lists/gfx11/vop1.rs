//! VOP1 on gfx11.

/// Passes the instructions of VOP1 on gfx11 to a macro.
macro_rules! vop1 {
    ($make:ident) => {
        $make! {
            Vop1:
        }
    };
}

pub(crate) use vop1;
