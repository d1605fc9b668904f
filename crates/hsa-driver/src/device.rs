//! A device: its queues, its streams, and the fault by which it was lost, if there was one.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use once_cell::sync::OnceCell;

use crate::abi::{Agent, Event, MEMORY_FAULT_EVENT, Pool, QueueHeader, Status, agent_info, pool_info};
use crate::blit::Blit;
use crate::load::{self, Hsa};
use crate::marker::Spare;
use crate::memory::HostPools;
use crate::queue::{Purpose, Queue};
use crate::services::Services;
use crate::stream::{Stream, StreamKind};
use hip_driver::{DeviceId, DeviceProperties, DriverError, DriverResult, ErrorCode};

/// The queues that streams share: as many as a GPU of AMD's runs at the same time with HIP (`GPU_MAX_HW_QUEUES`).
const SHARED_QUEUES: usize = 4;
/// The queues of streams that may stand still. Beyond, such streams share.
const OWN_QUEUES: usize = 32;

/// Locks a mutex; what a panic left is as good as ever.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What all devices share.
#[derive(Debug)]
pub(crate) struct System {
    pub(crate) hsa: &'static Hsa,
    pub(crate) cpu: Agent,
    pub(crate) gpus: Vec<Agent>,
    pub(crate) pools: HostPools,
}

/// The fault by which a device was lost.
#[derive(Debug)]
struct Fault {
    code: ErrorCode,
    text: String,
}

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
    pub(crate) id: DeviceId,
    pub(crate) agent: Agent,
    pub(crate) hsa: &'static Hsa,
    pub(crate) system: &'static System,
    pub(crate) properties: DeviceProperties,
    /// The pool of the device's own memory.
    pub(crate) pool: Pool,
    pub(crate) most_packets: u32,
    pub(crate) spare: Spare,
    lost: AtomicBool,
    fault: OnceLock<Fault>,
    queues: Mutex<Queues>,
    /// All streams that have work, or may get some.
    streams: Mutex<Vec<Arc<Stream>>>,
    null: OnceCell<Arc<Stream>>,
    /// The number of streams of the kind that the null stream waits for.
    blocking: AtomicUsize,
    blit: OnceCell<Blit>,
    pub(crate) services: Services,
    /// What kernels are told of the first queue: its address, and its apertures.
    first_queue: OnceLock<(u64, [u32; 2])>,
    /// The names of the loaded kernels, by the address of their descriptors.
    names: Mutex<HashMap<u64, Arc<str>>>,
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

impl System {
    /// Finds the agents.
    pub(crate) fn new(hsa: &'static Hsa) -> Result<System, String> {
        let agents =
            hsa.agents().map_err(|status| format!("hsa_iterate_agents: {}", hsa.describe(status)))?;
        let cpu = agents.iter().copied().find(|agent| hsa.is_cpu(*agent)).ok_or("HSA names no host")?;
        let pool = |flags| hsa.find_pool(cpu, flags).map(|(pool, _)| pool);
        let fine = pool(pool_info::FINE_GRAINED).ok_or("the host has no fine-grained memory pool")?;
        let kernarg = pool(pool_info::KERNARG).ok_or("the host has no pool for kernel arguments")?;
        let gpus = agents.into_iter().filter(|agent| hsa.is_gpu(*agent)).collect();
        Ok(System { hsa, cpu, gpus, pools: HostPools { fine, kernarg } })
    }
}

impl Device {
    pub(crate) fn new(system: &'static System, id: DeviceId, agent: Agent) -> DriverResult<Device> {
        let hsa = system.hsa;
        let pool = hsa.find_pool(agent, pool_info::COARSE_GRAINED);
        let pool = pool.or_else(|| hsa.find_pool(agent, pool_info::FINE_GRAINED));
        let (pool, bytes) = pool.ok_or_else(|| {
            let detail = format!("{id} has no memory pool");
            DriverError::with_detail("hipGetDeviceCount", ErrorCode::INVALID_DEVICE, detail)
        })?;
        Ok(Device {
            id,
            agent,
            hsa,
            system,
            properties: hsa.properties(agent, bytes)?,
            pool,
            most_packets: hsa.agent(agent, agent_info::QUEUE_MAX_SIZE).unwrap_or(4096),
            spare: Spare::default(),
            lost: AtomicBool::new(false),
            fault: OnceLock::new(),
            queues: Mutex::default(),
            streams: Mutex::default(),
            null: OnceCell::new(),
            blocking: AtomicUsize::new(0),
            blit: OnceCell::new(),
            services: Services::default(),
            first_queue: OnceLock::new(),
            names: Mutex::default(),
        })
    }

