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
use crate::staging::{LockedFailure, ResultBuffer, StagingRing};
use crate::stream::{EnqueueState, KernelMemory, StreamState};
use hip_driver::{Capability, DevicePtr, DriverError, KernelLaunch, MemoryAccess, Note, Work};

use super::args::{Arg, ArgumentBlock, BufferArg, PatchTarget, Staging};
use super::description::Launch;
use super::image::{ImageSizes, ImageWalk, Writer, put};
use super::kernel::Kernel;
use super::registry::Registry;
use super::ticket::Ticket;

/// The greatest size of the image in bytes. Offsets of outputs have 32 bits.
const MAX_IMAGE: u64 = 1 << 31;

/// The arguments as the caller gives them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arguments<'a> {
    /// One value for each parameter.
    Args(&'a [Arg<'a>]),
    /// The explicit part of the kernarg segment, as bytes that the caller laid out, perhaps with padding after it, and the
    /// pool memory whose addresses are among them, as far as the caller names it.
    Packed(&'a [u8], &'a [BufferArg<'a>]),
}

impl<'a> Arguments<'a> {
    /// The buffers among them.
    pub(super) fn buffers(self) -> impl Iterator<Item = &'a BufferArg<'a>> {
        let (args, packed): (&[Arg<'_>], &[BufferArg<'_>]) = match self {
            Arguments::Args(args) => (args, &[]),
            Arguments::Packed(_, buffers) => (&[], buffers),
        };
        let buffer = |arg: &'a Arg<'a>| if let Arg::Buffer(buffer) = arg { Some(buffer) } else { None };
        args.iter().filter_map(buffer).chain(packed)
    }
}

/// Kernels that a launch has done with, which are dropped once the stream's lock is released: dropping the last reference
/// to one takes the lock of every stream that it ran on.
pub(super) type DeferredDrops = Vec<Arc<dyn Any + Send + Sync>>;

/// Names the kernel to launch.
#[derive(Clone, Copy)]
pub(super) enum KernelRef<'a> {
    /// The kernel itself, whether or not its handle still names it.
    Kernel(&'a Kernel),
    /// The kernel that the handle names now.
    Handle(&'a Registry, KernelHandle),
}

impl KernelRef<'_> {
    #[inline(always)]
    pub(super) fn handle(self) -> KernelHandle {
        match self {
            KernelRef::Kernel(kernel) => kernel.handle(),
            KernelRef::Handle(_, handle) => handle,
        }
    }

    /// Loads the kernel on a device where it is not loaded yet. The caller holds the lock of no stream.
    #[cold]
    fn load(self, device: &Device) -> Result<()> {
        match self {
            KernelRef::Kernel(kernel) => kernel.load(device)?,
            KernelRef::Handle(registry, handle) => registry.get(handle)?.load(device)?,
        };
        Ok(())
    }
}

/// The memory of a launch's destination, and the parameter that takes its address.
#[derive(Clone, Copy, Debug)]
pub(super) struct DestinationArg<'a> {
    pub(super) parameter: usize,
    pub(super) buffer: BufferArg<'a>,
}

/// What a launch returns to the caller: a [`Ticket`], or nothing.
pub(super) trait LaunchResult: Sized {
    /// Whether the caller can read outputs with it.
    const READS: bool;

    fn new(stream_state: &Arc<StreamState>, position: u64, buffer: Option<ResultBuffer>) -> Self;
}

impl LaunchResult for Ticket {
    const READS: bool = true;

    #[inline(always)]
    fn new(stream_state: &Arc<StreamState>, position: u64, buffer: Option<ResultBuffer>) -> Ticket {
        Ticket::new(stream_state.clone(), position, buffer)
    }
}

impl LaunchResult for () {
    const READS: bool = false;

    /// A launch with outputs is refused, so there is no result buffer to release.
    #[inline(always)]
    fn new(_: &Arc<StreamState>, _: u64, _: Option<ResultBuffer>) {}
}

