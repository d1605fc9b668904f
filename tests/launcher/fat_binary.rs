//! The kernels of hip/ for every device: what the bundles hold, and which code object a device gets.

use code_object::{CodeObject, CodeObjectVersion, TargetId, bundle};
use hiplaunch::code::NoCodeReason;
use hiplaunch::compile::{CompileError, Compiler};
use hiplaunch::driver::emulated::EmulatorOptions;
use hiplaunch::driver::noop::NoopDriver;
use hiplaunch::driver::{Capabilities, Capability};
use hiplaunch::{Backend, Error, FatBinary, Launcher};

/// The sources of hip/.
const SOURCES: [&str; 7] = ["bench", "jit", "matmul", "probe", "reduce", "tensor", "vector"];

/// What each has code objects for, with the version of the format and the wavefront size.
const TARGETS: [(&str, CodeObjectVersion, u32); 9] = [
    ("gfx90a", CodeObjectVersion::V4, 64),
    ("gfx942", CodeObjectVersion::V5, 64),
    ("gfx908", CodeObjectVersion::V4, 64),
    ("gfx9-generic", CodeObjectVersion::V6, 64),
    ("gfx9-4-generic", CodeObjectVersion::V6, 64),
    ("gfx10-1-generic", CodeObjectVersion::V6, 32),
    ("gfx10-3-generic", CodeObjectVersion::V6, 32),
    ("gfx11-generic", CodeObjectVersion::V6, 32),
    ("gfx12-generic", CodeObjectVersion::V6, 32),
];

/// Every processor that a code object of the bundles runs on, with a device's settings, and that code object's.
const DEVICES: &[(&str, &str)] = &[
    ("gfx900:xnack-", "gfx9-generic"),
    ("gfx902:xnack+", "gfx9-generic"),
    ("gfx904:xnack-", "gfx9-generic"),
    ("gfx906:sramecc+:xnack-", "gfx9-generic"),
    ("gfx908:sramecc+:xnack-", "gfx908"),
    ("gfx909:xnack+", "gfx9-generic"),
    ("gfx90a:sramecc+:xnack-", "gfx90a"),
    ("gfx90a:sramecc+:xnack+", "gfx90a"),
    ("gfx90c:xnack-", "gfx9-generic"),
    ("gfx942:sramecc+:xnack-", "gfx942"),
    ("gfx950:sramecc+:xnack-", "gfx9-4-generic"),
    ("gfx1010:xnack-", "gfx10-1-generic"),
    ("gfx1011:xnack-", "gfx10-1-generic"),
    ("gfx1012:xnack-", "gfx10-1-generic"),
    ("gfx1013:xnack+", "gfx10-1-generic"),
    ("gfx1030", "gfx10-3-generic"),
    ("gfx1031", "gfx10-3-generic"),
    ("gfx1032", "gfx10-3-generic"),
    ("gfx1033", "gfx10-3-generic"),
    ("gfx1034", "gfx10-3-generic"),
    ("gfx1035", "gfx10-3-generic"),
    ("gfx1036", "gfx10-3-generic"),
    ("gfx1100", "gfx11-generic"),
    ("gfx1101", "gfx11-generic"),
    ("gfx1102", "gfx11-generic"),
    ("gfx1103", "gfx11-generic"),
    ("gfx1150", "gfx11-generic"),
    ("gfx1151", "gfx11-generic"),
    ("gfx1152", "gfx11-generic"),
    ("gfx1153", "gfx11-generic"),
    ("gfx1200", "gfx12-generic"),
    ("gfx1201", "gfx12-generic"),
];

