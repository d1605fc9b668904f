//! Launches.

use std::sync::Arc;

use hip_driver::{DeviceId, ErrorCode, KernelLaunch, RawStream, Work};
use smallvec::SmallVec;

use crate::abi::c_caller::{Address, Handle, In};
use crate::abi::status::{HipResult, Status};
use crate::abi::structs::{Dim3, hipLaunchParams};
use crate::kernel::KERNELS;
use crate::kernel::configuration::{self, CallConfiguration};
use crate::kernel::fat_binary;
use crate::kernel::module::KernelHandle;
use crate::kernel::{BUFFER_POINTER, BUFFER_SIZE, END, Kernarg, Kernel};
use crate::process::Process;
use crate::process::call::call;
use crate::process::objects::Recent;
use crate::stream::StreamHandle;
use crate::stream::event::EventHandle;
use crate::stream::target::Target;

/// The size of a launch.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Workgroups.
    pub(crate) grid: [u32; 3],
    /// Work-items of a workgroup.
    pub(crate) block: [u32; 3],
    /// Dynamic LDS in bytes.
    pub(crate) lds: usize,
    /// Work-items of the last workgroups, along each axis; 0 for as many as the others have.
    pub(crate) remainder: [u32; 3],
}

impl Shape {
    pub(crate) fn new(grid: Dim3, block: Dim3, lds: usize) -> Shape {
        Shape::whole(grid.array(), block.array(), lds)
    }

    /// A launch of whole workgroups.
    pub(crate) fn whole(grid: [u32; 3], block: [u32; 3], lds: usize) -> Shape {
        Shape { grid, block, lds, remainder: [0; 3] }
    }

    /// A launch whose grid is given in work-items. The last workgroups may have fewer of them. As in clr, no workgroup is larger than
    /// the grid.
    pub(crate) fn of_threads(threads: [u32; 3], block: [u32; 3], lds: usize) -> Shape {
        let block = std::array::from_fn(|n| block[n].min(threads[n]));
        let grid = std::array::from_fn(|n| if block[n] == 0 { 0 } else { threads[n].div_ceil(block[n]) });
        let remainder = std::array::from_fn(|n| threads[n].checked_rem(block[n]).unwrap_or(0));
        Shape { grid, block, lds, remainder }
    }

    /// Fails with `INVALID_VALUE`, as clr does, if there are partial workgroups and the kernel was compiled for whole ones.
    fn check_uniform(&self, is_uniform: bool) -> HipResult {
        if is_uniform && self.remainder != [0; 3] { Err(Status::INVALID_VALUE) } else { Ok(()) }
    }

    /// Checks the shape as HIP does before it looks at the kernel.
    pub(crate) fn check(&self, process: &Process, kernel: &Kernel) -> HipResult {
        let limits = &process.devices[kernel.device.0 as usize].properties;
        let Shape { grid, block, lds, .. } = *self;
        let threads = block.iter().map(|&n| u64::from(n)).product::<u64>();
        let too_many = grid.iter().zip(&block).any(|(&g, &b)| g.checked_mul(b).is_none());
        if grid.contains(&0) || block.contains(&0) || too_many {
            return Err(Status::INVALID_CONFIGURATION);
        }
        if threads > u64::from(limits.max_threads_per_block) {
            return Err(Status::INVALID_CONFIGURATION);
        }
        self.check_uniform(kernel.signature.uniform_work_group_size)?;
        // Larger than the bounds that the kernel was compiled for.
        if threads > u64::from(kernel.signature.max_flat_workgroup_size) {
            return Err(Status::LAUNCH_FAILURE);
        }
        let most = limits.max_lds_per_block.saturating_sub(kernel.signature.group_segment_fixed_size);
        if lds > most as usize {
            return Err(Status::INVALID_VALUE);
        }
        Ok(())
    }
}

/// Whether the workgroups of a launch can wait for each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cooperation {
    None,
    Grid,
}

