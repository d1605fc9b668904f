//! What is logged about blocks that were not freed.

use std::sync::{Mutex, Once};

use hiplaunch::driver::validation::{CallKind, Leak};

use crate::rig::{KIB, MIB, REFUSED, Rig};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.level() <= log::Level::Warn {
            LINES.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Returns the logged lines that contain a word. Tests run at the same time, so each uses sizes of its own.
fn logged(word: &str) -> Vec<String> {
    LINES.lock().unwrap().iter().filter(|line| line.contains(word)).cloned().collect()
}

fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Logger).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
    });
}

#[test]
fn blocks_that_outlive_the_pool_are_logged_and_still_freed() {
    listen();
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    let blocks = [rig.allocate(&a, 123_457), rig.allocate(&a, 123_459), rig.allocate(&b, 654_321)];
    let unbound = rig.pool.allocate_for_any(77_777).unwrap();
    let Rig { layer, device, pool } = rig;
    drop((a, b, pool, device));
    let [first, second, third] =
        blocks.each_ref().map(|block| format!("{} bytes at {}", block.bytes(), block.ptr()));
    for named in [first, second, third, format!("77777 bytes at {}", unbound.ptr())] {
        assert_eq!(logged(&named), [format!("leak: {named}")]);
    }
    assert_eq!(logged("2 blocks of 246916 bytes").len(), 1, "{:?}", logged("leak"));
    // Freed late, but not lost.
    drop((blocks, unbound));
    layer.assert_clean_and_empty().unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn raw_blocks_that_were_not_freed_are_logged_and_freed() {
    listen();
    let rig = Rig::new();
    let a = rig.stream();
    let ptr = rig.pool.allocate_raw(&a, 98_765).unwrap();
    let freed = rig.pool.allocate_raw(&a, 98_766).unwrap();
    rig.pool.free_raw(freed).unwrap();
    drop(a);
    rig.finish();
    let device = "device 0";
    assert_eq!(logged("98765"), [format!("leak: 98765 bytes at {ptr} of {device} were not freed")]);
    assert!(logged("98766").is_empty());
}

#[test]
fn nothing_is_logged_without_a_leak() {
    listen();
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    let held = rig.allocate(&a, 3_141_593);
    rig.use_on(&b, &a, &held);
    drop((held, rig.allocate(&a, 2_718_281), rig.allocate(&b, 16 * KIB)));
    drop((a, b));
    rig.finish();
    assert!(logged("3141593").is_empty() && logged("2718281").is_empty());
}

#[test]
fn many_leaks_are_counted_and_ten_are_logged() {
    listen();
    let rig = Rig::new();
    let a = rig.stream();
    let blocks: Vec<_> = (0..25).map(|_| rig.allocate(&a, MIB + 4321)).collect();
    let Rig { layer, device, pool } = rig;
    drop((a, pool, device));
    assert_eq!(logged(&format!("25 blocks of {} bytes", 25 * (MIB + 4321))).len(), 1);
    assert_eq!(logged(&format!("leak: {} bytes at", MIB + 4321)).len(), 10);
    drop(blocks);
    layer.assert_clean_and_empty().unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn memory_whose_wait_fails_is_logged_and_not_freed() {
    listen();
    let rig = Rig::new();
    let (a, b) = (rig.stream(), rig.stream());
    let block = rig.allocate(&a, 7 * MIB + 64 * KIB);
    rig.use_on(&b, &a, &block);
    drop((block, a, b));
    for call in [CallKind::EventQuery, CallKind::EventSynchronize] {
        rig.layer.inject_repeating(call, 1, REFUSED);
    }
    let Rig { layer, device, pool } = rig;
    drop((device, pool));
    let leaks = layer.report_leaks();
    assert!(matches!(&leaks[..], [Leak::Memory(memory)] if memory.bytes == 7 * MIB + 64 * KIB), "{leaks:?}");
    assert_eq!(logged(&format!("{} bytes on device 0 are not freed", 7 * MIB + 64 * KIB)).len(), 1);
}
