//! Compares atomics in all memories with their definitions on wide integers and f64, and runs them on several threads
//! at once.

use std::ptr::NonNull;

use amdgpu_isa::{Encoding, Target};
use half::{bf16, f16};

use crate::exec::level::SimdLevel;
use crate::exec::memory_model::{
    At, BufferFields, FlatFields, GLOBAL, LDS, MemoryModel, SCRATCH, buffer, ds, flat,
};
use crate::report::access::{AccessKind, LaneAddress, MemorySpace};
use crate::report::fault::FaultCause;
use crate::state::wave::{LANES, Mode};
use crate::testing::test_wave::{Random, TestWave};

crate::testing::tally::verified!(operations, exchanges_at_two_addresses);

/// An atomic instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Op {
    pub(crate) name: &'static str,
    pub(crate) encoding: Encoding,
    /// The operation, by the name that FLAT uses.
    pub(crate) kind: &'static str,
    pub(crate) bytes: usize,
}

impl Op {
    fn all(b: &MemoryModel) -> Vec<Op> {
        let mut ops = Vec::new();
        for encoding in [Encoding::Ds, Encoding::Flat, Encoding::Global, Encoding::Mubuf] {
            for (name, operation) in b.operations(encoding) {
                let (kind, wide) = if encoding == Encoding::Ds {
                    let Some(kind) = ds_kind(operation) else { continue };
                    (kind, operation.ends_with("64"))
                } else {
                    let Some((_, kind)) = operation.split_once("_atomic_") else { continue };
                    // Not modelled.
                    if kind.starts_with("ordered_") {
                        continue;
                    }
                    (kind.trim_end_matches("_x2"), kind.ends_with("_x2") || kind.ends_with("64"))
                };
                ops.push(Op { name, encoding, kind, bytes: if wide { 8 } else { 4 } });
            }
        }
        ops
    }

    fn dwords(self) -> usize {
        self.bytes / 4
    }

    fn is_ds(self) -> bool {
        self.encoding == Encoding::Ds
    }
}

fn ds_kind(name: &str) -> Option<&'static str> {
    const KINDS: [(&str, &str); 32] = [
        ("cond_sub_u32", "cond_sub_u32"),
        ("sub_clamp_u32", "sub_clamp_u32"),
        ("add_u", "add"),
        ("sub_u", "sub"),
        ("rsub_u", "rsub"),
        ("inc_u", "inc"),
        ("dec_u", "dec"),
        ("min_i", "smin"),
        ("max_i", "smax"),
        ("min_u", "umin"),
        ("max_u", "umax"),
        ("and_b", "and"),
        ("or_b", "or"),
        ("xor_b", "xor"),
        ("mskor_b", "mskor"),
        ("wrxchg_b", "swap"),
        ("cmpst_b", "cmpst"),
        ("cmpst_f32", "cmpst_f32"),
        ("cmpst_f64", "cmpst_f64"),
        ("cmpstore_b", "cmpswap"),
        ("cmpstore_f32", "cmpswap_f32"),
        ("cmpstore_f64", "cmpswap_f64"),
        ("min_f32", "min_f32"),
        ("max_f32", "max_f32"),
        ("min_f64", "min_f64"),
        ("max_f64", "max_f64"),
        ("add_f32", "add_f32"),
        ("add_f64", "add_f64"),
        ("pk_add_f16", "pk_add_f16"),
        ("pk_add_bf16", "pk_add_bf16"),
        ("wrap_b", "wrap"),
        ("condxchg32_b64", "condxchg32"),
    ];
    let plain = name.strip_prefix("ds_")?.replace("_rtn", "");
    let found = KINDS.iter().find(|(prefix, _)| plain.starts_with(prefix));
    found.map(|(_, kind)| *kind)
}

