//! Records a lazy chain without a device call and computes it in one submission, with three buffers for any length.

use hiplaunch::driver::validation::CallKind;
use hiplaunch::{DeviceBuffer, Launcher};
use hiplaunch_tensor::Tensors;

const SHAPE: [usize; 2] = [256, 256];
const N: usize = SHAPE[0] * SHAPE[1];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The validation layer counts every call to the driver.
    let launcher = Launcher::builder().validate(true).build()?;
    let device = launcher.device(0)?.clone();
    let stream = launcher.stream(&device)?;
    // First without the runtime compiler, which would make one kernel of each of these expressions.
    let tensors = Tensors::new(&launcher, &stream)?.with_fusion(false);
    let counts = || launcher.validation().map(|v| v.counts()).unwrap_or_default();

    // (m1 + m2) * 5 - m1: m1 is read again after the first step.
    let data: Vec<f32> = (0..N).map(|i| i as f32).collect();
    let (m1, m2) = (tensors.from_slice(&data, &SHAPE)?, tensors.from_slice(&vec![2.0f32; N], &SHAPE)?);
    let before = counts();
    let recorded = m1.add(&m2).mul(5.0).sub(&m1);
    println!(
        "(m1 + m2) * 5 - m1: {} operations recorded, {} device calls",
        recorded.operations()?,
        counts().since(&before).device_calls()
    );
    let result = recorded.compute()?;
    let launches = counts().since(&before).get(CallKind::LaunchKernel);
    let elements = result.to_vec()?;
    assert!(elements.iter().enumerate().all(|(i, v)| *v == (i as f32 + 2.0) * 5.0 - i as f32));
    assert_eq!(m1.to_vec()?, data);
    println!("  computed with {launches} launches: [{}, {}, {}, ...]", elements[0], elements[1], elements[2]);

    // A chain of 100 operations: count the buffers of its size that exist at the same time.
    drop((m1, m2, result, recorded));
    stream.synchronize()?;
    launcher.forget_graphs();
    let one = (N * size_of::<f64>()) as u64;
    let x = tensors.from_slice(&vec![1.0f64; N], &SHAPE)?;
    let mut chain = x.clone();
    for _ in 0..50 {
        chain = chain.mul(2.0).sub(1.0);
    }
    let mut out = DeviceBuffer::<f64>::on(&stream, N)?;
    for compute in 1..=3 {
        let (before, pool) = (counts(), device.pool().counters());
        chain.compute_into(&mut out)?;
        let (calls, after) = (counts().since(&before), device.pool().counters());
        println!(
            "100 operations, compute {compute}: {} launches, {} other device calls, {} blocks allocated, {} buffers in use",
            calls.get(CallKind::LaunchKernel),
            calls.device_calls() - calls.get(CallKind::LaunchKernel),
            after.hits + after.misses - pool.hits - pool.misses,
            after.requested / one,
        );
    }
    // 2x - 1 of 1 is 1.
    assert_eq!((out.shape(), out.to_vec(&stream)?), (&SHAPE[..], vec![1.0; N]));
    assert_eq!(device.pool().counters().requested, 3 * one);
    println!("  result: {:?} of {}", out.shape(), out.to_vec(&stream)?[0]);

    // With fusion, the same chain is one kernel and needs no temporary.
    let tensors = tensors.with_fusion(true);
    if !tensors.fuses() {
        println!("no hiprtc for this device: operations are launched one by one");
        return Ok(());
    }
    let x = tensors.from_slice(&vec![1.0f64; N], &SHAPE)?;
    let chain = (0..50).fold(x.clone(), |chain, _| chain.mul(2.0).sub(1.0));
    let before = counts();
    chain.compute_into(&mut out)?;
    println!(
        "100 operations, fused: {} launch, {} kernel compiled",
        counts().since(&before).get(CallKind::LaunchKernel),
        tensors.compiled()
    );
    assert_eq!(out.to_vec(&stream)?, vec![1.0; N]);
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
