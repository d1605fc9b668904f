//! One emulated device: its memory, its streams, and the fault by which it was lost, if there was one.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use amdgpu_emulator::{AddressSpace, Error, Machine, Notice, Profile, RegionInfo};

use super::listener::{DeviceFault, Listener};
use super::stream::{Mark, Stream, StreamKind, runs_command};
use super::watch::{Watch, Watched};
use hip_driver::{DeviceId, DeviceProperties, DevicePtr, DriverError, DriverResult, ErrorCode, MemInfo};
use smallvec::SmallVec;

/// The state of an allocation of device memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allocation {
    Live,
    /// `hipFreeAsync` was called, but the stream has not executed it.
    FreeEnqueued,
}

thread_local! {
    /// Tells threads apart, and which are gone.
    static THREAD: Arc<()> = Arc::new(());
}

/// One emulated device.
pub(super) struct Device {
    pub(super) id: DeviceId,
    pub(super) properties: DeviceProperties,
    pub(super) space: Arc<AddressSpace>,
    pub(super) machine: Machine,
    /// The fault by which the device was lost.
    fault: OnceLock<DeviceFault>,
    pub(super) listener: Option<Listener>,
    /// Every stream whose worker has not ended, including destroyed streams.
    streams: Mutex<Vec<Arc<Stream>>>,
    null_stream: Mutex<Option<Arc<Stream>>>,
    /// The threads' default streams, whose workers have not left.
    thread_streams: Mutex<Vec<(Weak<()>, Arc<Stream>)>>,
    allocations: Mutex<HashMap<u64, Allocation>>,
    /// Devices whose kernels may access this device's memory.
    accessors: Mutex<Vec<Weak<Device>>>,
    watch: Arc<Watch>,
    /// The profile of each kernel by name, if profiling is on.
    pub(super) profiles: Mutex<BTreeMap<String, Profile>>,
    /// What kernels did that hardware, or strict bounds, would not have done.
    pub(super) notices: Mutex<Vec<Notice>>,
}

impl Device {
    pub(super) fn new(
        id: DeviceId,
        properties: DeviceProperties,
        space: Arc<AddressSpace>,
        machine: Machine,
        watch: Arc<Watch>,
        listener: Option<Listener>,
    ) -> Self {
        Device {
            id,
            properties,
            space,
            machine,
            fault: OnceLock::new(),
            listener,
            streams: Mutex::default(),
            null_stream: Mutex::default(),
            thread_streams: Mutex::default(),
            allocations: Mutex::default(),
            accessors: Mutex::default(),
            watch,
            profiles: Mutex::default(),
            notices: Mutex::default(),
        }
    }

    /// Returns the observer of work that was enqueued under `correlation`, if there is one.
    #[inline]
    pub(super) fn watched(&self, correlation: u64) -> Watched {
        if correlation == 0 { Watched::NOBODY } else { self.watch.watched(correlation) }
    }

    /// Fails with the fault's report if the device is lost.
    pub(super) fn check(&self, call: &'static str) -> DriverResult<()> {
        match self.fault.get() {
            None => Ok(()),
            Some(fault) => Err(DriverError::with_detail(call, fault.code, &*fault.text)),
        }
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.fault.get().is_some()
    }

    /// Marks the device as lost by an error of some work: every later call fails with `code`. Only the first fault is kept.
    pub(super) fn lose(&self, code: ErrorCode, work: String, error: Error) {
        let text = format!("{work}: {error}");
        let (kernel, report, defects) = match error {
            Error::Fault(report) => (Some(report.kernel.clone()), Some(report), Vec::new()),
            Error::Sanitizer { kernel, defects } => (Some(kernel), None, defects),
            _ => (None, None, Vec::new()),
        };
        self.set_fault(DeviceFault { device: self.id, code, work, text, kernel, report, defects });
    }

    /// Marks the device as lost by a panic.
    pub(super) fn lose_by_panic(&self, panic: &str) {
        let text = format!("the emulator panicked, which is a bug in it: {panic}");
        let (code, work) = (ErrorCode::LAUNCH_FAILURE, String::new());
        let (kernel, report, defects) = (None, None, Vec::new());
        self.set_fault(DeviceFault { device: self.id, code, work, text, kernel, report, defects });
    }

