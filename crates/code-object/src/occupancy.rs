//! Computes how many workgroups of a kernel a compute unit holds at the same time.
//!
//! The limits of gfx90a and later gfx9 processors: 4 SIMDs of 8 wave slots and 512 vector registers, which arch VGPRs and
//! AGPRs share in granules of 8, and 800 scalar registers in granules of 16. Sources: clr's `hip_platform.cpp`
//! (`ihipOccupancyMaxActiveBlocksPerMultiprocessor`), whose calculation this is, with LDS in whole granules as the hardware
//! deals it out; LLVM's `AMDGPUBaseInfo.cpp` (`IsaInfo`) has the same numbers.
//!
//! LDS: the field `GRANULATED_LDS_SIZE` of `COMPUTE_PGM_RSRC2` counts 128 dwords on GFX7 to GFX11, and 320 dwords on GFX950
//! (LLVM, "User Guide for AMDGPU Backend", Kernel Descriptor). AMD's "Instinct MI200 Instruction Set Architecture", section
//! 3.6.5, has blocks of 128 dwords too.

use crate::signature::KernelSignature;

const SIMDS: u32 = 4;
const WAVES_PER_SIMD: u32 = 8;
const VGPRS: u32 = 512;
const SGPRS: u32 = 800;
const SGPR_GRANULE: u32 = 16;

/// Processors whose limits are known, with the generic processors whose code they run.
const PROCESSORS: [(&str, &[&str]); 6] = [
    ("gfx90a", &["gfx90a"]),
    ("gfx940", &["gfx940"]),
    ("gfx941", &["gfx941"]),
    ("gfx942", &["gfx942"]),
    ("gfx950", &["gfx950"]),
    ("gfx9-4-generic", &["gfx942", "gfx950"]),
];

/// The LDS of a compute unit, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LdsCapacity {
    /// The bytes of LDS, all of which one workgroup may use.
    pub bytes: u32,
    /// The unit of allocation in bytes.
    pub granule: u32,
}

impl LdsCapacity {
    /// gfx90a and most others: 64 KiB in granules of 512 bytes.
    pub const GFX90A: LdsCapacity = LdsCapacity { bytes: 64 << 10, granule: 512 };
    /// gfx950: 160 KiB in granules of 1280 bytes.
    pub const GFX950: LdsCapacity = LdsCapacity { bytes: 160 << 10, granule: 1280 };

    /// Returns the LDS of a processor, or `None` if it is not known here.
    pub fn of(processor: &str) -> Option<LdsCapacity> {
        match processor {
            "gfx900" | "gfx906" | "gfx908" | "gfx90a" | "gfx940" | "gfx941" | "gfx942" => {
                Some(LdsCapacity::GFX90A)
            }
            "gfx950" => Some(LdsCapacity::GFX950),
            _ => None,
        }
    }

    /// Returns the bytes that are allocated to a workgroup that needs `bytes`: whole granules.
    pub fn taken(self, bytes: u64) -> u64 {
        let granule = u64::from(self.granule.max(1));
        bytes.div_ceil(granule).saturating_mul(granule)
    }

    /// Returns how many workgroups that need `bytes` each fit; `u32::MAX` for 0 bytes.
    pub fn workgroups(self, bytes: u64) -> u32 {
        let fit = u64::from(self.bytes).checked_div(self.taken(bytes));
        fit.map_or(u32::MAX, |n| u32::try_from(n).unwrap_or(u32::MAX))
    }
}

/// The resource that limits the number of workgroups on a compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OccupancyLimit {
    /// The wave slots.
    Waves,
    /// Vector registers.
    Vgprs,
    /// Scalar registers.
    Sgprs,
    /// LDS.
    Lds,
}

impl OccupancyLimit {
    /// Returns the name of the resource.
    pub fn name(self) -> &'static str {
        match self {
            OccupancyLimit::Waves => "wave slots",
            OccupancyLimit::Vgprs => "VGPRs",
            OccupancyLimit::Sgprs => "SGPRs",
            OccupancyLimit::Lds => "LDS",
        }
    }
}

/// How much of a kernel fits on a compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Occupancy {
    /// The processor's name.
    pub processor: &'static str,
    /// The work-items of a workgroup.
    pub block: u32,
    /// The waves of a workgroup.
    pub waves_per_block: u32,
    /// The workgroups on a compute unit.
    pub blocks_per_cu: u32,
    /// The waves on a SIMD for which there are registers and wave slots.
    pub register_waves_per_simd: u32,
    /// The resource that limits the occupancy.
    pub limited_by: OccupancyLimit,
    /// The bytes of LDS that are allocated to a workgroup, in whole granules.
    pub lds_bytes: u64,
}

