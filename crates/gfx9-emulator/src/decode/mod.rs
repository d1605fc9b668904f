//! Decoding: machine code to [`Inst`]s, once, when a program is first used.

mod mem;
mod scalar;
#[cfg(test)]
mod tests;
mod vop;
mod vop3p;

use std::collections::HashMap;

use gfx9_isa::{Encoding, ILLEGAL, Row, Target, Ty, fields};

use crate::exec::control::{BranchOff, Goto, Illegal, Unimplemented};
use crate::executors::{Impl, executor};
use crate::inst::{Inst, NONE, flag};
use crate::isa::{Columns, ExecFn, Level, same};
use crate::modifiers::{Ext, MODIFIED, Operand, SPILL, spill};
use crate::wave::POOL;

/// High dwords of the addresses of the LDS and the scratch aperture. As Linux's amdkfd has them on gfx9
/// (`MAKE_LDS_APP_BASE_V9`, `MAKE_SCRATCH_APP_BASE_V9`).
pub(crate) const SHARED_BASE_HI: u32 = 0x0001_0000;
/// See [`SHARED_BASE_HI`].
pub(crate) const PRIVATE_BASE_HI: u32 = 0x0002_0000;

/// No instruction starts at that dword.
const UNMAPPED: u32 = u32::MAX;
/// Slots of the pool that literals leave to the inline constants, which are some 300 in all their types: however many
/// literals a program has, its inline constants are not spilled.
const INLINE: u16 = 320;

/// Machine code, decoded.
pub(crate) struct Code {
    /// In the order of decoding; an instruction is followed by the next one in memory.
    pub(crate) insts: Vec<Inst>,
    /// Index of the instruction at each dword.
    map: Vec<u32>,
    /// Guest address of the first dword.
    pub(crate) base: u64,
    /// Scalar slots from [`POOL`] on.
    pub(crate) pool: Vec<u32>,
    pub(crate) target: Target,
    /// Identifies the pool.
    pub(crate) id: u64,
}

impl Code {
    /// Decodes `words`, mapped at guest address `base`. `starts` are dwords where instructions are known to start
    /// (functions), which keeps data between functions from hiding them.
    pub(crate) fn decode(words: &[u32], base: u64, starts: &[usize], target: Target, level: Level) -> Code {
        static NEXT_ID: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let mut d = Decoder { words, target, column: level as usize, pool: Pool::new() };
        let mut code = Code {
            insts: Vec::with_capacity(words.len()),
            map: vec![UNMAPPED; words.len()],
            base,
            pool: Vec::new(),
            target,
            id: NEXT_ID.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
        };
        let mut starts: Vec<usize> = starts.iter().copied().filter(|s| *s < words.len()).collect();
        starts.push(0);
        starts.sort_unstable();
        starts.dedup();
        let ends = starts.iter().skip(1).copied().chain([words.len()]);
        for (start, end) in starts.iter().zip(ends) {
            d.run(&mut code, *start, end);
        }
        // Direct branches may go where no instruction was thought to start.
        let mut n = 0;
        while n < code.insts.len() {
            if let Some(to) = branch_target(&code.insts[n]) {
                let index = match usize::try_from(to).ok().filter(|to| *to < words.len()) {
                    Some(to) => {
                        if code.map[to] == UNMAPPED {
                            d.run(&mut code, to, words.len());
                        }
                        Some(code.map[to])
                    }
                    None => None,
                };
                match index {
                    Some(index) => code.insts[n].target = index,
                    // Only where it is taken.
                    None => {
                        let from = &code.insts[n];
                        let mut off = Inst { exec: d.executor(same::<BranchOff>()), ext: None, ..*from };
                        off.flags |= flag::ILLEGAL;
                        let at = code.insts.len() as u32;
                        code.insts[n].target = at;
                        code.insts.push(off);
                    }
                }
            }
            n += 1;
        }
        code.pool = d.pool.values;
        code
    }

