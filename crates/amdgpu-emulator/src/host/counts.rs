//! What the threads of a dispatch count together.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// The counters that all threads of a dispatch write. They are on cache lines of their own, because the threads read
/// the rest of the job all the time: padding does that, since memory of an alignment takes much longer to allocate.
#[repr(C)]
pub(super) struct Counts {
    _before: MaybeUninit<[u64; 16]>,
    /// The number of workgroups that have begun.
    pub(super) next: AtomicU64,
    /// The number of workgroups that have ended.
    pub(super) ended: AtomicU64,
    /// The number of workgroups that have begun and not ended.
    pub(super) resident: AtomicUsize,
    /// The number of wave instructions. Without a budget it is updated only at the end of a workgroup's turn.
    pub(super) instructions: AtomicU64,
    _after: MaybeUninit<[u64; 16]>,
}

impl Counts {
    pub(super) fn new() -> Counts {
        Counts {
            _before: MaybeUninit::uninit(),
            next: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            resident: AtomicUsize::new(0),
            instructions: AtomicU64::new(0),
            _after: MaybeUninit::uninit(),
        }
    }
}
