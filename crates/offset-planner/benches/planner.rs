//! Measures the planner.
//!
//! `cargo bench --bench planner` prints tables: rectangles that were cut into pieces (the optimum is known), 100,000
//! buffers, 10 LDS buffers, and chains. `PLANNING_INSTANCES=FOLDER` adds the CSV files in that folder, in minimalloc's
//! format. `PLANNER_SECONDS=S` sets the time limit for each problem (default: 10 s), and `PLANNER_SEED=N` selects other
//! rectangles. `PLANNER_SURVEY=N` plans only rectangles, of every shape, with N seeds from `PLANNER_SEED` on, and lists
//! those that were not solved. `PLANNER_NODES=N` gives the survey a budget of nodes instead of time, so that results do
//! not depend on the load of the machine.

use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

use offset_planner::{Budget, Buffer, Plan, PlanOptions, Problem, ProblemBuilder, plan, verify};
use rectangle::{BYTES, COUNTS, Random, Shape};

#[path = "../tests/planner/rectangle.rs"]
mod rectangle;

type Failed = Box<dyn std::error::Error>;

const GREEDY: PlanOptions<'static> =
    PlanOptions { budget: Budget::Greedy, goal: offset_planner::Goal::Least, cancel: None, start: None };

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn main() -> Result<(), Failed> {
    // Cargo passes `--bench`, which is ignored.
    let seconds = Duration::from_secs(variable("PLANNER_SECONDS").unwrap_or(10));
    let seed = variable("PLANNER_SEED").unwrap_or(1);
    if let Some(seeds) = variable("PLANNER_SURVEY") {
        let budget = variable("PLANNER_NODES").map_or(Budget::Time(seconds), Budget::Nodes);
        return survey(seed..seed + seeds, budget);
    }
    rectangles(seed, seconds)?;
    if let Ok(folder) = std::env::var("PLANNING_INSTANCES") {
        files(&folder, seconds)?;
    }
    many()?;
    lds()?;
    chains()
}

/// Plans with greedy orders alone, then with search, and prints a line of a table.
fn compare(name: &str, problem: &Problem, seconds: Duration) -> Result<Plan, Failed> {
    let begun = Instant::now();
    let greedy = plan(problem, &GREEDY)?;
    let greedy_time = begun.elapsed();
    let begun = Instant::now();
    let best = plan(problem, &PlanOptions { budget: Budget::Time(seconds), ..PlanOptions::default() })?;
    let time = begun.elapsed();
    verify(problem, &greedy)?;
    verify(problem, &best)?;
    // The ratio is to the load, in which the goal is stated; the search may have raised the bound.
    let ratio = |plan: &Plan| plan.total() as f64 / greedy.lower_bound() as f64;
    println!(
        "{name:>12} {:>8} {:>11} {:>8.3} {:>9.2} {:>11} {:>8.4} {:>8} {:>10} {:>9.1}",
        problem.buffers().len(),
        greedy.lower_bound(),
        ratio(&greedy),
        greedy_time.as_secs_f64() * 1e3,
        best.total(),
        ratio(&best),
        if best.is_optimal() { "optimal" } else { "" },
        best.nodes(),
        time.as_secs_f64() * 1e3,
    );
    Ok(best)
}

fn heading(title: &str) {
    println!("\n{title}");
    println!(
        "{:>12} {:>8} {:>11} {:>8} {:>9} {:>11} {:>8} {:>8} {:>10} {:>9}",
        "", "buffers", "bound", "greedy", "ms", "total", "ratio", "", "nodes", "ms"
    );
}

fn rectangles(seed: u64, seconds: Duration) -> Result<(), Failed> {
    heading(&format!("Rectangles cut up, seed {seed}, at most {} s each", seconds.as_secs()));
    let (mut optimal, mut worst) = (0, 1.0f64);
    for (k, count) in COUNTS.into_iter().enumerate() {
        let problem = rectangle_problem(Shape::Mixed, count, seed * 100 + k as u64)?;
        let best = compare(&format!("{}", k + 1), &problem, seconds)?;
        optimal += usize::from(best.total() == BYTES);
        worst = worst.max(best.total() as f64 / BYTES as f64);
    }
    println!("{optimal} of {} optimal; the worst is {worst:.4} times the bound", COUNTS.len());
    Ok(())
}

/// Returns for each shape how many problems are solved.
fn survey(seeds: Range<u64>, budget: Budget) -> Result<(), Failed> {
    println!("Rectangles cut up, seeds {} to {}, {budget:?} each", seeds.start, seeds.end - 1);
    for shape in Shape::ALL {
        let (mut all, mut optimal, mut worst, mut slowest) = (0, 0, 1.0f64, Duration::ZERO);
        for seed in seeds.clone() {
            for (k, count) in COUNTS.into_iter().enumerate() {
                let problem = rectangle_problem(shape, count, seed * 100 + k as u64)?;
                let options = PlanOptions { budget, ..PlanOptions::default() };
                let begun = Instant::now();
                let plan = plan(&problem, &options)?;
                let time = begun.elapsed();
                verify(&problem, &plan)?;
                let ratio = plan.total() as f64 / BYTES as f64;
                if plan.is_optimal() {
                    slowest = slowest.max(time);
                } else {
                    println!(
                        "    {shape:?}, seed {seed}, {count} pieces: {ratio:.4}, {} nodes",
                        plan.nodes()
                    );
                }
                all += 1;
                optimal += usize::from(plan.is_optimal());
                worst = worst.max(ratio);
            }
        }
        println!(
            "{:>12} {optimal} of {all} optimal, each within {:.2} s; the worst is {worst:.4} times the bound",
            format!("{shape:?}"),
            slowest.as_secs_f64()
        );
    }
    Ok(())
}

