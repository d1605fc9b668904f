//! Copies: from where to where an address pair leads, and what the driver is to do for it.

pub(crate) mod batch;
pub(crate) mod boxes;
pub(crate) mod bytes;
pub(crate) mod fill;
pub(crate) mod symbols;
pub(crate) mod values;

use hip_driver::{DeviceId, DevicePtr, RawStream, Work};

use crate::abi::c_caller::Address;
use crate::abi::status::{HipResult, Status};
use crate::copy::boxes::{BoxCopy, Side};
use crate::memory::allocations::Place;
use crate::process::Process;
use crate::stream::target::Target;

// hipMemcpyKind.
pub(crate) const HOST_TO_HOST: i32 = 0;
pub(crate) const HOST_TO_DEVICE: i32 = 1;
pub(crate) const DEVICE_TO_HOST: i32 = 2;
pub(crate) const DEVICE_TO_DEVICE: i32 = 3;
pub(crate) const DEFAULT: i32 = 4;
pub(crate) const DEVICE_TO_DEVICE_NO_CU: i32 = 1024;

/// Checks a `hipMemcpyKind`.
pub(crate) fn check_kind(kind: i32) -> HipResult {
    match kind {
        HOST_TO_HOST..=DEFAULT | DEVICE_TO_DEVICE_NO_CU => Ok(()),
        _ => Err(Status::INVALID_MEMCPY_DIRECTION),
    }
}

/// Copies bytes. The direction follows from the addresses; the kind only has to be possible, as in clr.
pub(crate) fn copy(
    process: &Process,
    dst: Address,
    src: Address,
    bytes: usize,
    kind: i32,
    target: Target,
) -> HipResult {
    check_kind(kind)?;
    if bytes == 0 {
        return Ok(());
    }
    if dst.is_null() || src.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    if dst == src {
        return target.finish(process);
    }
    let pair = Pair::of(process, dst, src, bytes)?;
    if let (Route::OnHost, false) = (pair.route, matches!(kind, HOST_TO_HOST | DEFAULT)) {
        return Err(Status::INVALID_VALUE);
    }
    let side = |start| Side { start, pitch: bytes, slice: bytes };
    let row = BoxCopy { dst: side(dst), src: side(src), width: bytes, height: 1, depth: 1, kind };
    if process.capture_copy(target, &row)? {
        return Ok(());
    }
    if let (Some(work), true) = (pair.blocking_work(bytes), target.waits && target.stream == RawStream::NULL)
    {
        let device = pair.device(target);
        if device == target.device {
            // SAFETY: as for `enqueue` below.
            return Ok(unsafe { process.driver.copy_blocking(device, &work) }?);
        }
    }
    pair.begin(process, target)?;
    pair.enqueue(process, bytes, target)?;
    target.finish_on(process, pair.devices(target))
}

/// Copies bytes of this library to memory of the program. They have been read when this returns.
pub(crate) fn from_bytes(process: &Process, dst: Address, bytes: &[u8], target: Target) -> HipResult {
    process.not_captured((target.device, target.stream))?;
    let src = Address(bytes.as_ptr().expose_provenance() as u64);
    let pair = Pair::of(process, dst, src, bytes.len())?;
    pair.enqueue(process, bytes.len(), target)?;
    target.finish_on(process, pair.devices(target))
}

/// The two addresses of a copy, and the way between them.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    dst: Address,
    src: Address,
    pub(crate) route: Route,
}

/// The way of a copy. Addresses of pinned memory are given as devices see them.
#[derive(Clone, Copy)]
pub(crate) enum Route {
    /// Between memory that no device can access.
    OnHost,
    /// To memory that the devices can access; to this device's own, unless it is pinned.
    ToDevice(Option<DeviceId>, DevicePtr),
    ToHost(Option<DeviceId>, DevicePtr),
    Within(Option<DeviceId>, DevicePtr, DevicePtr),
    /// From the second device to the first.
    Peer(DeviceId, DeviceId),
}

impl Pair {
    pub(crate) fn of(process: &Process, dst: Address, src: Address, bytes: usize) -> HipResult<Pair> {
        use Place::{Device, Pageable, Pinned};
        let route = match (process.accessed_place(dst, bytes)?, process.accessed_place(src, bytes)?) {
            (Pageable, Pageable) => Route::OnHost,
            (Device(device), Pageable | Pinned(_)) => Route::ToDevice(Some(device), DevicePtr(dst.0)),
            (Pinned(to), Pageable) => Route::ToDevice(None, to),
            (Pageable | Pinned(_), Device(device)) => Route::ToHost(Some(device), DevicePtr(src.0)),
            (Pageable, Pinned(from)) => Route::ToHost(None, from),
            (Pinned(to), Pinned(from)) => Route::Within(None, to, from),
            (Device(to), Device(from)) if to == from => {
                Route::Within(Some(to), DevicePtr(dst.0), DevicePtr(src.0))
            }
            (Device(to), Device(from)) => Route::Peer(to, from),
        };
        Ok(Pair { dst, src, route })
    }

    /// The device that does the copy.
    fn device(&self, target: Target) -> DeviceId {
        match self.route {
            Route::OnHost => target.device,
            Route::ToDevice(device, _) | Route::ToHost(device, _) | Route::Within(device, ..) => {
                device.unwrap_or(target.device)
            }
            Route::Peer(to, _) => to,
        }
    }

    /// The devices whose memory is copied.
    pub(crate) fn devices(&self, target: Target) -> [DeviceId; 2] {
        let device = self.device(target);
        [device, if let Route::Peer(_, from) = self.route { from } else { device }]
    }

    /// Before a copy that the call waits for: a copy between devices comes after the work of both, as CUDA's documentation
    /// of `cudaMemcpyPeer` has it.
    pub(crate) fn begin(&self, process: &Process, target: Target) -> HipResult {
        match self.route {
            Route::Peer(_, from) if target.waits && from != target.device => {
                // SAFETY: the null stream is always live.
                Ok(unsafe { process.driver.stream_synchronize(from, RawStream::NULL) }?)
            }
            _ => Ok(()),
        }
    }

    /// The work of a copy of `bytes` bytes; `None` for a copy on the host.
    pub(crate) fn work(&self, bytes: usize) -> Option<Work<'static>> {
        Some(match self.route {
            Route::OnHost => return None,
            Route::ToDevice(_, dst) => Work::CopyToDevice { dst, src: self.src.host(), bytes },
            Route::ToHost(_, src) => Work::CopyToHost { dst: self.dst.host(), src, bytes },
            Route::Within(_, dst, src) => Work::CopyWithin { dst, src, bytes },
            Route::Peer(_, src_device) => Work::CopyFromPeer {
                dst: DevicePtr(self.dst.0),
                src_device,
                src: DevicePtr(self.src.0),
                bytes,
            },
        })
    }

    fn blocking_work(&self, bytes: usize) -> Option<Work<'static>> {
        matches!(self.route, Route::ToDevice(..) | Route::ToHost(..)).then(|| self.work(bytes)).flatten()
    }

    /// Enqueues the copy.
    pub(crate) fn enqueue(&self, process: &Process, bytes: usize, target: Target) -> HipResult {
        let Some(work) = self.work(bytes) else {
            Target { waits: true, ..target }.finish(process)?;
            // SAFETY: the program passes memory of its own that it may use so. The ranges may overlap.
            unsafe { self.src.host::<u8>().copy_to(self.dst.host(), bytes) };
            return Ok(());
        };
        process.enqueue_on(self.device(target), target, &work)
    }
}
