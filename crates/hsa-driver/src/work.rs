//! The work that streams get: checks, and the packets that do it.

use std::sync::Arc;

use crate::HsaDriver;
use crate::blit::BlitLaunch;
use crate::device::Device;
use crate::graph::{HostSource, HostTarget, Shape, Step};
use crate::host::wait_for_value;
use crate::memory::Block;
use crate::module::{Extra, function};
use crate::packet::Packet;
use crate::services::Served;
use crate::stream::{Enqueue, Kept, MOST_ARGUMENT_BYTES, Stream};
use hip_driver::checks::check_host;
use hip_driver::{
    DevicePtr, DriverError, DriverResult, ErrorCode, HostFunc, KernelLaunch, ValueWidth, Work, limits,
};

/// From how many bytes on the engines of a device copy, not kernels: below, ordering the engine's work with packets costs more than
/// its copy saves.
const ENGINE_BYTES: usize = 1 << 20;

/// The bytes of staging memory of a copy to memory that is not pinned. The call waits for each such part.
const PAGEABLE_PART: usize = 16 << 20;

fn invalid(call: &'static str, detail: impl Into<String>) -> DriverError {
    DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail)
}

fn check_value(call: &'static str, at: DevicePtr, width: ValueWidth) -> DriverResult<()> {
    if at.0.is_multiple_of(width.bytes() as u64) && !at.is_null() {
        return Ok(());
    }
    Err(invalid(call, format!("{at} is not aligned to the {} bytes of the value", width.bytes())))
}

/// The bytes of some words to fill. Fails if the address is not aligned.
fn word_bytes(call: &'static str, dst: DevicePtr, count: usize) -> DriverResult<usize> {
    if !dst.0.is_multiple_of(4) {
        return Err(invalid(call, format!("{dst} is not aligned to 4 bytes")));
    }
    count.checked_mul(4).ok_or_else(|| invalid(call, format!("{count} words of 4 bytes")))
}

impl HsaDriver {
    /// Checks work and makes the step of a node of it; `None` if it does nothing.
    pub(crate) fn step(
        &self,
        call: &'static str,
        device: &'static Device,
        work: &Work<'_>,
    ) -> DriverResult<Option<Step>> {
        let blit = || device.blit(call);
        Ok(Some(match *work {
            Work::Kernel(launch) => {
                // SAFETY: a live kernel, as the callers of `enqueue` and `graph_add` guarantee.
                let function = unsafe { function(launch) };
                let explicit = function.check(call, launch)?;
                let (mut segment, extra) =
                    (vec![0; function.kernarg_bytes()].into_boxed_slice(), Extra::default());
                function.fill(&mut segment, explicit, launch, &extra, device);
                let dispatch = function.dispatch(launch, &extra);
                Step::Kernel(Shape::of(launch), dispatch, segment, function.asked.clone())
            }
            Work::CopyToDevice { dst, src, bytes } if bytes > 0 => {
                check_host(call, src)?;
                match self.memory.device_address(src, bytes) {
                    Some(src) => Step::Blit(blit()?.copy(dst.0, src, bytes as u64)),
                    None => Step::CopyIn { dst, src: HostSource(src), bytes },
                }
            }
            Work::CopyToHost { dst, src, bytes } if bytes > 0 => {
                check_host(call, dst)?;
                match self.memory.device_address(dst, bytes) {
                    Some(dst) => Step::Blit(blit()?.copy(dst, src.0, bytes as u64)),
                    None => Step::CopyOut { dst: HostTarget(dst), src, bytes },
                }
            }
            Work::CopyWithin { dst, src, bytes } if bytes > 0 => {
                Step::Blit(blit()?.copy(dst.0, src.0, bytes as u64))
            }
            Work::FillBytes { dst, value, bytes } if bytes > 0 => {
                Step::Blit(blit()?.fill_bytes(dst, value, bytes as u64))
            }
            Work::FillWords { dst, value, count } => match word_bytes(call, dst, count)? {
                0 => return Ok(None),
                _ => Step::Blit(blit()?.fill_words(dst, value, count as u64)),
            },
            Work::HostNode(node) => Step::Host(node.clone()),
            Work::CopyToDevice { .. }
            | Work::CopyToHost { .. }
            | Work::CopyWithin { .. }
            | Work::FillBytes { .. }
            | Work::Empty => return Ok(None),
            _ => return Err(work.unsupported(call)),
        }))
    }

    /// Enqueues work on a stream.
    #[inline]
    pub(crate) fn enqueue_work(&'static self, stream: &Arc<Stream>, work: &Work<'_>) -> DriverResult<()> {
        match *work {
            Work::Kernel(launch) => launch_kernel(work.kind().name(), stream, launch, &Extra::default()),
            Work::PartialKernel { launch, remainder } => {
                let extra = Extra { remainder, ..Extra::default() };
                launch_kernel(work.kind().name(), stream, launch, &extra)
            }
            _ => self.enqueue_other(stream, work),
        }
    }

