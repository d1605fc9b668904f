//! The launch itself: it checks everything, lays out what is staged as one image, then enqueues copies, kernel and
//! event.
//!
//! ```text
//! image:   [ argument blocks, in arrays | inout arrays | out arrays, result blocks ]
//!            <-------- one host-to-device copy ------>
//!                                         <------ one device-to-host copy ------->
//! ```
//!
//! With [`Staging::Mapped`] the same image lies in pinned memory that the kernel addresses itself: the first part in
//! the staging ring, the other two in the result buffer.

use std::sync::Arc;

use crate::error::{Error, LaunchProblem, Result};
use crate::memory::pool::RequestContext;
use crate::memory::{LockedFailure, ResultBuffer};
use hip_driver::{Capability, DevicePtr, DriverError, KernelLaunch, MemoryAccess, Note, Work};

use super::args::{Arg, ArgumentBlock, BufferArg, HostData, LaunchDims, PatchTarget, Staging};
use super::kernel::Kernel;
use super::stream_state::{EnqueueState, KernelOnStream, StreamState, kernel_on_stream};
use super::ticket::{Spans, Ticket};

/// The alignment of the image's pieces in bytes: a cache line, and enough for any vector type.
const ALIGN: u64 = 64;
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

/// What a launch returns to the caller: a [`Ticket`], or nothing.
pub(super) trait Receipt: Sized {
    /// Whether the caller can read outputs with it.
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

    /// Drops nothing: a launch with outputs was refused, so there is no result buffer.
    #[inline(always)]
    fn new(_: &Arc<StreamState>, _: u64, _: Option<ResultBuffer>, _: Spans) {}
}

/// The sizes in bytes of the image's three parts, with each piece padded to [`ALIGN`].
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
struct StagedImage {
    /// The bytes of argument blocks and in arrays.
    input: u64,
    /// The bytes of inout arrays.
    inout: u64,
    /// The bytes of out arrays and result blocks.
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

/// Returns the length of a piece with its padding. An empty piece has padding too, so that it has an address of its
/// own.
#[inline]
fn padded(bytes: usize) -> u64 {
    (bytes.max(1) as u64).checked_next_multiple_of(ALIGN).unwrap_or(u64::MAX)
}

/// Checks and enqueues a launch. Every check that needs no device comes before the first driver call.
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
        // The stream is no longer locked, so callbacks that free memory can lock it.
        Err(LockedFailure::Allocation("device", bytes, _))
            if device.pool_core().ladder.run_callbacks(bytes as u64) =>
        {
            enqueue(kernel, stream_state, request, &image)
                .map_err(|failed| failed.into_error(device).for_kernel(&kernel.name))
        }
        Err(failed) => Err(failed.into_error(device).for_kernel(&kernel.name)),
    }
}

/// Checks the arguments and returns the size of the image that they stage. Records that the stream uses the buffers
/// among them, so that the caller may drop these before the launch has finished. If an argument is refused, uses of
/// earlier arguments stay recorded; they only delay the reuse of memory.
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

/// The addresses at which the kernel finds the next piece of each part of the image.
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
    /// Writes `bytes` at offset `at` of the current piece. Returns whether this changed the image.
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

    /// Ends the current piece, which has `bytes` bytes.
    #[inline]
    fn end(&mut self, bytes: usize) {
        self.used += padded(bytes) as usize;
    }
}

/// Writes the parts of the image that are copied to the device, and records whether they change.
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
                // The kernel overwrites it on the device, so it is always copied.
                self.changed = true;
            }
            HostData::Out(_) => {}
        }
    }

    /// Writes an argument block with its addresses, and then its arrays. `segments` has the addresses of the pieces
    /// after the block.
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

