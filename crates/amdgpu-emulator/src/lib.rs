//! Executes gfx90a, gfx942 and gfx950 code objects on the CPU.
//!
//! A [`Machine`] has memory ([`AddressSpace`]), loads code objects ([`Machine::load`]) and runs their kernels
//! ([`Machine::dispatch`]). The crate does not depend on HIP.
//!
//! It has six modules. Each uses the modules below it in this table and none above it:
//!
//! | Module | Contents |
//! |---|---|
//! | host | the [`Machine`]: loaded programs, dispatches, threads, and calls from kernels to the host |
//! | observe | profiles, traces and the sanitizer, which observe the instructions of a dispatch |
//! | exec | decoding and executing instructions |
//! | memory | the [`AddressSpace`], LDS, the image of a code object |
//! | state | the registers, private memory and modes of a wave |
//! | report | errors, faults and defects |
//!
//! The crate [`amdgpu_isa`] lists the instructions, their encodings and their text.

#![allow(
    clippy::needless_range_loop,
    reason = "a lane's number indexes several arrays at once; so written, the loops are vectorised"
)]
#![allow(clippy::eq_op, reason = "`x == x` and `x - x` are the tests for NaN and infinity that vectorise")]
#![allow(
    clippy::excessive_precision,
    clippy::approx_constant,
    clippy::unnecessary_cast,
    clippy::manual_is_multiple_of,
    clippy::if_same_then_else,
    reason = "tables of coefficients as they were computed, operations written alike for every type, cases in the order of the ISA's documents"
)]
#![allow(
    clippy::result_large_err,
    clippy::type_complexity,
    reason = "a fault's report ends a dispatch: it is created once and moved rarely"
)]

mod exec;
mod host;
mod memory;
mod observe;
mod report;
mod state;
#[cfg(test)]
mod testing;

pub use exec::level::SimdLevel;
pub use host::config::{Interrupt, MachineConfig};
pub use host::launch::{Dispatch, MAX_BLOCK, QueuePacket};
pub use host::machine::Machine;
pub use host::program::LoadedProgram;
pub use host::run::DispatchStats;
pub use kernel_services::{Printer, PrintfStream};
pub use memory::address_space::{AddressSpace, MemoryUsage, RegionInfo};
pub use memory::apertures::{PRIVATE_BASE_HI, SHARED_BASE_HI};
pub use memory::blocks::{BlockTable, Blocks};
pub use memory::bounds::Bounds;
pub use memory::grain::FineGrainedAtomics;
pub use memory::lds::{MAX_LDS, max_lds};
#[cfg(target_os = "linux")]
pub use memory::virtual_range::{VirtualPart, VirtualRange};
pub use observe::{
    BytesAccessed, InstructionClass, InstructionTrace, Profile, TraceFilter, TracedInstruction,
    TracedRegister,
};
pub use report::access::{AccessKind, LaneAddress, MemorySpace};
pub use report::defect::{Defect, DefectKind, Site};
pub use report::error::{Error, Result};
pub use report::fault::{FaultCause, FaultReport, WaitingWave, WaitsFor};
pub use report::fidelity::{Fidelity, InstructionFidelity, fidelities, fidelity};
pub use report::notice::{Notice, NoticeKind};
pub use state::wave::LANES;

/// Compiles and runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
