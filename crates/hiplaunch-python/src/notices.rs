//! What the emulator notes of kernels.

use std::sync::{Arc, Mutex, PoisonError};

use hip_driver::DeviceId;
use hip_driver::activity::KernelCounts;
use hip_driver_emulated::{DeviceFault, DeviceListener, Listener, Notice};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Keeps what an emulator notes.
#[derive(Clone, Default)]
pub(crate) struct Notices(Arc<Mutex<Vec<Notice>>>);

impl Notices {
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

/// Returns a notice as Python sees it.
pub(crate) fn as_dict<'py>(py: Python<'py>, notice: &Notice) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("kind", notice.kind.name())?;
    dict.set_item("kernel", &notice.kernel)?;
    dict.set_item("text", notice.to_string())?;
    dict.set_item("count", notice.count)?;
    dict.set_item("instruction", &notice.site.instruction)?;
    dict.set_item("pc", notice.site.pc)?;
    let source: Vec<String> = notice.site.source.iter().map(ToString::to_string).collect();
    dict.set_item("source", source)?;
    dict.set_item("address", notice.address)?;
    dict.set_item("allocation", notice.base)?;
    dict.set_item("allocation_bytes", notice.len)?;
    dict.set_item("past_end", notice.past)?;
    Ok(dict)
}
