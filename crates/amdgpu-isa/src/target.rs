//! The processors that the crate supports.

use code_object::{CodeObject, Processor};

use crate::error::{Error, Result};

/// A processor whose instructions the crate lists. They are ordered by age: most of what gfx942 changed holds for gfx950
/// too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// MI200 (CDNA 2).
    Gfx90a,
    /// MI300 (CDNA 3).
    Gfx942,
    /// MI350 (CDNA 4).
    Gfx950,
}

impl Target {
    /// All targets, in the order of their age.
    pub const ALL: [Target; 3] = [Target::Gfx90a, Target::Gfx942, Target::Gfx950];

    /// Returns the processor that a code object is compiled for. For `gfx9-4-generic` this is gfx942.
    ///
    /// # Errors
    /// [`Error::UnsupportedTarget`] if the code object is for any other processor.
    pub fn of(object: &CodeObject) -> Result<Target> {
        match object.target().processor {
            Processor::Gfx90a => Ok(Target::Gfx90a),
            Processor::Gfx942 => Ok(Target::Gfx942),
            Processor::Gfx950 => Ok(Target::Gfx950),
            // The generic processor has the instructions and the ABI that gfx942 shares with related processors (LLVM
            // AMDGPU usage, "AMDGPU Generic Processors").
            ref generic if generic.name() == "gfx9-4-generic" => Ok(Target::Gfx942),
            _ => Err(Error::UnsupportedTarget { target: object.target().to_string() }),
        }
    }
}
