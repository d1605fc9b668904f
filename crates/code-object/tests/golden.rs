//! Compares the test objects with the output of LLVM's tools: metadata, kernel descriptors, symbols, segments.

use std::fmt::Write;

use code_object::{
    Access, ArgSignature, CodeObject, CodeObjectVersion, Error, KernelKind, KernelSignature, RelocationKind,
    ValueKind, WorkitemIds,
};

/// The objects with what `llvm-readelf --notes`, `llvm-readelf --symbols ...` and `llvm-objdump -D -j .rodata` print.
macro_rules! object {
    ($name:literal) => {
        (
            $name,
            include_bytes!(concat!("data/", $name, ".co")).as_slice(),
            include_str!(concat!("data/", $name, ".notes.txt")),
            include_str!(concat!("data/", $name, ".elf.txt")),
            include_str!(concat!("data/", $name, ".kd.txt")),
        )
    };
}

type Golden = (&'static str, &'static [u8], &'static str, &'static str, &'static str);

const OBJECTS: [Golden; 5] =
    [object!("v4"), object!("v5"), object!("v6"), object!("generic"), object!("opencl")];

#[test]
fn versions_and_targets_are_read() {
    let known: Vec<_> = OBJECTS
        .iter()
        .map(|(name, bytes, ..)| {
            let object = CodeObject::parse(bytes).unwrap();
            (*name, object.version(), object.target().to_string())
        })
        .collect();
    let expected = [
        ("v4", CodeObjectVersion::V4, "amdgcn-amd-amdhsa--gfx90a"),
        ("v5", CodeObjectVersion::V5, "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"),
        ("v6", CodeObjectVersion::V6, "amdgcn-amd-amdhsa--gfx942"),
        ("generic", CodeObjectVersion::V6, "amdgcn-amd-amdhsa--gfx9-4-generic"),
        ("opencl", CodeObjectVersion::V5, "amdgcn-amd-amdhsa--gfx90a"),
    ];
    assert_eq!(known, expected.map(|(name, version, target)| (name, version, target.to_owned())));
}

/// Writes the metadata from the signatures as LLVM's YAML writer does: the texts must be equal.
#[test]
fn metadata_equals_the_output_of_llvm_readelf() {
    for (name, bytes, notes, ..) in OBJECTS {
        let object = CodeObject::parse(bytes).unwrap();
        let start = notes.find("---\n").unwrap();
        assert_eq!(yaml(&object), notes[start..].trim_end(), "{name}");
    }
}

fn yaml(object: &CodeObject) -> String {
    let mut text = String::from("---\namdhsa.kernels:\n");
    for kernel in object.kernels() {
        write_map(&mut text, "  ", kernel_lines(kernel));
    }
    let minor = if object.version() == CodeObjectVersion::V4 { 1 } else { 2 };
    write!(
        text,
        "{:<17}{}\namdhsa.version:\n  - 1\n  - {minor}\n...",
        "amdhsa.target:",
        quoted(&object.target().to_string())
    )
    .unwrap();
    text
}

/// Writes one item of a list, with its keys in alphabetical order.
fn write_map(text: &mut String, indent: &str, mut lines: Vec<(&str, String)>) {
    lines.sort();
    for (i, (key, value)) in lines.into_iter().enumerate() {
        let bullet = if i == 0 { "- " } else { "  " };
        let key = format!("{key}:");
        // Lists start with a line break, scalars in a column.
        let gap = if value.starts_with('\n') { key } else { format!("{key:<16} ") };
        writeln!(text, "{indent}{bullet}{gap}{value}").unwrap();
    }
}

/// Quotes a text if YAML requires it.
fn quoted(text: &str) -> String {
    if text.contains(['*', ':']) { format!("'{text}'") } else { text.to_owned() }
}

fn numbers(values: &[u32]) -> String {
    values.iter().map(|value| format!("\n      - {value}")).collect()
}

fn kernel_lines(kernel: &KernelSignature) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        (".agpr_count", kernel.agpr_count.to_string()),
        (".group_segment_fixed_size", kernel.group_segment_fixed_size.to_string()),
        (".kernarg_segment_align", kernel.kernarg_align.to_string()),
        (".kernarg_segment_size", kernel.kernarg_size.to_string()),
        (".max_flat_workgroup_size", kernel.max_flat_workgroup_size.to_string()),
        (".name", kernel.name.clone()),
        (".private_segment_fixed_size", kernel.private_segment_fixed_size.to_string()),
        (".sgpr_count", kernel.sgpr_count.to_string()),
        (".sgpr_spill_count", kernel.sgpr_spill_count.to_string()),
        (".symbol", kernel.symbol.clone()),
        (".uses_dynamic_stack", kernel.uses_dynamic_stack.to_string()),
        (".vgpr_count", kernel.vgpr_count.to_string()),
        (".vgpr_spill_count", kernel.vgpr_spill_count.to_string()),
        (".wavefront_size", kernel.wavefront_size.to_string()),
    ];
    let mut args = String::new();
    for arg in &kernel.args {
        write_map(&mut args, "      ", arg_lines(arg));
    }
    let args = if args.is_empty() { "[]".to_owned() } else { format!("\n{}", args.trim_end()) };
    lines.push((".args", args));
    if kernel.uniform_work_group_size {
        lines.push((".uniform_work_group_size", "1".into()));
    }
    lines.extend(kernel.language.clone().map(|language| (".language", language)));
    lines.extend(kernel.language_version.map(|version| (".language_version", numbers(&version))));
    lines.extend(kernel.reqd_workgroup_size.map(|size| (".reqd_workgroup_size", numbers(&size))));
    lines.extend(kernel.workgroup_size_hint.map(|size| (".workgroup_size_hint", numbers(&size))));
    assert_eq!(kernel.kind, KernelKind::Normal);
    assert!(!kernel.workgroup_processor_mode);
    lines
}

