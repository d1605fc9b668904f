//! SIMD levels: each executor is compiled for several widths of the host's vectors, one of which is selected at run
//! time.
//!
//! An executor is a zero-sized type with an `#[inline(always)]` [`Exec::exec`]. It is inlined into functions with
//! `#[target_feature]`, where the compiler vectorises its loops over lanes for those features. One source serves
//! all levels, with few intrinsics.

use std::sync::OnceLock;

use crate::exec::inst::{Exec, ExecContext, ExecFn, Flow, Inst};
use crate::exec::vectors::{AnyHost, Avx2};
use crate::state::wave::Wave;

/// The vector instructions of the host that executors use. Results are the same at every level, except for the sign and
/// payload of a NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SimdLevel {
    /// The instructions that the crate was compiled for. On x86-64 these are by default 128-bit vectors without fused
    /// multiply-add, which is then computed in software.
    Portable,
    /// AVX2, FMA, F16C, BMI1, BMI2, LZCNT and POPCNT.
    Avx2,
    /// Those of [`Avx2`](Self::Avx2), and AVX-512 F, BW, CD, DQ and VL.
    Avx512,
}

impl SimdLevel {
    /// All levels, the narrowest first.
    pub const ALL: [SimdLevel; 3] = [SimdLevel::Portable, SimdLevel::Avx2, SimdLevel::Avx512];

    /// Returns whether the host has the instructions of this level.
    pub fn is_available(self) -> bool {
        match self {
            SimdLevel::Portable => true,
            SimdLevel::Avx2 => has_avx2(),
            SimdLevel::Avx512 => has_avx512(),
        }
    }

    /// Returns the widest level that the host has.
    pub fn best() -> SimdLevel {
        static BEST: OnceLock<SimdLevel> = OnceLock::new();
        *BEST.get_or_init(|| {
            if has_avx512() {
                SimdLevel::Avx512
            } else if has_avx2() {
                SimdLevel::Avx2
            } else {
                SimdLevel::Portable
            }
        })
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

/// An executor at each [`SimdLevel`], in the order of [`SimdLevel::ALL`].
pub(crate) type Columns = [ExecFn; 3];

/// Returns one copy of an executor for each level. For executors that compute over lanes.
pub(crate) const fn columns<X: Exec>() -> Columns {
    [portable::<X>, avx2::<X>, avx512::<X>]
}

/// Returns copies of an executor for the portable level and AVX2; AVX-512 uses the latter. For executors that are less
/// common.
pub(crate) const fn two_columns<X: Exec>() -> Columns {
    [portable::<X>, avx2::<X>, avx2::<X>]
}

/// Returns copies of an executor `X` for the portable level, and of `Y` for the levels that have F16C and AVX2, of which `Y` may
/// use intrinsics.
pub(crate) const fn with_f16c<X: Exec, Y: Exec>() -> Columns {
    [portable::<X>, avx2::<Y>, avx2::<Y>]
}

/// Returns the same copies as [`two_columns`]. For executors that are bound by memory.
pub(crate) const fn narrow<X: Exec>() -> Columns {
    [portable::<X>, avx2::<X>, avx2::<X>]
}

/// Returns one copy of an executor for all levels. For executors without a loop over lanes that is worth vectorising.
pub(crate) const fn same<X: Exec>() -> Columns {
    [portable::<X>, portable::<X>, portable::<X>]
}

/// # Safety
/// The caller need not guarantee anything. The function is `unsafe` only to have the type [`ExecFn`].
unsafe fn portable<X: Exec>(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    X::exec_with::<AnyHost>(w, cx, i)
}

/// # Safety
/// [`SimdLevel::Avx2`] must be available.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"))]
unsafe fn avx2<X: Exec>(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    X::exec_with::<Avx2<false>>(w, cx, i)
}

/// # Safety
/// [`SimdLevel::Avx512`] must be available.
#[cfg_attr(
    target_arch = "x86_64",
    target_feature(
        enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
    )
)]
unsafe fn avx512<X: Exec>(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    X::exec_with::<Avx2<true>>(w, cx, i)
}
