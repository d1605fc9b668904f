//! Markers: signals that a stream's packets complete. All work before a marker has ended when its signal is 0.

use std::sync::atomic::Ordering;

use crate::abi::{BLOCKED, LESS, Period, Signal};
use crate::gpu::{Gpu, lock};
use crate::signals::Counted;
use hip_driver::DriverResult;

/// How often a thread looks before it sleeps, in ticks of a wait that HSA may cut short.
const LOOK_AGAIN_PER_SECOND: u64 = 200;

/// A marker. Clones are the same; the last gives the signal back for another.
#[derive(Debug)]
pub(crate) struct Marker {
    node: &'static Counted,
    gpu: &'static Gpu,
}

impl Clone for Marker {
    fn clone(&self) -> Marker {
        self.node.held.fetch_add(1, Ordering::Relaxed);
        Marker { ..*self }
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        if self.node.held.fetch_sub(1, Ordering::AcqRel) == 1 {
            lock(&self.gpu.spare).push(self.node);
        }
    }
}

impl Marker {
    /// A marker that has not been reached, of the work on a stream.
    pub(crate) fn new(
        call: &'static str,
        gpu: &'static Gpu,
        stream: u64,
        sequence: u64,
    ) -> DriverResult<Marker> {
        let spare = lock(&gpu.spare).pop();
        let node = match spare {
            Some(node) => node,
            None => Counted::new(call, gpu.hsa)?,
        };
        node.held.store(1, Ordering::Relaxed);
        node.stream.store(stream, Ordering::Relaxed);
        node.sequence.store(sequence, Ordering::Relaxed);
        // SAFETY: a live signal, for which nobody waits.
        unsafe { (gpu.hsa.functions.signal_silent_store)(node.signal, 1) };
        Ok(Marker { node, gpu })
    }

    pub(crate) fn signal(&self) -> Signal {
        self.node.signal
    }

    /// Whether it marks work of a stream.
    pub(crate) fn is_of(&self, stream: u64) -> bool {
        self.node.stream.load(Ordering::Relaxed) == stream
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.node.sequence.load(Ordering::Relaxed)
    }

    /// Whether all work before it has ended.
    #[inline]
    pub(crate) fn is_reached(&self) -> bool {
        self.node.value.load(Ordering::Acquire) <= 0
    }

    /// Completes it, as a packet does: for work of the host, and for what a lost device does not complete.
    pub(crate) fn reach(&self) {
        // SAFETY: a live signal.
        unsafe { (self.gpu.hsa.functions.signal_store)(self.node.signal, 0) };
    }

    /// Waits until it is reached. Fails if the device is lost.
    pub(crate) fn wait(&self, call: &'static str) -> DriverResult<()> {
        let (gpu, hsa) = (self.gpu, self.gpu.hsa);
        while !self.is_reached() {
            gpu.check(call)?;
            let ticks = hsa.ticks_per_second / LOOK_AGAIN_PER_SECOND;
            // SAFETY: a live signal.
            unsafe { (hsa.functions.signal_wait)(self.node.signal, LESS, 1, ticks, BLOCKED) };
        }
        gpu.check(call)
    }

    /// When the packet that completed it ended, in seconds of the system's counter; `None` if no packet did.
    pub(crate) fn time(&self) -> Option<f64> {
        let (gpu, hsa) = (self.gpu, self.gpu.hsa);
        let mut period = Period::default();
        // SAFETY: a signal that a packet of the device has completed; a pointer to a live struct.
        let status = unsafe { (hsa.functions.dispatch_time)(gpu.agent, self.node.signal, &mut period) };
        (status == crate::abi::Status::SUCCESS).then(|| period.end as f64 / hsa.ticks_per_second as f64)
    }
}
