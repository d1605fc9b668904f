//! Captures of streams.
//!
//! # What it adds to HIP
//!
//! * HIP 6.4 and 7.2 run a graph at once that is launched on a captured stream, and 6.4 a cooperative kernel (seen;
//!   `tests/hip_quirks/`). Work that no graph takes is refused on a stream that this driver knows to be captured.
//! * After an end that fails, HIP leaves the stream captured, and a second end crashes (seen with both). The driver
//!   takes such a stream, and those that joined, out of the capture.
//!
//! HIP runs the branches of a captured graph on queues of its own. It may lose dependencies between them, which
//! graphs that this driver builds avoid (`graph.rs`).

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::HipDriver;
use crate::bindings::{hipGraph_t, hipStreamCaptureMode, hipStreamCaptureStatus};
use crate::call::{check, number, pointer};
use hip_driver::{
    CaptureMode, CaptureReply, CaptureRequest, CaptureStatus, DeviceId, DriverError, DriverResult, ErrorCode,
    RawGraph, RawStream,
};

/// How many captures were begun with this driver and have not ended. Without any, no call asks HIP.
#[derive(Debug, Default)]
pub(crate) struct Captures(AtomicU32);

// SAFETY of the unsafe function: that of `Driver::stream_capture`, which calls it.
impl HipDriver {
    pub(crate) unsafe fn request_capture(
        &self,
        device: DeviceId,
        stream: RawStream,
        request: &CaptureRequest,
    ) -> DriverResult<CaptureReply> {
        let call = request.name();
        let api = self.on(device, call)?;
        if !self.capabilities.has(hip_driver::Capability::StreamCapture) {
            let detail = "this version of HIP does not capture launches of modules' kernels";
            return Err(DriverError::with_detail(call, ErrorCode::NOT_SUPPORTED, detail));
        }
        match *request {
            CaptureRequest::Begin(mode) => {
                let begin = self.optional(call, api.hipStreamBeginCapture)?;
                // SAFETY: a live stream of the current device (the caller's promise).
                check(call, unsafe { begin(pointer(stream.0), mode_of(mode)) })?;
                self.captures.0.fetch_add(1, Ordering::Relaxed);
                Ok(CaptureReply::Done)
            }
            CaptureRequest::End => {
                let ended = self.end(call, stream);
                // Others may have begun it.
                let over = match &ended {
                    Ok(_) => true,
                    Err(error) => is_over(error.code),
                };
                if over {
                    let fewer = |n: u32| n.checked_sub(1);
                    let _ = self.captures.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
                }
                if ended.is_err() && over {
                    self.let_go(call, stream);
                }
                ended.map(CaptureReply::Graph)
            }
            CaptureRequest::Query => {
                if stream.is_default() && stream != RawStream::PER_THREAD {
                    return Ok(CaptureReply::Status { status: CaptureStatus::None, id: 0 });
                }
                let ask = self.optional(call, api.hipStreamGetCaptureInfo)?;
                let (mut status, mut id) = (hipStreamCaptureStatus::hipStreamCaptureStatusNone, 0);
                // SAFETY: a live stream of the current device (the caller's promise), pointers to live numbers.
                check(call, unsafe { ask(pointer(stream.0), &mut status, &mut id) })?;
                let status = match status {
                    hipStreamCaptureStatus::hipStreamCaptureStatusActive => CaptureStatus::Active,
                    hipStreamCaptureStatus::hipStreamCaptureStatusInvalidated => CaptureStatus::Invalidated,
                    _ => CaptureStatus::None,
                };
                let id = if status == CaptureStatus::None { 0 } else { id };
                Ok(CaptureReply::Status { status, id })
            }
            CaptureRequest::ExchangeMode(mode) => {
                let exchange = self.optional(call, api.hipThreadExchangeStreamCaptureMode)?;
                let mut mode = mode_of(mode);
                // SAFETY: the pointer is to a live number.
                check(call, unsafe { exchange(&mut mode) })?;
                Ok(CaptureReply::Mode(match mode {
                    hipStreamCaptureMode::hipStreamCaptureModeGlobal => CaptureMode::Global,
                    hipStreamCaptureMode::hipStreamCaptureModeThreadLocal => CaptureMode::ThreadLocal,
                    _ => CaptureMode::Relaxed,
                }))
            }
        }
    }