    fn enqueue_other(&'static self, stream: &Arc<Stream>, work: &Work<'_>) -> DriverResult<()> {
        let (call, device) = (work.kind().name(), stream.device);
        match *work {
            Work::CooperativeKernel { launch, .. } => launch_cooperative(call, stream, launch),
            Work::CopyToDevice { dst, src, bytes } if bytes > 0 => {
                check_host(call, src)?;
                self.copy_in(call, stream, dst, src, bytes)
            }
            Work::CopyToHost { dst, src, bytes } if bytes > 0 => {
                check_host(call, dst)?;
                self.copy_out(call, stream, dst, src, bytes)
            }
            Work::CopyWithin { dst, src, bytes } if bytes > 0 => {
                stream.enqueue(call, |enqueue| copy(enqueue, Side::Device(dst.0), Side::Device(src.0), bytes))
            }
            Work::CopyFromPeer { dst, src_device, src, bytes } => {
                let from = self.device(call, src_device)?;
                if bytes == 0 {
                    return Ok(());
                }
                self.memory.allow_copy(call, device, from, src)?;
                stream.enqueue(call, |e| e.copy_by_engine((dst.0, device.agent), (src.0, from.agent), bytes))
            }
            Work::HostFunction(function) => {
                let function = function.take()?;
                stream.enqueue(call, |enqueue| enqueue.act(function))
            }
            Work::HostNode(node) => {
                let node = node.clone();
                stream.enqueue(call, |enqueue| enqueue.act(Box::new(move |status| node.call(status))))
            }
            Work::WriteValue { dst, width, value } => {
                check_value(call, dst, width)?;
                let write = device.blit(call)?.write_value(dst, width, value);
                stream.enqueue(call, |enqueue| write.enqueue(enqueue))
            }
            Work::WaitValue { src, width, condition } => {
                check_value(call, src, width)?;
                let memory = &self.memory;
                let wait: HostFunc = Box::new(move |status| {
                    if status.is_ok() {
                        wait_for_value(device, memory, src, width, condition);
                    }
                });
                stream.enqueue(call, |enqueue| enqueue.act(wait))
            }
            Work::Graph(exec) => {
                let exec = self.launchable(call, device.id, exec)?;
                stream.enqueue(call, |enqueue| exec.launch(enqueue))
            }
            Work::Empty => Err(work.unsupported(call)),
            _ => match self.step(call, device, work)? {
                Some(Step::Blit(launch)) => stream.enqueue(call, |enqueue| launch.enqueue(enqueue)),
                Some(_) => Err(work.unsupported(call)),
                None => Ok(()),
            },
        }
    }

    /// Copies to the device. Memory that is not pinned is read now.
    fn copy_in(
        &self,
        call: &'static str,
        stream: &Stream,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
    ) -> DriverResult<()> {
        if let Some(pinned) = self.memory.device_address(src, bytes) {
            return stream.enqueue(call, |e| copy(e, Side::Device(dst.0), Side::Host(pinned), bytes));
        }
        let read = |to: *mut u8| {
            // SAFETY: the source is readable for `bytes`, as the caller of `enqueue` guarantees; the target has as many bytes, which
            // nothing else uses.
            unsafe { std::ptr::copy_nonoverlapping(src, to, bytes) };
        };
        if bytes <= MOST_ARGUMENT_BYTES {
            return stream.enqueue(call, |enqueue| {
                let staged = enqueue.arguments(bytes)?;
                read(staged);
                copy(enqueue, Side::Device(dst.0), Side::Host(staged.addr() as u64), bytes)
            });
        }
        let staged = staging(call, stream.device, bytes)?;
        read(staged.address.as_ptr());
        stream.enqueue(call, |enqueue| {
            copy(enqueue, Side::Device(dst.0), Side::Host(staged.device_address()), bytes)?;
            enqueue.keep(Kept::Block(staged));
            Ok(())
        })
    }

    /// Copies to the host. Waits if the memory is not pinned.
    fn copy_out(
        &self,
        call: &'static str,
        stream: &Stream,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
    ) -> DriverResult<()> {
        if let Some(pinned) = self.memory.device_address(dst, bytes) {
            return stream.enqueue(call, |e| copy(e, Side::Host(pinned), Side::Device(src.0), bytes));
        }
        let staged = staging(call, stream.device, bytes.min(PAGEABLE_PART))?;
        for start in (0..bytes).step_by(PAGEABLE_PART) {
            let part = (bytes - start).min(PAGEABLE_PART);
            let copied = stream.enqueue(call, |enqueue| {
                copy(enqueue, Side::Host(staged.device_address()), Side::Device(src.0 + start as u64), part)
            });
            if let Err(error) = copied.and_then(|()| stream.synchronize(call)) {
                // The copy may still run, as far as is known.
                std::mem::forget(staged);
                return Err(error);
            }
            // SAFETY: the target is writable for `bytes`, as the caller of `enqueue` guarantees; the copy has run.
            unsafe { std::ptr::copy_nonoverlapping(staged.address.as_ptr(), dst.add(start), part) };
        }
        Ok(())
    }

