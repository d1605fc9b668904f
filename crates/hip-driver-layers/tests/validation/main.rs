//! The validation layer over a driver whose work is done at once: what it counts, refuses, reports and injects.

mod fake;
mod graphs;
mod lifetimes;
mod ordering;
mod others;
mod pool;
mod pool_property;
mod property;
mod rig;
mod service;
