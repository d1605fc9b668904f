//! Compares MIMG with samplers with [`sample_model`](crate::exec::sample_model).

use amdgpu_isa::Generation;
use half::f16;

use crate::exec::image_tests::{Fields, address_register, encode, format_of, names, separate};
use crate::exec::memory_model::MemoryModel;
use crate::exec::sample_model::{Filter, Named, Reference, Request, Seen, Texture, sampled_formats};
use crate::report::fault::FaultCause;
use crate::state::wave::LANES;

crate::testing::tally::verified!(samples, gathers, levels);

/// An instruction on a random image and a random sampler, with random addresses.
pub(crate) struct Trial {
    pub(crate) name: &'static str,
    pub(crate) texture: Texture,
    pub(crate) filter: Filter,
    pub(crate) fields: Fields,
    pub(crate) named: Named,
    pub(crate) requests: Vec<Request>,
    pub(crate) exec: u64,
}

/// Returns a random coordinate of an axis with `size` texels: often inside, often at a texel's edge or middle.
fn coordinate(b: &mut MemoryModel, size: usize, unnormalized: bool) -> f64 {
    let texels = match b.below(4) {
        0 => b.below(4 * size + 1) as f64 / 2.0 - size as f64 / 2.0,
        1 => b.below(1 << 16) as f64 / 65536.0 * size as f64,
        _ => (b.below(1 << 16) as f64 / 65536.0 * 5.0 - 2.0) * size as f64,
    };
    if unnormalized { texels } else { texels / size as f64 }
}

impl Trial {
    pub(crate) fn random(b: &mut MemoryModel, name: &'static str) -> Trial {
        let mut named = Named::of(name);
        // gfx90a has no `image_sample_lz`, for which it has this.
        named.zero |= b.rig.target.generation() == Generation::Gfx9;
        let dim = if named.gathers { [1, 3, 5][b.below(3)] } else { b.below(6) as u32 };
        let formats = sampled_formats();
        let format = loop {
            let format = &formats[b.below(formats.len())];
            if !(named.compares && matches!(format.number, 4 | 5)) {
                break format;
            }
        };
        let texture = Texture::random(b, format, dim);
        let filter = Filter::random(b, &texture);
        let unorm = filter.unnormalized && b.below(2) == 0;
        let fields = Fields {
            dmask: if named.gathers { 1 << b.below(4) } else { 1 + b.below(15) as u32 },
            d16: b.below(4) == 0,
            sampler: Some(unorm),
            ..texture.surface.fields(b)
        };
        let requests = (0..LANES).map(|_| Trial::request(b, &texture, &filter, named, fields)).collect();
        let exec = b.exec();
        let mut trial = Trial { name, texture, filter, fields, named, requests, exec };
        trial.bind(b);
        trial
    }

    fn request(b: &mut MemoryModel, texture: &Texture, filter: &Filter, named: Named, f: Fields) -> Request {
        let dim = texture.surface.dim;
        let unnormalized = filter.unnormalized;
        let sizes = texture.surface.sizes(0);
        let rounded = |value: f64| {
            if f.a16 { f16::from_f64(value).to_f64() } else { f64::from(value as f32) }
        };
        let mut request = Request::default();
        for n in 0..3 {
            let layer = (dim == 4 && n == 1) || (dim > 2 && n == 2);
            request.at[n] = rounded(match layer {
                true if dim == 3 => (b.below(3) * 8 + b.below(6)) as f64,
                true => b.below(8 * (sizes[2] + 2)) as f64 / 8.0 - 1.0,
                false if dim == 3 && unnormalized => b.below(1024) as f64 / 1024.0,
                false if dim == 3 => b.below(4097) as f64 / 4096.0 + b.below(2) as f64,
                false => coordinate(b, sizes[n], unnormalized),
            });
        }
        let offsets = named.offset && dim != 3;
        request.offset = [0; 3].map(|_| if offsets { b.below(64) as i64 - 32 } else { 0 });
        request.bias = rounded(b.below(600) as f64 / 100.0 - 3.0);
        request.reference = (b.below(1025) as f64 / 1024.0) as f32;
        request.level = rounded(b.below(800) as f64 / 160.0 - 1.0);
        request.gradients = [(); 2].map(|()| {
            [(); 3].map(|()| {
                let value = (b.below(2000) as f64 - 1000.0) / 1000.0 / 4f64.powi(b.below(5) as i32);
                if named.half_gradients { f16::from_f64(value).to_f64() } else { f64::from(value as f32) }
            })
        });
        request
    }

