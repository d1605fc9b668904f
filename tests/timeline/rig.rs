//! Launchers with a timeline, for each driver and each method of measuring its work.

use std::sync::{Mutex, PoisonError};

use hiplaunch::driver::timeline::{
    DeviceSpan, DeviceTimes, HostSpan, Timeline, TimelineOptions, TimelineSnapshot,
};
use hiplaunch::{Backend, Device, KernelHandle, LaunchDims, Launcher, Stream};
use hiplaunch_testing::rig::gpu_backends;

pub(crate) struct Rig {
    pub(crate) timeline: Timeline,
    pub(crate) launcher: Launcher,
    pub(crate) device: Device,
    pub(crate) stream: Stream,
    /// Whether the driver itself reports when its work ran.
    pub(crate) observed: bool,
}

fn options(device_times: DeviceTimes) -> TimelineOptions {
    TimelineOptions { device_times, ..TimelineOptions::default() }
}

impl Rig {
    pub(crate) fn emulated(options: TimelineOptions) -> Rig {
        Rig::open(Backend::Emulator, options).expect("the emulator opens everywhere")
    }

    fn open(backend: Backend, options: TimelineOptions) -> Result<Rig, hiplaunch::Error> {
        let timeline = Timeline::new(options);
        let launcher = Launcher::builder().backend(backend).validate(true).timeline(&timeline).build()?;
        let device = launcher.device(0)?.clone();
        let stream = launcher.stream(&device)?;
        let observed = backend == Backend::Emulator && options.device_times == DeviceTimes::Driver;
        Ok(Rig { timeline, launcher, device, stream, observed })
    }

    /// Registers a kernel of hip/vector.
    pub(crate) fn kernel(&self, name: &str) -> KernelHandle {
        let image: &[u8] = match self.device.properties().target.short().starts_with("gfx942") {
            true => include_bytes!("../../hip/vector.gfx942.co"),
            false => include_bytes!("../../hip/vector.gfx90a.co"),
        };
        // SAFETY: kernels of hip/, launched here as its README says.
        unsafe { self.launcher.register(&self.device, image, name) }.expect("a kernel of hip/vector")
    }

    /// Waits for all work and returns what was recorded.
    pub(crate) fn snapshot(&self) -> TimelineSnapshot {
        self.stream.synchronize().expect("the device is alive");
        self.timeline.snapshot()
    }
}

/// Each test on a GPU's driver holds this lock. While one test waits for the device, HIP 7 blocks another test's calls on a busy
/// stream (`tests/hip_quirks/`). A test that blocks a stream with a host function could then never end that function.
static GPU: Mutex<()> = Mutex::new(());

/// Runs a test on the emulator with both methods of measuring work, and on each driver of a GPU where there is one.
pub(crate) fn on_each(test: impl Fn(Rig)) {
    test(Rig::emulated(options(DeviceTimes::Driver)));
    test(Rig::emulated(options(DeviceTimes::Events)));
    let _alone = GPU.lock().unwrap_or_else(PoisonError::into_inner);
    for backend in gpu_backends() {
        match Rig::open(backend, options(DeviceTimes::Driver)) {
            Ok(rig) => test(rig),
            Err(error) => println!("skipped on {backend}: {error}"),
        }
    }
}

/// A number of elements of 4 bytes that fill whole cache lines of 64 bytes, so that staged arrays have no padding.
pub(crate) const N: usize = 1008;

pub(crate) fn dims() -> LaunchDims {
    LaunchDims::cover(N as u32, 64)
}

/// Returns all calls, thread after thread.
pub(crate) fn calls(timeline: &TimelineSnapshot) -> Vec<&HostSpan> {
    timeline.threads.iter().flat_map(|thread| &thread.spans).collect()
}

/// Returns all work, stream after stream.
pub(crate) fn work(timeline: &TimelineSnapshot) -> Vec<&DeviceSpan> {
    timeline.devices.iter().flat_map(|device| &device.streams).flat_map(|stream| &stream.spans).collect()
}

/// Returns the calls with one name.
pub(crate) fn named<'t>(timeline: &'t TimelineSnapshot, name: &str) -> Vec<&'t HostSpan> {
    calls(timeline).into_iter().filter(|call| call.name == name).collect()
}
