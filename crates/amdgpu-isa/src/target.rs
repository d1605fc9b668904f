//! The processors that the crate supports.

use code_object::{CodeObject, Processor};

use crate::error::{Error, Result};

/// An instruction set: that of one processor, or of several with the same instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// MI200 (CDNA 2).
    Gfx90a,
    /// MI300 (CDNA 3).
    Gfx942,
    /// MI350 (CDNA 4).
    Gfx950,
    /// gfx1100 to gfx1103 (RDNA 3).
    Gfx11,
    /// gfx1150 to gfx1153 (RDNA 3.5).
    Gfx115,
}

impl Target {
    /// All targets, by their family and age.
    pub const ALL: [Target; 5] =
        [Target::Gfx90a, Target::Gfx942, Target::Gfx950, Target::Gfx11, Target::Gfx115];
    /// The targets of the CDNA family, whose encodings are those of gfx9.
    pub const GFX9: [Target; 3] = [Target::Gfx90a, Target::Gfx942, Target::Gfx950];
    /// The targets whose encodings are those of gfx11.
    pub const GFX11: [Target; 2] = [Target::Gfx11, Target::Gfx115];

    /// Returns whether instructions are encoded as on gfx11. Those of the other targets are encoded as on gfx9.
    #[inline]
    pub const fn is_gfx11(self) -> bool {
        matches!(self, Target::Gfx11 | Target::Gfx115)
    }

    /// Returns whether the target has what gfx942 introduced: it is gfx942 or gfx950.
    #[inline]
    pub const fn has_gfx942_instructions(self) -> bool {
        matches!(self, Target::Gfx942 | Target::Gfx950)
    }

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
            ref named => match named.name() {
                "gfx9-4-generic" => Ok(Target::Gfx942),
                "gfx1100" | "gfx1101" | "gfx1102" | "gfx1103" | "gfx11-generic" => Ok(Target::Gfx11),
                "gfx1150" | "gfx1151" | "gfx1152" | "gfx1153" => Ok(Target::Gfx115),
                _ => Err(Error::UnsupportedTarget { target: object.target().to_string() }),
            },
        }
    }
}

/// The number of lanes of a wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaveSize {
    /// 32 lanes: a mask of lanes is one scalar register.
    Wave32,
    /// 64 lanes: a mask of lanes is a pair of scalar registers.
    Wave64,
}

/// What decides how code is read: the target, and the number of lanes of the waves that execute it.
///
/// A [`Target`] converts to it. The waves then have 64 lanes on gfx9, whose waves always do, and 32 lanes on gfx11, as in
/// `llvm-objdump`, which reads code for 64 lanes only with `--mattr=+wavefrontsize64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Isa {
    /// The instruction set.
    pub target: Target,
    /// The number of lanes, which decides how many registers a mask has, and on gfx11 a matrix.
    pub wave: WaveSize,
}

impl Isa {
    /// Returns how waves of a size read code. On gfx9, all have 64 lanes.
    pub const fn new(target: Target, wave: WaveSize) -> Isa {
        Isa { target, wave: if target.is_gfx11() { wave } else { WaveSize::Wave64 } }
    }
}

impl From<Target> for Isa {
    fn from(target: Target) -> Isa {
        Isa::new(target, WaveSize::Wave32)
    }
}