    /// Returns the registers of a lane's address.
    fn address(&self, lane: usize) -> Vec<u32> {
        let (r, f, named) = (&self.requests[lane], self.fields, self.named);
        let pack = |values: &[f64]| -> Vec<u32> {
            let halves: Vec<u32> =
                values.iter().map(|value| f16::from_f64(*value).to_bits().into()).collect();
            halves.chunks(2).map(|pair| pair[0] | pair.get(1).unwrap_or(&0x7bff) << 16).collect()
        };
        let mut all = Vec::new();
        if named.offset {
            all.push((0..3).fold(0, |all, n| all | (r.offset[n] as u32 & 0x3f | 0x40) << (8 * n)));
        }
        if named.bias {
            all.extend(if f.a16 { pack(&[r.bias]) } else { vec![(r.bias as f32).to_bits()] });
        }
        if named.compares {
            all.push(r.reference.to_bits());
        }
        let dim = self.texture.surface.dim as usize;
        let count = [1, 2, 3, 2, 1, 2][dim];
        if named.gradients {
            for gradient in &r.gradients {
                match named.half_gradients {
                    true => all.extend(pack(&gradient[..count])),
                    false => all.extend(gradient[..count].iter().map(|value| (*value as f32).to_bits())),
                }
            }
        }
        let mut body = r.at[..[1, 2, 3, 3, 2, 3][dim]].to_vec();
        if named.explicit || named.clamps {
            body.push(r.level);
        }
        match f.a16 {
            true => all.extend(pack(&body)),
            false => all.extend(body.into_iter().map(|value| (value as f32).to_bits())),
        }
        all
    }

    fn bind(&mut self, b: &mut MemoryModel) {
        let generation = b.rig.target.generation();
        for (n, word) in self.texture.words(generation).into_iter().enumerate() {
            b.rig.w.set_s32(8 + n as u16, word);
        }
        for (n, word) in self.filter.words(generation).into_iter().enumerate() {
            b.rig.w.set_s32(16 + n as u16, word);
        }
        b.scramble(10..40);
        self.fields.separate = separate(b, self.address(0).len(), true);
        for lane in 0..LANES {
            for (n, value) in self.address(lane).into_iter().enumerate() {
                b.set(address_register(self.fields, n), lane, value);
            }
        }
        b.rig.w.set_exec(self.exec);
    }

    pub(crate) fn reference<'a>(&'a self, seen: &'a Seen) -> Reference<'a> {
        Reference {
            seen,
            texture: &self.texture,
            filter: &self.filter,
            named: self.named,
            unnormalized: self.filter.unnormalized || self.fields.sampler == Some(true),
        }
    }

    /// Returns the first three lanes of the square of four that a lane is in.
    pub(crate) fn square(&self, lane: usize) -> [&Request; 3] {
        [0, 1, 2].map(|n| &self.requests[lane / 4 * 4 + n])
    }
}

/// Compares a result with a value whose parts have a sum of sizes.
fn assert_near(got: f64, want: f64, size: f64, halves: bool, what: &dyn Fn() -> String) {
    if want.is_nan() || (halves && want.abs() > 65000.0) {
        assert!(!want.is_nan() || got.is_nan(), "{}: {got}, not {want}", what());
        return;
    }
    let tolerance = if halves { size * 1.1e-3 + 6e-8 } else { size * 2e-7 + 1e-30 };
    assert!(got == want || (got - want).abs() <= tolerance, "{}: {got}, not {want}", what());
}

