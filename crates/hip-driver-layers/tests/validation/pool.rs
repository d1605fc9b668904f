//! Pool blocks inside driver allocations: wrong notes, accesses outside live blocks, frees of pool segments, leaks, and
//! reuse of bytes that work in flight still uses.

use hip_driver::{DevicePtr, Driver, ErrorCode, Note, Observer, RawStream, Work};
use hip_driver_layers::validation::{CallKind, Leak, MemoryKind, NoteKind, ObservedKind, Violation};

use crate::rig::{D0, D1, Rig, reads, writes};

#[test]
fn a_correct_pools_traffic_is_clean() {
    let rig = Rig::new();
    let (a, b, event, pinned, (_, saxpy)) =
        (rig.stream(), rig.stream(), rig.event(), rig.pinned(64), rig.module());
    let segment = rig.segment(1024);
    for _ in 0..3 {
        let first = rig.hand_out(segment, 256);
        let second = rig.hand_out(segment.offset(256), 768);
        rig.htod(first, &pinned, 0, 64, a).unwrap();
        rig.launch(saxpy, a, &[reads(first, 256), writes(second, 768)]).unwrap();
        rig.layer.note(&Note::PoolRecord { device: D0, block: second });
        // The same stream: the block is free at once, and used again at once, split in two.
        rig.give_back(first);
        let halves = [rig.hand_out(segment, 128), rig.hand_out(segment.offset(128), 128)];
        for half in halves {
            rig.memset(half, 128, a).unwrap();
        }
        // Another stream: after an event.
        rig.record(event, a).unwrap();
        rig.wait(b, event).unwrap();
        halves.into_iter().for_each(|half| rig.give_back(half));
        let whole = rig.hand_out(segment, 256);
        rig.dtod(whole, second, 256, b).unwrap();
        rig.give_back(whole);
        rig.give_back(second);
        rig.record(event, b).unwrap();
        rig.wait(a, event).unwrap();
    }
    rig.free(segment).unwrap();
    rig.clean();
}

#[test]
fn blocks_that_overlap() {
    let rig = Rig::new();
    let segment = rig.segment(1024);
    let live = rig.hand_out(segment.offset(256), 256);
    for (at, bytes) in [(256, 256), (0, 257), (511, 1), (300, 4), (0, 1024)] {
        rig.hand_out(segment.offset(at), bytes);
        match rig.found() {
            Violation::LiveOverlap { call, address, bytes: b, live: memory } => {
                assert_eq!(
                    (call, address, b),
                    (ObservedKind::Note(NoteKind::PoolAllocate), segment.0 + at, bytes as u64)
                );
                assert_eq!(
                    (memory.address, memory.bytes, memory.kind),
                    (live.0, 256, MemoryKind::Pooled),
                    "{at}, {bytes}"
                );
            }
            other => panic!("{other}"),
        }
    }
    // Neighbours are correct, and a refused block was never live.
    rig.hand_out(segment, 256);
    rig.hand_out(segment.offset(512), 512);
    rig.clean();
    assert_eq!(rig.live_blocks().len(), 3);
}

