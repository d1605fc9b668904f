//! Tests of HIP's texture and surface functions, with descriptors as ROCm's runtime writes them (tests/data/textures).

mod common;

use amdgpu_emulator::Machine;
use amdgpu_isa::Generation;
use code_object::{CodeObject, Processor, TargetId};
use common::{Rig, U64, threads};

const GFX90A: &[u8] = include_bytes!("data/textures/textures.gfx90a.bundle");
const RDNA: [(&str, Generation, &[u8]); 5] = [
    ("gfx1030", Generation::Gfx10, include_bytes!("data/textures/textures.wave32.gfx1030.co")),
    ("gfx1100, waves of 32", Generation::Gfx11, include_bytes!("data/textures/textures.wave32.gfx1100.co")),
    ("gfx1100, waves of 64", Generation::Gfx11, include_bytes!("data/textures/textures.wave64.gfx1100.co")),
    ("gfx1201, waves of 32", Generation::Gfx12, include_bytes!("data/textures/textures.wave32.gfx1201.co")),
    ("gfx1201, waves of 64", Generation::Gfx12, include_bytes!("data/textures/textures.wave64.gfx1201.co")),
];
const LANES: usize = 64;

/// Returns the machines, with the generation of each.
fn rigs() -> Vec<(Rig, Generation)> {
    let rig = |name, object: &CodeObject| {
        let machine = Machine::new(threads(1)).unwrap();
        let program = machine.load(object).unwrap();
        Rig { machine, program, name }
    };
    let old = CodeObject::from_any(GFX90A, &TargetId::new(Processor::Gfx90a)).unwrap();
    let mut all = vec![(rig("gfx90a", &old), Generation::Gfx9)];
    for (name, generation, bytes) in RDNA {
        all.push((rig(name, &CodeObject::parse(bytes).unwrap()), generation));
    }
    all
}

/// The type of an image: the number in its descriptor.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    One = 8,
    Two,
    Three,
    Cube,
    OneLayered,
    TwoLayered,
}

/// An image of four floats, each of which says where it is.
#[derive(Debug, Clone, Copy)]
struct Texture {
    kind: Kind,
    size: [usize; 3],
    levels: usize,
}

impl Texture {
    fn level(&self, n: usize) -> [usize; 3] {
        let [x, y, z] = self.size.map(|size| (size >> n).max(1));
        if self.kind == Kind::Three { [x, y, z] } else { [x, y, self.size[2]] }
    }

    fn value(level: usize, [x, y, z]: [usize; 3], component: usize) -> f32 {
        (x * x) as f32 + 3.0 * y as f32 + 50.0 * z as f32 + 1000.0 * level as f32 + 0.125 * component as f32
    }

    fn memory(&self) -> Vec<u32> {
        let mut memory = Vec::new();
        for level in 0..self.levels {
            let [width, height, slices] = self.level(level);
            for (z, y) in (0..slices).flat_map(|z| (0..height).map(move |y| (z, y))) {
                for x in 0..width {
                    memory.extend((0..4).map(|n| Texture::value(level, [x, y, z], n).to_bits()));
                }
                memory.resize(memory.len().next_multiple_of(64), 0);
            }
        }
        memory
    }

