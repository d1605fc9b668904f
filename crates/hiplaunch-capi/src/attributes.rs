//! What kernels need, and how much of them fits on a device.

use hiplaunch::Device;
use hiplaunch::launcher::{Kernel, Launcher};
use hiplaunch::occupancy::OccupancyLimit;

use super::input::{Versioned, fill};
use super::kernels::{hiplaunch_kernel, registered};
use super::status::{Result, call, hiplaunch_status};

/// What a kernel needs, as its code object says.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_kernel_attributes {
    /// sizeof(hiplaunch_kernel_attributes), set by the caller.
    pub struct_size: usize,
    /// Vector registers of a work-item, without accumulation registers.
    pub vgprs: u32,
    /// Accumulation vector registers of a work-item.
    pub agprs: u32,
    /// Scalar registers of a wavefront.
    pub sgprs: u32,
    /// Vector registers that the compiler spilled.
    pub spilled_vgprs: u32,
    /// Scalar registers that the compiler spilled.
    pub spilled_sgprs: u32,
    /// Bytes of static LDS of a workgroup.
    pub static_lds: u32,
    /// Bytes of private memory of a work-item.
    pub private_bytes: u32,
    /// Whether a work-item may need more private memory than that, as with recursion: 0 or 1.
    pub uses_dynamic_stack: u32,
    /// Most work-items of a workgroup, on the kernel's device.
    pub max_threads_per_block: u32,
    /// Work-items of a wavefront: 32 or 64.
    pub wavefront_size: u32,
    /// Bytes of the kernarg segment, hidden arguments included.
    pub kernarg_bytes: u32,
    /// The only workgroup that it may be launched with, in x, y and z; zeros for any.
    pub required_block: [u32; 3],
}

// SAFETY: integers; the one version.
unsafe impl Versioned for hiplaunch_kernel_attributes {
    const NAME: &'static str = "hiplaunch_kernel_attributes";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_kernel_attributes>()];
}

/// What limits how many workgroups a compute unit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_occupancy_limit {
    /// The wave slots.
    Waves = 0,
    /// Vector registers.
    Vgprs = 1,
    /// Scalar registers.
    Sgprs = 2,
    /// LDS.
    Lds = 3,
    /// Barriers, of which each workgroup of more than one wave needs one.
    Barriers = 4,
}

/// How much of a kernel fits on a compute unit; for a kernel in workgroup processor mode (RDNA), on a workgroup processor.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_kernel_occupancy {
    /// sizeof(hiplaunch_kernel_occupancy), set by the caller.
    pub struct_size: usize,
    /// Workgroups that a compute unit holds at once.
    pub blocks_per_cu: u32,
    /// Waves of a workgroup.
    pub waves_per_block: u32,
    /// SIMDs that the workgroups share.
    pub simds: u32,
    /// Wave slots of a SIMD.
    pub max_waves_per_simd: u32,
    /// Waves of a SIMD for which there are registers and wave slots.
    pub register_waves_per_simd: u32,
    /// A hiplaunch_occupancy_limit: what limits blocks_per_cu.
    pub limited_by: u32,
    /// Bytes of LDS that a workgroup takes, static and dynamic, in whole units of allocation.
    pub lds_bytes: u64,
}

// SAFETY: integers; the one version.
unsafe impl Versioned for hiplaunch_kernel_occupancy {
    const NAME: &'static str = "hiplaunch_kernel_occupancy";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_kernel_occupancy>()];
}

fn of<T>(
    kernel: *const hiplaunch_kernel,
    device: u32,
    ask: impl FnOnce(&Kernel, &Device) -> hiplaunch::Result<T>,
) -> Result<T> {
    let (handle, launcher): (_, Launcher) = registered(kernel)?;
    Ok(ask(&*launcher.kernel(handle)?, launcher.device(device)?)?)
}

/// Fills `attributes`, whose struct_size the caller has set, with what a kernel needs on a device. A kernel of
/// HIPLAUNCH_ALL_DEVICES is loaded there if it is not yet.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_LAUNCH for a kernel of another device; HIPLAUNCH_STATUS_INVALID_ARGUMENT for a
/// device that is not there; those of loading, as hiplaunch_register; HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_STRUCT_SIZE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_get_kernel_attributes(
    kernel: *const hiplaunch_kernel,
    device: u32,
    attributes: *mut hiplaunch_kernel_attributes,
) -> hiplaunch_status {
    call("hiplaunch_get_kernel_attributes", || {
        let a = of(kernel, device, Kernel::attributes)?;
        // SAFETY: the caller's promise for versioned structs.
        unsafe {
            fill(attributes, "attributes", |struct_size| {
                Ok(hiplaunch_kernel_attributes {
                    struct_size,
                    vgprs: a.vgprs,
                    agprs: a.agprs,
                    sgprs: a.sgprs,
                    spilled_vgprs: a.spilled_vgprs,
                    spilled_sgprs: a.spilled_sgprs,
                    static_lds: a.static_lds,
                    private_bytes: a.private_bytes,
                    uses_dynamic_stack: a.uses_dynamic_stack.into(),
                    max_threads_per_block: a.max_threads_per_block,
                    wavefront_size: a.wavefront_size,
                    kernarg_bytes: a.kernarg_bytes,
                    required_block: a.required_block.unwrap_or_default(),
                })
            })
        }
    })
}

/// Fills `occupancy`, whose struct_size the caller has set: how many workgroups of `block` work-items with `dynamic_lds`
/// bytes of dynamic LDS a compute unit of a device holds at once. Makes no driver call if the kernel is loaded there.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_LAUNCH for a block or LDS that the kernel can't have;
/// HIPLAUNCH_STATUS_UNSUPPORTED on a device whose limits the library does not know; as hiplaunch_get_kernel_attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_get_kernel_occupancy(
    kernel: *const hiplaunch_kernel,
    device: u32,
    block: u32,
    dynamic_lds: u32,
    occupancy: *mut hiplaunch_kernel_occupancy,
) -> hiplaunch_status {
    call("hiplaunch_get_kernel_occupancy", || {
        let o = of(kernel, device, |kernel, device| kernel.occupancy(device, block, dynamic_lds))?;
        // SAFETY: the caller's promise for versioned structs.
        unsafe {
            fill(occupancy, "occupancy", |struct_size| {
                Ok(hiplaunch_kernel_occupancy {
                    struct_size,
                    blocks_per_cu: o.blocks_per_cu,
                    waves_per_block: o.waves_per_block,
                    simds: o.simds,
                    max_waves_per_simd: o.max_waves_per_simd,
                    register_waves_per_simd: o.register_waves_per_simd,
                    limited_by: match o.limited_by {
                        OccupancyLimit::Waves => hiplaunch_occupancy_limit::Waves,
                        OccupancyLimit::Vgprs => hiplaunch_occupancy_limit::Vgprs,
                        OccupancyLimit::Sgprs => hiplaunch_occupancy_limit::Sgprs,
                        OccupancyLimit::Lds => hiplaunch_occupancy_limit::Lds,
                        OccupancyLimit::Barriers => hiplaunch_occupancy_limit::Barriers,
                    } as u32,
                    lds_bytes: o.lds_bytes,
                })
            })
        }
    })
}
