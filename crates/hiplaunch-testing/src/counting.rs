//! A global allocator that counts heap allocations, for each thread and for the whole process.
//!
//! A test or benchmark declares it as its own:
//!
//! ```ignore
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static THREAD: Cell<u64> = const { Cell::new(0) };
}
static PROCESS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, which counts allocations and reallocations.
#[derive(Debug)]
pub struct Counting;

fn count() {
    let _ = THREAD.try_with(|c| c.set(c.get() + 1));
    PROCESS.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: every call is passed on unchanged; the counters have no destructor and do not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

/// Returns the number of heap allocations and reallocations of this thread so far.
pub fn heap_allocations() -> u64 {
    THREAD.with(Cell::get)
}

/// Runs `f`, and leaves this thread's count as it was: a thread that waits for the emulator runs kernels, which allocate.
pub fn uncounted<R>(f: impl FnOnce() -> R) -> R {
    let before = heap_allocations();
    let result = f();
    THREAD.set(before);
    result
}

/// Returns the number of heap allocations and reallocations of the process so far.
pub fn process_heap_allocations() -> u64 {
    PROCESS.load(Ordering::Relaxed)
}