    /// Writes the image and the object that HIP's functions read: the image's descriptor, what ROCm's runtime has behind it, and the
    /// sampler's descriptor. Returns the addresses of the object and of the memory.
    fn bind(&self, rig: &Rig, generation: Generation, sampler: [u32; 4]) -> (u64, u64) {
        let base = rig.words(&self.memory());
        let [width, height, slices] = self.size.map(|size| size as u32 - 1);
        let (kind, levels) = (self.kind as u32, self.levels as u32 - 1);
        let selects = 4 | 5 << 3 | 6 << 6 | 7 << 9 | kind << 28;
        let (low, high) = ((base >> 8) as u32, (base >> 40) as u32);
        let rdna = [low, high | width << 30, width >> 2 | height << 14, selects];
        // Images without layers have a pitch in the place of the last slice.
        let last = if matches!(self.kind, Kind::One | Kind::Two) { 0 } else { slices };
        let [zero, one, two, three] = rdna;
        let words = match generation {
            Generation::Gfx9 => {
                let pitch = (width + 1).next_multiple_of(16) - 1;
                let four = slices | pitch << 13;
                [
                    low,
                    high | 14 << 20 | 7 << 26,
                    width | height << 14,
                    selects | levels << 16,
                    four,
                    levels << 28,
                ]
            }
            Generation::Gfx10 => {
                [zero, one | 77 << 20, two | 1 << 31, three | levels << 16, last, levels << 4]
            }
            Generation::Gfx11 => [zero, one | levels << 16 | 63 << 20, two, three | levels << 16, last, 0],
            Generation::Gfx12 => [zero, one | levels << 12 | 63 << 17, two, three | levels << 15, last, 0],
        };
        // The type of the channels is float, their order is RGBA.
        let all = words.into_iter().chain([0, 0]).chain([15, 8, width + 1, 0]).chain(sampler);
        (rig.words(&all.collect::<Vec<u32>>()), base)
    }
}

/// The parts of a sampler that HIP's runtime sets.
#[derive(Debug, Clone, Copy)]
struct Sampler {
    /// 0: wrap, 1: mirror, 2: the last texel, 6: the border.
    mode: u32,
    linear: bool,
    unnormalized: bool,
    levels: u32,
}

impl Sampler {
    fn words(&self, generation: Generation) -> [u32; 4] {
        // The largest level that there can be.
        let largest = if generation == Generation::Gfx12 { 4095 << 13 } else { 4095 << 12 };
        let filter = u32::from(self.linear) * 5 << 20;
        let all = self.mode | self.mode << 3 | self.mode << 6 | u32::from(self.unnormalized) << 15;
        [all, largest, filter | self.levels << 26, 0]
    }

    /// Returns the index of a texel; `None` for the border.
    fn index(&self, at: i64, size: i64) -> Option<usize> {
        let at = match self.mode {
            0 => at.rem_euclid(size),
            1 if at.div_euclid(size) % 2 != 0 => size - 1 - at.rem_euclid(size),
            1 => at.rem_euclid(size),
            2 => at.max(0).min(size - 1),
            _ => at,
        };
        (0..size).contains(&at).then_some(at as usize)
    }

    /// Returns the value at coordinates in texels, of which `axes` are filtered.
    fn value(&self, t: &Texture, level: usize, at: [f64; 3], axes: usize, component: usize) -> f64 {
        let size = t.level(level);
        let mut sum = 0.0;
        for corner in 0..1 << axes {
            let (mut weight, mut place) = (1.0, at.map(|at| Some(at as usize)));
            for n in 0..axes {
                let shifted = if self.linear { at[n] - 0.5 } else { at[n] };
                let part = if self.linear { shifted - shifted.floor() } else { 0.0 };
                weight *= if corner >> n & 1 != 0 { part } else { 1.0 - part };
                place[n] = self.index(shifted.floor() as i64 + (corner >> n & 1), size[n] as i64);
            }
            if let [Some(x), Some(y), Some(z)] = place {
                sum += weight * f64::from(Texture::value(level, [x, y, z], component));
            }
        }
        sum
    }
}

/// Runs a kernel on the lanes' coordinates, and compares each result with a function of them. `step` is by how much neighbours differ.
fn check(
    (rig, generation): &(Rig, Generation),
    kernel: &str,
    texture: &Texture,
    sampler: &Sampler,
    coordinates: &[[f32; 4]],
    step: f64,
    want: &dyn Fn([f64; 4], usize) -> f64,
) {
    let (object, _) = texture.bind(rig, *generation, sampler.words(*generation));
    let input: Vec<u32> = coordinates.iter().flatten().map(|value| value.to_bits()).collect();
    let out = rig.words(&[0; 4 * LANES]);
    rig.run(kernel, 1, LANES as u32, &[U64(object), U64(rig.words(&input)), U64(out)]);
    for (n, got) in rig.read(out, 4 * LANES).into_iter().enumerate() {
        let (lane, got) = (n / 4, f64::from(f32::from_bits(got)));
        let want = want(coordinates[lane].map(f64::from), n % 4);
        // A weight has 8 bits, and coordinates that HIP's functions compute are rounded.
        let tolerance = if sampler.linear { step / 256.0 } else { 1e-6 };
        assert!(
            (got - want).abs() <= tolerance,
            "{}: {kernel} {texture:?} {sampler:?} lane {lane} at {:?} component {}: {got}, not {want}",
            rig.name,
            coordinates[lane],
            n % 4
        );
    }
}

