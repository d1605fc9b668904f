//! Fences: polled, waited for, awaited, and dropped at any time.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hiplaunch::driver::{Comparison, ErrorCode, WaitCondition};
use hiplaunch::{Arg, Backend, DeviceBuffer, Error, Fence, LaunchDims, Launcher};

use hiplaunch::stream::CaptureMode;

use crate::adopted::on_each;
use crate::tickets::block_on;
use hiplaunch_testing::rig::{PROBE, Rig};

#[test]
fn a_fence_is_reached_with_the_work_before_it() {
    on_each(|rig| {
        let stream = &rig.stream;
        assert!(block_on(stream.fence().unwrap()).is_ok(), "of an idle stream");
        let mut words = DeviceBuffer::<u32>::on(stream, 1 << 20).unwrap();
        words.fill(stream, 7).unwrap();
        let [first, second] = [stream.fence().unwrap(), stream.fence().unwrap()];
        first.wait().unwrap();
        assert!(first.is_reached().unwrap());
        assert!(second.wait_timeout(Duration::from_secs(60)).unwrap());
        words.fill(stream, 8).unwrap();
        block_on(stream.fence().unwrap()).unwrap();
        assert!(stream.is_idle().unwrap());
        rig.validation().assert_clean().unwrap();
    });
}

/// A stream of the emulator that stands still until `release` is called.
struct Standing {
    rig: Rig,
    value: DeviceBuffer<u64>,
    fence: Fence,
}

impl Standing {
    fn new() -> Standing {
        let rig = Rig::open(Launcher::builder(), Backend::Emulator);
        let value = DeviceBuffer::<u64>::from_slice(&rig.stream, &[0]).unwrap();
        rig.stream.wait_value(&value, WaitCondition::new(Comparison::AtLeast, 1)).unwrap();
        let fence = rig.stream.fence().unwrap();
        Standing { rig, value, fence }
    }

    fn release(&self) {
        let other = self.rig.launcher.stream(&self.rig.device).unwrap();
        other.write_value(&self.value, 1).unwrap();
        other.synchronize().unwrap();
    }
}

#[test]
fn a_wait_with_a_limit_gives_up_and_the_fence_stays() {
    let standing = Standing::new();
    assert!(!standing.fence.is_reached().unwrap());
    assert!(!standing.fence.wait_timeout(Duration::ZERO).unwrap());
    assert!(!standing.fence.wait_timeout(Duration::from_millis(5)).unwrap());
    standing.release();
    assert!(standing.fence.wait_timeout(Duration::from_secs(60)).unwrap());
}

#[test]
fn a_fence_is_dropped_at_any_time_and_outlives_its_stream() {
    let standing = Standing::new();
    let dropped = standing.rig.stream.fence().unwrap();
    let mut polled = pin!(standing.rig.stream.fence().unwrap());
    let mut context = Context::from_waker(Waker::noop());
    assert!(polled.as_mut().poll(&mut context).is_pending());
    drop(dropped);
    std::thread::scope(|scope| {
        // A task that waits while the stream stands still.
        let other = standing.rig.stream.fence().unwrap();
        let waiting = scope.spawn(move || block_on(other));
        std::thread::sleep(Duration::from_millis(5));
        standing.release();
        waiting.join().unwrap().unwrap();
    });
    let Standing { rig, value, fence } = standing;
    drop((value, rig));
    assert!(block_on(fence).is_ok());
    assert!(matches!(polled.as_mut().poll(&mut context), Poll::Ready(Ok(()))));
    // Once more, as a combinator may.
    assert!(polled.as_mut().poll(&mut context).is_ready());
}

#[test]
fn a_fence_says_that_the_device_is_lost() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let stray = rig.kernel(&PROBE, "oob_store");
    let buffer = DeviceBuffer::<f32>::new(&rig.device, 64).unwrap();
    // The fault comes when everything is enqueued.
    let (release, held) = mpsc::channel::<()>();
    rig.stream.host_function(move |_| assert!(held.recv().is_err())).unwrap();
    rig.launch(stray, LaunchDims::linear(1, 64), &[Arg::Pointer(buffer.ptr()), Arg::from(1i64 << 40)])
        .unwrap();
    let fence = rig.stream.fence().unwrap();
    drop(release);
    let error = block_on(fence).unwrap_err();
    assert!(matches!(error, Error::DeviceLost(_)), "{error}");
    assert_eq!(error.code(), Some(ErrorCode::ILLEGAL_ADDRESS));
    assert!(matches!(rig.stream.fence(), Err(Error::DeviceLost(_))));
}

#[test]
fn a_captured_stream_has_no_fence() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    rig.stream.begin_capture(CaptureMode::Global).unwrap();
    assert!(matches!(rig.stream.fence(), Err(Error::Captured { .. })));
    rig.stream.end_capture().unwrap();
}
