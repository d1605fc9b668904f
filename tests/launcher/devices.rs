//! One handle for the kernels of several devices, and memory between devices.

use hiplaunch::driver::emulated::EmulatorOptions;
use hiplaunch::driver::noop::NoopDriver;
use hiplaunch::driver::{CallKind, Capabilities, Capability, DeviceId, ErrorCode};
use hiplaunch::graph::GraphArg;
use hiplaunch::{
    Arg, Backend, BufferArg, Device, DeviceBuffer, Error, Event, EventOptions, FatBinary, KernelHandle,
    Launch, LaunchDims, LaunchProblem, Launcher, LazyModule, Registration, Stream, args,
};
use hiplaunch_testing::rig::{VECTOR, backends};

use super::lds::layout;

fn bundle(name: &str) -> FatBinary<'static> {
    let folder = env!("CARGO_MANIFEST_DIR");
    FatBinary::new(name.to_owned(), std::fs::read(format!("{folder}/hip/{name}.hipfb")).expect(name))
}

fn lazy(name: &str) -> LazyModule {
    // SAFETY: the kernels of hip/ do what their README says.
    unsafe { LazyModule::new(bundle(name)) }
}

/// Four emulated devices, with the validation layer.
fn four() -> Launcher {
    let options = EmulatorOptions { devices: 4, ..EmulatorOptions::default() };
    Launcher::builder()
        .backend(Backend::Emulator)
        .emulator(options)
        .validate(true)
        .build()
        .expect("a launcher")
}

/// Runs a test on four emulated devices, and on all devices of a machine with GPUs.
fn on_all(test: impl Fn(&Launcher)) {
    for backend in backends() {
        println!("backend {backend}");
        let launcher = match backend {
            Backend::Emulator => four(),
            other => Launcher::builder().backend(other).validate(true).build().expect("a launcher"),
        };
        test(&launcher);
        let violations = launcher.validation().expect("the validation layer").violations();
        assert!(violations.is_empty(), "{violations:#?}");
    }
}

fn count(launcher: &Launcher, kind: CallKind) -> u64 {
    launcher.validation().expect("the validation layer").counts().get(kind)
}

fn streams(launcher: &Launcher) -> Vec<Stream> {
    launcher.devices().iter().map(|device| launcher.stream(device).expect("a stream")).collect()
}

/// Launches `iota_u32` and returns its 8 elements.
fn iota(
    launcher: &Launcher,
    kernel: KernelHandle,
    stream: &Stream,
    first: u32,
) -> hiplaunch::Result<Vec<u32>> {
    let args = args![Arg::output::<u32>(8), first, 8i32];
    // SAFETY: the arguments are those that the kernel takes.
    let ticket = unsafe { launcher.launch(kernel, stream, LaunchDims::linear(1, 64), &args) }?;
    Ok(ticket.read()?.slice::<u32>(0)?.to_vec())
}

fn from(first: u32) -> Vec<u32> {
    (first..first + 8).collect()
}

