//! The launch itself: find the kernel on its stream, check and pack the arguments, lay out what is staged, then enqueue
//! copies, kernel and results.
//!
//! ```text
//! image:   [ argument blocks, in arrays | inout arrays | out arrays, result blocks ]
//!            <-------- one host-to-device copy ------>
//!                                         <------ one device-to-host copy ------->
//! ```
//!
//! With [`Staging::Mapped`] the same image lies in pinned memory that the kernel addresses itself: the first part in
//! the staging ring, the second in the result buffer.
//!
//! All of it happens under the stream's lock. A launch without host data walks its arguments once; one with host data
//! walks them a second time, when the addresses of its image are known.

use std::any::Any;
use std::sync::Arc;

use crate::code::{DeviceKernel, KernelHandle, LaunchDims, Parameter, ParameterKind};
use crate::device::Device;
use crate::error::{Error, LaunchProblem, Result};
use crate::pool::RequestContext;
use crate::staging::{LockedFailure, ResultBuffer, StagingRing};
use crate::stream::{EnqueueState, KernelMemory, StreamState};
use hip_driver::{Capability, DevicePtr, DriverError, KernelLaunch, MemoryAccess, Note, Work};

use super::args::{Arg, ArgumentBlock, BufferArg, PatchTarget, Staging};
use super::description::Launch;
use super::image::{ImageWalk, StagedImage, Writer, put};
use super::kernel::Kernel;
use super::registry::Registry;
use super::ticket::Ticket;

/// The greatest size of the image in bytes. Offsets of outputs have 32 bits.
const MAX_IMAGE: u64 = 1 << 31;

/// The arguments as the caller gives them.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArgumentSource<'a> {
    /// One value for each parameter.
    Args(&'a [Arg<'a>]),
    /// The explicit part of the kernarg segment, as bytes that the caller laid out, perhaps with padding after it.
    Packed(&'a [u8]),
}

/// One launch, with the memory of its destination found.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    /// The launch, without its placement.
    pub(super) launch: &'a Launch<'a>,
    pub(super) destination: Option<&'a Target<'a>>,
    /// Whether memory ran out, and the launch is tried once more.
    pub(super) tried_before: bool,
}

impl<'a> Request<'a> {
    #[inline(always)]
    pub(super) fn new(launch: &'a Launch<'a>, destination: Option<&'a Target<'a>>) -> Request<'a> {
        Request { launch, destination, tried_before: false }
    }
}

/// Kernels that a launch has done with. Dropping the last reference to one takes the lock of every stream that it ran on.
pub(super) type Later = Vec<Arc<dyn Any + Send + Sync>>;

/// Which kernel to launch.
#[derive(Clone, Copy)]
pub(super) enum Callee<'a> {
    /// The kernel itself, whether or not its handle still names it.
    Kernel(&'a Kernel),
    /// The kernel that the handle names now.
    Handle(&'a Registry, KernelHandle),
}

impl Callee<'_> {
    #[inline(always)]
    pub(super) fn handle(self) -> KernelHandle {
        match self {
            Callee::Kernel(kernel) => kernel.handle(),
            Callee::Handle(_, handle) => handle,
        }
    }

    /// Loads the kernel on a device where it is not loaded yet. The caller holds the lock of no stream.
    #[cold]
    fn load(self, device: &Device) -> Result<()> {
        match self {
            Callee::Kernel(kernel) => kernel.load(device)?,
            Callee::Handle(registry, handle) => registry.get(handle)?.load(device)?,
        };
        Ok(())
    }
}

/// The memory that the kernel writes its result to, and the parameter that takes its address.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) parameter: usize,
    pub(super) buffer: BufferArg<'a>,
}

/// What a launch returns to the caller: a [`Ticket`], or nothing.
pub(super) trait Receipt: Sized {
    /// Whether the caller can read outputs with it.
    const READS: bool;

    fn new(stream_state: &Arc<StreamState>, sequence: u64, buffer: Option<ResultBuffer>) -> Self;
}

impl Receipt for Ticket {
    const READS: bool = true;

    #[inline(always)]
    fn new(stream_state: &Arc<StreamState>, sequence: u64, buffer: Option<ResultBuffer>) -> Ticket {
        Ticket::new(stream_state.clone(), sequence, buffer)
    }
}

