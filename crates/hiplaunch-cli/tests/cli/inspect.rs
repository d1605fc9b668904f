//! `hiplaunch inspect`: its output for code objects and bundles, and that its occupancy equals the driver's.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use hiplaunch::driver::emulated::{EmulatedDriver, EmulatorOptions};
use hiplaunch::driver::{DeviceId, Driver};

use super::{Folder, hip, hiplaunch};

/// The path of a test file of the crate `code-object`.
fn object(name: &str) -> String {
    format!("{}/crates/code-object/tests/data/{name}", hiplaunch_testing::root().display())
}

/// Returns the JSON document of files that are all valid.
fn inspect(args: &[&str]) -> Value {
    let (status, out, err) = hiplaunch(&[&["inspect", "--json"], args].concat());
    assert_eq!((status, err.as_str()), (0, ""), "{args:?}");
    serde_json::from_str(&out).unwrap()
}

fn kernel<'a>(document: &'a Value, target: &str, name: &str) -> &'a Value {
    let files = document["files"].as_array().unwrap();
    let objects = files.iter().flat_map(|file| file["code_objects"].as_array().unwrap());
    let of_target = objects.filter(|object| object["target"] == target);
    let kernels = of_target.filter_map(|object| object["kernels"].as_array()).flatten();
    kernels.into_iter().find(|kernel| kernel["name"] == name).unwrap_or_else(|| panic!("{target} {name}"))
}