#[test]
fn notes_about_memory_outside_pool_segments() {
    let rig = Rig::new();
    let (plain, pinned, gone) = (rig.malloc(256), rig.pinned(64), rig.malloc(512));
    rig.free(gone).unwrap();
    let far = rig.layer.malloc(D1, 64).unwrap();
    let notes: [&dyn Fn(DevicePtr); 4] = [
        &|ptr| rig.layer.note(&Note::PoolSegment { device: D0, segment: ptr, addresses: 0 }),
        &|ptr| rig.layer.note(&Note::PoolAllocate { device: D0, block: ptr, bytes: 16 }),
        &|ptr| rig.layer.note(&Note::PoolFree { device: D0, block: ptr }),
        &|ptr| rig.layer.note(&Note::PoolRecord { device: D0, block: ptr }),
    ];
    for (i, note) in notes.into_iter().enumerate() {
        note(DevicePtr(16));
        let found = rig.found();
        assert!(matches!(found, Violation::UnknownAddress { address: 16, .. }), "{i}: {found}");
        note(gone.offset(8));
        let found = rig.found();
        assert!(matches!(found, Violation::UseAfterFree { .. }), "{i}: {found}");
        note(far);
        let found = rig.found();
        assert!(matches!(found, Violation::MemoryOfOtherDevice { given: D0, .. }), "{i}: {found}");
        for elsewhere in [plain.offset(8), pinned.device] {
            note(elsewhere);
            match rig.found() {
                Violation::WrongFree { call: ObservedKind::Note(NoteKind::PoolFree), address, .. }
                    if i == 2 =>
                {
                    assert_eq!(address, elsewhere.0)
                }
                Violation::WrongPoolNote { address, memory, .. } if i != 2 => {
                    assert_eq!(
                        (address, memory.kind == MemoryKind::Pinned),
                        (elsewhere.0, elsewhere != plain.offset(8))
                    )
                }
                other => panic!("{i}: {other}"),
            }
        }
    }
    // Peers may access each other's memory, but not allocate blocks in it.
    rig.layer.enable_peer_access(D0, D1).unwrap();
    rig.layer.note(&Note::PoolSegment { device: D1, segment: far, addresses: 0 });
    rig.layer.note(&Note::PoolAllocate { device: D1, block: far, bytes: 64 });
    rig.clean();
    for note in notes {
        note(far);
        let found = rig.found();
        assert!(matches!(found, Violation::MemoryOfOtherDevice { given: D0, .. }), "{found}");
    }
    rig.memset(far, 64, rig.stream()).unwrap();
    // Memory of the stream-ordered allocator cannot be a pool segment.
    // SAFETY: a live stream.
    let ordered = unsafe { rig.layer.malloc_async(D0, 64, rig.stream()) }.unwrap();
    rig.layer.note(&Note::PoolSegment { device: D0, segment: ordered, addresses: 0 });
    assert!(matches!(rig.found(), Violation::WrongPoolNote { .. }));
}

#[test]
fn blocks_that_leave_their_segment_or_are_empty() {
    let rig = Rig::new();
    let segment = rig.segment(256);
    rig.hand_out(segment.offset(128), 129);
    match rig.found() {
        Violation::OutOfRange { over: 1, memory, .. } => {
            assert_eq!((memory.address, memory.kind), (segment.0, MemoryKind::Device))
        }
        other => panic!("{other}"),
    }
    rig.hand_out(segment.offset(128), usize::MAX);
    assert!(matches!(rig.found(), Violation::OutOfRange { .. }));
    rig.hand_out(segment, 0);
    assert!(matches!(rig.found(), Violation::ZeroBytes { call: ObservedKind::Note(NoteKind::PoolAllocate) }));
    rig.hand_out(segment.offset(256), 1);
    assert!(matches!(rig.found(), Violation::UnknownAddress { .. }));
    // Adding the pool segment again keeps its blocks.
    let block = rig.hand_out(segment, 256);
    rig.layer.note(&Note::PoolSegment { device: D0, segment, addresses: 0 });
    rig.give_back(block);
    rig.clean();
}

#[test]
fn blocks_freed_twice_or_wrongly() {
    let rig = Rig::new();
    let segment = rig.segment(1024);
    let block = rig.hand_out(segment.offset(256), 256);
    rig.give_back(block.offset(16));
    match rig.found() {
        Violation::WrongFree { call: ObservedKind::Note(NoteKind::PoolFree), address, memory } => {
            assert_eq!((address, memory.address, memory.kind), (block.0 + 16, block.0, MemoryKind::Pooled));
        }
        other => panic!("{other}"),
    }
    rig.give_back(segment);
    match rig.found() {
        Violation::UnknownAddress { nearest, .. } => assert_eq!(nearest, None),
        other => panic!("{other}"),
    }
    rig.give_back(segment.offset(512));
    match rig.found() {
        Violation::UnknownAddress { nearest: Some(nearest), .. } => assert_eq!(nearest.address, block.0),
        other => panic!("{other}"),
    }
    rig.give_back(block);
    rig.clean();
    rig.give_back(block);
    match rig.found() {
        Violation::DoubleFree { call: ObservedKind::Note(NoteKind::PoolFree), memory } => {
            assert_eq!((memory.address, memory.bytes, memory.kind), (block.0, 256, MemoryKind::Pooled));
        }
        other => panic!("{other}"),
    }
    rig.give_back(block.offset(16));
    assert!(matches!(rig.found(), Violation::UseAfterFree { .. }));
    // Also after the pool segment was reused, and though another block begins at the same address.
    rig.give_back(rig.hand_out(segment, 1024));
    rig.give_back(block);
    assert!(matches!(rig.found(), Violation::DoubleFree { memory, .. } if memory.address == block.0));
    rig.free(segment).unwrap();
    rig.give_back(block);
    assert!(matches!(rig.found(), Violation::DoubleFree { memory, .. } if memory.address == block.0));
}