/// Enqueues a launch whose shape was [checked](Shape::check).
#[inline]
pub(crate) fn enqueue(
    process: &Process,
    kernel: &Kernel,
    shape: &Shape,
    kernarg: &[u8],
    (device, stream): (DeviceId, RawStream),
    cooperation: Cooperation,
) -> HipResult {
    if kernel.device != device {
        return Err(Status::INVALID_DEVICE_FUNCTION);
    }
    with_work(process, kernel, shape, kernarg, cooperation, |work| {
        // SAFETY: the stream is live, and the kernel's module is loaded, as the caller found both by their handles. The
        // arguments were packed by the kernel's signature; that their addresses are right is the program's part.
        unsafe { process.driver.enqueue(device, stream, work) }.map_err(|error| match error.code {
            ErrorCode::COOPERATIVE_LAUNCH_TOO_LARGE => Status::COOPERATIVE_LAUNCH_TOO_LARGE,
            _ => error.into(),
        })
    })
}

/// Enqueues a kernel of any device in the order of a stream, as graphs do: a node runs on the device that was current when it was
/// added.
pub(crate) fn enqueue_node(
    process: &Process,
    kernel: &Kernel,
    shape: &Shape,
    kernarg: &[u8],
    target: Target,
    cooperation: Cooperation,
) -> HipResult {
    if kernel.device == target.device {
        return enqueue(process, kernel, shape, kernarg, (target.device, target.stream), cooperation);
    }
    with_work(process, kernel, shape, kernarg, cooperation, |work| {
        process.enqueue_on(kernel.device, target, work)
    })
}

