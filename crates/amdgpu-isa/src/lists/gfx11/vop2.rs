//! VOP2 on gfx11.

/// Passes the instructions of VOP2 on gfx11 to a macro.
macro_rules! vop2 {
    ($make:ident) => {
        $make! {
            Vop2:
            v_add_f32 3 3 = Vop2 v_add_f32;
        }
    };
}

pub(crate) use vop2;
