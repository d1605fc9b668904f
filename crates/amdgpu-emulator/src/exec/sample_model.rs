//! For tests: what a sampler reads, from the formulas of Vulkan's and Direct3D's documents in f64, on images whose texels a cursor finds one
//! after the other.

use std::cell::Cell;
use std::collections::BTreeMap;

use amdgpu_isa::Generation;
use half::f16;

use crate::exec::buffer_tests::component;
use crate::exec::image_tests::{Place, Surface, TexelFormat, plain_formats, split};
use crate::exec::memory_model::MemoryModel;
use crate::testing::test_wave::Random;

/// The size of the memory of an image in bytes.
const SIZE: usize = 1 << 16;
/// The number of gfx11's first format with sRGB, and of its kind of numbers.
const SRGB: [(u32, &[u32]); 3] = [(64, &[8]), (65, &[8, 8]), (66, &[8, 8, 8, 8])];
pub(crate) const SRGB_NUMBERS: u32 = 9;

/// Returns the formats that samplers read.
pub(crate) fn sampled_formats() -> Vec<TexelFormat> {
    let srgb = SRGB.map(|(unified, bits)| TexelFormat { unified, bits: bits.to_vec(), number: SRGB_NUMBERS });
    plain_formats().into_iter().chain(srgb).collect()
}

/// The orders that a border's components have in memory, by their numbers (`TEX_BC_SWIZZLE` of ROCm's runtime).
const BORDER_ORDERS: [&str; 6] = ["XYZW", "XWYZ", "WZYX", "WXYZ", "ZYXW", "YXWZ"];

/// An image in memory of its own.
pub(crate) struct Texture {
    pub(crate) surface: Surface,
    border_order: usize,
    memory: Vec<u8>,
    places: BTreeMap<Place, usize>,
}

impl Texture {
    pub(crate) fn random(b: &mut MemoryModel, format: &TexelFormat, dim: u32) -> Texture {
        let base = b.rig.space.alloc(SIZE as u64, 0).unwrap();
        let (is_one, is_cube) = (matches!(dim, 0 | 4), dim == 3);
        let width = 1 + b.below(if is_cube { 6 } else { 12 });
        let height = [1 + b.below(6), 1, width][if is_cube { 2 } else { usize::from(is_one) }];
        let slices = match dim {
            0 | 1 => 1,
            3 => 6 * (1 + b.below(2)),
            _ => 1 + b.below(5),
        };
        let levels = 1 + b.below(3);
        let surface = Surface {
            dim,
            width,
            height,
            first: if dim > 3 { b.below(2) } else { 0 },
            slices,
            pitch: None,
            base,
            format: format.clone(),
            select: [[4, 5, 6, 7], [6, 5, 4, 7], [4, 0, 0, 1], [7, 6, 1, 4]][b.below(4)],
            counts_slices: false,
            first_level: b.below(4) / 3,
            levels,
        };
        let places = surface.texels(base);
        let memory = texels(&mut b.random, format);
        assert!(places.values().all(|at| at + format.size() <= SIZE), "{surface:?}");
        b.rig.space.write(base, &memory).unwrap();
        Texture { surface, border_order: b.below(BORDER_ORDERS.len()), memory, places }
    }

    /// Returns what a load of a texel gives.
    fn texel(&self, byte: usize) -> [f64; 4] {
        let format = &self.surface.format;
        let bytes = &self.memory[byte..byte + format.size()];
        let memory = bytes.iter().rev().fold(0u128, |all, byte| all << 8 | u128::from(*byte));
        let mut values = [0.0, 0.0, 0.0, 1.0];
        for (n, (raw, bits)) in split(memory, &format.bits).into_iter().zip(&format.bits).enumerate() {
            values[n] = match (format.number, n) {
                // IEC 61966-2-1.
                (SRGB_NUMBERS, 0..3) if raw as f64 / 255.0 <= 0.04045 => raw as f64 / 255.0 / 12.92,
                (SRGB_NUMBERS, 0..3) => ((raw as f64 / 255.0 + 0.055) / 1.055).powf(2.4),
                (SRGB_NUMBERS, _) => raw as f64 / 255.0,
                _ => component(raw, *bits, format.number).unwrap(),
            };
        }
        self.select(values)
    }

    /// Returns the descriptor.
    pub(crate) fn words(&self, generation: Generation) -> [u32; 8] {
        let mut words = self.surface.words(generation);
        let (word, at) = if generation == Generation::Gfx9 { (4, 29) } else { (3, 25) };
        words[word] |= (self.border_order as u32) << at;
        words
    }

