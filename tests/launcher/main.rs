//! The launcher's contract, on every backend that is there, with the validation layer on.

mod adopted;
mod arguments;
mod combinations;
mod concurrency;
mod cooperative;
mod destination;
mod faults;
mod lds;
mod lifetime;
mod memory;
mod opening;
mod steady_state;
mod tickets;
mod views;
