//! Fences: marks on a stream that a program polls, waits for, or awaits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::stream::{Event, Stream};
use hip_driver::EventOptions;

use super::waker::{self, Awaited, Registration};

/// How long a wait with a limit polls without a pause, and the pauses that follow.
const EAGER: Duration = Duration::from_micros(200);
const PAUSE: Duration = Duration::from_micros(100);

/// A mark behind all work that was enqueued on a stream when it was made: [`Stream::fence`].
///
/// It is a [`Future`] of any executor, whose tasks are woken by a thread of this library, never by one of the driver. It needs no
/// host functions, and does not hold up the stream. Dropping it at any time changes nothing for the work, and it may
/// outlive its stream. For a runtime that has semaphores of its own, see [`Stream::host_function`].
#[derive(Debug)]
pub struct Fence {
    event: Arc<Event>,
    waiting: Option<Arc<Registration>>,
}

impl Stream {
    /// Returns a fence behind all work that is enqueued so far.
    ///
    /// ```
    /// # use hiplaunch::{Backend, DeviceBuffer, Launcher};
    /// # #[cfg(feature = "emulator")] {
    /// # let launcher = Launcher::builder().backend(Backend::Emulator).build()?;
    /// # let stream = launcher.stream(launcher.device(0)?)?;
    /// let mut buffer = DeviceBuffer::<u32>::on(&stream, 64)?;
    /// buffer.fill(&stream, 7)?;
    /// let filled = stream.fence()?;
    /// // In an async function: `filled.await?`
    /// filled.wait()?;
    /// assert!(filled.is_reached()?);
    /// # }
    /// # Ok::<(), hiplaunch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost); [`Error::Captured`](crate::Error::Captured) while the stream is
    /// captured; the driver's.
    pub fn fence(&self) -> Result<Fence> {
        self.state().refuse_if_captured("a fence")?;
        let event = Event::new(self.device(), EventOptions::default())?;
        event.record(self)?;
        Ok(Fence { event: Arc::new(event), waiting: None })
    }
}

impl Fence {
    /// Returns whether the work before it has finished. Never waits.
    ///
    /// # Errors
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, whether or not the work ran before that.
    pub fn is_reached(&self) -> Result<bool> {
        self.event.is_reached()
    }

    /// Waits until the work before it has finished.
    ///
    /// # Errors
    /// As [`is_reached`](Fence::is_reached).
    pub fn wait(&self) -> Result<()> {
        self.event.synchronize()
    }

    /// Waits as [`wait`](Fence::wait) does, but no longer than this. Returns whether the work has finished.
    ///
    /// # Errors
    /// As [`is_reached`](Fence::is_reached).
    pub fn wait_timeout(&self, limit: Duration) -> Result<bool> {
        let begun = Instant::now();
        loop {
            if self.is_reached()? {
                return Ok(true);
            }
            let Some(left) = limit.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) else {
                return Ok(false);
            };
            match begun.elapsed() < EAGER {
                true => std::thread::yield_now(),
                false => std::thread::sleep(left.min(PAUSE)),
            }
        }
    }
}

impl Clone for Fence {
    /// Returns the same mark, to be awaited by another task.
    fn clone(&self) -> Self {
        Fence { event: self.event.clone(), waiting: None }
    }
}

impl Future for Fence {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.is_reached() {
            Ok(true) => return Poll::Ready(Ok(())),
            Ok(false) => {}
            Err(error) => return Poll::Ready(Err(error)),
        }
        // If it was reached since, the waker's thread sees it in its next round.
        match &self.waiting {
            Some(registration) => registration.set(context.waker()),
            None => self.waiting = Some(waker::watch(Awaited::Fence(self.event.clone()), context.waker())),
        }
        Poll::Pending
    }
}
