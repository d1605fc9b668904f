//! Computes how many workgroups of a kernel a compute unit holds at the same time, from GFX9 to GFX12.
//!
//! A SIMD holds a number of waves at most. Vector registers (and before GFX10 scalar registers) may leave room for fewer.
//! Workgroups share LDS, and those of more than one wave each need a barrier. The compute unit of a kernel that is
//! compiled for workgroup processor mode (GFX10 on) is the workgroup processor: two compute units with the SIMDs, the LDS
//! and the barriers of both.
//!
//! | | GFX9 | gfx90a, gfx94x, gfx950 | GFX10.1 | GFX10.3 on | gfx1100, gfx1101, gfx1151, GFX12 |
//! |---|---|---|---|---|---|
//! | waves of a SIMD | 10 | 8 | 20 | 16 | 16 |
//! | SIMDs of a compute unit | 4 | 4 | 2 | 2 | 2 |
//! | VGPRs of a SIMD for waves of 64 | 256 by 4 | 512 by 8 | 512 by 4 | 512 by 8 | 768 by 12 |
//! | the same for waves of 32 | | | 1024 by 8 | 1024 by 16 | 1536 by 24 |
//! | SGPRs of a SIMD | 800 by 16 | 800 by 16 | enough | enough | enough |
//! | barriers of a compute unit | 16 | 16 | 16 | 16 | 16 |
//! | LDS of a compute unit | 64 KiB by 512 | 64 KiB by 512 (gfx950: 160 KiB by 1280) | 64 KiB by 512 | 64 KiB by 1024 | 64 KiB by 1024 |
//!
//! "By" stands before the unit of allocation. On gfx90a and later GFX9 processors, arch VGPRs and AGPRs share the file.
//!
//! Sources: LLVM's `AMDGPUBaseInfo.cpp` (`IsaInfo`: `getMaxWavesPerEU`, `getEUsPerCU`, `getTotalNumVGPRs`,
//! `getVGPRAllocGranule`, `getMaxWorkGroupsPerCU`, `getLocalMemorySize`) and `AMDGPU.td` (`Feature1_5xVGPRs`); the tests
//! compare with LLVM 22. SGPRs: clr's `hip_platform.cpp` (`ihipOccupancyMaxActiveBlocksPerMultiprocessor`).
//!
//! LDS: the field `GRANULATED_LDS_SIZE` of `COMPUTE_PGM_RSRC2` counts 128 dwords on GFX7 to GFX11, and 320 dwords on GFX950
//! (LLVM, "User Guide for AMDGPU Backend", Kernel Descriptor). AMD's "Instinct MI200 Instruction Set Architecture", section
//! 3.6.5, has blocks of 128 dwords too. From GFX10.3 on the hardware allocates 256 dwords, though the field counts 128
//! (Mesa's `ac_gpu_info.c`, `lds_alloc_granularity`). LLVM does not round LDS up at all.

use crate::signature::KernelSignature;
use crate::target;

const SGPRS: u32 = 800;
const SGPR_GRANULE: u32 = 16;
const BARRIERS: u32 = 16;

/// What processors have alike.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Waves of a SIMD.
    waves: u32,
    /// SIMDs of a compute unit.
    simds: u32,
    /// Vector registers of a SIMD, and the unit of their allocation, for waves of 64.
    vgprs: (u32, u32),
    /// Whether arch VGPRs and AGPRs share one file.
    unified: bool,
    /// Whether scalar registers may limit the waves.
    sgprs: bool,
    lds: LdsCapacity,
}

const GFX9: Limits =
    Limits { waves: 10, simds: 4, vgprs: (256, 4), unified: false, sgprs: true, lds: LdsCapacity::GFX90A };
const GFX90A: Limits = Limits { waves: 8, vgprs: (512, 8), unified: true, ..GFX9 };
const GFX950: Limits = Limits { lds: LdsCapacity::GFX950, ..GFX90A };
const GFX10_1: Limits = Limits { waves: 20, simds: 2, vgprs: (512, 4), sgprs: false, ..GFX9 };
const GFX10_3: Limits = Limits { waves: 16, vgprs: (512, 8), lds: LdsCapacity::GFX1030, ..GFX10_1 };
const MORE_VGPRS: Limits = Limits { vgprs: (768, 12), ..GFX10_3 };

