//! What a driver tells its owner about the work of its devices: kernels that ran, and faults.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_emulator::{Defect, FaultReport, Notice};
use hip_driver::activity::KernelCounts;
use hip_driver::{DeviceId, ErrorCode};

/// The fault by which a device was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFault {
    /// The device.
    pub device: DeviceId,
    /// The code with which every later call on the device fails.
    pub code: ErrorCode,
    /// The work that failed, such as `launch of saxpy with grid [1, 1, 1] and block [64, 1, 1]`.
    pub work: String,
    /// The whole report, with the work: the detail of the errors of later calls.
    pub text: String,
    /// For a fault of a kernel: its name.
    pub kernel: Option<String>,
    /// For a fault of a kernel's instruction: what it did, and where.
    pub report: Option<Box<FaultReport>>,
    /// For a fault by the sanitizer: what it found.
    pub defects: Vec<Defect>,
}

/// Receives what happens on a driver's devices. It is called on the thread that ran the work, before any thread that waits
/// for the work continues, and must not call the driver.
pub trait DeviceListener: Send + Sync {
    /// Called when a kernel has run without a fault.
    fn kernel_ran(&self, device: DeviceId, kernel: &str, counts: &KernelCounts);
    /// Called when a kernel that has run without a fault made accesses that hardware, or strict bounds, would not have
    /// performed: once for each instruction and launch.
    fn noted(&self, _device: DeviceId, _notice: &Notice) {}
    /// Called when a device is lost: once for each device.
    fn device_lost(&self, fault: &DeviceFault);
}

/// A shared [`DeviceListener`], for [`EmulatorOptions`](super::EmulatorOptions). Two are equal if they are the same.
#[derive(Clone)]
pub struct Listener(Arc<dyn DeviceListener>);

impl Listener {
    /// Shares a listener.
    pub fn new(listener: impl DeviceListener + 'static) -> Listener {
        Listener(Arc::new(listener))
    }
}

impl std::ops::Deref for Listener {
    type Target = dyn DeviceListener;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for Listener {
    fn eq(&self, other: &Listener) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Listener {}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}

/// A [`DeviceListener`] that keeps what the emulator notes of kernels.
#[derive(Clone, Debug, Default)]
pub struct Notices(Arc<Mutex<Vec<Notice>>>);

impl Notices {
    /// Returns a listener that adds to these.
    pub fn listener(&self) -> Listener {
        Listener::new(self.clone())
    }

    /// Returns what was noted since the last call.
    pub fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DeviceListener for Notices {
    fn kernel_ran(&self, _: DeviceId, _: &str, _: &KernelCounts) {}

    fn noted(&self, _: DeviceId, notice: &Notice) {
        notice.clone().add_to(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn device_lost(&self, _: &DeviceFault) {}
}