/// Returns the bits of the sum of two floats. `sum` computes it if there is no NaN. `quiet` is the bit that quiet NaNs
/// of the format have. `m` says whether the sum of two infinities is gfx12's NaN, which has a sign (RDNA4 ISA, 13.3).
fn add(m: u32, a: u64, b: u64, infinity: u64, quiet: u64, sum: impl Fn(u64, u64) -> u64) -> u64 {
    let sign = infinity << 1 & !infinity;
    let magnitude = |v: u64| v & !sign;
    let is_nan = |v: u64| magnitude(v) > infinity;
    if is_nan(a) {
        return a | quiet;
    }
    if is_nan(b) {
        return b | quiet;
    }
    if magnitude(a) == infinity && magnitude(b) == infinity && a != b {
        return infinity | quiet | if m & Mode::PREFERS_NUMBERS != 0 { sign } else { 0 };
    }
    sum(a, b)
}

fn f32_of(v: u64) -> f64 {
    f64::from(f32::from_bits(v as u32))
}

/// Flushes a denormal, if `on`, of the format whose infinity is given.
fn flush_to(v: u64, infinity: u64, on: bool) -> u64 {
    if on && v & infinity == 0 { v & (infinity << 1 & !infinity) } else { v }
}

fn flush(v: u64, bits: u32, on: bool) -> u64 {
    flush_to(v, if bits == 32 { 0x7f80_0000 } else { 0x7ff << 52 }, on)
}

