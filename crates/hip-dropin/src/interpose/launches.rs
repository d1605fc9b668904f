//! Launches of kernels, of modules and of registered fat binaries.

use std::sync::Arc;

use hip_driver::{Call, DeviceId, KernelLaunch, MemoryAccess, Output, Work};

use super::{Forward, Interposed};
use crate::abi::c_caller::Address;
use crate::abi::status::Status;
use crate::kernel::Kernel;
use crate::kernel::launch::{Arguments, Cooperation, KernelRef, Launch, Shape};

/// Before this version, `hipModuleLaunchKernel` on a captured stream runs the kernel (`hip_driver`, `process.rs`).
const CAPTURES_TAKE_MODULE_LAUNCHES: i32 = 60_443_484;

/// The arguments of a launch, and the memory to which they are known to point.
pub(super) struct Packed {
    kernel: Arc<Kernel>,
    kernarg: crate::kernel::Kernarg,
    accesses: Vec<MemoryAccess>,
}

impl Packed {
    /// `None` if the arguments don't fit the kernel, which AMD's library will say.
    pub(super) fn new(over: &Interposed, kernel: Arc<Kernel>, arguments: Arguments) -> Option<Packed> {
        let mut kernarg = crate::kernel::Kernarg::new();
        kernel.pack(arguments.parameters, arguments.extra, &mut kernarg).ok()?;
        let mut accesses = kernel.accesses(&kernarg);
        accesses.retain(|access| over.known.may_access(kernel.device, access.ptr.0));
        Some(Packed { kernel, kernarg, accesses })
    }

    pub(super) fn launch(&self, shape: Shape) -> KernelLaunch<'_> {
        KernelLaunch {
            function: self.kernel.function,
            grid: shape.grid,
            block: shape.block,
            dynamic_lds: shape.lds as u32,
            kernarg: &self.kernarg,
            accesses: &self.accesses,
        }
    }
}

impl Interposed {
    /// A kernel that is given as a host function or as a function of a module.
    pub(super) fn any_kernel(&self, device: DeviceId, function: Address) -> Option<Arc<Kernel>> {
        self.module_kernel(function.0).or_else(|| self.host_kernel(device, function))
    }
}

impl Launch {
    /// Shows the launch.
    pub(crate) fn observe(&self, over: &Interposed, forward: Forward<'_>) -> Status {
        let (device, stream) = over.stream(self.stream);
        let shape = self.shape;
        let (kernel, by_handle) = match self.kernel {
            KernelRef::Host(function) => (over.host_kernel(device, function), false),
            KernelRef::Module(handle) => (over.module_kernel(handle.0), true),
        };
        let runs_at_once = by_handle
            && over.hip().is_some_and(|hip| hip.runtime_version() < CAPTURES_TAKE_MODULE_LAUNCHES)
            && over.is_captured(stream);
        let shown = kernel.filter(|kernel| {
            let has_size = !shape.grid.contains(&0) && !shape.block.contains(&0);
            kernel.device == device && has_size && !runs_at_once && !over.hides_work()
        });
        let Some(packed) = shown.and_then(|kernel| Packed::new(over, kernel, self.arguments)) else {
            return forward();
        };
        let launch = packed.launch(shape);
        let offsets: Vec<u32> = packed.kernel.offsets().collect();
        let work = match self.cooperation {
            Cooperation::None => Work::Kernel(&launch),
            Cooperation::Grid => Work::CooperativeKernel { launch: &launch, offsets: &offsets },
        };
        let status = over.observe(&Call::Enqueue { device, stream, work: &work }, forward, || Output::None);
        if status == Status::SUCCESS {
            let events = [self.events.start, self.events.stop];
            events.into_iter().for_each(|event| over.recorded(event, self.stream));
        }
        status
    }
}
