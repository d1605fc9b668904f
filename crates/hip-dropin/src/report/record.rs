//! What went wrong and what ran, for the summary. Faults are also said at once: a program that ignores errors may wait for
//! ever for what a lost device owes it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_driver::activity::KernelCounts;
use hip_driver::{DeviceId, DriverError, ErrorCode};
use hip_driver_emulated::{DeviceFault, DeviceListener, Notice};

use crate::report::say;

/// What was seen so far.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The functions that are not supported, with the number of their calls.
    pub(crate) unsupported: BTreeMap<&'static str, u64>,
    pub(crate) faults: Vec<Fault>,
    /// What each kernel executed, by device and name.
    pub(crate) kernels: BTreeMap<(DeviceId, String), KernelTotals>,
    /// What kernels did that hardware, or strict bounds, would not have done.
    pub(crate) notices: Vec<Notice>,
}

/// A fault of a device.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) code: ErrorCode,
    pub(crate) text: String,
    /// What the emulator knows of it.
    pub(crate) details: Option<DeviceFault>,
    /// The first driver call that returned it; `None` if none has.
    pub(crate) call: Option<&'static str>,
}

/// What the launches of a kernel executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelTotals {
    pub(crate) launches: u64,
    pub(crate) counts: KernelCounts,
}

static RECORD: Mutex<Record> = Mutex::new(Record {
    unsupported: BTreeMap::new(),
    faults: Vec::new(),
    kernels: BTreeMap::new(),
    notices: Vec::new(),
});

fn record() -> MutexGuard<'static, Record> {
    RECORD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what was seen so far.
pub(crate) fn so_far() -> Record {
    record().clone()
}

/// Counts a call of a function that is not supported.
pub(crate) fn unsupported(name: &'static str) {
    *record().unsupported.entry(name).or_default() += 1;
}

/// Keeps and says a fault that a driver call returned, unless it is known.
pub(crate) fn returned(error: &DriverError) {
    let text = error.detail.as_deref().unwrap_or(error.code.advice());
    let mut record = record();
    match record.faults.iter_mut().find(|known| known.text == text) {
        Some(known) => {
            known.call.get_or_insert(error.call);
        }
        None => {
            say(&format!("{}: {text}", error.code));
            let (code, text) = (error.code, text.to_owned());
            record.faults.push(Fault { code, text, details: None, call: Some(error.call) });
        }
    }
}

/// Receives what the emulator's devices do.
pub(crate) struct Recorder {
    /// Whether kernels are counted.
    pub(crate) kernels: bool,
}

impl DeviceListener for Recorder {
    fn kernel_ran(&self, device: DeviceId, kernel: &str, counts: &KernelCounts) {
        if !self.kernels {
            return;
        }
        let mut record = record();
        let totals = record.kernels.entry((device, kernel.to_owned())).or_default();
        totals.launches += 1;
        totals.counts.workgroups += counts.workgroups;
        totals.counts.waves += counts.waves;
        totals.counts.wave_instructions += counts.wave_instructions;
    }

    fn noted(&self, _: DeviceId, notice: &Notice) {
        notice.clone().add_to(&mut record().notices);
    }

    fn device_lost(&self, fault: &DeviceFault) {
        let mut record = record();
        say(&format!("{}: {}", fault.code, fault.text));
        let (code, text) = (fault.code, fault.text.clone());
        record.faults.push(Fault { code, text, details: Some(fault.clone()), call: None });
    }
}
