//! Accesses past the end of a block of a divided allocation: every instruction that loads, stores or does an atomic.

use amdgpu_isa::{Encoding, Target};

use crate::exec::memory_model::{BufferFields, FlatFields, buffer, flat};
use crate::report::access::MemorySpace;
use crate::report::fault::FaultCause;
use crate::testing::test_wave::{TestWave, op};

/// Two blocks of 256 bytes that a pool would place side by side.
struct Rig {
    rig: TestWave,
    first: u64,
    second: u64,
}

impl Rig {
    fn new(target: Target) -> Rig {
        let rig = TestWave::new(target, crate::exec::level::SimdLevel::best());
        let first = rig.space.alloc(4096, 0).unwrap();
        rig.space.divide(first).unwrap();
        let second = first + 2 * 256;
        rig.space.blocks().add(first, 256);
        rig.space.blocks().add(second, 256);
        Rig { rig, first, second }
    }

    /// The instructions of an encoding that access global memory.
    fn names(&self, encoding: Encoding) -> Vec<&'static str> {
        let target = self.rig.target as usize;
        let rows = encoding.rows().iter().filter(|row| row.op[target] >= 0).map(|row| row.name);
        let accesses = |name: &str| ["_load", "_store", "_atomic"].iter().any(|kind| name.contains(kind));
        // Scratch is the lane's own. Loads to LDS have offsets of their own.
        rows.filter(|name| accesses(name) && !name.contains("scratch") && !name.contains("_lds_")).collect()
    }

    /// Runs an instruction whose first lane accesses `address`.
    fn run(&mut self, encoding: Encoding, name: &str, address: u64) -> Result<(), FaultCause> {
        let w = &mut self.rig.w;
        w.set_exec(1);
        w.v_mut(10).flat_mut()[0] = address as u32;
        w.v_mut(11).flat_mut()[0] = (address >> 32) as u32;
        // The base of scalar instructions, or a descriptor without stride and of as many records as there can be.
        w.set_s64(8, address);
        w.set_s64(10, 0x0002_7000_ffff_ffff);
        w.set_s32(6, 0);
        let words = match encoding {
            Encoding::Smem => {
                let op = op(encoding, name, self.rig.target);
                vec![0xc000_0000 | op << 18 | 1 << 17 | 32 << 6 | 8 / 2, 0]
            }
            Encoding::Mubuf | Encoding::Mtbuf => {
                let fields = BufferFields {
                    offset: 0,
                    address: 40,
                    data: 20,
                    resource: 8,
                    soffset: 6,
                    offen: false,
                    idxen: false,
                    glc: false,
                    lds: false,
                    format: (4, 4),
                };
                buffer(&self.rig, encoding, name, fields)
            }
            _ => {
                let fields = FlatFields {
                    offset: 0,
                    address: 10,
                    data: 20,
                    saddr: None,
                    dst: 30,
                    glc: false,
                    bit13: false,
                };
                flat(&self.rig, encoding, name, fields)
            }
        };
        self.rig.try_run(&words)
    }

    /// Instructions that run inside a block and fault behind its end; how many.
    fn check(&mut self, encoding: Encoding) -> usize {
        let names = self.names(encoding);
        for name in &names {
            for inside in [self.first, self.second] {
                if let Err(cause) = self.run(encoding, name, inside) {
                    panic!("{name} at {inside:#x}: {cause}");
                }
            }
            for outside in [self.first + 256, self.second + 256, self.second - 256] {
                match self.run(encoding, name, outside) {
                    Err(FaultCause::OutOfBounds { space: MemorySpace::Global, lanes, .. }) => {
                        assert_eq!(lanes[0].address, outside, "{name}");
                    }
                    other => panic!("{name} at {outside:#x}: {other:?}"),
                }
            }
        }
        names.len()
    }
}

fn check(encoding: Encoding, at_least: usize) {
    for target in Target::GFX9 {
        let run = Rig::new(target).check(encoding);
        assert!(run >= at_least, "{run} instructions of {encoding:?} on {target:?}");
    }
}

#[test]
fn global_accesses_past_a_block_fault() {
    check(Encoding::Global, 40);
}

#[test]
fn flat_accesses_past_a_block_fault() {
    check(Encoding::Flat, 40);
}

#[test]
fn buffer_accesses_past_a_block_fault() {
    check(Encoding::Mubuf, 40);
}

#[test]
fn typed_buffer_accesses_past_a_block_fault() {
    check(Encoding::Mtbuf, 8);
}

#[test]
fn scalar_accesses_past_a_block_fault() {
    check(Encoding::Smem, 10);
}

#[test]
fn an_access_that_begins_in_a_block_and_ends_behind_it_faults() {
    let mut rig = Rig::new(Target::Gfx90a);
    let address = rig.first + 252;
    rig.run(Encoding::Global, "global_store_dword", address).unwrap();
    for (encoding, name) in [
        (Encoding::Global, "global_store_dwordx2"),
        (Encoding::Flat, "flat_load_dwordx4"),
        (Encoding::Smem, "s_load_dwordx2"),
    ] {
        assert!(matches!(rig.run(encoding, name, address), Err(FaultCause::OutOfBounds { .. })), "{name}");
    }
}

#[test]
fn lanes_in_several_blocks_access_each_of_them() {
    let mut rig = Rig::new(Target::Gfx90a);
    for lane in 0..64 {
        let block = if lane % 2 == 0 { rig.first } else { rig.second };
        rig.rig.w.v_mut(10).flat_mut()[lane] = (block + 4 * lane as u64) as u32;
        rig.rig.w.v_mut(11).flat_mut()[lane] = (block >> 32) as u32;
        rig.rig.w.v_mut(20).flat_mut()[lane] = 100 + lane as u32;
    }
    let fields =
        FlatFields { offset: 0, address: 10, data: 20, saddr: None, dst: 30, glc: false, bit13: false };
    let words = flat(&rig.rig, Encoding::Global, "global_store_dword", fields);
    rig.rig.w.set_exec(!0);
    rig.rig.run(&words);
    for lane in 0..64u64 {
        let (block, mut value) = (if lane % 2 == 0 { rig.first } else { rig.second }, [0; 4]);
        rig.rig.space.read(block + 4 * lane, &mut value).unwrap();
        assert_eq!(u32::from_le_bytes(value), 100 + lane as u32);
    }
}
