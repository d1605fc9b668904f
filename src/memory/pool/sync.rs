//! The lock of the concurrent core; tests put loom's in its place.

pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError};
