//! The commands of a stream: checks before they are enqueued, and how the worker executes them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use amdgpu_emulator::{BlockTable, Dispatch, Error, FaultCause, MemorySpace};

use super::device::{Device, lock, may_wait};
use super::event::Event;
use super::graph::ExecContents;
use super::module::Function;
use super::stream::{Mark, Staged, Stream};
use super::watch::Watched;
use super::{EmulatedDriver, check_host, push, synchronize};
use hip_driver::activity::KernelCounts;
use hip_driver::{
    CallKind, DevicePtr, DriverError, DriverResult, ErrorCode, HostFunc, HostNode, KernelLaunch, ValueWidth,
    WaitCondition, Work,
};

/// The result of executed work: for a kernel, counts of what it executed; for a failure, what was being done, and the
/// error.
pub(super) type Ran = Result<Option<KernelCounts>, (String, Error)>;

/// The size in bytes up to which a pageable copy is staged in the stream's batch. A larger one gets memory of its own.
const STAGED_IN_BATCH: usize = 64 << 10;

/// How long a wait for a value looks at the memory all the time, and how often after that.
const VALUE_POLL: Duration = Duration::from_micros(100);
const VALUE_PAUSE: Duration = Duration::from_micros(50);

/// Host memory that a copy reads when it runs. It is pinned, or its caller waits for the copy.
#[derive(Clone, Copy)]
pub(super) struct HostSource(pub(super) *const u8);

/// Host memory that a copy writes when it runs. It is pinned, or its caller waits for the copy.
#[derive(Clone, Copy)]
pub(super) struct HostTarget(pub(super) *mut u8);

// SAFETY: the caller that enqueues the copy guarantees that the memory is readable until the copy has run, on any
// thread (`Work::CopyToDevice`).
unsafe impl Send for HostSource {}
// SAFETY: the caller that enqueues the copy guarantees that the memory is writable, and that nothing else accesses it,
// until the copy has run (`Work::CopyToHost`).
unsafe impl Send for HostTarget {}
// SAFETY: a shared reference gives only the address; each access is an unsafe operation of its own.
unsafe impl Sync for HostSource {}
// SAFETY: a shared reference gives only the address; each access is an unsafe operation of its own.
unsafe impl Sync for HostTarget {}

/// Work that can be executed repeatedly, also as a node of a graph.
#[derive(Clone)]
pub(super) enum Step {
    /// A kernel. The bytes are its explicit arguments; the rest of the kernarg segment is zero.
    Launch {
        function: Arc<Function>,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_lds: u32,
        kernarg: Staged,
        cooperative: bool,
        /// See [`Work::PartialKernel`].
        remainder: [u32; 3],
    },
    /// A copy to the device, which reads the host memory when it runs.
    CopyIn { dst: DevicePtr, src: HostSource, bytes: usize },
    /// A copy to the host, which writes the host memory when it runs.
    CopyOut { dst: HostTarget, src: DevicePtr, bytes: usize },
    /// A copy within a device.
    Copy { dst: DevicePtr, src: DevicePtr, bytes: usize },
    /// A fill with `count` repetitions of the first `width` bytes of `pattern`.
    Fill { dst: DevicePtr, pattern: [u8; 4], width: usize, count: usize },
    /// A function of the caller; only in graphs.
    Host(HostNode),
}

/// A command in a stream's queue.
pub(super) enum Command {
    /// Work that is executed once. A kernel comes with the blocks that it may access.
    Step(Step, Option<Arc<BlockTable>>),
    /// A copy of bytes that were staged at the call.
    Write { dst: DevicePtr, bytes: Staged },
    /// The same for more bytes than are staged in a batch.
    WriteLarge { dst: DevicePtr, bytes: Box<[u8]> },
    /// A copy from another device.
    CopyPeer { dst: DevicePtr, from: Arc<Device>, src: DevicePtr, bytes: usize },
    /// All nodes of a graph, with the blocks that its kernels may access.
    Graph(Arc<ExecContents>, Arc<BlockTable>),
    /// A wait for a mark of another stream.
    Wait(Mark),
    /// Records the time at which an event was reached.
    EventReached { event: Arc<Event>, record: u64 },
    /// A function of the caller.
    HostFunc(HostFunc),
    /// A wait for a value in memory.
    WaitValue { src: DevicePtr, width: ValueWidth, condition: WaitCondition },
    /// Frees memory in stream order.
    Free(DevicePtr),
}

