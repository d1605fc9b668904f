//! Measures what a launch costs, over a driver that does nothing: nanoseconds of the host, by `cargo bench`. Without
//! `--bench`, as `cargo test` runs it, each case is launched a few times. Needs hiprtc.

mod workload;

use std::time::Instant;

use cubecl_hiplaunch::{AmdDevice, HipLaunchRuntime, Runtime, set_launcher};
use hiplaunch::driver::noop::NoopDriver;
use hiplaunch::{Compiler, Launcher};
use workload::{Case, Workload};

const CASES: [(&str, Case); 5] = [
    ("arrays", Case::Arrays),
    ("arrays, new scalar", Case::NewScalars),
    ("tensors", Case::Tensors),
    ("tensors, new scalar", Case::TensorsWithNewScalars),
    ("tensors, new shapes", Case::NewShapes),
];

fn main() {
    let measuring = std::env::args().any(|arg| arg == "--bench");
    let (rounds, launches) = if measuring { (41, 5000) } else { (1, 5) };
    let launcher = Launcher::builder().driver(NoopDriver::open()).build().expect("a launcher");
    if let Err(error) = Compiler::new(&launcher.devices()[0].properties().target).check() {
        println!("skipped: {error}");
        return;
    }
    set_launcher(launcher).expect("the first launcher");
    let workload = Workload::new(HipLaunchRuntime::client(&AmdDevice::default()));
    for (name, case) in CASES {
        workload.launch(case, launches);
        workload.wait();
        let mut times: Vec<_> = (0..rounds)
            .map(|_| {
                let start = Instant::now();
                workload.launch(case, launches);
                workload.wait();
                start.elapsed().as_nanos() as f64 / launches as f64
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{name:20} {:6.0} ns (least {:.0})", times[rounds / 2], times[0]);
    }
}
