//! For tests: a model of memory as plain byte arrays, the effect of loads and stores derived from their names, and
//! encoders of memory instructions.

use amdgpu_isa::{Encoding, Target};

use crate::exec::level::SimdLevel;
use crate::memory::apertures::{PRIVATE_BASE_HI, SHARED_BASE_HI};
use crate::state::wave::LANES;
use crate::testing::test_wave::{RDNA, Random, TestWave, null_of, op, operation};

/// The size of each lane's private memory in these tests, in bytes.
pub(crate) const SCRATCH: u32 = 96;
/// The size of LDS in these tests, in bytes.
pub(crate) const LDS: u32 = 4096;
/// The size of each of the two allocations in these tests, in bytes.
pub(crate) const GLOBAL: u64 = 2048;

/// A place in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// The number of an allocation, and the byte offset in it.
    Global(usize, usize),
    Lds(usize),
    /// The byte offset in the lane's private memory.
    Scratch(usize),
}

/// The expected contents of all memory that a wave can access.
#[derive(Clone, PartialEq)]
pub(crate) struct Model {
    pub(crate) bases: [u64; 2],
    pub(crate) global: [Vec<u8>; 2],
    pub(crate) lds: Vec<u8>,
    pub(crate) scratch: Vec<Vec<u8>>,
}

impl Model {
    fn bytes(&mut self, at: At, lane: usize) -> (&mut Vec<u8>, usize) {
        match at {
            At::Global(n, byte) => (&mut self.global[n], byte),
            At::Lds(byte) => (&mut self.lds, byte),
            At::Scratch(byte) => (&mut self.scratch[lane], byte),
        }
    }

    pub(crate) fn read(&mut self, at: At, lane: usize, size: usize) -> u128 {
        let (bytes, from) = self.bytes(at, lane);
        (0..size).map(|n| u128::from(bytes[from + n]) << (8 * n)).sum()
    }

    pub(crate) fn write(&mut self, at: At, lane: usize, size: usize, value: u128) {
        let (bytes, from) = self.bytes(at, lane);
        for n in 0..size {
            bytes[from + n] = (value >> (8 * n)) as u8;
        }
    }

    /// Returns the flat address of a place.
    pub(crate) fn address(&self, at: At) -> u64 {
        match at {
            At::Global(n, byte) => self.bases[n] + byte as u64,
            At::Lds(byte) => u64::from(SHARED_BASE_HI) << 32 | byte as u64,
            At::Scratch(byte) => u64::from(PRIVATE_BASE_HI) << 32 | byte as u64,
        }
    }
}

/// A wave with its memory, and the expected contents of that.
pub(crate) struct MemoryModel {
    pub(crate) rig: TestWave,
    pub(crate) model: Model,
    pub(crate) random: Random,
}

impl MemoryModel {
    pub(crate) fn new(target: Target, level: SimdLevel, seed: u64) -> MemoryModel {
        let mut rig = TestWave::new(target, level);
        let mut random = Random::new(seed);
        let bases = [(); 2].map(|()| rig.space.alloc(GLOBAL, 0).unwrap());
        rig.w.scratch.reset(SCRATCH);
        rig.cx.lds.reset(LDS);
        let mut bytes = |len: usize| (0..len).map(|_| random.next() as u8).collect::<Vec<u8>>();
        let model = Model {
            bases,
            global: [(); 2].map(|()| bytes(GLOBAL as usize)),
            lds: bytes(LDS as usize),
            scratch: (0..LANES).map(|_| bytes(SCRATCH as usize)).collect(),
        };
        let mut bench = MemoryModel { rig, model, random };
        bench.fill();
        bench
    }

    /// Whether the wave is of a device with SRAM-ECC.
    pub(crate) fn sram_ecc(&self) -> bool {
        self.rig.w.d16_kept == 0
    }