/// Returns coordinates of lanes, none of which is at the edge of a texel: from before the image to behind it.
fn spread(size: [usize; 3], unnormalized: bool) -> Vec<[f32; 4]> {
    let at = |lane: usize, n: usize, factor: usize| {
        let texel = (lane * factor % (2 * size[n])) as f32 - size[n] as f32 / 2.0;
        let texel = texel.floor() + 0.15 + 0.7 * (lane * factor % 11) as f32 / 11.0;
        if unnormalized { texel } else { texel / size[n] as f32 }
    };
    (0..LANES).map(|lane| [at(lane, 0, 7), at(lane, 1, 5), at(lane, 2, 3), 0.0]).collect()
}

fn samplers() -> Vec<Sampler> {
    let mut all = Vec::new();
    for mode in [0, 1, 2, 6] {
        for (linear, unnormalized) in [(false, false), (true, false), (false, true), (true, true)] {
            all.push(Sampler { mode, linear, unnormalized, levels: 0 });
        }
    }
    all
}

#[test]
fn one_to_three_dimensions() {
    for rig in &rigs() {
        for (kernel, kind, size, axes) in [
            ("one", Kind::One, [13, 1, 1], 1),
            ("two", Kind::Two, [9, 5, 1], 2),
            ("three", Kind::Three, [6, 4, 5], 3),
        ] {
            let texture = Texture { kind, size, levels: 1 };
            for sampler in samplers() {
                let coordinates = spread(size, sampler.unnormalized);
                check(rig, kernel, &texture, &sampler, &coordinates, 300.0, &|at, component| {
                    let scaled = |n: usize| if sampler.unnormalized { at[n] } else { at[n] * size[n] as f64 };
                    let at = [scaled(0), scaled(1), scaled(2)];
                    let at = if axes < 3 { [at[0], at[1], 0.0] } else { at };
                    let at = if axes < 2 { [at[0], 0.0, 0.0] } else { at };
                    sampler.value(&texture, 0, at, axes, component)
                });
            }
        }
    }
}

#[test]
fn layers() {
    for rig in &rigs() {
        for (kernel, kind, size, axes) in
            [("one_layered", Kind::OneLayered, [7, 1, 4], 1), ("two_layered", Kind::TwoLayered, [6, 3, 4], 2)]
        {
            let texture = Texture { kind, size, levels: 1 };
            for sampler in samplers().into_iter().filter(|sampler| !sampler.unnormalized) {
                let mut coordinates = spread(size, false);
                for (lane, at) in coordinates.iter_mut().enumerate() {
                    at[2] = (lane % 6) as f32 - 1.0;
                }
                check(rig, kernel, &texture, &sampler, &coordinates, 300.0, &|at, component| {
                    let [x, y, layer] =
                        [at[0] * size[0] as f64, at[1] * size[1] as f64, at[2].clamp(0.0, 3.0)];
                    let y = if axes < 2 { 0.0 } else { y };
                    sampler.value(&texture, 0, [x, y, layer], axes, component)
                });
            }
        }
    }
}

/// Returns the direction to a place on a face, from -1 to 1 in each direction.
fn direction(face: usize, s: f32, t: f32) -> [f32; 3] {
    [[1.0, -t, -s], [-1.0, -t, s], [s, 1.0, t], [s, -1.0, -t], [s, -t, 1.0], [-s, -t, -1.0]][face]
}

