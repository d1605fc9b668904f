//! Prints the contents of files as JSON. docs/json.md documents the fields.

use std::path::Path;

use code_object::{Access, ArgSignature, CodeObject, KernelKind, KernelSignature, occupancy};
use serde_json::{Value, json};

use super::disassemble::{self, Code, Line};
use super::read::{Entry, InspectedFile};
use super::{InspectArgs, flags};
use crate::demangle::demangled;
use crate::occupancy::to_json as occupancy_json;

pub(super) fn file(path: &Path, found: &InspectedFile, args: &InspectArgs) -> Value {
    json!({
        "file": path.display().to_string(),
        "bytes": found.bytes,
        "container": found.container.name(),
        "code_objects": found.entries.iter().map(|entry| code_object(entry, args)).collect::<Vec<_>>(),
    })
}

fn code_object(entry: &Entry, args: &InspectArgs) -> Value {
    let mut value = json!({
        "entry": entry.id,
        "bytes": entry.bytes,
        "target": entry.target().map(|target| target.short()),
    });
    match &entry.object {
        Ok(Some(object)) => {
            let kernels = object.kernels().iter().filter(|kernel| args.wants(kernel));
            value["version"] = json!(object.version().to_string());
            value["kernels"] = kernels.map(|k| kernel(object, k, args)).collect();
            value["globals"] = object
                .globals()
                .iter()
                .map(|g| json!({ "name": g.name, "demangled": demangled(&g.name), "address": g.address, "bytes": g.size }))
                .collect();
            if args.symbols {
                value["functions"] = object
                    .symbols()
                    .iter()
                    .map(|f| json!({ "name": f.name, "demangled": demangled(&f.name), "address": f.address, "bytes": f.size }))
                    .collect();
                value["segments"] = object
                    .segments()
                    .map(|s| {
                        json!({
                            "address": s.vaddr,
                            "bytes": s.mem_size,
                            "file_bytes": s.data.len(),
                            "readable": s.readable,
                            "writable": s.writable,
                            "executable": s.executable,
                        })
                    })
                    .collect();
                value["relocations"] = json!(object.relocations().len());
            }
            if args.disassemble {
                match disassemble::functions(object, &args.kernel) {
                    Ok(functions) => value["code"] = functions.iter().map(code).collect(),
                    Err(error) => value["code_unknown"] = json!(error),
                }
            }
        }
        Ok(None) => value["skipped"] = json!(true),
        Err(error) => value["error"] = json!(error.to_string()),
    }
    value
}

fn code(code: &Code) -> Value {
    let instruction = |line: &Line| {
        json!({
            "address": line.address,
            "words": line.words,
            "text": line.text,
            "legal": line.is_legal,
            "branch_target": line.branch_target,
        })
    };
    json!({
        "function": code.name,
        "demangled": demangled(&code.name),
        "address": code.address,
        "bytes": code.bytes,
        "instructions": code.lines.iter().map(instruction).collect::<Vec<_>>(),
    })
}

fn kernel(object: &CodeObject, kernel: &KernelSignature, args: &InspectArgs) -> Value {
    let d = &kernel.descriptor;
    let (vgprs, agprs) = occupancy::vector_registers(object.target().processor.name(), kernel);
    let block = args.block(kernel);
    let occupancy = occupancy::of(object.target().processor.name(), kernel, block, args.lds);
    let (occupancy, unknown) = match occupancy {
        Ok(all) => (all.iter().map(occupancy_json).collect(), None),
        Err(why) => (Vec::new(), Some(why.to_string())),
    };
    let float = d.float_mode();
    json!({
        "name": kernel.name,
        "demangled": demangled(&kernel.name),
        "kind": match kernel.kind {
            KernelKind::Normal => "normal",
            KernelKind::Init => "init",
            KernelKind::Fini => "fini",
        },
        "arguments": kernel.args.iter().enumerate().map(|(i, arg)| argument(i, arg)).collect::<Vec<_>>(),
        "kernarg_bytes": kernel.kernarg_size,
        "kernarg_align": kernel.kernarg_align,
        "kernarg_explicit_bytes": kernel.explicit_size(),
        "kernarg_preload_dwords": d.preload_length(),
        "vgprs": vgprs,
        "agprs": agprs,
        "sgprs": kernel.sgpr_count,
        "allocated_vgprs": occupancy::is_unified(object.target().processor.name()).then(|| d.vgprs(true)),
        "spilled_vgprs": kernel.vgpr_spill_count,
        "spilled_sgprs": kernel.sgpr_spill_count,
        "lds_bytes": kernel.group_segment_fixed_size,
        "scratch_bytes_per_work_item": kernel.private_segment_fixed_size,
        "uses_dynamic_stack": kernel.uses_dynamic_stack,
        "wavefront_size": kernel.wavefront_size,
        "max_block_work_items": kernel.max_flat_workgroup_size,
        "required_block": kernel.reqd_workgroup_size,
        "block_hint": kernel.workgroup_size_hint,
        "float_mode": {
            "round_f32": float.round_32,
            "round_f16_f64": float.round_16_64,
            "denormals_f32": float.denorm_32,
            "denormals_f16_f64": float.denorm_16_64,
        },
        "flags": flags(kernel),
        "descriptor_address": d.address,
        "entry_address": d.entry,
        "code_bytes": object.function_at(d.entry).map(|function| function.size),
        "language": kernel.language,
        "occupancy": occupancy,
        "occupancy_unknown": unknown,
    })
}

fn access(access: Option<Access>) -> Option<&'static str> {
    access.map(super::text::access)
}

fn argument(index: usize, arg: &ArgSignature) -> Value {
    json!({
        "index": index,
        "name": arg.name,
        "type": arg.type_name,
        "offset": arg.offset,
        "bytes": arg.size,
        "kind": arg.kind.name(),
        "hidden": arg.kind.is_hidden(),
        "address_space": arg.address_space.map(|space| space.name()),
        "access": access(arg.access),
        "actual_access": access(arg.actual_access),
        "pointee_align": arg.pointee_align,
        "const": arg.is_const,
        "restrict": arg.is_restrict,
        "volatile": arg.is_volatile,
    })
}
