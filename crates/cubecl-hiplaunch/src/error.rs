//! The launcher's errors as CubeCL's.

use cubecl_environment::backtrace::BackTrace;
use cubecl_server::compiler::CompilationError;
use cubecl_server::driver::DevicePoison;
use cubecl_server::server::{IoError, LaunchError, ServerError};
use hiplaunch::Error;
use hiplaunch::driver::DriverError;

/// An error of the launcher on its way into one of CubeCL's error types.
#[derive(Debug)]
pub(crate) struct Failure(Error);

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure(error)
    }
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Failure {
        Failure(error.into())
    }
}

impl Failure {
    /// Whether every later call on the device fails, too.
    fn is_lost(&self) -> bool {
        match &self.0 {
            Error::DeviceLost(_) => true,
            Error::Driver { source, .. } => source.code.is_sticky(),
            _ => false,
        }
    }

    fn poison(&self) -> DevicePoison {
        DevicePoison::new(self.0.to_string())
    }

    /// The error of an allocation of `size` bytes.
    pub(crate) fn of_allocation(self, size: u64) -> IoError {
        match self.0 {
            Error::OutOfMemory(_) => IoError::OutOfMemory { size, backtrace: BackTrace::capture() },
            _ => self.into(),
        }
    }
}

impl From<Failure> for ServerError {
    fn from(failure: Failure) -> ServerError {
        if failure.is_lost() {
            return failure.poison().into();
        }
        ServerError::Generic { reason: failure.0.to_string(), backtrace: BackTrace::capture() }
    }
}

impl From<Failure> for IoError {
    fn from(failure: Failure) -> IoError {
        if failure.is_lost() {
            return failure.poison().into();
        }
        IoError::Unknown { description: failure.0.to_string(), backtrace: BackTrace::capture() }
    }
}

impl From<Failure> for LaunchError {
    fn from(failure: Failure) -> LaunchError {
        if failure.is_lost() {
            return failure.poison().into();
        }
        let (reason, backtrace) = (failure.0.to_string(), BackTrace::capture());
        match failure.0 {
            Error::OutOfMemory(_) => LaunchError::OutOfMemory { reason, backtrace },
            _ => LaunchError::Unknown { reason, backtrace },
        }
    }
}

impl From<Failure> for CompilationError {
    fn from(failure: Failure) -> CompilationError {
        if failure.is_lost() {
            return failure.poison().into();
        }
        CompilationError::Generic { reason: failure.0.to_string(), backtrace: BackTrace::capture() }
    }
}
