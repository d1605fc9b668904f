//! Launches.

use std::sync::Arc;

use hip_driver::{DeviceId, ErrorCode, KernelLaunch, RawStream, Work};
use smallvec::SmallVec;

use crate::abi::version::Version;
use crate::abi::{Address, Dim3, Handle, HipResult, In, Status, hipLaunchParams};
use crate::kernel::configuration::{self, CallConfiguration};
use crate::kernel::module::KernelHandle;
use crate::kernel::{BUFFER_POINTER, BUFFER_SIZE, END, KERNELS, Kernarg, Kernel, fat_binary};
use crate::process::Process;
use crate::process::objects::Recent;
use crate::stream::{EventHandle, Queue, StreamHandle};

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
    queue: Queue,
    cooperation: Cooperation,
) -> HipResult {
    if kernel.device == queue.device {
        return enqueue(process, kernel, shape, kernarg, (queue.device, queue.stream), cooperation);
    }
    with_work(process, kernel, shape, kernarg, cooperation, |work| {
        process.enqueue_on(kernel.device, queue, work)
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
pub(crate) enum KernelRef {
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

/// A launch, as the arguments of a call describe it.
#[derive(Clone, Copy)]
pub(crate) struct Launch {
    pub(crate) kernel: KernelRef,
    pub(crate) shape: Shape,
    pub(crate) arguments: Arguments,
    pub(crate) stream: StreamHandle,
    pub(crate) cooperation: Cooperation,
    pub(crate) events: Events,
}

impl Launch {
    #[inline]
    pub(crate) fn new(kernel: KernelRef, shape: Shape, arguments: Arguments, stream: StreamHandle) -> Launch {
        Launch { kernel, shape, arguments, stream, cooperation: Cooperation::None, events: NO_EVENTS }
    }

    /// A launch of a registered kernel by its host function.
    #[inline]
    pub(crate) fn host(
        function: Address,
        shape: Shape,
        parameters: In<In<u8>>,
        stream: StreamHandle,
    ) -> Launch {
        Launch::new(KernelRef::Host(function), shape, Arguments::list(parameters), stream)
    }

    /// A launch of a function of a module.
    #[inline]
    pub(crate) fn module(
        function: KernelHandle,
        shape: Shape,
        arguments: Arguments,
        stream: StreamHandle,
    ) -> Launch {
        Launch::new(KernelRef::Module(function), shape, arguments, stream)
    }

    #[inline]
    pub(crate) fn cooperating(self, cooperation: Cooperation) -> Launch {
        Launch { cooperation, ..self }
    }

    pub(crate) fn with_events(self, start: EventHandle, stop: EventHandle) -> Launch {
        Launch { events: Events { start, stop }, ..self }
    }

    /// Launches.
    #[inline]
    pub(crate) fn run(&self, process: &Process) -> HipResult {
        if matches!(self.kernel, KernelRef::Host(function) if function.is_null()) {
            return Err(Status::INVALID_DEVICE_FUNCTION);
        }
        let on = process.stream(self.stream)?;
        let launch_on = |kernel: &Arc<Kernel>| self.run_kernel(process, kernel, on);
        match self.kernel {
            KernelRef::Host(function) => fat_binary::with_kernel(process, on.0, function, launch_on),
            KernelRef::Module(handle) if handle.is_null() => Err(match Version::current() {
                Version::Hip5 => Status::INVALID_IMAGE,
                Version::Hip6 | Version::Hip7 => Status::INVALID_HANDLE,
            }),
            KernelRef::Module(handle) => {
                KERNELS.with_recent(&RECENT, handle.0, launch_on).unwrap_or(Err(Status::INVALID_HANDLE))
            }
        }
    }

    #[inline]
    fn run_kernel(&self, process: &Process, kernel: &Arc<Kernel>, on: (DeviceId, RawStream)) -> HipResult {
        let Launch { ref shape, arguments, stream, cooperation, events, .. } = *self;
        if !arguments.parameters.is_null() && !arguments.extra.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        shape.check(process, kernel)?;
        let mut kernarg = Kernarg::new();
        kernel.pack(arguments.parameters, arguments.extra, &mut kernarg)?;
        if !events.start.is_null() {
            process.record(events.start, stream)?;
        }
        let function = match self.kernel {
            KernelRef::Host(function) => function,
            KernelRef::Module(handle) => Address(handle.0),
        };
        if !process.capture_kernel(on, kernel, function, shape, &kernarg, cooperation)? {
            enqueue(process, kernel, shape, &kernarg, on, cooperation)?;
            if process.blocks_launches {
                Queue { device: on.0, stream: on.1, waits: true }.finish(process)?;
            }
        }
        if !events.stop.is_null() {
            process.record(events.stop, stream)?;
        }
        Ok(())
    }
}

/// Launches with arguments in the form of `hipModuleLaunchKernel`'s `extra`.
pub(crate) fn launch_ggl(
    process: &Process,
    function: Address,
    shape: Shape,
    stream: StreamHandle,
    extra: In<usize>,
) -> HipResult {
    let arguments = Arguments { parameters: In::of(std::ptr::null()), extra };
    Launch::new(KernelRef::Host(function), shape, arguments, stream).run(process)
}

/// Launches on several devices, each on a stream of its own device.
fn launch_on_devices(
    process: &Process,
    launches: In<hipLaunchParams>,
    count: i32,
    cooperation: Cooperation,
) -> HipResult {
    let count = usize::try_from(count).ok().filter(|count| (1..=process.devices.len()).contains(count));
    launches.array(count.ok_or(Status::INVALID_VALUE)?)?.into_iter().try_for_each(|params| {
        let shape = Shape::new(params.gridDim, params.blockDim, params.sharedMem);
        let stream = explicit_stream(params.stream)?;
        let launch = Launch::host(params.func, shape, params.args.values(), stream);
        launch.cooperating(cooperation).run(process)
    })
}

/// The stream of a launch on one of several devices, which is no default stream.
fn explicit_stream(stream: u64) -> HipResult<StreamHandle> {
    if RawStream(stream).is_default() { Err(Status::INVALID_HANDLE) } else { Ok(StreamHandle::new(stream)) }
}

/// `hipFunctionLaunchParams`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FunctionLaunchParams {
    function: u64,
    grid: Dim3,
    block: Dim3,
    lds: u32,
    stream: u64,
    parameters: Address,
}

/// As [`hipLaunchCooperativeKernelMultiDevice`].
pub(crate) fn hipModuleLaunchCooperativeKernelMultiDevice(
    process: &Process,
    launches: In<FunctionLaunchParams>,
    count: u32,
    flags: u32,
) -> HipResult {
    if flags > 3 || count == 0 || count as usize > process.devices.len() {
        return Err(Status::INVALID_VALUE);
    }
    launches.array(count as usize)?.into_iter().try_for_each(|params| {
        let shape = Shape::new(params.grid, params.block, params.lds as usize);
        let (kernel, stream) = (KernelHandle::new(params.function), explicit_stream(params.stream)?);
        let launch = Launch::module(kernel, shape, Arguments::list(params.parameters.values()), stream);
        launch.cooperating(Cooperation::Grid).run(process)
    })
}

/// Kernels of several devices can't wait for each other here: each device's grid can.
pub(crate) fn hipLaunchCooperativeKernelMultiDevice(
    process: &Process,
    launches: In<hipLaunchParams>,
    count: i32,
    flags: u32,
) -> HipResult {
    if flags > 3 {
        return Err(Status::INVALID_VALUE);
    }
    launch_on_devices(process, launches, count, Cooperation::Grid)
}

pub(crate) fn hipExtLaunchMultiKernelMultiDevice(
    process: &Process,
    launches: In<hipLaunchParams>,
    count: i32,
    _flags: u32,
) -> HipResult {
    launch_on_devices(process, launches, count, Cooperation::None)
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

/// `hipLaunchConfig_t`, where `L` is `usize`, and `HIP_LAUNCH_CONFIG`, where it is `u32`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct LaunchConfig<L> {
    grid: Dim3,
    block: Dim3,
    lds: L,
    stream: StreamHandle,
    attributes: In<LaunchAttribute>,
    attribute_count: u32,
}

impl<L: Copy + TryInto<usize>> LaunchConfig<L> {
    /// The launch of a kernel with this configuration.
    pub(crate) fn launch(&self, kernel: KernelRef, arguments: Arguments) -> HipResult<Launch> {
        let attributes = self.attributes.array(self.attribute_count as usize)?;
        let asks = attributes.iter().any(|attribute| attribute.id == COOPERATIVE && attribute.value != 0);
        let lds = self.lds.try_into().map_err(|_| Status::INVALID_VALUE)?;
        let launch = Launch::new(kernel, Shape::new(self.grid, self.block, lds), arguments, self.stream);
        Ok(launch.cooperating(if asks { Cooperation::Grid } else { Cooperation::None }))
    }
}

/// Launches with the configuration of `hipConfigureCall` and the arguments of `hipSetupArgument`.
pub(crate) fn hipLaunchByPtr(process: &Process, function: Address) -> HipResult {
    let CallConfiguration { grid, block, lds, stream, arguments } = configuration::pop_configuration()?;
    let length = arguments.len();
    let start = arguments.as_ptr().expose_provenance();
    let length_at = (&raw const length).expose_provenance();
    let extra = [BUFFER_POINTER, start, BUFFER_SIZE, length_at, END];
    let arguments = Arguments { parameters: In::of(std::ptr::null()), extra: In::of(extra.as_ptr()) };
    Launch::new(KernelRef::Host(function), Shape::new(grid, block, lds), arguments, stream).run(process)
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
