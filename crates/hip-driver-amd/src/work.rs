//! The HIP calls for each kind of work: one that enqueues it on a stream, and one that adds it to a graph.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use crate::HipDriver;
use crate::bindings::hipMemcpyKind;
use crate::call::{call_host, check, extra_of, ordinal, pointer};
use crate::graph::{FILLED, run_host_node};
use hip_driver::{
    Capability, DeviceId, DevicePtr, DriverError, DriverResult, ErrorCode, HostFunc, HostFunction, HostNode,
    KernelLaunch, RawGraph, RawGraphNode, RawStream, ValueWidth, WaitCondition, Work,
};

// SAFETY of the unsafe functions: that of the methods of `Driver` which call them.
impl HipDriver {
    #[inline]
    pub(crate) unsafe fn enqueue_work(
        &self,
        device: DeviceId,
        stream: RawStream,
        work: &Work<'_>,
    ) -> DriverResult<()> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match *work {
                Work::Kernel(launch) => self.launch_kernel(device, stream, launch),
                Work::CooperativeKernel { launch, offsets } => {
                    self.not_captured(work.kind().name(), stream)?;
                    self.launch_cooperative(device, stream, launch, offsets)
                }
                Work::CopyToDevice { dst, src, bytes } => {
                    self.copy_to_device(device, stream, dst, src, bytes)
                }
                Work::CopyToHost { dst, src, bytes } => self.copy_to_host(device, stream, dst, src, bytes),
                Work::CopyWithin { dst, src, bytes } => self.copy_within(device, stream, dst, src, bytes),
                Work::CopyFromPeer { dst, src_device, src, bytes } => {
                    self.not_captured(work.kind().name(), stream)?;
                    self.copy_from_peer(device, stream, dst, (src_device, src), bytes)
                }
                Work::FillBytes { dst, value, bytes } => self.fill_bytes(device, stream, dst, value, bytes),
                Work::FillWords { dst, value, count } => self.fill_words(device, stream, dst, value, count),
                Work::HostFunction(function) => {
                    self.not_captured(work.kind().name(), stream)?;
                    self.launch_host_function(device, stream, function)
                }
                Work::HostNode(node) if self.is_captured(stream) => {
                    self.capture_host_node(device, stream, node)
                }
                Work::HostNode(node) => {
                    let node = node.clone();
                    let once = HostFunction::with_status(move |status| node.call(status));
                    self.launch_host_function(device, stream, &once)
                }
                Work::WriteValue { dst, width, value } => {
                    self.not_captured(work.kind().name(), stream)?;
                    self.write_value(device, stream, dst, width, value)
                }
                Work::WaitValue { src, width, condition } => {
                    self.not_captured(work.kind().name(), stream)?;
                    self.wait_value(device, stream, src, width, condition)
                }
                Work::Graph(exec) => {
                    self.not_captured(work.kind().name(), stream)?;
                    self.launch_graph(device, exec, stream)
                }
                Work::PartialKernel { .. } | Work::Empty => Err(work.unsupported(work.kind().name())),
            }
        }
    }

    pub(crate) unsafe fn add_node(
        &self,
        device: DeviceId,
        graph: RawGraph,
        work: &Work<'_>,
    ) -> DriverResult<RawGraphNode> {
        use hipMemcpyKind as Kind;
        // SAFETY: guaranteed by the caller; HIP only reads the source of a copy to the device.
        unsafe {
            match *work {
                Work::Kernel(launch) => self.add_kernel(device, graph, launch),
                Work::CopyToDevice { dst, src, bytes } => self.add_copy(
                    device,
                    graph,
                    pointer(dst.0),
                    src.cast(),
                    bytes,
                    Kind::hipMemcpyHostToDevice,
                ),
                Work::CopyToHost { dst, src, bytes } => self.add_copy(
                    device,
                    graph,
                    dst.cast(),
                    pointer(src.0),
                    bytes,
                    Kind::hipMemcpyDeviceToHost,
                ),
                Work::CopyWithin { dst, src, bytes } => {
                    let (dst, src) = (pointer(dst.0), pointer(src.0));
                    self.add_copy(device, graph, dst, src, bytes, Kind::hipMemcpyDeviceToDevice)
                }
                Work::FillBytes { dst, value, bytes } => {
                    self.add_fill_bytes(device, graph, dst, value, bytes)
                }
                Work::FillWords { dst, value, count } => {
                    self.add_fill(device, graph, dst, value, size_of::<u32>(), count)
                }
                Work::HostNode(node) => self.add_host(device, graph, node),
                Work::Empty => self.add_empty(device, graph),
                Work::CooperativeKernel { .. }
                | Work::PartialKernel { .. }
                | Work::CopyFromPeer { .. }
                | Work::HostFunction(_)
                | Work::WriteValue { .. }
                | Work::WaitValue { .. }
                | Work::Graph(_) => Err(work.unsupported("hipGraphAddNode")),
            }
        }
    }

    /// Executes one of the two blocking copies.
    pub(crate) unsafe fn copy_and_wait(&self, device: DeviceId, work: &Work<'_>) -> DriverResult<()> {
        match *work {
            Work::CopyToDevice { dst, src, bytes } => {
                const CALL: &str = "hipMemcpyHtoD";
                let copy = self.optional(CALL, self.on(device, CALL)?.hipMemcpyHtoD)?;
                // SAFETY: live ranges of `bytes` (the caller's promise); HIP only reads `src`.
                check(CALL, unsafe { copy(pointer(dst.0), src.cast_mut().cast(), bytes) })
            }
            Work::CopyToHost { dst, src, bytes } => {
                const CALL: &str = "hipMemcpyDtoH";
                let copy = self.optional(CALL, self.on(device, CALL)?.hipMemcpyDtoH)?;
                // SAFETY: live ranges of `bytes` (the caller's promise).
                check(CALL, unsafe { copy(dst.cast(), pointer(src.0), bytes) })
            }
            _ => Err(work.unsupported("hipMemcpy")),
        }
    }

    #[inline]
    unsafe fn launch_kernel(
        &self,
        device: DeviceId,
        stream: RawStream,
        launch: &KernelLaunch<'_>,
    ) -> DriverResult<()> {
        const CALL: &str = "hipModuleLaunchKernel";
        let api = self.on(device, CALL)?;
        let mut bytes = launch.kernarg.len();
        let mut extra = extra_of(launch.kernarg, &mut bytes);
        // clr from 7.0 refuses a buffer for a kernel without explicit arguments (`ihipLaunchKernelCommand`).
        let extra = if bytes == 0 { ptr::null_mut() } else { extra.as_mut_ptr() };
        let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
        let _gate = self.launching(CALL, stream)?;
        let function = pointer(launch.function.0);
        let lds: c_uint = launch.dynamic_lds;
        // SAFETY: a live function and stream of the current device; the kernarg segment is as long as the metadata
        // says (the caller's promises), HIP copies it before it returns and only reads it and `extra`.
        check(CALL, unsafe {
            (api.hipModuleLaunchKernel)(
                function,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                lds,
                pointer(stream.0),
                ptr::null_mut(),
                extra,
            )
        })
    }

    /// HIP takes no kernarg segment here, but the address of each argument, whose size it knows.
    unsafe fn launch_cooperative(
        &self,
        device: DeviceId,
        stream: RawStream,
        launch: &KernelLaunch<'_>,
        offsets: &[u32],
    ) -> DriverResult<()> {
        const CALL: &str = "hipModuleLaunchCooperativeKernel";
        let enqueue = self.optional(CALL, self.on(device, CALL)?.hipModuleLaunchCooperativeKernel)?;
        let address = |&offset: &u32| launch.kernarg.get(offset as usize..).map(|argument| argument.as_ptr());
        let arguments: Option<Vec<*mut c_void>> =
            offsets.iter().map(|offset| Some(address(offset)?.cast_mut().cast())).collect();
        let mut arguments = arguments.ok_or_else(|| {
            DriverError::with_detail(
                CALL,
                ErrorCode::INVALID_VALUE,
                "an argument lies outside the kernarg segment",
            )
        })?;
        let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
        let _gate = self.launching(CALL, stream)?;
        let function = pointer(launch.function.0);
        // SAFETY: a live function and stream of the current device; HIP reads each argument before it returns, and the
        // kernarg segment, as long as the metadata says, holds all of each (the caller's promises).
        check(CALL, unsafe {
            enqueue(
                function,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                launch.dynamic_lds,
                pointer(stream.0),
                arguments.as_mut_ptr(),
            )
        })
    }

    #[inline]
    unsafe fn copy_to_device(
        &self,
        device: DeviceId,
        stream: RawStream,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
    ) -> DriverResult<()> {
        const CALL: &str = "hipMemcpyHtoDAsync";
        let copy = self.on(device, CALL)?.hipMemcpyHtoDAsync;
        // On a captured stream, 7.2 refuses it, and 6.4 makes a node of it.
        if bytes == 0 && self.is_captured(stream) {
            return Ok(());
        }
        // SAFETY: live ranges of `bytes`, `src` unchanged until the copy has run where it is pinned, a live stream of
        // the current device (the caller's promises); HIP only reads `src`.
        check(CALL, unsafe { copy(pointer(dst.0), src.cast_mut().cast(), bytes, pointer(stream.0)) })
    }

    #[inline]
    unsafe fn copy_to_host(
        &self,
        device: DeviceId,
        stream: RawStream,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<()> {
        const CALL: &str = "hipMemcpyDtoHAsync";
        let copy = self.on(device, CALL)?.hipMemcpyDtoHAsync;
        if bytes == 0 && self.is_captured(stream) {
            return Ok(());
        }
        // SAFETY: as in `copy_to_device`; `dst` is not accessed until the copy has run.
        check(CALL, unsafe { copy(dst.cast(), pointer(src.0), bytes, pointer(stream.0)) })
    }

    unsafe fn copy_within(
        &self,
        device: DeviceId,
        stream: RawStream,
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<()> {
        const CALL: &str = "hipMemcpyDtoDAsync";
        let copy = self.optional(CALL, self.on(device, CALL)?.hipMemcpyDtoDAsync)?;
        if bytes == 0 && self.is_captured(stream) {
            return Ok(());
        }
        // SAFETY: live ranges of `bytes` on the device, a live stream of it (the caller's promises).
        check(CALL, unsafe { copy(pointer(dst.0), pointer(src.0), bytes, pointer(stream.0)) })
    }

    unsafe fn copy_from_peer(
        &self,
        device: DeviceId,
        stream: RawStream,
        dst: DevicePtr,
        (src_device, src): (DeviceId, DevicePtr),
        bytes: usize,
    ) -> DriverResult<()> {
        const CALL: &str = "hipMemcpyPeerAsync";
        let copy = self.optional(CALL, self.on(device, CALL)?.hipMemcpyPeerAsync)?;
        let (to, from) = (ordinal(CALL, device)?, ordinal(CALL, src_device)?);
        // SAFETY: live ranges of `bytes` on the devices named, a live stream of the first (the caller's promises).
        check(CALL, unsafe { copy(pointer(dst.0), to, pointer(src.0), from, bytes, pointer(stream.0)) })
    }

    unsafe fn fill_bytes(
        &self,
        device: DeviceId,
        stream: RawStream,
        dst: DevicePtr,
        value: u8,
        bytes: usize,
    ) -> DriverResult<()> {
        const CALL: &str = "hipMemsetD8Async";
        let fill = self.optional(CALL, self.on(device, CALL)?.hipMemsetD8Async)?;
        // HIP 5.2 first fills up to the next multiple of 8, even if fewer bytes were requested; the number of the
        // remaining bytes then wraps around below 0 (clr, `FillBufferInfo::PackInfo`). Such a fill becomes a copy.
        if (bytes as u64) < dst.0.wrapping_neg() % 8 {
            let src = FILLED[usize::from(value)].as_ptr();
            // SAFETY: seven bytes at most, from memory that lives forever, as a captured copy needs; the rest is
            // guaranteed by the caller.
            return unsafe { self.copy_to_device(device, stream, dst, src, bytes) };
        }
        // SAFETY: a live range of `bytes`, a live stream of the device (the caller's promises).
        check(CALL, unsafe { fill(pointer(dst.0), value, bytes, pointer(stream.0)) })
    }

    unsafe fn fill_words(
        &self,
        device: DeviceId,
        stream: RawStream,
        dst: DevicePtr,
        value: u32,
        count: usize,
    ) -> DriverResult<()> {
        const CALL: &str = "hipMemsetD32Async";
        let fill = self.optional(CALL, self.on(device, CALL)?.hipMemsetD32Async)?;
        // SAFETY: a live range of `count` words, a live stream of the device (the caller's promises).
        check(CALL, unsafe { fill(pointer(dst.0), value as c_int, count, pointer(stream.0)) })
    }

    unsafe fn write_value(
        &self,
        device: DeviceId,
        stream: RawStream,
        dst: DevicePtr,
        width: ValueWidth,
        value: u64,
    ) -> DriverResult<()> {
        let (to, stream) = (pointer(dst.0), pointer(stream.0));
        match width {
            ValueWidth::Bits32 => {
                const CALL: &str = "hipStreamWriteValue32";
                let write = self.with_values(CALL, self.on(device, CALL)?.hipStreamWriteValue32)?;
                // SAFETY: a live range of the width, a live stream of the device (the caller's promises); no flags exist.
                check(CALL, unsafe { write(stream, to, value as u32, 0) })
            }
            ValueWidth::Bits64 => {
                const CALL: &str = "hipStreamWriteValue64";
                let write = self.with_values(CALL, self.on(device, CALL)?.hipStreamWriteValue64)?;
                // SAFETY: as above.
                check(CALL, unsafe { write(stream, to, value, 0) })
            }
        }
    }

    unsafe fn wait_value(
        &self,
        device: DeviceId,
        stream: RawStream,
        src: DevicePtr,
        width: ValueWidth,
        WaitCondition { comparison, value, mask }: WaitCondition,
    ) -> DriverResult<()> {
        let (from, stream) = (pointer(src.0), pointer(stream.0));
        let flags = comparison as c_uint;
        match width {
            ValueWidth::Bits32 => {
                const CALL: &str = "hipStreamWaitValue32";
                let wait = self.with_values(CALL, self.on(device, CALL)?.hipStreamWaitValue32)?;
                // SAFETY: as in `write_value`; the range stays live until the wait is over.
                check(CALL, unsafe { wait(stream, from, value as u32, flags, mask as u32) })
            }
            ValueWidth::Bits64 => {
                const CALL: &str = "hipStreamWaitValue64";
                let wait = self.with_values(CALL, self.on(device, CALL)?.hipStreamWaitValue64)?;
                // SAFETY: as above.
                check(CALL, unsafe { wait(stream, from, value, flags, mask) })
            }
        }
    }

    /// Returns a function for values: a device that can't wait for them may hang.
    fn with_values<F>(&self, call: &'static str, function: Option<F>) -> DriverResult<F> {
        let can = self.capabilities.has(Capability::StreamValues);
        self.optional(call, function.filter(|_| can))
    }

    /// HIP makes a node of it, which calls the function at every launch.
    unsafe fn capture_host_node(
        &self,
        device: DeviceId,
        stream: RawStream,
        node: &HostNode,
    ) -> DriverResult<()> {
        const CALL: &str = "hipLaunchHostFunc";
        let launch = self.optional(CALL, self.on(device, CALL)?.hipLaunchHostFunc)?;
        // SAFETY: a live stream of the current device; a clone of the node outlives the graph (the caller's promises).
        check(CALL, unsafe { launch(pointer(stream.0), Some(run_host_node), node.as_raw()) })
    }

    unsafe fn launch_host_function(
        &self,
        device: DeviceId,
        stream: RawStream,
        function: &HostFunction,
    ) -> DriverResult<()> {
        const CALL: &str = "hipLaunchHostFunc";
        let launch = self.optional(CALL, self.on(device, CALL)?.hipLaunchHostFunc)?;
        let data = Box::into_raw(Box::new(function.take()?)).cast::<c_void>();
        // SAFETY: a live stream of the current device. HIP calls `run_host_func` with `data` once, later, or not at all
        // if it returns an error.
        let result = check(CALL, unsafe { launch(pointer(stream.0), Some(run_host_func), data) });
        if result.is_err() {
            // SAFETY: created by `Box::into_raw` above; HIP has refused it.
            drop(unsafe { Box::from_raw(data.cast::<HostFunc>()) });
        }
        result
    }
}

/// Runs a boxed function on a thread of HIP. A panic does not leave it.
unsafe extern "C" fn run_host_func(data: *mut c_void) {
    // SAFETY: created by `Box::into_raw` in `launch_host_function`; HIP calls this once for each.
    let function = unsafe { Box::from_raw(data.cast::<HostFunc>()) };
    call_host("stream", || function(Ok(())));
}