#[test]
fn recorded_uses_need_a_live_block() {
    let rig = Rig::new();
    let segment = rig.segment(512);
    let block = rig.hand_out(segment, 256);
    let record = |ptr| rig.layer.note(&Note::PoolRecord { device: D0, block: ptr });
    record(block);
    rig.clean();
    record(block.offset(4));
    match rig.found() {
        Violation::WrongPoolNote { memory, .. } => assert_eq!(memory.kind, MemoryKind::Pooled),
        other => panic!("{other}"),
    }
    record(segment.offset(256));
    assert!(matches!(rig.found(), Violation::UnknownAddress { .. }));
    rig.give_back(block);
    record(block);
    match rig.found() {
        Violation::UseAfterFree { call: ObservedKind::Note(NoteKind::PoolRecord), memory, .. } => {
            assert_eq!((memory.address, memory.bytes), (block.0, 256));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn accesses_outside_live_blocks() {
    let rig = Rig::new();
    let (stream, pinned, (_, saxpy)) = (rig.stream(), rig.pinned(256), rig.module());
    let segment = rig.segment(1024);
    let block = rig.hand_out(segment.offset(256), 128);
    let next = rig.hand_out(segment.offset(384), 128);
    let mut out = [0u8; 32];
    // One of each kind of access, at an address. Each is refused before it reaches the driver.
    let mut each = |at: DevicePtr, bytes: usize, code: ErrorCode, expected: &dyn Fn(&Violation) -> bool| {
        let refused = |call: &mut dyn FnMut() -> hip_driver::DriverResult<()>| {
            let found = rig.refused(code, call);
            assert!(expected(&found), "{found}");
        };
        refused(&mut || rig.memset(at, bytes, stream));
        refused(&mut || rig.htod(at, &pinned, 0, bytes, stream));
        refused(&mut || rig.dtoh(&pinned, 0, at, bytes, stream));
        refused(&mut || rig.dtod(at, next.offset(64), bytes, stream));
        refused(&mut || rig.dtoh_pageable(&mut out[..bytes], at, stream));
        refused(&mut || rig.launch(saxpy, stream, &[reads(next, 8), writes(at, bytes)]));
        // SAFETY: the layer refuses them; `out` is as long as the copies.
        unsafe {
            refused(&mut || {
                rig.layer.enqueue(D0, stream, &Work::FillWords { dst: at, value: 1, count: bytes / 4 })
            });
            refused(&mut || {
                rig.layer.copy_blocking(D0, &Work::CopyToDevice { dst: at, src: out.as_ptr(), bytes })
            });
            refused(&mut || {
                rig.layer.copy_blocking(D0, &Work::CopyToHost { dst: out.as_mut_ptr(), src: at, bytes })
            });
            refused(&mut || {
                rig.layer.enqueue(
                    D0,
                    stream,
                    &Work::CopyFromPeer { dst: next, src_device: D0, src: at, bytes },
                )
            });
        }
    };
    // Across the end of a block, into a live neighbour: it is not one block.
    each(block.offset(112), 32, ErrorCode::INVALID_VALUE, &|found| match found {
        Violation::OutOfRange { over: 16, memory, .. } => {
            (memory.address, memory.kind) == (block.0, MemoryKind::Pooled)
        }
        _ => false,
    });
    // Never allocated.
    each(segment, 32, ErrorCode::INVALID_DEVICE_POINTER, &|found| {
        matches!(found, Violation::UnknownAddress { nearest: None, .. })
    });
    each(segment.offset(1000 - 8), 32, ErrorCode::INVALID_DEVICE_POINTER, &|found| match found {
        Violation::UnknownAddress { nearest: Some(nearest), .. } => nearest.address == next.0,
        _ => false,
    });
    // Freed.
    rig.give_back(block);
    each(block.offset(64), 32, ErrorCode::INVALID_DEVICE_POINTER, &|found| match found {
        Violation::UseAfterFree { memory, address, .. } => {
            (*address, memory.address, memory.bytes) == (block.0 + 64, block.0, 128)
        }
        _ => false,
    });
    // Allocated again, the block is new. After a free of the pool segment, the message still names the block.
    rig.hand_out(block, 128);
    rig.memset(block, 128, stream).unwrap();
    rig.give_back(block);
    rig.give_back(next);
    rig.free(segment).unwrap();
    match rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.memset(block, 1, stream)) {
        Violation::UseAfterFree { memory, .. } => assert_eq!(memory.kind, MemoryKind::Pooled),
        other => panic!("{other}"),
    }
    match rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.memset(segment, 1, stream)) {
        Violation::UseAfterFree { memory, .. } => assert_eq!(memory.kind, MemoryKind::Device),
        other => panic!("{other}"),
    }
    // Later memory at the same address is no pool segment.
    assert_eq!(rig.malloc(1024), segment);
    rig.memset(segment, 1024, stream).unwrap();
    rig.free(segment).unwrap();
    match rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.memset(block, 1, stream)) {
        Violation::UseAfterFree { memory, .. } => assert_eq!(memory.kind, MemoryKind::Device),
        other => panic!("{other}"),
    }
    rig.clean();
}

