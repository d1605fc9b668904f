//! Kernels that fault: `hiplaunch run` reports each of them, and runs the next script.

use super::{Folder, data, hiplaunch};

/// Writes a script to `folder` that launches a kernel with two workgroups of `block` work-items.
fn script(folder: &Folder, kernel: &str, block: u32, args: &str) -> String {
    let code = "waiting.gfx90a.co";
    folder.write(code, include_bytes!("../../../amdgpu-emulator/tests/data/waiting.gfx90a.co"));
    let text = format!(
        "version = 1\ndescription = \"{kernel}\"\ncode_object = {code:?}\n\n[[buffers]]\nname = \"out\"\nbytes = 4096\n\
         fill = 0\n\n[[launches]]\nkernel = \"{kernel}\"\ngrid = [2, 1, 1]\nblock = [{block}, 1, 1]\nargs = [{args}]\n"
    );
    folder.write(&format!("{kernel}.launch.toml"), text)
}

#[test]
fn each_fault_is_named_and_the_next_script_runs() {
    let folder = Folder::new();
    let good = data("saxpy.launch.toml");
    let out = "{ buffer = \"out\" }";
    let none: &[&str] = &[];
    for (kernel, args, options, code, parts) in [
        (
            "index_array",
            format!("{out}, {{ u32 = 1000 }}"),
            none,
            "hipErrorLaunchFailure",
            &[
                "stack overflow: write of 4 bytes",
                "lane 0 at 0x",
                "as the kernel declares",
                "flat_store_dword",
            ][..],
        ),
        (
            "recurse",
            format!("{out}, {{ u32 = 2000 }}"),
            &["--dynamic-stack", "4096"],
            "hipErrorLaunchFailure",
            &["stack overflow", "4096 of them for its dynamic stack", "dynamic_stack"],
        ),
        ("jump_to", "{ u64 = 64 }".into(), none, "hipErrorLaunchFailure", &["jump to 0x40", "s_setpc_b64"]),
        ("branch_off", String::new(), none, "hipErrorLaunchFailure", &["jump to 0x", "s_branch"]),
        ("halts", String::new(), none, "hipErrorLaunchFailure", &["halted itself", "s_sethalt 1"]),
        ("privileged", String::new(), none, "hipErrorLaunchFailure", &["only trap handlers", "s_rfe_b64"]),
        ("other_trap", String::new(), none, "hipErrorAssert", &["trap 7, which nothing handles", "s_trap 7"]),
        ("data_share", String::new(), none, "hipErrorLaunchFailure", &["no global data share", "ds_add_u32"]),
        (
            "misaligned_lds",
            String::new(),
            none,
            "hipErrorLaunchFailure",
            &["misaligned atomic of 8 bytes in LDS", "ds_add_u64"],
        ),
        (
            "never_released",
            String::new(),
            none,
            "hipErrorLaunchFailure",
            &["a barrier that can never be met: 4 waves wait", "at the global semaphore 5", "ds_gws_sema_p"],
        ),
        (
            "spins_at_barrier",
            out.into(),
            &["--time-budget", "0.05"],
            "hipErrorLaunchTimeOut",
            &["over its budget after", "a wave of its workgroup waits at a barrier", ", wave 1,"],
        ),
        (
            "spins_at_barrier",
            out.into(),
            &["--instruction-budget", "100000"],
            "hipErrorLaunchTimeOut",
            &["over its budget after", "a wave of its workgroup waits at a barrier", ", wave 1,"],
        ),
    ] {
        let bad = script(&folder, kernel, 128, &args);
        let (status, text, err) =
            hiplaunch(&[&["run", &bad, &good, "--backend", "emulator"], options].concat());
        assert_eq!(status, 1, "{kernel}: {text}{err}");
        let text = text + &err;
        let place = format!("kernel {kernel}: ");
        for part in parts.iter().copied().chain([
            code,
            &place,
            "workgroup (",
            ", wave ",
            ", pc 0x",
            "1 passed, 1 failed",
        ]) {
            assert!(text.contains(part), "{kernel}: {part}: {text}");
        }
    }
    // With a sufficient stack, it passes.
    let deep = script(&folder, "recurse", 64, &format!("{out}, {{ u32 = 500 }}"));
    let run = |bytes| hiplaunch(&["run", &deep, "--dynamic-stack", bytes]);
    assert_eq!((run("90000").0, run("4096").0), (0, 1));
    let (status, _, err) = hiplaunch(&["run", &deep, "--time-budget=-1"]);
    assert!(status == 2 && err.contains("--time-budget=-1 is not a number of seconds"), "{err}");
}

#[test]
fn a_store_past_a_buffer_names_its_line_and_bounds_of_pages_allow_it() {
    let folder = Folder::new();
    let code = "lines.gfx90a.co";
    folder.write(code, include_bytes!("../../../amdgpu-emulator/tests/data/lines.gfx90a.co"));
    let script = |at: u32| {
        let text = format!(
            "version = 1\ndescription = \"a store\"\ncode_object = {code:?}\n\n[[buffers]]\nname = \"out\"\nbytes = 64\n\
             fill = 0\n\n[[launches]]\nkernel = \"direct\"\ngrid = [1, 1, 1]\nblock = [64, 1, 1]\n\
             args = [{{ buffer = \"out\" }}, {{ u32 = {at} }}]\n"
        );
        folder.write(&format!("{at}.launch.toml"), text)
    };
    // The pool's blocks are multiples of 256 bytes.
    let (inside, page, beyond) = (script(15), script(128), script(1024));
    let run = |script: &str, bounds: &str| {
        let (status, out, err) = hiplaunch(&["run", script, "--bounds", bounds]);
        (status, out + &err)
    };
    assert_eq!(run(&inside, "strict").0, 0);
    let (status, text) = run(&page, "strict");
    assert!(
        status == 1 && text.contains("out-of-bounds write") && text.contains("lines.hip:15:18"),
        "{text}"
    );
    let (status, text) = run(&page, "pages");
    assert_eq!(status, 0, "{text}");
    // Strict bounds refuse these stores: they are listed, with instruction, line and distance.
    assert!(text.contains("noted: direct: write of 4 bytes in global memory, up to "), "{text}");
    assert!(text.contains(" past the end of ") && text.contains("global_store_dword"), "{text}");
    assert!(text.contains("lines.hip:15:18"), "{text}");
    let (_, out, _) = hiplaunch(&["run", &page, "--bounds", "pages", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let notice = &report["scripts"][0]["notices"][0];
    assert_eq!((notice["kind"].as_str(), notice["kernel"].as_str()), (Some("past_end"), Some("direct")));
    assert!(notice["count"].as_u64() > Some(0) && notice["past_end"].as_u64() > Some(0), "{notice}");
    let (status, text) = run(&beyond, "pages");
    assert!(status == 1 && text.contains("lines.hip:15:18"), "{text}");
    assert_eq!(run(&page, "huge").0, 2);
}
