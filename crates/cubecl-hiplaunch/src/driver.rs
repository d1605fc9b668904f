//! What CubeCL's commands ask of the device: copies, launches, and graphs.

use cubecl_common::bytes::Bytes;
use cubecl_server::command::{CopyLayout, DeviceStream, Driver, GraphDriver};
use cubecl_server::id::KernelId;
use cubecl_server::memory_management::ManagedMemoryBinding;
use cubecl_server::server::{IoError, LaunchError, ServerError};
use cubecl_server::storage::{PinnedMemoryAllocController, PinnedMemoryResource};
use hiplaunch::driver::{CaptureMode, Work};
use hiplaunch::{Arg, ArgumentBlock, CapturedGraph, Launch, LaunchDims};
use smallvec::SmallVec;
use std::sync::Arc;

use crate::error::Failure;
use crate::kernels::{Kernels, LoadedKernel, Parameter};
use crate::storage::DeviceSlice;
use crate::stream::{RuntimeStream, StreamCreator};

/// The launcher, as CubeCL's commands see it.
#[derive(Debug)]
pub(crate) struct LauncherDriver;

/// What a launch passes to its kernel.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) kernel: Arc<LoadedKernel>,
    pub(crate) buffers: SmallVec<[DeviceSlice; 8]>,
    /// Scalars and sizes, and behind them the shapes and strides.
    pub(crate) words: Vec<u64>,
    /// Where the shapes and strides begin in `words`.
    pub(crate) metadata_start: usize,
    /// The shapes and strides on the device, for a launch that a graph captures.
    pub(crate) metadata: Option<DeviceSlice>,
}

impl Driver for LauncherDriver {
    type Backend = StreamCreator;
    type Stream = RuntimeStream;
    type Context = Kernels;
    type LaunchArgs = Arguments;

    unsafe fn pinned_bytes(
        binding: ManagedMemoryBinding,
        resource: PinnedMemoryResource,
        size: usize,
    ) -> Bytes {
        let controller = Box::new(PinnedMemoryAllocController::init(binding, resource));
        // SAFETY: the caller's promise: the binding keeps `size` initialized bytes.
        unsafe { Bytes::from_controller(controller, size) }
    }

    unsafe fn copy_to_host(
        resource: &DeviceSlice,
        layout: &CopyLayout<'_>,
        bytes: &mut Bytes,
        stream: &RuntimeStream,
    ) -> Result<(), IoError> {
        let rows = Rows::of(layout, bytes.len());
        rows.check("read", bytes.len(), resource)?;
        let to = bytes.as_mut_ptr();
        for row in 0..rows.count {
            let dst = to.wrapping_add(row * rows.bytes);
            let src = resource.ptr.offset((row * rows.stride) as u64);
            // SAFETY: both ranges were checked; the caller waits for the stream before it uses the bytes.
            unsafe { stream.launches.enqueue(&Work::CopyToHost { dst, src, bytes: rows.bytes }) }?;
        }
        Ok(())
    }

    unsafe fn copy_to_device(
        resource: &DeviceSlice,
        layout: &CopyLayout<'_>,
        data: &[u8],
        stream: &RuntimeStream,
    ) -> Result<(), IoError> {
        let rows = Rows::of(layout, data.len());
        rows.check("write", data.len(), resource)?;
        for row in 0..rows.count {
            let dst = resource.ptr.offset((row * rows.stride) as u64);
            let src = data.as_ptr().wrapping_add(row * rows.bytes);
            // SAFETY: both ranges were checked; the caller keeps the data until the stream has finished.
            unsafe { stream.launches.enqueue(&Work::CopyToDevice { dst, src, bytes: rows.bytes }) }?;
        }
        Ok(())
    }

    unsafe fn copy_on_device(
        source: &DeviceSlice,
        target: &DeviceSlice,
        queue: <RuntimeStream as DeviceStream>::Signal,
    ) -> Result<(), IoError> {
        let bytes = source.size.min(target.size) as usize;
        // SAFETY: the caller's promise: two live slices of one size, which do not overlap and which nobody else uses.
        Ok(unsafe { queue.enqueue(&Work::CopyWithin { dst: target.ptr, src: source.ptr, bytes }) }?)
    }

