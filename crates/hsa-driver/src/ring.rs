//! How producers put packets into a queue's ring, without a lock: streams that share a queue never wait for each other's calls.
//!
//! A producer takes places by adding to the write index, waits until the processor has left those places, writes each packet, and writes the
//! packet's first half last, which hands it over (HSA 1.2, 2.9.3). The processor takes packets in order, so that it waits for the slowest
//! of the producers.

use super::packet::Packet;

/// The ring of a queue, and its two indices.
pub(crate) trait Slots {
    /// Takes `count` places; returns the first.
    fn reserve(&self, count: u64) -> u64;
    /// The number of packets whose places the processor has left. It may be an older value.
    fn left(&self) -> u64;
    /// The number of packets whose places the processor has left, now.
    fn left_now(&self) -> u64;
    /// The number of places.
    fn size(&self) -> u64;
    /// Writes all of a packet but its head.
    fn write_body(&self, place: u64, packet: &Packet);
    /// Writes a packet's head, after all that this thread has written before.
    fn publish(&self, place: u64, head: u32);
    /// Tells the processor that there are packets up to `index`.
    fn ring_doorbell(&self, index: u64);
    /// Lets time pass while the ring is full. Fails if the processor has stopped.
    fn pause(&self) -> Result<(), Stopped>;
}

/// The processor of the queue has stopped: what is in the ring never runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stopped;

/// Puts packets into the ring, in their order and with no others between them, and rings the doorbell once.
#[inline]
pub(crate) fn submit<'a>(
    slots: &impl Slots,
    packets: impl ExactSizeIterator<Item = &'a Packet>,
) -> Result<(), Stopped> {
    let count = packets.len() as u64;
    if count == 0 {
        return Ok(());
    }
    let first = slots.reserve(count);
    for (index, packet) in (first..).zip(packets) {
        if index >= slots.left() + slots.size() {
            wait_for_room(slots, first, index)?;
        }
        let place = index & (slots.size() - 1);
        slots.write_body(place, packet);
        slots.publish(place, packet.head());
    }
    slots.ring_doorbell(first + count - 1);
    Ok(())
}

/// Waits until the place of packet `index` is free.
#[cold]
fn wait_for_room(slots: &impl Slots, first: u64, index: u64) -> Result<(), Stopped> {
    // The processor may not know yet of those whose places are awaited.
    if index > first {
        slots.ring_doorbell(index - 1);
    }
    while index >= slots.left_now() + slots.size() {
        slots.pause()?;
    }
    Ok(())
}
