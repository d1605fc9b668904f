//! Captures of streams: launches, copies within a device and fills become a graph of the driver, which is launched with
//! one call. This is `hipStreamBeginCapture` and `hipStreamEndCapture`.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::code::Module;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::pool::PoolBlock;
use hip_driver::{ErrorCode, RawGraph, RawGraphExec, Work};

use super::{Stream, StreamState};

pub use hip_driver::CaptureMode;

/// What captured work uses, which lives as long as its graph.
#[derive(Default)]
pub(crate) struct Kept {
    blocks: Vec<PoolBlock>,
    modules: Vec<Module>,
    others: Vec<Box<dyn Any + Send>>,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept")
            .field("blocks", &self.blocks.len())
            .field("modules", &self.modules.len())
            .finish_non_exhaustive()
    }
}

impl Kept {
    pub(crate) fn block(&mut self, block: &PoolBlock) {
        if !self.blocks.iter().any(|kept| kept.is_same(block)) {
            self.blocks.push(block.clone());
        }
    }

    pub(crate) fn module(&mut self, module: &Module) {
        if !self.modules.iter().any(|kept| kept.is_same(module)) {
            self.modules.push(module.clone());
        }
    }

    pub(crate) fn other(&mut self, other: Box<dyn Any + Send>) {
        self.others.push(other);
    }
}

/// A graph of what was enqueued on a stream between [`Stream::begin_capture`] and [`Stream::end_capture`]. It can be
/// launched any number of times; a launch is one driver call, and allocates nothing and waits for nothing.
///
/// The values of arguments are those of the captured launches. So are the addresses: data that differs from launch to
/// launch is written to the buffers that the captured launches use. The graph keeps the modules and the pool memory
/// that it uses, buffers that were dropped meanwhile included.
///
/// Dropping it does not wait: what it holds is released when its last launch has finished.
#[derive(Debug)]
pub struct CapturedGraph {
    device: Device,
    exec: Arc<ExecutableGraph>,
    /// The streams that it was launched on.
    streams: Mutex<Vec<Weak<StreamState>>>,
}

/// An executable graph with what its nodes use, destroyed when no launch is in flight.
#[derive(Debug)]
struct ExecutableGraph {
    device: Device,
    raw: RawGraphExec,
    /// Dropped after the graph is destroyed.
    _kept: Mutex<Kept>,
}

impl Drop for ExecutableGraph {
    fn drop(&mut self) {
        // SAFETY: its owner, which outlives every launch, is the last user.
        if let Err(e) = unsafe { self.device.raw().graph_exec_destroy(self.device.id(), self.raw) } {
            log::warn!("destroying a captured graph of {}: {e}", self.device.id());
        }
    }
}

impl CapturedGraph {
    /// Returns the graph's device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Launches the graph: enqueues all of its work on `stream`, which need not be the stream that was captured.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a stream of another device; [`Error::Captured`] on a stream that is captured;
    /// [`Error::DeviceLost`]; else the driver's error.
    ///
    /// # Safety
    /// As for the launches that were captured ([`Launcher::launch`](crate::Launcher::launch)): addresses that they were
    /// given other than by buffers are valid until the graph has run. Other work that accesses the same memory, another
    /// launch of this graph included, is ordered before or after this launch.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        let state = stream.state();
        state.check()?;
        state.check_device(&self.device, "CapturedGraph::launch", "graph")?;
        state.refuse_if_captured("the launch of a graph")?;
        {
            let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
            if !streams.iter().any(|other| std::ptr::eq(other.as_ptr(), Arc::as_ptr(&stream.0))) {
                streams.retain(|stream| stream.strong_count() > 0);
                streams.push(Arc::downgrade(&stream.0));
            }
        }
        let _locked = state.lock();
        let position = state.progress().next();
        // SAFETY: the nodes use what the graph keeps, and what the caller promises; the stream is live and of its
        // device.
        let enqueued = state.driver_stream.for_work().and_then(|raw| unsafe {
            self.device.raw().enqueue(self.device.id(), raw, &Work::Graph(self.exec.raw))
        });
        // Whatever happened, something may have been enqueued.
        state.progress().publish(position);
        enqueued.map_err(|e| self.device.error(e))
    }
}