/// Calls `enqueue` with the work of a launch. Always inlined: apart from it, the call of its closure costs 30 instructions a launch.
#[inline(always)]
fn with_work(
    process: &Process,
    kernel: &Kernel,
    shape: &Shape,
    kernarg: &[u8],
    cooperation: Cooperation,
    enqueue: impl FnOnce(&Work<'_>) -> HipResult,
) -> HipResult {
    let accesses = if process.validation.is_some() { kernel.accesses(kernarg) } else { Vec::new() };
    let launch = KernelLaunch {
        function: kernel.function,
        grid: shape.grid,
        block: shape.block,
        dynamic_lds: shape.lds as u32,
        kernarg,
        accesses: &accesses,
    };
    let offsets: SmallVec<[u32; 16]>;
    let work = match cooperation {
        Cooperation::None if shape.remainder != [0; 3] => {
            Work::PartialKernel { launch: &launch, remainder: shape.remainder }
        }
        Cooperation::None => Work::Kernel(&launch),
        Cooperation::Grid => {
            offsets = kernel.offsets().collect();
            Work::CooperativeKernel { launch: &launch, offsets: &offsets }
        }
    };
    enqueue(&work)
}

/// Events to record before and after a launch; null ones are not recorded.
#[derive(Clone, Copy)]
pub(crate) struct Events {
    pub(crate) start: EventHandle,
    pub(crate) stop: EventHandle,
}

pub(crate) const NO_EVENTS: Events = Events { start: Handle::NULL, stop: Handle::NULL };

/// The kernel that a launch names.
#[derive(Clone, Copy)]
enum Named {
    Host(Address),
    Module(KernelHandle),
}

/// Where the arguments of a launch are.
#[derive(Clone, Copy)]
pub(crate) struct Arguments {
    pub(crate) parameters: In<In<u8>>,
    pub(crate) extra: In<usize>,
}

impl Arguments {
    pub(crate) fn list(parameters: In<In<u8>>) -> Arguments {
        Arguments { parameters, extra: In::of(std::ptr::null()) }
    }
}

thread_local! {
    static RECENT: Recent<Kernel> = const { Recent::new() };
}

#[inline]
fn launch(
    process: &Process,
    named: Named,
    shape: Shape,
    arguments: Arguments,
    stream: StreamHandle,
    cooperation: Cooperation,
    events: Events,
) -> HipResult {
    let on = process.stream(stream)?;
    let go = |kernel: &Arc<Kernel>| {
        launch_kernel(process, (named, kernel), &shape, arguments, (stream, on), cooperation, events)
    };
    match named {
        Named::Host(function) => fat_binary::with_kernel(process, on.0, function, go),
        Named::Module(handle) if handle.is_null() => Err(Status::INVALID_IMAGE),
        Named::Module(handle) => {
            KERNELS.with_recent(&RECENT, handle.0, go).unwrap_or(Err(Status::INVALID_HANDLE))
        }
    }
}

#[inline]
fn launch_kernel(
    process: &Process,
    (named, kernel): (Named, &Arc<Kernel>),
    shape: &Shape,
    arguments: Arguments,
    (stream, on): (StreamHandle, (DeviceId, RawStream)),
    cooperation: Cooperation,
    events: Events,
) -> HipResult {
    if !arguments.parameters.is_null() && !arguments.extra.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    shape.check(process, kernel)?;
    let mut kernarg = Kernarg::new();
    kernel.pack(arguments.parameters, arguments.extra, &mut kernarg)?;
    if !events.start.is_null() {
        process.record(events.start, stream)?;
    }
    let function = match named {
        Named::Host(function) => function,
        Named::Module(handle) => Address(handle.0),
    };
    if !process.capture_kernel(on, kernel, function, shape, &kernarg, cooperation)? {
        enqueue(process, kernel, shape, &kernarg, on, cooperation)?;
        if process.blocks_launches {
            Target { device: on.0, stream: on.1, waits: true }.finish(process)?;
        }
    }
    if !events.stop.is_null() {
        process.record(events.stop, stream)?;
    }
    Ok(())
}

#[unsafe(export_name = "emulated_hipLaunchKernel")]
pub(crate) extern "C" fn hipLaunchKernel(
    function: Address,
    grid: Dim3,
    block: Dim3,
    parameters: In<In<u8>>,
    lds: usize,
    stream: StreamHandle,
) -> Status {
    call("hipLaunchKernel", |process| {
        if function.is_null() {
            return Err(Status::INVALID_DEVICE_FUNCTION);
        }
        let shape = Shape::new(grid, block, lds);
        let arguments = Arguments::list(parameters);
        launch(process, Named::Host(function), shape, arguments, stream, Cooperation::None, NO_EVENTS)
    })
}

/// `hip_impl::hipLaunchKernelGGLImpl`, which programs call that were compiled with headers before HIP 4. `extra` is that of
/// `hipModuleLaunchKernel`.
#[unsafe(export_name = "emulated__ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv")]
extern "C" fn hipLaunchKernelGGLImpl(
    function: Address,
    grid: In<Dim3>,
    block: In<Dim3>,
    lds: u32,
    stream: StreamHandle,
    extra: In<usize>,
) {
    call("hipLaunchKernelGGLImpl", |process| {
        let shape = Shape::new(grid.get()?, block.get()?, lds as usize);
        let arguments = Arguments { parameters: In::of(std::ptr::null()), extra };
        launch(process, Named::Host(function), shape, arguments, stream, Cooperation::None, NO_EVENTS)
    });
}

#[unsafe(export_name = "emulated_hipLaunchCooperativeKernel")]
pub(crate) extern "C" fn hipLaunchCooperativeKernel(
    function: Address,
    grid: Dim3,
    block: Dim3,
    parameters: In<In<u8>>,
    lds: u32,
    stream: StreamHandle,
) -> Status {
    call("hipLaunchCooperativeKernel", |process| {
        if function.is_null() {
            return Err(Status::INVALID_DEVICE_FUNCTION);
        }
        let shape = Shape::new(grid, block, lds as usize);
        let arguments = Arguments::list(parameters);
        launch(process, Named::Host(function), shape, arguments, stream, Cooperation::Grid, NO_EVENTS)
    })
}

#[unsafe(export_name = "emulated_hipExtLaunchKernel")]
extern "C" fn hipExtLaunchKernel(
    function: Address,
    grid: Dim3,
    block: Dim3,
    parameters: In<In<u8>>,
    lds: usize,
    stream: StreamHandle,
    start: EventHandle,
    stop: EventHandle,
    _flags: i32,
) -> Status {
    call("hipExtLaunchKernel", |process| {
        if function.is_null() {
            return Err(Status::INVALID_DEVICE_FUNCTION);
        }
        let shape = Shape::new(grid, block, lds);
        let (arguments, events) = (Arguments::list(parameters), Events { start, stop });
        launch(process, Named::Host(function), shape, arguments, stream, Cooperation::None, events)
    })
}

#[unsafe(export_name = "emulated_hipModuleLaunchKernel")]
extern "C" fn hipModuleLaunchKernel(
    function: KernelHandle,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    lds: u32,
    stream: StreamHandle,
    parameters: In<In<u8>>,
    extra: In<usize>,
) -> Status {
    call("hipModuleLaunchKernel", |process| {
        let shape = Shape::whole([grid_x, grid_y, grid_z], [block_x, block_y, block_z], lds as usize);
        let arguments = Arguments { parameters, extra };
        launch(process, Named::Module(function), shape, arguments, stream, Cooperation::None, NO_EVENTS)
    })
}

#[unsafe(export_name = "emulated_hipModuleLaunchCooperativeKernel")]
extern "C" fn hipModuleLaunchCooperativeKernel(
    function: KernelHandle,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    lds: u32,
    stream: StreamHandle,
    parameters: In<In<u8>>,
) -> Status {
    call("hipModuleLaunchCooperativeKernel", |process| {
        let shape = Shape::whole([grid_x, grid_y, grid_z], [block_x, block_y, block_z], lds as usize);
        let arguments = Arguments::list(parameters);
        launch(process, Named::Module(function), shape, arguments, stream, Cooperation::Grid, NO_EVENTS)
    })
}

/// The grid is in work-items, and need not consist of whole workgroups.
#[unsafe(export_name = "emulated_hipExtModuleLaunchKernel")]
extern "C" fn hipExtModuleLaunchKernel(
    function: KernelHandle,
    threads_x: u32,
    threads_y: u32,
    threads_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    lds: usize,
    stream: StreamHandle,
    parameters: In<In<u8>>,
    extra: In<usize>,
    start: EventHandle,
    stop: EventHandle,
    _flags: u32,
) -> Status {
    call("hipExtModuleLaunchKernel", |process| {
        let shape = Shape::of_threads([threads_x, threads_y, threads_z], [block_x, block_y, block_z], lds);
        let arguments = Arguments { parameters, extra };
        let events = Events { start, stop };
        launch(process, Named::Module(function), shape, arguments, stream, Cooperation::None, events)
    })
}

#[unsafe(export_name = "emulated_hipHccModuleLaunchKernel")]
extern "C" fn hipHccModuleLaunchKernel(
    function: KernelHandle,
    threads_x: u32,
    threads_y: u32,
    threads_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    lds: usize,
    stream: StreamHandle,
    parameters: In<In<u8>>,
    extra: In<usize>,
    start: EventHandle,
    stop: EventHandle,
) -> Status {
    hipExtModuleLaunchKernel(
        function, threads_x, threads_y, threads_z, block_x, block_y, block_z, lds, stream, parameters, extra,
        start, stop, 0,
    )
}

/// The C++ declarations of the two functions above, whose symbols are mangled.
#[unsafe(export_name = "emulated__Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j")]
extern "C" fn ext_module_launch_of_cpp(
    function: KernelHandle,
    threads_x: u32,
    threads_y: u32,
    threads_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    lds: usize,
    stream: StreamHandle,
    parameters: In<In<u8>>,
    extra: In<usize>,
    start: EventHandle,
    stop: EventHandle,
    flags: u32,
) -> Status {
    hipExtModuleLaunchKernel(
        function, threads_x, threads_y, threads_z, block_x, block_y, block_z, lds, stream, parameters, extra,
        start, stop, flags,
    )
}

#[unsafe(export_name = "emulated__Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_")]
extern "C" fn hcc_module_launch_of_cpp(
    function: KernelHandle,
    threads_x: u32,
    threads_y: u32,
    threads_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    lds: usize,
    stream: StreamHandle,
    parameters: In<In<u8>>,
    extra: In<usize>,
    start: EventHandle,
    stop: EventHandle,
) -> Status {
    hipExtModuleLaunchKernel(
        function, threads_x, threads_y, threads_z, block_x, block_y, block_z, lds, stream, parameters, extra,
        start, stop, 0,
    )
}

/// Launches on several devices, each on a stream of its own device.
fn launch_on_devices(
    process: &Process,
    launches: In<hipLaunchParams>,
    count: i32,
    cooperation: Cooperation,
) -> HipResult {
    let count = usize::try_from(count).ok().filter(|count| (1..=process.devices.len()).contains(count));
    for params in launches.array(count.ok_or(Status::INVALID_VALUE)?)? {
        let stream = StreamHandle::new(params.stream);
        if RawStream(params.stream).is_default() {
            return Err(Status::INVALID_HANDLE);
        }
        let shape = Shape::new(params.gridDim, params.blockDim, params.sharedMem);
        let arguments = Arguments::list(params.args.values());
        launch(process, Named::Host(params.func), shape, arguments, stream, cooperation, NO_EVENTS)?;
    }
    Ok(())
}

/// `hipFunctionLaunchParams`.
#[derive(Clone, Copy)]
#[repr(C)]
struct FunctionLaunchParams {
    function: u64,
    grid: Dim3,
    block: Dim3,
    lds: u32,
    stream: u64,
    parameters: Address,
}

/// As for the function below.
#[unsafe(export_name = "emulated_hipModuleLaunchCooperativeKernelMultiDevice")]
extern "C" fn hipModuleLaunchCooperativeKernelMultiDevice(
    launches: In<FunctionLaunchParams>,
    count: u32,
    flags: u32,
) -> Status {
    call("hipModuleLaunchCooperativeKernelMultiDevice", |process| {
        if flags > 3 || count == 0 || count as usize > process.devices.len() {
            return Err(Status::INVALID_VALUE);
        }
        for params in launches.array(count as usize)? {
            if RawStream(params.stream).is_default() {
                return Err(Status::INVALID_HANDLE);
            }
            let shape = Shape::new(params.grid, params.block, params.lds as usize);
            let arguments = Arguments::list(params.parameters.values());
            let named = Named::Module(KernelHandle::new(params.function));
            let stream = StreamHandle::new(params.stream);
            launch(process, named, shape, arguments, stream, Cooperation::Grid, NO_EVENTS)?;
        }
        Ok(())
    })
}

/// Kernels of several devices can't wait for each other here: each device's grid can.
#[unsafe(export_name = "emulated_hipLaunchCooperativeKernelMultiDevice")]
extern "C" fn hipLaunchCooperativeKernelMultiDevice(
    launches: In<hipLaunchParams>,
    count: i32,
    flags: u32,
) -> Status {
    call("hipLaunchCooperativeKernelMultiDevice", |process| {
        if flags > 3 {
            return Err(Status::INVALID_VALUE);
        }
        launch_on_devices(process, launches, count, Cooperation::Grid)
    })
}

#[unsafe(export_name = "emulated_hipExtLaunchMultiKernelMultiDevice")]
extern "C" fn hipExtLaunchMultiKernelMultiDevice(
    launches: In<hipLaunchParams>,
    count: i32,
    _flags: u32,
) -> Status {
    call("hipExtLaunchMultiKernelMultiDevice", |process| {
        launch_on_devices(process, launches, count, Cooperation::None)
    })
}

/// `hipLaunchAttribute`: its number, and the beginning of its value.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct LaunchAttribute {
    id: i32,
    pad: i32,
    value: i32,
    rest: [u8; 60],
}