/// The limits of each processor that is known here.
const PROCESSORS: [(&str, Limits); 33] = [
    ("gfx900", GFX9),
    ("gfx902", GFX9),
    ("gfx904", GFX9),
    ("gfx906", GFX9),
    ("gfx908", GFX9),
    ("gfx909", GFX9),
    ("gfx90c", GFX9),
    ("gfx90a", GFX90A),
    ("gfx940", GFX90A),
    ("gfx941", GFX90A),
    ("gfx942", GFX90A),
    ("gfx950", GFX950),
    ("gfx1010", GFX10_1),
    ("gfx1011", GFX10_1),
    ("gfx1012", GFX10_1),
    ("gfx1013", GFX10_1),
    ("gfx1030", GFX10_3),
    ("gfx1031", GFX10_3),
    ("gfx1032", GFX10_3),
    ("gfx1033", GFX10_3),
    ("gfx1034", GFX10_3),
    ("gfx1035", GFX10_3),
    ("gfx1036", GFX10_3),
    ("gfx1100", MORE_VGPRS),
    ("gfx1101", MORE_VGPRS),
    ("gfx1102", GFX10_3),
    ("gfx1103", GFX10_3),
    ("gfx1150", GFX10_3),
    ("gfx1151", MORE_VGPRS),
    ("gfx1152", GFX10_3),
    ("gfx1153", GFX10_3),
    ("gfx1200", MORE_VGPRS),
    ("gfx1201", MORE_VGPRS),
];

/// Returns the limits of a processor, with its name.
fn limits(processor: &str) -> Option<(&'static str, Limits)> {
    PROCESSORS.iter().copied().find(|(name, _)| *name == processor)
}

/// The vector registers of a SIMD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VectorFile {
    /// The registers of a work-item of one wave, if the wave has all of them: a wave of 32 has twice as many as one of 64.
    pub registers: u32,
    /// The unit of allocation.
    pub granule: u32,
}

impl VectorFile {
    /// Returns the registers of a processor for waves of 32 or 64, or `None` if it is not known here. Those of GFX9 for waves
    /// of 32, which it doesn't have, are those for 64.
    pub fn of(processor: &str, is_wave32: bool) -> Option<VectorFile> {
        limits(processor).map(|(_, limits)| limits.vector_file(is_wave32))
    }
}

impl Limits {
    fn vector_file(&self, is_wave32: bool) -> VectorFile {
        // A register of a wave of 64 is two of a wave of 32. GFX10 and later have waves of 32; there, SGPRs limit nothing.
        let half = if is_wave32 && !self.sgprs { 2 } else { 1 };
        VectorFile { registers: self.vgprs.0 * half, granule: self.vgprs.1 * half }
    }
}

/// The LDS of a compute unit, in bytes. (A workgroup processor has twice as much, of which one workgroup may use no more
/// than this.)
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
    /// GFX10.3 and later: 64 KiB in granules of 1024 bytes.
    pub const GFX1030: LdsCapacity = LdsCapacity { bytes: 64 << 10, granule: 1024 };

    /// Returns the LDS of a processor, or `None` if it is not known here.
    pub fn of(processor: &str) -> Option<LdsCapacity> {
        limits(processor).map(|(_, limits)| limits.lds)
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
    /// Barriers, of which each workgroup of more than one wave needs one.
    Barriers,
}

impl OccupancyLimit {
    /// Returns the name of the resource.
    pub fn name(self) -> &'static str {
        match self {
            OccupancyLimit::Waves => "wave slots",
            OccupancyLimit::Vgprs => "VGPRs",
            OccupancyLimit::Sgprs => "SGPRs",
            OccupancyLimit::Lds => "LDS",
            OccupancyLimit::Barriers => "barriers",
        }
    }
}

