//! `s_getreg_b32` and `s_setreg_b32`: hardware registers (CDNA2 ISA, "Hardware register values"; RDNA3 ISA,
//! 3.4).

use amdgpu_isa::Target;

use crate::exec::altered::after_mode;
use crate::exec::inst::{ExecContext, Flow, executors};
use crate::exec::smem::cycles;
use crate::memory::apertures::{PRIVATE_BASE_HI, SCRATCH_BASE, SHARED_BASE_HI};
use crate::state::wave::{Mode, Wave};

const MODE: u32 = 1;
const STATUS: u32 = 2;
const TRAPSTS: u32 = 3;
const SH_MEM_BASES: u32 = 15;

/// Registers that only gfx9 has, or that have other numbers there.
mod gfx9 {
    pub(super) const HW_ID: u32 = 4;
    pub(super) const GPR_ALLOC: u32 = 5;
    pub(super) const LDS_ALLOC: u32 = 6;
    pub(super) const IB_STS: u32 = 7;
    pub(super) const XCC_ID: u32 = 20;
}

/// Registers that only gfx10.3 and gfx11 have, or that have other numbers there (RDNA3 ISA, 3.4; LLVM, `AMDGPU::Hwreg`).
mod gfx11 {
    pub(super) const FLAT_SCRATCH_LO: u32 = 20;
    pub(super) const FLAT_SCRATCH_HI: u32 = 21;
    pub(super) const HW_ID1: u32 = 23;
    pub(super) const HW_ID2: u32 = 24;
    pub(super) const SHADER_CYCLES: u32 = 29;
}

/// Registers that only gfx12 has, or that have other numbers there (LLVM, `AMDGPU::Hwreg`; RDNA4 ISA, 3.4).
mod gfx12 {
    pub(super) const STATE_PRIV: u32 = 4;
    pub(super) const LDS_ALLOC: u32 = 6;
    pub(super) const EXCP_FLAG_USER: u32 = 18;
    pub(super) const SCRATCH_BASE_LO: u32 = 20;
    pub(super) const SCRATCH_BASE_HI: u32 = 21;
    pub(super) const HW_ID1: u32 = 23;
    pub(super) const HW_ID2: u32 = 24;
    pub(super) const SHADER_CYCLES_LO: u32 = 29;
    pub(super) const SHADER_CYCLES_HI: u32 = 30;
}

/// Returns the granularity of LDS allocations in bytes (LLVM, `AMDGPUSubtarget::getLocalMemoryGranularity`).
fn lds_granule(target: Target) -> u32 {
    match target {
        Target::Gfx90a | Target::Gfx942 => 512,
        Target::Gfx11 | Target::Gfx115 | Target::Gfx12 | Target::Gfx103 => 1024,
        Target::Gfx950 => 1280,
    }
}

/// The bits of a hardware register that an immediate selects.
struct Field {
    /// The register's number.
    register: u32,
    first_bit: u32,
    /// Not shifted.
    mask: u32,
}

impl Field {
    #[inline(always)]
    fn of(imm: u32) -> Field {
        let size = (imm >> 11 & 31) + 1;
        Field { register: imm & 63, first_bit: imm >> 6 & 31, mask: u32::MAX >> (32 - size) }
    }
}

/// Returns the bits of STATUS that all targets have: EXECZ, VCCZ, the bit for a wave in a workgroup, and VALID.
fn status(w: &Wave) -> u32 {
    u32::from(w.exec() == 0) << 9 | u32::from(w.vcc() == 0) << 10 | 1 << 11 | 1 << 16
}

fn read(w: &Wave, cx: &mut ExecContext, id: u32) -> Option<u32> {
    Some(match id {
        _ if cx.code.target.is_gfx12() => return read_gfx12(w, cx, id),
        MODE => w.mode.0,
        STATUS => status(w) | u32::from(w.scc()),
        TRAPSTS => w.trapsts,
        SH_MEM_BASES => PRIVATE_BASE_HI >> 16 | SHARED_BASE_HI & 0xffff_0000,
        _ if cx.code.target.is_rdna() => return read_gfx11(w, cx, id),
        _ => return read_gfx9(w, cx, id),
    })
}

