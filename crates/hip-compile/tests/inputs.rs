//! Compiling LLVM IR, bitcode, assembly and object files, by each compiler that is installed: comgr, and each version of clang
//! by its name in `PATH`.
//!
//! Without any, these tests are skipped and print why; with `HIPLAUNCH_TEST_HIPRTC=1` they fail without comgr.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use code_object::{Processor, TargetId};
use hip_compile::{CompileError, Compiled, Compiler, DiskCache, Input, InputKind};

const APPLY: &str = include_str!("data/apply.ll");
const SCALE: &str = include_str!("data/scale.ll");
const SCALE_ASSEMBLY: &str = include_str!("data/scale.s");
const STORE: &str = include_str!("data/store.s");
const SINE: &str = include_str!("data/sine.ll");
const SCALE_15: &[u8] = include_bytes!("data/scale.15.bc");
const SCALE_22: &[u8] = include_bytes!("data/scale.22.bc");
/// Object files of three versions of code objects; a compiler links those of its own.
const SCALE_OBJECTS: [&[u8]; 3] =
    [include_bytes!("data/scale.v4.o"), include_bytes!("data/scale.v5.o"), include_bytes!("data/scale.v6.o")];
const SCALE_GFX942: &[u8] = include_bytes!("data/scale.gfx942.o");

fn gfx90a() -> TargetId {
    TargetId::new(Processor::Gfx90a)
}

/// Returns each compiler with its name; none, with a message, if none is installed.
fn compilers() -> Vec<(String, Compiler)> {
    let default = Compiler::new(&gfx90a()).cache(&DiskCache::off());
    let clangs = (15..=40).map(|version| format!("clang-{version}")).chain(["clang".to_owned()]);
    let mut found = Vec::new();
    for compiler in [default.clone()].into_iter().chain(clangs.map(|clang| default.clone().clang(clang))) {
        match compiler.check_kind(InputKind::LlvmIr) {
            Ok(name) if found.iter().any(|(known, _)| *known == name) => {}
            Ok(name) => found.push((name, compiler)),
            Err(error) if found.is_empty() => println!("skipped: {error}"),
            Err(_) => {}
        }
    }
    let comgr = found.iter().any(|(name, _)| name.starts_with("comgr"));
    let required = std::env::var_os("HIPLAUNCH_TEST_HIPRTC").is_some_and(|value| value == "1");
    assert!(comgr || !required, "there is no comgr");
    println!("{}", found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join("\n"));
    found
}

fn kernels(compiled: &Compiled) -> Vec<&str> {
    compiled.code_object().kernels().iter().map(|kernel| kernel.name.as_str()).collect()
}

/// A new folder, which is removed when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("hiplaunch-inputs-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn inputs_of_every_kind_are_linked_into_one_code_object() {
    for (name, compiler) in compilers() {
        let apply = Input::llvm_ir(APPLY).named("apply.ll");
        for scale in [Input::llvm_ir(SCALE), Input::bitcode(SCALE_15), Input::assembly(SCALE_ASSEMBLY)] {
            let kind = scale.kind();
            let compiled = compiler
                .compile_inputs(&[apply.clone(), scale, Input::assembly(STORE)])
                .unwrap_or_else(|error| panic!("{name}: {kind}: {error}"));
            let mut kernels = kernels(&compiled);
            kernels.sort_unstable();
            assert_eq!(kernels, ["apply", "store"], "{name}: {kind}");
            assert_eq!(compiled.log(), "", "{name}: {kind}");
            assert_eq!(compiled.code_object().target().processor, Processor::Gfx90a);
        }
        let linked = SCALE_OBJECTS.map(|object| {
            compiler.compile_inputs(&[apply.clone(), Input::relocatable(object).named("scale.o")])
        });
        // lld links files of one version of code objects only.
        assert!(linked.iter().any(Result::is_ok), "{name}: {}", linked[0].as_ref().unwrap_err());
        for compiled in linked.iter().flatten() {
            assert_eq!((kernels(compiled), compiled.log()), (vec!["apply"], ""), "{name}");
        }
        // An object file alone.
        let alone = SCALE_OBJECTS.map(|object| compiler.compile_inputs(&[Input::relocatable(object)]));
        assert!(alone.iter().any(Result::is_ok), "{name}: {}", alone[0].as_ref().unwrap_err());
    }
}

/// comgr makes functions local since ROCm 6, and has an action that does not since version 3.
#[test]
fn assembly_finds_the_functions_of_llvm_ir() {
    let names_scale = format!("{STORE}\n\t.data\n\t.quad scale\n");
    for (name, compiler) in compilers() {
        match compiler.compile_inputs(&[Input::assembly(&names_scale), Input::llvm_ir(SCALE)]) {
            Ok(compiled) => assert_eq!(kernels(&compiled), ["store"], "{name}"),
            Err(error) => assert!(name.starts_with("comgr 2."), "{name}: {error}"),
        }
    }
}