    fn set_fault(&self, fault: DeviceFault) {
        if self.fault.set(fault).is_ok()
            && let Some(fault) = self.fault.get()
        {
            log::error!("{} is lost: {}: {}", self.id, fault.code, fault.text);
            if let Some(listener) = &self.listener {
                listener.device_lost(fault);
            }
        }
    }

    // Streams.

    pub(super) fn add_stream(&self, stream: &Arc<Stream>) {
        lock(&self.streams).push(Arc::clone(stream));
    }

    /// Takes a stream without a worker off the list.
    pub(super) fn remove_stream(&self, stream: &Arc<Stream>) {
        lock(&self.streams).retain(|s| !Arc::ptr_eq(s, stream));
    }

    /// Removes a stream. Called by a worker that ends.
    pub(super) fn forget_stream(&self, stream: &Arc<Stream>) {
        self.remove_stream(stream);
        lock(&self.null_stream).take_if(|s| Arc::ptr_eq(s, stream));
        lock(&self.thread_streams).retain(|(_, s)| !Arc::ptr_eq(s, stream));
    }

    /// The null stream, if it was ever used.
    pub(super) fn existing_null_stream(&self) -> Option<Arc<Stream>> {
        lock(&self.null_stream).clone()
    }

    /// The null stream; `start` makes it.
    pub(super) fn null_stream(
        &self,
        start: impl FnOnce() -> DriverResult<Arc<Stream>>,
    ) -> DriverResult<Arc<Stream>> {
        let mut null = lock(&self.null_stream);
        let stream = match &*null {
            Some(stream) => Arc::clone(stream),
            None => Arc::clone(null.insert(start()?)),
        };
        Ok(stream)
    }

    /// The default stream of the calling thread; `start` makes it.
    pub(super) fn thread_stream(
        &self,
        start: impl FnOnce() -> DriverResult<Arc<Stream>>,
    ) -> DriverResult<Arc<Stream>> {
        let mut streams = lock(&self.thread_streams);
        let thread = THREAD.try_with(Arc::downgrade).unwrap_or_default();
        if let Some((_, stream)) = streams.iter().find(|(owner, _)| owner.ptr_eq(&thread)) {
            return Ok(Arc::clone(stream));
        }
        // Those of threads that are gone end with their last work.
        streams.retain(|(owner, stream)| {
            let alive = owner.strong_count() > 0;
            if !alive {
                stream.close();
            }
            alive
        });
        let stream = start()?;
        streams.push((thread, Arc::clone(&stream)));
        Ok(stream)
    }

    /// The streams with work for which the null stream waits, destroyed ones included.
    pub(super) fn busy_blocking_streams(&self) -> Vec<Arc<Stream>> {
        let streams = lock(&self.streams);
        let is_busy = |s: &&Arc<Stream>| s.kind() == StreamKind::Blocking && s.unfinished().is_some();
        streams.iter().filter(is_busy).map(Arc::clone).collect()
    }

    /// Waits for what work on the null stream would wait for. Fails if the device is lost.
    pub(super) fn synchronize_with_null(&self, call: &'static str) -> DriverResult<()> {
        let marks = self.unfinished(|stream| stream.kind() != StreamKind::NonBlocking);
        marks.iter().try_for_each(|mark| wait(call, mark))?;
        self.check(call)
    }

    /// Returns marks of the unfinished work of the streams that `waited_for` chooses. Mostly there is one at most.
    fn unfinished(&self, waited_for: impl Fn(&Stream) -> bool) -> SmallVec<[Mark; 2]> {
        let streams = lock(&self.streams);
        streams.iter().filter(|stream| waited_for(stream)).filter_map(Stream::unfinished).collect()
    }

    /// Nothing more may be enqueued on any stream.
    pub(super) fn close_streams(&self) {
        lock(&self.streams).iter().for_each(|stream| stream.close());
    }

