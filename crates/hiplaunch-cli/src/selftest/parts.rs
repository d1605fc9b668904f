//! The parts of the test, and their cases.

use hip_conformance::{CASES, Layers, Subject};
use hip_driver::Capability;
use serde_json::Value;

use super::arithmetic;
use crate::session::{CommandSession, DriverArgs};
use crate::{CommandError, bench, demo};

/// A part of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// The driver and the device.
    About,
    /// The conformance cases of drivers.
    Conformance,
    /// Arithmetic beside the emulator's.
    Arithmetic,
    /// The calls of launches, graphs and the memory pool.
    Calls,
    /// The time of launches.
    Launches,
}

/// What is known of a part.
pub(super) struct PartRow {
    part: Part,
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Returns the cases on the driver that the options choose.
    pub(super) cases: fn(&DriverArgs) -> Result<Vec<Case>, CommandError>,
}

/// The parts, in the order in which they run, which is the order of the variants.
const PARTS: [PartRow; 5] = [
    PartRow { part: Part::About, name: "about", title: "Driver and device", cases: about },
    PartRow {
        part: Part::Conformance,
        name: "conformance",
        title: "What every driver must do",
        cases: conformance,
    },
    PartRow {
        part: Part::Arithmetic,
        name: "arithmetic",
        title: "Arithmetic of the device beside the emulator's",
        cases: arithmetic::cases,
    },
    PartRow {
        part: Part::Calls,
        name: "calls",
        title: "Calls of launches, graphs and the pool",
        cases: calls,
    },
    PartRow { part: Part::Launches, name: "launches", title: "What a launch costs", cases: launches },
];

impl Part {
    pub(super) fn all() -> impl Iterator<Item = Part> {
        PARTS.iter().map(|row| row.part)
    }

    pub(super) fn row(self) -> &'static PartRow {
        &PARTS[self as usize]
    }
}

/// Something that is tested.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) test: Box<dyn FnOnce() -> Result<Tested, String>>,
}

/// What a case that did not fail has found.
#[derive(Default)]
pub(super) struct Tested {
    /// Why it did nothing, or not everything.
    pub(super) skipped: Option<String>,
    /// What was measured.
    pub(super) found: Value,
}

/// Returns the one case of a part that only measures.
fn measurement(
    name: &str,
    driver: &DriverArgs,
    measure: fn(&DriverArgs) -> Result<Value, CommandError>,
) -> Result<Vec<Case>, CommandError> {
    let driver = driver.clone();
    let test = move || match measure(&driver) {
        Ok(found) => Ok(Tested { skipped: None, found }),
        Err(error) => Err(error.to_string()),
    };
    Ok(vec![Case { name: name.to_owned(), test: Box::new(test) }])
}

fn about(driver: &DriverArgs) -> Result<Vec<Case>, CommandError> {
    measurement("device", driver, |driver| {
        let session = CommandSession::open(driver)?;
        let mut found = bench::about(&session, "selftest");
        let capabilities = session.launcher.driver().capabilities();
        let names = Capability::ALL.iter().filter(|c| capabilities.has(**c)).map(|c| format!("{c:?}"));
        found["capabilities"] = Value::from(names.collect::<Vec<_>>());
        Ok(found)
    })
}

fn calls(driver: &DriverArgs) -> Result<Vec<Case>, CommandError> {
    measurement("demo", driver, demo::document)
}

fn launches(driver: &DriverArgs) -> Result<Vec<Case>, CommandError> {
    measurement("bench", driver, bench::document)
}

/// Returns the conformance cases. They open the driver themselves.
fn conformance(driver: &DriverArgs) -> Result<Vec<Case>, CommandError> {
    let session = CommandSession::open(driver)?;
    let subject = match session.is_emulated() {
        true => Subject::Emulated {
            target: session.device.properties().target.short().leak(),
            layers: Layers::Bare,
        },
        false if session.launcher.driver().info().name == "hsa" => Subject::Hsa { layers: Layers::Bare },
        false => Subject::Hip { layers: Layers::Bare },
    };
    let of = |case: &'static hip_conformance::Case| Case {
        name: format!("{}/{}", case.room, case.name),
        test: Box::new(move || {
            let ran = hip_conformance::run(subject, case);
            Ok(Tested { skipped: ran.skipped, found: Value::Null })
        }),
    };
    Ok(CASES.iter().map(of).collect())
}
