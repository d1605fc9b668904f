//! Fine-grained memory, and what the emulator does with the atomics that hardware does not perform there.

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
