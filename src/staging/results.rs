//! Pinned host memory for results: result buffers with an event each, used again once they were read or abandoned.

use std::collections::VecDeque;
use std::ptr::NonNull;

use smallvec::SmallVec;

use crate::device::Device;
use crate::driver_stream::DriverStream;
use hip_driver::{DevicePtr, EventOptions, RawEvent};

use super::LockedFailure;
use super::pinned::Pinned;
use super::returned::{Returnable, ReturnedList};

/// The size of the smallest result buffer in bytes: a cache line.
const MIN_SLOT: usize = 64;
/// One allocation holds up to 16 small result buffers, and at most a sixteenth of this number of bytes.
const CHUNK: usize = 64 * 1024;
/// The number of abandoned result buffers of one size that may be in flight before a launch waits for the oldest of
/// them.
const MAX_ABANDONED: usize = 1024;

/// The offset and length in bytes of each output in a result buffer.
pub(crate) type Spans = SmallVec<[(u32, u32); 4]>;

/// Pinned memory for the results of one ticket, and the event that says when they are complete.
#[derive(Debug)]
pub(crate) struct ResultMemory {
    pub(crate) host: NonNull<u8>,
    pub(crate) device: DevicePtr,
    pub(crate) event: RawEvent,
    /// Where the ticket's outputs lie.
    pub(crate) spans: Spans,
    /// The position of the work that fills it; 0 if nothing does.
    position: u64,
    class: u8,
}

// SAFETY: a description of memory that [`ResultBuffers`] owns; the holder of the result buffer is its only user.
unsafe impl Send for ResultMemory {}
// SAFETY: nothing of the memory is accessible through a shared reference without unsafe code, whose writer answers for it.
unsafe impl Sync for ResultMemory {}

/// A result buffer, which belongs to a launch, then to its ticket and output, and then to its stream again.
pub(crate) type ResultBuffer = Box<Returnable<ResultMemory>>;

/// The result buffers that tickets and outputs of a stream have returned, from any thread, until a launch takes them.
#[derive(Debug)]
pub(crate) struct ReturnedResults(ReturnedList<ResultMemory>);

impl ReturnedResults {
    pub(crate) fn new() -> ReturnedResults {
        ReturnedResults(ReturnedList::new())
    }

    /// Returns a result buffer that work at `position` may still fill. Its event was recorded after that work,
    /// or is deferred.
    #[inline]
    pub(crate) fn add(&self, mut buffer: ResultBuffer, position: u64) {
        buffer.value.position = position;
        self.0.add(buffer);
    }
}

#[derive(Debug, Default)]
struct SizeClass {
    free: Vec<ResultBuffer>,
    /// Buffers that were returned before their results were complete, oldest first.
    abandoned: VecDeque<ResultBuffer>,
}

/// The result buffers of one stream that are not in use. Their sizes are powers of two.
#[derive(Debug)]
pub(crate) struct ResultBuffers {
    device: Device,
    classes: Vec<SizeClass>,
    chunks: Vec<Pinned>,
    events: Vec<RawEvent>,
}

#[inline]
fn class_of(bytes: usize) -> u8 {
    (bytes.max(MIN_SLOT).next_power_of_two().trailing_zeros() - MIN_SLOT.trailing_zeros()) as u8
}

impl ResultBuffers {
    /// Creates none yet: they are allocated when they are first needed.
    pub(crate) fn new(device: &Device) -> ResultBuffers {
        ResultBuffers { device: device.clone(), classes: Vec::new(), chunks: Vec::new(), events: Vec::new() }
    }

    /// Takes a result buffer of at least `bytes` bytes, without outputs. `returned` are those of the same stream.
    #[inline]
    pub(crate) fn take(
        &mut self,
        stream: &DriverStream,
        returned: &ReturnedResults,
        bytes: usize,
    ) -> Result<ResultBuffer, LockedFailure> {
        let class = class_of(bytes);
        let mut buffer = match self.classes.get_mut(usize::from(class)).and_then(|c| c.free.pop()) {
            Some(buffer) => buffer,
            None => self.take_slow(stream, returned, class)?,
        };
        buffer.value.spans.clear();
        Ok(buffer)
    }

