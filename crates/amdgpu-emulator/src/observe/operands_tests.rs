//! Compares the operands of instructions with the disassembly that LLVM generated, and with what executors do.

use std::collections::BTreeSet;

use amdgpu_isa::{Encoding, Target};

use crate::exec::inst::{Code, Inst, flag};
use crate::exec::level::SimdLevel;
use crate::observe::operands::{LaneUse, Operands, REGISTERS, SCALAR};
use crate::observe::registers::{Register, named};
use crate::report::fault::FaultCause;
use crate::state::wave::{LANES, POOL, sreg};
use crate::testing::test_wave::{CODE, Random, TestWave, disassembly, is_for};

/// Returns the dwords and the text of each encoding of a target.
fn lines(target: Target) -> impl Iterator<Item = (Vec<u32>, &'static str)> {
    disassembly().lines().filter_map(move |line| {
        let (_, mut rest) = line.split_once(' ')?;
        let mut words = Vec::new();
        while let Some((word, after)) = rest.split_once(' ').filter(|(word, _)| word.len() == 8)
            && let Ok(word) = u32::from_str_radix(word, 16)
        {
            words.push(word);
            rest = after;
        }
        (rest != "-" && is_for(line, target)).then_some((words, rest))
    })
}

fn decode(words: &[u32], target: Target) -> Code {
    Code::decode(words, CODE, &[], target, false, SimdLevel::best())
}

/// Returns whether the emulator executes the instruction. If not, its row is there only for reports.
fn is_executed(i: &Inst) -> bool {
    if i.flags & flag::ILLEGAL != 0 {
        return false;
    }
    let i = i.ext.as_ref().map_or(i, |ext| &ext.inner);
    !i.row.is_valu() || i.row.dst == amdgpu_isa::Ty::None || i.src[0] != crate::exec::inst::NONE
}

