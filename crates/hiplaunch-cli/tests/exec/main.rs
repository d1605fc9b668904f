//! `hiplaunch exec` with programs that hipcc compiles: those of crates/hip-dropin/tests/programs.
//!
//! Where hipcc is absent, the tests of compiled programs print that they are skipped.
#![cfg(target_os = "linux")]

mod below_hip;
mod devices;
mod execution;
mod faults;
mod library;
mod memory;
mod names;
mod programs;
mod textures;
mod validation;

use programs::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a program prints on the emulator is what it prints on AMD's library 5.2.3, with nothing on stderr.
#[track_caller]
fn prints(program: &[&str], expected: &str) {
    let ran = exec(&[], program);
    assert_eq!(text(&ran.stdout), std::fs::read_to_string(Path::new(PROGRAMS).join(expected)).unwrap());
    assert_eq!(text(&ran.stderr), "");
    assert_eq!(ran.status.code(), Some(0));
}

#[test]
fn a_program_prints_what_it_prints_on_amds_library() {
    let Some(basics) = program("basics.hip") else { return };
    prints(&[basics.to_str().unwrap()], "basics.expected");
}

/// Of the version by whose name the program asks for the library: 5.2.3, and 7.2.4.
#[test]
fn statuses_are_those_of_amds_library_of_the_version() {
    let Some(hip_5) = program("statuses.hip") else { return };
    prints(&[hip_5.to_str().unwrap()], "statuses.expected");
    prints(&[hip_7("statuses.hip").unwrap().to_str().unwrap()], "statuses_7.expected");
}

#[test]
fn modules_and_graphs_work_as_on_amds_library() {
    let Some(program) = program("modules.hip") else { return };
    let object = compiled("modules.hip", &["--offload-arch=gfx90a", "--genco"], "modules.co").unwrap();
    prints(&[program.to_str().unwrap(), object.to_str().unwrap()], "modules.expected");
}

/// A program that compiles kernels prints what it prints on AMD's library; the second time, nothing is compiled.
#[test]
fn kernels_that_a_program_compiles_run_and_are_kept() {
    let Some(program) = program("hiprtc.hip") else { return };
    let cache = new_folder("hiprtc-cache");
    let run = |variable: &str, value: &str| {
        let mut command = command(&["--count"], &[program.to_str().unwrap()]);
        command.env("HIPLAUNCH_CACHE_DIR", &cache).env(variable, value).output().unwrap()
    };
    let first = run("HIPLAUNCH_HIPRTC", "");
    if text(&first.stderr).contains("no usable HIP runtime compiler") {
        assert_ne!(std::env::var("HIPLAUNCH_TEST_HIPRTC").as_deref(), Ok("1"), "{}", text(&first.stderr));
        return println!("skipped: {}", text(&first.stderr));
    }
    let expected = std::fs::read_to_string(Path::new(PROGRAMS).join("hiprtc.expected")).unwrap();
    for (ran, counts) in [
        (first, "1 compiled by hiprtc, 0 from the cache"),
        (run("", ""), "0 compiled by hiprtc, 1 from the cache"),
    ] {
        assert_eq!(text(&ran.stdout), expected);
        assert!(text(&ran.stderr).contains(counts), "{}", text(&ran.stderr));
    }
    let without = run("HIPLAUNCH_HIPRTC", "/nonexistent/libhiprtc.so");
    assert_eq!(text(&without.stdout), "create: HIPRTC_ERROR_INTERNAL_ERROR\n");
    let err = text(&without.stderr);
    assert!(err.contains("libhiprtc-builtins5") && err.contains("/nonexistent/libhiprtc.so"), "{err}");
    assert_eq!(err.matches("no usable HIP runtime compiler").count(), 1, "{err}");
}

#[test]
fn captured_work_runs_when_its_graph_is_launched() {
    let Some(capture) = program("capture.hip") else { return };
    prints(&[capture.to_str().unwrap()], "capture.expected");
}

