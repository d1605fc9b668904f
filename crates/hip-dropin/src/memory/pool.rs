//! Memory pools and allocations in stream order. All pools of a device are the driver's one pool.
//!
//! A pool keeps freed memory as long as it has reserved no more than its release threshold says; above it, memory that is freed goes
//! back to the device in stream order. What the pool keeps above its threshold, because that was lowered or the pool has grown, goes
//! back when the program next waits for a stream, an event or a device.
//!
//! Of the attributes of reuse, `hipMemPoolReuseFollowEventDependencies` is stored only: what it allows is a case of
//! `hipMemPoolReuseAllowInternalDependencies`, whose wait costs nothing where the streams are ordered already.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hip_driver::{DeviceId, DevicePtr, DriverResult, ErrorCode, RawStream};

use crate::abi::version::Version;
use crate::abi::{
    Address, Handle, HipResult, In, Out, Status, hipMemAccessDesc, hipMemLocation, hipMemPoolProps,
};
use crate::memory::allocations::{ALLOCATIONS, Allocation, Kind};
use crate::memory::kept::{KeptMemory, Reuse};
use crate::memory::{self, is_of_graph};
use crate::process::Process;
use crate::process::objects::Objects;
use crate::stream::StreamHandle;

/// A `hipMemPool_t`.
pub(crate) type PoolHandle = Handle<Pool>;

// hipMemPoolAttr.
const FIRST_REUSE: i32 = 1;
const LAST_REUSE: i32 = 3;
const RELEASE_THRESHOLD: i32 = 4;
const RESERVED_NOW: i32 = 5;
const RESERVED_HIGH: i32 = 6;
const USED_NOW: i32 = 7;
const USED_HIGH: i32 = 8;

/// A memory pool of a device.
pub(crate) struct Pool {
    device: DeviceId,
    reuse: Mutex<[i32; 3]>,
    threshold: AtomicU64,
    used: AtomicU64,
    used_high: AtomicU64,
    /// The bytes that the pool has from the device: those in use, and those that it keeps.
    reserved: AtomicU64,
    reserved_high: AtomicU64,
    kept: KeptMemory,
}

// The indices of `hipMemPoolReuseAllowOpportunistic` and `hipMemPoolReuseAllowInternalDependencies` among the attributes of reuse.
const OPPORTUNISTIC: usize = 1;
const INTERNAL_DEPENDENCIES: usize = 2;

impl Pool {
    fn new(device: DeviceId) -> Pool {
        Pool {
            device,
            reuse: Mutex::new([1; 3]),
            threshold: AtomicU64::new(0),
            used: AtomicU64::new(0),
            used_high: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
            reserved_high: AtomicU64::new(0),
            kept: KeptMemory::new(device),
        }
    }

    /// Counts an allocation from the pool's memory.
    fn allocated(&self, bytes: usize) {
        let used = self.used.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        self.used_high.fetch_max(used, Ordering::Relaxed);
    }

    /// Counts new memory from the device.
    fn grew(&self, bytes: usize) {
        let reserved = self.reserved.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        self.reserved_high.fetch_max(reserved, Ordering::Relaxed);
    }

    fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }

    fn attributes_of_reuse(&self) -> MutexGuard<'_, [i32; 3]> {
        self.reuse.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it keeps memory above its release threshold.
    fn keeps_too_much(&self) -> bool {
        self.reserved() > self.threshold.load(Ordering::Relaxed) && !self.kept.is_empty()
    }

    /// Keeps freed memory if the release threshold allows that. Not under the validation layer, which would not see that it was
    /// freed.
    fn keep(&self, process: &Process, freed: &Allocation, stream: Option<RawStream>) -> bool {
        process.validation.is_none()
            && self.reserved() <= self.threshold.load(Ordering::Relaxed)
            && self.kept.keep(process, DevicePtr(freed.base), freed.bytes, stream)
    }

    /// Takes kept memory for an allocation on a stream.
    fn reuse(&self, process: &Process, bytes: usize, stream: RawStream) -> Option<DevicePtr> {
        let attributes = *self.attributes_of_reuse();
        let reuse = Reuse {
            opportunistic: attributes[OPPORTUNISTIC] != 0,
            internal_dependencies: attributes[INTERNAL_DEPENDENCIES] != 0,
        };
        self.kept.reuse(process, bytes, stream, reuse)
    }

    /// Returns kept memory whose last use has finished to the device, until at most `keep` bytes are reserved. As in AMD's runtime,
    /// it does not wait.
    fn trim(&self, process: &Process, keep: u64) -> HipResult {
        let excess = self.reserved().saturating_sub(keep);
        if excess == 0 {
            return Ok(());
        }
        let taken = self.kept.take_finished(process, excess);
        if taken.is_empty() {
            return Ok(());
        }
        let bytes: u64 = taken.iter().map(|(_, bytes)| *bytes as u64).sum();
        self.reserved.fetch_sub(bytes, Ordering::Relaxed);
        let memory: Vec<DevicePtr> = taken.iter().map(|(ptr, _)| *ptr).collect();
        process.return_memory(self.device, &memory)
    }
}

