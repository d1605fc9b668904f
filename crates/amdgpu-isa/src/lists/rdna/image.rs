//! MIMG on RDNA.

/// Passes the instructions of MIMG on RDNA to a macro.
macro_rules! mimg {
    ($make:ident) => {
        $make! {
            Mimg:
            image_load 0 0 0 -1 = Mimg image_load: Z, [Z, Z, Z], LOAD;
            image_load_mip 1 1 1 -1 = Mimg image_load_mip;
            image_load_pck 2 2 2 -1 = Mimg image_load_pck;
            image_load_pck_sgn 3 3 3 -1 = Mimg image_load_pck_sgn;
            image_load_mip_pck 4 4 4 -1 = Mimg image_load_mip_pck;
            image_load_mip_pck_sgn 5 5 5 -1 = Mimg image_load_mip_pck_sgn;
            image_store 8 6 6 -1 = Mimg image_store: Z, [Z, Z, Z], STORE;
            image_store_mip 9 7 7 -1 = Mimg image_store_mip;
            image_store_pck 10 8 8 -1 = Mimg image_store_pck;
            image_store_mip_pck 11 9 9 -1 = Mimg image_store_mip_pck;
            image_atomic_swap 15 10 10 -1 = Mimg image_atomic_swap;
            image_atomic_cmpswap 16 11 11 -1 = Mimg image_atomic_cmpswap;
            image_atomic_add 17 12 12 -1 = Mimg image_atomic_add;
            image_atomic_sub 18 13 13 -1 = Mimg image_atomic_sub;
            image_atomic_smin 20 14 14 -1 = Mimg image_atomic_smin;
            image_atomic_umin 21 15 15 -1 = Mimg image_atomic_umin;
            image_atomic_smax 22 16 16 -1 = Mimg image_atomic_smax;
            image_atomic_umax 23 17 17 -1 = Mimg image_atomic_umax;
            image_atomic_and 24 18 18 -1 = Mimg image_atomic_and;
            image_atomic_or 25 19 19 -1 = Mimg image_atomic_or;
            image_atomic_xor 26 20 20 -1 = Mimg image_atomic_xor;
            image_atomic_inc 27 21 21 -1 = Mimg image_atomic_inc;
            image_atomic_dec 28 22 22 -1 = Mimg image_atomic_dec;
            image_get_resinfo 14 23 23 -1 = Mimg image_get_resinfo;
            image_msaa_load 128 24 24 -1 = Mimg image_msaa_load;
            // gfx10.3 has most of these under the names of gfx9.
            image_atomic_fcmpswap 29 -1 -1 -1 = Mimg image_atomic_fcmpswap;
            image_atomic_fmin 30 -1 -1 -1 = Mimg image_atomic_fmin;
            image_atomic_fmax 31 -1 -1 -1 = Mimg image_atomic_fmax;
        }
    };
}

pub(crate) use mimg;
