//! How much LDS a compute unit has, and how it is dealt out to workgroups.

use super::LdsError;

/// The LDS of a compute unit.
///
/// A workgroup's static and dynamic LDS are rounded up together to whole granules: the field `GRANULATED_LDS_SIZE` of
/// `COMPUTE_PGM_RSRC2` counts 128 dwords on GFX7 to GFX11, and 320 dwords on GFX950 (LLVM, "User Guide for AMDGPU
/// Backend", Kernel Descriptor). AMD's "Instinct MI200 Instruction Set Architecture", section 3.6.5, has blocks of 128
/// dwords too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LdsTarget {
    /// Bytes of a compute unit, all of which one workgroup may have.
    pub bytes: u32,
    /// Bytes are given out in multiples of this.
    pub granule: u32,
}

impl LdsTarget {
    /// gfx90a: 64 KiB in granules of 512 bytes.
    pub const GFX90A: LdsTarget = LdsTarget { bytes: 64 << 10, granule: 512 };
    /// gfx942: as [`GFX90A`](LdsTarget::GFX90A).
    pub const GFX942: LdsTarget = LdsTarget::GFX90A;
    /// gfx950: 160 KiB in granules of 1280 bytes.
    pub const GFX950: LdsTarget = LdsTarget { bytes: 160 << 10, granule: 1280 };

    /// The target of a processor's name; `None` where it is not known here.
    ///
    /// ```
    /// use hiplaunch::lds::LdsTarget;
    /// assert_eq!(LdsTarget::of("gfx942"), Some(LdsTarget::GFX942));
    /// ```
    pub fn of(processor: &str) -> Option<LdsTarget> {
        match processor {
            "gfx900" | "gfx906" | "gfx908" | "gfx90a" | "gfx940" | "gfx941" | "gfx942" => {
                Some(LdsTarget::GFX90A)
            }
            "gfx950" => Some(LdsTarget::GFX950),
            _ => None,
        }
    }

    /// How many workgroups that have `bytes` of LDS each, static and dynamic together, a compute unit holds as far as
    /// LDS goes; `u32::MAX` for 0 bytes. Waves and registers limit them too.
    pub fn workgroups(&self, bytes: u64) -> u32 {
        let granule = u64::from(self.granule.max(1));
        let taken = bytes.div_ceil(granule).saturating_mul(granule);
        u64::from(self.bytes).checked_div(taken).map_or(u32::MAX, |n| u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// The most bytes of dynamic LDS that each of `workgroups` may have, so that a compute unit holds all of them.
    ///
    /// # Errors
    /// [`LdsError::StaticLds`] for none, or where the static part alone does not fit.
    pub fn dynamic_bytes(&self, workgroups: u32, static_lds: u32) -> Result<u64, LdsError> {
        let each = self.bytes.checked_div(workgroups).unwrap_or(0);
        let whole = each - each % self.granule.max(1);
        match whole.checked_sub(static_lds) {
            Some(dynamic) if workgroups > 0 && dynamic > 0 => Ok(u64::from(dynamic)),
            _ => Err(LdsError::StaticLds { workgroups, static_lds, bytes: self.bytes }),
        }
    }
}