#[test]
fn a_kernel_is_loaded_on_a_device_at_its_first_launch_there() {
    on_all(|launcher| {
        let vector = lazy("vector");
        let kernel = launcher.register_kernel(Registration::new(&vector, "iota_u32")).unwrap();
        let other = launcher.register_kernel(Registration::new(&vector, "saxpy")).unwrap();
        assert_eq!((launcher.registered(), count(launcher, CallKind::ModuleLoad)), (2, 0));
        assert_eq!(vector.loaded_on(), []);
        assert_eq!(launcher.signature(kernel).unwrap().explicit_args().len(), 3);
        let streams = streams(launcher);
        for (i, stream) in streams.iter().enumerate() {
            assert_eq!(iota(launcher, kernel, stream, 7 * i as u32).unwrap(), from(7 * i as u32));
            assert_eq!(count(launcher, CallKind::ModuleLoad), i as u64 + 1);
            assert_eq!(vector.loaded_on(), launcher.devices()[..=i]);
        }
        let (loads, functions) = (streams.len() as u64, streams.len() as u64);
        for round in 0..3 {
            for stream in &streams {
                assert_eq!(iota(launcher, kernel, stream, round).unwrap(), from(round));
            }
        }
        assert_eq!(count(launcher, CallKind::ModuleLoad), loads);
        assert_eq!(count(launcher, CallKind::ModuleGetFunction), functions);
        // Another kernel of the same module finds it loaded.
        for (stream, device) in streams.iter().zip(launcher.devices()) {
            let y = DeviceBuffer::from_slice(stream, &[1.0f32; 4]).unwrap();
            let args = args![2.0f32, &y, &y, 4i32];
            // SAFETY: as above.
            unsafe { launcher.launch(other, stream, LaunchDims::linear(1, 64), &args) }.unwrap();
            assert_eq!(y.to_vec(stream).unwrap(), [3.0; 4]);
            assert_eq!(launcher.kernel(other).unwrap().attributes(device).unwrap().static_lds, 0);
        }
        assert_eq!(count(launcher, CallKind::ModuleLoad), loads);
        launcher.unregister(kernel).unwrap();
        assert!(matches!(iota(launcher, kernel, &streams[0], 0), Err(Error::StaleHandle(_))));
        launcher.unregister(other).unwrap();
        drop(vector);
        launcher.collect();
        assert_eq!(count(launcher, CallKind::ModuleUnload), loads, "nothing uses it any more");
    });
}

#[test]
fn a_kernel_may_be_loaded_before_its_first_launch() {
    let launcher = four();
    let vector = lazy("vector");
    let kernel = launcher.register_kernel(Registration::new(&vector, "iota_u32")).unwrap();
    for device in launcher.devices() {
        assert_eq!(vector.on(device).unwrap().device(), device);
    }
    assert_eq!(count(&launcher, CallKind::ModuleLoad), 4);
    streams(&launcher)
        .iter()
        .for_each(|stream| assert_eq!(iota(&launcher, kernel, stream, 1).unwrap(), from(1)));
    assert_eq!(count(&launcher, CallKind::ModuleLoad), 4);
}

#[test]
fn threads_that_launch_first_at_the_same_time_load_once() {
    let launcher = four();
    for _ in 0..5 {
        let before = count(&launcher, CallKind::ModuleLoad);
        let kernel = launcher.register_kernel(Registration::new(&lazy("vector"), "iota_u32")).unwrap();
        std::thread::scope(|scope| {
            for i in 0..8 {
                let launcher = &launcher;
                scope.spawn(move || {
                    let stream = launcher.stream(&launcher.devices()[i % 4]).unwrap();
                    assert_eq!(iota(launcher, kernel, &stream, i as u32).unwrap(), from(i as u32));
                });
            }
        });
        assert_eq!(count(&launcher, CallKind::ModuleLoad), before + 4);
        launcher.unregister(kernel).unwrap();
    }
    launcher.validation().unwrap().assert_clean().unwrap();
}

#[test]
fn each_device_gets_the_code_object_of_its_target() {
    let targets = ["gfx90a:sramecc+:xnack-", "gfx942:sramecc+:xnack-", "gfx1030", "gfx1100"];
    let capabilities = Capabilities::from_iter([Capability::GenericCodeObjects]);
    let driver = NoopDriver::with_devices(targets.map(|t| t.parse().unwrap()).to_vec(), capabilities);
    let launcher = Launcher::builder().driver(driver).validate(false).build().unwrap();
    let vector = lazy("vector");
    let kernel = launcher.register_kernel(Registration::new(&vector, "iota_u32")).unwrap();
    let expected = ["gfx90a", "gfx942", "gfx10-3-generic", "gfx11-generic"];
    for (device, expected) in launcher.devices().iter().zip(expected) {
        let stream = launcher.stream(device).unwrap();
        // SAFETY: the driver runs nothing.
        unsafe { launcher.enqueue(kernel, &stream, Launch::new(LaunchDims::linear(1, 64)).packed(&[0; 16])) }
            .unwrap();
        assert_eq!(vector.on(device).unwrap().code_object().target().short(), expected);
        let attributes = launcher.kernel(kernel).unwrap().attributes(device).unwrap();
        assert_eq!(attributes.wavefront_size, device.properties().wavefront_size, "{expected}");
    }
}

