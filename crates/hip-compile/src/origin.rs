//! What an input says that it is for. LLVM compiles IR for one processor or system as if it were for another, and lld links
//! object files of other machines, so this is checked before they see it.

use std::borrow::Cow;

use code_object::TargetId;

use crate::bitcode;
use crate::error::CompileError;
use crate::input::{Input, InputKind};

/// The architecture and system of all code objects.
const TRIPLE: &str = "amdgcn-amd-amdhsa";

/// The start of an ELF file: magic, 64 bits, little-endian.
const ELF: [u8; 6] = *b"\x7fELF\x02\x01";
/// `EM_AMDGPU`
const MACHINE_AMDGPU: u16 = 224;
/// `ET_REL`
const TYPE_RELOCATABLE: u16 = 1;

/// Checks that an input is for the target, as far as it says.
pub(crate) fn check(input: &Input<'_>, target: &TargetId) -> Result<(), CompileError> {
    match input.kind() {
        InputKind::LlvmIr | InputKind::Bitcode => check_module(input, target),
        InputKind::Relocatable => check_object(input, target),
        // The compiler's own error for assembly names both, with the line.
        InputKind::Assembly | InputKind::Hip => Ok(()),
    }
}

fn check_module(input: &Input<'_>, target: &TargetId) -> Result<(), CompileError> {
    let module = match bitcode::is_bitcode(input.bytes()) {
        // What can't be read is left to the compiler, whose error says more.
        true => bitcode::read(input.bytes()).unwrap_or_default(),
        false => read_text(&String::from_utf8_lossy(input.bytes())),
    };
    let triple = &module.triple;
    let known =
        ["amdgcn", "amdgpu"].iter().any(|start| triple.starts_with(start)) && triple.contains("amdhsa");
    if !triple.is_empty() && !known {
        return Err(other(input, format!("the triple {triple}"), format!("{TRIPLE} ({})", target.short())));
    }
    for processor in &module.processors {
        let runs = |its: TargetId| TargetId::new(its.processor).is_compatible_with(target);
        if !processor.is_empty() && processor != "generic" && !processor.parse().is_ok_and(runs) {
            return Err(other(input, processor.clone(), target.short()));
        }
    }
    Ok(())
}

fn check_object(input: &Input<'_>, target: &TargetId) -> Result<(), CompileError> {
    let bytes = input.bytes();
    let half = |at: usize| bytes.get(at..at + 2).map(|b| u16::from_le_bytes([b[0], b[1]]));
    let (Some(kind), Some(machine), true) = (half(16), half(18), bytes.starts_with(&ELF)) else {
        return Err(unusable(input, "is no ELF file of 64 bits"));
    };
    if machine != MACHINE_AMDGPU {
        let machine = if machine == 62 { "x86-64".to_owned() } else { format!("ELF machine {machine}") };
        return Err(other(input, machine, format!("{TRIPLE} ({})", target.short())));
    }
    if kind != TYPE_RELOCATABLE {
        return Err(unusable(
            input,
            "is no relocatable object file; a linked code object can't be linked again",
        ));
    }
    let Some(flags) = bytes.get(48..52) else { return Err(unusable(input, "is cut short")) };
    let its = TargetId::from_e_flags(u32::from_le_bytes([flags[0], flags[1], flags[2], flags[3]]));
    if its.processor != target.processor {
        return Err(other(input, its.short(), target.short()));
    }
    Ok(())
}

fn other(input: &Input<'_>, found: String, target: String) -> CompileError {
    CompileError::OtherTarget { name: input.name().to_owned(), found, target }
}

fn unusable(input: &Input<'_>, problem: &'static str) -> CompileError {
    CompileError::Text { what: input.name().to_owned(), problem }
}

/// Reads what the text of a module says of its target.
fn read_text(text: &str) -> bitcode::Module {
    let mut module = bitcode::Module::default();
    for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with(';')) {
        if let Some(rest) = line.strip_prefix("target triple") {
            module.triple = rest.split('"').nth(1).unwrap_or_default().to_owned();
        }
        for (at, name) in line.match_indices("\"target-cpu\"") {
            let value = line[at + name.len()..].trim_start().strip_prefix('=');
            let value = value.and_then(|value| value.split('"').nth(1));
            module.processors.extend(value.map(str::to_owned));
        }
        if line.starts_with("module asm") {
            module.assembly.push_str(line);
        }
    }
    module
}

