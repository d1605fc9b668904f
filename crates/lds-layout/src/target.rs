//! How much LDS a compute unit has, and in which units workgroups get it.

use code_object::occupancy::LdsCapacity;

use super::LdsError;

/// The LDS of a compute unit.
///
/// The static and dynamic LDS of a workgroup are added and rounded up to whole granules. [`code_object::occupancy`] has
/// the numbers and their sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LdsTarget {
    /// The LDS of a compute unit in bytes. One workgroup may use all of it.
    pub bytes: u32,
    /// The unit of allocation in bytes.
    pub granule: u32,
}

impl LdsTarget {
    /// gfx90a: 64 KiB in granules of 512 bytes.
    pub const GFX90A: LdsTarget = LdsTarget::from_limits(LdsCapacity::GFX90A);
    /// gfx942: the same as [`GFX90A`](LdsTarget::GFX90A).
    pub const GFX942: LdsTarget = LdsTarget::GFX90A;
    /// gfx950: 160 KiB in granules of 1280 bytes.
    pub const GFX950: LdsTarget = LdsTarget::from_limits(LdsCapacity::GFX950);

    /// Returns the target for a processor's name, or `None` if the processor is not known here.
    ///
    /// ```
    /// use lds_layout::LdsTarget;
    /// assert_eq!(LdsTarget::of("gfx942"), Some(LdsTarget::GFX942));
    /// ```
    pub fn of(processor: &str) -> Option<LdsTarget> {
        LdsCapacity::of(processor).map(LdsTarget::from_limits)
    }

    const fn from_limits(lds: LdsCapacity) -> LdsTarget {
        LdsTarget { bytes: lds.bytes, granule: lds.granule }
    }

    /// Returns how many workgroups with `bytes` of static and dynamic LDS each fit into the LDS of a compute unit;
    /// `u32::MAX` for 0 bytes. Waves and registers can limit the number further.
    pub fn workgroups(&self, bytes: u64) -> u32 {
        LdsCapacity { bytes: self.bytes, granule: self.granule }.workgroups(bytes)
    }

    /// Returns the most bytes of dynamic LDS that each of `workgroups` workgroups may have for a compute unit to hold
    /// all of them.
    ///
    /// # Errors
    /// Returns [`LdsError::StaticLds`] if `workgroups` is 0 or the static part alone does not fit.
    pub fn dynamic_bytes(&self, workgroups: u32, static_lds: u32) -> Result<u64, LdsError> {
        let each = self.bytes.checked_div(workgroups).unwrap_or(0);
        let whole = each - each % self.granule.max(1);
        match whole.checked_sub(static_lds) {
            Some(dynamic) if workgroups > 0 && dynamic > 0 => Ok(u64::from(dynamic)),
            _ => Err(LdsError::StaticLds { workgroups, static_lds, bytes: self.bytes }),
        }
    }
}
