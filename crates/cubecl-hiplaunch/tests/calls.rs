//! How many HIP calls a launch makes, over a driver that does nothing. Needs hiprtc, as the launcher reads what it compiles.

#[path = "../benches/workload/mod.rs"]
mod workload;

use cubecl_hiplaunch::{AmdDevice, HipLaunchRuntime, Runtime, set_launcher};
use hip_driver_layers::counts::CountingDriver;
use hiplaunch::driver::noop::NoopDriver;
use hiplaunch::{Compiler, Launcher};
use workload::{Case, Workload};

/// Launches of which calls are counted.
const LAUNCHES: usize = 512;

#[test]
fn a_launch_makes_one_call_and_two_if_its_shapes_are_new() {
    let driver = CountingDriver::new(NoopDriver::open());
    let launcher = Launcher::builder().driver(driver.clone()).build().expect("a launcher");
    if let Err(error) = Compiler::new(&launcher.devices()[0].properties().target).check() {
        println!("skipped: {error}");
        return;
    }
    set_launcher(launcher).expect("the first launcher");
    let workload = Workload::new(HipLaunchRuntime::client(&AmdDevice::default()));
    for (case, calls) in [
        (Case::Arrays, 1),
        (Case::NewScalars, 1),
        (Case::Tensors, 1),
        (Case::TensorsWithNewScalars, 1),
        (Case::NewShapes, 2),
    ] {
        workload.launch(case, 8);
        workload.wait();
        let before = driver.layer().counts();
        workload.launch(case, LAUNCHES);
        workload.wait();
        let made = driver.layer().counts().since(&before).device_calls();
        // Waiting records an event, and so does the staging ring whenever it leaves one of its buffers.
        let allowed = calls * LAUNCHES as u64..=calls * LAUNCHES as u64 + 8;
        assert!(allowed.contains(&made), "{case:?}: {made} calls of {LAUNCHES} launches");
    }
}
