//! The processors that code can be for.

use code_object::{CodeObject, Processor};

use crate::error::{Error, Result};

/// The processors that code can be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// MI200 (CDNA 2).
    Gfx90a,
    /// MI300 (CDNA 3).
    Gfx942,
}

impl Target {
    /// The processor that a code object is for; code for `gfx9-4-generic` is gfx942's.
    ///
    /// # Errors
    /// [`Error::UnsupportedTarget`] if it is neither.
    pub fn of(object: &CodeObject) -> Result<Target> {
        match object.target().processor {
            Processor::Gfx90a => Ok(Target::Gfx90a),
            Processor::Gfx942 => Ok(Target::Gfx942),
            // Its instructions and its ABI are what gfx942 shares with its relatives (LLVM AMDGPU usage, "AMDGPU
            // Generic Processors").
            ref generic if generic.name() == "gfx9-4-generic" => Ok(Target::Gfx942),
            _ => Err(Error::UnsupportedTarget { target: object.target().to_string() }),
        }
    }
}
