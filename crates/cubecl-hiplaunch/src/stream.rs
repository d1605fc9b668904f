//! A stream of the launcher with the memory and the bookkeeping that CubeCL keeps for each of its streams.

use std::sync::Arc;

use cubecl_core::MemoryConfiguration;
use cubecl_core::ir::MemoryDeviceProperties;
use cubecl_core::server::{BufferBinding, DeviceCaptures, Handle, ServerError};
use cubecl_server::command::DeviceStream;
use cubecl_server::logging::ServerLogger;
use cubecl_server::memory_management::drop_queue::{FlushingPolicy, PendingDropQueue};
use cubecl_server::memory_management::{
    ErrorGraph, FailureId, MemoryAllocationMode, MemoryManagement, MemoryManagementOptions,
};
use cubecl_server::metadata_cache::{MetadataCachePolicy, MetadataInfoCache};
use cubecl_server::storage::PINNED_MEMORY_ALIGNMENT;
use cubecl_server::stream::{EventStreamBackend, StreamCapture, StreamMemory};
use hiplaunch::driver::{RawStream, Work};
use hiplaunch::{Device, EventOptions, Launcher, Stream};

use crate::error::Failure;
use crate::fence::{EventPool, Fence};
use crate::storage::{DeviceStorage, PinnedStorage};

/// A stream of the launcher, with events for its fences.
#[derive(Debug)]
pub struct LaunchStream {
    pub(crate) stream: Stream,
    raw: RawStream,
    events: EventPool,
}

impl LaunchStream {
    /// Enqueues a copy, in the order of launches.
    ///
    /// # Safety
    /// As [`Driver::enqueue`](hiplaunch::driver::Driver::enqueue).
    pub(crate) unsafe fn enqueue(&self, work: &Work<'_>) -> Result<(), Failure> {
        let device = self.stream.device();
        device.check()?;
        // SAFETY: the stream is live and of the device; the rest is the caller's promise.
        Ok(unsafe { device.driver().enqueue(device.id(), self.raw, work) }?)
    }

    pub(crate) fn fence(&self) -> Fence {
        Fence::on(&self.stream, &self.events)
    }
}

/// One of the streams of a device, onto which CubeCL maps those of threads.
#[derive(Debug)]
pub struct RuntimeStream {
    /// It lives as long as the process: CubeCL creates a few streams for a device, and never gives up a device.
    pub(crate) launches: &'static LaunchStream,
    device_memory: MemoryManagement<DeviceStorage>,
    host_memory: MemoryManagement<PinnedStorage>,
    drop_queue: PendingDropQueue<Fence>,
    pub(crate) capture: StreamCapture,
    /// Shapes and strides on the device, for launches that a graph captures. Other launches take them along.
    pub(crate) metadata: MetadataInfoCache<Handle>,
}

impl StreamMemory for RuntimeStream {
    fn failure(&self, binding: &BufferBinding) -> Option<FailureId> {
        self.device_memory.failure(&binding.memory, binding.range())
    }

    fn taint(&mut self, binding: &BufferBinding, failure: FailureId, failures: &mut ErrorGraph) {
        self.device_memory.taint(&binding.memory, binding.range(), failure, failures);
    }

    fn written(&mut self, binding: &BufferBinding, failures: &mut ErrorGraph) {
        self.device_memory.written(&binding.memory, binding.range(), failures);
    }
}

impl DeviceStream for RuntimeStream {
    type Fence = Fence;
    type DeviceStorage = DeviceStorage;
    type HostStorage = PinnedStorage;
    type Signal = &'static LaunchStream;

    fn device_memory(&mut self) -> &mut MemoryManagement<DeviceStorage> {
        &mut self.device_memory
    }

    fn host_memory(&mut self) -> &mut MemoryManagement<PinnedStorage> {
        &mut self.host_memory
    }

    fn drop_queue(&mut self) -> &mut PendingDropQueue<Fence> {
        &mut self.drop_queue
    }

    fn capturing(&mut self) -> &mut StreamCapture {
        &mut self.capture
    }

    fn info_cache(&mut self) -> &mut MetadataInfoCache<Handle> {
        &mut self.metadata
    }

    fn signal(&self) -> &'static LaunchStream {
        self.launches
    }

    fn fence(signal: &'static LaunchStream) -> Fence {
        signal.fence()
    }
}

/// Creates the streams of a device.
#[derive(Debug)]
pub struct StreamCreator {
    pub(crate) launcher: &'static Launcher,
    pub(crate) device: Device,
    pub(crate) memory: MemoryDeviceProperties,
    pub(crate) configuration: MemoryConfiguration,
    pub(crate) logger: Arc<ServerLogger>,
    pub(crate) captures: DeviceCaptures,
}

impl EventStreamBackend for StreamCreator {
    type Stream = RuntimeStream;
    type Event = Fence;

    fn create_stream(&self) -> Result<RuntimeStream, ServerError> {
        let stream = self.launcher.stream(&self.device).map_err(Failure::from)?;
        let device_memory = MemoryManagement::from_configuration(
            DeviceStorage::new(&self.device),
            &self.memory,
            self.configuration.clone(),
            self.logger.clone(),
            MemoryManagementOptions::new("device memory"),
        );
        let host_memory = MemoryManagement::from_configuration(
            PinnedStorage::new(&self.device),
            &MemoryDeviceProperties::new(self.memory.max_page_size, PINNED_MEMORY_ALIGNMENT as u64),
            self.configuration.clone(),
            self.logger.clone(),
            MemoryManagementOptions::new("pinned host memory").mode(MemoryAllocationMode::Auto),
        );
        let events = EventPool::new(&self.device, EventOptions::default());
        Ok(RuntimeStream {
            launches: Box::leak(Box::new(LaunchStream { raw: stream.as_raw(), stream, events })),
            device_memory,
            host_memory,
            drop_queue: PendingDropQueue::new(FlushingPolicy::default()),
            capture: StreamCapture::new(&self.captures),
            metadata: MetadataInfoCache::new(MetadataCachePolicy::default()),
        })
    }

    fn handle_cursor(stream: &RuntimeStream, binding: &BufferBinding) -> u64 {
        // What is not known any more is waited for.
        stream.device_memory.get_cursor(binding.memory.clone()).unwrap_or(u64::MAX)
    }

    fn flush(stream: &mut RuntimeStream, _failures: &mut ErrorGraph) -> Fence {
        stream.launches.fence()
    }

    fn wait_event(stream: &mut RuntimeStream, event: Fence) -> Result<(), ServerError> {
        event.wait_on(&stream.launches.stream)
    }

    fn wait_event_sync(event: Fence) -> Result<(), ServerError> {
        event.wait_on_host()
    }
}
