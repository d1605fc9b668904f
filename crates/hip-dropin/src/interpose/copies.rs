//! Copies. Of a copy of rows with gaps, the layers see the first row: they know ranges, and the gaps may be others'.

use hip_driver::{Call, DeviceId, DevicePtr, Output, RawStream, Work};

use super::known::Place;
use super::{Forward, Interposed, wrappers};
use crate::abi::c_caller::{Address, In};
use crate::abi::status::Status;
use crate::abi::structs::{hip_Memcpy2D, hipMemcpy3DParms};
use crate::copy::{DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_DEVICE_NO_CU, DEVICE_TO_HOST, HOST_TO_DEVICE};
use crate::stream::StreamHandle;

/// The stream of a copy, and whether the call waits for it.
#[derive(Clone, Copy)]
pub(super) struct On {
    pub(super) stream: StreamHandle,
    pub(super) waits: bool,
}

/// A call that enqueues.
pub(super) fn on(stream: StreamHandle) -> On {
    On { stream, waits: false }
}

/// A call that waits, on the null stream.
pub(super) const BLOCKING: On = On { stream: StreamHandle::NULL, waits: true };

/// A call that waits, on the thread's own default stream.
pub(super) const BLOCKING_PER_THREAD: On =
    On { stream: StreamHandle::new(RawStream::PER_THREAD.0), waits: true };

/// The destination and the source of a copy, and its `hipMemcpyKind`.
pub(super) type Ends = (Address, Address, i32);

/// Two lengths in bytes or in rows.
type Pair = (usize, usize);

/// What a copy is for a driver, and its device; `None` for a copy between addresses that are in no known memory.
pub(super) fn work(
    over: &Interposed,
    (dst, src, kind): Ends,
    bytes: usize,
) -> Option<(Option<DeviceId>, Work<'static>)> {
    let (to, from) = (DevicePtr(dst.0), DevicePtr(src.0));
    let place = |address: Address, on_device: bool| match on_device {
        true => over.known.device_place(address.0),
        false => over.known.place(address.0),
    };
    let from_device = matches!(kind, DEVICE_TO_HOST | DEVICE_TO_DEVICE | DEVICE_TO_DEVICE_NO_CU);
    let to_device = matches!(kind, HOST_TO_DEVICE | DEVICE_TO_DEVICE | DEVICE_TO_DEVICE_NO_CU);
    Some(match (place(dst, to_device), place(src, from_device)) {
        (Place::Unknown, Place::Unknown) => return None,
        (Place::Device(device), Place::Unknown | Place::Pinned(_)) => {
            (Some(device), Work::CopyToDevice { dst: to, src: src.host(), bytes })
        }
        (Place::Pinned(dst), Place::Unknown) => (None, Work::CopyToDevice { dst, src: src.host(), bytes }),
        (Place::Unknown | Place::Pinned(_), Place::Device(device)) => {
            (Some(device), Work::CopyToHost { dst: dst.host(), src: from, bytes })
        }
        (Place::Unknown, Place::Pinned(src)) => (None, Work::CopyToHost { dst: dst.host(), src, bytes }),
        (Place::Pinned(dst), Place::Pinned(src)) => (None, Work::CopyWithin { dst, src, bytes }),
        (Place::Device(one), Place::Device(other)) if one == other => {
            (Some(one), Work::CopyWithin { dst: to, src: from, bytes })
        }
        (Place::Device(device), Place::Device(src_device)) => {
            (Some(device), Work::CopyFromPeer { dst: to, src_device, src: from, bytes })
        }
    })
}

/// Shows work of a device on a stream. Work that another device does on it is not shown.
pub(super) fn show(
    over: &Interposed,
    forward: Forward<'_>,
    device: Option<DeviceId>,
    work: &Work<'_>,
    on: On,
) -> Status {
    let (stream_device, stream) = over.stream(on.stream);
    let device = device.unwrap_or(stream_device);
    if device != stream_device || over.hides_work() {
        return forward();
    }
    let blocking = on.waits && stream == RawStream::NULL;
    let call = match work {
        Work::CopyToDevice { .. } | Work::CopyToHost { .. } if blocking => {
            Call::CopyBlocking { device, work }
        }
        _ => Call::Enqueue { device, stream, work },
    };
    let status = over.observe(&call, forward, || Output::None);
    if on.waits && status == Status::SUCCESS {
        over.tell(&Call::StreamSynchronize { device, stream }, Output::None);
    }
    status
}

