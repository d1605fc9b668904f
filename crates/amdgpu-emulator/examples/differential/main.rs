//! A differential test of the emulator with the code that compilers generate at every level: random programs, compiled
//! for the host and for gfx90a, gfx942, gfx950 or gfx11, must leave the same memory.
//!
//! ```text
//! differential [--seed N] [--count N] [--seconds N] [--size N] [--jobs N] [--variations N] [--stop-at N]
//!              [--compiler clang-15]... [--target gfx90a]... [--opt O0,O3]... [--flags "-mllvm -global-isel"]...
//!              [--keep DIR] [--reduce SECONDS] [--print | --replay FILE]
//! ```
//!
//! Each seed gives a program. It is compiled in `--variations` (3) of the variations that the options select;
//! `--replay` runs a program from a file in all of them. By default, these are both targets, five levels, and the
//! compilers and flags of [`FLAGS`]. A program that differs is written to `--keep` (`differential-found` by default),
//! reduced for up to `--reduce` seconds (60; 0 turns that off), and printed with the lanes that differ and the command
//! to run it again. The process fails if there was a difference that is not a known mistake of a compiler (known.rs).

mod compile;
mod execute;
mod expression;
mod generate;
mod kernel;
mod known;
mod program;
mod random;
mod reduce;

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use compile::{Compiler, Variation, Workshop};
use execute::{Job, Outcome, compare, on_host};
use generate::Features;
use program::{Program, launch_of};
use random::Random;

/// The flags that are used without `--flags`, each with the first compiler version that has it. GlobalISel is not one
/// of them: it still has mistakes that programs can't avoid (README.md).
const FLAGS: &[(u32, &str)] = &[
    (15, ""),
    (15, ""),
    (15, ""),
    (15, "-mllvm -amdgpu-sdwa-peephole=0"),
    (15, "-mllvm -amdgpu-dpp-combine=0"),
    (15, "-mcode-object-version=4"),
    (22, "-mcode-object-version=5"),
    (22, "-mcode-object-version=6"),
    (15, "-mllvm -amdgpu-early-ifcvt=1"),
    (15, "-mllvm -amdgpu-scalarize-global-loads=0"),
    (15, "-mllvm -amdgpu-load-store-vectorizer=0"),
    (15, "-mllvm -amdgpu-function-calls=1 -fno-inline"),
    (15, "-fno-slp-vectorize -fno-vectorize"),
    (15, "-mllvm -structurizecfg-skip-uniform-regions=1"),
    (15, "-mllvm -enable-misched=0"),
];

#[derive(Debug)]
struct Options {
    seed: u64,
    count: u64,
    /// The time after which no further program is begun.
    time: Duration,
    size: usize,
    jobs: usize,
    variations: usize,
    stop_at: u64,
    compilers: Vec<Compiler>,
    targets: Vec<String>,
    levels: Vec<String>,
    flags: Vec<String>,
    keep: PathBuf,
    reduce: Duration,
    print: bool,
    replay: Option<PathBuf>,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
        let mut o = Options {
            seed: 1,
            count: 100,
            time: Duration::MAX,
            size: 12,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            variations: 3,
            stop_at: 20,
            compilers: Vec::new(),
            targets: Vec::new(),
            levels: Vec::new(),
            flags: Vec::new(),
            keep: "differential-found".into(),
            reduce: Duration::from_secs(60),
            print: false,
            replay: None,
        };
        let several = |list: &str| list.split(',').map(str::to_string).collect::<Vec<_>>();
        let mut commands = Vec::new();
        while let Some(arg) = args.next() {
            if arg == "--print" {
                o.print = true;
                continue;
            }
            let value = args.next().ok_or_else(|| format!("{arg} needs a value, or is not an option"))?;
            match arg.as_str() {
                "--seed" => o.seed = value.parse()?,
                "--count" => o.count = value.parse()?,
                "--seconds" => o.time = Duration::from_secs(value.parse()?),
                "--size" => o.size = value.parse::<usize>()?.clamp(1, 200),
                "--jobs" => o.jobs = value.parse::<usize>()?.max(1),
                "--variations" => o.variations = value.parse::<usize>()?.max(1),
                "--stop-at" => o.stop_at = value.parse()?,
                "--compiler" => commands.extend(several(&value)),
                "--target" => o.targets.extend(several(&value)),
                "--opt" => o.levels.extend(several(&value)),
                "--flags" => o.flags.push(value),
                "--keep" => o.keep = value.into(),
                "--reduce" => o.reduce = Duration::from_secs(value.parse()?),
                "--replay" => o.replay = Some(value.into()),
                _ => {
                    return Err(
                        format!("{arg} is not an option; the options are at the top of main.rs").into()
                    );
                }
            }
        }
        let asked = !commands.is_empty();
        for command in if asked { commands } else { vec!["clang-15".into(), "clang-22".into()] } {
            match Compiler::find(&command) {
                Ok(compiler) => o.compilers.push(compiler),
                Err(e) if asked => return Err(e.into()),
                Err(e) => eprintln!("left out: {e}"),
            }
        }
        if o.compilers.is_empty() {
            return Err("there is no compiler".into());
        }
        if o.targets.is_empty() {
            let all = [
                "gfx90a",
                "gfx942",
                "gfx90a:xnack+",
                "gfx950",
                "gfx1100",
                "gfx1100.w64",
                "gfx1150",
                "gfx942",
            ];
            o.targets = all.map(String::from).to_vec();
        }
        if o.levels.is_empty() {
            o.levels = ["O0", "O1", "O2", "O3", "Os"].map(String::from).to_vec();
        }
        Ok(o)
    }

    /// Returns all variations that the options select.
    fn all_variations(&self) -> Vec<Variation> {
        let mut all = Vec::new();
        for compiler in &self.compilers {
            let built_in =
                FLAGS.iter().filter(|f| self.flags.is_empty() && f.0 <= compiler.version).map(|f| f.1);
            let flags: Vec<&str> = built_in.chain(self.flags.iter().map(String::as_str)).collect();
            // A compiler doesn't support processors that are newer than it.
            let since = |target: &str| match target.split([':', '.']).next() {
                Some("gfx942" | "gfx1100") => 17,
                Some("gfx1150") => 18,
                Some("gfx950") => 20,
                _ => 0,
            };
            let targets = self.targets.iter().filter(|target| compiler.version >= since(target));
            for target in targets {
                for level in &self.levels {
                    for flags in &flags {
                        all.push(Variation {
                            compiler: compiler.clone(),
                            target: target.clone(),
                            level: level.clone(),
                            flags: flags.split_whitespace().map(String::from).collect(),
                        });
                    }
                }
            }
        }
        all
    }
}

