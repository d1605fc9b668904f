//! The launch itself: check everything, lay out what is staged, then enqueue copies, kernel, results and event.
//!
//! ```text
//! host image, one piece each:   [ block | in arrays | inout arrays | out arrays | result block ]
//!                                 <------- one H2D ------------->
//!                                                     <------------ one D2H ----------------->
//! ```
//!
//! With [`Staging::Mapped`] the same image lies in pinned memory that the kernel addresses itself: the first part in
//! the staging ring, the second in the result slot.

use std::sync::Arc;

use crate::error::{Error, LaunchProblem, Result};
use crate::memory::pool::RequestContext;
use crate::memory::{LockedFailure, ResultBuffer};
use hip_driver::{Capability, DevicePtr, DriverError, KernelLaunch, MemoryAccess, Note, Work};

use super::args::{Arg, ArgumentBlock, BufferArg, HostData, LaunchDims, PatchTarget, Staging};
use super::kernel::Kernel;
use super::stream_state::{EnqueueState, KernelOnStream, StreamState, kernel_on_stream};
use super::ticket::{Spans, Ticket};

/// Pieces of the image start at multiples of this: a cache line, and enough for any vector type.
const ALIGN: u64 = 64;
/// Largest image; output offsets are 32 bits.
const MAX_IMAGE: u64 = 1 << 31;

/// Arguments as the caller has them.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArgumentSource<'a> {
    /// One value for each parameter.
    Args(&'a [Arg<'a>]),
    /// The explicit part of the kernarg segment, packed by a compiler that knows the layout, perhaps with padding
    /// behind it.
    Packed(&'a [u8]),
}

/// One launch whose memory is all there.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) dims: LaunchDims,
    pub(super) staging: Staging,
    pub(super) source: ArgumentSource<'a>,
    pub(super) destination: Option<Target<'a>>,
}

/// The memory that the kernel writes its result to, and the parameter that takes its address.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) parameter: usize,
    pub(super) buffer: BufferArg<'a>,
}

/// What the caller gets of a launch: a [`Ticket`], or nothing.
pub(super) trait Receipt: Sized {
    /// Whether outputs can be read by it.
    const READS: bool;

    fn new(stream_state: &Arc<StreamState>, sequence: u64, slot: Option<ResultBuffer>, spans: Spans) -> Self;
}

impl Receipt for Ticket {
    const READS: bool = true;

    #[inline(always)]
    fn new(
        stream_state: &Arc<StreamState>,
        sequence: u64,
        slot: Option<ResultBuffer>,
        spans: Spans,
    ) -> Ticket {
        Ticket::new(stream_state.clone(), sequence, slot, spans)
    }
}

impl Receipt for () {
    const READS: bool = false;

    /// A launch with outputs is refused, so that there is no slot to give back.
    #[inline(always)]
    fn new(_: &Arc<StreamState>, _: u64, _: Option<ResultBuffer>, _: Spans) {}
}

/// Sizes of the image's three parts in bytes, pieces padded to [`ALIGN`].
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
struct StagedImage {
    /// Blocks and in arrays.
    input: u64,
    /// Inout arrays.
    inout: u64,
    /// Out arrays and result blocks.
    output: u64,
}

impl StagedImage {
    fn add(&mut self, data: &HostData<'_>) {
        let (part, bytes) = match data {
            HostData::In(d) => (&mut self.input, d.len()),
            HostData::InOut(d) => (&mut self.inout, d.len()),
            HostData::Out(n) => (&mut self.output, *n),
        };
        *part = part.saturating_add(padded(bytes));
    }

    fn add_block(&mut self, block: &ArgumentBlock<'_>) {
        self.add(&HostData::In(block.bytes));
        block.arrays.iter().for_each(|s| self.add(s));
        if block.result_bytes > 0 {
            self.add(&HostData::Out(block.result_bytes));
        }
    }

    fn total(&self) -> u64 {
        self.input.saturating_add(self.inout).saturating_add(self.output)
    }

    fn to_device(self) -> usize {
        (self.input + self.inout) as usize
    }

    fn to_host(self) -> usize {
        (self.inout + self.output) as usize
    }
}

/// A piece's length with its padding; empty pieces still have an address of their own.
#[inline]
fn padded(bytes: usize) -> u64 {
    (bytes.max(1) as u64).checked_next_multiple_of(ALIGN).unwrap_or(u64::MAX)
}