#[test]
fn a_device_without_code_refuses_launches_and_others_do_not() {
    let targets = ["gfx90a:sramecc+:xnack-", "gfx1030"].map(|t| t.parse().unwrap()).to_vec();
    let launcher = Launcher::builder().driver(NoopDriver::with_devices(targets, Capabilities::NONE));
    let launcher = launcher.validate(false).build().unwrap();
    let one = FatBinary::new("vector", VECTOR.for_device(launcher.device(0).unwrap()));
    // SAFETY: the driver runs nothing.
    let module = unsafe { LazyModule::new(one) };
    let kernel = launcher.register_kernel(Registration::new(&module, "iota_u32")).unwrap();
    let launch = |device: &Device| {
        let stream = launcher.stream(device).unwrap();
        // SAFETY: as above.
        unsafe { launcher.enqueue(kernel, &stream, Launch::new(LaunchDims::linear(1, 64)).packed(&[0; 16])) }
    };
    launch(&launcher.devices()[0]).unwrap();
    for _ in 0..2 {
        let error = launch(&launcher.devices()[1]).unwrap_err();
        let Error::NoCode(reason) = &error else { panic!("{error}") };
        assert_eq!(reason.device, DeviceId(1));
        assert!(error.to_string().contains("gfx1030"), "{error}");
    }
    launch(&launcher.devices()[0]).unwrap();
    // None of the devices can run this one.
    // SAFETY: as above.
    let wrong =
        unsafe { LazyModule::new(FatBinary::new("vector", VECTOR.wrong_for(launcher.device(0).unwrap()))) };
    let refused = launcher.register_kernel(Registration::new(&wrong, "iota_u32"));
    assert!(matches!(refused, Err(Error::NoCode(_))), "{refused:?}");
}

#[test]
fn what_is_wrong_with_the_code_is_found_at_registration() {
    let launcher = four();
    let refused = launcher.register_kernel(Registration::new(&lazy("vector"), "sapxy")).unwrap_err();
    assert!(refused.to_string().contains("saxpy"), "the kernels that there are: {refused}");
    // SAFETY: it is refused.
    let broken = unsafe { LazyModule::new(FatBinary::new("broken", &b"\x7fELF and no more"[..])) };
    let refused = launcher.register_kernel(Registration::new(&broken, "saxpy"));
    assert!(matches!(refused, Err(Error::CodeObject(_))), "{refused:?}");
    let layout = layout(1 << 16);
    // The static LDS of the kernel and the layout are more than a device has.
    let reduce = lazy("reduce");
    let registration = Registration::new(&reduce, "reduce_sum_f32").lds_layout(&layout);
    let refused = launcher.register_kernel(registration).unwrap_err();
    let is_lds = |error: &Error| matches!(error, Error::Launch { problem, .. } if matches!(**problem, LaunchProblem::Lds { .. }));
    assert!(is_lds(&refused), "{refused}");
    let kernel = launcher.register_kernel(Registration::new(&reduce, "reduce_sum_f32")).unwrap();
    assert!(is_lds(&launcher.set_lds_layout(kernel, &layout).unwrap_err()));
    assert_eq!((launcher.registered(), count(&launcher, CallKind::ModuleLoad)), (1, 0));
}

