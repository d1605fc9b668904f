//! Executes gfx90a and gfx942 code objects on the CPU. Knows no HIP.

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
    reason = "a fault's report ends a dispatch: it is made once and moved seldom"
)]

mod backing;
mod config;
#[cfg(test)]
mod coverage;
mod decode;
mod error;
#[cfg(test)]
mod exact;
mod exec;
mod executors;
mod fault;
mod float;
mod gws;
mod half16;
mod hostcall;
mod images;
mod inst;
mod isa;
mod lanes;
mod launch;
mod lds;
#[cfg(test)]
mod ledger;
mod machine;
mod memory;
mod modifiers;
mod observe;
mod program;
mod run;
mod schedule;
mod soft;
#[cfg(test)]
mod stream_tests;
#[cfg(test)]
mod testing;
mod wave;
mod workgroup;

pub use config::Config;
pub use error::{Error, Result};
pub use fault::{Access, FaultCause, FaultReport, LaneAddress, Space, WaitingWave, WaitsFor};
pub use hostcall::{Printer, Stream};
pub use isa::Level;
pub use launch::{Dispatch, MAX_BLOCK};
pub use lds::MAX_LDS;
pub use machine::Machine;
pub use memory::{AddressSpace, MemoryUsage, RegionInfo};
pub use observe::{
    Defect, DefectKind, InstructionClass, InstructionTrace, Profile, Site, TraceFilter, TracedInstruction,
    TracedRegister, Traffic,
};
pub use program::Program;
pub use run::DispatchStats;
pub use wave::LANES;

/// Compiles and runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
