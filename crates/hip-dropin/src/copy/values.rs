//! Operations on single values of memory, in stream order: waiting until memory has a value, and writing one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use hip_driver::{DeviceId, DevicePtr, Driver, StreamOptions, Work};

use crate::abi::{Address, HipResult, In, Status};
use crate::copy;
use crate::memory::allocations::Place;
use crate::process::Process;
use crate::stream::{StreamHandle, Target, callbacks};

/// How often a wait looks at the memory while it does not have the value.
const PAUSE: Duration = Duration::from_micros(50);

/// An operation on a value of 4 or 8 bytes.
#[derive(Clone, Copy)]
pub(crate) enum Operation {
    Wait { at: Address, wide: bool, condition: WaitCondition },
    Write { at: Address, wide: bool, value: u64 },
}

/// What a wait waits for.
#[derive(Clone, Copy)]
pub(crate) struct WaitCondition {
    value: u64,
    mask: u64,
    comparison: Comparison,
}

/// `hipStreamWaitValueGte` and the other flags.
#[derive(Clone, Copy)]
pub(crate) enum Comparison {
    AtLeast,
    Equal,
    AnyBit,
    NotAllBits,
}

impl WaitCondition {
    fn new(value: u64, mask: u64, flags: u32) -> HipResult<WaitCondition> {
        let comparison = match flags {
            0 => Comparison::AtLeast,
            1 => Comparison::Equal,
            2 => Comparison::AnyBit,
            3 => Comparison::NotAllBits,
            _ => return Err(Status::INVALID_VALUE),
        };
        Ok(WaitCondition { value, mask, comparison })
    }

    fn holds(&self, memory: u64) -> bool {
        let WaitCondition { value, mask, comparison } = *self;
        let seen = memory & mask;
        match comparison {
            Comparison::AtLeast => seen as i64 >= value as i64,
            Comparison::Equal => seen == value,
            Comparison::AnyBit => seen & value != 0,
            Comparison::NotAllBits => !(seen | value) & mask != 0,
        }
    }
}

impl Operation {
    /// Checks that the value is in memory that HIP knows.
    fn check(&self, process: &Process) -> HipResult {
        let (&Operation::Wait { at, wide, .. } | &Operation::Write { at, wide, .. }) = self;
        if at.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        match process.place(at, width(wide))? {
            Place::Pageable => Err(Status::INVALID_VALUE),
            Place::Pinned(_) | Place::Device(_) => Ok(()),
        }
    }

    fn enqueue(&self, process: &'static Process, stream: StreamHandle) -> HipResult {
        match *self {
            Operation::Write { at, wide, value } => {
                let bytes = &value.to_le_bytes()[..width(wide)];
                copy::from_bytes(process, at, bytes, Target::enqueue(stream).queue(process)?)
            }
            Operation::Wait { at, wide, condition } => {
                let (device, raw) = process.stream(stream)?;
                let place = process.place(at, width(wide))?;
                if let Some(validation) = &process.validation {
                    validation.waits_for_value(device, raw);
                }
                callbacks::enqueue(process, stream, move |_| match place {
                    Place::Device(of) => {
                        wait_for_device(process, [device, of], DevicePtr(at.0), wide, condition)
                    }
                    _ => wait_for_host(process, device, at, wide, condition),
                })
            }
        }
    }
}

fn width(wide: bool) -> usize {
    if wide { 8 } else { 4 }
}

/// Waits for memory of the host. Ends if the device of the stream is lost.
fn wait_for_host(process: &Process, device: DeviceId, at: Address, wide: bool, condition: WaitCondition) {
    let read = || {
        // SAFETY: the address was in a live pinned allocation, which the program keeps until the wait is over. Whoever
        // writes it meanwhile is another processor, as it were.
        unsafe {
            match wide {
                true => AtomicU64::from_ptr(at.host()).load(Ordering::Acquire),
                false => u64::from(AtomicU32::from_ptr(at.host()).load(Ordering::Acquire)),
            }
        }
    };
    while !condition.holds(read()) && process.unlayered.mem_info(device).is_ok() {
        thread::sleep(PAUSE);
    }
}

