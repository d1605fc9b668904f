//! Layers over any HIP [`Driver`](hip_driver::Driver).
//!
//! A [`Layer`] looks at each call before it is made and after; [`Intercepted`] makes a driver of it, which forwards each call
//! to the driver below.
//!
//! * [`validation`] checks lifetimes and the order of work, counts calls, and injects faults.
//! * [`counts`] counts calls and injects faults, and nothing else.
//! * [`timeline`] records what the host calls and what the device does, and when.

pub mod counts;
mod default_streams;
mod inject;
mod intercept;
mod pinned;
pub mod timeline;
pub mod validation;

pub use intercept::{Intercepted, Layer};
