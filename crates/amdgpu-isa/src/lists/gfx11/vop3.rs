//! VOP3 on gfx11.

/// Passes the instructions of VOP3 on gfx11 to a macro.
macro_rules! vop3 {
    ($make:ident) => {
        $make! {
            Vop3:
        }
    };
}

pub(crate) use vop3;