/// Writes a value into the kernarg segment. Its offset and size were checked when the kernel was registered.
#[inline]
fn put_arg(kernarg: &mut [u8], offset: u32, bytes: &[u8]) {
    let at = offset as usize;
    if let Some(place) = kernarg.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// Packs the explicit arguments into the kernarg segment. Host data get their addresses from `cursor`.
#[inline]
fn pack(kernel: &Kernel, kernarg: &mut [u8], source: ArgumentSource<'_>, mut cursor: Cursor) {
    let args = match source {
        // The bytes after the explicit part are padding, or belong to hidden arguments.
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
            // `enqueue` writes the destination's address.
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

/// Writes the parts of the image that are copied to the device.
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

/// Returns the offset and length in the result buffer of each output, in the order of the arguments.
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

/// What `submit` enqueues besides the kernel, with the memory that was found for it.
struct EnqueuePlan {
    /// The addresses at which the kernel finds the parts of the image.
    cursor: Cursor,
    /// The host address of the copy to the device scratch, if one is needed.
    copy_from: Option<std::ptr::NonNull<u8>>,
    /// Whether the launch uses memory of the staging ring.
    uses_ring: bool,
    /// The result buffer, if the launch has outputs.
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
    // Published after an error too, because some of the work may have been enqueued.
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
            // The kernel's fault may be why the driver refused the calls after it, so the report has to name the
            // kernel.
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

/// Finds memory for the image and writes the parts that are copied to the device.
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
        // SAFETY (of both slices below): the staging ring and the result buffers returned that many bytes. No work in
        // flight uses them, and nothing else accesses them, because the stream's lock is held and the result buffer is
        // this launch's. The two do not overlap.
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
    // Until the copy is enqueued, the device scratch does not hold the shadow's bytes.
    entry.shadow_good = false;
    let staging = ring.take(core, to_device).map_err(give_back)?;
    device.note(&Note::HostWrite { ptr: staging.host.as_ptr(), bytes: to_device });
    // SAFETY: the ring returned `to_device` bytes that no work in flight uses. The shadow is as long and does not
    // overlap them.
    unsafe { std::ptr::copy_nonoverlapping(entry.shadow.as_ptr(), staging.host.as_ptr(), to_device) };
    Ok(EnqueuePlan { cursor, copy_from: Some(staging.host), uses_ring: true, slot })
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
struct EnqueueFailure {
    failed: LockedFailure,
    /// Whether work that was enqueued may write the result buffer. No event says when it has finished.
    slot_in_use: bool,
    /// Whether the kernel was enqueued.
    launched: bool,
}

/// Returns the accesses that are known of a launch: `staged`, reads of its buffers, and the write of its destination.
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

/// Enqueues the copies, the kernel and the event on the stream.
// Always inlined, as `stage` and `check_image` are. A launch with a ticket and a launch without one are two functions,
// and the compiler does not by itself inline a function that two others call.
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
        // SAFETY: the ring keeps the staged bytes until its fence is reached. The device scratch is at least as long as
        // the image.
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
        // Only layers read the accesses of buffers.
        let with_buffers;
        let accesses = if device.pool_core().shared.watched {
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
        // SAFETY: the kernarg segment is as long as the metadata say, and was packed after every argument was checked
        // against them. The caller promises that its own pointers are valid for what the kernel does.
        unsafe { driver.enqueue(id, stream, &Work::Kernel(&launch)) }.map_err(free)?;
    }
    let Some(slot) = &staged.slot else { return Ok(()) };
    if !mapped {
        let from = DevicePtr(staged.cursor.inout);
        // SAFETY: the result buffer is this launch's until its ticket returns it, and is not used again before the
        // event recorded below is reached.
        unsafe {
            driver.enqueue(
                id,
                stream,
                &Work::CopyToHost { dst: slot.host.as_ptr(), src: from, bytes: image.to_host() },
            )
        }
        .map_err(|e| stopped(e, false, true))?;
    }
    // SAFETY: the event is the result buffer's, the stream is live, and both are of one device.
    unsafe { driver.event_record(id, slot.event, stream) }.map_err(|e| stopped(e, true, true))
}
