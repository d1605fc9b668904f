//! What a kernel reads of a texture or a surface: the descriptors of the image and of the sampler.
//!
//! Both are as ROCm's runtime writes them (`image_manager_*.cpp`), but the image is always linear.

use amdgpu_isa::Generation;
use amdgpu_isa::image::{BufferField, ImageField, Numbers, SamplerField, TexelFormat};
use amdgpu_isa::image_layout::ImageSize;
use code_object::Processor;

use crate::abi::{HipResult, Status, hipTextureDesc};
use crate::memory::array::{ArrayObject, Geometry};

/// The dwords of an image (`HIP_IMAGE_OBJECT_SIZE_DWORD`): its descriptor, and what OpenCL's functions ask for.
pub(super) const IMAGE: usize = 12;
/// The dwords of a sampler (`HIP_SAMPLER_OBJECT_SIZE_DWORD`), which follow those of the image.
pub(super) const SAMPLER: usize = 8;

/// Whose descriptors a device takes; `None` if it has no image instructions, as gfx942 and gfx950.
pub(crate) fn generation(processor: &Processor) -> Option<Generation> {
    match (processor, processor.version()) {
        (Processor::Gfx942 | Processor::Gfx950, _) => None,
        (_, Some((9, ..))) => Some(Generation::Gfx9),
        (_, Some((10, ..))) => Some(Generation::Gfx10),
        (_, Some((11, ..))) => Some(Generation::Gfx11),
        (_, Some((12, ..))) => Some(Generation::Gfx12),
        _ => None,
    }
}

/// What a load gives for x, y, z and w: a component that is there, else 0, and 1 for the last.
fn select(components: u32) -> u64 {
    let one = |n: u32| match n {
        n if n < components => 4 + n,
        3 => 1,
        _ => 0,
    };
    (0..4).map(|n| u64::from(one(n)) << (3 * n)).sum()
}

/// `hsa_ext_image_channel_type_t` and `hsa_ext_image_channel_order_t`, which OpenCL's functions return.
fn channels(format: TexelFormat) -> [u32; 2] {
    let kind = match (format.numbers, format.bits) {
        (Numbers::Snorm, 8) => 0,
        (Numbers::Snorm, _) => 1,
        (Numbers::Unorm | Numbers::Srgb, 8) => 2,
        (Numbers::Unorm | Numbers::Srgb, _) => 3,
        (Numbers::Sint, bits) => 8 + bits.ilog2() - 3,
        (Numbers::Uint, bits) => 11 + bits.ilog2() - 3,
        (Numbers::Float, 16) => 14,
        (Numbers::Float, _) => 15,
    };
    let order = match format.components {
        1 => 1,
        2 => 3,
        _ if format.numbers == Numbers::Srgb => 14,
        _ => 8,
    };
    [kind, order]
}

/// An image to describe.
pub(super) struct Image {
    pub(super) base: u64,
    pub(super) format: TexelFormat,
    pub(super) geometry: Geometry,
    pub(super) size: ImageSize,
    /// The bytes from a row to the next one.
    pub(super) pitch: u64,
    /// The number of levels in memory, and the first and the last of those that kernels see.
    pub(super) levels: u32,
    pub(super) seen: [u32; 2],
}

impl Image {
    pub(super) fn of_array(array: &ArrayObject, format: TexelFormat) -> Image {
        let ArrayObject { base, geometry, size, level, .. } = *array;
        Image { base: base.0, format, geometry, size, pitch: level.row, levels: 1, seen: [0, 0] }
    }