/// Enqueues a launch. Every check that needs no device comes before the first call.
pub(super) fn launch<R: Receipt>(
    kernel: &Kernel,
    stream_state: &Arc<StreamState>,
    mut request: Request<'_>,
) -> Result<R> {
    let device = stream_state.core.device();
    if kernel.device() != device {
        let (kernel_device, stream) = (kernel.device().id(), device.id());
        return Err(kernel.refuse(LaunchProblem::WrongDevice { kernel: kernel_device, stream }));
    }
    device.check()?;
    request.dims.dynamic_lds = kernel.with_layout(request.dims.dynamic_lds)?;
    kernel.check_dims(&request.dims)?;
    let request = &request;
    let image = match request.source {
        ArgumentSource::Args(args) => check_args(kernel, stream_state, args, request.destination.is_some())?,
        ArgumentSource::Packed(bytes) => {
            kernel.check_packed(bytes.len())?;
            StagedImage::default()
        }
    };
    if image.total() > 0 {
        check_image(kernel, request, &image, R::READS)?;
    }
    if let Some(block) = request.destination.and_then(|target| target.buffer.block()) {
        stream_state.core.record_use(block);
    }
    match enqueue(kernel, stream_state, request, &image) {
        Ok(receipt) => Ok(receipt),
        // The lock is gone by now, and callbacks that free memory may want it.
        Err(LockedFailure::Allocation("device", bytes, _))
            if device.pool_core().ladder.run_callbacks(bytes as u64) =>
        {
            enqueue(kernel, stream_state, request, &image)
                .map_err(|failed| failed.into_error(device).for_kernel(&kernel.name))
        }
        Err(failed) => Err(failed.into_error(device).for_kernel(&kernel.name)),
    }
}