#[test]
fn cubes() {
    let size = 8;
    for rig in &rigs() {
        for (kernel, cubes) in [("cube", 1), ("cube_layered", 3), ("cube_level", 1)] {
            if kernel == "cube_level" && rig.1 == Generation::Gfx9 {
                continue;
            }
            let texture = Texture { kind: Kind::Cube, size: [size, size, 6 * cubes], levels: 1 };
            for linear in [false, true] {
                let sampler = Sampler { mode: 2, linear, unnormalized: false, levels: 0 };
                // Not near the edges of faces.
                let place = |lane: usize| {
                    let near = |n: usize| (n % 11) as f32 / 11.0 * 1.4 - 0.7 + 0.013;
                    (lane % 6, near(lane * 3), near(lane * 7), lane / 6 % cubes)
                };
                let coordinates: Vec<[f32; 4]> = (0..LANES)
                    .map(|lane| {
                        let (face, s, t, cube) = place(lane);
                        let [x, y, z] = direction(face, s, t).map(|one| one * (1.0 + lane as f32 / 8.0));
                        [x, y, z, cube as f32]
                    })
                    .collect();
                check(rig, kernel, &texture, &sampler, &coordinates, 40.0, &|at, component| {
                    let lane = coordinates.iter().position(|of| of.map(f64::from) == at).unwrap();
                    let (face, s, t, cube) = place(lane);
                    // ROCm's library 5.2 divides by `v_cubema_f32`, which has the sign of the axis: it turns each second face by half.
                    let sign = if face % 2 == 0 { 1.0 } else { -1.0 };
                    let texel = |at: f32| f64::from(sign * at + 1.0) / 2.0 * size as f64;
                    sampler.value(&texture, 0, [texel(s), texel(t), (6 * cube + face) as f64], 2, component)
                });
            }
        }
    }
}

#[test]
fn levels_and_gradients() {
    for rig in rigs().iter().filter(|(_, generation)| *generation != Generation::Gfx9) {
        let texture = Texture { kind: Kind::Two, size: [16, 8, 1], levels: 4 };
        for (linear, levels) in [(false, 1), (true, 1), (true, 2)] {
            let sampler = Sampler { mode: 2, linear, unnormalized: false, levels };
            let mut coordinates = spread([16, 8, 1], false);
            for (lane, at) in coordinates.iter_mut().enumerate() {
                at[3] = (lane % 20) as f32 / 4.0 - 0.5 + 1.0 / 64.0;
            }
            let mixed = |at: [f64; 4], level: f64, component: usize| {
                let level = level.clamp(0.0, 3.0);
                let of = |level: f64| {
                    let [width, height, _] = texture.level(level as usize);
                    let at = [at[0] * width as f64, at[1] * height as f64, 0.0];
                    sampler.value(&texture, level as usize, at, 2, component)
                };
                match levels {
                    1 => of((level + 0.5).floor()),
                    _ => of(level.floor()) * (1.0 - level.fract()) + of(level.ceil()) * level.fract(),
                }
            };
            // HIP's functions round coordinates to texels of level 0 if nothing is filtered.
            if linear {
                check(rig, "two_level", &texture, &sampler, &coordinates, 2000.0, &|at, component| {
                    mixed(at, at[3], component)
                });
            }
            for (lane, at) in coordinates.iter_mut().enumerate() {
                // Steps of 2 to the power of n texels in x, and of half of that in y.
                let step = 2f32.powf((lane % 13) as f32 / 4.0 + 1.0 / 64.0);
                (at[2], at[3]) = (step / 16.0, step / 2.0 / 8.0);
            }
            if linear {
                check(rig, "two_gradient", &texture, &sampler, &coordinates, 2000.0, &|at, component| {
                    mixed(at, (at[2] * 16.0).log2(), component)
                });
            }
        }
        let texture = Texture { kind: Kind::Three, size: [8, 4, 4], levels: 3 };
        let sampler = Sampler { mode: 2, linear: true, unnormalized: false, levels: 1 };
        let mut coordinates = spread([8, 4, 4], false);
        for (lane, at) in coordinates.iter_mut().enumerate() {
            at[3] = (lane % 3) as f32;
        }
        check(rig, "three_level", &texture, &sampler, &coordinates, 300.0, &|at, component| {
            let size = texture.level(at[3] as usize);
            let scaled = [0, 1, 2].map(|n| at[n] * size[n] as f64);
            sampler.value(&texture, at[3] as usize, scaled, 3, component)
        });
        let texture = Texture { kind: Kind::TwoLayered, size: [8, 8, 3], levels: 3 };
        for (lane, at) in coordinates.iter_mut().enumerate() {
            (at[2], at[3]) = (2f32.powi(lane as i32 % 4) / 8.0, 0.0);
        }
        check(rig, "layered_gradient", &texture, &sampler, &coordinates, 300.0, &|at, component| {
            let level = ((at[2] * 8.0).log2() as usize).min(2);
            let size = texture.level(level);
            let scaled = [at[0] * size[0] as f64, at[1] * size[1] as f64, 1.0];
            sampler.value(&texture, level, scaled, 2, component)
        });
    }
}

