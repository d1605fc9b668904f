//! A driver that does nothing, so that the time of a launch is the launcher's own: the backend 'noop' of Python and of the
//! benchmarks.

use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use code_object::{Processor, TargetId};

use crate::{
    Capabilities, Capability, DeviceId, DeviceProperties, DevicePtr, Driver, DriverError, DriverInfo,
    DriverResult, ErrorCode, EventOptions, HostFunction, MemInfo, PinnedAllocation, RawEvent, RawFunction,
    RawModule, RawStream, Recovery, StreamOptions, Work,
};

/// A driver that runs no work. Handles and device addresses are mere numbers, pinned memory is real host memory, and
/// every event is reached at once. Host functions run when they are enqueued; values are not written, and every wait for one is
/// over at once.
#[derive(Debug)]
pub struct NoopDriver {
    next: AtomicU64,
    /// What each device says that it is.
    targets: Vec<TargetId>,
    capabilities: Capabilities,
}

impl NoopDriver {
    /// Opens a driver with one device.
    pub fn open() -> Arc<dyn Driver> {
        NoopDriver::of(TargetId::new(Processor::Gfx90a), Capabilities::NONE)
    }

    /// A driver whose device says that it is a `target`, with the capabilities `more` besides the usual ones.
    pub fn of(target: TargetId, more: Capabilities) -> Arc<dyn Driver> {
        NoopDriver::with_devices(vec![target], more)
    }

    /// A driver with a device for each of the targets, with the capabilities `more` besides the usual ones.
    pub fn with_devices(targets: Vec<TargetId>, more: Capabilities) -> Arc<dyn Driver> {
        let usual = [Capability::MappedHostMemory, Capability::StreamOrderedAllocator];
        let capabilities = usual.into_iter().chain(more.iter()).collect();
        Arc::new(NoopDriver { next: AtomicU64::new(0x10_0000), targets, capabilities })
    }

    fn id(&self, size: u64) -> u64 {
        self.next.fetch_add(size.next_multiple_of(256), Ordering::Relaxed)
    }
}

fn layout(bytes: usize) -> DriverResult<std::alloc::Layout> {
    std::alloc::Layout::from_size_align(bytes, 64)
        .map_err(|_| DriverError::new("hipHostMalloc", ErrorCode::OUT_OF_MEMORY))
}

