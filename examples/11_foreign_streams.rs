//! A launcher on a stream that somebody else made: launches, with another library's work between them.
//!
//! Here the other library uses the driver below the launcher; in a program it is hipBLAS or RCCL, to which
//! [`Stream::as_raw`](hiplaunch::Stream::as_raw) hands the `hipStream_t`, or a framework that made the stream.

use std::sync::Arc;

use hiplaunch::driver::{DeviceId, DevicePtr, Driver, RawStream, StreamOptions, Work};
use hiplaunch::{DeviceBuffer, Event, EventOptions, LaunchDims, Launcher, args};

const N: usize = 1000;

/// Somebody else's code: it knows raw streams and addresses, and nothing of the launcher.
struct Library {
    driver: Arc<dyn Driver>,
    device: DeviceId,
}

impl Library {
    fn stream(&self) -> Result<RawStream, Box<dyn std::error::Error>> {
        Ok(self.driver.stream_create(self.device, StreamOptions::default())?)
    }

    /// Copies an array behind what is on the stream.
    fn copy(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        stream: RawStream,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let work = Work::CopyWithin { dst, src, bytes: size_of::<[f32; N]>() };
        // SAFETY: two arrays of N elements, which live until their stream was waited for.
        Ok(unsafe { self.driver.enqueue(self.device, stream, &work) }?)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = Launcher::new()?;
    let device = launcher.device(0)?;
    let library = Library { driver: launcher.driver().clone(), device: device.id() };
    let code = std::fs::read(format!("hip/vector.{}.co", device.properties().target.processor))?;
    // SAFETY: a kernel of this project.
    let vscale = unsafe { launcher.register(device, &code, "vscale")? };

    let raw = library.stream()?;
    // SAFETY: the stream is alive as long as `stream` and its tickets: it is destroyed below.
    let stream = unsafe { launcher.stream_from_raw(device, raw)? };
    let x = DeviceBuffer::from_slice(&stream, &[1.0f32; N])?;
    let (y, z) = (DeviceBuffer::<f32>::on(&stream, N)?, DeviceBuffer::<f32>::on(&stream, N)?);
    let dims = LaunchDims::cover(N as u32, 256);
    for _ in 0..10 {
        // SAFETY: the buffers have N elements, as the last argument says.
        unsafe { launcher.launch(vscale, &stream, dims, &args![2.0f32, &x, &y, N as i32])? };
        library.copy(z.ptr(), y.ptr(), stream.as_raw())?;
        // SAFETY: as above.
        unsafe { launcher.launch(vscale, &stream, dims, &args![0.75f32, &z, &x, N as i32])? };
    }
    // All on one stream, so each reads what the one before it wrote.
    assert_eq!(x.to_vec(&stream)?, [1.5f32.powi(10); N]);

    // Work of ours on another stream comes behind theirs by an event.
    let own = launcher.stream(device)?;
    library.copy(y.ptr(), x.ptr(), raw)?;
    let copied = Event::new(device, EventOptions::default())?;
    copied.record(&stream)?;
    copied.wait_on(&own)?;
    assert_eq!(y.to_vec(&own)?, x.to_vec(&stream)?);

    // The null stream, which programs use that make none, is a stream like any other.
    // SAFETY: it is always there.
    let null = unsafe { launcher.stream_from_raw(device, RawStream::NULL)? };
    assert_eq!(DeviceBuffer::from_slice(&null, &[3u32; 8])?.to_vec(&null)?, [3; 8]);

    // Dropping what uses the stream waits for its work and leaves it to its owner.
    drop((x, y, z, stream));
    // SAFETY: nobody uses it any more.
    unsafe { library.driver.stream_destroy(library.device, raw)? };
    println!("20 launches and 11 copies of somebody else's on one stream");
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