/// AMD's library 5.2.3 does not refuse what later versions do, and can't update a graph so.
#[test]
fn captures_refuse_what_would_wait_for_them() {
    let Some(capture) = program("capture.hip") else { return };
    prints(&[capture.to_str().unwrap(), "all"], "capture_all.expected");
    let ran = exec(&["--validate"], &[capture.to_str().unwrap(), "all"]);
    assert!(text(&ran.stderr).contains("validation: 0 violations, 0 leaks"), "{}", text(&ran.stderr));
}

/// As AMD's library 7.2.4 prints.
#[test]
fn graphs_allocate_and_can_be_updated_in_many_ways() {
    let Some(nodes) = hip_7("graph_nodes.hip") else { return };
    prints(&[nodes.to_str().unwrap()], "graph_nodes.expected");
    let ran = exec(&["--validate"], &[nodes.to_str().unwrap()]);
    assert!(text(&ran.stderr).contains("validation: 0 violations, 0 leaks"), "{}", text(&ran.stderr));
}

/// As AMD's library 7.2.4 does, but for the launch of a graph on a captured stream: that library runs it at once.
#[test]
fn captures_take_allocations_graphs_and_dependencies_of_the_program() {
    let Some(captured) = hip_7("captured_memory.hip") else { return };
    prints(&[captured.to_str().unwrap()], "captured_memory.expected");
    let ran = exec(&["--validate"], &[captured.to_str().unwrap()]);
    assert!(text(&ran.stderr).contains("validation: 0 violations, 0 leaks"), "{}", text(&ran.stderr));
}

/// As AMD's library 7.2.4 does, but for the operations in batches, which it refuses without a GPU.
#[test]
fn streams_wait_for_values_of_memory_and_write_them() {
    let Some(operations) = hip_7("memory_operations.hip") else { return };
    prints(&[operations.to_str().unwrap()], "memory_operations.expected");
}

/// As AMD's library 7.2.4 does, but for memory of other processes, which it refuses without a GPU.
#[test]
fn libraries_batches_and_memory_of_other_processes_work() {
    let Some(program) = hip_7("libraries.hip") else { return };
    let object = compiled("libraries.hip", &["--offload-arch=gfx90a", "--genco"], "libraries.co").unwrap();
    prints(&[program.to_str().unwrap(), object.to_str().unwrap()], "libraries.expected");
}

#[test]
fn a_fault_is_reported_at_once_and_the_exit_status_is_the_programs() {
    let Some(fault) = program("fault.hip") else { return };
    let ran = exec(&[], &[fault.to_str().unwrap()]);
    let (out, err) = (text(&ran.stdout), text(&ran.stderr));
    assert_eq!(ran.status.code(), Some(7), "{err}");
    assert!(out.contains("sticky: hipErrorIllegalAddress\nlater: hipErrorIllegalAddress\n"), "{out}");
    assert!(
        err.contains("out-of-bounds write of 4 bytes") && err.contains("3936 bytes past the end"),
        "{err}"
    );
    assert!(err.contains("not supported:") && err.contains("1 hipDestroyExternalMemory"), "{err}");
}

#[test]
fn kernels_that_step_past_an_allocation_run_with_bounds_of_pages() {
    let options = ["--offload-arch=gfx90a", "-gline-tables-only"];
    let Some(bounds) = compiled("bounds.hip", &options, "bounds") else { return };
    let bounds = bounds.to_str().unwrap();
    let ran = exec(&["--bounds", "pages", "--validate"], &[bounds]);
    let each = "hipSuccess\n1 63\nhipErrorInvalidValue hipErrorInvalidValue\n";
    let err = text(&ran.stderr);
    assert_eq!(text(&ran.stdout), each.repeat(3), "{err}");
    // Strict bounds refuse one read of each launch.
    assert!(err.contains("accesses that hardware, or strict bounds, would not have performed:"), "{err}");
    assert!(err.contains("read of 4 bytes in global memory, up to 4 bytes past the end of"), "{err}");
    assert!(err.contains("bounds.hip:6:") && err.contains("; 3 times"), "{err}");

    let ran = exec(&[], &[bounds]);
    assert!(text(&ran.stdout).starts_with("hipErrorIllegalAddress\n"), "{}", text(&ran.stdout));
    let err = text(&ran.stderr);
    assert!(
        err.contains("out-of-bounds read of 4 bytes") && err.contains("so does `--bounds pages`"),
        "{err}"
    );
    // The line of the kernel that reads it.
    assert!(err.contains("bounds.hip:6:"), "{err}");

    let ran = exec(&["--bounds", "pages", "--sanitize"], &[bounds]);
    let err = text(&ran.stderr);
    assert!(err.contains("read of never-written bytes") && err.contains("0 bytes past the end of"), "{err}");
}

