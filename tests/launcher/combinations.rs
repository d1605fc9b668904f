//! The parts of a launch's description can be combined: arguments or packed arguments, copied or mapped staging, with
//! or without a destination, with or without a ticket.

use hiplaunch::driver::validation::CallKind;
use hiplaunch::{
    Arg, BufferArg, DeviceBuffer, Error, KernelHandle, Launch, LaunchDims, LaunchProblem, Module,
    Registration, Staging, args,
};

use hiplaunch_testing::rig::*;

const N: usize = 200;
const DIMS: LaunchDims = LaunchDims::cover(N as u32, 64);

/// Returns the packed arguments of `vadd_f32`: x, y, out, n.
fn packed(x: u64, y: u64, out: u64, n: i32) -> [u8; 28] {
    let mut bytes = [0; 28];
    for (i, address) in [x, y, out].into_iter().enumerate() {
        bytes[8 * i..][..8].copy_from_slice(&address.to_le_bytes());
    }
    bytes[24..].copy_from_slice(&n.to_le_bytes());
    bytes
}

fn problem(outcome: hiplaunch::Result<()>) -> LaunchProblem {
    match outcome {
        Err(Error::Launch { problem, .. }) => *problem,
        other => panic!("{other:?}"),
    }
}

/// Launches with a ticket and reads it, or launches without one. Returns the number of outputs.
fn run(rig: &Rig, kernel: KernelHandle, launch: Launch<'_>, ticket: bool) -> hiplaunch::Result<usize> {
    if ticket {
        return Ok(rig.submit(kernel, launch)?.read()?.len());
    }
    // SAFETY: tests pass what the kernels of hip/ take.
    unsafe { rig.launcher.enqueue(kernel, &rig.stream, launch) }.map(|()| 0)
}

#[test]
fn every_staging_works_with_every_destination_with_and_without_a_ticket() {
    on_each(|rig| {
        let vadd = rig.kernel(&VECTOR, "vadd_f32");
        let x: Vec<f32> = (0..N).map(|i| i as f32).collect();
        let y = DeviceBuffer::from_slice(&rig.stream, &[0.5f32; N]).unwrap();
        let want: Vec<f32> = x.iter().map(|x| x + 0.5).collect();
        for staging in [Staging::Copy, Staging::Mapped] {
            for ticket in [true, false] {
                let args = args![Arg::input(&x), &y, Arg::Destination, N as i32];
                let launch = || Launch::new(DIMS).args(&args).staging(staging);
                // The first launch allocates the memory, the second uses it again.
                let mut made: Option<DeviceBuffer<f32>> = None;
                for _ in 0..2 {
                    run(&rig, vadd, launch().destination(&mut made, &[N]), ticket).unwrap();
                    assert_eq!(made.as_ref().unwrap().to_vec(&rig.stream).unwrap(), want);
                }
                let mut buffer = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
                run(&rig, vadd, launch().destination(&mut buffer, &[2, N / 2]), ticket).unwrap();
                assert_eq!(buffer.shape(), [2, N / 2]);
                assert_eq!(buffer.to_vec(&rig.stream).unwrap(), want);
                let view = buffer.view();
                run(&rig, vadd, launch().destination(&view, &[2, N / 2]), ticket).unwrap();
                assert_eq!(view.to_vec(&rig.stream).unwrap(), want);
            }
        }
        rig.assert_clean();
    });
}

#[test]
fn packed_arguments_work_with_every_destination_with_and_without_a_ticket() {
    on_each(|rig| {
        let vadd = rig.kernel(&VECTOR, "vadd_f32");
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let y = DeviceBuffer::from_slice(&rig.stream, &[0.5f32; N]).unwrap();
        // The bytes of the destination's parameter are ignored.
        let bytes = packed(x.ptr().0, y.ptr().0, u64::MAX, N as i32);
        let launch = || Launch::new(DIMS).packed(&bytes).destination_parameter(2);
        for ticket in [true, false] {
            let mut made: Option<DeviceBuffer<f32>> = None;
            for _ in 0..2 {
                assert_eq!(run(&rig, vadd, launch().destination(&mut made, &[N]), ticket).unwrap(), 0);
                assert_eq!(made.as_ref().unwrap().to_vec(&rig.stream).unwrap(), [1.5; N]);
            }
            let mut buffer = DeviceBuffer::<f32>::on(&rig.stream, 10).unwrap();
            // The parameter may be named after the destination too.
            let last =
                Launch::new(DIMS).packed(&bytes).destination(&mut buffer, &[N]).destination_parameter(2);
            run(&rig, vadd, last, ticket).unwrap();
            assert_eq!(buffer.to_vec(&rig.stream).unwrap(), [1.5; N]);
            let view = buffer.view();
            run(&rig, vadd, launch().destination(&view, &[N]), ticket).unwrap();
            assert_eq!(view.to_vec(&rig.stream).unwrap(), [1.5; N]);
        }
        rig.assert_clean();
    });
}

