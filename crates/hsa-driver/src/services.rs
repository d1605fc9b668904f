//! What kernels ask the host for: `printf`, failed asserts, and memory for `malloc`.
//!
//! They are made for the first kernel that asks for them by its hidden arguments: a device's heap and the thread that serves its calls, the buffer for
//! calls of a queue or a graph, the printf buffer of a stream or a graph's node. Where one can't be made, the launch fails before anything is enqueued.
//!
//! A queue has a buffer for calls of its own, as with HIP (ROCclr, devhostcall.cpp): each of its waves in flight may have a packet, and a device may have
//! as many waves in flight for each queue, as it can put a queue's waves aside for another's. A graph's packets may go to any queue, so that it has one of
//! its own, too. A printf buffer is printed by the stream's thread behind each kernel that may fill it.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kernel_services::{
    DeviceMemory, HEAP_BYTES, Hostcall, Printer, PrintfBuffer, PrintfFormats, SharedMemory,
};
use once_cell::sync::OnceCell;

use crate::abi::{BLOCKED, NOT_EQUAL, Signal, agent_info};
use crate::gpu::{Gpu, lock};
use crate::load;
use crate::memory::{Block, Memory};
use hip_driver::{DevicePtr, DriverError, DriverResult, ErrorCode};

/// How often a thread that waits for calls looks whether its device is lost, in ticks of a wait that HSA may cut short. HIP's looks as often.
const LOOKS_PER_SECOND: u64 = 64;
/// The waves of a compute unit, if HSA does not say: the most that a GPU has.
const MOST_WAVES: u32 = 64;
/// How long the process's end waits for a thread that serves a call.
const MOST_TO_END: Duration = Duration::from_secs(1);
/// What calls of the driver on behalf of a kernel are named in errors.
const CALL: &str = "malloc (kernel)";

/// What a kernel asks for, by the places of the addresses in its kernarg segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) hostcall: Option<usize>,
    pub(crate) heap: Option<usize>,
    pub(crate) printf: Option<(usize, Arc<PrintfFormats>)>,
}

/// The addresses that a kernel gets, by their places.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Served([Option<(usize, u64)>; 3]);

/// A device's services, as far as a kernel has asked for them.
#[derive(Debug, Default)]
pub(crate) struct Services {
    calls: OnceCell<Arc<Calls>>,
    heap: OnceCell<Block>,
}

/// A printf buffer.
pub(crate) type Printed = Arc<PrintfBuffer<Block>>;

type CallBuffer = Hostcall<Block, Slabs>;

/// The buffer for calls of a queue or a graph, if a kernel has asked for it. It is dropped when none of its kernels is in flight.
#[derive(Debug, Default)]
pub(crate) struct OwnCalls(OnceCell<Arc<CallBuffer>>);

/// The calls of a device's kernels.
#[derive(Debug)]
struct Calls {
    device: &'static Gpu,
    /// Counts the calls of all buffers.
    doorbell: Signal,
    slabs: Arc<Slabs>,
    buffers: Mutex<Vec<Weak<CallBuffer>>>,
}

/// The threads that serve calls, and whether they shall end.
static THREADS: Mutex<Vec<(Arc<Calls>, JoinHandle<()>)>> = Mutex::new(Vec::new());
static ENDING: AtomicBool = AtomicBool::new(false);

impl Asked {
    /// Makes what is asked for, unless it is there. `own` has the buffer for calls.
    #[cold]
    pub(crate) fn serve(
        &self,
        call: &'static str,
        (device, services): (&'static Gpu, &'static Services),
        own: &OwnCalls,
        printf: Option<&Printed>,
    ) -> DriverResult<Served> {
        let mut served = Served::default();
        if let Some(at) = self.hostcall {
            let buffer = own.0.get_or_try_init(|| {
                services.calls.get_or_try_init(|| Calls::start(call, device))?.new_buffer(call)
            })?;
            served.0[0] = Some((at, buffer.address()));
        }
        if let Some(at) = self.heap {
            let heap = services.heap.get_or_try_init(|| new_heap(call, device))?;
            served.0[1] = Some((at, heap.device_address()));
        }
        if let (Some((at, _)), Some(buffer)) = (&self.printf, printf) {
            served.0[2] = Some((*at, buffer.address()));
        }
        Ok(served)
    }
}

impl Served {
    /// Writes the addresses to a kernarg segment.
    #[inline]
    pub(crate) fn write(&self, segment: &mut [u8]) {
        for (at, address) in self.0.iter().flatten() {
            if let Some(place) = segment.get_mut(*at..*at + 8) {
                place.copy_from_slice(&address.to_le_bytes());
            }
        }
    }
}