/// Runs an instruction, and compares each lane's result. Returns how many were compared.
fn check(b: &mut MemoryModel, trial: &Trial, seen: &Seen) -> usize {
    let f = trial.fields;
    b.rig.run(&encode(&b.rig, trial.name, f));
    let reference = trial.reference(seen);
    let is_integer = matches!(trial.texture.surface.format.number, 4 | 5);
    let mut compared = 0;
    for lane in (0..LANES).filter(|lane| trial.exec >> lane & 1 != 0) {
        let request = &trial.requests[lane];
        let Some(reads) = reference.reads(request, trial.square(lane)) else { continue };
        compared += 1;
        let values: Vec<[f64; 4]> = reads.iter().map(|(byte, _)| reference.value(*byte, request)).collect();
        let chosen: Vec<(usize, usize)> = match trial.named.gathers {
            true => (0..4)
                .map(|n| (n, if trial.named.compares { 0 } else { f.dmask.trailing_zeros() as usize }))
                .collect(),
            false => (0..4).filter(|n| f.dmask >> n & 1 != 0).map(|n| (usize::MAX, n)).collect(),
        };
        for (place, (texel, component)) in chosen.into_iter().enumerate() {
            let (register, shift) = if f.d16 { (place / 2, 16 * (place % 2)) } else { (place, 0) };
            let dword = b.rig.w.v(30 + register as u16).flat()[lane] >> shift;
            let what = || {
                format!(
                    "{} {:?} {:?} {f:?} lane {lane} component {component}: {request:?} {reads:?}",
                    trial.name, trial.texture.surface, trial.filter
                )
            };
            let parts: Vec<f64> = match texel {
                usize::MAX => {
                    values.iter().zip(&reads).map(|(value, (_, weight))| value[component] * weight).collect()
                }
                _ => vec![values[texel][component]],
            };
            let (want, size) = (parts.iter().sum::<f64>(), parts.iter().map(|part| part.abs()).sum());
            if is_integer {
                let mask = if f.d16 { 0xffff } else { u32::MAX };
                assert_eq!(dword & mask, want as i64 as u32 & mask, "{}", what());
                continue;
            }
            let got =
                if f.d16 { f16::from_bits(dword as u16).to_f64() } else { f32::from_bits(dword).into() };
            assert_near(got, want, size, f.d16, &what);
        }
    }
    compared
}

/// Runs each instruction of a kind on random images.
fn run(seed: u64, start: &str, trials: usize) {
    let (mut compared, seen) = (0, Seen::default());
    for mut b in MemoryModel::images(seed) {
        for name in names(&b, start) {
            let trials = if b.rig.target.is_rdna() { trials } else { 60 };
            for _ in 0..trials {
                let trial = Trial::random(&mut b, name);
                compared += check(&mut b, &trial, &seen);
                b.rig.space.free(trial.texture.surface.base).unwrap();
            }
        }
    }
    let all = [&seen.border, &seen.other_faces, &seen.corners, &seen.two_levels].map(std::cell::Cell::get);
    let needed = if start == "image_sample" { [10_000, 1_000, 50, 1_000] } else { [1_000, 100, 0, 0] };
    assert!(
        compared > 10_000 && all.iter().zip(needed).all(|(of, at_least)| *of >= at_least),
        "{compared} {all:?}"
    );
}

fn samples() {
    run(211, "image_sample", 10);
}

fn gathers() {
    run(212, "image_gather4", 10);
}

fn levels() {
    let mut compared = 0;
    for mut b in MemoryModel::rdna(213) {
        for _ in 0..40 {
            let mut trial = Trial::random(&mut b, "image_get_lod");
            trial.fields = Fields { dmask: 3, d16: false, ..trial.fields };
            b.rig.run(&encode(&b.rig, trial.name, trial.fields));
            let seen = Seen::default();
            let reference = trial.reference(&seen);
            for lane in (0..LANES).filter(|lane| trial.exec >> lane & 1 != 0) {
                let level = reference.level(&trial.requests[lane], trial.square(lane));
                let Some((all, _, inside)) = reference.levels(&trial.requests[lane], level) else { continue };
                let read = if trial.filter.levels == 2 { inside } else { all[0].0 as f64 };
                let got = [30, 31].map(|v| f64::from(f32::from_bits(b.rig.w.v(v).flat()[lane])));
                let what = || format!("{:?} {:?}", trial.texture.surface, trial.filter);
                assert_near(got[0], read, 1.0, false, &what);
                assert_near(got[1], level, level.abs() + 1.0, false, &what);
                compared += 1;
            }
            b.rig.space.free(trial.texture.surface.base).unwrap();
        }
    }
    assert!(compared > 5_000, "{compared}");
}

