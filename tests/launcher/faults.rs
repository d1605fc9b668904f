//! Device faults: the report names the launches in flight, and every later call returns it. These tests run on the
//! emulator only, because HIP ends the process.

use hiplaunch::driver::ErrorCode;
use hiplaunch::driver::validation::CallKind;
use hiplaunch::{Arg, Backend, DeviceBuffer, Error, LaunchDims, Launcher};

use hiplaunch_testing::rig::*;

#[test]
fn after_a_stray_store_every_call_returns_the_report_that_names_the_kernel() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let stray = rig.kernel(&PROBE, "oob_store");
    let iota = rig.kernel(&VECTOR, "iota_u32");
    let buffer = DeviceBuffer::<f32>::new(&rig.device, 64).unwrap();
    let good = [Arg::output::<u32>(4), Arg::from(1u32), Arg::from(4i32)];
    let before = rig.launch(iota, LaunchDims::linear(1, 64), &good).unwrap();
    assert_eq!(before.read().unwrap().slice::<u32>(0).unwrap(), [1, 2, 3, 4]);

    rig.launch(stray, LaunchDims::linear(1, 64), &[Arg::Pointer(buffer.ptr()), Arg::from(1i64 << 40)])
        .unwrap();
    let error = rig.stream.synchronize().unwrap_err();
    let Error::DeviceLost(report) = &error else { panic!("{error:?}") };
    assert_eq!(report.code, ErrorCode::ILLEGAL_ADDRESS);
    assert_eq!(report.in_flight.len(), 1, "{report}");
    let culprit = &report.in_flight[0];
    assert_eq!((&*culprit.kernel, culprit.grid, culprit.block), ("oob_store", [1, 1, 1], [64, 1, 1]));
    assert_eq!(culprit.argument_bytes, 16);
    assert_eq!(culprit.arguments[8..16], (1i64 << 40).to_le_bytes());
    let text = error.to_string();
    assert!(text.contains("oob_store") && text.contains("hipErrorIllegalAddress"), "{text}");
    assert!(text.contains("open a new launcher") && !text.contains("new process"), "{text}");

    // Every later call returns the same report and makes no device call.
    let calls = rig.validation().counts();
    let again = rig.launch(iota, LaunchDims::linear(1, 64), &good);
    assert!(matches!(again, Err(Error::DeviceLost(r)) if r == *report));
    assert!(matches!(rig.launcher.stream(&rig.device), Err(Error::DeviceLost(_))));
    assert!(matches!(DeviceBuffer::<u8>::new(&rig.device, 1), Err(Error::DeviceLost(_))));
    assert_eq!(rig.validation().counts().since(&calls).device_calls(), 0);
    assert_eq!(rig.device.fault().as_deref(), Some(&**report));

    // A new launcher works, as the message says.
    let next = Rig::open(Launcher::builder(), Backend::Emulator);
    let iota = next.kernel(&VECTOR, "iota_u32");
    let output = next.launch(iota, LaunchDims::linear(1, 64), &good).unwrap().read().unwrap();
    assert_eq!(output.slice::<u32>(0).unwrap(), [1, 2, 3, 4]);

    // Objects of the lost device can be dropped.
    drop(buffer);
    drop(rig);
}

