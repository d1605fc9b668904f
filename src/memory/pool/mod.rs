//! The stream-aware pool of a device: blocks cut out of few large allocations of the driver.
//!
//! ```text
//!  request ──▶ the stream's arena ── hit: no driver call ──────────────────────────▶ block
//!                  │ miss
//!                  ├─ blocks held back for other streams whose work has finished
//!                  ├─ a whole segment of a stream that is gone, or of another stream, for which this one then waits
//!                  ├─ a new segment from the driver: an eighth of what there is, at least what is asked for
//!                  └─ the ladder: callbacks, events, other streams' blocks, cached segments, waiting, a typed error
//! ```
//!
//! | File | What |
//! |---|---|
//! | `nodes`, `bins`, `heap` | the blocks of one stream: best fit, split, coalesce; no lock, no driver |
//! | `arena` | a heap behind its lock, marks of other streams, blocks held back; no driver |
//! | `shared` | the driver, limits, events as fences |
//! | `stream_arena`, `block` | the arena of a stream; an owner of a block |
//! | `core`, `ladder` | a device's pool: where a block comes from when its stream has none |
//! | `raw` | blocks by address |
//! | `counters`, `snapshot`, `trace` | what it does |
//! | `report`, `picture` | a snapshot as text, JSON and SVG |
//!
//! It stands below the device and the stream: it knows the driver alone. [`Pool`](super::Pool) is what users see.

mod arena;
mod bins;
mod block;
mod block_records;
mod core;
mod counters;
mod heap;
mod options;
mod raw;
mod reclaim;
pub mod report;
mod shared;
mod snapshot;
mod stats;
mod stream_arena;
mod sync;
mod trace;

pub use block::PoolBlock;
pub use counters::{ClassCounters, PoolCalls, PoolCounters, StreamCounters};
pub use options::{POOL_VARIABLE, PoolBackend, PoolOptions};
pub use raw::{PoolBlockInfo, PoolError};
pub use reclaim::ReclaimStep;
pub use snapshot::{PoolBlockSnapshot, PoolBlockState, PoolSegmentSnapshot, PoolSnapshot};
pub use trace::{PoolTraceAction, PoolTraceEntry, TRACE_COLUMNS};

pub(crate) use self::core::{PoolCore, RequestContext};
pub(crate) use shared::StreamRef;
pub(crate) use stream_arena::StreamArena;
