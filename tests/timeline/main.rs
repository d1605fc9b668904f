//! Timelines: what they say of calls and work on every driver that is here, and the trace that is written of them.

mod content;
mod limits;
mod rig;
mod trace;
