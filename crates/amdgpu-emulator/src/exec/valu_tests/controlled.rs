//! Tests the SDWA and DPP forms of every VOP1, VOP2 and VOPC instruction that has them, with random selections,
//! permutations, masks and modifiers, against the same references. The model reads and writes parts byte by byte, and
//! moves lanes as lists.

use std::collections::BTreeSet;

use amdgpu_isa::flags::SDST;
use amdgpu_isa::{Encoding, Row, Target, Ty, disassemble};

use super::{DST, Form, PLAIN, SDST_AT, SGPR, SRC, check, gfx11, is_float, rigs};
use crate::exec::level::SimdLevel;
use crate::state::wave::LANES;
use crate::testing::test_wave::{Random, TestWave, disassembly, is_for};

crate::testing::tally::verified!(sdwa, sdwa_of_gfx10, dpp);

/// The fields of SDWA.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sdwa {
    /// The parts of the sources, as encoded, and whether they are sign-extended.
    select: [u32; 2],
    signed: [bool; 2],
    /// The part of the destination, and how the rest is written.
    to: u32,
    rest: u32,
}

/// Returns the first byte and the number of bytes of a selection.
fn span(select: u32) -> (usize, usize) {
    match select {
        0..=3 => (select as usize, 1),
        4 => (0, 2),
        5 => (2, 2),
        _ => (0, 4),
    }
}

impl Sdwa {
    /// Returns the selected part of a source.
    pub(super) fn source(self, n: usize, value: u64) -> u64 {
        let Some(select) = self.select.get(n) else { return value };
        let (first, count) = span(*select);
        let part = &value.to_le_bytes()[first..first + count];
        let fill = if self.signed[n] && part[count - 1] >= 0x80 { 0xff } else { 0 };
        let mut bytes = [fill; 4];
        bytes[..count].copy_from_slice(part);
        u64::from(u32::from_le_bytes(bytes))
    }

    /// Returns the destination with the result in the selected part.
    pub(super) fn placed(self, result: u64, old: u64) -> u64 {
        let (first, count) = span(self.to);
        let part = &result.to_le_bytes()[..count];
        let mut bytes = if self.rest == 2 { (old as u32).to_le_bytes() } else { [0; 4] };
        bytes[first..first + count].copy_from_slice(part);
        if self.rest == 1 && part[count - 1] >= 0x80 {
            bytes[first + count..].fill(0xff);
        }
        u64::from(u32::from_le_bytes(bytes))
    }

    /// Returns whether a whole dword is written, so that floats may be compared as floats.
    pub(super) fn is_whole(self) -> bool {
        span(self.to).1 == 4
    }
}

/// Returns, for each lane, the lane from which it reads its first source, for a control.
fn sources(control: u32) -> Vec<Option<usize>> {
    let lanes: Vec<Option<usize>> = (0..LANES).map(Some).collect();
    let n = (control & 15) as usize;
    let rows = |f: &dyn Fn(Vec<Option<usize>>) -> Vec<Option<usize>>, size: usize| -> Vec<Option<usize>> {
        lanes.chunks(size).flat_map(|row| f(row.to_vec())).collect()
    };
    let nothing = vec![None; LANES];
    match control {
        0..=0xff => rows(&|quad| (0..4).map(|k| quad[control as usize >> (2 * k) & 3]).collect(), 4),
        0x101..=0x10f => rows(&|row| [&row[n..], &nothing[..n]].concat(), 16),
        0x111..=0x11f => rows(&|row| [&nothing[..n], &row[..16 - n]].concat(), 16),
        0x121..=0x12f => rows(&|row| [&row[16 - n..], &row[..16 - n]].concat(), 16),
        0x130 => [&lanes[1..], &nothing[..1]].concat(),
        0x134 => [&lanes[1..], &lanes[..1]].concat(),
        0x138 => [&nothing[..1], &lanes[..63]].concat(),
        0x13c => [&lanes[63..], &lanes[..63]].concat(),
        0x140 => rows(&|row| row.into_iter().rev().collect(), 16),
        0x141 => rows(&|row| row.into_iter().rev().collect(), 8),
        0x160..=0x16f => rows(&|row| (0..16).map(|l| row[l ^ n]).collect(), 16),
        // The last lane of each row is broadcast to the next row; lane 31 to the upper half.
        0x142 => {
            [15, 31, 47].iter().fold(nothing[..16].to_vec(), |all, l| [all, vec![Some(*l); 16]].concat())
        }
        0x143 => [&nothing[..32], &[Some(31); 32]].concat(),
        _ => rows(&|row| vec![row[n]; 16], 16),
    }
}

