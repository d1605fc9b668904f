//! Memory pools and allocations in stream order. All pools of a device are the driver's one pool.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use hip_driver::{DeviceId, DevicePtr, MemoryRequest, RawStream};

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
}

impl Pool {
    fn new(device: DeviceId) -> Pool {
        Pool {
            device,
            reuse: Mutex::new([1; 3]),
            threshold: AtomicU64::new(0),
            used: AtomicU64::new(0),
            used_high: AtomicU64::new(0),
        }
    }

    fn allocated(&self, bytes: usize) {
        let used = self.used.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        self.used_high.fetch_max(used, Ordering::Relaxed);
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
    // SAFETY: the stream is live.
    let ptr = unsafe { process.driver.malloc_async(device, bytes, raw) }?;
    pool.allocated(bytes);
    process.allocations.insert(Allocation::device(ptr, bytes, device, Kind::Pool(handle)));
    pointer.set(Address(ptr.0))
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
    process.pools.all.with(pool, |pool| pool.used.fetch_sub(found.bytes as u64, Ordering::Relaxed));
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
        process.pools.all.remove(pool.0);
        Ok(())
    })
}

#[unsafe(export_name = "emulated_hipMemPoolTrimTo")]
extern "C" fn hipMemPoolTrimTo(pool: PoolHandle, keep: usize) -> Status {
    call("hipMemPoolTrimTo", |process| {
        let pool = process.pools.get(pool)?;
        // SAFETY: the request needs nothing of the caller.
        unsafe { process.driver.memory(pool.device, &MemoryRequest::TrimPool { keep }) }?;
        Ok(())
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
            RESERVED_NOW | USED_NOW => value.out().set(pool.used.load(Ordering::Relaxed)),
            RESERVED_HIGH | USED_HIGH => value.out().set(pool.used_high.load(Ordering::Relaxed)),
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
