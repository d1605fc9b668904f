//! Launches of kernels, of modules and of registered fat binaries.

use std::sync::Arc;

use hip_driver::{Call, DeviceId, KernelLaunch, MemoryAccess, Output, Work};

use super::{Forward, Interposed, wrappers};
use crate::abi::c_caller::{Address, In};
use crate::abi::status::Status;
use crate::abi::structs::Dim3;
use crate::kernel::Kernel;
use crate::kernel::launch::{
    Arguments, Cooperation, DriverLaunchConfig, Events, LaunchConfig, NO_EVENTS, Shape, cooperation,
};
use crate::kernel::module::KernelHandle;
use crate::stream::StreamHandle;
use crate::stream::event::EventHandle;

/// Before this version, `hipModuleLaunchKernel` on a captured stream runs the kernel (`hip_driver`, `process.rs`).
const CAPTURES_TAKE_MODULE_LAUNCHES: i32 = 60_443_484;

/// A kernel that the program names by a host function or by a function of a module.
#[derive(Clone, Copy)]
enum Named {
    Host(Address),
    Module(KernelHandle),
}

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

#[allow(clippy::too_many_arguments, reason = "the parts of a launch")]
fn launch(
    over: &Interposed,
    forward: Forward<'_>,
    named: Named,
    shape: Shape,
    arguments: Arguments,
    on: StreamHandle,
    cooperation: Cooperation,
    events: Events,
) -> Status {
    let (device, stream) = over.stream(on);
    let kernel = match named {
        Named::Host(function) => over.host_kernel(device, function),
        Named::Module(handle) => over.module_kernel(handle.0),
    };
    let runs_at_once = matches!(named, Named::Module(_))
        && over.hip().is_some_and(|hip| hip.runtime_version() < CAPTURES_TAKE_MODULE_LAUNCHES)
        && over.is_captured(stream);
    let shown = kernel.filter(|kernel| {
        let has_size = !shape.grid.contains(&0) && !shape.block.contains(&0);
        kernel.device == device && has_size && !runs_at_once && !over.hides_work()
    });
    let Some(packed) = shown.and_then(|kernel| Packed::new(over, kernel, arguments)) else {
        return forward();
    };
    let launch = packed.launch(shape);
    let offsets: Vec<u32> = packed.kernel.offsets().collect();
    let work = match cooperation {
        Cooperation::None => Work::Kernel(&launch),
        Cooperation::Grid => Work::CooperativeKernel { launch: &launch, offsets: &offsets },
    };
    let status = over.observe(&Call::Enqueue { device, stream, work: &work }, forward, || Output::None);
    if status == Status::SUCCESS {
        [events.start, events.stop].into_iter().for_each(|event| over.recorded(event, on));
    }
    status
}

