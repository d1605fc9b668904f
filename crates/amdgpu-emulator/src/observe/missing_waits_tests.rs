//! Tests of missing waits on short programs, each with the reports that it must cause and no others.

use std::sync::Arc;

use amdgpu_isa::{Isa, Target, WaveSize, disassemble_words};
use code_object::CodeObject;

use crate::exec::inst::{Code, StopReason};
use crate::exec::interpret::run_wave_observed;
use crate::exec::level::SimdLevel;
use crate::memory::image::Image;
use crate::memory::{AddressSpace, DispatchMemory, View};
use crate::observe::{Observers, Sanitizer, infos};
use crate::report::defect::{Defect, DefectKind};
use crate::state::wave::POOL;
use crate::testing::test_wave::{CODE, TestWave, end_of};

/// Instructions of gfx90a, as LLVM assembles them.
#[rustfmt::skip]
const ENCODINGS: &[(&str, &[u32])] = &[
    ("global_load_dword v1, v[2:3], off", &[0xdc50_8000, 0x017f_0002]),
    ("global_load_dword v4, v[2:3], off", &[0xdc50_8000, 0x047f_0002]),
    ("global_load_dword v1, v[2:3], off offset:4", &[0xdc50_8004, 0x017f_0002]),
    ("global_load_dwordx2 a[2:3], v[2:3], off", &[0xdc54_8000, 0x02ff_0002]),
    ("v_mov_b32_e32 v5, v1", &[0x7e0a_0301]),
    ("v_mov_b32_e32 v1, 0", &[0x7e02_0280]),
    ("v_mov_b32_e32 v0, 0", &[0x7e00_0280]),
    ("v_mov_b32_e32 v5, v4", &[0x7e0a_0304]),
    ("v_accvgpr_read_b32 v5, a3", &[0xd3d8_4005, 0x1800_0103]),
    ("s_waitcnt vmcnt(1)", &[0xbf8c_0f71]),
    ("s_waitcnt vmcnt(0)", &[0xbf8c_0f70]),
    ("s_waitcnt lgkmcnt(0)", &[0xbf8c_c07f]),
    ("s_waitcnt lgkmcnt(1)", &[0xbf8c_c17f]),
    ("s_load_dword s4, s[0:1], 0x0", &[0xc002_0100, 0x0000_0000]),
    ("s_load_dwordx2 s[6:7], s[0:1], 0x8", &[0xc006_0180, 0x0000_0008]),
    ("s_add_u32 s8, s4, s6", &[0x8008_0604]),
    ("s_load_dword vcc_lo, s[0:1], 0x0", &[0xc002_1a80, 0x0000_0000]),
    ("ds_read_b32 v1, v0", &[0xd86c_0000, 0x0100_0000]),
    ("ds_read2_b32 v[6:7], v0 offset1:1", &[0xd86e_0100, 0x0600_0000]),
    ("ds_write_b32 v0, v7", &[0xd81a_0000, 0x0000_0700]),
    ("ds_read_u16_d16 v1, v0", &[0xd8b4_0000, 0x0100_0000]),
    ("global_load_short_d16_hi v1, v[2:3], off", &[0xdc94_8000, 0x017f_0002]),
    ("flat_load_dword v1, v[2:3]", &[0xdc50_0000, 0x0100_0002]),
    ("v_readlane_b32 s9, v1, 3", &[0xd289_0009, 0x0001_0701]),
    ("v_readfirstlane_b32 s9, v1", &[0x7e12_0501]),
    ("s_mov_b64 exec, 0xff", &[0xbefe_01ff, 0x0000_00ff]),
    ("s_mov_b64 exec, -1", &[0xbefe_01c1]),
    ("s_mov_b64 exec, 0xff00", &[0xbefe_01ff, 0x0000_ff00]),
    ("s_mov_b64 exec, 0", &[0xbefe_0180]),
    ("global_atomic_add v1, v[2:3], v4, off glc", &[0xdd09_8000, 0x017f_0402]),
    ("global_atomic_add v[2:3], v4, off", &[0xdd08_8000, 0x007f_0402]),
    ("global_store_dword v[2:3], v1, off", &[0xdc70_8000, 0x007f_0102]),
    ("buffer_load_dword v0, s[12:15], 0 offen lds", &[0xe051_1000, 0x8003_0000]),
    ("v_mov_b32_dpp v5, v1 row_shl:1 row_mask:0xf bank_mask:0xf", &[0x7e0a_02fa, 0xff01_0101]),
    ("v_add_f32_sdwa v5, v1, v1 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:DWORD", &[0x020a_02f9, 0x0605_1401]),
    ("v_mfma_f32_4x4x1f32 a[0:3], v1, v5, a[0:3]", &[0xd3c2_8000, 0x0402_0b01]),
    ("s_set_gpr_idx_on s10, gpr_idx(SRC0)", &[0xbf11_010a]),
    ("v_mov_b32_e32 v5, v0", &[0x7e0a_0300]),
    ("s_set_gpr_idx_off", &[0xbf9c_0000]),
    ("ds_gws_init v0 gds", &[0xd933_0000, 0x0000_0000]),
    ("s_memtime s[4:5]", &[0xc090_0100, 0x0000_0000]),
    ("s_mov_b32 m0, 1", &[0xbefc_0081]),
    ("s_movrels_b32 s9, s3", &[0xbe89_2a03]),
    ("ds_bpermute_b32 v1, v0, v2", &[0xd87e_0000, 0x0100_0200]),
    ("s_waitcnt expcnt(0)", &[0xbf8c_cf0f]),
    ("v_cndmask_b32_e32 v5, v4, v4, vcc", &[0x000a_0904]),
    ("s_sub_u32 s10, s10, 1", &[0x808a_810a]),
    ("s_cbranch_scc0 65530", &[0xbf84_fffa]),
    ("s_cbranch_scc0 65534", &[0xbf84_fffe]),
];

