//! Measures the number of nodes from which on a driver graph is faster than a stream submission. It depends on the
//! driver and the machine.

use std::time::{Duration, Instant};

use crate::buffer::DeviceBuffer;
use crate::code::{FatBinary, KernelHandle, LaunchDims};
use crate::error::{Error, Result};
use crate::launcher::Launcher;
use crate::stream::Stream;

use super::record::{Graph, GraphArg, GraphValue};
use super::submit::Submission;

/// The numbers of nodes that are measured.
const CHAIN_LENGTHS: [u32; 11] = [1, 2, 3, 4, 6, 8, 16, 32, 64, 128, 256];
/// The number of submissions of each kind; the fastest counts.
const ROUNDS: usize = 25;

/// The elements that the nodes read and write: a fill for each of the longest chain.
const ELEMENTS: usize = 256;

/// Measures chains of small kernels on `stream`, submitted as stream submissions and as driver graphs until they have
/// run. Returns the length from which on the driver graph was faster by a twentieth or more, at that and at every greater
/// measured length, or `u32::MAX` if it never was or the driver has no graphs. Pass it to
/// [`Launcher::set_graph_break_even`]. Waits for the stream. Takes milliseconds on a GPU.
///
/// # Errors
/// Returns the driver's error.
pub fn measure_break_even(launcher: &Launcher, stream: &Stream) -> Result<u32> {
    if !stream.device().raw().capabilities().has(hip_driver::Capability::Graphs) {
        return Ok(u32::MAX);
    }
    let saxpy = match FatBinary::new("vector", &include_bytes!("../../hip/vector.hipfb")[..])
        .for_device(stream.device())
    {
        // SAFETY: a kernel of hip/vector.hip, which is launched as it says.
        Ok(code) => Some(unsafe { launcher.register(stream.device(), code.elf(), "saxpy") }?),
        // A device that the bundle has no code for. Chains of fills cost about as much.
        Err(Error::NoCode(_)) => None,
        Err(error) => return Err(error),
    };
    let measured = measure(launcher, stream, saxpy);
    if let Some(saxpy) = saxpy {
        launcher.unregister(saxpy)?;
    }
    measured
}

fn measure(launcher: &Launcher, stream: &Stream, kernel: Option<KernelHandle>) -> Result<u32> {
    let data = DeviceBuffer::from_slice(stream, &[0.0f32; ELEMENTS])?;
    let mut from = u32::MAX;
    for &length in CHAIN_LENGTHS.iter().rev() {
        let mut best = [Duration::MAX; 2];
        for _ in 0..ROUNDS {
            for (submission, best) in [Submission::Stream, Submission::DriverGraph].into_iter().zip(&mut best)
            {
                let mut graph = launcher.graph(stream.device())?;
                let value = graph.buffer(&data)?;
                for i in 0..length {
                    add_node(&mut graph, value, kernel, i)?;
                }
                graph.read(&value)?;
                let start = Instant::now();
                graph.compute_by(stream, submission)?.read()?;
                *best = (*best).min(start.elapsed());
            }
        }
        if best[1] * 20 >= best[0] * 19 {
            break;
        }
        from = length;
    }
    Ok(from)
}

/// Adds a node that runs after the one before it, and that no later one makes needless.
fn add_node(graph: &mut Graph, value: GraphValue, kernel: Option<KernelHandle>, index: u32) -> Result<()> {
    let Some(saxpy) = kernel else {
        let at = u64::from(index) % ELEMENTS as u64 * 4;
        graph.fill_words(&value.slice(at, 4)?, index)?;
        return Ok(());
    };
    let half = ELEMENTS as u64 / 2 * 4;
    let (x, y) = (value.slice(0, half)?, value.slice(half, half)?);
    let args = [
        GraphArg::from(0.0f32),
        GraphArg::Read(x),
        GraphArg::ReadWrite(y),
        GraphArg::from(ELEMENTS as i32 / 2),
    ];
    // SAFETY: the kernel takes a number, the array that it reads, the array that it changes, and their length.
    unsafe { graph.launch(saxpy, LaunchDims::linear(1, 64), &args) }?;
    Ok(())
}
