//! Which device a program sees, and which code objects load there.

use std::path::Path;

use super::programs::*;

/// A program with code for one setting alone gets a device with that setting, and `HSA_XNACK` decides what the code leaves
/// open (ROCm's documentation of XNACK). Code for a setting that `HSA_XNACK` excludes has no device, as on a GPU.
#[test]
fn a_program_gets_a_device_that_its_code_is_for() {
    for (code, xnack, expected) in [
        ("gfx90a:xnack+", None, "gfx90a:sramecc+:xnack+ hipSuccess 1\n"),
        ("gfx90a:sramecc-", None, "gfx90a:sramecc-:xnack- hipSuccess 1\n"),
        ("gfx90a", None, "gfx90a:sramecc+:xnack- hipSuccess 1\n"),
        ("gfx90a", Some("1"), "gfx90a:sramecc+:xnack+ hipSuccess 1\n"),
        ("gfx90a:xnack+", Some("0"), "gfx90a:sramecc+:xnack- hipErrorNoBinaryForGpu 0\n"),
    ] {
        let options = [format!("--offload-arch={code}")];
        let output = format!("xnack-{}", code.replace(':', "-"));
        let Some(program) = compiled("xnack.hip", &options.each_ref().map(String::as_str), &output) else {
            return;
        };
        let mut command = command(&[], &[program.to_str().unwrap()]);
        if let Some(xnack) = xnack {
            command.env("HSA_XNACK", xnack);
        }
        let ran = command.output().unwrap();
        assert_eq!(text(&ran.stdout), expected, "{code} {xnack:?}: {}", text(&ran.stderr));
    }
}

/// A value of the environment that is not understood is named, and the program gets no device.
#[test]
fn settings_of_the_environment_that_are_not_understood_are_named() {
    let Some(program) = program("xnack.hip") else { return };
    for setting in hip_driver_emulated::SETTINGS {
        let ran =
            command(&[], &[program.to_str().unwrap()]).env(setting.variable, "nonsense").output().unwrap();
        let expected = format!("{}=nonsense is not {}", setting.variable, setting.expected);
        assert!(text(&ran.stderr).contains(&expected), "{}", text(&ran.stderr));
    }
}

/// Code objects that AMD's runtime takes load: several objects linked to one, as Tensile's, and XLA's triples. What is refused
/// says why, once.
#[test]
fn code_objects_load_or_say_why_not() {
    let Some(program) = program("load.hip") else { return };
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../code-object/tests/data");
    let folder = new_folder("code-objects");
    let object = std::fs::read(data.join("linked.co")).unwrap();
    let changed = |name: &str, from: &[u8], to: &[u8]| {
        let mut bytes = object.clone();
        let places: Vec<usize> =
            (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
        assert!(!places.is_empty(), "{name}");
        for at in places {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let linked = changed("linked", b"amdgcn-amd-amdhsa--gfx90a", b"amdgcn-amd-amdhsa--gfx90a");
    let old = changed("old", b"amdgcn-amd-amdhsa--gfx90a", b"amdgcn--amdhsa-amd-gfx90a");
    let other = changed("other", b"amdgcn-amd-amdhsa--gfx90a", b"amdgcn-amd-amdhsa--gfx942");
    let ran = exec(&[], &[program.to_str().unwrap(), &linked, &old, &other, &other]);
    let expected = "hipSuccess 1 2\nhipSuccess 1 2\nhipErrorInvalidImage\nhipErrorInvalidImage\n";
    assert_eq!(text(&ran.stdout), expected, "{}", text(&ran.stderr));
    let err = text(&ran.stderr);
    assert_eq!(err.matches("is refused").count(), 1, "{err}");
    assert!(err.contains("gfx942") && err.contains("gfx90a"), "{err}");
}

/// hipcc without `--offload-arch` compiles for the emulated device.
#[test]
fn hipcc_finds_the_emulated_device() {
    let Some(_) = program("xnack.hip") else { return };
    let folder = new_folder("hipcc-native");
    let output = folder.join("program");
    let source = Path::new(PROGRAMS).join("xnack.hip");
    let compile = ["hipcc", "-w", "-O1", "-o", output.to_str().unwrap(), source.to_str().unwrap()];
    let ran = exec(&["--target", "gfx90a:xnack+"], &compile);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let ran = exec(&["--target", "gfx90a:xnack+"], &[output.to_str().unwrap()]);
    assert_eq!(text(&ran.stdout), "gfx90a:sramecc+:xnack+ hipSuccess 1\n", "{}", text(&ran.stderr));
}
