//! LDS layouts: where the buffers of a kernel go in its dynamic LDS, for whoever generates the kernel.
//!
//! LDS limits how many workgroups a compute unit holds, and buffers that are never in use together can have the same
//! bytes. In a workgroup that takes a barrier: it has to stand on every path from an access of the one to an access of
//! the other, or a fast wave writes what a slow one still reads. So a builder is told the buffers, their accesses,
//! barriers, loops and branches, and gives a layout for the barriers that there are
//! ([`layout`](LdsProgram::layout)), or with the fewest more that bring it within a budget of bytes
//! ([`layout_within`](LdsProgram::layout_within)) or to an occupancy
//! ([`layout_for_occupancy`](LdsProgram::layout_for_occupancy)).
//!
//! What counts:
//! - A buffer holds something from its first access to its last, reads and writes alike; and for the whole of a loop that
//!   it is carried round: where its first access in the body is not a [`write`](LdsBuilder::write) that every pass comes
//!   by.
//! - Two buffers in one loop share bytes only with a barrier between them and another on the way round.
//! - A barrier counts on the paths that go through it, so that one in a loop that may run zero times, or in one arm of a
//!   branch, is not enough for what lies around; and not at all in what is [`Divergent`](Runs::Divergent).
//!
//! Offsets come from [`offsets`](offset_planner), of whose verifier each layout is checked, and once more by a walk over
//! all paths that shares no code with what made it.
//!
//! ```
//! use lds_layout::{LdsBuilder, LdsTarget};
//!
//! let mut kernel = LdsBuilder::new(0..=9)?;
//! let a = kernel.buffer("a", 24 << 10)?;
//! let b = kernel.buffer("b", 24 << 10)?;
//! kernel.write(a, 1)?;
//! kernel.read(a, 2)?;
//! kernel.write(b, 5)?;
//! kernel.read(b, 6)?;
//! let kernel = kernel.build()?;
//! assert_eq!(kernel.layout()?.total(), 48 << 10);
//! // Two workgroups on a compute unit: one barrier, before `b` is first written.
//! let layout = kernel.layout_for_occupancy(&LdsTarget::GFX942, 2, 0)?;
//! assert_eq!((layout.total(), layout.inserted().len()), (24 << 10, 1));
//! assert_eq!(layout.inserted()[0].before, 5);
//! assert_eq!(layout.offset(a), layout.offset(b));
//! # Ok::<(), lds_layout::LdsError>(())
//! ```

mod bits;
mod builder;
mod candidates;
mod check;
mod error;
mod fewest;
mod layout;
mod lifetime;
mod pack;
pub mod picture;
mod place;
mod program;
mod promote;
mod separation;
mod target;
mod text;

pub use builder::{LdsBuilder, LdsId, Runs};
pub use check::{CheckError, Verdict};
pub use error::LdsError;
pub use fewest::TRIED_LAYOUTS;
pub use layout::{BarrierPlace, InsertedBarrier, LdsLayout, LdsSlot};
pub use program::LdsProgram;
pub use target::LdsTarget;