/// `hipLaunchAttributeCooperative`.
const COOPERATIVE: i32 = 2;

pub(crate) fn cooperation(attributes: In<LaunchAttribute>, count: u32) -> HipResult<Cooperation> {
    let attributes = attributes.array(count as usize)?;
    let asks = attributes.iter().any(|attribute| attribute.id == COOPERATIVE && attribute.value != 0);
    Ok(if asks { Cooperation::Grid } else { Cooperation::None })
}

/// `hipLaunchConfig_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct LaunchConfig {
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) lds: usize,
    pub(crate) stream: StreamHandle,
    pub(crate) attributes: In<LaunchAttribute>,
    pub(crate) attribute_count: u32,
}

#[unsafe(export_name = "emulated_hipLaunchKernelExC")]
extern "C" fn hipLaunchKernelExC(
    config: In<LaunchConfig>,
    function: Address,
    parameters: In<In<u8>>,
) -> Status {
    call("hipLaunchKernelExC", |process| {
        let config = config.get()?;
        if function.is_null() {
            return Err(Status::INVALID_DEVICE_FUNCTION);
        }
        let cooperation = cooperation(config.attributes, config.attribute_count)?;
        let shape = Shape::new(config.grid, config.block, config.lds);
        let arguments = Arguments::list(parameters);
        launch(process, Named::Host(function), shape, arguments, config.stream, cooperation, NO_EVENTS)
    })
}

