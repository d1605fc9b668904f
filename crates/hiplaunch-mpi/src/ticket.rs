//! The ticket of an operation.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hiplaunch::{Event, Stream};

use crate::counters::add;
use crate::error::{Error, Result};
use crate::operation::Operation;
use crate::progress::Shared;

/// An operation that was enqueued. It goes on if the ticket is dropped.
///
/// What it sends was read in the order of the stream that it was enqueued on: work that is enqueued there later may write it.
/// What it receives is written on a stream of the communicator: work that uses it comes after [`before`](Ticket::before), or
/// after [`wait`](Ticket::wait).
#[must_use = "what is received is there for work after `before` or `wait`"]
pub struct Ticket {
    pub(crate) operation: Arc<Operation>,
    pub(crate) done: Arc<Event>,
    pub(crate) shared: Arc<Shared>,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("call", &self.operation.call).finish_non_exhaustive()
    }
}

impl Ticket {
    /// Makes work that is enqueued on `stream` from now on wait for the operation. The host does not wait.
    ///
    /// # Errors
    /// The failure of the communicator; the launcher's.
    pub fn before(&self, stream: &Stream) -> Result<()> {
        self.check()?;
        self.done.wait_on(stream).map_err(|error| self.launcher(error))
    }

    /// Waits until the operation is done: what it receives is in place, and what it sends was passed to MPI.
    ///
    /// # Errors
    /// The operation's error, or the failure of the communicator. What was to be received is then undefined.
    pub fn wait(self) -> Result<()> {
        let waits: &AtomicU64 = &self.shared.counts.host_waits;
        add(waits, 1);
        let done = self.done.synchronize();
        if done.is_ok() {
            self.operation.wait_until_passed();
        }
        self.check()?;
        done.map_err(|error| self.launcher(error))
    }

    /// Whether the operation is done. Never waits.
    ///
    /// # Errors
    /// As [`wait`](Ticket::wait).
    pub fn is_done(&self) -> Result<bool> {
        self.check()?;
        let done = self.done.is_reached().map_err(|error| self.launcher(error))?;
        // It may have failed in between.
        self.check()?;
        Ok(done && self.operation.is_passed())
    }

    fn check(&self) -> Result<()> {
        match self.operation.error() {
            Some(error) => Err(error),
            None => self.shared.check(),
        }
    }

    /// An error of the launcher means that the device is lost: the other ranks are told.
    fn launcher(&self, error: hiplaunch::Error) -> Error {
        self.shared.fail(Error::launcher(self.shared.rank, error))
    }
}
