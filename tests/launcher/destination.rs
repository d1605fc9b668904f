//! Launches with a destination: which memory they use, what they refuse, and what they leave unchanged after an error.

use hiplaunch::driver::emulated::{EmulatedDriver, EmulatorOptions};
use hiplaunch::driver::validation::{CallGroup, CallKind};
use hiplaunch::driver::{DevicePtr, ErrorCode};
use hiplaunch::{
    Arg, ArgumentBlock, Destination, DeviceBuffer, Error, KernelHandle, Launch, LaunchDims, LaunchProblem,
    Launcher, Patch, PatchTarget, args,
};

use hiplaunch_testing::rig::*;

const N: usize = 1000;

struct Adder {
    rig: Rig,
    vadd: KernelHandle,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
}

/// Prepares launches of `out[i] = x[i] + y[i]` with `x[i] = i` and `y[i] = 0.5`.
fn adder(rig: Rig) -> Adder {
    let vadd = rig.kernel(&VECTOR, "vadd_f32");
    let x: Vec<f32> = (0..N).map(|i| i as f32).collect();
    let x = DeviceBuffer::from_slice(&rig.stream, &x).unwrap();
    let y = DeviceBuffer::from_slice(&rig.stream, &[0.5f32; N]).unwrap();
    Adder { rig, vadd, x, y }
}

impl Adder {
    fn add<'d>(
        &self,
        destination: impl Into<Destination<'d>>,
        shape: &'d [usize],
    ) -> hiplaunch::Result<hiplaunch::Ticket> {
        let n = shape.iter().fold(1usize, |n, s| n.wrapping_mul(*s)) as i32;
        self.call(destination, shape, &args![&self.x, &self.y, Arg::Destination, n])
    }

    fn call<'d>(
        &self,
        destination: impl Into<Destination<'d>>,
        shape: &'d [usize],
        args: &[Arg<'_>],
    ) -> hiplaunch::Result<hiplaunch::Ticket> {
        let items = shape.iter().fold(1usize, |n, s| n.wrapping_mul(*s));
        let dims = LaunchDims::cover(items as u32, 256);
        self.rig.submit(self.vadd, Launch::new(dims).args(args).destination(destination, shape))
    }

    fn check(&self, result: &[f32]) {
        assert!(result.iter().enumerate().all(|(i, v)| *v == i as f32 + 0.5));
    }

    fn allocations(&self) -> u64 {
        self.rig.validation().counts().get(CallGroup::DeviceAllocation)
    }
}