/// Why a launch was not enqueued, or not wholly. It is boxed, so that the result of a launch without an error is small.
pub(super) enum LaunchFailure {
    /// A check refused it, and nothing was enqueued.
    Refused(Error),
    /// The kernel is not loaded on the stream's device yet. Nothing was enqueued.
    NotLoaded,
    /// The driver or an allocation failed, for the kernel of that name.
    Failed(LockedFailure, Arc<str>),
}

impl From<Error> for Box<LaunchFailure> {
    #[cold]
    fn from(error: Error) -> Box<LaunchFailure> {
        Box::new(LaunchFailure::Refused(error))
    }
}

impl LaunchFailure {
    /// Launches again if that may succeed, and returns the error otherwise. The caller holds no lock.
    #[cold]
    #[inline(never)]
    fn resolve<R: LaunchResult>(
        self,
        kernel_ref: KernelRef<'_>,
        stream_state: &Arc<StreamState>,
        launch: &Launch<'_>,
    ) -> Result<R> {
        let device = stream_state.device();
        match self {
            LaunchFailure::Refused(error) => Err(error),
            LaunchFailure::NotLoaded => {
                kernel_ref.load(device)?;
                launch_on(kernel_ref, stream_state, launch)
            }
            // Callbacks that free memory may take the stream's lock.
            LaunchFailure::Failed(LockedFailure::Allocation("device", bytes, _), _)
                if !launch.is_retry && device.pool_core().reclaim_steps.run_callbacks(bytes as u64) =>
            {
                launch_on(kernel_ref, stream_state, &launch.again(launch.destination, true))
            }
            LaunchFailure::Failed(failure, name) => Err(failure.into_error(device).for_kernel(&name)),
        }
    }
}

/// Enqueues a launch. Every check that needs no device comes before the first call.
// What follows an error is neither inlined nor a loop: each would make every launch save more values on the stack.
pub(super) fn launch_on<R: LaunchResult>(
    kernel_ref: KernelRef<'_>,
    stream_state: &Arc<StreamState>,
    launch: &Launch<'_>,
) -> Result<R> {
    match enqueue(kernel_ref, stream_state, launch) {
        Ok(result) => Ok(result),
        Err(failure) => (*failure).resolve(kernel_ref, stream_state, launch),
    }
}

#[inline(always)]
fn enqueue<R: LaunchResult>(
    kernel_ref: KernelRef<'_>,
    stream_state: &Arc<StreamState>,
    launch: &Launch<'_>,
) -> std::result::Result<R, Box<LaunchFailure>> {
    let mut drops = None;
    let mut locked = stream_state.lock();
    if let Err(error) = stream_state.check() {
        super::captured::enqueue(kernel_ref, stream_state, launch, &mut locked, &mut drops, error)?;
        // Nothing was enqueued that runs, so a ticket has nothing to wait for.
        return Ok(R::new(stream_state, stream_state.progress().completed(), None));
    }
    let EnqueueState { ring, results, kernels, recent, .. } = &mut *locked;
    let on_stream = kernels.find(kernel_ref, stream_state, &mut drops)?;
    let memory = &mut on_stream.memory;
    let Some(kernel) = &on_stream.kernel else {
        return Err(Error::StaleHandle(kernel_ref.handle().0).into());
    };
    let failed = |failure| Box::new(LaunchFailure::Failed(failure, kernel.name.clone()));

    let dims = checked_dims(kernel, &launch.dims, &mut on_stream.checked_dims)?;
    if launch.cooperative {
        kernel.check_cooperative(dims).map_err(|e| failed(e.into()))??;
    }
    // Written in place, for store forwarding: a processor passes a value from a store to a load of the same bytes at
    // once, but a copy in wider pieces than it was stored in waits until the cache has it.
    let mut image = ImageSizes::default();
    pack(kernel, stream_state, &mut memory.kernarg, launch, &mut image)?;
    let mut staged = StagedImage::NONE;
    if !image.is_empty() {
        check_image(kernel, launch, &image, R::READS)?;
        stream_state.refuse_if_captured("a launch with host data or results")?;
        if image.to_host() != 0 {
            let taken = results.take(&stream_state.driver_stream, &stream_state.returned, image.to_host());
            staged.buffer = Some(taken.map_err(failed)?);
        }
        if let Err(e) = stage(stream_state, kernel, memory, ring, launch, &image, &mut staged) {
            staged.buffer.into_iter().for_each(|buffer| results.give_back(buffer, None));
            return Err(failed(e));
        }
    }

    let position = stream_state.progress().next();
    if staged.uses_ring {
        ring.used_by(position);
    }
    let outcome = submit(kernel, stream_state, launch, dims, &image, memory, &staged, position);
    // Whatever happened, something may have been enqueued.
    stream_state.progress().publish(position);
    if outcome.as_ref().map_or_else(|e| e.enqueued != Enqueued::Copies, |()| true) {
        recent.push(position, kernel.id, dims, kernel.explicit_bytes, &memory.kernarg);
    }
    if let Err(e) = outcome {
        if let Some(buffer) = staged.buffer {
            results.give_back(buffer, (e.enqueued == Enqueued::Results).then_some(position));
        }
        return Err(failed(e.failure));
    }
    if staged.copy_from.is_some() {
        memory.shadow_matches_device = true;
    }
    drop(locked);
    // Dropped by hand where there is something: the compiler's own drop calls a function for `None` too.
    if let Some(kernels) = drops {
        drop_kernels(kernels);
    }
    Ok(R::new(stream_state, position, staged.buffer))
}

