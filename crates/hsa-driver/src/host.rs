//! What a stream has the host do: functions of the program, and waits for values. A stream that asks for it gets a thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use crate::gpu::Gpu;
use crate::marker::Marker;
use crate::memory::Memory;
use hip_driver::{
    CallKind, DevicePtr, DriverError, DriverResult, ErrorCode, HostFunc, ValueWidth, WaitCondition,
};

/// How long a wait for a value looks at the memory all the time, and how often after that.
const VALUE_POLL: Duration = Duration::from_micros(100);
const VALUE_PAUSE: Duration = Duration::from_micros(50);

/// One thing to do: when `after` is reached, and before `done` is.
struct Job {
    after: Option<Marker>,
    done: Marker,
    action: HostFunc,
}

/// A stream's thread. It ends when this is dropped and everything is done.
#[derive(Debug)]
pub(crate) struct HostThread(Sender<Job>);

impl HostThread {
    pub(crate) fn start(call: &'static str, device: &'static Gpu) -> DriverResult<HostThread> {
        let (sender, jobs) = channel::<Job>();
        let run = move || jobs.into_iter().for_each(|job| job.run(device));
        let spawned = std::thread::Builder::new().name(format!("hsa{}-host", device.id.0)).spawn(run);
        spawned.map(|_| HostThread(sender)).map_err(|error| {
            let detail = format!("no thread for the host's work on a stream: {error}");
            DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, detail)
        })
    }

    pub(crate) fn send(&self, after: Option<Marker>, done: Marker, action: HostFunc) {
        // The thread lives as long as this sender.
        if self.0.send(Job { after, done, action }).is_err() {
            log::error!("a stream's thread is gone, and what the host had to do is not done");
        }
    }
}

impl Job {
    fn run(self, device: &'static Gpu) {
        let call = CallKind::LaunchHostFunc.name();
        // Behind a fault, too: somebody may wait for it.
        let status = match &self.after {
            Some(after) => after.wait(call),
            None => device.check(call),
        };
        let action = self.action;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| action(status))) {
            let text = panic.downcast_ref::<&str>().copied();
            let text =
                text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
            log::error!("a host function on {} panicked: {text}", device.id);
        }
        self.done.reach();
    }
}

/// Waits until a value of a device's memory is as required, or the device is lost.
pub(crate) fn wait_for_value(
    device: &'static Gpu,
    memory: &'static Memory,
    src: DevicePtr,
    width: ValueWidth,
    condition: WaitCondition,
) {
    let begun = Instant::now();
    while !device.is_lost() {
        if read_value(device, memory, src, width).is_none_or(|value| condition.holds(width, value)) {
            return;
        }
        match begun.elapsed() < VALUE_POLL {
            true => std::thread::yield_now(),
            false => std::thread::sleep(VALUE_PAUSE),
        }
    }
}

/// A value; `None` if it can't be read, which is logged.
fn read_value(device: &Gpu, memory: &Memory, src: DevicePtr, width: ValueWidth) -> Option<u64> {
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    if let Some(host) = memory.host_address(src, width.bytes()) {
        // SAFETY: pinned memory, which stays as long as work in flight uses it; aligned, as was checked when the wait was enqueued.
        return Some(unsafe {
            match width {
                ValueWidth::Bits32 => {
                    AtomicU32::from_ptr(host.cast_mut().cast()).load(Ordering::Acquire).into()
                }
                ValueWidth::Bits64 => AtomicU64::from_ptr(host.cast_mut().cast()).load(Ordering::Acquire),
            }
        });
    }
    let mut value = 0u64;
    let source = std::ptr::with_exposed_provenance(src.0 as usize);
    // SAFETY: live memory of the device, and a live number with as many bytes.
    let status =
        unsafe { (device.hsa.functions.memory_copy)((&raw mut value).cast(), source, width.bytes()) };
    let read = device.hsa.check("hipStreamWaitValue", "hsa_memory_copy", status);
    read.inspect_err(|error| log::error!("{error}; the stream goes on")).ok().map(|()| value)
}
