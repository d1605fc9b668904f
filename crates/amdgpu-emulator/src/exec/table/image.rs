//! Executors of MIMG instructions.

use amdgpu_isa::Mimg;

use super::notation::*;
use crate::exec::atomics::*;
use crate::exec::image::*;
use crate::exec::image_sample::*;

#[rustfmt::skip]
pub(super) fn mimg(op: Mimg) -> Impl {
    match op {
        Mimg::image_load | Mimg::image_load_mip | Mimg::image_load_pck | Mimg::image_load_pck_sgn
        | Mimg::image_load_mip_pck | Mimg::image_load_mip_pck_sgn => one::<ImageLoad>(),
        Mimg::image_store | Mimg::image_store_mip | Mimg::image_store_pck | Mimg::image_store_mip_pck => one::<ImageStore>(),
        Mimg::image_get_resinfo => one::<ImageInfo>(),
        Mimg::image_atomic_swap => one::<ImageRmw<Swap<u32>, Swap<u64>>>(),
        Mimg::image_atomic_cmpswap => one::<ImageRmw<CmpSwap<u32>, CmpSwap<u64>>>(),
        Mimg::image_atomic_add => one::<ImageRmw<Add<u32>, Add<u64>>>(),
        Mimg::image_atomic_sub => one::<ImageRmw<Sub<u32>, Sub<u64>>>(),
        Mimg::image_atomic_smin => one::<ImageRmw<MinI<u32>, MinI<u64>>>(),
        Mimg::image_atomic_umin => one::<ImageRmw<MinU<u32>, MinU<u64>>>(),
        Mimg::image_atomic_smax => one::<ImageRmw<MaxI<u32>, MaxI<u64>>>(),
        Mimg::image_atomic_umax => one::<ImageRmw<MaxU<u32>, MaxU<u64>>>(),
        Mimg::image_atomic_and => one::<ImageRmw<And<u32>, And<u64>>>(),
        Mimg::image_atomic_or => one::<ImageRmw<Or<u32>, Or<u64>>>(),
        Mimg::image_atomic_xor => one::<ImageRmw<Xor<u32>, Xor<u64>>>(),
        Mimg::image_atomic_inc => one::<ImageRmw<Inc<u32>, Inc<u64>>>(),
        Mimg::image_atomic_dec => one::<ImageRmw<Dec<u32>, Dec<u64>>>(),
        Mimg::image_sample | Mimg::image_sample_d | Mimg::image_sample_l | Mimg::image_sample_b
        | Mimg::image_sample_lz | Mimg::image_sample_c | Mimg::image_sample_c_d | Mimg::image_sample_c_l
        | Mimg::image_sample_c_b | Mimg::image_sample_c_lz | Mimg::image_sample_o | Mimg::image_sample_d_o
        | Mimg::image_sample_l_o | Mimg::image_sample_b_o | Mimg::image_sample_lz_o | Mimg::image_sample_c_o
        | Mimg::image_sample_c_d_o | Mimg::image_sample_c_l_o | Mimg::image_sample_c_b_o | Mimg::image_sample_c_lz_o
        | Mimg::image_gather4 | Mimg::image_gather4_l | Mimg::image_gather4_b | Mimg::image_gather4_lz
        | Mimg::image_gather4_c | Mimg::image_gather4_c_lz | Mimg::image_gather4_o | Mimg::image_gather4_lz_o
        | Mimg::image_gather4_c_lz_o | Mimg::image_sample_d_g16 | Mimg::image_sample_c_d_g16
        | Mimg::image_sample_d_o_g16 | Mimg::image_sample_c_d_o_g16 | Mimg::image_sample_cl | Mimg::image_sample_d_cl
        | Mimg::image_sample_b_cl | Mimg::image_sample_c_cl | Mimg::image_sample_c_d_cl | Mimg::image_sample_c_b_cl
        | Mimg::image_sample_cl_o | Mimg::image_sample_d_cl_o | Mimg::image_sample_b_cl_o | Mimg::image_sample_c_cl_o
        | Mimg::image_sample_c_d_cl_o | Mimg::image_sample_c_b_cl_o | Mimg::image_sample_c_d_cl_g16
        | Mimg::image_sample_d_cl_o_g16 | Mimg::image_sample_c_d_cl_o_g16 | Mimg::image_sample_d_cl_g16
        | Mimg::image_gather4_cl | Mimg::image_gather4_b_cl | Mimg::image_gather4_c_cl | Mimg::image_gather4_c_l
        | Mimg::image_gather4_c_b | Mimg::image_gather4_c_b_cl => one::<ImageSample>(),
        Mimg::image_get_lod => one::<ImageLevel>(),
        // Several samples of a texel, what no document describes, and floats in atomics, which HIP has no function for.
        Mimg::image_msaa_load | Mimg::image_gather4h | Mimg::image_atomic_fcmpswap | Mimg::image_atomic_add_flt | Mimg::image_atomic_min_flt
        | Mimg::image_atomic_max_flt | Mimg::image_atomic_pk_add_f16 | Mimg::image_atomic_pk_add_bf16 => Impl::Unimplemented,
    }
}