/// How much of a kernel fits on a compute unit, or for a kernel in workgroup processor mode on a workgroup processor.
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
    /// The SIMDs that they share.
    pub simds: u32,
    /// The wave slots of a SIMD.
    pub max_waves_per_simd: u32,
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
        f64::from(self.blocks_per_cu * self.waves_per_block) / f64::from(self.simds)
    }

    /// Returns the share of the wave slots that is used, in percent.
    pub fn percent(&self) -> f64 {
        self.waves_per_simd() / f64::from(self.max_waves_per_simd) * 100.0
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
    let processor = match target::covered_by(processor) {
        Some([first, ..]) => first,
        _ => processor,
    };
    limits(processor).is_some_and(|(_, limits)| limits.unified)
}

/// Returns how many vector registers a work-item of a kernel for `processor` uses: those that are no accumulation
/// registers, and accumulation registers.
pub fn vector_registers(processor: &str, kernel: &KernelSignature) -> (u32, u32) {
    let agprs = kernel.agpr_count;
    // The metadata counts both together where they share a file.
    let vgprs =
        if is_unified(processor) { kernel.vgpr_count.saturating_sub(agprs) } else { kernel.vgpr_count };
    (vgprs, agprs)
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
    match target::covered_by(processor) {
        Some(all) => all.iter().map(|name| on(name, kernel, block, dynamic_lds)).collect(),
        None => on(processor, kernel, block, dynamic_lds).map(|one| vec![one]),
    }
}

/// Returns the occupancy on the processor `processor`, for workgroups of `block` work-items with a given number of bytes
/// of dynamic LDS. The kernel's code may be for that processor or for a generic one.
///
/// # Errors
/// Returns an [`OccupancyError`] that says why there is none.
pub fn on(
    processor: &str,
    kernel: &KernelSignature,
    block: u32,
    dynamic_lds: u32,
) -> Result<Occupancy, OccupancyError> {
    let Some((processor, limits)) = limits(processor) else {
        return Err(OccupancyError::UnknownProcessor { processor: processor.to_owned() });
    };
    if block > kernel.max_flat_workgroup_size {
        return Err(OccupancyError::TooManyWorkItems { block, most: kernel.max_flat_workgroup_size });
    }
    let bytes = u64::from(kernel.group_segment_fixed_size) + u64::from(dynamic_lds);
    if bytes > u64::from(limits.lds.bytes) {
        return Err(OccupancyError::TooMuchLds { bytes, most: limits.lds.bytes, processor });
    }
    // A workgroup processor is two compute units.
    let units = if kernel.workgroup_processor_mode { 2 } else { 1 };
    let simds = limits.simds * units;
    let file = limits.vector_file(kernel.wavefront_size == 32);
    let by_vgprs = file.registers / kernel.descriptor.vgprs(limits.unified).next_multiple_of(file.granule);
    let by_sgprs = match kernel.sgpr_count.max(1).checked_next_multiple_of(SGPR_GRANULE) {
        _ if !limits.sgprs => limits.waves,
        Some(sgprs) => SGPRS / sgprs,
        None => 0,
    };
    let waves = limits.waves.min(by_vgprs).min(by_sgprs);
    let waves_per_block = block.div_ceil(kernel.wavefront_size.max(1)).max(1);
    let by_waves = simds * waves / waves_per_block;
    let by_lds = LdsCapacity { bytes: limits.lds.bytes * units, ..limits.lds }.workgroups(bytes);
    let by_barriers = if waves_per_block > 1 { BARRIERS * units } else { u32::MAX };
    let limited_by = match waves {
        _ if by_lds < by_waves && by_lds <= by_barriers => OccupancyLimit::Lds,
        _ if by_barriers < by_waves => OccupancyLimit::Barriers,
        all if all == limits.waves => OccupancyLimit::Waves,
        _ if by_vgprs <= by_sgprs => OccupancyLimit::Vgprs,
        _ => OccupancyLimit::Sgprs,
    };
    Ok(Occupancy {
        processor,
        block,
        waves_per_block,
        blocks_per_cu: by_waves.min(by_lds).min(by_barriers),
        simds,
        max_waves_per_simd: limits.waves,
        register_waves_per_simd: waves,
        limited_by,
        lds_bytes: limits.lds.taken(bytes),
    })
}
