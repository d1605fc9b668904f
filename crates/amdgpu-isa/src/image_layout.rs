//! Where the levels of an image in linear memory are.
//!
//! No document says how the levels of a linear image follow each other, so that this is this project's own layout, which whoever writes
//! an image's memory and whoever reads it share: level 0 begins at the image's address, and each level where the one before it ends.
//! A level has all its slices one after the other, and a slice its rows, which begin at multiples of [`ROW_ALIGNMENT`] bytes.

/// The bytes that rows begin at multiples of: addrlib aligns linear rows to it (`HwlComputeSurfaceInfoLinear`).
pub const ROW_ALIGNMENT: u32 = 256;

/// The size of an image's level 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSize {
    /// The number of texels of a row.
    pub width: u32,
    /// The number of rows of a slice.
    pub height: u32,
    /// The number of slices: the depth, or the number of layers, of which a cube has six.
    pub slices: u32,
    /// Whether the slices are a depth, which each level halves. It doesn't halve layers.
    pub has_depth: bool,
    /// The number of bytes of a texel.
    pub texel: u32,
}

/// A level of an image in linear memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLevel {
    /// The number of bytes from the image's address to the level.
    pub offset: u64,
    /// The number of texels of a row.
    pub width: u32,
    /// The number of rows of a slice.
    pub height: u32,
    /// The number of slices.
    pub slices: u32,
    /// The number of bytes from a row to the next one.
    pub row: u64,
    /// The number of bytes from a slice to the next one.
    pub slice: u64,
}

impl ImageSize {
    /// Returns a level. Each has half the width, height and depth of the one before it, rounded down, and at least 1.
    ///
    /// ```
    /// use amdgpu_isa::image_layout::ImageSize;
    ///
    /// let size = ImageSize { width: 100, height: 3, slices: 1, has_depth: false, texel: 4 };
    /// let level = size.level(1);
    /// assert_eq!((level.width, level.height, level.offset, level.row), (50, 1, 3 * 512, 256));
    /// ```
    pub fn level(&self, number: u32) -> ImageLevel {
        let mut offset = 0;
        for before in 0..number {
            let level = self.sized(before, 0);
            offset += level.slice * u64::from(level.slices);
        }
        self.sized(number, offset)
    }

    fn sized(&self, number: u32, offset: u64) -> ImageLevel {
        let half = |size: u32| size.checked_shr(number).unwrap_or(0).max(1);
        let (width, height) = (half(self.width), half(self.height));
        let slices = if self.has_depth { half(self.slices) } else { self.slices };
        let row = (u64::from(width) * u64::from(self.texel)).next_multiple_of(u64::from(ROW_ALIGNMENT));
        ImageLevel { offset, width, height, slices, row, slice: row * u64::from(height) }
    }
}