impl Command {
    /// Returns the most work that it is, in units of a wave instruction or of 16 bytes that are copied; `None` if that is not
    /// known, or it may wait for something.
    pub(super) fn work(&self) -> Option<u64> {
        let bytes = match self {
            Command::Step(Step::Launch { function, grid, block, .. }, _) => {
                return function.most_instructions(*grid, *block);
            }
            Command::Step(step, _) => step.device_memory().map(|(_, bytes)| bytes).sum(),
            Command::Write { bytes, .. } => bytes.len(),
            Command::WriteLarge { bytes, .. } => bytes.len(),
            Command::CopyPeer { bytes, .. } => *bytes,
            Command::EventReached { .. } | Command::Free(_) => 0,
            Command::Wait(mark) if mark.is_reached() => 0,
            Command::Graph(..) | Command::Wait(_) | Command::HostFunc(_) | Command::WaitValue { .. } => {
                return None;
            }
        };
        Some(bytes as u64 / 16)
    }
}

/// A step whose kernel arguments are not staged yet.
pub(super) struct Prepared<'a> {
    step: Step,
    arguments: &'a [u8],
}

impl Prepared<'_> {
    /// Stages the kernel's arguments: appends them to the bytes of a batch or a graph.
    #[inline]
    pub(super) fn stage(mut self, bytes: &mut Vec<u8>) -> Step {
        if let Step::Launch { kernarg, .. } = &mut self.step {
            *kernarg = Staged::append(self.arguments, bytes);
        }
        self.step
    }
}

impl Prepared<'_> {
    /// As [`stage`](Prepared::stage), in the place of another kernel's step: with its bytes, if these are as many.
    pub(super) fn replace(mut self, old: &Step, bytes: &mut Vec<u8>) -> Step {
        if let (Step::Launch { kernarg, .. }, Step::Launch { kernarg: place, .. }) = (&mut self.step, old)
            && place.len() == self.arguments.len()
        {
            *kernarg = *place;
            place.write(self.arguments, bytes);
            return self.step;
        }
        self.stage(bytes)
    }
}

impl Step {
    /// The device memory that it copies from or to, or fills; none for a kernel.
    pub(super) fn device_memory(&self) -> impl Iterator<Item = (DevicePtr, usize)> {
        let ranges = match *self {
            Step::Launch { .. } | Step::Host(_) => [None, None],
            Step::CopyIn { dst: ptr, bytes, .. } | Step::CopyOut { src: ptr, bytes, .. } => {
                [Some((ptr, bytes)), None]
            }
            Step::Copy { dst, src, bytes } => [Some((dst, bytes)), Some((src, bytes))],
            Step::Fill { dst, width, count, .. } => [Some((dst, width * count)), None],
        };
        ranges.into_iter().flatten()
    }

    /// Returns the host memory that it copies from or to, as address and length in bytes.
    pub(super) fn host_memory(&self) -> Option<(*const u8, usize)> {
        match *self {
            Step::CopyIn { src, bytes, .. } => Some((src.0, bytes)),
            Step::CopyOut { dst, bytes, .. } => Some((dst.0.cast_const(), bytes)),
            _ => None,
        }
    }
}

