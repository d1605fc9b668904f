//! The memory pool of a device: buffers in the order of a stream, a pool block that two streams use, and a snapshot.

use hiplaunch::{DeviceBuffer, Event, EventOptions, Launcher};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = Launcher::new()?;
    let device = launcher.device(0)?;
    let (stream, other) = (launcher.stream(device)?, launcher.stream(device)?);

    // Each drop frees the buffer in stream order, and the next round gets its memory again. So from the second round on
    // only the fill is a driver call.
    for _ in 0..100 {
        let mut buffer = DeviceBuffer::<f32>::on(&stream, 10_000)?;
        buffer.fill(&stream, 1.0)?;
    }

    // A pool block for any use. The other stream waits for the event, and its use is recorded, so the block may be
    // dropped.
    let pool = device.pool();
    let block = pool.allocate(&stream, 1 << 20)?;
    let ready = Event::new(device, EventOptions::default())?;
    ready.record(&stream)?;
    ready.wait_on(&other)?;
    other.record_use(&block);
    drop(block);

    let counters = pool.counters();
    assert_eq!((counters.hits, counters.misses, counters.calls.mallocs), (99, 2, 2));
    println!("{}", pool.snapshot());
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
