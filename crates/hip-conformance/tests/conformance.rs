//! The cases on each driver of the machine, with and without layers. A driver that is missing, or that lacks a capability that a
//! case needs, is skipped, and the reason is printed.

use hip_conformance::{CASES, Layers, Subject, run};
use hiplaunch_testing::well_formed::assert_well_formed;

fn run_case(subject: Subject, room: &str, name: &str) {
    let case = CASES.iter().find(|case| (case.room, case.name) == (room, name)).unwrap();
    let ran = run(subject, case);
    if let Some(reason) = ran.skipped {
        println!("skipped on {subject:?}: {reason}");
    }
    if let Some(timeline) = ran.timeline {
        assert_well_formed(&timeline);
    }
}

/// Defines a test of each case for each driver, named `driver::room::case`.
macro_rules! tests_of {
    ($driver:ident, $subject:expr, { $($room:ident: [$($case:ident),* $(,)?])* }) => {
        mod $driver {
            #[allow(unused_imports, reason = "each driver is made by one of the two")]
            use crate::emulated;
            use hip_conformance::{Layers, Subject};

            const SUBJECT: Subject = $subject;

            $(mod $room {
                $(#[test]
                fn $case() {
                    crate::run_case(super::SUBJECT, stringify!($room), stringify!($case));
                })*
            })*
        }
    };
}

const fn emulated(target: &'static str, layers: Layers) -> Subject {
    Subject::Emulated { target, layers }
}

macro_rules! tests {
    ($($rooms:tt)*) => {
        tests_of!(emulated_gfx90a, emulated("gfx90a", Layers::Bare), { $($rooms)* });
        tests_of!(emulated_validated, emulated("gfx90a", Layers::Validation), { $($rooms)* });
        // The code objects for gfx942 are of version 5 and have other hidden arguments.
        tests_of!(emulated_gfx942_validated, emulated("gfx942", Layers::Validation), { $($rooms)* });
        tests_of!(emulated_timeline, emulated("gfx90a", Layers::ValidationOverTimeline), { $($rooms)* });
        tests_of!(emulated_timeline_of_events, emulated("gfx90a", Layers::TimelineOverValidation), { $($rooms)* });
        tests_of!(hip, Subject::Hip { layers: Layers::Bare }, { $($rooms)* });
        tests_of!(hip_validated, Subject::Hip { layers: Layers::Validation }, { $($rooms)* });
        tests_of!(hsa, Subject::Hsa { layers: Layers::Bare }, { $($rooms)* });
        tests_of!(hsa_validated, Subject::Hsa { layers: Layers::Validation }, { $($rooms)* });
        tests_of!(hsa_timeline, Subject::Hsa { layers: Layers::TimelineOverValidation }, { $($rooms)* });
        tests_of!(hip_timeline, Subject::Hip { layers: Layers::TimelineOverValidation }, { $($rooms)* });
    };
}

hip_conformance::cases!(tests);