/// A copy of bytes.
pub(super) fn copy(over: &Interposed, forward: Forward<'_>, ends: Ends, bytes: usize, on: On) -> Status {
    match work(over, ends, bytes) {
        Some((device, work)) if bytes > 0 && ends.0 != ends.1 => show(over, forward, device, &work, on),
        _ => forward(),
    }
}

/// A copy of rows: their length in bytes, their number, and the distances between them.
fn copy_rows(
    over: &Interposed,
    forward: Forward<'_>,
    ends: Ends,
    (width, rows): (usize, usize),
    (dst_pitch, src_pitch): (usize, usize),
    on: On,
) -> Status {
    let gapless = rows == 1 || (dst_pitch == width && src_pitch == width);
    let bytes = if gapless {
        width.saturating_mul(rows)
    } else if rows == 0 {
        0
    } else {
        width
    };
    copy(over, forward, ends, bytes, on)
}

/// A copy of a box. One of arrays is not shown.
fn copy_box(over: &Interposed, forward: Forward<'_>, params: In<hipMemcpy3DParms>, on: On) -> Status {
    let Some((ends, size, pitches)) = params.get().ok().and_then(|params| box_of(&params)) else {
        return forward();
    };
    copy_rows(over, forward, ends, size, pitches, on)
}

/// The addresses of a box's first bytes, its rows, and the distances between them; of several slices, the first. `None` for
/// arrays.
pub(super) fn box_of(params: &hipMemcpy3DParms) -> Option<(Ends, Pair, Pair)> {
    if params.srcArray != 0 || params.dstArray != 0 {
        return None;
    }
    let start = |ptr: &crate::abi::structs::hipPitchedPtr, pos: &crate::abi::structs::hipPos| {
        let rows = pos.z.wrapping_mul(ptr.ysize).wrapping_add(pos.y);
        ptr.ptr.offset(rows.wrapping_mul(ptr.pitch).wrapping_add(pos.x))
    };
    let (dst, src) = (start(&params.dstPtr, &params.dstPos), start(&params.srcPtr, &params.srcPos));
    let rows = if params.extent.depth == 0 { 0 } else { params.extent.height };
    Some(((dst, src, params.kind), (params.extent.width, rows), (params.dstPtr.pitch, params.srcPtr.pitch)))
}

/// `hipMemoryTypeArray`, before HIP 6 and from then on.
const ARRAYS: [i32; 2] = [2, 10];

fn copy_2d(over: &Interposed, forward: Forward<'_>, params: In<hip_Memcpy2D>, on: On) -> Status {
    let Ok(copy) = params.get() else { return forward() };
    if ARRAYS.contains(&copy.srcMemoryType)
        || ARRAYS.contains(&copy.dstMemoryType)
        || copy.srcArray != 0
        || copy.dstArray != 0
    {
        return forward();
    }
    // One of the two is set: that of the host, or that of the device.
    let start = |host: Address, device: Address| if device.is_null() { host } else { device };
    let dst = start(copy.dstHost, copy.dstDevice).offset(copy.dstY * copy.dstPitch + copy.dstXInBytes);
    let src = start(copy.srcHost, copy.srcDevice).offset(copy.srcY * copy.srcPitch + copy.srcXInBytes);
    copy_rows(
        over,
        forward,
        (dst, src, DEFAULT),
        (copy.WidthInBytes, copy.Height),
        (copy.dstPitch, copy.srcPitch),
        on,
    )
}

/// Which way a copy goes between a variable and other memory.
#[derive(Clone, Copy)]
enum Symbol {
    To(Address),
    From(Address),
}

