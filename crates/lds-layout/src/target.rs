//! How much LDS a compute unit has, and how it is dealt out to workgroups.

use code_object::occupancy::Lds;

use super::LdsError;

/// The LDS of a compute unit.
///
/// A workgroup's static and dynamic LDS are rounded up together to whole granules; [`code_object::occupancy`] has the
/// numbers and their sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LdsTarget {
    /// Bytes of a compute unit, all of which one workgroup may have.
    pub bytes: u32,
    /// Bytes are given out in multiples of this.
    pub granule: u32,
}

impl LdsTarget {
    /// gfx90a: 64 KiB in granules of 512 bytes.
    pub const GFX90A: LdsTarget = LdsTarget::from_limits(Lds::GFX90A);
    /// gfx942: as [`GFX90A`](LdsTarget::GFX90A).
    pub const GFX942: LdsTarget = LdsTarget::GFX90A;
    /// gfx950: 160 KiB in granules of 1280 bytes.
    pub const GFX950: LdsTarget = LdsTarget::from_limits(Lds::GFX950);

    /// The target of a processor's name; `None` where it is not known here.
    ///
    /// ```
    /// use lds_layout::LdsTarget;
    /// assert_eq!(LdsTarget::of("gfx942"), Some(LdsTarget::GFX942));
    /// ```
    pub fn of(processor: &str) -> Option<LdsTarget> {
        Lds::of(processor).map(LdsTarget::from_limits)
    }

    const fn from_limits(lds: Lds) -> LdsTarget {
        LdsTarget { bytes: lds.bytes, granule: lds.granule }
    }

    /// How many workgroups that have `bytes` of LDS each, static and dynamic together, a compute unit holds as far as
    /// LDS goes; `u32::MAX` for 0 bytes. Waves and registers limit them too.
    pub fn workgroups(&self, bytes: u64) -> u32 {
        Lds { bytes: self.bytes, granule: self.granule }.workgroups(bytes)
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
