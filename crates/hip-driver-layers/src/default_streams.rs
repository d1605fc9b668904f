//! Default streams as layers keep them: each device and each thread has its own under the same handle.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use hip_driver::{DeviceId, RawStream};

/// Handles have the highest bit clear: HIP's are addresses, the emulator's have a small kind there.
const DEFAULT: u64 = 1 << 63;
const DEVICE_BITS: u32 = 16;

thread_local! {
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// A number of the calling thread, from 1.
fn thread_number() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(1);
    THREAD.with(|number| {
        if number.get() == 0 {
            number.set(THREADS.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}

/// A number for the stream that `stream` names in a call of this thread on `device`: the handle, but for default streams.
#[inline]
pub(crate) fn identity(device: DeviceId, stream: RawStream) -> RawStream {
    if stream.is_default() { default_identity(device, stream) } else { stream }
}

#[cold]
fn default_identity(device: DeviceId, stream: RawStream) -> RawStream {
    let thread = if stream == RawStream::PER_THREAD { thread_number() } else { 0 };
    RawStream(DEFAULT | thread << DEVICE_BITS | u64::from(device.0) & ((1 << DEVICE_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_has_one_null_stream_and_one_stream_for_each_thread() {
        let (a, b) = (DeviceId(0), DeviceId(1));
        let own = identity(a, RawStream::PER_THREAD);
        assert_eq!(identity(a, RawStream::NULL), identity(a, RawStream::LEGACY));
        assert_ne!(identity(a, RawStream::NULL), identity(b, RawStream::NULL));
        assert_ne!(identity(a, RawStream::NULL), own);
        assert_eq!(identity(a, RawStream::PER_THREAD), own);
        let other = std::thread::spawn(move || identity(a, RawStream::PER_THREAD)).join().unwrap();
        assert_ne!(other, own);
        assert_eq!(identity(a, RawStream(0x7f00)), RawStream(0x7f00));
    }
}
