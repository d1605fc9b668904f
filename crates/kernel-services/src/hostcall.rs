//! The packets by which kernels call the host.
//!
//! ROCm's device library (`ockl`, hostcall_impl.cl) pushes a packet for the wave's active lanes on a stack in shared memory, adds 1 to a signal,
//! the doorbell, interrupts the host with `s_sendmsg`, and waits until the packet is marked as done.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::format;
use crate::memory::{DeviceMemory, SharedMemory};
use crate::printer::{Printer, PrintfStream};

/// The lanes of a packet: the most that a wave has.
const LANES: u64 = 64;

// The buffer, its packets' headers and payloads, and the doorbell: hostcall_impl.cl, `buffer_t`, `header_t`,
// `payload_t`; hsa/amd_hsa_signal.h, `amd_signal_t`. The offsets are in bytes.
const HEADERS: u64 = 0;
const PAYLOADS: u64 = 8;
const DOORBELL: u64 = 16;
const FREE_STACK: u64 = 24;
const READY_STACK: u64 = 32;
const INDEX_MASK: u64 = 40;
const HEADER_SIZE: u64 = 24;
const NEXT: u64 = 0;
const ACTIVE: u64 = 8;
const SERVICE: u64 = 16;
const CONTROL: u64 = 20;
/// The bit of a packet's control word with which it is the host's.
const READY: u32 = 1;
/// The payload of a packet: eight 64-bit words for each lane.
const PAYLOAD_SIZE: u64 = 64 * LANES;
const SIGNAL: u64 = 64;
const SIGNAL_MAILBOX: u64 = 16;
const MAILBOX: u64 = 192;
const FIRST_HEADER: u64 = 256;

/// The numbers of the services.
const PRINTF: u32 = 2;
const DEVICE_MEMORY: u32 = 3;

/// The size and alignment of the slabs of the device heap, which computes the address of a slab's header from an
/// address in the slab (ockl, dm.cl).
const SLAB: u64 = 2 << 20;

/// The largest size of unfinished messages of a buffer in bytes. It limits the host memory that a faulty kernel can use.
const MAX_PENDING: usize = 64 << 20;

/// A buffer through which kernels call the host.
///
/// It has a packet for each wave that may call at the same time: the device library takes one without looking whether there is any.
pub struct Hostcall<M, D> {
    memory: Arc<M>,
    base: u64,
    count: u64,
    device: Arc<D>,
    printer: Printer,
    messages: Mutex<Messages>,
}

/// The messages that have begun and are not complete.
#[derive(Default)]
struct Messages {
    by_id: HashMap<u64, Vec<u64>>,
    next: u64,
    words: usize,
}

/// Returns the number of packets of a buffer for some waves: a power of two.
fn packets(waves: u64) -> u64 {
    waves.max(1).next_power_of_two()
}

impl<M: SharedMemory, D: DeviceMemory> Hostcall<M, D> {
    /// Returns the size of a buffer in bytes for a number of waves that are in flight at the same time.
    pub fn size(waves: u64) -> u64 {
        FIRST_HEADER + packets(waves) * (HEADER_SIZE + PAYLOAD_SIZE)
    }

    /// Creates the buffer at `base` in `memory`, which has to contain all [`size`](Self::size) bytes; `base` is a multiple of 64.
    ///
    /// The doorbell is the signal with a handle. Without one, it is a signal in the buffer, for a host that finds the calls by itself when a
    /// wave interrupts it.
    pub fn new(
        memory: Arc<M>,
        base: u64,
        waves: u64,
        doorbell: Option<u64>,
        device: Arc<D>,
        printer: Printer,
    ) -> Hostcall<M, D> {
        let count = packets(waves);
        let put = |at: u64, value: u64| memory.write(base + at, &value.to_le_bytes());
        put(HEADERS, base + FIRST_HEADER);
        put(PAYLOADS, base + FIRST_HEADER + count * HEADER_SIZE);
        put(DOORBELL, doorbell.unwrap_or(base + SIGNAL));
        put(READY_STACK, 0);
        put(INDEX_MASK, count - 1);
        // The number of a packet is its index, and above that a tag, which is never 0.
        let mut top = 0;
        for index in 0..count {
            let header = FIRST_HEADER + index * HEADER_SIZE;
            put(header + NEXT, top);
            // No service, and not ready.
            put(header + SERVICE, 0);
            top = count | index;
        }
        put(FREE_STACK, top);
        if doorbell.is_none() {
            // Waves send the message only if the signal has a mailbox.
            put(SIGNAL + SIGNAL_MAILBOX, base + MAILBOX);
        }
        Hostcall { memory, base, count, device, printer, messages: Mutex::default() }
    }

