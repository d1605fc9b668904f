//! Tests of accesses past the end of allocations and of LDS, with bounds of pages, and of atomics to fine-grained memory.

use amdgpu_isa::{Encoding, Target};

use crate::exec::level::SimdLevel;
use crate::memory::bounds::Bounds;
use crate::memory::grain::FineGrainedAtomics;
use crate::report::access::{AccessKind, MemorySpace};
use crate::report::fault::FaultCause;
use crate::report::notice::{Noted, NoticeKind};
use crate::state::wave::LANES;
use crate::testing::test_wave::{TestWave, op};

const BYTES: u64 = 100;

fn rigs() -> [TestWave; 3] {
    Target::GFX9.map(|target| TestWave::new(target, SimdLevel::best()))
}

/// Writes 64-bit addresses to v0 and v1.
fn addresses(rig: &mut TestWave, at: impl Fn(u64) -> u64) {
    for lane in 0..LANES {
        let address = at(lane as u64);
        rig.w.v_mut(0).flat_mut()[lane] = address as u32;
        rig.w.v_mut(1).flat_mut()[lane] = (address >> 32) as u32;
    }
}

/// An instruction of GLOBAL or FLAT with its address in v0 and v1, data in v4 and v5, and its result in v8 and v9.
fn memory(rig: &TestWave, encoding: Encoding, name: &str, returns: bool) -> [u32; 2] {
    let glc = u32::from(returns) << 16;
    let saddr = if encoding == Encoding::Flat { 0 } else { 0x7f };
    [
        encoding.first_dword(Target::Gfx90a, op(encoding, name, rig.target), glc),
        4 << 8 | saddr << 16 | 8 << 24,
    ]
}

fn take(rig: &mut TestWave) -> Vec<(NoticeKind, Noted)> {
    std::mem::take(&mut rig.cx.notices.seen).into_iter().map(|((kind, _), noted)| (kind, noted)).collect()
}

/// Runs an instruction of which 10 lanes access bytes before the end of the allocation, and the others up to `past` bytes
/// after it. Strict bounds refuse it. With pages, these accesses are noted.
fn steps_past_the_end(rig: &mut TestWave, base: u64, words: &[u32], access: AccessKind, past: u64) {
    let size = 4;
    rig.cx.notices.bounds = Bounds::Strict;
    let Err(FaultCause::OutOfBounds { lanes, .. }) = rig.try_run(words) else {
        panic!("{words:08x?}: strict bounds allow it")
    };
    assert_eq!((lanes[0].lane, lanes[0].address), (Some(10), base + BYTES), "{words:08x?}");
    rig.cx.notices.bounds = Bounds::Pages;
    rig.run(words);
    let seen = take(rig);
    let [(NoticeKind::PastEnd, noted)] = seen[..] else { panic!("{words:08x?}: {seen:?}") };
    assert_eq!((noted.space, noted.access), (MemorySpace::Global, access), "{words:08x?}");
    assert_eq!((noted.lane, noted.size), (Some(10), size), "{words:08x?}");
    assert_eq!((noted.address, noted.base, noted.len), (base + BYTES, base, BYTES), "{words:08x?}");
    assert_eq!((noted.past, noted.count), (past, 54), "{words:08x?}");
}

