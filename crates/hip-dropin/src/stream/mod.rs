//! Streams.

pub(crate) mod attributes;
pub(crate) mod callbacks;
pub(crate) mod event;
pub(crate) mod target;

use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_driver::{DeviceId, RawEvent, RawStream, StreamOptions};

use crate::abi::version::Version;
use crate::abi::{Handle, HipResult, In, Out, Status};
use crate::process::objects::{Objects, Recent};
use crate::process::{Process, lock_helpers, thread};
use crate::stream::attributes::Attributes;
use crate::stream::event::EVENTS;

pub(crate) use event::EventHandle;
pub(crate) use target::{Queue, Target};

/// A `hipStream_t`: a default stream, or the driver's number of a stream.
pub(crate) type StreamHandle = Handle<Stream>;

/// `hipStreamNonBlocking`.
const NON_BLOCKING: u32 = 1;
/// `hipEventWaitExternal`: on a captured stream, the graph waits for the event when it is launched.
const EXTERNAL: u32 = 1;
/// The priorities, the least urgent and the most urgent one, as clr has them on AMD's GPUs.
pub(crate) const LEAST: i32 = 1;
pub(crate) const GREATEST: i32 = -1;

/// A stream that the program made.
pub(crate) struct Stream {
    device: DeviceId,
    flags: u32,
    attributes: Mutex<Attributes>,
    /// The compute units that the program chose, which has no effect.
    units: Option<Box<[u32]>>,
}

/// The streams that the program made.
pub(crate) static STREAMS: Objects<Stream> = Objects::new();

thread_local! {
    static RECENT: Recent<Stream> = const { Recent::new() };
}

impl Stream {
    pub(crate) fn attributes(&self) -> MutexGuard<'_, Attributes> {
        self.attributes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StreamHandle {
    /// The stream that functions whose name ends with `_spt` use for a null handle.
    pub(crate) fn or_per_thread(self) -> StreamHandle {
        if self.is_null() { Handle::new(RawStream::PER_THREAD.0) } else { self }
    }
}

impl Process {
    /// Returns a stream and its device. A default stream is that of the thread's current device.
    ///
    /// Fails with `CONTEXT_IS_DESTROYED`, as HIP does, if the stream does not exist.
    #[inline]
    pub(crate) fn stream(&self, handle: StreamHandle) -> HipResult<(DeviceId, RawStream)> {
        let raw = RawStream(handle.0);
        if raw.is_default() {
            return Ok((thread::device(), raw));
        }
        let device = STREAMS.with_recent(&RECENT, handle.0, |stream| stream.device);
        Ok((device.ok_or(Status::CONTEXT_IS_DESTROYED)?, raw))
    }

    /// Makes waiting for a blocking stream cover the earlier work of the null stream, as in HIP 5. From HIP 6 on, it does so
    /// only if the stream has later work of its own.
    fn join_null_stream(&self, stream: StreamHandle, device: DeviceId) -> HipResult {
        let raw = RawStream(stream.0);
        let blocking = STREAMS.with(stream.0, |stream| stream.flags & NON_BLOCKING == 0);
        if Version::current() != Version::Hip5 || !blocking.unwrap_or(raw == RawStream::PER_THREAD) {
            return Ok(());
        }
        let (_, event) = self.helper(device)?;
        let _helpers = lock_helpers();
        // SAFETY: the stream and the event are live and of one device.
        Ok(unsafe { self.driver.event_record(device, event, raw) }?)
    }

    /// Destroys the program's streams on a device.
    pub(crate) fn destroy_streams(&self, device: DeviceId) -> HipResult {
        for (raw, _) in STREAMS.remove_where(|stream| stream.device == device) {
            // SAFETY: the stream was live, and nobody finds it any more.
            unsafe { self.driver.stream_destroy(device, RawStream(raw)) }?;
        }
        Ok(())
    }
}

pub(crate) fn create(
    process: &Process,
    stream: Out<StreamHandle>,
    flags: u32,
    priority: Option<i32>,
    units: Option<Box<[u32]>>,
) -> HipResult {
    stream.check()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let device = thread::device();
    let priority = priority.map(|priority| priority.clamp(GREATEST, LEAST));
    let raw = process
        .driver
        .stream_create(device, StreamOptions { priority, blocking: flags & NON_BLOCKING == 0 })?;
    let attributes = Mutex::new(Attributes::new(priority.unwrap_or(0)));
    STREAMS.insert(raw.0, Stream { device, flags, attributes, units });
    stream.set(Handle::new(raw.0))
}

/// The stream has all compute units, and keeps the mask for [`hipExtStreamGetCUMask`].
pub(crate) fn hipExtStreamCreateWithCUMask(
    process: &Process,
    stream: Out<StreamHandle>,
    words: u32,
    mask: In<u32>,
) -> HipResult {
    if words == 0 || mask.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    create(process, stream, 0, None, Some(mask.array(words as usize)?.into()))
}

pub(crate) fn hipDeviceGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) -> HipResult {
    least.set_if_wanted(LEAST);
    greatest.set_if_wanted(GREATEST);
    Ok(())
}

