//! Captures of streams: what is enqueued becomes a graph of the driver.

use std::mem::MaybeUninit;
use std::sync::Arc;

use hiplaunch::CapturedGraph;
use hiplaunch::stream::CaptureMode;

use super::handles::{Found, Kind, Table, same_owner};
use super::input::{enumeration, enumerator, wanted};
use super::launcher::insert_in;
use super::status::{call, hiplaunch_status};
use super::streams::{STREAMS, hiplaunch_stream};

/// A graph of what was enqueued on a stream while it was captured. It keeps the modules and the pool memory that it
/// uses.
pub struct hiplaunch_captured_graph {
    _opaque: (),
}

pub(super) static CAPTURED_GRAPHS: Table<Arc<CapturedGraph>> = Table::new(Kind::CapturedGraph);

/// Which calls of the driver break a capture, because they could wait for work that does not run: allocating and
/// freeing memory, and waiting for other streams and events. (hipStreamCaptureMode)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_capture_mode {
    /// Those of all threads.
    Global = 0,
    /// Those of the thread that began the capture.
    ThreadLocal = 1,
    /// None of them.
    Relaxed = 2,
}
enumeration!(hiplaunch_capture_mode: Global, ThreadLocal, Relaxed);

/// Begins to capture a stream: until hiplaunch_stream_end_capture, launches without host data and results, copies
/// within the device and fills do not run, but become nodes of a graph. Everything else on the stream that would
/// wait, allocate, copy host memory or record an event is refused with HIPLAUNCH_STATUS_CAPTURED or, for launches,
/// HIPLAUNCH_STATUS_LAUNCH, and the capture goes on. `mode` is a hiplaunch_capture_mode.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_DRIVER, also where the driver captures no streams;
/// HIPLAUNCH_STATUS_CAPTURED for a stream that is captured; HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_begin_capture(
    stream: *const hiplaunch_stream,
    mode: u32,
) -> hiplaunch_status {
    call("hiplaunch_stream_begin_capture", || {
        let mode = match enumerator(mode)? {
            hiplaunch_capture_mode::Global => CaptureMode::Global,
            hiplaunch_capture_mode::ThreadLocal => CaptureMode::ThreadLocal,
            hiplaunch_capture_mode::Relaxed => CaptureMode::Relaxed,
        };
        Ok(STREAMS.get(stream)?.value.begin_capture(mode)?)
    })
}

/// Ends the capture of a stream, and returns its graph.
///
/// Ownership: the caller closes the graph, or the launcher. Threads: the one that began the capture, or any if it is
/// relaxed. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT if the stream is not captured; HIPLAUNCH_STATUS_DRIVER, with
/// HIP's code 908 on another thread, on which the capture goes on, and 901 if a call broke the capture, which has
/// ended then; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_end_capture(
    stream: *const hiplaunch_stream,
    graph: Option<&mut MaybeUninit<*mut hiplaunch_captured_graph>>,
) -> hiplaunch_status {
    call("hiplaunch_stream_end_capture", || {
        let out = wanted(graph, "graph")?;
        let Found { owner, value: stream } = STREAMS.get(stream)?;
        out.write(insert_in(&CAPTURED_GRAPHS, owner, Arc::new(stream.end_capture()?))?);
        Ok(())
    })
}

/// Whether a stream is captured, also by the owner of an adopted stream.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_stream_is_capturing(
    stream: *const hiplaunch_stream,
    capturing: Option<&mut MaybeUninit<bool>>,
) -> hiplaunch_status {
    call("hiplaunch_stream_is_capturing", || {
        let out = wanted(capturing, "capturing")?;
        out.write(STREAMS.get(stream)?.value.is_capturing()?);
        Ok(())
    })
}

/// Launches a captured graph on a stream of its device: one driver call. Addresses that the captured launches were
/// given other than by buffers must be valid until it has run. Launches of one graph must be on one stream, or
/// ordered by events.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT for a stream of another
/// device, HIPLAUNCH_STATUS_CAPTURED on a stream that is captured, HIPLAUNCH_STATUS_DRIVER,
/// HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_captured_graph_launch(
    graph: *const hiplaunch_captured_graph,
    stream: *const hiplaunch_stream,
) -> hiplaunch_status {
    call("hiplaunch_captured_graph_launch", || {
        let Found { owner, value: graph } = CAPTURED_GRAPHS.get(graph)?;
        let Found { owner: of_stream, value: stream } = STREAMS.get(stream)?;
        same_owner(owner, of_stream, "stream")?;
        // SAFETY: the caller's promise.
        Ok(unsafe { graph.launch(&stream) }?)
    })
}

/// Closes a captured graph. Launches in flight still run, and what the graph keeps is released after them.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_captured_graph_close(graph: *mut hiplaunch_captured_graph) -> hiplaunch_status {
    call("hiplaunch_captured_graph_close", || CAPTURED_GRAPHS.take(graph).map(drop))
}