fn arg_lines(arg: &ArgSignature) -> Vec<(&'static str, String)> {
    let access = |access: Access| match access {
        Access::ReadOnly => "read_only".to_owned(),
        Access::WriteOnly => "write_only".to_owned(),
        Access::ReadWrite => "read_write".to_owned(),
    };
    let mut lines = vec![
        (".offset", arg.offset.to_string()),
        (".size", arg.size.to_string()),
        (".value_kind", arg.kind.name().to_owned()),
    ];
    lines.extend(arg.name.clone().map(|name| (".name", name)));
    lines.extend(arg.type_name.as_ref().map(|name| (".type_name", quoted(name))));
    lines.extend(arg.address_space.map(|space| (".address_space", space.name().to_owned())));
    lines.extend(arg.access.map(|value| (".access", access(value))));
    lines.extend(arg.actual_access.map(|value| (".actual_access", access(value))));
    lines.extend(arg.pointee_align.map(|align| (".pointee_align", align.to_string())));
    let flags = [
        (".is_const", arg.is_const),
        (".is_restrict", arg.is_restrict),
        (".is_volatile", arg.is_volatile),
        (".is_pipe", arg.is_pipe),
    ];
    lines.extend(flags.into_iter().filter(|(_, set)| *set).map(|(key, _)| (key, "true".to_owned())));
    lines
}

#[test]
fn descriptors_equal_the_output_of_llvm_objdump() {
    for (name, bytes, _, _, text) in OBJECTS {
        let object = CodeObject::parse(bytes).unwrap();
        let mut kernel: Option<&KernelSignature> = None;
        let (mut address, mut seen) = (0, 0);
        for line in text.lines().map(str::trim) {
            if let Some((at, _)) = line.split_once(" <") {
                address = u64::from_str_radix(at, 16).unwrap();
            } else if let Some(of) = line.strip_prefix(".amdhsa_kernel ") {
                kernel = Some(object.kernel(of).unwrap());
                assert_eq!(kernel.unwrap().descriptor.address, address, "{name} {of}");
                seen += 1;
            } else if let Some(directive) = line.strip_prefix(".amdhsa_") {
                let (directive, value) = directive.split_once(' ').unwrap();
                let kernel = kernel.unwrap();
                if let Some(ours) = directive_value(kernel, directive) {
                    assert_eq!(ours, value.parse::<u32>().unwrap(), "{name} {}: {directive}", kernel.name);
                }
            }
        }
        assert_eq!(seen, object.kernels().len(), "{name}");
    }
}

