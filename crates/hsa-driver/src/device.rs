//! A device: a GPU with its queues and streams.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use once_cell::sync::OnceCell;

use crate::abi::{Event, MEMORY_FAULT_EVENT, QueueHeader, Status};
use crate::blit::Blit;
use crate::gpu::{Fault, Gpu, lock};
use crate::queue::{Purpose, Queue};
use crate::services::Services;
use crate::stream::{Stream, StreamKind};
use hip_driver::{DriverError, DriverResult, ErrorCode};

/// The queues that streams share: as many as a GPU of AMD's runs at the same time with HIP (`GPU_MAX_HW_QUEUES`).
const SHARED_QUEUES: usize = 4;
/// The queues of streams that may stand still. Beyond, such streams share.
const OWN_QUEUES: usize = 32;

/// The queues of a device.
#[derive(Debug, Default)]
struct Queues {
    shared: Vec<Arc<Queue>>,
    /// The next of the shared ones that a stream gets.
    next: usize,
    /// Those of streams that were destroyed.
    spare: Vec<Arc<Queue>>,
    own: usize,
    cooperative: Option<Arc<Queue>>,
}

/// A device. It lives forever.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) gpu: Gpu,
    pub(crate) services: Services,
    queues: Mutex<Queues>,
    /// All streams that have work, or may get some.
    streams: Mutex<Vec<Arc<Stream>>>,
    null: OnceCell<Arc<Stream>>,
    /// The number of streams of the kind that the null stream waits for.
    blocking: AtomicUsize,
    blit: OnceCell<Blit>,
}

thread_local! {
    /// The streams that this thread has by default, one for each device.
    static OWN: RefCell<Vec<OwnStream>> = const { RefCell::new(Vec::new()) };
}

/// A thread's default stream, which is destroyed with the thread.
struct OwnStream(Arc<Stream>);

impl Drop for OwnStream {
    fn drop(&mut self) {
        self.0.device.close(&self.0);
    }
}

impl Deref for Device {
    type Target = Gpu;

    fn deref(&self) -> &Gpu {
        &self.gpu
    }
}

impl Device {
    pub(crate) fn new(gpu: Gpu) -> Device {
        Device {
            gpu,
            services: Services::default(),
            queues: Mutex::default(),
            streams: Mutex::default(),
            null: OnceCell::new(),
            blocking: AtomicUsize::new(0),
            blit: OnceCell::new(),
        }
    }

    // Faults.

    /// Marks the device as lost, and has all that waits for its work go on.
    fn lose(&self, code: ErrorCode, text: String) {
        if !self.gpu.lose(Fault { code, text }) {
            return;
        }
        // Streams of other devices may wait for its markers. Not on this thread: a stream may be locked by a call that waits for HSA.
        let streams = lock(&self.streams).clone();
        let release = move || streams.iter().for_each(|stream| stream.release());
        if std::thread::Builder::new().name("hsa-lost".to_owned()).spawn(release).is_err() {
            log::error!("no thread to release those who wait for the lost device {}", self.id);
        }
    }

    /// A packet of a queue has failed.
    pub(crate) fn queue_failed(&self, status: Status, header: *mut QueueHeader) {
        let queue = self.all_queues().into_iter().find(|queue| queue.is(header));
        let kernels = queue.map(|queue| queue.kernels_in_flight()).unwrap_or_default();
        let code = match status {
            Status::MEMORY_FAULT | Status::MEMORY_APERTURE_VIOLATION => ErrorCode::ILLEGAL_ADDRESS,
            Status::EXCEPTION => ErrorCode::ASSERT,
            _ => ErrorCode::LAUNCH_FAILURE,
        };
        let what = if status == Status::ILLEGAL_INSTRUCTION { "an illegal instruction, " } else { "" };
        self.lose(
            code,
            format!("a queue stopped: {what}{}{}", self.hsa.describe(status), self.in_flight(&kernels)),
        );
    }