/// Checks the arguments and measures what they stage, in one walk. Records that the stream uses the buffers among them, so
/// that they may be dropped before it has done with them. If an argument is refused, uses recorded for earlier arguments
/// stay recorded; they only delay reuse.
#[inline]
fn check_args(
    kernel: &Kernel,
    stream_state: &StreamState,
    args: &[Arg<'_>],
    has_destination: bool,
) -> Result<StagedImage> {
    kernel.check_count(args.len())?;
    let mut image = StagedImage::default();
    for (index, (arg, parameter)) in args.iter().zip(&kernel.parameters).enumerate() {
        kernel.check_arg(index, arg, parameter)?;
        match arg {
            Arg::Buffer(buffer) => {
                if let Some(block) = buffer.block() {
                    stream_state.core.record_use(block);
                }
            }
            Arg::Host(data) => image.add(data),
            Arg::ArgumentBlock(block) => image.add_block(block),
            Arg::Destination if !has_destination => {
                let problem = "an argument is `Arg::Destination`, but the launch has no destination";
                return Err(kernel.refuse(LaunchProblem::Destination(problem.into())));
            }
            _ => {}
        }
    }
    Ok(image)
}

fn check_patches(kernel: &Kernel, block: &ArgumentBlock<'_>) -> Result<()> {
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
                return refuse(format!("patch {i} names segment {s} of {}", block.arrays.len()));
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
fn check_image(kernel: &Kernel, request: &Request<'_>, image: &StagedImage, reads: bool) -> Result<()> {
    if !reads && image.inout + image.output > 0 {
        return Err(kernel.refuse(LaunchProblem::OutputWithoutTicket));
    }
    if image.total() > MAX_IMAGE {
        return Err(kernel.refuse(LaunchProblem::TooMuchData { bytes: image.total(), limit: MAX_IMAGE }));
    }
    if request.staging == Staging::Mapped
        && !kernel.device().raw().capabilities().has(Capability::MappedHostMemory)
    {
        return Err(Error::invalid(
            "Staging::Mapped",
            "the driver has no mapped host memory; use Staging::Copy",
        ));
    }
    if let ArgumentSource::Args(args) = request.source {
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

/// Addresses of the image's parts as the kernel sees them, advanced piece by piece.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    input: u64,
    inout: u64,
    output: u64,
}

impl Cursor {
    #[inline]
    fn next(&mut self, data: &HostData<'_>) -> DevicePtr {
        let (at, bytes) = match data {
            HostData::In(d) => (&mut self.input, d.len()),
            HostData::InOut(d) => (&mut self.inout, d.len()),
            HostData::Out(n) => (&mut self.output, *n),
        };
        let ptr = DevicePtr(*at);
        *at += padded(bytes);
        ptr
    }

    #[inline]
    fn skip(&mut self, data: &HostData<'_>) {
        self.next(data);
    }
}

/// One part of the image, filled from its start.
struct ImagePart<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl ImagePart<'_> {
    /// Writes `bytes` at `at` behind the pieces so far; whether that changed anything.
    #[inline]
    fn put(&mut self, at: usize, bytes: &[u8]) -> bool {
        let start = self.used + at;
        let place = &mut self.bytes[start..start + bytes.len()];
        let changed = place != bytes;
        if changed {
            place.copy_from_slice(bytes);
        }
        changed
    }

    /// Ends a piece of `bytes`.
    #[inline]
    fn end(&mut self, bytes: usize) {
        self.used += padded(bytes) as usize;
    }
}

/// Writes the image's host-to-device part and notices whether it changes.
struct Writer<'a> {
    input: ImagePart<'a>,
    inout: ImagePart<'a>,
    changed: bool,
}

impl<'a> Writer<'a> {
    fn new(input: &'a mut [u8], inout: &'a mut [u8], changed: bool) -> Writer<'a> {
        Writer {
            input: ImagePart { bytes: input, used: 0 },
            inout: ImagePart { bytes: inout, used: 0 },
            changed,
        }
    }

    #[inline]
    fn data(&mut self, data: &HostData<'_>) {
        match data {
            HostData::In(d) => {
                self.changed |= self.input.put(0, d);
                self.input.end(d.len());
            }
            HostData::InOut(d) => {
                self.inout.put(0, d);
                self.inout.end(d.len());
                // The kernel overwrites it on the device, so it always travels.
                self.changed = true;
            }
            HostData::Out(_) => {}
        }
    }

    /// Writes a block with its addresses; its segments follow.
    #[inline]
    fn block(&mut self, block: &ArgumentBlock<'_>, segments: Cursor) {
        let mut from = 0;
        for patch in block.patches {
            self.changed |= self.input.put(from, &block.bytes[from..patch.offset]);
            let address = match patch.target {
                PatchTarget::Device(ptr) => ptr,
                PatchTarget::Array(s) => {
                    let mut at = segments;
                    block.arrays[..s].iter().for_each(|d| at.skip(d));
                    at.next(&block.arrays[s])
                }
                PatchTarget::Result => {
                    let mut at = segments;
                    block.arrays.iter().for_each(|d| at.skip(d));
                    at.next(&HostData::Out(block.result_bytes))
                }
            };
            self.changed |= self.input.put(patch.offset, &address.0.to_le_bytes());
            from = patch.offset + 8;
        }
        self.changed |= self.input.put(from, &block.bytes[from..]);
        self.input.end(block.bytes.len());
        block.arrays.iter().for_each(|s| self.data(s));
    }
}