    // Faults.

    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Fails if the device is lost, or this process is a child of the one that opened it.
    #[inline]
    pub(crate) fn check(&self, call: &'static str) -> DriverResult<()> {
        if load::is_forked_child() {
            return Err(load::forked(call));
        }
        if self.is_lost() { Err(self.fault(call)) } else { Ok(()) }
    }

    /// The error of a call on a lost device.
    #[cold]
    pub(crate) fn fault(&self, call: &'static str) -> DriverError {
        match self.fault.get() {
            Some(fault) => DriverError::with_detail(call, fault.code, &*fault.text),
            None => DriverError::with_detail(call, ErrorCode::LAUNCH_FAILURE, "the queue has stopped"),
        }
    }

    /// Marks the device as lost: every later call fails with `code`, and all that waits for its work goes on. Only the first fault is kept.
    fn lose(&self, code: ErrorCode, text: String) {
        if self.fault.set(Fault { code, text }).is_err() {
            return;
        }
        self.lost.store(true, Ordering::Release);
        if let Some(fault) = self.fault.get() {
            log::error!("{} is lost: {}: {}", self.id, fault.code, fault.text);
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

    /// What was in flight, in words.
    fn in_flight(&self, kernels: &[u64]) -> String {
        let names = lock(&self.names);
        let mut known: Vec<&str> =
            kernels.iter().filter_map(|object| names.get(object)).map(|name| &**name).collect();
        known.dedup();
        match known.len() {
            0 => String::new(),
            more @ 9.. => format!("; {more} kernels in flight, first {}", known[..8].join(", ")),
            _ => format!("; in flight: {}", known.join(", ")),
        }
    }

    /// Notes the name of a kernel, for reports; `None` forgets it.
    pub(crate) fn name_kernel(&self, object: u64, name: Option<&str>) {
        let mut names = lock(&self.names);
        match name {
            Some(name) => names.insert(object, name.into()),
            None => names.remove(&object),
        };
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

    /// A queue for a new stream.
    pub(crate) fn queue(
        &'static self,
        call: &'static str,
        priority: Option<u32>,
    ) -> DriverResult<Arc<Queue>> {
        if priority.is_some() {
            // What kernels are told of a queue is that of a shared one.
            self.queue(call, None)?;
            return Queue::new(call, self, Purpose::Urgent, priority).map(Arc::new);
        }
        let mut queues = lock(&self.queues);
        if queues.shared.len() < SHARED_QUEUES {
            match Queue::new(call, self, Purpose::Shared, None) {
                Ok(queue) => {
                    self.first_queue.get_or_init(|| (queue.address(), queue.apertures()));
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
        let queue = Queue::new(call, self, Purpose::Own, None);
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

    /// The address that kernels have for their queue's. Packets of a graph may go to any queue, so that it is always the first one's: what
    /// kernels read there is the same of all.
    #[inline]
    pub(crate) fn queue_address(&self) -> u64 {
        self.first_queue.get().map_or(0, |first| first.0)
    }

    /// The upper halves of the addresses of LDS and of private memory, which all queues have alike.
    #[inline]
    pub(crate) fn apertures(&self) -> [u32; 2] {
        self.first_queue.get().map_or([0; 2], |first| first.1)
    }

    /// The queue of cooperative launches.
    pub(crate) fn cooperative_queue(&'static self, call: &'static str) -> DriverResult<Arc<Queue>> {
        let mut queues = lock(&self.queues);
        if let Some(queue) = &queues.cooperative {
            return Ok(Arc::clone(queue));
        }
        let queue = Arc::new(Queue::new(call, self, Purpose::Cooperative, None)?);
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
