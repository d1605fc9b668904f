//! Image descriptors: the fields of the eight SGPRs that MIMG takes (RDNA3 ISA, 10.5, table 50; of gfx9, Vega ISA, "Image resource
//! descriptor", with the names of ROCm's `resource_ai.h`), and where they put the texels of a linear image.

use amdgpu_isa::Generation;
use amdgpu_isa::image::ImageField;
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

/// The number format of sRGB, as gfx9 numbers it.
const SRGB: u32 = 9;
/// The data formats with sRGB, of one, two and four components, and the unified number of the first one on gfx10, and on gfx11 and gfx12.
const OF_SRGB: [u32; 3] = [1, 3, 10];
const FIRST_OF_SRGB: [u32; 2] = [128, 64];

/// Returns the format of a descriptor.
fn format(generation: Generation, words: &[u32; 8]) -> FormatNumber {
    let number = ImageField::Format.get(generation, words) as u32;
    let (first, unified): (u32, fn(u32) -> FormatNumber) = match generation {
        Generation::Gfx9 => return FormatNumber::Split(number & 0x3f, number >> 6),
        Generation::Gfx10 => (FIRST_OF_SRGB[0], FormatNumber::UnifiedOfGfx10),
        Generation::Gfx11 | Generation::Gfx12 => (FIRST_OF_SRGB[1], FormatNumber::Unified),
    };
    let srgb = number.checked_sub(first).and_then(|n| OF_SRGB.get(n as usize));
    srgb.map_or_else(|| unified(number), |data| FormatNumber::Split(*data, SRGB))
}

/// What a descriptor says of the last slice and the first one, and of the distance of rows.
struct Places {
    /// The last slice that the descriptor shows, or the depth less 1.
    last: u32,
    first: u32,
    /// The explicit number of texels from a row to the next one.
    pitch: Option<u32>,
}

impl Places {
    fn of(generation: Generation, words: &[u32; 8]) -> Places {
        let get = |field: ImageField| field.get(generation, words) as u32;
        let (kind, pitch) = (get(ImageField::Type), get(ImageField::Pitch));
        let (last, first) = (get(ImageField::Depth), get(ImageField::BaseArray));
        if generation == Generation::Gfx9 {
            return Places { last, first, pitch: (pitch != 0).then_some(pitch + 1) };
        }
        // Only these types have a pitch, in the place of the last slice, and only if it is larger than the width (table 50).
        let has_pitch = matches!(kind, kind::ONE | kind::TWO);
        Places {
            last: if has_pitch { 0 } else { last },
            first: match (kind, get(ImageField::BeginsWithLayer)) {
                (kind::THREE, 0) => 0,
                _ => first,
            },
            pitch: (has_pitch && pitch > get(ImageField::Width)).then_some(pitch + 1),
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
    generation: Generation,
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
    pub(crate) fn of(words: [u32; 8], short: bool, generation: Generation) -> Result<Option<Image>, String> {
        if words == [0; 8] {
            return Ok(None);
        }
        let get = |field: ImageField| field.get(generation, &words) as u32;
        let kind = get(ImageField::Type);
        check_kind(kind, short)?;
        if get(ImageField::SwizzleMode) != 0 {
            return Err(format!("tiled images (swizzle mode {})", get(ImageField::SwizzleMode)));
        }
        if get(ImageField::Compression) != 0 {
            return Err("compressed images".into());
        }
        let number = format(generation, &words);
        let select = [0, 3, 6, 9].map(|at| get(ImageField::Select) >> at & 7);
        let texel = Format::new(number, select, generation).size();
        // addrlib divides 256 bytes by a texel, which three dwords don't do.
        if !texel.is_power_of_two() {
            return Err(format!("images with format {}", named(number)));
        }
        let places = Places::of(generation, &words);
        let is_flat = matches!(kind, kind::ONE | kind::TWO);
        let first = if is_flat { 0 } else { places.first };
        let is_row = matches!(kind, kind::ONE | kind::ONE_ARRAY);
        let size = ImageSize {
            width: get(ImageField::Width) + 1,
            height: if is_row { 1 } else { get(ImageField::Height) + 1 },
            slices: if is_flat { 1 } else { places.last + 1 },
            has_depth: kind == kind::THREE,
            texel,
        };
        let (first_level, last_level) = (get(ImageField::BaseLevel), get(ImageField::LastLevel));
        let all_levels = last_level.max(get(ImageField::MaxMip));
        check_levels(&size, first, first_level, all_levels)?;
        if last_level < first_level {
            return Err("images whose last level is before the first".into());
        }
        Ok(Some(Image {
            base: ImageField::Base.get(generation, &words) << 8,
            kind,
            size,
            row: row(&size, places.pitch, all_levels > 0)?,
            first,
            first_level,
            levels: last_level - first_level + 1,
            least: get(ImageField::MinLod),
            border: border(get(ImageField::BorderOrder))?,
            number,
            select,
            generation,
        }))
    }

    pub(crate) fn format(&self) -> Format {
        Format::new(self.number, self.select, self.generation)
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