#[test]
fn a_load_that_fails_is_tried_again_at_the_next_launch() {
    let launcher = four();
    let kernel = launcher.register_kernel(Registration::new(&lazy("vector"), "iota_u32")).unwrap();
    let streams = streams(&launcher);
    for (call, loads) in [(CallKind::ModuleLoad, 1), (CallKind::ModuleGetFunction, 1)] {
        launcher.validation().unwrap().inject(call, 1, ErrorCode::OUT_OF_MEMORY);
        let stream = &streams[loads];
        let error = iota(&launcher, kernel, stream, 1).unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::OUT_OF_MEMORY), "{error}");
        assert!(error.to_string().contains("iota_u32"), "{error}");
    }
    for stream in &streams {
        assert_eq!(iota(&launcher, kernel, stream, 3).unwrap(), from(3));
    }
    launcher.validation().unwrap().assert_clean().unwrap();
}

#[test]
fn a_replacement_is_for_the_same_devices() {
    on_all(|launcher| {
        let kernel = launcher.register_kernel(Registration::new(&lazy("vector"), "iota_u32")).unwrap();
        let streams = streams(launcher);
        streams.iter().for_each(|stream| assert_eq!(iota(launcher, kernel, stream, 2).unwrap(), from(2)));
        let held = launcher.kernel(kernel).unwrap();
        assert_eq!((held.handle(), held.name(), held.device()), (kernel, "iota_u32", None));
        let bundle = std::fs::read(format!("{}/hip/vector.hipfb", env!("CARGO_MANIFEST_DIR"))).unwrap();
        // SAFETY: a kernel of hip/.
        unsafe { launcher.replace(kernel, &bundle, "saxpy") }.unwrap();
        for stream in &streams {
            let y = DeviceBuffer::from_slice(stream, &[1.0f32; 4]).unwrap();
            let args = args![2.0f32, &y, &y, 4i32];
            // SAFETY: the arguments are those that the kernel takes.
            unsafe { launcher.launch(kernel, stream, LaunchDims::linear(1, 64), &args) }.unwrap();
            assert_eq!(y.to_vec(stream).unwrap(), [3.0; 4]);
            // The old one can be launched as long as it is held, on every device.
            let args = args![Arg::output::<u32>(8), 5u32, 8i32];
            // SAFETY: as above.
            let ticket = unsafe { held.submit(stream, Launch::new(LaunchDims::linear(1, 64)).args(&args)) };
            assert_eq!(ticket.unwrap().read().unwrap().slice::<u32>(0).unwrap(), from(5));
        }
        let device = &launcher.devices()[0];
        // SAFETY: as above.
        let module = unsafe { hiplaunch::Module::load(device, VECTOR.for_device(device)) }.unwrap();
        let refused = launcher.replace_kernel(kernel, Registration::new(&module, "saxpy"));
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
        let one = launcher.register_kernel(Registration::new(&module, "saxpy")).unwrap();
        let refused = launcher.replace_kernel(one, Registration::new(&lazy("vector"), "saxpy"));
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    });
}

#[test]
fn a_handle_of_all_devices_is_not_for_those_of_another_launcher() {
    let (launcher, other) = (four(), four());
    let kernel = launcher.register_kernel(Registration::new(&lazy("vector"), "iota_u32")).unwrap();
    let stream = other.stream(&other.devices()[0]).unwrap();
    let error = iota(&launcher, kernel, &stream, 0).unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
    assert_eq!(count(&other, CallKind::ModuleLoad), 0);
    let refused = launcher.kernel(kernel).unwrap().attributes(&other.devices()[0]);
    assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
}

