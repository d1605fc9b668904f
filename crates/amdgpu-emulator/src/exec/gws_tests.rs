//! Tests of global wave sync with one wave. tests/waiting.rs has whole kernels.

use std::sync::Arc;

use amdgpu_isa::{Encoding, Target};

use crate::exec::level::SimdLevel;
use crate::state::gws::{Gws, counter_table};
use crate::state::wave::sreg;
use crate::testing::test_wave::{TestWave, op};

fn gws(rig: &TestWave, name: &str, offset: u32, data: u32) -> [u32; 2] {
    [Encoding::Ds.first_dword(Target::Gfx90a, op(Encoding::Ds, name, rig.target), offset | 1 << 16), data]
}

#[test]
fn gws_instructions_use_their_resource_and_value() {
    for target in Target::GFX9 {
        let mut rig = TestWave::new(target, SimdLevel::best());
        rig.cx.gws = Arc::new(Gws::new(counter_table(), 1));
        // M0's bits 16 to 21 and the offset, modulo 64; the first active lane's value.
        rig.w.set_s32(sreg::M0, 0xffc0_ffff | 60 << 16);
        for (lane, value) in rig.w.v_mut(4).flat_mut().iter_mut().enumerate() {
            *value = 100 + lane as u32;
        }
        rig.w.set_exec(1 << 40 | 1 << 7);
        rig.run(&gws(&rig, "ds_gws_init", 6, 4));
        assert_eq!(rig.cx.gws.missing(2), 108);
        rig.run(&gws(&rig, "ds_gws_sema_v", 6, 0));
        assert_eq!(rig.cx.gws.missing(2), 109);
        rig.run(&gws(&rig, "ds_gws_sema_br", 6, 4));
        assert_eq!(rig.cx.gws.missing(2), 216);
        // Without active lanes, the value of lane 0.
        rig.w.set_exec(0);
        rig.run(&gws(&rig, "ds_gws_init", 6, 4));
        assert_eq!(rig.cx.gws.missing(2), 101);
        // The value is in an AGPR.
        *rig.w.v_mut(crate::state::wave::AGPR + 4) = crate::exec::lanes::splat(9);
        let [low, high] = gws(&rig, "ds_gws_init", 6, 4);
        rig.run(&[low | 1 << 25, high]);
        assert_eq!(rig.cx.gws.missing(2), 10);
        assert!(rig.w.wait.is_none());
        rig.run(&gws(&rig, "ds_gws_barrier", 6, 4));
        assert!(rig.w.wait.is_some_and(|wait| wait.is_barrier() && wait.resource == 2));
        assert_eq!(rig.cx.gws.missing(2), 9);
    }
}

#[test]
fn semaphores_let_waves_pass_that_were_released() {
    let mut rig = TestWave::gfx90a();
    let program = [gws(&rig, "ds_gws_sema_p", 1, 0), gws(&rig, "ds_gws_sema_v", 1, 0)];
    rig.run(&program[0]);
    let wait = rig.w.wait.unwrap();
    assert!(!wait.is_barrier() && !rig.cx.gws.can_continue(wait));
    rig.run(&program[1]);
    assert!(rig.cx.gws.can_continue(wait) && !rig.cx.gws.can_continue(wait));
    rig.run(&program[1]);
    rig.run(&program[0]);
    assert!(rig.w.wait.is_none());
    rig.run(&gws(&rig, "ds_gws_sema_release_all", 1, 0));
    assert!(rig.cx.gws.can_continue(wait));
}