fn rectangle_problem(shape: Shape, count: usize, seed: u64) -> Result<Problem, Failed> {
    let mut problem = Problem::builder();
    for (i, piece) in rectangle::cut(shape, count, seed).iter().enumerate() {
        problem.add(Buffer::half_open(i.to_string(), piece.size, piece.lower..piece.upper))?;
    }
    Ok(problem.build()?)
}

fn files(folder: &str, seconds: Duration) -> Result<(), Failed> {
    heading(&format!("Instances in files, at most {} s each", seconds.as_secs()));
    let mut paths: Vec<_> = std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
    paths.sort();
    for path in paths {
        let mut problem = Problem::builder();
        for line in std::fs::read_to_string(&path)?.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let &[id, lower, upper, size] = fields.as_slice() else { return Err(line.into()) };
            problem.add(Buffer::half_open(id, size.parse()?, lower.parse()?..upper.parse()?))?;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        compare(&name, &problem.build()?, seconds)?;
    }
    Ok(())
}

fn many() -> Result<(), Failed> {
    println!("\n100,000 buffers by the greedy orders alone (the bar: 1 s)");
    println!("{:>24} {:>12} {:>8} {:>18} {:>9}", "live together", "bound", "ratio", "found by", "ms");
    for live in [16, 128, 2048] {
        let mut random = Random::new(live);
        let mut problem = Problem::builder();
        for i in 0..100_000 {
            let start = random.below(1 << 20);
            let length = 1 + random.below((live << 21) / 100_000);
            let scale = random.below(10);
            let size = 64 * (1 + random.below(1 << scale));
            problem.add(Buffer::half_open(i.to_string(), size, start..start + length).aligned(64))?;
        }
        let problem = problem.build()?;
        let begun = Instant::now();
        let plan = plan(&problem, &GREEDY)?;
        let time = begun.elapsed();
        verify(&problem, &plan)?;
        println!(
            "{live:>24} {:>12} {:>8.4} {:>18} {:>9.1}",
            plan.lower_bound(),
            plan.total() as f64 / plan.lower_bound() as f64,
            plan.method().to_string(),
            time.as_secs_f64() * 1e3
        );
    }
    Ok(())
}

/// Creates ten buffers of a kernel between eight barriers.
fn ten(seed: u64) -> Result<ProblemBuilder, Failed> {
    let mut random = Random::new(seed);
    let mut problem = Problem::builder();
    for i in 0..10 {
        let (a, b) = (random.below(9), random.below(9));
        let size = 4 << random.below(12);
        problem.add(
            Buffer::closed(format!("lds{i}"), size + 4 * random.below(8), a.min(b)..=a.max(b)).aligned(16),
        )?;
    }
    Ok(problem)
}

fn lds() -> Result<(), Failed> {
    println!("\n10 LDS buffers with the default budget, 1,000 different kernels (the bar: 20 us)");
    let problems: Vec<Problem> =
        (0..1000).map(|seed| Ok::<_, Failed>(ten(seed)?.build()?)).collect::<Result<_, _>>()?;
    let options = PlanOptions::default();
    let (mut times, mut optimal) = (Vec::with_capacity(problems.len()), 0);
    for problem in &problems {
        optimal += usize::from(plan(problem, &options)?.is_optimal());
        // The best of several runs, because other processes may use the machine.
        let mut best = Duration::MAX;
        for _ in 0..20 {
            let begun = Instant::now();
            black_box(plan(black_box(problem), &options)?);
            best = best.min(begun.elapsed());
        }
        times.push(best.as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    println!(
        "{optimal} of {} optimal; median {:.2} us, 99% within {:.2} us, at most {:.2} us",
        times.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
    Ok(())
}

fn chains() -> Result<(), Failed> {
    println!("\nChains: n buffers of 1 KiB, each live together with the next");
    for n in [4u64, 16, 64, 1000, 100_000] {
        let mut problem = Problem::builder();
        for i in 0..n {
            problem.add(Buffer::closed(i.to_string(), 1024, i..=i + 1))?;
        }
        let problem = problem.build()?;
        let begun = Instant::now();
        let plan = plan(&problem, &PlanOptions::default())?;
        let time = begun.elapsed();
        verify(&problem, &plan)?;
        println!("{n:>12} {:>6} bytes {:>10.1} us", plan.total(), time.as_secs_f64() * 1e6);
    }
    Ok(())
}
