//! Lazy graphs: record nodes, plan their temporaries in one arena, submit once.
//!
//! ```text
//!  record: no device call        compute: looked up by its structure         submit, in one go
//!  ┌─────────────────────┐       ┌──────────────────────────────────┐       ┌──────────────────────┐
//!  │ values: buffers,    │ hash  │ cached: order, arena, packed     │ bind  │ kernels and copies   │
//!  │ temporaries; nodes  ├──────▶│ kernel arguments with places for ├──────▶│ in one burst on the  │──▶ ticket
//!  │ with what they read │       │ addresses and scalars            │       │ stream               │
//!  │ and write           │       └──────────────────────────────────┘       └──────────────────────┘
//!  └─────────────────────┘         not there: drop dead nodes, plan, pack
//! ```
//!
//! What a graph is to the cache: its nodes, kernels, launch dimensions, which bytes of which value each node touches, and
//! how its buffers overlap. Addresses and scalars are no part of it: they are written into the packed arguments at each
//! compute, so that a runtime records its loop's body anew each time and nothing is planned twice. Who submits the same
//! graph again and again [compiles](Graph::compile) it, and records it once.
//!
//! Independent [branches](Branches) run on several streams when told to.
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
mod error;
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

pub use branches::Branches;
pub use break_even::measure_break_even;
pub use compiled::CompiledGraph;
pub use error::GraphProblem;
pub use memory::GraphMemory;
pub use record::{Access, Graph, GraphArg, GraphValue, NodeId};
pub use submit::Submission;

pub(crate) use cache::GraphCache;
pub use compiled::{Binding, CachedGraph};
