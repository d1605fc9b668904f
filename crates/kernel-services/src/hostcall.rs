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

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x1000;

    /// Memory at an address.
    struct Bytes(Mutex<Vec<u8>>);

    impl Bytes {
        fn at<R>(&self, address: u64, len: usize, act: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
            let start = usize::try_from(address.checked_sub(BASE)?).ok()?;
            self.0.lock().unwrap().get_mut(start..start.checked_add(len)?).map(act)
        }
    }

    impl SharedMemory for Bytes {
        fn read(&self, address: u64, out: &mut [u8]) {
            self.at(address, out.len(), |bytes| out.copy_from_slice(bytes));
        }

        fn write(&self, address: u64, bytes: &[u8]) {
            self.at(address, bytes.len(), |place| place.copy_from_slice(bytes));
        }

        fn swap(&self, address: u64, value: u64) -> Option<u64> {
            let swap = |bytes: &mut [u8]| {
                let old = u64::from_le_bytes(bytes.try_into().unwrap());
                bytes.copy_from_slice(&value.to_le_bytes());
                old
            };
            self.at(address, 8, swap)
        }

        fn clear(&self, address: u64, bits: u32) {
            self.at(address, 4, |bytes| {
                let old = u32::from_le_bytes((&*bytes).try_into().unwrap());
                bytes.copy_from_slice(&(old & !bits).to_le_bytes());
            });
        }
    }

    /// A device that has memory at two addresses.
    #[derive(Default)]
    struct Two(Mutex<Vec<u64>>);

    impl DeviceMemory for Two {
        fn allocate(&self, bytes: u64, align: u64) -> Option<u64> {
            let mut live = self.0.lock().unwrap();
            let address = (1..=2).map(|n| n * align).find(|address| !live.contains(address))?;
            assert!(bytes <= align);
            live.push(address);
            Some(address)
        }

        fn free(&self, address: u64) {
            self.0.lock().unwrap().retain(|live| *live != address);
        }
    }

    type Texts = Arc<Mutex<Vec<(PrintfStream, String)>>>;

    /// A buffer for some waves, and what is printed.
    fn rig(waves: u64, doorbell: Option<u64>) -> (Hostcall<Bytes, Two>, Texts) {
        let texts = Texts::default();
        let sink = Arc::clone(&texts);
        let printer = Printer::new(move |stream, text| {
            sink.lock().unwrap().push((stream, String::from_utf8_lossy(text).into_owned()));
        });
        // What was there before does not matter.
        let bytes = vec![0xa5; Hostcall::<Bytes, Two>::size(waves) as usize];
        let memory = Arc::new(Bytes(Mutex::new(bytes)));
        (Hostcall::new(memory, BASE, waves, doorbell, Arc::default(), printer), texts)
    }

    /// Calls the host as a wave does whose lanes have these words, and returns the first word of each lane's answer.
    fn call(host: &Hostcall<Bytes, Two>, service: u32, lanes: &[(u64, [u64; 8])]) -> Vec<u64> {
        let put = |at: u64, value: u64| host.memory.write(at, &value.to_le_bytes());
        let top = host.word(BASE + FREE_STACK);
        let index = top & host.word(BASE + INDEX_MASK);
        let header = host.word(BASE + HEADERS) + index * HEADER_SIZE;
        let payload = host.word(BASE + PAYLOADS) + index * PAYLOAD_SIZE;
        put(BASE + FREE_STACK, host.word(header + NEXT));
        put(header + ACTIVE, lanes.iter().map(|(lane, _)| 1 << lane).sum());
        put(header + SERVICE, u64::from(service) | u64::from(READY | 8) << 32);
        for (lane, words) in lanes {
            (0..8).for_each(|n| put(payload + lane * 64 + n * 8, words[n as usize]));
        }
        put(header + NEXT, host.memory.swap(BASE + READY_STACK, top).unwrap());
        host.serve();
        // Ready no more, and the other bits are as they were.
        assert_eq!(host.word(header + SERVICE) >> 32, 8);
        put(header + NEXT, host.memory.swap(BASE + FREE_STACK, top).unwrap());
        lanes.iter().map(|(lane, _)| host.word(payload + lane * 64)).collect()
    }

    #[test]
    fn parts_of_messages_are_joined() {
        let (host, texts) = rig(5, Some(0x77));
        assert_eq!((host.word(BASE + DOORBELL), host.word(BASE + INDEX_MASK)), (0x77, 7));
        let word = |text: &[u8; 8]| u64::from_le_bytes(*text);
        let part = |descriptor: u64, words: &[u64]| {
            let mut slots = [0; 8];
            slots[0] = descriptor | (words.len() as u64) << 5;
            slots[1..=words.len()].copy_from_slice(words);
            slots
        };
        // Two lanes begin a message each: one to stdout, one to stderr.
        let begun = call(
            &host,
            PRINTF,
            &[(3, part(1, &[0, word(b"n is %d\0")])), (60, part(1, &[1, word(b"%d, %s\0\0")]))],
        );
        assert!(texts.lock().unwrap().is_empty());
        let number = |answer: u64| answer & !0xff;
        let ended = call(
            &host,
            PRINTF,
            &[
                (3, part(2 | number(begun[0]), &[7])),
                (60, part(2 | number(begun[1]), &[8, word(b"text\0\0\0\0")])),
            ],
        );
        assert_eq!(ended, [6, 7]);
        let expected = [(PrintfStream::Stdout, "n is 7"), (PrintfStream::Stderr, "8, text")];
        assert_eq!(*texts.lock().unwrap(), expected.map(|(stream, text)| (stream, text.to_owned())));
    }

    #[test]
    fn memory_is_allocated_and_freed() {
        let (host, _) = rig(1, None);
        // The doorbell is in the buffer, with a mailbox.
        assert_eq!(host.word(host.word(BASE + DOORBELL) + SIGNAL_MAILBOX), BASE + MAILBOX);
        let ask = |address: u64, size: u64| {
            call(&host, DEVICE_MEMORY, &[(0, [address, size, 0, 0, 0, 0, 0, 0])])[0]
        };
        assert_eq!([ask(0, SLAB), ask(0, SLAB), ask(0, SLAB)], [SLAB, 2 * SLAB, 0]);
        assert_eq!([ask(SLAB, 0), ask(0, SLAB)], [0, SLAB]);
        assert_eq!(ask(0, 100), 4096);
    }

    #[test]
    fn a_stack_without_an_end_is_left() {
        let (host, _) = rig(4, None);
        let header = host.word(BASE + HEADERS);
        host.memory.write(header + NEXT, &4u64.to_le_bytes());
        host.memory.write(header + ACTIVE, &u64::MAX.to_le_bytes());
        host.memory.swap(BASE + READY_STACK, 4);
        host.serve();
        assert_eq!(host.word(BASE + READY_STACK), 0);
    }
}
