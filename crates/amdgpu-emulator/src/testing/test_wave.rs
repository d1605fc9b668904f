//! Encodes instructions by name, and runs them on one wave.

use std::sync::{Arc, OnceLock};

use amdgpu_isa::{Encoding, Isa, Row, Target};

use crate::exec::inst::{Code, ExecContext, StopReason, isa};
use crate::exec::interpret::run_wave;
use crate::exec::level::SimdLevel;
use crate::exec::notices::Notices;
use crate::memory::lds::{Lds, max_lds};
use crate::memory::{AddressSpace, DispatchMemory, View};
use crate::report::fault::FaultCause;
use crate::state::gws::Gws;
use crate::state::wave::{POOL, Wave};

/// The guest address of the code.
pub(crate) const CODE: u64 = 0x1234_0000;

/// The verified targets of the RDNA family, whose waves have 32 or 64 lanes.
pub(crate) const RDNA: [Target; 4] = [Target::Gfx11, Target::Gfx115, Target::Gfx12, Target::Gfx103];

/// `s_endpgm` of gfx9.
pub(crate) const END: u32 = 0xbf81_0000;

/// Returns `s_endpgm` of a target.
pub(crate) fn end_of(target: Target) -> u32 {
    if target.has_gfx11_instructions() { 0xbfb0_0000 } else { END }
}

/// Returns the code of the register NULL on RDNA, and that of M0. gfx11 exchanged them.
pub(crate) fn null_and_m0(target: Target) -> (u32, u32) {
    if target.is_gfx10() { (125, 124) } else { (124, 125) }
}

/// Returns the code of NULL.
pub(crate) fn null_of(target: Target) -> u32 {
    null_and_m0(target).0
}

/// Returns the name of an operation: what a row does, under its name on gfx9 if gfx9 has it.
pub(crate) fn operation(row: &Row) -> &'static str {
    let is_of_rdna =
        |row: &Row| Target::ALL.into_iter().any(|target| target.is_rdna() && row.opcode(target).is_some());
    if !is_of_rdna(row) {
        return row.name;
    }
    let mut rows = Encoding::ALL.into_iter().flat_map(Encoding::rows);
    rows.find(|other| other.mnemonic == row.mnemonic && !is_of_rdna(other))
        .map_or(row.name, |first| first.name)
}

/// Returns the opcode of a mnemonic.
pub(crate) fn op(encoding: Encoding, name: &str, target: Target) -> u32 {
    let row = encoding.rows().iter().find(|row| row.name == name && row.op[target as usize] >= 0);
    row.unwrap_or_else(|| panic!("{name} is no {encoding:?} instruction of {target:?}")).op[target as usize]
        as u32
}

/// Returns amdgpu-isa's list of encodings and their texts, which LLVM generated. The tests there describe its lines.
pub(crate) fn disassembly() -> &'static str {
    static LIST: OnceLock<String> = OnceLock::new();
    LIST.get_or_init(|| {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../amdgpu-isa/tests/data/disassembly.txt");
        std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"))
    })
}

/// Returns whether a line of [`disassembly`] is about a target. A line begins with `all`, or with the targets' numbers.
pub(crate) fn is_for(line: &str, target: Target) -> bool {
    let number = ["90a", "942", "950"][target as usize];
    let targets = line.split(' ').next().unwrap_or("");
    targets == "all" || targets.split(',').any(|of| of == number)
}

/// A wave with all lanes active, all registers zero, and the largest LDS.
pub(crate) struct TestWave {
    pub(crate) w: Wave,
    pub(crate) cx: ExecContext,
    pub(crate) space: AddressSpace,
    pub(crate) target: Target,
    pub(crate) level: SimdLevel,
    /// The number of instructions after which a run ends.
    pub(crate) budget: u64,
}

impl TestWave {
    pub(crate) fn new(target: Target, level: SimdLevel) -> TestWave {
        let space = AddressSpace::new(1 << 30);
        let block = Arc::new(DispatchMemory::new(0x1000, 0x1000).unwrap());
        let mem = View::new(space.snapshot(), block, space.blocks().capture());
        let code = Arc::new(Code::decode(&[end_of(target)], CODE, &[], target, false, level));
        let mut lds = Lds::new();
        lds.reset(max_lds(target));
        let mut w = Wave::new();
        w.set_exec(!0);
        TestWave {
            w,
            cx: ExecContext {
                code,
                mem,
                lds,
                fault: None,
                count: 0,
                ticks: 0,
                workgroup: [0; 3],
                host: None,
                barrier: crate::state::barrier::SplitBarrier::of(1),
                gws: Arc::new(Gws::new(crate::state::gws::counter_table(), 1)),
                notices: Notices::default(),
            },
            space,
            target,
            level,
            budget: u64::MAX,
        }
    }

    /// Returns a wave of 32 lanes.
    pub(crate) fn wave32(target: Target, level: SimdLevel) -> TestWave {
        let mut wave = TestWave::new(target, level);
        wave.w.all = u64::from(u32::MAX);
        wave
    }

    /// Returns waves of each target at the widest level, on RDNA of both sizes.
    pub(crate) fn every() -> impl Iterator<Item = TestWave> {
        let level = SimdLevel::best();
        let large = Target::VERIFIED.into_iter().map(move |target| TestWave::new(target, level));
        large.chain(RDNA.into_iter().map(move |target| TestWave::wave32(target, level)))
    }