impl EmulatedDriver {
    /// Checks a piece of work and converts it to a step; `None` if it does nothing.
    pub(super) fn prepare<'a>(
        &self,
        call: &'static str,
        device: &Device,
        work: &Work<'a>,
    ) -> DriverResult<Option<Prepared<'a>>> {
        let step = match *work {
            Work::Kernel(launch)
            | Work::CooperativeKernel { launch, .. }
            | Work::PartialKernel { launch, .. } => {
                let function = self.function(call, device.id, launch.function)?;
                let KernelLaunch { grid, block, dynamic_lds, .. } = *launch;
                function.check_configuration(call, grid, block, dynamic_lds)?;
                let cooperative = matches!(work, Work::CooperativeKernel { .. });
                if cooperative {
                    check_residency(call, device, &function, launch)?;
                }
                let remainder = match *work {
                    Work::PartialKernel { remainder, .. } => remainder,
                    _ => [0; 3],
                };
                let arguments = function.explicit(call, launch.kernarg)?;
                let step = Step::Launch {
                    function,
                    grid,
                    block,
                    dynamic_lds,
                    kernarg: Staged::NOTHING,
                    cooperative,
                    remainder,
                };
                return Ok(Some(Prepared { step, arguments }));
            }
            Work::CopyToDevice { dst, src, bytes } if bytes > 0 => {
                check_host(call, src)?;
                device.check_target(call, "destination", dst, bytes)?;
                Step::CopyIn { dst, src: HostSource(src), bytes }
            }
            Work::CopyToHost { dst, src, bytes } if bytes > 0 => {
                check_host(call, dst)?;
                device.check_range(call, "source", src, bytes)?;
                Step::CopyOut { dst: HostTarget(dst), src, bytes }
            }
            Work::CopyWithin { dst, src, bytes } if bytes > 0 => {
                device.check_target(call, "destination", dst, bytes)?;
                device.check_range(call, "source", src, bytes)?;
                Step::Copy { dst, src, bytes }
            }
            Work::FillBytes { dst, value, bytes } if bytes > 0 => {
                device.check_target(call, "destination", dst, bytes)?;
                Step::Fill { dst, pattern: [value; 4], width: 1, count: bytes }
            }
            Work::FillWords { dst, value, count } => {
                let invalid = |detail| DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail);
                if !dst.0.is_multiple_of(4) {
                    return Err(invalid(format!("{dst} is not aligned to 4 bytes")));
                }
                let bytes =
                    count.checked_mul(4).ok_or_else(|| invalid(format!("{count} words of 4 bytes")))?;
                if bytes == 0 {
                    return Ok(None);
                }
                device.check_target(call, "destination", dst, bytes)?;
                Step::Fill { dst, pattern: value.to_le_bytes(), width: 4, count }
            }
            Work::HostNode(node) => Step::Host(node.clone()),
            Work::CopyToDevice { .. }
            | Work::CopyToHost { .. }
            | Work::CopyWithin { .. }
            | Work::FillBytes { .. }
            | Work::Empty => return Ok(None),
            Work::CopyFromPeer { .. }
            | Work::HostFunction(_)
            | Work::WriteValue { .. }
            | Work::WaitValue { .. }
            | Work::Graph(_) => return Err(work.unsupported(call)),
        };
        Ok(Some(Prepared { step, arguments: &[] }))
    }

    /// Enqueues work on a stream.
    pub(super) fn enqueue_work(&self, stream: &Arc<Stream>, work: &Work<'_>) -> DriverResult<()> {
        let (call, device) = (work.kind().name(), &stream.device);
        match *work {
            Work::CopyFromPeer { dst, src_device, src, bytes } => {
                let from = Arc::clone(self.device(call, src_device)?);
                if bytes == 0 {
                    return Ok(());
                }
                device.check_target(call, "destination", dst, bytes)?;
                from.check_range(call, "source", src, bytes)?;
                push(call, stream, |_| Command::CopyPeer { dst, from, src, bytes }).map(drop)
            }
            Work::HostFunction(function) => {
                let function = function.take()?;
                push(call, stream, |_| Command::HostFunc(function)).map(drop)
            }
            Work::HostNode(node) => {
                let node = node.clone();
                push(call, stream, |_| Command::HostFunc(Box::new(move |status| node.call(status)))).map(drop)
            }
            Work::WriteValue { dst, width, value } => {
                check_value(call, device, dst, width)?;
                device.check_target(call, "value", dst, width.bytes())?;
                let bytes = &value.to_le_bytes()[..width.bytes()];
                push(call, stream, |batch| Command::Write { dst, bytes: batch.stage(bytes) }).map(drop)
            }
            Work::WaitValue { src, width, condition } => {
                check_value(call, device, src, width)?;
                push(call, stream, |_| Command::WaitValue { src, width, condition }).map(drop)
            }
            Work::Graph(exec) => {
                let exec = self.launchable(call, device.id, exec)?;
                let blocks = self.blocks.capture();
                push(call, stream, |_| Command::Graph(exec, blocks)).map(drop)
            }
            Work::Empty => Err(work.unsupported(call)),
            _ => {
                let Some(prepared) = self.prepare(call, device, work)? else { return Ok(()) };
                match prepared.step {
                    Step::CopyIn { dst, src, bytes } if !self.pinned.contains(src.0, bytes) => {
                        // SAFETY: readable for `bytes`, as the caller of `enqueue` guarantees.
                        let source = unsafe { std::slice::from_raw_parts(src.0, bytes) };
                        self.copy_pageable(call, stream, dst, source)
                    }
                    Step::CopyOut { dst, bytes, .. } if !self.pinned.contains(dst.0, bytes) => {
                        // Checked before the copy is enqueued: its memory is only valid while the caller waits.
                        may_wait(call)?;
                        push(call, stream, |_| Command::Step(prepared.step, None))?;
                        synchronize(call, stream)
                    }
                    _ => {
                        let is_kernel = matches!(prepared.step, Step::Launch { .. });
                        let blocks = is_kernel.then(|| self.blocks.capture());
                        push(call, stream, |batch| Command::Step(batch.stage_step(prepared), blocks))
                            .map(drop)
                    }
                }
            }
        }
    }

    /// Enqueues a copy of bytes that the caller may change as soon as this returns.
    fn copy_pageable(
        &self,
        call: &'static str,
        stream: &Stream,
        dst: DevicePtr,
        source: &[u8],
    ) -> DriverResult<()> {
        let bytes = source.len();
        if bytes <= STAGED_IN_BATCH {
            return push(call, stream, |batch| Command::Write { dst, bytes: batch.stage(source) }).map(drop);
        }
        let mut copy = Vec::new();
        if copy.try_reserve_exact(bytes).is_err() {
            let detail = format!("no host memory to stage {bytes} bytes; pin them");
            return Err(DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, detail));
        }
        copy.extend_from_slice(source);
        push(call, stream, |_| Command::WriteLarge { dst, bytes: copy.into_boxed_slice() }).map(drop)
    }
}