/// Returns the first source of each lane with DPP, and a mask of the lanes that write.
pub(super) fn moved(control: u32, exec: u64, values: &[u64; LANES]) -> ([u64; LANES], u64) {
    let mut out = [0; LANES];
    let mut writes = 0;
    for (lane, from) in sources(control >> 8 & 0x1ff).into_iter().enumerate() {
        // Bit 18 is gfx11's: inactive lanes are read, too.
        let from = from.filter(|from| exec >> from & 1 != 0 || control >> 18 & 1 != 0);
        out[lane] = from.map_or(0, |from| values[from]);
        let row = control >> 28 >> (lane / 16) & 1 != 0;
        let bank = control >> 24 >> (lane % 16 / 4) & 1 != 0;
        let there = from.is_some() || control >> 19 & 1 != 0;
        writes |= u64::from(exec >> lane & 1 != 0 && row && bank && there) << lane;
    }
    (out, writes)
}

/// Returns the first dword, with `code` as the first source.
fn first(row: &Row, encoding: Encoding, target: Target, code: u32, second: u32) -> u32 {
    let op = row.op[target as usize] as u32;
    match encoding {
        Encoding::Vop1 => 0x7e00_0000 | DST << 17 | op << 9 | code,
        Encoding::Vop2 => op << 25 | DST << 17 | second << 9 | code,
        _ => 0x7c00_0000 | op << 17 | second << 9 | code,
    }
}

fn sdwa_form(random: &mut Random, row: &Row, encoding: Encoding, target: Target) -> Form {
    let bits = random.next();
    let field = |at: u32, mask: u32| (bits >> at) as u32 & mask;
    let scalar = [bits & 7 == 0, bits >> 3 & 7 == 0, false];
    let select = |at: u32| if field(at, 3) == 0 { 6 } else { field(at + 2, 7).min(6) };
    let mut sdwa = Sdwa {
        select: [select(6), select(11)],
        signed: [false; 2],
        to: select(16),
        rest: field(21, 3).min(2),
    };
    let compares = encoding == Encoding::Vopc;
    let (mut neg, mut abs) = (0, 0);
    for n in 0..2 {
        if is_float(row.src[n]) {
            neg |= field(24 + n as u32, 1) << n;
            abs |= field(26 + n as u32, 1) << n;
        } else {
            sdwa.signed[n] = bits >> (28 + n) & 1 != 0;
        }
    }
    let single = row.src[1] == Ty::None;
    if single {
        (sdwa.select[1], sdwa.signed[1], neg, abs) = (0, false, neg & 1, abs & 1);
    }
    // No document says what becomes of two halves.
    let clamp = !compares && row.dst != Ty::P16F && bits >> 32 & 7 == 0;
    let omod = if !compares && is_float(row.dst) && bits >> 35 & 1 != 0 { field(36, 3) } else { 0 };
    let to_scalar = compares && bits >> 38 & 1 != 0;
    let source = |n: usize| if scalar[n] { SGPR[n] } else { SRC[n] };
    let destination = match (compares, to_scalar) {
        (true, true) => SDST_AT << 8 | 1 << 15,
        (true, false) => 0,
        _ => sdwa.to << 8 | sdwa.rest << 11 | u32::from(clamp) << 13 | omod << 14,
    };
    if compares {
        (sdwa.to, sdwa.rest) = (6, 0);
    }
    let side = |n: usize| {
        let bit = |on: u32| on >> n & 1;
        (sdwa.select[n] | u32::from(sdwa.signed[n]) << 3 | bit(neg) << 4 | bit(abs) << 5) << (16 + 8 * n)
    };
    let scalars = u32::from(scalar[0]) << 23 | u32::from(scalar[1] && !single) << 31;
    let control = source(0) | destination | side(0) | side(1) | scalars;
    let words = vec![first(row, encoding, target, 249, source(1)), control];
    Form { words, scalar, neg, abs, clamp, omod, vcc: !to_scalar, sdwa: Some(sdwa), ..PLAIN }
}

