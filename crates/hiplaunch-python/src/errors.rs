//! The exceptions of the package, one for each kind of error.

use pyo3::create_exception;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::dict::dict;

macro_rules! exceptions {
    ($($name:ident: $base:ty, $doc:literal;)*) => {
        $(create_exception!(hiplaunch, $name, $base, $doc);)*

        /// Adds the exceptions to the module.
        pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add(stringify!($name), module.py().get_type::<$name>())?;)*
            Ok(())
        }
    };
}

exceptions! {
    Error: pyo3::exceptions::PyException, "The base class of the package's exceptions.";
    DriverError: Error,
        "A call of the driver failed. `code` is HIP's number of the error, `kernel` the kernel that was launched, or None.";
    OutOfMemoryError: Error, "Device memory or pinned memory ran out.";
    LaunchError: Error,
        "A launch does not fit the kernel or the device; nothing was enqueued. `kernel` is the kernel's name.";
    CodeObjectError: Error, "A code object can't be read, is for another target, or lacks the kernel.";
    CompileError: Error,
        "A source can't be compiled. `log` is what the compiler said, or None if it did not run.";
    DeviceLostError: Error,
        "A kernel faulted, and the device is lost. `report` is a dict: device, call, code, detail, in_flight (the launches that had not \
         finished). With the emulator, a new launcher works in the same process; on a GPU a new process is needed.";
    GraphError: Error,
        "A graph can't be recorded, compiled or submitted. `node` is the node's number, or None.";
    ClosedError: Error, "The launcher, or the object, was closed.";
    ForkedError: Error, "The object was made before the process was forked.";
}

/// Turns an error of the library into an exception. Wrong arguments of a call are `ValueError`.
#[cold]
pub(crate) fn raise(error: hiplaunch::Error) -> PyErr {
    Python::attach(|py| {
        let exception = exception(&error);
        // An exception without its fields is better than an error about them.
        let _ = set_fields(py, &exception, &error);
        exception
    })
}

fn exception(error: &hiplaunch::Error) -> PyErr {
    use hiplaunch::Error as E;
    let text = error.to_string();
    match error {
        E::Driver { .. } => DriverError::new_err(text),
        E::OutOfMemory(_) => OutOfMemoryError::new_err(text),
        E::Launch { .. } | E::Occupancy(_) | E::Captured { .. } => LaunchError::new_err(text),
        E::CodeObject(_) | E::WrongTarget { .. } | E::NoCode(_) => CodeObjectError::new_err(text),
        E::Compile(_) => CompileError::new_err(text),
        E::DeviceLost(_) => DeviceLostError::new_err(text),
        E::Graph { .. } => GraphError::new_err(text),
        E::Node { source, .. } => match **source {
            E::DeviceLost(_) => DeviceLostError::new_err(text),
            _ => GraphError::new_err(text),
        },
        E::Invalid { .. } | E::Pool(_) => pyo3::exceptions::PyValueError::new_err(text),
        _ => Error::new_err(text),
    }
}

fn set_fields(py: Python<'_>, exception: &PyErr, error: &hiplaunch::Error) -> PyResult<()> {
    let value = exception.value(py);
    match error {
        hiplaunch::Error::Driver { kernel, source } => {
            value.setattr("kernel", kernel.as_deref())?;
            value.setattr("code", source.code.0)
        }
        hiplaunch::Error::Launch { kernel, .. } => value.setattr("kernel", &**kernel),
        hiplaunch::Error::Graph { node, .. } => value.setattr("node", *node),
        hiplaunch::Error::DeviceLost(report) => {
            let in_flight = PyList::empty(py);
            for launch in &report.in_flight {
                let entry = dict!(py, launch => stream, position, grid, block);
                entry.set_item("kernel", &*launch.kernel)?;
                entry.set_item("lds", launch.dynamic_lds)?;
                in_flight.append(entry)?;
            }
            let fields = dict!(py, report => call);
            fields.set_item("detail", report.detail.as_deref())?;
            fields.set_item("device", report.device.0)?;
            fields.set_item("code", report.code.0)?;
            fields.set_item("in_flight", in_flight)?;
            value.setattr("report", fields)
        }
        hiplaunch::Error::Compile(error) => {
            let log = match &**error {
                hip_compile::CompileError::Failed { log, .. } => Some(log),
                _ => None,
            };
            value.setattr("log", log)
        }
        hiplaunch::Error::Node { node, source, .. } => {
            set_fields(py, exception, source)?;
            value.setattr("node", *node)
        }
        _ => Ok(()),
    }
}