#[test]
fn atomics_that_gfx90a_ignores_are_listed_and_dropped_on_demand() {
    let options = ["--offload-arch=gfx90a", "-munsafe-fp-atomics"];
    let Some(atomics) = compiled("atomics.hip", &options, "atomics") else { return };
    let atomics = atomics.to_str().unwrap();
    for (what, fine) in [("perform", "64.0 64 "), ("drop", "0.0 0 ")] {
        let ran = exec(&["--fine-grained-atomics", what], &[atomics]);
        let err = text(&ran.stderr);
        let coarse = "64.0 64 ";
        // hipMalloc, hipExtMallocWithFlags, hipHostMalloc (default, coherent, not coherent), hipMallocManaged; integers.
        let want = format!("{coarse}{fine}{fine}{fine}{coarse}{fine}\n64 64 64 64 64 64 \n");
        assert_eq!(text(&ran.stdout), want, "{what}: {err}");
        assert!(err.contains("not performed on gfx90a hardware"), "{err}");
    }
    let ran = exec(&["--sanitize"], &[atomics]);
    assert!(text(&ran.stderr).contains("not performed on gfx90a hardware"), "{}", text(&ran.stderr));
}

#[test]
fn what_kernels_print_is_in_order_with_what_the_program_prints() {
    let Some(printing) = program("printing.hip") else { return };
    prints(&[printing.to_str().unwrap()], "printing.expected");
}

#[test]
fn validation_counts_and_a_trace_are_written_when_they_are_asked_for() {
    let Some(basics) = program("basics.hip") else { return };
    let trace = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec.json");
    let options = ["--validate", "--count", "--trace", trace.to_str().unwrap(), "--schedule-seed", "3"];
    let ran = exec(&options, &[basics.to_str().unwrap()]);
    let err = text(&ran.stderr);
    assert!(err.contains("validation: 0 violations, 0 leaks"), "{err}");
    assert!(err.lines().any(|line| line.ends_with(" 11 hipModuleLaunchKernel")), "{err}");
    let trace: serde_json::Value = serde_json::from_slice(&std::fs::read(trace).unwrap()).unwrap();
    assert!(trace.to_string().contains("saxpy"));
}

/// docs/json.md lists the fields; those of a list that is empty here are from another program.
#[test]
fn the_summary_is_written_as_json() {
    let (Some(mistakes), Some(fault)) = (program("mistakes.hip"), program("fault.hip")) else { return };
    let folder = new_folder("exec-json");
    let document = |options: &[&str], program: &Path| -> serde_json::Value {
        let file = folder.join("summary.json");
        let options = [&["--json", file.to_str().unwrap()], options].concat();
        exec(&options, &[program.to_str().unwrap()]);
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
    };
    let faulty = document(&[], &fault);
    let found = &faulty["faults"][0];
    let instruction = found["instruction"].as_str().unwrap();
    assert!(instruction.starts_with("global_store_dword"), "{instruction}");
    assert!(found["nearest_allocation"].as_str().unwrap().contains("3936 bytes past the end"), "{found}");
    let fields = ["error", "kernel", "lane", "returned_by", "device"].map(|field| found[field].clone());
    let expected = serde_json::json!(["hipErrorIllegalAddress", "_Z5writePii", 0, "hipStreamQuery", 0]);
    assert_eq!(serde_json::json!(fields), expected);
    assert_eq!(faulty["unsupported"], serde_json::json!({"hipDestroyExternalMemory": 1}));
    assert!(faulty["kernels"].is_null() && faulty["leaks"].is_null());
    let checked = document(&["--validate"], &mistakes);
    let length = |field: &str| checked[field].as_array().unwrap().len();
    assert_eq!((length("violations"), length("leaks")), (2, 1));
    let counted = document(&["--count"], &program("basics.hip").unwrap());
    assert_eq!(counted["driver_calls"]["hipModuleLaunchKernel"], 11);
    assert_eq!(counted["hip_calls"]["hipLaunchKernel"], 12);
    let kernels = counted["kernels"].as_array().unwrap();
    assert_eq!(kernels.iter().map(|kernel| kernel["launches"].as_u64().unwrap()).sum::<u64>(), 11);
    assert!(kernels.iter().all(|kernel| kernel["wave_instructions"].as_u64() > Some(0)), "{counted}");
    let options = ["--offload-arch=gfx90a", "-gline-tables-only"];
    let noted = document(&["--bounds", "pages"], &compiled("bounds.hip", &options, "bounds-json").unwrap());
    let found = &noted["notices"][0];
    let fields = ["kind", "count", "past_end"].map(|field| found[field].clone());
    assert_eq!(serde_json::json!(fields), serde_json::json!(["past_end", 3, 4]), "{found}");
    assert!(found["source"].to_string().contains("bounds.hip:6:"), "{found}");
    let listed = listed_fields("exec");
    let mut fields = std::collections::BTreeSet::new();
    [faulty, checked, counted, noted].iter().for_each(|document| collect_fields(document, "", &mut fields));
    assert_eq!(fields, listed);
}

