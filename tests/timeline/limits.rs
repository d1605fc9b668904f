//! The limit of a timeline, device times that are turned off, and two timelines at once.

use hiplaunch::driver::timeline::{DeviceTimes, Timeline, TimelineOptions};
use hiplaunch::{Backend, DeviceBuffer, Launcher, args};

use crate::rig::*;
use hiplaunch_testing::well_formed::assert_well_formed;

fn launch(rig: &Rig, launches: usize) {
    let fill = rig.kernel("fill_u32");
    let buffer = DeviceBuffer::<u32>::on(&rig.stream, N).unwrap();
    for _ in 0..launches {
        // SAFETY: the buffer has N elements.
        unsafe { rig.launcher.launch(fill, &rig.stream, dims(), &args![&buffer, 1u32, N as i32]) }.unwrap();
    }
    rig.stream.synchronize().unwrap();
}

#[test]
fn calls_up_to_the_limit_are_kept_and_the_others_counted() {
    for device_times in [DeviceTimes::Driver, DeviceTimes::Events] {
        let whole = Rig::emulated(TimelineOptions { device_times, ..TimelineOptions::default() });
        launch(&whole, 300);
        let whole = whole.timeline.snapshot();
        let all = calls(&whole).len();
        assert_eq!((work(&whole).len(), whole.dropped_calls, whole.dropped_work), (300, 0, 0));

        let rig = Rig::emulated(TimelineOptions { limit: 100, device_times });
        launch(&rig, 300);
        let timeline = rig.timeline.snapshot();
        assert_well_formed(&timeline);
        assert_eq!((timeline.limit, calls(&timeline).len()), (100, 100));
        assert_eq!(timeline.dropped_calls as usize, all - 100);
        // The work of the calls that are kept, and no other.
        let enqueued = calls(&timeline).iter().filter(|call| call.correlation.is_some()).count();
        assert!(enqueued > 50, "{enqueued}");
        assert_eq!((work(&timeline).len(), timeline.dropped_work), (enqueued, 0));
    }
}

#[test]
fn without_device_times_a_timeline_has_calls_and_no_work() {
    let rig = Rig::emulated(TimelineOptions { device_times: DeviceTimes::Off, ..TimelineOptions::default() });
    launch(&rig, 10);
    let timeline = rig.timeline.snapshot();
    assert_well_formed(&timeline);
    assert_eq!(named(&timeline, "hipModuleLaunchKernel").len(), 10);
    assert!(work(&timeline).is_empty());
    assert_eq!((timeline.dropped_calls, timeline.dropped_work), (0, 0));
}

#[test]
fn a_timeline_with_events_records_thousands_of_launches() {
    let rig =
        Rig::emulated(TimelineOptions { device_times: DeviceTimes::Events, ..TimelineOptions::default() });
    launch(&rig, 5000);
    let timeline = rig.timeline.snapshot();
    assert_well_formed(&timeline);
    assert_eq!((work(&timeline).len(), timeline.dropped_work), (5000, 0));
}

#[test]
fn two_timelines_of_one_driver_do_not_mix() {
    let (outer, inner) = (Timeline::default(), Timeline::default());
    let opened = hiplaunch::driver::backend::open(Backend::Emulator, Some(false)).unwrap();
    let driver = inner.layer(opened.driver);
    let launcher = Launcher::builder().driver(driver).timeline(&outer).build().unwrap();
    let stream = launcher.stream(launcher.device(0).unwrap()).unwrap();
    DeviceBuffer::from_slice(&stream, &[1u8; 4096]).unwrap();
    stream.synchronize().unwrap();
    for timeline in [outer.snapshot(), inner.snapshot()] {
        assert_well_formed(&timeline);
        let copies = named(&timeline, "hipMemcpyHtoDAsync");
        assert_eq!(copies.iter().map(|call| call.bytes).collect::<Vec<_>>(), [Some(4096)]);
        assert_eq!(work(&timeline).len(), 1);
    }
    // The driver has one observer of finished work, which is the inner timeline's. So the outer timeline measures with
    // events, and the inner one sees these calls.
    assert!(named(&outer.snapshot(), "hipEventElapsedTime").is_empty());
    assert!(!named(&inner.snapshot(), "hipEventElapsedTime").is_empty());
}

#[test]
fn a_launcher_works_after_its_timeline_was_dropped() {
    let rig = Rig::emulated(TimelineOptions::default());
    let Rig { timeline, launcher, device, stream, .. } = rig;
    drop(timeline);
    let buffer = DeviceBuffer::from_slice(&stream, &[7u8; 64]).unwrap();
    assert_eq!(buffer.to_vec(&stream).unwrap(), [7; 64]);
    drop((buffer, stream, device, launcher));
}
