//! The atomics and locks that the crate uses: the standard library's, or loom's with `--cfg loom`.

pub(crate) use std::sync::PoisonError;

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Condvar, Mutex,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Condvar, Mutex,
    atomic::{AtomicU32, AtomicU64, Ordering},
};
