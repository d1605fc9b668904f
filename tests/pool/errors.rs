//! Misuse of addresses is a typed error, and the validation layer sees it.

use hiplaunch::Error;
use hiplaunch::driver::validation::{MemoryKind, NoteKind, ObservedKind, Violation};
use hiplaunch::driver::{DevicePtr, Driver, Work};
use hiplaunch::memory::PoolError;

use crate::rig::{KIB, MIB, Rig};

fn misuse<T: std::fmt::Debug>(result: hiplaunch::Result<T>) -> PoolError {
    match result {
        Err(Error::Pool(e)) => e,
        other => panic!("a misuse must be typed, not {other:?}"),
    }
}

#[test]
fn double_free() {
    let rig = Rig::new();
    let a = rig.stream();
    let ptr = rig.pool.allocate_raw(&a, 1000).unwrap();
    let kept = rig.allocate(&a, 1000);
    rig.pool.free_raw(ptr).unwrap();
    let before = rig.counters();
    match misuse(rig.pool.free_raw(ptr)) {
        PoolError::DoubleFree { call: "Pool::free_raw", ptr: at, device } => {
            assert_eq!((at, device), (ptr, rig.device.id()));
        }
        other => panic!("{other}"),
    }
    match rig.violation() {
        Violation::DoubleFree { call: ObservedKind::Note(NoteKind::PoolFree), memory } => {
            assert_eq!((memory.address, memory.kind), (ptr.0, MemoryKind::Pooled));
        }
        other => panic!("{other}"),
    }
    // The misuse changed nothing: no block is allocated twice.
    assert_eq!(rig.counters(), before);
    let blocks = [rig.allocate(&a, 1000), rig.allocate(&a, 1000)];
    assert!(blocks[0].ptr() != blocks[1].ptr() && blocks.iter().all(|block| block.ptr() != kept.ptr()));
    drop((kept, blocks, a));
    rig.finish();
}

#[test]
fn double_free_of_a_held_block() {
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    let ptr = rig.pool.allocate_raw(&a, MIB).unwrap();
    rig.pool.record_raw(ptr, &b).unwrap();
    let gate = rig.gate(&b);
    rig.pool.free_raw(ptr).unwrap();
    assert_eq!(rig.counters().held_back, MIB);
    assert!(matches!(misuse(rig.pool.free_raw(ptr)), PoolError::DoubleFree { .. }));
    assert!(matches!(rig.violation(), Violation::DoubleFree { .. }));
    assert_eq!((rig.counters().held_back, rig.counters().frees), (MIB, 1));
    gate.open();
    drop((a, b));
    rig.finish();
}

#[test]
fn foreign_pointers() {
    let rig = Rig::new();
    let a = rig.stream();
    let live = rig.allocate(&a, KIB);
    let other = Rig::new();
    let b = other.stream();
    let theirs = other.pool.allocate_raw(&b, 5 * MIB).unwrap();
    // Emulated devices of two drivers have the same addresses, so this takes one beyond the memory of the first.
    for ptr in [DevicePtr::NULL, DevicePtr(64), theirs.offset(4 * MIB)] {
        match misuse(rig.pool.free_raw(ptr)) {
            PoolError::ForeignPointer { call: "Pool::free_raw", ptr: at, .. } => assert_eq!(at, ptr),
            other => panic!("{other}"),
        }
        assert!(matches!(rig.violation(), Violation::UnknownAddress { address, .. } if address == ptr.0));
        match misuse(rig.pool.record_raw(ptr, &a)) {
            PoolError::ForeignPointer { call: "Pool::record_raw", .. } => {}
            other => panic!("{other}"),
        }
        assert!(matches!(
            rig.violation(),
            Violation::UnknownAddress { call: ObservedKind::Note(NoteKind::PoolRecord), .. }
        ));
        assert!(matches!(
            misuse(rig.pool.locate(ptr)),
            PoolError::ForeignPointer { call: "Pool::locate", .. }
        ));
    }
    // Memory of the driver that belongs to no pool.
    let bare = rig.device.driver().malloc(rig.device.id(), 4096).unwrap();
    assert!(matches!(misuse(rig.pool.free_raw(bare)), PoolError::ForeignPointer { .. }));
    assert!(matches!(rig.violation(), Violation::WrongFree { .. }));
    // SAFETY: allocated above, and used by nothing.
    unsafe { rig.device.driver().free(rig.device.id(), bare) }.unwrap();
    other.pool.free_raw(theirs).unwrap();
    drop((live, a, b));
    rig.finish();
    other.finish();
}

