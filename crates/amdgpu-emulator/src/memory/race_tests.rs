//! Threads that race on the same bytes with accesses of all sizes: every value read is one that was written.
//!
//! Under Miri this shows that no such race is undefined behaviour.

use std::sync::Arc;
use std::thread;

use super::cells::{Cells, load_rows, store_rows};
use super::{AddressSpace, DispatchMemory, Element, GuestRange, View, Wide};
use crate::state::wave::{Active, Lanes};

/// The number of rounds of each thread. Miri is slow.
const ROUNDS: u32 = if cfg!(miri) { 3 } else { 2000 };
/// The number of bytes that threads race on.
const LEN: u64 = 1024;

/// Runs all bodies at the same time, each with a view, and the address of an allocation.
fn race(bodies: &[&(dyn Fn(&mut View, u64) + Sync)]) -> (AddressSpace, u64) {
    let space = AddressSpace::new(1 << 20);
    let at = space.alloc(LEN, 0).unwrap();
    thread::scope(|scope| {
        for body in bodies {
            let block = Arc::new(DispatchMemory::new(0x1000, 64).unwrap());
            let mut view = View::new(space.snapshot(), block, space.blocks().capture());
            scope.spawn(move || body(&mut view, at));
        }
    });
    (space, at)
}

fn range(view: &mut View, at: u64) -> GuestRange {
    view.range(at, LEN).unwrap()
}

/// Stores `value` with the lanes of `exec`, one element after the other from `at` on, then loads them.
fn wave<E: Element>(view: &mut View, at: u64, value: E, exec: u64) -> Vec<[u8; 16]> {
    let mut mask = Lanes::ZERO;
    let active = Active::of(exec, &mut mask).unwrap();
    let addresses = Wide(std::array::from_fn(|lane| at + (lane * E::SIZE) as u64 % (LEN - 16)));
    view.checked::<_, E>(0, &addresses, &active).unwrap().put(|_| value);
    let mut out = Vec::new();
    view.checked::<_, E>(1, &addresses, &active).unwrap().each(|_, got| out.push(got.to_bytes()));
    out
}

#[test]
fn accesses_of_all_sizes() {
    // Each thread writes one value to all bytes, so each byte that is read has one of these values.
    let known =
        |bytes: &[u8]| assert!(bytes.iter().all(|b| [0, 0x11, 0x22, 0x44, 0x88].contains(b)), "{bytes:x?}");
    let bytes = |view: &mut View, at: u64| {
        for n in 0..ROUNDS {
            wave(view, at + u64::from(n % 3), 0x11u8, !0).iter().for_each(|b| known(b));
            wave(view, at + u64::from(n % 3), 0x1111u16, 0x8000_0000_0000_0003).iter().for_each(|b| known(b));
        }
    };
    let dwords = |view: &mut View, at: u64| {
        for n in 0..ROUNDS {
            wave(view, at, [0x2222_2222u32], !0).iter().for_each(|b| known(b));
            wave(view, at + u64::from(n % 2), [0x2222_2222u32; 2], !0).iter().for_each(|b| known(b));
            wave(view, at, [0x2222_2222u32; 3], !5).iter().for_each(|b| known(b));
            wave(view, at, [0x2222_2222u32; 4], !0).iter().for_each(|b| known(b));
        }
    };
    let rows = |view: &mut View, at: u64| {
        let (mut mask, mut rows) = (Lanes::ZERO, [Lanes([[0x4444_4444; 16]; 4]); 1]);
        let active = Active::of(!0, &mut mask).unwrap();
        for n in 0..u64::from(ROUNDS) {
            let addresses = Wide(std::array::from_fn(|lane| at + n % 4 + 4 * lane as u64));
            store_rows(&mut view.checked::<_, [u32; 1]>(0, &addresses, &active).unwrap(), &rows);
            load_rows(&view.checked::<_, [u32; 1]>(0, &addresses, &active).unwrap(), [0], [&mut rows]);
            rows[0].flat().iter().for_each(|word| known(&word.to_le_bytes()));
            rows = [Lanes([[0x4444_4444; 16]; 4]); 1];
        }
    };
    let host = |view: &mut View, at: u64| {
        let range = range(view, at);
        for n in 0..u64::from(ROUNDS) {
            let mut out = [0; 45];
            range.write_bytes(at + n % 9, &[0x88; 45]);
            range.read_bytes(at + n % 7, &mut out);
            known(&out);
            range.store_u32(at + n % 64, 0x8888_8888).unwrap();
            known(&range.load_u32(at + n % 64).unwrap().to_le_bytes());
            range.atomic_u64(at + 8).unwrap().swap(0x8888_8888_8888_8888);
            range.atomic_u32(at + 12).unwrap().update(|old| {
                known(&old.to_le_bytes());
                0x8888_8888
            });
        }
    };
    race(&[&bytes, &dwords, &rows, &host]);
}

#[test]
fn concurrent_read_modify_writes_lose_no_update() {
    let add = |view: &mut View, at: u64| {
        let range = range(view, at);
        let (narrow, wide) = (range.atomic_u32(at).unwrap(), range.atomic_u64(at + 8).unwrap());
        for _ in 0..ROUNDS {
            narrow.add(1);
            wide.update(|old| old + (1 << 31));
            wide.add(1 << 31);
            // A store of another size, to bytes that are not added to.
            range.store_u32(at + 16, 7).unwrap();
            range.atomic_u64(at + 16).unwrap().add(1 << 32);
        }
    };
    let (space, at) = race(&[&add, &add, &add]);
    let mut out = [0; 24];
    space.read(at, &mut out).unwrap();
    let word = |n: usize| u64::from_le_bytes(out[8 * n..8 * n + 8].try_into().unwrap());
    assert_eq!((word(0), word(1)), (3 * u64::from(ROUNDS), 3 * u64::from(ROUNDS) << 32));
    assert!(space.snapshot().ranges[0].atomic_u32(at + 2).is_none(), "a misaligned one is none");
}

/// Values of 64 bits that are written at once are read at once.
#[test]
fn aligned_values_are_not_torn() {
    let write = |view: &mut View, at: u64| {
        for n in 0..u64::from(ROUNDS) {
            let value = n | n << 32;
            view.store_one(at, [value as u32, (value >> 32) as u32]).unwrap();
        }
    };
    let read = |view: &mut View, at: u64| {
        for _ in 0..ROUNDS {
            let [low, high] = view.load_one::<[u32; 2]>(at).unwrap();
            // Miri runs accesses byte by byte, so they can be torn.
            assert!(low == high || cfg!(miri), "{low} {high}");
        }
    };
    race(&[&write, &read, &read]);
}
