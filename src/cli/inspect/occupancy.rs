//! How many workgroups of a kernel a compute unit holds at once.
//!
//! The limits of gfx90a and later gfx9 processors: 4 SIMDs of 8 wave slots and 512 vector registers, which arch VGPRs and
//! AGPRs share in granules of 8, and 800 scalar registers in granules of 16. Sources: clr's `hip_platform.cpp`
//! (`ihipOccupancyMaxActiveBlocksPerMultiprocessor`), whose calculation this is, with LDS in whole granules as the hardware
//! deals it out; LLVM's `AMDGPUBaseInfo.cpp` (`IsaInfo`) has the same numbers.

use code_object::KernelSignature;
use hiplaunch::lds::LdsTarget;

const SIMDS: u32 = 4;
const WAVES_PER_SIMD: u32 = 8;
const VGPRS: u32 = 512;
const SGPRS: u32 = 800;
const SGPR_GRANULE: u32 = 16;

/// Processors whose limits are known, and generic ones that have code for them.
const PROCESSORS: [(&str, &[&str]); 6] = [
    ("gfx90a", &["gfx90a"]),
    ("gfx940", &["gfx940"]),
    ("gfx941", &["gfx941"]),
    ("gfx942", &["gfx942"]),
    ("gfx950", &["gfx950"]),
    ("gfx9-4-generic", &["gfx942", "gfx950"]),
];

/// What keeps a compute unit from holding more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Waves,
    Vgprs,
    Sgprs,
    Lds,
}

impl Limit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Limit::Waves => "wave slots",
            Limit::Vgprs => "VGPRs",
            Limit::Sgprs => "SGPRs",
            Limit::Lds => "LDS",
        }
    }
}

/// What a compute unit holds of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Occupancy {
    pub(super) processor: &'static str,
    /// Work-items of a workgroup.
    pub(super) block: u32,
    pub(super) waves_per_block: u32,
    /// Workgroups on a compute unit.
    pub(super) blocks_per_cu: u32,
    /// Waves that registers and slots leave room for on a SIMD.
    pub(super) register_waves_per_simd: u32,
    pub(super) limited_by: Limit,
    /// Bytes of LDS that a workgroup takes, in whole granules.
    pub(super) lds_bytes: u64,
}

impl Occupancy {
    /// Waves on a SIMD when the compute unit is full: less than what the registers allow where workgroups don't fill it.
    pub(super) fn waves_per_simd(&self) -> f64 {
        f64::from(self.blocks_per_cu * self.waves_per_block) / f64::from(SIMDS)
    }

    /// The share of the wave slots that is used, in percent.
    pub(super) fn percent(&self) -> f64 {
        self.waves_per_simd() / f64::from(WAVES_PER_SIMD) * 100.0
    }
}

/// Whether arch VGPRs and AGPRs share one file.
pub(super) fn is_unified(processor: &str) -> bool {
    PROCESSORS.iter().any(|(name, _)| *name == processor)
}

/// The occupancy on each processor that code for `processor` runs on and whose limits are known, for workgroups of `block`
/// work-items and so much dynamic LDS; an error says why there is none.
pub(super) fn of(
    processor: &str,
    kernel: &KernelSignature,
    block: u32,
    dynamic_lds: u32,
) -> Result<Vec<Occupancy>, String> {
    let Some((_, runs_on)) = PROCESSORS.iter().find(|(name, _)| *name == processor) else {
        return Err(format!("the limits of {processor} are not known here"));
    };
    if block > kernel.max_flat_workgroup_size {
        let most = kernel.max_flat_workgroup_size;
        return Err(format!("it takes blocks of at most {most} work-items, not {block}"));
    }
    runs_on.iter().map(|name| on(name, kernel, block, dynamic_lds)).collect()
}

fn on(
    processor: &'static str,
    kernel: &KernelSignature,
    block: u32,
    dynamic_lds: u32,
) -> Result<Occupancy, String> {
    let lds = LdsTarget::of(processor).ok_or_else(|| format!("the LDS of {processor} is not known here"))?;
    let bytes = u64::from(kernel.group_segment_fixed_size) + u64::from(dynamic_lds);
    if bytes > u64::from(lds.bytes) {
        return Err(format!("{bytes} bytes of LDS are more than the {} of {processor}", lds.bytes));
    }
    let by_vgprs = VGPRS / kernel.descriptor.vgprs().max(1);
    let by_sgprs = SGPRS / kernel.sgpr_count.max(1).next_multiple_of(SGPR_GRANULE);
    let waves = WAVES_PER_SIMD.min(by_vgprs).min(by_sgprs);
    let waves_per_block = block.div_ceil(kernel.wavefront_size.max(1)).max(1);
    let by_waves = SIMDS * waves / waves_per_block;
    let by_lds = lds.workgroups(bytes);
    let limited_by = match waves {
        _ if by_lds < by_waves => Limit::Lds,
        WAVES_PER_SIMD => Limit::Waves,
        _ if by_vgprs <= by_sgprs => Limit::Vgprs,
        _ => Limit::Sgprs,
    };
    Ok(Occupancy {
        processor,
        block,
        waves_per_block,
        blocks_per_cu: by_waves.min(by_lds),
        register_waves_per_simd: waves,
        limited_by,
        lds_bytes: bytes.next_multiple_of(u64::from(lds.granule.max(1))),
    })
}
