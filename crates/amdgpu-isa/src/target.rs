//! The processors that the crate supports.

use code_object::CodeObject;

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
    /// gfx1200 and gfx1201 (RDNA 4).
    Gfx12,
    /// gfx1030 to gfx1036 (RDNA 2).
    Gfx103,
}

/// A generation of processors: the targets whose instructions have the same encodings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Generation {
    /// The CDNA family.
    Gfx9,
    /// RDNA 2.
    Gfx10,
    /// RDNA 3 and 3.5.
    Gfx11,
    /// RDNA 4.
    Gfx12,
}

/// The processors whose code is executed, with their targets. Every list of processors in messages, options and devices
/// is made from this one. The generic ones have the instructions and the ABI that the processors of their family share
/// (LLVM AMDGPU usage, "AMDGPU Generic Processors"); no device is one.
const PROCESSORS: [(&str, Target); 24] = [
    ("gfx90a", Target::Gfx90a),
    ("gfx942", Target::Gfx942),
    ("gfx950", Target::Gfx950),
    ("gfx1030", Target::Gfx103),
    ("gfx1031", Target::Gfx103),
    ("gfx1032", Target::Gfx103),
    ("gfx1033", Target::Gfx103),
    ("gfx1034", Target::Gfx103),
    ("gfx1035", Target::Gfx103),
    ("gfx1036", Target::Gfx103),
    ("gfx1100", Target::Gfx11),
    ("gfx1101", Target::Gfx11),
    ("gfx1102", Target::Gfx11),
    ("gfx1103", Target::Gfx11),
    ("gfx1150", Target::Gfx115),
    ("gfx1151", Target::Gfx115),
    ("gfx1152", Target::Gfx115),
    ("gfx1153", Target::Gfx115),
    ("gfx1200", Target::Gfx12),
    ("gfx1201", Target::Gfx12),
    ("gfx9-4-generic", Target::Gfx942),
    ("gfx10-3-generic", Target::Gfx103),
    ("gfx11-generic", Target::Gfx11),
    ("gfx12-generic", Target::Gfx12),
];
/// How many of [`PROCESSORS`], from the first on, are not generic.
const DEVICES: usize = 20;

impl Target {
    /// All targets, in the order of the enum.
    pub const ALL: [Target; 7] = [
        Target::Gfx90a,
        Target::Gfx942,
        Target::Gfx950,
        Target::Gfx11,
        Target::Gfx115,
        Target::Gfx12,
        Target::Gfx103,
    ];
    /// The targets for which tests of the emulator compare the results of each instruction.
    pub const VERIFIED: [Target; 7] = Target::ALL;
    /// The targets of the CDNA family, whose encodings are those of gfx9.
    pub const GFX9: [Target; 3] = [Target::Gfx90a, Target::Gfx942, Target::Gfx950];
    /// The targets whose encodings are those of gfx11.
    pub const GFX11: [Target; 2] = [Target::Gfx11, Target::Gfx115];

    /// Returns the generation, which says how instructions are encoded.
    #[inline]
    pub const fn generation(self) -> Generation {
        match self {
            Target::Gfx90a | Target::Gfx942 | Target::Gfx950 => Generation::Gfx9,
            Target::Gfx103 => Generation::Gfx10,
            Target::Gfx11 | Target::Gfx115 => Generation::Gfx11,
            Target::Gfx12 => Generation::Gfx12,
        }
    }

    /// Returns whether the target is of the RDNA family, whose waves have 32 or 64 lanes.
    #[inline]
    pub const fn is_rdna(self) -> bool {
        !matches!(self.generation(), Generation::Gfx9)
    }

    /// Returns whether instructions are encoded as on gfx10.
    #[inline]
    pub const fn is_gfx10(self) -> bool {
        matches!(self.generation(), Generation::Gfx10)
    }

    /// Returns whether instructions are encoded as on gfx11.
    #[inline]
    pub const fn is_gfx11(self) -> bool {
        matches!(self.generation(), Generation::Gfx11)
    }

    /// Returns whether the target has what gfx11 introduced: registers of 16 bits, and DPP in every vector encoding.
    #[inline]
    pub const fn has_gfx11_instructions(self) -> bool {
        matches!(self.generation(), Generation::Gfx11 | Generation::Gfx12)
    }