/// The fields that a section of docs/json.md lists.
fn listed_fields(section: &str) -> std::collections::BTreeSet<String> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md")).unwrap();
    let section = page.split("\n## ").find(|part| part.starts_with(&format!("{section}\n"))).unwrap();
    let lines = section.lines().filter_map(|line| line.strip_prefix("- `")?.split_once('`'));
    lines.map(|(field, _)| field.to_owned()).collect()
}

/// The fields of a document by their paths; `*` is any name of a function.
fn collect_fields(value: &serde_json::Value, path: &str, fields: &mut std::collections::BTreeSet<String>) {
    use serde_json::Value;
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let name =
                    if matches!(path, "driver_calls" | "hip_calls" | "unsupported") { "*" } else { name };
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                fields.insert(path.clone());
                collect_fields(value, &path, fields);
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|item| collect_fields(item, &format!("{path}[]"), fields));
        }
        _ => {}
    }
}

#[test]
fn the_validation_layer_finds_races_uses_of_freed_memory_and_leaks() {
    let Some(mistakes) = program("mistakes.hip") else { return };
    let ran = exec(&["--validate"], &[mistakes.to_str().unwrap()]);
    let err = text(&ran.stderr);
    assert!(err.contains("validation: 2 violations, 1 leaks"), "{err}");
    assert!(err.contains("race: hipMemcpyDtoHAsync") && err.contains("hipMemsetD8Async"), "{err}");
    assert!(err.contains("hipModuleLaunchKernel of `_Z7nothingPi`, argument 0: 0x"), "{err}");
    assert!(err.contains("which was freed before"), "{err}");
    assert!(err.contains("256 bytes") && err.contains("was never freed"), "{err}");
    let quiet = exec(&[], &[mistakes.to_str().unwrap()]);
    assert_eq!((text(&quiet.stdout).as_str(), text(&quiet.stderr).as_str()), ("launch: hipSuccess\n", ""));
}

#[test]
fn a_program_without_code_for_an_emulated_target_says_which_it_has() {
    let Some(basics) = compiled("basics.hip", &["--offload-arch=gfx940"], "basics940") else { return };
    let ran = exec(&[], &[basics.to_str().unwrap()]);
    let err = text(&ran.stderr);
    assert!(err.contains("gfx940") && err.contains("--target"), "{err}");
    assert!(text(&ran.stdout).contains("hipErrorNoBinaryForGpu"), "{}", text(&ran.stdout));
}

#[test]
fn several_devices_are_seen_by_children() {
    let Some(devices) = program("devices.hip") else { return };
    let command = format!("{} && echo done", devices.display());
    let ran = exec(&["--devices", "3", "--target", "gfx90a:xnack-"], &["sh", "-c", &command]);
    let expected = "3 devices, gfx90a:sramecc+:xnack-, peer copy 42, on device 2\ndone\n";
    assert_eq!((text(&ran.stdout).as_str(), text(&ran.stderr).as_str()), (expected, ""));
}

