//! The library is found, starts and answers as AMD's does.

use super::programs::*;

/// The hardware takes 2^32 - 1 work-items in each axis, and HIP up to 7.2 checks no more (rocm-systems#2375); AMD's HIP 5.2.3
/// prints the same first two lines and the last over its software agent; the third is what clr returns (hip_vm.cpp). A launch of a
/// static object's destructor, which runs when the thread's variables are gone, has an error.
#[test]
fn limits_other_exports_and_destructors_are_amds() {
    let Some(program) = program("limits.hip") else { return };
    let ran = exec(&[], &[program.to_str().unwrap()]);
    let expected = "grids: 70000 70000 hipSuccess\n\
                    halves: 3e00 -2\n\
                    granularity: hipSuccess 4096 hipErrorInvalidValue\n\
                    destructor: hipErrorInvalidDeviceFunction\n";
    assert_eq!(text(&ran.stdout), expected, "{}", text(&ran.stderr));
    assert_eq!((text(&ran.stderr).as_str(), ran.status.code()), ("", Some(0)));
}

/// The library as it is built has each symbol that Debian's libamdhip64 5, 6 and 7 export, with its version.
#[test]
fn the_library_exports_what_amds_libraries_do() {
    let Some(program) = program("symbols.hip") else { return };
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../hip-dropin/tests/data");
    for name in ["libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7"] {
        let list = format!("{data}/{name}.txt");
        let count = std::fs::read_to_string(&list).unwrap().lines().count();
        let ran = exec(&[], &[program.to_str().unwrap(), name, &list]);
        assert_eq!(text(&ran.stdout), format!("{count} looked for\n"), "{name}: {}", text(&ran.stderr));
    }
}
