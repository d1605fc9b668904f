//! The packets of HSA's queues, as eight words (HSA Runtime Programmer's Reference Manual 1.2, 2.9), and the fences in their headers.
//!
//! Which scope a fence has and why, the [crate's page on memory](crate#memory) says.

use crate::abi::Signal;

/// The bytes of a packet.
pub(crate) const PACKET_BYTES: usize = 64;

/// `HSA_PACKET_TYPE_...`.
const KERNEL_DISPATCH: u16 = 2;
const BARRIER_AND: u16 = 3;
/// The bit of a header with which a packet waits for all before it in its queue.
const BARRIER_BIT: u16 = 1 << 8;
/// The places of the scopes of the two fences, and the scopes.
const ACQUIRE: u16 = 9;
const RELEASE: u16 = 11;
const AGENT: u16 = 1;
const SYSTEM: u16 = 2;

/// Kernels of one device see each other's writes: what they read and write of others is memory that no cache of the device keeps.
const BETWEEN_KERNELS: u16 = AGENT << ACQUIRE | AGENT << RELEASE;
/// The host, other devices and the engines that copy see what was written, and the device sees theirs.
const WITH_ALL: u16 = SYSTEM << ACQUIRE | SYSTEM << RELEASE;

/// A packet. The first half of the first word is what makes it valid, and is written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet(pub(crate) [u64; 8]);

/// What a kernel dispatch packet says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatch {
    /// The work-items of the whole grid.
    pub(crate) items: [u32; 3],
    /// The work-items of a workgroup.
    pub(crate) block: [u32; 3],
    /// The bytes of private memory of a work-item.
    pub(crate) private: u32,
    /// The bytes of LDS of a workgroup, static and dynamic.
    pub(crate) lds: u32,
    /// The address of the kernel's descriptor.
    pub(crate) object: u64,
}

impl Packet {
    /// Launches a kernel whose kernarg segment is at an address.
    #[inline]
    pub(crate) fn dispatch(d: &Dispatch, kernarg: u64) -> Packet {
        let half = |n: u32| u64::from(n as u16);
        // The setup has the number of dimensions.
        let head = u64::from(KERNEL_DISPATCH | BARRIER_BIT | BETWEEN_KERNELS) | 3 << 16;
        Packet([
            head | half(d.block[0]) << 32 | half(d.block[1]) << 48,
            half(d.block[2]) | u64::from(d.items[0]) << 32,
            u64::from(d.items[1]) | u64::from(d.items[2]) << 32,
            u64::from(d.private) | u64::from(d.lds) << 32,
            d.object,
            kernarg,
            0,
            0,
        ])
    }

    /// Waits for all before it in the queue, and for a signal to be 0.
    #[inline]
    pub(crate) fn barrier(after: Option<Signal>) -> Packet {
        let mut words = [0; 8];
        words[0] = u64::from(BARRIER_AND | BARRIER_BIT | WITH_ALL);
        words[1] = after.unwrap_or_default().0;
        Packet(words)
    }

    /// Has the packet decrement a signal when it has ended.
    #[inline]
    pub(crate) fn completing(mut self, signal: Signal) -> Packet {
        self.0[7] = signal.0;
        self
    }

    /// Has the packet begin without waiting for those before it.
    pub(crate) fn beside_others(mut self) -> Packet {
        self.0[0] &= !u64::from(BARRIER_BIT);
        self
    }

    /// Whether it waits for those before it.
    pub(crate) fn waits(&self) -> bool {
        self.0[0] & u64::from(BARRIER_BIT) != 0
    }

    /// Has a dispatch take its arguments from so many bytes further on.
    pub(crate) fn move_arguments(&mut self, bytes: u64) {
        self.0[5] = self.0[5].wrapping_add(bytes);
    }

    /// The part that is written last: header and setup.
    #[inline]
    pub(crate) fn head(&self) -> u32 {
        self.0[0] as u32
    }

    /// The kernel of a dispatch packet, by words that may be those of a packet that has run: only its header has changed then.
    pub(crate) fn kernel_object(&self) -> u64 {
        self.0[4]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of hsa_kernel_dispatch_packet_t: HSA 1.2, 2.9.6.
    #[test]
    fn a_dispatch_has_its_fields_where_the_specification_has_them() {
        let d = Dispatch { items: [1000, 20, 3], block: [64, 2, 1], private: 16, lds: 512, object: 0x1234 };
        let packet = Packet::dispatch(&d, 0x5678).completing(Signal(9));
        let bytes: Vec<u8> = packet.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        // Type 2, barrier, acquire and release of the agent.
        assert_eq!(u16_at(0), 2 | 1 << 8 | 1 << 9 | 1 << 11);
        assert_eq!([u16_at(2), u16_at(4), u16_at(6), u16_at(8), u16_at(10)], [3, 64, 2, 1, 0]);
        assert_eq!([u32_at(12), u32_at(16), u32_at(20), u32_at(24), u32_at(28)], [1000, 20, 3, 16, 512]);
        assert_eq!([u64_at(32), u64_at(40), u64_at(48), u64_at(56)], [0x1234, 0x5678, 0, 9]);
        assert_eq!(packet.beside_others().head() & 1 << 8, 0);
    }

    /// hsa_barrier_and_packet_t: HSA 1.2, 2.9.8.
    #[test]
    fn a_barrier_has_its_signals_where_the_specification_has_them() {
        let packet = Packet::barrier(Some(Signal(7))).completing(Signal(8));
        assert_eq!(packet.0, [3 | 1 << 8 | 2 << 9 | 2 << 11, 7, 0, 0, 0, 0, 0, 8]);
    }
}