/// The index that `s_set_gpr_idx_on s10` adds.
const INDEX: u32 = 1;

fn run(program: &[&str], late: bool) -> (TestWave, Vec<Defect>) {
    execute(Target::Gfx90a, ENCODINGS, program, late, true)
}

/// Runs a program of instructions that `encodings` has. Returns the wave, and the defects of missing waits and, if they are looked
/// for, hazards.
/// `v[2:3]` and `s[0:1]` are an address in memory, `v0` one in LDS, and memory has 11 everywhere.
pub(super) fn execute(
    isa: impl Into<Isa>,
    encodings: &[(&str, &[u32])],
    program: &[&str],
    late: bool,
    hazards: bool,
) -> (TestWave, Vec<Defect>) {
    let isa = isa.into();
    let wave32 = isa.wave == WaveSize::Wave32;
    let mut words: Vec<u32> = Vec::new();
    for text in program {
        let found = encodings.iter().find(|(other, _)| other == text);
        let (_, encoding) = found.unwrap_or_else(|| panic!("no encoding of {text}"));
        let read = disassemble_words(isa, encoding, 0).unwrap();
        assert_eq!(read.text, *text);
        words.extend(*encoding);
    }
    words.push(end_of(isa.target));
    let new = if wave32 { TestWave::wave32 } else { TestWave::new };
    let mut rig = new(isa.target, SimdLevel::best());
    let memory = rig.space.alloc(4096, 4096).unwrap();
    rig.space.fill(memory, &11u32.to_le_bytes(), 1024).unwrap();
    rig.cx.lds.bytes_mut()[..4096].fill(7);
    for lane in 0..64 {
        rig.w.v_mut(0).flat_mut()[lane] = 4 * lane as u32;
        rig.w.v_mut(2).flat_mut()[lane] = memory as u32 + 4 * lane as u32;
        rig.w.v_mut(3).flat_mut()[lane] = (memory >> 32) as u32;
    }
    rig.w.set_s64(0, memory);
    rig.w.set_s32(10, INDEX);
    rig.w.set_s64(12, memory);
    rig.w.set_s64(14, 4096);
    let code = Code::decode(&words, CODE, &[], rig.target, wave32, rig.level);
    let pool = usize::from(POOL);
    rig.w.r.s[pool..pool + code.pool.len()].copy_from_slice(&code.pool);
    let object = CodeObject::parse(include_bytes!("../../tests/data/defects.gfx90a.co")).unwrap();
    let image = Arc::new(Image::load(&object, &Arc::new(AddressSpace::new(1 << 20))).unwrap());
    let sanitizer = Arc::new(Sanitizer::new(image, Arc::new(AddressSpace::new(1 << 20)), [1; 3], hazards));
    let observers = Observers::new(|| infos(&code), false, Some(sanitizer), None, late).unwrap();
    let code = Arc::new(code);
    rig.cx.code = Arc::clone(&code);
    let block = Arc::new(DispatchMemory::new(0x1000, 0x1000).unwrap());
    rig.cx.mem = View::new(rig.space.snapshot(), block, rig.space.blocks().capture());
    let mut watch = observers.begin(0, [0; 3], 1);
    let ended = run_wave_observed(&mut rig.w, &mut rig.cx, &code, 10_000, Some(&mut *watch));
    assert_eq!(ended, StopReason::End, "{program:?}: {:?}", rig.cx.fault);
    let found = observers.defects().into_iter().filter(|defect| defect.wait.is_some()).collect();
    (rig, found)
}