    /// Returns the instruction set.
    pub(crate) fn isa(&self) -> Isa {
        isa(self.target, self.w.all >> 63 == 0)
    }

    /// Returns the number of lanes.
    pub(crate) fn lanes(&self) -> usize {
        self.w.all.count_ones() as usize
    }

    /// Returns a wave for gfx90a, at the widest level.
    pub(crate) fn gfx90a() -> TestWave {
        TestWave::new(Target::Gfx90a, SimdLevel::best())
    }

    /// Runs `words` and an `s_endpgm` to the end.
    pub(crate) fn run(&mut self, words: &[u32]) {
        if let Err(fault) = self.try_run(words) {
            panic!("{words:08x?}: {fault:?}");
        }
    }

    /// Runs `words` and an `s_endpgm` to the end, a fault, or where the wave waits for others (`Wave::wait`).
    pub(crate) fn try_run(&mut self, words: &[u32]) -> Result<(), FaultCause> {
        let mut words = words.to_vec();
        words.push(end_of(self.target));
        let wave32 = self.w.all >> 63 == 0;
        let code = Code::decode(&words, CODE, &[], self.target, wave32, self.level);
        let pool = usize::from(POOL);
        self.w.r.s[pool..pool + code.pool.len()].copy_from_slice(&code.pool);
        self.w.next = 0;
        self.cx.code = Arc::new(code);
        let block = Arc::new(DispatchMemory::new(0x1000, 0x1000).unwrap());
        self.cx.mem = View::new(self.space.snapshot(), block, self.space.blocks().capture());
        let start = self.w.count;
        loop {
            let code = std::sync::Arc::clone(&self.cx.code);
            match run_wave(&mut self.w, &mut self.cx, &code, self.budget.min(1_000_000)) {
                StopReason::Slice | StopReason::Barrier if self.w.count - start > self.budget => {
                    return Ok(());
                }
                StopReason::Slice | StopReason::Barrier => {}
                StopReason::Wait => return Ok(()),
                StopReason::End => {
                    self.record(words.len() - 1);
                    return Ok(());
                }
                StopReason::Fault => return Err(self.cx.fault.take().unwrap()),
            }
        }
    }

    /// Records the instructions before dword `end` for the instruction coverage.
    fn record(&self, end: usize) {
        for inst in self.cx.code.insts.iter().filter(|inst| (inst.pc as usize) < end) {
            super::tally::record(inst.row, self.target, self.level);
            // The other half of VOPD.
            if let Some(second) = inst.ext.as_ref().and_then(|ext| ext.second.as_ref()) {
                super::tally::record(second.row, self.target, self.level);
            }
        }
    }

    /// Encodes a SOP2 instruction. Operands are the hardware's codes.
    pub(crate) fn sop2(&self, name: &str, dst: u32, a: u32, b: u32) -> u32 {
        0x8000_0000 | op(Encoding::Sop2, name, self.target) << 23 | dst << 16 | b << 8 | a
    }

    pub(crate) fn sop1(&self, name: &str, dst: u32, a: u32) -> u32 {
        0xbe80_0000 | dst << 16 | op(Encoding::Sop1, name, self.target) << 8 | a
    }

    pub(crate) fn sopc(&self, name: &str, a: u32, b: u32) -> u32 {
        0xbf00_0000 | op(Encoding::Sopc, name, self.target) << 16 | b << 8 | a
    }

    pub(crate) fn sopk(&self, name: &str, dst: u32, imm: u16) -> u32 {
        0xb000_0000 | op(Encoding::Sopk, name, self.target) << 23 | dst << 16 | u32::from(imm)
    }

    pub(crate) fn sopp(&self, name: &str, imm: u16) -> u32 {
        0xbf80_0000 | op(Encoding::Sopp, name, self.target) << 16 | u32::from(imm)
    }

    /// Encodes an SMEM instruction with the base in a pair of SGPRs and a signed offset.
    pub(crate) fn smem(&self, name: &str, data: u32, base: u32, offset: i32) -> [u32; 2] {
        let op = op(Encoding::Smem, name, self.target);
        if self.target.is_gfx12() {
            return [0xf400_0000 | op << 13 | data << 6 | base >> 1, offset as u32 & 0xff_ffff | 0x7c << 25];
        }
        if self.target.is_rdna() {
            // No register has an offset.
            let first = Encoding::Smem.first_dword(self.target, op, data << 6 | base >> 1);
            return [first, offset as u32 & 0x1f_ffff | null_of(self.target) << 25];
        }
        [0xc000_0000 | op << 18 | 1 << 17 | data << 6 | base >> 1, offset as u32 & 0x1f_ffff]
    }
}

/// A generator of random numbers for tests.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        // splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns an integer of any size. Small ones, powers of two and their neighbours are frequent.
    pub(crate) fn int(&mut self) -> u64 {
        let bits = self.next();
        match bits % 8 {
            0 => bits >> 3 & 3,
            1 => (1u64 << (bits >> 3 & 63)).wrapping_sub(bits >> 9 & 1),
            2 => !(bits >> 3 & 3),
            3 => (bits >> 32) | 0x8000_0000_8000_0000,
            4 => self.next() >> (bits >> 3 & 63),
            _ => self.next(),
        }
    }
}