impl Receipt for () {
    const READS: bool = false;

    /// A launch with outputs is refused, so there is no result buffer to release.
    #[inline(always)]
    fn new(_: &Arc<StreamState>, _: u64, _: Option<ResultBuffer>) {}
}

/// Why a launch was not enqueued, or not wholly. It is boxed, so that the result of a launch without an error is small.
pub(super) enum Stop {
    /// A check refused it, and nothing was enqueued.
    Refused(Error),
    /// The kernel is not loaded on the stream's device yet. Nothing was enqueued.
    NotLoaded,
    /// The driver or an allocation failed, for the kernel of that name.
    Failed(LockedFailure, Arc<str>),
}

impl From<Error> for Box<Stop> {
    #[cold]
    fn from(error: Error) -> Box<Stop> {
        Box::new(Stop::Refused(error))
    }
}

impl Stop {
    /// Launches again if that may succeed, and returns the error otherwise. The caller holds no lock.
    #[cold]
    #[inline(never)]
    fn resolve<R: Receipt>(
        self,
        callee: Callee<'_>,
        stream_state: &Arc<StreamState>,
        request: Request<'_>,
    ) -> Result<R> {
        let device = stream_state.device();
        match self {
            Stop::Refused(error) => Err(error),
            Stop::NotLoaded => {
                callee.load(device)?;
                launch(callee, stream_state, request)
            }
            // Callbacks that free memory may take the stream's lock.
            Stop::Failed(LockedFailure::Allocation("device", bytes, _), _)
                if !request.tried_before && device.pool_core().reclaim_steps.run_callbacks(bytes as u64) =>
            {
                launch(callee, stream_state, Request { tried_before: true, ..request })
            }
            Stop::Failed(failed, name) => Err(failed.into_error(device).for_kernel(&name)),
        }
    }
}

/// Enqueues a launch. Every check that needs no device comes before the first call.
// What follows an error is not inlined, and no loop: both would make every launch save more values on the stack.
pub(super) fn launch<R: Receipt>(
    callee: Callee<'_>,
    stream_state: &Arc<StreamState>,
    request: Request<'_>,
) -> Result<R> {
    match enqueue(callee, stream_state, request) {
        Ok(receipt) => Ok(receipt),
        Err(stop) => (*stop).resolve(callee, stream_state, request),
    }
}

