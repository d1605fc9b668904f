//! `hiplaunch fidelity`: says how far the emulator's results can be believed, for a code object or a target.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use amdgpu_isa::{Listing, Target};
use code_object::CodeObject;
use hip_driver_emulated::{Fidelity, InstructionFidelity, fidelities, fidelity};
use serde_json::{Value, json};

use super::output::{Output, Style, complain, counted, grouped};
use super::{CommandError, CommandOutcome};

/// Show which instructions of the emulator are exact, and how that was verified.
///
/// With files, the instructions of each code object are listed; with a target, all instructions that it has. An
/// instruction is exact by the documents and an independent reference; exact, with sums that depend on their order;
/// within a stated error; not settled by any source; or not executed at all. The list is made from the tests that ran
/// each instruction. What is not exact has its reason.
#[derive(Debug, clap::Args)]
pub(crate) struct FidelityArgs {
    /// Code objects (ELF files, or bundles with code for the target).
    #[arg(value_name = "FILE", required_unless_present = "target")]
    files: Vec<PathBuf>,

    /// The target, such as gfx90a, gfx942, gfx950, gfx1100 or gfx1151. Of a bundle, the code for this target is read.
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,

    /// Print one JSON document.
    #[arg(long)]
    pub(super) json: bool,
}

/// An instruction, and how often it occurs.
pub(super) struct InstructionCount {
    instruction: InstructionFidelity,
    /// 0 if occurrences are not counted.
    count: u64,
}

pub(crate) fn run(args: &FidelityArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    // The same instructions have several processors, of which a bundle may have any.
    let processor = args.target.as_deref().map(|name| name.split(':').next().unwrap_or(""));
    let target = processor.map(parsed).transpose()?;
    if args.files.is_empty() {
        let (Some(target), Some(processor)) = (target, processor) else {
            return Ok(CommandOutcome::Unusable);
        };
        let counts: Vec<InstructionCount> = fidelities(target)
            .into_iter()
            .map(|instruction| InstructionCount { instruction, count: 0 })
            .collect();
        if args.json {
            out.json(&json!({ "target": processor, "fidelity": to_json(&counts) }))?;
        } else {
            out.line(out.styled(Style::Strong, processor))?;
            show(&counts, "  ", out)?;
        }
        return Ok(CommandOutcome::Passed);
    }
    let mut verdict = CommandOutcome::Passed;
    let mut documents = Vec::new();
    for path in &args.files {
        let file = path.display();
        match read(path, processor) {
            Ok((target, counts)) => {
                if args.json {
                    documents.push(json!({
                        "file": file.to_string(),
                        "target": target.processor(),
                        "fidelity": to_json(&counts),
                    }));
                } else {
                    out.line(out.styled(Style::Strong, &format!("{file}: {}", target.processor())))?;
                    show(&counts, "  ", out)?;
                }
            }
            Err(message) => {
                documents.push(json!({ "file": file.to_string(), "error": message }));
                complain(&format!("{file}: {message}"));
                verdict = CommandOutcome::Unusable;
            }
        }
    }
    if args.json {
        out.json(&json!({ "files": documents }))?;
    }
    Ok(verdict)
}

fn parsed(name: &str) -> Result<Target, CommandError> {
    Target::of_processor(name.split(':').next().unwrap_or("")).ok_or_else(|| {
        let possible = Target::listed_processors();
        CommandError::Unusable(format!("no emulator for {name}: {possible} are possible"))
    })
}

/// Returns the instructions of a code object, with the number of places where each is.
fn read(path: &std::path::Path, processor: Option<&str>) -> Result<(Target, Vec<InstructionCount>), String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let object = match processor.map(str::parse) {
        Some(Ok(target)) => CodeObject::from_any(&bytes, &target),
        _ => CodeObject::parse(&bytes),
    };
    let object = object.map_err(|error| error.to_string())?;
    let target = Target::of(&object).map_err(|error| error.to_string())?;
    let listing = Listing::of(&object).map_err(|error| error.to_string())?;
    let mut by_name: BTreeMap<&str, (&amdgpu_isa::Row, u64)> = BTreeMap::new();
    for function in listing.functions() {
        for row in function.instructions().filter_map(|instruction| instruction.row) {
            by_name.entry(row.name).or_insert((row, 0)).1 += 1;
        }
    }
    let counts = by_name
        .into_values()
        .filter_map(|(row, count)| Some(InstructionCount { instruction: fidelity(target, row)?, count }));
    Ok((target, counts.collect()))
}

/// Returns the instructions that were executed, by their mnemonics.
pub(super) fn executed(target: &str, mnemonics: &BTreeMap<&'static str, u64>) -> Vec<InstructionCount> {
    let Ok(target) = parsed(target) else { return Vec::new() };
    let all = fidelities(target).into_iter();
    all.filter_map(|instruction| {
        Some(InstructionCount { instruction, count: *mnemonics.get(instruction.name)? })
    })
    .collect()
}

/// Prints, for each fidelity, how many instructions have it, and the instructions with their reasons.
pub(super) fn show(counts: &[InstructionCount], indent: &str, out: &mut Output) -> Result<(), CommandError> {
    for fidelity in Fidelity::ALL {
        let these: Vec<&InstructionCount> =
            counts.iter().filter(|one| one.instruction.fidelity == fidelity).collect();
        if these.is_empty() {
            continue;
        }
        let total: u64 = these.iter().map(|one| one.count).sum();
        let times = if total > 0 { format!(", {} times", grouped(total)) } else { String::new() };
        let head = format!(
            "{indent}{}: {}{times} ({})",
            fidelity.name(),
            counted(these.len(), "instruction", "instructions"),
            fidelity.meaning()
        );
        out.line(out.styled(Style::Strong, &head))?;
        let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for one in these {
            reasons.entry(one.instruction.because).or_default().insert(one.instruction.name);
        }
        for (because, names) in reasons {
            out.line(format_args!("{indent}  {because}:"))?;
            let mut line = String::new();
            for name in names {
                if line.len() + name.len() > 110 {
                    out.line(format_args!("{indent}   {line}"))?;
                    line.clear();
                }
                line.push(' ');
                line.push_str(name);
            }
            out.line(format_args!("{indent}   {line}"))?;
        }
    }
    Ok(())
}

/// Returns a list of objects: name, encoding, fidelity, reason and, if occurrences are counted, how many there are.
pub(super) fn to_json(counts: &[InstructionCount]) -> Value {
    let one = |counts: &InstructionCount| {
        let InstructionCount { instruction, count } = counts;
        let mut object = json!({
            "name": instruction.name,
            "encoding": instruction.encoding.name(),
            "fidelity": instruction.fidelity.name(),
            "because": instruction.because,
        });
        if *count > 0 {
            object["count"] = json!(count);
        }
        object
    };
    counts.iter().map(one).collect()
}
