//! Prints the contents of files for people.

use std::path::Path;

use code_object::{Access, ArgSignature, CodeObject, KernelSignature, occupancy};

use super::disassemble::{self, Code};
use super::read::{Container, Entry, InspectedFile};
use super::{InspectArgs, flags};
use crate::CommandError;
use crate::demangle::shown;
use crate::occupancy::text as occupancy_line;
use crate::output::{Output, Style, counted, grouped};

pub(super) fn file(
    path: &Path,
    found: &InspectedFile,
    args: &InspectArgs,
    out: &mut Output,
) -> Result<(), CommandError> {
    let what = match (found.container, found.entries.len()) {
        (Container::CodeObject, _) => found.container.name().to_owned(),
        (_, n) => format!("{} with {}", found.container.name(), counted(n, "entry", "entries")),
    };
    let head = format!("{}: {what}, {} bytes", path.display(), grouped(found.bytes as u64));
    out.line(out.styled(Style::Strong, &head))?;
    for entry in &found.entries {
        self::entry(entry, args, out)?;
    }
    Ok(())
}

fn entry(entry: &Entry, args: &InspectArgs, out: &mut Output) -> Result<(), CommandError> {
    if let Some(id) = &entry.id {
        let what = match &entry.object {
            Ok(Some(_)) => "",
            Ok(None) => ": no code object",
            Err(_) => ": broken",
        };
        out.line(format_args!("  entry {id}, {} bytes{what}", grouped(entry.bytes as u64)))?;
    }
    let Ok(Some(object)) = &entry.object else { return Ok(()) };
    let kernels = counted(object.kernels().len(), "kernel", "kernels");
    let globals = counted(object.globals().len(), "variable", "variables");
    out.line(format_args!(
        "  target {}, code object {}: {kernels}, {globals}",
        object.target().short(),
        object.version()
    ))?;
    for kernel in object.kernels().iter().filter(|kernel| args.wants(kernel)) {
        self::kernel(object, kernel, args, out)?;
    }
    if args.kernel.is_empty() && !object.globals().is_empty() {
        out.line(out.styled(Style::Strong, "  variables"))?;
        for global in object.globals() {
            out.line(format_args!(
                "    {:#010x} {:>9} {}",
                global.address,
                grouped(global.size),
                shown(&global.name)
            ))?;
        }
    }
    if args.symbols {
        symbols(object, out)?;
    }
    // An error was printed before.
    if args.disassemble
        && let Ok(functions) = disassemble::functions(object, &args.kernel)
    {
        functions.iter().try_for_each(|code| listing(code, out))?;
    }
    Ok(())
}

/// Prints the instructions of a function: label, text, branch target, address and dwords.
fn listing(code: &Code, out: &mut Output) -> Result<(), CommandError> {
    let size = grouped(code.bytes as u64);
    let head = format!("  code of {} at {:#x}, {size} bytes", shown(&code.name), code.address);
    out.line(out.styled(Style::Strong, &head))?;
    for line in &code.lines {
        if let Some(label) = &line.label {
            out.line(format_args!("   {label}:"))?;
        }
        let words: String = line.words.iter().map(|word| format!(" {word:08x}")).collect();
        let to = line.goes_to.as_deref().map(|to| format!(" -> {to}")).unwrap_or_default();
        let behind = out.styled(Style::Faint, &format!("// {:06x}:{words}{to}", line.address));
        out.line(format_args!("    {:60} {behind}", line.text))?;
    }
    Ok(())
}