impl Device {
    /// Executes one command. `bytes` are those of its batch. On a lost device, it only waits for marks, frees memory and
    /// calls host functions.
    pub(super) fn execute(self: &Arc<Self>, command: Command, bytes: &[u8], watched: &Watched) {
        // A wait ends when the other stream's work has ended, even with a fault. Memory is freed in any case. A host
        // function tells a thread of the program that its work is over, which may wait for that alone; so may one in a graph.
        let is_skipped = !matches!(
            command,
            Command::Wait(_) | Command::Free(_) | Command::HostFunc(_) | Command::Graph(..)
        );
        if is_skipped && self.is_poisoned() {
            return;
        }
        // A panic of the emulator must not end the worker: threads that wait for the stream would wait forever.
        let result = catch_unwind(AssertUnwindSafe(|| self.try_execute(command, bytes, watched)));
        match result {
            Ok(Ok(())) => {}
            Ok(Err((work, error))) => self.lose(fault_code(&error), work, error),
            Err(panic) => self.lose_by_panic(panic_text(&*panic)),
        }
    }

    fn try_execute(&self, command: Command, batch: &[u8], watched: &Watched) -> Result<(), (String, Error)> {
        match command {
            Command::Step(step, blocks) => watched.time(None, || self.run_step(&step, batch, blocks)),
            Command::Write { dst, bytes } => watched.time(None, || self.write(dst, bytes.of(batch))),
            Command::WriteLarge { dst, bytes } => watched.time(None, || self.write(dst, &bytes)),
            Command::CopyPeer { dst, from, src, bytes } => watched.time(None, || {
                self.space
                    .copy_from(&from.space, dst.0, src.0, bytes as u64)
                    .map_err(|e| (format!("copy of {bytes} bytes from {}", from.id), e))?;
                Ok(None)
            }),
            Command::Graph(graph, blocks) => {
                graph.run(self, watched, &blocks);
                Ok(())
            }
            Command::Wait(mark) => {
                mark.wait();
                Ok(())
            }
            Command::EventReached { event, record } => {
                event.reach(record);
                Ok(())
            }
            Command::HostFunc(function) => watched.time(None, || self.call_host(function)),
            Command::WaitValue { src, width, condition } => {
                watched.time(None, || self.wait_for_value(src, width, condition))
            }
            Command::Free(ptr) => {
                self.finish_free(ptr);
                Ok(())
            }
        }
    }

