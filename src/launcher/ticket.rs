//! Tickets: the pending results of a launch, a graph or a read; and outputs, the results on the host.

use hip_driver::Note;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytemuck::Pod;

use crate::error::{Error, Result};
use crate::staging::ResultBuffer;
use crate::stream::StreamState;

use super::waker::{self, Awaited, Registration};

/// The pending results of one submission: a launch, a graph or a read.
///
/// [`read`](Ticket::read) waits for that submission alone and returns its [`Output`]. Awaiting the ticket does not
/// block the thread. A ticket may be dropped unread; its memory is used again once the work has finished.
///
/// A submission without outputs returns a ticket too. Reading it waits for all work on the stream and returns an empty
/// [`Output`].
#[derive(Debug)]
pub struct Ticket {
    results: Results,
    waiting: Option<Arc<Registration>>,
    /// Whether [`finish`](Ticket::finish) has waited for the submission without an error, so that outputs may be read.
    finished: bool,
}

/// The result buffer of a launch. It returns to its stream when this is dropped.
#[derive(Debug)]
struct Results {
    stream_state: Arc<StreamState>,
    /// The position of the launch on its stream.
    position: u64,
    buffer: Option<ResultBuffer>,
}

impl Drop for Results {
    #[inline]
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.stream_state.returned.add(buffer, self.position);
        }
    }
}

impl Results {
    /// The number of outputs.
    fn outputs(&self) -> usize {
        self.buffer.as_ref().map_or(0, |buffer| buffer.value.spans.len())
    }

    /// Returns output `index`.
    ///
    /// # Safety
    /// The work has finished.
    #[inline]
    unsafe fn output(&self, index: usize) -> Result<&[u8]> {
        if let Some(buffer) = &self.buffer
            && let Some(&(at, len)) = buffer.value.spans.get(index)
        {
            // SAFETY: the result buffer is `at + len` bytes long at least, and nobody writes it any more. The D2H copy, or
            // the zeroing and the kernel, wrote it. `self` keeps it from being used again.
            return Ok(unsafe {
                std::slice::from_raw_parts(buffer.value.host.as_ptr().add(at as usize), len as usize)
            });
        }
        Err(no_output(index, self.outputs()))
    }
}

impl Ticket {
    #[inline]
    pub(crate) fn new(stream_state: Arc<StreamState>, position: u64, buffer: Option<ResultBuffer>) -> Ticket {
        Ticket { results: Results { stream_state, position, buffer }, waiting: None, finished: false }
    }

    /// Returns the number of outputs. Those of a launch are its inout and out arrays and its result blocks, in the
    /// order of the arguments.
    pub fn outputs(&self) -> usize {
        self.results.outputs()
    }

    /// Returns whether the submission has finished. Never waits. Returns true after an error of the device too, which
    /// `read` then returns.
    pub fn is_ready(&self) -> bool {
        let Results { stream_state, position, buffer } = &self.results;
        if stream_state.progress().completed() >= *position || stream_state.device().check().is_err() {
            return true;
        }
        match buffer {
            Some(buffer) => stream_state.driver_stream.reached(*position, buffer.value.event).unwrap_or(true),
            None => stream_state.is_idle().unwrap_or(true),
        }
    }

    /// Waits for the submission and returns its outputs. Waits with one driver call, or with none if the host has seen
    /// it or later work of the stream complete.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] when a kernel faulted; the driver's.
    pub fn read(self) -> Result<Output> {
        self.wait()?;
        self.note_read();
        Ok(Output { results: self.results })
    }

    /// Tells layers that the host is about to read the outputs.
    fn note_read(&self) {
        if let Some(buffer) = &self.results.buffer {
            let bytes = || buffer.value.spans.iter().map(|(at, len)| at + len).max().unwrap_or(0) as usize;
            let device = self.results.stream_state.device();
            device.note_with(|| Note::HostRead { ptr: buffer.value.host.as_ptr(), bytes: bytes() });
        }
    }

    /// Waits for the submission, as [`read`](Ticket::read) does, and keeps the ticket. [`output`](Ticket::output) then
    /// returns the outputs.
    ///
    /// # Errors
    /// The errors of [`read`](Ticket::read).
    #[inline]
    pub fn finish(&mut self) -> Result<()> {
        if !self.finished {
            self.wait()?;
            self.note_read();
            self.finished = true;
        }
        Ok(())
    }

