//! A device's memory pool: buffers in the order of a stream, a block that two streams use, and what the pool holds.

use hiplaunch::{DeviceBuffer, Event, EventOptions, Launcher};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = Launcher::new()?;
    let device = launcher.device(0)?;
    let (stream, other) = (launcher.stream(device)?, launcher.stream(device)?);

    // From the second time on only the fill is a device call: the memory goes back in stream order, and comes again.
    for _ in 0..100 {
        let mut buffer = DeviceBuffer::<f32>::on(&stream, 10_000)?;
        buffer.fill(&stream, 1.0)?;
    }

    // A block of its own, for any use. The other stream waits, says that it uses it, and the block may go at once.
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
