//! Compares what observers know of image instructions with the places of the images' texels.

use std::collections::BTreeSet;

use crate::exec::image_tests::{Fields, Surface, encode, names};
use crate::exec::inst::Code;
use crate::exec::memory_model::MemoryModel;
use crate::observe::accesses;
use crate::observe::class::Info;
use crate::observe::waits::Counting;
use crate::testing::test_wave::CODE;

#[test]
fn observers_know_registers_counters_and_bytes() {
    for mut b in MemoryModel::gfx11(208) {
        for name in names(&b, "image_").into_iter().filter(|name| *name != "image_msaa_load") {
            for glc in [false, true] {
                let surface = Surface::random(&mut b, 48, 8);
                let (lanes, f) = surface.bind(&mut b, name);
                let is_atomic = name.contains("atomic");
                let swaps = name.ends_with("cmpswap");
                let dmask = if swaps { 15 } else { 3 };
                let info = name == "image_get_resinfo";
                let f = Fields { glc, dmask, nsa: f.nsa && !info, ..f };
                let exec = b.exec();
                b.rig.w.set_exec(exec);
                let words = encode(&b.rig, name, f);
                let code = Code::decode(&words, CODE, &[], b.rig.target, b.rig.lanes() == 32, b.rig.level);
                let i = &code.insts[0];
                let about = Info::of_instruction(i, &code);
                // gfx11 counts what returns nothing in vscnt.
                let returns = !name.contains("store") && (!is_atomic || glc);
                assert_eq!(
                    about.counting,
                    if returns { Counting::Memory } else { Counting::Store },
                    "{name}"
                );
                let result = about.operands.result().map(|result| (result.first, result.count));
                let count = if swaps { 2 } else { dmask.count_ones() as u8 };
                assert_eq!(result, returns.then_some((30, count)), "{name}");
                let mut accesses = Vec::new();
                accesses::find(&mut b.rig.w, i, about.addressing, &mut accesses);
                let bytes = accesses.iter().flat_map(|one| {
                    one.each().flat_map(|(lane, at)| (at..at + u64::from(one.size)).map(move |at| (lane, at)))
                });
                let texels = surface.texels(&b);
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
