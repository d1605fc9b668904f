//! The packets by which kernels call the host.
//!
//! ROCm's device library (`ockl`, hostcall_impl.cl) pushes a packet for the wave's active lanes on a stack in shared
//! memory, interrupts the host with `s_sendmsg`, and waits until the packet is marked as done. Here `s_sendmsg` serves
//! all packets that are ready before the wave continues.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::format;
use super::printer::{Printer, PrintfStream};
use crate::exec::inst::Host;
use crate::memory::{AddressSpace, DispatchMemory, GuestRange};
use crate::state::wave::LANES;

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
/// The payload of a packet: eight 64-bit words for each lane.
const PAYLOAD_SIZE: u64 = 64 * LANES as u64;
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

/// The largest size of unfinished messages of a dispatch in bytes. It limits the host memory that a faulty kernel can
/// use.
const MAX_PENDING: usize = 64 << 20;

/// The hostcall buffer of one dispatch, in the dispatch's own memory.
pub(crate) struct Hostcall {
    block: Arc<DispatchMemory>,
    base: u64,
    count: u64,
    space: Arc<AddressSpace>,
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

/// Returns the number of packets for a number of waves: a power of two.
fn packets(waves: u64) -> u64 {
    waves.clamp(1, 1024).next_power_of_two()
}

impl Hostcall {
    /// Returns the size of the buffer in bytes for a number of waves.
    pub(crate) fn size(waves: u64) -> u64 {
        FIRST_HEADER + packets(waves) * (HEADER_SIZE + PAYLOAD_SIZE)
    }

    /// Creates the buffer at `base` in `block`, which has to contain all [`size`](Self::size) bytes.
    pub(crate) fn new(
        block: Arc<DispatchMemory>,
        base: u64,
        waves: u64,
        space: Arc<AddressSpace>,
        printer: Printer,
    ) -> Hostcall {
        let count = packets(waves);
        let w = block.range();
        let put = |at: u64, value: u64| w.write_bytes(base + at, &value.to_le_bytes());
        put(HEADERS, base + FIRST_HEADER);
        put(PAYLOADS, base + FIRST_HEADER + count * HEADER_SIZE);
        put(DOORBELL, base + SIGNAL);
        put(INDEX_MASK, count - 1);
        // The number of a packet is its index, and above that a tag, which is never 0.
        let mut top = 0;
        for index in 0..count {
            put(FIRST_HEADER + index * HEADER_SIZE + NEXT, top);
            top = count | index;
        }
        put(FREE_STACK, top);
        // Waves send the message only if the signal has a mailbox.
        put(SIGNAL + SIGNAL_MAILBOX, base + MAILBOX);
        Hostcall { block, base, count, space, printer, messages: Mutex::default() }
    }

    /// Serves all packets that are ready for the host.
    fn serve_packets(&self) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let w = self.block.range();
        let Some(stack) = w.atomic_u64(self.base + READY_STACK) else { return };
        let mut ready = Vec::new();
        let mut top = stack.swap(0);
        // A kernel that corrupts the stack must not cause an endless loop.
        while top != 0 && (ready.len() as u64) < self.count {
            let header = self.base + FIRST_HEADER + (top & (self.count - 1)) * HEADER_SIZE;
            ready.push((header, top & (self.count - 1)));
            top = word(&w, header + NEXT);
        }
        for (header, index) in ready.into_iter().rev() {
            let payload = self.base + FIRST_HEADER + self.count * HEADER_SIZE + index * PAYLOAD_SIZE;
            let service = w.load_u32(header + SERVICE).unwrap_or(0);
            let active = word(&w, header + ACTIVE);
            for lane in (0..LANES as u64).filter(|lane| active >> lane & 1 != 0) {
                let slots: [u64; 8] = std::array::from_fn(|n| word(&w, payload + lane * 64 + n as u64 * 8));
                let result = match service {
                    PRINTF => self.printf(&mut messages, &slots),
                    DEVICE_MEMORY => self.device_memory(slots[0], slots[1]),
                    _ => 0,
                };
                w.write_bytes(payload + lane * 64, &result.to_le_bytes());
                w.write_bytes(payload + lane * 64 + 8, &0u64.to_le_bytes());
            }
            // Clears bit 0: the packet is no longer ready for the host.
            if let Some(control) = w.atomic_u32(header + CONTROL) {
                control.update(|control| control & !1);
            }
        }
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
        (self.printer.0)(stream, &text);
        text.len() as u64
    }

    /// If `address` is 0, allocates `size` bytes and returns their address, or 0 if there is not enough memory.
    /// Otherwise frees the memory at `address`, and returns 0.
    fn device_memory(&self, address: u64, size: u64) -> u64 {
        if address == 0 {
            let align = if size < SLAB { 4096 } else { SLAB };
            let address = self.space.alloc(size, align).unwrap_or(0);
            // The device's heap relies on the memory being zeroed.
            self.space.count_as_written(address, size);
            return address;
        }
        // If there is no allocation at the address, the kernel is wrong, but the device's `free` can't report an error.
        let _ = self.space.free(address);
        0
    }
}

fn word(w: &GuestRange, address: u64) -> u64 {
    let mut bytes = [0; 8];
    w.read_bytes(address, &mut bytes);
    u64::from_le_bytes(bytes)
}

impl Host for Hostcall {
    fn serve(&self) {
        self.serve_packets();
    }
}
