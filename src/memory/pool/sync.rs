//! The lock types of `arena`. A test compiles `arena` with loom's instead.

pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError};
