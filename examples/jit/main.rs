//! A small JIT runtime: expressions over arrays, given on the command line, become HIP kernels, which are compiled
//! once, launched by handle, and checked against the host.
//!
//! ```console
//! cargo run --release --example jit -- 'a*x + sqrt(y) - max(b, 2)' a=2.5 b=1 x=1,2,3 y=4,9,16
//! cargo run --release --example jit -- 'sum((x - mean(x))^2)' x=0..1000
//! ```
//!
//! Compiled kernels are cached on disk, so the second run compiles nothing. `examples/cpp_jit` is the same program in
//! C++.

mod host;
mod parse;
mod problem;
mod program;
mod runtime;
mod source;
mod values;

use std::io::Write;
use std::process::ExitCode;

use hiplaunch::compile::DiskCache;

use self::program::Program;
use self::runtime::Runtime;
use self::values::Values;

const USAGE: &str = "\
usage: jit [OPTIONS] EXPRESSION... [NAME=VALUES...]

  values       a=2.5 (a number)   x=1,2,3 or x=[1] (an array)   x=0..10 or x=0..1:0.1 (from, up to but without, step)
  expressions  + - * / ^  < <= > >= == !=  ( )
               sqrt exp log sin cos tan tanh abs floor (x)   min max pow (x, y)   where (condition, x, y)
               of an array, one number: sum prod mean min max (x)

  --launches N   launches of each expression, to be timed (100)
  --cache DIR    where compiled kernels are kept; off for nowhere (HIPLAUNCH_CACHE_DIR, else the user's cache folder)
  --source       print the generated HIP C++
  --help         this text
";

/// The command line.
#[derive(Debug)]
struct Options {
    expressions: Vec<String>,
    values: Values,
    launches: u32,
    cache: DiskCache,
    source: bool,
}

fn options(args: &[String]) -> Result<Option<Options>, Box<dyn std::error::Error>> {
    let (mut expressions, mut values) = (Vec::new(), Values::default());
    let (mut launches, mut cache, mut source) = (100, DiskCache::shared(), false);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--help" => return Ok(None),
            "--source" => source = true,
            "--launches" => {
                let given = value()?;
                launches = given.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
                    format!("--launches takes a number from 1 to {}, not `{given}`", u32::MAX)
                })?;
            }
            "--cache" => {
                cache = match value()?.as_str() {
                    "off" => DiskCache::off(),
                    folder => DiskCache::new(folder),
                }
            }
            other if other.starts_with("--") => {
                return Err(format!("unknown option {other}; try --help").into());
            }
            other => match values::definition(other) {
                Some(at) => values.define(other, at)?,
                None => expressions.push(other.to_owned()),
            },
        }
    }
    if expressions.is_empty() {
        return Err("no expression; try --help".into());
    }
    Ok(Some(Options { expressions, values, launches, cache, source }))
}

/// Runs the expressions of the arguments and prints the results. Returns whether every result equals the host's.
fn run(args: &[String], out: &mut dyn Write) -> Result<bool, Box<dyn std::error::Error>> {
    let Some(options) = options(args)? else {
        out.write_all(USAGE.as_bytes())?;
        return Ok(true);
    };
    // All are checked first, so an error in the last is reported before the first is run.
    let programs = options.expressions.iter().map(|text| Program::new(text, &options.values));
    let programs = programs.collect::<Result<Vec<_>, _>>()?;

    let mut runtime = Runtime::new(&options.cache)?;
    writeln!(out, "{}", runtime.device())?;
    let mut good = true;
    for (text, program) in options.expressions.iter().zip(&programs) {
        writeln!(out, "\n{text}")?;
        if options.source {
            writeln!(out, "{}", source::source(program))?;
        }
        let made = runtime.kernels(program)?;
        writeln!(out, "  {:<8} {:.1?} {}", "compile", made.took, made.how)?;
        let outcome = runtime.run(program, &options.values, &made.kernels, options.launches)?;
        let each = outcome.took / options.launches;
        writeln!(
            out,
            "  {:<8} {each:.1?} each, {} times {} kernel{}",
            "launch",
            options.launches,
            outcome.kernels,
            if outcome.kernels == 1 { "" } else { "s" }
        )?;
        let difference = host::difference(program, &options.values, &outcome.result);
        writeln!(out, "  {:<8} {}", "result", shown(program, &outcome.result))?;
        match difference {
            None => writeln!(out, "  {:<8} as on the host", "check")?,
            Some(difference) => {
                good = false;
                writeln!(out, "  {:<8} WRONG: {difference}", "check")?;
            }
        }
    }
    let (compiled, kept) = (runtime.compiled(), runtime.found());
    writeln!(out, "\ncompiled {compiled}, from the cache {kept}")?;
    Ok(good)
}

/// Returns a number as a text, or the first and last elements of an array.
fn shown(program: &Program, result: &[f64]) -> String {
    const MOST: usize = 8;
    let list = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    match (program.result().len, result) {
        (None, [number]) => number.to_string(),
        (_, all) if all.len() <= MOST => format!("[{}]", list(all)),
        (_, all) => {
            let (first, last) = (&all[..MOST / 2], &all[all.len() - 1..]);
            format!("[{}, ..., {}] of {} elements", list(first), list(last), all.len())
        }
    }
}

#[cfg_attr(test, allow(dead_code, reason = "tests call `run`"))]
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args, &mut std::io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests;
