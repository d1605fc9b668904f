//! Tests of the launcher on every backend of the machine, with the validation layer on.

mod adopted;
mod arguments;
mod attributes;
mod boundaries;
mod combinations;
mod concurrency;
mod cooperative;
mod destination;
mod devices;
mod fat_binary;
mod faults;
mod fences;
mod foreign;
mod host_functions;
mod lds;
mod lifetime;
mod memory;
mod opening;
mod steady_state;
mod tickets;
mod values;
mod views;
