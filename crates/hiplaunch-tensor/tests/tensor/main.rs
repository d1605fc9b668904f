//! Compares lazy tensors with the host: exactly unless a bound is stated. Checks the cost of a compute.

mod cost;
mod errors;
mod fusion;
mod host;
mod lowered;
mod operations;
mod property;
