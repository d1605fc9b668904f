//! An argument block, as a JIT compiler writes it: the kernel takes one pointer to the block, and the launcher writes
//! device addresses into the block.

use hiplaunch::{ArgumentBlock, FatBinary, HostData, LaunchDims, Launcher, Patch, PatchTarget, args};

/// The argument block of `jit_dot` (hip/README.md). The launcher writes the three addresses, so they are 0 here.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct DotBlock {
    result: u64,
    x: u64,
    y: u64,
    n: u32,
    pad: u32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = Launcher::new()?;
    let device = launcher.device(0)?;
    let stream = launcher.stream(device)?;
    let code = FatBinary::read("hip/jit.hipfb")?.for_device(device)?;
    // SAFETY: a kernel of this project.
    let dot = unsafe { launcher.register(device, code.elf(), "jit_dot")? };

    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let y = vec![0.5f32; 1000];
    let bytes = DotBlock { result: 0, x: 0, y: 0, n: 1000, pad: 0 };
    let block = ArgumentBlock {
        bytes: bytemuck::bytes_of(&bytes),
        patches: &[
            Patch { offset: 0, target: PatchTarget::Result },
            Patch { offset: 8, target: PatchTarget::Array(0) },
            Patch { offset: 16, target: PatchTarget::Array(1) },
        ],
        // The arrays are copied to the device together with the block.
        arrays: &[HostData::In(bytemuck::cast_slice(&x)), HostData::In(bytemuck::cast_slice(&y))],
        result_bytes: size_of::<f64>(),
    };
    // SAFETY: block and patches are laid out as the kernel expects, and n is the arrays' length.
    let ticket = unsafe { launcher.launch(dot, &stream, LaunchDims::linear(1, 256), &args![&block])? };
    // The launch has copied everything, so x, y and the block may be changed or dropped now.
    drop((x, y));

    let sum: f64 = ticket.read()?.value(0)?;
    println!("the dot product is {sum}");
    assert_eq!(sum, 249_750.0);
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
