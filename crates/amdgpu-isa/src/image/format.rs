//! The formats of texels that programs can ask for, and their numbers in descriptors.

use crate::target::Generation;

/// What the bits of a component are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// An integer from 0 to 1.
    Unorm,
    /// An integer from -1 to 1.
    Snorm,
    /// An integer without a sign.
    Uint,
    /// An integer with a sign.
    Sint,
    /// A float.
    Float,
    /// An integer from 0 to 1 that is converted to linear values; the fourth component is not.
    Srgb,
}

impl Numbers {
    /// The number format of gfx9.
    fn number(self) -> u64 {
        match self {
            Numbers::Unorm => 0,
            Numbers::Snorm => 1,
            Numbers::Uint => 4,
            Numbers::Sint => 5,
            Numbers::Float => 7,
            Numbers::Srgb => 9,
        }
    }
}

/// A format: components of the same size and kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TexelFormat {
    /// The bits of a component: 8, 16 or 32.
    pub bits: u32,
    /// How many components there are: 1, 2 or 4.
    pub components: u32,
    /// What they are.
    pub numbers: Numbers,
}

/// A row for each size and number of components: gfx9's data format; the first number of gfx10, and of gfx11 and gfx12; and the order
/// of the kinds from there on.
type Row = (u32, u32, u64, u64, u64, &'static [Option<Numbers>]);

use Numbers::{Float, Sint, Snorm, Srgb, Uint, Unorm};

/// Scaled integers, which programs can't ask for, have a number, too.
const SMALL: [Option<Numbers>; 6] = [Some(Unorm), Some(Snorm), None, None, Some(Uint), Some(Sint)];
const MIDDLE: [Option<Numbers>; 7] =
    [Some(Unorm), Some(Snorm), None, None, Some(Uint), Some(Sint), Some(Float)];
const LARGE: [Option<Numbers>; 3] = [Some(Uint), Some(Sint), Some(Float)];

/// RDNA 2 ISA, 8.1.7, and RDNA 3 ISA, 10.7: tables of unified formats.
const ROWS: [Row; 9] = [
    (8, 1, 1, 1, 1, &SMALL),
    (16, 1, 2, 7, 7, &MIDDLE),
    (8, 2, 3, 14, 14, &SMALL),
    (32, 1, 4, 20, 20, &LARGE),
    (16, 2, 5, 23, 23, &MIDDLE),
    (8, 4, 10, 56, 42, &SMALL),
    (32, 2, 11, 62, 48, &LARGE),
    (16, 4, 12, 65, 51, &MIDDLE),
    (32, 4, 14, 75, 61, &LARGE),
];
/// The number of one component of sRGB on gfx10, and on gfx11 and gfx12; those of two and four follow.
const SRGB: [u64; 2] = [128, 64];

impl TexelFormat {
    /// Bytes of a texel.
    pub fn bytes(&self) -> u32 {
        self.bits / 8 * self.components
    }

    /// The number in an image's descriptor ([`ImageField::Format`](super::ImageField::Format)); `None` if there is no such format.
    pub fn image_number(&self, generation: Generation) -> Option<u64> {
        let (.., data, gfx10, gfx11, kinds) = self.row()?;
        match generation {
            Generation::Gfx9 => {
                let known = kinds.contains(&Some(self.numbers)) || self.is_srgb();
                // Ten bits: the data format, and the number format above.
                known.then(|| data | self.numbers.number() << 6)
            }
            Generation::Gfx10 => self.unified(gfx10, SRGB[0]),
            Generation::Gfx11 | Generation::Gfx12 => self.unified(gfx11, SRGB[1]),
        }
    }

    /// The number in a buffer's descriptor ([`BufferField::Format`](super::BufferField::Format)); `None` if there is no such format.
    pub fn buffer_number(&self, generation: Generation) -> Option<u64> {
        let (.., data, _, _, kinds) = self.row()?;
        if !kinds.contains(&Some(self.numbers)) {
            return None;
        }
        match generation {
            Generation::Gfx9 => Some(data | self.numbers.number() << 4),
            _ => self.image_number(generation),
        }
    }

    fn row(&self) -> Option<&'static Row> {
        ROWS.iter().find(|(bits, components, ..)| (*bits, *components) == (self.bits, self.components))
    }

    fn is_srgb(&self) -> bool {
        self.numbers == Srgb && self.bits == 8
    }

    fn unified(&self, first: &u64, srgb: u64) -> Option<u64> {
        if self.is_srgb() {
            return Some(srgb + u64::from(self.components.ilog2()));
        }
        let (.., kinds) = self.row()?;
        let at = kinds.iter().position(|kind| *kind == Some(self.numbers))?;
        Some(first + at as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_the_numbers_of_the_documents() {
        let number = |bits, components, numbers, generation| {
            TexelFormat { bits, components, numbers }.image_number(generation)
        };
        use Generation::{Gfx9, Gfx10, Gfx11, Gfx12};
        for (bits, components, numbers, gfx9, gfx10, gfx11) in [
            (8, 1, Unorm, (1, 0), 1, 1),
            (8, 1, Sint, (1, 5), 6, 6),
            (16, 1, Float, (2, 7), 13, 13),
            (32, 1, Float, (4, 7), 22, 22),
            (16, 2, Uint, (5, 4), 27, 27),
            (8, 4, Unorm, (10, 0), 56, 42),
            (8, 4, Srgb, (10, 9), 130, 66),
            (32, 2, Sint, (11, 5), 63, 49),
            (16, 4, Float, (12, 7), 71, 57),
            (32, 4, Float, (14, 7), 77, 63),
        ] {
            let (data, kind) = gfx9;
            let found = [Gfx9, Gfx10, Gfx11, Gfx12].map(|of| number(bits, components, numbers, of));
            let expected = [data | kind << 6, gfx10, gfx11, gfx11].map(Some);
            assert_eq!(found, expected, "{bits} {components} {numbers:?}");
        }
        assert_eq!(number(8, 1, Float, Gfx9), None);
        assert_eq!(number(32, 1, Unorm, Gfx11), None);
        assert_eq!(number(8, 3, Unorm, Gfx11), None);
        let srgb = TexelFormat { bits: 8, components: 4, numbers: Srgb };
        assert_eq!((srgb.buffer_number(Gfx9), srgb.bytes()), (None, 4));
        let float = TexelFormat { bits: 32, components: 1, numbers: Float };
        assert_eq!(float.buffer_number(Gfx9), Some(4 | 7 << 4));
    }
}
