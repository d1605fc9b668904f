//! Cases of the rows of AMD's audit of its own emulator for RDNA4 that have priority P0 or P1, on gfx12. VERIFICATION.md says where the
//! audit is, and which other tests are about its rows.
//!
//! Results are those of the RDNA4 ISA document, worked out by hand. The instructions are encoded by LLVM's assembler.

use amdgpu_isa::{Encoding, Target};

use crate::exec::inst::flag;
use crate::exec::level::SimdLevel;
use crate::exec::memory_model::{BufferFields, FlatFields, buffer, ds, flat};
use crate::memory::apertures::{PRIVATE_BASE_HI, SHARED_BASE_HI};
use crate::memory::bounds::Bounds;
use crate::report::fault::FaultCause;
use crate::state::wave::{Mode, sreg};
use crate::testing::test_wave::TestWave;

use Place::{L, S, Scc, V};

/// A register, or SCC.
#[derive(Clone, Copy)]
enum Place {
    S(u16),
    /// A VGPR, with the same number in all lanes.
    V(u16),
    /// A VGPR, and one lane of it.
    L(u16, usize),
    Scc,
}

/// The sizes of waves for which a case is.
type Sizes = &'static [usize];
const BOTH: Sizes = &[32, 64];
const OF_32: Sizes = &[32];
const OF_64: Sizes = &[64];

type Values = &'static [(Place, u32)];

/// Instructions, what registers have before them, and what they have after them.
struct Case {
    /// The name of the audit's row, and what the case is about.
    name: &'static str,
    sizes: Sizes,
    words: &'static [u32],
    before: Values,
    after: Values,
}

const fn row(name: &'static str, sizes: Sizes, words: &'static [u32], before: Values, after: Values) -> Case {
    Case { name, sizes, words, before, after }
}

/// What registers 4 and 5 have if a case doesn't say otherwise. The others have 0.
const UNWRITTEN: u32 = 0x1111_2222;