/// AMD's library is found first: by an `RPATH`, which precedes `LD_LIBRARY_PATH`, to its folder or to a copy beside the
/// program, as Python packages have one. AMD's library would see no device.
#[test]
fn a_program_with_an_rpath_finds_the_emulator_and_so_do_its_children() {
    let installed = Path::new("/usr/lib/x86_64-linux-gnu/libamdhip64.so.5");
    if !installed.exists() {
        return println!("skipped: no {}", installed.display());
    }
    let folder = new_folder("exec-rpath");
    let rpath = |folder: &str| format!("-Wl,-rpath,{folder},--disable-new-dtags");
    let target = "--offload-arch=gfx90a";
    let options = [target, &rpath("/usr/lib/x86_64-linux-gnu")];
    let Some(by_folder) = compiled("devices.hip", &options, "exec-rpath/by_folder") else { return };
    let by_copy = compiled("devices.hip", &[target, &rpath("$ORIGIN")], "exec-rpath/by_copy").unwrap();
    std::fs::copy(installed, folder.join("libamdhip64.so.5")).unwrap();
    for program in [by_folder, by_copy] {
        let program = program.to_str().unwrap();
        let scripts: [&[&str]; 2] = [&[program], &["sh", "-c", "$0; exit", program]];
        for script in scripts {
            let ran = exec(&["--target", "gfx90a:xnack-"], script);
            let expected = "1 devices, gfx90a:sramecc+:xnack-, peer copy 42, on device 0\n";
            assert_eq!(
                (text(&ran.stdout).as_str(), text(&ran.stderr).as_str()),
                (expected, ""),
                "{script:?}"
            );
        }
    }
}

/// Whether or not a library is there. The version is that of the file behind a name without one.
#[test]
fn a_path_to_amds_library_opens_the_emulators() {
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: no python3");
    }
    let folder = new_folder("exec-paths");
    std::os::unix::fs::symlink("libamdhip64.so.6.2.1", folder.join("libamdhip64.so")).unwrap();
    std::fs::write(folder.join("libamdhip64.so.6.2.1"), "no library").unwrap();
    let link = folder.join("libamdhip64.so");
    let script = "import ctypes, sys\n\
                  hip = ctypes.CDLL(sys.argv[1])\n\
                  version, count = ctypes.c_int(), ctypes.c_int()\n\
                  hip.hipRuntimeGetVersion(ctypes.byref(version))\n\
                  hip.hipGetDeviceCount(ctypes.byref(count))\n\
                  hip.hiprtcGetErrorString.restype = ctypes.c_char_p\n\
                  print(version.value // 10000000, count.value, hip.hiprtcGetErrorString(6).decode())";
    let paths = [
        ("/opt/rocm/lib/libamdhip64.so.7", 7),
        ("/usr/lib/x86_64-linux-gnu/libamdhip64.so.5", 5),
        ("/nonexistent/libhiprtc.so.6", 6),
        ("libhiprtc.so.5", 5),
        (link.to_str().unwrap(), 6),
    ];
    for (path, version) in paths {
        let ran = exec(&["--devices", "2"], &["python3", "-c", script, path]);
        let expected = format!("{version} 2 HIPRTC_ERROR_COMPILATION\n");
        assert_eq!((text(&ran.stdout), text(&ran.stderr).as_str()), (expected, ""), "{path}");
    }
}