#[test]
fn destinations_layouts_and_graphs_work_with_a_handle_of_all_devices() {
    on_all(|launcher| {
        let vector = lazy("vector");
        let vadd = launcher.register_kernel(Registration::new(&vector, "vadd_f32")).unwrap();
        // SAFETY: each work-item reads its elements before it writes its own.
        unsafe { launcher.declare_in_place(vadd, true) }.unwrap();
        for (device, stream) in launcher.devices().iter().zip(streams(launcher)) {
            let mut x = DeviceBuffer::from_slice(&stream, &[2.0f32; 16]).unwrap();
            let y = x.view();
            let launch_args = args![&y, &y, Arg::Destination, 16i32];
            let launch = Launch::new(LaunchDims::linear(1, 64)).args(&launch_args).destination(&mut x, &[16]);
            // SAFETY: the arguments are those that the kernel takes.
            unsafe { launcher.submit(vadd, &stream, launch) }.unwrap();
            assert_eq!(x.to_vec(&stream).unwrap(), [4.0; 16]);
            let mut graph = launcher.graph(device).unwrap();
            let value = graph.buffer(&x.view()).unwrap();
            let out = graph.temporary::<f32>(16).unwrap();
            let args =
                [GraphArg::Read(value), GraphArg::Read(value), GraphArg::Write(out), GraphArg::from(16i32)];
            // SAFETY: as above.
            unsafe { graph.launch(vadd, LaunchDims::linear(1, 64), &args) }.unwrap();
            graph.read(&out).unwrap();
            assert_eq!(graph.compute(&stream).unwrap().read().unwrap().slice::<f32>(0).unwrap(), [8.0; 16]);
        }
    });
}

#[test]
fn a_fault_on_one_device_leaves_the_handle_usable_on_the_others() {
    let launcher = four();
    let trap = launcher.register_kernel(Registration::new(&lazy("probe"), "trap_kernel")).unwrap();
    let kernel = launcher.register_kernel(Registration::new(&lazy("vector"), "iota_u32")).unwrap();
    let streams = streams(&launcher);
    // SAFETY: the trap is intended.
    unsafe { launcher.launch(trap, &streams[2], LaunchDims::linear(1, 64), &[]) }.unwrap();
    assert!(matches!(streams[2].synchronize(), Err(Error::DeviceLost(_))));
    for (i, stream) in streams.iter().enumerate() {
        match iota(&launcher, kernel, stream, 1) {
            Ok(data) => assert!(i != 2 && data == from(1)),
            Err(error) => assert!(i == 2 && matches!(error, Error::DeviceLost(_)), "{error}"),
        }
    }
}

#[test]
fn buffers_are_copied_between_devices() {
    on_all(|launcher| {
        let capabilities = launcher.driver().capabilities();
        let streams = streams(launcher);
        if streams.len() < 2 || !capabilities.has(Capability::CopyPeer) {
            println!("skipped: one device, or no peer copies");
            return;
        }
        let data: Vec<u32> = (0..5000).collect();
        let mut buffers: Vec<DeviceBuffer<u32>> =
            streams.iter().map(|stream| DeviceBuffer::on(stream, data.len()).unwrap()).collect();
        buffers[0].upload(&streams[0], &data).unwrap();
        for i in 1..buffers.len() {
            let event = Event::new(&launcher.devices()[i - 1], EventOptions::default()).unwrap();
            event.record(&streams[i - 1]).unwrap();
            event.wait_on(&streams[i]).unwrap();
            let source = buffers[i - 1].view();
            // The second half by a view, the first by the buffer.
            let (first, second) = (source.slice(0, 0, 2500).unwrap(), source.slice(0, 2500, 5000).unwrap());
            let view = buffers[i].view().slice(0, 2500, 5000).unwrap();
            buffers[i].copy_from(&streams[i], &first).unwrap();
            view.copy_from(&streams[i], &second).unwrap();
        }
        let last = buffers.len() - 1;
        assert_eq!(buffers[last].to_vec(&streams[last]).unwrap(), data);
        // The source's memory is kept until the copy has read it.
        let mut target = DeviceBuffer::<u32>::on(&streams[1], 5000).unwrap();
        let source = DeviceBuffer::from_slice(&streams[0], &data).unwrap();
        streams[0].synchronize().unwrap();
        target.copy_from(&streams[1], &source.view()).unwrap();
        drop(source);
        let again = DeviceBuffer::from_slice(&streams[0], &[9u32; 5000]).unwrap();
        assert_eq!(target.to_vec(&streams[1]).unwrap(), data);
        drop(again);
        // The stream is on the device of what is written.
        let refused = target.copy_from(&streams[0], &buffers[0].view());
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    });
}

