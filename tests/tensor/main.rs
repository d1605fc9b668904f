//! Lazy tensors against the host: exact but where a bound is stated, and what a compute costs.

#[path = "../launcher/support.rs"]
#[allow(dead_code, reason = "the launcher's tests use all of it")]
mod support;

mod cost;
mod errors;
mod fusion;
mod host;
mod lowered;
mod operations;
mod property;