/// Returns the value in memory after the operation. `m` has the low byte of MODE, and on gfx12 [`Mode::PREFERS_NUMBERS`].
pub(crate) fn reference(op: Op, old: u64, a: u64, b: u64, m: u32) -> u64 {
    let bits = 8 * op.bytes as u32;
    let mask = if bits == 64 { u64::MAX } else { 0xffff_ffff };
    let signed = |v: u64| ((v as i128) << (128 - bits)) >> (128 - bits);
    let wrap = |v: i128| v as u64 & mask;
    let (o, d) = (old as i128, a as i128);
    let float = |v: u64| if bits == 32 { f32_of(v) } else { f64::from_bits(v) };
    let in32 = m & 0x10 == 0;
    let in64 = m & 0x40 == 0;
    match op.kind {
        "add" => wrap(o + d),
        "sub" => wrap(o - d),
        "rsub" => wrap(d - o),
        "inc" => wrap(if o >= d { 0 } else { o + 1 }),
        "dec" => wrap(if o == 0 || o > d { d } else { o - 1 }),
        "smin" => wrap(signed(old).min(signed(a))),
        "smax" => wrap(signed(old).max(signed(a))),
        "umin" => wrap(o.min(d)),
        "umax" => wrap(o.max(d)),
        "and" => !(!old | !a) & mask,
        "or" => !(!old & !a) & mask,
        "xor" => (old | a) & !(old & a),
        "swap" => a,
        "cmpswap" => {
            if old == b {
                a
            } else {
                old
            }
        }
        "cmpst" => {
            if old == a {
                b
            } else {
                old
            }
        }
        "mskor" => (old & !a) | b,
        "wrap" => wrap(if o >= d { o - d } else { o + b as i128 }),
        "condxchg32" => [0, 32].into_iter().fold(0, |sum, at| {
            let (new, old) = (a >> at & 0xffff_ffff, old >> at & 0xffff_ffff);
            sum + ((if new >= 1 << 31 { new - (1 << 31) } else { old }) << at)
        }),
        "cmpst_f32" | "cmpst_f64" => {
            let on = if bits == 32 { in32 } else { in64 };
            let f = |v| flush(v, bits, on);
            f(if float(f(old)) == float(f(a)) { b } else { old })
        }
        // Those of gfx11 have the new value first (RDNA3 ISA, `DS_CMPSTORE_F32`).
        "cmpswap_f32" => reference(Op { kind: "cmpst_f32", ..op }, old, b, a, m),
        "cmpswap_f64" => reference(Op { kind: "cmpst_f64", ..op }, old, b, a, m),
        // gfx10's names.
        "fcmpswap" if bits == 32 => reference(Op { kind: "cmpswap_f32", ..op }, old, a, b, m),
        "fcmpswap" => reference(Op { kind: "cmpswap_f64", ..op }, old, a, b, m),
        "fmin" => reference(Op { kind: "min_f32", ..op }, old, a, b, m),
        "fmax" => reference(Op { kind: "max_f32", ..op }, old, a, b, m),
        "csub" | "csub_u32" | "sub_clamp_u32" => wrap((o - d).max(0)),
        "cond_sub_u32" => wrap(if o >= d { o - d } else { o }),
        "min_num_f32" => reference(Op { kind: "min_f32", ..op }, old, a, b, m),
        "max_num_f32" => reference(Op { kind: "max_f32", ..op }, old, a, b, m),
        "min_f32" | "max_f32" | "min_f64" | "max_f64" => {
            let quiet = if bits == 32 { 1 << 22 } else { 1 << 51 };
            let f = |v| flush(v, bits, if bits == 32 { in32 } else { in64 });
            let is_gfx12 = m & Mode::PREFERS_NUMBERS != 0;
            // RDNA4 ISA, `DS_MIN_NUM_F32` and 13.2: a NaN is the result only of two, and is that of the data. Denormals are flushed
            // before.
            let (old, a) = if is_gfx12 { (f(old), f(a)) } else { (old, a) };
            if is_gfx12 && (float(old).is_nan() || float(a).is_nan()) {
                return match (float(old).is_nan(), float(a).is_nan()) {
                    (true, true) => a | quiet,
                    (true, _) => a,
                    _ => old,
                };
            }
            let (x, y) = (float(f(old)), float(f(a)));
            // Conversion to f64 sets the bit of quiet NaNs, so this checks the original bits.
            let signalling = |v: u64| float(v).is_nan() && v & quiet == 0;
            if signalling(old) {
                old | quiet
            } else if signalling(a) {
                a | quiet
            } else if x.is_nan() {
                a
            } else if y.is_nan() {
                old
            } else {
                let less = y < x || y == x && y.is_sign_negative() && x.is_sign_positive();
                let more = y > x || y == x && x.is_sign_negative() && y.is_sign_positive();
                if op.kind.starts_with("min") && less || op.kind.starts_with("max") && more { a } else { old }
            }
        }
        "add_f32" => {
            let sum = |a, b| u64::from(((f32_of(a) + f32_of(b)) as f32).to_bits());
            let (old, a) = (flush(old, 32, in32), flush(a, 32, in32));
            flush(add(m, old, a, 0x7f80_0000, 1 << 22, sum), 32, m & 0x20 == 0)
        }
        "add_f64" => {
            add(m, old, a, 0x7ff << 52, 1 << 51, |a, b| (f64::from_bits(a) + f64::from_bits(b)).to_bits())
        }
        "pk_add_f16" => halves(old, a, |x, y| {
            let f = |v| f16::from_bits(v as u16).to_f64();
            let (x, y) = (flush_to(x, 0x7c00, in64), flush_to(y, 0x7c00, in64));
            let sum = add(m, x, y, 0x7c00, 1 << 9, |x, y| u64::from(f16::from_f64(f(x) + f(y)).to_bits()));
            flush_to(sum, 0x7c00, m & 0x80 == 0)
        }),
        "pk_add_bf16" => halves(old, a, |x, y| {
            let f = |v| bf16::from_bits(v as u16).to_f64();
            let (x, y) = (flush_to(x, 0x7f80, in64), flush_to(y, 0x7f80, in64));
            let sum = add(m, x, y, 0x7f80, 1 << 6, |x, y| u64::from(bf16::from_f64(f(x) + f(y)).to_bits()));
            flush_to(sum, 0x7f80, m & 0x80 == 0)
        }),
        other => panic!("no reference for {other}"),
    }
}

fn halves(a: u64, b: u64, f: impl Fn(u64, u64) -> u64) -> u64 {
    f(a & 0xffff, b & 0xffff) | f(a >> 16, b >> 16) << 16
}

