//! Each call of HSA's fails once: nothing is lost, and everything works again.

use std::path::{Path, PathBuf};
use std::process::Command;

use hip_driver::{CaptureMode, Comparison, DevicePtr};
use hip_driver::{
    DriverResult, EventOptions, HostFunction, PinnedAllocation, RawStream, ValueWidth, WaitCondition, Work,
};
use hsa_driver::HsaDriver;

use crate::rig::{D0, Probe, Rig, launch};
use crate::{CHILD, in_child};

const TEST: &str = "failing::each_call_may_fail_and_nothing_is_lost";

/// The functions of HSA's that return a status and may fail, by those of the table in `src/functions.rs` that do; the others return no status.
fn functions() -> Vec<(String, bool)> {
    let table = include_str!("../../src/functions.rs");
    let rows = table.split("table! {").nth(1).unwrap().split(';');
    rows.filter_map(|row| {
        let (_, symbol) = row.split_once("= hsa_")?;
        let name = format!("hsa_{}", symbol.split('(').next()?);
        // What frees, asks or describes has no failure that a program could be told of.
        let quiet = [
            "free",
            "destroy",
            "status_string",
            "get_info",
            "unlock",
            "set_priority",
            "profiling",
            "get_dispatch",
            "pointer_info",
        ];
        let may_fail =
            !row.contains("->") && !quiet.iter().any(|word| name.contains(word)) && name != "hsa_init";
        Some((name, may_fail))
    })
    .collect()
}

/// What a call adds to the number of things that are alive.
fn made(name: &str) -> i32 {
    match name {
        "hsa_amd_memory_pool_allocate" | "hsa_amd_memory_lock" | "hsa_executable_create_alt" => 1,
        "hsa_code_object_reader_create_from_memory" => 1,
        "hsa_amd_memory_pool_free" | "hsa_amd_memory_unlock" | "hsa_executable_destroy" => -1,
        "hsa_code_object_reader_destroy" => -1,
        _ => 0,
    }
}

/// Builds the library whose calls fail, beside nothing else; `None` if there is no C compiler.
fn library(folder: &Path) -> Option<PathBuf> {
    let row = |(name, may_fail): &(String, bool)| {
        format!("CALL({name}, {}, {})\n", u8::from(*may_fail), made(name))
    };
    let rows: String = functions().iter().map(row).collect();
    let source = folder.join("failing.c");
    std::fs::write(&source, include_str!("failing.c").replace("FUNCTIONS", &rows)).unwrap();
    let library = folder.join("libhsa-runtime64.so.1");
    let mut compile = Command::new("cc");
    compile.args([
        "-O1",
        "-w",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        "-Wl,-soname,libhsa-runtime64.so.1",
        "-o",
    ]);
    let built = compile.arg(&library).arg(&source).arg("-ldl").status().ok()?;
    built.success().then_some(library)
}