#[test]
fn images_registrations_and_host_functions_that_are_wrong_fail_with_a_status() {
    let Some(bad) = program("bad.hip") else { return };
    let object = compiled("library.hip", &["--offload-arch=gfx90a", "--genco"], "library.co").unwrap();
    let folder = new_folder("exec-bad");
    let ran = exec(&[], &[bad, object, folder].each_ref().map(|path| path.to_str().unwrap()));
    let expected = "cut short, any success: 0\n\
                    no file: hipErrorFileNotFound\n\
                    zeros: hipErrorInvalidImage\n\
                    unknown format: 1\n\
                    registered: hipSuccess, hipErrorInvalidImage, hipSuccess\n\
                    first unregistered: hipErrorInvalidDeviceFunction, hipSuccess\n\
                    unregistered: hipErrorInvalidDeviceFunction, hipErrorInvalidDeviceFunction, \
                    hipErrorInvalidDeviceFunction\n\
                    host function: hipSuccess, hipSuccess, allocate hipSuccess, wait hipErrorIllegalState, copy \
                    hipErrorIllegalState\n";
    assert_eq!(text(&ran.stdout), expected);
    // Each reason once.
    let reasons = [
        "a code object is refused: not an AMDGPU code object: expected an ELF file, found 0 bytes",
        "a code object is refused: malformed offload bundle: entry 0 ends behind the end of the file",
        "a code object is refused: malformed offload bundle: entry 1 ends behind the end of the file",
        "an image is refused: it is neither a code object nor an offload bundle of a known version",
        "a fat binary of the program has an unknown format",
        "a fat binary of the program is no code object",
    ];
    let err = text(&ran.stderr);
    let known = |line: &str| reasons.iter().any(|reason| line.starts_with(&format!("hiplaunch: {reason}")));
    assert!(err.lines().count() == reasons.len() && err.lines().all(known), "{err}");
    assert_eq!(ran.status.code(), Some(0));
}

/// Its kernels are loaded anew each time. The emulator stays, whose threads run.
#[test]
fn a_library_with_kernels_and_hips_own_can_be_closed() {
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: no python3");
    }
    let options = ["--offload-arch=gfx90a", "-shared", "-fPIC"];
    let Some(library) = compiled("library.hip", &options, "liblibrary.so") else { return };
    let script = "import _ctypes, ctypes, sys, time\n\
                  for _ in range(2):\n\
                  \tlibrary = ctypes.CDLL(sys.argv[1])\n\
                  \tprint(library.run(), library.run())\n\
                  \t_ctypes.dlclose(library._handle)\n\
                  hip = ctypes.CDLL('libamdhip64.so.5')\n\
                  for _ in range(9): _ctypes.dlclose(hip._handle)\n\
                  time.sleep(0.1)";
    let ran = exec(&["--validate"], &["python3", "-c", script, library.to_str().unwrap()]);
    assert_eq!(text(&ran.stdout), "15 16\n15 16\n");
    assert_eq!(text(&ran.stderr), "hiplaunch: validation: 0 violations, 0 leaks\n");
    assert_eq!(ran.status.code(), Some(0));
}