#[test]
fn accesses_past_the_end_are_noted() {
    for mut rig in rigs() {
        rig.space.set_bounds(Bounds::Pages);
        let base = rig.space.alloc(BYTES, 0).unwrap();
        let first = base + BYTES - 40;
        addresses(&mut rig, |lane| first + 4 * lane);
        let past = 4 * 54;
        for encoding in [Encoding::Global, Encoding::Flat] {
            let prefix = if encoding == Encoding::Flat { "flat" } else { "global" };
            for lane in 0..LANES {
                rig.w.v_mut(4).flat_mut()[lane] = 100 + lane as u32;
            }
            let store = memory(&rig, encoding, &format!("{prefix}_store_dword"), false);
            steps_past_the_end(&mut rig, base, &store, AccessKind::Write, past);
            let add = memory(&rig, encoding, &format!("{prefix}_atomic_add"), true);
            steps_past_the_end(&mut rig, base, &add, AccessKind::Atomic, past);
            assert_eq!(rig.w.v(8).flat()[63], 163, "the page keeps what was stored");
            let load = memory(&rig, encoding, &format!("{prefix}_load_dword"), false);
            steps_past_the_end(&mut rig, base, &load, AccessKind::Read, past);
            assert_eq!(rig.w.v(8).flat()[63], 2 * 163);
        }
        // Through a buffer descriptor with an unaligned base, and without a limit.
        rig.w.set_s64(4, base);
        rig.w.set_s64(6, u64::from(u32::MAX) | 0x2_7000 << 32);
        for lane in 0..LANES {
            rig.w.v_mut(0).flat_mut()[lane] = (BYTES as u32) - 40 + 4 * lane as u32;
        }
        let code = op(Encoding::Mubuf, "buffer_load_dword", rig.target);
        let words =
            [Encoding::Mubuf.first_dword(Target::Gfx90a, code, 1 << 12), 8 << 8 | 1 << 16 | 128 << 24];
        steps_past_the_end(&mut rig, base, &words, AccessKind::Read, past);
        assert_eq!(rig.w.v(8).flat()[63], 2 * 163);

        // Scalar loads: one access by the wave.
        rig.w.set_s64(4, base);
        let words = rig.smem("s_load_dwordx2", 10, 4, BYTES as i32 - 4);
        rig.run(&words);
        let seen = take(&mut rig);
        let [(NoticeKind::PastEnd, noted)] = seen[..] else { panic!("{seen:?}") };
        assert_eq!((noted.lane, noted.size, noted.past, noted.count), (None, 8, 4, 1));
        assert_eq!(rig.w.s32(11), 2 * 110);

        // The next page is nobody's.
        addresses(&mut rig, |lane| base + 4096 - 64 + 4 * lane);
        let load = memory(&rig, Encoding::Global, "global_load_dword", false);
        let Err(FaultCause::OutOfBounds { lanes, .. }) = rig.try_run(&load) else { panic!("it must fault") };
        assert_eq!((lanes[0].lane, lanes.len()), (Some(16), 16));
    }
}

#[test]
fn the_place_where_tensile_reads_zero_is_allowed_and_noted() {
    for mut rig in rigs() {
        rig.cx.notices.bounds = Bounds::Strict;
        rig.cx.lds.reset(128);
        let at = |rig: &mut TestWave, address: u32| {
            for lane in 0..LANES {
                rig.w.v_mut(0).flat_mut()[lane] = address;
                rig.w.v_mut(8).flat_mut()[lane] = 7;
            }
        };
        let ds = |rig: &TestWave, name: &str| {
            [
                Encoding::Ds.first_dword(Target::Gfx90a, op(Encoding::Ds, name, rig.target), 0),
                4 << 8 | 8 << 24,
            ]
        };
        at(&mut rig, 0xf0_0000);
        let words = ds(&rig, "ds_read_b32");
        rig.run(&words);
        assert_eq!(rig.w.v(8).flat(), &[0; LANES]);
        let seen = take(&mut rig);
        let [(NoticeKind::PastEnd, noted)] = seen[..] else { panic!("{seen:?}") };
        assert_eq!((noted.space, noted.access, noted.count), (MemorySpace::Lds, AccessKind::Read, 64));
        for (name, address) in
            [("ds_write_b32", 0xf0_0000), ("ds_add_rtn_u32", 0xf0_0000), ("ds_read_b32", 0xf0_0004)]
        {
            at(&mut rig, address);
            let words = ds(&rig, name);
            let Err(FaultCause::OutOfBounds { space, .. }) = rig.try_run(&words) else {
                panic!("{name} is allowed")
            };
            assert_eq!(space, MemorySpace::Lds);
        }
    }
}

