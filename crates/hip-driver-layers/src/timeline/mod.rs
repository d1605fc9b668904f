//! A layer over any driver that records when the host called the driver and when the device ran the work.
//!
//! [`Timeline::layer`] puts it over a driver, `LauncherBuilder::timeline` of hiplaunch under a launcher.
//! [`Timeline::snapshot`] returns what was recorded; its `write_chrome_trace` (feature `reports`) writes a file that
//! <https://ui.perfetto.dev> opens.
//!
//! * **The host.** Each call is a span on its thread's track, with its details: the kernel and its dimensions, bytes,
//!   the stream, the error that it returned. [`Timeline::span`] adds spans of the program's own around them.
//! * **The device.** Each kernel, copy, fill and host function is a span on its stream's track. The spans of a stream
//!   do not overlap, none begins before the call that enqueued it, and each refers to that call. A blocking copy is no
//!   work of a stream: only its call is a span.
//! * **Times.** The emulator reports when work ran, for each node of a graph, and how many waves and instructions it
//!   executed. For HIP, timed events are recorded before and after the work ([`DeviceTimes`]); a graph is one span
//!   then. The events are read when the program synchronizes and from time to time in between, but never waited for.
//! * **Cost.** Without the layer, a driver costs nothing extra. With it, a call reads the clock twice and appends an
//!   entry to a list of its thread, without a lock; with events, it also records those and locks its stream.
//! * **Memory** is limited by [`TimelineOptions::limit`]; the snapshot says how much was dropped. Names of kernels,
//!   streams and nodes of graphs, which are few compared to calls, are kept up to 1,048,576 of each.
//!
//! ```text
//!  call ──► layer ── two events, or a correlation that the emulator's worker reports ──► driver
//!             │                                      │
//!       calls of this thread                  work that has run, on the list of the thread that reports it
//!             └──────────► snapshot: names looked up, calls and work joined by correlation ◄──────────┘
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
