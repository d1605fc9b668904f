//! The pool trace: the operations of a pool, in the columns of RMM's logs, so that RMM's tools and this project's can
//! replay both.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hip_driver::{DeviceId, RawEvent, thread_number};

/// The number of operations kept. Later ones are only counted.
const KEPT_OPERATIONS: usize = 1 << 24;

/// An operation of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PoolTraceAction {
    /// It allocated a block.
    Allocate,
    /// It failed to allocate a block.
    AllocateFailure,
    /// It freed a block.
    Free,
    /// It recorded that another stream uses a block.
    Record,
    /// It made a stream wait for an event of another stream.
    Wait,
    /// It waited on the host until all work on a stream that uses cached memory had finished.
    Synchronize,
    /// It took a segment from the driver.
    Grow,
    /// It returned a segment to the driver.
    Release,
}

impl PoolTraceAction {
    /// Every action.
    pub const ALL: [PoolTraceAction; 8] = [
        PoolTraceAction::Allocate,
        PoolTraceAction::AllocateFailure,
        PoolTraceAction::Free,
        PoolTraceAction::Record,
        PoolTraceAction::Wait,
        PoolTraceAction::Synchronize,
        PoolTraceAction::Grow,
        PoolTraceAction::Release,
    ];

    /// Its name in the pool trace. `allocate`, `allocate failure` and `free` are RMM's names.
    pub const fn name(self) -> &'static str {
        match self {
            PoolTraceAction::Allocate => "allocate",
            PoolTraceAction::AllocateFailure => "allocate failure",
            PoolTraceAction::Free => "free",
            PoolTraceAction::Record => "record",
            PoolTraceAction::Wait => "wait",
            PoolTraceAction::Synchronize => "synchronize",
            PoolTraceAction::Grow => "grow",
            PoolTraceAction::Release => "release",
        }
    }
}

impl fmt::Display for PoolTraceAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One operation of a pool trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolTraceEntry {
    /// The number of the calling thread, unique in the process.
    pub thread: u64,
    /// The time since the pool trace was turned on.
    pub time: Duration,
    /// The operation.
    pub action: PoolTraceAction,
    /// The address of the block or segment, or 0 where there is none.
    pub address: u64,
    /// The bytes that were asked for, or those of the segment.
    pub bytes: u64,
    /// The stream's number, or 0 for memory of no stream.
    pub stream: u64,
    /// The pool's device.
    pub device: DeviceId,
    /// The event that was recorded or waited for.
    pub event: Option<RawEvent>,
}

/// The column names of a pool trace.
pub const TRACE_COLUMNS: &str = "Thread,Time,Action,Pointer,Size,Stream,Device,Event";

impl PoolTraceEntry {
    /// Writes it as a line of CSV, in the order of [`TRACE_COLUMNS`].
    ///
    /// # Errors
    /// Returns the writer's error.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let (seconds, micros) = (self.time.as_secs(), self.time.subsec_micros());
        let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let PoolTraceEntry { thread, action, address, bytes, stream, device, .. } = self;
        write!(
            out,
            "{thread},{h:02}:{m:02}:{s:02}.{micros:06},{action},{address:#x},{bytes},{stream:#x},{}",
            device.0
        )?;
        match self.event {
            Some(event) => writeln!(out, ",{:#x}", event.0),
            None => writeln!(out, ","),
        }
    }
}

#[derive(Debug)]
struct Log {
    start: Instant,
    entries: Vec<PoolTraceEntry>,
    dropped: u64,
}

/// Collects the operations of one pool while it is on.
#[derive(Debug)]
pub(crate) struct Tracer {
    on: AtomicBool,
    log: Mutex<Log>,
}

impl Tracer {
    pub(crate) fn new() -> Tracer {
        let log = Log { start: Instant::now(), entries: Vec::new(), dropped: 0 };
        Tracer { on: AtomicBool::new(false), log: Mutex::new(log) }
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Turns it on, with an empty pool trace, or off.
    pub(crate) fn set(&self, on: bool) {
        if on && !self.is_on() {
            *self.log.lock().unwrap_or_else(PoisonError::into_inner) =
                Log { start: Instant::now(), entries: Vec::new(), dropped: 0 };
        }
        self.on.store(on, Ordering::Relaxed);
    }

    #[cold]
    pub(crate) fn note(
        &self,
        action: PoolTraceAction,
        device: DeviceId,
        address: u64,
        bytes: u64,
        stream: u64,
        event: Option<RawEvent>,
    ) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.entries.len() >= KEPT_OPERATIONS {
            log.dropped += 1;
            return;
        }
        let time = log.start.elapsed();
        log.entries.push(PoolTraceEntry {
            thread: thread_number(),
            time,
            action,
            address,
            bytes,
            stream,
            device,
            event,
        });
    }

    /// Takes the collected operations, and the number of operations that were dropped.
    pub(crate) fn take(&self) -> (Vec<PoolTraceEntry>, u64) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut log.entries), std::mem::take(&mut log.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_rmms_columns_first() {
        let entry = PoolTraceEntry {
            thread: 7,
            time: Duration::from_micros(3_725_000_042),
            action: PoolTraceAction::Allocate,
            address: 0xabc00,
            bytes: 1000,
            stream: 3,
            device: DeviceId(1),
            event: None,
        };
        let mut line = Vec::new();
        entry.write_csv(&mut line).unwrap();
        assert_eq!(String::from_utf8(line).unwrap(), "7,01:02:05.000042,allocate,0xabc00,1000,0x3,1,\n");
        assert!(TRACE_COLUMNS.starts_with("Thread,Time,Action,Pointer,Size,Stream,"));
    }
}
