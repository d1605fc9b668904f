//! What became of the cases of a part, as its child processes say it.

use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

use super::parts::Part;

// The fields of a child's lines.
pub(super) const CASE: &str = "case";
pub(super) const BEGIN: &str = "begin";
pub(super) const STATE: &str = "state";
pub(super) const SECONDS: &str = "seconds";
pub(super) const WHY: &str = "why";
pub(super) const FOUND: &str = "found";

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Passed,
    Skipped,
    Failed,
    /// Its process ended before it.
    Died,
    /// It was killed, because it did not end.
    Hung,
}

impl State {
    const ALL: [State; 5] = [State::Passed, State::Skipped, State::Failed, State::Died, State::Hung];

    pub(super) fn name(self) -> &'static str {
        match self {
            State::Passed => "passed",
            State::Skipped => "skipped",
            State::Failed => "failed",
            State::Died => "died",
            State::Hung => "hung",
        }
    }

    pub(super) fn is_good(self) -> bool {
        matches!(self, State::Passed | State::Skipped)
    }
}

/// What became of a case.
#[derive(Debug, Clone, Serialize)]
pub(super) struct CaseReport {
    pub(super) name: String,
    pub(super) state: State,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seconds: Option<f64>,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(super) found: Value,
}

/// What became of the cases of a part.
#[derive(Debug)]
pub(super) struct PartReport {
    pub(super) part: Part,
    pub(super) cases: Vec<CaseReport>,
}

impl PartReport {
    /// Runs a part in child processes of this program, with the same options.
    pub(super) fn of(part: Part, patience: Duration) -> PartReport {
        PartReport::run(part, patience, |from| {
            let mut args = std::env::args_os();
            let mut command = Command::new(args.next().unwrap_or_else(|| "hiplaunch".into()));
            command.args(args).args(["--child", part.row().name, "--from", &from.to_string()]);
            command
        })
    }

    /// Runs the commands that run the cases of a part from a number on, until one ends without a failure.
    fn run(part: Part, patience: Duration, command: impl Fn(usize) -> Command) -> PartReport {
        let mut report = PartReport { part, cases: Vec::new() };
        let mut from = 0;
        while let Some(next) = report.run_from(from, command(from), patience) {
            from = next;
        }
        report
    }

    /// Runs the cases from a number on, until the child ends. Returns the number of the case to go on with.
    fn run_from(&mut self, from: usize, mut command: Command, patience: Duration) -> Option<usize> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                self.add(
                    "start",
                    State::Failed,
                    format!("the process of the part can't be started: {error}"),
                );
                return None;
            }
        };
        let before = self.cases.len();
        let (lines, errors) = (lines_of(child.stdout.take()), text_of(child.stderr.take()));
        let mut progress = Progress { at: from, running: None, has_failed: false };
        let status = loop {
            match lines.recv_timeout(patience) {
                Ok(line) => self.cases.extend(progress.read(&line)),
                // A child writes why it ends after it has closed its standard output, and a lost device may keep it from ending.
                Err(RecvTimeoutError::Disconnected) => break exit_of(&mut child, patience),
                Err(RecvTimeoutError::Timeout) => break Ok(None),
            }
        };
        let is_hung = matches!(status, Ok(None));
        if is_hung {
            let _ = child.kill();
            let _ = child.wait();
        }
        let errors = errors.join().unwrap_or_default();
        let why = match &status {
            Ok(None) => format!("no end after {} s", patience.as_secs()),
            Ok(Some(status)) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let why = [why, last_lines(&errors)]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join(": ");
        if let Some(name) = progress.running {
            self.add(&name, if is_hung { State::Hung } else { State::Died }, why);
            return Some(progress.at + 1);
        }
        if progress.has_failed {
            return Some(progress.at + 1);
        }
        // Even the list of the cases needs the driver, and so does the end of the process.
        let exit = status.ok().flatten();
        if self.cases.is_empty() || !exit.is_some_and(|exit| exit.success()) {
            let name = if self.cases.len() == before { "start" } else { "end" };
            let state = match exit.and_then(|exit| exit.code()) {
                _ if is_hung => State::Hung,
                Some(_) => State::Failed,
                None => State::Died,
            };
            self.add(name, state, why);
        }
        None
    }

    fn add(&mut self, name: &str, state: State, why: String) {
        self.cases.push(CaseReport { name: name.to_owned(), state, why, seconds: None, found: Value::Null });
    }

    pub(super) fn failures(&self) -> impl Iterator<Item = &CaseReport> {
        self.cases.iter().filter(|case| !case.state.is_good())
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failures().next().is_some()
    }

    /// Returns the number of cases in each state that any is in.
    pub(super) fn counts(&self) -> String {
        let count = |state: State| self.cases.iter().filter(|case| case.state == state).count();
        let counts = State::ALL.into_iter().map(|state| (count(state), state.name()));
        let texts: Vec<String> =
            counts.filter(|(n, _)| *n > 0).map(|(n, name)| format!("{n} {name}")).collect();
        texts.join(", ")
    }

    /// Returns a line of text.
    pub(super) fn summary(&self) -> String {
        format!("{}: {}", self.part.row().title, self.counts())
    }
}

