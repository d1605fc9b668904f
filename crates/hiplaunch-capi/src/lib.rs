//! The C API: the functions that `hip/hiplaunch.h` declares. `tests/header.rs` generates the header from these files.
//!
//! Each file has one kind of object. `status.rs` runs the body of every function and turns each failure, also a panic,
//! into a status and a message for the calling thread. Handles are checked numbers in the shape of pointers
//! (`handles.rs`); they are never dereferenced, so an invalid handle is an error. For every other pointer, null is
//! detected, and any other value is trusted to be valid for the size and the time that the function's documentation
//! says.
//!
//! A Rust program passes a launcher to C code with [`hiplaunch_adopt`].
#![allow(non_camel_case_types, reason = "the names that C sees")]
#![allow(clippy::missing_safety_doc, reason = "the header's head says what holds for every pointer")]

mod arena;
mod arguments;
mod attributes;
mod buffers;
mod capture;
mod compile;
mod compiled_graph;
mod devices;
mod events;
mod graph;
mod graph_values;
mod handles;
mod input;
mod kernels;
mod launch;
mod launcher;
mod layouts;
mod lds;
mod logging;
mod memory;
mod modules;
mod offsets;
mod packed;
mod parameters;
mod peers;
mod pool;
mod status;
mod streams;
mod text;
mod tickets;
mod timeline;
mod version;
mod views;

pub use arguments::*;
pub use attributes::*;
pub use buffers::*;
pub use capture::*;
pub use compile::*;
pub use compiled_graph::*;
pub use devices::*;
pub use events::*;
pub use graph::*;
pub use graph_values::*;
pub use kernels::*;
pub use launch::*;
pub use launcher::*;
pub use layouts::*;
pub use lds::*;
pub use logging::*;
pub use memory::*;
pub use modules::*;
pub use offsets::*;
pub use parameters::*;
pub use peers::*;
pub use pool::*;
pub use status::{
    hiplaunch_clear_last_error, hiplaunch_last_driver_code, hiplaunch_last_error,
    hiplaunch_last_error_message, hiplaunch_status, hiplaunch_status_name,
};
pub use streams::*;
pub use text::*;
pub use tickets::*;
pub use timeline::*;
pub use version::*;
pub use views::*;
