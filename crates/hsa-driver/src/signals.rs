//! Signals that are counted and used again.

use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize};

use crate::abi::Signal;
use crate::load::Hsa;
use hip_driver::DriverResult;

/// A signal, and where its value is. It lives forever: a GPU uses it again.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) signal: Signal,
    pub(crate) value: &'static AtomicI64,
    /// The number of its markers that are alive.
    pub(crate) held: AtomicUsize,
    /// The number of the stream whose work it marks, and of the marker on that stream.
    pub(crate) stream: AtomicU64,
    pub(crate) sequence: AtomicU64,
}

impl Counted {
    pub(crate) fn new(call: &'static str, hsa: &Hsa) -> DriverResult<&'static Counted> {
        let mut signal = Signal::default();
        // SAFETY: any agent may use the signal; the pointer is to a live handle.
        hsa.check(call, "hsa_signal_create", unsafe {
            (hsa.functions.signal_create)(1, 0, ptr::null(), &mut signal)
        })?;
        let mut value: *mut i64 = ptr::null_mut();
        // SAFETY: a live signal, a pointer to a live pointer.
        hsa.check(call, "hsa_amd_signal_value_pointer", unsafe {
            (hsa.functions.signal_value_pointer)(signal, &mut value)
        })?;
        // SAFETY: the place of the signal's value. The signal is never destroyed, and its value is accessed atomically.
        let value = unsafe { AtomicI64::from_ptr(value) };
        let [stream, sequence] = [const { AtomicU64::new(0) }; 2];
        Ok(Box::leak(Box::new(Counted { signal, value, held: AtomicUsize::new(0), stream, sequence })))
    }
}
