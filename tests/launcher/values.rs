//! Values in device memory that streams write and wait for.

use std::time::Duration;

use hiplaunch::driver::{Capability, Comparison, ErrorCode, WaitCondition};
use hiplaunch::{Backend, DeviceBuffer, Error, Launcher};

use hiplaunch::stream::CaptureMode;

use crate::adopted::on_each;
use hiplaunch_testing::rig::Rig;

fn at_least(value: u64) -> WaitCondition {
    WaitCondition::new(Comparison::AtLeast, value)
}

#[test]
fn a_stream_waits_for_what_another_writes_later() {
    on_each(|rig| {
        let (stream, other) = (&rig.stream, rig.launcher.stream(&rig.device).unwrap());
        let values = DeviceBuffer::<u64>::from_slice(stream, &[0, 0]).unwrap();
        let mut words = DeviceBuffer::<u32>::from_slice(stream, &[0; 64]).unwrap();
        stream.synchronize().unwrap();
        let view = values.view();
        let (first, second) = (view.slice(0, 0, 1).unwrap(), view.slice(0, 1, 2).unwrap());
        if !rig.launcher.driver().capabilities().has(Capability::StreamValues) {
            let refused = other.wait_value(&second, at_least(1)).unwrap_err();
            assert_eq!(refused.code(), Some(ErrorCode::NOT_SUPPORTED), "{refused}");
            return;
        }
        for round in 1..=5u32 {
            other.wait_value(&second, at_least(round.into())).unwrap();
            words.fill(stream, round).unwrap();
            stream.write_value(&second, round.into()).unwrap();
            assert_eq!(words.to_vec(&other).unwrap(), [round; 64]);
            other.write_value(&first, round.into()).unwrap();
            stream.wait_value(&first, WaitCondition::new(Comparison::Equal, round.into())).unwrap();
        }
        assert_eq!(values.to_vec(stream).unwrap(), [5, 5]);
        rig.validation().assert_clean().unwrap();
    });
}

#[test]
fn the_memory_of_a_value_lives_until_the_stream_has_passed() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let other = rig.launcher.stream(&rig.device).unwrap();
    let value = DeviceBuffer::<u64>::from_slice(&rig.stream, &[0]).unwrap();
    rig.stream.synchronize().unwrap();
    let (address, kept) = (value.view(), value);
    other.wait_value(&kept, at_least(1)).unwrap();
    drop(kept);
    // Another owner of the memory, which is the last.
    rig.stream.write_value(&address, 1).unwrap();
    drop(address);
    other.synchronize().unwrap();
    rig.stream.synchronize().unwrap();
    rig.validation().assert_clean().unwrap();
}

#[test]
fn what_is_no_value_of_the_stream_is_refused() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let stream = &rig.stream;
    let values = DeviceBuffer::<u64>::from_slice(stream, &[0, 0]).unwrap();
    let is_invalid = |result: hiplaunch::Result<()>| {
        assert!(matches!(result, Err(Error::Invalid { .. })), "{result:?}");
    };
    is_invalid(stream.write_value(&values, 1));
    is_invalid(stream.wait_value(&values, at_least(0)));
    is_invalid(stream.write_value(&DeviceBuffer::<u64>::new(&rig.device, 0).unwrap(), 1));
    let elsewhere = Rig::open(Launcher::builder(), Backend::Emulator);
    is_invalid(elsewhere.stream.write_value(&values.view().slice(0, 0, 1).unwrap(), 1));
    // A capture refuses it, and goes on.
    stream.synchronize().unwrap();
    stream.begin_capture(CaptureMode::Global).unwrap();
    let one = values.view().slice(0, 0, 1).unwrap();
    assert!(matches!(stream.write_value(&one, 1), Err(Error::Captured { .. })));
    assert!(matches!(stream.wait_value(&one, at_least(1)), Err(Error::Captured { .. })));
    stream.end_capture().unwrap();
    assert_eq!(values.to_vec(stream).unwrap(), [0, 0]);
}

#[test]
fn a_wait_without_end_holds_its_stream_alone_and_ends_with_the_device() {
    use hiplaunch_testing::rig::PROBE;
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let waiting = rig.launcher.stream(&rig.device).unwrap();
    let value = DeviceBuffer::<u64>::from_slice(&rig.stream, &[0]).unwrap();
    rig.stream.synchronize().unwrap();
    waiting.wait_value(&value, at_least(1)).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    assert!(!waiting.is_idle().unwrap());
    assert_eq!(value.to_vec(&rig.stream).unwrap(), [0]);
    let stray = rig.kernel(&PROBE, "oob_store");
    let args = [hiplaunch::Arg::Pointer(value.ptr()), hiplaunch::Arg::from(1i64 << 40)];
    rig.launch(stray, hiplaunch::LaunchDims::linear(1, 64), &args).unwrap();
    assert!(matches!(waiting.synchronize(), Err(Error::DeviceLost(_))));
}