    /// Returns a model for each target and each SIMD level that the host has; of gfx90a one with and one without SRAM-ECC.
    pub(crate) fn all(seed: u64) -> impl Iterator<Item = MemoryModel> {
        let levels = SimdLevel::ALL.into_iter().filter(|level| level.is_available());
        let settings = [(true, Target::GFX9.as_slice()), (false, &[Target::Gfx90a])];
        levels.flat_map(move |level| {
            settings.into_iter().flat_map(move |(sram_ecc, targets)| {
                targets.iter().map(move |target| {
                    let mut model = MemoryModel::new(*target, level, seed);
                    model.rig.w.d16_kept = if sram_ecc { 0 } else { !0 };
                    model
                })
            })
        })
    }

    /// Returns the models of [`of_both_sizes`](MemoryModel::of_both_sizes) for the targets of gfx11.
    pub(crate) fn gfx11(seed: u64) -> impl Iterator<Item = MemoryModel> {
        MemoryModel::of_both_sizes(&Target::GFX11, seed)
    }

    /// Returns the models of [`of_both_sizes`](MemoryModel::of_both_sizes) for the targets of RDNA.
    pub(crate) fn rdna(seed: u64) -> impl Iterator<Item = MemoryModel> {
        MemoryModel::of_both_sizes(&RDNA, seed)
    }

    /// Returns models of waves of 64 and of 32 lanes, for each of some targets and each SIMD level that the host has.
    fn of_both_sizes(targets: &'static [Target], seed: u64) -> impl Iterator<Item = MemoryModel> {
        let levels = SimdLevel::ALL.into_iter().filter(|level| level.is_available());
        levels.flat_map(move |level| {
            targets.iter().copied().flat_map(move |target| {
                [false, true].map(|wave32| {
                    let mut model = MemoryModel::new(target, level, seed);
                    if wave32 {
                        let rig = TestWave::wave32(target, level);
                        let old = std::mem::replace(&mut model.rig, rig);
                        model.rig.space = old.space;
                        model.rig.cx.lds = old.cx.lds;
                        model.rig.w.scratch = old.w.scratch;
                    }
                    model
                })
            })
        })
    }

    /// Returns the models of the targets that have image instructions.
    pub(crate) fn images(seed: u64) -> impl Iterator<Item = MemoryModel> {
        let targets = &[Target::Gfx11, Target::Gfx115, Target::Gfx12, Target::Gfx103];
        let gfx9 = MemoryModel::all(seed).filter(|b| b.rig.target == Target::Gfx90a);
        gfx9.chain(MemoryModel::of_both_sizes(targets, seed))
    }

    /// Copies the model's memory to the wave's.
    pub(crate) fn fill(&mut self) {
        for n in 0..2 {
            self.rig.space.write(self.model.bases[n], &self.model.global[n]).unwrap();
        }
        self.rig.cx.lds.bytes_mut().copy_from_slice(&self.model.lds);
        for (lane, bytes) in self.model.scratch.iter().enumerate() {
            for (n, byte) in bytes.iter().enumerate() {
                self.rig.w.scratch.store(lane, n as u32, *byte).unwrap();
            }
        }
    }

    /// Compares the wave's memory with the model.
    pub(crate) fn check(&self, what: &str) {
        for n in 0..2 {
            let mut bytes = vec![0; GLOBAL as usize];
            self.rig.space.read(self.model.bases[n], &mut bytes).unwrap();
            assert!(bytes == self.model.global[n], "{what}: allocation {n} differs");
        }
        assert!(self.rig.cx.lds.bytes() == self.model.lds, "{what}: LDS differs");
        for (lane, bytes) in self.model.scratch.iter().enumerate() {
            for (n, byte) in bytes.iter().enumerate() {
                let got = self.rig.w.scratch.load::<u8>(lane, n as u32);
                assert_eq!(got, Some(*byte), "{what}: scratch of lane {lane} at {n}");
            }
        }
    }

    /// Returns the models of [`all`](MemoryModel::all) and of [`rdna`](MemoryModel::rdna).
    pub(crate) fn every(seed: u64) -> impl Iterator<Item = MemoryModel> {
        MemoryModel::all(seed).chain(MemoryModel::rdna(seed))
    }

