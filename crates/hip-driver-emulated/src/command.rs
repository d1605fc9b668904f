//! What a stream can be told to do, and how its worker does it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use gfx9_emulator::{AddressSpace, Dispatch, Error, FaultCause, Space};

use super::device::{Device, lock};
use super::event::Event;
use super::graph::GraphExec;
use super::module::Function;
use super::stream::{Mark, Staged};
use super::watch::Watched;
use hip_driver::activity::KernelCounts;
use hip_driver::{DevicePtr, ErrorCode, HostFunc};

/// What went wrong, and what was being done; for a kernel that ran, how much it ran.
pub(super) type Ran = Result<Option<KernelCounts>, (String, Error)>;

/// Bytes copied at a time between two devices' memories.
const PEER_CHUNK: usize = 1 << 20;

/// Host memory that a copy reads when it runs: pinned, or of a caller that waits for the copy.
#[derive(Clone, Copy)]
pub(super) struct HostSource(pub(super) *const u8);

/// Host memory that a copy writes when it runs: pinned, or of a caller that waits for the copy.
#[derive(Clone, Copy)]
pub(super) struct HostTarget(pub(super) *mut u8);

// SAFETY: whoever enqueues the copy promises that the memory stays readable until the copy has run, from any thread
// (`Driver::memcpy_htod_async`, `Driver::graph_launch`).
unsafe impl Send for HostSource {}
// SAFETY: whoever enqueues the copy promises that the memory stays writable, and that nobody else touches it, until the
// copy has run (`Driver::memcpy_dtoh_async`, `Driver::graph_launch`).
unsafe impl Send for HostTarget {}
// SAFETY: nothing but the address can be got through a shared one; each access is an unsafe operation of its own.
unsafe impl Sync for HostSource {}
// SAFETY: as above.
unsafe impl Sync for HostTarget {}

/// Work that can be done again: what the nodes of a graph do, too.
#[derive(Clone)]
pub(super) enum Work {
    /// A kernel; the bytes are its explicit arguments, the rest of the kernarg segment is zero.
    Launch { function: Arc<Function>, grid: [u32; 3], block: [u32; 3], dynamic_lds: u32, kernarg: Staged },
    /// A copy that reads the host memory now.
    CopyIn { dst: DevicePtr, src: HostSource, bytes: usize },
    /// A copy that writes the host memory now.
    CopyOut { dst: HostTarget, src: DevicePtr, bytes: usize },
    /// A copy within a device.
    Copy { dst: DevicePtr, src: DevicePtr, bytes: usize },
    /// `count` times the first `width` bytes of `pattern`.
    Fill { dst: DevicePtr, pattern: [u8; 4], width: usize, count: usize },
}

/// One entry of a stream's queue.
pub(super) enum Command {
    /// Work that is done once.
    Work(Work),
    /// A copy of bytes that were taken at the call.
    Write { dst: DevicePtr, bytes: Staged },
    /// The same for more bytes than a batch should carry.
    WriteLarge { dst: DevicePtr, bytes: Box<[u8]> },
    /// A copy from another device.
    CopyPeer { dst: DevicePtr, from: Arc<Device>, src: DevicePtr, bytes: usize },
    /// All nodes of a graph.
    Graph(Arc<GraphExec>),
    /// Waits for a place in another stream.
    Wait(Mark),
    /// Notes when an event was reached.
    EventReached { event: Arc<Event>, record: u64 },
    /// A function of the caller's.
    HostFunc(HostFunc),
    /// Frees memory in stream order.
    Free(DevicePtr),
}

impl Device {
    /// Runs one command; `bytes` are those of its batch. On a device with a fault it only releases.
    pub(super) fn execute(self: &Arc<Self>, command: Command, bytes: &[u8], watched: &Watched) {
        // A wait ends when the other stream's work has, faulty or not; memory is freed in any case.
        if self.is_poisoned() && !matches!(command, Command::Wait(_) | Command::Free(_)) {
            return;
        }
        // A defect of the emulator must not take the worker with it: everyone who waits would wait for ever.
        let result = catch_unwind(AssertUnwindSafe(|| self.try_execute(command, bytes, watched)));
        match result {
            Ok(Ok(())) => {}
            Ok(Err((what, error))) => self.poison(fault_code(&error), format!("{what}: {error}")),
            Err(panic) => {
                let text = panic_text(&*panic);
                self.poison(
                    ErrorCode::LAUNCH_FAILURE,
                    format!("the emulator failed (a defect of it): {text}"),
                );
            }
        }
    }