/// Uses the same bytes twice. In between, the block is freed and allocated again, and `between` is called.
fn reuse(between: impl Fn(&Rig, RawStream, RawStream)) -> Rig {
    let rig = Rig::new();
    let (a, b, segment) = (rig.stream(), rig.stream(), rig.segment(1024));
    let block = rig.hand_out(segment, 512);
    rig.memset(block.offset(128), 128, a).unwrap();
    rig.give_back(block);
    between(&rig, a, b);
    // Another block with some of the bytes.
    let block = rig.hand_out(segment.offset(192), 256);
    rig.memset(block, 256, b).unwrap();
    rig
}

#[test]
fn reuse_on_another_stream_has_to_wait() {
    reuse(|rig, a, b| {
        let event = rig.event();
        rig.record(event, a).unwrap();
        rig.wait(b, event).unwrap();
    })
    .clean();
    reuse(|rig, a, _| rig.sync(a).unwrap()).clean();
    reuse(|rig, a, _| assert!(rig.query(a).unwrap())).clean();
    for rig in [
        reuse(|_, _, _| ()),
        // Recorded without a wait, and a wait of the wrong stream.
        reuse(|rig, a, _| rig.record(rig.event(), a).unwrap()),
        reuse(|rig, a, b| {
            let event = rig.event();
            rig.record(event, b).unwrap();
            rig.wait(a, event).unwrap();
        }),
    ] {
        match rig.found() {
            Violation::Race { first, second, memory, range } => {
                assert_eq!((first.sequence, second.sequence), (1, 1));
                assert_ne!(first.stream, second.stream);
                // The message names the present block.
                assert_eq!((memory.kind, memory.bytes), (MemoryKind::Pooled, 256));
                assert_eq!((range.start, range.end), (0, 64));
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn every_stream_that_used_a_block_counts_for_its_reuse() {
    let rig = Rig::new();
    let (a, b, c, event, (_, saxpy)) = (rig.stream(), rig.stream(), rig.stream(), rig.event(), rig.module());
    let block = rig.hand_out(rig.segment(256), 256);
    rig.launch(saxpy, a, &[reads(block, 256)]).unwrap();
    rig.launch(saxpy, b, &[reads(block, 256)]).unwrap();
    rig.layer.note(&Note::PoolRecord { device: D0, block });
    rig.give_back(block);
    // Waits for one of the two streams.
    rig.record(event, a).unwrap();
    rig.wait(c, event).unwrap();
    rig.hand_out(block, 256);
    rig.clean();
    rig.memset(block, 256, c).unwrap();
    match rig.found() {
        Violation::Race { first, .. } => assert_eq!((first.stream, first.write), (Some(b), false)),
        other => panic!("{other}"),
    }
}

#[test]
fn an_access_before_several_reuses_still_counts() {
    let rig = Rig::new();
    let (a, b, segment) = (rig.stream(), rig.stream(), rig.segment(512));
    rig.memset(rig.hand_out(segment, 512), 512, a).unwrap();
    rig.give_back(segment);
    // Allocated as other blocks, and not used.
    for _ in 0..2000 {
        let halves = [rig.hand_out(segment, 256), rig.hand_out(segment.offset(256), 256)];
        halves.into_iter().for_each(|half| rig.give_back(half));
    }
    rig.clean();
    rig.memset(rig.hand_out(segment.offset(256), 16), 16, b).unwrap();
    assert!(matches!(rig.found(), Violation::Race { range, .. } if (range.start, range.end) == (0, 16)));
}

#[test]
fn segments_freed_while_their_blocks_are_live() {
    let rig = Rig::new();
    let (stream, segment) = (rig.stream(), rig.segment(1024));
    let (first, second) = (rig.hand_out(segment, 256), rig.hand_out(segment.offset(512), 256));
    match rig.refused(ErrorCode::INVALID_VALUE, || rig.free(segment)) {
        Violation::SegmentFreed { call: ObservedKind::Call(CallKind::Free), memory, blocks } => {
            assert_eq!((memory.address, memory.bytes, blocks), (segment.0, 1024, 2));
        }
        other => panic!("{other}"),
    }
    // The driver cannot free a block.
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.free(second));
    assert!(
        matches!(found, Violation::WrongFree { memory, .. } if memory.kind == MemoryKind::Pooled),
        "{found}"
    );
    // Nothing has changed.
    rig.memset(second, 256, stream).unwrap();
    rig.give_back(first);
    assert!(matches!(
        rig.refused(ErrorCode::INVALID_VALUE, || rig.free(segment)),
        Violation::SegmentFreed { blocks: 1, .. }
    ));
    rig.give_back(second);
    // A failed free leaves the pool segment alive, without live blocks.
    rig.fake.fail("free", ErrorCode::INVALID_VALUE);
    assert_eq!(rig.free(segment).unwrap_err().code, ErrorCode::INVALID_VALUE);
    rig.clean();
    let found = rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.memset(second, 1, stream));
    assert!(matches!(found, Violation::UseAfterFree { .. }), "{found}");
    rig.give_back(rig.hand_out(segment, 1024));
    rig.free(segment).unwrap();
    rig.clean();
    // The pool segment was freed twice, though a block was at its start.
    match rig.refused(ErrorCode::INVALID_DEVICE_POINTER, || rig.free(segment)) {
        Violation::DoubleFree { memory, .. } => assert_eq!(memory.kind, MemoryKind::Device),
        other => panic!("{other}"),
    }
}

#[test]
fn live_blocks_are_leaks() {
    let rig = Rig::new();
    let segment = rig.segment(1024);
    let (first, second) = (rig.hand_out(segment.offset(512), 16), rig.hand_out(segment, 512));
    rig.layer.note(&Note::PoolSegment { device: D0, segment, addresses: 0 });
    let leaks = rig.layer.report_leaks();
    assert_eq!(leaks.len(), 3, "{leaks:?}");
    assert!(
        matches!(leaks[0], Leak::Memory(m) if m.address == segment.0 && m.kind == MemoryKind::Device),
        "{leaks:?}"
    );
    assert_eq!(rig.live_blocks(), [second.0, first.0]);
    let text = leaks[1].to_string();
    assert!(text.starts_with("pool block no. 3 (512 bytes at "), "{text}");
    rig.layer.assert_clean_and_empty().unwrap_err();
    rig.give_back(first);
    rig.give_back(second);
    assert_eq!(rig.layer.report_leaks().len(), 1, "the segment");
    rig.free(segment).unwrap();
    rig.layer.assert_clean_and_empty().unwrap();
}

#[test]
fn many_threads_use_one_segment() {
    let rig = Rig::new();
    let segment = rig.segment(8 * 256);
    std::thread::scope(|scope| {
        for i in 0..8 {
            let rig = &rig;
            scope.spawn(move || {
                let stream = rig.stream();
                for bytes in 1..=256 {
                    let block = rig.hand_out(segment.offset(i * 256), bytes);
                    rig.memset(block, bytes, stream).unwrap();
                    rig.give_back(block);
                }
            });
        }
    });
    rig.free(segment).unwrap();
    rig.clean();
    assert_eq!(rig.layer.counts()[NoteKind::PoolFree], 8 * 256);
}