/// Returns a random number, often one that is special for floats.
pub(crate) fn interesting(random: &mut Random, op: Op) -> u64 {
    let n = random.next();
    let value = match (op.bytes, op.kind) {
        (4, "pk_add_f16") => {
            const H: [u64; 12] =
                [0, 0x8000, 1, 0x83ff, 0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e01, 0x7c01, 0x0400];
            let one = |n: u64| if n % 3 == 0 { n >> 8 & 0xffff } else { H[(n >> 8) as usize % 12] };
            one(n) | one(n >> 20) << 16
        }
        (4, "pk_add_bf16") => {
            const H: [u64; 10] = [0, 0x8000, 1, 0x807f, 0x3f80, 0xbf80, 0x7f7f, 0x7f80, 0xff80, 0x7fc1];
            let one = |n: u64| if n % 3 == 0 { n >> 8 & 0xffff } else { H[(n >> 8) as usize % 10] };
            one(n) | one(n >> 20) << 16
        }
        (4, kind) if kind.contains("f32") => {
            let list = [0.0, -0.0, 1.0, -1.5, f32::MAX, f32::MIN_POSITIVE, f32::INFINITY, -f32::INFINITY];
            match n % 5 {
                0 => list[(n >> 8) as usize % 8].to_bits().into(),
                1 => [1u64, 0x8000_0003, 0x7fff_ffff, 0x7f80_0001, 0xffc0_1234][(n >> 8) as usize % 5],
                2 => u64::from((((n >> 8) % 2001) as f32 - 1000.0).to_bits()),
                _ => n >> 32,
            }
        }
        (8, kind) if kind.contains("f64") => {
            let list = [0.0, -0.0, 1.0, -1.5, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, -f64::INFINITY];
            match n % 5 {
                0 => list[(n >> 8) as usize % 8].to_bits(),
                1 => [1, 1 << 63 | 3, u64::MAX >> 1, 0x7ff0_0000_0000_0001, 0xfff8_0000_0000_1234]
                    [(n >> 8) as usize % 5],
                2 => (((n >> 8) % 2001) as f64 - 1000.0).to_bits(),
                _ => random.next(),
            }
        }
        // Small numbers, so that comparisons are also equal.
        _ if n % 3 == 0 => n >> 8 & 3,
        _ => random.int(),
    };
    if op.bytes == 4 { value & 0xffff_ffff } else { value }
}

/// Encodes an operation with its address in v10, data in v20 (and v24 for DS), the result in v30.
fn encode(b: &MemoryModel, op: Op, back: bool) -> Vec<u32> {
    match op.encoding {
        Encoding::Ds => ds(&b.rig, op.name, 0, 10, [20, 24], 30).to_vec(),
        Encoding::Mubuf => buffer(
            &b.rig,
            op.encoding,
            op.name,
            BufferFields {
                offset: 0,
                address: 10,
                data: 30,
                resource: 8,
                soffset: 128,
                offen: true,
                idxen: false,
                glc: back,
                lds: false,
                format: (0, 0),
            },
        ),
        _ => flat(
            &b.rig,
            op.encoding,
            op.name,
            FlatFields { offset: 0, address: 10, data: 20, saddr: None, dst: 30, glc: back, bit13: false },
        ),
    }
}

/// Returns the mode of an operation in memory, given the wave's.
fn memory_mode(op: Op, target: Target, mode: u32) -> u32 {
    match target {
        Target::Gfx90a => 0xc0,
        Target::Gfx942 | Target::Gfx950 => 0xf0,
        Target::Gfx12 => 0xf0 | Mode::PREFERS_NUMBERS,
        // RDNA3 ISA, 13.2: in memory, sums flush denormals of sources, and nothing flushes those of results.
        Target::Gfx11 | Target::Gfx115 | Target::Gfx103 if op.kind == "add_f32" => 0xe0,
        Target::Gfx11 | Target::Gfx115 | Target::Gfx103 => mode | 0xa0,
    }
}

/// Returns the mode of an operation, given the wave's. On gfx12, FLAT keeps denormals in LDS, too (RDNA4 ISA, 13.2).
fn mode_at(op: Op, target: Target, at: At, mode: u32) -> u32 {
    match at {
        At::Lds(_) if op.encoding != Encoding::Flat || !target.is_gfx12() => mode,
        _ => memory_mode(op, target, mode),
    }
}

/// Returns the number of memories, and of their mixture, that an operation can access: global memory, then LDS, then private memory, in
/// which gfx12 has no atomics of 64 bits.
fn spaces(op: Op, target: Target) -> usize {
    match op.encoding {
        Encoding::Flat if target.is_gfx12() && op.bytes == 8 => 2,
        Encoding::Flat => 4,
        _ => 1,
    }
}