fn refused(outcome: hiplaunch::Result<hiplaunch::Ticket>, part: &str) {
    match outcome {
        Err(Error::Launch { problem, .. }) => {
            assert!(matches!(*problem, LaunchProblem::Destination(_)), "{problem}");
            assert!(problem.to_string().contains(part), "{problem}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_destination_that_is_large_enough_keeps_its_memory() {
    on_each(|rig| {
        let a = adder(rig);
        let mut out = DeviceBuffer::<f32>::on(&a.rig.stream, N).unwrap();
        let (ptr, capacity) = (out.ptr(), out.capacity());
        a.rig.stream.synchronize().unwrap();
        let before = a.rig.validation().counts();
        // Smaller shapes, and shapes of the destination's size.
        for shape in [&[10, 20][..], &[N], &[1], &[5, 10, 20]] {
            a.add(&mut out, shape).unwrap();
            assert_eq!((out.ptr(), out.capacity(), out.shape()), (ptr, capacity, shape));
            assert_eq!(out.len(), shape.iter().product::<usize>());
            a.check(&out.to_vec(&a.rig.stream).unwrap());
        }
        assert_eq!(out.strides(), [200, 20, 1], "strides follow the shape");
        let counts = a.rig.validation().counts().since(&before);
        assert_eq!(counts.get(CallGroup::DeviceAllocation) + counts.get(CallGroup::DeviceFree), 0);
        assert_eq!(counts.get(CallKind::LaunchKernel), 4);
        a.rig.assert_clean();
    });
}

#[test]
fn a_destination_that_is_missing_or_too_small_gets_new_memory_and_the_old_is_freed() {
    on_each(|rig| {
        let a = adder(rig);
        let mut none: Option<DeviceBuffer<f32>> = None;
        a.add(&mut none, &[N]).unwrap();
        let made = none.as_ref().unwrap();
        a.check(&made.to_vec(&a.rig.stream).unwrap());
        assert_eq!(made.stream_number(), a.rig.stream.number());
        // The next launch uses this memory.
        let ptr = made.ptr();
        a.add(&mut none, &[N / 2]).unwrap();
        assert_eq!(none.as_ref().unwrap().ptr(), ptr);

        // An empty buffer has no memory.
        let mut empty = DeviceBuffer::<f32>::on(&a.rig.stream, 0).unwrap();
        assert!(empty.ptr().is_null());
        a.add(&mut empty, &[N]).unwrap();
        a.check(&empty.to_vec(&a.rig.stream).unwrap());

        // The memory of a buffer that is too small is freed at once, in the order of the stream.
        let mut small = DeviceBuffer::<f32>::on(&a.rig.stream, 100).unwrap();
        let (old, in_use) = (small.ptr(), a.rig.device.pool().counters().in_use);
        a.add(&mut small, &[N]).unwrap();
        assert_ne!(small.ptr(), old);
        let pool = a.rig.device.pool().counters();
        assert_eq!(pool.in_use, in_use - 512 + 4096, "the old block is free, the new in use: {pool:?}");
        assert_eq!(pool.held_back, 0);
        assert!(matches!(a.rig.device.pool().locate(old), Err(Error::Pool(_))));
        a.check(&small.to_vec(&a.rig.stream).unwrap());
        a.rig.assert_clean();
    });
}

#[test]
fn a_destination_may_have_a_shape_without_elements() {
    on_each(|rig| {
        let a = adder(rig);
        let mut out = DeviceBuffer::<f32>::on(&a.rig.stream, 10).unwrap();
        let before = a.allocations();
        a.add(&mut out, &[0, 7]).unwrap();
        assert_eq!((out.len(), out.shape(), out.capacity()), (0, &[0, 7][..], 64));
        let mut none: Option<DeviceBuffer<f32>> = None;
        a.add(&mut none, &[0]).unwrap();
        assert!(none.unwrap().is_empty());
        assert_eq!(a.allocations(), before);
        a.rig.assert_clean();
    });
}

#[test]
fn a_destination_that_overlaps_an_input_is_refused_unless_the_kernel_is_declared_in_place() {
    on_each(|rig| {
        let a = adder(rig);
        let mut out = DeviceBuffer::from_slice(&a.rig.stream, &[1.0f32; N]).unwrap();
        let view = out.view();
        let whole = [Arg::from(&view), Arg::from(&a.y), Arg::Destination, Arg::from(N as i32)];
        let launches = a.rig.validation().counts().get(CallKind::LaunchKernel);
        refused(a.call(&mut out, &[N], &whole), "argument 0");
        // The input is an address in the middle of the destination: as a pointer, as raw bytes, and in an argument
        // block.
        let bare = [a.x.ptr(), out.ptr().offset(400)];
        refused(a.call(&mut out, &[N], &args![bare[0], bare[1], Arg::Destination, N as i32]), "argument 1");
        let raw = bare[1].0.to_le_bytes();
        refused(
            a.call(&mut out, &[N], &args![bare[0], Arg::Raw(&raw), Arg::Destination, N as i32]),
            "argument 1",
        );
        let patches = [Patch { offset: 0, target: PatchTarget::Device(bare[1]) }];
        let block = ArgumentBlock { bytes: &[0; 8], patches: &patches, arrays: &[], result_bytes: 0 };
        refused(a.call(&mut out, &[N], &args![bare[0], &block, Arg::Destination, N as i32]), "argument 1");
        assert_eq!(a.rig.validation().counts().get(CallKind::LaunchKernel), launches);

        // An input in the same buffer after the result's elements does not overlap.
        let rest = out.view_strided(500, &[500], &[1]).unwrap();
        a.call(&mut out, &[500], &args![&a.x, &rest, Arg::Destination, 500i32]).unwrap();
        assert_eq!(out.to_vec(&a.rig.stream).unwrap()[499], 500.0);
        out.ensure_len(&a.rig.stream, N).unwrap();

        // SAFETY: every work-item reads only its own element, before it writes it.
        unsafe { a.rig.launcher.declare_in_place(a.vadd, true) }.unwrap();
        out.upload(&a.rig.stream, &[1.0f32; N]).unwrap();
        a.call(&mut out, &[N], &whole).unwrap();
        assert_eq!(out.to_vec(&a.rig.stream).unwrap(), [1.5; N]);
        // In place, the input has to begin at the destination's first byte.
        let shifted = out.view_strided(1, &[900], &[1]).unwrap();
        refused(
            a.call(&mut out, &[900], &args![&shifted, &a.y, Arg::Destination, 900i32]),
            "both have to begin at the same byte",
        );
        a.rig.assert_clean();
    });
}

#[test]
fn views_keep_the_old_memory_and_can_be_destinations() {
    on_each(|rig| {
        let a = adder(rig);
        let mut out = DeviceBuffer::from_slice(&a.rig.stream, &[7.0f32; 100]).unwrap();
        let view = out.view();
        // The buffer gets new memory, and the view keeps the old.
        a.add(&mut out, &[N]).unwrap();
        assert_ne!(view.ptr(), out.ptr());
        assert_eq!(view.to_vec(&a.rig.stream).unwrap(), [7.0; 100]);
        // The memory is used again, and the view sees the new contents.
        let view = out.view_strided(10, &[2, 3], &[100, -1]).unwrap();
        a.add(&mut out, &[N]).unwrap();
        let expected = [10.5, 9.5, 8.5, 110.5, 109.5, 108.5];
        assert_eq!(view.to_vec(&a.rig.stream).unwrap(), expected);
        drop(out);
        assert_eq!(view.to_vec(&a.rig.stream).unwrap(), expected, "the view keeps the memory");

        let buffer = DeviceBuffer::from_slice(&a.rig.stream, &[0.0f32; N]).unwrap();
        let rows = buffer.view_strided(0, &[10, 100], &[100, 1]).unwrap();
        let row = rows.slice(0, 3, 4).unwrap();
        a.add(&row, &[1, 100]).unwrap();
        let all = buffer.to_vec(&a.rig.stream).unwrap();
        a.check(&all[300..400]);
        assert!(all[..300].iter().chain(&all[400..]).all(|v| *v == 0.0));
        // A view is never given other memory.
        refused(a.add(&row, &[1, 101]), "a view of shape [1, 100]");
        refused(a.add(&rows.permute(&[1, 0]).unwrap(), &[100, 10]), "contiguous");
        refused(a.add(&rows.slice(1, 0, 50).unwrap(), &[10, 50]), "contiguous");
        let alias = args![&a.x, &row, Arg::Destination, 100i32];
        refused(a.call(&row, &[1, 100], &alias), "argument 1");
        a.rig.assert_clean();
    });
}

#[test]
fn an_error_leaves_the_destination_as_it_was() {
    on_each(|rig| {
        let a = adder(rig);
        let mut out = DeviceBuffer::from_slice(&a.rig.stream, &[3.0f32; 10]).unwrap();
        out.reshape(&[2, 5]).unwrap();
        let ptr = out.ptr();
        let same = |out: &DeviceBuffer<f32>| {
            assert_eq!((out.ptr(), out.shape()), (ptr, &[2, 5][..]));
            assert_eq!(out.to_vec(&a.rig.stream).unwrap(), [3.0; 10]);
        };
        a.rig.validation().inject_repeating(CallKind::Malloc, 1, ErrorCode::OUT_OF_MEMORY);
        match a.add(&mut out, &[1 << 22]) {
            Err(Error::OutOfMemory(oom)) => assert_eq!(oom.kernel.as_deref(), Some("vadd_f32")),
            other => panic!("{other:?}"),
        }
        a.rig.validation().clear_injections();
        same(&out);
        a.rig.validation().inject(CallKind::LaunchKernel, 1, ErrorCode::INVALID_VALUE);
        assert!(matches!(a.add(&mut out, &[N]), Err(Error::Driver { .. })));
        same(&out);
        // Arguments that do not fit the kernel are refused before memory is allocated.
        let before = a.allocations();
        let in_use = a.rig.device.pool().counters();
        assert!(a.call(&mut out, &[1 << 22], &args![&a.x, Arg::Destination]).is_err());
        assert!(a.call(&mut out, &[1 << 22], &args![&a.x, &a.y, 1i32, Arg::Destination]).is_err());
        refused(a.call(&mut out, &[N], &args![&a.x, &a.y, DevicePtr::NULL, 1i32]), "exactly once");
        refused(
            a.call(&mut out, &[N], &args![&a.x, Arg::Destination, Arg::Destination, 1i32]),
            "exactly once",
        );
        assert!(a.add(&mut out, &[usize::MAX, 2]).is_err());
        assert_eq!((a.allocations(), a.rig.device.pool().counters()), (before, in_use));
        same(&out);
        // `Arg::Destination` needs a launch with a destination.
        let plain = args![&a.x, &a.y, Arg::Destination, 1i32];
        assert!(matches!(a.rig.launch(a.vadd, LaunchDims::linear(1, 64), &plain), Err(Error::Launch { .. })));
        a.rig.assert_clean();
    });
}

/// Returns a launcher with two emulated devices and the validation layer.
fn two_devices() -> Launcher {
    let options = EmulatorOptions { devices: 2, ..EmulatorOptions::default() };
    let driver = EmulatedDriver::new(options).expect("an emulator");
    Launcher::builder().driver(driver).validate(true).build().expect("a launcher")
}

#[test]
fn a_destination_on_another_device_gets_new_memory() {
    let launcher = two_devices();
    let (first, second) = (launcher.device(0).unwrap().clone(), launcher.device(1).unwrap().clone());
    let streams = [launcher.stream(&first).unwrap(), launcher.stream(&second).unwrap()];
    // SAFETY: a kernel of hip/.
    let vadd = unsafe { launcher.register(&first, VECTOR.for_device(&first), "vadd_f32") }.unwrap();
    let x = DeviceBuffer::from_slice(&streams[0], &[2.0f32; 100]).unwrap();
    let mut out = DeviceBuffer::<f32>::on(&streams[1], 100).unwrap();
    let run = |out: Destination<'_>| {
        let args = args![&x, &x, Arg::Destination, 100i32];
        let launch = Launch::new(LaunchDims::linear(1, 128)).args(&args).destination(out, &[100]);
        // SAFETY: the arguments are those that the kernel takes.
        unsafe { launcher.submit(vadd, &streams[0], launch) }
    };
    run((&mut out).into()).unwrap();
    assert_eq!(*out.device(), first);
    assert_eq!(out.to_vec(&streams[0]).unwrap(), [4.0; 100]);
    assert_eq!(second.pool().counters().in_use, 0, "the other device's memory is freed");
    let elsewhere = DeviceBuffer::<f32>::on(&streams[1], 100).unwrap();
    refused(run((&elsewhere.view()).into()), "views stay where they are");
    // `ensure_len` replaces memory in the same cases as a launch.
    let mut moved = DeviceBuffer::<f32>::on(&streams[1], 100).unwrap();
    assert!(moved.ensure_len(&streams[0], 50).unwrap());
    assert_eq!((moved.device(), moved.len()), (&first, 50));
    launcher.validation().unwrap().assert_clean().unwrap();
}

/// The operations of a batch, the batches of an epoch, and the shape of the inputs, as in a user's training program.
const OPERATIONS: usize = 20;
const BATCHES: usize = 300;
const SHAPE: [usize; 3] = [20_000, 20, 5];

#[test]
fn an_epoch_with_destinations_allocates_nothing_after_its_first_batch() {
    on_each(|rig| {
        let vadd = rig.kernel(&VECTOR, "vadd_f32");
        let len = SHAPE.iter().product();
        let x = DeviceBuffer::<f32>::on(&rig.stream, len).unwrap();
        let y = DeviceBuffer::<f32>::on(&rig.stream, len).unwrap();
        let mut results: Vec<Option<DeviceBuffer<f32>>> = (0..OPERATIONS).map(|_| None).collect();
        let (mut after_first, mut held) = (None, 0);
        for _ in 0..BATCHES {
            for result in &mut results {
                // The kernel computes few elements, because this test only counts memory.
                let args = args![&x, &y, Arg::Destination, 64i32];
                let launch = Launch::new(LaunchDims::linear(1, 64)).args(&args).destination(result, &SHAPE);
                rig.submit(vadd, launch).unwrap();
            }
            let counts = after_first.get_or_insert_with(|| {
                held = rig.device.held_bytes();
                rig.validation().counts()
            });
            let since = rig.validation().counts().since(counts);
            assert_eq!(since.get(CallGroup::DeviceAllocation) + since.get(CallGroup::DeviceFree), 0);
            assert_eq!(rig.device.held_bytes(), held, "no more memory is held");
        }
        let pool = rig.device.pool().counters();
        assert_eq!(pool.requested, (22 * len * 4) as u64);
        // The pool holds at most a twentieth more than the 22 arrays.
        assert!(pool.reserved <= pool.requested * 21 / 20, "{pool:?}");
        rig.stream.synchronize().unwrap();
        rig.assert_clean();
    });
}

#[test]
fn an_epoch_without_destinations_reuses_the_pools_memory() {
    on_each(|rig| {
        let vadd = rig.kernel(&VECTOR, "vadd_f32");
        let len = SHAPE.iter().product();
        let x = DeviceBuffer::<f32>::on(&rig.stream, len).unwrap();
        let mut after_first = None;
        for _ in 0..BATCHES {
            for _ in 0..OPERATIONS {
                let out = DeviceBuffer::<f32>::on(&rig.stream, len).unwrap();
                rig.launch(vadd, LaunchDims::linear(1, 64), &args![&x, &x, &out, 64i32]).unwrap();
            }
            let counts = after_first.get_or_insert_with(|| rig.validation().counts());
            let since = rig.validation().counts().since(counts);
            assert_eq!(since.get(CallGroup::DeviceAllocation) + since.get(CallGroup::DeviceFree), 0);
        }
        // One result is allocated at a time, although its launch may not have begun when it is dropped.
        assert_eq!(rig.device.pool().counters().peak_requested, (2 * len * 4) as u64);
        rig.stream.synchronize().unwrap();
        rig.assert_clean();
    });
}

#[test]
fn a_buffer_may_be_dropped_while_another_stream_s_launch_uses_it() {
    on_each(|rig| {
        let spin = rig.kernel(&PROBE, "spin");
        let vadd = rig.kernel(&VECTOR, "vadd_f32");
        let other = rig.launcher.stream(&rig.device).unwrap();
        let x = DeviceBuffer::from_slice(&rig.stream, &[1.0f32; N]).unwrap();
        rig.stream.synchronize().unwrap();
        // Work on the other stream that has not begun when the buffers are dropped.
        let out = DeviceBuffer::<f32>::new(&rig.device, N).unwrap();
        // SAFETY: the arguments are those that the kernels take.
        unsafe {
            let args = [Arg::from(2_000u64), Arg::output::<u32>(64)];
            rig.launcher.launch(spin, &other, LaunchDims::linear(1, 64), &args).unwrap();
            let args = args![&x, &x, &out, N as i32];
            rig.launcher.launch(vadd, &other, LaunchDims::cover(N as u32, 256), &args).unwrap();
        }
        drop((x, out));
        let held = rig.device.pool().counters().held_back;
        assert!(held >= 2 * 4 * N as u64, "{held} held back");
        // The first stream gets other memory now, and the validation layer sees no race.
        let again = DeviceBuffer::from_slice(&rig.stream, &[9.0f32; N]).unwrap();
        assert_eq!(again.to_vec(&rig.stream).unwrap(), [9.0; N]);
        other.synchronize().unwrap();
        let first = DeviceBuffer::<f32>::on(&rig.stream, 3 << 20).unwrap();
        assert_eq!(rig.device.pool().counters().held_back, 0, "free again at the next miss");
        drop(first);
        rig.assert_clean();
    });
}
