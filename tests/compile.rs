//! Compiling while the program runs: logs, options, headers, targets, and the cache on disk that processes share.
//!
//! Without hiprtc these tests are skipped and print why. With `HIPLAUNCH_TEST_HIPRTC=1` they fail instead.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use hiplaunch::code_object::{CodeObject, Processor, TargetId};
use hiplaunch::compile::{CompileError, DiskCache};
use hiplaunch::{Arg, Compile, Compiler, LaunchDims, Launcher};

/// Adds `ADD`, or 1, to each element.
const SOURCE: &str = r#"
#ifndef ADD
#define ADD 1
#endif
extern "C" __global__ void add(int* x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += ADD;
}
"#;

/// The environment variable that says what a child process does.
const CHILD: &str = "HIPLAUNCH_TEST_CHILD";
/// The environment variable with the folder of a child process.
const FOLDER: &str = "HIPLAUNCH_TEST_FOLDER";

fn gfx90a() -> TargetId {
    TargetId::new(Processor::Gfx90a)
}

/// Returns a compiler for gfx90a with that cache. Without hiprtc, prints why and returns `None`.
fn compiler(cache: &DiskCache) -> Option<Compiler> {
    let compiler = Compiler::new(&gfx90a()).cache(cache);
    match compiler.check() {
        Ok(_) => Some(compiler),
        Err(e) if std::env::var_os("HIPLAUNCH_TEST_HIPRTC").is_some_and(|v| v == "1") => panic!("{e}"),
        Err(e) => {
            println!("skipped: {e}");
            None
        }
    }
}

/// A new folder, which is removed when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("hiplaunch-compile-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn entries(&self) -> Vec<PathBuf> {
        std::fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().path()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The warnings that this process has logged.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note_warnings() {
    struct Notes;
    impl log::Log for Notes {
        fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
            metadata.level() <= log::Level::Warn
        }
        fn log(&self, record: &log::Record<'_>) {
            if self.enabled(record.metadata()) {
                WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).push(record.args().to_string());
            }
        }
        fn flush(&self) {}
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Notes).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
    });
}

/// Runs the compiled kernel `add` on an array whose first element is 41, on the emulator or a GPU. Returns that
/// element. Returns `None` if the device does not run gfx90a.
fn run(code: &[u8]) -> Option<i32> {
    let launcher = Launcher::new().unwrap();
    let device = launcher.device(0).unwrap();
    if device.properties().target.processor != Processor::Gfx90a {
        println!("not run: {} is no gfx90a", device.properties().target.short());
        return None;
    }
    // SAFETY: the code is that of the source above, whose kernel takes an array and its length.
    let add = unsafe { launcher.register(device, code, "add") }.unwrap();
    let stream = launcher.stream(device).unwrap();
    let args = [Arg::inout(&[41i32, 0, 0]), Arg::from(3u32)];
    // SAFETY: as above.
    let ticket = unsafe { launcher.launch(add, &stream, LaunchDims::cover(3, 64), &args) }.unwrap();
    let out = ticket.read().unwrap();
    out.slice::<i32>(0).unwrap().first().copied()
}

#[test]
fn a_compiled_source_runs_and_is_found_in_the_cache() {
    let folder = Folder::new();
    let cache = DiskCache::new(&folder.0);
    let Some(compiler) = compiler(&cache) else { return };
    let first = CodeObject::compile(SOURCE, &compiler).unwrap();
    assert!(!first.from_cache());
    assert_eq!(first.code_object().kernel("add").unwrap().explicit_args().len(), 2);
    assert_eq!(first.log(), "");
    assert!(run(first.elf()).is_none_or(|sum| sum == 42));
    // The same cache has it, and another cache of the same folder, but not a cache that is off.
    let again = compiler.compile(SOURCE).unwrap();
    assert!(again.from_cache() && again.elf() == first.elf());
    let other = DiskCache::new(&folder.0);
    assert!(compiler.clone().cache(&other).compile(SOURCE).unwrap().from_cache());
    assert!(!compiler.clone().cache(&DiskCache::off()).compile(SOURCE).unwrap().from_cache());
    let (one, other) = (cache.counters(), other.counters());
    assert_eq!((one.hits, one.misses, one.stored), (1, 1, 1));
    assert_eq!((other.hits, other.misses, other.stored), (1, 0, 0));
}

