//! Memory pools and allocations in stream order. All pools of a device are the driver's one pool.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_driver::{DeviceId, DevicePtr, ErrorCode, MemoryRequest, RawStream};

use crate::abi::{hipMemAccessDesc, hipMemLocation, hipMemPoolProps};
use crate::allocations::{Allocation, Kind};
use crate::c_caller::{Address, Handle, In, Out};
use crate::call::call;
use crate::handles::Objects;
use crate::memory::{self, is_of_graph, release};
use crate::process::Process;
use crate::status::{HipResult, Status};
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
    /// The bytes that the pool has from the device: those in use, and those in `kept`.
    reserved: AtomicU64,
    reserved_high: AtomicU64,
    /// Memory that was freed and that the release threshold lets the pool keep.
    kept: Mutex<Vec<Kept>>,
}

/// Freed memory, which work before the free on its stream may still use.
#[derive(Clone, Copy)]
struct Kept {
    ptr: DevicePtr,
    bytes: usize,
    stream: RawStream,
}

/// The index of `hipMemPoolReuseAllowOpportunistic` among the attributes of reuse.
const OPPORTUNISTIC: usize = 1;

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
            kept: Mutex::default(),
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

    /// Counts memory that goes back to the device.
    fn shrank(&self, bytes: usize) {
        self.reserved.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }

    /// Keeps freed memory if the release threshold allows that. Not under the validation layer, which would not see that it was
    /// freed.
    fn keep(&self, process: &Process, freed: Kept) -> bool {
        let threshold = self.threshold.load(Ordering::Relaxed);
        let keeps = process.validation.is_none() && self.reserved() <= threshold;
        if keeps {
            self.kept().push(freed);
        }
        keeps
    }

    /// Takes kept memory for an allocation on a stream: what the stream itself freed, or another one that has finished its work.
    fn reuse(&self, process: &Process, bytes: usize, stream: RawStream) -> Option<DevicePtr> {
        let opportunistic = self.reuse.lock().unwrap_or_else(PoisonError::into_inner)[OPPORTUNISTIC] != 0;
        let mut kept = self.kept();
        // SAFETY: the driver refuses a stream that was destroyed.
        let is_idle = |other| unsafe { process.unlayered.stream_query(self.device, other) }.unwrap_or(false);
        let own = kept.iter().position(|kept| kept.bytes == bytes && kept.stream == stream);
        let found = own.or_else(|| {
            kept.iter().position(|kept| kept.bytes == bytes && opportunistic && is_idle(kept.stream))
        })?;
        Some(kept.swap_remove(found).ptr)
    }

    /// Returns kept memory to the device until at most `keep` bytes are reserved, when the work that may use it has finished.
    fn trim(&self, process: &Process, keep: u64) -> HipResult {
        let mut released = Vec::new();
        let mut excess = self.reserved().saturating_sub(keep);
        while excess > 0 {
            let Some(kept) = self.kept().pop() else { break };
            excess = excess.saturating_sub(kept.bytes as u64);
            released.push(kept);
        }
        if released.is_empty() {
            return Ok(());
        }
        if let Err(error) = process.driver.device_synchronize(self.device) {
            self.kept().extend(released);
            return Err(error.into());
        }
        for kept in released {
            self.shrank(kept.bytes);
            // SAFETY: the memory was freed, and its last uses have finished.
            unsafe { process.driver.free_async(self.device, kept.ptr, RawStream::NULL) }?;
        }
        // SAFETY: the null stream is always live.
        Ok(unsafe { process.driver.stream_synchronize(self.device, RawStream::NULL) }?)
    }
}

/// The pools of the process.
pub(crate) struct Pools {
    all: Objects<Pool>,
    /// The default and the current pool of each device.
    of_devices: Mutex<Vec<(u64, u64)>>,
}

impl Pools {
    pub(crate) fn new(devices: usize) -> Pools {
        let all = Objects::default();
        let of_devices = (0..devices as u32).map(|index| {
            let pool = all.add(Pool::new(DeviceId(index)));
            (pool, pool)
        });
        let of_devices = Mutex::new(of_devices.collect());
        Pools { all, of_devices }
    }

    fn of_device<R>(&self, device: DeviceId, get: impl FnOnce(&mut (u64, u64)) -> R) -> R {
        let mut of_devices = self.of_devices.lock().unwrap_or_else(PoisonError::into_inner);
        get(&mut of_devices[device.0 as usize])
    }

    fn get(&self, pool: PoolHandle) -> HipResult<std::sync::Arc<Pool>> {
        self.all.expect(pool.0, Status::INVALID_VALUE)
    }
}

fn allocate(
    process: &Process,
    pointer: Out<Address>,
    bytes: usize,
    pool: Option<PoolHandle>,
    stream: StreamHandle,
) -> HipResult {
    pointer.check()?;
    let (device, raw) = process.stream(stream)?;
    let handle = pool.map_or_else(|| process.pools.of_device(device, |pools| pools.1), |pool| pool.0);
    let pool = process.pools.get(PoolHandle::new(handle))?;
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
            let ptr = new_memory(process, device, bytes, raw)?;
            pool.grew(bytes);
            ptr
        }
    };
    pool.allocated(bytes);
    process.allocations.insert(Allocation::device(ptr, bytes, device, Kind::Pool(handle)));
    pointer.set(Address(ptr.0))
}

