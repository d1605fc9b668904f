//! A captured stream: launches that become a graph of the driver, which is launched with one call.
//!
//! Here a damped wave is advanced by 50 steps at a time. What differs from launch to launch is in buffers: the values
//! of arguments are captured.

use hiplaunch::driver::Capability;
use hiplaunch::stream::CaptureMode;
use hiplaunch::{DeviceBuffer, Error, Launch, LaunchDims, Launcher, Stream, args};

const N: usize = 1000;
const STEPS: i32 = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = Launcher::new()?;
    if !launcher.driver().capabilities().has(Capability::StreamCapture) {
        println!("this driver captures no streams (HIP 6.4 and newer do)");
        return Ok(());
    }
    let device = launcher.device(0)?;
    let code = std::fs::read(format!("hip/vector.{}.co", device.properties().target.processor))?;
    // SAFETY: kernels of this project.
    let (saxpy, vscale) =
        unsafe { (launcher.register(device, &code, "saxpy")?, launcher.register(device, &code, "vscale")?) };
    let stream = launcher.stream(device)?;
    let position = DeviceBuffer::from_slice(&stream, &[0.0f32; N])?;
    let velocity = DeviceBuffer::from_slice(&stream, &[1.0f32; N])?;
    let slower = DeviceBuffer::<f32>::on(&stream, N)?;
    let dims = LaunchDims::cover(N as u32, 256);

    // What changes the buffers, one step at a time. Their memory is allocated before the capture.
    let step = |stream: &Stream| -> hiplaunch::Result<()> {
        let damp = args![0.5f32, &velocity, &slower, N as i32];
        let keep = args![1.0f32, &slower, &velocity, N as i32];
        let advance = args![0.25f32, &velocity, &position, N as i32];
        for (kernel, args) in [(vscale, &damp), (vscale, &keep), (saxpy, &advance)] {
            // SAFETY: the buffers have N elements, as the last argument says.
            unsafe { launcher.enqueue(kernel, stream, Launch::new(dims).args(args))? };
        }
        Ok(())
    };

    let graph =
        stream.capture(CaptureMode::ThreadLocal, |stream| (0..STEPS).try_for_each(|_| step(stream)))?;
    // SAFETY: nothing else uses the buffers at the same time.
    unsafe { graph.launch(&stream)? };
    println!("from 0 to {}", position.to_vec(&stream)?[0]);

    // Other data, in the same buffers.
    let mut position = position;
    position.upload(&stream, &[3.0; N])?;
    // SAFETY: as above.
    unsafe { graph.launch(&stream)? };
    println!("from 3 to {}", position.to_vec(&stream)?[0]);

    // Data of the host can't be captured, as the memory in which it travels is used again.
    let refused = stream.capture(CaptureMode::ThreadLocal, |stream| velocity.to_vec(stream).map(drop));
    assert!(matches!(refused, Err(Error::Captured { .. })));

    // The first launch used up nearly all of the velocity: 1/8 + 1/16 + ...
    let (mut speed, mut at) = (1.0f32, 0.0f32);
    for step in 0..2 * STEPS {
        if step == STEPS {
            at = 3.0;
        }
        speed *= 0.5;
        at += 0.25 * speed;
    }
    assert_eq!(position.to_vec(&stream)?, [at; N]);
    println!("{} launches a call", 3 * STEPS);
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