/// The program for a compiler, and the memory that it leaves on the host; `None` if it didn't compile or end there.
type Expected<'a> = ((&'a Compiler, Features), Option<(Program, Vec<u8>)>);

/// The counts and messages of all threads.
#[derive(Default)]
struct Report {
    same: u64,
    differing: u64,
    known: u64,
    /// Programs that were not compared, by reason.
    left_out: HashMap<String, u64>,
}

struct Run {
    options: Options,
    variations: Vec<Variation>,
    report: Mutex<Report>,
    next: AtomicU64,
    begun: Instant,
}

impl Run {
    fn report(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave_out(&self, reason: String) {
        *self.report().left_out.entry(reason).or_default() += 1;
    }

    /// Runs programs until there are no seeds left, or enough differences were found.
    fn work(&self, workshop: &Workshop) {
        loop {
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            let late = self.begun.elapsed() >= self.options.time;
            if n >= self.options.count || late || self.report().differing >= self.options.stop_at {
                return;
            }
            self.seed(workshop, self.options.seed + n);
        }
    }

    fn seed(&self, workshop: &Workshop, seed: u64) {
        let mut r = Random::new(!seed);
        let mut expected: Vec<Expected<'_>> = Vec::new();
        for _ in 0..self.options.variations {
            let variation = &self.variations[r.below(self.variations.len())];
            let compiler = &variation.compiler;
            let key = (compiler, variation.features());
            if !expected.iter().any(|e| e.0 == key) {
                let program = generate::program(seed, self.options.size, key.1);
                let text = program.text();
                let host = on_host(workshop, &Job { text: &text, seed, shape: program.shape }, compiler);
                if let Err(e) = &host {
                    self.leave_out(format!("the host, {}: {e}", compiler.command));
                }
                expected.push((key, host.ok().map(|bytes| (program, bytes))));
            }
            let Some((_, Some((program, bytes)))) = expected.iter().find(|e| e.0 == key) else {
                continue;
            };
            let text = program.text();
            let job = Job { text: &text, seed, shape: program.shape };
            match compare(workshop, &job, variation, bytes) {
                Ok(Outcome::Same) => self.report().same += 1,
                Ok(outcome) => self.found(workshop, program, variation, bytes, &outcome),
                Err(e) => self.leave_out(format!("{}: {e}", compiler.command)),
            }
        }
    }

    /// Returns the known mistake that explains a difference, if there is one.
    fn known(
        &self,
        workshop: &Workshop,
        job: &Job<'_>,
        variation: &Variation,
        expected: &[u8],
    ) -> Option<&'static known::Known> {
        known::KNOWN.iter().filter(|known| known.concerns(&variation.compiler)).find(|known| {
            let mut without = variation.clone();
            without.flags.extend(known.without.iter().map(|flag| flag.to_string()));
            without.flags != variation.flags
                && matches!(compare(workshop, job, &without, expected), Ok(Outcome::Same))
        })
    }