#[test]
fn each_option_header_and_target_has_a_cache_entry_of_its_own() {
    let folder = Folder::new();
    let cache = DiskCache::new(&folder.0);
    let Some(compiler) = compiler(&cache) else { return };
    let with_header = format!("#include \"add.h\"\n{SOURCE}");
    let header = |value: u32| compiler.clone().header("add.h", format!("#define ADD {value}\n"));
    let settings: TargetId = "gfx90a:sramecc+:xnack-".parse().unwrap();
    let exact = Compiler::new(&settings).cache(&cache);
    // A compiler, a source, and what the compiled kernel adds.
    let cases = [
        (compiler.clone(), SOURCE, 1),
        (compiler.clone().define("ADD", 5), SOURCE, 5),
        (compiler.clone().define("ADD", 6), SOURCE, 6),
        (compiler.clone().option("-O1"), SOURCE, 1),
        (compiler.clone().name("other.hip"), SOURCE, 1),
        (header(7), &with_header, 7),
        (header(8), &with_header, 8),
        (compiler.clone().header("add.h", ""), &with_header, 1),
        (exact, SOURCE, 1),
    ];
    for (i, (compiler, source, adds)) in cases.iter().enumerate() {
        let compiled = compiler.compile(source).unwrap();
        assert!(!compiled.from_cache(), "case {i}");
        assert!(run(compiled.elf()).is_none_or(|sum| sum == 41 + adds), "case {i}");
        assert!(compiler.compile(source).unwrap().from_cache(), "case {i}");
    }
    let counters = cache.counters();
    assert_eq!((counters.misses, counters.hits), (cases.len() as u64, cases.len() as u64));
    assert_eq!(folder.entries().len(), cases.len());
}

#[test]
fn the_error_for_a_wrong_source_has_the_log_with_line_numbers() {
    let Some(compiler) = compiler(&DiskCache::off()) else { return };
    let bad = SOURCE.replace("ADD;", "ADD + nothing;");
    let error = compiler.clone().name("adder.hip").compile(&bad).unwrap_err();
    let CompileError::Failed { name, target, log } = &error else { panic!("{error}") };
    assert_eq!((name.as_str(), target.as_str()), ("adder.hip", "gfx90a"));
    assert!(log.contains("adder.hip:7:30: error: use of undeclared identifier 'nothing'"), "{log}");
    assert!(error.to_string().contains(log.as_str()));
    // An error in a header.
    let broken = compiler.clone().header("broken.h", "\nint x = ;\n");
    let error = broken.compile(&format!("#include \"broken.h\"\n{SOURCE}")).unwrap_err();
    assert!(error.to_string().contains("broken.h:2:9: error: expected expression"), "{error}");
    // An option that the compiler does not know.
    let error = compiler.clone().option("--no-such-option").compile(SOURCE).unwrap_err();
    assert!(matches!(&error, CompileError::Failed { log, .. } if log.contains("no-such-option")), "{error}");
    // Sources and options that are refused before compiling.
    for source in ["", "int\0 x;"] {
        assert!(matches!(compiler.compile(source), Err(CompileError::Text { .. })));
    }
    let error = compiler.option("--offload-arch=gfx906").compile(SOURCE).unwrap_err();
    assert!(matches!(error, CompileError::Option { .. }), "{error}");
}

#[test]
fn warnings_are_in_the_log_and_in_the_cache() {
    let folder = Folder::new();
    let Some(compiler) = compiler(&DiskCache::new(&folder.0)) else { return };
    let source = format!("#warning mind the gap\n{SOURCE}");
    let first = compiler.compile(&source).unwrap();
    assert!(first.log().contains("kernel.hip:1:2: warning: mind the gap"), "{}", first.log());
    let again = compiler.compile(&source).unwrap();
    assert!(again.from_cache());
    assert_eq!(again.log(), first.log());
}