#[inline(always)]
fn enqueue<R: Receipt>(
    callee: Callee<'_>,
    stream_state: &Arc<StreamState>,
    request: Request<'_>,
) -> std::result::Result<R, Box<Stop>> {
    // Dropped after the lock: the last reference to a kernel takes the lock of every stream that it ran on.
    let mut later = None;
    let mut state = stream_state.lock();
    if let Err(error) = stream_state.check() {
        super::captured::enqueue(callee, stream_state, request, &mut state, &mut later, error)?;
        // Nothing was enqueued that runs, so a ticket has nothing to wait for.
        return Ok(R::new(stream_state, stream_state.progress().completed(), None));
    }
    let EnqueueState { ring, results, kernels, recent, .. } = &mut *state;
    let on_stream = kernels.find(callee, stream_state, &mut later)?;
    let memory = &mut on_stream.memory;
    let Some(kernel) = &on_stream.kernel else { return Err(Error::StaleHandle(callee.handle().0).into()) };
    let failed = |failed| Box::new(Stop::Failed(failed, kernel.name.clone()));

    let asked = &request.launch.dims;
    let dynamic_lds = kernel.with_layout(asked.dynamic_lds)?;
    // Compared in place, because a copy would cost more than the comparison.
    let dims = match &mut on_stream.checked_dims {
        Some(checked)
            if checked.grid == asked.grid
                && checked.block == asked.block
                && checked.dynamic_lds == dynamic_lds =>
        {
            checked
        }
        last => {
            let dims = LaunchDims { dynamic_lds, ..*asked };
            kernel.check_dims(&dims)?;
            last.insert(dims)
        }
    };
    if request.launch.cooperative {
        kernel.check_cooperative(dims).map_err(|e| failed(e.into()))??;
    }
    // Written in place: a copy in wider pieces than it was written in waits until the cache has it.
    let mut image = StagedImage::default();
    pack(kernel, stream_state, &mut memory.kernarg, request, &mut image)?;
    let mut staged = StagedLaunch::NONE;
    if !image.is_empty() {
        check_image(kernel, request.launch, &image, R::READS)?;
        stream_state.refuse_if_captured("a launch with host data or results")?;
        if image.to_host() != 0 {
            let taken = results.take(&stream_state.driver_stream, &stream_state.returned, image.to_host());
            staged.buffer = Some(taken.map_err(failed)?);
        }
        if let Err(e) = stage(stream_state, kernel, memory, ring, request.launch, &image, &mut staged) {
            staged.buffer.into_iter().for_each(|buffer| results.release(buffer));
            return Err(failed(e));
        }
    }

    let sequence = stream_state.progress().next();
    if staged.uses_ring {
        ring.used_by(sequence);
    }
    let outcome = submit(kernel, stream_state, request, dims, &image, memory, &staged, sequence);
    // Whatever happened, something may have been enqueued.
    stream_state.progress().publish(sequence);
    if outcome.as_ref().map_or_else(|failure| failure.launched, |()| true) {
        recent.push(sequence, kernel.id, dims, kernel.explicit_bytes, &memory.kernarg);
    }
    if let Err(failure) = outcome {
        if let Some(buffer) = staged.buffer {
            match failure.writes_results {
                true => results.abandon(buffer, sequence),
                false => results.release(buffer),
            }
        }
        return Err(failed(failure.failed));
    }
    if staged.copy_from.is_some() {
        memory.shadow_good = true;
    }
    drop(state);
    // By itself it would be dropped by a function call, also where there is nothing.
    if let Some(kernels) = later {
        drop_kernels(kernels);
    }
    Ok(R::new(stream_state, sequence, staged.buffer))
}

#[cold]
fn drop_kernels(kernels: Later) {
    drop(kernels);
}

/// Checks the arguments, packs those whose values are known, and measures what the others stage. Records that the stream
/// uses the buffers among them, so that they may be dropped before it has done with them. If an argument is refused, uses
/// that were recorded for earlier arguments stay recorded; they only delay reuse.
#[inline(always)]
pub(super) fn pack(
    kernel: &DeviceKernel,
    stream_state: &StreamState,
    kernarg: &mut [u8],
    request: Request<'_>,
    image: &mut StagedImage,
) -> Result<()> {
    match request.launch.source {
        // What follows the explicit bytes is padding, or where hidden arguments go.
        ArgumentSource::Packed(bytes) => {
            kernel.check_packed(bytes.len())?;
            put(kernarg, 0, bytes.get(..kernel.explicit_bytes as usize).unwrap_or_default());
        }
        ArgumentSource::Args(args) => {
            kernel.check_count(args.len())?;
            for (index, (arg, parameter)) in args.iter().zip(&kernel.parameters).enumerate() {
                if !pack_arg(arg, parameter, stream_state, kernarg, image) {
                    return Err(kernel.refuse_arg(index, arg));
                }
                if matches!(arg, Arg::Destination) && request.destination.is_none() {
                    let problem = "an argument is `Arg::Destination`, but the launch has no destination";
                    return Err(kernel.refuse(LaunchProblem::Destination(problem.into())));
                }
            }
        }
    }
    if let Some(target) = request.destination {
        if let Some(block) = target.buffer.block() {
            stream_state.record_use(block);
        }
        let at = kernel.parameters[target.parameter].offset;
        put(kernarg, at, &target.buffer.ptr().0.to_le_bytes());
    }
    Ok(())
}

