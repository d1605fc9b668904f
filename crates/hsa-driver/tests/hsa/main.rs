//! The driver over the HSA runtime of the machine. Where that has no GPU, a test prints so and passes.
//!
//! A process has one driver, and a fault loses a device for good: each test does its work in a process of its own.

#![cfg(unix)]

mod failing;
mod faults;
mod rig;
mod steady;

use std::process::{Command, Output};

use hiplaunch_testing::counting::Counting;
use rig::Rig;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Set in the processes in which tests do their work.
const CHILD: &str = "HIPLAUNCH_TEST_CHILD";

/// Runs a test's work in a process of its own, with these variables, and returns what became of it; `None` in that process, after the work, and
/// where there is no GPU.
fn in_child(test: &str, variables: &[(&str, String)], work: impl FnOnce(Rig)) -> Option<Output> {
    if std::env::var(CHILD).is_ok_and(|name| name == test) {
        work(Rig::open().expect("the parent has found a GPU"));
        return None;
    }
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program);
    child.args(["--exact", test, "--nocapture"]).env(CHILD, test).envs(variables.iter().map(|(k, v)| (k, v)));
    Some(child.output().unwrap())
}

/// As [`in_child`] without variables. The work must succeed.
fn alone(test: &str, work: impl FnOnce(Rig)) {
    if !std::env::var(CHILD).is_ok_and(|name| name == test)
        && let Err(reason) = Rig::open()
    {
        println!("skipped: {reason}");
        return;
    }
    if let Some(output) = in_child(test, &[], work) {
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stdout));
    }
}
