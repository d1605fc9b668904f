//! What a registered kernel needs: registers, LDS, private memory; and how much of it fits on its device.

use code_object::occupancy::{self, Occupancy};

use super::kernel::Kernel;

use crate::device::Device;
use crate::error::Result;

/// What a kernel needs, as its code object says (`hipFuncGetAttributes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelAttributes {
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
    /// Bytes of private memory of a work-item. A kernel that [uses a dynamic stack](Self::uses_dynamic_stack) may need
    /// more.
    pub private_bytes: u32,
    /// Whether the compiler could not know how much private memory a work-item needs: recursion, calls through pointers.
    pub uses_dynamic_stack: bool,
    /// The most work-items in a workgroup, on this device.
    pub max_threads_per_block: u32,
    /// The only block that it may be launched with, if it has one.
    pub required_block: Option<[u32; 3]>,
    /// Work-items of a wavefront: 32 or 64.
    pub wavefront_size: u32,
    /// Bytes of its kernarg segment, hidden arguments included.
    pub kernarg_bytes: u32,
}

impl Kernel {
    /// Returns what the kernel needs on a device: registers, LDS, private memory. Loads a kernel of a
    /// [`LazyModule`](crate::LazyModule) there if it is not loaded yet.
    ///
    /// # Errors
    /// [`LaunchProblem::WrongDevice`](crate::LaunchProblem::WrongDevice) for a kernel of another device; the errors of
    /// [`LazyModule::on`](crate::LazyModule::on).
    pub fn attributes(&self, device: &Device) -> Result<KernelAttributes> {
        let kernel = self.load(device)?;
        let signature = kernel.signature();
        let (vgprs, agprs) =
            occupancy::vector_registers(kernel.code_object().target().processor.name(), signature);
        Ok(KernelAttributes {
            vgprs,
            agprs,
            sgprs: signature.sgpr_count,
            spilled_vgprs: signature.vgpr_spill_count,
            spilled_sgprs: signature.sgpr_spill_count,
            static_lds: signature.group_segment_fixed_size,
            private_bytes: signature.private_segment_fixed_size,
            uses_dynamic_stack: signature.uses_dynamic_stack,
            max_threads_per_block: kernel.max_total,
            required_block: signature.reqd_workgroup_size,
            wavefront_size: signature.wavefront_size,
            kernarg_bytes: signature.kernarg_size,
        })
    }

    /// Returns how many workgroups of `block` work-items with `dynamic_lds` bytes of dynamic LDS a compute unit of a device
    /// holds at once, and what limits it. A kernel with an LDS layout has at least the LDS of the layout, as in a launch.
    /// Makes no driver call if the kernel is loaded there.
    ///
    /// # Errors
    /// The errors of [`attributes`](Kernel::attributes); [`Error::Occupancy`](crate::Error::Occupancy) for a block that the
    /// kernel can't have, for more LDS than there is, and on a device whose limits are not known here;
    /// [`LaunchProblem::LdsLayout`](crate::LaunchProblem::LdsLayout) for less LDS than the layout needs.
    ///
    /// # Examples
    /// ```
    /// # use hiplaunch::{FatBinary, Launcher};
    /// # #[cfg(feature = "emulator")] {
    /// let launcher = Launcher::new()?;
    /// let device = launcher.device(0)?;
    /// let code = FatBinary::read("hip/reduce.hipfb")?.for_device(device)?;
    /// // SAFETY: it is not launched.
    /// let sum = launcher.kernel(unsafe { launcher.register(device, code.elf(), "reduce_sum_f32")? })?;
    /// let attributes = sum.attributes(device)?;
    /// assert_eq!((attributes.static_lds, attributes.spilled_vgprs), (1024, 0));
    /// let occupancy = sum.occupancy(device, 256, 0)?;
    /// println!("{} workgroups, limited by {}", occupancy.blocks_per_cu, occupancy.limited_by.name());
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn occupancy(&self, device: &Device, block: u32, dynamic_lds: u32) -> Result<Occupancy> {
        let kernel = self.load(device)?;
        let dynamic_lds = kernel.with_layout(dynamic_lds)?;
        let processor = &device.properties().target.processor;
        Ok(occupancy::on(processor.name(), kernel.signature(), block, dynamic_lds)?)
    }
}
