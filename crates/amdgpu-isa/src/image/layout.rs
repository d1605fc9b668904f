//! Where the texels of a linear image lie (swizzle mode 0).

/// What rows begin at multiples of, and levels and slices with them, in bytes: addrlib aligns the rows of linear images so
/// (`HwlComputeSurfaceInfoLinear`), and the base address of a descriptor has no lower bits.
pub const ROW_ALIGNMENT: u64 = 256;

/// A linear image: its extent in texels, and the bytes of a texel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLayout {
    /// Texels of a row.
    pub width: u32,
    /// Rows of a slice; 1 for one dimension.
    pub height: u32,
    /// Slices of a three-dimensional image; 1 for others. Each level has half as many as the one before.
    pub depth: u32,
    /// Layers of an array; 1 for others. All levels have as many.
    pub layers: u32,
    /// Bytes of a texel.
    pub texel: u32,
}

/// A level of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Where the first texel is: bytes from the image's base.
    pub offset: u64,
    /// Texels of a row.
    pub width: u32,
    /// Rows of a slice.
    pub height: u32,
    /// Slices: those of three dimensions, or the layers.
    pub slices: u32,
    /// Bytes from a row to the next one.
    pub pitch: u64,
    /// Bytes from a slice to the next one.
    pub slice: u64,
}

impl Level {
    /// Bytes of all slices; `None` for more than there are.
    pub fn bytes(&self) -> Option<u64> {
        self.slice.checked_mul(self.slices.into())
    }

    /// Bytes from the image's base to a texel that the level has.
    pub fn texel(&self, x: u32, y: u32, slice: u32, texel_bytes: u32) -> u64 {
        self.offset
            + u64::from(slice) * self.slice
            + u64::from(y) * self.pitch
            + u64::from(x) * u64::from(texel_bytes)
    }
}

impl ImageLayout {
    /// How many levels there are down to one texel.
    pub fn most_levels(&self) -> u32 {
        let longest = self.width.max(self.height).max(self.depth).max(1);
        u32::BITS - longest.leading_zeros()
    }

    /// Returns a level. Level 0 is the image itself, and each level lies behind the one before; each has half the extent of that,
    /// rounded down, but at least one texel. Rows are aligned to [`ROW_ALIGNMENT`], and nothing else is padded, so that levels and
    /// slices begin at such addresses, too. `None` for more bytes than there are.
    ///
    /// No document says where the levels of linear images are: this is what the image's maker and the emulator agree on.
    pub fn level(&self, level: u32) -> Option<Level> {
        let mut offset = 0u64;
        for above in 0..level {
            offset = offset.checked_add(self.alone(above)?.bytes()?)?;
        }
        Some(Level { offset, ..self.alone(level)? })
    }

    /// A level as if it were the first one.
    fn alone(&self, level: u32) -> Option<Level> {
        let at = |extent: u32| extent.checked_shr(level).unwrap_or(0).max(1);
        let (width, height) = (at(self.width), at(self.height));
        let pitch = (u64::from(width) * u64::from(self.texel)).next_multiple_of(ROW_ALIGNMENT);
        let slice = pitch.checked_mul(height.into())?;
        let slices = at(self.depth).checked_mul(self.layers)?;
        Some(Level { offset: 0, width, height, slices, pitch, slice })
    }

    /// Bytes of the first `levels` levels; `None` for more than there are.
    pub fn bytes(&self, levels: u32) -> Option<u64> {
        self.level(levels).map(|end| end.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_follow_each_other_and_begin_at_multiples_of_256_bytes() {
        let image = ImageLayout { width: 100, height: 30, depth: 1, layers: 1, texel: 4 };
        assert_eq!(image.most_levels(), 7);
        let levels: Vec<Level> = (0..7).map(|level| image.level(level).unwrap()).collect();
        assert_eq!(
            levels[0],
            Level { offset: 0, width: 100, height: 30, slices: 1, pitch: 512, slice: 512 * 30 }
        );
        assert_eq!(
            levels[1],
            Level { offset: 512 * 30, width: 50, height: 15, slices: 1, pitch: 256, slice: 256 * 15 }
        );
        assert_eq!((levels[6].width, levels[6].height, levels[6].bytes()), (1, 1, Some(256)));
        for pair in levels.windows(2) {
            assert_eq!(pair[0].offset + pair[0].bytes().unwrap(), pair[1].offset);
        }
        assert_eq!(image.bytes(7), Some(levels[6].offset + 256));
        assert_eq!(levels[1].texel(3, 2, 0, 4), 512 * 30 + 2 * 256 + 12);
    }

    #[test]
    fn depths_are_halved_and_layers_are_not() {
        let deep = ImageLayout { width: 8, height: 8, depth: 8, layers: 1, texel: 16 };
        let layered = ImageLayout { depth: 1, layers: 8, ..deep };
        assert_eq!((deep.level(2).unwrap().slices, layered.level(2).unwrap().slices), (2, 8));
        assert_eq!(layered.level(1).unwrap().offset, 8 * 8 * 256);
        let huge = ImageLayout { width: u32::MAX, height: u32::MAX, depth: 4, layers: 1, texel: 16 };
        assert_eq!(huge.bytes(1), None);
    }
}
