//! Graphs: recorded without a driver call, planned once, submitted together, with the results of single launches.

mod branches;
mod compiled;
mod driver_graph;
mod failures;
mod host;
mod order;
mod planning;
mod views;
