//! Operations on single values of memory, in stream order: waiting until memory has a value, and writing one.

use std::sync::Arc;

use hip_driver::{Comparison, DevicePtr, ValueWidth, WaitCondition, Work};

use crate::abi::{Address, HipResult, In, Status};
use crate::memory::allocations::Place;
use crate::process::Process;
use crate::stream::{Queue, StreamHandle, Target};

/// An operation on a value.
#[derive(Clone, Copy)]
pub(crate) struct Operation {
    at: Address,
    width: ValueWidth,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Wait(WaitCondition),
    Write(u64),
}

/// The condition of `hipStreamWaitValueGte` and the other flags.
fn condition(value: u64, mask: u64, flags: u32) -> HipResult<WaitCondition> {
    let comparison = Comparison::from_flags(flags).ok_or(Status::INVALID_VALUE)?;
    Ok(WaitCondition { comparison, value, mask })
}

impl Operation {
    pub(crate) fn write(at: Address, width: ValueWidth, value: u64) -> Operation {
        Operation { at, width, what: What::Write(value) }
    }

    fn wait(at: Address, width: ValueWidth, condition: WaitCondition) -> Operation {
        Operation { at, width, what: What::Wait(condition) }
    }

    /// Returns the value's place in memory that HIP knows.
    fn place(&self, process: &Process) -> HipResult<Place> {
        if self.at.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        match process.place(self.at, self.width.bytes())? {
            Place::Pageable => Err(Status::INVALID_VALUE),
            place => Ok(place),
        }
    }

    fn enqueue(&self, process: &Process, queue: Queue) -> HipResult {
        let (device, ptr) = match self.place(process)? {
            Place::Pinned(ptr) => (queue.device, ptr),
            Place::Device(device) => (device, DevicePtr(self.at.0)),
            Place::Pageable => return Err(Status::INVALID_VALUE),
        };
        let width = self.width;
        match self.what {
            What::Write(value) => {
                process.enqueue_on(device, queue, &Work::WriteValue { dst: ptr, width, value })
            }
            // It never goes through a stream of the other device, where other work would wait with it.
            What::Wait(condition) => {
                process.enqueue_on(queue.device, queue, &Work::WaitValue { src: ptr, width, condition })
            }
        }
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
            use ValueWidth::{Bits32, Bits64};
            let MemOpParams { operation, address: at, value, flags, .. } = *params;
            Ok(match operation {
                WAIT_32 => Operation::wait(at, Bits32, condition(value, u64::MAX, flags)?),
                WAIT_64 => Operation::wait(at, Bits64, condition(value, u64::MAX, flags)?),
                WRITE_32 => Operation::write(at, Bits32, value),
                WRITE_64 => Operation::write(at, Bits64, value),
                _ => return Err(Status::INVALID_VALUE),
            })
        };
        let done = params.iter().map(operation).collect::<HipResult<Vec<Operation>>>()?;
        done.iter().try_for_each(|operation| operation.place(process).map(drop))?;
        Ok(Operations { params: params.into(), done: done.into() })
    }

    /// Checks that the values are still in memory that HIP knows.
    pub(crate) fn check(&self, process: &Process) -> HipResult {
        self.done.iter().try_for_each(|operation| operation.place(process).map(drop))
    }

    /// Enqueues the operations.
    pub(crate) fn enqueue(&self, process: &Process, stream: StreamHandle) -> HipResult {
        let queue = Target::enqueue(stream).queue(process)?;
        self.done.iter().try_for_each(|operation| operation.enqueue(process, queue))
    }
}

/// Enqueues one operation. HIP has no node of a graph for it.
pub(crate) fn enqueue(process: &Process, stream: StreamHandle, operation: Operation) -> HipResult {
    let queue = Target::enqueue(stream).queue(process)?;
    operation.place(process)?;
    process.not_captured((queue.device, queue.stream))?;
    operation.enqueue(process, queue)
}

pub(crate) fn hipStreamWaitValue32(
    process: &Process,
    stream: StreamHandle,
    at: Address,
    value: u32,
    flags: u32,
    mask: u32,
) -> HipResult {
    let condition = condition(value.into(), mask.into(), flags)?;
    enqueue(process, stream, Operation::wait(at, ValueWidth::Bits32, condition))
}

pub(crate) fn hipStreamWaitValue64(
    process: &Process,
    stream: StreamHandle,
    at: Address,
    value: u64,
    flags: u32,
    mask: u64,
) -> HipResult {
    enqueue(process, stream, Operation::wait(at, ValueWidth::Bits64, condition(value, mask, flags)?))
}

pub(crate) fn hipStreamBatchMemOp(
    process: &Process,
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
