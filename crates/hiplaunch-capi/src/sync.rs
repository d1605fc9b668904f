//! What the lock-free parts of the handles are made of; tests put loom's in their place.

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
pub(crate) use std::sync::{Condvar, Mutex, PoisonError};
