//! SOP1, SOP2, SOPK and SOPC: arithmetic on scalars and masks.

use crate::exec::inst::{Exec, ExecContext, Flow, Inst, executors};
use crate::state::wave::{Wave, sreg};

/// Declares executors: `Name form(sources) { result }`. The form says the widths of sources and result, and whether SCC
/// is set if the result is not 0 (`scc`), is returned by the expression (`carry`: a pair with the result), or is kept
/// (`keep`).
macro_rules! salu {
    ($($(#[$doc:meta])* $name:ident $form:ident ($($arg:ident),*) $body:block)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl Exec for $name {
            #[inline(always)]
            fn exec(w: &mut Wave, _: &mut ExecContext, i: &Inst) -> Flow {
                salu!(@$form w, i, ($($arg),*), $body);
                Flow::Next
            }
        }
    )*};
    // Sources.
    (@src32 $w:ident, $i:ident, ($a:ident)) => { let $a = $w.s32($i.src[0]); };
    (@src32 $w:ident, $i:ident, ($a:ident, $b:ident)) => {
        let ($a, $b) = ($w.s32($i.src[0]), $w.s32($i.src[1]));
    };
    (@src64 $w:ident, $i:ident, ($a:ident)) => { let $a = $w.s64($i.src[0]); };
    (@src64 $w:ident, $i:ident, ($a:ident, $b:ident)) => {
        let ($a, $b) = ($w.s64($i.src[0]), $w.s64($i.src[1]));
    };
    (@src64_32 $w:ident, $i:ident, ($a:ident, $b:ident)) => {
        let ($a, $b) = ($w.s64($i.src[0]), $w.s32($i.src[1]));
    };
    // 32 bits to 32 bits.
    (@keep32 $w:ident, $i:ident, $args:tt, $body:block) => {
        salu!(@src32 $w, $i, $args);
        let d: u32 = $body;
        $w.set_s32($i.dst, d);
    };
    (@scc32 $w:ident, $i:ident, $args:tt, $body:block) => {
        salu!(@src32 $w, $i, $args);
        let d: u32 = $body;
        $w.set_s32($i.dst, d);
        $w.set_scc(d != 0);
    };
    (@carry32 $w:ident, $i:ident, $args:tt, $body:block) => {
        salu!(@src32 $w, $i, $args);
        let (d, scc): (u32, bool) = $body;
        $w.set_s32($i.dst, d);
        $w.set_scc(scc);
    };
    // 64 bits to 64 bits.
    (@keep64 $w:ident, $i:ident, $args:tt, $body:block) => {
        salu!(@src64 $w, $i, $args);
        let d: u64 = $body;
        $w.set_s64($i.dst, d);
    };
    (@scc64 $w:ident, $i:ident, $args:tt, $body:block) => {
        salu!(@src64 $w, $i, $args);
        let d: u64 = $body;
        $w.set_s64($i.dst, d);
        $w.set_scc(d != 0);
    };
    // 64 bits and 32 bits to 64 bits.
    (@scc64_32 $w:ident, $i:ident, $args:tt, $body:block) => {
        salu!(@src64_32 $w, $i, $args);
        let d: u64 = $body;
        $w.set_s64($i.dst, d);
        $w.set_scc(d != 0);
    };
    // 32 bits to 64 bits.
    (@keep64from32 $w:ident, $i:ident, $args:tt, $body:block) => {
        salu!(@src32 $w, $i, $args);
        let d: u64 = $body;
        $w.set_s64($i.dst, d);
    };
    // 64 bits to 32 bits.
    (@keep32from64 $w:ident, $i:ident, $args:tt, $body:block) => {
        salu!(@src64 $w, $i, $args);
        let d: u32 = $body;
        $w.set_s32($i.dst, d);
    };
    (@scc32from64 $w:ident, $i:ident, $args:tt, $body:block) => {
        salu!(@src64 $w, $i, $args);
        let d: u32 = $body;
        $w.set_s32($i.dst, d);
        $w.set_scc(d != 0);
    };
    // Comparisons.
    (@cmp32 $w:ident, $i:ident, $args:tt, $body:block) => {
        salu!(@src32 $w, $i, $args);
        let scc: bool = $body;
        $w.set_scc(scc);
    };
    (@cmp64 $w:ident, $i:ident, $args:tt, $body:block) => {
        salu!(@src64 $w, $i, $args);
        let scc: bool = $body;
        $w.set_scc(scc);
    };
    (@cmp64_32 $w:ident, $i:ident, $args:tt, $body:block) => {
        salu!(@src64_32 $w, $i, $args);
        let scc: bool = $body;
        $w.set_scc(scc);
    };
    // The old EXEC is written to the destination, the result to EXEC.
    (@saveexec $w:ident, $i:ident, ($a:ident, $exec:ident), $body:block) => {
        let ($a, $exec) = ($w.s64($i.src[0]), $w.exec());
        let new: u64 = $body;
        $w.set_s64($i.dst, $exec);
        $w.set_exec(new);
        $w.set_scc(new != 0);
    };
    // The result is written to both.
    (@wrexec $w:ident, $i:ident, ($a:ident, $exec:ident), $body:block) => {
        let ($a, $exec) = ($w.s64($i.src[0]), $w.exec());
        let new: u64 = $body;
        $w.set_exec(new);
        $w.set_s64($i.dst, new);
        $w.set_scc(new != 0);
    };
    // The same with the low halves of EXEC and of the operands (RDNA3 ISA, 16.3), in waves of any size.
    (@saveexec32 $w:ident, $i:ident, ($a:ident, $exec:ident), $body:block) => {
        let ($a, $exec) = ($w.s32($i.src[0]), $w.s32(sreg::EXEC));
        let new: u32 = $body;
        $w.set_s32($i.dst, $exec);
        $w.set_s32(sreg::EXEC, new);
        $w.set_scc(new != 0);
    };
    (@wrexec32 $w:ident, $i:ident, ($a:ident, $exec:ident), $body:block) => {
        let ($a, $exec) = ($w.s32($i.src[0]), $w.s32(sreg::EXEC));
        let new: u32 = $body;
        $w.set_s32(sreg::EXEC, new);
        $w.set_s32($i.dst, new);
        $w.set_scc(new != 0);
    };
    // Compares the destination and the immediate.
    (@immcmp $w:ident, $i:ident, ($a:ident, $k:ident), $body:block) => {
        let ($a, $k) = ($w.s32($i.dst), $i.imm);
        let scc: bool = $body;
        $w.set_scc(scc);
    };
}

