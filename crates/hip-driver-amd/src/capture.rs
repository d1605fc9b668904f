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
use crate::symbols::Api;
use hip_driver::{
    Capability, CaptureInfo, CaptureMode, CaptureStatus, DeviceId, DriverError, DriverResult, ErrorCode,
    RawGraph, RawStream,
};

/// How many captures were begun with this driver and have not ended. Without any, no call asks HIP.
#[derive(Debug, Default)]
pub(crate) struct Captures(AtomicU32);

impl HipDriver {
    /// Returns the functions for a call about captures, after setting `device` as the thread's current device.
    fn capturing(&self, device: DeviceId, call: &'static str) -> DriverResult<&Api> {
        let api = self.on(device, call)?;
        if !self.capabilities.has(Capability::StreamCapture) {
            let detail = "this version of HIP does not capture launches of modules' kernels";
            return Err(DriverError::with_detail(call, ErrorCode::NOT_SUPPORTED, detail));
        }
        Ok(api)
    }

    /// # Safety
    /// That of [`Driver::stream_begin_capture`](hip_driver::Driver::stream_begin_capture).
    pub(crate) unsafe fn begin_capture(
        &self,
        device: DeviceId,
        stream: RawStream,
        mode: CaptureMode,
    ) -> DriverResult<()> {
        const CALL: &str = "hipStreamBeginCapture";
        let begin = self.optional(CALL, self.capturing(device, CALL)?.hipStreamBeginCapture)?;
        // SAFETY: a live stream of the current device (the caller's promise).
        check(CALL, unsafe { begin(pointer(stream.0), mode_of(mode)) })?;
        self.captures.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// # Safety
    /// The stream is live.
    pub(crate) unsafe fn end_capture(&self, device: DeviceId, stream: RawStream) -> DriverResult<RawGraph> {
        const CALL: &str = "hipStreamEndCapture";
        self.capturing(device, CALL)?;
        // SAFETY: a live stream (the caller's promise).
        let ended = unsafe { self.end(CALL, stream) };
        let over = ended.as_ref().err().is_none_or(|error| is_over(error.code));
        if over {
            // Others may have begun it.
            let fewer = |n: u32| n.checked_sub(1);
            let _ = self.captures.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        }
        if ended.is_err() && over {
            // SAFETY: a live stream (the caller's promise).
            unsafe { self.leave_capture(CALL, stream) };
        }
        ended
    }

    /// # Safety
    /// The stream is live.
    pub(crate) unsafe fn capture_info(
        &self,
        device: DeviceId,
        stream: RawStream,
    ) -> DriverResult<CaptureInfo> {
        const CALL: &str = "hipStreamGetCaptureInfo";
        let api = self.capturing(device, CALL)?;
        if stream.is_default() && stream != RawStream::PER_THREAD {
            return Ok(CaptureInfo::NONE);
        }
        let ask = self.optional(CALL, api.hipStreamGetCaptureInfo)?;
        let (mut status, mut id) = (hipStreamCaptureStatus::hipStreamCaptureStatusNone, 0);
        // SAFETY: a live stream of the current device (the caller's promise), pointers to live numbers.
        check(CALL, unsafe { ask(pointer(stream.0), &mut status, &mut id) })?;
        Ok(match status {
            hipStreamCaptureStatus::hipStreamCaptureStatusActive => {
                CaptureInfo { status: CaptureStatus::Active, id }
            }
            hipStreamCaptureStatus::hipStreamCaptureStatusInvalidated => {
                CaptureInfo { status: CaptureStatus::Invalidated, id }
            }
            _ => CaptureInfo::NONE,
        })
    }

    pub(crate) fn exchange_mode(&self, device: DeviceId, mode: CaptureMode) -> DriverResult<CaptureMode> {
        const CALL: &str = "hipThreadExchangeStreamCaptureMode";
        let api = self.capturing(device, CALL)?;
        let exchange = self.optional(CALL, api.hipThreadExchangeStreamCaptureMode)?;
        let mut mode = mode_of(mode);
        // SAFETY: the pointer is to a live number.
        check(CALL, unsafe { exchange(&mut mode) })?;
        Ok(match mode {
            hipStreamCaptureMode::hipStreamCaptureModeGlobal => CaptureMode::Global,
            hipStreamCaptureMode::hipStreamCaptureModeThreadLocal => CaptureMode::ThreadLocal,
            _ => CaptureMode::Relaxed,
        })
    }

    /// # Safety
    /// The stream is live.
    unsafe fn end(&self, call: &'static str, stream: RawStream) -> DriverResult<RawGraph> {
        let end = self.optional(call, self.api(call)?.hipStreamEndCapture)?;
        let mut graph: hipGraph_t = ptr::null_mut();
        // SAFETY: a live stream (the caller's promise), a pointer to a live handle.
        check(call, unsafe { end(pointer(stream.0), &mut graph) })?;
        Ok(RawGraph(number(graph)))
    }

    /// Takes a stream whose capture could not be ended out of it, with those that joined: a capture that was
    /// invalidated is replaced by an empty one, which ends for all of them.
    ///
    /// # Safety
    /// The stream is live.
    unsafe fn leave_capture(&self, call: &'static str, stream: RawStream) {
        let emptied = (|| {
            let api = self.api(call)?;
            // SAFETY: a live stream (the caller's promise). It is captured, so this invalidates its capture.
            let _ = unsafe { (api.hipStreamQuery)(pointer(stream.0)) };
            let begin = self.optional(call, api.hipStreamBeginCapture)?;
            let destroy = self.optional("hipGraphDestroy", api.hipGraphDestroy)?;
            // SAFETY: a live stream (the caller's promise).
            check(call, unsafe {
                begin(pointer(stream.0), hipStreamCaptureMode::hipStreamCaptureModeRelaxed)
            })?;
            // SAFETY: a live stream (the caller's promise).
            let graph = unsafe { self.end(call, stream) }?;
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