    /// Returns a random EXEC: often all lanes of the wave, rarely none.
    pub(crate) fn exec(&mut self) -> u64 {
        let bits = self.random.next();
        let exec = match bits % 8 {
            0..3 => !0,
            3 => 1 << (bits >> 8 & 63),
            4 => self.random.next() & self.random.next() & self.random.next(),
            5 if bits >> 8 & 7 == 0 => 0,
            _ => self.random.next(),
        };
        exec & self.rig.w.all
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.random.next() % n as u64) as usize
    }

    /// Returns a random byte offset for each lane, so that `size` bytes are within `len`: the same, consecutive, or
    /// scattered with overlaps.
    pub(crate) fn places(&mut self, len: usize, size: usize, align: usize) -> [usize; LANES] {
        let room = len - size + 1;
        let round = |n: usize| n / align * align;
        let kind = self.below(6);
        let first = self.below(room);
        let unaligned = kind == 5;
        std::array::from_fn(|lane| match kind {
            0 => round(first),
            1 if size * LANES <= len => round(first % (len - size * LANES + 1)) + lane * size,
            2 if size * 16 <= len => round(first % (len - size * 16 + 1)) + (lane % 16) * size,
            3 => round((first + (lane / 16) * 64) % room),
            _ if unaligned => self.below(room),
            _ => round(self.below(room)),
        })
    }

    /// Fills registers with random values.
    pub(crate) fn scramble(&mut self, registers: std::ops::Range<u16>) {
        for register in registers {
            for lane in 0..LANES {
                self.rig.w.v_mut(register).flat_mut()[lane] = self.random.next() as u32;
            }
        }
    }

    pub(crate) fn set(&mut self, register: u16, lane: usize, value: u32) {
        self.rig.w.v_mut(register).flat_mut()[lane] = value;
    }

    pub(crate) fn set64(&mut self, register: u16, lane: usize, value: u64) {
        self.set(register, lane, value as u32);
        self.set(register + 1, lane, (value >> 32) as u32);
    }

    /// Returns `dwords` registers of a lane.
    pub(crate) fn get(&self, register: u16, lane: usize, dwords: usize) -> u128 {
        (0..dwords).map(|n| u128::from(self.rig.w.v(register + n as u16).flat()[lane]) << (32 * n)).sum()
    }

    /// Returns the mnemonics of an encoding that the target has, each with what it does ([`operation`]).
    pub(crate) fn operations(&self, encoding: Encoding) -> Vec<(&'static str, &'static str)> {
        let rows = encoding.rows().iter().filter(|row| row.opcode(self.rig.target).is_some());
        rows.map(|row| (row.name, operation(row))).collect()
    }

    /// Returns the mnemonics of an encoding that the target has.
    pub(crate) fn names(&self, encoding: Encoding) -> Vec<&'static str> {
        let target = self.rig.target as usize;
        encoding.rows().iter().filter(|row| row.op[target] >= 0).map(|row| row.name).collect()
    }
}

/// The data that a load or store moves, derived from its mnemonic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) load: bool,
    /// The number of bytes in memory.
    pub(crate) bytes: usize,
    pub(crate) signed: bool,
    /// If it accesses half a register: whether that is the high half.
    pub(crate) half: Option<bool>,
}

