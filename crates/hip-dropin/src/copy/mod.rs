//! Copies: from where to where an address route leads, and what the driver is to do for it.

pub(crate) mod arrays;
pub(crate) mod batch;
pub(crate) mod boxes;
pub(crate) mod bytes;
pub(crate) mod fill;
pub(crate) mod values;

use hip_driver::{DeviceId, DevicePtr, RawStream, Work};

use crate::abi::{Address, HipResult, Status};
use crate::copy::boxes::{BoxCopy, Side};
use crate::memory::allocations::Place;
use crate::process::Process;
use crate::stream::Queue;

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
    queue: Queue,
) -> HipResult {
    check_kind(kind)?;
    if bytes == 0 {
        return Ok(());
    }
    if dst.is_null() || src.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    if dst == src {
        return queue.finish(process);
    }
    let route = CopyRoute::find(process, dst, src, bytes)?;
    if let (Way::OnHost, false) = (route.way, matches!(kind, HOST_TO_HOST | DEFAULT)) {
        return Err(Status::INVALID_VALUE);
    }
    let side = |start| Side { start, pitch: bytes, slice: bytes };
    let row = BoxCopy { dst: side(dst), src: side(src), width: bytes, height: 1, depth: 1, kind };
    if process.capture_copy(queue, &row)? {
        return Ok(());
    }
    if let (Some(work), true) = (route.blocking_work(bytes), queue.waits && queue.stream == RawStream::NULL) {
        let device = route.device().unwrap_or(queue.device);
        if device == queue.device {
            // SAFETY: as for `enqueue` below.
            return Ok(unsafe { process.driver.copy_blocking(device, &work) }?);
        }
    }
    route.begin(process, queue)?;
    route.enqueue(process, bytes, queue)?;
    queue.finish_on(process, route.devices(queue))
}

/// Copies bytes of this library to memory of the program. They have been read when this returns.
pub(crate) fn from_bytes(process: &Process, dst: Address, bytes: &[u8], queue: Queue) -> HipResult {
    process.not_captured((queue.device, queue.stream))?;
    let src = Address(bytes.as_ptr().expose_provenance() as u64);
    let route = CopyRoute::find(process, dst, src, bytes.len())?;
    route.enqueue(process, bytes.len(), queue)?;
    queue.finish_on(process, route.devices(queue))
}

/// The two addresses of a copy, and the way between them.
#[derive(Clone, Copy)]
pub(crate) struct CopyRoute {
    dst: Address,
    src: Address,
    pub(crate) way: Way,
}

/// The way of a copy. Addresses of pinned memory are given as devices see them.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// Between memory that no device can access.
    OnHost,
    /// To memory that the devices can access; to this device's own, unless it is pinned.
    ToDevice(Option<DeviceId>, DevicePtr),
    ToHost(Option<DeviceId>, DevicePtr),
    Within(Option<DeviceId>, DevicePtr, DevicePtr),
    /// From the second device to the first.
    Peer(DeviceId, DeviceId),
}

impl CopyRoute {
    /// The route between two addresses of the program.
    pub(crate) fn find(process: &Process, dst: Address, src: Address, bytes: usize) -> HipResult<CopyRoute> {
        let places = (process.accessed_place(dst, bytes)?, process.accessed_place(src, bytes)?);
        Ok(CopyRoute::new(dst, src, places))
    }

    /// The route between two addresses that are in these places.
    pub(crate) fn new(dst: Address, src: Address, places: (Place, Place)) -> CopyRoute {
        use Place::{Device, Pageable, Pinned};
        let way = match places {
            (Pageable, Pageable) => Way::OnHost,
            (Device(device), Pageable | Pinned(_)) => Way::ToDevice(Some(device), DevicePtr(dst.0)),
            (Pinned(to), Pageable) => Way::ToDevice(None, to),
            (Pageable | Pinned(_), Device(device)) => Way::ToHost(Some(device), DevicePtr(src.0)),
            (Pageable, Pinned(from)) => Way::ToHost(None, from),
            (Pinned(to), Pinned(from)) => Way::Within(None, to, from),
            (Device(to), Device(from)) if to == from => {
                Way::Within(Some(to), DevicePtr(dst.0), DevicePtr(src.0))
            }
            (Device(to), Device(from)) => Way::Peer(to, from),
        };
        CopyRoute { dst, src, way }
    }

    /// The device that does the copy; `None` if any can, or none does.
    pub(crate) fn device(&self) -> Option<DeviceId> {
        match self.way {
            Way::OnHost => None,
            Way::ToDevice(device, _) | Way::ToHost(device, _) | Way::Within(device, ..) => device,
            Way::Peer(to, _) => Some(to),
        }
    }

    /// The devices whose memory is copied.
    pub(crate) fn devices(&self, queue: Queue) -> [DeviceId; 2] {
        let device = self.device().unwrap_or(queue.device);
        [device, if let Way::Peer(_, from) = self.way { from } else { device }]
    }

    /// Before a copy that the call waits for: a copy between devices comes after the work of both, as CUDA's documentation
    /// of `cudaMemcpyPeer` has it.
    pub(crate) fn begin(&self, process: &Process, queue: Queue) -> HipResult {
        match self.way {
            Way::Peer(_, from) if queue.waits && from != queue.device => {
                // SAFETY: the null stream is always live.
                Ok(unsafe { process.driver.stream_synchronize(from, RawStream::NULL) }?)
            }
            _ => Ok(()),
        }
    }

    /// The work of a copy of `bytes` bytes; `None` for a copy on the host.
    pub(crate) fn work(&self, bytes: usize) -> Option<Work<'static>> {
        Some(match self.way {
            Way::OnHost => return None,
            Way::ToDevice(_, dst) => Work::CopyToDevice { dst, src: self.src.host(), bytes },
            Way::ToHost(_, src) => Work::CopyToHost { dst: self.dst.host(), src, bytes },
            Way::Within(_, dst, src) => Work::CopyWithin { dst, src, bytes },
            Way::Peer(_, src_device) => Work::CopyFromPeer {
                dst: DevicePtr(self.dst.0),
                src_device,
                src: DevicePtr(self.src.0),
                bytes,
            },
        })
    }

    fn blocking_work(&self, bytes: usize) -> Option<Work<'static>> {
        matches!(self.way, Way::ToDevice(..) | Way::ToHost(..)).then(|| self.work(bytes)).flatten()
    }

    /// Enqueues the copy.
    pub(crate) fn enqueue(&self, process: &Process, bytes: usize, queue: Queue) -> HipResult {
        let Some(work) = self.work(bytes) else {
            Queue { waits: true, ..queue }.finish(process)?;
            // SAFETY: the program passes memory of its own that it may use so. The ranges may overlap.
            unsafe { self.src.host::<u8>().copy_to(self.dst.host(), bytes) };
            return Ok(());
        };
        process.enqueue_on(self.device().unwrap_or(queue.device), queue, &work)
    }
}