#[test]
fn wrong_combinations_of_packed_arguments_and_a_destination_are_refused() {
    on_each(|rig| {
        let vadd = rig.kernel(&VECTOR, "vadd_f32");
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let mut out = DeviceBuffer::from_slice(&rig.stream, &[7.0f32; N]).unwrap();
        let (from, to) = (x.ptr().0, out.ptr().0);
        let bytes = packed(from, from, 0, N as i32);
        let launches = rig.validation().counts().get(CallKind::LaunchKernel);
        // SAFETY: refused before anything runs.
        let refused =
            |launch: Launch<'_>| problem(unsafe { rig.launcher.enqueue(vadd, &rig.stream, launch) });
        let launch = || Launch::new(DIMS).packed(&bytes);
        let says = |problem: LaunchProblem, part: &str| {
            assert!(problem.to_string().contains(part), "{problem}");
        };
        says(refused(launch().destination(&mut out, &[N])), "destination_parameter");
        says(refused(launch().destination_parameter(2)), "no memory");
        says(refused(launch().destination_parameter(4).destination(&mut out, &[N])), "parameter 4 of 4");
        says(refused(launch().destination_parameter(3).destination(&mut out, &[N])), "is a value");
        // The address of an input lies in the destination's memory.
        let alias = packed(from, to + 8, 0, N as i32);
        let aliased = Launch::new(DIMS).packed(&alias).destination_parameter(2).destination(&mut out, &[N]);
        says(refused(aliased), "argument 1");
        // An input that begins before the destination reaches into it, which is known if its buffer is named.
        let (part, named) = (out.view_strided(16, &[N - 16], &[1]).unwrap(), [BufferArg::from(&out)]);
        let whole = packed(to, from, 0, N as i32);
        let reaching = Launch::new(DIMS).packed_with(&whole, &named).destination_parameter(2);
        says(refused(reaching.destination(&part, &[N - 16])), "argument 0");
        // With `args`, the argument `Arg::Destination` takes the destination, and no other.
        let args = args![&x, &x, Arg::Destination, N as i32];
        let other = Launch::new(DIMS).args(&args).destination(&mut out, &[N]).destination_parameter(1);
        says(refused(other), "argument 2 is `Arg::Destination`");
        assert_eq!(rig.validation().counts().get(CallKind::LaunchKernel), launches);
        assert_eq!(out.to_vec(&rig.stream).unwrap(), [7.0; N]);
        rig.assert_clean();
    });
}

#[test]
fn a_launch_without_a_ticket_records_no_event_and_refuses_outputs() {
    on_each(|rig| {
        let (vadd, saxpy) = (rig.kernel(&VECTOR, "vadd_f32"), rig.kernel(&VECTOR, "saxpy"));
        let x = [2.0f32; N];
        let y = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let before = rig.validation().counts();
        // SAFETY: tests pass what the kernels of hip/ take.
        let enqueue =
            |kernel, launch: Launch<'_>| unsafe { rig.launcher.enqueue(kernel, &rig.stream, launch) };
        for staging in [Staging::Copy, Staging::Mapped] {
            let outputs = [
                [Arg::input(&x), Arg::from(&y), Arg::output::<f32>(N), Arg::from(N as i32)],
                [Arg::inout(&x), Arg::from(&y), Arg::from(&y), Arg::from(N as i32)],
            ];
            for args in &outputs {
                let refused = enqueue(vadd, Launch::new(DIMS).args(args).staging(staging));
                assert_eq!(problem(refused), LaunchProblem::OutputWithoutTicket);
            }
        }
        assert_eq!(rig.validation().counts().since(&before).device_calls(), 0);
        let args = args![3.0f32, Arg::input(&x), &y, N as i32];
        enqueue(saxpy, Launch::new(DIMS).args(&args)).unwrap();
        let since = rig.validation().counts().since(&before);
        assert_eq!((since.get(CallKind::LaunchKernel), since.get(CallKind::EventRecord)), (1, 0));
        assert_eq!(y.to_vec(&rig.stream).unwrap(), [7.0; N]);
        rig.assert_clean();
    });
}