/// `HIP_LAUNCH_CONFIG`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct DriverLaunchConfig {
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) lds: u32,
    pub(crate) stream: StreamHandle,
    pub(crate) attributes: In<LaunchAttribute>,
    pub(crate) attribute_count: u32,
}

#[unsafe(export_name = "emulated_hipDrvLaunchKernelEx")]
extern "C" fn hipDrvLaunchKernelEx(
    config: In<DriverLaunchConfig>,
    function: KernelHandle,
    parameters: In<In<u8>>,
    extra: In<usize>,
) -> Status {
    call("hipDrvLaunchKernelEx", |process| {
        let config = config.get()?;
        let cooperation = cooperation(config.attributes, config.attribute_count)?;
        let shape = Shape::new(config.grid, config.block, config.lds as usize);
        let arguments = Arguments { parameters, extra };
        launch(process, Named::Module(function), shape, arguments, config.stream, cooperation, NO_EVENTS)
    })
}

/// Launches with the configuration of `hipConfigureCall` and the arguments of `hipSetupArgument`.
#[unsafe(export_name = "emulated_hipLaunchByPtr")]
extern "C" fn hipLaunchByPtr(function: Address) -> Status {
    call("hipLaunchByPtr", |process| {
        let CallConfiguration { grid, block, lds, stream, arguments } = configuration::pop_configuration()?;
        if function.is_null() {
            return Err(Status::INVALID_DEVICE_FUNCTION);
        }
        let length = arguments.len();
        let start = arguments.as_ptr().expose_provenance();
        let length_at = (&raw const length).expose_provenance();
        let extra = [BUFFER_POINTER, start, BUFFER_SIZE, length_at, END];
        let arguments = Arguments { parameters: In::of(std::ptr::null()), extra: In::of(extra.as_ptr()) };
        let shape = Shape::new(grid, block, lds);
        launch(process, Named::Host(function), shape, arguments, stream, Cooperation::None, NO_EVENTS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_of_work_items_ends_with_a_partial_workgroup_where_the_code_allows_it() {
        let shape = Shape::of_threads([130, 7, 1], [64, 7, 4], 0);
        assert_eq!((shape.grid, shape.block, shape.remainder), ([3, 1, 1], [64, 7, 1], [2, 0, 0]));
        assert_eq!(
            (shape.check_uniform(false), shape.check_uniform(true)),
            (Ok(()), Err(Status::INVALID_VALUE))
        );
        let whole = Shape::of_threads([128, 1, 1], [64, 1, 1], 0);
        assert_eq!((whole.grid, whole.remainder, whole.check_uniform(true)), ([2, 1, 1], [0; 3], Ok(())));
        assert_eq!(Shape::of_threads([0, 1, 1], [64, 1, 0], 0).grid, [0, 1, 0]);
    }
}
