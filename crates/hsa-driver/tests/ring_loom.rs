//! A queue's ring under every interleaving of two producers and the processor: each packet is taken once, whole, in the order of its producer,
//! and a full ring is waited for.

#![allow(dead_code, reason = "the driver uses more of the packets")]

#[path = "../src/abi.rs"]
mod abi;
#[path = "../src/packet.rs"]
mod packet;
#[path = "../src/ring.rs"]
mod ring;

use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use abi::Signal;
use packet::Packet;
use ring::{Slots, Stopped, submit};

/// HSA's invalid packet.
const INVALID: u32 = 1;

/// A number that grows, for whose growth threads sleep: loom has no time in which a thread could look again.
#[derive(Default)]
struct Bell {
    rings: Mutex<u64>,
    rung: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rings.lock().unwrap() += 1;
        self.rung.notify_all();
    }

    /// Sleeps until `look` says that it need not, looking again whenever the bell has rung.
    fn wait_until(&self, look: impl Fn() -> bool) {
        let mut rings = self.rings.lock().unwrap();
        while !look() {
            rings = self.rung.wait(rings).unwrap();
        }
    }
}

/// A ring of two places, of whose packets one word counts.
struct Ring {
    write: AtomicU64,
    read: AtomicU64,
    heads: [AtomicU32; 2],
    bodies: [AtomicU64; 2],
    doorbell: Bell,
    room: Bell,
}

impl Ring {
    fn new() -> Ring {
        Ring {
            write: AtomicU64::new(0),
            read: AtomicU64::new(0),
            heads: [AtomicU32::new(INVALID), AtomicU32::new(INVALID)],
            bodies: [AtomicU64::new(0), AtomicU64::new(0)],
            doorbell: Bell::default(),
            room: Bell::default(),
        }
    }

    /// Takes the next packet, as a processor does: only a doorbell wakes it.
    fn take(&self, index: u64) -> u64 {
        let place = (index & 1) as usize;
        self.doorbell.wait_until(|| self.heads[place].load(Ordering::Acquire) != INVALID);
        let body = self.bodies[place].load(Ordering::Relaxed);
        self.heads[place].store(INVALID, Ordering::Relaxed);
        self.read.store(index + 1, Ordering::Release);
        self.room.ring();
        body
    }
}

impl Slots for Ring {
    fn reserve(&self, count: u64) -> u64 {
        self.write.fetch_add(count, Ordering::AcqRel)
    }

    fn left(&self) -> u64 {
        self.left_now()
    }

    fn left_now(&self) -> u64 {
        self.read.load(Ordering::Acquire)
    }

    fn size(&self) -> u64 {
        2
    }

    fn write_body(&self, place: u64, packet: &Packet) {
        self.bodies[place as usize].store(packet.0[1], Ordering::Relaxed);
    }

    fn publish(&self, place: u64, head: u32) {
        self.heads[place as usize].store(head, Ordering::Release);
    }

    fn ring_doorbell(&self, _: u64) {
        self.doorbell.ring();
    }

    fn pause(&self) -> Result<(), Stopped> {
        // The places that were left when the producer last looked; more will be.
        let left = self.left_now();
        self.room.wait_until(|| self.left_now() > left || self.write.load(Ordering::Acquire) < left + 2);
        Ok(())
    }
}

#[test]
fn packets_of_two_producers_are_taken_once_and_whole() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let ring = Arc::new(Ring::new());
        let producers: Vec<_> = [vec![10, 11], vec![20]]
            .into_iter()
            .map(|numbers: Vec<u64>| {
                let ring = ring.clone();
                thread::spawn(move || {
                    let packets: Vec<Packet> =
                        numbers.iter().map(|number| Packet::barrier(Some(Signal(*number)))).collect();
                    submit(&*ring, packets.iter()).unwrap();
                })
            })
            .collect();
        let taken: Vec<u64> = (0..3).map(|index| ring.take(index)).collect();
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        // Packets that are put in together have no others between them.
        assert!(taken == [10, 11, 20] || taken == [20, 10, 11], "{taken:?}");
    });
}
