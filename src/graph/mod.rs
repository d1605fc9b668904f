//! Lazy graphs: record nodes, place their temporaries in one workspace, and submit them together.
//!
//! ```text
//! record: no driver call        compute: found by the graph key            submit
//! ┌─────────────────────┐       ┌──────────────────────────────────┐       ┌──────────────────────┐
//! │ values: buffers,    │ graph │ cached program instance: order,  │ bind  │ a stream submission, │
//! │ temporaries; nodes  ├──────▶│ workspace, packed arguments with ├──────▶│ or one launch of a   │──▶ ticket
//! │ with what they read │  key  │ places for addresses and scalars │       │ driver graph         │
//! │ and write           │       └──────────────────────────────────┘       └──────────────────────┘
//! └─────────────────────┘         not cached: drop dead nodes, plan, pack
//! ```
//!
//! The graph key describes the nodes, kernels, launch dimensions, the bytes of each value that each node accesses, and
//! how buffers overlap. Addresses and scalars are not part of it: each compute writes them into the packed arguments.
//! So a program may record the body of its loop again in each iteration, and it is planned once. To record it only once
//! too, [compile](Graph::compile) the graph.
//!
//! Independent [branches](Branches) can run on several streams.
//!
//! | file | contents |
//! |---|---|
//! | `record`, `memory` | recording values and nodes; buffers and views as values |
//! | `key` | the graph key |
//! | `edges`, `forward` | live nodes and their dependencies; temporaries that are written directly to buffers |
//! | `branches`, `side_streams` | the stream of each step and the events between streams; the streams of an instance |
//! | `place`, `program` | places temporaries in the workspace; compiles a graph to a graph program |
//! | `cache` | the program instances of a launcher |
//! | `submit`, `exec` | binds and submits a program instance; driver graphs |
//! | `compiled` | compiled graphs |
//! | `break_even` | measures the length from which on driver graphs are faster |
//!
//! ```no_run
//! use hiplaunch::graph::{Branches, GraphArg, NodeId};
//! use hiplaunch::{DeviceBuffer, LaunchDims, Launcher};
//!
//! # fn main() -> hiplaunch::Result<()> {
//! let launcher = Launcher::new()?;
//! let device = launcher.device(0)?;
//! let stream = launcher.stream(device)?;
//! # let code: &[u8] = &[];
//! // SAFETY: the kernel is trusted: `vscale(a, x, out, n)` writes `a * x` to `out`.
//! let scale = unsafe { launcher.register(device, code, "vscale") }?;
//! let x = DeviceBuffer::from_slice(&stream, &[1.0f32; 1024])?;
//! let outs = [DeviceBuffer::<f32>::on(&stream, 1024)?, DeviceBuffer::on(&stream, 1024)?];
//!
//! let mut graph = launcher.graph(device)?;
//! graph.set_branches(Branches::Streams(2));
//! let from = graph.buffer(&x)?;
//! for out in &outs {
//!     let args = [2.0f32.into(), GraphArg::Read(from), GraphArg::Write(graph.buffer(out)?), 1024i32.into()];
//!     // SAFETY: as the kernel takes it.
//!     unsafe { graph.launch(scale, LaunchDims::cover(1024, 256), &args) }?;
//! }
//! let mut compiled = graph.compile(&stream)?;
//! compiled.submit()?;
//! // The second launch with another factor.
//! // SAFETY: as the kernel takes it.
//! unsafe { compiled.set_scalar(NodeId(1), 0, 3.0f32) }?;
//! compiled.submit()?.read()?;
//! # Ok(())
//! # }
//! ```

mod branches;
mod break_even;
mod cache;
mod compiled;
mod edges;
mod exec;
mod forward;
mod key;
mod memory;
mod place;
mod program;
mod record;
mod side_streams;
mod submit;
#[cfg(all(test, feature = "emulator"))]
mod tests;

pub use crate::error::GraphProblem;
pub use branches::Branches;
pub use break_even::measure_break_even;
pub use cache::GraphCounts;
pub use compiled::CompiledGraph;
pub use memory::GraphMemory;
pub use record::{Access, Graph, GraphArg, GraphValue, NodeId};
pub use submit::Submission;

pub use compiled::{Binding, CachedGraph};
