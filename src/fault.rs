//! The report of an asynchronous device fault: what failed, and which launches were in flight.

use std::fmt;
use std::sync::Arc;

use hip_driver::{DeviceId, ErrorCode, Recovery};

/// A launch that had been enqueued and was not known to have finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchInFlight {
    /// The kernel's name, or `(unregistered)` where nothing knows it any more.
    pub kernel: Arc<str>,
    /// The stream's number within its device.
    pub stream: u64,
    /// Position of the launch on its stream, from 1.
    pub sequence: u64,
    /// Workgroups.
    pub grid: [u32; 3],
    /// Work-items of a workgroup.
    pub block: [u32; 3],
    /// Dynamic LDS bytes.
    pub dynamic_lds: u32,
    /// Length of the explicit arguments in bytes.
    pub argument_bytes: u32,
    /// The first bytes of the kernarg segment.
    pub arguments: Vec<u8>,
}

/// Why a device context was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultReport {
    /// The device.
    pub device: DeviceId,
    /// The call that first returned the error; the fault itself happened earlier.
    pub call: &'static str,
    /// The sticky code.
    pub code: ErrorCode,
    /// What the driver knows of the fault.
    pub detail: Option<Box<str>>,
    /// What it takes to use the device again.
    pub recovery: Recovery,
    /// Launches in flight when it was seen, oldest first within each stream.
    pub in_flight: Vec<LaunchInFlight>,
}

impl std::error::Error for FaultReport {}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is lost: {} returned {}: {}; {}",
            self.device,
            self.call,
            self.code,
            self.code.advice(),
            match self.recovery {
                Recovery::NewDriver => "to go on, open a new launcher with a driver of its own",
                Recovery::NewProcess =>
                    "to go on, start a new process: the device's context is shared by all of this one",
            }
        )?;
        if let Some(detail) = &self.detail {
            write!(f, "\n{detail}")?;
        }
        if !self.in_flight.is_empty() {
            write!(f, "\nin flight:")?;
        }
        for l in &self.in_flight {
            write!(
                f,
                "\n  stream {} #{}: `{}` grid {:?} block {:?} lds {} arguments {} bytes:",
                l.stream, l.sequence, l.kernel, l.grid, l.block, l.dynamic_lds, l.argument_bytes
            )?;
            for chunk in l.arguments.chunks(8) {
                write!(f, " ")?;
                chunk.iter().try_for_each(|b| write!(f, "{b:02x}"))?;
            }
            if (l.arguments.len() as u64) < u64::from(l.argument_bytes) {
                write!(f, " ...")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_what_it_takes_to_go_on() {
        let report = |recovery| FaultReport {
            device: DeviceId(1),
            call: "hipStreamSynchronize",
            code: ErrorCode::ILLEGAL_ADDRESS,
            detail: None,
            recovery,
            in_flight: Vec::new(),
        };
        let [driver, process] =
            [Recovery::NewDriver, Recovery::NewProcess].map(|recovery| report(recovery).to_string());
        assert!(driver.contains("open a new launcher") && !driver.contains("process"), "{driver}");
        assert!(process.contains("start a new process") && !process.contains("launcher"), "{process}");
    }
}