    /// Returns what a border gives.
    fn border(&self, values: [f64; 4]) -> [f64; 4] {
        let place = |name: char| "XYZW".find(name).expect("a component");
        let memory: Vec<f64> =
            BORDER_ORDERS[self.border_order].chars().map(|name| values[place(name)]).collect();
        self.select([memory[0], memory[1], memory[2], memory[3]])
    }

    fn select(&self, values: [f64; 4]) -> [f64; 4] {
        self.surface.select.map(|select| match select {
            0 => 0.0,
            1 => 1.0,
            n => values[n as usize - 4],
        })
    }
}

/// Returns memory whose floats are of moderate size.
fn texels(random: &mut Random, format: &TexelFormat) -> Vec<u8> {
    let mut small = || (random.next() % 8001) as f32 / 1000.0 - 4.0;
    match (format.number, format.bits[0]) {
        (7, 32) => (0..SIZE / 4).flat_map(|_| small().to_le_bytes()).collect(),
        (7, 16) => (0..SIZE / 2).flat_map(|_| f16::from_f32(small()).to_le_bytes()).collect(),
        _ => (0..SIZE).map(|_| random.next() as u8).collect(),
    }
}

/// The fields of a sampler.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    /// The numbers of the rules for coordinates outside of the image.
    pub(crate) modes: [u32; 3],
    pub(crate) compare: u32,
    pub(crate) unnormalized: bool,
    pub(crate) truncates: bool,
    pub(crate) separates_faces: bool,
    /// In parts of 256.
    pub(crate) least: u32,
    pub(crate) largest: u32,
    pub(crate) bias: i32,
    /// In parts of 16.
    pub(crate) second_bias: i32,
    pub(crate) magnified: u32,
    pub(crate) minified: u32,
    pub(crate) deep: u32,
    pub(crate) levels: u32,
    pub(crate) border: u32,
}

impl Filter {
    pub(crate) fn random(b: &mut MemoryModel, texture: &Texture) -> Filter {
        let is_integer = matches!(texture.surface.format.number, 4 | 5);
        let mut linear = |limit: usize| if is_integer { 0 } else { b.below(limit) as u32 };
        let (magnified, minified, deep) = (linear(2), linear(2), linear(3));
        let levels = if is_integer { b.below(2) } else { b.below(3) } as u32;
        let is_limited = b.below(2) == 0;
        let single = texture.surface.levels == 1 || levels == 0;
        Filter {
            modes: [0; 3].map(|_| [0, 1, 2, 3, 6, 7][b.below(6)]),
            compare: b.below(8) as u32,
            unnormalized: single && b.below(3) == 0,
            truncates: b.below(4) == 0,
            separates_faces: b.below(3) == 0,
            least: if is_limited { b.below(400) as u32 } else { 0 },
            largest: if is_limited { b.below(800) as u32 } else { 4095 },
            bias: b.below(3) as i32 / 2 * (b.below(600) as i32 - 300),
            second_bias: b.below(3) as i32 / 2 * (b.below(60) as i32 - 30),
            magnified,
            minified,
            deep,
            levels,
            border: b.below(3) as u32,
        }
    }

    /// Returns the descriptor, by the bits that RDNA3 ISA, table 51, numbers. On gfx12 the levels have 13 bits (ROCm's
    /// `resource_gfx12.h`).
    pub(crate) fn words(&self, generation: Generation) -> [u32; 4] {
        let bits = if generation == Generation::Gfx12 { 13 } else { 12 };
        let [x, y, z] = self.modes;
        let flags = [(self.unnormalized, 15), (self.truncates, 27), (self.separates_faces, 28)];
        let flags = flags.into_iter().fold(0, |all, (set, at)| all | u32::from(set) << at);
        let bias = self.bias as u32 & 0x3fff | (self.second_bias as u32 & 0x3f) << 14;
        let filters = self.magnified << 20 | self.minified << 22 | self.deep << 24 | self.levels << 26;
        [
            x | y << 3 | z << 6 | self.compare << 12 | flags,
            self.least | self.largest << bits,
            bias | filters,
            self.border << 30,
        ]
    }
}

/// What an instruction's name says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named {
    pub(crate) gathers: bool,
    pub(crate) bias: bool,
    pub(crate) gradients: bool,
    pub(crate) half_gradients: bool,
    pub(crate) explicit: bool,
    pub(crate) zero: bool,
    pub(crate) offset: bool,
    pub(crate) compares: bool,
    pub(crate) clamps: bool,
}