    /// The dwords of the image. Fails with `INVALID_VALUE` for a format that images can't have.
    pub(super) fn dwords(&self, generation: Generation) -> HipResult<[u32; IMAGE]> {
        let mut words = [0; IMAGE];
        let number = self.format.image_number(generation).ok_or(Status::INVALID_VALUE)?;
        let ImageSize { width, height, slices, .. } = self.size;
        let has_pitch = matches!(self.geometry, Geometry::One | Geometry::Two);
        let kind = match self.geometry {
            Geometry::One => 8,
            Geometry::Two => 9,
            Geometry::Three => 10,
            Geometry::OneLayered => 12,
            Geometry::TwoLayered => 13,
        };
        let fields = [
            (ImageField::Base, self.base >> 8),
            (ImageField::Format, number),
            (ImageField::Width, u64::from(width) - 1),
            (ImageField::Height, u64::from(height) - 1),
            (ImageField::ResourceLevel, 1),
            (ImageField::Select, select(self.format.components)),
            (ImageField::BaseLevel, self.seen[0].into()),
            (ImageField::LastLevel, self.seen[1].into()),
            (ImageField::MaxMip, u64::from(self.levels) - 1),
            (ImageField::Type, kind),
            (ImageField::Depth, u64::from(slices) - 1),
        ];
        for (field, value) in fields {
            field.set(generation, &mut words, value);
        }
        if has_pitch || generation == Generation::Gfx9 {
            let pitch = self.pitch / u64::from(self.format.bytes());
            ImageField::Pitch.set(generation, &mut words, pitch - 1);
        }
        let [kind, order] = channels(self.format);
        [words[8], words[9], words[10]] = [kind, order, width];
        Ok(words)
    }
}

/// The dwords of a buffer of texels, with as many records as ROCm's runtime writes: the number of bytes.
pub(super) fn buffer(
    generation: Generation,
    base: u64,
    format: TexelFormat,
    texels: usize,
) -> HipResult<[u32; IMAGE]> {
    let mut words = [0; IMAGE];
    let number = format.buffer_number(generation).ok_or(Status::INVALID_VALUE)?;
    let bytes = texels as u64 * u64::from(format.bytes());
    let fields = [
        (BufferField::Base, base),
        (BufferField::Stride, format.bytes().into()),
        (BufferField::Records, bytes.min(u32::MAX.into())),
        (BufferField::Select, select(format.components)),
        (BufferField::Format, number),
        (BufferField::ResourceLevel, 1),
    ];
    for (field, value) in fields {
        field.set(generation, &mut words, value);
    }
    let [kind, order] = channels(format);
    [words[8], words[9], words[10]] = [kind, order, texels as u32];
    Ok(words)
}

// hipTextureAddressMode.
const WRAP: i32 = 0;
const CLAMP: i32 = 1;
const MIRROR: i32 = 2;
const BORDER: i32 = 3;

