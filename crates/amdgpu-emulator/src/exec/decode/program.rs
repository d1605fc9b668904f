//! Decodes the dwords of a program to its instructions.

use amdgpu_isa::{Encoding, ILLEGAL, Mnemonic, Sopk, Sopp, Target, Vop3p, encoded_length, flags};

use super::decoder::{ConstantPool, Decoder, NotAnInstruction, PartialInst};
use super::vop3p::takes_scales;
use crate::exec::control::{BranchOff, Goto, Illegal};
use crate::exec::inst::{Code, Inst, ModifierInst, PreparedScalars, UNMAPPED, flag, isa};
use crate::exec::level::{SimdLevel, same};
use crate::exec::modifiers::MODIFIED;
use crate::exec::table::Impl;

impl Code {
    /// Decodes `words`, mapped at guest address `base`. `starts` are the dwords where functions start. Decoding also
    /// begins at each of them, as it could otherwise lose the right position in data between functions. `wave32` says
    /// whether waves of 32 lanes execute the code.
    pub(crate) fn decode(
        words: &[u32],
        base: u64,
        starts: &[usize],
        target: Target,
        wave32: bool,
        level: SimdLevel,
    ) -> Code {
        static NEXT_ID: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let mut d = Decoder {
            words,
            target,
            wave32,
            column: level as usize,
            pool: ConstantPool::new(),
            has_scales: false,
            known: vec![UNMAPPED; words.len().next_power_of_two().clamp(64, 4096)],
        };
        let mut code = Code {
            insts: Vec::with_capacity(words.len()),
            map: vec![UNMAPPED; words.len()],
            base,
            pool: Vec::new(),
            target,
            wave32,
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
        // A direct branch may have a target at which no instruction has been decoded.
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
                    // Such a branch faults only if it is taken.
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

    /// Returns whether waves that begin in this code end in it: all branches go to its instructions, and its last instruction is
    /// an end or a branch.
    pub(crate) fn is_closed(&self) -> bool {
        let inside = |to: i64| usize::try_from(to).is_ok_and(|to| to < self.map.len());
        let stays = |i: &Inst| !i.row.is(flags::BRANCH) || branch_target(i).is_some_and(inside);
        let last = self.map.iter().rev().find(|index| **index != UNMAPPED);
        let ends = last.is_some_and(|index| {
            matches!(
                self.insts[*index as usize].row.mnemonic,
                Mnemonic::Sopp(Sopp::s_endpgm | Sopp::s_branch)
            )
        });
        ends && self.insts.iter().all(stays)
    }

    /// Returns the number of instructions from the one at `entry` to the last that a wave reaches from there, if it executes each
    /// at most once: all branches go forward, and there are no calls and no jumps to addresses in registers.
    pub(crate) fn length_without_loops(&self, entry: u32) -> Option<u64> {
        let mut furthest = entry;
        for (n, inst) in (entry..).zip(self.insts.get(entry as usize..)?) {
            if inst.row.is(flags::BRANCH) {
                let is_forward = inst.target > n && branch_target(inst).is_some();
                if !is_forward || !matches!(inst.row.mnemonic, Mnemonic::Sopp(_)) {
                    return None;
                }
                furthest = furthest.max(inst.target);
            }
            match inst.row.mnemonic {
                Mnemonic::Sopp(Sopp::s_endpgm) if furthest <= n => return Some(u64::from(n - entry) + 1),
                // No instruction of the program, as `Goto`, which may go back.
                _ if std::ptr::eq(inst.row, &ILLEGAL) => return None,
                _ => {}
            }
        }
        None
    }
}

/// Returns the dword that a direct branch jumps to; `None` for other instructions. `imm` has the distance from the next
/// instruction.
fn branch_target(i: &Inst) -> Option<i64> {
    let direct = match i.row.mnemonic {
        Mnemonic::Sopp(_) => i.row.is(flags::BRANCH),
        Mnemonic::Sopk(op) => matches!(op, Sopk::s_call_b64 | Sopk::s_cbranch_i_fork),
        _ => false,
    };
    (direct && i.flags & flag::ILLEGAL == 0).then(|| i64::from(i.pc) + 1 + i64::from(i.imm as i32))
}

impl PartialInst {
    /// Returns whether this is `v_mfma_ld_scale_b32`.
    fn loads_scales(&self) -> bool {
        self.inst.row.mnemonic == Mnemonic::Vop3p(Vop3p::v_mfma_ld_scale_b32)
            && self.inst.flags & flag::ILLEGAL == 0
    }
}

impl Decoder<'_> {
    /// Decodes from `start` to `end`, or to a dword that was decoded before, to which the code then jumps.
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
            let slot = self.slot_of(at);
            if let Some((repeated, len)) = self.repeated(code, slot, at) {
                self.known[slot] = code.insts.len() as u32;
                code.insts.push(repeated);
                at += len;
                continue;
            }
            let partial = self.one(at);
            at += partial.len;
            let loads_scales = partial.loads_scales();
            if !loads_scales && partial.inst.flags & flag::ILLEGAL == 0 {
                self.known[slot] = code.insts.len() as u32;
            }
            code.insts.push(self.close(partial));
            if loads_scales && at + 2 <= end && takes_scales(self.target, [self.word(at), self.word(at + 1)])
            {
                // No instruction can jump between the two, so the second has no entry in the map.
                self.has_scales = true;
                let partial = self.one(at);
                self.has_scales = false;
                at += partial.len;
                code.insts.push(self.close(partial));
            }
        }
        // Executing the end of the code faults.
        let mut off = self.blank(at);
        off.exec = self.executor(same::<BranchOff>());
        code.insts.push(off);
    }

    /// Returns where in `known` the instruction at `at` is: at a hash of its first dwords.
    fn slot_of(&self, at: usize) -> usize {
        let first = self.word(at);
        let is_short =
            Encoding::of(self.target, first).is_some_and(|encoding| encoding.dwords(self.target) == 1);
        let second = if is_short { 0 } else { self.word(at + 1) };
        let hash = (u64::from(first) | u64::from(second) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.known.len() - 1)
    }

    /// Returns the instruction at `at` and its length in dwords, if the last one that was decoded for a slot has the same dwords, and
    /// no modifiers.
    fn repeated(&self, code: &Code, slot: usize, at: usize) -> Option<(Inst, usize)> {
        let index = self.known[slot] as usize;
        let known = code.insts.get(index).filter(|known| known.ext.is_none())?;
        let end = code.insts.get(index + 1).map_or(at, |next| next.pc as usize);
        let len = end - known.pc as usize;
        // An instruction of gfx10 may have more dwords than are kept.
        let (words, raw) = (self.words.get(at..at + len)?, known.raw.get(..len)?);
        let is_same = words.iter().zip(raw).all(|(word, known)| word == known);
        is_same.then_some((Inst { pc: at as u32, ext: None, ..*known }, len))
    }

    /// Returns the instruction. If scalars have to be prepared before it executes, wraps it in a [`ModifierInst`].
    pub(super) fn close(&self, partial: PartialInst) -> Inst {
        let PartialInst { mut inst, zero_flags, spilled, .. } = partial;
        if !zero_flags && spilled == [None; 3] {
            return inst;
        }
        let scalars = Some(PreparedScalars { zero_flags, spilled });
        if let Some(ext) = &mut inst.ext {
            ext.scalars = scalars;
            if ext.dpp.is_some() {
                // The executor for nothing but DPP doesn't prepare scalars.
                inst.exec = self.executor(MODIFIED);
            }
            return inst;
        }
        let mut outer = self.blank(inst.pc as usize);
        outer.exec = self.executor(MODIFIED);
        outer.raw = inst.raw;
        outer.row = inst.row;
        outer.imm = inst.imm;
        outer.ext = Some(Box::new(ModifierInst { scalars, ..ModifierInst::around(inst) }));
        outer
    }

    fn one(&mut self, at: usize) -> PartialInst {
        let word = self.word(at);
        let mut partial = PartialInst {
            inst: self.blank(at),
            len: 1,
            executor: Impl::Unimplemented,
            extra: None,
            zero_flags: false,
            spilled: [None; 3],
        };
        let done = match Encoding::of(self.target, word) {
            // A further dword is beyond the end of the code.
            Some(encoding) if at + encoding.dwords(self.target) > self.words.len() => Err(NotAnInstruction),
            Some(encoding) => self.fields_of(encoding, &mut partial),
            None => {
                // The remaining encodings have two dwords.
                partial.len = 2.min(self.words.len() - at);
                partial.inst.raw[1] = self.word(at + 1);
                Err(NotAnInstruction)
            }
        };
        // Dwords that the disassembler rejects are not an instruction either, so that a report can always show what was
        // executed.
        let words = self.words.get(at..).unwrap_or_default();
        if done.is_err() || encoded_length(isa(self.target, self.wave32), words).is_none() {
            // The row, if it is known, is kept to name the instruction.
            partial.inst.exec = self.executor(same::<Illegal>());
            partial.inst.flags = flag::ILLEGAL;
            partial.inst.ext = None;
            partial.zero_flags = false;
            partial.spilled = [None; 3];
        }
        partial
    }

    /// Decodes the fields of `partial`'s dwords.
    fn fields_of(&mut self, encoding: Encoding, partial: &mut PartialInst) -> Result<(), NotAnInstruction> {
        let word = partial.inst.raw[0];
        partial.len = encoding.dwords(self.target);
        for n in 1..partial.len {
            partial.inst.raw[n] = self.word(partial.inst.pc as usize + n);
        }
        let long = u64::from(word) | u64::from(partial.inst.raw[1]) << 32;
        let whole = u128::from(long) | u128::from(partial.inst.raw[2]) << 64;
        match encoding {
            Encoding::Sop1 => self.sop1(partial, word),
            Encoding::Sop2 => self.sop2(partial, word),
            Encoding::Sopk => self.sopk(partial, word),
            Encoding::Sopc => self.sopc(partial, word),
            Encoding::Sopp => self.sopp(partial, word),
            Encoding::Vop1 => self.vop1(partial, word),
            Encoding::Vop2 => self.vop2(partial, word),
            Encoding::Vopc => self.vopc(partial, word),
            Encoding::Smem => self.smem(partial, long),
            Encoding::Vop3 => self.vop3(partial, long),
            Encoding::Vop3p => self.vop3p(partial, long),
            Encoding::Vopd => self.vopd(partial, long),
            Encoding::Ds => self.ds(partial, long),
            Encoding::Flat | Encoding::Global | Encoding::Scratch => self.flat(partial, whole),
            Encoding::Mubuf => self.mubuf(partial, whole),
            Encoding::Mtbuf => self.mtbuf(partial, whole),
            Encoding::Mimg => self.mimg(partial, whole),
        }
    }
}
