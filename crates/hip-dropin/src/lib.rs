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
//! * On the emulator, to `emulated_hipMalloc`, the function that the row of that name makes (`functions`).
//! * Over AMD's library (`process/real.rs`), to its `hipMalloc`, or to the wrapper that the row makes, if there are layers. The
//!   wrapper shows the call to the layers (`interpose`) and calls AMD's function once.
//!
//! A function over the driver converts its arguments, calls the driver, and converts the result back.
//! `call` runs the body of every function: it opens the process's state on the first call, catches panics, and keeps the
//! status for `hipGetLastError`. `abi/c_caller.rs` has the types of arguments that a C caller passes; they check and dereference
//! pointers. What else HIP asks of a parameter, the body checks.
//!
//! What HIP has and the driver has not lies in the room of its subject:
//!
//! | state | file |
//! |---|---|
//! | the driver, its layers, the devices, captures | `process/` |
//! | the current device, the last error | `process/thread.rs` |
//! | streams and events by their handles | `stream/` |
//! | the memory that the program allocated, and its pools | `memory/allocations.rs`, `memory/pool.rs` |
//! | fat binaries, kernels and variables that the program registers; modules; call configurations | `kernel/` |
//! | arrays | `memory/array.rs` |
//! | textures and surfaces | `texture/` |
//! | graphs | `graph/` |
//! | what the summary at the end says | `report/record.rs` |
//! | what is known of the program's memory and handles over AMD's library | `interpose/known.rs` |
//!
//! The rooms stand on floors: each uses those below it (`crates/hiplaunch-testing/tests/floors.rs`). A stream, a copy or a launch that
//! is captured becomes a node of a graph through the methods of `Process` that `graph/capture.rs` has, as graphs stand above.
//!
//! # Adding a function
//!
//! A function is a row of `functions/table.rs`, under the heading of the file that has its body. Its export, symbol version, name in
//! messages, `_spt` form, counts and wrapper follow from the row; its head says how to read one. The body is a function of the same
//! name that gets the process and the arguments; one of a line is in the row itself. A test compares the table with the
//! symbols of AMD's libraries.

#![allow(non_snake_case, reason = "functions have HIP's names")]

mod abi;
mod compile;
mod copy;
mod device;
mod exports;
mod functions;
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
mod texture;

pub use abi::structs::StructLayout;
pub use layouts::layouts;
pub use process::open_over;
pub use summary::notice as notice_to_json;