/// The pools of the process.
pub(crate) struct Pools {
    all: Objects<Pool>,
    /// The last handle. A handle is never used again, as memory may be freed after its pool was destroyed.
    last: AtomicU64,
    /// The default and the current pool of each device.
    of_devices: Mutex<Vec<(u64, u64)>>,
    /// Whether a pool may keep memory above its release threshold.
    keep_too_much: AtomicBool,
}

impl Process {
    /// The pools of the process.
    pub(crate) fn pools(&self) -> &'static Pools {
        static POOLS: OnceLock<Pools> = OnceLock::new();
        POOLS.get_or_init(|| Pools::new(self.devices.len()))
    }
}

impl Pools {
    fn new(devices: usize) -> Pools {
        let pools = Pools {
            all: Objects::default(),
            last: AtomicU64::new(0),
            of_devices: Mutex::default(),
            keep_too_much: AtomicBool::new(false),
        };
        let of_devices = (0..devices as u32).map(|index| pools.add(DeviceId(index)));
        *pools.devices() = of_devices.map(|pool| (pool, pool)).collect();
        pools
    }

    /// Adds a pool and returns its handle.
    fn add(&self, device: DeviceId) -> u64 {
        let handle = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.all.insert(handle, Pool::new(device));
        handle
    }

    fn devices(&self) -> MutexGuard<'_, Vec<(u64, u64)>> {
        self.of_devices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_device<R>(&self, device: DeviceId, get: impl FnOnce(&mut (u64, u64)) -> R) -> R {
        get(&mut self.devices()[device.0 as usize])
    }

    fn get(&self, pool: PoolHandle) -> HipResult<Arc<Pool>> {
        self.all.expect(pool.0, Status::INVALID_VALUE)
    }

    /// Looks whether a pool keeps too much: when it has grown, or its threshold was set.
    fn look_at(&self, pool: &Pool) {
        if pool.keeps_too_much() {
            self.keep_too_much.store(true, Ordering::Relaxed);
        }
    }

    /// Returns what pools keep above their release thresholds: when the program has waited for a stream, an event or a device.
    #[inline]
    pub(crate) fn after_wait(&self, process: &Process) {
        if self.keep_too_much.load(Ordering::Relaxed) {
            self.return_excess(process);
        }
    }

    #[cold]
    fn return_excess(&self, process: &Process) {
        self.keep_too_much.store(false, Ordering::Relaxed);
        for pool in self.all.all() {
            // The wait has succeeded, whatever becomes of this.
            if let Err(status) = pool.trim(process, pool.threshold.load(Ordering::Relaxed)) {
                log::debug!("a pool's memory can't be returned: {status:?}");
            }
            // What is still in use waits for a later call.
            self.look_at(&pool);
        }
    }

    /// Returns all memory that the pools of a device keep, as far as its last uses have finished.
    pub(crate) fn empty(&self, process: &Process, device: DeviceId) -> HipResult {
        let of_device = self.all.all().into_iter().filter(|pool| pool.device == device);
        of_device.into_iter().try_for_each(|pool| pool.trim(process, 0))
    }
}

/// Allocates memory of a device. Where it has none, what frees in stream order wait for is waited for, and what pools keep is
/// returned.
pub(crate) fn with_memory_of<T>(
    process: &Process,
    device: DeviceId,
    allocate: impl Fn() -> DriverResult<T>,
) -> HipResult<T> {
    match allocate() {
        Err(error) if error.code == ErrorCode::OUT_OF_MEMORY => {
            // Where this is not possible, as in a host function, the allocation says what is wrong.
            if let Err(error) = process.driver.device_synchronize(device) {
                log::debug!("{error}");
            }
            if let Err(status) = process.pools().empty(process, device) {
                log::debug!("the memory of pools can't be returned: {status:?}");
            }
            Ok(allocate()?)
        }
        result => Ok(result?),
    }
}