/// A printf buffer, in memory of the host.
pub(crate) fn new_printf_buffer(call: &'static str, device: &Gpu) -> DriverResult<Printed> {
    let bytes = PrintfBuffer::<Block>::SIZE as usize;
    let block = Block::new(call, device.hsa, device.system.pools.fine, bytes, &[device.agent])?;
    let address = block.device_address();
    Ok(Arc::new(PrintfBuffer::new(Arc::new(block), address)))
}

/// A heap without slabs.
fn new_heap(call: &'static str, device: &Gpu) -> DriverResult<Block> {
    static ZEROS: [u8; HEAP_BYTES as usize] = [0; HEAP_BYTES as usize];
    let heap = Block::new(call, device.hsa, device.pool, ZEROS.len(), &[])?;
    let (to, from) = (heap.address.as_ptr().cast::<c_void>(), ZEROS.as_ptr().cast::<c_void>());
    // SAFETY: the block has as many bytes, and no kernel knows it yet. The call returns when they are written, and needs no queue of the driver's, in
    // which a kernel may stand still.
    device.hsa.check(call, "hsa_memory_copy", unsafe {
        (device.hsa.functions.memory_copy)(to, from, ZEROS.len())
    })?;
    Ok(heap)
}

impl Calls {
    /// Starts the thread that serves calls.
    fn start(call: &'static str, device: &'static Gpu) -> DriverResult<Arc<Calls>> {
        let (hsa, mut doorbell) = (device.hsa, Signal::default());
        // SAFETY: any agent may use the signal; the pointer is to a live handle.
        hsa.check(call, "hsa_signal_create", unsafe {
            (hsa.functions.signal_create)(0, 0, ptr::null(), &mut doorbell)
        })?;
        let slabs = Arc::new(Slabs { device, starts: Mutex::default() });
        let calls = Arc::new(Calls { device, doorbell, slabs, buffers: Mutex::default() });
        let serving = Arc::clone(&calls);
        let mut threads = lock(&THREADS);
        end_with_the_process();
        let name = format!("hsa{}-calls", device.id.0);
        let thread =
            std::thread::Builder::new().name(name).spawn(move || serving.run()).map_err(|error| {
                let detail = format!("no thread for the calls of kernels: {error}");
                DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, detail)
            })?;
        threads.push((Arc::clone(&calls), thread));
        Ok(calls)
    }

    /// A buffer that is served from now on, until it is dropped.
    fn new_buffer(&self, call: &'static str) -> DriverResult<Arc<CallBuffer>> {
        let (device, hsa) = (self.device, self.device.hsa);
        let of_unit = hsa.agent(device.agent, agent_info::MAX_WAVES_PER_CU).filter(|waves| *waves != 0);
        let waves = u64::from(device.properties.compute_units) * u64::from(of_unit.unwrap_or(MOST_WAVES));
        let bytes = CallBuffer::size(waves) as usize;
        let block = Block::new(call, hsa, device.system.pools.fine, bytes, &[device.agent])?;
        let (address, doorbell, slabs) =
            (block.device_address(), Some(self.doorbell.0), Arc::clone(&self.slabs));
        let block = Arc::new(block);
        let buffer = Arc::new(CallBuffer::new(block, address, waves, doorbell, slabs, Printer::default()));
        let mut buffers = lock(&self.buffers);
        buffers.retain(|buffer| buffer.strong_count() > 0);
        buffers.push(Arc::downgrade(&buffer));
        Ok(buffer)
    }

    /// Serves calls until the device is lost or the process ends.
    fn run(&self) {
        let hsa = self.device.hsa;
        let ticks = hsa.ticks_per_second / LOOKS_PER_SECOND;
        let mut seen = 0;
        while !self.device.is_lost() && !ENDING.load(Ordering::Acquire) {
            // SAFETY: a live signal. It is loaded with acquire order: a call that it counts is seen.
            let count =
                unsafe { (hsa.functions.signal_wait)(self.doorbell, NOT_EQUAL, seen, ticks, BLOCKED) };
            if count != seen {
                seen = count;
                // Not under the lock: a call may take long.
                let buffers: Vec<_> = lock(&self.buffers).iter().filter_map(Weak::upgrade).collect();
                buffers.iter().for_each(|buffer| buffer.serve());
            }
        }
    }
}

