//! Executors of MUBUF and MTBUF instructions.

use amdgpu_isa::{Mtbuf, Mubuf};

use super::notation::*;
use crate::exec::access::*;
use crate::exec::atomics::*;
use crate::exec::buffer::*;
use crate::exec::buffer_format::*;

#[rustfmt::skip]
pub(super) fn mubuf(op: Mubuf) -> Impl {
    match op {
        Mubuf::buffer_load_format_x => one::<FormatLoad<Full, 1>>(),
        Mubuf::buffer_load_format_xy => one::<FormatLoad<Full, 2>>(),
        Mubuf::buffer_load_format_xyz => one::<FormatLoad<Full, 3>>(),
        Mubuf::buffer_load_format_xyzw => one::<FormatLoad<Full, 4>>(),
        Mubuf::buffer_store_format_x => one::<FormatStore<Full, 1>>(),
        Mubuf::buffer_store_format_xy => one::<FormatStore<Full, 2>>(),
        Mubuf::buffer_store_format_xyz => one::<FormatStore<Full, 3>>(),
        Mubuf::buffer_store_format_xyzw => one::<FormatStore<Full, 4>>(),
        Mubuf::buffer_load_format_d16_x => one::<FormatLoad<Half, 1>>(),
        Mubuf::buffer_load_format_d16_xy => one::<FormatLoad<Half, 2>>(),
        Mubuf::buffer_load_format_d16_xyz => one::<FormatLoad<Half, 3>>(),
        Mubuf::buffer_load_format_d16_xyzw => one::<FormatLoad<Half, 4>>(),
        Mubuf::buffer_store_format_d16_x => one::<FormatStore<Half, 1>>(),
        Mubuf::buffer_store_format_d16_xy => one::<FormatStore<Half, 2>>(),
        Mubuf::buffer_store_format_d16_xyz => one::<FormatStore<Half, 3>>(),
        Mubuf::buffer_store_format_d16_xyzw => one::<FormatStore<Half, 4>>(),
        Mubuf::buffer_load_ubyte => one::<BufferLoad<Ubyte>>(),
        Mubuf::buffer_load_sbyte => one::<BufferLoad<Sbyte>>(),
        Mubuf::buffer_load_ushort => one::<BufferLoad<Ushort>>(),
        Mubuf::buffer_load_sshort => one::<BufferLoad<Sshort>>(),
        Mubuf::buffer_load_dword => narrow::<BufferLoad<Dwords<1>>>(),
        Mubuf::buffer_load_dwordx2 => one::<BufferLoad<Dwords<2>>>(),
        Mubuf::buffer_load_dwordx3 => one::<BufferLoad<Dwords<3>>>(),
        Mubuf::buffer_load_dwordx4 => one::<BufferLoad<Dwords<4>>>(),
        Mubuf::buffer_store_byte => one::<BufferStore<Byte>>(),
        Mubuf::buffer_store_byte_d16_hi => one::<BufferStore<ByteHigh>>(),
        Mubuf::buffer_store_short => one::<BufferStore<Short>>(),
        Mubuf::buffer_store_short_d16_hi => one::<BufferStore<ShortHigh>>(),
        Mubuf::buffer_store_dword => narrow::<BufferStore<Dwords<1>>>(),
        Mubuf::buffer_store_dwordx2 => one::<BufferStore<Dwords<2>>>(),
        Mubuf::buffer_store_dwordx3 => one::<BufferStore<Dwords<3>>>(),
        Mubuf::buffer_store_dwordx4 => one::<BufferStore<Dwords<4>>>(),
        Mubuf::buffer_load_ubyte_d16 => one::<BufferLoad<ByteLow>>(),
        Mubuf::buffer_load_ubyte_d16_hi => one::<BufferLoad<ByteToHigh>>(),
        Mubuf::buffer_load_sbyte_d16 => one::<BufferLoad<SbyteLow>>(),
        Mubuf::buffer_load_sbyte_d16_hi => one::<BufferLoad<SbyteToHigh>>(),
        Mubuf::buffer_load_short_d16 => one::<BufferLoad<ShortLow>>(),
        Mubuf::buffer_load_short_d16_hi => one::<BufferLoad<ShortToHigh>>(),
        Mubuf::buffer_load_format_d16_hi_x => one::<FormatLoad<HalfHigh, 1>>(),
        Mubuf::buffer_store_format_d16_hi_x => one::<FormatStore<HalfHigh, 1>>(),
        Mubuf::buffer_wbl2 => one::<CacheControl>(),
        Mubuf::buffer_invl2 => one::<CacheControl>(),
        Mubuf::buffer_inv => one::<CacheControl>(),
        Mubuf::buffer_wbinvl1 => one::<CacheControl>(),
        Mubuf::buffer_wbinvl1_vol => one::<CacheControl>(),
        Mubuf::buffer_atomic_swap => one::<BufferRmw<Swap<u32>>>(),
        Mubuf::buffer_atomic_cmpswap => one::<BufferRmw<CmpSwap<u32>>>(),
        Mubuf::buffer_atomic_add => one::<BufferRmw<Add<u32>>>(),
        Mubuf::buffer_atomic_sub => one::<BufferRmw<Sub<u32>>>(),
        Mubuf::buffer_atomic_smin => one::<BufferRmw<MinI<u32>>>(),
        Mubuf::buffer_atomic_umin => one::<BufferRmw<MinU<u32>>>(),
        Mubuf::buffer_atomic_smax => one::<BufferRmw<MaxI<u32>>>(),
        Mubuf::buffer_atomic_umax => one::<BufferRmw<MaxU<u32>>>(),
        Mubuf::buffer_atomic_and => one::<BufferRmw<And<u32>>>(),
        Mubuf::buffer_atomic_or => one::<BufferRmw<Or<u32>>>(),
        Mubuf::buffer_atomic_xor => one::<BufferRmw<Xor<u32>>>(),
        Mubuf::buffer_atomic_inc => one::<BufferRmw<Inc<u32>>>(),
        Mubuf::buffer_atomic_dec => one::<BufferRmw<Dec<u32>>>(),
        Mubuf::buffer_atomic_add_f32 => one::<BufferRmw<AddF32>>(),
        Mubuf::buffer_atomic_pk_add_f16 => one::<BufferRmw<PkAddF16>>(),
        Mubuf::buffer_atomic_add_f64 => one::<BufferRmw<AddF64>>(),
        Mubuf::buffer_atomic_min_f64 => one::<BufferRmw<MinF64>>(),
        Mubuf::buffer_atomic_max_f64 => one::<BufferRmw<MaxF64>>(),
        Mubuf::buffer_atomic_swap_x2 => one::<BufferRmw<Swap<u64>>>(),
        Mubuf::buffer_atomic_cmpswap_x2 => one::<BufferRmw<CmpSwap<u64>>>(),
        Mubuf::buffer_atomic_add_x2 => one::<BufferRmw<Add<u64>>>(),
        Mubuf::buffer_atomic_sub_x2 => one::<BufferRmw<Sub<u64>>>(),
        Mubuf::buffer_atomic_smin_x2 => one::<BufferRmw<MinI<u64>>>(),
        Mubuf::buffer_atomic_umin_x2 => one::<BufferRmw<MinU<u64>>>(),
        Mubuf::buffer_atomic_smax_x2 => one::<BufferRmw<MaxI<u64>>>(),
        Mubuf::buffer_atomic_umax_x2 => one::<BufferRmw<MaxU<u64>>>(),
        Mubuf::buffer_atomic_and_x2 => one::<BufferRmw<And<u64>>>(),
        Mubuf::buffer_atomic_or_x2 => one::<BufferRmw<Or<u64>>>(),
        Mubuf::buffer_atomic_xor_x2 => one::<BufferRmw<Xor<u64>>>(),
        Mubuf::buffer_atomic_inc_x2 => one::<BufferRmw<Inc<u64>>>(),
        Mubuf::buffer_atomic_dec_x2 => one::<BufferRmw<Dec<u64>>>(),
        Mubuf::buffer_atomic_pk_add_bf16 => one::<BufferRmw<PkAddBf16>>(),
        // Instructions of gfx11.
        Mubuf::buffer_gl0_inv | Mubuf::buffer_gl1_inv | Mubuf::buffer_atomic_csub_u32
        | Mubuf::buffer_atomic_cmpswap_f32 | Mubuf::buffer_atomic_min_f32 | Mubuf::buffer_atomic_max_f32 => Impl::Unimplemented,
    }
}

