//! The bodies of amdgpu-emulator's fuzz targets, which also its tests/hostile.rs runs: they load code objects and run
//! machine code. Each panics if the emulator does what it must not do.

mod stream;
mod template;

use amdgpu_emulator::{Dispatch, Error, SimdLevel};
use amdgpu_isa::{Listing, Target};
use code_object::CodeObject;

pub use stream::stream;
pub use template::assemble;
use template::machine;

/// Runs any words as code, which ends, faults, or is stopped.
pub fn words(code: &[u8]) {
    let words: Vec<u32> = code.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    for target in Target::GFX9 {
        load(&assemble(target, &words));
    }
}

/// Loads any bytes as a code object. If that is not an error, runs its kernels, which end, fault, or are stopped.
///
/// # Panics
/// If a kernel makes the emulator panic.
pub fn load(bytes: &[u8]) {
    let Ok(object) = CodeObject::parse(bytes) else { return };
    if let Ok(listing) = Listing::of(&object) {
        for function in listing.functions() {
            function.instructions().for_each(drop);
        }
    }
    let machine = machine(SimdLevel::best(), 1);
    let Ok(program) = machine.load(&object) else { return };
    for kernel in 0..program.kernels().len().min(4) {
        let kernarg = vec![0; program.kernels()[kernel].explicit_size() as usize];
        let block = program.kernels()[kernel].reqd_workgroup_size.unwrap_or([65, 1, 1]);
        let dispatch = Dispatch {
            cooperative: false,
            kernel,
            grid: [2, 1, 1],
            block,
            dynamic_lds: 16,
            kernarg: &kernarg,
        };
        // The kernel may do anything, but the emulator must not panic.
        if let Err(error @ Error::Incomplete { .. }) = machine.dispatch(&program, &dispatch) {
            panic!("{error}");
        }
    }
}