/// Takes memory from the device. Where it has none, what pools keep and what other streams are about to free is waited for.
fn new_memory(process: &Process, device: DeviceId, bytes: usize, stream: RawStream) -> HipResult<DevicePtr> {
    // SAFETY: the stream is live.
    let allocate = || unsafe { process.driver.malloc_async(device, bytes, stream) };
    match allocate() {
        Err(error) if error.code == ErrorCode::OUT_OF_MEMORY => {
            let keeps = |pool: &Pool| pool.device == device && !pool.kept().is_empty();
            while let Some((_, pool)) = process.pools.all.find(keeps) {
                pool.trim(process, 0)?;
            }
            process.driver.device_synchronize(device)?;
            Ok(allocate()?)
        }
        result => Ok(result?),
    }
}

#[unsafe(export_name = "emulated_hipMallocAsync")]
extern "C" fn hipMallocAsync(pointer: Out<Address>, bytes: usize, stream: StreamHandle) -> Status {
    call("hipMallocAsync", |process| allocate(process, pointer, bytes, None, stream))
}

#[unsafe(export_name = "emulated_hipMallocFromPoolAsync")]
extern "C" fn hipMallocFromPoolAsync(
    pointer: Out<Address>,
    bytes: usize,
    pool: PoolHandle,
    stream: StreamHandle,
) -> Status {
    call("hipMallocFromPoolAsync", |process| allocate(process, pointer, bytes, Some(pool), stream))
}

#[unsafe(export_name = "emulated_hipFreeAsync")]
extern "C" fn hipFreeAsync(pointer: Address, stream: StreamHandle) -> Status {
    call("hipFreeAsync", |process| {
        let on = process.stream(stream)?;
        if process.allocations.find(pointer.0).is_none_or(|found| found.base != pointer.0) {
            return Err(Status::INVALID_VALUE);
        }
        if process.capture_free(on, pointer)? { Ok(()) } else { free(process, pointer, on) }
    })
}

/// Frees memory in stream order.
pub(crate) fn free(process: &Process, pointer: Address, (device, raw): (DeviceId, RawStream)) -> HipResult {
    if is_of_graph(process, pointer) {
        return process.graphs.memories.free(process, pointer);
    }
    let frees = |kind| matches!(kind, Kind::Pool(_) | Kind::Device);
    let found = process.allocations.take(pointer.0, frees).ok_or(Status::INVALID_VALUE)?;
    let Kind::Pool(pool) = found.kind else {
        return memory::free(process, &found);
    };
    if let Some(pool) = process.pools.all.get(pool) {
        pool.used.fetch_sub(found.bytes as u64, Ordering::Relaxed);
        let freed = Kept { ptr: DevicePtr(found.base), bytes: found.bytes, stream: raw };
        if found.device == device && pool.keep(process, freed) {
            return Ok(());
        }
        pool.shrank(found.bytes);
    }
    if found.device != device {
        release(process, &found)?;
        return process.report_fault(found.device);
    }
    // SAFETY: the memory was live and of this device. That other streams do not use it any more is the program's part.
    Ok(unsafe { process.driver.free_async(device, DevicePtr(found.base), raw) }?)
}

#[unsafe(export_name = "emulated_hipDeviceGetDefaultMemPool")]
extern "C" fn hipDeviceGetDefaultMemPool(pool: Out<PoolHandle>, device: i32) -> Status {
    call("hipDeviceGetDefaultMemPool", |process| {
        pool.check()?;
        let (device, _) = process.device(device)?;
        pool.set(Handle::new(process.pools.of_device(device, |pools| pools.0)))
    })
}

#[unsafe(export_name = "emulated_hipDeviceGetMemPool")]
extern "C" fn hipDeviceGetMemPool(pool: Out<PoolHandle>, device: i32) -> Status {
    call("hipDeviceGetMemPool", |process| {
        pool.check()?;
        let (device, _) = process.device(device)?;
        pool.set(Handle::new(process.pools.of_device(device, |pools| pools.1)))
    })
}

#[unsafe(export_name = "emulated_hipDeviceSetMemPool")]
extern "C" fn hipDeviceSetMemPool(device: i32, pool: PoolHandle) -> Status {
    call("hipDeviceSetMemPool", |process| {
        let (device, _) = process.device(device)?;
        if process.pools.get(pool)?.device != device {
            return Err(Status::INVALID_DEVICE);
        }
        process.pools.of_device(device, |pools| pools.1 = pool.0);
        Ok(())
    })
}