pub(crate) fn allocate(
    process: &Process,
    pointer: Out<Address>,
    bytes: usize,
    pool: Option<PoolHandle>,
    stream: StreamHandle,
) -> HipResult {
    pointer.check()?;
    let (device, raw) = process.stream(stream)?;
    let handle = pool.map_or_else(|| process.pools().of_device(device, |pools| pools.1), |pool| pool.0);
    let pool = process.pools().get(PoolHandle::new(handle))?;
    if bytes == 0 {
        return pointer.set(Address::NULL);
    }
    if pool.device != device {
        return Err(Status::INVALID_VALUE);
    }
    if let Some(address) = process.capture_allocation((device, raw), bytes)? {
        return pointer.set(address);
    }
    let ptr = match pool.reuse(process, bytes, raw) {
        Some(ptr) => ptr,
        None => {
            // SAFETY: the stream is live.
            let new = || unsafe { process.driver.malloc_async(device, bytes, raw) };
            let ptr = with_memory_of(process, device, new)?;
            pool.grew(bytes);
            process.pools().look_at(&pool);
            ptr
        }
    };
    pool.allocated(bytes);
    ALLOCATIONS.insert(Allocation::device(ptr, bytes, device, Kind::Pool(handle)));
    pointer.set(Address(ptr.0))
}

pub(crate) fn hipFreeAsync(process: &Process, pointer: Address, stream: StreamHandle) -> HipResult {
    let on = process.stream(stream)?;
    // HIP 7 frees null, as hipFree does.
    if pointer.is_null() && Version::current() == Version::Hip7 {
        return Ok(());
    }
    if ALLOCATIONS.find(pointer.0).is_none_or(|found| found.base != pointer.0) {
        return Err(Status::INVALID_VALUE);
    }
    if process.capture_free(on, pointer)? { Ok(()) } else { free(process, pointer, on) }
}

/// Frees memory in stream order.
pub(crate) fn free(process: &Process, pointer: Address, (device, raw): (DeviceId, RawStream)) -> HipResult {
    if is_of_graph(pointer) {
        return process.graphs().memories.free(process, pointer);
    }
    let frees = |kind| matches!(kind, Kind::Pool(_) | Kind::Device);
    let found = ALLOCATIONS.take(pointer.0, frees).ok_or(Status::INVALID_VALUE)?;
    match found.kind {
        Kind::Pool(pool) if found.device == device => {
            release(process, &found, pool, Some(raw)).inspect_err(|_| ALLOCATIONS.insert(*found))
        }
        _ => memory::free(process, &found),
    }
}

/// Returns memory that was taken from the list of live allocations to its pool: behind the work on a stream of its device, or where
/// nothing uses it any more.
pub(crate) fn release(
    process: &Process,
    allocation: &Allocation,
    pool: u64,
    stream: Option<RawStream>,
) -> HipResult {
    let (device, ptr, bytes) = (allocation.device, DevicePtr(allocation.base), allocation.bytes as u64);
    // Memory can outlive its pool.
    let pool = process.pools().all.get(pool);
    if let Some(pool) = &pool {
        // Before another thread can reuse it.
        pool.used.fetch_sub(bytes, Ordering::Relaxed);
        if pool.keep(process, allocation, stream) {
            return Ok(());
        }
    }
    let on = stream.unwrap_or(RawStream::NULL);
    // SAFETY: the memory was live and of this device. That other streams do not use it any more is the program's part.
    let freed = unsafe { process.driver.free_async(device, ptr, on) };
    if let Some(pool) = pool {
        match freed {
            Ok(()) => pool.reserved.fetch_sub(bytes, Ordering::Relaxed),
            Err(_) => pool.used.fetch_add(bytes, Ordering::Relaxed),
        };
    }
    freed?;
    if stream.is_none() {
        // SAFETY: the null stream is always live.
        unsafe { process.driver.stream_synchronize(device, on) }?;
    }
    Ok(())
}

pub(crate) fn hipDeviceGetDefaultMemPool(process: &Process, pool: Out<PoolHandle>, device: i32) -> HipResult {
    pool.check()?;
    let (device, _) = process.device(device)?;
    pool.set(Handle::new(process.pools().of_device(device, |pools| pools.0)))
}

pub(crate) fn hipDeviceGetMemPool(process: &Process, pool: Out<PoolHandle>, device: i32) -> HipResult {
    pool.check()?;
    let (device, _) = process.device(device)?;
    pool.set(Handle::new(process.pools().of_device(device, |pools| pools.1)))
}

pub(crate) fn hipDeviceSetMemPool(process: &Process, device: i32, pool: PoolHandle) -> HipResult {
    let (device, _) = process.device(device)?;
    if process.pools().get(pool)?.device != device {
        return Err(Status::INVALID_DEVICE);
    }
    process.pools().of_device(device, |pools| pools.1 = pool.0);
    Ok(())
}