    /// Index of the instruction at a guest address.
    pub(crate) fn index_of(&self, address: u64) -> Option<u32> {
        let offset = address.wrapping_sub(self.base);
        let index = *self.map.get(usize::try_from(offset / 4).ok()?)?;
        (offset % 4 == 0 && index != UNMAPPED).then_some(index)
    }
}

/// The first of an operand's scalar registers: pairs start at even ones, larger tuples at multiples of 4, and the bits
/// below count for nothing (LLVM, `AMDGPUDisassembler::createSRegOperand`).
fn aligned(code: u32, ty: Ty) -> u16 {
    let registers = u32::from(ty.dwords()).clamp(1, 4).next_power_of_two();
    (code & !(registers - 1)) as u16
}

/// The dword that a direct branch goes to. Its distance is in `imm`, from the next instruction.
fn branch_target(i: &Inst) -> Option<i64> {
    let direct = i.row.name.starts_with("s_branch")
        || i.row.name.starts_with("s_cbranch") && i.row.src[0] == Ty::None
        || matches!(i.row.name, "s_call_b64" | "s_cbranch_i_fork");
    (direct && i.flags & flag::ILLEGAL == 0).then(|| i64::from(i.pc) + 1 + i64::from(i.imm as i32))
}

/// Constants of a program, each once.
struct Pool {
    values: Vec<u32>,
    narrow: HashMap<u32, u16>,
    wide: HashMap<u64, u16>,
}

impl Pool {
    fn new() -> Pool {
        Pool { values: Vec::new(), narrow: HashMap::new(), wide: HashMap::new() }
    }

    /// Puts values into the next slots, if these lie before `end`.
    fn push(&mut self, values: &[u32], end: u16) -> Option<u16> {
        let at = usize::from(POOL) + self.values.len();
        if at + values.len() > usize::from(end) {
            return None;
        }
        self.values.extend_from_slice(values);
        Some(at as u16)
    }

    /// The slot of a value, unless the pool is full.
    fn slot(&mut self, value: u64, wide: bool, inline: bool) -> Option<u16> {
        let end = if inline { SPILL } else { SPILL - INLINE };
        if wide {
            if let Some(slot) = self.wide.get(&value) {
                return Some(*slot);
            }
            let slot = self.push(&[value as u32, (value >> 32) as u32], end)?;
            self.wide.insert(value, slot);
            Some(slot)
        } else {
            if let Some(slot) = self.narrow.get(&(value as u32)) {
                return Some(*slot);
            }
            let slot = self.push(&[value as u32], end)?;
            self.narrow.insert(value as u32, slot);
            Some(slot)
        }
    }
}

/// Why an encoding is no instruction.
pub(crate) struct Bad;

/// An instruction being decoded.
pub(crate) struct Draft {
    pub(crate) inst: Inst,
    /// Dwords.
    pub(crate) len: usize,
    zero_flags: bool,
    spilled: [Option<u64>; 3],
}

pub(crate) struct Decoder<'a> {
    words: &'a [u32],
    pub(crate) target: Target,
    column: usize,
    pool: Pool,
}