salu! {
    AddU32 carry32(a, b) { a.overflowing_add(b) }
    SubU32 carry32(a, b) { a.overflowing_sub(b) }
    AddI32 carry32(a, b) { let (d, o) = (a as i32).overflowing_add(b as i32); (d as u32, o) }
    SubI32 carry32(a, b) { let (d, o) = (a as i32).overflowing_sub(b as i32); (d as u32, o) }
    MinI32 carry32(a, b) { ((a as i32).min(b as i32) as u32, (a as i32) < b as i32) }
    MinU32 carry32(a, b) { (a.min(b), a < b) }
    // SCC says whether the first source is the result. A maximum of equal sources is the first one, a minimum the second
    // (CDNA3 ISA, 12.1, pseudocode of `S_MAX_I32` and `S_MIN_I32`).
    MaxI32 carry32(a, b) { ((a as i32).max(b as i32) as u32, a as i32 >= b as i32) }
    MaxU32 carry32(a, b) { (a.max(b), a >= b) }
    AndB32 scc32(a, b) { a & b }
    AndB64 scc64(a, b) { a & b }
    OrB32 scc32(a, b) { a | b }
    OrB64 scc64(a, b) { a | b }
    XorB32 scc32(a, b) { a ^ b }
    XorB64 scc64(a, b) { a ^ b }
    Andn2B32 scc32(a, b) { a & !b }
    Andn2B64 scc64(a, b) { a & !b }
    Orn2B32 scc32(a, b) { a | !b }
    Orn2B64 scc64(a, b) { a | !b }
    NandB32 scc32(a, b) { !(a & b) }
    NandB64 scc64(a, b) { !(a & b) }
    NorB32 scc32(a, b) { !(a | b) }
    NorB64 scc64(a, b) { !(a | b) }
    XnorB32 scc32(a, b) { !(a ^ b) }
    XnorB64 scc64(a, b) { !(a ^ b) }
    LshlB32 scc32(a, b) { a << (b & 31) }
    LshlB64 scc64_32(a, b) { a << (b & 63) }
    LshrB32 scc32(a, b) { a >> (b & 31) }
    LshrB64 scc64_32(a, b) { a >> (b & 63) }
    AshrI32 scc32(a, b) { (a as i32 >> (b & 31)) as u32 }
    AshrI64 scc64_32(a, b) { (a as i64 >> (b & 63)) as u64 }
    BfmB32 keep32(a, b) { ((1 << (a & 31)) - 1) << (b & 31) }
    BfmB64 keep64from32(a, b) { ((1 << (a & 63)) - 1) << (b & 63) }
    MulI32 keep32(a, b) { a.wrapping_mul(b) }
    BfeU32 scc32(a, b) { bfe(u64::from(a), b & 31, b >> 16 & 0x7f, 32) as u32 }
    BfeI32 scc32(a, b) { bfe_signed(i64::from(a as i32), b & 31, b >> 16 & 0x7f, 32) as u32 }
    BfeU64 scc64_32(a, b) { bfe(a, b & 63, b >> 16 & 0x7f, 64) }
    BfeI64 scc64_32(a, b) { bfe_signed(a as i64, b & 63, b >> 16 & 0x7f, 64) as u64 }
    AbsdiffI32 scc32(a, b) { (a as i32).wrapping_sub(b as i32).wrapping_abs() as u32 }
    AddNcU64 keep64(a, b) { a.wrapping_add(b) }
    SubNcU64 keep64(a, b) { a.wrapping_sub(b) }
    MulU64 keep64(a, b) { a.wrapping_mul(b) }
    MulHiU32 keep32(a, b) { (u64::from(a) * u64::from(b) >> 32) as u32 }
    MulHiI32 keep32(a, b) { (i64::from(a as i32) * i64::from(b as i32) >> 32) as u32 }
    Lshl1AddU32 carry32(a, b) { shift_add(a, b, 1) }
    Lshl2AddU32 carry32(a, b) { shift_add(a, b, 2) }
    Lshl3AddU32 carry32(a, b) { shift_add(a, b, 3) }
    Lshl4AddU32 carry32(a, b) { shift_add(a, b, 4) }
    PackLl keep32(a, b) { a & 0xffff | b << 16 }
    PackLh keep32(a, b) { a & 0xffff | b & 0xffff_0000 }
    PackHh keep32(a, b) { a >> 16 | b & 0xffff_0000 }
    PackHl keep32(a, b) { a >> 16 | b << 16 }
    MovB32 keep32(a) { a }
    MovB64 keep64(a) { a }
    NotB32 scc32(a) { !a }
    NotB64 scc64(a) { !a }
    WqmB32 scc32(a) { wqm(u64::from(a)) as u32 }
    WqmB64 scc64(a) { wqm(a) }
    BrevB32 keep32(a) { a.reverse_bits() }
    BrevB64 keep64(a) { a.reverse_bits() }
    Bcnt0B32 scc32(a) { a.count_zeros() }
    Bcnt0B64 scc32from64(a) { a.count_zeros() }
    Bcnt1B32 scc32(a) { a.count_ones() }
    Bcnt1B64 scc32from64(a) { a.count_ones() }
    Ff0B32 keep32(a) { found(a.trailing_ones(), 32) }
    Ff0B64 keep32from64(a) { found(a.trailing_ones(), 64) }
    Ff1B32 keep32(a) { found(a.trailing_zeros(), 32) }
    Ff1B64 keep32from64(a) { found(a.trailing_zeros(), 64) }
    FlbitB32 keep32(a) { found(a.leading_zeros(), 32) }
    FlbitB64 keep32from64(a) { found(a.leading_zeros(), 64) }
    FlbitI32 keep32(a) { found((a ^ (a as i32 >> 31) as u32).leading_zeros(), 32) }
    FlbitI64 keep32from64(a) { found((a ^ (a as i64 >> 63) as u64).leading_zeros(), 64) }
    SextI8 keep32(a) { a as i8 as u32 }
    SextI16 keep32(a) { a as i16 as u32 }
    QuadmaskB32 scc32(a) { quadmask(u64::from(a)) as u32 }
    QuadmaskB64 scc64(a) { quadmask(a) }
    AbsI32 scc32(a) { (a as i32).wrapping_abs() as u32 }
    Bitreplicate keep64from32(a) { replicate(a) }
    AndSaveexec saveexec(a, exec) { a & exec }
    OrSaveexec saveexec(a, exec) { a | exec }
    XorSaveexec saveexec(a, exec) { a ^ exec }
    Andn2Saveexec saveexec(a, exec) { a & !exec }
    Orn2Saveexec saveexec(a, exec) { a | !exec }
    NandSaveexec saveexec(a, exec) { !(a & exec) }
    NorSaveexec saveexec(a, exec) { !(a | exec) }
    XnorSaveexec saveexec(a, exec) { !(a ^ exec) }
    Andn1Saveexec saveexec(a, exec) { !a & exec }
    Orn1Saveexec saveexec(a, exec) { !a | exec }
    Andn1Wrexec wrexec(a, exec) { !a & exec }
    Andn2Wrexec wrexec(a, exec) { a & !exec }
    AndSaveexecB32 saveexec32(a, exec) { a & exec }
    OrSaveexecB32 saveexec32(a, exec) { a | exec }
    XorSaveexecB32 saveexec32(a, exec) { a ^ exec }
    NandSaveexecB32 saveexec32(a, exec) { !(a & exec) }
    NorSaveexecB32 saveexec32(a, exec) { !(a | exec) }
    XnorSaveexecB32 saveexec32(a, exec) { !(a ^ exec) }
    AndNot0SaveexecB32 saveexec32(a, exec) { !a & exec }
    OrNot0SaveexecB32 saveexec32(a, exec) { !a | exec }
    AndNot1SaveexecB32 saveexec32(a, exec) { a & !exec }
    OrNot1SaveexecB32 saveexec32(a, exec) { a | !exec }
    AndNot0WrexecB32 wrexec32(a, exec) { !a & exec }
    AndNot1WrexecB32 wrexec32(a, exec) { a & !exec }
    CmpEqI32 cmp32(a, b) { (a as i32) == b as i32 }
    CmpEqU32 cmp32(a, b) { a == b }
    CmpkEqI32 immcmp(a, k) { (a as i32) == k as i32 }
    CmpkEqU32 immcmp(a, k) { a == k & 0xffff }
    CmpLgI32 cmp32(a, b) { (a as i32) != b as i32 }
    CmpLgU32 cmp32(a, b) { a != b }
    CmpkLgI32 immcmp(a, k) { (a as i32) != k as i32 }
    CmpkLgU32 immcmp(a, k) { a != k & 0xffff }
    CmpGtI32 cmp32(a, b) { (a as i32) > b as i32 }
    CmpGtU32 cmp32(a, b) { a > b }
    CmpkGtI32 immcmp(a, k) { (a as i32) > k as i32 }
    CmpkGtU32 immcmp(a, k) { a > k & 0xffff }
    CmpGeI32 cmp32(a, b) { (a as i32) >= b as i32 }
    CmpGeU32 cmp32(a, b) { a >= b }
    CmpkGeI32 immcmp(a, k) { (a as i32) >= k as i32 }
    CmpkGeU32 immcmp(a, k) { a >= k & 0xffff }
    CmpLtI32 cmp32(a, b) { (a as i32) < b as i32 }
    CmpLtU32 cmp32(a, b) { a < b }
    CmpkLtI32 immcmp(a, k) { (a as i32) < k as i32 }
    CmpkLtU32 immcmp(a, k) { a < (k & 0xffff) }
    CmpLeI32 cmp32(a, b) { (a as i32) <= b as i32 }
    CmpLeU32 cmp32(a, b) { a <= b }
    CmpkLeI32 immcmp(a, k) { (a as i32) <= k as i32 }
    CmpkLeU32 immcmp(a, k) { a <= k & 0xffff }
    CmpEqU64 cmp64(a, b) { a == b }
    CmpLgU64 cmp64(a, b) { a != b }
    Bitcmp0B32 cmp32(a, b) { a >> (b & 31) & 1 == 0 }
    Bitcmp1B32 cmp32(a, b) { a >> (b & 31) & 1 != 0 }
    Bitcmp0B64 cmp64_32(a, b) { a >> (b & 63) & 1 == 0 }
    Bitcmp1B64 cmp64_32(a, b) { a >> (b & 63) & 1 != 0 }
}