#[rustfmt::skip]
const CASES: &[Case] = &[
    // s_mov_b32 ttmp4, s1
    row("RDNA4-RJ-009: TTMP", BOTH, &[0xbef0_0001], &[(S(112), 77), (S(1), 5)], &[(S(112), 77)]),
    // s_add_co_u32 ttmp4, s1, s1
    row("RDNA4-RJ-009: TTMP, SCC", BOTH, &[0x8070_0101], &[(S(112), 77), (S(1), 0x8000_0000), (Scc, 0)], &[(S(112), 77), (Scc, 0)]),
    // s_and_saveexec_b32 ttmp4, s1
    row("RDNA4-RJ-009: TTMP, EXEC", OF_32, &[0xbef0_2001], &[(S(112), 77), (S(1), 240)], &[(S(112), 77), (S(sreg::EXEC), 240)]),
    // v_readfirstlane_b32 ttmp4, v0
    row("RDNA4-RJ-009: TTMP, VALU", BOTH, &[0x7ee0_0500], &[(S(112), 77), (V(0), 5)], &[(S(112), 77)]),
    // v_cmp_eq_u32_e64 ttmp[4:5], v0, v0
    row("RDNA4-RJ-009: TTMP, mask", OF_64, &[0xd44a_0070, 0x0002_0100], &[(S(112), 77), (S(113), 78)], &[(S(112), 77), (S(113), 78)]),
    // s_mov_b32 s2, ttmp4
    row("RDNA4-RJ-009: TTMP is read", BOTH, &[0xbe82_0070], &[(S(112), 77)], &[(S(2), 77)]),
    // s_getreg_b32 s4, hwreg(HW_REG_STATE_PRIV, 9, 1)
    row("RDNA4-RJ-006: SCC in STATE_PRIV", BOTH, &[0xb884_0244], &[(Scc, 1)], &[(S(4), 1)]),
    // s_getreg_b32 s4, hwreg(HW_REG_STATUS, 0, 8)
    row("RDNA4-RJ-006: no SCC in STATUS", BOTH, &[0xb884_3802], &[(Scc, 1)], &[(S(4), 0)]),
    // s_getreg_b32 s4, hwreg(HW_REG_STATUS, 9, 2)
    row("RDNA4-RJ-006: EXECZ, VCCZ", BOTH, &[0xb884_0a42], &[(S(sreg::VCC), 0), (S(sreg::VCC + 1), 0)], &[(S(4), 2)]),
    // s_getreg_b32 s4, hwreg(HW_REG_STATUS, 29, 1)
    row("RDNA4-RJ-006: WAVE64", OF_64, &[0xb884_0742], &[], &[(S(4), 1)]),
    // s_getreg_b32 s4, hwreg(HW_REG_STATUS, 29, 1)
    row("RDNA4-RJ-006: WAVE64, 32 lanes", OF_32, &[0xb884_0742], &[], &[(S(4), 0)]),
    // s_setreg_b32 hwreg(HW_REG_STATE_PRIV), s1
    row("RDNA4-RJ-006: STATE_PRIV is protected", BOTH, &[0xb901_f804], &[(S(1), 0), (Scc, 1)], &[(Scc, 1)]),
    // v_mad_co_i64_i32 v[4:5], null, v0, v1, 0xffffff00
    row("RDNA4-RJ-022: VALU, signed", BOTH, &[0xd6ff_7c04, 0x03fe_0300, 0xffff_ff00], &[(V(0), 2), (V(1), 3)], &[(V(4), 0xffff_ff06), (V(5), 0xffff_ffff)]),
    // v_mad_co_u64_u32 v[4:5], null, v0, v1, 0xffffff00
    row("RDNA4-RJ-022: VALU, unsigned", BOTH, &[0xd6fe_7c04, 0x03fe_0300, 0xffff_ff00], &[(V(0), 2), (V(1), 3)], &[(V(4), 0xffff_ff06), (V(5), 0)]),
    // v_ashrrev_i64 v[4:5], 4, 0xffffff00
    row("RDNA4-RJ-022: VALU, shift", BOTH, &[0xd73e_0004, 0x0001_fe84, 0xffff_ff00], &[], &[(V(4), 0xffff_fff0), (V(5), 0xffff_ffff)]),
    // s_ashr_i64 s[4:5], 0xffffff00, 4
    row("RDNA4-RJ-022: SALU, signed", BOTH, &[0x8684_84ff, 0xffff_ff00], &[], &[(S(4), 0xffff_fff0), (S(5), 0xffff_ffff)]),
    // s_lshr_b64 s[4:5], 0xffffff00, 4
    row("RDNA4-RJ-022: SALU, bits", BOTH, &[0x8584_84ff, 0xffff_ff00], &[], &[(S(4), 0xfff_fff0), (S(5), 0)]),
    // v_dot4_f32_fp8_bf8 v4, v0, v1, v2
    row("RDNA4-RJ-053: fp8, bf8", BOTH, &[0xcc24_4004, 0x1c0a_0300], &[(V(0), 0x3c3c_3c3c), (V(1), 0x3838_3838), (V(2), 0x3f80_0000)], &[(V(4), 0x4080_0000)]),
    // v_dot4_f32_bf8_fp8 v4, v0, v1, v2
    row("RDNA4-RJ-053: bf8, fp8", BOTH, &[0xcc25_4004, 0x1c0a_0300], &[(V(0), 0x3c3c_3c3c), (V(1), 0x3838_3838), (V(2), 0x3f80_0000)], &[(V(4), 0x40a0_0000)]),
    // v_dot4_f32_bf8_bf8 v4, v0, v1, v2
    row("RDNA4-RJ-053: bf8, bf8", BOTH, &[0xcc27_4004, 0x1c0a_0300], &[(V(0), 0x3c3c_3c3c), (V(1), 0x3838_3838), (V(2), 0x3f80_0000)], &[(V(4), 0x4040_0000)]),
    // v_dual_mov_b32 v0, v2 :: v_dual_mov_b32 v1, v3
    row("RDNA4-RJ-069: VSRC1 of a move", OF_32, &[0xca11_9102, 0x0001_9103], &[(V(2), 22), (V(3), 33), (V(200), 44)], &[(V(0), 22), (V(1), 33)]),
    // v_floor_f32_dpp v4, -|v0| quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf
    row("RDNA4-RJ-072: VOP1", BOTH, &[0x7e08_48fa, 0xff30_e400], &[(V(0), 0xc020_0000)], &[(V(4), 0xc040_0000)]),
    // v_add_f32_dpp v4, -v0, |v1| quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf
    row("RDNA4-RJ-072: VOP2", BOTH, &[0x0608_02fa, 0xff90_e400], &[(V(0), 0x4000_0000), (V(1), 0xc040_0000)], &[(V(4), 0x3f80_0000)]),
    // v_cmp_lt_f32_dpp vcc, -v0, |v1| quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf
    row("RDNA4-RJ-072: VOPC", OF_64, &[0x7c22_02fa, 0xff90_e400], &[(V(0), 0x4000_0000), (V(1), 0xc000_0000), (S(sreg::VCC), 0), (S(sreg::VCC + 1), 0)], &[(S(sreg::VCC), 0xffff_ffff), (S(sreg::VCC + 1), 0xffff_ffff)]),
    // v_add_f32_e64_dpp v4, -v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf
    row("RDNA4-RJ-072: VOP3 has its own", BOTH, &[0xd503_0004, 0x2002_02fa, 0xfff0_e400], &[(V(0), 0x4000_0000), (V(1), 0x4040_0000)], &[(V(4), 0x3f80_0000)]),
    // v_cmp_eq_u32_dpp vcc, v0, v1 quad_perm:[0,1,2,3] row_mask:0x5 bank_mask:0xf
    row("RDNA4-RJ-074: rows", OF_64, &[0x7c94_02fa, 0x5f00_e400], &[(S(sreg::VCC), 0xffff_ffff), (S(sreg::VCC + 1), 0xffff_ffff)], &[(S(sreg::VCC), 0xffff), (S(sreg::VCC + 1), 0xffff)]),
    // v_cmp_eq_u32_dpp vcc_lo, v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0x3
    row("RDNA4-RJ-074: banks", OF_32, &[0x7c94_02fa, 0xf300_e400], &[(S(sreg::VCC), 0xffff_ffff)], &[(S(sreg::VCC), 0xff_00ff)]),
    // v_cmp_eq_u32_dpp vcc_lo, v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf
    row("RDNA4-RJ-074: no source", OF_32, &[0x7c94_02fa, 0xff01_1100], &[(S(sreg::VCC), 0xffff_ffff)], &[(S(sreg::VCC), 0xfffe_fffe)]),
    // v_cmp_eq_u32_dpp vcc_lo, v0, v1 quad_perm:[1,1,2,3] row_mask:0xf bank_mask:0xf
    row("RDNA4-RJ-074: inactive source", OF_32, &[0x7c94_02fa, 0xff00_e500], &[(S(sreg::VCC), 0xffff_ffff), (S(sreg::EXEC), 0xffff_fffd)], &[(S(sreg::VCC), 0xffff_fffc)]),
    // v_cmp_eq_u32_dpp vcc_lo, v0, v1 quad_perm:[1,1,2,3] row_mask:0xf bank_mask:0xf fi:1
    row("RDNA4-RJ-074: inactive source, FI", OF_32, &[0x7c94_02fa, 0xff04_e500], &[(S(sreg::VCC), 0xffff_ffff), (S(sreg::EXEC), 0xffff_fffd)], &[(S(sreg::VCC), 0xffff_fffd)]),
    // v_cmpx_eq_u32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf
    row("RDNA4-RJ-074: EXEC", OF_32, &[0x7d94_02fa, 0xff01_1100], &[(S(sreg::EXEC), 0xffff_fffb)], &[(S(sreg::EXEC), 0xfffe_fff2)]),
    // v_cmpx_eq_u32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf fi:1
    row("RDNA4-RJ-074: EXEC, FI", OF_32, &[0x7d94_02fa, 0xff05_1100], &[(S(sreg::EXEC), 0xffff_fffb)], &[(S(sreg::EXEC), 0xfffe_fffa)]),
    // v_movreld_b32 v5, v1
    row("RDNA4-RJ-081: destination", BOTH, &[0x7e0a_8501], &[(S(sreg::M0), 2), (V(1), 11), (V(4), 44), (V(5), 55), (V(7), 77)], &[(V(4), 44), (V(5), 55), (V(7), 11)]),
    // v_movreld_b32 v5, v1
    row("RDNA4-RJ-081: destination, no sign", BOTH, &[0x7e0a_8501], &[(S(sreg::M0), 0xffff_ffff), (V(1), 11), (V(4), 44), (V(5), 55)], &[(V(4), 44), (V(5), 55)]),
    // v_movrels_b32 v5, v1
    row("RDNA4-RJ-081: source, no sign", BOTH, &[0x7e0a_8701], &[(S(sreg::M0), 0xffff_ffff), (V(0), 10), (V(1), 11), (V(5), 55)], &[(V(5), 10)]),
    // v_movrels_b32 v5, v200
    row("RDNA4-RJ-081: source past the end", BOTH, &[0x7e0a_87c8], &[(S(sreg::M0), 56), (V(0), 10), (V(200), 20), (V(5), 55)], &[(V(5), 10)]),
    // v_movreld_b32_e64 v5, v1
    row("RDNA4-RJ-081: VOP3", BOTH, &[0xd5c2_0005, 0x0000_0101], &[(S(sreg::M0), 0xffff_fffe), (V(1), 11), (V(3), 33), (V(5), 55)], &[(V(3), 33), (V(5), 55)]),
    // v_swaprel_b32 v5, v200
    row("RDNA4-RJ-081: exchange past the end", BOTH, &[0x7e0a_d1c8], &[(S(sreg::M0), 56), (V(0), 10), (V(5), 55), (V(200), 20)], &[(V(0), 10), (V(5), 55), (V(200), 20)]),
    // v_add_f32_e64 v4, v0, v0 clamp
    row("RDNA4-RJ-087: f32", BOTH, &[0xd503_8004, 0x0002_0100], &[(V(0), 0x8000_0000)], &[(V(4), 0)]),
    // v_add_f16_e64 v4.l, v0.l, v0.l clamp
    row("RDNA4-RJ-087: f16", BOTH, &[0xd532_8004, 0x0002_0100], &[(V(0), 0x8000)], &[(V(4), 0x1111_0000)]),
    // v_add_f64_e64 v[4:5], v[0:1], v[0:1] clamp
    row("RDNA4-RJ-087: f64", BOTH, &[0xd502_8004, 0x0002_0100], &[(V(0), 0), (V(1), 0x8000_0000)], &[(V(4), 0), (V(5), 0)]),
    // v_pk_add_f16 v4, v0, v0 clamp
    row("RDNA4-RJ-087: packed", BOTH, &[0xcc0f_c004, 0x1802_0100], &[(V(0), 0x8000_8000)], &[(V(4), 0)]),
    // v_fma_mix_f32 v4, v0, v1, v0 clamp
    row("RDNA4-RJ-087: mixed", BOTH, &[0xcc20_8004, 0x0402_0300], &[(V(0), 0x8000_0000), (V(1), 0x3f80_0000)], &[(V(4), 0)]),
    // v_readlane_b32 s4, v0, s1
    row("RDNA4-RJ-088: read, 32 lanes", OF_32, &[0xd760_0004, 0x0000_0300], &[(L(0, 5), 55), (L(0, 37), 377), (S(1), 101)], &[(S(4), 55)]),
    // v_readlane_b32 s4, v0, s1
    row("RDNA4-RJ-088: read, 64 lanes", OF_64, &[0xd760_0004, 0x0000_0300], &[(L(0, 5), 55), (L(0, 37), 377), (S(1), 101)], &[(S(4), 377)]),
    // v_writelane_b32 v0, s2, s1
    row("RDNA4-RJ-088: write, 32 lanes", OF_32, &[0xd761_0000, 0x0000_0202], &[(S(1), 101), (S(2), 9)], &[(L(0, 5), 9)]),
    // v_writelane_b32 v0, s2, s1
    row("RDNA4-RJ-088: write, 64 lanes", OF_64, &[0xd761_0000, 0x0000_0202], &[(S(1), 101), (S(2), 9)], &[(L(0, 5), 0), (L(0, 37), 9)]),
    // v_add_f32_e64 v4, v0, v1 clamp
    row("RDNA4-RJ-089: f32", BOTH, &[0xd503_8004, 0x0002_0300], &[(V(0), 0x7fc0_0000), (V(1), 0x3f80_0000)], &[(V(4), 0)]),
    // v_mul_f16_e64 v4.l, v0.l, v1.l clamp
    row("RDNA4-RJ-089: f16", BOTH, &[0xd535_8004, 0x0002_0300], &[(V(0), 0x7e00), (V(1), 0x3c00)], &[(V(4), 0x1111_0000)]),
    // s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0xf0; v_add_f32_e64 v4, v0, v1 clamp; s_getreg_b32 s4, hwreg(HW_REG_MODE)
    row("RDNA4-RJ-089: MODE has no bit for it", BOTH, &[0xb980_f801, 0x0000_00f0, 0xd503_8004, 0x0002_0300, 0xb884_f801], &[(V(0), 0x7fc0_0000), (V(1), 0x3f80_0000)], &[(V(4), 0), (S(4), 240)]),
    // v_add_f64_e64 v[4:5], v[0:1], v[2:3] clamp
    row("RDNA4-RJ-089: f64", BOTH, &[0xd502_8004, 0x0002_0500], &[(V(1), 0x7ff8_0000), (V(3), 0x3ff0_0000)], &[(V(4), 0), (V(5), 0)]),
    // v_pk_mul_f16 v4, v0, v1 clamp
    row("RDNA4-RJ-089: packed", BOTH, &[0xcc10_c004, 0x1802_0300], &[(V(0), 0x7e00_3c00), (V(1), 0x3c00_3800)], &[(V(4), 0x3800)]),
    // v_fma_mix_f32 v4, v0, v1, v0 clamp
    row("RDNA4-RJ-089: mixed", BOTH, &[0xcc20_8004, 0x0402_0300], &[(V(0), 0x7fc0_0000), (V(1), 0x3f80_0000)], &[(V(4), 0)]),
    // v_dot2_f32_f16 v4, 1.0, v1, v2
    row("RDNA4-RJ-090: f32 of f16", BOTH, &[0xcc13_4004, 0x1c0a_02f2], &[(V(1), 0x4200_4000), (V(2), 0x3f80_0000)], &[(V(4), 0x40c0_0000)]),
    // v_dot2_f32_bf16 v4, v1, 1.0, v2
    row("RDNA4-RJ-090: f32 of bf16", BOTH, &[0xcc1a_4004, 0x1c09_e501], &[(V(1), 0x4040_4000), (V(2), 0x3f80_0000)], &[(V(4), 0x40c0_0000)]),
    // v_dot2_f32_bf16 v4, v1, 1.0, v2 op_sel:[0,1,0] op_sel_hi:[1,0,1]
    row("RDNA4-RJ-090: f32 of bf16, op_sel", BOTH, &[0xcc1a_5004, 0x0c09_e501], &[(V(1), 0x4040_4000), (V(2), 0x3f80_0000)], &[(V(4), 0x40c0_0000)]),
    // v_dot2_f16_f16 v4.l, 1.0, v1, v2.l
    row("RDNA4-RJ-090: f16", BOTH, &[0xd666_0004, 0x040a_02f2], &[(V(1), 0x4200_4000), (V(2), 0x3c00)], &[(V(4), 0x1111_4600)]),
    // v_dot2_bf16_bf16 v4.l, v1, 1.0, v2.l
    row("RDNA4-RJ-090: bf16", BOTH, &[0xd667_0004, 0x0409_e501], &[(V(1), 0x4040_4000), (V(2), 0x3f80)], &[(V(4), 0x1111_40c0)]),
    // v_add_f64_e64 v[4:5], 0.15915494309189532, v[0:1]
    row("RDNA4-RJ-094", BOTH, &[0xd502_0004, 0x0002_00f8], &[], &[(V(4), 0x6dc9_c882), (V(5), 0x3fc4_5f30)]),
    // v_add_f16_e64 v128.l, v0.l, v1.l
    row("RDNA4-RJ-097: VOP3, low half", BOTH, &[0xd532_0080, 0x0002_0300], &[(V(0), 0x3c00), (V(1), 0x4000), (V(128), 0x1111_2222)], &[(V(0), 0x3c00), (V(128), 0x1111_4200)]),
    // v_add_f16_e64 v200.h, v0.l, v1.l
    row("RDNA4-RJ-097: VOP3, high half", BOTH, &[0xd532_40c8, 0x0002_0300], &[(V(0), 0x3c00), (V(1), 0x4000), (V(72), 7), (V(200), 0x1111_2222)], &[(V(72), 7), (V(200), 0x4200_2222)]),
    // v_pk_add_f16 v4, v0, 1.0
    row("RDNA4-RJ-098: low half alone", BOTH, &[0xcc0f_4004, 0x1801_e500], &[(V(0), 0x4000_4000)], &[(V(4), 0x4000_4200)]),
    // v_pk_add_f16 v4, v0, 1.0 op_sel_hi:[1,0]
    row("RDNA4-RJ-098: both halves", BOTH, &[0xcc0f_4004, 0x0801_e500], &[(V(0), 0x4000_4000)], &[(V(4), 0x4200_4200)]),
    // v_pk_fma_f16 v4, v0, 2.0, v1 op_sel_hi:[1,0,1]
    row("RDNA4-RJ-098: factor", BOTH, &[0xcc0e_4004, 0x0c05_e900], &[(V(0), 0x3c00_3c00), (V(1), 0x3c00_0000)], &[(V(4), 0x4200_4000)]),
    // v_pk_add_u16 v4, v0, 5
    row("RDNA4-RJ-098: integer", BOTH, &[0xcc0a_4004, 0x1801_0b00], &[(V(0), 0x1_0001)], &[(V(4), 0x1_0006)]),
    // v_pk_add_i16 v4, v0, v1 clamp
    row("RDNA4-RJ-099: i16", BOTH, &[0xcc02_c004, 0x1802_0300], &[(V(0), 0x7fff_8000), (V(1), 0x1_ffff)], &[(V(4), 0x7fff_8000)]),
    // v_pk_add_u16 v4, v0, v1 clamp
    row("RDNA4-RJ-099: u16, sum", BOTH, &[0xcc0a_c004, 0x1802_0300], &[(V(0), 0xffff_0001), (V(1), 0x2_0001)], &[(V(4), 0xffff_0002)]),
    // v_pk_sub_u16 v4, v0, v1 clamp
    row("RDNA4-RJ-099: u16, difference", BOTH, &[0xcc0b_c004, 0x1802_0300], &[(V(0), 0x1_0005), (V(1), 0x2_0001)], &[(V(4), 4)]),
    // v_pk_mad_i16 v4, v0, v1, v2 clamp
    row("RDNA4-RJ-099: i16, product", BOTH, &[0xcc00_c004, 0x1c0a_0300], &[(V(0), 0x7fff_0002), (V(1), 0x2_0003), (V(2), 1)], &[(V(4), 0x7fff_0007)]),
    // v_pk_add_f16 v4, v0, v1 clamp
    row("RDNA4-RJ-099: f16", BOTH, &[0xcc0f_c004, 0x1802_0300], &[(V(0), 0x3c00_bc00), (V(1), 0x3c00_0000)], &[(V(4), 0x3c00_0000)]),
    // v_pk_minimum_f16 v4, v0, v1
    row("RDNA4-RJ-100: minimum", BOTH, &[0xcc1d_4004, 0x1802_0300], &[(V(0), 0x7e00_0000), (V(1), 0x3c00_8000)], &[(V(4), 0x7e00_8000)]),
    // v_pk_maximum_f16 v4, v0, v1
    row("RDNA4-RJ-100: maximum", BOTH, &[0xcc1e_4004, 0x1802_0300], &[(V(0), 0x3c00_8000), (V(1), 0x7e00_0000)], &[(V(4), 0x7e00_0000)]),
    // v_pk_minimum_f16 v4, v0, v1
    row("RDNA4-RJ-100: minimum, signalling", BOTH, &[0xcc1d_4004, 0x1802_0300], &[(V(0), 0x7d01_3c00), (V(1), 0x3c00_7d01)], &[(V(4), 0x7f01_7f01)]),
    // v_pk_min_num_f16 v4, v0, v1
    row("RDNA4-RJ-100: minimum number", BOTH, &[0xcc1b_4004, 0x1802_0300], &[(V(0), 0x7e00_0000), (V(1), 0x3c00_8000)], &[(V(4), 0x3c00_8000)]),
    // v_pk_max_num_f16 v4, v0, v1
    row("RDNA4-RJ-100: maximum number", BOTH, &[0xcc1c_4004, 0x1802_0300], &[(V(0), 0x3c00_8000), (V(1), 0x7e00_0000)], &[(V(4), 0x3c00_0000)]),
    // s_add_f16 s4, s1, 1.0; s_cvt_f32_f16 s4, s4
    row("RDNA4-RJ-106: sum", BOTH, &[0xa484_f201, 0xbe84_6904], &[(S(1), 0x4000)], &[(S(4), 0x4040_0000)]),
    // s_cmp_eq_f16 s1, 1.0
    row("RDNA4-RJ-106: comparison", BOTH, &[0xbf52_f201], &[(S(1), 0x3c00), (Scc, 0)], &[(Scc, 1)]),
    // s_cvt_hi_f32_f16 s4, 0x3c000000
    row("RDNA4-RJ-109", BOTH, &[0xbe84_6aff, 0x3c00_0000], &[], &[(S(4), 0x3f80_0000)]),
    // ds_swizzle_b32 v4, v0 offset:swizzle(QUAD_PERM,1,1,1,1)
    row("RDNA4-RJ-174: a quad", BOTH, &[0xd8d4_8055, 0x0400_0000], &[(L(0, 1), 5), (L(0, 5), 6), (S(sreg::EXEC), 0xffff_fffd)], &[(L(4, 0), 0), (L(4, 4), 6)]),
    // ds_swizzle_b32 v4, v0 offset:swizzle(BROADCAST,32,3)
    row("RDNA4-RJ-174: broadcast", BOTH, &[0xd8d4_0060, 0x0400_0000], &[(L(0, 3), 5), (S(sreg::EXEC), 0xffff_fff7), (V(4), 9)], &[(L(4, 0), 0), (L(4, 3), 9)]),
    // v_min_num_f32_e32 v4, v0, v1
    row("RDNA4-RJ-195: minimum number", BOTH, &[0x2a08_0300], &[(V(0), 0x7f80_0001), (V(1), 0x3f80_0000)], &[(V(4), 0x3f80_0000)]),
    // v_min_num_f32_e32 v4, v0, v1
    row("RDNA4-RJ-195: zeros", BOTH, &[0x2a08_0300], &[(V(0), 0), (V(1), 0x8000_0000)], &[(V(4), 0x8000_0000)]),
    // v_max_num_f32_e32 v4, v0, v1
    row("RDNA4-RJ-195: zeros, maximum", BOTH, &[0x2c08_0300], &[(V(0), 0x8000_0000), (V(1), 0)], &[(V(4), 0)]),
    // v_max_num_f32_e32 v4, v0, v1
    row("RDNA4-RJ-195: two NaN", BOTH, &[0x2c08_0300], &[(V(0), 0x7f80_0001), (V(1), 0x7fc0_0002)], &[(V(4), 0x7fc0_0001)]),
    // v_min_num_f16_e64 v4.l, v0.l, v1.l
    row("RDNA4-RJ-195: two NaN, f16", BOTH, &[0xd530_0004, 0x0002_0300], &[(V(0), 0x7c01), (V(1), 0x7e02)], &[(V(4), 0x1111_7e01)]),
    // v_pk_max_num_f16 v4, v0, v1
    row("RDNA4-RJ-195: two NaN, packed", BOTH, &[0xcc1c_4004, 0x1802_0300], &[(V(0), 0x7c01_3c00), (V(1), 0x7e02_7c01)], &[(V(4), 0x7e01_3c00)]),
    // v_min_num_f64_e32 v[4:5], v[0:1], v[2:3]
    row("RDNA4-RJ-195: f64", BOTH, &[0x1a08_0500], &[(V(1), 0x7ff8_0000), (V(3), 0xbff0_0000)], &[(V(4), 0), (V(5), 0xbff0_0000)]),
    // v_max3_num_f32 v4, v0, v1, v2
    row("RDNA4-RJ-195: two NaN, three numbers", BOTH, &[0xd62a_0004, 0x040a_0300], &[(V(0), 0x7f80_0001), (V(1), 0x7fc0_0002), (V(2), 0x7fc0_0003)], &[(V(4), 0x7fc0_0001)]),
    // v_dual_max_num_f32 v4, v0, v1 :: v_dual_min_num_f32 v5, v2, v3
    row("RDNA4-RJ-195: VOPD", OF_32, &[0xca96_0300, 0x0404_0702], &[(V(0), 0x8000_0000), (V(1), 0), (V(2), 0x7f80_0001), (V(3), 0x4000_0000)], &[(V(4), 0), (V(5), 0x4000_0000)]),
];

