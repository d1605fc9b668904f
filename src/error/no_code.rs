//! Why there is no code for a device.

use std::fmt;

use code_object::TargetId;
use hip_compile::CompileError;
use hip_driver::DeviceId;

/// Why a [`FatBinary`](crate::FatBinary) has no code for a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCode {
    /// The name of the fat binary.
    pub name: String,
    /// The device.
    pub device: DeviceId,
    /// What the device runs.
    pub target: TargetId,
    /// Why none of its code objects can be used.
    pub why: NoCodeReason,
    /// Why its source was not compiled; `None` if there is no source.
    pub compile: Option<CompileError>,
}

/// Why none of the code objects of a [`FatBinary`](crate::FatBinary) can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCodeReason {
    /// None is for the device's processor or for a generic one that covers it.
    Target {
        /// What there are code objects for.
        has: Vec<String>,
    },
    /// The one that would run is for a generic processor, and the driver is too old for those.
    Generic {
        /// The generic processor.
        processor: String,
        /// The driver's version.
        version: String,
    },
}

impl fmt::Display for NoCodeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoCodeReason::Target { has } => write!(f, "its code objects are for {}", has.join(", ")),
            NoCodeReason::Generic { processor, version } => {
                write!(f, "its code object for {processor} needs HIP 6.4, and this is {version}")
            }
        }
    }
}

impl fmt::Display for NoCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoCode { name, device, target, why, compile } = self;
        let processor = &target.processor;
        write!(f, "{name} has no code that runs on {device} ({target:#}): {why}; ")?;
        match compile {
            Some(error) => write!(f, "its source can't be compiled here: {error}; ")?,
            None => write!(f, "it has no source that could be compiled; ")?,
        }
        if let NoCodeReason::Generic { .. } = why {
            write!(f, "update ROCm, or ")?;
        }
        write!(f, "compile it elsewhere with `hipcc --genco --offload-arch={processor}`")
    }
}

impl std::error::Error for NoCode {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.compile.as_ref().map(|error| error as _)
    }
}