/// The program waits forever without a call of HIP, which would return the error.
#[test]
fn a_fault_is_said_at_once_to_a_program_that_waits() {
    use std::io::BufRead;
    let Some(waits) = program("waits.hip") else { return };
    let mut command = command(&[], &[waits.to_str().unwrap()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    std::io::BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("launch of _Z3setPiPVi") && said.contains("out-of-bounds write"), "{said}");
    assert_eq!(child.try_wait().unwrap(), None);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The inner command's library answers, although it is the outer one's that the environment names first. A link that is gone
/// leaves a program what it asks for, here a library of other functions.
#[test]
fn a_command_in_a_command_decides() {
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: no python3");
    }
    let folder = new_folder("exec-inner");
    let beside = Path::new(env!("CARGO_BIN_EXE_hiplaunch")).parent().unwrap();
    for file in ["hiplaunch", "hiplaunch-libamdhip64", "hiplaunch-libhsa-runtime64", "hiplaunch-audit"] {
        std::fs::copy(beside.join(file), folder.join(file)).unwrap();
    }
    let inner = folder.join("hiplaunch");
    let script = "import ctypes, os, shutil, sys\n\
                  loaded = lambda name: [line.split()[-1] for line in open('/proc/self/maps') if name in line][0]\n\
                  ctypes.CDLL('/opt/rocm/lib/libamdhip64.so.6')\n\
                  print(loaded('libamdhip64'))\n\
                  os.remove(os.path.dirname(os.environ['LD_AUDIT'].split(':')[0]) + '/libamdhip64.so.5')\n\
                  ctypes.CDLL('libm.so.6')\n\
                  copy = sys.argv[1] + '/libamdhip64.so.5'\n\
                  shutil.copy(loaded('/libm'), copy)\n\
                  print(hasattr(ctypes.CDLL(copy), 'cos'))";
    let arguments = ["exec", "--", "python3", "-c", script, folder.to_str().unwrap()];
    let ran = exec(&[], &[&[inner.to_str().unwrap()], &arguments[..]].concat());
    let expected = format!("{}\nTrue\n", folder.join("hiplaunch-libamdhip64").display());
    assert_eq!((text(&ran.stdout), text(&ran.stderr).as_str()), (expected, ""));
}

#[test]
fn the_variables_that_hide_devices_are_obeyed() {
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: no python3");
    }
    let script = "import ctypes\n\
                  hip = ctypes.CDLL('libamdhip64.so.7')\n\
                  count = ctypes.c_int(-1)\n\
                  status = hip.hipGetDeviceCount(ctypes.byref(count))\n\
                  bus = []\n\
                  for device in range(count.value):\n\
                  \ttext = ctypes.create_string_buffer(20)\n\
                  \thip.hipDeviceGetPCIBusId(text, 20, device)\n\
                  \tbus.append(text.value.decode())\n\
                  print(status, count.value, *bus)";
    let sees = |variables: &[(&str, &str)]| {
        let mut command = command(&["--devices", "3"], &["python3", "-c", script]);
        let ran = command.envs(variables.iter().copied()).output().unwrap();
        assert_eq!(text(&ran.stderr), "", "{variables:?}");
        text(&ran.stdout)
    };
    assert_eq!(sees(&[("HIP_VISIBLE_DEVICES", "2,0")]), "0 2 0000:03:00.0 0000:01:00.0\n");
    let both = [("ROCR_VISIBLE_DEVICES", "1,2"), ("CUDA_VISIBLE_DEVICES", "1")];
    assert_eq!(sees(&both), "0 1 0000:03:00.0\n");
    // hipErrorNoDevice.
    assert_eq!(sees(&[("HIP_VISIBLE_DEVICES", "-1")]), "100 0\n");
}

#[test]
fn forks_threads_and_destructors_after_main_are_defined() {
    let Some(program) = program("process.hip") else { return };
    let ran = exec(&[], &[program.to_str().unwrap()]);
    let expected = "fork before: hipSuccess\nfork after: hipErrorNotInitialized\nthreads: 19\n\
                    last error of a new thread: hipSuccess\ndestructor: hipSuccess\n";
    assert_eq!(text(&ran.stdout), expected);
    assert!(text(&ran.stderr).contains("forked after its first HIP call"), "{}", text(&ran.stderr));
    assert_eq!(ran.status.code(), Some(0));
}

#[test]
fn the_hip_version_is_that_of_the_name_by_which_the_library_is_loaded() {
    let script = "import ctypes, sys\n\
                  hip = ctypes.CDLL(sys.argv[1])\n\
                  version = ctypes.c_int()\n\
                  hip.hipRuntimeGetVersion(ctypes.byref(version))\n\
                  hip.hipGetErrorString.restype = ctypes.c_char_p\n\
                  print(version.value // 10000000, hip.hipGetErrorString(2).decode())";
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: no python3");
    }
    let versions = [
        ("libamdhip64.so.5", "5 hipErrorOutOfMemory\n"),
        ("libamdhip64.so.6", "6 out of memory\n"),
        ("libamdhip64.so.7", "7 out of memory\n"),
        ("libamdhip64.so", "7 out of memory\n"),
    ];
    for (name, expected) in versions {
        let ran = exec(&[], &["python3", "-c", script, name]);
        assert_eq!((text(&ran.stdout).as_str(), text(&ran.stderr).as_str()), (expected, ""), "{name}");
    }
}

#[test]
fn standard_streams_and_signals_are_the_programs() {
    let ran = exec(&[], &["sh", "-c", "echo out; echo err >&2; kill -TERM $$"]);
    assert_eq!((text(&ran.stdout).as_str(), text(&ran.stderr).as_str()), ("out\n", "err\n"));
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ran.status), Some(15));
}