fn read_gfx9(w: &Wave, cx: &ExecContext, id: u32) -> Option<u32> {
    Some(match id {
        // The wave's number in its SIMD. All waves seem to run on one compute unit.
        gfx9::HW_ID => w.id & 15,
        // The wave has all registers.
        gfx9::GPR_ALLOC => 0x3f << 8 | 0xf << 24,
        gfx9::LDS_ALLOC => cx.lds.size().div_ceil(lds_granule(cx.code.target)) << 12,
        gfx9::IB_STS | gfx9::XCC_ID => 0,
        _ => return None,
    })
}

fn read_gfx11(w: &Wave, cx: &mut ExecContext, id: u32) -> Option<u32> {
    Some(match id {
        // The address of private memory, which each wave has for itself.
        gfx11::FLAT_SCRATCH_LO => SCRATCH_BASE as u32,
        gfx11::FLAT_SCRATCH_HI => (SCRATCH_BASE >> 32) as u32,
        // The wave's number in its SIMD. All waves seem to run on one processor, of one queue.
        gfx11::HW_ID1 => w.id & 31,
        gfx11::HW_ID2 => 0,
        // A clock of 20 bits (LLVM, `SITargetLowering::lowerREADCYCLECOUNTER`).
        gfx11::SHADER_CYCLES => cycles(cx) as u32 & 0xf_ffff,
        _ => return None,
    })
}

fn read_gfx12(w: &Wave, cx: &mut ExecContext, id: u32) -> Option<u32> {
    Some(match id {
        MODE => w.mode.0 & Mode::GFX12,
        // SCC is elsewhere, and a bit says that the wave has 64 lanes (Linux, `cwsr_trap_handler_gfx12.asm`).
        STATUS => status(w) | u32::from(w.has_64_lanes()) << 29,
        // SCC, and that there is private memory (RDNA4 ISA, 3.4.2).
        gfx12::STATE_PRIV => u32::from(w.scc()) << 9 | 1 << 18,
        gfx12::EXCP_FLAG_USER => w.trapsts,
        // The address of private memory, which each wave has for itself.
        gfx12::SCRATCH_BASE_LO => SCRATCH_BASE as u32,
        gfx12::SCRATCH_BASE_HI => (SCRATCH_BASE >> 32) as u32,
        gfx12::LDS_ALLOC => cx.lds.size().div_ceil(lds_granule(cx.code.target)) << 12,
        gfx12::HW_ID1 => w.id & 31,
        gfx12::HW_ID2 => 0,
        gfx12::SHADER_CYCLES_LO => cycles(cx) as u32,
        gfx12::SHADER_CYCLES_HI => (cycles(cx) >> 32) as u32,
        _ => return None,
    })
}

executors! {
    /// `s_getreg_b32`. Registers that are not emulated read as 0.
    Getreg |w, cx, i| {
        let Field { register, first_bit, mask } = Field::of(i.imm);
        let value = read(w, cx, register).unwrap_or(0) >> first_bit & mask;
        w.set_s32(i.dst, value);
        Flow::Next
    }
}

#[inline(always)]
fn set(w: &mut Wave, cx: &ExecContext, imm: u32, value: u32) {
    let Field { register, first_bit, mask } = Field::of(imm);
    let merge = |old: u32| old & !(mask << first_bit) | (value & mask) << first_bit;
    match register {
        MODE if cx.code.target.is_gfx12() => {
            w.mode = Mode(w.mode.0 & !Mode::GFX12 | merge(w.mode.0) & Mode::GFX12);
        }
        gfx12::EXCP_FLAG_USER if cx.code.target.is_gfx12() => w.trapsts = merge(w.trapsts),
        TRAPSTS if cx.code.target.is_gfx12() => {}
        // RDNA has no bits there but 27, which disables performance counters; on gfx9 they enable indexed registers and VSKIP.
        MODE if cx.code.target.is_rdna() => w.mode = Mode(merge(w.mode.0) & 0x07ff_ffff),
        MODE => w.mode = Mode(merge(w.mode.0)),
        TRAPSTS => w.trapsts = merge(w.trapsts),
        // Kernels can't write the other registers.
        _ => {}
    }
}

executors! {
    /// `s_setreg_b32`.
    Setreg |w, cx, i| {
        let value = w.s32(i.dst);
        set(w, cx, i.imm, value);
        after_mode(w)
    }
    /// `s_setreg_imm32_b32`.
    SetregImm |w, cx, i| {
        let value = w.s32(i.src[0]);
        set(w, cx, i.imm, value);
        after_mode(w)
    }
}