    /// The address that kernels are given.
    pub fn address(&self) -> u64 {
        self.base
    }

    /// Serves all packets that are ready for the host.
    pub fn serve(&self) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = &*self.memory;
        let mut ready = Vec::new();
        let mut top = memory.swap(self.base + READY_STACK, 0).unwrap_or(0);
        // A kernel that corrupts the stack must not cause an endless loop.
        while top != 0 && (ready.len() as u64) < self.count {
            let index = top & (self.count - 1);
            let header = self.base + FIRST_HEADER + index * HEADER_SIZE;
            ready.push((header, index));
            top = self.word(header + NEXT);
        }
        for (header, index) in ready.into_iter().rev() {
            let payload = self.base + FIRST_HEADER + self.count * HEADER_SIZE + index * PAYLOAD_SIZE;
            let service = self.word(header + SERVICE) as u32;
            let active = self.word(header + ACTIVE);
            for lane in (0..LANES).filter(|lane| active >> lane & 1 != 0) {
                let slots: [u64; 8] = std::array::from_fn(|n| self.word(payload + lane * 64 + n as u64 * 8));
                let result = match service {
                    PRINTF => self.printf(&mut messages, &slots),
                    DEVICE_MEMORY => self.device_memory(slots[0], slots[1]),
                    _ => 0,
                };
                memory.write(payload + lane * 64, &result.to_le_bytes());
                memory.write(payload + lane * 64 + 8, &0u64.to_le_bytes());
            }
            // The packet is no longer ready for the host.
            memory.clear(header + CONTROL, READY);
        }
    }

    fn word(&self, address: u64) -> u64 {
        let mut bytes = [0; 8];
        self.memory.read(address, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Serves one part of a message: a descriptor and up to seven words. Returns the message's number for all parts but
    /// the last, and the number of bytes printed for the last.
    fn printf(&self, messages: &mut Messages, slots: &[u64; 8]) -> u64 {
        // Bit 0 says that this is the first part, bit 1 that it is the last. Bits 5 to 7 are the number of words, bits
        // from 8 on the number of the message.
        let descriptor = slots[0];
        let count = (descriptor >> 5 & 7) as usize;
        let id = if descriptor & 1 != 0 {
            messages.next += 1;
            messages.next
        } else {
            descriptor >> 8
        };
        if (messages.words + count) * 8 > MAX_PENDING {
            messages.by_id.clear();
            messages.words = 0;
        }
        let message = messages.by_id.entry(id).or_default();
        message.extend_from_slice(&slots[1..1 + count]);
        messages.words += count;
        if descriptor & 2 == 0 {
            return descriptor & 0xfe | id << 8;
        }
        let message = messages.by_id.remove(&id).unwrap_or_default();
        messages.words = messages.words.saturating_sub(message.len());
        let Some((control, rest)) = message.split_first() else { return 0 };
        let text = format::printf(rest);
        let stream = if control & 1 != 0 { PrintfStream::Stderr } else { PrintfStream::Stdout };
        self.printer.print(stream, &text);
        text.len() as u64
    }

    /// If `address` is 0, allocates `size` bytes and returns their address, or 0 if there is not enough memory.
    /// Otherwise frees the memory at `address`, and returns 0.
    fn device_memory(&self, address: u64, size: u64) -> u64 {
        if address == 0 {
            let align = if size < SLAB { 4096 } else { SLAB };
            return self.device.allocate(size, align).unwrap_or(0);
        }
        self.device.free(address);
        0
    }
}

impl<M, D> fmt::Debug for Hostcall<M, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hostcall")
            .field("base", &self.base)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}