fn operations() {
    for mut b in MemoryModel::every(21) {
        let is_rdna = b.rig.target.is_rdna();
        for op in Op::all(&b) {
            for trial in 0..24 {
                let exec = b.exec();
                b.scramble(10..40);
                let (bytes, dwords) = (op.bytes, op.dwords());
                let back = if op.is_ds() { op.name.contains("_rtn") } else { b.below(2) == 0 };
                let has_mode = op.is_ds() || is_rdna;
                let mode = if has_mode { [0xf0, 0xf0, 0x00, 0x30, 0xc0, 0x10][trial % 6] } else { 0xf0 };
                let is_gfx12 = b.rig.target.is_gfx12();
                let mode = mode | if is_gfx12 { Mode::PREFERS_NUMBERS } else { 0 };
                b.rig.w.mode.0 = mode;
                let data = if op.encoding == Encoding::Mubuf { 30 } else { 20 };
                let second = if op.is_ds() { 24 } else { data + dwords as u16 };
                let space = b.below(spaces(op, b.rig.target));
                let (mut want, mut stores) = (Vec::new(), Vec::new());
                // Private memory has few words.
                let kind = if space < 2 { b.below(5) } else { 0 };
                let first = b.below(8);
                for lane in 0..LANES {
                    let word = match kind {
                        // Few different addresses, so that lanes access the same ones.
                        0 => b.below(8),
                        1 => first,
                        2 => first + lane,
                        3 => first + lane % 16 * (lane / 32),
                        _ => first + lane ^ usize::from(lane == 40),
                    };
                    let byte = bytes * word;
                    let at = match (op.encoding, space) {
                        (Encoding::Ds, _) | (_, 1) => At::Lds(byte),
                        (_, 2) => At::Scratch(byte),
                        (_, 3) if lane % 3 == 0 => At::Lds(byte),
                        (_, 3) if lane % 3 == 1 => At::Scratch(byte),
                        _ => At::Global(0, byte),
                    };
                    let address = b.model.address(at);
                    match op.encoding {
                        Encoding::Ds => b.set(10, lane, address as u32),
                        Encoding::Mubuf => b.set(10, lane, byte as u32),
                        _ => b.set64(10, lane, address),
                    }
                    for register in [data, second] {
                        let value = interesting(&mut b.random, op);
                        b.set(register, lane, value as u32);
                        if dwords == 2 {
                            b.set(register + 1, lane, (value >> 32) as u32);
                        }
                    }
                    let fresh = interesting(&mut b.random, op);
                    b.model.write(at, lane, bytes, fresh.into());
                    stores.push(at);
                }
                b.fill();
                for (lane, at) in stores.into_iter().enumerate() {
                    let old = b.model.read(at, lane, bytes) as u64;
                    want.push(b.get(30, lane, dwords));
                    if exec >> lane & 1 == 0 {
                        continue;
                    }
                    let (x, y) = (b.get(data, lane, dwords) as u64, b.get(second, lane, dwords) as u64);
                    let m = mode_at(op, b.rig.target, at, mode);
                    b.model.write(at, lane, bytes, reference(op, old, x, y, m).into());
                    if back {
                        want[lane] = old.into();
                    }
                }
                b.rig.w.set_exec(exec);
                b.rig.w.set_s64(8, b.model.bases[0]);
                b.rig.w.set_s32(10, GLOBAL as u32);
                // Raw; on RDNA that takes a range check and a format, 32_FLOAT.
                b.rig.w.set_s32(11, if is_rdna { 3 << 28 | 22 << 12 } else { 0 });
                let words = encode(&b, op, back);
                b.rig.run(&words);
                for (lane, want) in want.iter().enumerate() {
                    let got = b.get(30, lane, dwords);
                    assert_eq!(got, *want, "{} lane {lane}: {got:x} {want:x}", op.name);
                }
                b.check(op.name);
            }
        }
    }
}

