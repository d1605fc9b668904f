//! Image descriptors of gfx11: the fields of the eight SGPRs that MIMG takes (RDNA3 ISA, 10.5, table 50), and where they put the
//! texels of a linear image.

use crate::exec::buffer_format::Format;
use crate::exec::descriptor::FormatNumber;

/// A texel's size, in bytes, that rows begin at multiples of: addrlib aligns linear rows to it
/// (`HwlComputeSurfaceInfoLinear`), and Mesa requires it of pitches in descriptors.
const ROW_ALIGNMENT: u32 = 256;

/// The numbers of the types of images. That of the instruction's dimension is smaller by 8.
mod kind {
    pub(super) const ONE: u32 = 8;
    pub(super) const TWO: u32 = 9;
    pub(super) const THREE: u32 = 10;
    pub(super) const ONE_ARRAY: u32 = 12;
    pub(super) const FIRST_WITH_SAMPLES: u32 = 14;
}

/// An image in linear memory, with one level.
pub(crate) struct Image {
    base: u64,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The first slice that the descriptor shows: a layer of an array, a face of a cube, or a depth.
    first: u32,
    /// The number of slices from there on.
    pub(crate) slices: u32,
    /// The number of bytes from a row to the next one, and from a slice to the next one.
    row: u64,
    slice: u64,
    texel: u64,
    number: FormatNumber,
    select: [u32; 4],
}

impl Image {
    /// Returns the image that eight dwords describe. With `short`, the last four of them are zero, and mean nothing. `None` if
    /// no image is bound: all dwords are zero (table 50, end).
    ///
    /// # Errors
    /// What is not modelled.
    pub(crate) fn of(words: [u32; 8], short: bool, dim: Option<u32>) -> Result<Option<Image>, String> {
        if words == [0; 8] {
            return Ok(None);
        }
        let kind = words[3] >> 28;
        check_kind(kind, short, dim)?;
        check_layout(&words)?;
        let number = FormatNumber::Unified(words[1] >> 20 & 0xff);
        let select = [0, 3, 6, 9].map(|at| words[3] >> at & 7);
        let texel = Format::new(number, select, true).size();
        // addrlib divides 256 bytes by a texel, which three dwords don't do.
        if !texel.is_power_of_two() {
            return Err(format!("images with format {}", words[1] >> 20 & 0xff));
        }
        let width = (words[1] >> 30 | (words[2] & 0xfff) << 2) + 1;
        let height = match kind {
            kind::ONE | kind::ONE_ARRAY => 1,
            _ => (words[2] >> 14 & 0x3fff) + 1,
        };
        let (depth, base_array) = (words[4] & 0x1fff, words[4] >> 16 & 0x1fff);
        let (first, last) = match kind {
            kind::ONE | kind::TWO => (0, 0),
            // Without this bit, a three-dimensional image has no first slice.
            kind::THREE if words[5] & 1 == 0 => (0, depth),
            _ => (base_array, depth),
        };
        let row = u64::from(pitch(kind, width, texel, words[4] & 0x3fff)? * texel);
        Ok(Some(Image {
            base: u64::from(words[0]) << 8 | u64::from(words[1] & 0xff) << 40,
            width,
            height,
            first,
            slices: (last + 1).saturating_sub(first),
            row,
            slice: row * u64::from(height),
            texel: texel.into(),
            number,
            select,
        }))
    }

    pub(crate) fn format(&self) -> Format {
        Format::new(self.number, self.select, true)
    }

    /// Returns the address of a texel; `None` if there is no such texel.
    pub(crate) fn address(&self, x: u32, y: u32, slice: u32) -> Option<u64> {
        (x < self.width && y < self.height && slice < self.slices).then(|| {
            let slice = u64::from(self.first + slice) * self.slice;
            let inside = u64::from(y) * self.row + u64::from(x) * self.texel;
            self.base.wrapping_add(slice + inside)
        })
    }
}

/// Checks the type of the image: that of the instruction's dimension, if it has one.
fn check_kind(kind: u32, short: bool, dim: Option<u32>) -> Result<(), String> {
    if !(kind::ONE..kind::FIRST_WITH_SAMPLES).contains(&kind) {
        return Err(format!("images of type {kind}, which are reserved or have several samples"));
    }
    if dim.is_some_and(|dim| kind != kind::ONE + dim) {
        return Err(format!("an image of type {kind} in an instruction for another one"));
    }
    // Table 50: the descriptor of 128 bits is for these types.
    if short && kind > kind::TWO {
        return Err(format!("images of type {kind} with a descriptor of 128 bits"));
    }
    Ok(())
}

/// Checks that the image is linear, not compressed, and has one level.
fn check_layout(words: &[u32; 8]) -> Result<(), String> {
    if words[3] >> 20 & 0x1f != 0 {
        return Err(format!("tiled images (swizzle mode {})", words[3] >> 20 & 0x1f));
    }
    // The document doesn't say where levels are.
    if words[1] >> 16 & 15 != 0 || words[3] >> 12 & 0xff != 0 {
        return Err("images with several levels".into());
    }
    if words[6] >> 21 & 1 != 0 {
        return Err("compressed images".into());
    }
    Ok(())
}

/// Returns the number of texels from a row to the next one. `field` is the descriptor's pitch, which only these types have, and
/// only if it is larger than the width (table 50).
fn pitch(kind: u32, width: u32, texel: u32, field: u32) -> Result<u32, String> {
    let unit = ROW_ALIGNMENT / texel;
    match kind {
        kind::ONE | kind::TWO if field + 1 > width && (field + 1) % unit != 0 => {
            Err(format!("images with a pitch of {} bytes, no multiple of 256", (field + 1) * texel))
        }
        kind::ONE | kind::TWO if field + 1 > width => Ok(field + 1),
        _ => Ok(width.next_multiple_of(unit)),
    }
}
