//! A buffer that two processes share: the first writes it, the second, which the first starts, adds to it.
//!
//! Device memory is never copied to the host on the way. The processes take turns, by the second one's start and end:
//! streams and events are each process's own.

use std::error::Error;
use std::process::Command;

use hiplaunch::memory::SharedHandle;
use hiplaunch::{Device, DeviceBuffer, KernelHandle, LaunchDims, Launcher, Stream, args};

const N: usize = 1 << 16;

/// The variable with the handle, in the second process.
const HANDLE: &str = "SHARED_BUFFER";

struct Setup {
    launcher: Launcher,
    device: Device,
    stream: Stream,
    vadd: KernelHandle,
}

fn setup() -> Result<Setup, Box<dyn Error>> {
    let launcher = Launcher::new()?;
    let device = launcher.device(0)?.clone();
    let stream = launcher.stream(&device)?;
    let target = &device.properties().target.processor;
    let code = std::fs::read(format!("{}/hip/vector.{target}.co", env!("CARGO_MANIFEST_DIR")))?;
    // SAFETY: the kernels of hip/ do what their README says.
    let vadd = unsafe { launcher.register(&device, &code, "vadd_f32")? };
    Ok(Setup { launcher, device, stream, vadd })
}

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::var(HANDLE) {
        Err(_) => first(),
        Ok(handle) => second(&handle),
    }
}

/// Allocates the buffer, and has the other process change it.
fn first() -> Result<(), Box<dyn Error>> {
    let Setup { device, stream, .. } = setup()?;
    let mut shared = DeviceBuffer::<f32>::shared(&device, N)?;
    shared.upload(&stream, &vec![1.5; N])?;
    // The other process sees what the device has done, not what is enqueued.
    stream.synchronize()?;

    // The handle travels as bytes, here in a variable of the environment.
    let handle: String = shared.share()?.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let status = Command::new(std::env::current_exe()?).env(HANDLE, handle).status()?;
    assert!(status.success(), "the other process failed: {status}");

    assert_eq!(shared.to_vec(&stream)?, vec![2.5; N]);
    println!("process {}: the other process has added 1 to {N} elements", std::process::id());
    Ok(())
}

/// Opens the buffer of the other process, and adds 1 to its elements.
fn second(handle: &str) -> Result<(), Box<dyn Error>> {
    let Setup { launcher, device, stream, vadd } = setup()?;
    let bytes = (0..handle.len() / 2).map(|n| u8::from_str_radix(&handle[2 * n..2 * n + 2], 16));
    let bytes: Vec<u8> = bytes.collect::<Result<_, _>>()?;
    let handle = SharedHandle::from_bytes(bytes.as_slice().try_into()?);

    // SAFETY: the first process keeps the buffer and does not use it until this one has ended.
    let shared = unsafe { DeviceBuffer::<f32>::open_shared(&device, &handle)? };
    let ones = DeviceBuffer::from_slice(&stream, &vec![1.0f32; N])?;
    // SAFETY: the kernel takes two arrays of N floats, a third, and N; each work-item reads its elements first.
    unsafe {
        let args = args![&shared, &ones, &shared, N as i32];
        launcher.launch(vadd, &stream, LaunchDims::cover(N as u32, 256), &args)?;
    }
    // Before the other process goes on.
    stream.synchronize()?;
    println!("process {}: opened {} bytes and added to them", std::process::id(), handle.bytes());
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