#[test]
fn operands_are_the_registers_that_the_disassembly_names() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for target in Target::GFX9 {
        for (words, text) in lines(target) {
            let code = decode(&words, target);
            let i = &code.insts[0];
            if i.row.encoding() == Some(Encoding::Mimg) || !is_executed(i) {
                continue;
            }
            // FLAT_SCRATCH may stand for the four registers from s100 on.
            if text.contains("flat_scratch") {
                continue;
            }
            // Registers with a name of their own are in few texts.
            let is_numbered = |register: &u16| *register < SCALAR + sreg::FLAT_SCRATCH;
            let found: BTreeSet<u16> = Operands::of(i)
                .uses()
                .iter()
                .flat_map(|operand| operand.registers())
                .filter(is_numbered)
                .collect();
            let expected: BTreeSet<u16> = named(text)
                .into_iter()
                .filter_map(|register| match register {
                    Register::Vector(v) => Some(v),
                    Register::Scalar(s) => Some(SCALAR + s),
                    _ => None,
                })
                .filter(is_numbered)
                .collect();
            count += 1;
            if found != expected {
                wrong.push(format!("{target:?} {words:08x?} {text}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 10_000, "only {count}");
}

/// The instructions that the next test leaves out: those of memory, whose registers the disassembly gives, and those
/// that jump, change the mode, or read what isn't a register.
fn is_left_out(i: &Inst) -> bool {
    let name = i.row.name;
    let memory = match i.row.encoding() {
        Some(Encoding::Ds) => !(name.contains("permute") || name.contains("swizzle")),
        Some(encoding) => matches!(
            encoding,
            Encoding::Sopp
                | Encoding::Smem
                | Encoding::Flat
                | Encoding::Global
                | Encoding::Scratch
                | Encoding::Mubuf
                | Encoding::Mtbuf
                | Encoding::Mimg
        ),
        None => true,
    };
    memory
        || [
            "s_setpc",
            "s_swappc",
            "s_call",
            "s_cbranch",
            "s_rfe",
            "s_setreg",
            "s_getreg",
            "s_set",
            "s_movrel",
        ]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Executes each instruction on random registers. No other register than those that it writes may change, and the
/// registers that it doesn't read must not change its result.
#[test]
fn operands_are_the_registers_that_executors_use() {
    let mut random = Random::new(17);
    let mut count = 0;
    for target in Target::GFX9 {
        let mut rig = TestWave::new(target, SimdLevel::best());
        for (words, text) in lines(target) {
            let code = decode(&words, target);
            let i = &code.insts[0];
            // The values of VCCZ and EXECZ are not known before the instruction is executed.
            let unknown_lane = Operands::of(i).lanes == LaneUse::Selected && i.ext.is_some();
            if is_left_out(i) || !is_executed(i) || unknown_lane {
                continue;
            }
            let operands = Operands::of(i);
            let of = |is_write: bool| {
                let mut set = vec![false; usize::from(REGISTERS)];
                for operand in operands.uses().iter().filter(|operand| operand.is_write == is_write) {
                    operand.registers().for_each(|register| set[usize::from(register)] = true);
                }
                set
            };
            let (reads, writes) = (of(false), of(true));
            // These are not among the operands.
            let implicit = |s: u16| matches!(s, sreg::M0 | sreg::EXEC) || s == sreg::EXEC + 1;
            let mut lane = || [random.next() as u32, 1.5f32.to_bits(), 7, 0][random.next() as usize % 4];
            let exec = [!0, 0x0f0f_1234_5678_9abc, 1][count % 3];
            let mut before = crate::state::wave::Wave::new();
            for v in 0..SCALAR {
                before.v_mut(v).flat_mut().fill_with(&mut lane);
            }
            for s in 0..128 {
                before.set_s32(s, lane());
            }
            before.set_exec(exec);
            before.set_scc(count % 2 == 0);
            let pool = usize::from(POOL);
            before.r.s[pool..pool + code.pool.len()].copy_from_slice(&code.pool);
            let mut run = |others: bool| {
                rig.w.r.v[..usize::from(SCALAR)].copy_from_slice(&before.r.v[..usize::from(SCALAR)]);
                rig.w.r.s[..128].copy_from_slice(&before.r.s[..128]);
                rig.w.set_scc(before.scc());
                if others {
                    for register in
                        (0..SCALAR).filter(|v| !reads[usize::from(*v)] && !writes[usize::from(*v)])
                    {
                        rig.w.v_mut(register).flat_mut().iter_mut().for_each(|lane| *lane = !*lane);
                    }
                    for s in (0..128).filter(|s| !implicit(*s)) {
                        let at = usize::from(SCALAR + s);
                        if !reads[at] && !writes[at] {
                            rig.w.set_s32(s, !rig.w.s32(s));
                        }
                    }
                }
                let ended = rig.try_run(&words);
                (ended, rig.w.r.v[..usize::from(SCALAR)].to_vec(), rig.w.r.s[..128].to_vec())
            };
            let (ended, vectors, scalars) = run(false);
            if matches!(ended, Err(FaultCause::Unimplemented { .. } | FaultCause::Privileged)) {
                continue;
            }
            assert_eq!(ended, Ok(()), "{text}");
            let changes_lanes = |v: u16, lanes: u64| {
                (0..LANES).any(|lane| {
                    lanes >> lane & 1 != 0 && vectors[usize::from(v)].flat()[lane] != before.v(v).flat()[lane]
                })
            };
            let lanes = operands.lanes(&before, i);
            for v in 0..SCALAR {
                let written = if writes[usize::from(v)] { lanes } else { 0 };
                assert!(!changes_lanes(v, !written), "{target:?} {text} changes v{v}");
            }
            for s in (0..128).filter(|s| !implicit(*s)) {
                let changed = scalars[usize::from(s)] != before.s32(s);
                assert!(!changed || writes[usize::from(SCALAR + s)], "{target:?} {text} changes s{s}");
            }
            let (_, other_vectors, other_scalars) = run(true);
            for register in (0..REGISTERS).filter(|register| writes[usize::from(*register)]) {
                let same = if register < SCALAR {
                    vectors[usize::from(register)].flat() == other_vectors[usize::from(register)].flat()
                } else {
                    let s = usize::from(register - SCALAR);
                    scalars[s] == other_scalars[s]
                };
                assert!(same, "{target:?} {text} reads registers that are not its operands");
            }
            if operands.lanes == LaneUse::Active {
                assert!(operands.lanes(&before, i) == exec);
            }
            count += 1;
        }
    }
    assert!(count > 5000, "only {count}");
}