#[rustfmt::skip]
pub(super) fn mtbuf(op: Mtbuf) -> Impl {
    match op {
        Mtbuf::tbuffer_load_format_x => one::<FormatLoad<Full, 1>>(),
        Mtbuf::tbuffer_load_format_xy => one::<FormatLoad<Full, 2>>(),
        Mtbuf::tbuffer_load_format_xyz => one::<FormatLoad<Full, 3>>(),
        Mtbuf::tbuffer_load_format_xyzw => one::<FormatLoad<Full, 4>>(),
        Mtbuf::tbuffer_store_format_x => one::<FormatStore<Full, 1>>(),
        Mtbuf::tbuffer_store_format_xy => one::<FormatStore<Full, 2>>(),
        Mtbuf::tbuffer_store_format_xyz => one::<FormatStore<Full, 3>>(),
        Mtbuf::tbuffer_store_format_xyzw => one::<FormatStore<Full, 4>>(),
        Mtbuf::tbuffer_load_format_d16_x => one::<FormatLoad<Half, 1>>(),
        Mtbuf::tbuffer_load_format_d16_xy => one::<FormatLoad<Half, 2>>(),
        Mtbuf::tbuffer_load_format_d16_xyz => one::<FormatLoad<Half, 3>>(),
        Mtbuf::tbuffer_load_format_d16_xyzw => one::<FormatLoad<Half, 4>>(),
        Mtbuf::tbuffer_store_format_d16_x => one::<FormatStore<Half, 1>>(),
        Mtbuf::tbuffer_store_format_d16_xy => one::<FormatStore<Half, 2>>(),
        Mtbuf::tbuffer_store_format_d16_xyz => one::<FormatStore<Half, 3>>(),
        Mtbuf::tbuffer_store_format_d16_xyzw => one::<FormatStore<Half, 4>>(),
    }
}
