//! Queues: rings of packets that the program writes and a thread executes, one after the other.
//!
//! A queue's handle is the address of its `amd_queue_t`, which begins with a `hsa_queue_t`. It is in memory that all agents access, as the ring
//! is: kernels may read their packet and their queue.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use amdgpu_emulator::{Interrupt, PRIVATE_BASE_HI, SHARED_BASE_HI};

use super::Data;
use super::agent::Agent;
use super::devices::{Device, Devices};
use super::packets::{self, PACKET};
use super::runtime::machine;
use super::signal::Signal;
use super::status::Status;
use super::value::{Place, Value};
use crate::abi::Out;

/// A `hsa_queue_t *`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct QueuePointer(u64);

/// A function of the program that is called with an error of a queue.
pub(crate) type QueueCallback = Option<unsafe extern "C" fn(Status, QueuePointer, Data)>;

/// An `amd_queue_t`, as far as programs and kernels read it.
#[repr(C)]
struct Shared {
    // The `hsa_queue_t`.
    kind: u32,
    features: u32,
    ring: u64,
    doorbell: Signal,
    size: u32,
    _reserved: u32,
    id: u64,
    // AMD's.
    _capabilities: [u32; 4],
    write_index: AtomicU64,
    lds_aperture: u32,
    private_aperture: u32,
    _of_hardware: [u64; 7],
    read_index: AtomicU64,
    read_index_offset: u32,
}

const _: () = assert!(std::mem::offset_of!(Shared, write_index) == 56);
const _: () = assert!(std::mem::offset_of!(Shared, lds_aperture) == 64);
const _: () = assert!(std::mem::offset_of!(Shared, read_index) == 128);

/// The bytes of an `amd_queue_t`, whose later fields are 0.
const SHARED_BYTES: u64 = 4096;

/// How many packets a queue can have room for.
pub(super) const MIN_PACKETS: u32 = 64;
pub(super) const MAX_PACKETS: u32 = 131_072;
/// How many queues an agent can have.
pub(super) const MAX_QUEUES: u32 = 128;

/// `HSA_QUEUE_FEATURE_KERNEL_DISPATCH`.
const KERNEL_DISPATCH: u32 = 1;

/// `HSA_QUEUE_TYPE_COOPERATIVE`, the last.
const COOPERATIVE: u32 = 2;

/// A queue, as its thread knows it.
pub(super) struct Queue {
    pub(super) pointer: QueuePointer,
    pub(super) device: &'static Device,
    pub(super) ring: u64,
    pub(super) packets: u32,
    doorbell: Signal,
    callback: QueueCallback,
    data: Data,
    stops: AtomicBool,
    /// Ends the kernel that runs.
    pub(super) stop: Interrupt,
    /// Whether it executes no more, because a packet failed or the program has made it inactive.
    is_inactive: AtomicBool,
}

/// The queues and their threads, by address.
type Queues = HashMap<u64, (Arc<Queue>, JoinHandle<()>)>;
static QUEUES: Mutex<Option<Queues>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Queues>> {
    QUEUES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl QueuePointer {
    /// Its memory. `None` for a null pointer.
    fn shared(self) -> Option<&'static Shared> {
        // SAFETY: null, or a queue of this library, whose memory stays until the program destroys it; it does not use it any more then. What
        // changes is atomic.
        unsafe { std::ptr::with_exposed_provenance::<Shared>(self.0 as usize).as_ref() }
    }

    pub(super) fn address(self) -> u64 {
        self.0
    }

    fn queue(self) -> Result<Arc<Queue>, Status> {
        let queues = lock();
        let found = queues.as_ref().and_then(|queues| queues.get(&self.0));
        found.map(|(queue, _)| Arc::clone(queue)).ok_or(Status::INVALID_QUEUE)
    }
}

impl Queue {
    pub(super) fn read_index(&self) -> u64 {
        self.pointer.shared().map_or(0, |shared| shared.read_index.load(SeqCst))
    }

    pub(super) fn advance(&self) {
        if let Some(shared) = self.pointer.shared() {
            shared.read_index.fetch_add(1, SeqCst);
        }
    }