wrappers! {
    hipLaunchKernel(
        function: Address, grid: Dim3, block: Dim3, parameters: In<In<u8>>, lds: usize, stream: StreamHandle,
    ) = |over, forward| {
        let (shape, arguments) = (Shape::new(grid, block, lds), Arguments::list(parameters));
        launch(over, forward, Named::Host(function), shape, arguments, stream, Cooperation::None, NO_EVENTS)
    };
    hipLaunchKernel_spt(
        function: Address, grid: Dim3, block: Dim3, parameters: In<In<u8>>, lds: usize, stream: StreamHandle,
    ) = |over, forward| {
        let (shape, arguments) = (Shape::new(grid, block, lds), Arguments::list(parameters));
        let stream = stream.or_per_thread();
        launch(over, forward, Named::Host(function), shape, arguments, stream, Cooperation::None, NO_EVENTS)
    };
    hipLaunchCooperativeKernel(
        function: Address, grid: Dim3, block: Dim3, parameters: In<In<u8>>, lds: u32, stream: StreamHandle,
    ) = |over, forward| {
        let (shape, arguments) = (Shape::new(grid, block, lds as usize), Arguments::list(parameters));
        launch(over, forward, Named::Host(function), shape, arguments, stream, Cooperation::Grid, NO_EVENTS)
    };
    hipLaunchCooperativeKernel_spt(
        function: Address, grid: Dim3, block: Dim3, parameters: In<In<u8>>, lds: u32, stream: StreamHandle,
    ) = |over, forward| {
        let (shape, arguments) = (Shape::new(grid, block, lds as usize), Arguments::list(parameters));
        let stream = stream.or_per_thread();
        launch(over, forward, Named::Host(function), shape, arguments, stream, Cooperation::Grid, NO_EVENTS)
    };
    hipExtLaunchKernel(
        function: Address, grid: Dim3, block: Dim3, parameters: In<In<u8>>, lds: usize, stream: StreamHandle,
        start: EventHandle, stop: EventHandle, _flags: i32,
    ) = |over, forward| {
        let (shape, arguments) = (Shape::new(grid, block, lds), Arguments::list(parameters));
        let events = Events { start, stop };
        launch(over, forward, Named::Host(function), shape, arguments, stream, Cooperation::None, events)
    };
    hipModuleLaunchKernel(
        function: KernelHandle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        lds: u32, stream: StreamHandle, parameters: In<In<u8>>, extra: In<usize>,
    ) = |over, forward| {
        let shape =
            Shape::whole([grid_x, grid_y, grid_z], [block_x, block_y, block_z], lds as usize);
        let arguments = Arguments { parameters, extra };
        launch(over, forward, Named::Module(function), shape, arguments, stream, Cooperation::None, NO_EVENTS)
    };
    hipModuleLaunchCooperativeKernel(
        function: KernelHandle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        lds: u32, stream: StreamHandle, parameters: In<In<u8>>,
    ) = |over, forward| {
        let shape =
            Shape::whole([grid_x, grid_y, grid_z], [block_x, block_y, block_z], lds as usize);
        let arguments = Arguments::list(parameters);
        launch(over, forward, Named::Module(function), shape, arguments, stream, Cooperation::Grid, NO_EVENTS)
    };
    hipExtModuleLaunchKernel(
        function: KernelHandle, threads_x: u32, threads_y: u32, threads_z: u32, block_x: u32, block_y: u32,
        block_z: u32, lds: usize, stream: StreamHandle, parameters: In<In<u8>>, extra: In<usize>, start: EventHandle,
        stop: EventHandle, _flags: u32,
    ) = |over, forward| {
        let shape = Shape::of_threads([threads_x, threads_y, threads_z], [block_x, block_y, block_z], lds);
        let (arguments, events) = (Arguments { parameters, extra }, Events { start, stop });
        launch(over, forward, Named::Module(function), shape, arguments, stream, Cooperation::None, events)
    };
    hipHccModuleLaunchKernel(
        function: KernelHandle, threads_x: u32, threads_y: u32, threads_z: u32, block_x: u32, block_y: u32,
        block_z: u32, lds: usize, stream: StreamHandle, parameters: In<In<u8>>, extra: In<usize>, start: EventHandle,
        stop: EventHandle,
    ) = |over, forward| {
        let shape = Shape::of_threads([threads_x, threads_y, threads_z], [block_x, block_y, block_z], lds);
        let (arguments, events) = (Arguments { parameters, extra }, Events { start, stop });
        launch(over, forward, Named::Module(function), shape, arguments, stream, Cooperation::None, events)
    };
    hipLaunchKernelExC(config: In<LaunchConfig>, function: Address, parameters: In<In<u8>>) = |over, forward| {
        let Ok(config) = config.get() else { return forward() };
        let Ok(cooperation) = cooperation(config.attributes, config.attribute_count) else { return forward() };
        let (shape, arguments) = (Shape::new(config.grid, config.block, config.lds), Arguments::list(parameters));
        launch(over, forward, Named::Host(function), shape, arguments, config.stream, cooperation, NO_EVENTS)
    };
    hipDrvLaunchKernelEx(
        config: In<DriverLaunchConfig>, function: KernelHandle, parameters: In<In<u8>>, extra: In<usize>,
    ) = |over, forward| {
        let Ok(config) = config.get() else { return forward() };
        let Ok(cooperation) = cooperation(config.attributes, config.attribute_count) else { return forward() };
        let shape = Shape::new(config.grid, config.block, config.lds as usize);
        let arguments = Arguments { parameters, extra };
        launch(over, forward, Named::Module(function), shape, arguments, config.stream, cooperation, NO_EVENTS)
    };
}
