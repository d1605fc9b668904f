//! The registers that each instruction reads and writes.
//!
//! EXEC, M0 and SCC are left out where an instruction uses them without naming them: no compiler loads them from
//! memory.

use amdgpu_isa::flags::{
    ACC, BY_LANE, COMPARE, DESCRIPTOR, DST_IN, DST_KEPT, F8F6F4, GWS, MASK_IN, MATRIX, SDST, SGPR_DST,
    SPARSE, WMMA,
};
use amdgpu_isa::{Encoding, Row, Target, Ty, fields};

use crate::exec::image;
use crate::exec::inst::{Inst, NONE, flag};
use crate::exec::operand::Operand;
use crate::observe::class::access;
use crate::report::access::AccessKind;
use crate::state::wave::{AGPR, Wave, lanes_of, sreg};

/// The number of the first scalar register. Vector registers come before: VGPRs, then AGPRs.
pub(crate) const SCALAR: u16 = 512;
/// The number of vector and scalar registers.
pub(crate) const REGISTERS: u16 = SCALAR + 128;

/// Consecutive registers that an instruction reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RegisterUse {
    /// The first register: a vector register's index in `Regs::v`, or [`SCALAR`] plus a scalar register's number.
    pub(crate) first: u16,
    pub(crate) count: u8,
    pub(crate) is_write: bool,
}

impl RegisterUse {
    /// Returns the registers' numbers.
    pub(crate) fn registers(self) -> std::ops::Range<u16> {
        self.first..self.first + u16::from(self.count)
    }

    pub(crate) fn is_scalar(self) -> bool {
        self.first >= SCALAR
    }
}

/// A set of registers: a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RegisterSet([u64; REGISTERS.div_ceil(64) as usize]);

impl RegisterSet {
    /// Returns the index of the first word with bits of registers, and the bits from there on. An operand has at most 64.
    fn bits(registers: RegisterUse) -> (usize, u128) {
        let mask = (1u128 << registers.count.min(64)) - 1;
        (usize::from(registers.first / 64), mask << (registers.first % 64))
    }

    pub(crate) fn insert(&mut self, registers: RegisterUse) {
        let (first, mask) = RegisterSet::bits(registers);
        for (word, mask) in self.0.iter_mut().skip(first).zip([mask as u64, (mask >> 64) as u64]) {
            *word |= mask;
        }
    }

    pub(crate) fn remove(&mut self, register: u16) {
        if let Some(word) = self.0.get_mut(usize::from(register / 64)) {
            *word &= !(1 << (register % 64));
        }
    }

    /// Returns whether some of these registers are in the set.
    pub(crate) fn intersects(&self, registers: RegisterUse) -> bool {
        let (first, mask) = RegisterSet::bits(registers);
        let word = |n: usize| self.0.get(n).map_or(0, |word| u128::from(*word));
        (word(first) | word(first + 1) << 64) & mask != 0
    }
}

/// The largest number of operands of an instruction: the two halves of VOPD have this many.
const MAX_OPERANDS: usize = 10;

/// The lanes of vector registers that an instruction reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LaneUse {
    /// The active lanes.
    #[default]
    Active,
    /// All lanes: matrix instructions ignore EXEC.
    All,
    /// The first active lane, or lane 0: `v_readfirstlane`, global wave sync.
    First,
    /// The lane that the second source gives: `v_readlane`, `v_writelane`.
    Selected,
}

/// The registers that an instruction reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Operands {
    uses: [RegisterUse; MAX_OPERANDS],
    count: u8,
    /// Waves have 32 lanes, so that a mask is one register.
    wave32: bool,
    pub(crate) lanes: LaneUse,
    /// The registers depend on M0 (`s_movrels`, `s_movreld`), and must be found when the instruction is executed.
    pub(crate) is_indexed: bool,
}

impl Operands {
    /// Returns the operands of an instruction of waves of 32 or 64 lanes. Those that a wave's mode or M0 moves are given where the
    /// encoding has them.
    pub(crate) fn of(i: &Inst, wave32: bool) -> Operands {
        let mut operands = Operands { wave32, ..Operands::default() };
        if i.flags & flag::ILLEGAL == 0 {
            operands.add(i);
        }
        operands
    }

