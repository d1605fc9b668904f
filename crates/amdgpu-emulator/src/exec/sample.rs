//! MIMG with a sampler: what an instruction asks for, which texels that reads, and with which weights (RDNA3 ISA, chapter 10; of rules that
//! no document states, Direct3D's and Vulkan's, which hardware has to follow).
//!
//! Coordinates and levels have 8 bits after the binary point, to which they are rounded, and so have the weights of filters.

use amdgpu_isa::{SampleForm, SampleKind, SampleLevel, fields};
use half::f16;

use crate::exec::buffer_format::Format;
use crate::exec::cube;
use crate::exec::image::{Address, Shape, fields_of, generation, image_of, is_gfx9};
use crate::exec::image_descriptor::{Image, View};
use crate::exec::inst::Inst;
use crate::exec::sampler::{LEVEL_BITS, Levels, Sampler};
use crate::state::wave::Wave;

/// The parts of a texel, and of a level.
const PARTS: i64 = 1 << LEVEL_BITS;
/// The largest coordinate, in parts of a texel, so that no sum overflows.
const FARTHEST: i64 = 1 << 40;

/// The numbers of dimensions.
const THREE: u32 = 2;
const CUBE: u32 = 3;
const ONE_ARRAY: u32 = 4;
const TWO_ARRAY: u32 = 5;

/// A texel that a sample reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tap {
    /// `None` for the border.
    pub(crate) address: Option<u64>,
    /// Not used by gathers, which return their four texels in order.
    pub(crate) weight: f64,
}

/// The address of a lane.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    /// The offset of each coordinate in texels.
    offset: [i64; 3],
    /// What is added to the level.
    bias: f64,
    /// What texels are compared with.
    reference: f32,
    /// For each direction of the screen, the change of each coordinate.
    gradients: [[f64; 3]; 2],
    coordinates: [f32; 3],
    /// The level, or the least one.
    level: f64,
}

/// A level of a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chosen {
    /// The level before it is limited.
    pub(crate) asked: f64,
    /// The level in parts, within the image.
    pub(crate) parts: i64,
    /// Whether texels are larger than the lanes' distance.
    is_magnified: bool,
}

/// An instruction with a sampler, on the image and the sampler of a wave.
pub(crate) struct Sampling {
    pub(crate) form: SampleForm,
    pub(crate) format: Format,
    pub(crate) sampler: Sampler,
    image: Image,
    shape: Shape,
    f: fields::Mimg,
    address: Address,
    unnormalized: bool,
}

impl Sampling {
    /// Returns what an instruction asks for; `None` if no image is bound.
    ///
    /// # Errors
    /// What is not modelled.
    pub(crate) fn of(w: &Wave, i: &Inst) -> Result<Option<Sampling>, String> {
        let f = fields_of(i);
        let mut form = SampleForm::of(i.row).ok_or("an unknown form of sample")?;
        let Some(image) = image_of(w, i, &f)? else { return Ok(None) };
        let sampler = Sampler::of(std::array::from_fn(|n| w.s32(i.sdst + n as u16)), generation(i))?;
        let shape = Shape::of(i, &f, &image)?;
        if is_gfx9(i) {
            // It is what gfx90a has in place of `image_sample_lz`: no program for it has lanes of a screen.
            form.level = SampleLevel::Zero;
        }
        let unnormalized = sampler.unnormalized || f.unorm;
        if image.least != 0 {
            return Err("images with a least level (min_lod)".into());
        }
        if unnormalized && image.levels > 1 && sampler.levels != Levels::First {
            return Err("unnormalised coordinates of images with several levels".into());
        }
        let format = image.format();
        let blends = form.kind == SampleKind::Sample && sampler.filters() || form.compare;
        if format.is_integer() && blends {
            return Err("filters and comparisons of integers".into());
        }
        if form.kind == SampleKind::Gather && (f.dmask.count_ones() != 1 || matches!(shape.dim, 0 | 2 | 4)) {
            return Err(format!("gathers of dmask {:#x} of images of type {}", f.dmask, image.kind));
        }
        if shape.dim == CUBE && image.view(0).is_some_and(|view| view.width != view.height) {
            return Err("cubes whose faces are no squares".into());
        }
        let address = Address::of(i, &f);
        Ok(Some(Sampling { form, format, sampler, image, shape, f, address, unnormalized }))
    }