    /// Waits until the value is as required, or the device is lost.
    fn wait_for_value(&self, src: DevicePtr, width: ValueWidth, condition: WaitCondition) -> Ran {
        let mut bytes = [0; 8];
        let begun = Instant::now();
        loop {
            // An aligned value is read at once, as it is written.
            let read = self.space.read(src.0, &mut bytes[..width.bytes()]);
            read.map_err(|e| (format!("wait for a value at {src}"), e))?;
            if condition.holds(width, u64::from_le_bytes(bytes)) {
                // Pairs with the fence in `write`, or with that of a host or a kernel which writes the value.
                fence(Ordering::Acquire);
                return Ok(None);
            }
            if self.is_poisoned() {
                return Ok(None);
            }
            match begun.elapsed() < VALUE_POLL {
                true => std::thread::yield_now(),
                false => std::thread::sleep(VALUE_PAUSE),
            }
        }
    }

    /// Calls a function of the program. A panic of it concerns only its program: the stream continues.
    fn call_host(&self, function: impl FnOnce(DriverResult<()>)) -> Ran {
        let status = self.check(CallKind::LaunchHostFunc.name());
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| function(status))) {
            log::error!("a host function on {} panicked: {}", self.id, panic_text(&*panic));
        }
        Ok(None)
    }

    fn write(&self, dst: DevicePtr, bytes: &[u8]) -> Ran {
        // It may be a value for which another stream waits.
        fence(Ordering::Release);
        self.space.write(dst.0, bytes).map_err(|e| (format!("H2D copy of {} bytes", bytes.len()), e))?;
        Ok(None)
    }

    /// Executes a step. Its kernel arguments are in `arguments`, and its kernel may access `blocks`. An error says what was
    /// being done.
    pub(super) fn run_step(&self, step: &Step, arguments: &[u8], blocks: Option<Arc<BlockTable>>) -> Ran {
        match *step {
            Step::Launch { ref function, grid, block, dynamic_lds, kernarg, cooperative, remainder } => {
                let kernarg = kernarg.of(arguments);
                let dispatch =
                    Dispatch { cooperative, kernel: function.index, grid, block, dynamic_lds, kernarg };
                let blocks = blocks.unwrap_or_else(|| self.space.blocks().capture());
                let program = &function.module.program;
                let ran = self.machine.dispatch_partial(program, &dispatch, remainder, blocks).map_err(
                    |error| {
                        let kernel = &function.signature().name;
                        (format!("launch of {kernel} with grid {grid:?} and block {block:?}"), error)
                    },
                )?;
                if let Some(profile) = &ran.profile {
                    let mut profiles = lock(&self.profiles);
                    profiles.entry(function.signature().name.clone()).or_default().merge(profile);
                }
                for notice in ran.notices {
                    if let Some(listener) = &self.listener {
                        listener.noted(self.id, &notice);
                    }
                    notice.add_to(&mut lock(&self.notices));
                }
                let counts = KernelCounts {
                    workgroups: ran.workgroups,
                    waves: ran.waves,
                    wave_instructions: ran.wave_instructions,
                };
                if let Some(listener) = &self.listener {
                    listener.kernel_ran(self.id, &function.signature().name, &counts);
                }
                Ok(Some(counts))
            }
            Step::Host(ref node) => self.call_host(|status| node.call(status)),
            Step::CopyIn { dst, src, bytes } => {
                // SAFETY: readable until the copy has run, see `HostSource`.
                let source = unsafe { std::slice::from_raw_parts(src.0, bytes) };
                self.write(dst, source)
            }
            Step::CopyOut { dst, src, bytes } => {
                // SAFETY: writable, and not accessed by anything else, until the copy has run, see `HostTarget`.
                let target = unsafe { std::slice::from_raw_parts_mut(dst.0, bytes) };
                self.space.read(src.0, target).map_err(|e| (format!("D2H copy of {bytes} bytes"), e))?;
                Ok(None)
            }
            Step::Copy { dst, src, bytes } => {
                let copied = self.space.copy(dst.0, src.0, bytes as u64);
                copied.map_err(|e| (format!("D2D copy of {bytes} bytes"), e))?;
                Ok(None)
            }
            Step::Fill { dst, pattern, width, count } => {
                let filled = self.space.fill(dst.0, &pattern[..width.min(4)], count as u64);
                filled.map_err(|e| (format!("fill of {} bytes", width * count), e))?;
                Ok(None)
            }
        }
    }
}

