//! The packets of a queue (HSA's runtime specification, 2.9; AMD's packets are those of hsa_ext_amd.h).
//!
//! A queue executes its packets one after the other, and begins the next when the last has ended. So the barrier bit and the fences of a header
//! hold always.

use std::sync::atomic::{AtomicU16, Ordering};

use amdgpu_emulator::{Dispatch, Error, QueuePacket};

use super::queue::Queue;
use super::runtime::now;
use super::signal::{self, SPIN, Signal, complete, meets, wait_for_zero};
use super::status::Status;
use super::{events, executable};

/// The bytes of a packet.
pub(super) const PACKET: u64 = 64;

/// `HSA_PACKET_TYPE_...`.
const VENDOR_SPECIFIC: u16 = 0;
const INVALID: u16 = 1;
const KERNEL_DISPATCH: u16 = 2;
const BARRIER_AND: u16 = 3;
const BARRIER_OR: u16 = 5;

/// `HSA_AMD_PACKET_TYPE_BARRIER_VALUE`.
const BARRIER_VALUE: u8 = 2;

/// How many signals a barrier packet has.
const BARRIER_SIGNALS: usize = 5;

/// How long a barrier of several signals sleeps before it looks again.
const PAUSE: std::time::Duration = std::time::Duration::from_micros(50);

/// The header of the packet in a place of a ring.
fn header(ring: u64, place: u64) -> &'static AtomicU16 {
    // SAFETY: the ring's memory stays while the queue uses it. The program changes a header by one store, as HSA asks of it.
    unsafe { &*std::ptr::with_exposed_provenance::<AtomicU16>((ring + place * PACKET) as usize) }
}

/// Makes all packets of a ring invalid.
pub(super) fn clear(ring: u64, packets: u32) {
    (0..u64::from(packets)).for_each(|place| header(ring, place).store(INVALID, Ordering::Release));
}

impl Queue {
    fn place(&self) -> u64 {
        self.read_index() % u64::from(self.packets)
    }

    fn next_kind(&self) -> u16 {
        header(self.ring, self.place()).load(Ordering::Acquire) & 0xff
    }
}

/// Whether there is a packet to execute.
pub(super) fn is_ready(queue: &Queue) -> bool {
    queue.next_kind() != INVALID
}

/// A copy of a packet.
struct Packet {
    bytes: [u8; PACKET as usize],
    address: u64,
}

impl Packet {
    fn number<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|n| self.bytes[at + n])
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_ne_bytes(self.number(at))
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.number(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.number(at))
    }

    fn completion(&self) -> Signal {
        Signal(self.u64(56))
    }
}

/// Why a packet is not executed to its end.
enum Failed {
    Packet(Status),
    Kernel(Error),
    /// The queue is destroyed or inactive.
    Stopped,
}

/// Executes the next packet, if there is one. Returns whether there was one that succeeded.
pub(super) fn execute_next(queue: &Queue) -> bool {
    let kind = queue.next_kind();
    if kind == INVALID {
        return false;
    }
    let (place, address) = (queue.place(), queue.ring + queue.place() * PACKET);
    // SAFETY: a packet of the ring, which the program has written before its header.
    let bytes = unsafe {
        std::ptr::with_exposed_provenance::<[u8; PACKET as usize]>(address as usize).read_volatile()
    };
    let packet = Packet { bytes, address };
    let start = now();
    let executed = match kind {
        KERNEL_DISPATCH => dispatch(queue, &packet),
        BARRIER_AND => barrier_and(queue, &packet),
        BARRIER_OR => barrier_or(queue, &packet),
        VENDOR_SPECIFIC if packet.bytes[2] == BARRIER_VALUE => barrier_value(queue, &packet),
        _ => Err(Failed::Packet(Status::INVALID_PACKET_FORMAT)),
    };
    match executed {
        Ok(()) => {
            header(queue.ring, place).store(INVALID, Ordering::Release);
            queue.advance();
            complete(packet.completion(), start, now());
            true
        }
        Err(Failed::Stopped) => false,
        Err(Failed::Packet(status)) => {
            let (kind, format) = (kind, packet.bytes[2]);
            events::report(queue, status, &format!("a packet of type {kind} and format {format}"));
            false
        }
        Err(Failed::Kernel(error)) => {
            events::kernel_failed(queue, &error);
            false
        }
    }
}

