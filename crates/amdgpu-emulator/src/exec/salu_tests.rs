//! Compares SALU instructions with references in 128-bit arithmetic and loops over bits.

use amdgpu_isa::{Encoding, Target, Ty};

use crate::exec::level::SimdLevel;
use crate::state::wave::sreg;
use crate::testing::test_wave::{RDNA, Random, TestWave, operation};

crate::testing::tally::verified!(
    arithmetic_agrees_with_wide_integers,
    exec_masks,
    exec_masks_of_rdna,
    relative_moves_of_rdna
);

fn sext(a: u64, bits: u32) -> i128 {
    let shift = 128 - bits;
    (a as i128) << shift >> shift
}

/// The result of an instruction: the destination and SCC; `None` if it is unchanged.
type Outcome = (Option<u64>, Option<bool>);

/// Returns the expected result. `a` and `b` are the sources (masked to their sizes), `old` and `scc` the destination
/// and SCC before.
fn reference(name: &str, a: u64, b: u64, old: u64, scc: bool) -> Option<Outcome> {
    let wide = name.ends_with("64");
    let bits = if wide { 64 } else { 32 };
    let mask = if wide { u64::MAX } else { 0xffff_ffff };
    let set = |d: u64| Some((Some(d & mask), Some(d & mask != 0)));
    let keep = |d: u64| Some((Some(d & mask), None));
    let cmp = |c: bool| Some((None, Some(c)));
    let (sa, sb) = (sext(a, bits), sext(b, bits));
    let (ua, ub) = (a as i128, b as i128);
    let fits =
        |v: i128, signed: bool| if signed { v == sext(v as u64, 32) } else { (0..1 << 32).contains(&v) };
    let logic = |f: fn(bool, bool) -> bool| {
        let mut d = 0;
        for n in 0..bits {
            d |= u64::from(f(a >> n & 1 != 0, b >> n & 1 != 0)) << n;
        }
        set(d)
    };
    let field = |signed: bool| {
        let (at, count) = ((b % u64::from(bits)) as u32, (b >> 16 & 0x7f) as u32);
        let mut d = 0u64;
        let mut top = false;
        for n in 0..count {
            if at + n < bits {
                top = a >> (at + n) & 1 != 0;
                d |= u64::from(top) << n.min(63);
            } else if signed && n < bits {
                d |= u64::from(top) << n;
            }
        }
        if signed {
            for n in count..bits {
                d |= u64::from(top && count > 0) << n;
            }
        }
        set(d)
    };
    let rest = name.strip_prefix("s_")?;
    match rest {
        "add_u32" => Some((Some((ua + ub) as u64 & mask), Some(!fits(ua + ub, false)))),
        "sub_u32" => Some((Some((ua - ub) as u64 & mask), Some(!fits(ua - ub, false)))),
        "add_i32" => Some((Some((sa + sb) as u64 & mask), Some(!fits(sa + sb, true)))),
        "sub_i32" => Some((Some((sa - sb) as u64 & mask), Some(!fits(sa - sb, true)))),
        "addc_u32" => {
            let s = ua + ub + i128::from(scc);
            Some((Some(s as u64 & mask), Some(!fits(s, false))))
        }
        "subb_u32" => {
            let s = ua - ub - i128::from(scc);
            Some((Some(s as u64 & mask), Some(!fits(s, false))))
        }
        // SCC is set if the first source is selected. The detailed definitions (CDNA3 and CDNA4 ISA, 12.1) select the
        // first of equal sources for a maximum, and the second for a minimum.
        "min_i32" => Some((Some(if sa < sb { a } else { b }), Some(sb - sa > 0))),
        "min_u32" => Some((Some(if a < b { a } else { b }), Some(ub - ua > 0))),
        "max_i32" => Some((Some(if sa > sb { a } else { b }), Some(sa - sb > -1))),
        "max_u32" => Some((Some(if a > b { a } else { b }), Some(ua - ub > -1))),
        "cselect_b32" | "cselect_b64" => keep(if scc { a } else { b }),
        "and_b32" | "and_b64" => logic(|a, b| a && b),
        "or_b32" | "or_b64" => logic(|a, b| a || b),
        "xor_b32" | "xor_b64" => logic(|a, b| a != b),
        "andn2_b32" | "andn2_b64" => logic(|a, b| a && !b),
        "orn2_b32" | "orn2_b64" => logic(|a, b| a || !b),
        "nand_b32" | "nand_b64" => logic(|a, b| !(a && b)),
        "nor_b32" | "nor_b64" => logic(|a, b| !(a || b)),
        "xnor_b32" | "xnor_b64" => logic(|a, b| a == b),
        "lshl_b32" | "lshl_b64" => set((a as u128 * (1u128 << (b % u64::from(bits)))) as u64),
        "lshr_b32" | "lshr_b64" => set((a as u128 / (1u128 << (b % u64::from(bits)))) as u64),
        "ashr_i32" | "ashr_i64" => set(sa.div_euclid(1 << (b % u64::from(bits))) as u64),
        "bfm_b32" | "bfm_b64" => {
            let (count, at) = (a % u64::from(bits), b % u64::from(bits));
            keep((0..count).fold(0u128, |d, n| d | 1 << (at + n)) as u64)
        }
        "mul_i32" => keep((sa * sb) as u64),
        "mul_hi_u32" => keep((ua * ub >> 32) as u64),
        "mul_hi_i32" => keep((sa * sb >> 32) as u64),
        "bfe_u32" | "bfe_u64" => field(false),
        "bfe_i32" | "bfe_i64" => field(true),
        // The difference wraps first: CDNA2 ISA, its examples.
        "absdiff_i32" => set(sext((sa - sb) as u64, 32).unsigned_abs() as u64),
        "lshl1_add_u32" | "lshl2_add_u32" | "lshl3_add_u32" | "lshl4_add_u32" => {
            let n = rest.as_bytes()[4] - b'0';
            let s = ua * (1 << n) + ub;
            Some((Some(s as u64 & mask), Some(!fits(s, false))))
        }
        "pack_ll_b32_b16" => keep((b % 65536) * 65536 + a % 65536),
        "pack_lh_b32_b16" => keep(b / 65536 * 65536 + a % 65536),
        "pack_hl_b32_b16" => keep(b % 65536 * 65536 + a / 65536),
        "pack_hh_b32_b16" => keep(b / 65536 * 65536 + a / 65536),
        "mov_b32" | "mov_b64" => keep(a),
        "cmov_b32" | "cmov_b64" => keep(if scc { a } else { old }),
        "not_b32" | "not_b64" => set(mask - a),
        "wqm_b32" | "wqm_b64" => {
            set((0..bits).fold(0, |d, n| d | u64::from((0..4).any(|k| a >> (n / 4 * 4 + k) & 1 != 0)) << n))
        }
        "brev_b32" | "brev_b64" => keep((0..bits).fold(0, |d, n| d | (a >> n & 1) << (bits - 1 - n))),
        "bitset0_b32" | "bitset0_b64" => keep(old & !(1 << (a % u64::from(bits)))),
        "bitset1_b32" | "bitset1_b64" => keep(old | 1 << (a % u64::from(bits))),
        "sext_i32_i8" => keep(sext(a, 8) as u64),
        "sext_i32_i16" => keep(sext(a, 16) as u64),
        "abs_i32" => set(sext(a, 32).unsigned_abs() as u64),
        "quadmask_b32" | "quadmask_b64" => {
            set((0..bits / 4).fold(0, |d, n| d | u64::from(a >> (4 * n) & 15 != 0) << n))
        }
        "bitreplicate_b64_b32" => Some((Some((0..64).fold(0, |d, n| d | (a >> (n / 2) & 1) << n)), None)),
        "bitcmp0_b32" => cmp(a >> (b % 32) & 1 == 0),
        "bitcmp1_b32" => cmp(a >> (b % 32) & 1 == 1),
        "bitcmp0_b64" => cmp(a >> (b % 64) & 1 == 0),
        "bitcmp1_b64" => cmp(a >> (b % 64) & 1 == 1),
        "movk_i32" => keep(sext(a, 16) as u64),
        "cmovk_i32" => keep(if scc { sext(a, 16) as u64 } else { old }),
        // Neither has a carry nor writes SCC (RDNA4 ISA, `S_ADD_NC_U64`, `S_MUL_U64`).
        "add_nc_u64" => keep((a as u128 + b as u128) as u64),
        "sub_nc_u64" => keep((ua - ub) as u64),
        "mul_u64" => keep((a as u128).wrapping_mul(b as u128) as u64),
        "addk_i32" => {
            let s = sext(old, 32) + sext(a, 16);
            Some((Some(s as u64 & mask), Some(!fits(s, true))))
        }
        "mulk_i32" => keep((sext(old, 32) * sext(a, 16)) as u64),
        _ if rest.starts_with("cmp_") || rest.starts_with("cmpk_") => {
            let signed = rest.ends_with("i32");
            let (x, y) = match (rest.starts_with("cmpk_"), signed) {
                (true, true) => (sext(old, 32), sext(a, 16)),
                (true, false) => (old as i128, (a % 65536) as i128),
                (false, true) => (sa, sb),
                (false, false) => (ua, ub),
            };
            match rest.split('_').nth(1)? {
                "eq" => cmp(x == y),
                "lg" => cmp(x != y),
                "gt" => cmp(x > y),
                "ge" => cmp(x >= y),
                "lt" => cmp(x < y),
                "le" => cmp(x <= y),
                _ => None,
            }
        }
        _ => {
            // Searches: the position of the first bit that is found, from the low or the high end, or -1.
            let size = if rest.ends_with("b64") || rest.ends_with("i64") { 64 } else { 32 };
            let find = |high: bool, want: fn(u64, u64) -> bool| {
                let top = a >> (size - 1) & 1;
                let at = (0..size).position(|n| want(a >> (if high { size - 1 - n } else { n }) & 1, top));
                Some((Some(at.map_or(0xffff_ffff, |at| at as u64)), None))
            };
            match rest {
                "ff0_i32_b32" | "ff0_i32_b64" => find(false, |bit, _| bit == 0),
                "ff1_i32_b32" | "ff1_i32_b64" => find(false, |bit, _| bit == 1),
                "flbit_i32_b32" | "flbit_i32_b64" => find(true, |bit, _| bit == 1),
                "flbit_i32" | "flbit_i32_i64" => find(true, |bit, top| bit != top),
                "bcnt0_i32_b32" | "bcnt0_i32_b64" | "bcnt1_i32_b32" | "bcnt1_i32_b64" => {
                    let want = u64::from(rest.starts_with("bcnt1"));
                    let d = (0..size).filter(|n| a >> n & 1 == want).count() as u64;
                    Some((Some(d), Some(d != 0)))
                }
                _ => None,
            }
        }
    }
}

