//! Several threads launch one kernel on several streams at once, and an event orders two streams.

use std::thread;

use hiplaunch::{Arg, DeviceBuffer, Error, Event, EventOptions, FatBinary, LaunchDims, Launcher, args};

const N: usize = 512;
const THREADS: usize = 4;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = Launcher::new()?;
    let device = launcher.device(0)?;
    let code = FatBinary::read("hip/vector.hipfb")?.for_device(device)?;
    // SAFETY: kernels of this project.
    let (vscale, fill) = unsafe {
        (launcher.register(device, code.elf(), "vscale")?, launcher.register(device, code.elf(), "fill_u32")?)
    };
    let dims = LaunchDims::cover(N as u32, 128);

    // Two streams for four threads: launches on one stream follow each other, each with its own arguments and results.
    let streams = [launcher.stream(device)?, launcher.stream(device)?];
    thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|t| {
                let (launcher, stream) = (&launcher, &streams[t % 2]);
                scope.spawn(move || -> Result<(), Error> {
                    for k in 0..50 {
                        let x = [(t * 50 + k) as f32; N];
                        let args =
                            [Arg::from(2.0f32), Arg::input(&x), Arg::output::<f32>(N), Arg::from(N as i32)];
                        // SAFETY: the arrays have N elements, as the last argument says.
                        let ticket = unsafe { launcher.launch(vscale, stream, dims, &args) }?;
                        assert_eq!(ticket.read()?.slice::<f32>(0)?, [2.0 * x[0]; N]);
                    }
                    Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;

    // A stream may read what another stream writes only after it has waited for an event.
    let buffer = DeviceBuffer::<u32>::new(device, N)?;
    let [writer, reader] = &streams;
    // SAFETY: the buffer has N elements and lives until the last read.
    unsafe { launcher.launch(fill, writer, dims, &args![&buffer, 7u32, N as i32])? };
    let written = Event::new(device, EventOptions::default())?;
    written.record(writer)?;
    written.wait_on(reader)?;
    assert_eq!(buffer.to_vec(reader)?, [7; N]);
    println!("{} launches from {THREADS} threads on {} streams", THREADS * 50 + 1, streams.len());
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
