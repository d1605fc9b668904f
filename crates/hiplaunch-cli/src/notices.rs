//! What kernels did on the emulator that hardware, or strict bounds, would not have done: as lines and as JSON.

use std::sync::{Arc, Mutex, PoisonError};

use hip_driver::DeviceId;
use hip_driver::activity::KernelCounts;
use hip_driver_emulated::{DeviceFault, DeviceListener, Listener, Notice, NoticeKind};
use serde_json::{Value, json};

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
    let list = notices.iter().map(|notice| {
        json!({
            "kind": match notice.kind {
                NoticeKind::FineGrainedAtomic => "fine_grained_atomic",
                _ => "past_end",
            },
            "kernel": notice.kernel,
            "text": notice.to_string(),
            "count": notice.count,
            "instruction": notice.site.instruction,
            "pc": notice.site.pc,
            "function": notice.site.function.as_ref().map(|(name, _)| name),
            "source": notice.site.source.iter().map(ToString::to_string).collect::<Vec<String>>(),
            "address": notice.address,
            "allocation": notice.base,
            "allocation_bytes": notice.len,
            "past_end": notice.past,
        })
    });
    list.collect()
}
