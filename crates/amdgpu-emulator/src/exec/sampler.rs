//! Sampler descriptors: the fields of the four SGPRs that image instructions with a sampler take (RDNA3 ISA, 10.6, table 51; Vega ISA,
//! "Image sampler resource descriptor"), which are the same on all generations as far as they are modelled, but for the levels of gfx12.

use amdgpu_isa::Generation;
use amdgpu_isa::image::SamplerField;

/// Bits of a level after the binary point.
pub(crate) const LEVEL_BITS: u32 = 8;

/// What a coordinate outside of an image reads. The numbers are the descriptor's (`SQ_TEX_WRAP` and so on).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addressing {
    /// The image is repeated.
    Wrap,
    /// The image is repeated, each second time mirrored.
    Mirror,
    /// The last texel.
    Edge,
    /// The mirrored image on the other side of 0, and beyond it and the image the last texel.
    MirrorOnceEdge,
    Border,
    /// The mirrored image on the other side of 0, and beyond it and the image the border.
    MirrorOnceBorder,
}

impl Addressing {
    fn of(number: u32) -> Result<Addressing, String> {
        Ok(match number {
            0 => Addressing::Wrap,
            1 => Addressing::Mirror,
            2 => Addressing::Edge,
            3 => Addressing::MirrorOnceEdge,
            6 => Addressing::Border,
            7 => Addressing::MirrorOnceBorder,
            _ => return Err("samplers that mix half of a border into the image (clamp mode 4 and 5)".into()),
        })
    }

    fn has_border(self) -> bool {
        matches!(self, Addressing::Border | Addressing::MirrorOnceBorder)
    }

    /// Returns the place of a texel among `count`; `None` if it is the border.
    pub(crate) fn place(self, texel: i64, count: u32) -> Option<u32> {
        let size = i64::from(count);
        let mirrored = if texel < 0 { -1 - texel } else { texel };
        let place = match self {
            Addressing::Wrap => texel.rem_euclid(size),
            Addressing::Mirror => {
                let place = texel.rem_euclid(2 * size);
                if place < size { place } else { 2 * size - 1 - place }
            }
            Addressing::Edge => texel.clamp(0, size - 1),
            Addressing::MirrorOnceEdge => mirrored.min(size - 1),
            Addressing::Border => texel,
            Addressing::MirrorOnceBorder => mirrored,
        };
        (0..size).contains(&place).then_some(place as u32)
    }
}

/// How the level of a sample is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Levels {
    /// The first one.
    First,
    /// The nearest one.
    Nearest,
    /// The two nearest ones, which are mixed.
    Linear,
}

/// A sampler.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    /// For x, y and z.
    pub(crate) addressing: [Addressing; 3],
    /// The number of the comparison.
    compare: u32,
    pub(crate) unnormalized: bool,
    /// Coordinates of the nearest texel are cut off, and not rounded.
    pub(crate) truncates: bool,
    /// Texels beyond the edge of a cube's face are those of the next face.
    pub(crate) joins_faces: bool,
    /// The least and the largest level.
    pub(crate) least: f64,
    pub(crate) largest: f64,
    /// What is added to a level.
    pub(crate) bias: f64,
    /// Whether texels are filtered if they are larger than the lanes' distance, and if they are smaller.
    pub(crate) magnified: bool,
    pub(crate) minified: bool,
    /// The same in z, whatever the size; `None` if it is as in x and y.
    pub(crate) deep: Option<bool>,
    pub(crate) levels: Levels,
    /// The border, in its own order.
    pub(crate) border: [bool; 4],
}

