//! A number for the calling thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// Returns a number that no other thread of the process has; 0 while the thread's local variables are destroyed.
///
/// Unlike `std::thread::current()`, this allocates nothing on threads that were not created by Rust.
pub fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.try_with(|number| *number).unwrap_or(0)
}