fn mask(ty: Ty) -> u64 {
    match ty.dwords() {
        0 => 0,
        1 => 0xffff_ffff,
        _ => u64::MAX,
    }
}

/// Returns whether the tests below check an instruction separately, or it isn't arithmetic.
fn elsewhere(name: &str) -> bool {
    let parts = [
        "saveexec",
        "wrexec",
        "pc_b64",
        "call",
        "fork",
        "rfe",
        "join",
        "gpr_idx",
        "movrel",
        "reg",
        "vskip",
        "_f16",
        "_f32",
        "sendmsg",
        "waitcnt",
        "barrier",
        "alloc_vgpr",
        "sleep_var",
        "version",
        "subvector",
    ];
    parts.iter().any(|part| name.contains(part))
}

fn arithmetic_agrees_with_wide_integers() {
    TestWave::every().for_each(arithmetic);
}

fn arithmetic(mut rig: TestWave) {
    let mut random = Random::new(1);
    for encoding in [Encoding::Sop2, Encoding::Sop1, Encoding::Sopc, Encoding::Sopk] {
        let rows = encoding.rows().iter().filter(|row| row.opcode(rig.target).is_some());
        for row in rows.filter(|row| !elsewhere(row.name)).collect::<Vec<_>>() {
            let name = operation(row);
            for _ in 0..400 {
                let (mut a, b, old) = (random.int(), random.int(), random.int());
                let scc = random.next() & 1 != 0;
                rig.w.set_s64(10, a);
                rig.w.set_s64(12, b);
                rig.w.set_s64(14, old);
                rig.w.set_scc(scc);
                let word = match encoding {
                    Encoding::Sop2 => rig.sop2(row.name, 14, 10, 12),
                    Encoding::Sop1 => rig.sop1(row.name, 14, 10),
                    Encoding::Sopc => rig.sopc(row.name, 10, 12),
                    _ => rig.sopk(row.name, 14, a as u16),
                };
                if encoding == Encoding::Sopk {
                    a &= 0xffff;
                } else {
                    a &= mask(row.src[0]);
                }
                let b = b & mask(row.src[1]);
                let wide = row.dst.dwords() == 2;
                let old = if wide { old } else { old & 0xffff_ffff };
                let expected = reference(name, a, b, old, scc)
                    .unwrap_or_else(|| panic!("no reference for {}", row.name));
                rig.run(&[word]);
                let got = if wide { rig.w.s64(14) } else { u64::from(rig.w.s32(14)) };
                let context = format!("{} a={a:#x} b={b:#x} old={old:#x} scc={scc}", row.name);
                assert_eq!(got, expected.0.unwrap_or(old), "{context}");
                assert_eq!(rig.w.scc(), expected.1.unwrap_or(scc), "SCC of {context}");
            }
        }
    }
}

