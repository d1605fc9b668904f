//! What lies below HIP in AMD's stack, over emulated devices: the C functions of HSA's runtime, `libhsa-runtime64`, and of the libraries
//! of system management, `librocm_smi64` and `libamd_smi`.
//!
//! Programs that look for GPUs below HIP find these in place of AMD's. The package `hiplaunch-cli` links the crate as one shared library,
//! which answers under the names of all three, and starts programs with it: `hiplaunch exec`. The libraries have no name in common, share
//! the devices, and a process rarely uses one without another; and one file is less to install than three.
//!
//! # How a call flows
//!
//! A function of the table (`functions/table.rs`) calls the body of the same name in `hsa` or `smi`, through `abi::call`, which turns
//! a panic into a status. The body asks the machine (`machine.rs`): the devices that the environment asks for, whose properties are those
//! of the emulated driver, and the host.
//!
//! # What is refused
//!
//! The table has every function that AMD's libraries export, so that programs load. Those without a body return that they are not
//! supported. HSA's queues, signals, executables and memory are among these: they will work over the emulator.

#![allow(non_snake_case, reason = "functions have the names of AMD's headers")]

mod abi;
mod functions;
mod hsa;
mod machine;
mod smi;