/// How far a child is.
struct Progress {
    /// The number of the case that began last.
    at: usize,
    /// Its name, until it has ended.
    running: Option<String>,
    /// Whether it has failed.
    has_failed: bool,
}

impl Progress {
    /// Reads a line of the child. Returns what became of a case, if one has ended.
    fn read(&mut self, line: &str) -> Option<CaseReport> {
        // What a library prints is no line of ours.
        let line: Value = serde_json::from_str(line).ok()?;
        let name = line[CASE].as_str()?.to_owned();
        if let Some(number) = line[BEGIN].as_u64() {
            (self.at, self.running) = (number as usize, Some(name));
            return None;
        }
        let state = State::ALL.into_iter().find(|state| line[STATE] == state.name())?;
        (self.running, self.has_failed) = (None, !state.is_good());
        let why = line[WHY].as_str().unwrap_or_default().to_owned();
        Some(CaseReport { name, state, why, seconds: line[SECONDS].as_f64(), found: line[FOUND].clone() })
    }
}

/// Waits for the end of a process. Returns how it ended, or `None` if it has not after the time.
fn exit_of(child: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        let status = child.try_wait()?;
        if status.is_some() || begun.elapsed() >= patience {
            return Ok(status);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the lines that a process writes, as they come.
fn lines_of(from: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        let all = from.into_iter().flat_map(|from| BufReader::new(from).split(b'\n'));
        for line in all.map_while(Result::ok) {
            if send.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    lines
}

/// Returns all that a process writes.
fn text_of(from: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // What was read before an error is kept.
            let _ = from.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Returns the last lines of what a process wrote.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Returns the states and reasons of the cases of a child, which is a shell script for each start, in their order.
    fn cases(scripts: &[&str]) -> Vec<(String, State, String)> {
        let report = PartReport::run(Part::Conformance, Duration::from_secs(2), |from| {
            let mut shell = Command::new("sh");
            shell.args(["-c", scripts[from]]);
            shell
        });
        report.cases.into_iter().map(|case| (case.name, case.state, case.why)).collect()
    }

    const BEGIN_0: &str = r#"echo '{"case":"a","begin":0}';"#;
    const BEGIN_1: &str = r#"echo '{"case":"b","begin":1}';"#;

    #[test]
    fn what_follows_a_fault_or_a_hang_runs_in_another_process() {
        let dies = format!("echo noise; {BEGIN_0} echo lost the device >&2; kill -9 $$");
        let hangs = format!("{BEGIN_1} exec sleep 60");
        let passes = r#"echo '{"case":"c","begin":2}'; echo '{"case":"c","state":"skipped","why":"none"}'"#;
        let found = cases(&[&dies, &hangs, passes]);
        let states: Vec<_> = found.iter().map(|(name, state, _)| (name.as_str(), *state)).collect();
        assert_eq!(states, [("a", State::Died), ("b", State::Hung), ("c", State::Skipped)]);
        assert!(found[0].2.contains("signal: 9") && found[0].2.ends_with(": lost the device"), "{found:?}");
        assert_eq!((&*found[1].2, &*found[2].2), ("no end after 2 s", "none"));
    }

    #[test]
    fn a_failure_is_one_case_and_the_next_goes_on() {
        let fails = format!(r#"{BEGIN_0} echo '{{"case":"a","state":"failed","why":"1 != 2"}}'; exit 1"#);
        let passes = format!(r#"{BEGIN_1} echo '{{"case":"b","state":"passed","seconds":0.5}}'"#);
        let found = cases(&[&fails, &passes]);
        assert_eq!(
            found,
            [
                ("a".to_owned(), State::Failed, "1 != 2".to_owned()),
                ("b".to_owned(), State::Passed, String::new()),
            ]
        );
    }

    #[test]
    fn a_part_that_does_not_begin_says_why() {
        let found = cases(&["echo no device >&2; exit 2"]);
        assert_eq!(found, [("start".to_owned(), State::Failed, "exit status: 2: no device".to_owned())]);
        assert_eq!(cases(&["exec sleep 60"])[0].1, State::Hung);
    }

    #[test]
    fn what_is_written_after_the_last_line_is_read() {
        let found = cases(&["exec >&-; sleep 0.2; echo no device >&2; exit 2"]);
        assert_eq!(found, [("start".to_owned(), State::Failed, "exit status: 2: no device".to_owned())]);
        let hangs = format!(r#"{BEGIN_0} echo '{{"case":"a","state":"passed"}}'; exec sleep 60 >&-"#);
        let found = cases(&[&hangs]);
        assert_eq!(found[1], ("end".to_owned(), State::Hung, "no end after 2 s".to_owned()));
    }

    #[test]
    fn a_device_that_is_lost_after_some_cases_is_reported() {
        let fails = format!(r#"{BEGIN_0} echo '{{"case":"a","state":"failed","why":"1 != 2"}}'; exit 1"#);
        let found = cases(&[&fails, "echo no device >&2; exit 2"]);
        assert_eq!(found[1], ("start".to_owned(), State::Failed, "exit status: 2: no device".to_owned()));
        let crashes = format!(r#"{BEGIN_0} echo '{{"case":"a","state":"passed"}}'; kill -9 $$"#);
        let found = cases(&[&crashes]);
        assert_eq!((&*found[1].0, found[1].1), ("end", State::Died), "{found:?}");
    }
}
