//! The process that runs a part: it prints a line for each case that begins, and one for each that ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use super::outcome::{BEGIN, CASE, FOUND, SECONDS, STATE, State, WHY};
use super::parts::{Case, Part};
use crate::output::Output;
use crate::session::DriverArgs;
use crate::{CommandError, CommandOutcome};

/// The text of the last panic.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Runs the cases of a part from number `from` on, to the first that fails: it may have left the device in any state.
pub(super) fn run(
    part: Part,
    from: usize,
    driver: &DriverArgs,
    out: &mut Output,
) -> Result<CommandOutcome, CommandError> {
    std::panic::set_hook(Box::new(|panic| {
        // Only the first matters: that of a thread makes its case panic, too.
        PANIC.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic.to_string());
    }));
    for (number, case) in (part.row().cases)(driver)?.into_iter().enumerate().skip(from) {
        let name = case.name.clone();
        out.line(json!({ CASE: name, BEGIN: number }))?;
        let begun = Instant::now();
        let (state, why, found) = outcome(case);
        let seconds = begun.elapsed().as_secs_f64();
        let mut line = json!({ CASE: name, STATE: state.name(), SECONDS: (seconds * 1e3).round() / 1e3 });
        if !why.is_empty() {
            line[WHY] = Value::from(why);
        }
        if !found.is_null() {
            line[FOUND] = found;
        }
        out.line(line)?;
        if state == State::Failed {
            return Ok(CommandOutcome::Failed);
        }
    }
    Ok(CommandOutcome::Passed)
}

/// Runs a case. Returns how it ended, why, and what it found.
fn outcome(case: Case) -> (State, String, Value) {
    match catch_unwind(AssertUnwindSafe(case.test)) {
        Ok(Ok(tested)) => match tested.skipped {
            None => (State::Passed, String::new(), tested.found),
            Some(why) => (State::Skipped, why, tested.found),
        },
        Ok(Err(why)) => (State::Failed, why, Value::Null),
        Err(_) => {
            let why = PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
            (State::Failed, why.unwrap_or_else(|| "a panic without a text".to_owned()), Value::Null)
        }
    }
}
