//! Compares what observers know of image instructions with the places of the images' texels.

use std::collections::BTreeSet;

use crate::exec::image_tests::{Fields, Surface, encode, format_of, names, separate};
use crate::exec::inst::Code;
use crate::exec::memory_model::MemoryModel;
use crate::exec::sample_model::Seen;
use crate::exec::sample_tests::Trial;
use crate::observe::accesses;
use crate::observe::class::Info;
use crate::observe::waits::Counting;
use crate::state::wave::LANES;
use crate::testing::test_wave::CODE;

#[test]
fn observers_know_registers_counters_and_bytes() {
    for mut b in MemoryModel::images(208) {
        let is_rdna = b.rig.target.is_rdna();
        let plain = ["load", "store", "atomic", "get_resinfo"];
        for name in names(&b, "image_") {
            if !plain.iter().any(|start| name[6..].starts_with(start)) {
                continue;
            }
            for glc in [false, true] {
                let surface = Surface::random(&mut b, &format_of(48));
                let (lanes, f) = surface.bind(&mut b, name);
                let is_atomic = name.contains("atomic");
                let swaps = name.ends_with("cmpswap");
                let dmask = if swaps { 15 } else { 3 };
                let info = name == "image_get_resinfo";
                let separate = if info { separate(&mut b, 1, false) } else { f.separate };
                let f = Fields { glc, dmask, separate, ..f };
                let exec = b.exec();
                b.rig.w.set_exec(exec);
                let words = encode(&b.rig, name, f);
                let code = Code::decode(&words, CODE, &[], b.rig.target, b.rig.lanes() == 32, b.rig.level);
                let i = &code.insts[0];
                let about = Info::of_instruction(i, &code);
                // RDNA counts what returns nothing in vscnt.
                let returns = !name.contains("store") && (!is_atomic || glc);
                let counting = if returns || !is_rdna { Counting::Memory } else { Counting::Store };
                assert_eq!(about.counting, counting, "{name}");
                let result = about.operands.result().map(|result| (result.first, result.count));
                let count = if swaps { 2 } else { dmask.count_ones() as u8 };
                assert_eq!(result, returns.then_some((30, count)), "{name}");
                let mut accesses = Vec::new();
                accesses::find(&mut b.rig.w, i, about.addressing, &mut accesses);
                let bytes = accesses.iter().flat_map(|one| {
                    one.each().flat_map(|(lane, at)| (at..at + u64::from(one.size)).map(move |at| (lane, at)))
                });
                let texels = surface.texels(b.model.bases[0]);
                let all = lanes.iter().enumerate().filter(|(lane, _)| exec >> lane & 1 != 0 && !info);
                let wanted =
                    all.filter_map(|(lane, at)| Some((lane, b.model.bases[0] + *texels.get(at)? as u64)));
                let wanted: BTreeSet<_> =
                    wanted.flat_map(|(lane, at)| (at..at + 8).map(move |at| (lane, at))).collect();
                assert_eq!(bytes.collect::<BTreeSet<_>>(), wanted, "{name} {surface:?} {f:?}");
            }
        }
    }
}

#[test]
fn observers_know_what_samplers_read() {
    let mut compared = 0;
    for mut b in MemoryModel::images(209) {
        for name in ["image_sample", "image_sample_l", "image_gather4_lz"] {
            if !names(&b, "image_").contains(&name) {
                continue;
            }
            for _ in 0..6 {
                let trial = Trial::random(&mut b, name);
                let words = encode(&b.rig, name, trial.fields);
                let code = Code::decode(&words, CODE, &[], b.rig.target, b.rig.lanes() == 32, b.rig.level);
                let about = Info::of_instruction(&code.insts[0], &code);
                assert_eq!(about.counting, Counting::Sample, "{name}");
                let gathers = name.contains("gather");
                let values = if gathers { 4 } else { trial.fields.dmask.count_ones() as u8 };
                let count = if trial.fields.d16 { values.div_ceil(2) } else { values };
                let result = about.operands.result().map(|result| (result.first, result.count));
                assert_eq!(result, Some((30, count)), "{name}");
                let mut accesses = Vec::new();
                accesses::find(&mut b.rig.w, &code.insts[0], about.addressing, &mut accesses);
                let (surface, seen) = (&trial.texture.surface, Seen::default());
                for lane in (0..LANES).filter(|lane| trial.exec >> lane & 1 != 0) {
                    let reads = trial.reference(&seen).reads(&trial.requests[lane], trial.square(lane));
                    let Some(reads) = reads else { continue };
                    let size = surface.format.size() as u64;
                    let starts = reads.into_iter().filter_map(|(byte, _)| Some(surface.base + byte? as u64));
                    let wanted: BTreeSet<u64> = starts.flat_map(|at| at..at + size).collect();
                    let found = accesses.iter().flat_map(|one| {
                        let own = one.each().filter(|(of, _)| *of == lane);
                        own.flat_map(|(_, at)| at..at + u64::from(one.size))
                    });
                    assert_eq!(found.collect::<BTreeSet<u64>>(), wanted, "{name} lane {lane}");
                    compared += 1;
                }
                b.rig.space.free(surface.base).unwrap();
            }
        }
    }
    assert!(compared > 1_000, "{compared}");
}