/// Returns the value of an assembler directive from the descriptor, or `None` if the descriptor does not contain it.
fn directive_value(kernel: &KernelSignature, directive: &str) -> Option<u32> {
    let kd = &kernel.descriptor;
    if let Some(exception) = directive.strip_prefix("exception_") {
        let order = [
            "fp_ieee_invalid_op",
            "fp_denorm_src",
            "fp_ieee_div_zero",
            "fp_ieee_overflow",
            "fp_ieee_underflow",
            "fp_ieee_inexact",
            "int_div_zero",
        ];
        let bit = order.iter().position(|name| *name == exception).unwrap();
        return Some(u32::from(kd.exceptions() >> bit & 1));
    }
    Some(match directive {
        "group_segment_fixed_size" => kd.group_segment_size,
        "private_segment_fixed_size" => kd.private_segment_size,
        "kernarg_size" => kd.kernarg_size,
        "accum_offset" => kd.accum_offset(),
        "tg_split" => kd.tg_split().into(),
        "next_free_vgpr" => kd.vgprs(true),
        // In units of 8, though gfx9 allocates 16 at a time.
        "next_free_sgpr" => (kd.granulated_sgpr_count() + 1) * 8,
        "float_round_mode_32" => kd.float_mode().round_32.into(),
        "float_round_mode_16_64" => kd.float_mode().round_16_64.into(),
        "float_denorm_mode_32" => kd.float_mode().denorm_32.into(),
        "float_denorm_mode_16_64" => kd.float_mode().denorm_16_64.into(),
        "dx10_clamp" => kd.dx10_clamp().into(),
        "ieee_mode" => kd.ieee().into(),
        "fp16_overflow" => kd.fp16_overflow().into(),
        "system_sgpr_private_segment_wavefront_offset" | "enable_private_segment" => {
            kd.enable_private_segment().into()
        }
        "system_sgpr_workgroup_id_x" => kd.enable_workgroup_id_x().into(),
        "system_sgpr_workgroup_id_y" => kd.enable_workgroup_id_y().into(),
        "system_sgpr_workgroup_id_z" => kd.enable_workgroup_id_z().into(),
        "system_sgpr_workgroup_info" => kd.enable_workgroup_info().into(),
        "system_vgpr_workitem_id" => match kd.enable_vgpr_workitem_id() {
            WorkitemIds::X => 0,
            WorkitemIds::XY => 1,
            WorkitemIds::XYZ => 2,
            WorkitemIds::Undefined => 3,
        },
        "user_sgpr_private_segment_buffer" => kd.private_segment_buffer().into(),
        "user_sgpr_dispatch_ptr" => kd.dispatch_ptr().into(),
        "user_sgpr_queue_ptr" => kd.queue_ptr().into(),
        "user_sgpr_kernarg_segment_ptr" => kd.kernarg_segment_ptr().into(),
        "user_sgpr_dispatch_id" => kd.dispatch_id().into(),
        "user_sgpr_flat_scratch_init" => kd.flat_scratch_init().into(),
        "user_sgpr_private_segment_size" => kd.private_segment_size_sgpr().into(),
        "user_sgpr_kernarg_preload_length" => kd.preload_length(),
        "user_sgpr_kernarg_preload_offset" => kd.preload_offset(),
        "uses_dynamic_stack" => kd.uses_dynamic_stack().into(),
        "reserve_vcc" | "reserve_flat_scratch" | "reserve_xnack_mask" => return None,
        _ => panic!("unknown directive {directive}"),
    })
}

#[test]
fn user_sgprs_add_up() {
    for (name, bytes, ..) in OBJECTS {
        for kernel in CodeObject::parse(bytes).unwrap().kernels() {
            let kd = &kernel.descriptor;
            let parts = [
                (kd.private_segment_buffer(), 4),
                (kd.dispatch_ptr(), 2),
                (kd.queue_ptr(), 2),
                (kd.kernarg_segment_ptr(), 2),
                (kd.dispatch_id(), 2),
                (kd.flat_scratch_init(), 2),
                (kd.private_segment_size_sgpr(), 1),
            ];
            let sum: u32 = parts.iter().filter(|(set, _)| *set).map(|(_, count)| count).sum();
            assert_eq!(sum + kd.preload_length(), kd.user_sgpr_count(), "{name} {}", kernel.name);
            assert_eq!((kd.float_mode().bits(), kd.wave32()), (0xf0, false), "{name} {}", kernel.name);
        }
    }
}

#[test]
fn preloaded_arguments_are_read() {
    let object = CodeObject::parse(OBJECTS[2].1).unwrap();
    // Two pointers and a float.
    assert_eq!(object.kernel("scale").unwrap().descriptor.preload_length(), 5);
    assert_eq!(
        CodeObject::parse(OBJECTS[0].1).unwrap().kernel("scale").unwrap().descriptor.preload_length(),
        0
    );
}

