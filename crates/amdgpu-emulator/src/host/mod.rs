//! The machine: loads programs, sets up dispatches, runs them on host threads, and serves calls from kernels to the
//! host.

pub(crate) mod config;
mod counts;
mod float_environment;
mod images;
pub(crate) mod launch;
#[cfg(test)]
mod launch_tests;
pub(crate) mod machine;
pub(crate) mod notices;
pub(crate) mod program;
pub(crate) mod run;
mod schedule;
mod services;
mod spin;
pub(crate) mod workgroup;