pub(crate) fn hipStreamDestroy(process: &Process, stream: StreamHandle) -> HipResult {
    if RawStream(stream.0).is_default() {
        return Err(Status::INVALID_HANDLE);
    }
    let found = STREAMS.remove(stream.0).ok_or(Status::CONTEXT_IS_DESTROYED)?;
    process.forget_capture((found.device, RawStream(stream.0)))?;
    // SAFETY: the stream was live, and nobody finds it any more.
    Ok(unsafe { process.driver.stream_destroy(found.device, RawStream(stream.0)) }?)
}

pub(crate) fn hipStreamSynchronize(process: &Process, stream: StreamHandle) -> HipResult {
    let (device, raw) = process.stream(stream)?;
    process.may_observe_stream((device, raw))?;
    process.join_null_stream(stream, device)?;
    // SAFETY: the stream is live.
    unsafe { process.driver.stream_synchronize(device, raw) }?;
    process.pools().after_wait(process);
    Ok(())
}

pub(crate) fn hipStreamQuery(process: &Process, stream: StreamHandle) -> HipResult {
    let (device, raw) = process.stream(stream)?;
    process.may_observe_stream((device, raw))?;
    process.join_null_stream(stream, device)?;
    // SAFETY: the stream is live.
    let idle = unsafe { process.driver.stream_query(device, raw) }?;
    if idle { Ok(()) } else { Err(Status::NOT_READY) }
}

pub(crate) fn hipStreamWaitEvent(
    process: &Process,
    stream: StreamHandle,
    event: EventHandle,
    flags: u32,
) -> HipResult {
    if flags > EXTERNAL {
        return Err(Status::INVALID_VALUE);
    }
    if event.is_null() {
        return Err(Status::INVALID_HANDLE);
    }
    let (device, raw) = process.stream(stream)?;
    let found = EVENTS.expect(event.0, Status::INVALID_HANDLE)?;
    if flags == EXTERNAL && process.capture_external((device, raw), event, false)? {
        return Ok(());
    }
    if process.capture_wait((device, raw), &found)? {
        return Ok(());
    }
    // SAFETY: the stream and the event are live.
    Ok(unsafe { process.driver.stream_wait_event(device, raw, RawEvent(event.0)) }?)
}

pub(crate) fn hipStreamGetFlags(process: &Process, stream: StreamHandle, flags: Out<u32>) -> HipResult {
    flags.check()?;
    if stream.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    process.stream(stream)?;
    flags.set(STREAMS.with(stream.0, |stream| stream.flags).unwrap_or(0))
}

pub(crate) fn hipStreamGetPriority(process: &Process, stream: StreamHandle, priority: Out<i32>) -> HipResult {
    priority.check()?;
    process.stream(stream)?;
    priority.set(STREAMS.with(stream.0, |stream| stream.attributes().priority).unwrap_or(0))
}

pub(crate) fn hipStreamGetId(process: &Process, stream: StreamHandle, id: Out<u64>) -> HipResult {
    id.check()?;
    process.stream(stream)?;
    id.set(stream.0)
}

/// Returns the ordinal itself, and -1 for what is no stream. It is no `hipError_t`.
pub(crate) fn hipGetStreamDeviceId(stream: StreamHandle) -> i32 {
    let device = Process::get().and_then(|process| process.stream(stream));
    device.map_or(-1, |(device, _)| device.0 as i32)
}

pub(crate) fn hipExtStreamGetCUMask(
    process: &Process,
    stream: StreamHandle,
    words: u32,
    mask: Out<u32>,
) -> HipResult {
    mask.check()?;
    let (device, _) = process.stream(stream)?;
    let units = process.devices[device.0 as usize].properties.compute_units;
    if words < units.div_ceil(32) {
        return Err(Status::INVALID_VALUE);
    }
    let bits = |word: u32| match units.saturating_sub(32 * word) {
        left @ 0..32 => (1 << left) - 1,
        _ => u32::MAX,
    };
    let all = (0..units.div_ceil(32)).map(bits);
    // A mask without a compute unit of the device counts as none, as in clr.
    let chosen = STREAMS.with(stream.0, |stream| stream.units.clone()).flatten().unwrap_or_default();
    let chosen: Vec<u32> = chosen.iter().zip(all.clone()).map(|(chosen, all)| chosen & all).collect();
    if chosen.iter().any(|word| *word != 0) {
        mask.set_array(chosen, words as usize)
    } else {
        mask.set_array(all, words as usize)
    }
}
