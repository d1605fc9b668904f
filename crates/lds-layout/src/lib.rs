//! Computes LDS layouts: offsets for the buffers of a kernel in its dynamic LDS. It is for code generators.
//!
//! LDS limits how many workgroups a compute unit holds. Buffers that are never in use at the same time can share bytes,
//! but a barrier must be on every path from an access of one to an access of the other: otherwise a fast wave writes
//! what a slow one still reads. [`LdsBuilder`] records the buffers, their accesses, barriers, loops and branches. The
//! result, [`LdsUse`], is laid out with the barriers that the kernel has ([`layout`](LdsUse::layout)), or with the
//! fewest additional ones with which it fits a budget of bytes ([`layout_within`](LdsUse::layout_within)) or an
//! occupancy ([`layout_for_occupancy`](LdsUse::layout_for_occupancy)).
//!
//! The rules are:
//! A buffer is live from its first access to its last. If a loop carries its contents from one iteration to the next,
//!   it is live in the whole loop. That is so unless its first access in the body is a [`write`](LdsBuilder::write)
//!   that every iteration executes.
//! Two buffers in one loop share bytes only with a barrier between them and another one before the next iteration.
//! A barrier counts on the paths that go through it. So a barrier in a loop that may run zero times, or in one arm of a
//!   branch, does not separate what is before that scope from what is after it. A barrier in a
//!   [`Divergent`](Uniformity::Divergent) scope never counts.
//!
//! The offsets come from [`offset_planner`]. Each layout is checked by that crate's verifier, and again by a walk over
//! all paths that shares no code with the planner.
//!
//! ```
//! use lds_layout::{LdsBuilder, LdsCapacity};
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
//! let layout = kernel.layout_for_occupancy(LdsCapacity::GFX90A, 2, 0)?;
//! assert_eq!((layout.total(), layout.inserted().len()), (24 << 10, 1));
//! assert_eq!(layout.inserted()[0].before, 5);
//! assert_eq!(layout.offset(a), layout.offset(b));
//! # Ok::<(), lds_layout::LdsError>(())
//! ```

mod bits;
mod build;
mod builder;
mod candidates;
mod check;
mod error;
mod fewest;
mod layout;
mod lifetime;
pub mod picture;
mod place;
mod program;
mod promote;
mod separation;
mod text;

pub use builder::{LdsBufferId, LdsBuilder, Uniformity};
pub use check::LayoutCheck;
pub use code_object::occupancy::LdsCapacity;
pub use error::{LayoutCheckError, LdsError};
pub use fewest::TRIED_LAYOUTS;
pub use layout::{BarrierPosition, InsertedBarrier, LdsLayout, PlacedBuffer};
pub use program::LdsUse;
