//! A cooperative launch: all workgroups of the grid wait for each other, so that one launch does the steps of a stencil that
//! would else be a launch each.

use hiplaunch::driver::Capability;
use hiplaunch::{DeviceBuffer, Error, Launch, LaunchDims, LaunchProblem, Launcher, args};

const N: usize = 4000;
const STEPS: usize = 10;

/// One step, as the kernel does it.
fn step(from: &[u32]) -> Vec<u32> {
    let at = |i: usize| from[i.min(N - 1)];
    let sum = |i: usize| at(i.saturating_sub(1)).wrapping_add(at(i).wrapping_mul(2)).wrapping_add(at(i + 1));
    (0..N).map(sum).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = Launcher::new()?;
    let device = launcher.device(0)?;
    if !launcher.driver().capabilities().has(Capability::CooperativeLaunch) {
        println!("this ROCm has no cooperative launches of a module's kernels; 5.5 has");
        return Ok(());
    }
    let code = std::fs::read(format!("hip/grid.{}.co", device.properties().target.processor))?;
    // SAFETY: a kernel of this project.
    let stencil = unsafe { launcher.register(device, &code, "grid_stencil")? };
    let stream = launcher.stream(device)?;

    let values: Vec<u32> = (0..N as u32).map(|i| i % 7).collect();
    let (a, b) = (DeviceBuffer::from_slice(&stream, &values)?, DeviceBuffer::<u32>::on(&stream, N)?);
    let args = args![&a, &b, N as i32, STEPS as i32];
    let on = |workgroups| Launch::new(LaunchDims::linear(workgroups, 256)).args(&args).cooperative();

    // A grid that is not on the device as a whole could wait forever. It is refused, with the most that fit.
    // SAFETY: the kernel takes a grid of any size; the buffers have N elements, as the third argument says.
    let most = match unsafe { launcher.enqueue(stencil, &stream, on(1 << 20)) } {
        Err(Error::Launch { problem, .. }) => match *problem {
            LaunchProblem::CooperativeGrid { limit, .. } => limit as u32,
            problem => return Err(problem.to_string().into()),
        },
        other => return Err(format!("a grid of 2^20 workgroups: {other:?}").into()),
    };

    // No more than there is work for.
    let workgroups = most.min((N as u32).div_ceil(256));
    // SAFETY: as above.
    unsafe { launcher.enqueue(stencil, &stream, on(workgroups))? };
    let expected = (0..STEPS).fold(values, |values, _| step(&values));
    assert_eq!(a.to_vec(&stream)?, expected);
    println!("{STEPS} steps on {workgroups} workgroups in one launch; at most {most} fit");
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
