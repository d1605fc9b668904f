//! Compiles `examples/cpp_jit` with the system's C++ compiler, and compares its results and errors with
//! `tests/data/jit.txt`. Without a C++ compiler, the tests are skipped and print why. Without hiprtc, the tests that
//! need kernels are skipped, or fail with `HIPLAUNCH_TEST_HIPRTC=1`.

use hiplaunch_testing::c_library;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("hiplaunch-cpp-{}-{name}", std::process::id()));
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

/// The C++ compiler of `CXX`, or the first one that runs.
fn cxx() -> Option<String> {
    let named = std::env::var("CXX").ok().filter(|name| !name.is_empty());
    let candidates = named.into_iter().chain(["c++", "g++", "clang++"].map(String::from));
    candidates.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok())
}

/// Returns the example's program, which is compiled once. The error says why it can't be compiled.
fn program() -> Result<PathBuf, String> {
    // Kept until the process ends, because every test of this file runs it.
    static BUILT: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let compiler = cxx().ok_or("no C++ compiler: install g++ or clang++, or set CXX")?;
        let library = c_library::folder();
        let root = hiplaunch_testing::root();
        let sources =
            std::fs::read_dir(root.join("examples/cpp_jit")).unwrap().map(|file| file.unwrap().path());
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cpp_jit");
        let output = Command::new(&compiler)
            .args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
            .arg(root.join("hip"))
            .arg("-o")
            .arg(&program)
            .args(sources.filter(|path| path.extension().is_some_and(|e| e == "cpp")))
            .arg("-L")
            .arg(&library)
            .arg("-lhiplaunch")
            .arg(format!("-Wl,-rpath,{}", library.display()))
            .output()
            .map_err(|e| format!("{compiler}: {e}"))?;
        assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(program)
    });
    BUILT.clone()
}

/// Runs the program with a cache folder.
fn jit(program: &Path, cache: &Path, args: &[&str]) -> Output {
    Command::new(program).args(["--launches", "2", "--cache"]).arg(cache).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the program. If it can't be built or, `with_hiprtc`, there is no compiler for kernels, prints why and
/// returns `None`.
fn ready(with_hiprtc: bool) -> Option<PathBuf> {
    let program = match program() {
        Ok(program) => program,
        Err(why) => {
            println!("skipped: {why}");
            return None;
        }
    };
    if with_hiprtc {
        let output = jit(&program, Path::new("off"), &["1"]);
        let error = text(&output.stderr);
        if error.contains("no usable HIP runtime compiler") || error.contains("does not know gfx") {
            assert!(std::env::var("HIPLAUNCH_TEST_HIPRTC").as_deref() != Ok("1"), "{error}");
            println!("skipped: {error}");
            return None;
        }
        assert!(output.status.success(), "{error}");
    }
    Some(program)
}

/// Returns expressions with their values, and the expected texts after that sign.
fn cases(sign: &str) -> Vec<(Vec<&'static str>, &'static str)> {
    let text = include_str!("../../../tests/data/jit.txt");
    let lines: Vec<&str> = text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    let cases = lines
        .chunks(2)
        .filter_map(|pair| Some((pair[0].split(" | ").collect(), pair[1].strip_prefix(sign)?)));
    let cases: Vec<_> = cases.collect();
    assert!(cases.len() > 25);
    cases
}

fn numbers(text: &str) -> Vec<f64> {
    let inside = text.trim_start_matches('[').trim_end_matches(']');
    inside.split(", ").filter(|number| !number.is_empty()).map(|number| number.parse().unwrap()).collect()
}

#[test]
fn expressions_have_the_expected_results() {
    let Some(program) = ready(true) else { return };
    let folder = Folder::new("cases");
    for (args, expected) in cases("= ") {
        let output = jit(&program, &folder.0, &args);
        let out = text(&output.stdout);
        assert!(output.status.success(), "{args:?}: {out}{}", text(&output.stderr));
        let result = out.lines().find_map(|line| line.strip_prefix("  result   ")).unwrap();
        assert_eq!(result.starts_with('['), expected.starts_with('['), "{args:?}: {result}");
        let (result, expected) = (numbers(result), numbers(expected));
        let near = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() < 1e-12;
        assert!(
            result.len() == expected.len() && result.iter().zip(&expected).all(near),
            "{args:?}: {result:?} {expected:?}"
        );
    }
}

#[test]
fn errors_have_the_expected_positions() {
    let Some(program) = ready(false) else { return };
    for (args, expected) in cases("! ") {
        let output = jit(&program, Path::new("off"), &args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.starts_with(&format!("error: {expected}")), "{args:?}: {error}");
        let lines: Vec<&str> = error.lines().collect();
        let column: usize = expected["column ".len()..].split(':').next().unwrap().parse().unwrap();
        assert!(args.iter().any(|arg| lines[1] == format!("  {arg}")), "{error}");
        assert_eq!(lines[2], format!("  {}^", " ".repeat(column - 1)), "{error}");
    }
    let (deep, tall) = ("(".repeat(100_000), format!("1{}", "+1".repeat(50_000)));
    for (args, says) in [
        (&["x=1"][..], "no expression"),
        (&["--nothing", "1"], "unknown option --nothing"),
        (&["1", "--launches"], "--launches needs a value"),
        (&["1", "--launches", "0"], "--launches takes a number"),
        (&["1", "--launches", "many"], "not `many`"),
        (&[deep.as_str()], "more than 100 levels"),
        (&[tall.as_str()], "more than 1000 operations"),
    ] {
        let output = jit(&program, Path::new("off"), args);
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(says), "{error:.300}");
    }
    let help = jit(&program, Path::new("off"), &["--help"]);
    assert!(help.status.success() && text(&help.stdout).starts_with("usage: jit"));
}

#[test]
fn the_second_run_compiles_nothing() {
    let Some(program) = ready(true) else { return };
    let folder = Folder::new("second");
    let last =
        |args: &[&str]| text(&jit(&program, &folder.0, args).stdout).lines().last().unwrap().to_owned();
    let args = ["a*x + y", "sum(x*y)", "a=2", "x=1,2,3", "y=4,5,6"];
    assert_eq!(last(&args), "compiled 2, from the cache 0");
    assert_eq!(last(&args), "compiled 0, from the cache 2");
    // Other values, another length and other names use the same kernels; in one run they are compiled once.
    let others = ["b*u + v", "c*v + u", "sum(u*v)", "b=7", "c=2", "u=1..9", "v=2..10"];
    assert_eq!(last(&others), "compiled 0, from the cache 2");
}