/// Waits for memory of the second device. Ends if the memory can't be read, or the first device, the stream's, is lost.
///
/// A host function can't call the driver, so another thread does, on a stream of its own that no layer sees: it reads while
/// others write, which is not a race here.
fn wait_for_device(
    process: &'static Process,
    [waiting, device]: [DeviceId; 2],
    at: DevicePtr,
    wide: bool,
    condition: WaitCondition,
) {
    let poll = move || -> Option<()> {
        let driver: &dyn Driver = &*process.unlayered;
        let stream =
            driver.stream_create(device, StreamOptions { blocking: false, ..Default::default() }).ok()?;
        let mut bytes = [0; 8];
        let read = |bytes: &mut [u8; 8]| {
            let work = Work::CopyToHost { dst: bytes.as_mut_ptr(), src: at, bytes: width(wide) };
            // SAFETY: the stream is live; `bytes` is large enough, and the copy is waited for.
            unsafe {
                driver.enqueue(device, stream, &work).and_then(|()| driver.stream_synchronize(device, stream))
            }
        };
        while read(&mut bytes).is_ok()
            && !condition.holds(u64::from_le_bytes(bytes))
            && driver.mem_info(waiting).is_ok()
        {
            thread::sleep(PAUSE);
        }
        // SAFETY: the stream is live and idle.
        unsafe { driver.stream_destroy(device, stream) }.ok()
    };
    if let Ok(reader) = thread::Builder::new().name("hip-wait-value".into()).spawn(poll) {
        // A panic was reported when it happened.
        drop(reader.join());
    }
}

/// Operations that are done one after the other.
#[derive(Clone)]
pub(crate) struct Operations {
    /// What the program passed, for its questions.
    pub(crate) params: Arc<[MemOpParams]>,
    done: Arc<[Operation]>,
}

/// `hipStreamBatchMemOpParams`: an operation, the address, the value and flags.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct MemOpParams {
    operation: i32,
    pub(crate) address: Address,
    value: u64,
    flags: u32,
    alias: Address,
    pad: u64,
}

// hipStreamBatchMemOpType.
const WAIT_32: i32 = 1;
const WRITE_32: i32 = 2;
const WAIT_64: i32 = 4;
const WRITE_64: i32 = 5;

/// The most operations of one call, as in CUDA.
const MOST: usize = 256;

impl Operations {
    /// Reads and checks operations.
    pub(crate) fn read(
        process: &Process,
        params: In<MemOpParams>,
        count: u32,
        flags: u32,
    ) -> HipResult<Operations> {
        if count == 0 || count as usize > MOST || flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let params = params.array(count as usize)?;
        let operation = |params: &MemOpParams| {
            let MemOpParams { operation, address: at, value, flags, .. } = *params;
            let low = value & 0xffff_ffff;
            Ok(match operation {
                WAIT_32 => Operation::Wait {
                    at,
                    wide: false,
                    condition: WaitCondition::new(low, 0xffff_ffff, flags)?,
                },
                WAIT_64 => {
                    Operation::Wait { at, wide: true, condition: WaitCondition::new(value, u64::MAX, flags)? }
                }
                WRITE_32 => Operation::Write { at, wide: false, value: low },
                WRITE_64 => Operation::Write { at, wide: true, value },
                _ => return Err(Status::INVALID_VALUE),
            })
        };
        let done = params.iter().map(operation).collect::<HipResult<Vec<Operation>>>()?;
        done.iter().try_for_each(|operation| operation.check(process))?;
        Ok(Operations { params: params.into(), done: done.into() })
    }

    /// Checks that the values are still in memory that HIP knows.
    pub(crate) fn check(&self, process: &Process) -> HipResult {
        self.done.iter().try_for_each(|operation| operation.check(process))
    }

    /// Enqueues the operations.
    pub(crate) fn enqueue(&self, process: &'static Process, stream: StreamHandle) -> HipResult {
        self.done.iter().try_for_each(|operation| operation.enqueue(process, stream))
    }
}

/// Enqueues one operation. HIP has no node of a graph for it.
pub(crate) fn enqueue(process: &'static Process, stream: StreamHandle, operation: Operation) -> HipResult {
    let on = process.stream(stream)?;
    operation.check(process)?;
    process.not_captured(on)?;
    operation.enqueue(process, stream)
}

pub(crate) fn hipStreamWaitValue32(
    process: &'static Process,
    stream: StreamHandle,
    at: Address,
    value: u32,
    flags: u32,
    mask: u32,
) -> HipResult {
    let condition = WaitCondition::new(value.into(), mask.into(), flags)?;
    enqueue(process, stream, Operation::Wait { at, wide: false, condition })
}

pub(crate) fn hipStreamWaitValue64(
    process: &'static Process,
    stream: StreamHandle,
    at: Address,
    value: u64,
    flags: u32,
    mask: u64,
) -> HipResult {
    let condition = WaitCondition::new(value, mask, flags)?;
    enqueue(process, stream, Operation::Wait { at, wide: true, condition })
}

pub(crate) fn hipStreamBatchMemOp(
    process: &'static Process,
    stream: StreamHandle,
    count: u32,
    params: In<MemOpParams>,
    flags: u32,
) -> HipResult {
    let on = process.stream(stream)?;
    let operations = Operations::read(process, params, count, flags)?;
    match process.capture_operations(on, &operations)? {
        true => Ok(()),
        false => operations.enqueue(process, stream),
    }
}