fn exchanges_at_two_addresses() {
    for mut b in MemoryModel::every(22) {
        for (name, operation) in b.operations(Encoding::Ds) {
            let Some(rest) = operation.strip_prefix("ds_wrxchg2") else { continue };
            let dwords = if rest.ends_with("64") { 2 } else { 1 };
            let unit = 4 * dwords * if rest.starts_with("st64") { 64 } else { 1 };
            for _ in 0..24 {
                let exec = b.exec();
                b.scramble(10..40);
                let offsets = [b.below(4), b.below(4)];
                let mut want: Vec<_> = (0..LANES).map(|lane| b.get(30, lane, 2 * dwords)).collect();
                let data: Vec<_> =
                    (0..LANES).map(|lane| [b.get(20, lane, dwords), b.get(24, lane, dwords)]).collect();
                let base: Vec<_> = (0..LANES).map(|_| 4 * dwords * b.below(100)).collect();
                for n in 0..2 {
                    for lane in 0..LANES {
                        b.set(10, lane, base[lane] as u32);
                        if exec >> lane & 1 == 0 {
                            continue;
                        }
                        let at = At::Lds(base[lane] + offsets[n] * unit);
                        let shift = 32 * dwords * n;
                        let mask = ((1u128 << (32 * dwords)) - 1) << shift;
                        want[lane] = want[lane] & !mask | b.model.read(at, lane, 4 * dwords) << shift;
                        b.model.write(at, lane, 4 * dwords, data[lane][n]);
                    }
                }
                b.rig.w.set_exec(exec);
                let words = ds(&b.rig, name, (offsets[0] | offsets[1] << 8) as u32, 10, [20, 24], 30);
                b.rig.run(&words);
                for (lane, want) in want.iter().enumerate() {
                    assert_eq!(b.get(30, lane, 2 * dwords), *want, "{name} lane {lane}");
                }
                b.check(name);
            }
        }
    }
}

#[test]
fn boundaries_and_misalignment_fault() {
    const BAD: usize = 50;
    for mut b in MemoryModel::all(23) {
        for op in Op::all(&b) {
            let size = op.bytes as u32;
            let (space, base, len) = match op.encoding {
                Encoding::Ds => (MemorySpace::Lds, 0, u64::from(LDS)),
                _ => (MemorySpace::Global, b.model.bases[1], GLOBAL),
            };
            // A raw buffer that contains all memory.
            let is_buffer = op.encoding == Encoding::Mubuf;
            b.rig.w.set_s64(8, base);
            b.rig.w.set_s32(10, !0);
            b.rig.w.set_s32(11, 0);
            let words = encode(&b, op, true);
            let mut run = |at: u64, exec: u64| {
                for lane in 0..LANES {
                    let at = if lane == BAD { at } else { base };
                    b.set64(10, lane, if is_buffer { at.wrapping_sub(base) } else { at });
                }
                b.rig.w.set_exec(exec);
                b.rig.try_run(&words)
            };
            let last = base + len - u64::from(size);
            for exec in [!0, 1 << BAD, 7 | 1 << BAD] {
                for at in [base, last] {
                    assert_eq!(run(at, exec), Ok(()), "{} at {at:#x}", op.name);
                }
                let lanes = |at: u64| vec![LaneAddress { lane: Some(BAD as u8), address: at }];
                for at in [last + u64::from(size), base + (1 << 20)] {
                    let want =
                        FaultCause::OutOfBounds { access: AccessKind::Atomic, space, size, lanes: lanes(at) };
                    assert_eq!(run(at, exec), Err(want), "{} at {at:#x}", op.name);
                }
                if op.kind == "condxchg32" {
                    // This instruction ignores the low bits.
                    continue;
                }
                for at in (1..u64::from(size)).map(|n| base + n) {
                    let want = FaultCause::Misaligned { space, size, lanes: lanes(at) };
                    assert_eq!(run(at, exec), Err(want), "{} at {at:#x}", op.name);
                }
            }
        }
    }
}

