//! Graphs: recorded without a device call, planned once, submitted in one go, with the results of single launches.

mod branches;
mod compiled;
mod driver_graph;
mod failures;
mod order;
mod planning;
mod views;
