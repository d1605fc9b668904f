//! The kernels that were launched on a stream, with the memory that each has there.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::code::{DeviceKernel, KernelHandle, LaunchDims};
use crate::device::Device;
use crate::staging::DeviceScratch;

/// A kernel on a stream.
#[derive(Debug)]
pub(crate) struct KernelOnStream {
    /// The kernel that the handle named at its last launch by handle, until it is unregistered or replaced; none if it was
    /// launched without its handle since.
    pub(crate) kernel: Option<Arc<DeviceKernel>>,
    /// [`DeviceKernel::id`] of the kernel whose arguments `memory` holds.
    pub(crate) id: u64,
    /// The dimensions that were checked last.
    pub(crate) checked_dims: Option<LaunchDims>,
    pub(crate) memory: KernelMemory,
}

/// The memory of a kernel on a stream.
#[derive(Debug)]
pub(crate) struct KernelMemory {
    /// The kernarg segment at its full size; hidden arguments and padding stay zero.
    pub(crate) kernarg: Vec<u8>,
    pub(crate) scratch: DeviceScratch,
    /// What the start of the scratch holds, as far as the host copied it there.
    pub(crate) shadow: Vec<u8>,
    pub(crate) shadow_matches_device: bool,
}

impl KernelOnStream {
    #[cold]
    pub(crate) fn new(device: &Device) -> KernelOnStream {
        KernelOnStream {
            kernel: None,
            id: 0,
            checked_dims: None,
            memory: KernelMemory {
                kernarg: Vec::new(),
                scratch: DeviceScratch::new(device),
                shadow: Vec::new(),
                shadow_matches_device: false,
            },
        }
    }
}

/// The kernels of a stream by handle.
#[derive(Debug, Default)]
pub(crate) struct KernelsOnStream(pub(crate) FxHashMap<KernelHandle, KernelOnStream>);

#[cfg(all(test, feature = "emulator"))]
impl KernelsOnStream {
    pub(crate) fn memory_of(&mut self, handle: KernelHandle) -> Option<&mut KernelMemory> {
        self.0.get_mut(&handle).map(|kernel| &mut kernel.memory)
    }
}
