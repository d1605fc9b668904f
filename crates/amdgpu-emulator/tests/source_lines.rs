//! Reports name the source lines of kernels that were compiled with debug information (tests/data/lines.hip).

mod common;

use amdgpu_emulator::{Error, FaultReport};
use code_object::{CodeObject, SourceLocation};
use common::{Arg, Rig, U32, U64, threads};

const LINES: &[u8] = include_bytes!("data/lines.gfx90a.co");

/// The number of the only line of lines.hip that has this text.
fn line(text: &str) -> u32 {
    let source = include_str!("data/lines.hip");
    let mut found = source.lines().zip(1..).filter(|(line, _)| line.contains(text)).map(|(_, number)| number);
    let number = found.next().unwrap_or_else(|| panic!("no line has {text}"));
    assert_eq!(found.next(), None, "several lines have {text}");
    number
}

fn lines(source: &[SourceLocation]) -> Vec<(&str, u32)> {
    source.iter().map(|location| (location.file.rsplit('/').next().unwrap(), location.line)).collect()
}

fn fault(rig: &Rig, kernel: &str, args: &[Arg]) -> FaultReport {
    match rig.launch(kernel, [1, 1, 1], [64, 1, 1], 0, args) {
        Err(Error::Fault(report)) => *report,
        other => panic!("{kernel}: {other:?}"),
    }
}

#[test]
fn a_fault_names_the_line_of_its_instruction() {
    let mut config = threads(1);
    config.instruction_budget = Some(100_000);
    let rig = Rig::new(&config, "lines", LINES);
    let data = U64(rig.words(&[0; 4]));

    let report = fault(&rig, "direct", &[data, U32(5000)]);
    assert_eq!(lines(&report.source), [("lines.hip", line("data[at] = 1;"))]);
    let at = format!(" at {}", report.source[0]);
    assert!(report.to_string().contains(&at) && at.contains("lines.hip:15:18"), "{report}");

    let report = fault(&rig, "called", &[data, data, U32(5000)]);
    assert_eq!(lines(&report.source), [("lines.hip", line("return data[at];"))]);

    let report = fault(&rig, "trap", &[]);
    assert_eq!(lines(&report.source), [("lines.hip", line("__builtin_trap();"))]);

    let report = fault(&rig, "forever", &[data]);
    assert!(report.to_string().contains("over its budget"), "{report}");
    // It may be any instruction of the loop.
    let (begin, end) = (line("KERNEL void forever("), line("        *data = 1;"));
    assert!((begin..=end).contains(&lines(&report.source)[0].1), "{report}");
}

#[test]
fn a_fault_in_an_inlined_function_names_its_calls() {
    let rig = Rig::new(&threads(1), "lines", LINES);
    let report = fault(&rig, "inlined", &[U64(rig.words(&[0; 4])), U32(5000)]);
    let expected = [("lines.hip", line("data[at] = 7;")), ("lines.hip", line("        put(data, at);"))];
    assert_eq!(lines(&report.source), expected);
    let (function, inlined_at) = (report.source[0].function.clone().unwrap(), &report.source[1]);
    assert!(function.contains("put"), "{function}");
    let text = report.to_string();
    assert!(text.contains(&format!(" in {function}, inlined at {inlined_at}, ")), "{text}");
}

#[test]
fn the_sanitizer_names_the_lines_of_both_instructions() {
    let mut config = threads(1);
    config.sanitize = true;
    let rig = Rig::new(&config, "lines", LINES);
    let data = U64(rig.words(&[0]));
    let Err(Error::Sanitizer { defects, .. }) = rig.launch("racy", [2, 1, 1], [64, 1, 1], 0, &[data]) else {
        panic!("the race must be found");
    };
    let expected = [("lines.hip", line("*data = __builtin_amdgcn_workgroup_id_x();"))];
    assert_eq!(lines(&defects[0].site.source), expected);
    assert_eq!(lines(&defects[0].other.as_ref().unwrap().source), expected);
    assert_eq!(defects[0].to_string().matches("lines.hip:").count(), 2, "{}", defects[0]);
}

#[test]
fn without_debug_information_there_are_no_lines() {
    for rig in Rig::all(&threads(1)) {
        let report = match rig.launch("store_at", [1, 1, 1], [64, 1, 1], 0, &[U64(8), U64(0), U32(0)]) {
            Err(Error::Fault(report)) => *report,
            other => panic!("{other:?}"),
        };
        assert_eq!(report.source, [], "{report}");
    }
}

#[test]
fn broken_debug_information_gives_no_lines_or_others_but_no_panic() {
    let whole = CodeObject::parse(LINES).unwrap();
    let addresses: Vec<u64> =
        whole.symbols().iter().flat_map(|f| (f.address..f.address + f.size.max(4)).step_by(4)).collect();
    assert!(addresses.iter().any(|address| !whole.source_at(*address).is_empty()));
    assert_eq!(whole.source_at(0), []);
    // The sections of debug information are behind the segments.
    let first = whole.segments().map(|s| s.data.as_ptr_range().end.addr()).max().unwrap()
        - whole.elf().as_ptr().addr();
    for at in (first..LINES.len()).step_by(7) {
        for value in [0, 0x7f, 0xff] {
            let mut bytes = LINES.to_vec();
            bytes[at] = value;
            if let Ok(object) = CodeObject::parse(&bytes) {
                object.source_at(addresses[at % addresses.len()]);
            }
        }
    }
}
