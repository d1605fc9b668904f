//! MIMG on gfx11.

/// Passes the instructions of MIMG on gfx11 to a macro.
macro_rules! mimg {
    ($make:ident) => {
        $make! {
            Mimg:
            image_load 0 0 = Mimg image_load: Z, [Z, Z, Z], LOAD;
            image_load_mip 1 1 = Mimg image_load_mip;
            image_load_pck 2 2 = Mimg image_load_pck;
            image_load_pck_sgn 3 3 = Mimg image_load_pck_sgn;
            image_load_mip_pck 4 4 = Mimg image_load_mip_pck;
            image_load_mip_pck_sgn 5 5 = Mimg image_load_mip_pck_sgn;
            image_store 6 6 = Mimg image_store: Z, [Z, Z, Z], STORE;
            image_store_mip 7 7 = Mimg image_store_mip;
            image_store_pck 8 8 = Mimg image_store_pck;
            image_store_mip_pck 9 9 = Mimg image_store_mip_pck;
            image_atomic_swap 10 10 = Mimg image_atomic_swap;
            image_atomic_cmpswap 11 11 = Mimg image_atomic_cmpswap;
            image_atomic_add 12 12 = Mimg image_atomic_add;
            image_atomic_sub 13 13 = Mimg image_atomic_sub;
            image_atomic_smin 14 14 = Mimg image_atomic_smin;
            image_atomic_umin 15 15 = Mimg image_atomic_umin;
            image_atomic_smax 16 16 = Mimg image_atomic_smax;
            image_atomic_umax 17 17 = Mimg image_atomic_umax;
            image_atomic_and 18 18 = Mimg image_atomic_and;
            image_atomic_or 19 19 = Mimg image_atomic_or;
            image_atomic_xor 20 20 = Mimg image_atomic_xor;
            image_atomic_inc 21 21 = Mimg image_atomic_inc;
            image_atomic_dec 22 22 = Mimg image_atomic_dec;
            image_get_resinfo 23 23 = Mimg image_get_resinfo;
            image_msaa_load 24 24 = Mimg image_msaa_load;
        }
    };
}

pub(crate) use mimg;