/// Has the threads end before HSA's library does: ROCr may crash in a wait when its destructors have run (ROCclr, devhostcall.cpp).
fn end_with_the_process() {
    #[cfg(unix)]
    {
        extern "C" fn end() {
            // The threads are the parent's.
            if load::is_forked_child() {
                return;
            }
            ENDING.store(true, Ordering::Release);
            let threads = std::mem::take(&mut *lock(&THREADS));
            for (calls, _) in &threads {
                // SAFETY: a live signal.
                unsafe { (calls.device.hsa.functions.signal_store)(calls.doorbell, -1) };
            }
            // Not forever: one may be writing to a pipe that nobody reads.
            let begun = Instant::now();
            while threads.iter().any(|(_, thread)| !thread.is_finished()) && begun.elapsed() < MOST_TO_END {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        static ONCE: Once = Once::new();
        // SAFETY: the function stays loaded, or is called when its library is unloaded. The result is non-zero only if there is no memory: then
        // the threads are there to the end.
        ONCE.call_once(|| unsafe {
            libc::atexit(end);
        });
    }
}

/// The memory for `malloc`: allocations of the driver like the program's, so that peers have access, too.
#[derive(Debug)]
struct Slabs {
    device: &'static Gpu,
    /// Where an allocation begins, by the address that the kernel has, if that is another.
    starts: Mutex<HashMap<u64, u64>>,
}

impl Slabs {
    fn memory() -> Option<&'static Memory> {
        crate::DRIVER.get().map(|driver| &driver.memory)
    }
}

impl DeviceMemory for Slabs {
    fn allocate(&self, bytes: u64, align: u64) -> Option<u64> {
        let (memory, device) = (Slabs::memory()?, self.device);
        let allocate = |bytes: u64| {
            let allocated = memory.allocate(CALL, device, usize::try_from(bytes).ok()?);
            allocated.inspect_err(|error| log::warn!("{}: {error}", device.id)).ok().map(|start| start.0)
        };
        let start = allocate(bytes)?;
        if start.is_multiple_of(align) {
            return Some(start);
        }
        drop(memory.take(CALL, device.id, DevicePtr(start)));
        let start = allocate(bytes.checked_add(align)?)?;
        let address = start.next_multiple_of(align);
        lock(&self.starts).insert(address, start);
        Some(address)
    }

    fn free(&self, address: u64) {
        let start = lock(&self.starts).remove(&address).unwrap_or(address);
        let Some(memory) = Slabs::memory() else { return };
        if let Err(error) = memory.take(CALL, self.device.id, DevicePtr(start)) {
            log::warn!("{}: a kernel frees what it has not allocated: {error}", self.device.id);
        }
    }
}

impl Block {
    /// The place of some bytes; `None` if they are not all in the block.
    fn place(&self, address: u64, bytes: usize) -> Option<*mut u8> {
        let offset = usize::try_from(address.checked_sub(self.device_address())?).ok()?;
        // SAFETY: the place is in the block.
        (offset.checked_add(bytes)? <= self.bytes).then(|| unsafe { self.address.as_ptr().add(offset) })
    }
}

impl SharedMemory for Block {
    fn read(&self, address: u64, out: &mut [u8]) {
        if let Some(place) = self.place(address, out.len()) {
            // SAFETY: as many bytes of the block, and of `out`, which is elsewhere. What a packet or a kernel has written was handed over by an atomic
            // operation or a signal before; a kernel that breaks this rule writes other bytes, as any does that writes where it may.
            unsafe { ptr::copy_nonoverlapping(place, out.as_mut_ptr(), out.len()) };
        }
    }

    fn write(&self, address: u64, bytes: &[u8]) {
        if let Some(place) = self.place(address, bytes.len()) {
            // SAFETY: as in `read`.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
        }
    }

    fn swap(&self, address: u64, value: u64) -> Option<u64> {
        let place = self.place(address, 8)?.cast::<u64>();
        // SAFETY: eight bytes of the block, which live as long as it does, are aligned, and are accessed by atomic operations while kernels run.
        place.is_aligned().then(|| unsafe { AtomicU64::from_ptr(place) }.swap(value, Ordering::AcqRel))
    }

    fn clear(&self, address: u64, bits: u32) {
        let place = self.place(address, 4).map(|place| place.cast::<u32>());
        if let Some(place) = place.filter(|place| place.is_aligned()) {
            // SAFETY: as in `swap`.
            unsafe { AtomicU32::from_ptr(place) }.fetch_and(!bits, Ordering::AcqRel);
        }
    }
}
