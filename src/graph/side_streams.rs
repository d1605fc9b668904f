//! The streams and events of a program's branches, beside one main stream.

use crate::device::Device;
use crate::error::Result;
use crate::stream::{Event, StreamState};
use hip_driver::{DriverResult, EventOptions, RawStream};

use super::branches::Schedule;

/// Streams beside a main stream, which owns them, and the events between them. They are used under the main stream's
/// lock, after its earlier work and before its later work. So programs share the streams, and each compute records the
/// same events again.
#[derive(Debug)]
pub(super) struct SideStreams {
    streams: Vec<RawStream>,
    events: Vec<Event>,
}

impl SideStreams {
    /// Creates events, and streams if the main stream has too few.
    pub(super) fn new(stream_state: &StreamState, schedule: &Schedule) -> Result<SideStreams> {
        let streams = stream_state.side_streams(schedule.streams - 1)?;
        // After a failure, each side stream needs an event.
        let count = schedule.events.max(streams.len() as u32);
        let event = |_| Event::new(stream_state.device(), EventOptions::default());
        Ok(SideStreams { events: (0..count).map(event).collect::<Result<_>>()?, streams })
    }

    /// Returns the stream of a step.
    pub(super) fn of(&self, schedule: &Schedule, step: usize, main: RawStream) -> RawStream {
        match schedule.stream_of[step] {
            0 => main,
            side => self.streams[usize::from(side) - 1],
        }
    }

    /// Makes later work on `main` come after the enqueued steps, because memory is freed in its order. To be called
    /// after a step was refused.
    pub(super) fn abandon(&self, device: &Device, main: RawStream) {
        for (event, &stream) in (0u32..).zip(&self.streams) {
            let joined = self.record(device, event, stream).and_then(|()| self.wait(device, event, main));
            if joined.is_err() {
                // SAFETY: a stream that the main stream owns, and that lives as long.
                if let Err(e) = unsafe { device.raw().stream_synchronize(device.id(), stream) } {
                    log::warn!("waiting for a branch of a graph on {}: {e}", device.id());
                }
            }
        }
    }

    /// Records an event on a stream.
    pub(super) fn record(&self, device: &Device, event: u32, stream: RawStream) -> DriverResult<()> {
        let event = self.events[event as usize].raw();
        // SAFETY: an event of ours and a live stream, of one device.
        unsafe { device.raw().event_record(device.id(), event, stream) }
    }

    /// Makes later work on a stream wait for an event.
    pub(super) fn wait(&self, device: &Device, event: u32, stream: RawStream) -> DriverResult<()> {
        let event = self.events[event as usize].raw();
        // SAFETY: an event of ours and a live stream, of one device.
        unsafe { device.raw().stream_wait_event(device.id(), stream, event) }
    }
}
