//! Disassembles code objects as `llvm-objdump -d` does; or compares with it.
//!
//! `disassemble FILE...` prints the functions. `disassemble --against OBJDUMP FILE...` runs `OBJDUMP -d FILE` and
//! compares the text of every instruction: LLVM 15's for gfx90a, LLVM 22's for the others. Code for RDNA is compared as that of the
//! wave size of the object's kernels.

use std::collections::BTreeSet;
use std::error::Error;
use std::process::{Command, ExitCode};

use amdgpu_isa::{Isa, Listing, Target, WaveSize, disassemble};
use code_object::CodeObject;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let mut files: Vec<String> = std::env::args().skip(1).collect();
    let objdump = (files.first().is_some_and(|arg| arg == "--against") && files.len() > 1).then(|| {
        files.remove(0);
        files.remove(0)
    });
    let done = match &objdump {
        Some(objdump) => compare(objdump, &files),
        None => files.iter().try_for_each(|file| print(file)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn print(file: &str) -> Result<()> {
    let object = CodeObject::parse(&std::fs::read(file)?)?;
    println!("{file}: {}\n\n{}", object.target(), Listing::of(&object)?);
    Ok(())
}

/// The dwords and the text of each line of `llvm-objdump -d`.
fn listed(objdump: &str, file: &str, isa: Isa) -> Result<Vec<(Vec<u32>, String)>> {
    let wide = isa.target.is_rdna() && isa.wave == WaveSize::Wave64;
    let features = if wide { "--mattr=+wavefrontsize64" } else { "--mattr=" };
    let output = Command::new(objdump)
        .args(["-d", "-z", features, file])
        .output()
        .map_err(|e| format!("{objdump}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{objdump} {file}: {}", output.status).into());
    }
    let mut lines = Vec::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        // `text // address: dwords <where a branch goes>`
        let Some((text, rest)) = line.rsplit_once("// ") else { continue };
        let Some((_, words)) = rest.split_once(": ") else { continue };
        let words = words.split_whitespace().map_while(|word| u32::from_str_radix(word, 16).ok());
        lines.push((words.collect(), text.trim().to_string()));
    }
    Ok(lines)
}

/// Whether they are the same but for where a branch goes: LLVM names a symbol that is there, as hand-written assembly
/// has them, and ours is the distance.
fn same_branch(ours: &str, theirs: &str) -> bool {
    let branch =
        |text: &str| ["s_branch", "s_cbranch_", "s_call_"].iter().any(|start| text.starts_with(start));
    match (ours.rsplit_once(' '), theirs.rsplit_once(' ')) {
        (Some((ours, distance)), Some((theirs, name))) => {
            ours == theirs && branch(ours) && distance.parse::<u16>().is_ok() && name.parse::<u16>().is_err()
        }
        _ => false,
    }
}

fn compare(objdump: &str, files: &[String]) -> Result<()> {
    let mut seen = BTreeSet::new();
    let mut differing = 0;
    for file in files {
        let object = CodeObject::parse(&std::fs::read(file)?)?;
        let wave = match object.kernels().iter().all(|kernel| kernel.descriptor.wave32()) {
            true => WaveSize::Wave32,
            false => WaveSize::Wave64,
        };
        let isa = Isa::new(Target::of(&object)?, wave);
        for (words, text) in listed(objdump, file, isa)? {
            let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let ours = disassemble(isa, &code, 0);
            let same = match &ours {
                Some(ours) => {
                    (ours.text == text || same_branch(&ours.text, &text)) && ours.length == code.len()
                }
                None => text.starts_with(".long"),
            };
            if !same {
                differing += 1;
                eprintln!("{file}: {words:08x?} is `{text}`, not {:?}", ours.map(|ours| ours.text));
            }
            seen.insert((isa.target as u8, wave == WaveSize::Wave32, words));
        }
    }
    println!("{} files, {} distinct encodings, {differing} differ", files.len(), seen.len());
    if differing > 0 || seen.is_empty() { Err("the disassemblies are not the same".into()) } else { Ok(()) }
}