    pub(super) fn stops(&self) -> bool {
        self.stops.load(SeqCst) || self.is_inactive.load(SeqCst)
    }

    /// Ends the queue, and tells the program. Returns whether anybody was told.
    pub(super) fn fail(&self, status: Status) -> bool {
        self.is_inactive.store(true, SeqCst);
        if let Some(callback) = self.callback {
            // SAFETY: the program's function, with the data that it passed for it.
            unsafe { callback(status, self.pointer, self.data) };
        }
        self.callback.is_some()
    }

    /// Executes packets until the queue is destroyed.
    fn run(&self) {
        let Ok(bell) = self.doorbell.slot() else { return };
        while !self.stops.load(SeqCst) {
            if !self.is_inactive.load(SeqCst) && packets::execute_next(self) {
                continue;
            }
            // Sleeps until the bell rings. A value that a kernel wrote is seen after a while.
            let is_ready = |_| !self.stops() && packets::is_ready(self);
            bell.wait(is_ready, u64::MAX, QUEUE_SPIN, || self.stops.load(SeqCst));
        }
    }
}

/// How many nanoseconds a queue looks for a packet before it sleeps.
const QUEUE_SPIN: u64 = 20_000;

/// The memory of a queue, which is freed if the queue can't be made.
struct Parts {
    devices: &'static Devices,
    shared: Option<u64>,
    ring: Option<u64>,
    doorbell: Option<Signal>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.shared.iter().chain(&self.ring).for_each(|address| self.devices.free_for_all(*address));
        if let Some(doorbell) = self.doorbell {
            // Nothing else destroys it.
            let _ = doorbell.destroy();
        }
    }
}

/// The bytes of private memory and of LDS are hints.
pub(crate) fn hsa_queue_create(
    agent: Agent,
    size: u32,
    kind: u32,
    callback: QueueCallback,
    data: Data,
    _private_bytes: u32,
    _group_bytes: u32,
    queue: Out<QueuePointer>,
) -> Result<(), Status> {
    agent.kind(machine()?)?;
    let devices = Devices::get()?;
    // The host executes no packets.
    let device = devices.device(agent).map_err(|_| Status::INVALID_QUEUE_CREATION)?;
    if queue.is_null() || !size.is_power_of_two() || size > MAX_PACKETS || kind > COOPERATIVE {
        return Err(Status::INVALID_ARGUMENT);
    }
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut parts = Parts { devices, shared: None, ring: None, doorbell: None };
    let shared = *parts.shared.insert(devices.allocate_for_all(SHARED_BYTES)?);
    let ring = *parts.ring.insert(devices.allocate_for_all(u64::from(size) * PACKET)?);
    let doorbell = *parts.doorbell.insert(Signal::doorbell()?);
    packets::clear(ring, size);
    let contents = Shared {
        kind,
        features: KERNEL_DISPATCH,
        ring,
        doorbell,
        size,
        _reserved: 0,
        id: NEXT.fetch_add(1, SeqCst),
        _capabilities: [0; 4],
        write_index: AtomicU64::new(0),
        lds_aperture: SHARED_BASE_HI,
        private_aperture: PRIVATE_BASE_HI,
        _of_hardware: [0; 7],
        read_index: AtomicU64::new(0),
        read_index_offset: std::mem::offset_of!(Shared, read_index) as u32,
    };
    // SAFETY: new memory with room for it, at the address of a page.
    unsafe { std::ptr::with_exposed_provenance_mut::<Shared>(shared as usize).write(contents) };
    let made = Arc::new(Queue {
        pointer: QueuePointer(shared),
        device,
        ring,
        packets: size,
        doorbell,
        callback,
        data,
        stops: AtomicBool::new(false),
        stop: Interrupt::new(),
        is_inactive: AtomicBool::new(false),
    });
    let thread = std::thread::Builder::new().name("hsa-queue".to_owned());
    let running = Arc::clone(&made);
    let thread = thread.spawn(move || running.run()).map_err(|_| Status::OUT_OF_RESOURCES)?;
    lock().get_or_insert_default().insert(shared, (made, thread));
    std::mem::forget(parts);
    queue.set(QueuePointer(shared))
}