/// Writes a value into the kernarg segment; offset and size were checked against it when the kernel was registered.
#[inline]
fn put_arg(kernarg: &mut [u8], offset: u32, bytes: &[u8]) {
    let at = offset as usize;
    if let Some(place) = kernarg.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// Packs the explicit arguments; host data get the addresses that `cursor` gives them.
#[inline]
fn pack(kernel: &Kernel, kernarg: &mut [u8], source: ArgumentSource<'_>, mut cursor: Cursor) {
    let args = match source {
        // What lies behind it is padding, or where hidden arguments go.
        ArgumentSource::Packed(bytes) => {
            let explicit = bytes.get(..kernel.explicit_bytes as usize).unwrap_or_default();
            return put_arg(kernarg, 0, explicit);
        }
        ArgumentSource::Args(args) => args,
    };
    for (arg, parameter) in args.iter().zip(&kernel.parameters) {
        let at = parameter.offset;
        match arg {
            Arg::Scalar { bits, size } => match size {
                4 => put_arg(kernarg, at, &(*bits as u32).to_le_bytes()),
                8 => put_arg(kernarg, at, &bits.to_le_bytes()),
                2 => put_arg(kernarg, at, &(*bits as u16).to_le_bytes()),
                _ => put_arg(kernarg, at, &(*bits as u8).to_le_bytes()),
            },
            Arg::Pointer(ptr) => put_arg(kernarg, at, &ptr.0.to_le_bytes()),
            Arg::Buffer(buffer) => put_arg(kernarg, at, &buffer.ptr().0.to_le_bytes()),
            // Written by the caller.
            Arg::Destination => {}
            Arg::Value(bytes) | Arg::Raw(bytes) => put_arg(kernarg, at, bytes),
            Arg::Host(data) => put_arg(kernarg, at, &cursor.next(data).0.to_le_bytes()),
            Arg::ArgumentBlock(block) => {
                put_arg(kernarg, at, &cursor.next(&HostData::In(block.bytes)).0.to_le_bytes());
                block.arrays.iter().for_each(|d| cursor.skip(d));
                if block.result_bytes > 0 {
                    cursor.next(&HostData::Out(block.result_bytes));
                }
            }
        }
    }
}

/// Writes the image's host-to-device part.
#[inline]
fn write_image(writer: &mut Writer<'_>, source: ArgumentSource<'_>, mut cursor: Cursor) {
    let ArgumentSource::Args(args) = source else { return };
    for arg in args {
        match arg {
            Arg::Host(data) => {
                writer.data(data);
                cursor.next(data);
            }
            Arg::ArgumentBlock(block) => {
                cursor.next(&HostData::In(block.bytes));
                writer.block(block, cursor);
                block.arrays.iter().for_each(|d| cursor.skip(d));
                if block.result_bytes > 0 {
                    cursor.next(&HostData::Out(block.result_bytes));
                }
            }
            _ => {}
        }
    }
}

/// Where each output lies in the result slot, in the order of the arguments.
#[inline]
fn output_spans(source: ArgumentSource<'_>, image: &StagedImage) -> Spans {
    let mut spans = Spans::new();
    let ArgumentSource::Args(args) = source else { return spans };
    let mut at = Cursor { input: 0, inout: 0, output: image.inout };
    let mut add = |data: &HostData<'_>| {
        let offset = at.next(data).0 as u32;
        match data {
            HostData::In(_) => {}
            HostData::InOut(d) => spans.push((offset, d.len() as u32)),
            HostData::Out(n) => spans.push((offset, *n as u32)),
        }
    };
    for arg in args {
        match arg {
            Arg::Host(data) => add(data),
            Arg::ArgumentBlock(block) => {
                block.arrays.iter().for_each(&mut add);
                if block.result_bytes > 0 {
                    add(&HostData::Out(block.result_bytes));
                }
            }
            _ => {}
        }
    }
    spans
}

/// What is to be done around the kernel, once the memory for it is there.
struct EnqueuePlan {
    /// Where the kernel sees the parts.
    cursor: Cursor,
    /// Host address of an H2D copy to the scratch, if one is needed.
    copy_from: Option<std::ptr::NonNull<u8>>,
    /// Whether a slot of the ring is used.
    uses_ring: bool,
    slot: Option<ResultBuffer>,
}

fn enqueue<R: Receipt>(
    kernel: &Kernel,
    stream_state: &Arc<StreamState>,
    request: &Request<'_>,
    image: &StagedImage,
) -> std::result::Result<R, LockedFailure> {
    let mut state = stream_state.lock();
    let EnqueueState { ring, entries, recent, .. } = &mut *state;
    let entry = kernel_on_stream(entries, stream_state, kernel);
    let staged = if image.total() == 0 {
        EnqueuePlan {
            cursor: Cursor { input: 0, inout: 0, output: 0 },
            copy_from: None,
            uses_ring: false,
            slot: None,
        }
    } else {
        stage(stream_state, entry, ring, request, image)?
    };
    pack(kernel, &mut entry.kernarg, request.source, staged.cursor);
    if let Some(target) = &request.destination {
        let at = kernel.parameters[target.parameter].offset;
        put_arg(&mut entry.kernarg, at, &target.buffer.ptr().0.to_le_bytes());
    }

    let sequence = stream_state.core.next();
    if staged.uses_ring {
        ring.used_by(sequence);
    }
    let outcome = submit(kernel, stream_state, request, image, entry, &staged);
    // Whatever happened, something may have been enqueued.
    stream_state.core.publish(sequence);
    match outcome {
        Ok(()) if staged.copy_from.is_some() => entry.shadow_good = true,
        Ok(()) => {}
        Err(EnqueueFailure { failed, slot_in_use, launched }) => {
            if let Some(slot) = staged.slot
                && !slot_in_use
            {
                stream_state.slots().release(slot);
            }
            // The kernel's own fault may be why the calls behind it were refused.
            if launched {
                recent.push(sequence, kernel.id, request.dims, kernel.explicit_bytes, &entry.kernarg);
            }
            return Err(failed);
        }
    }
    recent.push(sequence, kernel.id, request.dims, kernel.explicit_bytes, &entry.kernarg);
    let spans = if staged.slot.is_some() { output_spans(request.source, image) } else { Spans::new() };
    Ok(R::new(stream_state, sequence, staged.slot, spans))
}