#[test]
fn one_launch_can_have_outputs_and_a_destination() {
    on_each(|rig| {
        let vadd = rig.kernel(&VECTOR, "vadd_f32");
        let (x, y) = ([1.0f32; N], [2.0f32; N]);
        for staging in [Staging::Copy, Staging::Mapped] {
            let mut out: Option<DeviceBuffer<f32>> = None;
            let args = args![Arg::inout(&x), Arg::input(&y), Arg::Destination, N as i32];
            let launch = Launch::new(DIMS).args(&args).staging(staging).destination(&mut out, &[N]);
            let output = rig.submit(vadd, launch).unwrap().read().unwrap();
            assert_eq!((output.len(), output.slice::<f32>(0).unwrap()), (1, &x[..]));
            assert_eq!(out.unwrap().to_vec(&rig.stream).unwrap(), [3.0; N]);
        }
        rig.assert_clean();
    });
}

#[test]
fn a_kernel_is_launched_without_its_handle() {
    on_each(|rig| {
        let vadd = rig.kernel(&VECTOR, "vadd_f32");
        let kernel = rig.launcher.kernel(vadd).unwrap();
        assert_eq!(kernel.handle(), vadd);
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let mut out: Option<DeviceBuffer<f32>> = None;
        let args = args![&x, &x, Arg::Destination, N as i32];
        let from_host = [Arg::from(&x), Arg::from(&x), Arg::output::<f32>(N), Arg::from(N as i32)];
        // SAFETY: the arguments are those that the kernel takes.
        unsafe {
            kernel.enqueue(&rig.stream, Launch::new(DIMS).args(&args).destination(&mut out, &[N])).unwrap();
            let ticket = kernel.submit(&rig.stream, Launch::new(DIMS).args(&from_host)).unwrap();
            assert_eq!(ticket.read().unwrap().slice::<f32>(0).unwrap(), [2.0; N]);
            assert_eq!(out.unwrap().to_vec(&rig.stream).unwrap(), [2.0; N]);
            // It stays this kernel after its handle was unregistered.
            rig.launcher.unregister(vadd).unwrap();
            let again = kernel.submit(&rig.stream, Launch::new(DIMS).args(&from_host)).unwrap();
            assert_eq!(again.read().unwrap().slice::<f32>(0).unwrap(), [2.0; N]);
        }
        rig.assert_clean();
    });
}

#[test]
fn in_place_of_a_registration_holds_for_the_first_launch_and_for_a_replacement() {
    on_each(|rig| {
        // SAFETY: the kernels of hip/ do what their README says.
        let module = unsafe { Module::load(&rig.device, VECTOR.for_device(&rig.device)) }.unwrap();
        let mut y = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        let view = y.view();
        let args = args![&view, &view, Arg::Destination, N as i32];
        let mut double = |kernel| {
            let launch = Launch::new(DIMS).args(&args).destination(&mut y, &[N]);
            // SAFETY: the arguments are those that the kernel takes.
            unsafe { rig.launcher.enqueue(kernel, &rig.stream, launch) }
        };
        // SAFETY: every work-item reads only its own element, before it writes it.
        let in_place = || unsafe { Registration::new(&module, "vadd_f32").in_place() };
        let kernel = rig.launcher.register_kernel(in_place()).unwrap();
        double(kernel).unwrap();
        rig.launcher.replace_kernel(kernel, Registration::new(&module, "vadd_f32")).unwrap();
        assert!(matches!(problem(double(kernel)), LaunchProblem::Destination(_)));
        rig.launcher.replace_kernel(kernel, in_place()).unwrap();
        double(kernel).unwrap();
        assert_eq!(view.to_vec(&rig.stream).unwrap(), [4.0; N]);
        rig.assert_clean();
    });
}