/// Returns the dimensions of a launch with the LDS of the kernel's layout. Checks them if they differ from `last`, those
/// of the launch before, which they replace.
// Compared in place, because a copy would cost more than the comparison.
#[inline(always)]
fn checked_dims<'d>(
    kernel: &DeviceKernel,
    requested: &LaunchDims,
    last: &'d mut Option<LaunchDims>,
) -> Result<&'d LaunchDims> {
    let dynamic_lds = kernel.with_layout(requested.dynamic_lds)?;
    let is_checked = |checked: &LaunchDims| {
        checked.grid == requested.grid
            && checked.block == requested.block
            && checked.dynamic_lds == dynamic_lds
    };
    if !last.as_ref().is_some_and(is_checked) {
        let dims = LaunchDims { dynamic_lds, ..*requested };
        kernel.check_dims(&dims)?;
        *last = Some(dims);
    }
    Ok(last.get_or_insert(*requested))
}

#[cold]
fn drop_kernels(kernels: DeferredDrops) {
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
    launch: &Launch<'_>,
    image: &mut ImageSizes,
) -> Result<()> {
    match launch.arguments {
        // What follows the explicit bytes is padding, or where hidden arguments go.
        Arguments::Packed(bytes, buffers) => {
            kernel.check_packed(bytes.len())?;
            buffers.iter().filter_map(BufferArg::block).for_each(|block| stream_state.record_use(block));
            put(kernarg, 0, bytes.get(..kernel.explicit_bytes as usize).unwrap_or_default());
        }
        Arguments::Args(args) => {
            kernel.check_count(args.len())?;
            for (index, (arg, parameter)) in args.iter().zip(&kernel.parameters).enumerate() {
                if !pack_arg(arg, parameter, stream_state, kernarg, image) {
                    return Err(kernel.refuse_arg(index, arg));
                }
                if matches!(arg, Arg::Destination) && launch.destination.is_none() {
                    let problem = "an argument is `Arg::Destination`, but the launch has no destination";
                    return Err(kernel.refuse(LaunchProblem::Destination(problem.into())));
                }
            }
        }
    }
    if let Some(destination) = launch.destination {
        if let Some(block) = destination.buffer.block() {
            stream_state.record_use(block);
        }
        let at = kernel.parameters[destination.parameter].offset;
        put(kernarg, at, &destination.buffer.ptr().0.to_le_bytes());
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
    image: &mut ImageSizes,
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
fn check_image(kernel: &DeviceKernel, launch: &Launch<'_>, image: &ImageSizes, reads: bool) -> Result<()> {
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
    if let Arguments::Args(args) = launch.arguments {
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

/// The image once there is memory for it: what is enqueued around the kernel.
pub(super) struct StagedImage {
    /// Where the kernel sees the first two parts: what it reads, and what comes back.
    input: u64,
    to_host: u64,
    /// Host address of an H2D copy to the scratch, if one is needed.
    copy_from: Option<std::ptr::NonNull<u8>>,
    /// Whether the launch reads from the staging ring.
    uses_ring: bool,
    buffer: Option<ResultBuffer>,
}

impl StagedImage {
    /// A launch without host data.
    pub(super) const NONE: StagedImage =
        StagedImage { input: 0, to_host: 0, copy_from: None, uses_ring: false, buffer: None };
}

/// Finds memory for the rest of the image, beside the result buffer, writes its host-to-device part, and packs the addresses.
#[inline(always)]
fn stage(
    stream_state: &StreamState,
    kernel: &DeviceKernel,
    memory: &mut KernelMemory,
    ring: &mut StagingRing,
    launch: &Launch<'_>,
    image: &ImageSizes,
    staged: &mut StagedImage,
) -> std::result::Result<(), LockedFailure> {
    let device = stream_state.device();
    let KernelMemory { kernarg, scratch, shadow, shadow_matches_device } = memory;
    let to_device = image.to_device();
    if launch.staging == Staging::Mapped {
        let to_host = image.to_host();
        let (input, inout) = (image.input as usize, image.inout as usize);
        let mut input_bytes: &mut [u8] = &mut [];
        if input > 0 {
            let staging = ring.take(&stream_state.driver_stream, input)?;
            (staged.input, staged.uses_ring) = (staging.device.0, true);
            device.note(&Note::HostWrite { ptr: staging.host.as_ptr(), bytes: input });
            // SAFETY: the ring returned that many bytes, which no work in flight uses; nobody else accesses them while the
            // stream's lock is held.
            input_bytes = unsafe { zeroed_slice(staging.host, input) };
        }
        let (mut inout_bytes, mut spans): (&mut [u8], _) = (&mut [], None);
        if let Some(buffer) = &mut staged.buffer {
            staged.to_host = buffer.value.device.0;
            device.note(&Note::HostWrite { ptr: buffer.value.host.as_ptr(), bytes: to_host });
            // SAFETY: the result buffer is this launch's, at least that long, and no work in flight uses it. The outputs
            // are zeroed too: the kernel may write less than there is.
            inout_bytes = &mut unsafe { zeroed_slice(buffer.value.host, to_host) }[..inout];
            spans = Some(&mut buffer.value.spans);
        }
        let (writer, to_host) = (Writer::new(input_bytes, inout_bytes, false), staged.to_host);
        let cursor = image.begin_at(staged.input, to_host);
        ImageWalk { writer, cursor, to_host, spans }.run(kernel, kernarg, launch.arguments);
        return Ok(());
    }

    if scratch.ensure(image.total() as usize, stream_state.arena())? {
        *shadow_matches_device = false;
    }
    let base = scratch.ptr().0;
    let to_host = base + image.input;
    (staged.input, staged.to_host) = (base, to_host);
    let same_size = shadow.len() == to_device;
    if !same_size {
        shadow.resize(to_device, 0);
    }
    let unknown = to_device > 0 && (!*shadow_matches_device || !same_size);
    let (input, inout) = shadow.split_at_mut(image.input as usize);
    let (writer, cursor) = (Writer::new(input, inout, unknown), image.begin_at(base, to_host));
    let spans = staged.buffer.as_mut().map(|buffer| &mut buffer.value.spans);
    if (ImageWalk { writer, cursor, to_host, spans }).run(kernel, kernarg, launch.arguments) {
        // Until the copy is enqueued, the device holds something else than the shadow.
        *shadow_matches_device = false;
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

/// How far a launch had come when it failed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Enqueued {
    /// At most the copies to the device.
    Copies,
    /// The kernel too, which does not write the result buffer.
    Kernel,
    /// What writes the result buffer.
    Results,
}

/// Why [`submit`] failed, and what it had enqueued by then.
pub(super) struct SubmitFailure {
    pub(super) failure: LockedFailure,
    enqueued: Enqueued,
}

/// What the launch is known to access: what it stages, its buffers, of which it is known that it reads them, and its
/// destination.
#[cold]
fn accesses(launch: &Launch<'_>, image: &ImageSizes, staged: &StagedImage) -> Vec<MemoryAccess> {
    let access =
        |(ptr, bytes): (u64, u64), write| MemoryAccess { ptr: DevicePtr(ptr), bytes: bytes as usize, write };
    let mut all = vec![
        access((staged.input, image.input), false),
        access((staged.to_host, image.inout + image.output), true),
    ];
    all.extend(launch.arguments.buffers().map(|buffer| access(buffer.range(), false)));
    if let Some(destination) = launch.destination {
        all.push(access(destination.buffer.range(), true));
    }
    all.retain(|a| a.bytes > 0);
    all
}

/// Enqueues the copies and the kernel. The event of a result buffer is recorded when something is enqueued after it
/// ([`DriverStream::defer`](crate::driver_stream::DriverStream::defer)).
// Always inlined, as `stage` and `pack`: a launch with a ticket and one without are two functions, and the compiler
// inlines by itself only what a single function calls.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "inlined, so that nothing is gathered in a struct")]
pub(super) fn submit(
    kernel: &DeviceKernel,
    stream_state: &StreamState,
    launch: &Launch<'_>,
    dims: &LaunchDims,
    image: &ImageSizes,
    memory: &KernelMemory,
    staged: &StagedImage,
    position: u64,
) -> std::result::Result<(), SubmitFailure> {
    let device = stream_state.device();
    let (driver, id) = (device.raw(), device.id());
    let failed = |e: DriverError, enqueued| SubmitFailure { failure: e.into(), enqueued };
    let before_kernel = |e| failed(e, Enqueued::Copies);
    let stream = stream_state.driver_stream.for_work().map_err(before_kernel)?;
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
        .map_err(before_kernel)?;
    }
    if !dims.is_empty() {
        // Only a layer looks at them.
        let named;
        let accesses = if device.pool_core().shared.wants_accesses {
            named = accesses(launch, image, staged);
            &named[..]
        } else {
            &[]
        };
        let kernel_launch = KernelLaunch {
            function: kernel.function,
            grid: dims.grid,
            block: dims.block,
            dynamic_lds: dims.dynamic_lds,
            kernarg: &memory.kernarg,
            accesses,
        };
        let work = match launch.cooperative {
            false => Work::Kernel(&kernel_launch),
            true => Work::CooperativeKernel { launch: &kernel_launch, offsets: &kernel.offsets },
        };
        // SAFETY: the segment is as long as the metadata says, and was packed from arguments that were checked against
        // it; what the caller's own pointers are good for is the caller's promise.
        unsafe { driver.enqueue(id, stream, &work) }.map_err(before_kernel)?;
    }
    if let Some(buffer) = &staged.buffer {
        if launch.staging != Staging::Mapped {
            let (dst, src) = (buffer.value.host.as_ptr(), DevicePtr(staged.to_host));
            let copy = Work::CopyToHost { dst, src, bytes: image.to_host() };
            // SAFETY: the result buffer is this launch's until its ticket returns it, when the copy is known to be done.
            unsafe { driver.enqueue(id, stream, &copy) }.map_err(|e| failed(e, Enqueued::Kernel))?;
        }
        let deferred = stream_state.driver_stream.defer(position, buffer.value.event);
        deferred.map_err(|e| failed(e, Enqueued::Results))?;
    }
    Ok(())
}
