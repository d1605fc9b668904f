//! A graph: recorded and planned once, then submitted many times with new data; its branches run on streams of their
//! own.
//!
//! ```text
//!  x ─ vscale ─ left  ─┐
//!                      ├─ vadd_f32 ─ out ─ read
//!  y ─ vscale ─ right ─┘
//! ```

use hiplaunch::driver::validation::{CallGroup, CallKind, Counted};
use hiplaunch::graph::{Branches, GraphArg};
use hiplaunch::{DeviceBuffer, FatBinary, LaunchDims, Launcher};

const N: usize = 4096;
const ROUNDS: usize = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The validation layer counts calls, and finds branches that lack an event between them.
    let launcher = Launcher::builder().validate(true).build()?;
    let device = launcher.device(0)?;
    let stream = launcher.stream(device)?;
    let code = FatBinary::read("hip/vector.hipfb")?.for_device(device)?;
    // SAFETY: kernels of this project.
    let (vscale, vadd) = unsafe {
        (launcher.register(device, code.elf(), "vscale")?, launcher.register(device, code.elf(), "vadd_f32")?)
    };
    let inputs: Vec<_> =
        (0..4).map(|k| DeviceBuffer::from_slice(&stream, &[k as f32; N])).collect::<Result<_, _>>()?;
    let out = DeviceBuffer::<f32>::on(&stream, N)?;

    // Recording makes no device call. Temporaries have no memory yet. The order of nodes follows from what they read
    // and write.
    let mut graph = launcher.graph(device)?;
    let (x, y) = (graph.buffer(&inputs[0])?, graph.buffer(&inputs[1])?);
    let (left, right) = (graph.temporary::<f32>(N)?, graph.temporary::<f32>(N)?);
    let sum = graph.buffer(&out)?;
    let (dims, n) = (LaunchDims::cover(N as u32, 256), GraphArg::from(N as i32));
    // SAFETY: the kernels of hip/ access what their README says: here all N elements of the values.
    let scale_x = unsafe {
        let scale_x =
            graph.launch(vscale, dims, &[2.0f32.into(), GraphArg::Read(x), GraphArg::Write(left), n])?;
        graph.launch(vscale, dims, &[3.0f32.into(), GraphArg::Read(y), GraphArg::Write(right), n])?;
        let args = [GraphArg::Read(left), GraphArg::Read(right), GraphArg::Write(sum), n];
        graph.launch(vadd, dims, &args)?;
        scale_x
    };
    graph.read(&sum)?;

    // Compiling plans once: the workspace of the temporaries, the packed arguments, the stream of each step, the
    // events.
    graph.set_branches(Branches::Streams(2));
    let mut graph = graph.compile(&stream)?;
    println!(
        "{} steps on {} streams, joined by {} events; {} bytes of temporaries",
        graph.steps(),
        graph.streams(),
        graph.events(),
        graph.workspace_bytes()
    );
    assert_eq!(graph.streams(), 2);

    // Each round has other buffers and another scalar. Nothing is recorded, planned or allocated.
    let counts = || launcher.validation().map(|layer| layer.counts()).unwrap_or_default();
    let mut before = counts();
    for round in 0..ROUNDS {
        let (i, j, a) = (round % 4, (round + 1) % 4, round as f32);
        graph.set_buffer(&x, &inputs[i])?;
        graph.set_buffer(&y, &inputs[j])?;
        // SAFETY: the kernel takes any factor.
        unsafe { graph.set_scalar(scale_x, 0, a)? };
        let ticket = graph.submit()?; // does not wait
        assert_eq!(ticket.read()?.slice::<f32>(0)?, [a * i as f32 + 3.0 * j as f32; N]);
        if round == 0 {
            before = counts(); // the first submission allocates what the others use again
        }
    }
    let made = counts().since(&before);
    let shown = [CallKind::LaunchKernel, CallKind::EventRecord, CallKind::StreamWaitEvent].map(Counted::from);
    for counted in shown.into_iter().chain([CallGroup::DeviceAllocation.into()]) {
        println!("{:<22} {} a submission", counted.name(), made.get(counted) as f64 / (ROUNDS - 1) as f64);
    }
    assert_eq!(made.get(CallKind::LaunchKernel), 3 * (ROUNDS as u64 - 1));
    assert_eq!(made.get(CallGroup::DeviceAllocation), 0);
    launcher.validation().map_or(Ok(()), |layer| layer.assert_clean())?;
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
