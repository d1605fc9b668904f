//! The exceptions of the package, one for each kind of error.

use pyo3::create_exception;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

create_exception!(
    hiplaunch,
    Error,
    pyo3::exceptions::PyException,
    "The base class of the package's exceptions."
);
create_exception!(
    hiplaunch,
    DriverError,
    Error,
    "A call of the driver failed. `code` is HIP's number of the error, `kernel` the kernel that was launched, or None."
);
create_exception!(hiplaunch, OutOfMemoryError, Error, "Device memory or pinned memory ran out.");
create_exception!(
    hiplaunch,
    LaunchError,
    Error,
    "A launch does not fit the kernel or the device; nothing was enqueued. `kernel` is the kernel's name."
);
create_exception!(
    hiplaunch,
    CodeObjectError,
    Error,
    "A code object can't be read, is for another target, or lacks the kernel."
);
create_exception!(
    hiplaunch,
    CompileError,
    Error,
    "A source can't be compiled. `log` is what the compiler said, or None if it did not run."
);
create_exception!(
    hiplaunch,
    DeviceLostError,
    Error,
    "A kernel faulted, and the device is lost. `report` is a dict: device, call, code, detail, in_flight (the launches that had not \
     finished). With the emulator, a new launcher works in the same process; on a GPU a new process is needed."
);
create_exception!(
    hiplaunch,
    GraphError,
    Error,
    "A graph can't be recorded, compiled or submitted. `node` is the node's number, or None."
);
create_exception!(hiplaunch, ClosedError, Error, "The launcher, or the object, was closed.");
create_exception!(hiplaunch, ForkedError, Error, "The object was made before the process was forked.");

/// Adds the exceptions to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    for (name, class) in [
        ("Error", py.get_type::<Error>()),
        ("DriverError", py.get_type::<DriverError>()),
        ("OutOfMemoryError", py.get_type::<OutOfMemoryError>()),
        ("LaunchError", py.get_type::<LaunchError>()),
        ("CodeObjectError", py.get_type::<CodeObjectError>()),
        ("CompileError", py.get_type::<CompileError>()),
        ("DeviceLostError", py.get_type::<DeviceLostError>()),
        ("GraphError", py.get_type::<GraphError>()),
        ("ClosedError", py.get_type::<ClosedError>()),
        ("ForkedError", py.get_type::<ForkedError>()),
    ] {
        module.add(name, class)?;
    }
    Ok(())
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
                let entry = PyDict::new(py);
                entry.set_item("kernel", &*launch.kernel)?;
                entry.set_item("stream", launch.stream)?;
                entry.set_item("position", launch.position)?;
                entry.set_item("grid", launch.grid)?;
                entry.set_item("block", launch.block)?;
                entry.set_item("lds", launch.dynamic_lds)?;
                in_flight.append(entry)?;
            }
            let fields = PyDict::new(py);
            fields.set_item("device", report.device.0)?;
            fields.set_item("call", report.call)?;
            fields.set_item("code", report.code.0)?;
            fields.set_item("detail", report.detail.as_deref())?;
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