/// The dwords of a sampler. Fails with `INVALID_VALUE` for modes that HIP does not have.
///
/// As in clr, all directions have the address mode of the first, and what repeats the image becomes a clamp for coordinates in texels; and
/// the border is transparent black.
pub(super) fn sampler(
    generation: Generation,
    desc: &hipTextureDesc,
    is_mipmapped: bool,
) -> HipResult<[u32; SAMPLER]> {
    let is_unnormalized = desc.normalizedCoords == 0;
    let clamp = match desc.addressMode[0] {
        WRAP | MIRROR if is_unnormalized => 2,
        WRAP => 0,
        MIRROR => 1,
        CLAMP => 2,
        BORDER => 6,
        _ => return Err(Status::INVALID_VALUE),
    };
    let filter = |mode: i32| match mode {
        0 | 1 => Ok(mode as u64),
        _ => Err(Status::INVALID_VALUE),
    };
    let in_256ths = |level: f32, most: f32| (level.clamp(0.0, most) * 256.0) as u64;
    let planar = filter(desc.filterMode)?;
    let (between_levels, least, most) = match is_mipmapped {
        false => (0, 0, 4095),
        true => {
            let most = in_256ths(desc.maxMipmapLevelClamp, 15.996);
            (1 + filter(desc.mipmapFilterMode)?, in_256ths(desc.minMipmapLevelClamp, 15.996), most)
        }
    };
    let mut words = [0; SAMPLER];
    for (field, value) in [
        (SamplerField::ClampX, clamp),
        (SamplerField::ClampY, clamp),
        (SamplerField::ClampZ, clamp),
        (SamplerField::ForceUnnormalized, is_unnormalized.into()),
        (SamplerField::MinLod, least),
        (SamplerField::MaxLod, most),
        (SamplerField::MagFilter, planar),
        (SamplerField::MinFilter, planar),
        (SamplerField::MipFilter, between_levels),
    ] {
        field.set(generation, &mut words, value);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(generation: Generation, geometry: Geometry) -> [u32; IMAGE] {
        let size = ImageSize { width: 100, height: 30, slices: 1, has_depth: false, texel: 4 };
        let format = TexelFormat { bits: 32, components: 1, numbers: Numbers::Float };
        let (base, pitch) = (0x12_3456_7800, 512);
        Image { base, format, geometry, size, pitch, levels: 1, seen: [0, 0] }.dwords(generation).unwrap()
    }

    /// Each word by the fields' places in the documents, written out.
    #[test]
    fn images_are_described_as_the_documents_say() {
        let select = 4 | 1 << 9;
        assert_eq!(
            image(Generation::Gfx9, Geometry::Two),
            [
                0x1234_5678,
                4 << 20 | 7 << 26,
                99 | 29 << 14,
                select | 9 << 28,
                127 << 13,
                0,
                0,
                0,
                15,
                1,
                100,
                0
            ]
        );
        assert_eq!(
            image(Generation::Gfx10, Geometry::Two)[..8],
            [0x1234_5678, 22 << 20 | 3 << 30, 24 | 29 << 14 | 1 << 31, select | 9 << 28, 127, 0, 0, 0]
        );
        assert_eq!(
            image(Generation::Gfx11, Geometry::Two)[..8],
            [0x1234_5678, 22 << 20 | 3 << 30, 24 | 29 << 14, select | 9 << 28, 127, 0, 0, 0]
        );
        assert_eq!(
            image(Generation::Gfx12, Geometry::TwoLayered)[..8],
            [0x1234_5678, 22 << 17 | 3 << 30, 24 | 29 << 14, select | 13 << 28, 0, 0, 0, 0]
        );
    }

    #[test]
    fn buffers_and_samplers_are_described_as_the_documents_say() {
        let format = TexelFormat { bits: 8, components: 4, numbers: Numbers::Unorm };
        let select = 4 | 5 << 3 | 6 << 6 | 7 << 9;
        let words = buffer(Generation::Gfx9, 0x12_3456_7800, format, 10).unwrap();
        assert_eq!(words, [0x3456_7800, 0x12 | 4 << 16, 40, select | 10 << 15, 0, 0, 0, 0, 2, 8, 10, 0]);
        let words = buffer(Generation::Gfx11, 0x12_3456_7800, format, 10).unwrap();
        assert_eq!(words[3], select | 42 << 12);

        // SAFETY: the structure has only numbers, for which zero bits are values.
        let mut desc: hipTextureDesc = unsafe { std::mem::zeroed() };
        let words = sampler(Generation::Gfx9, &desc, false).unwrap();
        assert_eq!(words[..4], [2 | 2 << 3 | 2 << 6 | 1 << 15, 4095 << 12, 0, 0]);
        desc.normalizedCoords = 1;
        desc.filterMode = 1;
        desc.mipmapFilterMode = 1;
        desc.maxMipmapLevelClamp = 2.5;
        let words = sampler(Generation::Gfx12, &desc, true).unwrap();
        assert_eq!(words[..4], [0, 640 << 13, 1 << 20 | 1 << 22 | 2 << 26, 0]);
        desc.addressMode[0] = 4;
        assert_eq!(sampler(Generation::Gfx9, &desc, false), Err(Status::INVALID_VALUE));
    }

    #[test]
    fn gfx942_and_gfx950_have_no_images() {
        for (name, expected) in [
            ("gfx90a", Some(Generation::Gfx9)),
            ("gfx942", None),
            ("gfx950", None),
            ("gfx1100", Some(Generation::Gfx11)),
            ("gfx1151", Some(Generation::Gfx11)),
            ("gfx1030", Some(Generation::Gfx10)),
            ("gfx1201", Some(Generation::Gfx12)),
        ] {
            let target: code_object::TargetId = name.parse().unwrap();
            assert_eq!(generation(&target.processor), expected, "{name}");
        }
    }
}
