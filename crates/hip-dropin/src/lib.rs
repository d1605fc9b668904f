//! The C functions of AMD's `libamdhip64`, over a [`Driver`](hip_driver::Driver).
//!
//! Programs that were compiled for HIP find this library in place of AMD's and run on the emulator, under the layers
//! that the environment asks for ([`settings`]). The package `hiplaunch-cli` links it as a shared library and starts
//! programs with it: `hiplaunch exec`.
//!
//! Or AMD's own library runs them, and the layers observe ([`settings::BACKEND`]).
//!
//! # How a call flows
//!
//! A program's call of `hipMalloc` jumps through the record of that function (`exports`):
//!
//! * On the emulator, to `emulated_hipMalloc`, which is the function of that name in these sources.
//! * Over AMD's library (`real`), to its `hipMalloc`, or to the wrapper of that name in `interpose`, if there are layers. The
//!   wrapper shows the call to the layers and calls AMD's function once.
//!
//! A function over the driver converts its arguments, calls the driver, and converts the result back.
//! `call` runs the body of every function: it opens the process's state on the first call, catches panics, and keeps the
//! status for `hipGetLastError`. `c_caller` has the types of arguments that a C caller passes; they check and dereference
//! pointers.
//!
//! What HIP has and the driver has not is in files of its own:
//!
//! | state | file |
//! |---|---|
//! | the driver, its layers, the devices | `process.rs` |
//! | the current device, the last error, call configurations | `thread.rs` |
//! | fat binaries, kernels and variables that the program registers | `fat_binary.rs` |
//! | the memory that the program allocated | `allocations.rs` |
//! | streams, events, modules, graphs by their handles | `handles.rs` |
//! | what the summary at the end says | `record.rs` |
//! | what is known of the program's memory and handles over AMD's library | `interpose/known.rs` |
//!
//! # Adding a function
//!
//! A function is written in the file of its subject, with the prefix `emulated_` in its symbol. Its name is added to
//! `hip.map`, which exports it with a symbol version. A test compares both. Over AMD's library it is passed on then; if the
//! layers are to see its calls, it needs a wrapper.

#![allow(non_snake_case, reason = "functions have HIP's names")]

mod abi;
mod compile;
mod copy;
mod device;
mod exports;
mod graph;
mod interpose;
mod kernel;
mod layouts;
mod memory;
mod process;
mod report;
pub mod settings;
mod stream;
mod summary;

pub use abi::structs::StructLayout;
pub use layouts::layouts;
pub use process::open_over;
pub use summary::notice as notice_to_json;