impl Drop for CapturedGraph {
    fn drop(&mut self) {
        let streams = std::mem::take(self.streams.get_mut().unwrap_or_else(PoisonError::into_inner));
        for stream in streams.iter().filter_map(Weak::upgrade) {
            stream.keep_until_done(Box::new(self.exec.clone()));
        }
    }
}

/// Ends a capture when its scope is left early.
struct CaptureScope<'a>(&'a Stream);

impl Drop for CaptureScope<'_> {
    fn drop(&mut self) {
        self.0.0.abandon_capture();
    }
}

impl Stream {
    /// Begins to capture the stream: until [`end_capture`](Stream::end_capture), launches without host data, copies
    /// within the device, fills and [repeated host functions](Stream::repeated_host_function) do not run, but become nodes of a graph.
    ///
    /// Everything else on this stream that would wait, allocate, copy host memory or record an event is refused with
    /// [`Error::Captured`] before it reaches the driver, and the capture goes on: host arrays, argument blocks and
    /// results of launches, uploads and downloads, allocations, events, graphs, [`synchronize`](Stream::synchronize).
    /// Do these before the capture. A ticket of a captured launch has no results and is done at once.
    ///
    /// HIP itself refuses more calls meanwhile, and breaks the capture when one is made: in
    /// [`CaptureMode::Global`], memory must not be allocated, and other streams must not be waited for or asked
    /// whether they are idle (as reading tickets and unregistering kernels does), on any thread; in
    /// [`CaptureMode::ThreadLocal`] on this one; in [`CaptureMode::Relaxed`] this is allowed. No mode allows waiting
    /// for a whole device.
    ///
    /// # Errors
    /// [`Error::Driver`] with `NOT_SUPPORTED` where the driver lacks [`Capability::StreamCapture`](hip_driver::Capability::StreamCapture);
    /// [`Error::Captured`] if the stream is captured already; else the driver's error, such as
    /// `STREAM_CAPTURE_UNSUPPORTED` for the null stream.
    pub fn begin_capture(&self, mode: CaptureMode) -> Result<()> {
        let (state, device) = (self.state(), self.device());
        state.check()?;
        // No launch is half done.
        let _locked = state.lock();
        state.check()?;
        let raw = state.driver_stream.for_work().map_err(|e| device.error(e))?;
        // SAFETY: a live stream of the device; what is captured until the end is kept by the graph.
        unsafe { device.raw().stream_begin_capture(device.id(), raw, mode) }.map_err(|e| device.error(e))?;
        state.set_capturing(true);
        Ok(())
    }

    /// Ends the capture that [`begin_capture`](Stream::begin_capture) began, and returns its graph.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no capture was begun here. `STREAM_CAPTURE_WRONG_THREAD` on another thread than that of
    /// [`begin_capture`](Stream::begin_capture), unless the capture is relaxed; then it goes on. After every other
    /// error it has ended, and the stream takes work again: `STREAM_CAPTURE_INVALIDATED` if a call broke it.
    pub fn end_capture(&self) -> Result<CapturedGraph> {
        let device = self.device();
        let (graph, kept) = self.0.end_capture()?;
        let driver = device.raw();
        // SAFETY: the graph that the end gave to this call alone.
        let instantiated = unsafe { driver.graph_instantiate(device.id(), graph) };
        destroy_graph(device, graph);
        let raw = instantiated.map_err(|e| device.error(e))?;
        let exec = ExecutableGraph { device: device.clone(), raw, _kept: Mutex::new(kept) };
        Ok(CapturedGraph { device: device.clone(), exec: Arc::new(exec), streams: Mutex::default() })
    }