impl Shape {
    /// Returns the data of a mnemonic without its prefix, such as `load_dwordx2` or `read_u8_d16_hi`.
    pub(crate) fn of(name: &str) -> Option<Shape> {
        let (load, rest) = match name.split_once('_')? {
            ("load" | "read", rest) => (true, rest),
            ("store" | "write", rest) => (false, rest),
            _ => return None,
        };
        let (size, half) = match rest {
            _ if rest.ends_with("_d16_hi") => (rest.trim_end_matches("_d16_hi"), Some(true)),
            _ if rest.ends_with("_d16") => (rest.trim_end_matches("_d16"), Some(false)),
            _ => (rest, None),
        };
        let (bytes, signed) = match size {
            "ubyte" | "byte" | "u8" | "b8" => (1, false),
            "sbyte" | "i8" => (1, true),
            "ushort" | "short" | "u16" | "b16" => (2, false),
            "sshort" | "i16" => (2, true),
            "dword" | "b32" => (4, false),
            "dwordx2" | "b64" => (8, false),
            "dwordx3" | "b96" => (12, false),
            "dwordx4" | "b128" => (16, false),
            _ => return None,
        };
        Some(Shape { load, bytes, signed, half })
    }

    pub(crate) fn dwords(self) -> usize {
        self.bytes.div_ceil(4)
    }

    /// Returns the registers after a load, given memory and the registers before. With SRAM-ECC, a load of 16 bits writes its
    /// whole register: LLVM's `GCNSubtarget::d16PreservesUnusedBits` is false there, so that clang keeps nothing in the other
    /// half. That it becomes 0 is what rocBLAS's kernels need: Tensile joins the halves of two registers with an OR.
    pub(crate) fn loaded(self, memory: u128, old: u128, sram_ecc: bool) -> u128 {
        let old = if sram_ecc { 0 } else { old };
        if self.bytes >= 4 {
            return memory;
        }
        let bits = 8 * self.bytes as u32;
        let negative = self.signed && memory >> (bits - 1) & 1 != 0;
        let to = if self.half.is_some() { 16 } else { 32 };
        let extended = if negative { memory + (1 << to) - (1 << bits) } else { memory };
        match self.half {
            None => extended,
            Some(false) => old / 65536 * 65536 + extended,
            Some(true) => old % 65536 + extended * 65536,
        }
    }

    /// Returns what a store of these registers writes.
    pub(crate) fn stored(self, registers: u128) -> u128 {
        if self.half == Some(true) { registers >> 16 } else { registers }
    }
}

/// Encodes DS.
pub(crate) fn ds(
    rig: &TestWave,
    name: &str,
    offset: u32,
    address: u32,
    data: [u32; 2],
    dst: u32,
) -> [u32; 2] {
    let op = op(Encoding::Ds, name, rig.target);
    let at = if rig.target.is_rdna() { 18 } else { 17 };
    [0xd800_0000 | op << at | offset, address | data[0] << 8 | data[1] << 16 | dst << 24]
}

/// The fields of FLAT, GLOBAL and SCRATCH.
#[derive(Clone, Copy)]
pub(crate) struct FlatFields {
    pub(crate) offset: i32,
    pub(crate) address: u32,
    pub(crate) data: u32,
    pub(crate) saddr: Option<u32>,
    pub(crate) dst: u32,
    pub(crate) glc: bool,
    /// Bit 13: LDS; of SCRATCH on gfx942 and later, that there is a vaddr.
    pub(crate) bit13: bool,
}

pub(crate) fn flat(rig: &TestWave, encoding: Encoding, name: &str, f: FlatFields) -> Vec<u32> {
    let segment = match encoding {
        Encoding::Flat => 0,
        Encoding::Scratch => 1,
        _ => 2,
    };
    let op = op(encoding, name, rig.target);
    if rig.target.is_gfx12() {
        return vec![
            0xec00_0000 | segment << 24 | op << 14 | f.saddr.unwrap_or(0x7c),
            f.dst | u32::from(f.bit13) << 17 | u32::from(f.glc) << 20 | f.data << 23,
            f.address | (f.offset as u32) << 8,
        ];
    }
    if rig.target.is_gfx11() {
        return vec![
            0xdc00_0000 | op << 18 | segment << 16 | f.offset as u32 & 0x1fff | u32::from(f.glc) << 14,
            f.address | f.data << 8 | f.saddr.unwrap_or(0x7c) << 16 | u32::from(f.bit13) << 23 | f.dst << 24,
        ];
    }
    let low = 0xdc00_0000 | op << 18 | segment << 14;
    if rig.target.is_gfx10() {
        // There is a vaddr in SCRATCH unless there is an saddr. 0x7f says that there is neither.
        let saddr = match f.saddr {
            Some(saddr) => saddr,
            None if encoding == Encoding::Scratch && !f.bit13 => 0x7f,
            None => null_of(rig.target),
        };
        let low = low | f.offset as u32 & 0xfff | u32::from(f.glc) << 16;
        return vec![low, f.address | f.data << 8 | saddr << 16 | f.dst << 24];
    }
    let low = low | f.offset as u32 & 0x1fff;
    let saddr = f.saddr.unwrap_or(0x7f);
    vec![
        low | u32::from(f.glc) << 16 | u32::from(f.bit13) << 13,
        f.address | f.data << 8 | saddr << 16 | f.dst << 24,
    ]
}