fn path(name: &str) -> String {
    format!("{}/hip/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A launcher on a device that says that it is a `target`. It does nothing.
fn stand_in(target: &str, generic: bool) -> Launcher {
    let more = generic.then_some(Capability::GenericCodeObjects);
    let driver = NoopDriver::of(target.parse().unwrap(), Capabilities::from_iter(more));
    Launcher::builder().driver(driver).validate(false).build().unwrap()
}

/// What launches of the kernels depend on: names, arguments, static LDS, the largest block.
fn interface(code: &CodeObject) -> Vec<String> {
    let mut kernels: Vec<String> = code
        .kernels()
        .iter()
        .map(|kernel| {
            let args: Vec<_> = kernel.explicit_args().iter().map(|a| (a.offset, a.size, a.kind)).collect();
            let (lds, most) = (kernel.group_segment_fixed_size, kernel.max_flat_workgroup_size);
            format!("{}{args:?} {lds} {most} {:?}", kernel.name, kernel.reqd_workgroup_size)
        })
        .collect();
    kernels.sort();
    kernels
}

#[test]
fn the_bundles_have_the_same_kernels_for_every_target() {
    let mut total = 0;
    for source in SOURCES {
        let bytes = std::fs::read(path(&format!("{source}.hipfb"))).unwrap();
        total += bytes.len();
        let entries = bundle::entries(&bytes).unwrap();
        let entries: Vec<_> = entries.iter().filter(|entry| entry.target.is_some()).collect();
        let targets: Vec<_> = entries.iter().map(|e| e.target.as_ref().unwrap().short()).collect();
        assert_eq!(targets, TARGETS.map(|(target, ..)| target), "{source}");
        let first = CodeObject::parse(&entries[0].data).unwrap();
        for (entry, (target, version, wave)) in entries.iter().zip(TARGETS) {
            let code = CodeObject::parse(&entry.data).unwrap();
            assert_eq!((code.target().short().as_str(), code.version()), (target, version), "{source}");
            assert_eq!(interface(&code), interface(&first), "{source} {target}");
            for kernel in code.kernels() {
                assert_eq!(kernel.wavefront_size, wave, "{source} {target} {}", kernel.name);
                // hip/README.md: no kernel uses private memory.
                let private = (kernel.private_segment_fixed_size, kernel.uses_dynamic_stack);
                assert_eq!(private, (0, false), "{source} {target} {}", kernel.name);
            }
            if matches!(target, "gfx90a" | "gfx942") {
                let alone = std::fs::read(path(&format!("{source}.{target}.co"))).unwrap();
                assert!(*entry.data == *alone, "{source}.{target}.co is another; run hip/build.sh");
            }
        }
    }
    assert!(total < 100_000, "{total} bytes of bundles");
}

#[test]
fn each_device_gets_its_own_code_object_or_the_generic_one() {
    for source in SOURCES {
        let binary = FatBinary::read(path(&format!("{source}.hipfb"))).unwrap();
        for (target, expected) in DEVICES {
            let launcher = stand_in(target, true);
            let code = binary.for_device(&launcher.devices()[0]).unwrap();
            assert_eq!(code.target().short(), *expected, "{source} on {target}");
            // What the launcher itself would take of the bundle.
            let target: TargetId = target.parse().unwrap();
            let bytes = std::fs::read(path(&format!("{source}.hipfb"))).unwrap();
            assert_eq!(CodeObject::from_any(&bytes, &target).unwrap().elf(), code.elf());
        }
    }
}

#[test]
fn kernels_of_every_code_object_are_registered_on_its_device() {
    for (target, _) in DEVICES {
        let launcher = stand_in(target, true);
        let device = &launcher.devices()[0];
        let code = FatBinary::read(path("vector.hipfb")).unwrap().for_device(device).unwrap();
        // SAFETY: the driver does nothing.
        let saxpy = unsafe { launcher.register(device, code.elf(), "saxpy") }.unwrap();
        let attributes = launcher.kernel(saxpy).unwrap().attributes(device).unwrap();
        assert_eq!(attributes.wavefront_size, device.properties().wavefront_size, "{target}");
        let occupancy = launcher.kernel(saxpy).unwrap().occupancy(device, 256, 0).unwrap();
        assert!(target.starts_with(occupancy.processor) && occupancy.percent() == 100.0, "{occupancy:?}");
    }
}

#[test]
fn an_unknown_device_is_an_error_that_names_it_and_what_to_do() {
    let launcher = stand_in("gfx9999", true);
    let device = &launcher.devices()[0];
    let bundle = std::fs::read(path("vector.hipfb")).unwrap();
    // Without a source, and with one that no compiler knows the device for.
    for binary in [FatBinary::new("vector", &bundle), FatBinary::read(path("vector.hipfb")).unwrap()] {
        let error = binary.for_device(device).unwrap_err();
        let Error::NoCode(found) = &error else { panic!("{error}") };
        assert_eq!((found.name.as_str(), found.target.short().as_str()), ("vector", "gfx9999"));
        let NoCodeReason::Target { has } = &found.why else { panic!("{found}") };
        assert_eq!(has.len(), TARGETS.len());
        match &found.compile {
            None | Some(CompileError::NotFound { .. } | CompileError::UnknownTarget { .. }) => {}
            Some(other) => panic!("{other}"),
        }
        let text = error.to_string();
        for words in
            ["vector has no code", "gfx9999", "gfx11-generic", "hipcc --genco --offload-arch=gfx9999"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}

/// A HIP before 6.4 has no code for generic processors: the source is compiled, or the error says what is missing.
#[test]
fn without_generic_code_objects_the_source_is_compiled() {
    // Known to the oldest hiprtc that is looked for.
    for target in ["gfx906:sramecc+:xnack-", "gfx1010:xnack-", "gfx1030"] {
        let launcher = stand_in(target, false);
        let device = &launcher.devices()[0];
        let processor = device.properties().target.processor.clone();
        let compiler = Compiler::new(&TargetId::new(processor.clone())).check();
        for source in SOURCES {
            let binary = FatBinary::read(path(&format!("{source}.hipfb"))).unwrap();
            match (&compiler, binary.for_device(device)) {
                (Ok(_), Ok(code)) => {
                    assert_eq!(code.target().short(), processor.name());
                    let generic = std::fs::read(path(&format!("{source}.hipfb"))).unwrap();
                    let generic = CodeObject::from_any(&generic, &device.properties().target).unwrap();
                    assert_eq!(interface(&code), interface(&generic), "{source} {target}");
                }
                (Err(missing), Err(Error::NoCode(found))) => {
                    println!("not compiled: {missing}");
                    assert_eq!(found.compile.as_ref(), Some(missing));
                    let generic =
                        matches!(&found.why, NoCodeReason::Generic { version, .. } if version == "1.0.0");
                    assert!(generic && found.to_string().contains("needs HIP 6.4"), "{found}");
                }
                (compiler, got) => panic!("{source} {target}: {compiler:?}: {got:?}"),
            }
        }
    }
    // Without a source to compile, the launcher says what is wrong before HIP does.
    let launcher = stand_in("gfx1100", false);
    let bundle = std::fs::read(path("vector.hipfb")).unwrap();
    // SAFETY: the driver does nothing.
    let error = unsafe { launcher.register(&launcher.devices()[0], &bundle, "saxpy") }.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::NoCode(_)), "{text}");
    assert!(
        text.contains("gfx11-generic needs HIP 6.4") && text.contains("--offload-arch=gfx1100"),
        "{text}"
    );
    // Code for the device itself needs no compiler.
    let launcher = stand_in("gfx90a:sramecc+:xnack-", false);
    let code = FatBinary::read(path("bench.hipfb")).unwrap().for_device(&launcher.devices()[0]).unwrap();
    assert_eq!(code.target().short(), "gfx90a");
}

/// Launches `iota_u32` of a code object of hip/vector.hip on the first device, and checks what it wrote.
fn run_iota(launcher: &Launcher, code: &CodeObject) {
    let device = &launcher.devices()[0];
    let stream = launcher.stream(device).unwrap();
    // SAFETY: hip/README.md says what the kernel does.
    let iota = unsafe { launcher.register(device, code.elf(), "iota_u32") }.unwrap();
    let args = [hiplaunch::Arg::output::<u32>(100), 7u32.into(), 100i32.into()];
    // SAFETY: as above; the array has 100 elements.
    let ticket = unsafe { launcher.launch(iota, &stream, hiplaunch::LaunchDims::linear(1, 128), &args) };
    let output = ticket.unwrap().read().unwrap();
    assert_eq!(output.slice::<u32>(0).unwrap(), (7..107).collect::<Vec<u32>>());
}

#[test]
fn what_was_compiled_runs() {
    let launcher = Launcher::builder().backend(Backend::Emulator).build().unwrap();
    // A file for another device leaves the source.
    let binary = FatBinary::new("vector", std::fs::read(path("vector.gfx942.co")).unwrap())
        .source(include_str!("../../hip/vector.hip"))
        .header("kernel.h", include_str!("../../hip/kernel.h"));
    match binary.for_device(&launcher.devices()[0]) {
        Ok(code) => run_iota(&launcher, &code),
        Err(Error::NoCode(found)) => println!("not compiled: {found}"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn generic_code_objects_run() {
    let options = EmulatorOptions { target: "gfx942".parse().unwrap(), ..EmulatorOptions::default() };
    let launcher = Launcher::builder().backend(Backend::Emulator).emulator(options).build().unwrap();
    let entries = bundle::entries(&std::fs::read(path("vector.hipfb")).unwrap()).unwrap();
    let generic = entries.iter().find(|entry| entry.id.ends_with("gfx9-4-generic")).unwrap();
    let code = FatBinary::new("vector", &*generic.data).for_device(&launcher.devices()[0]).unwrap();
    assert!(code.target().processor.is_generic());
    run_iota(&launcher, &code);
}

#[test]
fn a_source_with_an_error_is_the_compilers_error() {
    let launcher = stand_in("gfx1030", false);
    let binary = FatBinary::new("broken", std::fs::read(path("vector.gfx90a.co")).unwrap())
        .source("extern \"C\" __global__ void f() { nothing(); }");
    match binary.for_device(&launcher.devices()[0]) {
        Err(Error::Compile(error)) => assert!(error.to_string().contains("broken.hip"), "{error}"),
        Err(Error::NoCode(found)) => println!("not compiled: {found}"),
        other => panic!("{other:?}"),
    }
    let missing = FatBinary::read("nowhere/vector.hipfb").unwrap_err();
    assert!(missing.to_string().contains("nowhere/vector.hipfb"), "{missing}");
}
