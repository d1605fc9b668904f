//! Runs the cases of `tests/data/jit.txt`, and tests the cache. Without hiprtc, only cases without kernels are tested.

use std::path::PathBuf;

use hiplaunch::code_object::{Processor, TargetId};
use hiplaunch::{Compiler, Launcher};

use super::{Program, Values, run, values};

/// A folder for a cache, which is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("hiplaunch-jit-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns what the example prints for these arguments, with the cache in that folder, or the text of its error.
fn output(folder: &Folder, args: &[&str]) -> Result<String, String> {
    let options = ["--launches", "2", "--cache", folder.0.to_str().unwrap()];
    let args: Vec<String> = options.iter().chain(args).map(|arg| (*arg).to_owned()).collect();
    let mut out = Vec::new();
    let good = run(&args, &mut out).map_err(|e| e.to_string())?;
    let out = String::from_utf8(out).unwrap();
    assert!(good, "{out}");
    Ok(out)
}

/// Whether there is a compiler for the device. Prints why not.
fn compiles() -> bool {
    let launcher = Launcher::new().unwrap();
    let processor: Processor = launcher.device(0).unwrap().properties().target.processor.clone();
    match Compiler::new(&TargetId::new(processor)).check() {
        Ok(_) => true,
        Err(e) => {
            assert!(std::env::var("HIPLAUNCH_TEST_HIPRTC").as_deref() != Ok("1"), "{e}");
            println!("skipped: {e}");
            false
        }
    }
}

/// An expression with its values, and the expected result.
fn cases() -> Vec<(Vec<&'static str>, &'static str)> {
    let text = include_str!("../../tests/data/jit.txt");
    let lines: Vec<&str> = text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    assert!(lines.len() > 100 && lines.len().is_multiple_of(2));
    lines.chunks(2).map(|pair| (pair[0].split(" | ").collect(), pair[1])).collect()
}

fn numbers(text: &str) -> Vec<f64> {
    let inside = text.trim_start_matches('[').trim_end_matches(']');
    inside.split(", ").filter(|number| !number.is_empty()).map(|number| number.parse().unwrap()).collect()
}

#[test]
fn expressions_give_what_they_should() {
    if !compiles() {
        return;
    }
    // All in one run of the program, which also checks each result against the host.
    let folder = Folder::new("cases");
    let mut tried = 0;
    for (args, expected) in cases() {
        let Some(expected) = expected.strip_prefix("= ") else { continue };
        let out = output(&folder, &args).unwrap_or_else(|e| panic!("{args:?}: {e}"));
        let result = out.lines().find_map(|line| line.strip_prefix("  result   ")).unwrap();
        assert_eq!(result.starts_with('['), expected.starts_with('['), "{args:?}: {result}");
        let (result, expected) = (numbers(result), numbers(expected));
        let near = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() < 1e-12;
        assert!(
            result.len() == expected.len() && result.iter().zip(&expected).all(near),
            "{args:?}: {result:?} {expected:?}"
        );
        tried += 1;
    }
    assert!(tried > 40);
}

/// Needs no compiler: errors are found before anything is compiled.
#[test]
fn errors_say_where() {
    let folder = Folder::new("errors");
    let mut tried = 0;
    for (args, expected) in cases() {
        let Some(expected) = expected.strip_prefix("! ") else { continue };
        let error = output(&folder, &args).unwrap_err();
        assert!(error.starts_with(expected), "{args:?}: {error}");
        // A line with the text, and below it the position.
        let lines: Vec<&str> = error.lines().collect();
        let column: usize = expected["column ".len()..].split(':').next().unwrap().parse().unwrap();
        assert!(args.iter().any(|arg| lines[1] == format!("  {arg}")), "{error}");
        assert_eq!(lines[2], format!("  {}^", " ".repeat(column - 1)), "{error}");
        tried += 1;
    }
    assert!(tried > 25);
}

#[test]
fn texts_that_go_too_deep_are_errors() {
    for text in
        ["(".repeat(100_000), "-".repeat(100_000), format!("1{}", "+1".repeat(100_000)), "2^".repeat(5000)]
    {
        let error = Program::new(&text, &Values::default()).unwrap_err().to_string();
        assert!(error.contains("more than"), "{error:.200}");
    }
    assert!(Program::new(&format!("1{}", "+1".repeat(900)), &Values::default()).is_ok());
}

#[test]
fn wrong_options_are_errors() {
    let folder = Folder::new("options");
    for (args, says) in [
        (&["x=1"][..], "no expression"),
        (&["--nothing", "1"], "unknown option --nothing"),
        (&["1", "--launches"], "--launches needs a value"),
        (&["1", "--launches", "0"], "--launches takes a number"),
        (&["1", "--launches", "many"], "not `many`"),
    ] {
        let error = output(&folder, args).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
    assert!(output(&folder, &["--help"]).unwrap().starts_with("usage: jit"));
    // Texts that look like a definition and are none.
    assert_eq!(
        [values::definition("x==1"), values::definition("2=1"), values::definition("x =1")],
        [None, None, Some(2)]
    );
}

#[test]
fn the_second_run_compiles_nothing() {
    if !compiles() {
        return;
    }
    let folder = Folder::new("second");
    let args = ["a*x + y", "sum(x*y)", "a=2", "x=1,2,3", "y=4,5,6"];
    let last = |out: &str| out.lines().last().unwrap().to_owned();
    assert_eq!(last(&output(&folder, &args).unwrap()), "compiled 2, from the cache 0");
    assert_eq!(last(&output(&folder, &args).unwrap()), "compiled 0, from the cache 2");
    // Other values, another length and other names use the same kernels.
    let others = ["b*u + v", "sum(u*v)", "b=7", "u=1..9", "v=2..10"];
    assert_eq!(last(&output(&folder, &others).unwrap()), "compiled 0, from the cache 2");
    // In one run, the same kernels are compiled once.
    let twice = ["a*x + x", "b*y + y", "a=2", "b=3", "x=1,2,3", "y=4,5"];
    assert_eq!(last(&output(&folder, &twice).unwrap()), "compiled 1, from the cache 0");
    let off = ["--cache", "off", "a*x + y", "a=2", "x=1,2,3", "y=4,5,6"];
    assert_eq!(last(&output(&folder, &off).unwrap()), "compiled 1, from the cache 0");
}