#[test]
fn each_call_may_fail_and_nothing_is_lost() {
    if std::env::var(CHILD).is_ok_and(|name| name == TEST) {
        return child();
    }
    let real = match Rig::open().map(|_| HsaDriver::load()) {
        Ok(Ok(driver)) => driver.library_path().to_owned(),
        other => return println!("skipped: {:?}", other.err()),
    };
    let folder = std::env::temp_dir().join(format!("hsa-failing-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let Some(library) = library(&folder) else { return println!("skipped: no C compiler") };
    let failed = folder.join("failed");
    let path = match std::env::var("LD_LIBRARY_PATH") {
        Ok(others) => format!("{}:{others}", folder.display()),
        Err(_) => folder.display().to_string(),
    };
    let run = |calls: usize| {
        let _ = std::fs::remove_file(&failed);
        let variables = [
            ("LD_LIBRARY_PATH", path.clone()),
            ("HSA_LIBRARY", library.display().to_string()),
            ("HSA_REAL", real.display().to_string()),
            ("HSA_FAIL_AT", calls.to_string()),
            ("HSA_FAILED", failed.display().to_string()),
        ];
        let output = in_child(TEST, &variables, |_| ()).expect("this is the parent");
        let name = std::fs::read_to_string(&failed).ok();
        let text = String::from_utf8_lossy(&output.stdout);
        let live = text
            .lines()
            .find_map(|line| line.strip_prefix("live: "))
            .and_then(|live| live.parse::<i64>().ok());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "call {calls} failed ({name:?}), {}: {text}{errors}", output.status);
        (name, live.expect("the number of what is alive"))
    };
    // Call 0 is none.
    let (_, usual) = run(0);
    let mut calls = 0;
    while let (Some(name), live) = run(calls + 1) {
        calls += 1;
        assert_eq!(live, usual, "call {calls}, {name}, failed, and something is lost");
    }
    match calls {
        // As where `hiplaunch exec` puts a library in the place of any that is asked for.
        0 => println!("skipped: the library with the failing calls is not used"),
        _ => println!("{calls} calls failed, one at a time"),
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Does everything twice. One of the calls of the first time fails; the second time, all succeeds. Prints how much is alive then.
fn child() {
    // Opening may fail: then it is an error, and works the next time.
    let rig = Rig::open().or_else(|_| Rig::open()).expect("the second time");
    let first = scenario(&rig);
    let file = std::env::var_os("HSA_FAILED").expect("the parent says which");
    if !Path::new(&file).exists() {
        first.expect("nothing failed");
        if std::env::var("HSA_FAIL_AT").is_ok_and(|call| call != "0") {
            // There is no such call: the second time must not have it.
            return println!("\nlive: 0");
        }
    }
    scenario(&rig).expect("the second time");
    let library = std::env::var_os("HSA_LIBRARY").expect("the parent says which");
    // SAFETY: the library is loaded, and the function has this type.
    let live = unsafe {
        let library = libloading::Library::new(library).unwrap();
        // Without it, another library stands for this one.
        library.get::<unsafe extern "C" fn() -> std::ffi::c_long>(b"failing_live\0").map_or(0, |live| live())
    };
    println!("\nlive: {live}");
}

/// What a scenario has made, which is destroyed whatever fails.
#[derive(Default)]
struct Made {
    streams: Vec<RawStream>,
    memory: Vec<DevicePtr>,
    pinned: Vec<PinnedAllocation>,
    registered: Vec<PinnedAllocation>,
    modules: Vec<Probe>,
}

fn scenario(rig: &Rig) -> DriverResult<()> {
    let mut made = Made::default();
    let mut registered = vec![0u8; 8192];
    let done = work(rig, &mut made, &mut registered);
    // SAFETY: nothing uses them any more: streams are waited for, and so are the devices when memory is freed.
    unsafe {
        for stream in made.streams {
            let _ = rig.driver.stream_synchronize(D0, stream);
            rig.driver.stream_destroy(D0, stream).unwrap();
        }
        let unload = |probe: Probe| rig.driver.module_unload(D0, probe.module);
        made.modules.into_iter().for_each(|probe| unload(probe).unwrap());
        // Waiting for the device may fail once; what is freed by the second call was not lost.
        let twice = |free: &dyn Fn() -> DriverResult<()>| free().or_else(|_| free()).unwrap();
        made.memory.iter().for_each(|ptr| twice(&|| rig.driver.free(D0, *ptr)));
        made.pinned.iter().for_each(|pinned| twice(&|| rig.driver.host_free(D0, *pinned)));
        made.registered.iter().for_each(|pinned| twice(&|| rig.driver.host_unregister(D0, *pinned)));
    }
    done
}

fn work(rig: &Rig, made: &mut Made, registered: &mut [u8]) -> DriverResult<()> {
    let driver = &*rig.driver;
    for _ in 0..2 {
        made.streams.push(rig.stream(D0)?);
    }
    let (one, other) = (made.streams[0], made.streams[1]);
    made.modules.push(rig.load(D0)?);
    let probe = made.modules.last().expect("loaded");
    made.memory.push(driver.malloc(D0, 2 << 20)?);
    let counter = made.memory[0];
    made.pinned.push(driver.host_malloc(D0, 4096)?);
    let pinned = made.pinned[0];
    // SAFETY: the memory outlives its registration.
    made.registered.push(unsafe { driver.host_register(D0, registered.as_mut_ptr(), registered.len()) }?);
    rig.enqueue(D0, one, &Work::FillWords { dst: counter, value: 0, count: 1 << 19 })?;
    rig.launch(probe, "atomic_count", one, &[counter.0])?;
    let event = driver.event_create(D0, EventOptions { timing: true })?;
    // SAFETY: live handles; memory that stays until the work has run.
    unsafe {
        let ordered =
            driver.event_record(D0, event, one).and_then(|()| driver.stream_wait_event(D0, other, event));
        let copied = ordered.and_then(|()| {
            let (host, bytes) = (pinned.host.as_ptr(), pinned.bytes / 2);
            rig.enqueue(D0, other, &Work::CopyToHost { dst: host, src: counter, bytes })?;
            rig.enqueue(D0, other, &Work::CopyToDevice { dst: counter, src: host, bytes })?;
            // By an engine, and from memory that is not pinned.
            let large = vec![0u8; 2 << 20];
            rig.enqueue(
                D0,
                other,
                &Work::CopyToDevice { dst: counter, src: large.as_ptr(), bytes: large.len() },
            )?;
            driver.event_synchronize(D0, event)
        });
        driver.event_destroy(D0, event)?;
        copied?;
    }
    rig.enqueue(D0, one, &Work::HostFunction(&HostFunction::new(|| ())))?;
    let (width, value) = (ValueWidth::Bits32, 7);
    // Behind what the other stream copies.
    let place = DevicePtr(pinned.device.0 + pinned.bytes as u64 / 2);
    rig.enqueue(D0, one, &Work::WriteValue { dst: place, width, value })?;
    let condition = WaitCondition::new(Comparison::Equal, value);
    rig.enqueue(D0, one, &Work::WaitValue { src: place, width, condition })?;
    rig.sync(D0, one)?;
    graphs(rig, probe, one, counter)?;
    rig.sync(D0, one)?;
    rig.word(D0, counter, one).map(drop)
}

fn graphs(rig: &Rig, probe: &Probe, stream: RawStream, counter: DevicePtr) -> DriverResult<()> {
    let driver = &*rig.driver;
    let (function, kernarg) =
        (rig.function(probe, "atomic_count")?, rig.kernarg(probe, "atomic_count", &[counter.0]));
    // SAFETY: live handles, and kernels with all their arguments.
    unsafe {
        driver.stream_begin_capture(D0, stream, CaptureMode::Relaxed)?;
        let captured = rig.enqueue(D0, stream, &Work::Kernel(&launch(function, &kernarg)));
        let graph = driver.stream_end_capture(D0, stream)?;
        let exec = captured.and_then(|()| driver.graph_instantiate(D0, graph));
        driver.graph_destroy(D0, graph)?;
        let exec = exec?;
        let launched = rig.enqueue(D0, stream, &Work::Graph(exec)).and_then(|()| rig.sync(D0, stream));
        driver.graph_exec_destroy(D0, exec)?;
        launched
    }
}
