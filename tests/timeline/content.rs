//! What a timeline records: calls with their stream, bytes and errors, and the work that they enqueued, in order.

use hiplaunch::driver::{HostFunction, Work as DriverWork};
use std::time::Duration;

use hiplaunch::driver::timeline::{CopyDirection, DeviceWork};
use hiplaunch::graph::{GraphArg, Submission};
use hiplaunch::{Arg, Backend, DeviceBuffer, LaunchDims, Launcher, args};

use crate::rig::*;
use hiplaunch_testing::well_formed::assert_well_formed;

/// Returns the work of a kernel with the dimensions of [`dims`].
fn kernel(name: &str) -> DeviceWork {
    let LaunchDims { grid, block, .. } = dims();
    DeviceWork::Kernel { name: name.into(), grid, block, dynamic_lds: 0 }
}

fn copy(direction: CopyDirection, bytes: usize) -> DeviceWork {
    DeviceWork::Copy { direction, bytes: bytes as u64 }
}

#[test]
fn a_launch_with_staged_arrays_is_two_copies_and_a_kernel() {
    on_each(|rig| {
        let vscale = rig.kernel("vscale");
        let args = [Arg::from(2.0f32), Arg::input(&[1.5f32; N]), Arg::output::<f32>(N), Arg::from(N as i32)];
        // SAFETY: the arrays have N elements.
        let ticket = unsafe { rig.launcher.launch(vscale, &rig.stream, dims(), &args) }.unwrap();
        assert_eq!(ticket.read().unwrap().slice::<f32>(0).unwrap(), [3.0; N]);
        let timeline = rig.snapshot();
        assert_well_formed(&timeline);
        assert_eq!((timeline.dropped_calls, timeline.dropped_work), (0, 0));

        let expected = [
            copy(CopyDirection::HostToDevice, 4 * N),
            kernel("vscale"),
            copy(CopyDirection::DeviceToHost, 4 * N),
        ];
        let work = work(&timeline);
        assert_eq!(
            work.iter().map(|span| &span.work).collect::<Vec<_>>(),
            expected.iter().collect::<Vec<_>>()
        );
        let names = ["hipMemcpyHtoDAsync", "hipModuleLaunchKernel", "hipMemcpyDtoHAsync"];
        for ((span, expected), name) in work.iter().zip(&expected).zip(names) {
            let [call] = named(&timeline, name)[..] else { panic!("one {name}: {timeline:#?}") };
            assert_eq!((call.correlation, call.work.as_ref()), (Some(span.correlation), Some(expected)));
            assert_eq!(
                (call.bytes, call.device, call.error),
                (expected.bytes(), Some(rig.device.id()), None)
            );
        }
        // The kernel has 16 workgroups of one wave. The emulator counts what it runs.
        let counts: Vec<_> = work.iter().map(|span| span.counts).collect();
        assert_eq!((counts[0], counts[2]), (None, None));
        match counts[1] {
            Some(counts) if rig.observed => {
                assert_eq!((counts.workgroups, counts.waves), (16, 16));
                assert!(counts.wave_instructions >= 16 * 5, "{counts:?}");
            }
            counts => assert_eq!((rig.observed, counts), (false, None)),
        }
        let [device] = &timeline.devices[..] else { panic!("{timeline:#?}") };
        assert!(device.name.starts_with("device 0: ") && device.name.len() > 10, "{}", device.name);
        assert!(!named(&timeline, "hipStreamSynchronize").is_empty());
        // The layer's own events are not recorded as calls.
        assert!(named(&timeline, "hipEventElapsedTime").is_empty());
    });
}

#[test]
fn each_thread_and_each_stream_has_its_track() {
    on_each(|rig| {
        let fill = rig.kernel("fill_u32");
        let streams: Vec<_> = (0..3).map(|_| rig.launcher.stream(&rig.device).unwrap()).collect();
        std::thread::scope(|scope| {
            for (i, stream) in streams.iter().enumerate() {
                let launcher = &rig.launcher;
                let work = move || {
                    let buffer = DeviceBuffer::<u32>::on(stream, N).unwrap();
                    for k in 0..100u32 {
                        let args = args![&buffer, k, N as i32];
                        // SAFETY: the buffer has N elements.
                        unsafe { launcher.launch(fill, stream, dims(), &args) }.unwrap();
                    }
                    stream.synchronize().unwrap();
                };
                std::thread::Builder::new().name(format!("caller {i}")).spawn_scoped(scope, work).unwrap();
            }
        });
        let timeline = rig.snapshot();
        assert_well_formed(&timeline);
        let [device] = &timeline.devices[..] else { panic!("{timeline:#?}") };
        assert_eq!(device.streams.len(), 3);
        for i in 0..3 {
            let name = format!("caller {i}");
            let thread = timeline.threads.iter().find(|t| t.name.as_deref() == Some(&name)).unwrap();
            let launches: Vec<_> =
                thread.spans.iter().filter(|s| s.name == "hipModuleLaunchKernel").collect();
            assert_eq!(launches.len(), 100);
            let stream = launches[0].stream;
            let track = device.streams.iter().find(|track| Some(track.number) == stream).unwrap();
            let ran: Vec<u64> = track.spans.iter().map(|span| span.correlation).collect();
            assert_eq!(ran, launches.iter().filter_map(|call| call.correlation).collect::<Vec<_>>());
            assert!(track.spans.iter().all(|span| span.work == kernel("fill_u32")));
        }
    });
}