/// Returns the words of each line that has at least this many.
fn words(text: &str, at_least: usize) -> impl Iterator<Item = Vec<&str>> {
    text.lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(move |words| words.len() >= at_least)
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

#[test]
fn segments_equal_the_output_of_llvm_readelf() {
    for (name, bytes, _, text, _) in OBJECTS {
        let object = CodeObject::parse(bytes).unwrap();
        let mut segments = object.segments();
        for words in words(text, 8).filter(|words| words[0] == "LOAD") {
            let segment = segments.next().unwrap();
            let (offset, size) = (hex(words[1]) as usize, hex(words[4]) as usize);
            assert_eq!((segment.vaddr, segment.mem_size), (hex(words[2]), hex(words[5])), "{name}");
            assert_eq!(segment.data, &bytes[offset..offset + size], "{name}");
            let flags = [(segment.readable, "R"), (segment.writable, "W"), (segment.executable, "E")];
            let flags: Vec<_> = flags.iter().filter(|(set, _)| *set).map(|(_, flag)| *flag).collect();
            assert_eq!(flags.concat(), words[6..words.len() - 1].concat(), "{name}");
        }
        assert!(segments.next().is_none(), "{name}");
        let range = object.image_range();
        let last = object.segments().last().unwrap();
        assert_eq!(range, object.segments().next().unwrap().vaddr..last.vaddr + last.mem_size, "{name}");
        assert_eq!(object.elf(), bytes, "{name}");
    }
}

#[test]
fn symbols_equal_the_output_of_llvm_readelf() {
    for (name, bytes, _, text, _) in OBJECTS {
        let object = CodeObject::parse(bytes).unwrap();
        let (dynamic, all) = text.split_once("Symbol table '.symtab'").unwrap();
        let symbols = |text, kind| {
            let mut found: Vec<(String, u64, u64)> = words(text, 8)
                .filter(|words| words[3] == kind && words[6] != "UND")
                .map(|words| (words[7].to_owned(), hex(words[1]), words[2].parse().unwrap()))
                .collect();
            found.sort();
            found
        };
        let mut globals = symbols(dynamic, "OBJECT");
        globals.retain(|(name, ..)| !name.ends_with(".kd"));
        let ours: Vec<_> = object.globals().iter().map(|g| (g.name.clone(), g.address, g.size)).collect();
        assert_eq!(ours, globals, "{name}");
        for global in object.globals() {
            assert_eq!(object.global(&global.name), Some(global));
        }
        assert_eq!(object.global("no such variable"), None);

        let mut ours: Vec<_> = object.symbols().iter().map(|f| (f.name.clone(), f.address, f.size)).collect();
        ours.sort();
        assert_eq!(ours, symbols(all, "FUNC"), "{name}");
        for function in object.symbols() {
            assert_eq!(object.function_at(function.address), Some(function));
            assert_eq!(object.function_at(function.address + function.size - 1), Some(function));
            assert_ne!(object.function_at(function.address + function.size), Some(function));
        }
        assert_eq!(object.function_at(0), None);
        for kernel in object.kernels() {
            assert_eq!(object.function_at(kernel.descriptor.entry).unwrap().name, kernel.name);
        }
    }
}

#[test]
fn relocations_equal_the_output_of_llvm_readelf() {
    for (name, bytes, _, text, _) in OBJECTS {
        let object = CodeObject::parse(bytes).unwrap();
        let mut relocations = object.relocations().iter();
        for words in words(text, 4).filter(|words| words[2].starts_with("R_AMDGPU_")) {
            let relocation = relocations.next().unwrap();
            let expected = match words[2] {
                "R_AMDGPU_RELATIVE64" => (RelocationKind::Relative64, hex(words[3]) as i64),
                // Here always against the undefined weak symbol `absent`.
                "R_AMDGPU_ABS64" => (RelocationKind::Constant64, hex(words[6]) as i64),
                other => panic!("{other}"),
            };
            assert_eq!((relocation.kind, relocation.addend), expected, "{name}");
            assert_eq!((relocation.offset, relocation.symbol_value), (hex(words[0]), 0), "{name}");
            let base = if words[2] == "R_AMDGPU_ABS64" { 0 } else { 0x10_0000 };
            assert_eq!(relocation.value(0x10_0000), base + relocation.addend as u64);
        }
        assert!(relocations.next().is_none(), "{name}");
        assert_eq!(object.relocations().is_empty(), name == "opencl");
    }
}

#[test]
fn explicit_and_hidden_arguments_are_separate() {
    let v4 = CodeObject::parse(OBJECTS[0].1).unwrap();
    let v5 = CodeObject::parse(OBJECTS[1].1).unwrap();
    for (object, hidden) in [(&v4, 0), (&v5, 13)] {
        let kernel = object.kernel("scale").unwrap();
        let kinds: Vec<_> =
            kernel.explicit_args().iter().map(|arg| (arg.kind, arg.offset, arg.size)).collect();
        let expected = [
            (ValueKind::GlobalBuffer, 0, 8),
            (ValueKind::GlobalBuffer, 8, 8),
            (ValueKind::ByValue, 16, 4),
            (ValueKind::ByValue, 20, 12),
        ];
        assert_eq!(kinds, expected);
        assert_eq!((kernel.explicit_size(), kernel.hidden_args().len()), (32, hidden));
        assert!(kernel.hidden_args().iter().all(|arg| arg.kind.is_hidden()));
        let empty = object.kernel("empty").unwrap();
        assert_eq!((empty.explicit_size(), empty.args.len()), (0, 0));
    }
    let kernel = v5.kernel("scale").unwrap();
    let count = kernel.hidden_arg(code_object::HiddenArg::BlockCountY).unwrap();
    assert_eq!((count.offset, count.size), (36, 4));
    assert_eq!(kernel.hidden_arg(code_object::HiddenArg::HeapV1), None);
}

#[test]
fn kernels_and_arguments_display_on_one_line() {
    let object = CodeObject::parse(OBJECTS[4].1).unwrap();
    assert_eq!(
        object.kernel("hinted").unwrap().to_string(),
        "hinted(global_buffer 8B@0 global `out`): 8 B kernarg (0 hidden arguments), 0 B LDS, 0 B scratch, \
         10 SGPRs, 2 VGPRs, up to 256 work-items"
    );
}

#[test]
fn an_unknown_kernel_is_an_error_that_lists_the_available_ones() {
    let error = CodeObject::parse(OBJECTS[0].1).unwrap().kernel("scala").unwrap_err();
    assert_eq!(error.to_string(), "no kernel `scala` in the code object; it has scale, dynamic, empty");
    // For a kernel under its C++ name, the error says how to declare it.
    let of = |available: &[&str]| {
        let available = available.iter().map(|name| (*name).to_owned()).collect();
        Error::UnknownKernel { name: "histogram".to_owned(), available }.to_string()
    };
    let advice = "; write extern \"C\" before its __global__, or ask for `_Z9histogramPKfj`";
    assert!(of(&["_Z5otherv", "_Z9histogramPKfj"]).ends_with(advice));
    assert!(!of(&["_Z5otherv", "_Z10histogramsPKfj"]).contains("extern"));
}

#[test]
fn a_code_object_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    let object = CodeObject::parse(OBJECTS[0].1).unwrap();
    shared(&object);
    assert_eq!(object.clone().elf().as_ptr(), object.elf().as_ptr());
}

