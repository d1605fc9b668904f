//! In the steady state, launches and submissions of graphs allocate nothing on the heap on the caller's thread.
//!
//! A thread that waits for the emulator runs kernels, which need memory of the heap. So the tests wait, uncounted, before they read.

use hiplaunch::graph::{Branches, GraphArg, NodeId};
use hiplaunch::{
    Arg, ArgumentBlock, Backend, DeviceBuffer, Launch, LaunchDims, Launcher, Patch, PatchTarget, Staging,
    Stream, args,
};
use hiplaunch_testing::counting::{Counting, heap_allocations, uncounted};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Waits until the stream has no work left.
fn idle(stream: &Stream) {
    uncounted(|| {
        while !stream.is_idle().unwrap() {
            std::thread::yield_now();
        }
    });
}

#[test]
fn launches_and_reads_allocate_nothing_on_the_heap() {
    let launcher = Launcher::builder().backend(Backend::Emulator).validate(false).build().unwrap();
    let device = launcher.device(0).unwrap().clone();
    let stream = launcher.stream(&device).unwrap();
    // SAFETY: kernels of hip/. Here and below they are launched as their README says.
    let (saxpy, polynomial) = unsafe {
        (
            launcher.register(&device, include_bytes!("../hip/vector.gfx90a.co"), "saxpy").unwrap(),
            launcher.register(&device, include_bytes!("../hip/jit.gfx90a.co"), "jit_polynomial").unwrap(),
        )
    };
    let x = DeviceBuffer::from_slice(&stream, &[1.0f32; 64]).unwrap();
    let mut to = DeviceBuffer::from_slice(&stream, &[1.0f32; 64]).unwrap();
    let patches = [Patch { offset: 0, target: PatchTarget::Result }];
    let mut bytes = [0u8; 96];
    bytes[8..12].copy_from_slice(&16u32.to_le_bytes());
    let host = [1.0f32; 64];
    let dims = LaunchDims::linear(1, 64);
    let mut round = |i: u32| {
        bytes[16..20].copy_from_slice(&(i as f32).to_le_bytes());
        let block = ArgumentBlock { bytes: &bytes, patches: &patches, arrays: &[], result_bytes: 64 };
        // SAFETY: as above.
        unsafe {
            launcher.launch(saxpy, &stream, dims, &args![0.0f32, &x, &x, 64i32]).unwrap();
            for staging in [Staging::Copy, Staging::Mapped] {
                let args = [Arg::ArgumentBlock(&block)];
                let launch = Launch::new(dims).args(&args).staging(staging);
                let ticket = launcher.submit(polynomial, &stream, launch).unwrap();
                idle(&stream);
                assert_eq!(ticket.read().unwrap().slice::<f32>(0).unwrap()[3], i as f32);
            }
            launcher.enqueue(saxpy, &stream, Launch::new(dims).args(&args![0.0f32, &x, &x, 64i32])).unwrap();
            let into = args![0.0f32, &x, Arg::Destination, 64i32];
            let into = Launch::new(dims).args(&into).destination(&mut to, &[64]);
            launcher.enqueue(saxpy, &stream, into).unwrap();
            let args = [Arg::from(1.0f32), Arg::input(&host), Arg::inout(&host), Arg::from(64i32)];
            let ticket = launcher.launch(saxpy, &stream, dims, &args).unwrap();
            idle(&stream);
            assert_eq!(ticket.read().unwrap().slice::<f32>(0).unwrap()[63], 2.0);
        }
    };
    (0..100).for_each(&mut round);
    let before = heap_allocations();
    (100..400).for_each(&mut round);
    assert_eq!(heap_allocations() - before, 0, "heap allocations in 1800 launches");
    // Checks that the counter counts.
    drop(std::hint::black_box(vec![0u8; 100]));
    assert_eq!(heap_allocations() - before, 1);
}

#[test]
fn submissions_of_a_compiled_graph_allocate_nothing_on_the_heap() {
    let launcher = Launcher::builder().backend(Backend::Emulator).validate(false).build().unwrap();
    let device = launcher.device(0).unwrap().clone();
    let stream = launcher.stream(&device).unwrap();
    // SAFETY: a kernel of hip/.
    let scale =
        unsafe { launcher.register(&device, include_bytes!("../hip/vector.gfx90a.co"), "vscale") }.unwrap();
    let x = [1.0f32, 2.0].map(|v| DeviceBuffer::from_slice(&stream, &[v; 64]).unwrap());
    let out = DeviceBuffer::<f32>::on(&stream, 64).unwrap();
    for streams in [1, 4] {
        let mut g = launcher.graph(&device).unwrap();
        g.set_branches(Branches::Streams(streams));
        let (from, to) = (g.buffer(&x[0]).unwrap(), g.buffer(&out).unwrap());
        for _ in 0..4 {
            let t = g.temporary::<f32>(64).unwrap();
            for (x, y) in [(from, t), (t, to)] {
                let args = [2.0f32.into(), GraphArg::Read(x), GraphArg::Write(y), 64i32.into()];
                // SAFETY: the arguments are those that the kernel takes.
                unsafe { g.launch(scale, LaunchDims::linear(1, 64), &args) }.unwrap();
            }
        }
        g.read(&to).unwrap();
        let mut graph = g.compile(&stream).unwrap();
        assert_eq!(graph.streams(), streams as usize);
        let mut round = |i: usize| {
            graph.set_buffer(&from, &x[i % 2]).unwrap();
            // SAFETY: the kernel takes any factor.
            unsafe { graph.set_scalar(NodeId(7), 0, i as f32) }.unwrap();
            let ticket = graph.submit().unwrap();
            idle(&stream);
            let output = ticket.read().unwrap();
            assert_eq!(output.slice::<f32>(0).unwrap()[63], (2 * i * (1 + i % 2)) as f32);
        };
        (0..50).for_each(&mut round);
        let before = heap_allocations();
        (50..150).for_each(&mut round);
        assert_eq!(
            heap_allocations() - before,
            0,
            "heap allocations in 100 submissions on {streams} streams"
        );
    }
}