impl Sampler {
    /// Returns the sampler that four dwords describe.
    ///
    /// # Errors
    /// What is not modelled.
    pub(crate) fn of(words: [u32; 4], generation: Generation) -> Result<Sampler, String> {
        let field = |word: usize, at: u32, bits: u32| words[word] >> at & ((1 << bits) - 1);
        refuse(&words, generation)?;
        let [x, y, z] = [0, 3, 6].map(|at| Addressing::of(field(0, at, 3)));
        let addressing = [x?, y?, z?];
        let level = |field: SamplerField| field.get(generation, &words) as f64 / f64::from(1 << LEVEL_BITS);
        let signed = |value: u32, bits: u32| f64::from((value << (32 - bits)) as i32 >> (32 - bits));
        let is_linear = |number: u32| match number {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err("samplers with an anisotropic filter".to_string()),
        };
        let border = match field(3, 30, 2) {
            0 => [false; 4],
            1 => [false, false, false, true],
            2 => [true; 4],
            _ if addressing.iter().any(|one| one.has_border()) => {
                return Err("samplers whose border's colour is in a table".into());
            }
            _ => [false; 4],
        };
        Ok(Sampler {
            addressing,
            compare: field(0, 12, 3),
            unnormalized: field(0, 15, 1) != 0,
            truncates: field(0, 27, 1) != 0,
            joins_faces: field(0, 28, 1) == 0,
            least: level(SamplerField::MinLod),
            largest: level(SamplerField::MaxLod),
            // 8 bits after the point, and 4 of the second bias.
            bias: signed(field(2, 0, 14), 14) / 256.0 + signed(field(2, 14, 6), 6) / 16.0,
            magnified: is_linear(field(2, 20, 2))?,
            minified: is_linear(field(2, 22, 2))?,
            deep: match field(2, 24, 2) {
                0 => None,
                1 => Some(false),
                2 => Some(true),
                _ => return Err("the reserved filter 3 in z".into()),
            },
            levels: match field(2, 26, 2) {
                0 => Levels::First,
                1 => Levels::Nearest,
                2 => Levels::Linear,
                _ => return Err("samplers whose levels depend on an anisotropic filter".into()),
            },
            border,
        })
    }

    /// Returns whether the texel passes the comparison.
    pub(crate) fn passes(&self, reference: f32, texel: f32) -> bool {
        match self.compare {
            0 => false,
            1 => reference < texel,
            2 => reference == texel,
            3 => reference <= texel,
            4 => reference > texel,
            5 => reference != texel,
            6 => reference >= texel,
            _ => true,
        }
    }

    pub(crate) fn filters(&self) -> bool {
        self.magnified || self.minified || self.deep == Some(true) || self.levels == Levels::Linear
    }
}

/// Refuses what changes a result and is not modelled.
fn refuse(words: &[u32; 4], generation: Generation) -> Result<(), String> {
    // Word, first bit, number of bits.
    let common = [
        ((0, 19, 1), "samplers that truncate the weights of filters (mc_coord_trunc)"),
        ((0, 20, 1), "samplers that force sRGB (force_degamma)"),
        ((0, 29, 2), "samplers that return the minimum or the maximum (filter_mode)"),
    ];
    let degamma = "samplers that read sRGB as linear (skip_degamma)";
    let performance = "samplers that mix levels less than asked (perf_mip, perf_z)";
    let own = match generation {
        Generation::Gfx9 => [
            ((1, 24, 8), performance),
            ((3, 12, 1), degamma),
            ((2, 28, 1), "samplers that round levels before they limit them (mip_point_preclamp)"),
        ],
        Generation::Gfx10 | Generation::Gfx11 => {
            [((1, 24, 8), performance), ((0, 31, 1), degamma), ((0, 31, 1), degamma)]
        }
        // The largest level has a bit more on each side.
        Generation::Gfx12 => [((1, 26, 6), performance), ((0, 31, 1), degamma), ((0, 31, 1), degamma)],
    };
    let mut all = common.into_iter().chain(own);
    let found = all
        .find(|((word, at, bits), _): &((usize, u32, u32), _)| words[*word] >> at & ((1 << bits) - 1) != 0);
    found.map_or(Ok(()), |(_, name)| Err(name.into()))
}
