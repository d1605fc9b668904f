//! The C API: what `hip/hiplaunch.h` declares, which is made from this folder's files (`tests/capi_header.rs`).
//!
//! Each file has one kind of object. Every function runs in a frame (`status.rs`): nothing that goes wrong, a panic
//! included, leaves it but as a status and a message of the calling thread. Objects are named by checked numbers in the
//! shape of pointers (`handles.rs`) and never addressed, so that no handle can lead astray. Pointers proper are what
//! C's are: null is found, anything else is trusted to be as long as the function says, for as long as it says.
//!
//! From Rust, [`hiplaunch_adopt`] gives a launcher to C.
#![allow(non_camel_case_types, reason = "the names that C sees")]
#![allow(clippy::missing_safety_doc, reason = "the header's head says what holds for every pointer")]

mod arena;
mod arguments;
mod buffers;
mod compile;
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
mod offsets;
mod pool;
mod status;
mod streams;
mod text;
mod tickets;
mod version;
mod views;

pub use arguments::*;
pub use buffers::*;
pub use compile::*;
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
pub use offsets::*;
pub use pool::*;
pub use status::{
    hiplaunch_clear_last_error, hiplaunch_last_driver_code, hiplaunch_last_error,
    hiplaunch_last_error_message, hiplaunch_status, hiplaunch_status_name,
};
pub use streams::*;
pub use text::*;
pub use tickets::*;
pub use version::*;
pub use views::*;