fn exec_masks() {
    for target in Target::GFX9 {
        masks(TestWave::new(target, SimdLevel::best()));
    }
}

fn masks(mut rig: TestWave) {
    let mut random = Random::new(2);
    type Combine = fn(u64, u64) -> u64;
    let saves: [(&str, Combine); 10] = [
        ("and", |a, e| a & e),
        ("or", |a, e| a | e),
        ("xor", |a, e| a ^ e),
        ("andn2", |a, e| a & (a ^ e)),
        ("orn2", |a, e| a | (u64::MAX - e)),
        ("nand", |a, e| u64::MAX - (a & e)),
        ("nor", |a, e| u64::MAX - (a | e)),
        ("xnor", |a, e| u64::MAX - (a ^ e)),
        ("andn1", |a, e| e & (a ^ e)),
        ("orn1", |a, e| e | (u64::MAX - a)),
    ];
    for (name, combine) in saves {
        for _ in 0..100 {
            let (a, exec) = (random.int(), random.int());
            rig.w.set_s64(10, a);
            rig.w.set_exec(exec);
            rig.run(&[rig.sop1(&format!("s_{name}_saveexec_b64"), 14, 10)]);
            assert_eq!(rig.w.s64(14), exec, "{name}");
            assert_eq!(rig.w.exec(), combine(a, exec), "{name} {a:#x} {exec:#x}");
            assert_eq!(rig.w.scc(), combine(a, exec) != 0, "{name}");
        }
    }
    for (name, combine) in [("andn1", saves[8].1), ("andn2", saves[3].1)] {
        for _ in 0..100 {
            let (a, exec) = (random.int(), random.int());
            rig.w.set_s64(10, a);
            rig.w.set_exec(exec);
            rig.run(&[rig.sop1(&format!("s_{name}_wrexec_b64"), 14, 10)]);
            assert_eq!((rig.w.s64(14), rig.w.exec()), (combine(a, exec), combine(a, exec)));
            assert_eq!(rig.w.scc(), combine(a, exec) != 0, "{name}");
        }
    }
}