    #[cold]
    fn take_slow(
        &mut self,
        stream: &DriverStream,
        returned: &ReturnedResults,
        class: u8,
    ) -> Result<ResultBuffer, LockedFailure> {
        let index = usize::from(class);
        if self.classes.len() <= index {
            self.classes.resize_with(index + 1, SizeClass::default);
        }
        self.collect(stream, returned);
        if let Some(buffer) = self.classes[index].free.pop() {
            return Ok(buffer);
        }
        self.reclaim(stream, index, false)?;
        if self.classes[index].free.is_empty() && self.classes[index].abandoned.len() >= MAX_ABANDONED {
            self.reclaim(stream, index, true)?;
        }
        if self.classes[index].free.is_empty()
            && let Err(e) = self.allocate(class)
        {
            // Waiting is better than failing.
            self.reclaim(stream, index, true)?;
            if self.classes[index].free.is_empty() {
                return Err(e);
            }
        }
        match self.classes[index].free.pop() {
            Some(buffer) => Ok(buffer),
            None => {
                Err(hip_driver::DriverError::new("hipHostMalloc", hip_driver::ErrorCode::OUT_OF_MEMORY)
                    .into())
            }
        }
    }

    /// Makes abandoned buffers free whose results are complete. With `wait`, waits for the oldest one.
    fn reclaim(&mut self, stream: &DriverStream, class: usize, wait: bool) -> Result<(), LockedFailure> {
        let class = &mut self.classes[class];
        let mut waited = !wait;
        while let Some(oldest) = class.abandoned.front() {
            let (position, event) = (oldest.value.position, oldest.value.event);
            if !waited {
                stream.wait_for(position, event)?;
                waited = true;
            } else if !stream.reached(position, event)? {
                break;
            }
            class.free.extend(class.abandoned.pop_front());
        }
        Ok(())
    }

    fn allocate(&mut self, class: u8) -> Result<(), LockedFailure> {
        let device = &self.device;
        let bytes = MIN_SLOT << class;
        // Only a few: a stream that reads each result before the next launch needs one.
        let count = (CHUNK / 16 / bytes).clamp(1, 16);
        let chunk = Pinned::new(device, bytes * count)?;
        let memory = chunk.get();
        self.chunks.push(chunk);
        for i in 0..count {
            let event = match device.raw().event_create(device.id(), EventOptions::default()) {
                Ok(event) => event,
                Err(_) if i > 0 => break,
                Err(e) => return Err(e.into()),
            };
            self.events.push(event);
            // SAFETY: `i < count`, and the chunk is `count` result buffers long.
            let host = unsafe { memory.host.add(i * bytes) };
            let device = memory.device.offset((i * bytes) as u64);
            let memory = ResultMemory { host, device, event, spans: Spans::new(), position: 0, class };
            self.classes[usize::from(class)].free.push(Returnable::new(memory));
        }
        // Reserves space for every buffer in both lists, so that none of them grows later.
        let class = &mut self.classes[usize::from(class)];
        let total = self.events.len();
        class.free.reserve(total);
        class.abandoned.reserve(total.min(2 * MAX_ABANDONED));
        Ok(())
    }

    /// Takes back what tickets and outputs have returned.
    fn collect(&mut self, stream: &DriverStream, returned: &ReturnedResults) {
        let completed = stream.progress.completed();
        returned.0.take_all(|buffer| {
            let Some(class) = self.classes.get_mut(usize::from(buffer.value.class)) else { return };
            if buffer.value.position <= completed {
                class.free.push(buffer);
            } else {
                class.abandoned.push_back(buffer);
            }
        });
    }

    /// Takes a result buffer back from a submission that failed. The work at position `filled_by`, whose event is
    /// deferred, may still fill it; without one, nothing uses it.
    pub(crate) fn give_back(&mut self, mut buffer: ResultBuffer, filled_by: Option<u64>) {
        let Some(class) = self.classes.get_mut(usize::from(buffer.value.class)) else { return };
        match filled_by {
            Some(position) => {
                buffer.value.position = position;
                class.abandoned.push_back(buffer);
            }
            None => class.free.push(buffer),
        }
    }

    /// Frees everything. The stream must be idle, and no ticket left.
    pub(crate) fn clear(&mut self) {
        let device = &self.device;
        self.classes.clear();
        for event in self.events.drain(..) {
            // SAFETY: an event of these result buffers; no ticket is left that could wait for it.
            if let Err(e) = unsafe { device.raw().event_destroy(device.id(), event) } {
                log::warn!("destroying an event of {}: {e}", device.id());
            }
        }
        self.chunks.clear();
    }

    /// The number of bytes of pinned memory held.
    pub(crate) fn held(&self) -> usize {
        self.chunks.iter().map(Pinned::bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two_from_a_cache_line() {
        assert_eq!([0, 1, 64].map(class_of), [0, 0, 0]);
        assert_eq!([65, 128, 129, 1 << 20].map(class_of), [1, 1, 2, 14]);
        for bytes in 1..5000 {
            let size = MIN_SLOT << class_of(bytes);
            assert!(size >= bytes && (size == MIN_SLOT || size < 2 * bytes));
        }
    }
}
