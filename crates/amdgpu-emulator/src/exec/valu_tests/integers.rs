//! References for integers and bits: 128-bit arithmetic, loops over bits and bytes.

use super::{Close, In, Out, bits, flag};

/// Returns the low `n` bits as a signed number.
fn signed(v: u64, n: u32) -> i128 {
    (v as i128) << (128 - n) >> (128 - n)
}

/// Returns the low `n` bits.
fn unsigned(v: u64, n: u32) -> i128 {
    i128::from(v) & ((1 << n) - 1)
}

/// Returns `v` in `n` bits, saturated with `clamp`, else truncated.
fn fit(v: i128, n: u32, is_signed: bool, clamp: bool) -> Option<Out> {
    let (low, high) =
        if is_signed { (-(1i128 << (n - 1)), (1 << (n - 1)) - 1) } else { (0, (1i128 << n) - 1) };
    let v = if clamp { v.clamp(low, high) } else { v };
    bits((v & ((1 << n) - 1)) as u64)
}

fn byte(v: u64, n: usize) -> i128 {
    i128::from(v.to_le_bytes()[n])
}

/// Returns the sum of absolute differences of four bytes of `a`, from byte `at` on, and of `b`.
fn sad(a: u64, at: usize, b: u64, masked: bool) -> i128 {
    (0..4).filter(|n| !masked || byte(b, *n) != 0).map(|n| (byte(a, at + n) - byte(b, n)).abs()).sum()
}

fn from_bits(n: u32, f: impl Fn(u32) -> bool) -> Option<Out> {
    bits((0..n).map(|k| u64::from(f(k)) << k).sum())
}