    fn launch(
        kernels: &mut Kernels,
        stream: &mut RuntimeStream,
        _kernel: KernelId,
        count: (u32, u32, u32),
        arguments: &mut Arguments,
    ) -> Result<(), LaunchError> {
        let kernel = &arguments.kernel;
        let words: &[u8] = bytemuck::cast_slice(&arguments.words);
        let metadata = ArgumentBlock {
            bytes: words.get(arguments.metadata_start * size_of::<u64>()..).unwrap_or_default(),
            ..ArgumentBlock::default()
        };
        let mut args: SmallVec<[Arg<'_>; 12]> =
            arguments.buffers.iter().map(|buffer| Arg::Pointer(buffer.ptr)).collect();
        for parameter in kernel.parameters_behind(arguments.buffers.len()) {
            args.push(match (parameter, arguments.metadata) {
                // A kernel that takes more than it was given is refused by the launcher.
                (Parameter::Value(size), _) => Arg::Value(words.get(..*size).unwrap_or(words)),
                (Parameter::Pointer, Some(on_device)) => Arg::Pointer(on_device.ptr),
                (Parameter::Pointer, None) => Arg::ArgumentBlock(&metadata),
            });
        }
        let dims = LaunchDims::new([count.0, count.1, count.2], kernel.block).with_lds(kernel.dynamic_lds);
        // SAFETY: the buffers are live: CubeCL's pools keep them until the work of their streams is done, and order streams
        // that share them. That the kernel stays within them is the promise of who called `Server::launch`.
        let launched = unsafe {
            kernels.launcher.enqueue(kernel.handle, &stream.launches.stream, Launch::new(dims).args(&args))
        };
        launched.map_err(|error| Failure::from(error).into())
    }
}

impl GraphDriver for LauncherDriver {
    type Executable = CapturedGraph;

    fn begin(stream: &mut RuntimeStream) -> Result<(), ServerError> {
        // Relaxed, because other streams of the device go on meanwhile.
        Ok(stream.launches.stream.begin_capture(CaptureMode::Relaxed).map_err(Failure::from)?)
    }

    fn instantiate(
        stream: &mut RuntimeStream,
        doomed: Option<ServerError>,
    ) -> Result<CapturedGraph, ServerError> {
        // The capture is ended in any case.
        let graph = stream.launches.stream.end_capture().map_err(Failure::from);
        match doomed {
            Some(error) => Err(error),
            None => Ok(graph?),
        }
    }

    fn upload(_graph: &CapturedGraph, _stream: &mut RuntimeStream) {
        // The launcher has no upload of its own; the first replay does it.
    }

    fn replay(graph: &CapturedGraph, stream: &mut RuntimeStream) -> Result<(), ServerError> {
        // SAFETY: CubeCL keeps what the captured launches use as long as the graph, and orders replays as launches.
        Ok(unsafe { graph.launch(&stream.launches.stream) }.map_err(Failure::from)?)
    }
}

/// The rows of a copy between an array without gaps on the host and one on the device whose rows may have gaps.
struct Rows {
    count: usize,
    /// The bytes of a row.
    bytes: usize,
    /// The bytes from one row to the next on the device.
    stride: usize,
}

impl Rows {
    fn of(layout: &CopyLayout<'_>, len: usize) -> Rows {
        match &layout.pitch {
            None => Rows { count: 1, bytes: len, stride: len },
            Some(pitch) => Rows { count: pitch.height, bytes: pitch.width_bytes, stride: pitch.stride_bytes },
        }
    }

    fn check(&self, what: &str, len: usize, on_device: &DeviceSlice) -> Result<(), IoError> {
        let last = self.count.saturating_sub(1) * self.stride;
        let needed = if self.count == 0 { 0 } else { last + self.bytes };
        if self.count * self.bytes <= len && needed as u64 <= on_device.size {
            return Ok(());
        }
        let (count, bytes, size) = (self.count, self.bytes, on_device.size);
        Err(IoError::Unknown {
            description: format!("a {what} of {count} rows of {bytes} bytes in a buffer of {size}"),
            backtrace: cubecl_environment::backtrace::BackTrace::capture(),
        })
    }
}