impl Driver for NoopDriver {
    fn info(&self) -> DriverInfo {
        DriverInfo {
            name: "noop".into(),
            version: "1.0.0".into(),
            source: "this program".into(),
            recovery: Recovery::NewDriver,
        }
    }
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }
    fn device_count(&self) -> DriverResult<u32> {
        Ok(self.targets.len() as u32)
    }
    fn device_properties(&self, device: DeviceId) -> DriverResult<DeviceProperties> {
        let no_device = DriverError::new("hipDeviceGetAttribute", ErrorCode::INVALID_DEVICE);
        let target = self.targets.get(device.0 as usize).cloned().ok_or(no_device)?;
        Ok(DeviceProperties {
            name: "nothing".into(),
            wavefront_size: if target.processor.name().starts_with("gfx9") { 64 } else { 32 },
            target,
            pci_bus_id: "none".into(),
            total_memory: 1 << 40,
            compute_units: 104,
            max_threads_per_block: 1024,
            max_block: [1024; 3],
            max_grid: [i32::MAX as u32, 65535, 65535],
            max_lds_per_block: 65536,
            clock_khz: 0,
            memory_clock_khz: None,
            memory_bus_bits: None,
            l2_bytes: None,
            registers_per_block: None,
        })
    }
    fn mem_info(&self, _: DeviceId) -> DriverResult<MemInfo> {
        Ok(MemInfo { free: 1 << 40, total: 1 << 40 })
    }
    fn device_synchronize(&self, _: DeviceId) -> DriverResult<()> {
        Ok(())
    }
    fn malloc(&self, _: DeviceId, bytes: usize) -> DriverResult<DevicePtr> {
        Ok(DevicePtr(self.id(bytes as u64)))
    }
    unsafe fn free(&self, _: DeviceId, _: DevicePtr) -> DriverResult<()> {
        Ok(())
    }
    unsafe fn malloc_async(&self, _: DeviceId, bytes: usize, _: RawStream) -> DriverResult<DevicePtr> {
        Ok(DevicePtr(self.id(bytes as u64)))
    }
    unsafe fn free_async(&self, _: DeviceId, _: DevicePtr, _: RawStream) -> DriverResult<()> {
        Ok(())
    }
    fn host_malloc(&self, _: DeviceId, bytes: usize) -> DriverResult<PinnedAllocation> {
        // SAFETY: the trait's contract says that `bytes` is not 0.
        let host = unsafe { std::alloc::alloc_zeroed(layout(bytes)?) };
        let host = NonNull::new(host).ok_or(DriverError::new("hipHostMalloc", ErrorCode::OUT_OF_MEMORY))?;
        Ok(PinnedAllocation { host, device: DevicePtr(host.as_ptr() as u64), bytes })
    }
    unsafe fn host_free(&self, _: DeviceId, a: PinnedAllocation) -> DriverResult<()> {
        // SAFETY: `host_malloc` allocated it with the same layout.
        unsafe { std::alloc::dealloc(a.host.as_ptr(), layout(a.bytes)?) };
        Ok(())
    }
    fn stream_create(&self, _: DeviceId, _: StreamOptions) -> DriverResult<RawStream> {
        Ok(RawStream(self.id(1)))
    }
    unsafe fn stream_destroy(&self, _: DeviceId, _: RawStream) -> DriverResult<()> {
        Ok(())
    }
    unsafe fn stream_synchronize(&self, _: DeviceId, _: RawStream) -> DriverResult<()> {
        Ok(())
    }
    unsafe fn stream_query(&self, _: DeviceId, _: RawStream) -> DriverResult<bool> {
        Ok(true)
    }
    unsafe fn stream_wait_event(&self, _: DeviceId, _: RawStream, _: RawEvent) -> DriverResult<()> {
        Ok(())
    }
    fn event_create(&self, _: DeviceId, _: EventOptions) -> DriverResult<RawEvent> {
        Ok(RawEvent(self.id(1)))
    }
    unsafe fn event_destroy(&self, _: DeviceId, _: RawEvent) -> DriverResult<()> {
        Ok(())
    }
    unsafe fn event_record(&self, _: DeviceId, _: RawEvent, _: RawStream) -> DriverResult<()> {
        Ok(())
    }
    unsafe fn event_query(&self, _: DeviceId, _: RawEvent) -> DriverResult<bool> {
        Ok(true)
    }
    unsafe fn event_synchronize(&self, _: DeviceId, _: RawEvent) -> DriverResult<()> {
        Ok(())
    }
    unsafe fn module_load(&self, _: DeviceId, _: &[u8]) -> DriverResult<RawModule> {
        Ok(RawModule(self.id(1)))
    }
    unsafe fn module_unload(&self, _: DeviceId, _: RawModule) -> DriverResult<()> {
        Ok(())
    }
    unsafe fn module_get_function(&self, _: DeviceId, _: RawModule, _: &CStr) -> DriverResult<RawFunction> {
        Ok(RawFunction(self.id(1)))
    }
    // Does as little as possible, because its time counts as the launcher's.
    #[inline(never)]
    unsafe fn enqueue(&self, _: DeviceId, _: RawStream, work: &Work<'_>) -> DriverResult<()> {
        match work {
            Work::Kernel(launch) => {
                std::hint::black_box(launch.kernarg.len());
                Ok(())
            }
            Work::HostFunction(function) => run(function),
            Work::HostNode(node) => {
                node.call(Ok(()));
                Ok(())
            }
            _ => Ok(()),
        }
    }
    unsafe fn copy_blocking(&self, _: DeviceId, _: &Work<'_>) -> DriverResult<()> {
        Ok(())
    }
}

#[cold]
#[inline(never)]
fn run(function: &HostFunction) -> DriverResult<()> {
    function.take()?(Ok(()));
    Ok(())
}