impl Occupancy {
    /// Returns the number of waves on a SIMD when the compute unit is full. It is less than the registers allow if
    /// workgroups don't fill the compute unit.
    pub fn waves_per_simd(&self) -> f64 {
        f64::from(self.blocks_per_cu * self.waves_per_block) / f64::from(SIMDS)
    }

    /// Returns the share of the wave slots that is used, in percent.
    pub fn percent(&self) -> f64 {
        self.waves_per_simd() / f64::from(WAVES_PER_SIMD) * 100.0
    }
}

/// The reason why there is no occupancy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OccupancyError {
    /// The limits of the processor are not known here.
    #[error("the limits of {processor} are not known here")]
    UnknownProcessor {
        /// The name of the processor.
        processor: String,
    },
    /// The workgroup is larger than the kernel allows.
    #[error("it takes blocks of at most {most} work-items, not {block}")]
    TooManyWorkItems {
        /// The number of work-items that was asked for.
        block: u32,
        /// The largest number of work-items that the kernel allows.
        most: u32,
    },
    /// A workgroup needs more LDS than a compute unit has.
    #[error("{bytes} bytes of LDS are more than the {most} of {processor}")]
    TooMuchLds {
        /// The bytes that a workgroup needs.
        bytes: u64,
        /// The bytes that a compute unit has.
        most: u32,
        /// The name of the processor.
        processor: &'static str,
    },
}

/// Returns whether arch VGPRs and AGPRs share one register file.
pub fn is_unified(processor: &str) -> bool {
    PROCESSORS.iter().any(|(name, _)| *name == processor)
}

/// Returns the occupancy on each known processor that runs code for `processor`, for workgroups of `block` work-items
/// with a given number of bytes of dynamic LDS.
///
/// # Errors
/// Returns an [`OccupancyError`] that says why there is none.
pub fn of(
    processor: &str,
    kernel: &KernelSignature,
    block: u32,
    dynamic_lds: u32,
) -> Result<Vec<Occupancy>, OccupancyError> {
    let Some((_, runs_on)) = PROCESSORS.iter().find(|(name, _)| *name == processor) else {
        return Err(OccupancyError::UnknownProcessor { processor: processor.to_owned() });
    };
    if block > kernel.max_flat_workgroup_size {
        return Err(OccupancyError::TooManyWorkItems { block, most: kernel.max_flat_workgroup_size });
    }
    runs_on.iter().map(|name| on(name, kernel, block, dynamic_lds)).collect()
}

fn on(
    processor: &'static str,
    kernel: &KernelSignature,
    block: u32,
    dynamic_lds: u32,
) -> Result<Occupancy, OccupancyError> {
    let lds = LdsCapacity::of(processor)
        .ok_or_else(|| OccupancyError::UnknownProcessor { processor: processor.to_owned() })?;
    let bytes = u64::from(kernel.group_segment_fixed_size) + u64::from(dynamic_lds);
    if bytes > u64::from(lds.bytes) {
        return Err(OccupancyError::TooMuchLds { bytes, most: lds.bytes, processor });
    }
    let by_vgprs = VGPRS / kernel.descriptor.vgprs().max(1);
    let by_sgprs = SGPRS / kernel.sgpr_count.max(1).next_multiple_of(SGPR_GRANULE);
    let waves = WAVES_PER_SIMD.min(by_vgprs).min(by_sgprs);
    let waves_per_block = block.div_ceil(kernel.wavefront_size.max(1)).max(1);
    let by_waves = SIMDS * waves / waves_per_block;
    let by_lds = lds.workgroups(bytes);
    let limited_by = match waves {
        _ if by_lds < by_waves => OccupancyLimit::Lds,
        WAVES_PER_SIMD => OccupancyLimit::Waves,
        _ if by_vgprs <= by_sgprs => OccupancyLimit::Vgprs,
        _ => OccupancyLimit::Sgprs,
    };
    Ok(Occupancy {
        processor,
        block,
        waves_per_block,
        blocks_per_cu: by_waves.min(by_lds),
        register_waves_per_simd: waves,
        limited_by,
        lds_bytes: lds.taken(bytes),
    })
}
