//! Tests of the validation layer over a driver that does everything at once: counts, refusals, violations, injected
//! faults.

mod fake;
mod graphs;
mod lifetimes;
mod ordering;
mod pool;
mod pool_property;
mod property;
mod rig;
mod service;