    /// Returns the value that a lane's texels are compared with.
    pub(crate) fn reference(&self, w: &Wave, lane: usize) -> f32 {
        self.asked(w, lane).reference
    }

    /// Reads a lane's address.
    fn asked(&self, w: &Wave, lane: usize) -> Asked {
        let mut asked = Asked::default();
        let mut next = 0;
        let mut dword = || {
            next += 1;
            w.v(self.address.register(next - 1)).flat()[lane]
        };
        let half = |dword: u32, n: usize| f16::from_bits((dword >> (16 * n)) as u16).to_f32();
        let single = |dword: u32| if self.f.a16 { half(dword, 0) } else { f32::from_bits(dword) };
        if self.form.offset {
            let packed = dword();
            // Six bits with a sign, in each byte.
            asked.offset = [0, 8, 16].map(|at| i64::from((packed >> at << 26) as i32 >> 26));
        }
        if self.form.level == SampleLevel::Bias {
            asked.bias = single(dword()).into();
        }
        if self.form.compare {
            asked.reference = f32::from_bits(dword());
        }
        let gradients = self.form.gradients(self.shape.dim) as usize / 2;
        for direction in asked.gradients.iter_mut().take(if gradients > 0 { 2 } else { 0 }) {
            let mut packed = 0;
            for (n, gradient) in direction.iter_mut().enumerate().take(gradients) {
                if !self.form.half_gradients || n % 2 == 0 {
                    packed = dword();
                }
                let value =
                    if self.form.half_gradients { half(packed, n % 2) } else { f32::from_bits(packed) };
                *gradient = value.into();
            }
        }
        let last = self.form.clamp || self.form.level == SampleLevel::Explicit;
        let (count, mut packed) = (self.shape.coordinates + usize::from(last), 0);
        for n in 0..count {
            if !self.f.a16 || n % 2 == 0 {
                packed = dword();
            }
            let value = if self.f.a16 { half(packed, n % 2) } else { f32::from_bits(packed) };
            match asked.coordinates.get_mut(n) {
                Some(coordinate) if n < self.shape.coordinates => *coordinate = value,
                _ => asked.level = value.into(),
            }
        }
        asked
    }

    /// Returns how many coordinates are filtered.
    fn axes(&self) -> usize {
        match self.shape.dim {
            0 | ONE_ARRAY => 1,
            THREE => 3,
            _ => 2,
        }
    }

    /// Returns the change of each coordinate between the lanes of a square of four, which begins at a multiple of 4: from the first one
    /// to the one beside it, and to the one below it.
    fn differences(&self, w: &Wave, lane: usize) -> [[f64; 3]; 2] {
        let first = lane / 4 * 4;
        let at = |lane: usize| self.asked(w, lane).coordinates.map(f64::from);
        let start = at(first);
        [1, 2].map(|other| {
            let end = at(first + other);
            std::array::from_fn(|n| end[n] - start[n])
        })
    }

    /// Returns the level at which a step along the larger gradient is one texel.
    fn level_of(&self, gradients: &[[f64; 3]; 2]) -> f64 {
        let Some(view) = self.image.view(0) else { return 0.0 };
        let sizes = [view.width, view.height, view.slices].map(f64::from);
        let squares = gradients.map(|gradient| {
            let lengths = gradient.iter().zip(sizes).take(self.axes());
            lengths.map(|(one, size)| (one * if self.unnormalized { 1.0 } else { size }).powi(2)).sum::<f64>()
        });
        squares[0].max(squares[1]).log2() / 2.0
    }

    /// Returns a lane's level.
    pub(crate) fn chosen(&self, w: &Wave, lane: usize) -> Chosen {
        self.choose(w, lane, &self.asked(w, lane))
    }