impl Named {
    pub(crate) fn of(name: &str) -> Named {
        let has = |part: &str| name.split('_').skip(2).any(|of| of == part);
        Named {
            gathers: name.contains("gather"),
            bias: has("b"),
            gradients: has("d"),
            half_gradients: has("g16"),
            explicit: has("l"),
            zero: has("lz"),
            offset: has("o"),
            compares: has("c"),
            clamps: has("cl"),
        }
    }
}

/// The values of a lane's address.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Request {
    pub(crate) offset: [i64; 3],
    pub(crate) bias: f64,
    pub(crate) reference: f32,
    pub(crate) gradients: [[f64; 3]; 2],
    pub(crate) at: [f64; 3],
    pub(crate) level: f64,
}

/// A texel's byte, or `None` for the border, and its weight.
pub(crate) type Read = (Option<usize>, f64);

/// How often something special was read.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) border: Cell<usize>,
    pub(crate) other_faces: Cell<usize>,
    pub(crate) corners: Cell<usize>,
    pub(crate) two_levels: Cell<usize>,
}

fn count(of: &Cell<usize>) {
    of.set(of.get() + 1);
}

/// An instruction on an image and a sampler.
pub(crate) struct Reference<'a> {
    pub(crate) seen: &'a Seen,
    pub(crate) texture: &'a Texture,
    pub(crate) filter: &'a Filter,
    pub(crate) named: Named,
    pub(crate) unnormalized: bool,
}

/// Rounds to parts of 256; `None` near the middle of two.
fn parts(value: f64) -> Option<f64> {
    let scaled = value * 256.0;
    let rest = scaled - scaled.floor();
    ((rest - 0.5).abs() > 1e-7).then(|| (scaled + 0.5).floor() / 256.0)
}

/// Mirrors at 0 (Vulkan, "Wrapping operation").
fn mirror(n: i64) -> i64 {
    if n >= 0 { n } else { -(1 + n) }
}

/// The direction of the middle of each face, and those of its coordinates (OpenGL, "Selection of cube map images").
const FACES: [[[f64; 3]; 3]; 6] = [
    [[1., 0., 0.], [0., 0., -1.], [0., -1., 0.]],
    [[-1., 0., 0.], [0., 0., 1.], [0., -1., 0.]],
    [[0., 1., 0.], [1., 0., 0.], [0., 0., 1.]],
    [[0., -1., 0.], [1., 0., 0.], [0., 0., -1.]],
    [[0., 0., 1.], [1., 0., 0.], [0., -1., 0.]],
    [[0., 0., -1.], [-1., 0., 0.], [0., -1., 0.]],
];

/// Returns the face and the texel of the direction to a place on the plane of a face.
fn project(face: usize, at: [i64; 2], size: f64) -> (usize, [i64; 2]) {
    let [middle, s, t] = FACES[face];
    let from = at.map(|at| (at as f64 + 0.5) / size * 2.0 - 1.0);
    let direction: [f64; 3] = std::array::from_fn(|n| middle[n] + from[0] * s[n] + from[1] * t[n]);
    let along = |axis: &[f64; 3]| axis.iter().zip(direction).map(|(a, b)| a * b).sum::<f64>();
    let (other, depth) =
        (0..6).map(|n| (n, along(&FACES[n][0]))).max_by(|a, b| a.1.total_cmp(&b.1)).expect("six faces");
    let to = [1, 2].map(|n| ((along(&FACES[other][n]) / depth + 1.0) / 2.0 * size).floor() as i64);
    (other, to)
}

