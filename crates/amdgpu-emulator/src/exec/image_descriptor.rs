//! Image descriptors: the fields of the eight SGPRs that MIMG takes (RDNA3 ISA, 10.5, table 50; of gfx9, Vega ISA, "Image resource
//! descriptor", with the names of ROCm's `resource_ai.h`), and where they put the texels of a linear image.

use amdgpu_isa::image_layout::{ImageLevel, ImageSize, ROW_ALIGNMENT};

use crate::exec::buffer_format::Format;
use crate::exec::descriptor::FormatNumber;

/// The numbers of the types of images. That of the dimension of an instruction of gfx11 is smaller by 8.
pub(crate) mod kind {
    pub(crate) const ONE: u32 = 8;
    pub(crate) const TWO: u32 = 9;
    pub(crate) const THREE: u32 = 10;
    pub(crate) const CUBE: u32 = 11;
    pub(crate) const ONE_ARRAY: u32 = 12;
    pub(crate) const TWO_ARRAY: u32 = 13;
    pub(super) const FIRST_WITH_SAMPLES: u32 = 14;
}

/// The number format of sRGB, as gfx9 numbers it, and gfx11's formats with it: their number, and the data format.
const SRGB: u32 = 9;
const SRGB_OF_GFX11: [(u32, u32); 3] = [(64, 1), (65, 3), (66, 10)];

/// The fields that both generations have, in other places.
struct Fields {
    format: FormatNumber,
    /// The number of texels of a row less 1, and the number of rows less 1.
    width: u32,
    height: u32,
    /// The last slice that the descriptor shows, or the depth less 1.
    last: u32,
    first: u32,
    /// The explicit number of texels from a row to the next one.
    pitch: Option<u32>,
    /// The number of the image's last level.
    last_level: u32,
    /// The least level, in parts of a level.
    least: u32,
    is_compressed: bool,
    /// The order of a border's components.
    border: u32,
}

impl Fields {
    fn of_gfx9(words: &[u32; 8]) -> Fields {
        let pitch = words[4] >> 13 & 0xffff;
        Fields {
            format: FormatNumber::Split(words[1] >> 20 & 0x3f, words[1] >> 26 & 15),
            width: words[2] & 0x3fff,
            height: words[2] >> 14 & 0x3fff,
            last: words[4] & 0x1fff,
            first: words[5] & 0x1fff,
            pitch: (pitch != 0).then_some(pitch + 1),
            last_level: words[5] >> 28,
            least: words[1] >> 8 & 0xfff,
            is_compressed: words[6] >> 21 & 1 != 0,
            border: words[4] >> 29,
        }
    }

    fn of_gfx11(words: &[u32; 8]) -> Fields {
        let kind = words[3] >> 28;
        let format = words[1] >> 20 & 0xff;
        let format = match SRGB_OF_GFX11.iter().find(|(number, _)| *number == format) {
            Some((_, data)) => FormatNumber::Split(*data, SRGB),
            None => FormatNumber::Unified(format),
        };
        // Only these types have a pitch, in the place of the last slice, and only if it is larger than the width (table 50).
        let has_pitch = matches!(kind, kind::ONE | kind::TWO);
        let (width, pitch) = (words[1] >> 30 | (words[2] & 0xfff) << 2, words[4] & 0x3fff);
        Fields {
            format,
            width,
            height: words[2] >> 14 & 0x3fff,
            last: if has_pitch { 0 } else { words[4] & 0x1fff },
            // Without the bit in word 5, a three-dimensional image has no first slice.
            first: if kind == kind::THREE && words[5] & 1 == 0 { 0 } else { words[4] >> 16 & 0x1fff },
            pitch: (has_pitch && pitch > width).then_some(pitch + 1),
            last_level: words[1] >> 16 & 15,
            least: words[5] >> 27 | (words[6] & 0x7f) << 5,
            is_compressed: words[6] >> 21 & 1 != 0,
            border: words[3] >> 25 & 7,
        }
    }
}

/// An image in linear memory.
pub(crate) struct Image {
    base: u64,
    pub(crate) kind: u32,
    size: ImageSize,
    /// The explicit number of bytes from a row of the only level to the next one.
    row: Option<u64>,
    /// The first slice that the descriptor shows: a layer of an array, a face of a cube, or a depth.
    first: u32,
    first_level: u32,
    /// The number of levels that the descriptor shows.
    pub(crate) levels: u32,
    /// The least level that a sampler reads, in parts of a level.
    pub(crate) least: u32,
    /// Which component of a border is in each component of memory.
    pub(crate) border: [usize; 4],
    number: FormatNumber,
    select: [u32; 4],
    is_gfx11: bool,
}

/// What an image's descriptor shows of one level.
pub(crate) struct View {
    base: u64,
    texel: u64,
    first: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The number of slices from the first one that is shown.
    pub(crate) slices: u32,
    level: ImageLevel,
}