    fn choose(&self, w: &Wave, lane: usize, asked: &Asked) -> Chosen {
        let level = match self.form.level {
            SampleLevel::Zero => 0.0,
            SampleLevel::Explicit => asked.level,
            SampleLevel::Gradients => self.level_of(&asked.gradients),
            SampleLevel::Lanes | SampleLevel::Bias => self.level_of(&self.differences(w, lane)),
        };
        let level = level + asked.bias + self.sampler.bias;
        let least = if self.form.clamp { self.sampler.least.max(asked.level) } else { self.sampler.least };
        // Not a number becomes the least level.
        let limited = level.max(least).min(self.sampler.largest);
        let parts = (limited * PARTS as f64).round_ties_even() as i64;
        let last = i64::from(self.image.levels - 1) * PARTS;
        Chosen { asked: level, parts: parts.clamp(0, last), is_magnified: parts <= 0 }
    }

    /// Returns the levels that are read, each with its weight.
    pub(crate) fn levels(&self, chosen: &Chosen) -> [(u32, f64); 2] {
        let nearest = (chosen.parts + PARTS / 2) / PARTS;
        let (first, fraction) = match self.sampler.levels {
            Levels::First => (0, 0),
            Levels::Nearest => (nearest, 0),
            Levels::Linear if self.form.kind == SampleKind::Gather => (nearest, 0),
            Levels::Linear => (chosen.parts / PARTS, chosen.parts % PARTS),
        };
        let fraction = fraction as f64 / PARTS as f64;
        [(first as u32, 1.0 - fraction), (first as u32 + 1, fraction)]
    }

    /// Appends the texels of a lane: those of a gather in the order of its results, else those with a weight.
    pub(crate) fn taps(&self, w: &Wave, lane: usize, taps: &mut Vec<Tap>) {
        let asked = self.asked(w, lane);
        let chosen = self.choose(w, lane, &asked);
        for (level, weight) in self.levels(&chosen) {
            let Some(view) = self.image.view(level).filter(|_| weight > 0.0) else { continue };
            self.taps_of(&view, &asked, chosen.is_magnified, weight, taps);
        }
    }

    fn taps_of(&self, view: &View, asked: &Asked, is_magnified: bool, weight: f64, taps: &mut Vec<Tap>) {
        let gathers = self.form.kind == SampleKind::Gather;
        let filters = gathers || if is_magnified { self.sampler.magnified } else { self.sampler.minified };
        let joins = self.shape.dim == CUBE && self.sampler.joins_faces;
        let sizes = [view.width, view.height, view.slices];
        let mut axes = [Axis::default(); 3];
        for n in 0..self.axes() {
            let filters = if n == 2 { self.sampler.deep.unwrap_or(filters) } else { filters };
            let coordinate = f64::from(asked.coordinates[n]);
            // ROCm's library gives coordinates of a face from 0 to 1, Mesa from 1 to 2.
            let is_second = self.shape.dim == CUBE && coordinate > 1.0;
            let coordinate = if is_second { coordinate - 1.0 } else { coordinate };
            let scale = if self.unnormalized { 1.0 } else { f64::from(sizes[n]) };
            axes[n] = Axis::of(coordinate * scale, filters, self.sampler.truncates);
            axes[n].first += asked.offset[n];
            // The nearest texel is on the face that was asked for.
            if joins && !filters {
                axes[n].first = axes[n].first.clamp(0, i64::from(sizes[n]) - 1);
            }
        }
        let slice = self.slice(view, asked);
        if gathers {
            for [x, y] in [[0, 1], [1, 1], [1, 0], [0, 0]] {
                let at = [axes[0].first + x, axes[1].first + y, 0];
                taps.push(Tap { address: self.texel(view, at, slice), weight: 1.0 });
            }
            return;
        }
        for z in axes[2].texels() {
            for y in axes[1].texels() {
                for x in axes[0].texels() {
                    let weight = weight * x.1 * y.1 * z.1;
                    let corner = [x.0, y.0].iter().all(|at| !(0..i64::from(view.width)).contains(at));
                    if joins && corner {
                        self.corner(view, &axes, [x.0, y.0], slice, weight, taps);
                        continue;
                    }
                    taps.push(Tap { address: self.texel(view, [x.0, y.0, z.0], slice), weight });
                }
            }
        }
    }