    /// Returns each operand.
    pub(crate) fn uses(&self) -> &[RegisterUse] {
        self.uses.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// Returns the result: the first registers that are written.
    pub(crate) fn result(&self) -> Option<RegisterUse> {
        self.uses().iter().copied().find(|operand| operand.is_write)
    }

    /// Returns the mask of the lanes of vector registers that `w` reads and writes when it executes `i` next.
    pub(crate) fn lanes(&self, w: &Wave, i: &Inst) -> u64 {
        match self.lanes {
            LaneUse::Active => w.exec(),
            LaneUse::All => !0,
            LaneUse::First => 1 << lanes_of(w.exec()).next().unwrap_or(0),
            LaneUse::Selected => {
                let i = i.ext.as_ref().map_or(i, |ext| &ext.inner);
                1 << (w.s32(i.src[1]) & (w.all.count_ones() - 1))
            }
        }
    }

    /// Moves the operands of `s_movrels` and `s_movreld` to the registers that M0 selects.
    pub(crate) fn indexed(mut self, w: &Wave, i: &Inst) -> Operands {
        let moves_result = matches!(i.row.name, "s_movreld_b32" | "s_movreld_b64");
        let moves_both = i.row.name == "s_movrelsd_2_b32";
        for operand in self.uses.iter_mut().take(self.count.into()) {
            if operand.is_write == moves_result || moves_both {
                let m0 = match (moves_both, operand.is_write) {
                    (true, false) => w.s32(sreg::M0) & 0x3ff,
                    (true, true) => w.s32(sreg::M0) >> 16 & 0x3ff,
                    (false, _) => w.s32(sreg::M0),
                };
                let m0 = m0.min(u32::from(REGISTERS)) as u16;
                operand.first = (operand.first + m0).min(REGISTERS);
                operand.count = operand.count.min((REGISTERS - operand.first) as u8);
            }
        }
        self
    }

    /// Returns the number of registers of a mask of lanes.
    fn mask_dwords(&self) -> u8 {
        if self.wave32 { 1 } else { 2 }
    }

    /// Returns the number of registers of an operand.
    fn dwords(&self, ty: Ty) -> u8 {
        if ty == Ty::Mask { self.mask_dwords() } else { ty.dwords() }
    }

    fn push(&mut self, first: u16, count: u8, is_write: bool) {
        let end = if first < SCALAR { SCALAR } else { REGISTERS };
        let count = u16::from(count).min(end.saturating_sub(first)) as u8;
        if count > 0
            && let Some(to) = self.uses.get_mut(usize::from(self.count))
        {
            *to = RegisterUse { first, count, is_write };
            self.count += 1;
        }
    }

    fn read_vector(&mut self, register: u16, count: u8) {
        if register < SCALAR {
            self.push(register, count, false);
        }
    }

    fn write_vector(&mut self, register: u16, count: u8) {
        if register < SCALAR {
            self.push(register, count, true);
        }
    }

    /// Adds a scalar source. Constants are not registers.
    fn read_scalar(&mut self, register: u16, count: u8) {
        match register {
            0..128 => self.push(SCALAR + register, count, false),
            sreg::VCCZ => self.push(SCALAR + sreg::VCC, self.mask_dwords(), false),
            _ => {}
        }
    }

    fn write_scalar(&mut self, register: u16, count: u8) {
        if register < 128 {
            self.push(SCALAR + register, count, true);
        }
    }

    fn add(&mut self, i: &Inst) {
        let Some(encoding) = i.row.encoding() else { return };
        // A wrapper that only prepares scalars has no operands of its own.
        let inner = i.ext.as_ref().map_or(i, |ext| &ext.inner);
        match encoding {
            Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopk | Encoding::Sopc => self.scalar(inner),
            Encoding::Sopp if matches!(i.row.name, "s_cbranch_vccz" | "s_cbranch_vccnz") => {
                self.read_scalar(sreg::VCC, self.mask_dwords());
            }
            Encoding::Mimg => self.image(inner),
            Encoding::Sopp => {}
            Encoding::Smem => self.scalar_memory(inner),
            Encoding::Vop1
            | Encoding::Vop2
            | Encoding::Vopc
            | Encoding::Vop3
            | Encoding::Vop3p
            | Encoding::Vopd => self.vector(i),
            Encoding::Ds => self.lds(inner),
            Encoding::Flat | Encoding::Global | Encoding::Scratch => self.flat(encoding, inner),
            Encoding::Mubuf | Encoding::Mtbuf => self.buffer(inner),
        }
    }

    fn scalar(&mut self, i: &Inst) {
        for (register, ty) in i.src.into_iter().zip(i.row.src) {
            self.read_scalar(register, ty.dwords());
        }
        if i.row.is(ACC) {
            self.read_scalar(i.dst, i.row.dst.dwords());
        }
        if i.row.is(DST_IN) {
            self.read_scalar(i.dst, i.row.dst.dwords());
        }
        if !i.row.is(DST_KEPT) {
            self.write_scalar(i.dst, i.row.dst.dwords());
        }
        self.is_indexed = matches!(
            i.row.name,
            "s_movrels_b32" | "s_movrels_b64" | "s_movreld_b32" | "s_movreld_b64" | "s_movrelsd_2_b32"
        );
    }

    fn scalar_memory(&mut self, i: &Inst) {
        let name = i.row.name;
        let access = access(i.row);
        if access.is_none() && !matches!(name, "s_atc_probe" | "s_atc_probe_buffer") {
            // Clocks have a result; cache control has no operands, except for the address of `s_dcache_discard`.
            if matches!(name, "s_dcache_discard" | "s_dcache_discard_x2") {
                self.read_scalar(i.src[0], 2);
                self.read_scalar(i.sdst, 1);
            }
            self.write_scalar(i.dst, i.row.dst.dwords());
            return;
        }
        let base = if i.row.is(DESCRIPTOR) { 4 } else { 2 };
        self.read_scalar(i.src[0], base);
        self.read_scalar(i.sdst, 1);
        self.read_scalar(i.dst, i.row.src[0].dwords());
        match access {
            Some(AccessKind::Read) => self.write_scalar(i.dst, i.row.dst.dwords()),
            Some(AccessKind::Atomic) if i.flags & flag::GLC != 0 => {
                let data = i.row.src[0].dwords();
                self.write_scalar(i.dst, if i.row.is(COMPARE) { data / 2 } else { data });
            }
            _ => {}
        }
    }

    fn vector(&mut self, i: &Inst) {
        let row = i.row;
        if let Some(ext) = &i.ext
            && let Some(second) = &ext.second
        {
            self.vector(&ext.inner);
            return self.vector(second);
        }
        // The formats of the elements of A and B determine how many registers they have.
        let formats = row.is(F8F6F4).then(|| {
            let fields = fields::Mai::of(Target::Gfx90a, u64::from(i.raw[0]) | u64::from(i.raw[1]) << 32);
            [fields.a_type(), fields.b_type()]
        });
        let ty = |n: usize| match row.src[n] {
            _ if n < 2 && formats.is_some() => formats.map_or(Ty::None, |formats| formats[n]),
            Ty::None if row.flags & ACC != 0 => row.dst,
            Ty::None if row.flags & MASK_IN != 0 => Ty::Mask,
            ty => self.matrix_part(row, n, ty),
        };
        let types: [Ty; 3] = std::array::from_fn(ty);
        let inner = i.ext.as_ref().map_or(i, |ext| &ext.inner);
        if row.name == "v_accvgpr_read_b32" {
            self.read_vector(inner.src[0], 1);
        } else {
            for n in 0..3 {
                match i.ext.as_ref().and_then(|ext| ext.fixes[n].as_ref()) {
                    Some(fix) => match fix.from {
                        Operand::Vector(v) => self.read_vector(v, fix.ty.dwords()),
                        Operand::Scalar(s) => self.read_scalar(s, fix.ty.dwords()),
                        Operand::None => {}
                    },
                    None if inner.src[n] == NONE => {}
                    None if inner.flags >> n & 1 != 0 => {
                        self.read_vector(inner.src[n], self.dwords(types[n]))
                    }
                    None => self.read_scalar(inner.src[n], self.dwords(types[n])),
                }
            }
        }
        if matches!(row.name, "v_div_fmas_f32" | "v_div_fmas_f64") {
            self.read_scalar(sreg::VCC, self.mask_dwords());
        }
        if row.is(SPARSE) {
            self.read_vector(inner.dst, self.matrix_part(row, 2, row.dst).dwords());
        }
        if matches!(row.name, "v_swap_b32" | "v_permlane16_swap_b32" | "v_permlane32_swap_b32") {
            self.read_vector(inner.dst, 1);
            self.write_vector(inner.src[0], 1);
        }
        let dst = i.ext.as_ref().and_then(|ext| ext.post.as_ref()).map_or(inner.dst, |post| post.dst);
        if row.dst == Ty::Mask {
            self.write_scalar(inner.sdst, self.mask_dwords());
        } else if row.flags & SGPR_DST != 0 {
            self.write_scalar(dst, 1);
        } else {
            self.write_vector(dst, self.matrix_part(row, 2, row.dst).dwords());
            if row.flags & SDST != 0 {
                self.write_scalar(inner.sdst, self.mask_dwords());
            }
        }
        self.lanes = match row.name {
            "v_readfirstlane_b32" => LaneUse::First,
            "v_readlane_b32" | "v_writelane_b32" => LaneUse::Selected,
            _ if row.is(MATRIX | WMMA) => LaneUse::All,
            _ => LaneUse::Active,
        };
    }

    /// Returns the type of source `n`: of the third of WMMA half as many registers in a wave of 64, on gfx12 of each.
    fn matrix_part(&self, row: &Row, n: usize, ty: Ty) -> Ty {
        let is_shared = n == 2 || row.opcode(Target::Gfx12).is_some();
        if row.is(WMMA) && is_shared && !self.wave32 { Ty::Wide(ty.dwords().div_ceil(2)) } else { ty }
    }

    fn lds(&mut self, i: &Inst) {
        if i.row.is(GWS) {
            // The data is where other instructions have the address.
            let data = if i.raw[0] >> 25 & 1 != 0 { AGPR } else { 0 };
            self.read_vector(i.src[0] + data, i.row.src[0].dwords());
            self.lanes = LaneUse::First;
            return;
        }
        for (register, ty) in i.src.into_iter().zip(i.row.src) {
            self.read_vector(register, ty.dwords());
        }
        self.write_vector(i.dst, i.row.dst.dwords());
    }

    /// Adds the data and the result of a vector memory instruction.
    fn data(&mut self, i: &Inst) {
        match access(i.row) {
            Some(AccessKind::Read) if i.flags & flag::LDS == 0 => {
                self.write_vector(i.dst, i.row.dst.dwords());
            }
            Some(AccessKind::Read) | None => {}
            Some(AccessKind::Write) => self.read_vector(i.src[1], i.row.src[0].dwords()),
            Some(AccessKind::Atomic) => {
                self.read_vector(i.src[1], i.row.src[0].dwords());
                if i.flags & flag::GLC != 0 {
                    self.write_vector(i.dst, i.row.dst.dwords());
                }
            }
        }
    }

    fn flat(&mut self, encoding: Encoding, i: &Inst) {
        match encoding {
            Encoding::Scratch => {
                if i.flags & flag::VADDR != 0 {
                    self.read_vector(i.src[0], 1);
                }
                self.read_scalar(i.sdst, 1);
            }
            _ if i.row.is(BY_LANE) => self.read_scalar(i.sdst, 2),
            _ if i.sdst == NONE => self.read_vector(i.src[0], 2),
            _ => {
                self.read_vector(i.src[0], 1);
                self.read_scalar(i.sdst, 2);
            }
        }
        self.data(i);
    }

    fn buffer(&mut self, i: &Inst) {
        if access(i.row).is_none() {
            return;
        }
        let addresses = [flag::OFFEN, flag::IDXEN].into_iter().filter(|flag| i.flags & flag != 0).count();
        self.read_vector(i.src[0], addresses as u8);
        self.read_scalar(i.src[2], 4);
        self.read_scalar(i.sdst, 1);
        self.data(i);
    }

    fn image(&mut self, i: &Inst) {
        let f = image::fields_of(i);
        for register in image::address_registers(i, &f) {
            self.read_vector(register, 1);
        }
        self.read_scalar(i.src[2], if f.r128 { 4 } else { 8 });
        if i.sdst != NONE {
            self.read_scalar(i.sdst, 4);
        }
        let data = image::data_registers(i, &f) as u8;
        match access(i.row) {
            // `image_get_resinfo` and `image_get_lod` access no memory, but have a result.
            Some(AccessKind::Read) | None => self.write_vector(i.dst, data),
            Some(AccessKind::Write) => self.read_vector(i.src[1], data),
            Some(AccessKind::Atomic) => {
                self.read_vector(i.src[1], data);
                if i.flags & flag::GLC != 0 {
                    self.write_vector(i.dst, image::result_registers(i, &f) as u8);
                }
            }
        }
    }
}
