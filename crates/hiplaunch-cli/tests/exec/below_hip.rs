//! Programs that look for GPUs below HIP: in Linux's files, by HSA's runtime and by the libraries of system management.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::programs::*;

/// The folder of the programs for what is below HIP.
const BELOW_HIP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../hsa-dropin/tests/programs");

/// Compiles a program in C; `None` without a compiler, or with one that lacks what an option needs.
fn in_c(source: &Path, options: &[&str], output: &str) -> Option<PathBuf> {
    let output = new_folder("below-hip").parent()?.join(output);
    let built = Command::new("cc").args(options).arg("-o").arg(&output).arg(source).output();
    match built {
        Ok(built) if built.status.success() => Some(output),
        Ok(built) => {
            println!("skipped: {}", text(&built.stderr));
            None
        }
        Err(_) => {
            println!("skipped: no cc");
            None
        }
    }
}

/// Runs an installed program under `exec`; `None` where it is not.
fn installed(options: &[&str], program: &str) -> Option<String> {
    if !Path::new(program).exists() && Command::new(program).arg("--help").output().is_err() {
        println!("skipped: no {program}");
        return None;
    }
    let ran = exec(options, &[program]);
    assert!(ran.status.success(), "{program}: {}{}", text(&ran.stdout), text(&ran.stderr));
    Some(text(&ran.stdout))
}

#[test]
fn a_program_finds_the_devices_below_hip() {
    let Some(program) = in_c(&Path::new(BELOW_HIP).join("below_hip.c"), &[], "below_hip") else { return };
    let program = program.to_str().unwrap();
    let expected = std::fs::read_to_string(Path::new(BELOW_HIP).join("below_hip.expected")).unwrap();
    let options = ["--target", "gfx942", "--devices", "2"];
    for command in [&[program][..], &["sh", "-c", "$0; exit", program]] {
        let ran = exec(&options, command);
        assert_eq!((text(&ran.stdout), text(&ran.stderr).as_str()), (expected.clone(), ""), "{command:?}");
    }
    // A device that HSA's runtime does not show is there for the others.
    let ran = command(&options, &[program]).env("ROCR_VISIBLE_DEVICES", "1").output().unwrap();
    let out = text(&ran.stdout);
    assert!(!out.contains("agent of node 1: gfx942") && out.contains("agent of node 2: gfx942"), "{out}");
    assert!(out.contains("node 1: target 90402") && out.contains("processor of socket 1"), "{out}");
}

/// Memory, signals, queues, code and faults by HSA alone.
#[test]
fn a_program_runs_kernels_by_hsa() {
    let Some(program) = in_c(&Path::new(BELOW_HIP).join("queues.c"), &["-pthread"], "queues") else { return };
    let code = concat!(env!("CARGO_MANIFEST_DIR"), "/../../hip/vector.gfx90a.co");
    let expected = std::fs::read_to_string(Path::new(BELOW_HIP).join("queues.expected")).unwrap();
    for options in [&["--devices", "2"][..], &["--devices", "2", "--sanitize", "--threads", "1"]] {
        let ran = exec(options, &[program.to_str().unwrap(), code]);
        let err = text(&ran.stderr);
        assert_eq!(text(&ran.stdout), expected, "{options:?}: {err}");
        assert!(
            err.contains("a queue failed with 0x2b: kernel vadd_f32: out-of-bounds write of 4 bytes"),
            "{err}"
        );
        assert!(err.contains("a queue failed with 0x1009: a packet of type 0 and format 1"), "{err}");
    }
}

/// AMD's own libamdhip64, where it is installed, runs over the library below HIP, and programs print the same as with hiplaunch's.
#[test]
fn amds_own_libamdhip64_runs_on_the_emulator() {
    let names = ["libamdhip64.so.5", "libhsa-runtime64.so.1"];
    let folder = Path::new("/usr/lib/x86_64-linux-gnu");
    if !names.iter().all(|name| folder.join(name).exists()) {
        println!("skipped: no libamdhip64 5 of AMD's");
        return;
    }
    for name in ["basics.hip", "over_hip.hip", "capture.hip"] {
        let Some(program) = program(name) else { return };
        let arguments: &[&str] = if name == "over_hip.hip" { &["right"] } else { &[] };
        let command = [&[program.to_str().unwrap()], arguments].concat();
        let [ours, amds] =
            ["hiplaunch", "amd"].map(|whose| exec(&["--devices", "2", "--hip", whose], &command));
        assert!(ours.status.success() && amds.status.success(), "{name}: {}", text(&amds.stderr));
        assert_eq!(text(&ours.stdout), text(&amds.stdout), "{name}: {}", text(&amds.stderr));
    }
    // What observes HIP's calls has none to observe.
    let refused = exec(&["--hip", "amd", "--validate"], &["true"]);
    assert!(
        text(&refused.stderr).contains("--validate is for hiplaunch's libamdhip64"),
        "{}",
        text(&refused.stderr)
    );
}