#[test]
fn the_report_names_a_kernel_that_was_unregistered_in_flight() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let stray = rig.kernel(&PROBE, "oob_store");
    let buffer = DeviceBuffer::<f32>::new(&rig.device, 64).unwrap();
    let args = [Arg::Pointer(buffer.ptr()), Arg::from(1i64 << 40)];
    rig.launch(stray, LaunchDims::linear(1, 64), &args).unwrap();
    rig.launcher.unregister(stray).unwrap();
    match rig.stream.synchronize() {
        Err(Error::DeviceLost(report)) => assert_eq!(&*report.in_flight[0].kernel, "oob_store", "{report}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_ticket_returns_the_fault_of_an_earlier_launch() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let trap = rig.kernel(&PROBE, "trap_kernel");
    let iota = rig.kernel(&VECTOR, "iota_u32");
    rig.launch(trap, LaunchDims::linear(1, 64), &[]).unwrap();
    let args = [Arg::output::<u32>(4), Arg::from(1u32), Arg::from(4i32)];
    match rig.launch(iota, LaunchDims::linear(1, 64), &args).and_then(|t| t.read()) {
        Err(Error::DeviceLost(report)) => assert!(report.code.is_sticky(), "{report}"),
        other => panic!("{other:?}"),
    }
}

/// A kernel may run before its launch has enqueued everything, so that the launch itself may return the fault.
#[test]
fn a_fault_that_the_launch_itself_returns_names_the_launch() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let iota = rig.kernel(&VECTOR, "iota_u32");
    let args = [Arg::output::<u32>(4), Arg::from(1u32), Arg::from(4i32)];
    rig.validation().inject(CallKind::MemcpyDtohAsync, 1, ErrorCode::ILLEGAL_ADDRESS);
    let launched = rig.launch(iota, LaunchDims::linear(1, 64), &args);
    let Err(Error::DeviceLost(report)) = launched else { panic!("{launched:?}") };
    assert_eq!(report.in_flight.len(), 1, "{report}");
    assert_eq!(&*report.in_flight[0].kernel, "iota_u32");
    // The event of a launch is recorded by the next one, which then is not in flight.
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let iota = rig.kernel(&VECTOR, "iota_u32");
    let args = [Arg::output::<u32>(4), Arg::from(1u32), Arg::from(4i32)];
    let unread = rig.launch(iota, LaunchDims::linear(1, 64), &args).unwrap();
    rig.validation().inject(CallKind::EventRecord, 1, ErrorCode::ILLEGAL_ADDRESS);
    match rig.launch(iota, LaunchDims::linear(1, 64), &args) {
        Err(Error::DeviceLost(report)) => assert_eq!(report.in_flight.len(), 1, "{report}"),
        other => panic!("{other:?}"),
    }
    drop(unread);
    // A launch that the driver refused is not in flight.
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let iota = rig.kernel(&VECTOR, "iota_u32");
    rig.validation().inject(CallKind::LaunchKernel, 1, ErrorCode::ILLEGAL_ADDRESS);
    let args = [Arg::output::<u32>(4), Arg::from(1u32), Arg::from(4i32)];
    match rig.launch(iota, LaunchDims::linear(1, 64), &args) {
        Err(Error::DeviceLost(report)) => assert_eq!(report.in_flight, [], "{report}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn other_devices_stay_usable_after_a_fault() {
    use hiplaunch::driver::emulated::{EmulatedDriver, EmulatorOptions};
    let driver = EmulatedDriver::new(EmulatorOptions { devices: 2, ..Default::default() }).unwrap();
    let launcher = Launcher::builder().driver(driver).validate(true).build().unwrap();
    let (a, b) = (launcher.device(0).unwrap(), launcher.device(1).unwrap());
    let (on_a, on_b) = (launcher.stream(a).unwrap(), launcher.stream(b).unwrap());
    // SAFETY: kernels of hip/ with the arguments that they take. The trap is intended.
    unsafe {
        let trap = launcher.register(a, PROBE.for_device(a), "trap_kernel").unwrap();
        let iota = launcher.register(b, VECTOR.for_device(b), "iota_u32").unwrap();
        launcher.launch(trap, &on_a, LaunchDims::linear(1, 64), &[]).unwrap();
        assert!(matches!(on_a.synchronize(), Err(Error::DeviceLost(_))));
        let args = [Arg::output::<u32>(4), Arg::from(1u32), Arg::from(4i32)];
        let output = launcher.launch(iota, &on_b, LaunchDims::linear(1, 64), &args).unwrap().read().unwrap();
        assert_eq!(output.slice::<u32>(0).unwrap(), [1, 2, 3, 4]);
    }
}