/// Ends the packet that is being executed, and waits for that. Later ones are not executed.
pub(crate) fn hsa_queue_destroy(queue: QueuePointer) -> Result<(), Status> {
    let devices = Devices::get()?;
    let removed = lock().as_mut().and_then(|queues| queues.remove(&queue.0));
    let (queue, thread) = removed.ok_or(Status::INVALID_QUEUE)?;
    queue.stops.store(true, SeqCst);
    queue.stop.end_dispatches();
    if let Ok(bell) = queue.doorbell.slot() {
        bell.wake();
    }
    let parts = Parts {
        devices,
        shared: Some(queue.pointer.0),
        ring: Some(queue.ring),
        doorbell: Some(queue.doorbell),
    };
    if thread.thread().id() == std::thread::current().id() {
        // Called by the queue's own callback: the thread still uses the memory.
        std::mem::forget(parts);
        return Ok(());
    }
    // A thread that panicked needs no cleanup.
    let _ = thread.join();
    Ok(())
}

pub(crate) fn hsa_queue_inactivate(queue: QueuePointer) -> Result<(), Status> {
    queue.queue()?.is_inactive.store(true, SeqCst);
    Ok(())
}

pub(crate) fn hsa_amd_queue_get_info(
    queue: QueuePointer,
    attribute: u32,
    value: Place,
) -> Result<(), Status> {
    let queue = queue.queue()?;
    match attribute {
        // `HSA_AMD_QUEUE_INFO_AGENT` and `_DOORBELL_ID`.
        0 => Value::from(queue.device.agent.0).write(value),
        1 => Value::from(queue.doorbell.0).write(value),
        _ => Err(Status::INVALID_ARGUMENT),
    }
}

/// All queues have the same priority.
pub(crate) fn hsa_amd_queue_set_priority(queue: QueuePointer, _priority: u32) -> Result<(), Status> {
    queue.queue().map(drop)
}

/// Kernels run on all compute units.
pub(crate) fn hsa_amd_queue_cu_set_mask(
    queue: QueuePointer,
    count: u32,
    _mask: Out<u32>,
) -> Result<(), Status> {
    queue.queue()?;
    if count.is_multiple_of(32) { Ok(()) } else { Err(Status::INVALID_ARGUMENT) }
}

/// `count` is a number of bits.
pub(crate) fn hsa_amd_queue_cu_get_mask(
    queue: QueuePointer,
    count: u32,
    mask: Out<u32>,
) -> Result<(), Status> {
    queue.queue()?;
    if count == 0 || !count.is_multiple_of(32) {
        return Err(Status::INVALID_ARGUMENT);
    }
    let units = machine()?.hardware.compute_units;
    let word = |index: u32| match units.saturating_sub(32 * index) {
        32.. => u32::MAX,
        some => (1 << some) - 1,
    };
    mask.set_array((0..count / 32).map(word), (count / 32) as usize)
}

pub(crate) fn queue_load_read_index(queue: QueuePointer) -> u64 {
    queue.shared().map_or(0, |shared| shared.read_index.load(SeqCst))
}

pub(crate) fn queue_load_write_index(queue: QueuePointer) -> u64 {
    queue.shared().map_or(0, |shared| shared.write_index.load(SeqCst))
}

/// The read index is the queue's own, not the program's.
pub(crate) fn queue_store_read_index(_queue: QueuePointer, _value: u64) {}

pub(crate) fn queue_store_write_index(queue: QueuePointer, value: u64) {
    if let Some(shared) = queue.shared() {
        shared.write_index.store(value, SeqCst);
    }
}

pub(crate) fn queue_add_write_index(queue: QueuePointer, value: u64) -> u64 {
    queue.shared().map_or(0, |shared| shared.write_index.fetch_add(value, SeqCst))
}

pub(crate) fn queue_cas_write_index(queue: QueuePointer, expected: u64, value: u64) -> u64 {
    queue.shared().map_or(0, |shared| {
        shared.write_index.compare_exchange(expected, value, SeqCst, SeqCst).unwrap_or_else(|found| found)
    })
}