#[test]
fn a_driver_graph_is_one_call_with_its_nodes() {
    on_each(|rig| {
        if !rig.launcher.driver().capabilities().has(hiplaunch::driver::Capability::Graphs) {
            println!("skipped: the driver has no graphs");
            return;
        }
        let vscale = rig.kernel("vscale");
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        rig.stream.synchronize().unwrap();
        let mut graph = rig.launcher.graph(&rig.device).unwrap();
        let value = graph.buffer(&x).unwrap();
        let filled = graph.temporary::<f32>(N).unwrap();
        graph.fill_words(&filled, 0x4040_0000).unwrap();
        for (from, to) in [(&filled, &value), (&value, &filled), (&filled, &value)] {
            let args = [2.0f32.into(), GraphArg::Read(*from), GraphArg::Write(*to), (N as i32).into()];
            // SAFETY: both have N elements.
            unsafe { graph.launch(vscale, dims(), &args) }.unwrap();
        }
        graph.read(&value.slice(0, 16).unwrap()).unwrap();
        let ticket = graph.compute_by(&rig.stream, Submission::DriverGraph).unwrap();
        assert_eq!(ticket.read().unwrap().slice::<f32>(0).unwrap(), [24.0; 4]);

        let timeline = rig.snapshot();
        assert_well_formed(&timeline);
        let [call] = named(&timeline, "hipGraphLaunch")[..] else { panic!("{timeline:#?}") };
        let nodes =
            [DeviceWork::Fill { bytes: 4 * N as u64 }, kernel("vscale"), kernel("vscale"), kernel("vscale")];
        assert_eq!(call.work, Some(DeviceWork::Graph { nodes: nodes[..].into() }));
        assert_eq!(call.bytes, Some(4 * N as u64));
        let work = work(&timeline);
        let of_graph: Vec<_> =
            work.iter().filter(|span| Some(span.correlation) == call.correlation).collect();
        if rig.observed {
            assert_eq!(of_graph.iter().map(|span| span.work.clone()).collect::<Vec<_>>(), nodes);
            let places: Vec<_> = of_graph.iter().map(|span| span.node).collect();
            assert_eq!(places, (0..4).map(|i| Some((i, 4))).collect::<Vec<_>>());
            assert!(of_graph.iter().all(|span| span.counts.is_some() == (span.work == nodes[1])));
        } else {
            assert_eq!(of_graph.len(), 1);
            assert_eq!((Some(&of_graph[0].work), of_graph[0].node), (call.work.as_ref(), None));
        }
        // The copy to the host is on the stream, after the graph.
        let last = work.last().unwrap();
        assert_eq!((&last.work, last.node), (&copy(CopyDirection::DeviceToHost, 16), None));
    });
}

#[test]
fn the_times_of_work_agree_with_the_times_of_calls() {
    on_each(|rig| {
        if !rig.launcher.driver().capabilities().has(hiplaunch::driver::Capability::HostFunc) {
            println!("skipped: the driver has no host functions");
            return;
        }
        let fill = rig.kernel("fill_u32");
        let buffer = DeviceBuffer::<u32>::on(&rig.stream, N).unwrap();
        let pause = Duration::from_millis(20);
        let (open, gate) = std::sync::mpsc::channel::<()>();
        // SAFETY: a live stream; the function calls nothing of the driver. The buffer has N elements.
        unsafe {
            let wait = Box::new(move || {
                gate.recv().expect("it is opened below");
                std::thread::sleep(pause);
            });
            rig.launcher
                .driver()
                .enqueue(
                    rig.device.id(),
                    rig.stream.raw(),
                    &DriverWork::HostFunction(&HostFunction::new(wait)),
                )
                .unwrap();
            rig.launcher.launch(fill, &rig.stream, dims(), &args![&buffer, 1u32, N as i32]).unwrap();
        }
        open.send(()).unwrap();
        let timeline = rig.snapshot();
        assert_well_formed(&timeline);
        let work = work(&timeline);
        let [sleep, fill] = work[..] else { panic!("{timeline:#?}") };
        assert_eq!((&sleep.work, &fill.work), (&DeviceWork::HostFunction, &kernel("fill_u32")));
        assert!(sleep.end - sleep.begin >= pause, "{sleep:?}");
        // The launch returned long before its kernel began, and the wait ended after the kernel. Times from events are
        // not exact enough to check the latter.
        let launch = named(&timeline, "hipModuleLaunchKernel")[0];
        assert!(launch.end < fill.begin, "{launch:?}\n{fill:?}");
        let wait = *named(&timeline, "hipStreamSynchronize").last().unwrap();
        assert!(!rig.observed || fill.end <= wait.end, "{wait:?}\n{fill:?}");
    });
}

