//! The registers of a wave at a kernel's entry on gfx11 (LLVM AMDGPU usage, "Initial Kernel Execution State").

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use amdgpu_isa::Target;
use code_object::CodeObject;

use super::config::{Interrupt, MachineConfig};
use super::launch::{Dispatch, DispatchSetup, QueuePacket, lanes_of_waves};
use super::program::LoadedProgram;
use crate::exec::level::SimdLevel;
use crate::memory::AddressSpace;
use crate::memory::lds::MAX_LDS;
use crate::report::error::{Error, Result};
use crate::state::wave::Wave;

const WAVE32: &[u8] = include_bytes!("../../tests/data/assembly/initial.gfx1100.co");
const WAVE64: &[u8] = include_bytes!("../../tests/data/assembly/initial.wave64.gfx1100.co");
const SGPRS: usize = 16;

fn loaded(object: &[u8]) -> (LoadedProgram, Arc<AddressSpace>) {
    let object = CodeObject::parse(object).unwrap();
    let space = Arc::new(AddressSpace::new(1 << 24));
    (LoadedProgram::load(&object, &space, SimdLevel::Portable).unwrap(), space)
}

fn one_wave(dynamic_lds: u32) -> Dispatch<'static> {
    Dispatch { kernel: 0, grid: [1; 3], block: [32, 1, 1], dynamic_lds, kernarg: &[], cooperative: false }
}

fn setup(object: &[u8], block: [u32; 3], remainder: [u32; 3]) -> Result<DispatchSetup> {
    let (program, space) = loaded(object);
    assert_eq!(program.inner.target(), Target::Gfx11);
    let dispatch =
        Dispatch { kernel: 0, grid: [3, 5, 7], block, dynamic_lds: 0, kernarg: &[], cooperative: false };
    DispatchSetup::new(&program.inner, &MachineConfig::default(), &space, &dispatch, remainder, None)
}

/// Returns a wave at the entry, whose registers were all ones before.
fn begun(setup: &DispatchSetup, id: u32, workgroup: [u32; 3]) -> Wave {
    let mut wave = Wave::new();
    wave.r.s.fill(!0);
    *wave.v_mut(0) = crate::exec::lanes::splat(!0);
    *wave.v_mut(99) = crate::exec::lanes::splat(!0);
    setup.init_wave(&mut wave, id, workgroup);
    wave
}

/// Returns the SGPRs behind those with addresses: the size of private memory, the workgroup's ids, and its size.
fn rest(wave: &Wave) -> [u32; 5] {
    std::array::from_fn(|n| wave.s32((8 + n) as u16))
}

#[test]
fn waves_of_32_have_half_the_lanes() {
    // 40 work-items along x, 2 along y: waves of 32, 32 and 16.
    let setup = setup(WAVE32, [40, 2, 1], [0; 3]).unwrap();
    assert!(setup.decoded.code.wave32);
    assert_eq!(setup.all_waves(), 3 * 3 * 5 * 7);
    assert_eq!(setup.items_of([0; 3]).waves.len(), 3);
    for (id, active) in [(0, 0xffff_ffff), (1, 0xffff_ffff), (2, 0xffff)] {
        let wave = begun(&setup, id, [2, 3, 4]);
        assert_eq!((wave.all, wave.exec()), (0xffff_ffff, active), "wave {id}");
        let first = u64::from(id) * 32;
        for (lane, ids) in wave.v(0).flat().iter().enumerate() {
            let item = first as u32 + lane as u32;
            let expected = if active >> lane & 1 == 1 { item % 40 | item / 40 << 10 } else { 0 };
            assert_eq!(*ids, expected, "wave {id}, lane {lane}");
        }
        assert_eq!(wave.v(99).flat()[..32], [0; 32], "vector registers begin with 0");
        // TG_SIZE: the number of waves, that of this one, and whether it is the first.
        assert_eq!(rest(&wave), [32, 2, 3, 4, 3 | id << 20 | u32::from(id == 0) << 31]);
    }
}

#[test]
fn waves_of_64_are_possible_on_gfx11() {
    let setup = setup(WAVE64, [40, 2, 2], [0; 3]).unwrap();
    assert!(!setup.decoded.code.wave32);
    assert_eq!(setup.items_of([0; 3]).waves.len(), 3);
    for (id, active) in [(0, !0), (1, !0), (2, 0xffff_ffff)] {
        let wave = begun(&setup, id, [0; 3]);
        assert_eq!((wave.all, wave.exec()), (!0, active), "wave {id}");
        assert_eq!(rest(&wave)[4], 3 | id << 20 | u32::from(id == 0) << 31);
    }
    // Work-item 64: x is 24, y 1. Work-item 130: x is 10, y 1, z 1.
    assert_eq!(begun(&setup, 1, [0; 3]).v(0).flat()[0], 24 | 1 << 10);
    assert_eq!(begun(&setup, 2, [0; 3]).v(0).flat()[2], 10 | 1 << 10 | 1 << 20);
}