    fn end(&self, call: &'static str, stream: RawStream) -> DriverResult<RawGraph> {
        let end = self.optional(call, self.api(call)?.hipStreamEndCapture)?;
        let mut graph: hipGraph_t = ptr::null_mut();
        // SAFETY: a live stream (the promise of the caller of `request_capture`), a pointer to a live handle.
        check(call, unsafe { end(pointer(stream.0), &mut graph) })?;
        Ok(RawGraph(number(graph)))
    }

    /// Takes a stream whose capture could not be ended out of it, with those that joined: a capture that was
    /// invalidated is replaced by an empty one, which ends for all of them.
    fn let_go(&self, call: &'static str, stream: RawStream) {
        let emptied = (|| {
            let api = self.api(call)?;
            // SAFETY: a live stream. It is captured, so this invalidates its capture.
            let _ = unsafe { (api.hipStreamQuery)(pointer(stream.0)) };
            let begin = self.optional(call, api.hipStreamBeginCapture)?;
            let destroy = self.optional("hipGraphDestroy", api.hipGraphDestroy)?;
            // SAFETY: as above.
            check(call, unsafe {
                begin(pointer(stream.0), hipStreamCaptureMode::hipStreamCaptureModeRelaxed)
            })?;
            let graph = self.end(call, stream)?;
            // SAFETY: a graph that nobody else has.
            check(call, unsafe { destroy(pointer(graph.0)) })
        })();
        if let Err(error) = emptied {
            log::warn!("a stream whose capture failed stays captured: {error}");
        }
    }

    /// Whether a stream is captured, as far as captures of this driver go.
    #[inline]
    pub(crate) fn is_captured(&self, stream: RawStream) -> bool {
        self.captures.0.load(Ordering::Relaxed) > 0 && self.ask_captured(stream)
    }

    #[cold]
    fn ask_captured(&self, stream: RawStream) -> bool {
        let Ok(Some(ask)) = self.api("hipStreamIsCapturing").map(|api| api.hipStreamIsCapturing) else {
            return false;
        };
        let mut status = hipStreamCaptureStatus::hipStreamCaptureStatusNone;
        // SAFETY: a live stream, which is that of a call of `Driver`; a pointer to a live number.
        let asked = check("hipStreamIsCapturing", unsafe { ask(pointer(stream.0), &mut status) });
        asked.is_ok() && status != hipStreamCaptureStatus::hipStreamCaptureStatusNone
    }

    /// Fails if the stream is captured: for work that is no node of a graph.
    #[inline]
    pub(crate) fn not_captured(&self, call: &'static str, stream: RawStream) -> DriverResult<()> {
        if !self.is_captured(stream) {
            return Ok(());
        }
        let detail = "the stream is captured, and such work is no node of a graph";
        Err(DriverError::with_detail(call, ErrorCode::STREAM_CAPTURE_UNSUPPORTED, detail))
    }
}

/// Whether the capture ended with an end that failed so.
fn is_over(code: ErrorCode) -> bool {
    [ErrorCode::STREAM_CAPTURE_INVALIDATED, ErrorCode::STREAM_CAPTURE_UNJOINED].contains(&code)
}

fn mode_of(mode: CaptureMode) -> hipStreamCaptureMode {
    match mode {
        CaptureMode::Global => hipStreamCaptureMode::hipStreamCaptureModeGlobal,
        CaptureMode::ThreadLocal => hipStreamCaptureMode::hipStreamCaptureModeThreadLocal,
        CaptureMode::Relaxed => hipStreamCaptureMode::hipStreamCaptureModeRelaxed,
    }
}
