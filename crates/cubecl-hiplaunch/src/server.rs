//! The server of a device: it does what CubeCL's clients ask for, with the launcher.

use std::collections::HashMap;
use std::sync::Arc;

use cubecl_common::bytes::Bytes;
use cubecl_common::profile::ProfileDuration;
use cubecl_core::MemoryConfiguration;
use cubecl_core::ir::MemoryDeviceProperties;
use cubecl_core::prelude::{CubeCount, CubeKernel};
use cubecl_core::server::{
    BufferBinding, CopyDescriptor, DeviceCaptures, KernelArguments, KernelResource, MetadataBindingInfo,
    ProfileError, ProfilingToken, Server, ServerCommunication, ServerError, ServerStorage, ServerUtilities,
};
use cubecl_environment::backtrace::BackTrace;
use cubecl_environment::future::{DynFut, block_on};
use cubecl_environment::stream::StreamId;
use cubecl_server::command::{Captures, Command, DeviceStream, Refused, Window};
use cubecl_server::config::{CubeClRuntimeConfig, RuntimeConfig};
use cubecl_server::dry_run::LaunchMode;
use cubecl_server::id::{GraphId, KernelId};
use cubecl_server::logging::ServerLogger;
use cubecl_server::memory_management::{ManagedMemoryHandle, MemoryAllocationMode, StreamMemoryReport};
use cubecl_server::metadata_cache::Lookup;
use cubecl_server::server::LaunchError;
use cubecl_server::storage::{ComputeStorage, ManagedResource};
use cubecl_server::stream::{
    ExecuteScope, FailureStore, MultiStream, StreamCapture, WriteScoped, failed_writing,
};

use crate::driver::{Arguments, LauncherDriver};
use crate::fence::Profiler;
use crate::kernels::{Kernels, LoadedKernel, Parameter};
use crate::storage::{DeviceSlice, DeviceStorage};
use crate::stream::{LaunchStream, StreamCreator};

/// The server of one device.
#[derive(Debug)]
pub struct LauncherServer {
    kernels: Kernels,
    streams: MultiStream<StreamCreator>,
    utilities: Arc<ServerUtilities>,
    graphs: Captures<LauncherDriver>,
    profiler: Profiler,
    /// Allocation modes of streams that do not exist yet.
    modes: HashMap<StreamId, MemoryAllocationMode>,
}

/// The size of a grid in cubes.
type Grid = (u32, u32, u32);

impl LauncherServer {
    pub(crate) fn new(
        kernels: Kernels,
        memory: MemoryDeviceProperties,
        configuration: MemoryConfiguration,
        utilities: ServerUtilities,
        captures: DeviceCaptures,
    ) -> LauncherServer {
        let creator = StreamCreator {
            launcher: kernels.launcher,
            device: kernels.device.clone(),
            memory,
            configuration,
            logger: utilities.logger.clone(),
            captures,
        };
        let max_streams = CubeClRuntimeConfig::get().streaming.max_streams;
        LauncherServer {
            streams: MultiStream::new(utilities.logger.clone(), creator, max_streams),
            profiler: Profiler::new(&kernels.device),
            kernels,
            utilities: Arc::new(utilities),
            graphs: Captures::default(),
            modes: HashMap::new(),
        }
    }