/// Bitcode of LLVM 22: clang-22 is tried after a comgr of an older LLVM.
#[test]
fn bitcode_of_a_newer_llvm_is_compiled_by_a_newer_compiler() {
    let compilers = compilers();
    let newest = compilers.iter().any(|(name, _)| name.contains("clang version 22"));
    for (name, compiler) in &compilers {
        let inputs = [Input::llvm_ir(APPLY), Input::bitcode(SCALE_22).named("scale.bc")];
        match compiler.compile_inputs(&inputs) {
            Ok(compiled) => assert_eq!(kernels(&compiled), ["apply"], "{name}"),
            Err(error) => {
                assert!(!newest || name.contains("clang version 15"), "{name}: {error}");
                let text = error.to_string();
                assert!(text.contains("scale.bc") && text.contains("Producer: 'LLVM22"), "{name}: {error}");
                assert_eq!(text.matches("error: ").count(), 1, "{name}: {error}");
            }
        }
    }
}

#[test]
fn device_libraries_are_linked_on_request() {
    for (name, compiler) in compilers() {
        let inputs = [Input::llvm_ir(APPLY), Input::llvm_ir(SINE).named("sine.ll")];
        let error = compiler.compile_inputs(&inputs).unwrap_err();
        assert!(
            matches!(&error, CompileError::Failed { log, .. } if log.contains("__ocml_sin_f32")),
            "{name}: {error}"
        );
        match compiler.device_libraries().compile_inputs(&inputs) {
            Ok(compiled) => {
                assert_eq!(kernels(&compiled), ["apply"], "{name}");
                // The functions that nothing calls are left out.
                assert!(compiled.elf().len() < 20_000, "{name}: {}", compiled.elf().len());
            }
            Err(error @ CompileError::NotFound { missing: CompileError::DEVICE_LIBRARIES, .. }) => {
                assert!(!name.starts_with("comgr"), "comgr contains them");
                println!("skipped: {name}: {error}");
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

#[test]
fn the_log_of_wrong_text_has_the_input_and_the_line() {
    let bad = APPLY.replace("ret void", "ret vod");
    let good = Input::llvm_ir(SCALE);
    for (name, compiler) in compilers() {
        let bad = Input::llvm_ir(&bad).named("my kernel.ll");
        for inputs in [vec![bad.clone()], vec![bad.clone(), good.clone()]] {
            let error = compiler.compile_inputs(&inputs).unwrap_err();
            let CompileError::Failed { log, target, .. } = &error else { panic!("{name}: {error}") };
            assert!(log.contains("my kernel.ll:13:7: error: expected type"), "{name}: {log}");
            // Not once for each compiler that said it.
            assert_eq!(log.matches("error: ").count(), 1, "{name}: {log}");
            assert_eq!(target, "gfx90a");
            assert!(!log.contains("hiplaunch-") && !log.contains("/tmp"), "{name}: {log}");
        }
        let bad = Input::assembly("\n  s_bogus 1\n").named("bad.s");
        let error = compiler.compile_inputs(&[bad]).unwrap_err().to_string();
        assert!(error.contains("bad.s:2:3: error: invalid instruction"), "{name}: {error}");
        let other = Input::assembly(".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n").named("other.s");
        let error = compiler.compile_inputs(&[other]).unwrap_err().to_string();
        for part in ["other.s:1:", "--gfx942", "--gfx90a"] {
            assert!(error.contains(part), "{name}: {error}");
        }
        let error = compiler
            .option("--no-such-option")
            .compile_inputs(std::slice::from_ref(&good))
            .unwrap_err()
            .to_string();
        assert!(error.contains("no-such-option"), "{name}: {error}");
    }
}

#[test]
fn symbols_that_nothing_defines_are_named() {
    for (name, compiler) in compilers() {
        for inputs in [vec![Input::llvm_ir(APPLY)], vec![Input::llvm_ir(APPLY), Input::assembly(STORE)]] {
            let error = compiler.compile_inputs(&inputs).unwrap_err();
            let CompileError::Failed { log, .. } = &error else { panic!("{name}: {error}") };
            assert!(log.contains("undefined symbol: scale"), "{name}: {log}");
        }
    }
}

#[test]
fn damaged_bitcode_is_an_error_of_the_compiler() {
    for (name, compiler) in compilers() {
        for bytes in [&SCALE_15[..SCALE_15.len() / 2], &SCALE_15[..100], b"BC\xc0\xde", b"no bitcode"] {
            let bitcode = Input::bitcode(bytes).named("cut.bc");
            let error = compiler.compile_inputs(&[bitcode]).unwrap_err();
            assert!(
                matches!(&error, CompileError::Failed { log, .. } if log.contains("error: ")),
                "{name}: {error}"
            );
            assert!(error.to_string().contains("cut.bc"), "{name}: {error}");
        }
    }
}

/// Needs no compiler: all of this is found before one is searched for.
#[test]
fn inputs_for_another_target_or_of_another_kind_are_refused() {
    let compiler = Compiler::new(&gfx90a()).cache(&DiskCache::off());
    let x86 = APPLY.replace("amdgcn-amd-amdhsa", "x86_64-unknown-linux-gnu");
    let cpu = SCALE.replace("nounwind", "\"target-cpu\"=\"gfx1100\"");
    for (input, parts) in [
        (Input::llvm_ir(&x86), ["x86_64-unknown-linux-gnu", "amdgcn-amd-amdhsa"]),
        (Input::llvm_ir(&cpu), ["gfx1100", "gfx90a"]),
        (Input::relocatable(SCALE_GFX942), ["gfx942", "gfx90a"]),
    ] {
        let input = input.named("theirs");
        for inputs in [vec![input.clone()], vec![Input::llvm_ir(SCALE), input]] {
            let error = compiler.compile_inputs(&inputs).unwrap_err();
            assert!(matches!(&error, CompileError::OtherTarget { name, .. } if name == "theirs"), "{error}");
            let text = error.to_string();
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        }
    }
    let ir = |text| vec![Input::llvm_ir(text)];
    for (inputs, part) in [
        (vec![], "the list of inputs is empty"),
        (ir(""), "kernel.ll is empty"),
        (vec![Input::bitcode(&[])], "kernel.bc is empty"),
        (vec![Input::relocatable(SCALE_15)], "kernel.o is no ELF file"),
        (vec![Input::hip(""), Input::llvm_ir(SCALE)], "is empty"),
    ] {
        let error = compiler.compile_inputs(&inputs).unwrap_err();
        assert!(matches!(error, CompileError::Text { .. }), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = compiler.clone().option("-mcpu=gfx942").compile_inputs(&ir(SCALE)).unwrap_err();
    assert!(matches!(error, CompileError::Option { .. }), "{error}");
}

#[test]
fn a_result_is_cached_under_its_inputs_kinds_options_and_compiler() {
    let folder = Folder::new();
    let compilers = compilers();
    for (name, compiler) in &compilers {
        let cache = DiskCache::new(&folder.0);
        let compiler = compiler.clone().cache(&cache);
        let (apply, scale) = (Input::llvm_ir(APPLY), Input::llvm_ir(SCALE));
        let both = [apply.clone(), scale.clone()];
        let cases: [(Compiler, Vec<Input<'_>>); 6] = [
            (compiler.clone(), both.to_vec()),
            (compiler.clone(), vec![scale.clone(), apply.clone()]),
            (compiler.clone(), vec![apply.clone(), scale.clone().named("other.ll")]),
            (compiler.clone(), vec![apply.clone(), Input::bitcode(SCALE_15)]),
            (compiler.clone().option("-O1"), both.to_vec()),
            (compiler.clone(), vec![Input::assembly(STORE)]),
        ];
        for (i, (compiler, inputs)) in cases.iter().enumerate() {
            let first = compiler.compile_inputs(inputs).unwrap();
            assert!(!first.from_cache(), "{name}: case {i}");
            let again = compiler.compile_inputs(inputs).unwrap();
            assert!(again.from_cache() && again.elf() == first.elf(), "{name}: case {i}");
        }
        let counters = cache.counters();
        assert_eq!((counters.misses, counters.hits, counters.stored), (6, 6, 6), "{name}");
        // Assembly that reads a file is compiled every time.
        let file = folder.0.join("data");
        std::fs::write(&file, b"data").unwrap();
        let reads = format!("{STORE}\n.data\n.incbin \"{}\"\n", file.display());
        for _ in 0..2 {
            let compiled = compiler.compile_inputs(&[Input::assembly(&reads)]).unwrap();
            assert!(!compiled.from_cache(), "{name}");
        }
    }
}

#[test]
fn hip_among_other_inputs_is_linked_as_bitcode() {
    const HIP: &str = "extern \"C\" __device__ float scale(float x) { return 2 * x; }\n";
    for (name, compiler) in compilers() {
        let inputs = [Input::llvm_ir(APPLY), Input::hip(HIP).named("scale.hip")];
        match compiler.compile_inputs(&inputs) {
            Ok(compiled) => assert_eq!(kernels(&compiled), ["apply"], "{name}"),
            Err(error @ (CompileError::NotFound { .. } | CompileError::Option { .. })) => {
                println!("skipped: {error}");
            }
            // A clang that is older than hiprtc can't read its bitcode.
            Err(CompileError::Failed { log, .. }) if !name.starts_with("comgr") => println!("{name}: {log}"),
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

/// The operation is one that gfx90a has not: LLVM ends its process, which is not this one.
#[test]
fn an_error_that_ends_clang_is_an_error_here() {
    const SHUFFLE: &str = "declare i32 @llvm.amdgcn.mov.dpp8.i32(i32, i32)
define amdgpu_kernel void @shuffle(ptr addrspace(1) %x) {
  %r = call i32 @llvm.amdgcn.mov.dpp8.i32(i32 1, i32 1)
  store i32 %r, ptr addrspace(1) %x
  ret void
}
";
    for (name, compiler) in compilers().into_iter().filter(|(name, _)| name.contains("clang")) {
        let error = compiler.compile_inputs(&[Input::llvm_ir(SHUFFLE)]).unwrap_err();
        assert!(
            matches!(&error, CompileError::Failed { log, .. } if log.contains("Cannot select")),
            "{name}: {error}"
        );
        assert!(!error.to_string().contains("bug report"), "{name}: {error}");
    }
}

#[test]
fn a_target_that_no_compiler_knows_is_an_error_that_names_them() {
    let unknown: TargetId = "gfx9999".parse().unwrap();
    if compilers().is_empty() {
        return;
    }
    let error = Compiler::new(&unknown).compile_inputs(&[Input::llvm_ir(SCALE)]).unwrap_err();
    let CompileError::UnknownTarget { target, compiler } = &error else { panic!("{error}") };
    assert_eq!(target, "gfx9999");
    assert!(compiler.contains("comgr") || compiler.contains("clang"), "{error}");
}

/// The environment variable that makes this test's program do what `without_a_compiler` asks.
const CHILD: &str = "HIPLAUNCH_TEST_CHILD";

/// The environment variable of a run of all tests without clang.
const ALONE: &str = "HIPLAUNCH_TEST_ALONE";

/// Prints the error of a compile in a process of its own. Does nothing when it is run as a test itself.
#[test]
fn in_a_process_of_its_own() {
    if std::env::var_os(CHILD).is_some() {
        let compiler = Compiler::new(&gfx90a()).cache(&DiskCache::off());
        match compiler.compile_inputs(&[Input::llvm_ir(SCALE)]) {
            Ok(_) => println!("compiled with {}", compiler.check_kind(InputKind::LlvmIr).unwrap()),
            Err(error) => println!("error: {error}"),
        }
    }
}

fn child(variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "in_a_process_of_its_own", "--nocapture"]).env(CHILD, "1");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The folders in which the loader and the shell search first have nothing that can be used.
#[test]
#[cfg(target_os = "linux")]
fn without_a_compiler_the_error_says_what_to_install() {
    let folder = Folder::new();
    for name in ["libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so"] {
        std::fs::write(folder.0.join(name), b"").unwrap();
    }
    let path = folder.0.to_str().unwrap();
    let said = child(&[("LD_LIBRARY_PATH", path), ("ROCM_PATH", path), ("PATH", path)]);
    if said.contains("/opt/rocm") && said.contains("compiled with") {
        println!("skipped: a compiler is in /opt/rocm");
        return;
    }
    for part in
        ["no usable compiler", "libamd-comgr2", "clang and lld", "HIPLAUNCH_CLANG", "libamd_comgr.so.3: "]
    {
        assert!(said.contains(part), "{said}");
    }
    let said = child(&[("HIPLAUNCH_CLANG", "/nowhere/clang")]);
    assert!(said.contains("no usable compiler") && said.contains("/nowhere/clang: "), "{said}");
}

/// What comgr rejects, clang compiles; here, every test runs again without clang.
#[test]
fn the_same_holds_for_comgr_alone() {
    if std::env::var_os(CHILD).is_some() || std::env::var_os(ALONE).is_some() {
        return;
    }
    let folder = Folder::new();
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.env(ALONE, "1").env("PATH", &folder.0).env("ROCM_PATH", &folder.0).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_environment_names_a_clang() {
    let clang =
        compilers().into_iter().find_map(|(name, _)| Some(name.split_once("clang version")?.1.to_owned()));
    let Some(clang) = clang else { return println!("skipped: there is no clang with lld") };
    let path = clang.rsplit_once('(').unwrap().1.trim_end_matches(')').to_owned();
    let said = child(&[("HIPLAUNCH_CLANG", &path)]);
    assert!(said.contains("compiled with") && said.contains(&path), "{said}");
}
