#![doc = include_str!("../README.md")]

mod api;
mod collectives;
mod communicator;
mod error;
mod group;
mod library;
mod number;

pub use api::UniqueId;
pub use collectives::Collectives;
pub use communicator::Communicator;
pub use error::{Error, Result};
pub use group::{Group, GroupMember};
pub use library::Rccl;
pub use number::{Number, Reduce};
pub use rocm_library::LoadAttempt;