/// Finds memory for the image and writes its host-to-device part.
#[inline(always)]
fn stage(
    stream_state: &Arc<StreamState>,
    entry: &mut KernelOnStream,
    ring: &mut crate::memory::StagingRing,
    request: &Request<'_>,
    image: &StagedImage,
) -> std::result::Result<EnqueuePlan, LockedFailure> {
    let (core, device) = (&stream_state.core, stream_state.core.device());
    let to_host = image.to_host();
    let slot = if to_host > 0 { Some(stream_state.slots().take(core, to_host)?) } else { None };
    let give_back = |failed| {
        if let Some(slot) = slot {
            stream_state.slots().release(slot);
        }
        failed
    };
    if request.staging == Staging::Mapped {
        let (input, inout) = (image.input as usize, image.inout as usize);
        let mut cursor = Cursor { input: 0, inout: 0, output: 0 };
        // SAFETY (of both slices below): ring and slots gave out that many bytes, which no work in flight uses and
        // nobody else touches, as the stream's lock is held and the slot is this launch's; the two do not overlap.
        let mut input_bytes: &mut [u8] = &mut [];
        if input > 0 {
            let staging = ring.take(core, input).map_err(give_back)?;
            cursor.input = staging.device.0;
            device.note(&Note::HostWrite { ptr: staging.host.as_ptr(), bytes: input });
            // SAFETY: as above.
            input_bytes = unsafe { zeroed_slice(staging.host, input) };
        }
        let mut inout_bytes: &mut [u8] = &mut [];
        if let Some(slot) = &slot {
            cursor.inout = slot.device.0;
            cursor.output = slot.device.0 + image.inout;
            if inout > 0 {
                device.note(&Note::HostWrite { ptr: slot.host.as_ptr(), bytes: inout });
                // SAFETY: as above.
                inout_bytes = unsafe { zeroed_slice(slot.host, inout) };
            }
        }
        write_image(&mut Writer::new(input_bytes, inout_bytes, false), request.source, cursor);
        return Ok(EnqueuePlan { cursor, copy_from: None, uses_ring: input > 0, slot });
    }

    let total = image.total() as usize;
    if entry.scratch.ensure_raw(total, core, RequestContext::UnderLock).map_err(give_back)? {
        entry.shadow_good = false;
    }
    let base = entry.scratch.ptr().0;
    let cursor = Cursor { input: base, inout: base + image.input, output: base + image.input + image.inout };
    let to_device = image.to_device();
    if to_device == 0 {
        return Ok(EnqueuePlan { cursor, copy_from: None, uses_ring: false, slot });
    }
    let same_size = entry.shadow.len() == to_device;
    if !same_size {
        entry.shadow.resize(to_device, 0);
    }
    let unknown = !entry.shadow_good || !same_size;
    let (input, inout) = entry.shadow.split_at_mut(image.input as usize);
    let mut writer = Writer::new(input, inout, unknown);
    write_image(&mut writer, request.source, cursor);
    if !writer.changed {
        return Ok(EnqueuePlan { cursor, copy_from: None, uses_ring: false, slot });
    }
    // Until the copy is enqueued, the device holds something else than the shadow.
    entry.shadow_good = false;
    let staging = ring.take(core, to_device).map_err(give_back)?;
    device.note(&Note::HostWrite { ptr: staging.host.as_ptr(), bytes: to_device });
    // SAFETY: the ring gave out `to_device` bytes that no work in flight uses; the shadow is as long and elsewhere.
    unsafe { std::ptr::copy_nonoverlapping(entry.shadow.as_ptr(), staging.host.as_ptr(), to_device) };
    Ok(EnqueuePlan { cursor, copy_from: Some(staging.host), uses_ring: true, slot })
}

/// Pinned memory as a slice, zeroed: it may never have been written.
///
/// # Safety
/// `host` is good for `bytes`, which nobody else uses for as long as the slice lives.
unsafe fn zeroed_slice<'a>(host: std::ptr::NonNull<u8>, bytes: usize) -> &'a mut [u8] {
    // SAFETY: the caller's promise; zeroing initialises every byte before a reference to it is made.
    unsafe {
        host.write_bytes(0, bytes);
        std::slice::from_raw_parts_mut(host.as_ptr(), bytes)
    }
}

