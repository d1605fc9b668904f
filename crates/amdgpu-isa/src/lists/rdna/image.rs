//! MIMG on RDNA.

/// Passes the instructions of MIMG on RDNA to a macro.
macro_rules! mimg {
    ($make:ident) => {
        $make! {
            Mimg:
            image_load 0 0 0 0 = Mimg image_load: Z, [Z, Z, Z], LOAD;
            image_load_mip 1 1 1 1 = Mimg image_load_mip;
            image_load_pck 2 2 2 2 = Mimg image_load_pck;
            image_load_pck_sgn 3 3 3 3 = Mimg image_load_pck_sgn;
            image_load_mip_pck 4 4 4 4 = Mimg image_load_mip_pck;
            image_load_mip_pck_sgn 5 5 5 5 = Mimg image_load_mip_pck_sgn;
            image_store 8 6 6 6 = Mimg image_store: Z, [Z, Z, Z], STORE;
            image_store_mip 9 7 7 7 = Mimg image_store_mip;
            image_store_pck 10 8 8 8 = Mimg image_store_pck;
            image_store_mip_pck 11 9 9 9 = Mimg image_store_mip_pck;
            image_atomic_swap 15 10 10 10 = Mimg image_atomic_swap;
            image_atomic_cmpswap 16 11 11 11 = Mimg image_atomic_cmpswap;
            image_atomic_add 17 12 12 -1 = Mimg image_atomic_add;
            image_atomic_sub 18 13 13 -1 = Mimg image_atomic_sub;
            image_atomic_smin 20 14 14 -1 = Mimg image_atomic_smin;
            image_atomic_umin 21 15 15 -1 = Mimg image_atomic_umin;
            image_atomic_smax 22 16 16 -1 = Mimg image_atomic_smax;
            image_atomic_umax 23 17 17 -1 = Mimg image_atomic_umax;
            image_atomic_and 24 18 18 18 = Mimg image_atomic_and;
            image_atomic_or 25 19 19 19 = Mimg image_atomic_or;
            image_atomic_xor 26 20 20 20 = Mimg image_atomic_xor;
            image_atomic_inc 27 21 21 -1 = Mimg image_atomic_inc;
            image_atomic_dec 28 22 22 -1 = Mimg image_atomic_dec;
            image_get_resinfo 14 23 23 23 = Mimg image_get_resinfo;
            image_msaa_load 128 24 24 -1 = Mimg image_msaa_load;
            // Names that only gfx12 has, or that have other operands there.
            image_atomic_add_uint -1 -1 -1 12 = Mimg image_atomic_add;
            image_atomic_sub_uint -1 -1 -1 13 = Mimg image_atomic_sub;
            image_atomic_min_int -1 -1 -1 14 = Mimg image_atomic_smin;
            image_atomic_min_uint -1 -1 -1 15 = Mimg image_atomic_umin;
            image_atomic_max_int -1 -1 -1 16 = Mimg image_atomic_smax;
            image_atomic_max_uint -1 -1 -1 17 = Mimg image_atomic_umax;
            image_atomic_inc_uint -1 -1 -1 21 = Mimg image_atomic_inc;
            image_atomic_dec_uint -1 -1 -1 22 = Mimg image_atomic_dec;
            image_atomic_add_flt -1 -1 -1 131 = Mimg image_atomic_add_flt;
            image_atomic_min_flt -1 -1 -1 132 = Mimg image_atomic_min_flt;
            image_atomic_max_flt -1 -1 -1 133 = Mimg image_atomic_max_flt;
            image_atomic_pk_add_f16 -1 -1 -1 134 = Mimg image_atomic_pk_add_f16;
            image_atomic_pk_add_bf16 -1 -1 -1 135 = Mimg image_atomic_pk_add_bf16;
            // gfx10.3 has most of these under the names of gfx9.
            image_atomic_fcmpswap 29 -1 -1 -1 = Mimg image_atomic_fcmpswap;
            image_atomic_fmin 30 -1 -1 -1 = Mimg image_atomic_min_flt;
            image_atomic_fmax 31 -1 -1 -1 = Mimg image_atomic_max_flt;
        }
    };
}

pub(crate) use mimg;
