//! The machine that a caller has: programs loaded, dispatches set up and run over threads, calls from kernels served.

pub(crate) mod config;
pub(crate) mod hostcall;
mod images;
pub(crate) mod launch;
pub(crate) mod machine;
pub(crate) mod program;
pub(crate) mod run;
mod schedule;