#[test]
fn partial_workgroups_have_waves_of_32_too() {
    let setup = setup(WAVE32, [64, 1, 1], [33, 0, 0]).unwrap();
    assert_eq!(setup.items_of([2, 0, 0]).waves.len(), 2);
    assert_eq!(begun(&setup, 1, [2, 0, 0]).exec(), 1);
    assert_eq!(begun(&setup, 1, [1, 0, 0]).exec(), 0xffff_ffff);
    assert_eq!(setup.all_waves(), 2 * 3 * 5 * 7);
}

#[test]
fn user_sgprs_hold_addresses_and_flat_scratch_is_in_none() {
    let setup = setup(WAVE32, [32, 1, 1], [0; 3]).unwrap();
    let wave = begun(&setup, 0, [0; 3]);
    let packet = setup.block.range();
    let [dispatch, queue, kernarg, id] = std::array::from_fn(|n| wave.s64((2 * n) as u16));
    assert!(dispatch < queue && queue < kernarg, "{dispatch:#x} {queue:#x} {kernarg:#x}");
    assert_eq!(id, 0);
    // The packet: workgroup_size_x, group_segment_size, kernarg_address.
    assert_eq!(packet.load_u32(dispatch + 4).map(|size| size & 0xffff), Some(32));
    assert_eq!(packet.load_u32(dispatch + 28), Some(512));
    assert_eq!(packet.load_u32(dispatch + 40), Some(kernarg as u32));
    // s102 and s103, which are FLAT_SCRATCH on gfx942, are ordinary registers.
    assert!((SGPRS..106).all(|n| wave.s32(n as u16) == 0));
}

/// A kernel of a queue's packet finds what it gets where the queue has it, and interrupts the host.
#[test]
fn a_packet_of_a_queue_has_the_addresses() {
    let (program, space) = loaded(WAVE32);
    let dispatch = one_wave(0);
    static MESSAGES: AtomicU32 = AtomicU32::new(0);
    let at = QueuePacket {
        packet: 0x1000_0000_0000,
        queue: 0x1000_0000_1000,
        kernarg: 0x1000_0000_2000,
        on_message: || {
            MESSAGES.fetch_add(1, Ordering::Relaxed);
        },
        stop: Interrupt::new(),
    };
    let config = MachineConfig::default();
    let setup = DispatchSetup::new(&program.inner, &config, &space, &dispatch, [0; 3], Some(&at)).unwrap();
    let wave = begun(&setup, 0, [0; 3]);
    assert_eq!([0, 2, 4].map(|n| wave.s64(n)), [at.packet, at.queue, at.kernarg]);
    setup.host.as_ref().unwrap().serve();
    assert_eq!(MESSAGES.load(Ordering::Relaxed), 1);
    at.stop.end_dispatches();
    assert!(setup.interrupt.is_set() && !config.interrupt.is_set());
}

#[test]
fn the_machine_may_have_more_lds_than_the_codes_target() {
    let (program, space) = loaded(WAVE32);
    let dispatch = one_wave(100 << 10);
    let setup = |lds_bytes| {
        let config = MachineConfig { lds_bytes, ..MachineConfig::default() };
        DispatchSetup::new(&program.inner, &config, &space, &dispatch, [0; 3], None)
    };
    assert!(matches!(setup(None), Err(Error::InvalidLaunch { .. })));
    assert_eq!(setup(Some(MAX_LDS)).unwrap().dynamic_lds, 100 << 10);
}

#[test]
fn gfx11_keeps_the_other_half_in_loads_of_16_bits() {
    // `GCNSubtarget::d16PreservesUnusedBits`: only SRAM-ECC, which gfx11 doesn't have, loses it.
    let setup = setup(WAVE32, [32, 1, 1], [0; 3]).unwrap();
    assert_eq!(begun(&setup, 0, [0; 3]).d16_kept, !0);
}

#[test]
fn a_workgroup_has_up_to_32_waves_of_32() {
    let setup = setup(WAVE32, [1024, 1, 1], [0; 3]).unwrap();
    assert_eq!(setup.items_of([0; 3]).waves.len(), 32);
    assert_eq!(begun(&setup, 31, [0; 3]).v(0).flat()[31], 1023);
}

#[test]
fn gfx9_refuses_waves_of_32() {
    let lanes = |object, target| {
        let object = CodeObject::parse(object).unwrap();
        lanes_of_waves(&object.kernels()[0], target)
    };
    for target in Target::VERIFIED {
        assert_eq!(lanes(WAVE64, target).unwrap(), 64);
        match lanes(WAVE32, target) {
            Ok(lanes) => assert!(lanes == 32 && target.is_rdna(), "{target:?}"),
            Err(Error::InvalidLaunch { kernel, reason }) => {
                assert!(kernel == "initial" && !target.is_rdna());
                let processor = target.processor();
                assert_eq!(
                    reason,
                    format!("it is compiled for waves of 32 lanes; those of {processor} have 64")
                );
            }
            Err(error) => panic!("{error}"),
        }
    }
}