    /// Waits for all work that was enqueued so far, including that of destroyed streams. Fails if the device is lost.
    pub(super) fn synchronize(&self, call: &'static str) -> DriverResult<()> {
        self.drain(call)?;
        self.check(call)
    }

    /// Waits as [`synchronize`](Device::synchronize) does, but for a call that works on a lost device, too: freeing.
    pub(super) fn drain(&self, call: &'static str) -> DriverResult<()> {
        self.unfinished(|_| true).iter().try_for_each(|mark| wait_in_any_case(call, mark))
    }

    // Memory.

    /// Checks that `bytes` bytes at `ptr` lie in one range that the device can access.
    pub(super) fn check_range(
        &self,
        call: &'static str,
        what: &str,
        ptr: DevicePtr,
        bytes: usize,
    ) -> DriverResult<()> {
        self.range_of(call, what, ptr, bytes).map(drop)
    }

    /// Checks that `bytes` bytes at `ptr` lie in one range that the device can write.
    pub(super) fn check_target(
        &self,
        call: &'static str,
        what: &str,
        ptr: DevicePtr,
        bytes: usize,
    ) -> DriverResult<()> {
        let found = self.range_of(call, what, ptr, bytes)?;
        if found.has_read_only && self.space.is_read_only(ptr.0, bytes as u64) {
            let detail = format!("{what}: {bytes} bytes at {ptr} may only be read by {}", self.id);
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail));
        }
        Ok(())
    }

    /// Returns the range with `bytes` bytes at `ptr`, if the device can access them.
    fn range_of(
        &self,
        call: &'static str,
        what: &str,
        ptr: DevicePtr,
        bytes: usize,
    ) -> DriverResult<RegionInfo> {
        let region = self.space.lookup(ptr.0);
        if let Some(found) = region.filter(|r| bytes as u64 <= r.len - (ptr.0 - r.base)) {
            return self.check_blocks(call, what, ptr, bytes).map(|()| found);
        }
        let detail = match region {
            Some(r) => format!(
                "{what}: {bytes} bytes at {ptr} run past the end of the allocation {:#x}..{:#x}",
                r.base,
                r.base + r.len
            ),
            None => format!("{what}: {bytes} bytes at {ptr} are in no live allocation of {}", self.id),
        };
        Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail))
    }

    /// Checks that `bytes` at `ptr` lie in one block of a pool, if they lie in a pool's segment.
    pub(super) fn check_blocks(
        &self,
        call: &'static str,
        what: &str,
        ptr: DevicePtr,
        bytes: usize,
    ) -> DriverResult<()> {
        let checked = self.space.check_blocks(ptr.0, bytes as u64, &self.space.blocks().capture());
        checked.map_err(|error| {
            DriverError::with_detail(call, ErrorCode::INVALID_VALUE, format!("{what}: {error}"))
        })
    }

    pub(super) fn mem_info(&self) -> MemInfo {
        let usage = self.space.usage();
        MemInfo { free: usage.capacity - usage.used, total: usage.capacity }
    }

    pub(super) fn allocate(&self, call: &'static str, bytes: usize) -> DriverResult<DevicePtr> {
        if bytes == 0 {
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, "an allocation of 0 bytes"));
        }
        let address = self.space.alloc(bytes as u64, 0).map_err(|error| memory_error(call, &error))?;
        self.allocated(address)
    }

    /// Takes in a new allocation, which the devices that may access this one's see, too.
    pub(super) fn allocated(&self, address: u64) -> DriverResult<DevicePtr> {
        lock(&self.allocations).insert(address, Allocation::Live);
        for accessor in self.accessors() {
            // Fails only if the accessor has something at this address, which the devices' disjoint address ranges
            // exclude.
            if let Err(error) = self.space.share(address, &accessor.space) {
                log::error!("{} cannot see {address:#x} of {}: {error}", accessor.id, self.id);
            }
        }
        Ok(DevicePtr(address))
    }

    /// Divides an allocation into the blocks of a pool.
    pub(super) fn divide(&self, ptr: DevicePtr) {
        if let Err(error) = self.space.divide(ptr.0) {
            log::error!("{ptr} of {} is no segment of a pool: {error}", self.id);
            return;
        }
        self.share_again(ptr);
    }

    /// Shows an allocation that has new memory to the devices that may access this one's.
    pub(super) fn share_again(&self, ptr: DevicePtr) {
        for accessor in self.accessors() {
            accessor.space.unshare(ptr.0);
            if let Err(error) = self.space.share(ptr.0, &accessor.space) {
                log::error!("{} cannot see {ptr} of {}: {error}", accessor.id, self.id);
            }
        }
    }

    /// Marks an allocation as about to be freed, so that it cannot be freed again.
    pub(super) fn begin_free(&self, call: &'static str, ptr: DevicePtr) -> DriverResult<()> {
        match lock(&self.allocations).get_mut(&ptr.0) {
            Some(allocation @ Allocation::Live) => {
                *allocation = Allocation::FreeEnqueued;
                Ok(())
            }
            found => {
                let detail = match found {
                    Some(_) => format!("{ptr} is being freed already"),
                    None => format!("{ptr} is not the start of a live allocation of {}", self.id),
                };
                Err(DriverError::with_detail(call, ErrorCode::INVALID_DEVICE_POINTER, detail))
            }
        }
    }

    /// Reverts [`begin_free`](Device::begin_free).
    pub(super) fn cancel_free(&self, ptr: DevicePtr) {
        lock(&self.allocations).insert(ptr.0, Allocation::Live);
    }

    /// Frees an allocation that [`begin_free`](Device::begin_free) marked.
    pub(super) fn finish_free(&self, ptr: DevicePtr) {
        for accessor in self.accessors() {
            accessor.space.unshare(ptr.0);
        }
        // Removed from the map first: another thread may get the address as soon as it is free.
        lock(&self.allocations).remove(&ptr.0);
        if let Err(error) = self.space.free(ptr.0) {
            log::error!("{ptr} of {}: {error}", self.id);
        }
    }

    /// Allows kernels on `accessor` to access this device's memory, including later allocations.
    pub(super) fn allow_access(&self, call: &'static str, accessor: &Arc<Device>) -> DriverResult<()> {
        let mut accessors = lock(&self.accessors);
        let weak = Arc::downgrade(accessor);
        if accessors.iter().any(|a| a.ptr_eq(&weak)) {
            return Ok(());
        }
        for address in lock(&self.allocations).keys() {
            self.space.share(*address, &accessor.space).map_err(|error| memory_error(call, &error))?;
        }
        accessors.push(weak);
        Ok(())
    }

    fn accessors(&self) -> Vec<Arc<Device>> {
        lock(&self.accessors).iter().filter_map(Weak::upgrade).collect()
    }
}