    /// A command on a stream, which first waits for the streams that have the buffers `used`.
    fn command<'a>(
        &mut self,
        stream: StreamId,
        used: impl Iterator<Item = &'a BufferBinding>,
    ) -> Result<Command<'_, LauncherDriver>, ServerError> {
        let mut streams = self.streams.resolve(stream, used)?;
        if !self.modes.is_empty()
            && let Some(mode) = self.modes.remove(&stream)
        {
            streams.current().device_memory().mode(mode);
        }
        Ok(Command::new(&mut self.kernels, streams, self.utilities.service))
    }

    /// A command on a stream that uses no buffer of another.
    fn command_alone(&mut self, stream: StreamId) -> Result<Command<'_, LauncherDriver>, ServerError> {
        self.command(stream, [].into_iter())
    }

    /// The stream on which a window of a measurement begins or ends.
    ///
    /// # Errors
    /// Refuses a stream that is captured, whose events would become part of the graph.
    fn measured(&mut self, stream: StreamId) -> Result<&'static LaunchStream, ServerError> {
        let mut streams = self.streams.resolve(stream, [].into_iter())?;
        let stream = streams.current();
        if stream.capture.is_recording() {
            return Err(ServerError::graph_state("a stream that is captured can't be measured".to_owned()));
        }
        Ok(stream.launches)
    }

    /// Returns the size of a launch's grid. One that is on the device is read, which waits for the stream.
    fn grid(&mut self, count: CubeCount, stream: StreamId) -> Result<Grid, ServerError> {
        let binding = match count {
            CubeCount::Static(x, y, z) => return Ok((x, y, z)),
            CubeCount::Dynamic(binding) => binding,
        };
        self.streams.ensure_written([&binding].into_iter())?;
        let mut command = self.command(stream, [&binding].into_iter())?;
        let words = CopyDescriptor::new(binding, [3].into(), [1].into(), size_of::<u32>());
        let read = block_on(command.read_async(vec![words]))?;
        match read.first().map(|bytes| bytemuck::pod_collect_to_vec::<u8, u32>(bytes)).as_deref() {
            Some(&[x, y, z]) => Ok((x, y, z)),
            _ => Err(ServerError::Generic {
                reason: "a grid on the device has three numbers of 32 bits".to_owned(),
                backtrace: BackTrace::capture(),
            }),
        }
    }

    /// Marks what a launch would have written as failed.
    fn fail_launch(
        &mut self,
        arguments: &KernelArguments,
        kernel: Option<&LoadedKernel>,
        stream: StreamId,
        error: ServerError,
    ) {
        let mut written = self.write_set();
        written.extend(arguments.buffers_written(kernel.and_then(|kernel| kernel.io.as_deref())).cloned());
        failed_writing(self, stream, written, error);
    }

    fn enqueue(
        &mut self,
        id: KernelId,
        kernel: Arc<LoadedKernel>,
        grid: Grid,
        arguments: KernelArguments,
        stream: StreamId,
    ) -> Result<(), ServerError> {
        let mut command = self.command(stream, arguments.buffers())?;
        let KernelArguments { resources, info, .. } = arguments;
        let MetadataBindingInfo { data: words, dynamic_metadata_offset: metadata_start } = info;
        let buffers = resources
            .into_iter()
            .map(|resource| match resource {
                KernelResource::Buffer(binding) => Ok(command.resource(binding)?),
                KernelResource::TensorMap(_) => Err(ServerError::from(LaunchError::Unknown {
                    reason: "tensor maps are CUDA's; HIP has none".to_owned(),
                    backtrace: BackTrace::capture(),
                })),
            })
            .collect::<Result<_, ServerError>>()?;
        let mut arguments = Arguments { kernel, buffers, words, metadata_start, metadata: None };
        let behind = arguments.kernel.parameters_behind(arguments.buffers.len());
        if behind.contains(&Parameter::Pointer) && command.stream().capture.is_active() {
            let metadata = arguments.words.get(metadata_start..).unwrap_or_default();
            arguments.metadata = Some(metadata_on_device(&mut command, metadata)?);
        }
        Ok(command.kernel(id, grid, &mut arguments)?)
    }
}

/// Shapes and strides in device memory of their own, because a graph can't capture data of the host. The run before the
/// capture puts them there, and the captured run finds them.
fn metadata_on_device(
    command: &mut Command<'_, LauncherDriver>,
    words: &[u64],
) -> Result<DeviceSlice, ServerError> {
    let stream = command.stream();
    let mode = stream.capture.cache_mode();
    let handle = match stream.metadata.lookup(mode, words) {
        Lookup::Hit(handle) => handle,
        Lookup::Build { store } => {
            let handle = command.create_with_data(bytemuck::cast_slice(words))?;
            if store {
                command.stream().metadata.store(words.to_vec(), handle.clone());
            }
            handle
        }
    };
    Ok(command.resource(handle.binding())?)
}

impl Server for LauncherServer {
    fn logger(&self) -> Arc<ServerLogger> {
        self.streams.logger.clone()
    }