#[test]
fn the_source_of_a_damaged_cache_entry_is_compiled_again() {
    let folder = Folder::new();
    let cache = DiskCache::new(&folder.0);
    let Some(compiler) = compiler(&cache) else { return };
    let good = compiler.compile(SOURCE).unwrap();
    let [entry] = &folder.entries()[..] else { panic!() };
    let mut bytes = std::fs::read(entry).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(entry, &bytes).unwrap();
    let again = compiler.compile(SOURCE).unwrap();
    assert!(!again.from_cache() && again.elf() == good.elf());
    assert_eq!((cache.counters().corrupt, cache.counters().stored), (1, 2));
    assert!(compiler.compile(SOURCE).unwrap().from_cache());
}

#[test]
fn a_source_that_reads_other_files_is_not_cached() {
    let folder = Folder::new();
    let cache = DiskCache::new(&folder.0);
    let Some(compiler) = compiler(&cache) else { return };
    let files = Folder::new();
    let header = files.0.join("add.h");
    let source = format!("#include \"add.h\"\n{SOURCE}");
    let compiler = compiler.option(format!("-I{}", files.0.display()));
    for adds in [3, 4] {
        std::fs::write(&header, format!("#define ADD {adds}\n")).unwrap();
        let compiled = compiler.compile(&source).unwrap();
        assert!(!compiled.from_cache());
        assert!(run(compiled.elf()).is_none_or(|sum| sum == 41 + adds));
    }
    assert_eq!(cache.counters(), Default::default());
    assert!(folder.entries().is_empty());
}

#[test]
fn an_unknown_target_is_an_error_and_no_crash() {
    let Some(_) = compiler(&DiskCache::off()) else { return };
    let unknown: TargetId = "gfx9999".parse().unwrap();
    let error = Compiler::new(&unknown).compile(SOURCE).unwrap_err();
    assert!(matches!(&error, CompileError::UnknownTarget { target, .. } if target == "gfx9999"), "{error}");
    // HIP 5.2 does not know gfx942; later ones do.
    let gfx942 = Compiler::new(&TargetId::new(Processor::Gfx942)).cache(&DiskCache::off());
    match gfx942.compile(SOURCE) {
        Ok(compiled) => assert_eq!(compiled.code_object().target().processor, Processor::Gfx942),
        Err(e) => {
            assert!(matches!(&e, CompileError::UnknownTarget { target, .. } if target == "gfx942"), "{e}")
        }
    }
}

/// Several threads compile the same source at once: one compiles it, and the others wait for it.
#[test]
fn threads_compile_a_source_once() {
    let folder = Folder::new();
    let cache = DiskCache::new(&folder.0);
    let Some(compiler) = compiler(&cache) else { return };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| compiler.compile(SOURCE).unwrap());
        }
    });
    let counters = cache.counters();
    assert_eq!((counters.misses, counters.hits, counters.stored), (1, 3, 1));
}

/// Returns a command that runs this test's program again, to do `what` in a process of its own, started by `wrapper` if
/// it is not empty.
fn child(wrapper: &[&str], what: &str, folder: &Path, variables: &[(&str, &str)]) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = match wrapper.split_first() {
        Some((first, rest)) => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(["--exact", "in_a_process_of_its_own", "--nocapture"]);
    command.env(CHILD, what).env(FOLDER, folder).envs(variables.iter().copied());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Does what another test asks of a child process. Does nothing when it is run as a test itself.
#[test]
fn in_a_process_of_its_own() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    note_warnings();
    match what.as_str() {
        "check" => match Compiler::new(&gfx90a()).check() {
            Ok(found) => println!("found {found}"),
            Err(e) => println!("error: {e}"),
        },
        "error" => {
            let compiler = Compiler::new(&gfx90a()).cache(&DiskCache::off());
            println!("error: {}", compiler.compile(SOURCE).unwrap_err());
        }
        // Compiles twice, so that a warning of each compilation would show twice.
        "compile" => {
            // The shared cache, whose folder the environment names.
            let cache = DiskCache::shared();
            assert_eq!(cache.folder(), Some(&*folder));
            let compiler = Compiler::new(&gfx90a());
            for adds in [1, 2] {
                let compiled = compiler.clone().define("ADD", adds).compile(SOURCE).unwrap();
                assert!(run(compiled.elf()).is_none_or(|sum| sum == 41 + adds));
            }
            println!("counters {:?}", cache.counters());
        }
        other => panic!("{other}"),
    }
    for warning in WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        println!("warning: {warning}");
    }
}