fn dpp_form(random: &mut Random, row: &Row, encoding: Encoding, target: Target) -> Form {
    let bits = random.next();
    let field = |at: u32, mask: u32| (bits >> at) as u32 & mask;
    let wide = row.dst.dwords() > 1 || row.src[0].dwords() > 1;
    let permutation = match field(0, 7) {
        // Shifts and rotations of rows by at least one lane.
        kind @ 1..=3 if !wide => 0xf0 + 16 * kind + field(3, 15).max(1),
        4 if !wide => [0x130, 0x134, 0x138, 0x13c][field(3, 3) as usize],
        5 if !wide => 0x140 + field(3, 3),
        0 if !wide => field(3, 0xff),
        _ => 0x150 + field(3, 15),
    };
    let (mut neg, mut abs) = (0, 0);
    for n in 0..2 {
        if is_float(row.src[n]) && bits >> 16 & 1 != 0 {
            neg |= field(17 + n as u32, 1) << n;
            abs |= field(19 + n as u32, 1) << n;
        }
    }
    let mask = |at: u32| if field(at, 1) == 0 { 15 } else { field(at + 1, 15) };
    let signs = (neg & 1) << 20 | (abs & 1) << 21 | (neg >> 1) << 22 | (abs >> 1) << 23;
    let control = SRC[0] | permutation << 8 | field(32, 1) << 19 | signs | mask(33) << 24 | mask(38) << 28;
    let words = vec![first(row, encoding, target, 250, SRC[1]), control];
    Form { words, neg, abs, dpp: Some(control), ..PLAIN }
}

type Make = fn(&mut Random, &Row, Encoding, Target) -> Form;

/// Runs all instructions for which LLVM has text with this suffix, on the targets of gfx9.
fn sweep(suffix: &str, make: Make, seed: u64) {
    let mut random = Random::new(seed);
    for target in Target::GFX9 {
        let ran = sweep_on(&mut rigs(target), suffix, make, &mut random);
        // The list has random forms, so not all instructions are in it.
        let missing: Vec<_> = listed(suffix, target).difference(&ran).copied().collect();
        assert!(
            missing.is_empty() && ran.len() > 90,
            "{suffix} on {target:?}: {} without {missing:?}",
            ran.len()
        );
    }
}

/// Runs all instructions that the disassembler prints with this suffix. Returns their names.
fn sweep_on(rigs: &mut [TestWave], suffix: &str, make: Make, random: &mut Random) -> BTreeSet<&'static str> {
    let target = rigs[0].target;
    let (mut ran, mut failed) = (BTreeSet::new(), BTreeSet::new());
    for encoding in [Encoding::Vop1, Encoding::Vop2, Encoding::Vopc] {
        for row in encoding.rows().iter().filter(|row| row.op[target as usize] >= 0) {
            let mut left = 16;
            for _ in 0..800 {
                let form = make(random, row, encoding, target);
                let code: Vec<u8> = form.words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let text = disassemble(rigs[0].isa(), &code, 0).map(|i| i.text);
                if left == 0 {
                    break;
                }
                if !text.is_some_and(|text| text.contains(suffix)) || apart(suffix, row.name) {
                    continue;
                }
                left -= 1;
                ran.insert(row.name);
                let check = std::panic::AssertUnwindSafe(|| check(random, rigs, row, &form, 0));
                // Continues, so that one run names all wrong instructions.
                if std::panic::catch_unwind(check).is_err() {
                    failed.insert(row.name);
                    break;
                }
            }
            // Those of RDNA without a carry that is read have a long form only.
            let needs = row.flags & SDST != 0 && !target.is_rdna();
            assert!(!needs || ran.contains(row.name), "{}{suffix}", row.name);
        }
    }
    assert!(failed.is_empty(), "{suffix} on {target:?}: {failed:?}");
    ran
}

/// Returns whether an instruction is not tested: it changes no vector register, so there is nothing to permute or
/// select; or it is SDWA of two halves, which LLVM 22 prints, but no document defines its selection; or it moves registers that M0 selects,
/// which are not modelled with a control dword.
fn apart(suffix: &str, name: &str) -> bool {
    ["v_nop", "v_clrexcp", "v_readfirstlane_b32"].contains(&name)
        || suffix == "_sdwa" && (name == "v_pk_fmac_f16" || name.starts_with("v_movrel"))
}

