//! A timeline: the host's driver calls and the device's work, as spans that a program can read and as a file that
//! https://ui.perfetto.dev opens.

use std::time::Duration;

use hiplaunch::{Arg, FatBinary, LaunchDims, Launcher, Timeline};

const N: usize = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let timeline = Timeline::default();
    let launcher = Launcher::builder().timeline(&timeline).build()?;
    let device = launcher.device(0)?;
    let stream = launcher.stream(device)?;
    let code = FatBinary::read("hip/vector.hipfb")?.for_device(device)?;
    // SAFETY: a kernel of this project.
    let vscale = unsafe { launcher.register(device, code.elf(), "vscale")? };

    let x = [1.0f32; N];
    let args = [Arg::from(2.0f32), Arg::input(&x), Arg::output::<f32>(N), Arg::from(N as i32)];
    for round in 1..=3 {
        // A span of the program, which lasts until it is dropped.
        let _span = timeline.span(&format!("round {round}"));
        // SAFETY: the arrays have N elements, as the last argument says.
        let tickets = (0..4)
            .map(|_| unsafe { launcher.launch(vscale, &stream, LaunchDims::cover(N as u32, 256), &args) })
            .collect::<Result<Vec<_>, _>>()?;
        for ticket in tickets {
            assert_eq!(ticket.read()?.slice::<f32>(0)?, [2.0; N]);
        }
    }
    stream.synchronize()?;

    let recorded = timeline.snapshot();
    let spans = &recorded.devices[0].streams[0].spans;
    for kind in ["kernel", "copy"] {
        let of_kind: Vec<_> = spans.iter().filter(|span| span.work.category() == kind).collect();
        let busy: Duration = of_kind.iter().map(|span| span.end - span.begin).sum();
        let bytes: u64 = of_kind.iter().filter_map(|span| span.work.bytes()).sum();
        println!("{kind}: {} spans, {busy:?}, {bytes} bytes copied", of_kind.len());
    }
    let kernels = spans.iter().filter(|span| span.work.to_string() == "vscale").count();
    assert_eq!((kernels, recorded.dropped_calls, recorded.dropped_work), (12, 0, 0));

    // Writes the timeline to a file: `cargo run --example 08_timeline -- timeline.json`.
    if let Some(path) = std::env::args().nth(1).filter(|path| path.ends_with(".json")) {
        let mut file = std::io::BufWriter::new(std::fs::File::create(&path)?);
        hiplaunch_reports::write_chrome_trace(&recorded, &mut file)?;
        std::io::Write::flush(&mut file)?;
        println!("open {path} at https://ui.perfetto.dev");
    }
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