    /// Executes a copy between host and device, and waits for it.
    pub(crate) fn copy_and_wait(&'static self, device: &'static Device, work: &Work<'_>) -> DriverResult<()> {
        let call = work.blocking_kind().name();
        let null = device.null(call)?;
        null.order_with_null(call)?;
        match *work {
            Work::CopyToDevice { dst, src, bytes } if bytes > 0 => {
                check_host(call, src)?;
                self.copy_in(call, null, dst, src, bytes)?;
            }
            Work::CopyToHost { dst, src, bytes } if bytes > 0 => {
                check_host(call, dst)?;
                self.copy_out(call, null, dst, src, bytes)?;
            }
            Work::CopyToDevice { .. } | Work::CopyToHost { .. } => {}
            _ => return Err(work.unsupported(call)),
        }
        null.synchronize(call)
    }
}

/// Memory of the host for a copy.
fn staging(call: &'static str, device: &Device, bytes: usize) -> DriverResult<Block> {
    Block::new(call, device.hsa, device.system.pools.fine, bytes, &[device.agent])
}

/// A side of a copy, with its address for the device.
#[derive(Clone, Copy)]
enum Side {
    Host(u64),
    Device(u64),
}

/// Copies by a kernel, or many bytes by an engine.
fn copy(enqueue: &mut Enqueue<'_>, dst: Side, src: Side, bytes: usize) -> DriverResult<()> {
    let device = enqueue.device();
    let place = |side| match side {
        Side::Host(address) => (address, device.system.cpu),
        Side::Device(address) => (address, device.agent),
    };
    let (dst, src) = (place(dst), place(src));
    if bytes >= ENGINE_BYTES {
        return enqueue.copy_by_engine(dst, src, bytes);
    }
    device.blit(enqueue.call)?.copy(dst.0, src.0, bytes as u64).enqueue(enqueue)
}

#[inline]
fn launch_kernel(
    call: &'static str,
    stream: &Arc<Stream>,
    launch: &KernelLaunch<'_>,
    extra: &Extra,
) -> DriverResult<()> {
    // SAFETY: a live kernel, as the caller of `enqueue` guarantees.
    let function = unsafe { function(launch) };
    let explicit = function.check(call, launch)?;
    stream.enqueue(call, |enqueue| {
        enqueue.serving(function.asked.as_ref(), None, |enqueue, served| {
            let dispatch = function.dispatch(launch, extra);
            enqueue.launch(&dispatch, function.kernarg_bytes(), |segment| {
                function.fill(segment, explicit, launch, extra, stream.device);
                served.write(segment);
            })
        })
    })
}

/// Launches a kernel whose workgroups wait for each other, on the device's queue for such ones.
fn launch_cooperative(
    call: &'static str,
    stream: &Arc<Stream>,
    launch: &KernelLaunch<'_>,
) -> DriverResult<()> {
    // SAFETY: a live kernel, as the caller of `enqueue` guarantees.
    let function = unsafe { function(launch) };
    let explicit = function.check(call, launch)?;
    let (device, KernelLaunch { grid, block, dynamic_lds, .. }) = (stream.device, *launch);
    let per_unit =
        limits::occupancy(&function.signature, &device.properties, block.iter().product(), dynamic_lds);
    let room = u64::from(per_unit) * u64::from(device.properties.compute_units);
    let workgroups = grid.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
    if workgroups > room {
        let detail =
            format!("{workgroups} workgroups in a cooperative launch, {room} are on the device at once");
        return Err(DriverError::with_detail(call, ErrorCode::COOPERATIVE_LAUNCH_TOO_LARGE, detail));
    }
    let extra = Extra { cooperative: true, ..Extra::default() };
    let dispatch = function.dispatch(launch, &extra);
    let queue = device.cooperative_queue(call)?;
    let prepare = device.blit(call)?.gws_init(workgroups as u32);
    let serve = |enqueue: &mut Enqueue<'_>, served: Served| {
        let mut packets = Vec::new();
        if let Some(prepare) = prepare {
            packets.push(packet_of(enqueue, &prepare)?);
        }
        let bytes = function.kernarg_bytes();
        let kernarg = enqueue.arguments(bytes)?;
        // SAFETY: `bytes` bytes that this packet alone has until it has run.
        let segment = unsafe { std::slice::from_raw_parts_mut(kernarg, bytes) };
        function.fill(segment, explicit, launch, &extra, device);
        served.write(segment);
        packets.push(Packet::dispatch(&dispatch, kernarg.addr() as u64));
        enqueue.submit_elsewhere(&queue, |done| {
            if let Some(last) = packets.last_mut() {
                *last = last.completing(done);
            }
            packets
        })
    };
    stream.enqueue(call, |enqueue| enqueue.serving(function.asked.as_ref(), Some(&queue), serve))
}

/// The packet of a launch, with its arguments.
fn packet_of(enqueue: &mut Enqueue<'_>, launch: &BlitLaunch) -> DriverResult<Packet> {
    let (dispatch, bytes) = launch.dispatch();
    let kernarg = enqueue.arguments(bytes)?;
    // SAFETY: `bytes` bytes that this packet alone has until it has run.
    launch.fill(unsafe { std::slice::from_raw_parts_mut(kernarg, bytes) });
    Ok(Packet::dispatch(&dispatch, kernarg.addr() as u64))
}