impl Decoder<'_> {
    fn word(&self, at: usize) -> u32 {
        self.words.get(at).copied().unwrap_or(0)
    }

    /// The executor for the level decoded for.
    pub(crate) fn executor(&self, columns: Columns) -> ExecFn {
        columns[self.column]
    }

    /// Decodes from `start` until `end`, or until it meets what was decoded before, to which it then jumps.
    fn run(&mut self, code: &mut Code, start: usize, end: usize) {
        let mut at = start;
        while at < end {
            if code.map[at] != UNMAPPED {
                let mut goto = self.blank(at);
                goto.exec = self.executor(same::<Goto>());
                goto.target = code.map[at];
                code.insts.push(goto);
                return;
            }
            code.map[at] = code.insts.len() as u32;
            let draft = self.one(at);
            at += draft.len;
            code.insts.push(self.close(draft));
        }
        // Running off the end of the code.
        let mut off = self.blank(at);
        off.exec = self.executor(same::<BranchOff>());
        code.insts.push(off);
    }

    fn blank(&self, at: usize) -> Inst {
        Inst {
            exec: self.executor(same::<Illegal>()),
            dst: NONE,
            sdst: NONE,
            src: [NONE; 3],
            flags: 0,
            imm: 0,
            target: 0,
            pc: at as u32,
            raw: [self.word(at), 0],
            row: &ILLEGAL,
            ext: None,
        }
    }

    /// Wraps an instruction whose operands need something done first.
    fn close(&self, draft: Draft) -> Inst {
        let Draft { mut inst, zero_flags, spilled, .. } = draft;
        if !zero_flags && spilled == [None; 3] {
            return inst;
        }
        if let Some(ext) = &mut inst.ext {
            ext.zero_flags |= zero_flags;
            ext.spilled = spilled;
            return inst;
        }
        let mut outer = self.blank(inst.pc as usize);
        outer.exec = self.executor(MODIFIED);
        outer.raw = inst.raw;
        outer.row = inst.row;
        outer.imm = inst.imm;
        outer.ext = Some(Box::new(Ext { zero_flags, spilled, ..Ext::around(inst) }));
        outer
    }

    fn one(&mut self, at: usize) -> Draft {
        let word = self.word(at);
        let mut draft = Draft { inst: self.blank(at), len: 1, zero_flags: false, spilled: [None; 3] };
        let done = match Encoding::of(word) {
            // The second dword would be beyond the code's end.
            Some(encoding) if at + encoding.dwords() > self.words.len() => Err(Bad),
            Some(encoding) => self.fields_of(encoding, &mut draft),
            None => {
                // All that is left of the encodings has two dwords.
                draft.len = 2.min(self.words.len() - at);
                draft.inst.raw[1] = self.word(at + 1);
                Err(Bad)
            }
        };
        // What has no text is no instruction either, so that a report can always show what was executed.
        let next = self.words.get(at + 1).copied();
        if done.is_err() || gfx9_isa::encoded_length(self.target, word, next).is_none() {
            // The row stays, if it is known, to name the instruction.
            draft.inst.exec = self.executor(same::<Illegal>());
            draft.inst.flags = flag::ILLEGAL;
            draft.inst.ext = None;
            draft.zero_flags = false;
            draft.spilled = [None; 3];
        }
        draft
    }

    /// Takes the draft's dwords apart.
    fn fields_of(&mut self, encoding: Encoding, draft: &mut Draft) -> Result<(), Bad> {
        let word = draft.inst.raw[0];
        if encoding.dwords() == 2 {
            self.literal(draft)?;
        }
        let long = u64::from(word) | u64::from(draft.inst.raw[1]) << 32;
        match encoding {
            Encoding::Sop1 => self.sop1(draft, word),
            Encoding::Sop2 => self.sop2(draft, word),
            Encoding::Sopk => self.sopk(draft, word),
            Encoding::Sopc => self.sopc(draft, word),
            Encoding::Sopp => self.sopp(draft, word),
            Encoding::Vop1 => self.vop1(draft, word),
            Encoding::Vop2 => self.vop2(draft, word),
            Encoding::Vopc => self.vopc(draft, word),
            Encoding::Smem => self.smem(draft, long),
            Encoding::Vop3 => self.vop3(draft, long),
            Encoding::Vop3p => self.vop3p(draft, long),
            Encoding::Ds => self.ds(draft, long),
            Encoding::Flat | Encoding::Global | Encoding::Scratch => self.flat(draft, long),
            Encoding::Mubuf => self.mubuf(draft, long),
            Encoding::Mtbuf => self.mtbuf(draft, long),
            Encoding::Mimg => self.find(draft, encoding, fields::Mimg::of(long).op).map(|_| ()),
        }
    }

    /// The row of an opcode, which it also puts into the draft; and for `Plain` rows its executor.
    pub(crate) fn find(&self, draft: &mut Draft, encoding: Encoding, op: u32) -> Result<&'static Row, Bad> {
        let row = encoding.row(self.target, op).ok_or(Bad)?;
        draft.inst.row = row;
        draft.inst.exec = match executor(row.mnemonic) {
            Impl::Plain(columns) => self.executor(columns),
            _ => self.executor(same::<Unimplemented>()),
        };
        Ok(row)
    }

    /// The literal that follows the instruction: one, however many sources it is.
    pub(crate) fn literal(&self, draft: &mut Draft) -> Result<u32, Bad> {
        if draft.len == 1 {
            draft.inst.raw[1] = *self.words.get(draft.inst.pc as usize + 1).ok_or(Bad)?;
            draft.len = 2;
        }
        Ok(draft.inst.raw[1])
    }

    /// A slot that holds a literal, for source `n` of the instruction.
    pub(crate) fn constant(&mut self, draft: &mut Draft, n: usize, value: u64, wide: bool) -> u16 {
        self.slot(draft, n, value, wide, false)
    }

    /// A slot that holds a value, for source `n` of the instruction: one of the pool or, if that is full, the
    /// source's own.
    fn slot(&mut self, draft: &mut Draft, n: usize, value: u64, wide: bool, inline: bool) -> u16 {
        self.pool.slot(value, wide, inline).unwrap_or_else(|| {
            draft.spilled[n] = Some(value);
            spill(n)
        })
    }

    /// A 9-bit source operand (CDNA2 ISA, "Operand source encodings"); scalar instructions use the lower 256.
    pub(crate) fn source(&mut self, draft: &mut Draft, n: usize, code: u32, ty: Ty) -> Result<Operand, Bad> {
        let wide = ty.dwords() == 2;
        // Operands of more than two dwords (MFMA's C) have one constant for all.
        let constant = |d: &mut Self, draft: &mut Draft, value: u64| {
            Ok(Operand::Scalar(d.slot(draft, n, value, wide, code != 255)))
        };
        match code {
            0..=127 => Ok(Operand::Scalar(aligned(code, ty))),
            128..=192 => constant(self, draft, u64::from(code - 128)),
            193..=208 => constant(self, draft, (192 - i64::from(code)) as u64),
            // The aperture's base is in the high dword.
            235 => constant(self, draft, u64::from(SHARED_BASE_HI) << 32),
            236 => constant(self, draft, u64::from(SHARED_BASE_HI) << 32 | 0xffff_ffff),
            237 => constant(self, draft, u64::from(PRIVATE_BASE_HI) << 32),
            238 => constant(self, draft, u64::from(PRIVATE_BASE_HI) << 32 | 0xffff_ffff),
            240..=248 => {
                const VALUES: [f64; 8] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0];
                let value = VALUES.get(code as usize - 240);
                constant(
                    self,
                    draft,
                    match (ty, value) {
                        (Ty::F64 | Ty::B64, Some(v)) => v.to_bits(),
                        // 1/(2 pi), as the hardware rounds it.
                        (Ty::F64 | Ty::B64, None) => 0x3fc4_5f30_6dc9_c882,
                        // Packed integers have the f32 (LLVM, `getInlineEncodingV216`).
                        (Ty::F16 | Ty::I16 | Ty::P16F, Some(v)) => {
                            u64::from(half::f16::from_f64(*v).to_bits())
                        }
                        (Ty::F16 | Ty::I16 | Ty::P16F, None) => 0x3118,
                        (_, Some(v)) => u64::from((*v as f32).to_bits()),
                        (_, None) => 0x3e22_f983,
                    },
                )
            }
            251 | 252 => {
                draft.zero_flags = true;
                Ok(Operand::Scalar(code as u16))
            }
            253 => Ok(Operand::Scalar(253)),
            255 => {
                let value = u64::from(self.literal(draft)?);
                constant(
                    self,
                    draft,
                    match ty {
                        // A double's literal is its high dword; a signed integer's is sign-extended.
                        Ty::F64 => value << 32,
                        Ty::B64 if draft.inst.row.name.contains("_i64") => {
                            i64::from(value as u32 as i32) as u64
                        }
                        _ => value,
                    },
                )
            }
            256..=511 => Ok(Operand::Vector(code as u16 - 256)),
            _ => Err(Bad),
        }
    }
}
