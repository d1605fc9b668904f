//! Lazy tensors against the host: exact but where a bound is stated, and what a compute costs.

mod cost;
mod errors;
mod fusion;
mod host;
mod lowered;
mod operations;
mod property;
