//! What kernels compute, and how they are scheduled, is what a GPU does.

use super::programs::*;

/// The other half of a register that a load of 16 bits does not write becomes 0 with SRAM-ECC and stays without: LLVM's
/// `GCNSubtarget::d16PreservesUnusedBits`, and what AMD's HIP 5.2.3 gives over its software agent.
///
/// Aligned 16-byte accesses of a lane are whole, with two host threads: rocPRIM's look-back scans rely on it. And rounding,
/// denormals and traps are those of the kernel, not of the host's thread.
#[test]
fn kernels_compute_what_a_gpu_computes() {
    let with_ecc = "00001280 12800000 00000080 ff800000 00001280 00800000 0000ff80 12800000 hipSuccess\n";
    let without = "dead1280 1280beef dead0080 ff80beef dead1280 0080beef deadff80 1280beef hipSuccess\n";
    let rounded = "00000080 00000200 3eaaaaab 3f800000 80 3ff0000000000000 hipSuccess\n";
    for (case, target, expected) in [
        ("other_half", "gfx90a", with_ecc),
        ("other_half", "gfx90a:sramecc-", without),
        ("torn", "gfx90a", "0 0 0 hipSuccess\n"),
        ("plain", "gfx90a", rounded),
        ("ftz", "gfx90a", rounded),
        ("down", "gfx90a", rounded),
        ("up", "gfx90a", rounded),
        ("traps", "gfx90a", rounded),
    ] {
        let Some(program) = program("kernel_values.hip") else { return };
        let mut command = command(&["--target", target], &[program.to_str().unwrap(), case]);
        let ran = command.env("HIPLAUNCH_EMULATOR_THREADS", "2").output().unwrap();
        assert_eq!(text(&ran.stdout), expected, "{case} on {target}: {}", text(&ran.stderr));
    }
}

/// A workgroup that spins does not use up its turn while others could free it, and as many workgroups are resident as HIP's
/// occupancy functions say: all of them can wait for each other. A time budget fails the test where one waits forever.
#[test]
fn workgroups_that_wait_for_others_end() {
    let Some(program) = program("spin.hip") else { return };
    for (threads, target) in [("1", "gfx90a"), ("2", "gfx90a")] {
        let options = ["--target", target, "--time-budget", "100"];
        let mut command = command(&options, &[program.to_str().unwrap()]);
        let ran = command.env("HIPLAUNCH_EMULATOR_THREADS", threads).output().unwrap();
        let expected = "0+1: 1\n0-1: 1\n1+1: 1\n1-1: 1\n2+1: 1\n2-1: 1\n3+1: 1\n3-1: 1\n4+1: 1\n4-1: 1\n\
                        waves: 1, resident 3328\n";
        assert_eq!(text(&ran.stdout), expected, "{threads} {target}: {}", text(&ran.stderr));
    }
}

/// `hipExtModuleLaunchKernel` takes work-items, and code that was not compiled for whole workgroups alone may end with partial ones,
/// as in clr. Code objects of version 4 take the sizes from the dispatch packet, those of version 5 from hidden arguments.
/// AMD's HIP 5.2.3 prints the same over its software agent (code object 4).
#[test]
fn the_last_workgroups_of_a_grid_of_work_items_may_be_partial() {
    let Some(program) = program("partial.hip") else { return };
    for version in ["4", "5"] {
        let version_option = format!("-mcode-object-version={version}");
        let options = ["--offload-arch=gfx90a", "--genco", &version_option];
        let object = compiled("partial.hip", &options, &format!("partial.{version}")).unwrap();
        let ran = exec(&["--sanitize"], &[program.to_str().unwrap(), object.to_str().unwrap()]);
        let expected = "0: 128 of 128, groups of 64 64\n\
                        0: 300 of 300, groups of 128 128 44\n\
                        0: 500 of 500, groups of 128 72 128 72 64 36\n\
                        0: 135 of 135, groups of 48 6 32 4 24 3 16 2\n\
                        0: 40 of 40, groups of 40\n\
                        0: 128003 128003 44003\n\
                        captured: 128003 128003 44003\n";
        assert_eq!(text(&ran.stdout), expected, "version {version}: {}", text(&ran.stderr));
    }
}