    /// Returns whether instructions are encoded as on gfx12.
    #[inline]
    pub const fn is_gfx12(self) -> bool {
        matches!(self.generation(), Generation::Gfx12)
    }

    /// Returns whether the target has what gfx942 introduced: it is gfx942 or gfx950.
    #[inline]
    pub const fn has_gfx942_instructions(self) -> bool {
        matches!(self, Target::Gfx942 | Target::Gfx950)
    }

    /// Returns the target of a processor, such as `gfx942`, `gfx1102` or `gfx11-generic`; `None` if the crate doesn't support it.
    ///
    /// ```
    /// use amdgpu_isa::Target;
    ///
    /// assert_eq!(Target::of_processor("gfx1101"), Some(Target::Gfx11));
    /// assert_eq!(Target::of_processor("gfx906"), None);
    /// ```
    pub fn of_processor(name: &str) -> Option<Target> {
        PROCESSORS.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
    }

    /// Returns the processors that can be emulated as devices, by their family and age. Generic ones are not among them.
    pub fn processors() -> impl ExactSizeIterator<Item = &'static str> {
        PROCESSORS.iter().take(DEVICES).map(|(name, _)| *name)
    }

    /// Returns the processors that can be emulated as devices, as a sentence has them: "gfx90a, gfx942, ... and gfx1201".
    pub fn listed_processors() -> String {
        in_a_sentence(Target::processors())
    }

    /// Returns the first processor that has the target's instructions, such as `gfx1100` for [`Gfx11`](Target::Gfx11).
    pub const fn processor(self) -> &'static str {
        match self {
            Target::Gfx90a => "gfx90a",
            Target::Gfx942 => "gfx942",
            Target::Gfx950 => "gfx950",
            Target::Gfx103 => "gfx1030",
            Target::Gfx11 => "gfx1100",
            Target::Gfx115 => "gfx1150",
            Target::Gfx12 => "gfx1200",
        }
    }

    /// Returns the target of the processor that a code object is compiled for. For `gfx9-4-generic` this is gfx942.
    ///
    /// # Errors
    /// [`Error::UnsupportedTarget`] if the code object is for any other processor.
    pub fn of(object: &CodeObject) -> Result<Target> {
        let target = object.target();
        Target::of_processor(target.processor.name()).ok_or_else(|| Error::UnsupportedTarget {
            target: target.to_string(),
            known: Target::listed_processors(),
        })
    }
}

/// Returns names as a sentence has them: with commas, and "and" before the last.
fn in_a_sentence<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.split_last() {
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_is_that_of_its_first_processor() {
        for target in Target::ALL {
            let name = target.processor();
            assert_eq!(Target::of_processor(name), Some(target));
            assert_eq!(PROCESSORS.iter().find(|(_, of)| *of == target).map(|(name, _)| *name), Some(name));
        }
    }

    #[test]
    fn devices_are_the_processors_that_are_not_generic() {
        let devices: Vec<&str> = Target::processors().collect();
        let all = PROCESSORS.iter().map(|(name, _)| *name);
        assert_eq!(devices, all.filter(|name| !name.ends_with("-generic")).collect::<Vec<_>>());
        assert_eq!(
            Target::listed_processors(),
            "gfx90a, gfx942, gfx950, gfx1030, gfx1031, gfx1032, gfx1033, gfx1034, gfx1035, gfx1036, gfx1100, gfx1101, gfx1102, gfx1103, \
             gfx1150, gfx1151, gfx1152, gfx1153, gfx1200 and gfx1201"
        );
    }

    #[test]
    fn other_processors_have_no_target() {
        assert_eq!(Target::of_processor("gfx11-generic"), Some(Target::Gfx11));
        assert_eq!(Target::of_processor("gfx9-4-generic"), Some(Target::Gfx942));
        for name in ["gfx908", "gfx940", "gfx1010", "gfx1250", "gfx9-generic", "gfx11", ""] {
            assert_eq!(Target::of_processor(name), None, "{name}");
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
/// A [`Target`] converts to it. The waves then have 64 lanes on gfx9, whose waves always do, and 32 lanes on RDNA, as in
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
        Isa { target, wave: if target.is_rdna() { wave } else { WaveSize::Wave64 } }
    }
}

impl From<Target> for Isa {
    fn from(target: Target) -> Isa {
        Isa::new(target, WaveSize::Wave32)
    }
}