#[test]
fn processes_share_the_cache_and_may_compile_at_once() {
    let folder = Folder::new();
    if compiler(&DiskCache::off()).is_none() {
        return;
    }
    let variables = [("HIPLAUNCH_CACHE_DIR", folder.0.to_str().unwrap())];
    let at_once: Vec<_> =
        (0..3).map(|_| child(&[], "compile", &folder.0, &variables).spawn().unwrap()).collect();
    for process in at_once {
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        assert!(!said(&output).contains("warning:"), "{}", said(&output));
    }
    // There are two entries and no unfinished file. A later process compiles nothing.
    assert_eq!(folder.entries().len(), 2);
    let output = child(&[], "compile", &folder.0, &variables).output().unwrap();
    assert!(said(&output).contains("hits: 2, misses: 0, corrupt: 0, stored: 0"), "{}", said(&output));
}

/// Tries a full disk and a read-only disk, where this user may mount file systems.
#[test]
#[cfg(target_os = "linux")]
fn a_full_or_read_only_disk_is_a_warning() {
    if compiler(&DiskCache::off()).is_none() {
        return;
    }
    for options in ["size=4k", "ro"] {
        let folder = Folder::new();
        let path = folder.0.to_str().unwrap();
        let mount = format!("mount -t tmpfs -o {options} none {path} && exec \"$@\" && ls {path}");
        let wrapper = ["unshare", "--mount", "sh", "-c", &mount, "sh"];
        let may = Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "none", path]).output();
        if !may.is_ok_and(|output| output.status.success()) {
            println!("skipped: this user can't mount anything in a namespace of its own");
            return;
        }
        let output =
            child(&wrapper, "compile", &folder.0, &[("HIPLAUNCH_CACHE_DIR", path)]).output().unwrap();
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("hits: 0, misses: 2, corrupt: 0, stored: 0, failed: 2"), "{said}");
        assert_eq!(said.matches("warning: cache of compiled kernels").count(), 1, "{said}");
        assert!(said.contains("can't be written") && said.contains("HIPLAUNCH_CACHE_DIR"), "{said}");
    }
}

/// hiprtc itself gives no reason in this case.
#[test]
#[cfg(target_os = "linux")]
fn without_room_for_temporary_files_the_error_says_so() {
    if compiler(&DiskCache::off()).is_none() {
        return;
    }
    let folder = Folder::new();
    let file = folder.0.join("file");
    std::fs::write(&file, b"").unwrap();
    let output = child(&[], "error", &folder.0, &[("TMPDIR", file.to_str().unwrap())]).output().unwrap();
    let said = said(&output);
    assert!(output.status.success() && said.contains("space for temporary files in TMPDIR"), "{said}");
}

/// The folder in which the loader searches first has files of the libraries' names that are no libraries.
#[test]
#[cfg(target_os = "linux")]
fn without_hiprtc_the_error_names_what_to_install() {
    let folder = Folder::new();
    for name in [
        "hiprtc.so.7",
        "hiprtc.so.6",
        "hiprtc.so.5",
        "hiprtc.so",
        "amdhip64.so.6",
        "amdhip64.so.5",
        "amdhip64.so",
    ] {
        std::fs::write(folder.0.join(format!("lib{name}")), b"").unwrap();
    }
    let path = folder.0.to_str().unwrap();
    let output =
        child(&[], "check", &folder.0, &[("LD_LIBRARY_PATH", path), ("ROCM_PATH", path)]).output().unwrap();
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    if said.contains("found hiprtc") && said.contains("/opt/rocm") {
        println!("skipped: hiprtc is in /opt/rocm");
        return;
    }
    for part in [
        "no usable HIP runtime compiler",
        "libhiprtc-builtins5",
        "libamd-comgr2",
        "ROCM_PATH",
        "libhiprtc.so.7: ",
    ] {
        assert!(said.contains(part), "{said}");
    }
}
