//! Layers over any HIP [`Driver`](hip_driver::Driver).
//!
//! A [`Layer`] observes each call before and after it is passed on. [`Intercepted`] makes a driver of a layer: it
//! passes each call on to the driver below.
//!
//! * [`validation`] checks lifetimes and the order of work, counts calls, and injects faults.
//! * [`counts`] only counts calls and injects faults.
//! * [`timeline`] records when the host called the driver and when the device ran the work.

mod captures;
mod counted;
pub mod counts;
mod default_streams;
mod inject;
mod intercept;
mod pinned;
pub mod timeline;
pub mod validation;

pub use intercept::{Intercepted, Layer};
