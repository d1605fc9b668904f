//! Exchange between ranks of MPI, ordered with HIP streams, for programs that launch with `hiplaunch`.
#![doc = include_str!("../README.md")]

mod calls;
mod communicator;
mod counters;
mod environment;
mod error;
mod exchange;
pub mod local_rank;
mod number;
mod operation;
mod progress;
mod staging;
mod supervise;
mod ticket;
mod trace;
mod transfer;

pub use communicator::{Communicator, Options};
pub use counters::Counters;
pub use environment::{DeviceChoice, Mpi};
pub use error::{Error, Result};
pub use exchange::{Halo, MAX_TAG};
pub use number::{Number, Reduce};
pub use staging::{Staging, mpi_takes_device_memory};
pub use supervise::supervise;
pub use ticket::Ticket;