/// Waits for a mark. Fails if the mark's device is lost, since what was waited for may not have run; and in a host
/// function, which would wait for itself.
pub(super) fn wait(call: &'static str, mark: &Mark) -> DriverResult<()> {
    wait_in_any_case(call, mark)?;
    // After the wait: the fault may be that of the work that was waited for.
    mark.stream.device.check(call)
}

/// Waits for a mark as [`wait`] does, but on a lost device, too.
fn wait_in_any_case(call: &'static str, mark: &Mark) -> DriverResult<()> {
    if !mark.is_reached() {
        may_wait(call)?;
        mark.wait();
    }
    Ok(())
}

/// Fails in a host function, which must not wait for its own stream or for work that waits for it.
pub(super) fn may_wait(call: &'static str) -> DriverResult<()> {
    if runs_command() {
        let detail = "a host function must not wait for the driver";
        return Err(DriverError::with_detail(call, ErrorCode::ILLEGAL_STATE, detail));
    }
    Ok(())
}

pub(super) fn memory_error(call: &'static str, error: &amdgpu_emulator::Error) -> DriverError {
    let code = match error {
        amdgpu_emulator::Error::OutOfMemory { .. } => ErrorCode::OUT_OF_MEMORY,
        _ => ErrorCode::INVALID_VALUE,
    };
    DriverError::with_detail(call, code, error.to_string())
}

/// Locks a mutex, even if it is poisoned: no panic leaves the data half-changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