    /// A kernel has accessed memory that it may not.
    fn memory_fault(&self, address: u64, reasons: u32) {
        let kernels: Vec<u64> =
            self.all_queues().iter().flat_map(|queue| queue.kernels_in_flight()).collect();
        let why: Vec<&str> = [
            (1, "the page is not there or may not be accessed"),
            (1 << 1, "the page is read-only"),
            (1 << 2, "the page may not be executed"),
            (1 << 3, "the host may access the page and no device"),
            (1 << 4, "memory failed (ECC)"),
            (1 << 5, "the address may be another"),
        ]
        .into_iter()
        .filter_map(|(bit, text)| (reasons & bit != 0).then_some(text))
        .collect();
        let text = format!("a memory fault at {address:#x} ({}){}", why.join("; "), self.in_flight(&kernels));
        self.lose(ErrorCode::ILLEGAL_ADDRESS, text);
    }

    // Queues.

    fn all_queues(&self) -> Vec<Arc<Queue>> {
        let queues = lock(&self.queues);
        let mut all = queues.shared.clone();
        all.extend(queues.spare.iter().chain(&queues.cooperative).cloned());
        drop(queues);
        all.extend(lock(&self.streams).iter().filter_map(|stream| stream.own_queue()));
        all
    }

    /// Creates a queue, whose errors lose the device.
    fn new_queue(
        &'static self,
        call: &'static str,
        purpose: Purpose,
        priority: Option<u32>,
    ) -> DriverResult<Queue> {
        let data = ptr::from_ref(self).cast_mut().cast::<c_void>();
        // SAFETY: the callback gets the device, which lives forever.
        unsafe { Queue::new(call, &self.gpu, purpose, priority, queue_failed, data) }
    }

    /// A queue for a new stream.
    pub(crate) fn queue(
        &'static self,
        call: &'static str,
        priority: Option<u32>,
    ) -> DriverResult<Arc<Queue>> {
        if priority.is_some() {
            // What kernels are told of a queue is that of a shared one.
            self.queue(call, None)?;
            return self.new_queue(call, Purpose::Urgent, priority).map(Arc::new);
        }
        let mut queues = lock(&self.queues);
        if queues.shared.len() < SHARED_QUEUES {
            match self.new_queue(call, Purpose::Shared, None) {
                Ok(queue) => {
                    self.note_queue(queue.address(), queue.apertures());
                    queues.shared.push(Arc::new(queue));
                }
                Err(error) if queues.shared.is_empty() => return Err(error),
                // The device has no more: those that are there do.
                Err(error) => log::warn!("{} has {} queues: {error}", self.id, queues.shared.len()),
            }
        }
        let index = queues.next % queues.shared.len();
        queues.next += 1;
        Ok(Arc::clone(&queues.shared[index]))
    }

    /// A queue for a stream that may stand still; `None` if there are no more.
    pub(crate) fn own_queue(&'static self, call: &'static str) -> Option<Arc<Queue>> {
        let mut queues = lock(&self.queues);
        if let Some(queue) = queues.spare.pop() {
            return Some(queue);
        }
        if queues.own == OWN_QUEUES {
            return None;
        }
        let queue = self.new_queue(call, Purpose::Own, None);
        queue.inspect_err(|error| log::warn!("{}: {error}", self.id)).ok().map(|queue| {
            queues.own += 1;
            Arc::new(queue)
        })
    }

    /// Takes back the queue of a stream that is gone.
    pub(crate) fn return_queue(&self, queue: Arc<Queue>) {
        if queue.purpose == Purpose::Own {
            lock(&self.queues).spare.push(queue);
        }
    }

    /// The queue of cooperative launches.
    pub(crate) fn cooperative_queue(&'static self, call: &'static str) -> DriverResult<Arc<Queue>> {
        let mut queues = lock(&self.queues);
        if let Some(queue) = &queues.cooperative {
            return Ok(Arc::clone(queue));
        }
        let queue = Arc::new(self.new_queue(call, Purpose::Cooperative, None)?);
        queues.cooperative = Some(Arc::clone(&queue));
        Ok(queue)
    }