/// A submission that stopped on the way.
struct EnqueueFailure {
    failed: LockedFailure,
    /// Work that was enqueued may write the result slot, and no event tells when.
    slot_in_use: bool,
    /// The kernel was enqueued.
    launched: bool,
}

/// What the launch is known to touch: what it stages, its buffers, which it reads at least, and its destination.
#[cold]
fn and_buffers(staged: &[MemoryAccess], request: &Request<'_>) -> Vec<MemoryAccess> {
    let mut all = staged.to_vec();
    let mut add = |buffer: &BufferArg<'_>, write| {
        let (start, bytes) = buffer.range();
        all.push(MemoryAccess { ptr: DevicePtr(start), bytes: bytes as usize, write });
    };
    if let ArgumentSource::Args(args) = request.source {
        for arg in args {
            if let Arg::Buffer(buffer) = arg {
                add(buffer, false);
            }
        }
    }
    if let Some(target) = &request.destination {
        add(&target.buffer, true);
    }
    all.retain(|a| a.bytes > 0);
    all
}

/// Enqueues the copies, the kernel and the event on the lane's stream.
// Always inlined, as `stage` and `check_image`: a launch with a ticket and one without are two functions, and what only one
// function calls is inlined by itself, but not what two do.
#[inline(always)]
fn submit(
    kernel: &Kernel,
    stream_state: &StreamState,
    request: &Request<'_>,
    image: &StagedImage,
    entry: &KernelOnStream,
    staged: &EnqueuePlan,
) -> std::result::Result<(), EnqueueFailure> {
    let (device, stream) = (stream_state.core.device(), stream_state.core.raw());
    let (driver, id) = (device.raw(), device.id());
    let stopped =
        |e: DriverError, slot_in_use, launched| EnqueueFailure { failed: e.into(), slot_in_use, launched };
    let free = |e| stopped(e, false, false);
    let mapped = request.staging == Staging::Mapped;
    if let Some(host) = staged.copy_from {
        // SAFETY: the ring keeps the staged bytes until its fence; the scratch is at least as long as the image.
        unsafe {
            driver.enqueue(
                id,
                stream,
                &Work::CopyToDevice {
                    dst: DevicePtr(staged.cursor.input),
                    src: host.as_ptr(),
                    bytes: image.to_device(),
                },
            )
        }
        .map_err(free)?;
    }
    if !request.dims.is_empty() {
        let access =
            |ptr, bytes: u64, write| MemoryAccess { ptr: DevicePtr(ptr), bytes: bytes as usize, write };
        let all = [
            access(staged.cursor.input, image.input, false),
            access(staged.cursor.inout, image.inout + image.output, true),
        ];
        let staged = match (image.input > 0, image.to_host() > 0) {
            (true, true) => &all[..],
            (true, false) => &all[..1],
            (false, true) => &all[1..],
            (false, false) => &[],
        };
        // Only a layer looks at them.
        let with_buffers;
        let accesses = if device.pool_core().shared.wants_accesses {
            with_buffers = and_buffers(staged, request);
            &with_buffers[..]
        } else {
            staged
        };
        let launch = KernelLaunch {
            function: kernel.function,
            grid: request.dims.grid,
            block: request.dims.block,
            dynamic_lds: request.dims.dynamic_lds,
            kernarg: &entry.kernarg,
            accesses,
        };
        // SAFETY: the segment is as long as the metadata say, and was packed after every argument was checked against
        // them; what the caller's own pointers are good for is the caller's promise.
        unsafe { driver.enqueue(id, stream, &Work::Kernel(&launch)) }.map_err(free)?;
    }
    let Some(slot) = &staged.slot else { return Ok(()) };
    if !mapped {
        let from = DevicePtr(staged.cursor.inout);
        // SAFETY: the slot is this launch's until its ticket gives it back, after the event recorded below.
        unsafe {
            driver.enqueue(
                id,
                stream,
                &Work::CopyToHost { dst: slot.host.as_ptr(), src: from, bytes: image.to_host() },
            )
        }
        .map_err(|e| stopped(e, false, true))?;
    }
    // SAFETY: the slot's own event and a live stream of one device.
    unsafe { driver.event_record(id, slot.event, stream) }.map_err(|e| stopped(e, true, true))
}
