//! Tests of the validation layer over a driver that does everything at once: counts, refusals, violations, injected
//! faults.

mod captures;
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
mod values;
