//! Layers over any HIP [`Driver`](hip_driver::Driver).
//!
//! A layer is a driver itself: it forwards each call to the driver below, and looks at it on the way.
//!
//! * [`validation`] checks lifetimes and the order of work, counts calls, and injects faults.
//! * [`timeline`] records what the host calls and what the device does, and when.

pub mod timeline;
pub mod validation;
