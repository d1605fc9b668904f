//! LLVM IR, bitcode, assembly and object files, compiled by each compiler that is installed, and run: on the emulator, or on a
//! GPU.
//!
//! Without comgr and clang these tests are skipped and print why. With `HIPLAUNCH_TEST_HIPRTC=1` they fail instead.

use hiplaunch::code_object::{Processor, TargetId};
use hiplaunch::compile::{CompileError, DiskCache, Input, InputKind};
use hiplaunch::driver::{Capability, ErrorCode};
use hiplaunch::{Arg, Compiler, LaunchDims, Launcher};

const APPLY: &str = include_str!("../crates/hip-compile/tests/data/apply.ll");
const SCALE: &str = include_str!("../crates/hip-compile/tests/data/scale.ll");
const SCALE_ASSEMBLY: &str = include_str!("../crates/hip-compile/tests/data/scale.s");
const SCALE_BITCODE: &[u8] = include_bytes!("../crates/hip-compile/tests/data/scale.15.bc");
/// Object files of three versions of code objects; a compiler links those of its own.
const SCALE_OBJECTS: [&[u8]; 3] = [
    include_bytes!("../crates/hip-compile/tests/data/scale.v4.o"),
    include_bytes!("../crates/hip-compile/tests/data/scale.v5.o"),
    include_bytes!("../crates/hip-compile/tests/data/scale.v6.o"),
];
const SINE: &str = include_str!("../crates/hip-compile/tests/data/sine.ll");
const STORE: &str = include_str!("../crates/hip-compile/tests/data/store.s");

/// Returns each compiler with its name; none, with a message, if none is installed or the device is no gfx90a.
fn compilers(launcher: &Launcher) -> Vec<(String, Compiler)> {
    let target = &launcher.device(0).unwrap().properties().target;
    if target.processor != Processor::Gfx90a {
        println!("skipped: {target:#} is no gfx90a");
        return Vec::new();
    }
    let mut default = Compiler::new(&TargetId::new(Processor::Gfx90a)).cache(&DiskCache::off());
    // A HIP that is too old for generic processors may know no code objects but those of version 4: 5.2.3 loads no other. clang 22
    // writes version 6.
    if !launcher.driver().capabilities().has(Capability::GenericCodeObjects) {
        default = default.option("-mcode-object-version=4");
    }
    let required = std::env::var_os("HIPLAUNCH_TEST_HIPRTC").is_some_and(|value| value == "1");
    let mut found: Vec<(String, Compiler)> = Vec::new();
    for clang in [None, Some("clang-15"), Some("clang-22")] {
        let compiler = clang.map_or(default.clone(), |clang| default.clone().clang(clang));
        match compiler.check_kind(InputKind::LlvmIr) {
            Ok(name) => found.push((name, compiler)),
            Err(error) if clang.is_none() && required => panic!("{error}"),
            Err(error) => println!("skipped: {error}"),
        }
    }
    found
}

/// Runs a kernel whose argument is an array of four floats or integers, with a thread for each. Returns `None`, with a message,
/// if the driver refuses the kernel for its arguments.
fn run<T: bytemuck::Pod + Default>(
    launcher: &Launcher,
    code: &[u8],
    kernel: &str,
    x: [T; 4],
) -> Option<Vec<T>> {
    let device = launcher.device(0).unwrap();
    let stream = launcher.stream(device).unwrap();
    // SAFETY: the code is that of this test's kernels, which take such an array.
    let handle = match unsafe { launcher.register(device, code, kernel) } {
        Ok(handle) => handle,
        Err(error) => {
            assert!(!launcher.driver().capabilities().has(Capability::DefaultQueueArg), "{error}");
            assert_eq!(error.code(), Some(ErrorCode::NOT_SUPPORTED), "{error}");
            assert!(
                error.to_string().contains("apply, which has the argument hidden_default_queue"),
                "{error}"
            );
            println!("skipped: {error}");
            return None;
        }
    };
    let args = [Arg::inout(&x)];
    // SAFETY: as above.
    let ticket = unsafe { launcher.launch(handle, &stream, LaunchDims::linear(1, 4), &args) }.unwrap();
    Some(ticket.read().unwrap().slice::<T>(0).unwrap().to_vec())
}

#[test]
fn kernels_that_are_linked_from_inputs_of_every_kind_run() {
    let launcher = Launcher::new().unwrap();
    for (name, compiler) in compilers(&launcher) {
        let apply = Input::llvm_ir(APPLY);
        let objects = SCALE_OBJECTS.map(Input::relocatable);
        let scales = [Input::llvm_ir(SCALE), Input::bitcode(SCALE_BITCODE), Input::assembly(SCALE_ASSEMBLY)];
        let mut ran = Vec::new();
        for scale in scales.into_iter().chain(objects) {
            let kind = scale.kind();
            match compiler.compile_inputs(&[apply.clone(), scale]) {
                Ok(compiled) => {
                    if let Some(x) = run(&launcher, compiled.elf(), "apply", [1.0f32, 2.0, -3.5, 0.0]) {
                        assert_eq!(x, [2.0, 4.0, -7.0, 0.0], "{name}: {kind}");
                    }
                    ran.push(kind);
                }
                // lld links files of one version of code objects only.
                Err(CompileError::Failed { .. }) if kind == InputKind::Relocatable => {}
                Err(error) => panic!("{name}: {kind}: {error}"),
            }
        }
        ran.dedup();
        let all = [InputKind::LlvmIr, InputKind::Bitcode, InputKind::Assembly, InputKind::Relocatable];
        assert_eq!(ran, all, "{name}");
    }
}

#[test]
fn a_kernel_in_assembly_runs() {
    let launcher = Launcher::new().unwrap();
    for (name, compiler) in compilers(&launcher) {
        let compiled = compiler.compile_inputs(&[Input::assembly(STORE)]).unwrap();
        let x = run(&launcher, compiled.elf(), "store", [1i32, 2, 3, 4]).unwrap();
        assert_eq!(x, [42, 2, 3, 4], "{name}");
    }
}

#[test]
fn a_kernel_that_uses_the_device_libraries_runs() {
    let launcher = Launcher::new().unwrap();
    for (name, compiler) in compilers(&launcher) {
        let inputs = [Input::llvm_ir(APPLY), Input::llvm_ir(SINE)];
        let compiled = match compiler.device_libraries().compile_inputs(&inputs) {
            Ok(compiled) => compiled,
            Err(error @ CompileError::NotFound { .. }) => {
                println!("skipped: {name}: {error}");
                continue;
            }
            Err(error) => panic!("{name}: {error}"),
        };
        let x = [0.0f32, 0.5, -2.0, 1000.0];
        for (sine, x) in run(&launcher, compiled.elf(), "apply", x).unwrap().into_iter().zip(x) {
            assert!((f64::from(sine) - f64::from(x).sin()).abs() < 1e-6, "{name}: sin {x} = {sine}");
        }
    }
}
