//! Memory, pools and graphs do what HIP's documentation says.

use super::programs::*;

/// Strict bounds allow what compilers make of aligned reads: a wide one that ends in the 16 bytes of an allocation's last byte. It
/// is listed. What goes further, and writes, are faults; LDS ends with its granule where bounds are those of pages.
#[test]
fn reads_may_end_in_the_last_16_bytes_and_lds_in_its_granule() {
    let Some(program) = program("granules.hip") else { return };
    for (case, bounds, expected) in [
        (0, "strict", "hipSuccess 6"),
        (1, "strict", "hipSuccess 6"),
        (2, "strict", "hipSuccess 6"),
        (3, "strict", "hipErrorIllegalAddress 0"),
        (4, "strict", "hipErrorIllegalAddress 0"),
        (5, "strict", "hipErrorLaunchFailure 0"),
        (5, "pages", "hipSuccess 6"),
        (6, "strict", "hipSuccess 3"),
        (7, "strict", "hipSuccess 7"),
        (8, "strict", "hipSuccess 6"),
        (9, "strict", "hipErrorIllegalAddress 0"),
    ] {
        let ran = exec(&["--bounds", bounds], &[program.to_str().unwrap(), &case.to_string()]);
        let (out, err) = (text(&ran.stdout), text(&ran.stderr));
        assert_eq!(out.trim_end(), expected, "{case} {bounds}: {err}");
        let is_allowed = matches!(case, 0..=2 | 6..=8);
        assert_eq!(err.contains("up to 4 bytes past the end"), is_allowed, "{case} {bounds}: {err}");
        assert_eq!(
            err.contains("`--bounds pages`"),
            !is_allowed && bounds == "strict",
            "{case} {bounds}: {err}"
        );
        if (case, bounds) == (5, "strict") {
            assert!(err.contains("reads behind them give 0 and writes do nothing"), "{err}");
        }
        if case == 9 {
            assert!(err.contains("lane 1 at 0x") && !err.contains("lane 0 at 0x"), "{err}");
        }
    }
}

/// Virtual memory: large reservations cost nothing, several mappings are one range, aliases see each other's writes, and memory
/// lives until it is released and unmapped. What is refused has the codes that clr's source has (hip_vm.cpp); AMD's library
/// needs a GPU for it, so that none has printed this. No layer accuses the program.
#[test]
fn virtual_memory_is_mapped_shared_and_refused_as_in_hip() {
    let Some(hip_7) = hip_7("virtual_memory.hip") else { return };
    let program = hip_7.to_str().unwrap();
    let expected = std::fs::read_to_string(std::path::Path::new(PROGRAMS).join("virtual_memory.expected"));
    let expected = expected.unwrap();
    for (options, err) in [
        (&[][..], ""),
        (&["--validate"], "hiplaunch: validation: 0 violations, 0 leaks\n"),
        (&["--sanitize"], ""),
        (&["--bounds", "pages"], ""),
    ] {
        let ran = exec(&[&["--devices", "2"], options].concat(), &[program]);
        assert_eq!((text(&ran.stdout), text(&ran.stderr)), (expected.clone(), err.into()), "{options:?}");
    }
    // What HIP 7 changed: the code of three sizes and alignments that can't be, and of a device that is not there.
    let old = self::program("virtual_memory.hip").unwrap();
    let ran = exec(&["--devices", "2"], &[old.to_str().unwrap()]);
    let out = text(&ran.stdout);
    let codes = out.lines().zip(expected.lines()).filter(|(old, new)| old != new).map(|(old, new)| {
        let code = |line: &str| line.rsplit_once(": ").unwrap().1.to_owned();
        (code(old), code(new))
    });
    let reserve = ("2".to_owned(), "1".to_owned());
    let device = ("1".to_owned(), "101".to_owned());
    assert_eq!(codes.collect::<Vec<_>>(), [reserve.clone(), reserve.clone(), reserve, device], "{out}");
    let nothing = "in the reserved addresses 0x400000000000..0x400000800000 (8388608 bytes), where no memory is mapped that this \
                   device may access";
    for (case, expected) in [
        ("unmapped", [nothing, "16 bytes past the end of 0x400000000000..0x400000200000"]),
        ("no-access", [nothing, "out-of-bounds read of 4 bytes"]),
        ("after-unmap", [nothing, "out-of-bounds read of 4 bytes"]),
        ("peer", [nothing, "out-of-bounds write of 4 bytes"]),
        (
            "read-only",
            ["write to virtual memory at 0x400000000010 that this device may only read", "16 bytes into"],
        ),
    ] {
        let ran = exec(&["--devices", "2", "--validate"], &[program, case]);
        let (out, err) = (text(&ran.stdout), text(&ran.stderr));
        assert_eq!(out, "hipErrorIllegalAddress\n", "{case}: {err}");
        assert!(expected.iter().all(|part| err.contains(part)), "{case}: {err}");
        assert!(err.contains("validation: 0 violations"), "{case}: {err}");
    }
}