fn kernel(
    object: &CodeObject,
    kernel: &KernelSignature,
    args: &InspectArgs,
    out: &mut Output,
) -> Result<(), CommandError> {
    out.line(out.styled(Style::Strong, &format!("  kernel {}", shown(&kernel.name))))?;
    let explicit = kernel.explicit_args();
    if explicit.is_empty() {
        out.line("    arguments    none")?;
    } else {
        let head = "    arguments    offset  bytes  kind";
        out.line(out.styled(Style::Faint, head))?;
        for (i, arg) in explicit.iter().enumerate() {
            out.line(format_args!("      {i:<11}{:>6} {:>6}  {}", arg.offset, arg.size, described(arg)))?;
        }
    }
    let hidden = counted(kernel.hidden_args().len(), "hidden argument", "hidden arguments");
    let preload = match kernel.descriptor.preload_length() {
        0 => String::new(),
        n => format!(", {} preloaded", counted(n as usize, "dword", "dwords")),
    };
    out.line(format_args!(
        "    kernarg      {} bytes, {} of them explicit, aligned to {}; {hidden}{preload}",
        grouped(kernel.kernarg_size.into()),
        grouped(kernel.explicit_size().into()),
        kernel.kernarg_align
    ))?;
    let (vgprs, agprs) = occupancy::vector_registers(object.target().processor.name(), kernel);
    let spills = match (kernel.vgpr_spill_count, kernel.sgpr_spill_count) {
        (0, 0) => "none spilled".to_owned(),
        (v, s) => out.styled(Style::Bad, &format!("{v} VGPRs and {s} SGPRs spilled")),
    };
    out.line(format_args!(
        "    registers    {vgprs} VGPRs, {agprs} AGPRs, {} SGPRs; {spills}",
        kernel.sgpr_count
    ))?;
    let stack = if kernel.uses_dynamic_stack { ", and more as it runs" } else { "" };
    out.line(format_args!(
        "    memory       {} bytes of LDS a workgroup, {} bytes of scratch a work-item{stack}",
        grouped(kernel.group_segment_fixed_size.into()),
        grouped(kernel.private_segment_fixed_size.into())
    ))?;
    let three = |size: [u32; 3]| size.map(|n| n.to_string()).join(" x ");
    let only = kernel.reqd_workgroup_size.map(|s| format!(", only {}", three(s))).unwrap_or_default();
    let hint = kernel.workgroup_size_hint.map(|s| format!(", best {}", three(s))).unwrap_or_default();
    out.line(format_args!(
        "    block        at most {} work-items{only}{hint}; wavefronts of {}",
        grouped(kernel.max_flat_workgroup_size.into()),
        kernel.wavefront_size
    ))?;
    match occupancy::of(object.target().processor.name(), kernel, args.block(kernel), args.lds) {
        Ok(all) => {
            for o in all {
                out.line(format_args!("    occupancy    {}", occupancy_line(&o)))?;
            }
        }
        Err(why) => out.line(format_args!("    occupancy    unknown: {why}"))?,
    }
    let mut line = "    flags       ".to_owned();
    for flag in flags(kernel) {
        if line.len() + flag.len() > 110 {
            out.line(out.styled(Style::Faint, &line))?;
            line = " ".repeat(16);
        }
        line.push_str(&format!(" {flag}"));
    }
    out.line(out.styled(Style::Faint, &line))?;
    Ok(())
}

/// Describes an argument: its kind, its address space, and its name and type if the compiler kept them.
fn described(arg: &ArgSignature) -> String {
    let mut text = arg.kind.name().to_owned();
    text.extend(arg.address_space.map(|space| format!(" {}", space.name())));
    text.extend(arg.actual_access.or(arg.access).map(|a| format!(" {}", access(a))));
    let qualifiers =
        [(arg.is_const, " const"), (arg.is_restrict, " restrict"), (arg.is_volatile, " volatile")];
    text.extend(qualifiers.into_iter().filter_map(|(is, word)| is.then_some(word)));
    let name = arg.name.as_deref().filter(|name| !name.is_empty());
    text.extend(name.map(|name| format!("  {name}")));
    text.extend(arg.type_name.as_deref().map(|name| format!(": {name}")));
    text
}

/// Returns the metadata's word.
pub(super) fn access(access: Access) -> &'static str {
    match access {
        Access::ReadOnly => "read_only",
        Access::WriteOnly => "write_only",
        Access::ReadWrite => "read_write",
    }
}

fn symbols(object: &CodeObject, out: &mut Output) -> Result<(), CommandError> {
    out.line(out.styled(Style::Strong, "  functions"))?;
    for function in object.symbols() {
        let (at, size) = (function.address, grouped(function.size));
        out.line(format_args!("    {at:#010x} {size:>9} {}", shown(&function.name)))?;
    }
    out.line(out.styled(Style::Strong, "  segments"))?;
    for s in object.segments() {
        let rights: String = [(s.readable, 'r'), (s.writable, 'w'), (s.executable, 'x')]
            .map(|(is, c)| if is { c } else { '-' })
            .iter()
            .collect();
        out.line(format_args!("    {:#010x} {:>9} {rights}", s.vaddr, grouped(s.mem_size)))?;
    }
    out.line(format_args!("  relocations    {}", grouped(object.relocations().len() as u64)))?;
    Ok(())
}
