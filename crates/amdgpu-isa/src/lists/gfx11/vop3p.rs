//! VOP3P on gfx11.

/// Passes the instructions of VOP3P on gfx11 to a macro.
macro_rules! vop3p {
    ($make:ident) => {
        $make! {
            Vop3p:
        }
    };
}

pub(crate) use vop3p;
