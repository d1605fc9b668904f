//! Waits for values in memory: they hold up their stream alone, and end with their device.

use std::time::{Duration, Instant};

use hip_driver::{
    Comparison, DevicePtr, Driver, DriverResult, ErrorCode, RawStream, ValueWidth, WaitCondition, Work,
};

use crate::rig::{D0, D1, PROBE, Rig, code};

fn wait(rig: &Rig, src: DevicePtr, value: u64, stream: RawStream) -> DriverResult<()> {
    let condition = WaitCondition::new(Comparison::AtLeast, value);
    let work = Work::WaitValue { src, width: ValueWidth::Bits64, condition };
    // SAFETY: checked by the driver.
    unsafe { rig.driver.enqueue(D0, stream, &work) }
}

fn write(rig: &Rig, dst: DevicePtr, value: u64, stream: RawStream) -> DriverResult<()> {
    let work = Work::WriteValue { dst, width: ValueWidth::Bits64, value };
    // SAFETY: checked by the driver.
    unsafe { rig.driver.enqueue(D0, stream, &work) }
}

#[test]
fn a_wait_ends_with_its_device_and_the_stream_goes_on() {
    let rig = Rig::one();
    let (stream, faulty, kernels) = (rig.stream(D0), rig.stream(D0), rig.load(D0, PROBE));
    let words = rig.words(D0, &[0; 64]);
    wait(&rig, words, 1, stream).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    rig.host_func(D0, stream, move || sender.send(()).unwrap());
    std::thread::sleep(Duration::from_millis(5));
    assert!(!rig.idle(D0, stream).unwrap());
    assert!(receiver.try_recv().is_err());
    let stray = 1_i64 << 30;
    rig.launch(&kernels, "oob_store", (1, 64), &[&words.0.to_le_bytes(), &stray.to_le_bytes()], faulty)
        .unwrap();
    assert_eq!(code(rig.sync(D0, stream)), ErrorCode::ILLEGAL_ADDRESS);
    receiver.recv_timeout(Duration::from_secs(60)).expect("the function behind the wait runs");
    // A wait that is enqueued now is refused.
    assert_eq!(code(wait(&rig, words, 1, stream)), ErrorCode::ILLEGAL_ADDRESS);
}

#[test]
fn many_streams_that_wait_leave_the_others_running() {
    let rig = Rig::one();
    let flags = rig.words(D0, &[0; 128]);
    let waiting: Vec<RawStream> = (0..64).map(|_| rig.stream(D0)).collect();
    for (n, stream) in (0..).zip(&waiting) {
        wait(&rig, flags.offset(8 * n), 1, *stream).unwrap();
        // Each one ends the wait of the next.
        if n < 63 {
            write(&rig, flags.offset(8 * (n + 1)), 1, *stream).unwrap();
        }
    }
    let other = rig.stream(D0);
    let words = rig.words(D0, &[3]);
    for _ in 0..100 {
        rig.sync(D0, other).unwrap();
        assert_eq!(rig.read(D0, words, 1), [3]);
    }
    assert!(waiting.iter().all(|stream| !rig.idle(D0, *stream).unwrap()));
    write(&rig, flags, 1, other).unwrap();
    // Only the last is waited for: no call makes the others run.
    let begun = Instant::now();
    rig.sync(D0, waiting[63]).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(30));
    waiting.iter().for_each(|stream| rig.sync(D0, *stream).unwrap());
}

#[test]
fn a_value_is_aligned_and_in_memory_of_the_device() {
    let rig = Rig::two();
    let stream = rig.stream(D0);
    let (words, others) = (rig.words(D0, &[0; 4]), rig.words(D1, &[0; 4]));
    assert_eq!(code(write(&rig, words.offset(4), 1, stream)), ErrorCode::INVALID_VALUE);
    assert_eq!(code(wait(&rig, words.offset(4), 1, stream)), ErrorCode::INVALID_VALUE);
    for outside in [words.offset(1 << 40), DevicePtr(8), others] {
        assert!(write(&rig, outside, 1, stream).is_err(), "{outside}");
        assert!(wait(&rig, outside, 1, stream).is_err(), "{outside}");
    }
    rig.sync(D0, stream).unwrap();
    assert_eq!(rig.read(D0, words, 4), [0; 4]);
}
