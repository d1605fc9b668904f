//! A driver that does nothing: what is left of a replay's time is the pool's own.

use hiplaunch::driver::Recovery;
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hip_driver::{
    Capabilities, Capability, DeviceId, DeviceProperties, DevicePtr, Driver, DriverError, DriverInfo,
    DriverResult, ErrorCode, EventOptions, MemInfo, PinnedAllocation, RawEvent, RawFunction, RawModule,
    RawStream, StreamOptions, Work,
};

/// Bytes of each device: more than any has.
const MEMORY: u64 = 1 << 40;

/// Hands out addresses with nothing behind them. Work is finished as soon as it is enqueued.
#[derive(Debug)]
pub(super) struct NoneDriver {
    devices: Vec<Mutex<Memory>>,
    /// The next stream or event.
    next: AtomicU64,
}

#[derive(Debug)]
struct Memory {
    next: u64,
    used: u64,
    /// Bytes by address.
    live: HashMap<u64, u64>,
    /// Freed addresses by bytes: they come again, as real ones do.
    freed: HashMap<u64, Vec<u64>>,
}

fn unsupported<T>() -> DriverResult<T> {
    Err(DriverError::with_detail("none", ErrorCode::NOT_SUPPORTED, "a driver that does nothing but allocate"))
}

impl NoneDriver {
    pub(super) fn open(devices: u32) -> Arc<dyn Driver> {
        // Each device has addresses of its own.
        let memory =
            |i| Memory { next: u64::from(i + 1) << 44, used: 0, live: HashMap::new(), freed: HashMap::new() };
        Arc::new(NoneDriver {
            devices: (0..devices).map(|i| Mutex::new(memory(i))).collect(),
            next: AtomicU64::new(1),
        })
    }

    fn memory<R>(&self, device: DeviceId, f: impl FnOnce(&mut Memory) -> DriverResult<R>) -> DriverResult<R> {
        let Some(memory) = self.devices.get(device.0 as usize) else {
            return Err(DriverError::new("hipSetDevice", ErrorCode::INVALID_DEVICE));
        };
        f(&mut memory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn handle(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

macro_rules! unsupported {
    ($($name:ident($($ty:ty),*) -> $result:ty;)*) => {
        $(unsafe fn $name(&self, $(_: $ty),*) -> DriverResult<$result> {
            unsupported()
        })*
    };
}

/// Work that takes no time.
macro_rules! finished {
    ($($name:ident($($ty:ty),*) -> $result:ty = $value:expr;)*) => {
        $(unsafe fn $name(&self, $(_: $ty),*) -> DriverResult<$result> {
            Ok($value)
        })*
    };
}

impl Driver for NoneDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "none".into(),
            version: "1".into(),
            source: "does nothing".into(),
            recovery: Recovery::NewDriver,
        }
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities::from_iter([Capability::Memset, Capability::StreamOrderedAllocator])
    }
    fn device_count(&self) -> DriverResult<u32> {
        Ok(self.devices.len() as u32)
    }
    fn device_properties(&self, _: DeviceId) -> DriverResult<DeviceProperties> {
        Ok(DeviceProperties {
            name: "nothing".into(),
            target: "gfx90a"
                .parse()
                .map_err(|_| DriverError::new("hipDeviceGetAttribute", ErrorCode::UNKNOWN))?,
            pci_bus_id: "none".into(),
            total_memory: MEMORY,
            compute_units: 1,
            wavefront_size: 64,
            max_threads_per_block: 1024,
            max_block: [1024; 3],
            max_grid: [u32::MAX; 3],
            max_lds_per_block: 65536,
            clock_khz: 0,
        })
    }
    fn mem_info(&self, device: DeviceId) -> DriverResult<MemInfo> {
        self.memory(device, |memory| Ok(MemInfo { free: MEMORY - memory.used, total: MEMORY }))
    }
    fn device_synchronize(&self, _: DeviceId) -> DriverResult<()> {
        Ok(())
    }
    fn malloc(&self, device: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        let bytes = bytes as u64;
        self.memory(device, |memory| {
            if bytes > MEMORY - memory.used {
                return Err(DriverError::new("hipMalloc", ErrorCode::OUT_OF_MEMORY));
            }
            let address = memory.freed.get_mut(&bytes).and_then(Vec::pop).unwrap_or_else(|| {
                let address = memory.next;
                memory.next = address.wrapping_add(bytes.next_multiple_of(4096));
                address
            });
            memory.used += bytes;
            memory.live.insert(address, bytes);
            Ok(DevicePtr(address))
        })
    }
    unsafe fn free(&self, device: DeviceId, ptr: DevicePtr) -> DriverResult<()> {
        self.memory(device, |memory| match memory.live.remove(&ptr.0) {
            Some(bytes) => {
                memory.used -= bytes;
                memory.freed.entry(bytes).or_default().push(ptr.0);
                Ok(())
            }
            None => Err(DriverError::new("hipFree", ErrorCode::INVALID_VALUE)),
        })
    }
    unsafe fn malloc_async(&self, device: DeviceId, bytes: usize, _: RawStream) -> DriverResult<DevicePtr> {
        self.malloc(device, bytes)
    }
    unsafe fn free_async(&self, device: DeviceId, ptr: DevicePtr, _: RawStream) -> DriverResult<()> {
        // SAFETY: the caller's promise, and no work uses it, as there is none.
        unsafe { self.free(device, ptr) }
    }
    fn mem_pool_trim(&self, _: DeviceId, _: usize) -> DriverResult<()> {
        Ok(())
    }
    fn host_malloc(&self, _: DeviceId, _: usize) -> DriverResult<PinnedAllocation> {
        unsupported()
    }
    fn stream_create(&self, _: DeviceId, _: StreamOptions) -> DriverResult<RawStream> {
        Ok(RawStream(self.handle()))
    }
    fn event_create(&self, _: DeviceId, _: EventOptions) -> DriverResult<RawEvent> {
        Ok(RawEvent(self.handle()))
    }
    finished! {
        stream_destroy(DeviceId, RawStream) -> () = ();
        stream_synchronize(DeviceId, RawStream) -> () = ();
        stream_query(DeviceId, RawStream) -> bool = true;
        stream_wait_event(DeviceId, RawStream, RawEvent) -> () = ();
        event_destroy(DeviceId, RawEvent) -> () = ();
        event_record(DeviceId, RawEvent, RawStream) -> () = ();
        event_query(DeviceId, RawEvent) -> bool = true;
        event_synchronize(DeviceId, RawEvent) -> () = ();
    }
    unsafe fn enqueue(&self, _: DeviceId, _: RawStream, work: &Work<'_>) -> DriverResult<()> {
        match work {
            Work::FillBytes { .. } | Work::FillWords { .. } => Ok(()),
            _ => unsupported(),
        }
    }
    unsupported! {
        host_free(DeviceId, PinnedAllocation) -> ();
        module_load(DeviceId, &[u8]) -> RawModule;
        module_unload(DeviceId, RawModule) -> ();
        module_get_function(DeviceId, RawModule, &CStr) -> RawFunction;
    }
}
