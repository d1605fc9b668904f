//! What kernels did on the emulator that hardware, or strict bounds, would not have done: as lines and as JSON.

use std::sync::{Arc, Mutex, PoisonError};

use hip_driver::DeviceId;
use hip_driver::activity::KernelCounts;
use hip_driver_emulated::{DeviceFault, DeviceListener, Listener, Notice};
use serde_json::Value;

use super::CommandError;
use super::output::Output;

/// Keeps what an emulator notes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notices(Arc<Mutex<Vec<Notice>>>);

impl Notices {
    /// Returns a listener that adds to these.
    pub(crate) fn listener(&self) -> Listener {
        Listener::new(self.clone())
    }

    /// Returns what was noted since the last call.
    pub(crate) fn take(&self) -> Vec<Notice> {
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

/// Prints a line for each.
pub(super) fn show(notices: &[Notice], out: &mut Output) -> Result<(), CommandError> {
    for notice in notices {
        out.line(format!("      noted: {}: {notice}", notice.kernel))?;
    }
    Ok(())
}

/// Returns the list of `scripts[].notices`.
pub(super) fn to_json(notices: &[Notice]) -> Value {
    notices.iter().map(hip_dropin::notice_to_json).collect()
}