#[test]
fn gathers_return_four_texels() {
    for rig in rigs().iter().filter(|(_, generation)| *generation != Generation::Gfx9) {
        let texture = Texture { kind: Kind::Two, size: [8, 6, 1], levels: 1 };
        let sampler = Sampler { mode: 2, linear: true, unnormalized: false, levels: 0 };
        let nearest = Sampler { linear: false, ..sampler };
        check(rig, "two_gather", &texture, &sampler, &spread([8, 6, 1], false), 0.0, &|at, component| {
            let [x, y] = [at[0] * 8.0 - 0.5, at[1] * 6.0 - 0.5].map(f64::floor);
            let [right, below] = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]][component];
            // These headers take the second component for the argument 2.
            nearest.value(&texture, 0, [x + right, y + below, 0.0], 2, 1)
        });
    }
}

#[test]
fn texels_of_buffers() {
    for (rig, generation) in &rigs() {
        let values: Vec<u32> = (0..4 * 100).map(|n| (n as f32).to_bits()).collect();
        let base = rig.words(&values);
        let format = match generation {
            Generation::Gfx9 => 7 << 12 | 14 << 15,
            // With what this generation wants in every descriptor (RESOURCE_LEVEL).
            Generation::Gfx10 => 77 << 12 | 1 << 24,
            Generation::Gfx11 | Generation::Gfx12 => 63 << 12,
        };
        let high = (base >> 32) as u32 | 16 << 16;
        let selects = 4 | 5 << 3 | 6 << 6 | 7 << 9;
        let object =
            rig.words(&[base as u32, high, 100, selects | format, 0, 0, 0, 0, 15, 8, 100, 0, 0, 0, 0, 0]);
        let lanes: Vec<[f32; 4]> = (0..LANES).map(|lane| [(lane * 2) as f32, 0.0, 0.0, 0.0]).collect();
        let input: Vec<u32> = lanes.iter().flatten().map(|value| value.to_bits()).collect();
        let out = rig.words(&[0; 4 * LANES]);
        rig.run("fetch", 1, LANES as u32, &[U64(object), U64(rig.words(&input)), U64(out)]);
        for (n, got) in rig.read(out, 4 * LANES).into_iter().enumerate() {
            let texel = n / 4 * 2;
            let want = if texel < 100 { (texel * 4 + n % 4) as f32 } else { 0.0 };
            assert_eq!(f32::from_bits(got), want, "{} lane {}", rig.name, n / 4);
        }
    }
}

#[test]
fn surfaces_are_read_and_written() {
    for (rig, generation) in &rigs() {
        for (kernel, kind, size, from, to) in [
            ("surface_two", Kind::Two, [64, 3, 1], [0, 0, 0], [0, 1, 0]),
            ("surface_three", Kind::Three, [64, 2, 2], [0, 1, 0], [0, 0, 1]),
        ] {
            let texture = Texture { kind, size, levels: 1 };
            let (object, base) = texture.bind(rig, *generation, [0; 4]);
            rig.run(kernel, 1, LANES as u32, &[U64(object)]);
            let mut want = texture.memory();
            let row = |[_, y, z]: [usize; 3]| (z * size[1] + y) * 256;
            want.copy_within(row(from)..row(from) + 256, row(to));
            assert!(rig.read(base, want.len()) == want, "{}: {kernel}", rig.name);
        }
    }
}
