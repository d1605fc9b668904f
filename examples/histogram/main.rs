//! The guide's own kernel, launched: `histogram.co` has to be in the current folder. docs/own-kernel.md shows this program.

use hiplaunch::{Arg, LaunchDims, Launcher};

/// The kernel's `Range`, as C lays it out.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Range {
    low: f32,
    high: f32,
    bins: u32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = Launcher::new()?; // a GPU where there is one, else the emulator
    let device = launcher.device(0)?;
    let stream = launcher.stream(device)?;
    let code = std::fs::read("histogram.co")?;
    // SAFETY: our kernel; below it gets what its source asks for.
    let histogram = unsafe { launcher.register(device, &code, "histogram")? };

    let x: Vec<f32> = (0..4000).map(|i| (i % 10) as f32).collect();
    let range = Range { low: 0.0, high: 10.0, bins: 10 };
    let zeros = [0u32; 10];
    let args = [Arg::input(&x), Arg::from(x.len() as u32), Arg::value(&range), Arg::inout(&zeros)];
    // SAFETY: x is as long as the second argument says, and there are as many counts as bins.
    let ticket = unsafe { launcher.launch(histogram, &stream, LaunchDims::linear(4, 256), &args)? };
    println!("{:?}", ticket.read()?.slice::<u32>(0)?); // waits for this launch alone
    Ok(())
}
