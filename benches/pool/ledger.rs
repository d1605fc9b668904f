//! A layer over a driver that counts calls and bytes outside of every pool, and can have less memory than the driver.

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hiplaunch::driver::{
    Capabilities, DeviceId, DeviceProperties, DevicePtr, Driver, DriverError, DriverInfo, DriverResult,
    ErrorCode, EventOptions, MemInfo, PinnedAllocation, RawEvent, RawFunction, RawModule, RawStream,
    StreamOptions, Work,
};

/// Passes all calls on, counts those that a pool may make, and refuses memory above a limit.
#[derive(Debug)]
pub(crate) struct Ledger {
    driver: Arc<dyn Driver>,
    limit: u64,
    calls: AtomicU64,
    mallocs: AtomicU64,
    waits: AtomicU64,
    bytes: Mutex<Bytes>,
}

#[derive(Debug, Default)]
struct Bytes {
    sizes: HashMap<u64, u64>,
    held: u64,
    peak: u64,
}

impl Ledger {
    /// Creates the layer. `limit` is the largest number of bytes that may be allocated at once.
    pub(crate) fn new(driver: &Arc<dyn Driver>, limit: u64) -> Arc<Ledger> {
        let bytes = Mutex::default();
        Arc::new(Ledger {
            driver: driver.clone(),
            limit,
            calls: AtomicU64::new(0),
            mallocs: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            bytes,
        })
    }

    /// The number of calls so far that allocate, free, record, wait or query.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// The number of allocations so far, including failed ones.
    pub(crate) fn mallocs(&self) -> u64 {
        self.mallocs.load(Ordering::Relaxed)
    }

    /// The number of calls so far for which the host waits for the device. Every `hipFree` is one.
    pub(crate) fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    /// The number of bytes allocated now.
    pub(crate) fn held(&self) -> u64 {
        self.lock().held
    }

    /// The largest number of bytes allocated at once.
    pub(crate) fn peak(&self) -> u64 {
        self.lock().peak
    }

    fn lock(&self) -> MutexGuard<'_, Bytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    fn count_wait(&self) {
        self.count();
        self.waits.fetch_add(1, Ordering::Relaxed);
    }

    fn take(
        &self,
        bytes: usize,
        malloc: impl FnOnce() -> DriverResult<DevicePtr>,
    ) -> DriverResult<DevicePtr> {
        self.count();
        self.mallocs.fetch_add(1, Ordering::Relaxed);
        let mut all = self.lock();
        if all.held + bytes as u64 > self.limit {
            return Err(DriverError::new("hipMalloc", ErrorCode::OUT_OF_MEMORY));
        }
        let ptr = malloc()?;
        all.sizes.insert(ptr.0, bytes as u64);
        all.held += bytes as u64;
        all.peak = all.peak.max(all.held);
        Ok(ptr)
    }

    fn give(&self, ptr: DevicePtr, free: impl FnOnce() -> DriverResult<()>) -> DriverResult<()> {
        self.count();
        free()?;
        let mut all = self.lock();
        let size = all.sizes.remove(&ptr.0);
        all.held -= size.ok_or_else(|| DriverError::new("hipFree", ErrorCode::INVALID_VALUE))?;
        Ok(())
    }
}

/// Passes calls on unchanged: `counted` ones, which a pool may make in any operation, `waits`, which are counted as
/// waits too, and the `others`.
macro_rules! forward {
    (counted: $($f:tt)*) => { forward! { @ (|l: &Ledger| l.count()) $($f)* } };
    (waits: $($f:tt)*) => { forward! { @ (|l: &Ledger| l.count_wait()) $($f)* } };
    (others: $($f:tt)*) => { forward! { @ (|_: &Ledger| ()) $($f)* } };
    (@ $note:tt) => {};
    (@ $note:tt fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty; $($rest:tt)*) => {
        fn $name(&self, $($arg: $type),*) -> DriverResult<$out> {
            ($note)(self);
            self.driver.$name($($arg),*)
        }
        forward! { @ $note $($rest)* }
    };
    (@ $note:tt unsafe fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty; $($rest:tt)*) => {
        unsafe fn $name(&self, $($arg: $type),*) -> DriverResult<$out> {
            ($note)(self);
            // SAFETY: the caller's promise is the same.
            unsafe { self.driver.$name($($arg),*) }
        }
        forward! { @ $note $($rest)* }
    };
}