/// Returns `count` bits of `a` from `offset` on, or as many as there are.
#[inline(always)]
fn bfe(a: u64, offset: u32, count: u32, bits: u32) -> u64 {
    let a = a >> offset;
    if count >= bits { a } else { a & ((1 << count) - 1) }
}

/// Returns the bits that [`bfe`] returns, sign-extended.
#[inline(always)]
fn bfe_signed(a: i64, offset: u32, count: u32, bits: u32) -> i64 {
    if count == 0 {
        return 0;
    }
    let count = count.min(bits - offset);
    let a = a >> offset;
    a << (64 - count) >> (64 - count)
}

#[inline(always)]
fn shift_add(a: u32, b: u32, shift: u32) -> (u32, bool) {
    let sum = (u64::from(a) << shift) + u64::from(b);
    (sum as u32, sum >> 32 != 0)
}

/// Returns a bit's number; -1 if there is none, which `at == bits` says.
#[inline(always)]
fn found(at: u32, bits: u32) -> u32 {
    if at == bits { u32::MAX } else { at }
}

/// Sets all bits of each group of four in which one is set.
#[inline(always)]
fn wqm(a: u64) -> u64 {
    let any = (a | a >> 1 | a >> 2 | a >> 3) & 0x1111_1111_1111_1111;
    any * 15
}

