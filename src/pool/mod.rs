//! The stream-aware pool of a device: it cuts blocks out of few large allocations of the driver.
//!
//! ```text
//! request ──▶ the stream's arena ── hit: no driver call ────────────────────────▶ pool block
//!                 │ miss
//!                 ├─ held-back blocks whose fences were reached
//!                 ├─ steal: a whole free segment of no stream, or of another stream, for which this one then waits
//!                 ├─ a new segment from the driver: an eighth of the arena's memory, at least the request
//!                 └─ reclaim steps: callbacks, polling events, borrowing, releasing, waiting, `OutOfMemory`
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `block_records`, `bins`, `heap` | the blocks of one stream: best fit, splitting, coalescing; no lock, no driver |
//! | `arena` | a heap with its lock, recorded uses by other streams, held-back blocks; no driver |
//! | `stream_arena`, `block` | the arena of a stream; an owner of a block |
//! | `shared` | the driver, limits, events used as fences |
//! | `core`, `reclaim` | the pool of a device: how a miss is served; the reclaim steps |
//! | `raw` | blocks by address, and the errors of their misuse |
//! | `options` | the backend and the limits |
//! | `stats`, `counters`, `snapshot`, `trace` | what an arena counts; the pool's counters, snapshot and pool trace |
//! | `report` | a snapshot as text |
//!
//! In this module, "block" and "segment" mean pool block and pool segment. The module uses the driver and
//! `DriverStream`, but neither `Device` nor `Stream`. Its public interface is [`Pool`](crate::Pool).

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
mod trace;

pub use block::PoolBlock;
pub use counters::{ClassCounters, PoolCalls, PoolCounters, StreamCounters};
pub use options::{POOL_VARIABLE, PoolBackend, PoolOptions};
pub use raw::PoolBlockInfo;
pub use reclaim::ReclaimStep;
pub use snapshot::{PoolBlockSnapshot, PoolBlockState, PoolSegmentSnapshot, PoolSnapshot};
pub use trace::{PoolTraceAction, PoolTraceEntry, TRACE_COLUMNS};

pub(crate) use self::core::{PoolCore, RequestContext};
pub(crate) use shared::StreamRef;
pub(crate) use stream_arena::StreamArena;
