//! Decodes and executes instructions: the decoder, the interpreter's loop, and the executors, one file for each family
//! of instructions.
//!
//! The modules, each of which uses only those before it: operand, inst (the arguments of an executor), level, number
//! (soft floats), lanes and modifiers (loops over lanes), the families of executors, table (the executor of each
//! instruction), decode, interpret.

pub(crate) mod access;
pub(crate) mod address;
pub(crate) mod altered;
pub(crate) mod arith;
pub(crate) mod atomics;
pub(crate) mod bits;
pub(crate) mod buffer;
pub(crate) mod buffer_format;
pub(crate) mod carry;
pub(crate) mod control;
pub(crate) mod convert;
pub(crate) mod cube;
pub(crate) mod decode;
pub(crate) mod descriptor;
pub(crate) mod divide;
pub(crate) mod dpp;
pub(crate) mod ds;
pub(crate) mod ds_permute;
pub(crate) mod dual;
pub(crate) mod exchange;
pub(crate) mod flat;
pub(crate) mod fork;
pub(crate) mod gws;
pub(crate) mod halves;
pub(crate) mod hwreg;
pub(crate) mod image;
pub(crate) mod image_descriptor;
pub(crate) mod image_sample;
pub(crate) mod inst;
pub(crate) mod integer;
pub(crate) mod interpret;
pub(crate) mod lanes;
pub(crate) mod level;
pub(crate) mod matrix;
pub(crate) mod matrix_arith;
pub(crate) mod matrix_formats;
pub(crate) mod matrix_scaled;
pub(crate) mod matrix_sums;
pub(crate) mod media;
pub(crate) mod modifiers;
pub(crate) mod notices;
pub(crate) mod number;
mod op;
pub(crate) mod operand;
pub(crate) mod packed;
pub(crate) mod salu;
pub(crate) mod sample;
pub(crate) mod sampler;
pub(crate) mod scalar_op;
pub(crate) mod scaled;
pub(crate) mod smem;
pub(crate) mod swmmac;
pub(crate) mod table;
pub(crate) mod tabled;
pub(crate) mod to_lds;
pub(crate) mod transcendental;
pub(crate) mod vectors;
pub(crate) mod vop3;
pub(crate) mod vop3p;
pub(crate) mod vopc;
pub(crate) mod wmma;

#[cfg(test)]
pub(crate) mod altered_tests;
#[cfg(test)]
pub(crate) mod atomics_tests;
#[cfg(test)]
mod blocks_tests;
#[cfg(test)]
pub(crate) mod buffer_tests;
#[cfg(test)]
mod control_tests;
#[cfg(test)]
mod document_tests;
#[cfg(test)]
pub(crate) mod ds_tests;
#[cfg(test)]
mod fast_tests;
#[cfg(test)]
pub(crate) mod flat_tests;
#[cfg(test)]
pub(crate) mod flow_tests;
#[cfg(test)]
pub(crate) mod fork_tests;
#[cfg(test)]
pub(crate) mod gfx11_buffer_tests;
#[cfg(test)]
pub(crate) mod gfx11_control_tests;
#[cfg(test)]
pub(crate) mod gfx11_tests;
#[cfg(test)]
mod gfx12_audit_tests;
#[cfg(test)]
pub(crate) mod gfx12_matrix_tests;
#[cfg(test)]
mod gws_tests;
#[cfg(test)]
mod halves_tests;
#[cfg(test)]
pub(crate) mod idle_tests;
#[cfg(test)]
pub(crate) mod image_tests;
#[cfg(test)]
pub(crate) mod matrix_scaled_tests;
#[cfg(test)]
pub(crate) mod matrix_tests;
#[cfg(test)]
pub(crate) mod matrix_value_tests;
#[cfg(test)]
pub(crate) mod memory_model;
#[cfg(test)]
mod notices_tests;
#[cfg(test)]
pub(crate) mod packed_tests;
#[cfg(test)]
pub(crate) mod salu_tests;
#[cfg(test)]
pub(crate) mod sample_model;
#[cfg(test)]
pub(crate) mod sample_tests;
#[cfg(test)]
pub(crate) mod scalar_op_tests;
#[cfg(test)]
pub(crate) mod scalar_scratch_tests;
#[cfg(test)]
pub(crate) mod scaled_tests;
#[cfg(test)]
pub(crate) mod smem_tests;
#[cfg(test)]
pub(crate) mod valu_tests;
#[cfg(test)]
pub(crate) mod wmma_tests;
