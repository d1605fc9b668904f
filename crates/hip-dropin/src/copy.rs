//! Copies: from where to where an address pair leads, and what the driver is to do for it.

use hip_driver::{DeviceId, DevicePtr, RawStream, Work};

use crate::allocations::Place;
use crate::c_caller::Address;
use crate::copy_3d::{BoxCopy, Side};
use crate::process::{Process, lock_helpers};
use crate::status::{HipResult, Status};
use crate::stream::StreamHandle;
use crate::thread;

// hipMemcpyKind.
pub(crate) const HOST_TO_HOST: i32 = 0;
pub(crate) const HOST_TO_DEVICE: i32 = 1;
pub(crate) const DEVICE_TO_HOST: i32 = 2;
pub(crate) const DEVICE_TO_DEVICE: i32 = 3;
pub(crate) const DEFAULT: i32 = 4;
pub(crate) const DEVICE_TO_DEVICE_NO_CU: i32 = 1024;

/// The stream on which work is enqueued, and whether the call waits for it.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    pub(crate) device: DeviceId,
    pub(crate) stream: RawStream,
    pub(crate) waits: bool,
}

impl Order {
    /// The call enqueues.
    pub(crate) fn on(process: &Process, stream: StreamHandle) -> HipResult<Order> {
        let (device, stream) = process.stream(stream)?;
        Ok(Order { device, stream, waits: false })
    }

    /// The call waits for its work on the null stream.
    pub(crate) fn blocking() -> Order {
        Order { device: thread::device(), stream: RawStream::NULL, waits: true }
    }

    /// The call waits for its work on a stream.
    pub(crate) fn blocking_on(process: &Process, stream: StreamHandle) -> HipResult<Order> {
        Ok(Order { waits: true, ..Order::on(process, stream)? })
    }

    /// Waits, if the call does, and reports a fault of the stream's device.
    pub(crate) fn finish(self, process: &Process) -> HipResult {
        self.finish_on(process, [])
    }

    /// Waits, if the call does, for work that these devices did in the stream's order, and reports their faults.
    pub(crate) fn finish_on(
        self,
        process: &Process,
        devices: impl IntoIterator<Item = DeviceId>,
    ) -> HipResult {
        if !self.waits {
            return Ok(());
        }
        // SAFETY: the stream was live when the call began; that nobody destroys it meanwhile is the program's part.
        unsafe { process.driver.stream_synchronize(self.device, self.stream) }?;
        // The stream's wait for another device's work ends when that device is lost, too.
        devices
            .into_iter()
            .filter(|device| *device != self.device)
            .try_for_each(|device| process.report_fault(device))
    }
}

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
    order: Order,
) -> HipResult {
    check_kind(kind)?;
    if bytes == 0 {
        return Ok(());
    }
    if dst.is_null() || src.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    if dst == src {
        return order.finish(process);
    }
    let pair = Pair::of(process, dst, src, bytes)?;
    if let (Route::OnHost, false) = (pair.route, matches!(kind, HOST_TO_HOST | DEFAULT)) {
        return Err(Status::INVALID_VALUE);
    }
    let side = |start| Side { start, pitch: bytes, slice: bytes };
    let row = BoxCopy { dst: side(dst), src: side(src), width: bytes, height: 1, depth: 1, kind };
    if process.capture_copy(order, &row)? {
        return Ok(());
    }
    if let (Some(work), true) = (pair.blocking_work(bytes), order.waits && order.stream == RawStream::NULL) {
        let device = pair.device(order);
        if device == order.device {
            // SAFETY: as for `enqueue` below.
            return Ok(unsafe { process.driver.copy_blocking(device, &work) }?);
        }
    }
    pair.begin(process, order)?;
    pair.enqueue(process, bytes, order)?;
    order.finish_on(process, pair.devices(order))
}

/// Copies bytes of this library to memory of the program. They have been read when this returns.
pub(crate) fn from_bytes(process: &Process, dst: Address, bytes: &[u8], order: Order) -> HipResult {
    process.not_captured((order.device, order.stream))?;
    let src = Address(bytes.as_ptr().expose_provenance() as u64);
    let pair = Pair::of(process, dst, src, bytes.len())?;
    pair.enqueue(process, bytes.len(), order)?;
    order.finish_on(process, pair.devices(order))
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
    fn device(&self, order: Order) -> DeviceId {
        match self.route {
            Route::OnHost => order.device,
            Route::ToDevice(device, _) | Route::ToHost(device, _) | Route::Within(device, ..) => {
                device.unwrap_or(order.device)
            }
            Route::Peer(to, _) => to,
        }
    }

    /// The devices whose memory is copied.
    pub(crate) fn devices(&self, order: Order) -> [DeviceId; 2] {
        let device = self.device(order);
        [device, if let Route::Peer(_, from) = self.route { from } else { device }]
    }

    /// Before a copy that the call waits for: a copy between devices comes after the work of both, as CUDA's documentation
    /// of `cudaMemcpyPeer` has it.
    pub(crate) fn begin(&self, process: &Process, order: Order) -> HipResult {
        match self.route {
            Route::Peer(_, from) if order.waits && from != order.device => {
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
    pub(crate) fn enqueue(&self, process: &Process, bytes: usize, order: Order) -> HipResult {
        let Some(work) = self.work(bytes) else {
            Order { waits: true, ..order }.finish(process)?;
            // SAFETY: the program passes memory of its own that it may use so. The ranges may overlap.
            unsafe { self.src.host::<u8>().copy_to(self.dst.host(), bytes) };
            return Ok(());
        };
        process.enqueue_on(self.device(order), order, &work)
    }
}

impl Process {
    /// Enqueues work of `device` on a stream, which may be another device's. Then a stream of `device` does the work,
    /// after the earlier and before the later work of the given stream.
    pub(crate) fn enqueue_on(&self, device: DeviceId, order: Order, work: &Work<'_>) -> HipResult {
        let driver = &self.driver;
        // SAFETY: the stream was live when the call began. The program passes memory that it may use so until the work has
        // run, as HIP asks; `place` has checked what is known of it.
        unsafe {
            if device == order.device {
                return Ok(driver.enqueue(device, order.stream, work)?);
            }
            let ((helper, done), (_, before)) = (self.helper(device)?, self.helper(order.device)?);
            // Another thread must not record the events between a record and its wait.
            let _helpers = lock_helpers();
            driver.event_record(order.device, before, order.stream)?;
            driver.stream_wait_event(device, helper, before)?;
            driver.enqueue(device, helper, work)?;
            driver.event_record(device, done, helper)?;
            Ok(driver.stream_wait_event(order.device, order.stream, done)?)
        }
    }
}
