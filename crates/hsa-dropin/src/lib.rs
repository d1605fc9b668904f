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
//! # How a kernel runs
//!
//! The first allocation, signal, queue or code object starts the devices (`hsa/devices.rs`): a machine of the emulator each, whose
//! allocations are at addresses of the process. A queue is a ring of packets and a thread (`hsa/queue.rs`). The program writes a packet and
//! rings the bell, a signal; the thread executes the packet (`hsa/packets.rs`): it finds the kernel by the address of its descriptor
//! (`hsa/executable.rs`), and the machine runs it with the addresses of the packet, the queue and the arguments. Then it counts the
//! packet's signal down (`hsa/signal.rs`), which wakes who waits for it.
//!
//! # What is refused
//!
//! The table has every function that AMD's libraries export, so that programs load. Those without a body return that they are not
//! supported.

#![allow(
    non_snake_case,
    clippy::too_many_arguments,
    reason = "functions have the names and parameters of AMD's headers"
)]

mod abi;
mod functions;
mod hsa;
mod machine;
mod smi;