/// Returns why the result of a compile must not be cached: assembly that reads files, which the key does not contain.
pub(crate) fn reads_files(input: &Input<'_>) -> Option<String> {
    let text = match input.kind() {
        InputKind::Relocatable | InputKind::Hip => return None,
        _ if bitcode::is_bitcode(input.bytes()) => Cow::Owned(bitcode::read(input.bytes())?.assembly),
        _ => String::from_utf8_lossy(input.bytes()),
    };
    let directive = [".incbin", ".include"].into_iter().find(|directive| text.contains(directive))?;
    Some(format!("{directive} in {} reads a file", input.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use code_object::Processor;

    const MODULE: &str = include_str!("../tests/data/module.ll");
    const BITCODE: [&[u8]; 2] =
        [include_bytes!("../tests/data/module.15.bc"), include_bytes!("../tests/data/module.22.bc")];

    fn check_for(target: &str, input: &Input<'_>) -> Result<(), String> {
        check(input, &target.parse().unwrap()).map_err(|error| error.to_string())
    }

    /// The same module, as text and as bitcode of two versions of LLVM.
    fn modules() -> [Input<'static>; 3] {
        [Input::llvm_ir(MODULE), Input::bitcode(BITCODE[0]), Input::bitcode(BITCODE[1])]
    }

    #[test]
    fn ir_of_another_processor_is_refused_with_both_names() {
        for module in modules() {
            let module = module.named("m.ll");
            assert_eq!(check_for("gfx90a", &module), Ok(()));
            assert_eq!(check_for("gfx90a:xnack+", &module), Ok(()));
            let error = check_for("gfx942", &module).unwrap_err();
            assert!(error.contains("m.ll is for gfx90a") && error.contains("gfx942"), "{error}");
        }
        let generic = MODULE.replace("gfx90a", "gfx9-4-generic");
        assert_eq!(check_for("gfx942", &Input::llvm_ir(&generic)), Ok(()));
        assert!(check_for("gfx90a", &Input::llvm_ir(&generic)).is_err());
    }

    #[test]
    fn ir_of_another_system_is_refused_with_both_triples() {
        let other = MODULE.replace("amdgcn-amd-amdhsa", "x86_64-pc-linux-gnu");
        let error = check_for("gfx90a", &Input::llvm_ir(&other)).unwrap_err();
        assert!(error.contains("x86_64-pc-linux-gnu") && error.contains("amdgcn-amd-amdhsa"), "{error}");
        let none = MODULE.replace("target triple", "; target triple");
        assert_eq!(check_for("gfx90a", &Input::llvm_ir(&none)), Ok(()));
    }

    #[test]
    fn bitcode_says_what_its_text_says() {
        let text = read_text(MODULE);
        assert_eq!(
            (text.triple.as_str(), &text.processors[..]),
            ("amdgcn-amd-amdhsa", &["gfx90a".to_owned()][..])
        );
        for bytes in BITCODE {
            let module = bitcode::read(bytes).unwrap();
            assert_eq!((module.triple, module.processors), (text.triple.clone(), text.processors.clone()));
            assert_eq!(module.assembly.trim_end(), ".section .note");
        }
        assert!(text.assembly.contains(".section .note"));
    }

    #[test]
    fn damaged_bitcode_is_left_to_the_compiler() {
        for bytes in BITCODE {
            for at in 0..bytes.len() {
                let _ = bitcode::read(&bytes[..at]);
                let mut bad = bytes.to_vec();
                for bit in 0..8 {
                    bad[at] ^= 1 << bit;
                    let _ = bitcode::read(&bad);
                }
            }
            assert_eq!(bitcode::read(&bytes[..bytes.len() / 2]), None);
            assert_eq!(check_for("gfx942", &Input::bitcode(&bytes[..bytes.len() / 2])), Ok(()));
        }
        assert_eq!(bitcode::read(b"BC"), None);
    }

    #[test]
    fn objects_of_other_machines_and_kinds_are_refused() {
        let object = |machine: u16, kind: u16, flags: u32| {
            let mut bytes = vec![0; 64];
            bytes[..6].copy_from_slice(&ELF);
            bytes[16..18].copy_from_slice(&kind.to_le_bytes());
            bytes[18..20].copy_from_slice(&machine.to_le_bytes());
            bytes[48..52].copy_from_slice(&flags.to_le_bytes());
            bytes
        };
        let check = |bytes: &[u8]| check_for("gfx90a", &Input::relocatable(bytes));
        let mach = u32::from(Processor::Gfx90a.mach());
        assert_eq!(check(&object(224, 1, mach)), Ok(()));
        for (bytes, part) in [
            (object(62, 1, 0), "x86-64"),
            (object(183, 1, 0), "machine 183"),
            (object(224, 1, u32::from(Processor::Gfx942.mach())), "gfx942"),
            (object(224, 3, mach), "linked again"),
            (object(224, 1, mach)[..50].to_vec(), "cut short"),
            (b"BC".to_vec(), "no ELF"),
            (Vec::new(), "no ELF"),
        ] {
            let error = check(&bytes).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn what_reads_files_is_known() {
        let reads = |input: Input<'_>| reads_files(&input).is_some();
        assert!(reads(Input::assembly(".incbin \"x\"")));
        assert!(reads(Input::assembly("  .include \"x.s\"")));
        assert!(reads(Input::llvm_ir("module asm \".incbin \\22x\\22\"")));
        assert!(!reads(Input::assembly("s_endpgm")) && modules().into_iter().all(|module| !reads(module)));
    }
}