    fn utilities(&self) -> Arc<ServerUtilities> {
        self.utilities.clone()
    }

    fn staging(&mut self, sizes: &[usize], stream: StreamId) -> Result<Vec<Bytes>, ServerError> {
        let mut command = self.command_alone(stream)?;
        Ok(sizes.iter().map(|size| command.reserve_cpu(*size, None)).collect())
    }

    fn initialize_memory(
        &mut self,
        memory: ManagedMemoryHandle,
        size: u64,
        stream: StreamId,
    ) -> Result<(), ServerError> {
        let allocated = self
            .command_alone(stream)
            .and_then(|mut command| Ok(command.initialize_memory(memory.clone(), size)?));
        if let Err(error) = &allocated {
            self.streams.fail_unallocated(&memory, error.clone());
        }
        allocated
    }

    fn read(
        &mut self,
        descriptors: Vec<CopyDescriptor>,
        stream: StreamId,
    ) -> DynFut<Result<Vec<Bytes>, ServerError>> {
        let handles = || descriptors.iter().map(|descriptor| &descriptor.handle);
        let command = self.streams.ensure_written(handles()).and_then(|()| self.command(stream, handles()));
        match command {
            Ok(mut command) => Box::pin(command.read_async(descriptors)),
            Err(error) => Box::pin(async move { Err(error) }),
        }
    }

    fn write(&mut self, descriptors: Vec<(CopyDescriptor, Bytes)>, stream: StreamId) {
        // One scope for each, so that one that fails does not keep the others from being written.
        for (descriptor, data) in descriptors {
            let mut written = self.write_set();
            written.push(descriptor.handle.clone());
            ExecuteScope::over(self, stream, written).execute(|server| {
                let mut command = server.command(stream, [&descriptor.handle].into_iter())?;
                Ok(command.write_to_gpu(descriptor, data)?)
            });
        }
    }

    fn sync(&mut self, handles: Vec<BufferBinding>, stream: StreamId) -> DynFut<Result<(), ServerError>> {
        let command = self.streams.ensure_written(handles.iter()).and_then(|()| self.command_alone(stream));
        match command {
            Ok(mut command) => command.sync(),
            Err(error) => Box::pin(async move { Err(error) }),
        }
    }

    fn check(&mut self, handles: Vec<BufferBinding>, _stream: StreamId) -> Result<(), ServerError> {
        self.streams.ensure_written(handles.iter())
    }

    unsafe fn launch(
        &mut self,
        kernel: Box<dyn CubeKernel>,
        count: CubeCount,
        arguments: KernelArguments,
        stream: StreamId,
        mode: LaunchMode,
    ) {
        let id = kernel.id();
        let loaded = match self.kernels.get(&id, kernel, &self.streams.logger) {
            Ok(loaded) => loaded,
            Err(error) if mode.is_skipped() => return self.profiler.fail(&ServerError::Launch(error)),
            Err(error) => return self.fail_launch(&arguments, None, stream, ServerError::Launch(error)),
        };
        // A dry run compiles, and touches no buffer.
        if mode.is_skipped() {
            return;
        }
        let grid = match self.grid(count, stream) {
            Ok(grid) => grid,
            Err(error) => return self.fail_launch(&arguments, Some(&loaded), stream, error),
        };
        // Nothing is written by no cubes, so what the buffers hold stays as it is.
        if grid.0 == 0 || grid.1 == 0 || grid.2 == 0 {
            return;
        }
        let io = loaded.io.clone();
        let mut written = self.write_set();
        written.extend(arguments.buffers_written(io.as_deref()).cloned());
        let read = arguments.buffers_read(io.as_deref());
        ExecuteScope::launching(self, id.clone(), stream, read, written)
            .execute(|server| server.enqueue(id, loaded, grid, arguments, stream));
    }

    fn flush(&mut self, stream: StreamId) -> Result<(), ServerError> {
        let mut command = self.command_alone(stream)?;
        command.flush_drops();
        command.stream().device_memory().storage().flush();
        Ok(())
    }