    fn found(
        &self,
        workshop: &Workshop,
        program: &Program,
        variation: &Variation,
        expected: &[u8],
        outcome: &Outcome,
    ) {
        let (seed, text) = (program.seed, program.text());
        let job = Job { text: &text, seed, shape: program.shape };
        if let Some(known) = self.known(workshop, &job, variation, expected) {
            self.report().known += 1;
            println!("seed {seed}: {variation}: {} (not with {})", known.what, known.without.join(" "));
            return;
        }
        self.report().differing += 1;
        println!("seed {seed} differs: {variation}\n{outcome}");
        let deadline = Instant::now() + self.options.reduce;
        let small = reduce::reduce(program.clone(), deadline, &mut |candidate| {
            let text = candidate.text();
            let job = Job { text: &text, seed, shape: candidate.shape };
            let Ok(expected) = on_host(workshop, &job, &variation.compiler) else { return false };
            let again = compare(workshop, &job, variation, &expected);
            matches!(
                (&again, outcome),
                (Ok(Outcome::Differs(..)), Outcome::Differs(..))
                    | (Ok(Outcome::Failed(_)), Outcome::Failed(_))
            )
        });
        let whole = self.options.keep.join(format!("{seed}.c"));
        let smaller = self.options.keep.join(format!("{seed}.small.c"));
        let kept = fs::create_dir_all(&self.options.keep)
            .and_then(|()| fs::write(&whole, &text))
            .and_then(|()| fs::write(&smaller, small.text()));
        if let Err(e) = kept {
            println!("{}: {e}", self.options.keep.display());
        }
        println!(
            "seed {seed}, made smaller:\n{}again: cargo run --release -p amdgpu-emulator --example differential -- --replay {} {variation}",
            small.text(),
            smaller.display(),
        );
    }

    /// Runs a program from a file in all variations. Returns whether there was no difference.
    fn replay(&self, workshop: &Workshop, file: &Path) -> Result<bool, Box<dyn Error>> {
        let text = fs::read_to_string(file)?;
        let (seed, shape) = launch_of(&text).ok_or("the first line doesn't say how to launch it")?;
        let job = Job { text: &text, seed, shape };
        let mut same = true;
        for variation in &self.variations {
            let expected = on_host(workshop, &job, &variation.compiler)
                .map_err(|e| format!("the host, {}: {e}", variation.compiler.command))?;
            match compare(workshop, &job, variation, &expected) {
                Ok(outcome) => {
                    same &= outcome == Outcome::Same;
                    println!("{variation}: {outcome}");
                }
                Err(e) => println!("{variation}: not compiled: {e}"),
            }
        }
        Ok(same)
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool, Box<dyn Error>> {
    let options = Options::parse(std::env::args().skip(1))?;
    let variations = options.all_variations();
    if variations.is_empty() {
        return Err("none of these compilers supports one of the targets".into());
    }
    if options.print {
        print!("{}", generate::program(options.seed, options.size, variations[0].features()).text());
        return Ok(true);
    }
    let scratch = std::env::temp_dir().join(format!("differential-{}", std::process::id()));
    let workshops: Vec<Workshop> =
        (0..options.jobs).map(|n| Workshop::new(scratch.join(n.to_string()))).collect::<Result<_, _>>()?;
    let run =
        Run { options, variations, report: Mutex::default(), next: AtomicU64::new(0), begun: Instant::now() };
    let same = match &run.options.replay {
        Some(file) => run.replay(&workshops[0], file),
        None => {
            std::thread::scope(|scope| {
                for workshop in &workshops {
                    scope.spawn(|| run.work(workshop));
                }
            });
            let report = run.report();
            println!(
                "{} programs compared and the same, {} known mistakes of compilers, {} others differ; {} s",
                report.same,
                report.known,
                report.differing,
                run.begun.elapsed().as_secs()
            );
            let mut reasons: Vec<_> = report.left_out.iter().collect();
            reasons.sort();
            for (reason, count) in reasons {
                println!("{count} left out: {reason}");
            }
            // If nothing was compared, nothing was tested.
            Ok(report.differing == 0 && report.same > 0)
        }
    };
    // The temporary files are no longer needed.
    let _ = fs::remove_dir_all(&scratch);
    same
}
