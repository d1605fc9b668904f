//! Graphs: recorded without a device call, planned once, submitted in one go, with the results of single launches.

#[path = "../launcher/support.rs"]
#[allow(dead_code, reason = "the launcher's tests use all of it")]
mod support;

mod branches;
mod compiled;
mod driver_graph;
mod failures;
mod order;
mod planning;
mod views;