#[test]
fn relative_moves_and_constants() {
    let mut rig = TestWave::gfx90a();
    for n in 0..20 {
        rig.w.set_s32(20 + n, 1000 + u32::from(n));
    }
    rig.w.set_s32(sreg::M0, 6);
    rig.run(&[
        rig.sop1("s_movrels_b32", 0, 20),
        rig.sop1("s_movrels_b64", 2, 20),
        rig.sop1("s_movreld_b32", 40, 21),
    ]);
    assert_eq!([rig.w.s32(0), rig.w.s32(2), rig.w.s32(3), rig.w.s32(46)], [1006, 1006, 1007, 1001]);
    // Inline constants and literals in their 32 and 64-bit forms.
    let (imm, half, literal) = (193, 240, 255);
    rig.run(&[
        rig.sop1("s_mov_b32", 0, imm),
        rig.sop1("s_mov_b64", 2, imm),
        rig.sop1("s_mov_b32", 4, half),
        rig.sop1("s_mov_b64", 6, half),
        rig.sop1("s_mov_b64", 8, literal),
        0x8765_4321,
        rig.sop1("s_mov_b32", 10, 248),
        rig.sop1("s_mov_b64", 12, 237),
    ]);
    assert_eq!(rig.w.s32(0), u32::MAX);
    assert_eq!(rig.w.s64(2), u64::MAX);
    assert_eq!(rig.w.s32(4), 0.5f32.to_bits());
    assert_eq!(rig.w.s64(6), 0.5f64.to_bits());
    assert_eq!(rig.w.s64(8), 0x8765_4321);
    assert_eq!(rig.w.s32(10), 0x3e22_f983);
    assert_eq!(rig.w.s64(12), 0x0002_0000_0000_0000);
}