/// Checks the place of a value for which a stream waits, or which it writes.
fn check_value(call: &'static str, device: &Device, at: DevicePtr, width: ValueWidth) -> DriverResult<()> {
    if !at.0.is_multiple_of(width.bytes() as u64) {
        let detail = format!("{at} is not aligned to the {} bytes of the value", width.bytes());
        return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail));
    }
    device.check_range(call, "value", at, width.bytes())
}

/// Fails if the device does not have room for all workgroups at once.
fn check_residency(
    call: &'static str,
    device: &Device,
    function: &Function,
    launch: &KernelLaunch<'_>,
) -> DriverResult<()> {
    // The block's size was checked: it fits.
    let per_unit = function.occupancy(launch.block.iter().product(), launch.dynamic_lds);
    let room = u64::from(per_unit) * u64::from(device.properties.compute_units);
    let workgroups = launch.grid.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
    if workgroups <= room {
        return Ok(());
    }
    let detail = format!("{workgroups} workgroups in a cooperative launch, {room} are on the device at once");
    Err(DriverError::with_detail(call, ErrorCode::COOPERATIVE_LAUNCH_TOO_LARGE, detail))
}

/// Returns the sticky code for an error on a worker.
pub(super) fn fault_code(error: &Error) -> ErrorCode {
    match error {
        Error::OutOfBounds { .. } => ErrorCode::ILLEGAL_ADDRESS,
        Error::Fault(report) => match report.cause {
            FaultCause::OutOfBounds { space: MemorySpace::Global, .. }
            | FaultCause::Refused { .. }
            | FaultCause::ReadOnly { .. } => ErrorCode::ILLEGAL_ADDRESS,
            FaultCause::Trap { .. } => ErrorCode::ASSERT,
            FaultCause::OverBudget { .. } | FaultCause::Interrupted { .. } => ErrorCode::LAUNCH_TIME_OUT,
            _ => ErrorCode::LAUNCH_FAILURE,
        },
        _ => ErrorCode::LAUNCH_FAILURE,
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
