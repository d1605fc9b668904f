//! A first launch: one kernel, launched by its handle, with two buffers. The crate's documentation shows this program.

use hiplaunch::{DeviceBuffer, FatBinary, LaunchDims, Launcher, args};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = Launcher::new()?; // a GPU where there is one, else the emulator
    let device = launcher.device(0)?;
    let stream = launcher.stream(device)?;
    let code = FatBinary::read("hip/vector.hipfb")?.for_device(device)?;
    // SAFETY: we trust the code, and pass it what its source asks for: a, x, y, n.
    let saxpy = unsafe { launcher.register(device, code.elf(), "saxpy")? };
    let x = DeviceBuffer::from_slice(&stream, &[1.0f32; 1000])?;
    let y = DeviceBuffer::from_slice(&stream, &[2.0f32; 1000])?;
    let args = args![3.0f32, &x, &y, 1000i32];
    // SAFETY: as above; x and y have 1000 elements.
    unsafe { launcher.launch(saxpy, &stream, LaunchDims::cover(1000, 256), &args)? };
    assert_eq!(y.to_vec(&stream)?, [5.0; 1000]);
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