    /// Appends the texels in place of that beyond a corner of a cube, where three faces meet: the mean of the three others.
    fn corner(&self, view: &View, axes: &[Axis], at: [i64; 2], slice: u32, weight: f64, taps: &mut Vec<Tap>) {
        for [x, y] in [[0, 1], [1, 1], [1, 0], [0, 0]] {
            let other = [axes[0].first + x, axes[1].first + y];
            if other != at {
                let address = self.texel(view, [other[0], other[1], 0], slice);
                taps.push(Tap { address, weight: weight / 3.0 });
            }
        }
    }

    /// Returns the slice of an array or cube: the nearest one. A cube's is the face and 8 times the layer.
    fn slice(&self, view: &View, asked: &Asked) -> u32 {
        let nearest = |coordinate: f32| coordinate.round_ties_even() as i64;
        let layer = match self.shape.dim {
            CUBE => {
                let number = nearest(asked.coordinates[2]).max(0);
                let cubes = i64::from(view.slices / cube::FACES).max(1);
                let face = (number & 7).min(i64::from(cube::FACES) - 1);
                (number >> 3).min(cubes - 1) * i64::from(cube::FACES) + face
            }
            ONE_ARRAY => nearest(asked.coordinates[1]),
            TWO_ARRAY => nearest(asked.coordinates[2]),
            _ => 0,
        };
        layer.clamp(0, i64::from(view.slices).max(1) - 1) as u32
    }

    /// Returns the address of a texel, whose coordinates may be outside; `None` for the border.
    fn texel(&self, view: &View, at: [i64; 3], slice: u32) -> Option<u64> {
        let [x, y, z] = self.sampler.addressing;
        if self.shape.dim == CUBE && self.sampler.joins_faces {
            let (cube, face) = (slice / cube::FACES * cube::FACES, slice % cube::FACES);
            let (face, [x, y]) = cube::across(face, [at[0], at[1]], view.width);
            return view.address(x, y, cube + face);
        }
        let x = x.place(at[0], view.width)?;
        let y = if self.axes() > 1 { y.place(at[1], view.height)? } else { 0 };
        let slice = if self.axes() > 2 { z.place(at[2], view.slices)? } else { slice };
        view.address(x, y, slice)
    }

    /// Returns what the border gives.
    pub(crate) fn border(&self) -> [u32; 4] {
        let one = self.format.one();
        self.format.selected(self.image.border.map(|n| if self.sampler.border[n] { one } else { 0 }))
    }
}

/// The texels of one coordinate: the first one, and the part of the one after it.
#[derive(Debug, Clone, Copy, Default)]
struct Axis {
    first: i64,
    part: i64,
}

impl Axis {
    /// Returns the texels at a coordinate in texels, whose centres are between the integers.
    fn of(coordinate: f64, filters: bool, truncates: bool) -> Axis {
        if !filters && truncates {
            return Axis { first: (coordinate.floor() as i64).clamp(-FARTHEST, FARTHEST), part: 0 };
        }
        let parts = (coordinate * PARTS as f64).round_ties_even() as i64;
        let parts = parts.clamp(-FARTHEST, FARTHEST);
        match filters {
            true => {
                let parts = parts - PARTS / 2;
                Axis { first: parts.div_euclid(PARTS), part: parts.rem_euclid(PARTS) }
            }
            false => Axis { first: parts.div_euclid(PARTS), part: 0 },
        }
    }

    /// Returns the texels, each with its weight, but those of weight 0.
    fn texels(self) -> impl Iterator<Item = (i64, f64)> + Clone {
        let second = self.part as f64 / PARTS as f64;
        let all = [(self.first, 1.0 - second), (self.first + 1, second)];
        all.into_iter().filter(|(_, weight)| *weight > 0.0)
    }
}