/// Waves of 32 and of 64 lanes with the MODE in which kernels of gfx12 begin.
fn waves() -> [TestWave; 2] {
    let level = SimdLevel::best();
    [TestWave::wave32(Target::Gfx12, level), TestWave::new(Target::Gfx12, level)].map(|mut rig| {
        rig.w.mode = Mode::of_gfx12(0xf0);
        for register in [4, 5] {
            rig.w.set_s32(register, UNWRITTEN);
            fill(&mut rig, register, UNWRITTEN);
        }
        rig
    })
}

/// Puts a number into all lanes of a register.
fn fill(rig: &mut TestWave, register: u16, value: u32) {
    rig.w.v_mut(register).flat_mut().fill(value);
}

/// Returns a lane of a register.
fn lane(rig: &TestWave, register: u16, lane: usize) -> u32 {
    rig.w.v(register).flat()[lane]
}

fn put(rig: &mut TestWave, place: Place, value: u32) {
    match place {
        S(register) => rig.w.set_s32(register, value),
        V(register) => fill(rig, register, value),
        L(register, lane) => rig.w.v_mut(register).flat_mut()[lane] = value,
        Scc => rig.w.set_scc(value != 0),
    }
}

#[test]
fn registers() {
    let mut failed = Vec::new();
    for case in CASES {
        for mut rig in waves().into_iter().filter(|rig| case.sizes.contains(&rig.lanes())) {
            for (place, value) in case.before {
                put(&mut rig, *place, *value);
            }
            if let Err(fault) = rig.try_run(case.words) {
                failed.push(format!("{}, {} lanes: {fault:?}", case.name, rig.lanes()));
                continue;
            }
            for (place, want) in case.after {
                let (name, got) = match *place {
                    S(register) => (format!("s{register}"), vec![rig.w.s32(register)]),
                    V(register) => (format!("v{register}"), rig.w.v(register).flat()[..rig.lanes()].to_vec()),
                    L(register, at) => (format!("v{register}, lane {at}"), vec![lane(&rig, register, at)]),
                    Scc => ("SCC".into(), vec![rig.w.scc().into()]),
                };
                if let Some(got) = got.iter().find(|got| *got != want) {
                    failed.push(format!(
                        "{}, {} lanes: {name} is {got:#x}, not {want:#x}",
                        case.name,
                        rig.lanes()
                    ));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// RDNA4-RJ-009: 64-bit and longer operands that begin at the last registers. LLVM has no such instructions, and they fault.
#[test]
fn operands_past_the_last_vgpr() {
    let words = [
        // v_add_f64_e64 v[255:256], v[0:1], v[2:3]
        vec![0xd502_00ff, 0x0002_0500],
        // v_add_f64_e64 v[4:5], v[255:256], v[2:3]
        vec![0xd502_0004, 0x0002_05ff],
        // global_load_b128 v[254:257], v[0:1], off
        vec![0xee05_c07c, 0x0000_00fe, 0],
    ];
    for mut rig in waves() {
        for words in &words {
            assert_eq!(rig.try_run(words), Err(FaultCause::IllegalInstruction), "{words:08x?}");
        }
    }
}

/// RDNA4-RJ-010 and RDNA4-RJ-159: accesses past the end of the workgroup's LDS. By default they fault. With `Bounds::Pages`, as on
/// hardware, dwords past the end are loaded as 0, and the bytes before the end are stored.
#[test]
fn lds_ends_where_its_allocation_does() {
    const SIZE: u32 = 1024;
    for mut rig in waves() {
        rig.cx.lds.reset(SIZE);
        rig.w.set_exec(1);
        for register in 8..12 {
            fill(&mut rig, register, 0x0101_0101 * u32::from(register));
        }
        let [narrow, wide] = ["ds_store_b32", "ds_store_b128"].map(|name| ds(&rig, name, 0, 0, [8, 0], 0));
        let [load, load_wide] = ["ds_load_b32", "ds_load_b128"].map(|name| ds(&rig, name, 0, 0, [0, 0], 4));
        let bytes = |rig: &TestWave| rig.cx.lds.bytes()[SIZE as usize - 8..].to_vec();
        for words in [narrow, wide, load, load_wide] {
            fill(&mut rig, 0, SIZE - 3);
            let fault = rig.try_run(&words);
            assert!(matches!(fault, Err(FaultCause::OutOfBounds { .. })), "{words:08x?}: {fault:?}");
            assert_eq!((bytes(&rig), lane(&rig, 4, 0)), (vec![0; 8], UNWRITTEN));
        }
        rig.cx.notices.bounds = Bounds::Pages;
        fill(&mut rig, 0, SIZE - 8);
        rig.run(&wide);
        assert_eq!(bytes(&rig), [8, 8, 8, 8, 9, 9, 9, 9]);
        rig.run(&load_wide);
        assert_eq!([4, 5, 6, 7].map(|v| lane(&rig, v, 0)), [0x0808_0808, 0x0909_0909, 0, 0]);
        fill(&mut rig, 0, SIZE - 3);
        rig.run(&narrow);
        assert_eq!(bytes(&rig), [8, 8, 8, 8, 9, 8, 8, 8]);
        rig.run(&load);
        assert_eq!(lane(&rig, 4, 0), 0);
        // Another workgroup's memory isn't there.
        fill(&mut rig, 0, SIZE);
        fill(&mut rig, 4, UNWRITTEN);
        rig.run(&[narrow, load].concat());
        assert_eq!((bytes(&rig), lane(&rig, 4, 0)), (vec![8, 8, 8, 8, 9, 8, 8, 8], 0));
    }
}

/// A buffer's descriptor and an access to it.
#[derive(Clone, Copy)]
struct Access {
    stride: u32,
    swizzle: u32,
    records: u32,
    /// The upper bits of the last dword: 12 to 17 the format, 18 and 19 the stride's scale, 21 and 22 the index stride, 23 for the lane's
    /// number, 28 and 29 the range check.
    word3: u32,
    soffset: u32,
    imm: u32,
    index: u32,
    offset: u32,
}

/// A buffer of 10 records of 16 bytes whose range check has the index and the offset.
const RECORDS: Access =
    Access { stride: 16, swizzle: 0, records: 10, word3: FORMAT, soffset: 0, imm: 0, index: 0, offset: 0 };
/// The format 32_FLOAT.
const FORMAT: u32 = 22 << 12;
/// A range check.
const fn check(number: u32) -> u32 {
    number << 28
}

/// Accesses, and the byte that lane 2 accesses; `None` if it is out of range.
#[rustfmt::skip]
const ACCESSES: &[(Access, Option<usize>)] = &[
    (Access { index: 3, imm: 4, ..RECORDS }, Some(52)),
    (Access { index: 3, offset: 8, imm: 4, soffset: 64, ..RECORDS }, Some(3 * 16 + 12 + 64)),
    (Access { index: 9, imm: 12, ..RECORDS }, Some(156)),
    (Access { index: 10, ..RECORDS }, None),
    (Access { index: 3, imm: 13, ..RECORDS }, None),
    (Access { records: 0, ..RECORDS }, None),
    // The index alone is checked.
    (Access { index: 9, imm: 20, word3: FORMAT | check(1), ..RECORDS }, Some(164)),
    (Access { index: 10, imm: 20, word3: FORMAT | check(1), ..RECORDS }, None),
    // Only whether there are records.
    (Access { index: 20, imm: 20, word3: FORMAT | check(2), ..RECORDS }, Some(340)),
    (Access { records: 0, word3: FORMAT | check(2), ..RECORDS }, None),
    // Bytes, of which the scalar offset takes some away.
    (Access { stride: 0, records: 64, offset: 60, word3: FORMAT | check(3), ..RECORDS }, Some(60)),
    (Access { stride: 0, records: 64, offset: 64, word3: FORMAT | check(3), ..RECORDS }, None),
    (Access { stride: 0, records: 64, offset: 56, soffset: 4, word3: FORMAT | check(3), ..RECORDS }, Some(60)),
    (Access { stride: 0, records: 64, offset: 60, soffset: 4, word3: FORMAT | check(3), ..RECORDS }, None),
    // The stride is multiplied by 4, 8 and 32.
    (Access { index: 3, stride: 4, imm: 12, word3: FORMAT | 1 << 18, ..RECORDS }, Some(60)),
    (Access { index: 3, stride: 4, imm: 12, word3: FORMAT | 2 << 18, ..RECORDS }, Some(108)),
    (Access { index: 3, stride: 4, imm: 12, word3: FORMAT | 3 << 18, ..RECORDS }, Some(396)),
    // The lane's number is added to the index.
    (Access { index: 3, word3: FORMAT | 1 << 23, ..RECORDS }, Some(80)),
    (Access { index: 8, word3: FORMAT | 1 << 23, ..RECORDS }, None),
    // Swizzled: eight indices alternate, in elements of 4 and of 16 bytes.
    (Access { index: 9, offset: 4, swizzle: 1, ..RECORDS }, Some((16 + 4) * 8 + 4)),
    (Access { index: 9, offset: 4, swizzle: 3, ..RECORDS }, Some(16 * 8 + 16 + 4)),
    // Sixteen do.
    (Access { index: 9, offset: 4, swizzle: 1, word3: FORMAT | 1 << 21, ..RECORDS }, Some(4 * 16 + 9 * 4)),
    // No buffer is bound.
    (Access { word3: 0, ..RECORDS }, None),
];

/// RDNA4-RJ-119: the document's rules for buffers (RDNA4 ISA, 9.4 and 9.6).
#[test]
fn buffers() {
    const BYTES: usize = 1024;
    const LANE: usize = 2;
    for mut rig in waves() {
        let base = rig.space.alloc(BYTES as u64, 0).unwrap();
        rig.w.set_exec(1 << LANE);
        for (access, place) in ACCESSES {
            let before: Vec<u8> = (0..BYTES).map(|n| 1 + (n * 7 % 251) as u8).collect();
            rig.space.write(base, &before).unwrap();
            let second = (base >> 32) as u32 | access.stride << 16 | access.swizzle << 30;
            for (n, word) in [base as u32, second, access.records, access.word3].into_iter().enumerate() {
                rig.w.set_s32(8 + n as u16, word);
            }
            rig.w.set_s32(6, access.soffset);
            fill(&mut rig, 0, access.index);
            fill(&mut rig, 1, access.offset);
            fill(&mut rig, 2, 0x0102_0304);
            let words = |rig: &TestWave, name: &str, data: u32| {
                let fields = BufferFields {
                    offset: access.imm,
                    address: 0,
                    data,
                    resource: 8,
                    soffset: 6,
                    offen: true,
                    idxen: true,
                    glc: name.contains("atomic"),
                    lds: false,
                    format: (0, 0),
                };
                buffer(rig, Encoding::Mubuf, name, fields)
            };
            let place_name = format!("{} {} {:#x} {place:?}", access.index, access.offset, access.word3);
            let old = place.map_or(0, |at| u32::from_le_bytes(before[at..at + 4].try_into().unwrap()));
            rig.run(&words(&rig, "buffer_load_b32", 4));
            assert_eq!(lane(&rig, 4, LANE), old, "load {place_name}");
            fill(&mut rig, 4, 0x0102_0304);
            rig.run(&words(&rig, "buffer_atomic_add_u32", 4));
            assert_eq!(lane(&rig, 4, LANE), old, "atomic {place_name}");
            let memory = |rig: &TestWave| {
                let mut bytes = [0; BYTES];
                rig.space.read(base, &mut bytes).unwrap();
                bytes
            };
            let mut want = before.clone();
            let mut is = |value: u32| {
                if let Some(at) = *place {
                    want[at..at + 4].copy_from_slice(&value.to_le_bytes());
                }
                want.clone()
            };
            assert!(memory(&rig)[..] == is(old.wrapping_add(0x0102_0304)), "atomic {place_name}");
            rig.run(&words(&rig, "buffer_store_b32", 2));
            assert!(memory(&rig)[..] == is(0x0102_0304), "store {place_name}");
        }
    }
}

/// An address in v0 and v1, data in v2 and v3, a result in v4 and v5.
const FIELDS: FlatFields =
    FlatFields { offset: 0, address: 0, data: 2, saddr: None, dst: 4, glc: false, bit13: false };

/// RDNA4-RJ-140: all three parts of an address in private memory have a sign.
#[test]
fn offsets_in_private_memory_have_signs() {
    // A VGPR, an SGPR and an immediate, whose sum is 4.
    let cases: [(Option<i32>, Option<i32>, i32); 6] = [
        (Some(-4), None, 8),
        (Some(8), None, -4),
        (None, Some(-8), 12),
        (None, Some(8), -4),
        (Some(8), Some(-16), 12),
        (Some(-0x7fff_fff0), Some(0x7fff_fff4), 0),
    ];
    for mut rig in waves() {
        rig.w.scratch.reset(16);
        for (v, s, offset) in cases {
            for lane in 0..rig.lanes() {
                rig.w.scratch.store(lane, 4, [100 + lane as u32]).unwrap();
            }
            fill(&mut rig, 0, v.unwrap_or(99) as u32);
            fill(&mut rig, 2, 77);
            rig.w.set_s32(6, s.unwrap_or(99) as u32);
            let fields = FlatFields { offset, saddr: s.map(|_| 6), bit13: v.is_some(), ..FIELDS };
            rig.run(&flat(&rig, Encoding::Scratch, "scratch_load_b32", fields));
            assert_eq!([0, 31].map(|n| lane(&rig, 4, n)), [100, 131], "{v:?} {s:?} {offset}");
            rig.run(&flat(&rig, Encoding::Scratch, "scratch_store_b32", fields));
            assert_eq!(rig.w.scratch.load::<[u32; 1]>(31, 4), Some([77]), "{v:?} {s:?} {offset}");
        }
    }
}

/// RDNA4-RJ-018: each scope is more than a compute unit's, but the first; memory is coherent, and results are the same. The sanitizer
/// needs the flag.
#[test]
fn scopes() {
    for mut rig in waves() {
        let base = rig.space.alloc(64, 0).unwrap();
        rig.space.write(base, &[5; 64]).unwrap();
        fill(&mut rig, 0, base as u32);
        fill(&mut rig, 1, (base >> 32) as u32);
        for scope in 0..4 {
            let mut words = flat(&rig, Encoding::Global, "global_load_b32", FIELDS);
            words[1] |= scope << 18;
            fill(&mut rig, 4, UNWRITTEN);
            rig.run(&words);
            assert_eq!(lane(&rig, 4, 3), 0x0505_0505);
            assert_eq!(rig.cx.code.insts[0].flags & flag::SC1 != 0, scope > 0, "{scope}");
        }
    }
}

/// RDNA4-RJ-020: an atomic returns what was there if bit 0 of TH is set, whatever the other bits are.
#[test]
fn temporal_hints_of_atomics() {
    for mut rig in waves() {
        let base = rig.space.alloc(64, 0).unwrap();
        fill(&mut rig, 0, base as u32);
        fill(&mut rig, 1, (base >> 32) as u32);
        fill(&mut rig, 2, 3);
        rig.w.set_exec(1);
        for hint in 0..8 {
            for (encoding, name) in
                [(Encoding::Global, "global_atomic_add_u32"), (Encoding::Flat, "flat_atomic_add_u32")]
            {
                let mut words = flat(&rig, encoding, name, FIELDS);
                words[1] |= hint << 20;
                rig.space.write(base, &[5, 0, 0, 0]).unwrap();
                fill(&mut rig, 4, UNWRITTEN);
                rig.run(&words);
                let mut after = [0; 4];
                rig.space.read(base, &mut after).unwrap();
                let returned = if hint & 1 != 0 { 5 } else { UNWRITTEN };
                assert_eq!((after, lane(&rig, 4, 0)), ([8, 0, 0, 0], returned), "{name} {hint}");
            }
        }
    }
}

/// RDNA4-RJ-041: a jump to address 0, where no code is, is a fault, and no end of the wave.
#[test]
fn jumps_to_zero() {
    for mut rig in waves() {
        for words in [rig.sop1("s_setpc_b64", 0, 2), rig.sop1("s_swappc_b64", 4, 2)] {
            assert_eq!(rig.try_run(&[words]), Err(FaultCause::BadJump { target: 0 }));
        }
    }
}

/// RDNA4-RJ-110: loads of 8 bits have any address, those of 16 bits ignore one bit of each part of it, and those of dwords two.
#[test]
fn scalar_loads_of_less_than_a_dword() {
    let bytes: Vec<u8> = (0..64).map(|n| 0x7c + n).collect();
    // The low bits of the base, the immediate, and the result.
    let cases: [(&str, u64, i32, u32); 8] = [
        ("load_u8", 1, 2, 0x7f),
        ("load_u8", 3, 1, 0x80),
        ("load_i8", 3, 1, 0xffff_ff80),
        ("load_u16", 1, 3, 0x7f7e),
        ("load_i16", 1, 5, 0xffff_8180),
        ("load_u16", 1, 1, 0x7d7c),
        ("load_b32", 2, 6, 0x8382_8180),
        ("load_b32", 3, 3, 0x7f7e_7d7c),
    ];
    for mut rig in waves() {
        let base = rig.space.alloc(64, 0).unwrap();
        rig.space.write(base, &bytes).unwrap();
        rig.w.set_s32(10, 64);
        for (name, low, offset, want) in cases {
            for prefix in ["s_", "s_buffer_"] {
                rig.w.set_s64(8, base + low);
                rig.w.set_s32(4, UNWRITTEN);
                rig.run(&rig.smem(&format!("{prefix}{name}"), 4, 8, offset));
                assert_eq!(rig.w.s32(4), want, "{prefix}{name} {low} {offset}");
            }
        }
        // s_load_b32 ttmp4, s[8:9], 0x0: the result is lost (RDNA4-RJ-009).
        rig.w.set_s64(8, base);
        rig.w.set_s32(112, 77);
        rig.run(&rig.smem("s_load_b32", 112, 8, 0));
        assert_eq!(rig.w.s32(112), 77);
    }
}

/// RDNA4-RJ-143: in private memory there are atomics of 32 bits, and none of 64.
#[test]
fn atomics_in_private_memory() {
    for mut rig in waves() {
        rig.w.scratch.reset(16);
        fill(&mut rig, 0, 8);
        fill(&mut rig, 1, PRIVATE_BASE_HI);
        fill(&mut rig, 2, 3);
        fill(&mut rig, 3, 0);
        let fault = rig.try_run(&flat(&rig, Encoding::Flat, "flat_atomic_add_u64", FIELDS));
        assert!(matches!(fault, Err(FaultCause::Unimplemented { .. })), "{fault:?}");
        assert_eq!(rig.w.scratch.load::<[u32; 2]>(7, 8), Some([0, 0]));
        rig.run(&flat(&rig, Encoding::Flat, "flat_atomic_add_u32", FIELDS));
        assert_eq!(rig.w.scratch.load::<[u32; 2]>(7, 8), Some([3, 0]));
    }
}

/// RDNA4-RJ-154: loads and stores of blocks of registers are not implemented, and say so.
#[test]
fn blocks_of_registers() {
    let blocks = [
        (Encoding::Global, "global_load_block"),
        (Encoding::Global, "global_store_block"),
        (Encoding::Scratch, "scratch_load_block"),
        (Encoding::Scratch, "scratch_store_block"),
    ];
    for mut rig in waves() {
        for (encoding, name) in blocks {
            let words =
                flat(&rig, encoding, name, FlatFields { bit13: encoding == Encoding::Scratch, ..FIELDS });
            assert_eq!(
                rig.try_run(&words),
                Err(FaultCause::Unimplemented { detail: String::new() }),
                "{name}"
            );
        }
    }
}

/// RDNA4-RJ-170: MODE says whether atomics of DS flush denormals. Those of FLAT keep them (RDNA4 ISA, 13.2).
#[test]
fn denormals_of_atomics_in_lds() {
    // MODE, the first source and the sum: denormals of sources, and of results.
    let cases = [(0xf0, 1, 1), (0xc0, 1, 0), (0xe0, 1, 0), (0xd0, 1, 0)];
    for mut rig in waves() {
        rig.cx.lds.reset(64);
        rig.w.set_exec(1);
        fill(&mut rig, 0, 0);
        fill(&mut rig, 1, SHARED_BASE_HI);
        fill(&mut rig, 2, 0);
        for (mode, before, after) in cases {
            rig.w.mode = Mode::of_gfx12(mode);
            let in_lds = ds(&rig, "ds_add_f32", 0, 0, [2, 0], 0).to_vec();
            let flat = flat(&rig, Encoding::Flat, "flat_atomic_add_f32", FIELDS);
            for (words, want) in [(in_lds, after), (flat, before)] {
                rig.cx.lds.store_u32(0, before).unwrap();
                rig.run(&words);
                assert_eq!(rig.cx.lds.load_u32(0), Some(want), "{words:08x?} {mode:#x}");
            }
        }
    }
}

/// RDNA4-RJ-171 and RDNA4-RJ-183: sums of two f16 and of two bfloat16.
#[test]
fn packed_sums() {
    // 1.5 and 2, 3 and 4, and their sums.
    let formats = [
        ("f16", 0x4000_3e00_u32, 0x4400_4200, 0x4600_4480_u32),
        ("bf16", 0x4000_3fc0, 0x4080_4040, 0x40c0_4090),
    ];
    for mut rig in waves() {
        let base = rig.space.alloc(64, 0).unwrap();
        rig.cx.lds.reset(64);
        rig.w.set_exec(1);
        // A raw buffer of all memory.
        for (register, value) in [(8, 0), (9, 0), (10, !0), (11, FORMAT | check(2))] {
            rig.w.set_s32(register, value);
        }
        for (format, before, more, after) in formats {
            fill(&mut rig, 2, more);
            for kind in ["ds", "ds_rtn", "global", "flat", "buffer"] {
                rig.cx.lds.store_u32(0, before).unwrap();
                rig.space.write(base, &before.to_le_bytes()).unwrap();
                fill(&mut rig, 0, if kind.starts_with("ds") { 0 } else { base as u32 });
                fill(&mut rig, 1, (base >> 32) as u32);
                fill(&mut rig, 4, if kind == "buffer" { more } else { UNWRITTEN });
                rig.w.set_s64(8, base);
                let words = packed_sum(&rig, kind, format);
                rig.run(&words);
                let mut memory = [0; 4];
                rig.space.read(base, &mut memory).unwrap();
                let memory = u32::from_le_bytes(memory);
                let got = if kind.starts_with("ds") { rig.cx.lds.load_u32(0).unwrap() } else { memory };
                let returned = if kind == "ds" { UNWRITTEN } else { before };
                assert_eq!((got, lane(&rig, 4, 0)), (after, returned), "{kind} {format}");
            }
        }
    }
}

/// Returns a packed sum at the address in v0 and v1, or in LDS. What was there goes to v4.
fn packed_sum(rig: &TestWave, kind: &str, format: &str) -> Vec<u32> {
    let returning = FlatFields { glc: true, ..FIELDS };
    let at_zero = BufferFields {
        offset: 0,
        address: 0,
        data: 4,
        resource: 8,
        soffset: 128,
        offen: false,
        idxen: false,
        glc: true,
        lds: false,
        format: (0, 0),
    };
    match kind {
        "ds" => ds(rig, &format!("ds_pk_add_{format}"), 0, 0, [2, 0], 0).to_vec(),
        "ds_rtn" => ds(rig, &format!("ds_pk_add_rtn_{format}"), 0, 0, [2, 0], 4).to_vec(),
        "global" => flat(rig, Encoding::Global, &format!("global_atomic_pk_add_{format}"), returning),
        "flat" => flat(rig, Encoding::Flat, &format!("flat_atomic_pk_add_{format}"), returning),
        _ => buffer(rig, Encoding::Mubuf, &format!("buffer_atomic_pk_add_{format}"), at_zero),
    }
}
