//! Device memory: destinations whose memory is used again, buffers that two streams use, and the counters of the pool.

use hiplaunch::{
    Arg, DeviceBuffer, Error, Event, EventOptions, FatBinary, Launch, LaunchDims, Launcher, args,
};

const N: usize = 1 << 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = Launcher::new()?;
    let device = launcher.device(0)?.clone();
    let stream = launcher.stream(&device)?;
    let code =
        FatBinary::read(concat!(env!("CARGO_MANIFEST_DIR"), "/hip/vector.hipfb"))?.for_device(&device)?;
    // SAFETY: the kernels of hip/ do what their README says.
    let vadd = unsafe { launcher.register(&device, code.elf(), "vadd_f32")? };
    let dims = LaunchDims::cover(N as u32, 256);

    // The kernel writes its result to a destination. The first launch allocates its memory, later ones use it again.
    let x = DeviceBuffer::from_slice(&stream, &vec![1.0f32; N])?;
    let mut sum: Option<DeviceBuffer<f32>> = None;
    for _ in 0..100 {
        let args = args![&x, &x, Arg::Destination, N as i32];
        // SAFETY: the kernel takes two arrays of N floats, writes a third, and N.
        unsafe {
            launcher.enqueue(
                vadd,
                &stream,
                Launch::new(dims).args(&args).destination(&mut sum, &[256, 256]),
            )?
        };
    }
    let sum = sum.ok_or("launched")?;
    assert_eq!((sum.shape(), sum.to_vec(&stream)?), (&[256, 256][..], vec![2.0; N]));
    let counters = device.pool().counters();
    println!("100 results, {} requests that the driver had to serve", counters.misses);

    // A destination that is also an input is refused, because most kernels would overwrite the input while they read
    // it.
    let mut y = DeviceBuffer::from_slice(&stream, &vec![0.5f32; N])?;
    let alias = y.view();
    let args = args![&x, &alias, Arg::Destination, N as i32];
    let launch = Launch::new(dims).args(&args).destination(&mut y, &[N]);
    // SAFETY: as above.
    let refused = unsafe { launcher.enqueue(vadd, &stream, launch) };
    assert!(matches!(refused, Err(Error::Launch { .. })));
    // This kernel may be declared in place.
    // SAFETY: each work-item reads only its own element, before it writes it.
    unsafe { launcher.declare_in_place(vadd, true)? };
    let launch = Launch::new(dims).args(&args).destination(&mut y, &[N]);
    // SAFETY: as above.
    unsafe { launcher.enqueue(vadd, &stream, launch)? };
    assert_eq!(alias.to_vec(&stream)?[0], 1.5);

    // Another stream waits for this one before it uses the buffer. The launch records the use, so the buffer may be
    // dropped right after it.
    let other = launcher.stream(&device)?;
    let ready = Event::new(&device, EventOptions::default())?;
    ready.record(&stream)?;
    ready.wait_on(&other)?;
    let out = DeviceBuffer::<f32>::on(&other, N)?;
    // SAFETY: as above.
    unsafe { launcher.launch(vadd, &other, dims, &args![&x, &x, &out, N as i32])? };
    drop(x);
    println!("{} bytes held back for the other stream", device.pool().counters().held_back);
    assert_eq!(out.to_vec(&other)?[N - 1], 2.0);

    drop((sum, y, alias, out));
    let given = device.pool().empty_cache()?;
    println!("{given} bytes went back to the driver, {} are held", device.held_bytes());
    assert_eq!(device.held_bytes(), 0);
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
