//! A queue of HSA's, to which any number of streams submit.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::abi::{
    GROUP_APERTURE_AT, MULTI_PRODUCER, PRIVATE_APERTURE_AT, QueueCallback, QueueHeader, Signal,
};
use crate::gpu::Gpu;
use crate::load::Hsa;
use crate::packet::{PACKET_BYTES, Packet};
use crate::ring::{Slots, Stopped, submit};
use crate::services::OwnCalls;
use hip_driver::{DriverError, DriverResult};

/// The packets of a queue.
const PACKETS: u32 = 4096;

/// `HSA_QUEUE_TYPE_COOPERATIVE`: the queue of kernels whose workgroups wait for each other.
const COOPERATIVE: u32 = 2;

/// What a queue is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Streams share it.
    Shared,
    /// One stream has it, which may stand still.
    Own,
    /// One stream has it, which has a priority.
    Urgent,
    /// Cooperative launches.
    Cooperative,
}

/// A queue.
#[derive(Debug)]
pub(crate) struct Queue {
    gpu: &'static Gpu,
    header: *mut QueueHeader,
    base: *mut u8,
    doorbell: Signal,
    size: u64,
    /// A read index that was seen.
    left: AtomicU64,
    pub(crate) purpose: Purpose,
    /// The calls of its kernels.
    pub(crate) calls: OwnCalls,
}

// SAFETY: HSA's queues of many producers are made for any thread: the ring's places are written by those that have reserved them, and the indices and
// the doorbell are changed by HSA's functions, which are atomic.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    /// Creates a queue. `failed` is called with `data` when a packet has failed.
    ///
    /// # Safety
    /// `failed` may be called with `data` at any time, on any thread.
    pub(crate) unsafe fn new(
        call: &'static str,
        gpu: &'static Gpu,
        purpose: Purpose,
        priority: Option<u32>,
        failed: QueueCallback,
        data: *mut c_void,
    ) -> DriverResult<Queue> {
        let (hsa, kind) =
            (gpu.hsa, if purpose == Purpose::Cooperative { COOPERATIVE } else { MULTI_PRODUCER });
        let functions = &hsa.functions;
        let mut header: *mut QueueHeader = ptr::null_mut();
        let packets = PACKETS.min(gpu.most_packets);
        // SAFETY: an agent that has queues, and a callback with its data (the caller's promise). The segment sizes are those that ROCr chooses.
        hsa.check(call, "hsa_queue_create", unsafe {
            (functions.queue_create)(gpu.agent, packets, kind, failed, data, u32::MAX, u32::MAX, &mut header)
        })?;
        // SAFETY: a live queue. Without times, events have none, and all else works.
        unsafe { (functions.profiling_enable)(header, 1) };
        if let Some(priority) = priority {
            // SAFETY: a live queue. A priority is a wish.
            unsafe { (functions.queue_set_priority)(header, priority) };
        }
        // SAFETY: a live queue, whose header does not change.
        let (base, doorbell, size) = unsafe { ((*header).base, (*header).doorbell, (*header).size) };
        let (base, size, left, calls) = (base.cast(), size.into(), AtomicU64::new(0), OwnCalls::default());
        Ok(Queue { gpu, header, base, doorbell, size, left, purpose, calls })
    }

    fn hsa(&self) -> &'static Hsa {
        self.gpu.hsa
    }

    /// Submits packets, with one ring of the doorbell.
    #[inline]
    pub(crate) fn submit<'a>(
        &self,
        call: &'static str,
        packets: impl ExactSizeIterator<Item = &'a Packet>,
    ) -> DriverResult<()> {
        submit(self, packets).map_err(|Stopped| self.stopped(call))
    }

    #[cold]
    fn stopped(&self, call: &'static str) -> DriverError {
        self.gpu.fault(call)
    }

    /// The address of the queue, for kernels.
    pub(crate) fn address(&self) -> u64 {
        self.header.addr() as u64
    }

    /// The upper halves of the addresses of LDS and of private memory.
    pub(crate) fn apertures(&self) -> [u32; 2] {
        // SAFETY: the queue is an `amd_queue_t` with its fields at these places.
        [GROUP_APERTURE_AT, PRIVATE_APERTURE_AT]
            .map(|at| unsafe { self.header.byte_add(at).cast::<u32>().read() })
    }

    /// Whether it is a queue that an error handler was called with.
    pub(crate) fn is(&self, header: *mut QueueHeader) -> bool {
        self.header == header
    }

    /// The kernels that have begun and not ended, as far as the ring says: the packet before the read index may still run.
    pub(crate) fn kernels_in_flight(&self) -> Vec<u64> {
        let functions = &self.hsa().functions;
        // SAFETY: a live queue.
        let (read, write) = unsafe {
            ((functions.queue_load_read_index)(self.header), (functions.queue_load_write_index)(self.header))
        };
        (read.saturating_sub(1)..write.min(read + self.size))
            .map(|index| {
                // SAFETY: a place of the ring; the words may change meanwhile, and are read one by one.
                let words = std::array::from_fn(|n| unsafe {
                    self.place(index & (self.size - 1)).add(n).read_volatile()
                });
                Packet(words).kernel_object()
            })
            .collect()
    }

    fn place(&self, place: u64) -> *mut u64 {
        // SAFETY: the ring has `size` packets, and `place` is one of them.
        unsafe { self.base.add(place as usize * PACKET_BYTES) }.cast()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // A lost device's queue may have packets that never end.
        if !self.gpu.is_lost() {
            // SAFETY: a live queue that no stream has any more: all of its packets have run.
            unsafe { (self.hsa().functions.queue_destroy)(self.header) };
        }
    }
}

impl Slots for Queue {
    #[inline]
    fn reserve(&self, count: u64) -> u64 {
        // SAFETY: a live queue.
        unsafe { (self.hsa().functions.queue_add_write_index)(self.header, count) }
    }

    #[inline]
    fn left(&self) -> u64 {
        self.left.load(Ordering::Acquire)
    }

    fn left_now(&self) -> u64 {
        // SAFETY: a live queue.
        let left = unsafe { (self.hsa().functions.queue_load_read_index)(self.header) };
        self.left.fetch_max(left, Ordering::AcqRel);
        left
    }

    #[inline]
    fn size(&self) -> u64 {
        self.size
    }

    #[inline]
    fn write_body(&self, place: u64, packet: &Packet) {
        let at = self.place(place);
        // SAFETY: a place that this producer has reserved and the processor has left, which nobody else accesses until its head is
        // published. The head is the lower half of the first word. Word by word, as the packet was made: two words that are read at
        // once would wait until both stores have left the processor's buffer.
        unsafe {
            at.cast::<u32>().add(1).write_volatile((packet.0[0] >> 32) as u32);
            for n in 1..8 {
                at.add(n).write_volatile(packet.0[n]);
            }
        }
    }

    #[inline]
    fn publish(&self, place: u64, head: u32) {
        // SAFETY: aligned, in the ring, and accessed atomically by the processor.
        unsafe { AtomicU32::from_ptr(self.place(place).cast()) }.store(head, Ordering::Release);
    }

    #[inline]
    fn ring_doorbell(&self, index: u64) {
        // SAFETY: the queue's doorbell.
        unsafe { (self.hsa().functions.signal_store)(self.doorbell, index as i64) };
    }

    fn pause(&self) -> Result<(), Stopped> {
        if self.gpu.is_lost() {
            return Err(Stopped);
        }
        std::thread::yield_now();
        Ok(())
    }
}