/// Where the target can't be emulated, there is no device, and each library says why, once.
#[test]
fn what_cannot_be_emulated_is_no_device_below_hip() {
    let Some(program) = in_c(&Path::new(BELOW_HIP).join("below_hip.c"), &[], "below_hip-none") else {
        return;
    };
    let ran = command(&[], &[program.to_str().unwrap()])
        .env("HIPLAUNCH_EMULATOR_TARGET", "gfx900")
        .output()
        .unwrap();
    let (out, err) = (text(&ran.stdout), text(&ran.stderr));
    assert!(!out.contains("node 1") && out.contains("init: 1008"), "{out}");
    assert_eq!(err.matches("no emulator for gfx900").count(), 2, "{err}");
}

/// The library as it is built has each symbol that Debian's libhsa-runtime64 5.2.3 and 7.2.4 and librocm_smi64 5.2.3 to 7.2.4 export, and that
/// the Python package amdsmi 7.0.2 uses, with its version.
#[test]
fn the_library_below_hip_exports_what_amds_libraries_do() {
    let Some(program) = in_c(&Path::new(BELOW_HIP).join("symbols.c"), &[], "below_hip-symbols") else {
        return;
    };
    let data = Path::new(BELOW_HIP).with_file_name("data");
    for (library, list) in [
        ("libhsa-runtime64.so.1", "libhsa-runtime64.so.1.txt"),
        ("librocm_smi64.so.1", "librocm_smi64.so.txt"),
        ("librocm_smi64.so", "librocm_smi64.so.txt"),
        ("libamd_smi.so.26", "libamd_smi.so.txt"),
    ] {
        let list = data.join(list);
        let count = std::fs::read_to_string(&list).unwrap().lines().count();
        assert!(count > 100, "{}", list.display());
        let ran = exec(&[], &[program.to_str().unwrap(), library, list.to_str().unwrap()]);
        assert_eq!(text(&ran.stdout), format!("{count} looked for\n"), "{library}: {}", text(&ran.stderr));
    }
}

#[test]
fn rocminfo_lists_the_devices() {
    let Some(out) = installed(&["--target", "gfx1100", "--devices", "3"], "rocminfo") else { return };
    let lines = |text: &str| out.lines().filter(|line| line.split_whitespace().eq(text.split(' '))).count();
    assert_eq!(lines("Name: gfx1100"), 3, "{out}");
    assert_eq!(lines("Name: amdgcn-amd-amdhsa--gfx1100"), 3, "{out}");
    assert_eq!(lines("Marketing Name: AMD Radeon RX 7900 XTX (emulated)"), 3, "{out}");
    assert_eq!(lines("Compute Unit: 96"), 3, "{out}");
    assert_eq!(lines("Device Type: CPU"), 1, "{out}");
}

#[test]
fn amdgpu_arch_and_rocm_agent_enumerator_list_the_targets() {
    let options = ["--target", "gfx90a:xnack+", "--devices", "2"];
    if let Some(out) = installed(&options, "rocm_agent_enumerator") {
        // Versions before ROCm 6.4 begin with gfx000, the host.
        assert_eq!(out.trim_start_matches("gfx000\n"), "gfx90a\ngfx90a\n");
    }
    // Debian's packages have it beside clang.
    let versions = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    let found = versions.map(|folder| folder.join("bin/amdgpu-arch")).filter(|file| file.exists());
    for program in found.chain([PathBuf::from("amdgpu-arch")]) {
        if let Some(out) = installed(&options, program.to_str().unwrap()) {
            assert_eq!(out, "gfx90a\ngfx90a\n", "{}", program.display());
        }
    }
}

/// AddressSanitizer refuses to run behind another library that is preloaded.
#[test]
fn a_program_with_address_sanitizer_runs() {
    let source = new_folder("below-hip-asan").join("program.c");
    std::fs::write(
        &source,
        "#include <stdio.h>\n\
         int main() { FILE *f = fopen(\"/sys/class/kfd/kfd/topology/nodes/1/gpu_id\", \"r\"); int id = 0;\n\
         if (f) { fscanf(f, \"%d\", &id); fclose(f); } printf(\"%d\\n\", id > 0); }",
    )
    .unwrap();
    let Some(program) = in_c(&source, &["-w", "-fsanitize=address"], "below_hip-asan") else { return };
    let ran =
        command(&[], &[program.to_str().unwrap()]).env("ASAN_OPTIONS", "detect_leaks=0").output().unwrap();
    assert_eq!((text(&ran.stdout).as_str(), text(&ran.stderr).as_str()), ("1\n", ""));
}
