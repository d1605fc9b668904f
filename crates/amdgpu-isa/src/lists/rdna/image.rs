//! MIMG on RDNA.

/// Passes the instructions of MIMG on RDNA to a macro.
macro_rules! mimg {
    ($make:ident) => {
        $make! {
            Mimg:
            image_load -1 0 0 -1 = Mimg image_load: Z, [Z, Z, Z], LOAD;
            image_load_mip -1 1 1 -1 = Mimg image_load_mip;
            image_load_pck -1 2 2 -1 = Mimg image_load_pck;
            image_load_pck_sgn -1 3 3 -1 = Mimg image_load_pck_sgn;
            image_load_mip_pck -1 4 4 -1 = Mimg image_load_mip_pck;
            image_load_mip_pck_sgn -1 5 5 -1 = Mimg image_load_mip_pck_sgn;
            image_store -1 6 6 -1 = Mimg image_store: Z, [Z, Z, Z], STORE;
            image_store_mip -1 7 7 -1 = Mimg image_store_mip;
            image_store_pck -1 8 8 -1 = Mimg image_store_pck;
            image_store_mip_pck -1 9 9 -1 = Mimg image_store_mip_pck;
            image_atomic_swap -1 10 10 -1 = Mimg image_atomic_swap;
            image_atomic_cmpswap -1 11 11 -1 = Mimg image_atomic_cmpswap;
            image_atomic_add -1 12 12 -1 = Mimg image_atomic_add;
            image_atomic_sub -1 13 13 -1 = Mimg image_atomic_sub;
            image_atomic_smin -1 14 14 -1 = Mimg image_atomic_smin;
            image_atomic_umin -1 15 15 -1 = Mimg image_atomic_umin;
            image_atomic_smax -1 16 16 -1 = Mimg image_atomic_smax;
            image_atomic_umax -1 17 17 -1 = Mimg image_atomic_umax;
            image_atomic_and -1 18 18 -1 = Mimg image_atomic_and;
            image_atomic_or -1 19 19 -1 = Mimg image_atomic_or;
            image_atomic_xor -1 20 20 -1 = Mimg image_atomic_xor;
            image_atomic_inc -1 21 21 -1 = Mimg image_atomic_inc;
            image_atomic_dec -1 22 22 -1 = Mimg image_atomic_dec;
            image_get_resinfo -1 23 23 -1 = Mimg image_get_resinfo;
            image_msaa_load -1 24 24 -1 = Mimg image_msaa_load;
        }
    };
}

pub(crate) use mimg;