#[test]
fn a_code_object_for_people() {
    let (status, out, err) = hiplaunch(&["inspect", &object("v5.co"), "--symbols"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    // v5.notes.txt has the output of llvm-readelf for it.
    for words in [
        "v5.co: code object, ",
        "  target gfx90a:sramecc+:xnack-, code object v5: 3 kernels, 5 variables\n",
        "  kernel scale\n",
        "      2              16      4  by_value\n",
        "    block        at most 256 work-items; wavefronts of 64\n",
        "    occupancy    gfx90a: 8 blocks of 256 a compute unit, 8 waves a SIMD (100%), limited by wave slots\n",
        "    memory       1,024 bytes of LDS a workgroup, 0 bytes of scratch a work-item\n",
        "  variables\n",
        "  functions\n",
        " r-x\n",
        "  relocations ",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
}

/// The numbers equal the metadata that llvm-readelf printed to the file next to the code object.
#[test]
fn numbers_are_those_of_the_notes() {
    for (file, target) in [("v4", "gfx90a"), ("v5", "gfx90a:sramecc+:xnack-"), ("v6", "gfx942")] {
        let document = inspect(&[&object(&format!("{file}.co"))]);
        let notes = fs::read_to_string(object(&format!("{file}.notes.txt"))).unwrap();
        // YAML: a kernel begins with its first key after "  - "; the keys of its arguments are indented further.
        let mut number = std::collections::HashMap::new();
        let mut kernels = 0;
        for line in notes.lines() {
            if line.starts_with("  - .") {
                number.clear();
            }
            let Some((key, value)) = line.trim_start_matches(['-', ' ']).split_once(':') else { continue };
            if line.starts_with("    .") || line.starts_with("  - .") {
                number.insert(key.to_owned(), value.trim().to_owned());
            }
            if key == ".wavefront_size" && line.starts_with("    .") {
                let found = kernel(&document, target, &number[".name"]);
                let of = |key: &str| number.get(key).map_or(0, |value| value.parse::<u64>().unwrap());
                let vgprs = found["vgprs"].as_u64().unwrap() + found["agprs"].as_u64().unwrap();
                assert_eq!(vgprs, of(".vgpr_count"), "{file} {number:?}");
                for (field, key) in [
                    ("agprs", ".agpr_count"),
                    ("sgprs", ".sgpr_count"),
                    ("kernarg_bytes", ".kernarg_segment_size"),
                    ("kernarg_align", ".kernarg_segment_align"),
                    ("lds_bytes", ".group_segment_fixed_size"),
                    ("scratch_bytes_per_work_item", ".private_segment_fixed_size"),
                    ("max_block_work_items", ".max_flat_workgroup_size"),
                    ("spilled_sgprs", ".sgpr_spill_count"),
                ] {
                    assert_eq!(found[field], of(key), "{file} {number:?}: {field}");
                }
                kernels += 1;
            }
        }
        assert_eq!(kernels, 3, "{file}");
    }
}

#[test]
fn arguments_with_offsets_sizes_and_kinds() {
    let document = inspect(&[&hip("vector.gfx942.co"), "--kernel", "saxpy"]);
    let saxpy = kernel(&document, "gfx942", "saxpy");
    let arguments = saxpy["arguments"].as_array().unwrap();
    let explicit: Vec<_> = arguments
        .iter()
        .filter(|a| a["hidden"] == false)
        .map(|a| (a["offset"].as_u64().unwrap(), a["bytes"].as_u64().unwrap(), a["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(
        explicit,
        [(0, 4, "by_value"), (8, 8, "global_buffer"), (16, 8, "global_buffer"), (24, 4, "by_value")]
    );
    assert_eq!(saxpy["kernarg_explicit_bytes"], 28);
    let kernels = document["files"][0]["code_objects"][0]["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 1, "--kernel leaves out the others");
}

#[test]
fn bundles_plain_and_compressed() {
    let plain = inspect(&[&object("plain.hipfb")]);
    let entries = plain["files"][0]["code_objects"].as_array().unwrap();
    assert_eq!(plain["files"][0]["container"], "offload bundle");
    assert_eq!(entries[0]["skipped"], true, "the host's");
    let targets: Vec<_> = entries.iter().filter_map(|entry| entry["target"].as_str()).collect();
    assert_eq!(targets, ["gfx90a", "gfx942"]);
    for name in ["zlib-v1.hipfb", "zstd-v2.hipfb", "zstd-v3.hipfb"] {
        let compressed = inspect(&[&object(name)]);
        assert_eq!(compressed["files"][0]["container"], "compressed offload bundle", "{name}");
        assert_eq!(compressed["files"][0]["code_objects"], plain["files"][0]["code_objects"], "{name}");
    }
    let one = inspect(&[&object("plain.hipfb"), "--target", "gfx942:xnack+"]);
    let entries = one["files"][0]["code_objects"].as_array().unwrap();
    assert_eq!((entries.len(), &entries[0]["target"]), (1, &"gfx942".into()));
    // Generic code runs on several processors, and has an occupancy on each.
    let generic = inspect(&[&object("generic.co"), "--target", "gfx950"]);
    let scale = kernel(&generic, "gfx9-4-generic", "scale");
    let on: Vec<_> = scale["occupancy"].as_array().unwrap().iter().map(|o| &o["processor"]).collect();
    assert_eq!(on, ["gfx940", "gfx941", "gfx942", "gfx950"]);
}

/// The occupancy equals the driver's for the same kernel, block and LDS. The emulator computes it as HIP does.
#[test]
fn the_occupancy_is_the_drivers() {
    for target in ["gfx90a", "gfx942"] {
        let options = EmulatorOptions { target: target.parse().unwrap(), ..EmulatorOptions::default() };
        let driver = EmulatedDriver::new(options).unwrap();
        let device = DeviceId(0);
        for file in ["matmul", "reduce", "probe", "tensor"] {
            let path = hip(&format!("{file}.{target}.co"));
            let image = fs::read(&path).unwrap();
            // SAFETY: no kernel of the module is run.
            let module = unsafe { driver.module_load(device, &image) }.unwrap();
            for (block, lds) in [(64, 0), (256, 0), (256, 20480), (100, 1024), (192, 512)] {
                let document = inspect(&[&path, "--block", &block.to_string(), "--lds", &lds.to_string()]);
                for found in document["files"][0]["code_objects"][0]["kernels"].as_array().unwrap() {
                    let name = std::ffi::CString::new(found["name"].as_str().unwrap()).unwrap();
                    // SAFETY: the module is loaded, and is not unloaded meanwhile.
                    let blocks = unsafe {
                        let function = driver.module_get_function(device, module, &name).unwrap();
                        driver.occupancy(device, function, block, lds).unwrap()
                    };
                    let Some(o) = found["occupancy"].get(0) else {
                        assert!(found["max_block_work_items"].as_u64().unwrap() < block.into(), "{found:#}");
                        continue;
                    };
                    assert_eq!(o["blocks_per_cu"], blocks, "{path} {name:?} {block} {lds}: {o:#}");
                }
            }
        }
    }
}

/// Occupancies that registers or LDS limit, computed by hand: a SIMD has 512 VGPRs and 800 SGPRs, and a compute unit
/// has 4 SIMDs and 64 KiB of LDS.
#[test]
fn the_limit_of_the_occupancy_is_shown() {
    let of = |name: &str, args: &[&str]| {
        let document = inspect(&[&[object("v6.co").as_str()], args].concat());
        kernel(&document, "gfx942", name)["occupancy"][0].clone()
    };
    // 44 arch and 33 accumulation registers: 80 of 512, so that 6 waves fit.
    let o = of("dynamic", &["--block", "256"]);
    assert_eq!((&o["register_waves_per_simd"], &o["limited_by"]), (&6.into(), &"VGPRs".into()), "{o:#}");
    assert_eq!((&o["blocks_per_cu"], &o["waves_per_simd"]), (&6.into(), &6.0.into()), "{o:#}");
    // 24 waves hold 1 block of 16 waves, which is 4 waves a SIMD.
    let o = of("dynamic", &["--block", "1024"]);
    assert_eq!((&o["blocks_per_cu"], &o["percent"]), (&1.into(), &50.0.into()), "{o:#}");
    // 1,024 bytes and 20,000 more are 42 granules of 512 bytes, which fit 3 times into 64 KiB.
    let o = of("scale", &["--lds", "20000"]);
    assert_eq!((&o["lds_bytes_per_block"], &o["blocks_per_cu"]), (&21504.into(), &3.into()), "{o:#}");
    assert_eq!(o["limited_by"], "LDS", "{o:#}");
    let document = inspect(&[&object("v6.co"), "--block", "512"]);
    let scale = kernel(&document, "gfx942", "scale");
    assert_eq!(scale["occupancy_unknown"], "it takes blocks of at most 256 work-items, not 512");
}

/// A program for the host with a bundle in it, as the linker writes it.
#[test]
fn a_host_program() {
    let folder = Folder::new();
    let (bundle, c) = (object("plain.hipfb"), folder.write("host.c", "int main(void) { return 0; }\n"));
    let (assembly, program) = (folder.0.join("fatbin.s"), folder.0.join("host"));
    let text = format!(".section .hip_fatbin,\"a\",@progbits\n.p2align 12\n.incbin \"{bundle}\"\n");
    fs::write(&assembly, format!("{text}{text}")).unwrap();
    let built =
        Command::new("cc").arg(&c).arg(&assembly).arg("-o").arg(&program).stderr(Stdio::null()).status();
    if !built.is_ok_and(|status| status.success()) {
        return println!("skipped: no cc for ELF");
    }
    let document = inspect(&[program.to_str().unwrap()]);
    assert_eq!(document["files"][0]["container"], "host file with offload bundles");
    let entries = document["files"][0]["code_objects"].as_array().unwrap();
    assert_eq!(entries.len(), 6, "two bundles of three");
    assert_eq!(entries[3..], inspect(&[&bundle])["files"][0]["code_objects"].as_array().unwrap()[..]);

    // The error for a program without a bundle says what to name instead.
    let (status, _, err) = hiplaunch(&["inspect", env!("CARGO_BIN_EXE_hiplaunch")]);
    assert_eq!(status, 2);
    assert!(err.contains("give the device's code object"), "{err}");
}

#[test]
fn input_that_cannot_be_used() {
    let folder = Folder::new();
    let good = fs::read(object("plain.hipfb")).unwrap();
    let (v5, v6) = (object("v5.co"), object("v6.co"));
    for (args, words) in [
        (&["none.co"][..], "none.co: cannot be read: No such file"),
        (&[&folder.write("empty", "")], "empty: not an AMDGPU code object"),
        (&[&folder.write("text", "hello, this is text")], "hipcc --genco"),
        (&[&folder.write("cut.co", &fs::read(&v5).unwrap()[..1000])], "cut.co: "),
        (&[&folder.write("cut.hipfb", &good[..good.len() / 2])], "cut short"),
        (
            &[&folder.write(
                "bomb.hipfb",
                b"CCOB\x03\0\x01\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            )],
            "bomb.hipfb: ",
        ),
        (&[&v5, "--kernel", "scal"], "no kernel `scal`; there are dynamic, empty, scale"),
        (&[&v5, "--target", "gfx942"], "nothing in it runs on gfx942; it has gfx90a"),
        (&[&v5, "--target", "sm_90"], "sm_90"),
        (&[&v5, "--block", "0"], "--block"),
        (&[&v5, "--block", "2000"], "--block"),
        (&[&v5, "--lds", "x"], "--lds"),
        (&[], "FILE"),
    ] {
        let (status, _, err) = hiplaunch(&[&["inspect"], args].concat());
        assert_eq!(status, 2, "{args:?}: {err}");
        assert!(err.contains(words), "{args:?}: {err}");
    }
    // Endless and very long files are not read to the end.
    #[cfg(target_os = "linux")]
    assert!(hiplaunch(&["inspect", "/dev/zero"]).2.contains("found 64 bytes"));
    let long = folder.write("long", "text");
    fs::File::options().write(true).open(&long).unwrap().set_len(1 << 40).unwrap();
    assert!(hiplaunch(&["inspect", &long]).2.contains("found 1099511627776 bytes"));
    // The other files are shown nevertheless, in one document.
    let (status, out, _) = hiplaunch(&["inspect", &v5, "none.co", &v6]);
    assert_eq!(status, 2);
    assert!(out.contains("target gfx90a") && out.contains("target gfx942"), "{out}");
    let (status, out, _) = hiplaunch(&["inspect", "--json", &v5, "none.co"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((status, document["files"].as_array().unwrap().len()), (2, 2));
    assert!(document["files"][1]["error"].as_str().unwrap().contains("none.co"), "{document:#}");
}

/// Files with any byte changed, or cut off anywhere, have status 0 or 2, and cause no panic.
#[test]
fn hostile_files() {
    let folder = Folder::new();
    let good = fs::read(object("v5.co")).unwrap();
    for i in 0..60 {
        let mut bytes = good.clone();
        let at = i * 7919 % bytes.len();
        match i % 3 {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 0xff,
            _ => bytes[i % 64] = bytes[i % 64].wrapping_add(i as u8),
        }
        let (status, _, err) = hiplaunch(&["inspect", "--symbols", &folder.write("bad.co", bytes)]);
        assert!([0, 2].contains(&status) && !err.contains("panicked"), "{i}: {err}");
    }
}

/// `-` reads a file from a pipe.
#[test]
fn from_stdin() {
    let mut child =
        super::command(&["inspect", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::copy(&mut fs::File::open(object("v5.co")).unwrap(), &mut stdin).unwrap();
    drop(stdin);
    let (status, out, _) = super::read(child.wait_with_output().unwrap());
    assert_eq!(status, 0);
    assert!(out.starts_with("-: code object"), "{out}");
}

/// The machine code of each kernel is complete, begins at its entry, and has only instructions of the processor.
#[test]
fn the_machine_code() {
    for target in ["gfx90a", "gfx942"] {
        let path = hip(&format!("reduce.{target}.co"));
        let document = inspect(&[&path, "--disassemble"]);
        let object = &document["files"][0]["code_objects"][0];
        let functions = object["code"].as_array().unwrap();
        for kernel in object["kernels"].as_array().unwrap() {
            let code = functions.iter().find(|code| code["function"] == kernel["name"]).unwrap();
            assert_eq!((&code["address"], &code["bytes"]), (&kernel["entry_address"], &kernel["code_bytes"]));
            let instructions = code["instructions"].as_array().unwrap();
            let dwords: usize = instructions.iter().map(|i| i["words"].as_array().unwrap().len()).sum();
            assert_eq!(code["bytes"], 4 * dwords);
            assert!(instructions.iter().all(|i| i["legal"] == true), "{code:#}");
            let is = |text: &str| instructions.iter().any(|i| i["text"] == text);
            assert!(is("s_barrier") && is("s_endpgm"), "{code:#}");
            // Targets of branches are instructions.
            let at = |to: &Value| instructions.iter().any(|i| i["address"] == *to);
            let mut targets = instructions.iter().map(|i| &i["branch_target"]).filter(|to| !to.is_null());
            assert!(targets.clone().next().is_some() && targets.all(at), "{code:#}");
        }
        let (status, out, _) = hiplaunch(&["inspect", &path, "--kernel", "reduce_sum_f32", "--disassemble"]);
        assert_eq!(status, 0);
        assert!(out.contains("  code of reduce_sum_f32 at 0x"), "{out}");
        assert!(!out.contains("code of reduce_sum_dyn_f32"), "{out}");
        let label = out.split(" -> ").nth(1).unwrap().lines().next().unwrap();
        assert!(label.starts_with('L') && out.contains(&format!("\n   {label}:\n")), "{label}: {out}");
    }
    let (status, out, _) = hiplaunch(&["inspect", &object("generic.co"), "--disassemble"]);
    assert!(status == 0 && out.contains("  code of scale at 0x"), "{out}");
    // A code object that can't be disassembled is shown nevertheless.
    let other = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/amdgpu-emulator/tests/data/assembly/empty.gfx908.co"
    );
    let (status, out, err) = hiplaunch(&["inspect", other, "--disassemble"]);
    assert!(status == 2 && out.contains("  kernel empty\n"), "{out}");
    assert!(err.contains("empty.gfx908.co: --disassemble: ") && err.contains("--gfx908"), "{err}");
}

/// Everything that the command prints of one kernel.
#[test]
fn a_kernel_is_shown_whole() {
    let root = hiplaunch_testing::root();
    let shown = fs::read_to_string(root.join("tests/data/inspect.txt")).unwrap().replace("\r\n", "\n");
    let (args, shown) = shown.strip_prefix("$ hiplaunch ").unwrap().split_once('\n').unwrap();
    let args: Vec<&str> = args.split(' ').collect();
    let (status, out, _) = super::read(super::command(&args).current_dir(root).output().unwrap());
    assert_eq!((status, out.as_str()), (0, shown));
}

/// A kernel with a mangled name of C++ is shown and found by both names.
#[test]
fn mangled_names_are_read_back() {
    let folder = Folder::new();
    // The new name has the same length, so that all offsets stay the same.
    let mut bytes = fs::read(hip("vector.gfx90a.co")).unwrap();
    for at in 0..bytes.len() - 5 {
        if &bytes[at..at + 5] == b"saxpy" {
            bytes[at..at + 5].copy_from_slice(b"_Z1xi");
        }
    }
    let path = folder.write("mangled.co", bytes);
    let (status, out, err) = hiplaunch(&["inspect", &path]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("  kernel _Z1xi (x(int))\n"), "{out}");
    for name in ["_Z1xi", "x(int)", "x"] {
        let document = inspect(&["--kernel", name, &path]);
        let found = kernel(&document, "gfx90a", "_Z1xi");
        assert_eq!(found["demangled"], "x(int)", "{name}");
        assert_eq!(document["files"][0]["code_objects"][0]["kernels"].as_array().map(Vec::len), Some(1));
    }
    let (status, _, err) = hiplaunch(&["inspect", "--kernel", "y", &path]);
    assert!(status != 0 && err.contains("_Z1xi (x(int))"), "{err}");
}
