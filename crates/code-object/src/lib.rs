//! AMDGPU code objects, read into typed kernel signatures: no device, no unsafe.
//!
//! A code object is what `hipcc --genco` or a JIT compiler writes: an ELF for one GPU target, alone or inside a
//! clang offload bundle, which may be compressed. [`CodeObject::parse`] reads the ELF, [`CodeObject::from_any`]
//! reads any of these and picks the entry for a target:
//!
//! ```no_run
//! use code_object::{CodeObject, TargetId};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device: TargetId = "gfx90a:sramecc+:xnack-".parse()?;
//! let object = CodeObject::from_any(&std::fs::read("saxpy.hipfb")?, &device)?;
//! let kernel = object.kernel("saxpy")?;
//! println!("{kernel}");
//! for arg in kernel.explicit_args() {
//!     println!("  {arg}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | What | Where it comes from | Type |
//! |---|---|---|
//! | target, its xnack and sramecc setting | `e_flags` | [`TargetId`] |
//! | kernels, arguments, limits | the `NT_AMDGPU_METADATA` note (MessagePack) | [`KernelSignature`], [`ArgSignature`] |
//! | entry point, registers set up at launch | the 64-byte descriptor `<name>.kd` | [`KernelDescriptor`] |
//! | what to map, and where | program headers | [`ElfSegment`], [`Relocation`] |
//! | device variables and functions | symbol tables | [`GlobalVariable`], [`FunctionSymbol`] |
//! | source lines of instructions | DWARF, if there is any | [`SourceLocation`] |
//!
//! Code object versions 4, 5 and 6 are read. The source of the format's facts is LLVM's "User Guide for AMDGPU
//! Backend"; where a comment says "AMDGPU usage", it means that.
//!
//! The bundles themselves are in [`bundle`].
//!
//! # Hostile input
//!
//! Input is never trusted: every offset, count and size is checked, and every violation is an [`Error`]. The memory
//! used is below a small multiple of the input's size; sizes that a few input bytes could make large are bounded by
//! [`limits`].

#![forbid(unsafe_code)]

pub mod bundle;
mod code_object;
mod descriptor;
mod elf;
mod error;
mod metadata;
mod msgpack;
mod signature;
mod source;
mod target;

pub mod limits;
pub mod occupancy;

pub use crate::code_object::{CodeObject, CodeObjectVersion};
pub use crate::descriptor::{FloatMode, KernelDescriptor, WorkitemIds};
pub use crate::elf::{ElfSegment, FunctionSymbol, GlobalVariable, Relocation, RelocationKind};
pub use crate::error::{Error, Result};
pub use crate::signature::{
    Access, AddressSpace, ArgSignature, HiddenArg, KernelKind, KernelSignature, ValueKind,
};
pub use crate::source::SourceLocation;
pub use crate::target::{FeatureSetting, Processor, TargetId};

/// Compiles and runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