    fn try_execute(&self, command: Command, batch: &[u8], watched: &Watched) -> Result<(), (String, Error)> {
        match command {
            Command::Work(work) => watched.time(None, || self.work(&work, batch)),
            Command::Write { dst, bytes } => watched.time(None, || self.write(dst, bytes.of(batch))),
            Command::WriteLarge { dst, bytes } => watched.time(None, || self.write(dst, &bytes)),
            Command::CopyPeer { dst, from, src, bytes } => watched.time(None, || {
                copy_peer(&self.space, dst, &from.space, src, bytes)
                    .map_err(|e| (format!("copy of {bytes} bytes from {}", from.id), e))?;
                Ok(None)
            }),
            Command::Graph(graph) => graph.run(self, watched),
            Command::Wait(mark) => {
                mark.wait();
                Ok(())
            }
            Command::EventReached { event, record } => {
                event.reach(record);
                Ok(())
            }
            Command::HostFunc(function) => watched.time(None, || {
                // The stream goes on: what the function was to do is between it and its caller.
                if let Err(panic) = catch_unwind(AssertUnwindSafe(function)) {
                    log::error!("a host function on {} panicked: {}", self.id, panic_text(&*panic));
                }
                Ok(None)
            }),
            Command::Free(ptr) => {
                self.finish_free(ptr);
                Ok(())
            }
        }
    }

    fn write(&self, dst: DevicePtr, bytes: &[u8]) -> Ran {
        self.space.write(dst.0, bytes).map_err(|e| (format!("H2D copy of {} bytes", bytes.len()), e))?;
        Ok(None)
    }

    /// Does a piece of work, whose kernel arguments stand in `arguments`. An error comes with what was being done.
    pub(super) fn work(&self, work: &Work, arguments: &[u8]) -> Ran {
        match *work {
            Work::Launch { ref function, grid, block, dynamic_lds, kernarg } => {
                let kernarg = kernarg.of(arguments);
                let dispatch = Dispatch { kernel: function.index, grid, block, dynamic_lds, kernarg };
                let ran = self.machine.dispatch(&function.module.program, &dispatch).map_err(|error| {
                    let kernel = &function.signature().name;
                    (format!("launch of {kernel} with grid {grid:?} and block {block:?}"), error)
                })?;
                if let Some(profile) = &ran.profile {
                    let mut profiles = lock(&self.profiles);
                    profiles.entry(function.signature().name.clone()).or_default().merge(profile);
                }
                Ok(Some(KernelCounts {
                    workgroups: ran.workgroups,
                    waves: ran.waves,
                    wave_instructions: ran.wave_instructions,
                }))
            }
            Work::CopyIn { dst, src, bytes } => {
                // SAFETY: readable until the copy has run, see `HostSource`.
                let source = unsafe { std::slice::from_raw_parts(src.0, bytes) };
                self.write(dst, source)
            }
            Work::CopyOut { dst, src, bytes } => {
                // SAFETY: writable and nobody else's until the copy has run, see `HostTarget`.
                let target = unsafe { std::slice::from_raw_parts_mut(dst.0, bytes) };
                self.space.read(src.0, target).map_err(|e| (format!("D2H copy of {bytes} bytes"), e))?;
                Ok(None)
            }
            Work::Copy { dst, src, bytes } => {
                let copied = self.space.copy(dst.0, src.0, bytes as u64);
                copied.map_err(|e| (format!("D2D copy of {bytes} bytes"), e))?;
                Ok(None)
            }
            Work::Fill { dst, pattern, width, count } => {
                let filled = self.space.fill(dst.0, &pattern[..width.min(4)], count as u64);
                filled.map_err(|e| (format!("fill of {} bytes", width * count), e))?;
                Ok(None)
            }
        }
    }
}

fn copy_peer(
    to: &AddressSpace,
    dst: DevicePtr,
    from: &AddressSpace,
    src: DevicePtr,
    bytes: usize,
) -> Result<(), Error> {
    let mut buffer = vec![0; bytes.min(PEER_CHUNK)];
    let mut done = 0;
    while done < bytes {
        let part = &mut buffer[..(bytes - done).min(PEER_CHUNK)];
        from.read(src.offset(done as u64).0, part)?;
        to.write(dst.offset(done as u64).0, part)?;
        done += part.len();
    }
    Ok(())
}

/// The sticky code of what a worker met.
fn fault_code(error: &Error) -> ErrorCode {
    match error {
        Error::OutOfBounds { .. } => ErrorCode::ILLEGAL_ADDRESS,
        Error::Fault(report) => match report.cause {
            FaultCause::OutOfBounds { space: Space::Global, .. } => ErrorCode::ILLEGAL_ADDRESS,
            FaultCause::Trap { .. } => ErrorCode::ASSERT,
            FaultCause::OverBudget { .. } => ErrorCode::LAUNCH_TIME_OUT,
            _ => ErrorCode::LAUNCH_FAILURE,
        },
        _ => ErrorCode::LAUNCH_FAILURE,
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