/// Asserts that a program has certain defects: the kind, the registers, and the missing wait of each. With hazards, the sanitizer sees
/// every instruction.
fn expect(program: &[&str], expected: &[(DefectKind, &str, &str)]) {
    for hazards in [false, true] {
        let (_, found) = execute(Target::Gfx90a, ENCODINGS, program, false, hazards);
        let short: Vec<(DefectKind, &str, &str)> = found
            .iter()
            .filter(|defect| defect.kind != DefectKind::Hazard)
            .map(|defect| {
                let wait = defect.wait.as_deref().unwrap_or_default();
                (defect.kind, defect.registers.as_deref().unwrap_or("LDS"), wait)
            })
            .collect();
        assert_eq!(short, expected, "{program:?}: {found:#?}");
    }
}

const USE: DefectKind = DefectKind::UseBeforeWait;
const OVERWRITE: DefectKind = DefectKind::OverwriteBeforeWait;
const VM0: &str = "s_waitcnt vmcnt(0)";
const LGKM0: &str = "s_waitcnt lgkmcnt(0)";

const LOAD: &str = "global_load_dword v1, v[2:3], off";
const LOAD_V4: &str = "global_load_dword v4, v[2:3], off";
const USE_V1: &str = "v_mov_b32_e32 v5, v1";
const WRITE_V1: &str = "v_mov_b32_e32 v1, 0";
const WAIT: &str = "s_waitcnt vmcnt(0)";

#[test]
fn uses_and_overwrites_of_vectors() {
    expect(&[LOAD, WAIT, USE_V1, WRITE_V1], &[]);
    expect(&[LOAD, USE_V1], &[(USE, "v1", VM0)]);
    expect(&[LOAD, WRITE_V1], &[(OVERWRITE, "v1", VM0)]);
    expect(&[LOAD, "global_store_dword v[2:3], v1, off"], &[(USE, "v1", VM0)]);
    // The first of two loads has ended after a wait for one.
    expect(&[LOAD, LOAD_V4, "s_waitcnt vmcnt(1)", USE_V1], &[]);
    expect(&[LOAD, LOAD_V4, USE_V1, "s_waitcnt vmcnt(1)"], &[(USE, "v1", "s_waitcnt vmcnt(1)")]);
    expect(&[LOAD, LOAD_V4, "s_waitcnt vmcnt(1)", "v_mov_b32_e32 v5, v4"], &[(USE, "v4", VM0)]);
    // Stores, and atomics without a result, are counted like loads.
    expect(&[LOAD, "global_atomic_add v[2:3], v4, off", "s_waitcnt vmcnt(1)", USE_V1], &[]);
    expect(&["global_atomic_add v1, v[2:3], v4, off glc", USE_V1], &[(USE, "v1", VM0)]);
    expect(&["global_load_dwordx2 a[2:3], v[2:3], off", "v_accvgpr_read_b32 v5, a3"], &[(USE, "a3", VM0)]);
    expect(&[LOAD, "v_mfma_f32_4x4x1f32 a[0:3], v1, v5, a[0:3]"], &[(USE, "v1", VM0)]);
    expect(
        &["global_load_dwordx2 a[2:3], v[2:3], off", "v_mfma_f32_4x4x1f32 a[0:3], v1, v5, a[0:3]"],
        &[(USE, "a[2:3]", VM0)],
    );
    let sdwa =
        "v_add_f32_sdwa v5, v1, v1 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:DWORD";
    expect(&[LOAD, sdwa], &[(USE, "v1", VM0)]);
    expect(&[LOAD, "v_mov_b32_dpp v5, v1 row_shl:1 row_mask:0xf bank_mask:0xf"], &[(USE, "v1", VM0)]);
}

