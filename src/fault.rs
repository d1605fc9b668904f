//! The report of a device fault: the call that returned it, the driver's details, and the launches in flight.

use std::fmt;
use std::sync::Arc;

use hip_driver::{DeviceId, ErrorCode, Recovery};

/// A launch that was enqueued and that the host had not seen complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchInFlight {
    /// The kernel's name, or `(unregistered)` if it is no longer known.
    pub kernel: Arc<str>,
    /// The stream's number ([`Stream::number`](crate::Stream::number)).
    pub stream: u64,
    /// The position of the launch on its stream, from 1.
    pub position: u64,
    /// The number of workgroups in x, y and z.
    pub grid: [u32; 3],
    /// The number of work-items of a workgroup in x, y and z.
    pub block: [u32; 3],
    /// The dynamic LDS of a workgroup in bytes.
    pub dynamic_lds: u32,
    /// The length of the explicit arguments in bytes.
    pub argument_bytes: u32,
    /// The first bytes of the explicit arguments, at most 64.
    pub arguments: Vec<u8>,
}

/// Why a device was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultReport {
    /// The device.
    pub device: DeviceId,
    /// The driver call that first returned the error. The fault itself happened earlier.
    pub call: &'static str,
    /// The code that the call returned.
    pub code: ErrorCode,
    /// The driver's details about the fault, if it has any.
    pub detail: Option<Box<str>>,
    /// What is needed to use the device again.
    pub recovery: Recovery,
    /// The last launches of each stream that were in flight when the fault was seen, oldest first within each stream.
    /// At most 32 launches of a stream are kept.
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
                l.stream, l.position, l.kernel, l.grid, l.block, l.dynamic_lds, l.argument_bytes
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
    fn the_message_says_how_to_use_the_device_again() {
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
