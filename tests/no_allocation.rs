//! In steady state a launch makes no heap allocation on the caller's thread.

#[path = "pool/counting.rs"]
mod counting;

use counting::heap_allocations;
use hiplaunch::{Arg, Backend, Block, DeviceBuffer, LaunchDims, Launcher, Patch, PatchTarget, Staging, args};

#[test]
fn launches_and_reads_allocate_nothing() {
    let launcher = Launcher::builder().backend(Backend::Emulator).validate(false).build().unwrap();
    let device = launcher.device(0).unwrap().clone();
    let stream = launcher.stream(&device).unwrap();
    // SAFETY: kernels of hip/, here and below launched as their README says.
    let (saxpy, polynomial) = unsafe {
        (
            launcher.register(&device, include_bytes!("../hip/vector.gfx90a.co"), "saxpy").unwrap(),
            launcher.register(&device, include_bytes!("../hip/jit.gfx90a.co"), "jit_polynomial").unwrap(),
        )
    };
    let x = DeviceBuffer::from_slice(&stream, &[1.0f32; 64]).unwrap();
    let patches = [Patch { offset: 0, target: PatchTarget::Result }];
    let mut bytes = [0u8; 96];
    bytes[8..12].copy_from_slice(&16u32.to_le_bytes());
    let host = [1.0f32; 64];
    let dims = LaunchDims::linear(1, 64);
    let mut round = |i: u32| {
        bytes[16..20].copy_from_slice(&(i as f32).to_le_bytes());
        let block = Block { bytes: &bytes, patches: &patches, segments: &[], result_bytes: 64 };
        // SAFETY: as above.
        unsafe {
            launcher.launch(saxpy, &stream, dims, &args![0.0f32, &x, &x, 64i32]).unwrap();
            for staging in [Staging::Copy, Staging::Mapped] {
                let ticket = launcher
                    .launch_staged(polynomial, &stream, dims, staging, &[Arg::Block(&block)])
                    .unwrap();
                assert_eq!(ticket.read().unwrap().slice::<f32>(0).unwrap()[3], i as f32);
            }
            let args = [Arg::from(1.0f32), Arg::input(&host), Arg::inout(&host), Arg::from(64i32)];
            let ticket = launcher.launch(saxpy, &stream, dims, &args).unwrap();
            assert_eq!(ticket.read().unwrap().slice::<f32>(0).unwrap()[63], 2.0);
        }
    };
    (0..100).for_each(&mut round);
    let before = heap_allocations();
    (100..400).for_each(&mut round);
    assert_eq!(heap_allocations() - before, 0, "heap allocations in 1200 launches");
    // The counter counts.
    drop(std::hint::black_box(vec![0u8; 100]));
    assert_eq!(heap_allocations() - before, 1);
}