#[unsafe(export_name = "emulated_hipMemPoolCreate")]
extern "C" fn hipMemPoolCreate(pool: Out<PoolHandle>, properties: In<hipMemPoolProps>) -> Status {
    call("hipMemPoolCreate", |process| {
        pool.check()?;
        let properties = properties.get()?;
        // Pinned memory (hipMemAllocationTypePinned) of a device (hipMemLocationTypeDevice).
        if properties.allocType != 1 || properties.location.r#type != 1 {
            return Err(Status::INVALID_VALUE);
        }
        let (device, _) = process.device(properties.location.id).map_err(|_| Status::INVALID_VALUE)?;
        pool.set(Handle::new(process.pools.all.add(Pool::new(device))))
    })
}

#[unsafe(export_name = "emulated_hipMemPoolDestroy")]
extern "C" fn hipMemPoolDestroy(pool: PoolHandle) -> Status {
    call("hipMemPoolDestroy", |process| {
        let device = process.pools.get(pool)?.device;
        let is_default = process.pools.of_device(device, |pools| {
            if pools.1 == pool.0 {
                pools.1 = pools.0;
            }
            pools.0 == pool.0
        });
        if is_default {
            return Err(Status::INVALID_VALUE);
        }
        let removed = process.pools.all.remove(pool.0);
        removed.map_or(Ok(()), |pool| pool.trim(process, 0))
    })
}

#[unsafe(export_name = "emulated_hipMemPoolTrimTo")]
extern "C" fn hipMemPoolTrimTo(pool: PoolHandle, keep: usize) -> Status {
    call("hipMemPoolTrimTo", |process| {
        let pool = process.pools.get(pool)?;
        // SAFETY: the request needs nothing of the caller.
        unsafe { process.driver.memory(pool.device, &MemoryRequest::TrimPool { keep }) }?;
        pool.trim(process, keep as u64)
    })
}

#[unsafe(export_name = "emulated_hipMemPoolSetAttribute")]
extern "C" fn hipMemPoolSetAttribute(pool: PoolHandle, attribute: i32, value: Address) -> Status {
    call("hipMemPoolSetAttribute", |process| {
        let pool = process.pools.get(pool)?;
        match attribute {
            FIRST_REUSE..=LAST_REUSE => {
                let value: i32 = value.values().get()?;
                let mut reuse = pool.reuse.lock().unwrap_or_else(PoisonError::into_inner);
                reuse[(attribute - FIRST_REUSE) as usize] = value;
            }
            RELEASE_THRESHOLD => pool.threshold.store(value.values().get()?, Ordering::Relaxed),
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
    })
}

#[unsafe(export_name = "emulated_hipMemPoolGetAttribute")]
extern "C" fn hipMemPoolGetAttribute(pool: PoolHandle, attribute: i32, value: Address) -> Status {
    call("hipMemPoolGetAttribute", |process| {
        let pool = process.pools.get(pool)?;
        match attribute {
            FIRST_REUSE..=LAST_REUSE => {
                let reuse = pool.reuse.lock().unwrap_or_else(PoisonError::into_inner);
                value.out().set(reuse[(attribute - FIRST_REUSE) as usize])
            }
            RELEASE_THRESHOLD => value.out().set(pool.threshold.load(Ordering::Relaxed)),
            RESERVED_NOW => value.out().set(pool.reserved()),
            USED_NOW => value.out().set(pool.used.load(Ordering::Relaxed)),
            RESERVED_HIGH => value.out().set(pool.reserved_high.load(Ordering::Relaxed)),
            USED_HIGH => value.out().set(pool.used_high.load(Ordering::Relaxed)),
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

/// `hipMemAccessFlagsProtReadWrite`.
const READ_WRITE: i32 = 3;

#[unsafe(export_name = "emulated_hipMemPoolSetAccess")]
extern "C" fn hipMemPoolSetAccess(
    pool: PoolHandle,
    descriptions: In<hipMemAccessDesc>,
    count: usize,
) -> Status {
    call("hipMemPoolSetAccess", |process| {
        let pool = process.pools.get(pool)?;
        if descriptions.is_null() && count > 0 {
            return Err(Status::INVALID_VALUE);
        }
        for description in descriptions.array(count)? {
            if description.location.r#type != 1 {
                return Err(Status::INVALID_VALUE);
            }
            let (peer, _) = process.device(description.location.id)?;
            match description.flags {
                READ_WRITE | 1 if peer != pool.device => {
                    process.driver.enable_peer_access(peer, pool.device)?
                }
                0 if peer == pool.device => return Err(Status::INVALID_DEVICE),
                0 | 1 | READ_WRITE => {}
                _ => return Err(Status::INVALID_VALUE),
            }
        }
        Ok(())
    })
}

#[unsafe(export_name = "emulated_hipMemPoolGetAccess")]
extern "C" fn hipMemPoolGetAccess(flags: Out<i32>, pool: PoolHandle, location: In<hipMemLocation>) -> Status {
    call("hipMemPoolGetAccess", |process| {
        flags.check()?;
        let pool = process.pools.get(pool)?;
        let (device, _) = process.device(location.get()?.id)?;
        flags.set(if device == pool.device { READ_WRITE } else { 0 })
    })
}