#[test]
fn loops_use_what_was_loaded_before_them_and_in_them() {
    const COUNT: &str = "s_sub_u32 s10, s10, 1";
    // Two rounds, during which the scalar load is outstanding.
    let load = "s_load_dwordx2 s[6:7], s[0:1], 0x8";
    expect(&[load, COUNT, "s_cbranch_scc0 65534", "s_add_u32 s8, s4, s6"], &[(USE, "s6", LGKM0)]);
    expect(&[load, COUNT, "s_cbranch_scc0 65534", LGKM0, "s_add_u32 s8, s4, s6"], &[]);
    // The second round uses what the first loads.
    let round = ["v_mov_b32_e32 v0, 0", USE_V1, LOAD, COUNT, "s_cbranch_scc0 65530"];
    expect(&[[LOAD_V4].as_slice(), &round].concat(), &[(USE, "v1", VM0)]);
    // The first round has no active lanes, so that it loads nothing.
    let round = [LOAD, USE_V1, "s_mov_b64 exec, -1", COUNT, "s_cbranch_scc0 65530"];
    expect(&[[LOAD_V4, "s_mov_b64 exec, 0"].as_slice(), &round].concat(), &[(USE, "v1", VM0)]);
}

#[test]
fn loads_in_order_may_overwrite_each_other() {
    expect(&[LOAD, "global_load_dword v1, v[2:3], off offset:4", WAIT, USE_V1], &[]);
    expect(&[LOAD, "ds_read_b32 v1, v0"], &[(OVERWRITE, "v1", VM0)]);
    expect(&["ds_read_b32 v1, v0", LOAD], &[(OVERWRITE, "v1", LGKM0)]);
    // Halves of one register.
    let high = "global_load_short_d16_hi v1, v[2:3], off";
    expect(&["ds_read_u16_d16 v1, v0", high, WAIT, LGKM0, USE_V1], &[]);
    expect(&["ds_read_u16_d16 v1, v0", high, WAIT, USE_V1], &[(USE, "v1", LGKM0)]);
}

#[test]
fn lanes_are_followed_one_by_one() {
    let (low, high, all) = ("s_mov_b64 exec, 0xff", "s_mov_b64 exec, 0xff00", "s_mov_b64 exec, -1");
    expect(&[low, LOAD, high, USE_V1, WRITE_V1], &[]);
    expect(&[low, LOAD, all, USE_V1], &[(USE, "v1", VM0)]);
    expect(&[high, LOAD, "v_readlane_b32 s9, v1, 3"], &[]);
    expect(&[low, LOAD, "v_readlane_b32 s9, v1, 3"], &[(USE, "v1", VM0)]);
    expect(&[low, LOAD, all, "v_readfirstlane_b32 s9, v1"], &[(USE, "v1", VM0)]);
    expect(&[low, LOAD, high, "v_readfirstlane_b32 s9, v1"], &[]);
    // Without active lanes, a load is counted but writes nothing.
    expect(&[LOAD, "s_mov_b64 exec, 0", LOAD_V4, "s_waitcnt vmcnt(1)", all, USE_V1], &[]);
    expect(&["s_mov_b64 exec, 0", LOAD, all, USE_V1], &[]);
}

#[test]
fn scalar_loads_end_in_no_order() {
    let (one, two, add) =
        ("s_load_dword s4, s[0:1], 0x0", "s_load_dwordx2 s[6:7], s[0:1], 0x8", "s_add_u32 s8, s4, s6");
    expect(&[one, two, LGKM0, add], &[]);
    expect(&[one, two, "s_waitcnt lgkmcnt(1)", add], &[(USE, "s4", LGKM0), (USE, "s6", LGKM0)]);
    expect(&[one, "s_memtime s[4:5]"], &[(OVERWRITE, "s4", LGKM0)]);
    expect(
        &["s_load_dword vcc_lo, s[0:1], 0x0", "v_cndmask_b32_e32 v5, v4, v4, vcc"],
        &[(USE, "s106", LGKM0)],
    );
    // s3 + M0.
    let indexed = ["s_mov_b32 m0, 1", one, "s_movrels_b32 s9, s3"];
    expect(&indexed, &[(USE, "s4", LGKM0)]);
}