    fn graph_prepare(&mut self, stream: StreamId) -> Result<(), ServerError> {
        Window::on(&mut self.command_alone(stream)?).prepare(stream)
    }

    fn begin_capture(&mut self, stream: StreamId) -> Result<(), ServerError> {
        Window::on(&mut self.command_alone(stream)?).begin()
    }

    fn end_capture(&mut self, stream: StreamId) -> Result<GraphId, ServerError> {
        let id = GraphId::new();
        let ended = Window::on(&mut self.command_alone(stream)?).instantiate(stream, id);
        match ended {
            Ok(graph) => {
                self.graphs.insert(id, graph);
                Ok(id)
            }
            // What was captured never runs, so what it would have written carries the error.
            Err(Refused { error, written }) => {
                self.streams.taint(error.clone(), written.iter());
                Err(error)
            }
        }
    }

    fn replay(&mut self, graph: GraphId, stream: StreamId) -> Result<(), ServerError> {
        let mut written = self.write_set();
        self.graphs.extend_written(graph, &mut written);
        ExecuteScope::over(self, stream, written)
            .execute(|server| {
                let mut streams = server.streams.resolve(stream, [].into_iter())?;
                server.graphs.replay(graph, streams.current())
            })
            .into_result()
    }

    fn graph_destroy(&mut self, graph: GraphId, stream: StreamId) {
        if !self.graphs.contains(graph) {
            return;
        }
        let mut written = Vec::new();
        self.graphs.extend_written(graph, &mut written);
        let waited = block_on(self.sync(Vec::new(), stream));
        self.graphs.destroy(graph, self.streams.try_stream_mut(&stream));
        if let Err(error) = waited {
            failed_writing(self, stream, written, error);
        }
    }

    fn memory_report(&mut self, stream: StreamId) -> Option<StreamMemoryReport> {
        self.streams.try_stream_mut(&stream)?;
        self.command_alone(stream).ok().map(|mut command| command.memory_report())
    }

    fn stream_ids(&self) -> Vec<StreamId> {
        self.streams.stream_ids().collect()
    }

    fn memory_cleanup(&mut self, stream: StreamId) -> Result<(), ServerError> {
        self.command_alone(stream)?.memory_cleanup()
    }

    fn start_profile(&mut self, stream: StreamId) -> Result<ProfilingToken, ServerError> {
        let stream = self.measured(stream)?;
        self.profiler.start(&stream.stream)
    }

    fn end_profile(
        &mut self,
        stream: StreamId,
        token: ProfilingToken,
    ) -> Result<ProfileDuration, ProfileError> {
        match self.measured(stream) {
            Ok(stream) => self.profiler.stop(&stream.stream, token),
            Err(error) => {
                self.profiler.abandon(token);
                Err(ProfileError::from(&error))
            }
        }
    }

    fn abandon_profile(&mut self, _stream: StreamId, token: ProfilingToken) {
        self.profiler.abandon(token);
    }

    fn allocation_mode(&mut self, mode: MemoryAllocationMode, stream: StreamId) {
        match self.streams.try_stream_mut(&stream) {
            Some(stream) => stream.device_memory().mode(mode),
            None => {
                self.modes.insert(stream, mode);
            }
        }
    }
}

impl ServerCommunication for LauncherServer {}

impl ServerStorage for LauncherServer {
    type Storage = DeviceStorage;

    fn get_resource(
        &mut self,
        binding: BufferBinding,
        stream: StreamId,
    ) -> Result<ManagedResource<DeviceSlice>, ServerError> {
        self.streams.ensure_written([&binding].into_iter())?;
        let mut command = self.command(stream, [&binding].into_iter())?;
        Ok(command.managed_resource(binding)?)
    }
}

impl WriteScoped for LauncherServer {
    type Streams = MultiStream<StreamCreator>;

    fn write_streams(&mut self) -> &mut Self::Streams {
        &mut self.streams
    }

    fn on_failure(&mut self, _stream: StreamId, error: &ServerError) {
        self.profiler.fail(error);
    }

    fn capturing(&mut self, stream: StreamId) -> Option<&mut StreamCapture> {
        Some(&mut self.streams.try_stream_mut(&stream)?.capture)
    }
}
