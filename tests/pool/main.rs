//! The stream-aware memory pool, over the emulated driver with the validation layer.
#![cfg(feature = "emulator")]

mod backends;
mod defects;
mod errors;
mod failures;
mod hooked;
mod leaks;
mod limits;
mod property;
mod reclaim;
mod rig;
mod streams;
mod threads;
mod trace;

#[global_allocator]
static ALLOCATOR: hiplaunch_testing::counting::Counting = hiplaunch_testing::counting::Counting;
