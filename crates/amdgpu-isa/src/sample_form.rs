//! What the name of an image instruction with a sampler says: which values its address has, in which order.
//!
//! The address has, from its first register on: an offset of texels, a bias of the level, a value to compare with, gradients,
//! coordinates, and a level or a least level (RDNA3 ISA, 10.3; LLVM, `getAddrSizeMIMGOp`). Each of the first three has a register of
//! its own. The gradients are packed in pairs if they have 16 bits; so is what follows them, with `a16`.

use crate::row::Row;

/// How many coordinates and gradients a dimension has, in the order of the field `dim`: 1D, 2D, 3D, cubes, arrays of 1D and of 2D, and two
/// with several samples of a texel.
const DIMENSIONS: [(u32, u32); 8] = [(1, 2), (2, 4), (3, 6), (3, 4), (2, 2), (3, 4), (3, 4), (4, 4)];

/// What an instruction with a sampler returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleKind {
    /// One filtered value.
    Sample,
    /// One component of four texels, without a filter.
    Gather,
    /// The same, of texels that are beside each other.
    GatherRow,
    /// The level that a sample would read.
    Lod,
}

/// What decides the level that an instruction with a sampler reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleLevel {
    /// The differences of the coordinates between lanes.
    Lanes,
    /// The same, to which the address adds a bias.
    Bias,
    /// The gradients of the address.
    Gradients,
    /// The last value of the address.
    Explicit,
    /// It is level 0.
    Zero,
}

/// The form of an instruction with a sampler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleForm {
    /// What it returns.
    pub kind: SampleKind,
    /// What decides the level.
    pub level: SampleLevel,
    /// The address has an offset of texels.
    pub offset: bool,
    /// The address has a value that texels are compared with.
    pub compare: bool,
    /// The gradients have 16 bits.
    pub half_gradients: bool,
    /// The last value of the address is the least level.
    pub clamp: bool,
}

impl SampleForm {
    /// Returns the form of an instruction; `None` if it is none with a sampler, or not known.
    ///
    /// ```
    /// use amdgpu_isa::{Encoding, SampleForm, SampleLevel, Target};
    ///
    /// let row = Encoding::Mimg.rows().iter().find(|row| row.name == "image_sample_c_l_o");
    /// let form = row.and_then(SampleForm::of).ok_or("no such instruction")?;
    /// assert_eq!((form.level, form.offset, form.compare), (SampleLevel::Explicit, true, true));
    /// // An offset, a value to compare with, two coordinates and a level.
    /// assert_eq!(form.registers(1, false), 5);
    /// # Ok::<(), &str>(())
    /// ```
    pub fn of(row: &Row) -> Option<SampleForm> {
        let name = row.name.strip_prefix("image_")?;
        let mut parts = name.split('_');
        let kind = match parts.next()? {
            "sample" => SampleKind::Sample,
            "gather4" => SampleKind::Gather,
            "gather4h" => SampleKind::GatherRow,
            "get" if name == "get_lod" => SampleKind::Lod,
            _ => return None,
        };
        let mut form = SampleForm {
            kind,
            level: SampleLevel::Lanes,
            offset: false,
            compare: false,
            half_gradients: false,
            clamp: false,
        };
        for part in parts {
            match part {
                "b" => form.level = SampleLevel::Bias,
                "d" => form.level = SampleLevel::Gradients,
                "l" => form.level = SampleLevel::Explicit,
                "lz" => form.level = SampleLevel::Zero,
                "o" => form.offset = true,
                "c" => form.compare = true,
                "g16" => form.half_gradients = true,
                "cl" => form.clamp = true,
                _ => {}
            }
        }
        Some(form)
    }

    /// Returns the number of values that have a register of their own, before the gradients.
    pub fn extras(&self) -> u32 {
        u32::from(self.offset) + u32::from(self.level == SampleLevel::Bias) + u32::from(self.compare)
    }

    /// Returns the number of gradients, in a dimension (the field `dim`).
    pub fn gradients(&self, dim: u32) -> u32 {
        if self.level == SampleLevel::Gradients { DIMENSIONS[(dim & 7) as usize].1 } else { 0 }
    }

    /// Returns the number of coordinates in a dimension, and of the level after them.
    pub fn body(&self, dim: u32) -> u32 {
        let level = self.clamp || self.level == SampleLevel::Explicit;
        DIMENSIONS[(dim & 7) as usize].0 + u32::from(level)
    }

    /// Returns the number of registers of the address. With `a16`, coordinates have 16 bits.
    pub fn registers(&self, dim: u32, a16: bool) -> u32 {
        let gradients = match self.gradients(dim) {
            // Those in x and in y of the screen are packed apart.
            count if self.half_gradients => (count / 2).next_multiple_of(2),
            count => count,
        };
        let body = self.body(dim);
        self.extras() + gradients + if a16 { body.div_ceil(2) } else { body }
    }
}