#[test]
fn spans_of_the_program_contain_its_calls() {
    on_each(|rig| {
        let outer = rig.timeline.span("load and run");
        let fill = {
            let _loading = rig.timeline.span("load");
            rig.kernel("fill_u32")
        };
        let buffer = DeviceBuffer::<u32>::on(&rig.stream, N).unwrap();
        // SAFETY: the buffer has N elements.
        unsafe { rig.launcher.launch(fill, &rig.stream, dims(), &args![&buffer, 1u32, N as i32]) }.unwrap();
        drop(outer);
        let timeline = rig.snapshot();
        assert_well_formed(&timeline);
        let one = |name| match named(&timeline, name)[..] {
            [span] => span,
            _ => panic!("one {name}: {timeline:#?}"),
        };
        let (outer, inner) = (one("load and run"), one("load"));
        let (load, launch) = (one("hipModuleLoadData"), one("hipModuleLaunchKernel"));
        assert_eq!((outer.device, outer.stream, outer.correlation), (None, None, None));
        assert!(inner.begin <= load.begin && load.end <= inner.end);
        assert!(inner.end <= launch.begin && launch.end <= outer.end);
        assert!(load.bytes.unwrap() > 1000);
    });
}

#[test]
fn a_refused_call_is_recorded_with_its_error_and_without_work() {
    on_each(|rig| {
        let driver = rig.launcher.driver();
        // SAFETY: memory of a size that no device has is refused.
        let refused = driver.malloc(rig.device.id(), 1 << 60).unwrap_err();
        let timeline = rig.snapshot();
        assert_well_formed(&timeline);
        let call = *named(&timeline, "hipMalloc").last().unwrap();
        assert_eq!((call.error, call.bytes), (Some(refused.code), Some(1 << 60)));
        assert!(work(&timeline).is_empty(), "{timeline:#?}");
    });
}

#[test]
fn after_a_fault_the_timeline_has_the_work_that_ran() {
    for device_times in [Default::default(), hiplaunch::driver::timeline::DeviceTimes::Events] {
        let options = hiplaunch::driver::timeline::TimelineOptions { device_times, ..Default::default() };
        let rig = Rig::emulated(options);
        let fill = rig.kernel("fill_u32");
        let buffer = DeviceBuffer::<u32>::on(&rig.stream, N).unwrap();
        let launch = |address: hiplaunch::driver::DevicePtr| {
            let args = [Arg::Pointer(address), Arg::from(1u32), Arg::from(N as i32)];
            // SAFETY: a stray store is a fault of the emulator's device, which this test intends.
            unsafe { rig.launcher.launch(fill, &rig.stream, dims(), &args) }.unwrap();
        };
        launch(buffer.ptr());
        rig.stream.synchronize().unwrap();
        rig.timeline.snapshot();
        launch(hiplaunch::driver::DevicePtr(64));
        rig.stream.synchronize().unwrap_err();
        let timeline = rig.timeline.snapshot();
        assert_well_formed(&timeline);
        let last = *named(&timeline, "hipStreamSynchronize").last().unwrap();
        assert!(last.error.is_some_and(|code| code.is_sticky()), "{last:?}");
        let ran = work(&timeline);
        assert!(!ran.is_empty() && ran.iter().all(|span| span.work == kernel("fill_u32")));
        // Work whose times can no longer be read is counted.
        assert_eq!(ran.len() as u64 + timeline.dropped_work, 2);
        drop((buffer, rig));
    }
}

#[test]
fn a_timeline_outlives_its_driver_and_can_have_several_drivers() {
    on_each(|rig| {
        let fill = rig.kernel("fill_u32");
        let buffer = DeviceBuffer::<u32>::on(&rig.stream, N).unwrap();
        // SAFETY: the buffer has N elements.
        unsafe { rig.launcher.launch(fill, &rig.stream, dims(), &args![&buffer, 1u32, N as i32]) }.unwrap();
        let timeline = rig.timeline.clone();
        // A stream waits for its work when it is dropped.
        drop((buffer, rig));
        assert_eq!(work(&timeline.snapshot()).len(), 1);

        let other = Launcher::builder().backend(Backend::Emulator).timeline(&timeline).build().unwrap();
        let stream = other.stream(other.device(0).unwrap()).unwrap();
        DeviceBuffer::from_slice(&stream, &[1u8; 64]).unwrap();
        drop((stream, other));
        let all = timeline.snapshot();
        assert_well_formed(&all);
        let drivers: Vec<u32> = all.devices.iter().map(|device| device.driver).collect();
        assert_eq!(drivers, [0, 1]);
        assert_eq!(work(&all).len(), 2);
    });
}