/// Packs one argument, or measures what it stages. Returns whether kind and size are the parameter's.
#[inline(always)]
fn pack_arg(
    arg: &Arg<'_>,
    parameter: &Parameter,
    stream_state: &StreamState,
    kernarg: &mut [u8],
    image: &mut StagedImage,
) -> bool {
    let Parameter { offset: at, size, kind } = *parameter;
    let (is_value, is_pointer) = (kind == ParameterKind::Value, kind == ParameterKind::Pointer && size == 8);
    match arg {
        Arg::Scalar { bits, size: got } => {
            if !is_value || u32::from(*got) != size {
                return false;
            }
            match size {
                4 => put(kernarg, at, &(*bits as u32).to_le_bytes()),
                8 => put(kernarg, at, &bits.to_le_bytes()),
                2 => put(kernarg, at, &(*bits as u16).to_le_bytes()),
                _ => put(kernarg, at, &(*bits as u8).to_le_bytes()),
            }
            return true;
        }
        Arg::Value(bytes) | Arg::Raw(bytes) => {
            let fits = is_value || matches!(arg, Arg::Raw(_));
            if !fits || bytes.len() != size as usize {
                return false;
            }
            put(kernarg, at, bytes);
            return true;
        }
        _ if !is_pointer => return false,
        Arg::Pointer(ptr) => put(kernarg, at, &ptr.0.to_le_bytes()),
        Arg::Buffer(buffer) => {
            if let Some(block) = buffer.block() {
                stream_state.record_use(block);
            }
            put(kernarg, at, &buffer.ptr().0.to_le_bytes());
        }
        Arg::Destination => {}
        Arg::Host(data) => image.add(data),
        Arg::ArgumentBlock(block) => image.add_block(block),
    }
    true
}

