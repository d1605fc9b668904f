//! Tests with several ranks. Without `RANKS_CASE` the program starts itself under `mpirun` for each case, with as many ranks
//! as the case says; with it, the program is one rank of that case. Its arguments are parts of the names of runs, such
//! as `halos` or `"killed on 4"`; without any it runs all.
//!
//! `MPIRUN` names the `mpirun` of the MPI that the crate was built with (default: `mpirun`).

mod exchange;
mod failures;
mod rank;

use std::io::Read;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rank::Rank;

/// What a case proves by how its ranks end.
enum Ends {
    /// All ranks succeed.
    Well,
    /// All ranks succeed, and this text is printed.
    WellSaying(&'static str),
    /// `mpirun` fails within 10 seconds, and a line with all parts of one of these is printed.
    Badly(&'static [&'static [&'static str]]),
}

struct Case {
    name: &'static str,
    ranks: &'static [usize],
    run: fn(Rank) -> rank::Outcome,
    ends: Ends,
}

/// What the `mpirun` of Open MPI and of MPICH say of a rank that was killed.
const KILLED: &[&[&str]] = &[&["process rank 1 with PID"], &["KILLED BY SIGNAL: 9"], &["EXIT CODE: 9"]];
const BOTH: &[usize] = &[2, 4];

const CASES: &[Case] = &[
    well("a_rank_takes_the_device_of_its_local_rank", BOTH, exchange::devices),
    Case {
        name: "ranks_that_share_a_device_are_said",
        ranks: &[4],
        run: exchange::devices,
        ends: Ends::WellSaying("share device 1, rank 1 first"),
    },
    well("halos_of_strided_views_give_the_sequential_result", &[1, 2, 4], exchange::halos),
    well("reductions_of_all_types", BOTH, exchange::reductions),
    well("broadcast_gather_and_barrier", BOTH, exchange::collectives),
    well("what_is_enqueued_before_a_send_is_seen_and_after_is_not", BOTH, exchange::order),
    well("work_runs_beside_an_exchange", BOTH, exchange::overlap),
    well("sends_do_not_wait_for_receives", BOTH, exchange::head_to_head),
    well("views_of_any_strides_and_elements", BOTH, exchange::views),
    well("many_small_exchanges_keep_their_memory", BOTH, exchange::many),
    well("timelines_of_all_ranks_are_one_file", BOTH, exchange::trace),
    well("a_communicator_breaks_no_capture", BOTH, exchange::capture),
    well("wrong_arguments_are_refused", BOTH, failures::arguments),
    well("no_device_is_an_error_that_names_the_rank", BOTH, failures::exclusive),
    well("a_longer_message_is_an_error", BOTH, failures::longer_message),
    well("a_shorter_message_is_an_error", BOTH, failures::shorter_message),
    well("other_collective_operations_are_errors", BOTH, failures::other_collective),
    well("other_code_objects_are_named", BOTH, failures::other_code),
    well("a_rank_that_fails_tells_the_others", BOTH, failures::told),
    well("a_fault_of_a_kernel_is_told_to_the_others", BOTH, failures::fault),
    well("a_fault_ends_collective_operations", BOTH, failures::fault_in_collective),
    well("a_rank_that_never_sends_is_a_timeout", BOTH, failures::timeout),
    Case {
        name: "a_rank_that_panics",
        ranks: BOTH,
        run: failures::panics,
        ends: Ends::Badly(&[&["rank 1 failed: it panicked"]]),
    },
    Case {
        name: "a_rank_that_panics_before_a_communicator",
        ranks: BOTH,
        run: failures::panics_before_a_communicator,
        ends: Ends::Badly(&[&["rank 1 panics"]]),
    },
    Case {
        name: "a_rank_that_is_killed",
        ranks: BOTH,
        run: failures::process_killed,
        ends: Ends::Badly(KILLED),
    },
    Case {
        name: "a_supervised_rank_that_is_killed",
        ranks: BOTH,
        run: failures::process_killed,
        ends: Ends::Badly(&[&["rank 1 on ", " was ended by signal 9"]]),
    },
    Case {
        name: "a_rank_whose_supervisor_is_killed",
        ranks: BOTH,
        run: failures::supervisor_killed,
        ends: Ends::Badly(&[&["rank 1 on ", " was ended, because its supervisor was killed"]]),
    },
];

const fn well(name: &'static str, ranks: &'static [usize], run: fn(Rank) -> rank::Outcome) -> Case {
    Case { name, ranks, run, ends: Ends::Well }
}

fn main() -> ExitCode {
    if let Ok(name) = std::env::var("RANKS_CASE") {
        let case = CASES.iter().find(|case| case.name == name).expect("a case");
        if case.name.contains("supervis") {
            hiplaunch_mpi::supervise().expect("a process");
        }
        return rank::main(case.run);
    }
    let chosen: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let mpirun = std::env::var("MPIRUN").unwrap_or_else(|_| "mpirun".to_owned());
    let version = Command::new(&mpirun).arg("--version").output().expect("MPIRUN names mpirun");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    println!("{mpirun}: {}", version.lines().next().unwrap_or_default());
    let is_open_mpi = ["Open MPI", "OpenRTE"].iter().any(|name| version.contains(name));
    let (mut passed, mut failed) = (0, Vec::new());
    for case in CASES {
        for &ranks in case.ranks {
            let name = format!("{} on {ranks}", case.name);
            if !chosen.is_empty() && !chosen.iter().any(|part| name.contains(part)) {
                continue;
            }
            let start = Instant::now();
            let result = run(&mpirun, is_open_mpi, case, ranks);
            match result {
                Ok(()) => {
                    passed += 1;
                    println!("ok      {name} ({:.1} s)", start.elapsed().as_secs_f64());
                }
                Err(problem) => {
                    println!("FAILED  {name}: {problem}");
                    failed.push(name);
                }
            }
        }
    }
    println!("{passed} passed, {} failed", failed.len());
    if failed.is_empty() && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(mpirun: &str, is_open_mpi: bool, case: &Case, ranks: usize) -> Result<(), String> {
    let mut command = Command::new(mpirun);
    if is_open_mpi {
        command.args(["--oversubscribe", "--allow-run-as-root"]);
    }
    command.args(["-n", &ranks.to_string()]).arg(std::env::current_exe().map_err(|e| e.to_string())?);
    command.env("RANKS_CASE", case.name).env("HIPLAUNCH_EMULATOR_THREADS", "1");
    command.env("HIPLAUNCH_EMULATOR_DEVICES", "2");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
    let mut child = command.spawn().map_err(|e| format!("{mpirun}: {e}"))?;
    let reader = |mut from: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = from.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let out = reader(Box::new(child.stdout.take().expect("piped")));
    let err = reader(Box::new(child.stderr.take().expect("piped")));
    // A death has 10 s to end all; everything else gets time for a slow machine.
    let limit = match case.ends {
        Ends::Well | Ends::WellSaying(_) => Duration::from_secs(120),
        Ends::Badly(_) => Duration::from_secs(10),
    };
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break Some(status);
        }
        if start.elapsed() > limit {
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            std::thread::sleep(Duration::from_secs(1));
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let text = format!("{}{}", out.join().unwrap_or_default(), err.join().unwrap_or_default());
    let Some(status) = status else { return Err(format!("not over after {} s\n{text}", limit.as_secs())) };
    match case.ends {
        Ends::Well if status.success() => Ok(()),
        Ends::WellSaying(expected) if status.success() && text.contains(expected) => Ok(()),
        Ends::Well | Ends::WellSaying(_) => Err(format!("{status}\n{text}")),
        Ends::Badly(_) if status.success() => Err(format!("succeeded\n{text}")),
        Ends::Badly(lines) => {
            let is_there =
                |parts: &&[&str]| text.lines().any(|line| parts.iter().all(|part| line.contains(part)));
            match lines.iter().any(is_there) {
                true => Ok(()),
                false => Err(format!("no line with one of {lines:?}\n{text}")),
            }
        }
    }
}
