//! One kernel handle on four devices: each computes a part of an array, and the parts are put together on the first.
//!
//! With at least two GPUs it uses all of them; otherwise it emulates four devices. `HIPLAUNCH_EMULATOR_DEVICES=4` would
//! do that for a whole program.

use hiplaunch::driver::emulated::EmulatorOptions;
use hiplaunch::{
    Backend, DeviceBuffer, Event, EventOptions, FatBinary, LaunchDims, Launcher, LazyModule, Registration,
    args,
};

/// Elements of a device's part.
const N: usize = 10_000;

fn open() -> hiplaunch::Result<Launcher> {
    let launcher = Launcher::new()?;
    if launcher.devices().len() > 1 {
        return Ok(launcher);
    }
    let options = EmulatorOptions { devices: 4, ..EmulatorOptions::default() };
    Launcher::builder().backend(Backend::Emulator).emulator(options).build()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = open()?;
    // SAFETY: we trust the code, and pass it what its source asks for.
    let vector = unsafe { LazyModule::new(FatBinary::read("hip/vector.hipfb")?) };
    // One handle for all devices. Nothing is loaded yet: each device gets its own code object of the bundle, at the first
    // launch there.
    let iota = launcher.register_kernel(Registration::new(&vector, "iota_u32"))?;
    assert!(vector.loaded_on().is_empty());

    let mut parts = Vec::new();
    for (i, device) in launcher.devices().iter().enumerate() {
        let stream = launcher.stream(device)?;
        let part = DeviceBuffer::<u32>::on(&stream, N)?;
        let args = args![&part, (i * N) as u32, N as i32];
        // The stream decides which device runs the kernel. Nothing waits here, so that all devices work at the same time.
        // SAFETY: the kernel takes an array, its first value and its length.
        unsafe { launcher.launch(iota, &stream, LaunchDims::cover(N as u32, 256), &args)? };
        let done = Event::new(device, EventOptions::default())?;
        done.record(&stream)?;
        parts.push((part, done));
    }
    assert_eq!(vector.loaded_on(), launcher.devices());

    // The first device fetches the parts. Its stream waits for the others' events, the host for nothing.
    let first = launcher.device(0)?;
    let stream = launcher.stream(first)?;
    let whole = DeviceBuffer::<u32>::on(&stream, N * parts.len())?;
    for (i, (part, done)) in parts.iter().enumerate() {
        done.wait_on(&stream)?;
        whole.view().slice(0, i * N, (i + 1) * N)?.copy_from(&stream, &part.view())?;
    }
    let values = whole.to_vec(&stream)?;
    assert!(values.iter().enumerate().all(|(i, &value)| value == i as u32));
    println!("{} devices made {} elements with one handle", parts.len(), values.len());
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