/// Runs a sample of an image and a sampler that were changed.
fn faults(name: &'static str, change: impl Fn(&mut [u32; 8], &mut [u32; 4], &mut Fields)) -> String {
    let mut b = MemoryModel::gfx11(214).next().unwrap();
    let texture = Texture::random(&mut b, &format_of(42), 1);
    let (mut image, mut fields) = (texture.surface.words(Generation::Gfx11), texture.surface.fields(&mut b));
    let mut sampler = Filter { largest: 4095, ..Filter::default() }.words(Generation::Gfx11);
    fields = Fields { dmask: 1, sampler: Some(false), a16: false, ..fields };
    change(&mut image, &mut sampler, &mut fields);
    for (n, word) in image.into_iter().chain(sampler).enumerate() {
        b.rig.w.set_s32(8 + n as u16, word);
    }
    match b.rig.try_run(&encode(&b.rig, name, fields)) {
        Ok(()) => String::new(),
        Err(FaultCause::Unimplemented { detail }) => detail,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn what_is_not_modelled_faults_by_name() {
    type Change = fn(&mut [u32; 8], &mut [u32; 4], &mut Fields);
    for (says, name, change) in [
        ("", "image_sample_lz", (|_, _, _| {}) as Change),
        ("half of a border", "image_sample_lz", |_, sampler, _| sampler[0] |= 4),
        ("anisotropic filter", "image_sample_lz", |_, sampler, _| sampler[2] |= 3 << 20),
        ("anisotropic filter", "image_sample_lz", |_, sampler, _| sampler[2] |= 2 << 22),
        ("depend on an anisotropic", "image_sample_lz", |_, sampler, _| sampler[2] |= 3 << 26),
        ("reserved filter", "image_sample_lz", |_, sampler, _| sampler[2] |= 3 << 24),
        ("force_degamma", "image_sample_lz", |_, sampler, _| sampler[0] |= 1 << 20),
        ("mc_coord_trunc", "image_sample_lz", |_, sampler, _| sampler[0] |= 1 << 19),
        ("filter_mode", "image_sample_lz", |_, sampler, _| sampler[0] |= 1 << 29),
        ("skip_degamma", "image_sample_lz", |_, sampler, _| sampler[0] |= 1 << 31),
        ("perf_mip", "image_sample_lz", |_, sampler, _| sampler[1] |= 1 << 24),
        ("in a table", "image_sample_lz", |_, sampler, _| {
            sampler[0] |= 6;
            sampler[3] |= 3 << 30;
        }),
        ("min_lod", "image_sample_lz", |image, _, _| image[6] |= 1),
        ("integers", "image_sample_lz", |image, sampler, _| {
            image[1] = image[1] & !(0xff << 20) | 20 << 20;
            sampler[2] |= 1 << 20;
        }),
        ("gathers of dmask 0x3", "image_gather4_lz", |_, _, f| f.dmask = 3),
        ("status", "image_sample_lz", |_, _, f| f.tfe = true),
        ("unnormalised coordinates of images with several levels", "image_sample_lz", |image, sampler, _| {
            image[3] |= 3 << 16;
            sampler[0] |= 1 << 15;
            sampler[2] |= 1 << 26;
        }),
    ] {
        let detail = faults(name, change);
        assert!(
            detail.contains(says) && says.is_empty() == detail.is_empty(),
            "{detail:?} has to say {says:?}"
        );
    }
    // Nothing is bound.
    assert_eq!(faults("image_sample_lz", |image, _, _| *image = [0; 8]), "");
}