/// Returns one bit for each group of four: whether one of them is set.
#[inline(always)]
fn quadmask(a: u64) -> u64 {
    (0..16).fold(0, |mask, n| mask | u64::from(a >> (4 * n) & 15 != 0) << n)
}

/// Returns each bit twice.
#[inline(always)]
fn replicate(a: u32) -> u64 {
    (0..32).fold(0, |out, n| out | u64::from(a >> n & 1) * 3 << (2 * n))
}

/// Declares executors that don't fit the forms above.
macro_rules! others {
    ($($(#[$doc:meta])* $name:ident |$w:ident, $i:ident| $body:block)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;
        impl Exec for $name {
            #[inline(always)]
            fn exec($w: &mut Wave, _: &mut ExecContext, $i: &Inst) -> Flow {
                $body
                Flow::Next
            }
        }
    )*};
}

others! {
    /// `s_addc_u32`.
    AddcU32 |w, i| {
        let sum = u64::from(w.s32(i.src[0])) + u64::from(w.s32(i.src[1])) + u64::from(w.scc());
        w.set_s32(i.dst, sum as u32);
        w.set_scc(sum >> 32 != 0);
    }
    /// `s_subb_u32`.
    SubbU32 |w, i| {
        let (a, b) = (u64::from(w.s32(i.src[0])), u64::from(w.s32(i.src[1])) + u64::from(w.scc()));
        w.set_s32(i.dst, a.wrapping_sub(b) as u32);
        w.set_scc(b > a);
    }
    CselectB32 |w, i| {
        let d = w.s32(if w.scc() { i.src[0] } else { i.src[1] });
        w.set_s32(i.dst, d);
    }
    CselectB64 |w, i| {
        let d = w.s64(if w.scc() { i.src[0] } else { i.src[1] });
        w.set_s64(i.dst, d);
    }
    CmovB32 |w, i| {
        if w.scc() {
            let d = w.s32(i.src[0]);
            w.set_s32(i.dst, d);
        }
    }
    CmovB64 |w, i| {
        if w.scc() {
            let d = w.s64(i.src[0]);
            w.set_s64(i.dst, d);
        }
    }
    Bitset0B32 |w, i| {
        let d = w.s32(i.dst) & !(1 << (w.s32(i.src[0]) & 31));
        w.set_s32(i.dst, d);
    }
    Bitset0B64 |w, i| {
        let d = w.s64(i.dst) & !(1 << (w.s32(i.src[0]) & 63));
        w.set_s64(i.dst, d);
    }
    Bitset1B32 |w, i| {
        let d = w.s32(i.dst) | 1 << (w.s32(i.src[0]) & 31);
        w.set_s32(i.dst, d);
    }
    Bitset1B64 |w, i| {
        let d = w.s64(i.dst) | 1 << (w.s32(i.src[0]) & 63);
        w.set_s64(i.dst, d);
    }
    MovkI32 |w, i| {
        w.set_s32(i.dst, i.imm);
    }
    CmovkI32 |w, i| {
        if w.scc() {
            w.set_s32(i.dst, i.imm);
        }
    }
    AddkI32 |w, i| {
        let (d, overflow) = (w.s32(i.dst) as i32).overflowing_add(i.imm as i32);
        w.set_s32(i.dst, d as u32);
        w.set_scc(overflow);
    }
    MulkI32 |w, i| {
        let d = w.s32(i.dst).wrapping_mul(i.imm);
        w.set_s32(i.dst, d);
    }
}

executors! {
    /// Moves from the SGPR whose number is the source's plus M0.
    MovrelsB32 |w, cx, i| {
        let d = w.s32(relative(cx, i.src[0], w.s32(sreg::M0)));
        w.set_s32(i.dst, d);
        Flow::Next
    }
    MovrelsB64 |w, cx, i| {
        let d = w.s64(relative(cx, i.src[0], w.s32(sreg::M0)));
        w.set_s64(i.dst, d);
        Flow::Next
    }
    MovreldB32 |w, cx, i| {
        let (to, d) = (relative(cx, i.dst, w.s32(sreg::M0)), w.s32(i.src[0]));
        w.set_s32(to, d);
        Flow::Next
    }
    MovreldB64 |w, cx, i| {
        let (to, d) = (relative(cx, i.dst, w.s32(sreg::M0)), w.s64(i.src[0]));
        w.set_s64(to, d);
        Flow::Next
    }
    /// Moves from the SGPR whose number is the source's plus the low 10 bits of M0 to the one whose number is the
    /// destination's plus bits 16 to 25 (RDNA3 ISA, `S_MOVRELSD_2_B32`).
    Movrelsd2 |w, cx, i| {
        let m0 = w.s32(sreg::M0);
        let (from, to) = (relative(cx, i.src[0], m0 & 0x3ff), relative(cx, i.dst, m0 >> 16 & 0x3ff));
        let d = w.s32(from);
        w.set_s32(to, d);
        Flow::Next
    }
}

/// Returns the number of the SGPR that is `by` after another one. If it is out of range, hardware uses s0 (CDNA2 ISA, "SGPR
/// indexing"). gfx11 has four SGPRs more (RDNA3 ISA, 6.2).
#[inline(always)]
fn relative(cx: &ExecContext, index: u16, by: u32) -> u16 {
    let at = u32::from(index).wrapping_add(by);
    let end = if cx.code.target.is_rdna() { sreg::VCC } else { sreg::FLAT_SCRATCH };
    if at < u32::from(end) { at as u16 } else { 0 }
}