#[test]
fn a_missing_program_or_library_is_an_error_that_says_so() {
    let ran = exec(&[], &["/nonexistent/program"]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(text(&ran.stderr).contains("/nonexistent/program can't be run"), "{}", text(&ran.stderr));
    let mut command = Command::new(env!("CARGO_BIN_EXE_hiplaunch"));
    let ran =
        command.env("HIPLAUNCH_LIBAMDHIP64", "/nonexistent/library").args(["exec", "true"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    let err = text(&ran.stderr);
    assert!(err.contains("/nonexistent/library") && err.contains("cargo build --release"), "{err}");
}

#[test]
fn a_setting_that_is_not_understood_is_named() {
    let Some(devices) = program("devices.hip") else { return };
    let ran = exec(&["--devices", "1000"], &[devices.to_str().unwrap()]);
    assert!(text(&ran.stderr).contains("1000 emulated devices: 1 to 64"), "{}", text(&ran.stderr));
}

#[test]
fn ten_thousand_kernels_are_registered_quickly() {
    let Some(register) = program("register.hip") else { return };
    let ran = exec(&[], &[register.to_str().unwrap()]);
    let out = text(&ran.stdout);
    let milliseconds: f64 = out.trim().strip_suffix(" ms").and_then(|text| text.parse().ok()).expect(&out);
    // 50 ms in a build with optimisations; tests have none.
    assert!(milliseconds < 500.0, "{milliseconds} ms");
}

/// The folder with the library's names, as a program that `exec` starts sees it.
fn library_folder() -> PathBuf {
    let ran = exec(&[], &["sh", "-c", "printf %s \"$LD_LIBRARY_PATH\""]);
    PathBuf::from(text(&ran.stdout).split(':').next().unwrap())
}

#[test]
fn a_library_that_is_not_amds_is_an_error_and_is_not_called() {
    let own = library_folder().join("libamdhip64.so");
    let refused = |library: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hiplaunch"));
        command.args(["exec", "--backend", "hip", "--", "true"]).env("HIPLAUNCH_HIP_LIBRARY", library);
        let ran = command.output().unwrap();
        assert_eq!(ran.status.code(), Some(2));
        text(&ran.stderr)
    };
    assert!(refused(&own).contains("is hiplaunch's own library, not AMD's"));
    assert!(refused(Path::new("/nowhere/libamdhip64.so")).contains("/nowhere/libamdhip64.so"));
    // A program that is not started by the command gets the same from the library.
    let Some(mistakes) = program("mistakes.hip") else { return };
    for (library, reason) in [
        (own.to_str().unwrap(), "is hiplaunch's own library, not AMD's"),
        ("/nowhere/libamdhip64.so", "/nowhere/./libamdhip64.so: cannot open shared object file"),
        (mistakes.to_str().unwrap(), "can't be loaded"),
    ] {
        let command =
            format!("HIPLAUNCH_BACKEND=hip HIPLAUNCH_HIP_LIBRARY={library} exec {}", mistakes.display());
        let ran = exec(&[], &["sh", "-c", &command]);
        assert_eq!(text(&ran.stdout), "launch: hipErrorNotInitialized\n");
        assert_eq!(text(&ran.stderr).matches(reason).count(), 1, "{}", text(&ran.stderr));
    }
}

#[test]
fn options_of_the_emulator_are_refused_over_amds_library() {
    for option in [["--target", "gfx90a"], ["--devices", "2"], ["--time-budget", "1"]] {
        let ran = exec(&[&["--backend", "hip"], &option[..]].concat(), &["true"]);
        assert_eq!(ran.status.code(), Some(2));
        assert!(text(&ran.stderr).contains(option[0]), "{}", text(&ran.stderr));
    }
}

/// `libamdhip64` for a machine without a GPU answers this much: that there is none.
#[test]
fn calls_reach_amds_library_and_are_counted() {
    let Some(mistakes) = program("mistakes.hip") else { return };
    let ran = exec(&["--backend", "hip", "--count"], &[mistakes.to_str().unwrap()]);
    let err = text(&ran.stderr);
    if err.contains("no usable libamdhip64") {
        println!("skipped: no libamdhip64");
        return;
    }
    assert!(err.contains("HIP calls: ") && err.contains("        2 hipDeviceSynchronize\n"), "{err}");
    assert!(err.contains("        1 __hipRegisterFatBinary\n"), "{err}");
}