#[test]
fn pointers_inside_of_blocks_and_of_blocks_with_owners() {
    let rig = Rig::new();
    let a = rig.stream();
    let ptr = rig.pool.allocate_raw(&a, 1000).unwrap();
    let owned = rig.allocate(&a, 2000);
    for (at, block, bytes, offset) in [
        (ptr.offset(1), ptr, 1000, 1),
        (ptr.offset(1023), ptr, 1000, 1023),
        (owned.ptr(), owned.ptr(), 2000, 0),
        (owned.ptr().offset(256), owned.ptr(), 2000, 256),
    ] {
        let error = misuse(rig.pool.free_raw(at));
        assert!(
            error.to_string().contains(&format!("{offset} bytes into the {bytes} bytes at {block}")),
            "{error}"
        );
        match error {
            PoolError::NotYours { ptr: p, block: b, bytes: n, offset: o, .. } => {
                assert_eq!((p, b, n, o), (at, block, bytes, offset));
            }
            other => panic!("{other}"),
        }
        let found = rig.layer.take_violations();
        if offset != 0 {
            assert!(matches!(&found[..], [Violation::WrongFree { memory, .. }] if memory.address == block.0));
        }
    }
    assert_eq!((rig.counters().live_blocks, rig.counters().frees), (2, 0));
    // The owner's block is still live, and was not freed by its address.
    rig.fill(&a, &owned);
    drop(owned);
    rig.pool.free_raw(ptr).unwrap();
    drop(a);
    rig.finish();
}

#[test]
fn use_after_free() {
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    let ptr = rig.pool.allocate_raw(&a, 1000).unwrap();
    let kept = rig.allocate(&a, 256);
    let info = rig.pool.locate(ptr.offset(999)).unwrap();
    assert_eq!((info.ptr, info.bytes, info.capacity, info.stream), (ptr, 1000, 1024, a.number()));
    rig.pool.free_raw(ptr).unwrap();
    for at in [ptr, ptr.offset(999)] {
        match misuse(rig.pool.locate(at)) {
            PoolError::UseAfterFree { call: "Pool::locate", ptr: p, device } => {
                assert_eq!((p, device), (at, rig.device.id()));
            }
            other => panic!("{other}"),
        }
    }
    // A use that is recorded too late, and one that is enqueued too late.
    assert!(matches!(
        misuse(rig.pool.record_raw(ptr, &b)),
        PoolError::UseAfterFree { call: "Pool::record_raw", .. }
    ));
    assert!(matches!(
        rig.violation(),
        Violation::UseAfterFree { call: ObservedKind::Note(NoteKind::PoolRecord), .. }
    ));
    // SAFETY: refused by the layer.
    let refused = unsafe {
        rig.layer.enqueue(rig.device.id(), a.as_raw(), &Work::FillBytes { dst: ptr, value: 0, bytes: 1000 })
    };
    assert!(refused.is_err());
    match rig.violation() {
        Violation::UseAfterFree { memory, .. } => {
            assert_eq!((memory.address, memory.kind), (ptr.0, MemoryKind::Pooled));
        }
        other => panic!("{other}"),
    }
    drop((kept, a, b));
    rig.finish();
}

#[test]
fn raw_blocks_in_order() {
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    let ptr = rig.pool.allocate_raw(&a, MIB).unwrap();
    let gate = rig.gate(&b);
    rig.pool.record_raw(ptr, &b).unwrap();
    rig.pool.record_raw(ptr, &b).unwrap();
    rig.pool.free_raw(ptr).unwrap();
    // Held back as every other block.
    assert_eq!(rig.counters().held_back, MIB);
    let other = rig.pool.allocate_raw(&a, MIB).unwrap();
    assert_ne!(other, ptr);
    gate.open();
    b.synchronize().unwrap();
    let again = rig.pool.allocate_raw(&a, MIB).unwrap();
    assert_eq!(again, ptr);
    rig.pool.free_raw(again).unwrap();
    rig.pool.free_raw(other).unwrap();
    drop((a, b));
    rig.finish();
}