/// The instructions of RDNA that change EXEC_LO, in waves of 64 and of 32, whose EXEC_HI stays. On RDNA, those of 64 bits have other
/// names.
fn exec_masks_of_rdna() {
    let mut random = Random::new(3);
    type Bit = fn(bool, bool) -> bool;
    let operations: [(&str, Bit); 10] = [
        ("and", |a, e| a && e),
        ("or", |a, e| a || e),
        ("xor", |a, e| a != e),
        ("nand", |a, e| !(a && e)),
        ("nor", |a, e| !(a || e)),
        ("xnor", |a, e| a == e),
        ("and_not0", |a, e| !a && e),
        ("or_not0", |a, e| !a || e),
        ("and_not1", |a, e| a && !e),
        ("or_not1", |a, e| a || !e),
    ];
    for target in RDNA {
        let level = SimdLevel::best();
        for mut rig in [TestWave::new(target, level), TestWave::wave32(target, level)] {
            for (name, bit) in operations {
                // gfx10 has gfx9's names, in which n1 is a negated first source.
                let name = match name {
                    "and_not0" if target.is_gfx10() => "andn1",
                    "or_not0" if target.is_gfx10() => "orn1",
                    "and_not1" if target.is_gfx10() => "andn2",
                    "or_not1" if target.is_gfx10() => "orn2",
                    name => name,
                };
                for kind in ["saveexec", "wrexec"] {
                    if kind == "wrexec" && !name.starts_with("and_not") && !name.starts_with("andn") {
                        continue;
                    }
                    for size in [32, 64] {
                        if size == 64 && rig.w.all >> 63 == 0 {
                            continue;
                        }
                        for _ in 0..50 {
                            let (a, exec, old) = (random.int(), random.int(), random.int());
                            rig.w.set_s64(10, a);
                            rig.w.set_s64(14, old);
                            rig.w.set_exec(exec);
                            rig.run(&[rig.sop1(&format!("s_{name}_{kind}_b{size}"), 14, 10)]);
                            let keep = if size == 32 { exec >> 32 << 32 } else { 0 };
                            let new = (0..size)
                                .filter(|n| bit(a >> n & 1 != 0, exec >> n & 1 != 0))
                                .fold(keep, |new, n| new | 1 << n);
                            let low = if size == 32 { 0xffff_ffff } else { !0 };
                            let saved = if kind == "saveexec" { exec } else { new };
                            let context = format!("s_{name}_{kind}_b{size} {a:#x} {exec:#x}");
                            assert_eq!(rig.w.s64(sreg::EXEC), new, "{context}");
                            assert_eq!(rig.w.s64(14), old & !low | saved & low, "{context}");
                            assert_eq!(rig.w.scc(), new & low != 0, "{context}");
                        }
                    }
                }
            }
        }
    }
}

/// `s_movrelsd_2_b32` has an index for the source and one for the destination. RDNA has SGPRs up to s105.
fn relative_moves_of_rdna() {
    let mut random = Random::new(4);
    for target in RDNA {
        let mut rig = TestWave::new(target, SimdLevel::best());
        for _ in 0..200 {
            let mut model: Vec<u32> = (0..106).map(|_| random.next() as u32).collect();
            for (n, value) in model.iter().enumerate() {
                rig.w.set_s32(n as u16, *value);
            }
            let [dst, src] = [50, 50].map(|below| (random.next() % below) as usize);
            let [to, from] = [56, 56].map(|below| (random.next() % below) as usize);
            rig.w.set_s32(sreg::M0, (to << 16 | from | 1 << 27 | 3 << 10) as u32);
            rig.run(&[rig.sop1("s_movrelsd_2_b32", dst as u32, src as u32)]);
            model[dst + to] = model[src + from];
            for (n, value) in model.iter().enumerate() {
                assert_eq!(rig.w.s32(n as u16), *value, "s{dst} + {to} from s{src} + {from}: s{n}");
            }
        }
    }
}
