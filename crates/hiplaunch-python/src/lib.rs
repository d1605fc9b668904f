//! The native part of the Python package `hiplaunch`: launchers, streams, buffers, kernels and tickets as Python objects.
//!
//! Each class is in a file of its own. [`live`] is what they share: a launcher that may be closed, and objects that a forked
//! process must not touch. Documentation for users is in the docstrings, which `help(hiplaunch)` shows.

mod adopted;
mod arguments;
mod array;
mod buffer;
mod callbacks;
mod command_line;
mod compile;
mod dict;
mod dlpack;
mod dtype;
mod errors;
mod fence;
mod graph;
mod host_memory;
mod kernel;
mod launcher;
mod live;
mod notices;
mod packed;
mod reports;
mod scripts;
mod stream;
mod ticket;
mod triton;

use pyo3::prelude::*;

/// The native part of the package `hiplaunch`.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::add(module)?;
    module.add_class::<launcher::Launcher>()?;
    module.add_class::<launcher::Device>()?;
    module.add_class::<stream::Stream>()?;
    module.add_class::<stream::Event>()?;
    module.add_class::<buffer::Buffer>()?;
    module.add_class::<host_memory::HostMemory>()?;
    module.add_class::<arguments::In>()?;
    module.add_class::<arguments::Out>()?;
    module.add_class::<arguments::InOut>()?;
    module.add("DESTINATION", Py::new(module.py(), arguments::DestinationMarker)?)?;
    module.add_class::<kernel::Module>()?;
    module.add_class::<kernel::Kernel>()?;
    module.add_class::<kernel::BoundKernel>()?;
    module.add_class::<ticket::Ticket>()?;
    module.add_class::<fence::Fence>()?;
    module.add_class::<triton::TritonLauncher>()?;
    module.add_function(wrap_pyfunction!(command_line::command_line, module)?)?;
    module.add_class::<scripts::ScriptRunner>()?;
    module.add_class::<graph::Graph>()?;
    module.add_class::<graph::GraphValue>()?;
    module.add_class::<graph::CompiledGraph>()?;
    module.add_class::<compile::CodeObject>()?;
    module.add_function(wrap_pyfunction!(compile::compile, module)?)?;
    module.add_class::<reports::Timeline>()?;
    module.add_class::<reports::PoolSnapshot>()?;
    live::forget_launchers_after_fork(module)
}
