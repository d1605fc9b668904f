//! Executors of MIMG with a sampler.

use amdgpu_isa::SampleKind;

use crate::exec::access::global_fault;
use crate::exec::buffer::load_part;
use crate::exec::buffer_format::Format;
use crate::exec::descriptor::FormatNumber;
use crate::exec::image::{fields_of, generation, nothing, unmodelled, write};
use crate::exec::inst::{ExecContext, Flow, Inst, executors};
use crate::exec::notices::Who;
use crate::exec::sample::{Sampling, Tap};
use crate::exec::sampler::{LEVEL_BITS, Levels};
use crate::report::access::AccessKind;
use crate::state::wave::{LANES, Wave, lanes_of};

executors! {
    /// `image_sample*`, `image_gather4*`.
    ImageSample |w, cx, i| {
        sample(w, cx, i)
    }
    /// `image_get_lod`.
    ImageLevel |w, cx, i| {
        level(w, cx, i)
    }
}

/// Returns a format of floats, in which results are that are no texels.
fn floats(i: &Inst) -> Format {
    Format::new(FormatNumber::Split(10, 0), [4, 5, 6, 7], generation(i))
}

#[inline(never)]
fn sample(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    let sampling = match Sampling::of(w, i) {
        Ok(Some(sampling)) => sampling,
        Ok(None) => return write_all(w, i, &nothing(i), false, &[[0; 4]; LANES]),
        Err(detail) => return unmodelled(cx, detail),
    };
    let gathers = sampling.form.kind == SampleKind::Gather;
    let component = fields_of(i).dmask.trailing_zeros() as usize & 3;
    let (mut values, mut taps, mut texels) = ([[0; 4]; LANES], Vec::new(), Vec::new());
    for lane in lanes_of(w.exec()) {
        taps.clear();
        texels.clear();
        sampling.taps(w, lane, &mut taps);
        for tap in &taps {
            match texel(w, cx, i, &sampling, lane, tap) {
                Ok(texel) => texels.push(texel),
                Err(flow) => return flow,
            }
        }
        if sampling.form.compare {
            let reference = sampling.reference(w, lane);
            for texel in &mut texels {
                let passes = sampling.sampler.passes(reference, f32::from_bits(texel[0]));
                *texel = [if passes { 1f32.to_bits() } else { 0 }, 0, 0, 0];
            }
        }
        values[lane] = match (gathers, taps.as_slice()) {
            // A comparison has one component.
            (true, _) => {
                let component = if sampling.form.compare { 0 } else { component };
                std::array::from_fn(|n| texels.get(n).map_or(0, |texel| texel[component]))
            }
            (_, [_]) => texels[0],
            _ => mixed(&taps, &texels),
        };
    }
    let format = if sampling.form.compare { &floats(i) } else { &sampling.format };
    write_all(w, i, format, gathers, &values)
}

/// Loads a texel.
fn texel(
    w: &Wave,
    cx: &mut ExecContext,
    i: &Inst,
    sampling: &Sampling,
    lane: usize,
    tap: &Tap,
) -> Result<[u32; 4], Flow> {
    let Some(address) = tap.address else { return Ok(sampling.border()) };
    let (size, unit) = (sampling.format.size(), sampling.format.unit());
    let mut words = [0; 4];
    for (extra, word) in (0..size).step_by(4).zip(&mut words) {
        let at = address + u64::from(extra);
        let Some(value) = load_part(cx, Who::lane(i.pc, w.id, lane), at, unit) else {
            return Err(global_fault(cx, AccessKind::Read, &|_| at, 1 << lane, unit as usize));
        };
        *word = value;
    }
    Ok(sampling.format.decode(words))
}

/// Returns the sum of texels by their weights, which is rounded once.
fn mixed(taps: &[Tap], texels: &[[u32; 4]]) -> [u32; 4] {
    std::array::from_fn(|n| {
        let parts = taps.iter().zip(texels);
        let sum: f64 = parts.map(|(tap, texel)| tap.weight * f64::from(f32::from_bits(texel[n]))).sum();
        (sum as f32).to_bits()
    })
}

fn write_all(w: &mut Wave, i: &Inst, format: &Format, gathers: bool, values: &[[u32; 4]; LANES]) -> Flow {
    let f = fields_of(i);
    for lane in lanes_of(w.exec()) {
        match gathers {
            true => format.to_registers(w, i.dst, lane, &values[lane], if f.d16 { 2 } else { 1 }, false),
            false => write(format, w, i, &f, lane, values[lane]),
        }
    }
    Flow::Next
}

#[inline(never)]
fn level(w: &mut Wave, cx: &mut ExecContext, i: &Inst) -> Flow {
    let mut values = [[0; 4]; LANES];
    match Sampling::of(w, i) {
        Ok(None) => {}
        Ok(Some(sampling)) => {
            for lane in lanes_of(w.exec()) {
                let chosen = sampling.chosen(w, lane);
                let read = match sampling.sampler.levels {
                    Levels::Linear => chosen.parts as f32 / (1 << LEVEL_BITS) as f32,
                    _ => sampling.levels(&chosen)[0].0 as f32,
                };
                values[lane] = [read.to_bits(), (chosen.asked as f32).to_bits(), 0, 0];
            }
        }
        Err(detail) => return unmodelled(cx, detail),
    }
    write_all(w, i, &floats(i), false, &values)
}