    /// Captures what `enqueue` enqueues on the stream, and returns its graph. If `enqueue` fails or panics, the capture
    /// ends without a graph.
    ///
    /// ```no_run
    /// # use hiplaunch::*;
    /// # fn example(launcher: &Launcher, kernel: KernelHandle, stream: &Stream, x: &DeviceBuffer<f32>) -> Result<()> {
    /// let graph = stream.capture(stream::CaptureMode::ThreadLocal, |stream| {
    ///     // SAFETY: the kernel takes a pointer and a number.
    ///     (0..10).try_for_each(|_| unsafe {
    ///         launcher.enqueue(kernel, stream, Launch::new(LaunchDims::cover(1000, 256)).args(&args![x, 1000i32]))
    ///     })
    /// })?;
    /// // SAFETY: nothing else uses the buffer at the same time.
    /// unsafe { graph.launch(stream)? };
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`begin_capture`](Stream::begin_capture), of `enqueue` and of
    /// [`end_capture`](Stream::end_capture).
    pub fn capture(
        &self,
        mode: CaptureMode,
        enqueue: impl FnOnce(&Stream) -> Result<()>,
    ) -> Result<CapturedGraph> {
        self.begin_capture(mode)?;
        let scope = CaptureScope(self);
        enqueue(self)?;
        std::mem::forget(scope);
        self.end_capture().inspect_err(|_| self.0.abandon_capture())
    }

    /// Returns whether the stream is being captured, here or by others.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn is_capturing(&self) -> Result<bool> {
        Ok(self.0.driver_stream.is_capturing() || self.0.is_captured_by_driver()?)
    }
}

fn destroy_graph(device: &Device, graph: RawGraph) {
    // SAFETY: the caller owns the graph and does not use it again.
    if let Err(e) = unsafe { device.raw().graph_destroy(device.id(), graph) } {
        log::warn!("destroying a graph of {}: {e}", device.id());
    }
}

impl StreamState {
    /// Ends the capture. What it kept is returned with its graph, or dropped.
    fn end_capture(&self) -> Result<(RawGraph, Kept)> {
        let device = self.device();
        let state = self.lock();
        if !self.driver_stream.is_capturing() {
            return Err(Error::invalid("Stream::end_capture", "no capture was begun on this stream"));
        }
        // SAFETY: a live stream of the device.
        let ended = unsafe { device.raw().stream_end_capture(device.id(), self.driver_stream.raw()) };
        if let Err(e) = &ended
            && e.code == ErrorCode::STREAM_CAPTURE_WRONG_THREAD
        {
            return Err(device.error(e.clone()));
        }
        self.set_capturing(false);
        let mut kept = std::mem::take(&mut *self.captured());
        // What is dropped below may lock the stream.
        drop(state);
        if !kept.others.is_empty() {
            // Work from before the capture may use them, too.
            let shared = Arc::new(Mutex::new(std::mem::take(&mut kept.others)));
            self.keep_until_done(Box::new(shared.clone()));
            kept.other(Box::new(shared));
        }
        match ended {
            Ok(graph) => Ok((graph, kept)),
            Err(e) => {
                self.give_up_capture();
                Err(device.error(e))
            }
        }
    }

    /// Ends a capture whose end failed, if the driver still has it. Otherwise it would refuse this thread's calls from now on, and
    /// the memory of the launcher could not be freed.
    fn give_up_capture(&self) {
        let (device, stream) = (self.device(), self.driver_stream.raw());
        if !self.driver_stream.is_captured_by_driver().unwrap_or(true) {
            return;
        }
        // SAFETY: a live stream of the device.
        match unsafe { device.raw().stream_end_capture(device.id(), stream) } {
            Ok(graph) => destroy_graph(device, graph),
            Err(e) => log::error!("a capture of {} can't be ended: {e}", device.id()),
        }
    }

    /// Ends the capture, if there is one, without a graph.
    pub(crate) fn abandon_capture(&self) {
        if !self.driver_stream.is_capturing() {
            return;
        }
        match self.end_capture() {
            Ok((graph, _kept)) => destroy_graph(self.device(), graph),
            Err(e) => log::debug!("a capture that is given up: {e}"),
        }
    }
}
