//! With the feature `hipcc`: the code objects that the build script compiled from the sources in `hip/` have the kernels of
//! the checked-in ones, with the same arguments, and run.

use std::path::Path;

use hiplaunch::code_object::CodeObject;
use hiplaunch::{Backend, DeviceBuffer, LaunchDims, Launcher, args};

const COMPILED: &str = env!("OUT_DIR");

#[test]
fn compiled_kernels_have_the_signatures_of_those_checked_in() {
    let mut compared = 0;
    for file in std::fs::read_dir(COMPILED).unwrap().map(|entry| entry.unwrap().path()) {
        let checked_in = Path::new("hip").join(file.file_name().unwrap());
        if file.extension().is_none_or(|extension| extension != "co") || !checked_in.exists() {
            continue;
        }
        let [new, old] =
            [&file, &checked_in].map(|file| CodeObject::parse(&std::fs::read(file).unwrap()).unwrap());
        assert_eq!(new.target(), old.target(), "{}", file.display());
        assert_eq!(new.kernels().len(), old.kernels().len(), "{}", file.display());
        for kernel in old.kernels() {
            let explicit_args = new.kernel(&kernel.name).unwrap().explicit_args();
            assert_eq!(explicit_args, kernel.explicit_args(), "{}: {}", file.display(), kernel.name);
            compared += 1;
        }
    }
    assert!(compared > 10, "{compared} kernels in {COMPILED}");
}

#[test]
fn a_compiled_kernel_runs() {
    let launcher = Launcher::builder().backend(Backend::Emulator).build().unwrap();
    let device = launcher.device(0).unwrap();
    let stream = launcher.stream(device).unwrap();
    let image = std::fs::read(Path::new(COMPILED).join("vector.gfx90a.co")).unwrap();
    // SAFETY: the kernel of hip/vector.hip, which gets what its contract in hip/README.md asks for.
    let saxpy = unsafe { launcher.register(device, &image, "saxpy") }.unwrap();
    let x = DeviceBuffer::from_slice(&stream, &[1.0f32; 100]).unwrap();
    let y = DeviceBuffer::from_slice(&stream, &[2.0f32; 100]).unwrap();
    // SAFETY: both buffers have 100 elements.
    unsafe { launcher.launch(saxpy, &stream, LaunchDims::cover(100, 64), &args![3.0f32, &x, &y, 100i32]) }
        .unwrap();
    assert_eq!(y.to_vec(&stream).unwrap(), [5.0; 100]);
}
