//! Fine-grained memory, and what the emulator does with the atomics that hardware does not perform there.

use std::fmt;
use std::str::FromStr;

/// What floating-point atomics to fine-grained memory do on gfx90a, whose hardware does not perform them: f32 and f64 sums,
/// f64 minima and maxima, sums of two f16. gfx942 performs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FineGrainedAtomics {
    /// What they do in other memory.
    #[default]
    Perform,
    /// Nothing, as on hardware. The value that they return is 0.
    Drop,
}

impl fmt::Display for FineGrainedAtomics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FineGrainedAtomics::Perform => "perform",
            FineGrainedAtomics::Drop => "drop",
        })
    }
}

/// The text is neither `perform` nor `drop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what atomics to fine-grained memory do is `perform` or `drop`")]
pub struct UnknownFineGrainedAtomics;

impl FromStr for FineGrainedAtomics {
    type Err = UnknownFineGrainedAtomics;

    fn from_str(text: &str) -> Result<FineGrainedAtomics, UnknownFineGrainedAtomics> {
        match text {
            "perform" => Ok(FineGrainedAtomics::Perform),
            "drop" => Ok(FineGrainedAtomics::Drop),
            _ => Err(UnknownFineGrainedAtomics),
        }
    }
}