#[test]
fn lds_past_its_end_reads_zero_and_keeps_nothing() {
    for mut rig in rigs() {
        rig.cx.notices.bounds = Bounds::Pages;
        rig.cx.lds.reset(128);
        for lane in 0..LANES {
            // Lanes 0 to 31 are inside.
            rig.w.v_mut(0).flat_mut()[lane] = 4 * lane as u32;
            rig.w.v_mut(4).flat_mut()[lane] = 1000 + lane as u32;
            rig.w.v_mut(8).flat_mut()[lane] = 7;
        }
        let ds = |rig: &TestWave, name: &str| {
            [
                Encoding::Ds.first_dword(Target::Gfx90a, op(Encoding::Ds, name, rig.target), 0),
                4 << 8 | 8 << 24,
            ]
        };
        for (name, access) in [
            ("ds_write_b32", AccessKind::Write),
            ("ds_add_rtn_u32", AccessKind::Atomic),
            ("ds_read_b32", AccessKind::Read),
        ] {
            let words = ds(&rig, name);
            rig.run(&words);
            let seen = take(&mut rig);
            let [(NoticeKind::PastEnd, noted)] = seen[..] else { panic!("{name}: {seen:?}") };
            assert_eq!(
                (noted.space, noted.access, noted.lane),
                (MemorySpace::Lds, access, Some(32)),
                "{name}"
            );
            assert_eq!((noted.address, noted.len, noted.past, noted.count), (128, 128, 128, 32), "{name}");
        }
        assert_eq!((rig.w.v(8).flat()[31], rig.w.v(8).flat()[32]), (2 * 1031, 0));
        let append = [
            Encoding::Ds.first_dword(Target::Gfx90a, op(Encoding::Ds, "ds_append", rig.target), 4096),
            9 << 24,
        ];
        rig.run(&append);
        assert_eq!(take(&mut rig).len(), 1);
        assert_eq!(rig.w.v(9).flat()[5], 0);
        rig.cx.notices.bounds = Bounds::Strict;
        let words = ds(&rig, "ds_read_b32");
        assert!(matches!(rig.try_run(&words), Err(FaultCause::OutOfBounds { .. })));
    }
}

/// ROCm's documentation, "Hardware atomics operation support", tables of MI200 and MI300: to fine-grained memory MI200's
/// floating-point atomics do nothing, and MI300's work. HIP's tests (deviceLib, BuiltIns_fadd) expect that they return 0.
#[test]
fn floating_point_atomics_in_fine_grained_memory() {
    for mut rig in rigs() {
        let [fine, coarse] = [0, 1].map(|_| rig.space.alloc(512, 0).unwrap());
        rig.space.set_fine_grained(fine, true).unwrap();
        let half = 0x3c00_3c00u32;
        let cases: [(&str, bool, u64, u64); 7] = [
            ("atomic_add_f32", true, 1f32.to_bits().into(), 2f32.to_bits().into()),
            ("atomic_pk_add_f16", true, half.into(), 0x4000_4000),
            ("atomic_add_f64", true, 1f64.to_bits(), 2f64.to_bits()),
            ("atomic_min_f64", true, (-1f64).to_bits(), (-1f64).to_bits()),
            ("atomic_max_f64", true, 1f64.to_bits(), 1f64.to_bits()),
            ("atomic_add", false, 5, 10),
            ("atomic_swap_x2", false, 9, 9),
        ];
        for (name, is_float, data, sum) in cases {
            for drops in [false, true] {
                rig.cx.notices.fine_grained_atomics =
                    if drops { FineGrainedAtomics::Drop } else { FineGrainedAtomics::Perform };
                for base in [fine, coarse] {
                    let ignored = is_float && base == fine && rig.target == Target::Gfx90a;
                    // A minimum and a maximum change a 0, sums and exchanges what they find.
                    let old = if name.contains("m") && name.contains("f64") && !name.contains("add") {
                        0
                    } else {
                        data
                    };
                    for lane in 0..LANES as u64 {
                        rig.space.write(base + 8 * lane, &old.to_le_bytes()).unwrap();
                    }
                    addresses(&mut rig, |lane| base + 8 * lane);
                    for lane in 0..LANES {
                        rig.w.v_mut(4).flat_mut()[lane] = data as u32;
                        rig.w.v_mut(5).flat_mut()[lane] = (data >> 32) as u32;
                    }
                    rig.w.set_exec(0b1110);
                    let words = memory(&rig, Encoding::Global, &format!("global_{name}"), true);
                    rig.run(&words);
                    let mut bytes = [0; 8];
                    rig.space.read(base + 8, &mut bytes).unwrap();
                    let (got, dropped) = (u64::from_le_bytes(bytes), ignored && drops);
                    assert_eq!(got, if dropped { old } else { sum }, "{:?} {name}", rig.target);
                    let returned = if dropped { 0 } else { old as u32 };
                    assert_eq!(rig.w.v(8).flat()[2], returned, "{:?} {name}", rig.target);
                    let seen = take(&mut rig);
                    if !ignored {
                        assert!(seen.is_empty(), "{:?} {name}: {seen:?}", rig.target);
                        continue;
                    }
                    let [(NoticeKind::FineGrainedAtomic, noted)] = seen[..] else {
                        panic!("{name}: {seen:?}")
                    };
                    assert_eq!((noted.lane, noted.count, noted.past), (Some(1), 3, 0), "{name}");
                    assert_eq!((noted.address, noted.base, noted.len), (fine + 8, fine, 512), "{name}");
                }
            }
        }
    }
}