#[test]
fn lds_and_flat() {
    expect(&["ds_read2_b32 v[6:7], v0 offset1:1", "ds_write_b32 v0, v7"], &[(USE, "v7", LGKM0)]);
    expect(&["ds_read_b32 v1, v0", "ds_read2_b32 v[6:7], v0 offset1:1", "s_waitcnt lgkmcnt(1)", USE_V1], &[]);
    expect(&["ds_bpermute_b32 v1, v0, v2", USE_V1], &[(USE, "v1", LGKM0)]);
    // All lanes access memory, whose counter is vmcnt.
    expect(&["flat_load_dword v1, v[2:3]", WAIT, USE_V1], &[]);
    expect(&["flat_load_dword v1, v[2:3]", LGKM0, USE_V1], &[(USE, "v1", VM0)]);
    // A load to LDS.
    let to_lds = "buffer_load_dword v0, s[12:15], 0 offen lds";
    expect(&[to_lds, WAIT, "ds_read_b32 v1, v0"], &[]);
    expect(&[to_lds, "ds_read_b32 v1, v0"], &[(USE, "LDS", VM0)]);
    expect(&[to_lds, "ds_write_b32 v0, v7"], &[(OVERWRITE, "LDS", VM0)]);
    // Global wave sync reads its data later.
    let init = "ds_gws_init v0 gds";
    expect(&[init, "v_mov_b32_e32 v0, 0"], &[(OVERWRITE, "v0", "s_waitcnt expcnt(0)")]);
    expect(&[init, "v_mov_b32_e32 v5, v0", "s_waitcnt expcnt(0)", "v_mov_b32_e32 v0, 0"], &[]);
}

#[test]
fn indexed_vectors() {
    let on = "s_set_gpr_idx_on s10, gpr_idx(SRC0)";
    let off = "s_set_gpr_idx_off";
    // v0 stands for v1.
    expect(&[LOAD, on, "v_mov_b32_e32 v5, v0", off], &[(USE, "v1", VM0)]);
    expect(&[LOAD, on, USE_V1, off], &[]);
}

/// A counter that is full makes the next instruction wait.
#[test]
fn counters_are_limited() {
    let mut program = vec![LOAD];
    program.extend([LOAD_V4; 62]);
    program.push(USE_V1);
    expect(&program, &[(USE, "v1", "s_waitcnt vmcnt(62)")]);
    program.insert(1, LOAD_V4);
    expect(&program, &[]);
}

#[test]
fn late_results_are_delivered_by_waits() {
    let load_twice = [LOAD, USE_V1, WAIT, "v_mov_b32_e32 v1, 0", LOAD_V4, "ds_read_b32 v1, v0", LGKM0];
    let (rig, _) = run(&load_twice, true);
    assert_eq!(rig.w.v(5).flat(), &[0; 64]);
    assert_eq!(rig.w.v(4).flat(), &[0; 64]);
    assert_eq!(rig.w.v(1).flat(), &[0x0707_0707; 64]);
    let halves = ["ds_read_u16_d16 v1, v0", "global_load_short_d16_hi v1, v[2:3], off", WAIT, USE_V1, LGKM0];
    let (rig, _) = run(&halves, true);
    assert_eq!(rig.w.v(5).flat(), &[11 << 16; 64]);
    assert_eq!(rig.w.v(1).flat(), &[11 << 16 | 0x0707; 64]);
    let to_lds = ["buffer_load_dword v0, s[12:15], 0 offen lds", "ds_read_b32 v1, v0", WAIT, LGKM0, USE_V1];
    let (rig, _) = run(&to_lds, true);
    assert_eq!(rig.w.v(1).flat(), &[0x0707_0707; 64]);
    assert_eq!(rig.cx.lds.bytes()[..4], [11, 0, 0, 0]);
    let scalar = ["s_load_dword s4, s[0:1], 0x0", "s_add_u32 s8, s4, s6", LGKM0];
    let (rig, _) = run(&scalar, true);
    assert_eq!((rig.w.s32(8), rig.w.s32(4)), (0, 11));
}