/// Returns the instructions that have a suffix in the list that LLVM generated.
fn listed(suffix: &str, target: Target) -> BTreeSet<&'static str> {
    let names = disassembly().lines().filter(|line| is_for(line, target)).filter_map(|line| {
        let at = line.find(suffix).filter(|at| line[..*at].rfind(' ').is_some())?;
        let start = line[..at].rfind(' ')? + 1;
        Some(&line[start..at])
    });
    names.filter(|name| !apart(suffix, name)).collect()
}

fn sdwa() {
    sweep("_sdwa", sdwa_form, 91);
}

fn dpp() {
    sweep("_dpp", dpp_form, 92);
}

/// gfx10 has gfx9's SDWA, too. The carries and the masks of a wave of 32 are in one register.
fn sdwa_of_gfx10() {
    let mut random = Random::new(94);
    for rigs in gfx11::waves().iter_mut().filter(|rigs| rigs[0].target.is_gfx10()) {
        let ran = sweep_on(rigs, "_sdwa", sdwa_form, &mut random);
        assert!(ran.len() > 150, "{}", ran.len());
    }
}

/// Returns every control of gfx9: gfx90a alone has the shifts of a wave, and only later targets `row_newbcast`.
fn controls() -> impl Iterator<Item = u32> {
    (0..0x100)
        .chain(0x101..=0x10f)
        .chain(0x111..=0x11f)
        .chain(0x121..=0x12f)
        .chain([0x130, 0x134, 0x138, 0x13c])
        .chain(0x140..=0x143)
        .chain(0x150..=0x15f)
}

/// Runs `v_mov_b32_dpp v9` with a control dword, and compares each lane.
fn moves_as_the_list(rig: &mut TestWave, control: u32, exec: u64) {
    let before = *rig.w.v(9).flat();
    let (seen, writes) = moved(control, exec, &rig.w.v(control as u16 & 0xff).flat().map(u64::from));
    rig.w.set_exec(exec);
    rig.run(&[0x7e00_02fa | 9 << 17, control]);
    for lane in 0..LANES {
        let want = if writes >> lane & 1 != 0 { seen[lane] as u32 } else { before[lane] };
        assert_eq!(rig.w.v(9).flat()[lane], want, "{control:#x}, lane {lane}");
    }
    assert_eq!(rig.w.exec(), exec, "{control:#x}");
}

/// Every permutation, with registers beside the source that must not be read, at each level.
#[test]
fn every_permutation_moves_a_register() {
    let mut random = Random::new(93);
    for level in SimdLevel::ALL.into_iter().filter(|level| level.is_available()) {
        let mut rig = TestWave::new(Target::Gfx90a, level);
        for control in controls() {
            // v0 is the first register of all.
            for (src, exec, rest) in [
                (0, !0, 0xff00_0000),
                (0, !0, 0xff08_0000),
                (5, random.next(), 0xff00_0000),
                (7, random.next(), 0xff08_0000),
            ] {
                for register in 0..10 {
                    rig.w.v_mut(register).flat_mut().fill_with(|| random.next() as u32);
                }
                moves_as_the_list(&mut rig, rest | control << 8 | src, exec);
            }
        }
    }
}

/// Every permutation with every row mask, bank mask and bound_ctrl, at each level. All lanes are active in one half of the cases.
#[test]
fn every_mask_lets_its_lanes_write() {
    let mut random = Random::new(95);
    for level in SimdLevel::ALL.into_iter().filter(|level| level.is_available()) {
        let mut rig = TestWave::new(Target::Gfx90a, level);
        for control in controls() {
            for register in 0..10 {
                rig.w.v_mut(register).flat_mut().fill_with(|| random.next() as u32);
            }
            for masks in 0..=0x1ff {
                let rest = (masks & 0xff) << 24 | masks >> 8 << 19;
                let exec = if random.next() & 1 == 0 { !0 } else { random.next() };
                // What the lanes hold that are not written.
                let marked = random.next() as u32;
                rig.w.v_mut(9).flat_mut().fill(marked);
                moves_as_the_list(&mut rig, rest | control << 8 | 5, exec);
            }
        }
    }
}
