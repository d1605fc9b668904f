//! Measures the number of nodes from which on a driver graph is faster than a stream submission. It depends on the
//! driver and the machine.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::launcher::{Launcher, Stream};

use super::submit::Submission;

/// The numbers of nodes that are measured.
const LENGTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// The number of submissions of each kind; the fastest counts.
const ROUNDS: usize = 15;

/// Measures chains of small fills on `stream`, submitted as stream submissions and as driver graphs until they have
/// run. Returns the length from which on the driver graph was faster, at that and at every greater measured length, or
/// `u32::MAX` if it never was or the driver has no graphs. Pass it to [`Launcher::set_graph_break_even`]. Waits for the
/// stream. Takes milliseconds on a GPU.
///
/// # Errors
/// Returns the driver's error.
pub fn measure_break_even(launcher: &Launcher, stream: &Stream) -> Result<u32> {
    if !stream.device().raw().capabilities().has(hip_driver::Capability::Graphs) {
        return Ok(u32::MAX);
    }
    let mut from = u32::MAX;
    for &length in LENGTHS.iter().rev() {
        let mut best = [Duration::MAX; 2];
        for _ in 0..ROUNDS {
            for (way, best) in [Submission::Stream, Submission::DriverGraph].into_iter().zip(&mut best) {
                let mut graph = launcher.graph(stream.device())?;
                let value = graph.temporary::<u32>(64)?;
                for i in 0..length {
                    graph.fill_words(&value, i)?;
                }
                // A read keeps the fills live.
                graph.read(&value.slice(0, 4)?)?;
                let start = Instant::now();
                graph.compute_by(stream, way)?.read()?;
                *best = (*best).min(start.elapsed());
            }
        }
        if best[1] >= best[0] {
            break;
        }
        from = length;
    }
    Ok(from)
}