/// The fields of MUBUF and MTBUF.
#[derive(Clone, Copy)]
pub(crate) struct BufferFields {
    pub(crate) offset: u32,
    pub(crate) address: u32,
    pub(crate) data: u32,
    /// The first SGPR of the descriptor.
    pub(crate) resource: u32,
    pub(crate) soffset: u32,
    pub(crate) offen: bool,
    pub(crate) idxen: bool,
    pub(crate) glc: bool,
    pub(crate) lds: bool,
    /// The data format and the number format of MTBUF; on RDNA its only format, and nothing.
    pub(crate) format: (u32, u32),
}

pub(crate) fn buffer(rig: &TestWave, encoding: Encoding, name: &str, f: BufferFields) -> Vec<u32> {
    let op = op(encoding, name, rig.target);
    if rig.target.is_gfx12() {
        // The offset's register can't be an inline constant: NULL reads 0.
        let soffset = if f.soffset == 128 { 0x7c } else { f.soffset };
        let format = if encoding == Encoding::Mtbuf { f.format.0 } else { 0 };
        return vec![
            encoding.first_dword(rig.target, op, soffset),
            f.data
                | f.resource << 9
                | u32::from(f.glc) << 20
                | format << 23
                | u32::from(f.offen) << 30
                | u32::from(f.idxen) << 31,
            f.address | f.offset << 8,
        ];
    }
    if rig.target.is_gfx11() {
        let low = match encoding {
            Encoding::Mtbuf => 0xe800_0000 | op << 15 | f.format.0 << 19,
            _ => 0xe000_0000 | op << 18,
        };
        let high = f.address | f.data << 8 | f.resource / 4 << 16 | f.soffset << 24;
        return vec![
            low | f.offset | u32::from(f.glc) << 14,
            high | u32::from(f.offen) << 22 | u32::from(f.idxen) << 23,
        ];
    }
    if rig.target.is_gfx10() {
        let format = if encoding == Encoding::Mtbuf { f.format.0 << 19 } else { u32::from(f.lds) << 16 };
        let flags = u32::from(f.offen) << 12 | u32::from(f.idxen) << 13 | u32::from(f.glc) << 14;
        // The highest bit of MTBUF's opcode is in the second dword.
        let opcode = if encoding == Encoding::Mtbuf { op >> 3 << 21 } else { 0 };
        return vec![
            encoding.first_dword(rig.target, op, f.offset | flags | format),
            f.address | f.data << 8 | f.resource / 4 << 16 | f.soffset << 24 | opcode,
        ];
    }
    let bits = f.offset | u32::from(f.offen) << 12 | u32::from(f.idxen) << 13 | u32::from(f.glc) << 14;
    let low = match encoding {
        Encoding::Mtbuf => 0xe800_0000 | op << 15 | f.format.0 << 19 | f.format.1 << 23,
        _ => 0xe000_0000 | op << 18 | u32::from(f.lds) << 16,
    };
    vec![low | bits, f.address | f.data << 8 | f.resource / 4 << 16 | f.soffset << 24]
}
