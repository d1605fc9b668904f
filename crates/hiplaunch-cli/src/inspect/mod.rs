//! `hiplaunch inspect`: shows the contents of code objects: targets, kernels with arguments and resources, variables.

mod disassemble;
mod fat;
mod json;
mod read;
mod text;

use std::path::PathBuf;

use code_object::{KernelSignature, TargetId};
use serde_json::{Value, json};

use super::demangle::means;
use super::output::{Output, complain};
use super::{CommandError, CommandOutcome};
use read::{Entry, InspectedFile};

/// Show what is in code objects: targets, kernels with arguments, registers, LDS, scratch and occupancy, and variables.
///
/// FILE is a code object (an ELF file, as `hipcc --genco --no-gpu-bundle-output` writes it), an offload bundle of
/// several, plain or compressed (what `hipcc --genco` writes), or a program or library for the host with such bundles
/// in it. No device is used.
///
/// Occupancy is the number of workgroups that a compute unit holds at once, by registers, LDS and wave slots. It is
/// computed as HIP does (clr, hip_platform.cpp, ihipOccupancyMaxActiveBlocksPerMultiprocessor), with LDS in whole
/// granules.
#[derive(Debug, clap::Args)]
pub(crate) struct InspectArgs {
    /// The files; `-` is stdin.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Show only this kernel. NAME is its whole name or, for C++ and Rust, its name in the source, with or without
    /// parameters. May be given several times.
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,

    /// Show only code objects that run on this target, such as gfx90a or gfx942:xnack-.
    #[arg(long, value_name = "TARGET")]
    target: Option<TargetId>,

    /// The work-items of a workgroup, for the occupancy [default: what the kernel requires or hints, else 256].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    block: Option<u32>,

    /// The bytes of dynamic LDS of a workgroup, for the occupancy.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    lds: u32,

    /// Show the machine code as LLVM's disassembler does (gfx90a, gfx942, gfx950 and gfx11).
    #[arg(long)]
    disassemble: bool,

    /// List functions, segments and relocations, too.
    #[arg(long)]
    symbols: bool,

    /// Print one JSON document.
    #[arg(long)]
    pub(super) json: bool,
}

impl InspectArgs {
    fn wants(&self, kernel: &KernelSignature) -> bool {
        self.kernel.is_empty() || self.kernel.iter().any(|wanted| means(wanted, &kernel.name))
    }

    /// The number of work-items of a workgroup, for the occupancy of this kernel.
    fn block(&self, kernel: &KernelSignature) -> u32 {
        let of = |size: [u32; 3]| size.iter().product();
        let own = kernel.reqd_workgroup_size.or(kernel.workgroup_size_hint).map(of);
        self.block.or(own).unwrap_or_else(|| kernel.max_flat_workgroup_size.min(256))
    }

    /// Removes the entries that don't run on the target. If none is left, the error names the targets that there are.
    fn select(&self, inspected: &mut InspectedFile) -> Result<(), String> {
        let Some(target) = &self.target else { return Ok(()) };
        let has: Vec<String> = inspected.entries.iter().map(Entry::named).collect();
        inspected.entries.retain(|entry| entry.target().is_some_and(|own| own.is_compatible_with(target)));
        match inspected.entries.is_empty() {
            true => Err(format!("nothing in it runs on {}; it has {}", target.short(), has.join(", "))),
            false => Ok(()),
        }
    }
}

pub(crate) fn run(args: &InspectArgs, out: &mut Output) -> Result<CommandOutcome, CommandError> {
    let mut verdict = CommandOutcome::Passed;
    let mut refuse = |message: String| {
        complain(&message);
        verdict = CommandOutcome::Unusable;
    };
    let mut documents: Vec<Value> = Vec::new();
    let mut unseen: Vec<&String> = args.kernel.iter().collect();
    let mut names: Vec<String> = Vec::new();
    for (i, path) in args.files.iter().enumerate() {
        let file = path.display();
        let read = read::file(path).and_then(|mut inspected| {
            args.select(&mut inspected).map(|()| inspected).map_err(|e| format!("{file}: {e}"))
        });
        let inspected = match read {
            Ok(inspected) => inspected,
            Err(message) => {
                documents.push(json!({ "file": file.to_string(), "error": message }));
                refuse(message);
                continue;
            }
        };
        for entry in &inspected.entries {
            match &entry.object {
                Ok(Some(object)) => {
                    unseen
                        .retain(|wanted| !object.kernels().iter().any(|kernel| means(wanted, &kernel.name)));
                    names.extend(object.kernels().iter().map(|kernel| kernel.name.clone()));
                    // No function has the empty name, so this only checks whether the object can be disassembled.
                    if args.disassemble
                        && let Err(error) = disassemble::functions(object, &[String::new()])
                    {
                        refuse(format!("{file}: --disassemble: {error}"));
                    }
                }
                Ok(None) => {}
                Err(error) => refuse(format!("{file}: {}: {error}", entry.named())),
            }
        }
        if args.json {
            documents.push(json::file(path, &inspected, args));
        } else {
            if i > 0 {
                out.line("")?;
            }
            text::file(path, &inspected, args, out)?;
        }
    }
    for name in unseen {
        names.sort();
        names.dedup();
        let has = if names.is_empty() { "none".to_owned() } else { shortened(&names) };
        refuse(format!("no kernel `{name}`; there are {has}"));
    }
    if args.json {
        out.json(&json!({ "files": documents }))?;
    }
    Ok(verdict)
}

/// Returns names for a message. A code object may have thousands, so only some are listed.
fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let mut text = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

/// Returns the flags of a kernel, with the names of LLVM's assembler directives (`.amdhsa_...`).
fn flags(kernel: &KernelSignature) -> Vec<&'static str> {
    let d = &kernel.descriptor;
    [
        (kernel.uses_dynamic_stack, "uses_dynamic_stack"),
        (kernel.uniform_work_group_size, "uniform_work_group_size"),
        (kernel.workgroup_processor_mode, "workgroup_processor_mode"),
        (d.wave32(), "wavefront_size32"),
        (d.tg_split(), "tg_split"),
        (d.ieee(), "ieee_mode"),
        (d.dx10_clamp(), "dx10_clamp"),
        (d.fp16_overflow(), "fp16_overflow"),
        (d.enable_private_segment(), "enable_private_segment"),
        (d.private_segment_buffer(), "user_sgpr_private_segment_buffer"),
        (d.dispatch_ptr(), "user_sgpr_dispatch_ptr"),
        (d.queue_ptr(), "user_sgpr_queue_ptr"),
        (d.kernarg_segment_ptr(), "user_sgpr_kernarg_segment_ptr"),
        (d.dispatch_id(), "user_sgpr_dispatch_id"),
        (d.flat_scratch_init(), "user_sgpr_flat_scratch_init"),
        (d.private_segment_size_sgpr(), "user_sgpr_private_segment_size"),
        (d.preload_length() > 0, "user_sgpr_kernarg_preload"),
        (d.enable_workgroup_id_x(), "system_sgpr_workgroup_id_x"),
        (d.enable_workgroup_id_y(), "system_sgpr_workgroup_id_y"),
        (d.enable_workgroup_id_z(), "system_sgpr_workgroup_id_z"),
        (d.enable_workgroup_info(), "system_sgpr_workgroup_info"),
    ]
    .into_iter()
    .filter_map(|(is, name)| is.then_some(name))
    .collect()
}