/// Tensile links one object a kernel, so many of rocBLAS's files have a metadata note for each kernel.
#[test]
fn the_kernels_and_formats_of_linked_objects_are_read_from_all_notes() {
    let object = CodeObject::parse(include_bytes!("data/linked.co")).unwrap();
    let mut names: Vec<&str> = object.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["first", "second"]);
    for name in names {
        assert!(object.kernel(name).unwrap().explicit_args().len() == 1, "{name}");
        let format = name.to_uppercase();
        let printed = object.printf_formats().filter(|text| text.ends_with(format.as_bytes()));
        assert_eq!(printed.count(), 1, "{name}");
    }
}

/// XLA writes `amdgcn--amdhsa-amdgiz-gfx..` as the target of the metadata, which must be as long as what it replaces here.
#[test]
fn the_triple_of_the_metadata_does_not_count() {
    let object = include_bytes!("data/v5.co");
    let (current, old) =
        (b"amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", b"amdgcn--amdhsa-amd-gfx90a:sramecc+:xnack-");
    let at = object.windows(current.len()).position(|bytes| bytes == current).unwrap();
    let mut changed = object.to_vec();
    changed[at..at + old.len()].copy_from_slice(old);
    let read = CodeObject::parse(&changed).unwrap();
    assert_eq!(read.target().short(), "gfx90a:sramecc+:xnack-");
}