pub(crate) fn hipMemPoolCreate(
    process: &Process,
    pool: Out<PoolHandle>,
    properties: In<hipMemPoolProps>,
) -> HipResult {
    pool.check()?;
    let properties = properties.get()?;
    // Pinned memory (hipMemAllocationTypePinned) of a device (hipMemLocationTypeDevice).
    if properties.allocType != 1 || properties.location.r#type != 1 {
        return Err(Status::INVALID_VALUE);
    }
    let (device, _) = process.device(properties.location.id).map_err(|_| Status::INVALID_VALUE)?;
    pool.set(Handle::new(process.pools().add(device)))
}

pub(crate) fn hipMemPoolDestroy(process: &Process, pool: PoolHandle) -> HipResult {
    let found = process.pools().get(pool)?;
    let device = found.device;
    let is_default = process.pools().of_device(device, |pools| {
        if pools.1 == pool.0 {
            pools.1 = pools.0;
        }
        pools.0 == pool.0
    });
    if is_default {
        return Err(Status::INVALID_VALUE);
    }
    if !found.kept.is_empty() {
        process.driver.device_synchronize(device)?;
    }
    process.pools().all.remove(pool.0);
    found.trim(process, 0)
}

pub(crate) fn hipMemPoolTrimTo(process: &Process, pool: PoolHandle, keep: usize) -> HipResult {
    let pool = process.pools().get(pool)?;
    process.driver.trim_pool(pool.device, keep)?;
    pool.trim(process, keep as u64)
}

pub(crate) fn hipMemPoolSetAttribute(
    process: &Process,
    pool: PoolHandle,
    attribute: i32,
    value: Address,
) -> HipResult {
    let pool = process.pools().get(pool)?;
    match attribute {
        FIRST_REUSE..=LAST_REUSE => {
            let value: i32 = value.values().get()?;
            pool.attributes_of_reuse()[(attribute - FIRST_REUSE) as usize] = value;
        }
        RELEASE_THRESHOLD => {
            pool.threshold.store(value.values().get()?, Ordering::Relaxed);
            process.pools().look_at(&pool);
        }
        // The high marks can only be reset.
        RESERVED_HIGH | USED_HIGH => {
            if value.values::<u64>().get()? != 0 {
                return Err(Status::INVALID_VALUE);
            }
            if attribute == RESERVED_HIGH {
                pool.reserved_high.store(pool.reserved(), Ordering::Relaxed);
                return Ok(());
            }
            pool.used_high.store(pool.used.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        _ => return Err(Status::INVALID_VALUE),
    }
    Ok(())
}

pub(crate) fn hipMemPoolGetAttribute(
    process: &Process,
    pool: PoolHandle,
    attribute: i32,
    value: Address,
) -> HipResult {
    let pool = process.pools().get(pool)?;
    match attribute {
        FIRST_REUSE..=LAST_REUSE => {
            value.out().set(pool.attributes_of_reuse()[(attribute - FIRST_REUSE) as usize])
        }
        RELEASE_THRESHOLD => value.out().set(pool.threshold.load(Ordering::Relaxed)),
        RESERVED_NOW => value.out().set(pool.reserved()),
        USED_NOW => value.out().set(pool.used.load(Ordering::Relaxed)),
        RESERVED_HIGH => value.out().set(pool.reserved_high.load(Ordering::Relaxed)),
        USED_HIGH => value.out().set(pool.used_high.load(Ordering::Relaxed)),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// `hipMemAccessFlagsProtReadWrite`.
const READ_WRITE: i32 = 3;

pub(crate) fn hipMemPoolSetAccess(
    process: &Process,
    pool: PoolHandle,
    descriptions: In<hipMemAccessDesc>,
    count: usize,
) -> HipResult {
    let pool = process.pools().get(pool)?;
    if descriptions.is_null() && count > 0 {
        return Err(Status::INVALID_VALUE);
    }
    for description in descriptions.array(count)? {
        if description.location.r#type != 1 {
            return Err(Status::INVALID_VALUE);
        }
        let (peer, _) = process.device(description.location.id)?;
        match description.flags {
            READ_WRITE | 1 if peer != pool.device => process.driver.enable_peer_access(peer, pool.device)?,
            0 if peer == pool.device => return Err(Status::INVALID_DEVICE),
            0 | 1 | READ_WRITE => {}
            _ => return Err(Status::INVALID_VALUE),
        }
    }
    Ok(())
}

pub(crate) fn hipMemPoolGetAccess(
    process: &Process,
    flags: Out<i32>,
    pool: PoolHandle,
    location: In<hipMemLocation>,
) -> HipResult {
    flags.check()?;
    let pool = process.pools().get(pool)?;
    let (device, _) = process.device(location.get()?.id)?;
    flags.set(if device == pool.device { READ_WRITE } else { 0 })
}
