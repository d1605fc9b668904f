//! A layer over any driver that records what the host calls and what the device does, and when.
//!
//! [`Timeline::layer`] puts it around a driver, `LauncherBuilder::timeline` of hiplaunch under a
//! launcher. [`Timeline::snapshot`] is what was recorded; its `write_chrome_trace` (feature `reports`)
//! writes it as a trace that <https://ui.perfetto.dev> opens.
//!
//! * **The host.** Each call is a span on its thread's track, with what it is about: the kernel and its dimensions, bytes,
//!   the stream, the error that it returned. [`Timeline::span`] adds spans of the program's own around them.
//! * **The device.** Each kernel, copy, fill and host function is a span on its stream's track. Spans of one stream do not
//!   overlap, none begins before the call that enqueued it, and each knows which one that was. A blocking copy is no work of
//!   a stream: the call alone shows it.
//! * **Times.** The emulator says itself when work ran, node by node for graphs, and how many waves and instructions it took.
//!   HIP is asked by timed events around each call ([`DeviceTimes`]); there a graph is one span. The events' times are
//!   collected when the program synchronizes and now and then between, never by waiting for them.
//! * **Cost.** A driver without the layer costs nothing more than before. With it a call takes two readings of the clock and
//!   an entry in its thread's own list, without a lock; with events, those and a lock of the stream's.
//! * **Memory** is bounded by [`TimelineOptions::limit`]; the snapshot says how much found no room. Names of kernels, streams
//!   and nodes of graphs, which are few beside calls, are remembered up to 1,048,576 of each.
//!
//! ```text
//!  call ──► layer ── two events, or a number that the emulator's worker hands back ──► driver
//!             │                                      │
//!       calls of this thread                  work that has run, on the list of whoever learned of it
//!             └───────────► snapshot: names looked up, calls and work joined by number ◄──────────┘
//!                                         └─► Chrome trace
//! ```

mod buffer;
mod calls;
mod events;
mod layer;
mod names;
mod record;
mod recorder;
mod snapshot;
mod work;

pub use layer::{TimelineDriver, TimelineLayer};
pub use recorder::{DeviceTimes, Timeline, TimelineOptions, TimelineSpan};
pub use snapshot::{DeviceSpan, DeviceTrack, HostSpan, StreamTrack, ThreadTrack, TimelineSnapshot};
pub use work::{CopyDirection, DeviceWork};