pub(super) fn reference(name: &str, x: &In) -> Option<Out> {
    let [a, b, c] = x.s;
    let is_set = |v: u64, n: u32| v >> n & 1 != 0;
    let (ua, ub, uc) = (unsigned(a, 32), unsigned(b, 32), unsigned(c, 32));
    let (sa, sb, sc) = (signed(a, 32), signed(b, 32), signed(c, 32));
    let (u24a, u24b) = (unsigned(a, 24), unsigned(b, 24));
    let (s24a, s24b) = (signed(a, 24), signed(b, 24));
    let (u16a, u16b, u16c) = (unsigned(a, 16), unsigned(b, 16), unsigned(c, 16));
    let (s16a, s16b, s16c) = (signed(a, 16), signed(b, 16), signed(c, 16));
    let u32fit = |v| fit(v, 32, false, x.clamp);
    let s32fit = |v| fit(v, 32, true, x.clamp);
    let u16fit = |v| fit(v, 16, false, x.clamp);
    let s16fit = |v| fit(v, 16, true, x.clamp);
    let carry = |v: i128| {
        let out = !(0..1i128 << 32).contains(&v);
        Some(Out { flag: out, ..u32fit(v)? })
    };
    let middle = |mut v: [i128; 3], n: u32| {
        v.sort_unstable();
        fit(v[1], n, false, false)
    };
    let products = |bits: u32| {
        let part = |v: u64, n: u32| signed(v >> (bits * n), bits);
        (0..32 / bits).map(|n| part(a, n) * part(b, n)).sum::<i128>()
    };
    let lanes_below =
        |half: u32| (0..32u32).filter(|n| is_set(a, *n) && half * 32 + n < x.lane).count() as i128;
    let carry_in = i128::from(x.bit);
    if let Some(compared) = compare(name, a, b) {
        return compared;
    }
    match name {
        "mov_b32" | "mov_b16" | "cvt_u32_u16" => bits(a),
        "not_b16" => bits(0xffff - a),
        "cvt_i32_i16" => fit(s16a, 32, true, false),
        "xor3_b32" => from_bits(32, |n| is_set(a, n) ^ is_set(b, n) ^ is_set(c, n)),
        "and_b16" => from_bits(16, |n| is_set(a, n) && is_set(b, n)),
        "or_b16" => from_bits(16, |n| is_set(a, n) || is_set(b, n)),
        "xor_b16" => from_bits(16, |n| is_set(a, n) != is_set(b, n)),
        "maxmin_i32" => fit(if sa.max(sb) < sc { sa.max(sb) } else { sc }, 32, true, false),
        "minmax_i32" => fit(if sa.min(sb) > sc { sa.min(sb) } else { sc }, 32, true, false),
        "maxmin_u32" => fit(if ua.max(ub) < uc { ua.max(ub) } else { uc }, 32, false, false),
        "minmax_u32" => fit(if ua.min(ub) > uc { ua.min(ub) } else { uc }, 32, false, false),
        "mov_b64" => bits(a),
        "not_b32" => bits(0xffff_ffff - a),
        "bfrev_b32" => from_bits(32, |n| is_set(a, 31 - n)),
        "ffbh_u32" => bits((0..32).find(|n| is_set(a, 31 - n)).map_or(0xffff_ffff, u64::from)),
        "ffbl_b32" => bits((0..32).find(|n| is_set(a, *n)).map_or(0xffff_ffff, u64::from)),
        "ffbh_i32" => {
            bits((0..32).find(|n| is_set(a, 31 - n) != is_set(a, 31)).map_or(0xffff_ffff, u64::from))
        }
        "sat_pk_u8_i16" => bits((s16a.clamp(0, 255) | signed(a >> 16, 16).clamp(0, 255) << 8) as u64),
        "screen_partition_4se_b32" => {
            let at = |n: u32| a >> n & 3;
            let mut engines = 0;
            let mut tx = at(6);
            loop {
                let mut ty = at(2);
                loop {
                    let engine = ((tx ^ ty >> 1) & 1) * 2 + ((ty ^ tx >> 1) & 1);
                    engines |= 1 << engine;
                    if ty == at(0) {
                        break;
                    }
                    ty = (ty + 1) % 4;
                }
                if tx == at(4) {
                    break;
                }
                tx = (tx + 1) % 4;
            }
            bits(engines)
        }
        "cndmask_b32" | "cndmask_b16" => bits(if x.bit { b } else { a }),
        "add_u32" => u32fit(ua + ub),
        "sub_u32" => u32fit(ua - ub),
        "subrev_u32" => u32fit(ub - ua),
        "add_i32" => s32fit(sa + sb),
        "sub_i32" => s32fit(sa - sb),
        "add_co_u32" => carry(ua + ub),
        "sub_co_u32" => carry(ua - ub),
        "subrev_co_u32" => carry(ub - ua),
        "addc_co_u32" => carry(ua + ub + carry_in),
        "subb_co_u32" => carry(ua - ub - carry_in),
        "subbrev_co_u32" => carry(ub - ua - carry_in),
        "mul_i32_i24" => fit(s24a * s24b, 32, true, false),
        "mul_hi_i32_i24" => fit(s24a * s24b >> 32, 32, true, false),
        "mul_u32_u24" => fit(u24a * u24b, 32, false, false),
        "mul_hi_u32_u24" => fit(u24a * u24b >> 32, 32, false, false),
        "mul_lo_u32" => fit(ua * ub, 32, false, false),
        "mul_hi_u32" => fit(ua * ub >> 32, 32, false, false),
        "mul_hi_i32" => fit(sa * sb >> 32, 32, true, false),
        "mad_i32_i24" => s32fit(s24a * s24b + sc),
        "mad_u32_u24" => u32fit(u24a * u24b + uc),
        "mad_u32_u16" => u32fit(u16a * u16b + uc),
        "mad_i32_i16" => s32fit(s16a * s16b + sc),
        "mad_u16" | "mad_legacy_u16" => u16fit(u16a * u16b + u16c),
        "mad_i16" | "mad_legacy_i16" => s16fit(s16a * s16b + s16c),
        "mad_u64_u32" => {
            let sum = ua * ub + i128::from(c);
            Some(Out { flag: sum >> 64 != 0, ..fit(sum, 64, false, x.clamp)? })
        }
        "mad_i64_i32" => {
            let sum = sa * sb + signed(c, 64);
            Some(Out { flag: sum >> 64 & 1 != 0, ..fit(sum, 64, true, x.clamp)? })
        }
        "min_i32" => fit(sa.min(sb), 32, true, false),
        "max_i32" => fit(sa.max(sb), 32, true, false),
        "min_u32" => fit(ua.min(ub), 32, false, false),
        "max_u32" => fit(ua.max(ub), 32, false, false),
        "min_i16" => fit(s16a.min(s16b), 16, true, false),
        "max_i16" => fit(s16a.max(s16b), 16, true, false),
        "min_u16" => fit(u16a.min(u16b), 16, false, false),
        "max_u16" => fit(u16a.max(u16b), 16, false, false),
        "ashr_pk_i8_i32" | "ashr_pk_u8_i32" => {
            let (least, most) = if name.contains("i8") { (-128, 127) } else { (0, 255) };
            // A division by a power of two that rounds down.
            let part = |v: i64| v.div_euclid(1 << (uc & 31)).clamp(least, most) as u64 & 0xff;
            bits(part(sa as i64) | part(sb as i64) << 8)
        }
        "prng_b32" => bits((a << 1 & 0xffff_ffff) ^ (a >> 31 & 1) * 0xc5),
        "min3_i32" => fit(sa.min(sb).min(sc), 32, true, false),
        "max3_i32" => fit(sa.max(sb).max(sc), 32, true, false),
        "med3_i32" => middle([sa, sb, sc], 32),
        "min3_u32" => fit(ua.min(ub).min(uc), 32, false, false),
        "max3_u32" => fit(ua.max(ub).max(uc), 32, false, false),
        "med3_u32" => middle([ua, ub, uc], 32),
        "min3_i16" => fit(s16a.min(s16b).min(s16c), 16, true, false),
        "max3_i16" => fit(s16a.max(s16b).max(s16c), 16, true, false),
        "med3_i16" => middle([s16a, s16b, s16c], 16),
        "min3_u16" => fit(u16a.min(u16b).min(u16c), 16, false, false),
        "max3_u16" => fit(u16a.max(u16b).max(u16c), 16, false, false),
        "med3_u16" => middle([u16a, u16b, u16c], 16),
        "add_u16" => u16fit(u16a + u16b),
        "sub_u16" => u16fit(u16a - u16b),
        "subrev_u16" => u16fit(u16b - u16a),
        "mul_lo_u16" => u16fit(u16a * u16b),
        "add_i16" => s16fit(s16a + s16b),
        "sub_i16" => s16fit(s16a - s16b),
        "lshlrev_b16" => from_bits(16, |n| n >= (a % 16) as u32 && is_set(b, n - (a % 16) as u32)),
        "lshrrev_b16" => from_bits(16, |n| n + (a % 16) as u32 <= 15 && is_set(b, n + (a % 16) as u32)),
        "ashrrev_i16" => from_bits(16, |n| is_set(b, (n + (a % 16) as u32).min(15))),
        "lshlrev_b32" => from_bits(32, |n| n >= (a % 32) as u32 && is_set(b, n - (a % 32) as u32)),
        "lshrrev_b32" => from_bits(32, |n| n + (a % 32) as u32 <= 31 && is_set(b, n + (a % 32) as u32)),
        "ashrrev_i32" => from_bits(32, |n| is_set(b, (n + (a % 32) as u32).min(31))),
        "lshlrev_b64" => from_bits(64, |n| n >= (a % 64) as u32 && is_set(b, n - (a % 64) as u32)),
        "lshrrev_b64" => from_bits(64, |n| n + (a % 64) as u32 <= 63 && is_set(b, n + (a % 64) as u32)),
        "ashrrev_i64" => from_bits(64, |n| is_set(b, (n + (a % 64) as u32).min(63))),
        "and_b32" => from_bits(32, |n| is_set(a, n) && is_set(b, n)),
        "or_b32" => from_bits(32, |n| is_set(a, n) || is_set(b, n)),
        "xor_b32" => from_bits(32, |n| is_set(a, n) != is_set(b, n)),
        "xnor_b32" => from_bits(32, |n| is_set(a, n) == is_set(b, n)),
        "or3_b32" => from_bits(32, |n| is_set(a, n) || is_set(b, n) || is_set(c, n)),
        "and_or_b32" => from_bits(32, |n| is_set(a, n) && is_set(b, n) || is_set(c, n)),
        "bfi_b32" => from_bits(32, |n| if is_set(a, n) { is_set(b, n) } else { is_set(c, n) }),
        "lshl_or_b32" => bits((a * (1 << (b % 32)) | c) & 0xffff_ffff),
        "lshl_add_u32" => fit(ua * (1 << (b % 32)) + uc, 32, false, false),
        "add_lshl_u32" => fit((ua + ub) * (1 << (c % 32)), 32, false, false),
        // Notes of CDNA4 ISA, 12.11: counts above 4 are not supported, and shift by 0.
        "lshl_add_u64" => {
            let factor = [1, 2, 4, 8, 16, 1, 1, 1][(b % 8) as usize];
            fit(unsigned(a, 64) * factor + unsigned(c, 64), 64, false, false)
        }
        "add3_u32" => fit(ua + ub + uc, 32, false, false),
        "xad_u32" => fit((ua ^ ub) + uc, 32, false, false),
        "bfe_u32" => from_bits(32, |n| {
            let at = n + (b % 32) as u32;
            n < (c % 32) as u32 && at < 32 && is_set(a, at)
        }),
        "bfe_i32" => {
            let width = (c % 32) as u32;
            let at = |n: u32| is_set(a, (n + (b % 32) as u32).min(31));
            from_bits(32, |n| width != 0 && at(n.min(width - 1)))
        }
        "bfm_b32" => from_bits(32, |n| (b % 32..a % 32 + b % 32).contains(&u64::from(n))),
        "bcnt_u32_b32" => fit((0..32).filter(|n| is_set(a, *n)).count() as i128 + ub, 32, false, false),
        "mbcnt_lo_u32_b32" => fit(lanes_below(0) + ub, 32, false, false),
        "mbcnt_hi_u32_b32" => fit(lanes_below(1) + ub, 32, false, false),
        "pack_b32_f16" => bits(a & 0xffff | (b & 0xffff) << 16),
        "alignbit_b32" => {
            let at = (c % 32) as u32;
            from_bits(32, |n| if n + at < 32 { is_set(b, n + at) } else { is_set(a, n + at - 32) })
        }
        "alignbyte_b32" => {
            let all: Vec<u8> = b.to_le_bytes()[..4].iter().chain(&a.to_le_bytes()[..4]).copied().collect();
            let at = (c % 4) as usize;
            bits((0..4).map(|n| u64::from(all[n + at]) << (8 * n)).sum())
        }
        "perm_b32" => {
            let all: Vec<u8> = b.to_le_bytes()[..4].iter().chain(&a.to_le_bytes()[..4]).copied().collect();
            let pick = |selector: u8| match selector {
                0..=7 => all[usize::from(selector)],
                8 => (all[1] as i8 >> 7) as u8,
                9 => (all[3] as i8 >> 7) as u8,
                10 => (all[5] as i8 >> 7) as u8,
                11 => (all[7] as i8 >> 7) as u8,
                12 => 0,
                _ => 0xff,
            };
            bits((0..4).map(|n| u64::from(pick(c.to_le_bytes()[n])) << (8 * n)).sum())
        }
        "lerp_u8" => {
            bits((0..4).map(|n| ((byte(a, n) + byte(b, n) + byte(c, n) % 2) / 2 << (8 * n)) as u64).sum())
        }
        "sad_u8" => u32fit(sad(a, 0, b, false) + uc),
        "sad_hi_u8" => u32fit(sad(a, 0, b, false) * 0x1_0000 + uc),
        "msad_u8" => u32fit(sad(a, 0, b, true) + uc),
        "sad_u16" => u32fit((u16a - u16b).abs() + (unsigned(a >> 16, 16) - unsigned(b >> 16, 16)).abs() + uc),
        "sad_u32" => u32fit((ua - ub).abs() + uc),
        "qsad_pk_u16_u8" | "mqsad_pk_u16_u8" => {
            let masked = name.starts_with('m');
            let part = |n: u32| {
                let sum = sad(a, n as usize, b, masked) + unsigned(c >> (16 * n), 16);
                fit(sum, 16, false, x.clamp).map_or(0, |out| out.d) << (16 * n)
            };
            bits((0..4).map(part).sum())
        }
        "dot2c_i32_i16" => s32fit(products(16) + signed(x.old, 32)),
        "dot4c_i32_i8" => s32fit(products(8) + signed(x.old, 32)),
        "dot8c_i32_i4" => s32fit(products(4) + signed(x.old, 32)),
        "cvt_pk_u16_u32" => bits((ua.min(0xffff) | ub.min(0xffff) << 16) as u64),
        "cvt_pk_i16_i32" => {
            let part = |v: i128| (v.clamp(-0x8000, 0x7fff) & 0xffff) as u64;
            bits(part(sa) | part(sb) << 16)
        }
        _ => None,
    }
    .map(|out| Out { close: Close::Bits, ..out })
}

/// Comparisons of integers: `cmp_OP_TYPE`, `cmpx_OP_TYPE`.
fn compare(name: &str, a: u64, b: u64) -> Option<Option<Out>> {
    let mut parts = name.split('_');
    let (Some("cmp" | "cmpx"), Some(op), Some(ty)) = (parts.next(), parts.next(), parts.next()) else {
        return None;
    };
    let size = ty[1..].parse().ok()?;
    let order = match ty.as_bytes()[0] {
        b'i' => signed(a, size).cmp(&signed(b, size)),
        b'u' => unsigned(a, size).cmp(&unsigned(b, size)),
        _ => return None,
    };
    Some(flag(match op {
        "f" => false,
        "lt" => order.is_lt(),
        "eq" => order.is_eq(),
        "le" => order.is_le(),
        "gt" => order.is_gt(),
        "ne" => order.is_ne(),
        "ge" => order.is_ge(),
        "t" => true,
        _ => return None,
    }))
}
