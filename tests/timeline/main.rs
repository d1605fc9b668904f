//! Tests of timelines on every driver of the machine: their calls and work, their limits, and their files in Chrome's
//! trace format.

mod content;
mod limits;
mod rig;
mod trace;