    /// Returns output `index`, counted from 0, once [`finish`](Ticket::finish) has waited for the submission.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) when there is no such output, or when `finish` was not called or
    /// failed.
    #[inline]
    pub fn output(&self, index: usize) -> Result<&[u8]> {
        if !self.finished {
            return Err(no_output(index, self.outputs()));
        }
        // SAFETY: the launch has finished.
        unsafe { self.results.output(index) }
    }

    /// Waits for the submission and copies each output into its slice of `destinations`.
    ///
    /// # Errors
    /// The errors of [`read`](Ticket::read), and [`Error::Invalid`] when the number of slices is not that of the
    /// outputs or a slice has another length than its output.
    pub fn read_into(self, destinations: &mut [&mut [u8]]) -> Result<()> {
        let output = self.read()?;
        if output.len() != destinations.len() {
            let problem = format!("{} destinations for {} outputs", destinations.len(), output.len());
            return Err(Error::invalid("Ticket::read_into", problem));
        }
        for (i, d) in destinations.iter_mut().enumerate() {
            let bytes = output.bytes(i)?;
            if bytes.len() != d.len() {
                let problem = format!("destination {i} has {} bytes, the output {}", d.len(), bytes.len());
                return Err(Error::invalid("Ticket::read_into", problem));
            }
            d.copy_from_slice(bytes);
        }
        Ok(())
    }

    #[inline]
    fn wait(&self) -> Result<()> {
        let Results { stream_state, position, buffer } = &self.results;
        let device = stream_state.device();
        match buffer {
            _ if stream_state.progress().completed() >= *position => Ok(()),
            Some(buffer) => {
                device.check()?;
                stream_state
                    .driver_stream
                    .wait_for(*position, buffer.value.event)
                    .map_err(|e| device.error(e))
            }
            None => stream_state.synchronize(),
        }?;
        stream_state.collect();
        Ok(())
    }
}

impl Future for Ticket {
    type Output = Result<Output>;

    /// Returns the outputs once the submission has finished. Before that, the first poll has the waker's thread watch
    /// for it.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.is_ready() {
            match &self.waiting {
                Some(registration) => registration.set(context.waker()),
                None => {
                    let Results { stream_state, position, buffer } = &self.results;
                    let (stream_state, position) = (stream_state.clone(), *position);
                    let event = buffer.as_ref().map(|buffer| buffer.value.event);
                    let awaited = Awaited::Ticket { stream_state, position, event };
                    self.waiting = Some(waker::watch(awaited, context.waker()));
                }
            }
            // If the work has finished since `is_ready`, the waker's thread sees it in its next round.
            return Poll::Pending;
        }
        let Results { stream_state, position, buffer } = &mut self.results;
        let (stream_state, position, buffer) = (stream_state.clone(), *position, buffer.take());
        Poll::Ready(Ticket::new(stream_state, position, buffer).read())
    }
}

#[cold]
fn no_output(index: usize, outputs: usize) -> Error {
    Error::invalid("Output::bytes", format!("output {index} of {outputs}"))
}

/// The outputs of a submission that has finished. They lie in pinned memory of the stream, which the stream uses again
/// after this is dropped.
#[derive(Debug)]
pub struct Output {
    results: Results,
}

impl Output {
    /// Returns the number of outputs.
    pub fn len(&self) -> usize {
        self.results.outputs()
    }

    /// Returns whether there are no outputs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of output `index`, counted from 0. They are aligned to 64 bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is no such output.
    pub fn bytes(&self, index: usize) -> Result<&[u8]> {
        // SAFETY: the launch has finished.
        unsafe { self.results.output(index) }
    }

    /// Returns output `index`, counted from 0, as elements.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is no such output or its length is not a multiple of `T`'s size.
    pub fn slice<T: Pod>(&self, index: usize) -> Result<&[T]> {
        let bytes = self.bytes(index)?;
        bytemuck::try_cast_slice(bytes).map_err(|e| {
            let problem =
                format!("output {index} of {} bytes as {}: {e}", bytes.len(), std::any::type_name::<T>());
            Error::invalid("Output::slice", problem)
        })
    }

    /// Returns output `index`, counted from 0, as one value.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is no such output or its length is not `T`'s size.
    pub fn value<T: Pod>(&self, index: usize) -> Result<T> {
        let bytes = self.bytes(index)?;
        bytemuck::try_pod_read_unaligned(bytes).map_err(|e| {
            let problem =
                format!("output {index} of {} bytes as {}: {e}", bytes.len(), std::any::type_name::<T>());
            Error::invalid("Output::value", problem)
        })
    }
}