impl Reference<'_> {
    fn axes(&self) -> usize {
        [1, 2, 3, 2, 1, 2][self.texture.surface.dim as usize]
    }

    /// Returns the level before it is limited; `None` if nothing decides it to the last part.
    pub(crate) fn level(&self, lane: &Request, square: [&Request; 3]) -> f64 {
        let gradients = match () {
            () if self.named.zero => return self.biased(0.0, lane),
            () if self.named.explicit => return self.biased(lane.level, lane),
            () if self.named.gradients => lane.gradients,
            () => [1, 2].map(|n| std::array::from_fn(|axis| square[n].at[axis] - square[0].at[axis])),
        };
        let sizes = self.texture.surface.sizes(0);
        let longest = gradients.map(|gradient| {
            let scaled = (0..self.axes())
                .map(|n| if self.unnormalized { gradient[n] } else { gradient[n] * sizes[n] as f64 });
            scaled.map(|length| length * length).sum::<f64>().sqrt()
        });
        self.biased(longest[0].max(longest[1]).log2(), lane)
    }

    fn biased(&self, level: f64, lane: &Request) -> f64 {
        let own = if self.named.bias { lane.bias } else { 0.0 };
        level + own + f64::from(self.filter.bias) / 256.0 + f64::from(self.filter.second_bias) / 16.0
    }

    /// Returns the levels with their weights, and whether texels are magnified; `None` near a limit.
    pub(crate) fn levels(&self, lane: &Request, level: f64) -> Option<(Vec<(usize, f64)>, bool, f64)> {
        let mut least = f64::from(self.filter.least) / 256.0;
        if self.named.clamps {
            least = least.max(lane.level);
        }
        let limited = if level > least { level } else { least };
        let limited = if limited < f64::from(self.filter.largest) / 256.0 {
            limited
        } else {
            f64::from(self.filter.largest) / 256.0
        };
        let level = if limited < -1e6 { -1e6 } else { parts(limited)? };
        let last = (self.texture.surface.levels - 1) as f64;
        let inside = level.clamp(0.0, last);
        let nearest = (inside + 0.5).floor();
        let all = match self.filter.levels {
            0 => vec![(0, 1.0)],
            2 if !self.named.gathers => {
                let weight = inside - inside.floor();
                if weight > 0.0 {
                    count(&self.seen.two_levels);
                }
                vec![(inside.floor() as usize, 1.0 - weight), (inside.ceil() as usize, weight)]
            }
            _ => vec![(nearest as usize, 1.0)],
        };
        Some((all, level <= 0.0, inside))
    }

    /// Returns the texels along a coordinate with their weights; `None` near the middle of two.
    fn along(&self, n: usize, coordinate: f64, offset: i64, is_linear: bool) -> Option<Vec<(i64, f64)>> {
        let is_linear = match self.filter.deep {
            1 if n == 2 => false,
            2 if n == 2 => true,
            _ => is_linear,
        };
        let both = |first: f64| (first.floor() as i64 + offset, first - first.floor());
        Some(if is_linear || self.named.gathers {
            let (first, weight) = both(parts(coordinate)? - 0.5);
            vec![(first, 1.0 - weight), (first + 1, weight)]
        } else if self.filter.truncates {
            vec![(both(coordinate).0, 1.0)]
        } else {
            vec![(both(parts(coordinate)?).0, 1.0)]
        })
    }

    fn slice(&self, lane: &Request, slices: usize) -> Option<usize> {
        let number = match self.texture.surface.dim {
            4 => lane.at[1],
            3 | 5 => lane.at[2],
            _ => return Some(0),
        };
        let rest = number - number.floor();
        let nearest = ((rest - 0.5).abs() > 1e-7).then(|| (number + 0.5).floor().max(0.0) as usize)?;
        Some(match self.texture.surface.dim {
            3 => (nearest / 8).min(slices / 6 - 1) * 6 + (nearest % 8).min(5),
            _ => nearest.min(slices - 1),
        })
    }

    /// Returns the byte of a texel, or of the border.
    fn place(&self, at: [i64; 3], level: usize, slice: usize) -> Option<usize> {
        let sizes = self.texture.surface.sizes(level);
        let mut to = [0; 3];
        for n in 0..self.axes() {
            let (i, size) = (at[n], sizes[n] as i64);
            to[n] = match self.filter.modes[n] {
                0 => i.rem_euclid(size),
                1 => size - 1 - mirror(i.rem_euclid(2 * size) - size),
                2 => i.clamp(0, size - 1),
                3 => mirror(i).clamp(0, size - 1),
                6 => i,
                _ => mirror(i),
            };
            if !(0..size).contains(&to[n]) {
                count(&self.seen.border);
                return None;
            }
        }
        let slice = if self.axes() == 3 { to[2] } else { slice as i64 };
        Some(self.texture.places[&[to[0] as u32, to[1] as u32, slice as u32, level as u32]])
    }

    fn is_seamless(&self) -> bool {
        self.texture.surface.dim == 3 && !self.filter.separates_faces
    }

    /// Returns the texel of a cube, which may be on another face.
    fn on_cube(&self, at: [i64; 2], level: usize, slice: usize) -> usize {
        let size = self.texture.surface.sizes(level)[0];
        let outside = |at: i64| !(0..size as i64).contains(&at);
        let at = at.map(|at| at.clamp(-1, size as i64));
        // Beyond a corner: that beyond the edge in x.
        let at = if outside(at[0]) { [at[0], at[1].clamp(0, size as i64 - 1)] } else { at };
        let (face, [x, y]) = match at.iter().any(|at| outside(*at)) {
            true => {
                count(&self.seen.other_faces);
                project(slice % 6, at, size as f64)
            }
            false => (slice % 6, at),
        };
        self.texture.places[&[x as u32, y as u32, (slice / 6 * 6 + face) as u32, level as u32]]
    }

    /// Returns the texels that a lane reads: those of a gather in order; `None` near a limit that nothing decides.
    pub(crate) fn reads(&self, lane: &Request, square: [&Request; 3]) -> Option<Vec<Read>> {
        let (levels, is_magnified, _) = self.levels(lane, self.level(lane, square))?;
        let is_linear = if is_magnified { self.filter.magnified } else { self.filter.minified } == 1;
        let mut reads = Vec::new();
        for (level, weight) in levels {
            let sizes = self.texture.surface.sizes(level);
            let slice = self.slice(lane, sizes[2])?;
            let mut axes = vec![vec![(0, 1.0)]; 3];
            for n in 0..self.axes() {
                let (mut at, scale) = (lane.at[n], if self.unnormalized { 1.0 } else { sizes[n] as f64 });
                if self.texture.surface.dim == 3 && at > 1.0 {
                    at -= 1.0;
                }
                axes[n] = self.along(n, at * scale, lane.offset[n], is_linear)?;
                if self.is_seamless() && !is_linear && !self.named.gathers {
                    axes[n][0].0 = axes[n][0].0.clamp(0, sizes[n] as i64 - 1);
                }
            }
            if self.named.gathers {
                for [x, y] in [[0, 1], [1, 1], [1, 0], [0, 0]] {
                    let at = [axes[0][x].0, axes[1][y].0];
                    reads.push((self.read(at, 0, level, slice), 1.0));
                }
                continue;
            }
            for (z, z_weight) in &axes[2] {
                self.of_slice(&axes, *z, level, slice, weight * z_weight, &mut reads);
            }
        }
        if !self.named.gathers {
            reads.retain(|(_, weight)| *weight > 0.0);
        }
        Some(reads)
    }

    fn read(&self, at: [i64; 2], z: i64, level: usize, slice: usize) -> Option<usize> {
        if self.is_seamless() {
            return Some(self.on_cube(at, level, slice));
        }
        self.place([at[0], at[1], z], level, slice)
    }

    fn of_slice(
        &self,
        axes: &[Vec<(i64, f64)>],
        z: i64,
        level: usize,
        slice: usize,
        weight: f64,
        reads: &mut Vec<Read>,
    ) {
        let size = self.texture.surface.sizes(level)[0] as i64;
        for (y, y_weight) in &axes[1] {
            for (x, x_weight) in &axes[0] {
                let weight = weight * x_weight * y_weight;
                let beyond = |at: i64| at < 0 || at >= size;
                if !(self.is_seamless() && beyond(*x) && beyond(*y)) {
                    reads.push((self.read([*x, *y], z, level, slice), weight));
                    continue;
                }
                // Three faces meet: the mean of the other three texels.
                count(&self.seen.corners);
                for (other_y, _) in &axes[1] {
                    for (other_x, _) in &axes[0] {
                        if (other_x, other_y) != (x, y) {
                            let place = self.read([*other_x, *other_y], z, level, slice);
                            reads.push((place, weight / 3.0));
                        }
                    }
                }
            }
        }
    }

    /// Returns the value of a texel or of the border, after a comparison.
    pub(crate) fn value(&self, byte: Option<usize>, lane: &Request) -> [f64; 4] {
        let values = match (byte, self.filter.border) {
            (Some(byte), _) => self.texture.texel(byte),
            (_, 0) => self.texture.border([0.0; 4]),
            (_, 1) => self.texture.border([0.0, 0.0, 0.0, 1.0]),
            _ => self.texture.border([1.0; 4]),
        };
        if !self.named.compares {
            return values;
        }
        let (a, b) = (lane.reference, values[0] as f32);
        let passes =
            [false, a < b, a == b, a <= b, a > b, a != b, a >= b, true][self.filter.compare as usize];
        [f64::from(u8::from(passes)), 0.0, 0.0, 0.0]
    }
}
