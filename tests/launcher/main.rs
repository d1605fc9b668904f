//! The launcher's contract, on every backend that is there, with the validation layer on.

mod arguments;
mod boundaries;
mod combinations;
mod concurrency;
mod destination;
mod faults;
mod foreign;
mod lds;
mod lifetime;
mod memory;
mod opening;
mod steady_state;
mod tickets;
mod views;