fn copy_symbol(
    over: &Interposed,
    forward: Forward<'_>,
    symbol: Symbol,
    other: Address,
    (bytes, offset, kind): (usize, usize, i32),
    on: On,
) -> Status {
    let (Symbol::To(name) | Symbol::From(name)) = symbol;
    // What goes past the end of a variable, AMD's library refuses.
    let inside = |size: usize| offset.checked_add(bytes).is_some_and(|end| end <= size);
    let Some((start, _)) = over.variable(name).filter(|(_, size)| inside(*size)) else { return forward() };
    let variable = start.offset(offset);
    match symbol {
        Symbol::To(_) => copy(over, forward, (variable, other, kind), bytes, on),
        Symbol::From(_) => copy(over, forward, (other, variable, kind), bytes, on),
    }
}

wrappers! {
    hipMemcpy(dst: Address, src: Address, bytes: usize, kind: i32) = |over, forward| {
        copy(over, forward, (dst, src, kind), bytes, BLOCKING)
    };
    hipMemcpy_spt(dst: Address, src: Address, bytes: usize, kind: i32) = |over, forward| {
        copy(over, forward, (dst, src, kind), bytes, BLOCKING_PER_THREAD)
    };
    hipMemcpyWithStream(dst: Address, src: Address, bytes: usize, kind: i32, stream: StreamHandle) = |over, forward| {
        copy(over, forward, (dst, src, kind), bytes, On { stream, waits: true })
    };
    hipMemcpyAsync(dst: Address, src: Address, bytes: usize, kind: i32, stream: StreamHandle) = |over, forward| {
        copy(over, forward, (dst, src, kind), bytes, on(stream))
    };
    hipMemcpyAsync_spt(dst: Address, src: Address, bytes: usize, kind: i32, stream: StreamHandle) = |over, forward| {
        copy(over, forward, (dst, src, kind), bytes, on(stream.or_per_thread()))
    };
    hipMemcpyHtoD(dst: Address, src: Address, bytes: usize) = |over, forward| {
        copy(over, forward, (dst, src, HOST_TO_DEVICE), bytes, BLOCKING)
    };
    hipMemcpyDtoH(dst: Address, src: Address, bytes: usize) = |over, forward| {
        copy(over, forward, (dst, src, DEVICE_TO_HOST), bytes, BLOCKING)
    };
    hipMemcpyDtoD(dst: Address, src: Address, bytes: usize) = |over, forward| {
        copy(over, forward, (dst, src, DEVICE_TO_DEVICE), bytes, BLOCKING)
    };
    hipMemcpyHtoDAsync(dst: Address, src: Address, bytes: usize, stream: StreamHandle) = |over, forward| {
        copy(over, forward, (dst, src, HOST_TO_DEVICE), bytes, on(stream))
    };
    hipMemcpyDtoHAsync(dst: Address, src: Address, bytes: usize, stream: StreamHandle) = |over, forward| {
        copy(over, forward, (dst, src, DEVICE_TO_HOST), bytes, on(stream))
    };
    hipMemcpyDtoDAsync(dst: Address, src: Address, bytes: usize, stream: StreamHandle) = |over, forward| {
        copy(over, forward, (dst, src, DEVICE_TO_DEVICE), bytes, on(stream))
    };
    hipMemcpyPeer(dst: Address, _dst_device: i32, src: Address, _src_device: i32, bytes: usize) = |over, forward| {
        copy(over, forward, (dst, src, DEVICE_TO_DEVICE), bytes, BLOCKING)
    };
    hipMemcpyPeerAsync(
        dst: Address, _dst_device: i32, src: Address, _src_device: i32, bytes: usize, stream: StreamHandle,
    ) = |over, forward| copy(over, forward, (dst, src, DEVICE_TO_DEVICE), bytes, on(stream));
    hipMemcpy2D(
        dst: Address, dst_pitch: usize, src: Address, src_pitch: usize, width: usize, height: usize, kind: i32,
    ) = |over, forward| copy_rows(over, forward, (dst, src, kind), (width, height), (dst_pitch, src_pitch), BLOCKING);
    hipMemcpy2D_spt(
        dst: Address, dst_pitch: usize, src: Address, src_pitch: usize, width: usize, height: usize, kind: i32,
    ) = |over, forward| {
        copy_rows(over, forward, (dst, src, kind), (width, height), (dst_pitch, src_pitch), BLOCKING_PER_THREAD)
    };
    hipMemcpy2DAsync(
        dst: Address, dst_pitch: usize, src: Address, src_pitch: usize, width: usize, height: usize, kind: i32,
        stream: StreamHandle,
    ) = |over, forward| copy_rows(over, forward, (dst, src, kind), (width, height), (dst_pitch, src_pitch), on(stream));
    hipMemcpy2DAsync_spt(
        dst: Address, dst_pitch: usize, src: Address, src_pitch: usize, width: usize, height: usize, kind: i32,
        stream: StreamHandle,
    ) = |over, forward| {
        copy_rows(over, forward, (dst, src, kind), (width, height), (dst_pitch, src_pitch), on(stream.or_per_thread()))
    };
    hipMemcpyParam2D(params: In<hip_Memcpy2D>) = |over, forward| copy_2d(over, forward, params, BLOCKING);
    hipMemcpyParam2DAsync(params: In<hip_Memcpy2D>, stream: StreamHandle) = |over, forward| {
        copy_2d(over, forward, params, on(stream))
    };
    hipMemcpy3D(params: In<hipMemcpy3DParms>) = |over, forward| copy_box(over, forward, params, BLOCKING);
    hipMemcpy3D_spt(params: In<hipMemcpy3DParms>) = |over, forward| {
        copy_box(over, forward, params, BLOCKING_PER_THREAD)
    };
    hipMemcpy3DAsync(params: In<hipMemcpy3DParms>, stream: StreamHandle) = |over, forward| {
        copy_box(over, forward, params, on(stream))
    };
    hipMemcpy3DAsync_spt(params: In<hipMemcpy3DParms>, stream: StreamHandle) = |over, forward| {
        copy_box(over, forward, params, on(stream.or_per_thread()))
    };
    hipMemcpyToSymbol(symbol: Address, src: Address, bytes: usize, offset: usize, kind: i32) = |over, forward| {
        copy_symbol(over, forward, Symbol::To(symbol), src, (bytes, offset, kind), BLOCKING)
    };
    hipMemcpyToSymbol_spt(symbol: Address, src: Address, bytes: usize, offset: usize, kind: i32) = |over, forward| {
        copy_symbol(over, forward, Symbol::To(symbol), src, (bytes, offset, kind), BLOCKING_PER_THREAD)
    };
    hipMemcpyToSymbolAsync(
        symbol: Address, src: Address, bytes: usize, offset: usize, kind: i32, stream: StreamHandle,
    ) = |over, forward| copy_symbol(over, forward, Symbol::To(symbol), src, (bytes, offset, kind), on(stream));
    hipMemcpyToSymbolAsync_spt(
        symbol: Address, src: Address, bytes: usize, offset: usize, kind: i32, stream: StreamHandle,
    ) = |over, forward| {
        copy_symbol(over, forward, Symbol::To(symbol), src, (bytes, offset, kind), on(stream.or_per_thread()))
    };
    hipMemcpyFromSymbol(dst: Address, symbol: Address, bytes: usize, offset: usize, kind: i32) = |over, forward| {
        copy_symbol(over, forward, Symbol::From(symbol), dst, (bytes, offset, kind), BLOCKING)
    };
    hipMemcpyFromSymbol_spt(dst: Address, symbol: Address, bytes: usize, offset: usize, kind: i32) = |over, forward| {
        copy_symbol(over, forward, Symbol::From(symbol), dst, (bytes, offset, kind), BLOCKING_PER_THREAD)
    };
    hipMemcpyFromSymbolAsync(
        dst: Address, symbol: Address, bytes: usize, offset: usize, kind: i32, stream: StreamHandle,
    ) = |over, forward| copy_symbol(over, forward, Symbol::From(symbol), dst, (bytes, offset, kind), on(stream));
    hipMemcpyFromSymbolAsync_spt(
        dst: Address, symbol: Address, bytes: usize, offset: usize, kind: i32, stream: StreamHandle,
    ) = |over, forward| {
        copy_symbol(over, forward, Symbol::From(symbol), dst, (bytes, offset, kind), on(stream.or_per_thread()))
    };
}