impl Driver for Ledger {
    fn info(&self) -> DriverInfo {
        self.driver.info()
    }
    fn capabilities(&self) -> Capabilities {
        self.driver.capabilities()
    }
    fn mem_info(&self, device: DeviceId) -> DriverResult<MemInfo> {
        self.count();
        let total = self.driver.mem_info(device)?.total.min(self.limit);
        Ok(MemInfo { free: total.saturating_sub(self.held()), total })
    }
    fn malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        self.take(bytes, || self.driver.malloc(device, bytes))
    }
    unsafe fn free(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<()> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is the same.
        self.give(ptr, || unsafe { self.driver.free(device, ptr) })
    }
    unsafe fn malloc_async(&self, d: DeviceId, bytes: usize, stream: RawStream) -> DriverResult<DevicePtr> {
        // SAFETY: the caller's promise is the same.
        self.take(bytes, || unsafe { self.driver.malloc_async(d, bytes, stream) })
    }
    unsafe fn free_async(&self, device: DeviceId, ptr: DevicePtr, stream: RawStream) -> DriverResult<()> {
        // SAFETY: the caller's promise is the same.
        self.give(ptr, || unsafe { self.driver.free_async(device, ptr, stream) })
    }

    forward! { counted:
        unsafe fn stream_query(d: DeviceId, stream: RawStream) -> bool;
        unsafe fn stream_wait_event(d: DeviceId, stream: RawStream, event: RawEvent) -> ();
        fn event_create(d: DeviceId, options: EventOptions) -> RawEvent;
        unsafe fn event_destroy(d: DeviceId, event: RawEvent) -> ();
        unsafe fn event_record(d: DeviceId, event: RawEvent, stream: RawStream) -> ();
        unsafe fn event_query(d: DeviceId, event: RawEvent) -> bool;
    }

    forward! { waits:
        fn device_synchronize(d: DeviceId) -> ();
        unsafe fn stream_synchronize(d: DeviceId, stream: RawStream) -> ();
        unsafe fn event_synchronize(d: DeviceId, event: RawEvent) -> ();
    }

    forward! { others:
        fn device_count() -> u32;
        fn device_properties(d: DeviceId) -> DeviceProperties;
        fn can_access_peer(d: DeviceId, peer: DeviceId) -> bool;
        fn enable_peer_access(d: DeviceId, peer: DeviceId) -> ();
        fn host_malloc(d: DeviceId, bytes: usize) -> PinnedAllocation;
        unsafe fn host_free(d: DeviceId, allocation: PinnedAllocation) -> ();
        fn stream_create(d: DeviceId, options: StreamOptions) -> RawStream;
        unsafe fn stream_destroy(d: DeviceId, stream: RawStream) -> ();
        unsafe fn event_elapsed_ms(d: DeviceId, start: RawEvent, end: RawEvent) -> f32;
        unsafe fn module_load(d: DeviceId, image: &[u8]) -> RawModule;
        unsafe fn module_unload(d: DeviceId, module: RawModule) -> ();
        unsafe fn module_get_function(d: DeviceId, module: RawModule, name: &CStr) -> RawFunction;
        unsafe fn module_get_global(d: DeviceId, module: RawModule, name: &CStr) -> (DevicePtr, usize);
        unsafe fn occupancy(d: DeviceId, function: RawFunction, threads: u32, dynamic_lds: u32) -> u32;
        unsafe fn enqueue(d: DeviceId, s: RawStream, work: &Work<'_>) -> ();
        unsafe fn copy_blocking(d: DeviceId, work: &Work<'_>) -> ();
    }
}