#[test]
fn memory_of_another_driver_is_not_copied() {
    let (launcher, other) = (four(), four());
    let stream = launcher.stream(&launcher.devices()[0]).unwrap();
    let source = DeviceBuffer::<u32>::new(&other.devices()[0], 16).unwrap();
    let mut target = DeviceBuffer::<u32>::new(&launcher.devices()[0], 16).unwrap();
    let error = target.copy_from(&stream, &source.view()).unwrap_err();
    assert!(error.to_string().contains("another launcher"), "{error}");
    let peers = launcher.devices()[0].enable_peer_access(&other.devices()[1]).unwrap_err();
    assert!(matches!(peers, Error::Invalid { .. }), "{peers}");
    assert!(launcher.devices()[0].can_access_peer(&other.devices()[1]).is_err());
}

#[test]
fn a_kernel_reads_the_memory_of_a_peer_once_that_is_allowed() {
    on_all(|launcher| {
        let [here, there, ..] = launcher.devices() else { return println!("skipped: one device") };
        if !here.can_access_peer(there).unwrap() {
            return println!("skipped: the devices are no peers");
        }
        assert!(!here.can_access_peer(here).unwrap());
        here.enable_peer_access(there).unwrap();
        here.enable_peer_access(there).unwrap();
        let kernel = launcher.register_kernel(Registration::new(&lazy("vector"), "vadd_f32")).unwrap();
        let (on_here, on_there) = (launcher.stream(here).unwrap(), launcher.stream(there).unwrap());
        let x = DeviceBuffer::from_slice(&on_there, &[3.0f32; 64]).unwrap();
        on_there.synchronize().unwrap();
        let sum = DeviceBuffer::<f32>::on(&on_here, 64).unwrap();
        let args = args![&x, &x, &sum, 64i32];
        // SAFETY: the arguments are those that the kernel takes.
        unsafe { launcher.launch(kernel, &on_here, LaunchDims::linear(1, 64), &args) }.unwrap();
        drop(x);
        assert_eq!(sum.to_vec(&on_here).unwrap(), [6.0; 64]);
    });
}

#[test]
fn without_permission_a_kernel_does_not_read_a_peers_memory() {
    for (validate, is_packed) in [(true, false), (true, true), (false, false), (false, true)] {
        let options = EmulatorOptions { devices: 2, ..EmulatorOptions::default() };
        let builder = Launcher::builder().backend(Backend::Emulator).emulator(options).validate(validate);
        let launcher = builder.build().unwrap();
        let [here, there] = launcher.devices() else { panic!("two devices") };
        let kernel = launcher.register_kernel(Registration::new(&lazy("vector"), "vadd_f32")).unwrap();
        let stream = launcher.stream(here).unwrap();
        let x = DeviceBuffer::<f32>::new(there, 64).unwrap();
        let sum = DeviceBuffer::<f32>::on(&stream, 64).unwrap();
        let args = args![&x, &x, &sum, 64i32];
        let buffers = [&x, &x, &sum].map(BufferArg::from);
        let mut packed = [0; 28];
        for (place, buffer) in packed.chunks_exact_mut(8).zip(&buffers) {
            place.copy_from_slice(&buffer.ptr().0.to_le_bytes());
        }
        packed[24..].copy_from_slice(&64i32.to_le_bytes());
        let launch = Launch::new(LaunchDims::linear(1, 64));
        let launch = if is_packed { launch.packed_with(&packed, &buffers) } else { launch.args(&args) };
        // SAFETY: the validation layer refuses the launch; the emulator stops the kernel.
        let launched = unsafe { launcher.enqueue(kernel, &stream, launch) };
        let error = launched.and_then(|_| stream.synchronize()).unwrap_err();
        let expected = if validate { ErrorCode::INVALID_DEVICE_POINTER } else { ErrorCode::ILLEGAL_ADDRESS };
        assert_eq!(error.code(), Some(expected), "{error}");
    }
}
