//! Tests of kernels that call the host: printf, assert, malloc.

mod common;

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use std::{env, io, thread};

use amdgpu_emulator::{Error, FaultCause, Machine, Printer, PrintfStream};
use code_object::{CodeObject, Processor, TargetId};
use common::{Rig, U32, U64, threads};

const PRINTING: &[u8] = include_bytes!("data/printing.gfx90a.bundle");
const HEAP: &[u8] = include_bytes!("data/heap.gfx90a.bundle");

/// Returns a machine with the kernels of a bundle and this printer.
fn rig_of(bundle: &[u8], count: usize, printer: Printer) -> Rig {
    let mut config = threads(count);
    config.printer = printer;
    let machine = Machine::new(config).unwrap();
    let object = CodeObject::from_any(bundle, &TargetId::new(Processor::Gfx90a)).unwrap();
    let program = machine.load(&object).unwrap();
    Rig { machine, program, name: "printing" }
}

/// Returns a machine with the kernels that print and this printer.
fn rig_with(count: usize, printer: Printer) -> Rig {
    rig_of(PRINTING, count, printer)
}

type Lines = Arc<Mutex<Vec<(PrintfStream, String)>>>;

/// Returns a machine with the kernels, and the lines that they print.
fn rig(count: usize) -> (Rig, Lines) {
    let lines = Lines::default();
    let sink = Arc::clone(&lines);
    let printer = Printer::new(move |stream, text| {
        sink.lock().unwrap().push((stream, String::from_utf8_lossy(text).into_owned()));
    });
    (rig_with(count, printer), lines)
}

#[test]
fn printf_prints() {
    for count in [1, 3] {
        let (rig, lines) = rig(count);
        rig.run("print", 3, 100, &[U32(-42i32 as u32), U64(2.5f64.to_bits())]);
        let mut got = std::mem::take(&mut *lines.lock().unwrap());
        got.sort_by(|a, b| a.1.cmp(&b.1));
        let mut expected: Vec<String> = (0..3)
            .flat_map(|block| [5, 37, 69].map(|item| (block, item)))
            .map(|(block, item)| {
                format!(
                    "item {item} of block {block}: -42 2.500 a string that is longer than one packet holds, so \
                     that it takes several of them to arrive and %\n"
                )
            })
            .collect();
        expected.sort();
        assert!(got.iter().all(|(stream, _)| *stream == PrintfStream::Stdout));
        assert_eq!(got.into_iter().map(|(_, text)| text).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_failed_assert_prints_and_traps() {
    let (rig, lines) = rig(1);
    let values = rig.words(&(0..64).collect::<Vec<u32>>());
    rig.run("check", 1, 64, &[U64(values), U32(64)]);
    assert!(lines.lock().unwrap().is_empty());
    match rig.launch("check", [1, 1, 1], [64, 1, 1], 0, &[U64(values), U32(63)]) {
        Err(Error::Fault(report)) => assert!(matches!(report.cause, FaultCause::Trap { .. }), "{report}"),
        other => panic!("{other:?}"),
    }
    let lines = lines.lock().unwrap();
    assert_eq!(lines.len(), 1);
    assert!(lines[0].1.contains("values[threadIdx.x] < limit"), "{lines:?}");
}

#[test]
fn malloc_and_free_on_the_device() {
    let (rig, _) = rig(2);
    let out = rig.words(&[0; 256]);
    rig.run("heap", 4, 64, &[U64(out)]);
    let expected: Vec<u32> = (0..256).map(|n| 6 * (n % 64)).collect();
    assert_eq!(rig.read(out, 256), expected);
}

/// In code object v5 the heap is an argument, and all kernels have the same: what one takes, another frees.
#[test]
fn the_heap_is_the_devices() {
    let rig = rig_of(HEAP, 1, Printer::new(|_, _| {}));
    let (values, out) = (rig.words(&[0; 128]), rig.words(&[0; 64]));
    for _ in 0..3 {
        rig.run("keep", 1, 64, &[U64(values)]);
        rig.run("take", 1, 64, &[U64(values), U64(out)]);
        assert_eq!(rig.read(out, 64), (0..64).map(|n| 3 * n).collect::<Vec<u32>>());
    }
}

/// If any thread panics, the dispatch is an error, and the machine can be used afterwards.
#[test]
fn a_panic_while_printing_is_an_error() {
    for count in [1, 3] {
        let broken = Arc::new(AtomicBool::new(false));
        let printer = Printer::new({
            let broken = Arc::clone(&broken);
            move |_, text| {
                assert!(!broken.load(Relaxed) || !text.starts_with(b"item 37 of block 9"), "no paper")
            }
        });
        let rig = rig_with(count, printer);
        let args = [U32(1), U64(0)];
        for _ in 0..5 {
            broken.store(true, Relaxed);
            match rig.launch("print", [40, 1, 1], [64, 1, 1], 0, &args) {
                Err(Error::Incomplete { kernel, ended, total: 40, reason }) => {
                    assert_eq!((kernel.as_str(), reason.as_str()), ("print", "no paper"));
                    assert!(ended < 40, "{ended}");
                    assert!(count > 1 || ended == 9, "{ended}");
                }
                other => panic!("{other:?}"),
            }
            broken.store(false, Relaxed);
            assert_eq!(rig.run("print", 40, 64, &args).workgroups, 40);
        }
    }
}

/// A program may hold the locks of its standard output and error while it waits for a kernel that prints. This test
/// does so when it runs again in another process.
#[cfg(unix)]
#[test]
fn the_default_printer_waits_for_no_lock_of_the_program() {
    const INSIDE: &str = "GFX9_EMULATOR_TEST_INSIDE";
    if env::var_os(INSIDE).is_none() {
        let mut again = Command::new(env::current_exe().unwrap());
        again.args(["--exact", "the_default_printer_waits_for_no_lock_of_the_program", "--nocapture"]);
        let output = again.env(INSIDE, "1").output().unwrap();
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{out}{err}");
        assert!(out.contains("item 69 of block 0: -42 2.500 a string"), "{out}");
        assert!(err.contains("values[threadIdx.x] < limit"), "{err}");
        return;
    }
    let locks = (io::stdout().lock(), io::stderr().lock());
    let (done, ended) = mpsc::channel();
    // A thread that holds the locks could print, so another thread runs the kernel.
    let other = thread::spawn(move || {
        let rig = rig_with(1, Printer::default());
        rig.run("print", 1, 100, &[U32(-42i32 as u32), U64(2.5f64.to_bits())]);
        let values = rig.words(&[0; 64]);
        let failed = rig.launch("check", [1, 1, 1], [64, 1, 1], 0, &[U64(values), U32(0)]);
        assert!(matches!(failed, Err(Error::Fault(_))));
        done.send(()).unwrap();
    });
    let ended = ended.recv_timeout(Duration::from_secs(60));
    drop(locks);
    other.join().unwrap();
    ended.expect("kernels that print end while the locks are held");
}
