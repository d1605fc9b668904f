//! Tests of instruction traces.

mod common;

use std::sync::{Arc, Mutex};

use amdgpu_emulator::{InstructionTrace, TracedInstruction};
use common::{Rig, U32, U64, threads};

/// Returns a machine that traces the instructions that the filter selects, and the trace.
fn tracing(filter: &str, count: usize) -> (Rig, InstructionTrace, Arc<Mutex<Vec<TracedInstruction>>>) {
    let seen: Arc<Mutex<Vec<TracedInstruction>>> = Arc::default();
    let to = Arc::clone(&seen);
    let trace = InstructionTrace::new(filter.parse().unwrap(), move |instruction| {
        to.lock().unwrap().push(instruction.clone());
    });
    let mut config = threads(count);
    config.instruction_trace = Some(trace.clone());
    (Rig::defects(&config), trace, seen)
}

#[test]
fn all_instructions_of_a_wave_are_traced_with_values() {
    let (rig, trace, seen) = tracing("kernel=copy,workgroup=1,wave=1,lane=2", 1);
    let (from, to) = (rig.words(&(1000..1256).collect::<Vec<u32>>()), rig.words(&[0; 256]));
    rig.run("copy", 2, 128, &[U64(from), U64(to)]);
    rig.run("count_up", 2, 128, &[U64(to)]);
    let seen = seen.lock().unwrap();
    assert_eq!(trace.left_out(), 0);
    assert!(seen.iter().all(|i| &*i.kernel == "copy" && i.workgroup == [1, 0, 0] && i.wave == 1));
    assert!(seen.last().unwrap().text.starts_with("s_endpgm"), "{seen:?}");
    assert!(seen.windows(2).all(|pair| pair[0].pc < pair[1].pc));
    let load = seen.iter().find(|i| i.text.starts_with("global_load_dword ")).unwrap();
    assert_eq!((load.exec, load.lane), (!0, 2));
    // Work-item 66 of workgroup 1.
    let loaded = &load.registers[0];
    assert_eq!(loaded.after, 1000 + 128 + 66, "{load}");
    assert!(load.to_string().contains(&format!("-> {:#x}", 1000 + 128 + 66)), "{load}");
    let store = seen.iter().find(|i| i.text.starts_with("global_store_dword ")).unwrap();
    assert!(store.registers.iter().any(|r| r.before == 1000 + 128 + 66 && r.after == r.before), "{store}");
}

#[test]
fn filters_and_the_limit_select_instructions() {
    let (rig, trace, seen) = tracing("mnemonic=ds_*,limit=10", 2);
    let data = rig.words(&(0..512).collect::<Vec<u32>>());
    rig.launch("two_barriers", [2, 1, 1], [256, 1, 1], 1024, &[U64(data), U32(3)]).unwrap();
    let lines = seen.lock().unwrap();
    assert!(lines.len() == 10 && lines.iter().all(|i| i.text.starts_with("ds_")), "{lines:?}");
    // Two workgroups of four waves, two instructions in three rounds.
    assert_eq!(trace.left_out(), 2 * 4 * 3 * 2 - 10);
    let pc = lines[0].pc;
    let (rig, _, seen) = tracing(&format!("pc={pc:#x}..{:#x}", pc + 4), 1);
    let data = rig.words(&(0..512).collect::<Vec<u32>>());
    rig.launch("two_barriers", [2, 1, 1], [256, 1, 1], 1024, &[U64(data), U32(3)]).unwrap();
    let lines = seen.lock().unwrap();
    assert!(!lines.is_empty() && lines.iter().all(|i| i.pc == pc));
}

#[test]
fn changed_flags_are_shown() {
    let (rig, _, seen) = tracing("kernel=histogram,workgroup=0,wave=0,mnemonic=s_and_saveexec_b64", 1);
    let (data, bins) = (rig.words(&[3; 64]), rig.words(&[0; 16]));
    rig.launch("histogram", [1, 1, 1], [64, 1, 1], 64, &[U64(data), U64(bins)]).unwrap();
    let lines = seen.lock().unwrap();
    let exec = lines[0].registers.iter().find(|r| r.name == "exec").unwrap();
    assert_eq!((exec.before, exec.after), (!0, 0xffff), "{}", lines[0]);
}
