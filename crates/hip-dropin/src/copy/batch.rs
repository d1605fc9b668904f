//! Several copies with one call, and copies of boxes between devices.

use crate::abi::{
    Address, Array, HipResult, In, Out, Status, hipExtent, hipMemLocation, hipMemcpy3DParms, hipPitchedPtr,
    hipPos,
};
use crate::copy::arrays;
use crate::copy::boxes::{BoxCopy, Side, from_parms};
use crate::copy::{DEFAULT, copy};
use crate::memory::array;
use crate::process::Process;
use crate::stream::{Queue, StreamHandle, Target};

/// `hipMemcpySrcAccessOrderDuringApiCall`: the sources have been read when the call returns.
const DURING_CALL: i32 = 2;

/// Checks a `hipMemcpySrcAccessOrder`: stream, during the call, any.
fn check_access_order(number: i32) -> HipResult {
    if (1..=3).contains(&number) { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

/// `hipMemcpyAttributes`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CopyAttributes {
    access_order: i32,
    src: hipMemLocation,
    dst: hipMemLocation,
    flags: u32,
}

/// Runs the copies one after the other. `failed` gets the number of the first that fails.
fn each(count: usize, failed: Out<usize>, mut copy: impl FnMut(usize) -> HipResult) -> HipResult {
    (0..count).try_for_each(|index| copy(index).inspect_err(|_| failed.set_if_wanted(index)))
}

/// Enqueues copies of ranges: destinations, sources and lengths.
pub(crate) fn copy_batch(
    process: &Process,
    (dsts, srcs, bytes): (In<Address>, In<Address>, In<usize>),
    count: usize,
    (attributes, attribute_count): (In<CopyAttributes>, usize),
    failed: Out<usize>,
    stream: StreamHandle,
) -> HipResult {
    if count == 0 || attribute_count > count {
        return Err(Status::INVALID_VALUE);
    }
    let (dsts, srcs, bytes) = (dsts.array(count)?, srcs.array(count)?, bytes.array(count)?);
    let attributes = attributes.array(attribute_count)?;
    attributes.iter().try_for_each(|attribute| check_access_order(attribute.access_order))?;
    let queue = Target::enqueue(stream).queue(process)?;
    each(count, failed, |i| copy(process, dsts[i], srcs[i], bytes[i], DEFAULT, queue))?;
    let during_call = attributes.iter().any(|attribute| attribute.access_order == DURING_CALL);
    Queue { waits: during_call, ..queue }.finish(process)
}

/// `hipMemcpy3DOperand`: a pointer, or an array with an offset in `pitch`, `rows` and `location`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Operand {
    /// `hipMemcpy3DOperandType`: 1 for a pointer, 2 for an array.
    kind: i32,
    start: Address,
    /// The distance of two rows in bytes; 0 if there are no gaps.
    pitch: usize,
    /// The distance of two slices in rows; 0 if there are no gaps.
    rows: usize,
    location: hipMemLocation,
}

/// `hipMemcpy3DBatchOp`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct BoxOperation {
    src: Operand,
    dst: Operand,
    extent: hipExtent,
    access_order: i32,
    flags: u32,
}

fn box_copy(operation: &BoxOperation) -> HipResult<BoxCopy> {
    check_access_order(operation.access_order)?;
    let hipExtent { width, height, depth } = operation.extent;
    // A width is in elements of an array, and in bytes without one.
    let mut bytes = 1;
    for operand in [&operation.src, &operation.dst] {
        bytes = match operand.kind {
            1 => bytes,
            2 => array::array(operand.start.0)?.format.bytes() as usize,
            _ => return Err(Status::INVALID_VALUE),
        };
    }
    let in_bytes = |elements: usize| elements.checked_mul(bytes).ok_or(Status::INVALID_VALUE);
    let width = in_bytes(width)?;
    let side = |operand: &Operand| {
        if operand.kind == 2 {
            let hipMemLocation { r#type: low, id: high } = operand.location;
            let z = low as u32 as usize | (high as u32 as usize) << 32;
            let position = [in_bytes(operand.pitch)?, operand.rows, z];
            return arrays::side(operand.start.0, position, [width, height, depth]);
        }
        let pitch = if operand.pitch == 0 { width } else { operand.pitch };
        let rows = if operand.rows == 0 { height } else { operand.rows };
        Ok::<_, Status>(Side { start: operand.start, pitch, slice: pitch.saturating_mul(rows) })
    };
    let (dst, src) = (side(&operation.dst)?, side(&operation.src)?);
    Ok(BoxCopy { dst, src, width, height, depth, kind: DEFAULT })
}

pub(crate) fn hipMemcpy3DBatchAsync(
    process: &Process,
    count: usize,
    operations: In<BoxOperation>,
    failed: Out<usize>,
    flags: u64,
    stream: StreamHandle,
) -> HipResult {
    if count == 0 || flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let operations = operations.array(count)?;
    let queue = Target::enqueue(stream).queue(process)?;
    each(count, failed, |i| box_copy(&operations[i])?.run(process, queue))?;
    let during_call = operations.iter().any(|operation| operation.access_order == DURING_CALL);
    Queue { waits: during_call, ..queue }.finish(process)
}

/// `hipMemcpy3DPeerParms`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PeerParms {
    src_array: Array,
    src_position: hipPos,
    src: hipPitchedPtr,
    src_device: i32,
    dst_array: Array,
    dst_position: hipPos,
    dst: hipPitchedPtr,
    dst_device: i32,
    extent: hipExtent,
}

pub(crate) fn between_devices(process: &Process, parms: In<PeerParms>) -> HipResult<BoxCopy> {
    let parms = parms.get()?;
    process.device(parms.src_device)?;
    process.device(parms.dst_device)?;
    from_parms(&hipMemcpy3DParms {
        srcArray: parms.src_array,
        srcPos: parms.src_position,
        srcPtr: parms.src,
        dstArray: parms.dst_array,
        dstPos: parms.dst_position,
        dstPtr: parms.dst,
        extent: parms.extent,
        kind: DEFAULT,
    })
}

pub(crate) fn hipMemcpy3DPeerAsync(
    process: &Process,
    parms: In<PeerParms>,
    stream: StreamHandle,
) -> HipResult {
    let queue = Target::enqueue(stream).queue(process)?;
    between_devices(process, parms)?.run(process, queue)
}
