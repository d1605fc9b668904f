//! Tests of instructions that change nothing that a program can observe, and of those that end a program.

use amdgpu_isa::{Encoding, Target};

use crate::exec::memory_model::MemoryModel;
use crate::state::wave::sreg;
use crate::testing::test_wave::{RDNA, Random, TestWave, null_of};

crate::testing::tally::verified!(no_register_and_no_memory_changes);

/// Hints, waits, cache control, messages (which nothing receives here), and branches that only a debugger takes.
const IDLE: [&str; 68] = [
    "s_nop",
    "s_wakeup",
    "s_waitcnt",
    "s_sleep",
    "s_setprio",
    "s_sendmsg",
    "s_icache_inv",
    "s_incperflevel",
    "s_decperflevel",
    "s_ttracedata",
    "s_cbranch_cdbgsys",
    "s_cbranch_cdbguser",
    "s_cbranch_cdbgsys_or_user",
    "s_cbranch_cdbgsys_and_user",
    "s_set_gpr_idx_off",
    "s_set_valu_coexec_mode",
    "s_dcache_inv",
    "s_dcache_wb",
    "s_dcache_inv_vol",
    "s_dcache_wb_vol",
    "s_atc_probe",
    "s_atc_probe_buffer",
    "s_dcache_discard",
    "s_dcache_discard_x2",
    "v_nop",
    "v_clrexcp",
    "ds_nop",
    "buffer_wbl2",
    "buffer_invl2",
    "buffer_inv",
    "buffer_wbinvl1",
    "buffer_wbinvl1_vol",
    // Those of RDNA alone.
    "s_set_inst_prefetch_distance",
    "s_inst_prefetch",
    "s_clause",
    "s_delay_alu",
    "s_waitcnt_depctr",
    "s_wait_idle",
    "s_wait_event",
    "s_ttracedata_imm",
    "s_version",
    "s_waitcnt_vscnt",
    "s_waitcnt_vmcnt",
    "s_waitcnt_expcnt",
    "s_waitcnt_lgkmcnt",
    "s_gl1_inv",
    "buffer_gl0_inv",
    "buffer_gl1_inv",
    "v_pipeflush",
    "s_wait_alu",
    "s_wait_loadcnt",
    "s_wait_storecnt",
    "s_wait_samplecnt",
    "s_wait_bvhcnt",
    "s_wait_expcnt",
    "s_wait_dscnt",
    "s_wait_kmcnt",
    "s_wait_loadcnt_dscnt",
    "s_wait_storecnt_dscnt",
    "s_sleep_var",
    "s_prefetch_inst",
    "s_prefetch_inst_pc_rel",
    "s_prefetch_data",
    "s_prefetch_data_pc_rel",
    "s_buffer_prefetch_data",
    "global_inv",
    "global_wb",
    "global_wbinv",
];

/// Returns all registers.
fn registers(rig: &TestWave) -> (Vec<u32>, Vec<u32>, [u64; 2], [u32; 2], bool) {
    let scalars = (0..106).chain([sreg::M0]).map(|n| rig.w.s32(n)).collect();
    let vectors = (0..512).flat_map(|n| *rig.w.v(n).flat()).collect();
    (scalars, vectors, [rig.w.vcc(), rig.w.exec()], [rig.w.mode.0, rig.w.trapsts], rig.w.scc())
}

fn no_register_and_no_memory_changes() {
    let mut random = Random::new(71);
    // One level is enough; on RDNA, waves of both sizes.
    let gfx9 = MemoryModel::all(71).take(Target::GFX9.len());
    for mut b in gfx9.chain(MemoryModel::rdna(71).take(2 * RDNA.len())) {
        let target = b.rig.target;
        b.scramble(0..512);
        for n in 0..106 {
            b.rig.w.set_s32(n, b.random.next() as u32);
        }
        for encoding in Encoding::ALL {
            let idle = encoding.rows().iter().filter(|row| IDLE.contains(&row.name));
            for row in idle.filter(|row| row.op[target as usize] >= 0) {
                let op = row.op[target as usize] as u32;
                for _ in 0..16 {
                    b.rig.w.set_s64(sreg::VCC, random.next());
                    b.rig.w.set_exec(random.next());
                    b.rig.w.set_scc(random.next() & 1 != 0);
                    let any = random.next() as u32;
                    let words = match encoding {
                        Encoding::Sopp => vec![encoding.first_dword(target, op, any & 0xffff)],
                        Encoding::Sopk => vec![encoding.first_dword(target, op, any % 106 << 16 | any >> 16)],
                        Encoding::Sop1 => vec![encoding.first_dword(target, op, any % 106)],
                        // No register has an offset.
                        Encoding::Smem if target.is_rdna() => {
                            vec![
                                encoding.first_dword(target, op, any & 0x1f),
                                any & 0xf_ffff | null_of(target) << 25,
                            ]
                        }
                        Encoding::Smem => {
                            vec![encoding.first_dword(target, op, 1 << 17 | any & 0x1f), any & 0xf_ffff]
                        }
                        Encoding::Vop1 => vec![encoding.first_dword(target, op, 0)],
                        Encoding::Global => vec![encoding.first_dword(target, op, 0x7c), 0, 0],
                        _ => vec![encoding.first_dword(target, op, 0), 0],
                    };
                    let before = registers(&b.rig);
                    b.rig.run(&words);
                    assert!(registers(&b.rig) == before, "{} changed a register", row.name);
                    b.check(row.name);
                }
            }
        }
    }
}

#[test]
fn programs_end() {
    for mut b in MemoryModel::every(72) {
        let names = b.names(Encoding::Sopp);
        let ends = ["s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done"];
        for name in ends.into_iter().filter(|name| names.contains(name)) {
            b.rig.w.set_s32(40, 0);
            let after = b.rig.sopk("s_movk_i32", 40, 1);
            b.rig.run(&[b.rig.sopp(name, 0), after]);
            assert_eq!(b.rig.w.s32(40), 0, "{name}");
        }
        // With a constant of 0, these instructions do nothing.
        for name in ["s_setkill", "s_sethalt"] {
            let after = b.rig.sopk("s_movk_i32", 40, 1);
            b.rig.w.set_s32(40, 0);
            b.rig.run(&[b.rig.sopp(name, 0), after]);
            assert_eq!(b.rig.w.s32(40), 1, "{name}");
        }
    }
}