impl Image {
    /// Returns the image that eight dwords describe. With `short`, the last four of them are zero, and mean nothing. `None` if
    /// no image is bound: all dwords are zero (table 50, end).
    ///
    /// # Errors
    /// What is not modelled.
    pub(crate) fn of(words: [u32; 8], short: bool, is_gfx11: bool) -> Result<Option<Image>, String> {
        if words == [0; 8] {
            return Ok(None);
        }
        let kind = words[3] >> 28;
        check_kind(kind, short)?;
        let fields = if is_gfx11 { Fields::of_gfx11(&words) } else { Fields::of_gfx9(&words) };
        if words[3] >> 20 & 0x1f != 0 {
            return Err(format!("tiled images (swizzle mode {})", words[3] >> 20 & 0x1f));
        }
        if fields.is_compressed {
            return Err("compressed images".into());
        }
        let select = [0, 3, 6, 9].map(|at| words[3] >> at & 7);
        let texel = Format::new(fields.format, select, is_gfx11).size();
        // addrlib divides 256 bytes by a texel, which three dwords don't do.
        if !texel.is_power_of_two() {
            return Err(format!("images with format {}", named(fields.format)));
        }
        let is_flat = matches!(kind, kind::ONE | kind::TWO);
        let first = if is_flat { 0 } else { fields.first };
        let size = ImageSize {
            width: fields.width + 1,
            height: if matches!(kind, kind::ONE | kind::ONE_ARRAY) { 1 } else { fields.height + 1 },
            slices: if is_flat { 1 } else { fields.last + 1 },
            has_depth: kind == kind::THREE,
            texel,
        };
        let (first_level, last_level) = (words[3] >> 12 & 15, words[3] >> 16 & 15);
        check_levels(&size, first, first_level, last_level.max(fields.last_level))?;
        if last_level < first_level {
            return Err("images whose last level is before the first".into());
        }
        let has_levels = fields.last_level.max(last_level) > 0;
        Ok(Some(Image {
            base: u64::from(words[0]) << 8 | u64::from(words[1] & 0xff) << 40,
            kind,
            size,
            row: row(&size, fields.pitch, has_levels)?,
            first,
            first_level,
            levels: last_level - first_level + 1,
            least: fields.least,
            border: border(fields.border)?,
            number: fields.format,
            select,
            is_gfx11,
        }))
    }

    pub(crate) fn format(&self) -> Format {
        Format::new(self.number, self.select, self.is_gfx11)
    }

    /// Returns whether memory has sRGB.
    pub(crate) fn is_srgb(&self) -> bool {
        self.number.parts().1 == SRGB
    }

    /// Returns a level, counted from the first one that the descriptor shows; `None` if it doesn't show it.
    pub(crate) fn view(&self, number: u32) -> Option<View> {
        if number >= self.levels {
            return None;
        }
        let mut level = self.size.level(self.first_level + number);
        if let Some(row) = self.row {
            level.row = row;
            level.slice = row * u64::from(level.height);
        }
        Some(View {
            base: self.base,
            texel: self.size.texel.into(),
            first: self.first,
            width: level.width,
            height: level.height,
            slices: level.slices.saturating_sub(self.first),
            level,
        })
    }
}

impl View {
    /// Returns the address of a texel; `None` if there is no such texel.
    pub(crate) fn address(&self, x: u32, y: u32, slice: u32) -> Option<u64> {
        (x < self.width && y < self.height && slice < self.slices).then(|| {
            let slice = u64::from(self.first + slice) * self.level.slice;
            let inside = u64::from(y) * self.level.row + u64::from(x) * self.texel;
            self.base.wrapping_add(self.level.offset + slice + inside)
        })
    }
}

fn named(format: FormatNumber) -> String {
    match format {
        FormatNumber::Unified(number) | FormatNumber::UnifiedOfGfx10(number) => number.to_string(),
        FormatNumber::Split(data, number) => format!("{data} of numbers {number}"),
    }
}

/// Checks the type of the image.
fn check_kind(kind: u32, short: bool) -> Result<(), String> {
    if !(kind::ONE..kind::FIRST_WITH_SAMPLES).contains(&kind) {
        return Err(format!("images of type {kind}, which are reserved or have several samples"));
    }
    // Table 50: the descriptor of 128 bits is for these types.
    if short && kind > kind::TWO {
        return Err(format!("images of type {kind} with a descriptor of 128 bits"));
    }
    Ok(())
}

fn check_levels(size: &ImageSize, first: u32, first_level: u32, last_level: u32) -> Result<(), String> {
    // The slices of a level are counted by the descriptor's last one, which halves of a depth don't have.
    if size.has_depth && first > 0 && (first_level, last_level) != (0, 0) {
        return Err("a part of the depth of images with several levels".into());
    }
    Ok(())
}

/// Returns the number of bytes from a row to the next one, if it is not that of the layout.
fn row(size: &ImageSize, pitch: Option<u32>, has_levels: bool) -> Result<Option<u64>, String> {
    let Some(pitch) = pitch.filter(|pitch| *pitch >= size.width) else { return Ok(None) };
    let row = u64::from(pitch) * u64::from(size.texel);
    match row == size.level(0).row {
        true => Ok(None),
        _ if row % u64::from(ROW_ALIGNMENT) != 0 => {
            Err(format!("images with a pitch of {row} bytes, no multiple of 256"))
        }
        _ if has_levels => Err("images with a pitch and several levels".into()),
        _ => Ok(Some(row)),
    }
}

/// Returns which component of a border is in each component of memory (Mesa and ROCm, `BC_SWIZZLE`).
fn border(order: u32) -> Result<[usize; 4], String> {
    const ORDERS: [[usize; 4]; 6] =
        [[0, 1, 2, 3], [0, 3, 1, 2], [3, 2, 1, 0], [3, 0, 1, 2], [2, 1, 0, 3], [1, 0, 3, 2]];
    ORDERS.get(order as usize).copied().ok_or_else(|| format!("a border's order {order}"))
}