/// Threads may copy rows to the same pageable memory: nothing of it is pinned meanwhile.
#[test]
fn threads_copy_rows_to_the_same_memory() {
    let Some(rows) = program("rows.hip") else { return };
    let ran = exec(&["--validate"], &[rows.to_str().unwrap()]);
    let (out, err) = (text(&ran.stdout), text(&ran.stderr));
    assert_eq!(out, "small: 1\nlarge: 1\nlong: 1\n", "{err}");
    assert!(err.contains("validation: 0 violations, 0 leaks"), "{err}");
}

/// A graph with nodes of two devices runs each where it was added, and one that has become wrong runs nothing. A copy of many rows
/// to pageable memory waits once. With `HIP_LAUNCH_BLOCKING=1`, a launch returns its kernel's fault.
#[test]
fn graphs_are_launched_whole_and_rows_are_copied_at_once() {
    let Some(program) = program("whole_graphs.hip") else { return };
    let object = compiled("whole_graphs.hip", &["--offload-arch=gfx90a", "--genco"], "whole_graphs.co");
    let (program, object) = (program.to_str().unwrap(), object.unwrap());
    // What came of a launch, and how often its kernels ran.
    let graphs = "event of another device: hipErrorInvalidHandle 0\n\
                  too large: hipErrorCooperativeLaunchTooLarge 0\n\
                  loaded: hipSuccess 2\n\
                  unloaded: hipErrorInvalidDeviceFunction 0\n\
                  allocates: hipSuccess 1\n\
                  allocates, freed: hipErrorInvalidValue 0\n\
                  not allocated: hipErrorInvalidValue 0\n\
                  allocated: hipSuccess 1\n\
                  allocated once: hipSuccess 1\n\
                  free already: hipErrorInvalidValue 0\n\
                  frees: hipSuccess 1\n\
                  frees again: hipErrorInvalidValue 0\n\
                  fills freed: hipErrorInvalidValue 0\n";
    for (blocking, launched) in [("0", "hipSuccess"), ("1", "hipErrorIllegalAddress")] {
        let mut command = command(&["--devices", "2"], &[program, object.to_str().unwrap()]);
        let ran = command.env("HIP_LAUNCH_BLOCKING", blocking).output().unwrap();
        let before = "two devices: 10 10 hipSuccess\nfreed: refused 10\n";
        let expected = format!("{before}{graphs}rows: 1 1\nlaunch: {launched}\n");
        assert_eq!(text(&ran.stdout), expected, "{}", text(&ran.stderr));
    }
}

/// The release threshold is the "amount of reserved memory in bytes to hold onto before trying to release memory back to the OS"
/// (hip_runtime_api.h); AMD's HIP 5.2.3 holds onto it over its software agent, too.
#[test]
fn a_pool_keeps_what_its_release_threshold_says() {
    let Some(program) = program("pools.hip") else { return };
    let ran = exec(&["--devices", "2"], &[program.to_str().unwrap()]);
    let calls: String = (0..7).map(|call| format!("call {call}: hipSuccess\n")).collect();
    let expected = "threshold 0: reserved 0 (192), used 0 (192)\n\
                    kept: reserved 192 (192), used 0 (192)\n\
                    reused: 1\n\
                    trimmed: reserved 64 (192), used 0 (192)\n\
                    empty: reserved 0 (64), used 0 (192)\n\
                    lowered: 192 64\nlowered: 192 64\nlowered: 192 64\nlowered: 192 64\n\
                    grown: 320 192\n\
                    hipFree: reserved 0 (64), used 0 (64)\n\
                    hipFree: reserved 64 (64), used 0 (64)\n\
                    other device: reserved 0 (64), used 0 (64)\n\
                    new pool: reserved 0 (0), used 0 (0)\n\
                    reset: reserved 0 (128), used 0 (128)\n";
    assert_eq!(text(&ran.stdout), format!("{expected}{calls}"), "{}", text(&ran.stderr));
}

/// What hip_runtime_api.h says of `hipMemPoolReuseAllowOpportunistic` and `...AllowInternalDependencies`, in this order below. As in
/// AMD's tests of HIP, a trim does nothing about memory that work before its free still uses.
#[test]
fn busy_memory_is_reused_as_the_attributes_say() {
    let Some(program) = program("pool_reuse.hip") else { return };
    let ran = exec(&[], &[program.to_str().unwrap()]);
    let expected = "busy, 00: reused 0, waits 0, value 2\n\
                    busy, 10: reused 0, waits 0, value 2\n\
                    busy, 01: reused 1, waits 1, value 2\n\
                    busy, 11: reused 1, waits 1, value 2\n\
                    finished, 0: reused 0, waits 0, value 2\n\
                    finished, 1: reused 1, waits 0, value 2\n\
                    trimmed: 1 0\n";
    assert_eq!(text(&ran.stdout), expected, "{}", text(&ran.stderr));
}