fn check_patches(kernel: &DeviceKernel, block: &ArgumentBlock<'_>) -> Result<()> {
    let refuse = |problem: String| Err(kernel.refuse(LaunchProblem::Patch(problem.into_boxed_str())));
    let mut end = 0;
    for (i, patch) in block.patches.iter().enumerate() {
        if patch.offset < end {
            return refuse(format!(
                "patch {i} at byte {} overlaps or precedes the one before it",
                patch.offset
            ));
        }
        match patch.offset.checked_add(8) {
            Some(e) if e <= block.bytes.len() => end = e,
            _ => {
                return refuse(format!(
                    "patch {i} at byte {} ends behind the block's {} bytes",
                    patch.offset,
                    block.bytes.len()
                ));
            }
        }
        match patch.target {
            PatchTarget::Array(s) if s >= block.arrays.len() => {
                return refuse(format!("patch {i} names array {s} of {}", block.arrays.len()));
            }
            PatchTarget::Result if block.result_bytes == 0 => {
                return refuse(format!("patch {i} names the result block, but result_bytes is 0"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[inline(always)]
fn check_image(kernel: &DeviceKernel, launch: &Launch<'_>, image: &StagedImage, reads: bool) -> Result<()> {
    if !reads && image.inout + image.output > 0 {
        return Err(kernel.refuse(LaunchProblem::OutputWithoutTicket));
    }
    if image.total() > MAX_IMAGE {
        return Err(kernel.refuse(LaunchProblem::TooMuchData { bytes: image.total(), limit: MAX_IMAGE }));
    }
    if launch.staging == Staging::Mapped
        && !kernel.device().raw().capabilities().has(Capability::MappedHostMemory)
    {
        return Err(Error::invalid(
            "Staging::Mapped",
            "the driver has no mapped host memory; use Staging::Copy",
        ));
    }
    if let ArgumentSource::Args(args) = launch.source {
        for arg in args {
            if let Arg::ArgumentBlock(block) = arg
                && !block.patches.is_empty()
            {
                check_patches(kernel, block)?;
            }
        }
    }
    Ok(())
}

/// What is enqueued around the kernel, once there is memory for it.
pub(super) struct StagedLaunch {
    /// Where the kernel sees the first two parts: what it reads, and what comes back.
    input: u64,
    to_host: u64,
    /// Host address of an H2D copy to the scratch, if one is needed.
    copy_from: Option<std::ptr::NonNull<u8>>,
    /// Whether the launch reads from the staging ring.
    uses_ring: bool,
    buffer: Option<ResultBuffer>,
}

impl StagedLaunch {
    /// A launch without host data.
    pub(super) const NONE: StagedLaunch =
        StagedLaunch { input: 0, to_host: 0, copy_from: None, uses_ring: false, buffer: None };
}

/// Finds memory for the rest of the image, beside the result buffer, writes its host-to-device part, and packs the addresses.
#[inline(always)]
fn stage(
    stream_state: &StreamState,
    kernel: &DeviceKernel,
    memory: &mut KernelMemory,
    ring: &mut StagingRing,
    launch: &Launch<'_>,
    image: &StagedImage,
    staged: &mut StagedLaunch,
) -> std::result::Result<(), LockedFailure> {
    let device = stream_state.device();
    let KernelMemory { kernarg, scratch, shadow, shadow_good } = memory;
    let to_device = image.to_device();
    if launch.staging == Staging::Mapped {
        let to_host = image.to_host();
        let (input, inout) = (image.input as usize, image.inout as usize);
        // SAFETY (of both slices below): ring and result buffers returned that many bytes, which no work in flight uses
        // and nobody else accesses, as the stream's lock is held and the result buffer is this launch's; the two do not
        // overlap.
        let mut input_bytes: &mut [u8] = &mut [];
        if input > 0 {
            let staging = ring.take(&stream_state.driver_stream, input)?;
            (staged.input, staged.uses_ring) = (staging.device.0, true);
            device.note(&Note::HostWrite { ptr: staging.host.as_ptr(), bytes: input });
            // SAFETY: as above.
            input_bytes = unsafe { zeroed_slice(staging.host, input) };
        }
        let (mut inout_bytes, mut spans): (&mut [u8], _) = (&mut [], None);
        if let Some(buffer) = &mut staged.buffer {
            staged.to_host = buffer.value.device.0;
            device.note(&Note::HostWrite { ptr: buffer.value.host.as_ptr(), bytes: to_host });
            // SAFETY: as above. The outputs are zeroed too: the kernel may write less than there is.
            inout_bytes = &mut unsafe { zeroed_slice(buffer.value.host, to_host) }[..inout];
            spans = Some(&mut buffer.value.spans);
        }
        let (writer, to_host) = (Writer::new(input_bytes, inout_bytes, false), staged.to_host);
        let cursor = image.begin_at(staged.input, to_host);
        ImageWalk { writer, cursor, to_host, spans }.run(kernel, kernarg, launch.source);
        return Ok(());
    }

    if scratch.ensure_raw(image.total() as usize, stream_state.arena(), RequestContext::UnderLock)? {
        *shadow_good = false;
    }
    let base = scratch.ptr().0;
    let to_host = base + image.input;
    (staged.input, staged.to_host) = (base, to_host);
    let same_size = shadow.len() == to_device;
    if !same_size {
        shadow.resize(to_device, 0);
    }
    let unknown = to_device > 0 && (!*shadow_good || !same_size);
    let (input, inout) = shadow.split_at_mut(image.input as usize);
    let (writer, cursor) = (Writer::new(input, inout, unknown), image.begin_at(base, to_host));
    let spans = staged.buffer.as_mut().map(|buffer| &mut buffer.value.spans);
    if (ImageWalk { writer, cursor, to_host, spans }).run(kernel, kernarg, launch.source) {
        // Until the copy is enqueued, the device holds something else than the shadow.
        *shadow_good = false;
        let staging = ring.take(&stream_state.driver_stream, to_device)?;
        device.note(&Note::HostWrite { ptr: staging.host.as_ptr(), bytes: to_device });
        // SAFETY: the ring returned `to_device` bytes that no work in flight uses; the shadow is as long and elsewhere.
        unsafe { std::ptr::copy_nonoverlapping(shadow.as_ptr(), staging.host.as_ptr(), to_device) };
        (staged.copy_from, staged.uses_ring) = (Some(staging.host), true);
    }
    Ok(())
}

/// Zeroes pinned memory, which may never have been written, and returns it as a slice.
///
/// # Safety
/// `host` is valid for `bytes` bytes, and nothing else uses them as long as the slice lives.
unsafe fn zeroed_slice<'a>(host: std::ptr::NonNull<u8>, bytes: usize) -> &'a mut [u8] {
    // SAFETY: the caller's promise; zeroing initializes every byte before a reference to it is created.
    unsafe {
        host.write_bytes(0, bytes);
        std::slice::from_raw_parts_mut(host.as_ptr(), bytes)
    }
}

/// Why `submit` failed, and what it had enqueued by then.
pub(super) struct EnqueueFailure {
    pub(super) failed: LockedFailure,
    /// The kernel was enqueued.
    launched: bool,
    /// What was enqueued writes the result buffer.
    writes_results: bool,
}

/// What the launch is known to access: what it stages, its buffers, of which it is known that it reads them, and its
/// destination.
#[cold]
fn accesses(request: Request<'_>, image: &StagedImage, staged: &StagedLaunch) -> Vec<MemoryAccess> {
    let access =
        |(ptr, bytes): (u64, u64), write| MemoryAccess { ptr: DevicePtr(ptr), bytes: bytes as usize, write };
    let mut all = vec![
        access((staged.input, image.input), false),
        access((staged.to_host, image.inout + image.output), true),
    ];
    if let ArgumentSource::Args(args) = request.launch.source {
        for arg in args {
            if let Arg::Buffer(buffer) = arg {
                all.push(access(buffer.range(), false));
            }
        }
    }
    if let Some(target) = request.destination {
        all.push(access(target.buffer.range(), true));
    }
    all.retain(|a| a.bytes > 0);
    all
}

/// Enqueues the copies and the kernel. The event of a result buffer is recorded when something is enqueued after it
/// ([`DriverStream::defer`](crate::driver_stream::DriverStream::defer)).
// Always inlined, as `stage` and `pack`: a launch with a ticket and one without are two functions, and what only one
// function calls is inlined by itself, but not what two do.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "inlined, so that nothing is gathered in a struct")]
pub(super) fn submit(
    kernel: &DeviceKernel,
    stream_state: &StreamState,
    request: Request<'_>,
    dims: &LaunchDims,
    image: &StagedImage,
    memory: &KernelMemory,
    staged: &StagedLaunch,
    sequence: u64,
) -> std::result::Result<(), EnqueueFailure> {
    let device = stream_state.device();
    let (driver, id) = (device.raw(), device.id());
    let stopped =
        |e: DriverError, launched| EnqueueFailure { failed: e.into(), launched, writes_results: false };
    let free = |e| stopped(e, false);
    let stream = stream_state.driver_stream.for_work().map_err(free)?;
    if let Some(host) = staged.copy_from {
        // SAFETY: the ring keeps the staged bytes until its fence is reached. The device scratch is at least as long as
        // the image.
        unsafe {
            driver.enqueue(
                id,
                stream,
                &Work::CopyToDevice {
                    dst: DevicePtr(staged.input),
                    src: host.as_ptr(),
                    bytes: image.to_device(),
                },
            )
        }
        .map_err(free)?;
    }
    if !dims.is_empty() {
        // Only a layer looks at them.
        let known;
        let accesses = if device.pool_core().shared.wants_accesses {
            known = accesses(request, image, staged);
            &known[..]
        } else {
            &[]
        };
        let launch = KernelLaunch {
            function: kernel.function,
            grid: dims.grid,
            block: dims.block,
            dynamic_lds: dims.dynamic_lds,
            kernarg: &memory.kernarg,
            accesses,
        };
        let work = match request.launch.cooperative {
            false => Work::Kernel(&launch),
            true => Work::CooperativeKernel { launch: &launch, offsets: &kernel.offsets },
        };
        // SAFETY: the segment is as long as the metadata say, and was packed from arguments that were checked against
        // them; what the caller's own pointers are good for is the caller's promise.
        unsafe { driver.enqueue(id, stream, &work) }.map_err(free)?;
    }
    if let Some(buffer) = &staged.buffer {
        if request.launch.staging != Staging::Mapped {
            let (dst, src) = (buffer.value.host.as_ptr(), DevicePtr(staged.to_host));
            let copy = Work::CopyToHost { dst, src, bytes: image.to_host() };
            // SAFETY: the result buffer is this launch's until its ticket returns it, when the copy is known to be done.
            unsafe { driver.enqueue(id, stream, &copy) }.map_err(|e| stopped(e, true))?;
        }
        stream_state.driver_stream.defer(sequence, buffer.value.event).map_err(|e| EnqueueFailure {
            failed: e.into(),
            launched: true,
            writes_results: true,
        })?;
    }
    Ok(())
}