/// LLVM compiles atomics on bytes and halves to loops of dword loads and `cmpswap`, and the byte may be the last of an
/// allocation.
#[test]
fn atomics_may_access_the_whole_last_dword_of_an_allocation() {
    let run = |b: &mut MemoryModel, name: &str, at: u64, exec: u64| {
        for lane in 0..LANES {
            b.set64(10, lane, at);
            b.rig.w.v_mut(20).flat_mut()[lane] = 7;
            b.rig.w.v_mut(21).flat_mut()[lane] = 0;
        }
        b.rig.w.set_exec(exec);
        let fields =
            FlatFields { offset: 0, address: 10, data: 20, saddr: None, dst: 30, glc: true, bit13: false };
        let words = flat(&b.rig, Encoding::Global, name, fields);
        b.rig.try_run(&words)
    };
    for mut b in MemoryModel::all(25) {
        for len in [1, 2, 3, 6, 131, 200_002] {
            let base = b.rig.space.alloc(len, 0).unwrap();
            let last = base + (len - 1) / 4 * 4;
            for exec in [!0, 1 << 5] {
                assert_eq!(run(&mut b, "global_load_dword", last, exec), Ok(()), "{len}");
                assert_eq!(run(&mut b, "global_atomic_cmpswap", last, exec), Ok(()), "{len}");
                let faults = [
                    ("global_store_dword", last),
                    ("global_load_dword", last + 4),
                    ("global_load_dword", last + 1),
                    ("global_load_ubyte", base + len),
                    // A load may end in the aligned 16 bytes of the last byte, a store may not.
                    ("global_load_dwordx2", last / 16 * 16 + 12),
                    ("global_store_dwordx2", last),
                    ("global_atomic_cmpswap", last + 4),
                    ("global_atomic_add_x2", last / 8 * 8),
                ];
                for (name, at) in faults {
                    let fault = run(&mut b, name, at, exec);
                    let Err(FaultCause::OutOfBounds { lanes, .. }) = fault else {
                        panic!("{name} at {at:#x} of {len} bytes at {base:#x}: {fault:?}");
                    };
                    assert_eq!(lanes.len() as u32, exec.count_ones().min(16), "{name} {len}");
                }
            }
            let mut bytes = vec![0; len as usize];
            b.rig.space.read(base, &mut bytes).unwrap();
            assert_eq!(bytes[(last - base) as usize], 7, "{len}");
            b.rig.space.free(base).unwrap();
        }
        // The caller's memory is not rounded up.
        let mut host = [0u64; 2];
        // SAFETY: the memory is valid until it is unmapped.
        let base = unsafe { b.rig.space.map_host(NonNull::from(&mut host).cast(), 14) }.unwrap();
        assert!(run(&mut b, "global_load_dword", base + 12, 1).is_err());
        assert_eq!(run(&mut b, "global_load_dword", base + 8, 1), Ok(()));
        b.rig.space.unmap_host(base).unwrap();
    }
}

#[test]
fn flat_atomics_fault_in_apertures() {
    for mut b in MemoryModel::all(24) {
        let lds = b.model.address(At::Lds(0));
        let scratch = b.model.address(At::Scratch(0));
        for op in Op::all(&b).into_iter().filter(|op| op.encoding == Encoding::Flat) {
            let words = encode(&b, op, true);
            for (base, len, want) in [(lds, LDS, MemorySpace::Lds), (scratch, SCRATCH, MemorySpace::Scratch)]
            {
                for lane in 0..LANES {
                    b.set64(10, lane, base + u64::from(len));
                }
                b.rig.w.set_exec(1 << 3);
                let lanes = vec![LaneAddress { lane: Some(3), address: len.into() }];
                let size = op.bytes as u32;
                let want = FaultCause::OutOfBounds { access: AccessKind::Atomic, space: want, size, lanes };
                assert_eq!(b.rig.try_run(&words), Err(want), "{}", op.name);
            }
        }
    }
}

/// Runs an instruction several times on each of several threads. `place` says what each lane accesses, in bytes from `base`.
fn from_threads(
    name: &'static str,
    place: impl Fn(usize) -> u64 + Sync,
    setup: impl Fn(&mut TestWave, usize) + Sync,
    base: u64,
    rig: &TestWave,
    times: usize,
) {
    let fields =
        FlatFields { offset: 0, address: 10, data: 20, saddr: None, dst: 30, glc: true, bit13: false };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (place, setup) = (&place, &setup);
            scope.spawn(move || {
                let mut own = TestWave::new(rig.target, rig.level);
                for lane in 0..LANES {
                    let address = base + place(lane);
                    own.w.v_mut(10).flat_mut()[lane] = address as u32;
                    own.w.v_mut(11).flat_mut()[lane] = (address >> 32) as u32;
                }
                setup(&mut own, thread);
                rig.space.share(base, &own.space).unwrap();
                own.run(&flat(&own, Encoding::Global, name, fields).repeat(times));
            });
        }
    });
}