/// A kernel dispatch packet: the sizes of its grid and workgroups are in work-items.
fn dispatch(queue: &Queue, packet: &Packet) -> Result<(), Failed> {
    let found = executable::kernel(queue.device.agent, packet.u64(32));
    let (program, kernel) = found.ok_or(Failed::Packet(Status::INVALID_CODE_OBJECT))?;
    let dimensions = usize::from(packet.u16(2) & 3);
    let size = |n: usize, value: u32| if n < dimensions { value } else { 1 };
    let block: [u32; 3] = std::array::from_fn(|n| size(n, packet.u16(4 + 2 * n).into()));
    let items: [u32; 3] = std::array::from_fn(|n| size(n, packet.u32(12 + 4 * n)));
    if dimensions == 0 || block.contains(&0) || items.contains(&0) {
        return Err(Failed::Packet(Status::INVALID_ARGUMENT));
    }
    let lds = program.kernels().get(kernel).map_or(0, |kernel| kernel.group_segment_fixed_size);
    let dynamic_lds = packet.u32(28).checked_sub(lds).ok_or(Failed::Packet(Status::INVALID_ALLOCATION))?;
    let dispatch = Dispatch {
        kernel,
        grid: std::array::from_fn(|n| items[n].div_ceil(block[n])),
        block,
        dynamic_lds,
        kernarg: &[],
        cooperative: false,
    };
    let at = QueuePacket {
        packet: packet.address,
        queue: queue.pointer.address(),
        kernarg: packet.u64(40),
        on_message: signal::interrupted,
        stop: queue.stop.clone(),
    };
    let remainder = std::array::from_fn(|n| items[n] % block[n]);
    let ran = queue.device.machine.dispatch_packet(&program, &dispatch, remainder, &at);
    ran.map(drop).map_err(|error| if queue.stops() { Failed::Stopped } else { Failed::Kernel(error) })
}

/// The signals of a barrier packet.
fn signals(packet: &Packet) -> impl Iterator<Item = Signal> {
    (0..BARRIER_SIGNALS).map(|n| Signal(packet.u64(8 + 8 * n))).filter(|signal| *signal != Signal::NONE)
}

/// Fails if the queue has stopped meanwhile.
fn unless_stopped(queue: &Queue) -> Result<(), Failed> {
    if queue.stops() { Err(Failed::Stopped) } else { Ok(()) }
}

fn barrier_and(queue: &Queue, packet: &Packet) -> Result<(), Failed> {
    signals(packet).for_each(|signal| wait_for_zero(signal, || queue.stops()));
    unless_stopped(queue)
}

fn barrier_or(queue: &Queue, packet: &Packet) -> Result<(), Failed> {
    let slots: Vec<_> = signals(packet).filter_map(|signal| signal.slot().ok()).collect();
    while !slots.is_empty() && !slots.iter().any(|slot| slot.value.load(Ordering::SeqCst) < 1) {
        unless_stopped(queue)?;
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// `hsa_amd_barrier_value_packet_t`: waits until the bits of a mask of a signal's value meet a condition.
fn barrier_value(queue: &Queue, packet: &Packet) -> Result<(), Failed> {
    let (compare, mask, condition) = (packet.u64(16) as i64, packet.u64(24) as i64, packet.u32(32));
    meets(condition, 0, 0).map_err(Failed::Packet)?;
    if let Ok(slot) = Signal(packet.u64(8)).slot() {
        let is_such = |value: i64| meets(condition, value & mask, compare).unwrap_or(true);
        slot.wait(is_such, u64::MAX, SPIN, || queue.stops());
    }
    unless_stopped(queue)
}
