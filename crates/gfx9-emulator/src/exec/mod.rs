//! Executors, a file a family.

pub(crate) mod buffer;
pub(crate) mod control;
pub(crate) mod ds;
pub(crate) mod flat;
pub(crate) mod hwreg;
pub(crate) mod salu;
pub(crate) mod smem;
pub(crate) mod vop1;
pub(crate) mod vop2;
pub(crate) mod vop3;
pub(crate) mod vop3p;
pub(crate) mod vopc;

#[cfg(test)]
mod control_tests;
#[cfg(test)]
mod salu_tests;