#[test]
fn sums_from_several_threads() {
    const TIMES: usize = 50;
    let rig = TestWave::new(Target::Gfx942, SimdLevel::best());
    let base = rig.space.alloc(512, 0).unwrap();
    let read = |at: u64| {
        let mut bytes = [0; 8];
        rig.space.read(base + at, &mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    };
    let one = |bits: u64| {
        move |rig: &mut TestWave, _: usize| {
            for lane in 0..LANES {
                rig.w.v_mut(20).flat_mut()[lane] = bits as u32;
                rig.w.v_mut(21).flat_mut()[lane] = (bits >> 32) as u32;
            }
        }
    };
    let few = |lane: usize| 8 * (lane as u64 % 4);
    let cases: [(&str, u64, fn(u64) -> u64); 8] = [
        ("global_atomic_add", 3, |count| 3 * count),
        ("global_atomic_add_x2", 1 << 33, |count| count << 33),
        ("global_atomic_sub", 1, |count| count.wrapping_neg() & 0xffff_ffff),
        ("global_atomic_inc", 0xffff_ffff, |count| count),
        ("global_atomic_add_f32", 1f32.to_bits().into(), |count| (count as f32).to_bits().into()),
        ("global_atomic_add_f64", 0.5f64.to_bits(), |count| (count as f64 / 2.0).to_bits()),
        ("global_atomic_xor", 5, |_| 0),
        ("global_atomic_umax_x2", 9 << 40, |_| 9 << 40),
    ];
    for (name, data, want) in cases {
        let size = if name.ends_with("_x2") || name.ends_with("64") { 8 } else { 4 };
        // A few words each of 16 lanes, one word of all lanes, and a word of each lane.
        let consecutive = |lane: usize| size * lane as u64;
        let places: [(&(dyn Fn(usize) -> u64 + Sync), u64); 3] =
            [(&few, 16), (&|_| 8, 64), (&consecutive, 1)];
        for (place, lanes) in places {
            rig.space.write(base, &[0; 512]).unwrap();
            from_threads(name, place, one(data), base, &rig, TIMES);
            for lane in 0..LANES {
                let value = read(place(lane) / 8 * 8) >> (place(lane) % 8 * 8);
                let value = if size == 4 { value & 0xffff_ffff } else { value };
                assert_eq!(value, want(lanes * 4 * TIMES as u64), "{name}, {lanes}");
            }
        }
    }
    // The counts stay below 2048, up to which f16 has all integers.
    rig.space.write(base, &[0; 512]).unwrap();
    from_threads("global_atomic_pk_add_f16", few, one(0x3c00_4000), base, &rig, 8);
    let total = |unit: f32| u64::from(f16::from_f32(unit * (16 * 4 * 8) as f32).to_bits());
    assert_eq!(read(0), total(2.0) | total(1.0) << 16);
}

#[test]
fn racing_stores_do_not_tear() {
    let rig = TestWave::new(Target::Gfx90a, SimdLevel::best());
    let base = rig.space.alloc(64, 0).unwrap();
    let own = |rig: &mut TestWave, thread: usize| {
        for register in 20..24 {
            *rig.w.v_mut(register).flat_mut() = [0x0101_0101 * thread as u32; LANES];
        }
    };
    from_threads("global_store_dword", |lane| 8 * (lane as u64 % 4), own, base, &rig, 200);
    let mut bytes = [0; 64];
    rig.space.read(base, &mut bytes).unwrap();
    for n in 0..4 {
        let dword = &bytes[8 * n..8 * n + 4];
        assert!(dword.iter().all(|b| *b == dword[0] && *b < 4), "{dword:?}");
    }
}
