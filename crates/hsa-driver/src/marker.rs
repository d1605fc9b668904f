//! Markers: signals that a stream's packets complete. All work before a marker has ended when its signal is 0.

use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

use crate::abi::{BLOCKED, LESS, Period, Signal};
use crate::device::{Device, lock};
use hip_driver::DriverResult;

/// How often a thread looks before it sleeps, in ticks of a wait that HSA may cut short.
const LOOK_AGAIN_PER_SECOND: u64 = 200;

/// A signal, and where its value is. It lives forever: a device uses it again.
#[derive(Debug)]
struct Node {
    signal: Signal,
    value: &'static AtomicI64,
    device: &'static Device,
    /// The number of its markers that are alive.
    held: AtomicUsize,
    /// The number of the stream whose work it marks, and of the marker on that stream.
    stream: AtomicU64,
    sequence: AtomicU64,
}

/// The markers of a device that nobody holds.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Vec<&'static Node>>);

/// A marker. Clones are the same; the last gives the signal back for another.
#[derive(Debug)]
pub(crate) struct Marker(&'static Node);

impl Clone for Marker {
    fn clone(&self) -> Marker {
        self.0.held.fetch_add(1, Ordering::Relaxed);
        Marker(self.0)
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        if self.0.held.fetch_sub(1, Ordering::AcqRel) == 1 {
            lock(&self.0.device.spare.0).push(self.0);
        }
    }
}

impl Marker {
    /// A marker that has not been reached, of the work on a stream.
    pub(crate) fn new(
        call: &'static str,
        device: &'static Device,
        stream: u64,
        sequence: u64,
    ) -> DriverResult<Marker> {
        let spare = lock(&device.spare.0).pop();
        let node = match spare {
            Some(node) => node,
            None => Node::new(call, device)?,
        };
        node.held.store(1, Ordering::Relaxed);
        node.stream.store(stream, Ordering::Relaxed);
        node.sequence.store(sequence, Ordering::Relaxed);
        // SAFETY: a live signal, for which nobody waits.
        unsafe { (device.hsa.functions.signal_silent_store)(node.signal, 1) };
        Ok(Marker(node))
    }

    pub(crate) fn signal(&self) -> Signal {
        self.0.signal
    }

    /// Whether it marks work of a stream.
    pub(crate) fn is_of(&self, stream: u64) -> bool {
        self.0.stream.load(Ordering::Relaxed) == stream
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.0.sequence.load(Ordering::Relaxed)
    }

    /// Whether all work before it has ended.
    #[inline]
    pub(crate) fn is_reached(&self) -> bool {
        self.0.value.load(Ordering::Acquire) <= 0
    }

    /// Completes it, as a packet does: for work of the host, and for what a lost device does not complete.
    pub(crate) fn reach(&self) {
        // SAFETY: a live signal.
        unsafe { (self.0.device.hsa.functions.signal_store)(self.0.signal, 0) };
    }

    /// Waits until it is reached. Fails if the device is lost.
    pub(crate) fn wait(&self, call: &'static str) -> DriverResult<()> {
        let (device, hsa) = (self.0.device, self.0.device.hsa);
        while !self.is_reached() {
            device.check(call)?;
            let ticks = hsa.ticks_per_second / LOOK_AGAIN_PER_SECOND;
            // SAFETY: a live signal.
            unsafe { (hsa.functions.signal_wait)(self.0.signal, LESS, 1, ticks, BLOCKED) };
        }
        device.check(call)
    }

    /// When the packet that completed it ended, in seconds of the system's counter; `None` if no packet did.
    pub(crate) fn time(&self) -> Option<f64> {
        let (device, hsa) = (self.0.device, self.0.device.hsa);
        let mut period = Period::default();
        // SAFETY: a signal that a packet of the device has completed; a pointer to a live struct.
        let status = unsafe { (hsa.functions.dispatch_time)(device.agent, self.0.signal, &mut period) };
        (status == crate::abi::Status::SUCCESS).then(|| period.end as f64 / hsa.ticks_per_second as f64)
    }
}

impl Node {
    fn new(call: &'static str, device: &'static Device) -> DriverResult<&'static Node> {
        let (hsa, mut signal) = (device.hsa, Signal::default());
        // SAFETY: any agent may use the signal; the pointer is to a live handle.
        hsa.check(call, "hsa_signal_create", unsafe {
            (hsa.functions.signal_create)(1, 0, ptr::null(), &mut signal)
        })?;
        let mut value: *mut i64 = ptr::null_mut();
        // SAFETY: a live signal, a pointer to a live pointer.
        hsa.check(call, "hsa_amd_signal_value_pointer", unsafe {
            (hsa.functions.signal_value_pointer)(signal, &mut value)
        })?;
        // SAFETY: the place of the signal's value. The signal is never destroyed, and its value is accessed atomically.
        let value = unsafe { AtomicI64::from_ptr(value) };
        let [stream, sequence] = [const { AtomicU64::new(0) }; 2];
        Ok(Box::leak(Box::new(Node { signal, value, device, held: AtomicUsize::new(0), stream, sequence })))
    }
}