    /// The kernels that copy and fill.
    pub(crate) fn blit(&'static self, call: &'static str) -> DriverResult<&'static Blit> {
        self.blit.get_or_try_init(|| Blit::load(call, self))
    }

    // Streams.

    /// Adds a stream to the device's.
    pub(crate) fn add(&self, stream: &Arc<Stream>) {
        let mut streams = lock(&self.streams);
        // Those that were destroyed while they had work.
        streams.retain(|stream| !stream.is_finished());
        streams.push(Arc::clone(stream));
        if stream.kind() == StreamKind::Blocking {
            self.blocking.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The stream with a number, unless it is gone.
    pub(crate) fn stream_of_number(&self, number: u64) -> Option<Arc<Stream>> {
        lock(&self.streams).iter().find(|stream| stream.number() == number).cloned()
    }

    /// Closes a stream that nobody uses any more. What it has enqueued still runs.
    pub(crate) fn close(&self, stream: &Arc<Stream>) {
        stream.close();
        if stream.kind() == StreamKind::Blocking {
            self.blocking.fetch_sub(1, Ordering::SeqCst);
        }
        lock(&self.streams).retain(|stream| !stream.is_finished());
    }

    /// The null stream, which the first use makes.
    pub(crate) fn null(&'static self, call: &'static str) -> DriverResult<&'static Arc<Stream>> {
        self.null.get_or_try_init(|| {
            let stream = Stream::new(call, self, StreamKind::Null, None)?;
            self.add(&stream);
            Ok(stream)
        })
    }

    /// The null stream, if there is one.
    #[inline]
    pub(crate) fn existing_null(&self) -> Option<&Arc<Stream>> {
        self.null.get()
    }

    /// The blocking streams.
    pub(crate) fn blocking_streams(&self) -> Vec<Arc<Stream>> {
        if self.blocking.load(Ordering::SeqCst) == 0 {
            return Vec::new();
        }
        let streams = lock(&self.streams);
        streams.iter().filter(|stream| stream.kind() == StreamKind::Blocking).cloned().collect()
    }

    /// This thread's default stream.
    pub(crate) fn own_stream(&'static self, call: &'static str) -> DriverResult<Arc<Stream>> {
        let gone = |_| DriverError::with_detail(call, ErrorCode::INVALID_HANDLE, "the thread ends");
        let find = |own: &RefCell<Vec<OwnStream>>| {
            let found =
                own.borrow().iter().find(|own| ptr::eq(own.0.device, self)).map(|own| Arc::clone(&own.0));
            if let Some(stream) = found {
                return Ok(stream);
            }
            let stream = Stream::new(call, self, StreamKind::Blocking, None)?;
            self.add(&stream);
            own.borrow_mut().push(OwnStream(Arc::clone(&stream)));
            Ok(stream)
        };
        OWN.try_with(find).map_err(gone)?
    }

    /// Waits for all work of all streams.
    pub(crate) fn synchronize(&self, call: &'static str) -> DriverResult<()> {
        self.check(call)?;
        let streams = lock(&self.streams).clone();
        streams.iter().try_for_each(|stream| stream.synchronize(call))
    }

    /// Waits for all work, if the device is not lost: then there is none.
    pub(crate) fn drain(&self, call: &'static str) -> DriverResult<()> {
        if self.is_lost() { Ok(()) } else { self.synchronize(call) }
    }
}

/// Called by HSA when the memory or the hardware of a device fails. Without it, ROCr ends the process.
pub(crate) unsafe extern "C" fn system_event(event: *const Event, devices: *mut c_void) -> Status {
    // SAFETY: the event is there while this runs.
    let event = unsafe { &*event };
    // SAFETY: the list of devices that was given with the callback, which lives forever.
    let devices = unsafe { &*devices.cast::<Vec<&'static Device>>() };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let Some(device) = devices.iter().find(|device| device.agent == event.agent) else { return };
        match event.kind {
            MEMORY_FAULT_EVENT => device.memory_fault(event.address, event.reasons),
            kind => device.lose(ErrorCode::LAUNCH_FAILURE, format!("HSA reports an event of kind {kind}")),
        }
    }));
    Status::SUCCESS
}

/// Called by HSA when a packet of a queue has failed, and the queue has stopped.
unsafe extern "C" fn queue_failed(status: Status, queue: *mut QueueHeader, data: *mut c_void) {
    // SAFETY: the device that was given with the callback, which lives forever.
    let device: &'static Device = unsafe { &*data.cast::<Device>() };
    let _ = catch_unwind(AssertUnwindSafe(|| device.queue_failed(status, queue)));
}
