//! The streams and events of a program's branches, on one stream.

use crate::device::Device;
use crate::error::Result;
use crate::event::Event;
use crate::launcher::Lane;
use hip_driver::{DriverResult, RawStream};

use super::branches::Schedule;

/// Streams that run beside a stream, which owns them, and the events that join them. Every use of them is under that
/// stream's lock, after what it waits for at its start and before what waits for it at its end; so programs share the
/// streams, and events are recorded again by the next compute.
#[derive(Debug)]
pub(super) struct SideStreams {
    streams: Vec<RawStream>,
    events: Vec<Event>,
}

impl SideStreams {
    /// Makes events, and streams where the lane has too few.
    pub(super) fn new(lane: &Lane, schedule: &Schedule) -> Result<SideStreams> {
        let streams = lane.side_streams(schedule.streams - 1)?;
        // After a failure, each stream needs one.
        let count = schedule.events.max(streams.len() as u32);
        let event = |_| Event::new(lane.core.device(), false);
        Ok(SideStreams { events: (0..count).map(event).collect::<Result<_>>()?, streams })
    }

    /// The stream of a step.
    pub(super) fn of(&self, schedule: &Schedule, step: usize, main: RawStream) -> RawStream {
        match schedule.stream_of[step] {
            0 => main,
            side => self.streams[usize::from(side) - 1],
        }
    }

    /// Before the first step.
    pub(super) fn fork(&self, device: &Device, schedule: &Schedule, main: RawStream) -> DriverResult<()> {
        schedule.fork.map_or(Ok(()), |event| self.record(device, event, main))
    }

    /// Before a step on its `stream`.
    pub(super) fn before(
        &self,
        device: &Device,
        schedule: &Schedule,
        step: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        schedule.waits[step].iter().try_for_each(|&event| self.wait(device, event, stream))
    }

    /// After a step on its `stream`.
    pub(super) fn after(
        &self,
        device: &Device,
        schedule: &Schedule,
        step: usize,
        stream: RawStream,
    ) -> DriverResult<()> {
        schedule.records[step].map_or(Ok(()), |event| self.record(device, event, stream))
    }

    /// After the last step: what comes next on `main` comes after all of them.
    pub(super) fn join(&self, device: &Device, schedule: &Schedule, main: RawStream) -> DriverResult<()> {
        schedule.joins.iter().try_for_each(|&event| self.wait(device, event, main))
    }

    /// After a step was refused: what was enqueued so far comes before what comes next on `main`, as memory is given
    /// back in its order.
    pub(super) fn abandon(&self, device: &Device, main: RawStream) {
        for (event, &stream) in (0u32..).zip(&self.streams) {
            let joined = self.record(device, event, stream).and_then(|()| self.wait(device, event, main));
            if joined.is_err() {
                // SAFETY: the lane's own stream, which lives as long as the lane.
                if let Err(e) = unsafe { device.raw().stream_synchronize(device.id(), stream) } {
                    log::warn!("waiting for a branch of a graph on {}: {e}", device.id());
                }
            }
        }
    }

    fn record(&self, device: &Device, event: u32, stream: RawStream) -> DriverResult<()> {
        let event = self.events[event as usize].raw();
        // SAFETY: an event of ours and a live stream, of one device.
        unsafe { device.raw().event_record(device.id(), event, stream) }
    }

    fn wait(&self, device: &Device, event: u32, stream: RawStream) -> DriverResult<()> {
        let event = self.events[event as usize].raw();
        // SAFETY: an event of ours and a live stream, of one device.
        unsafe { device.raw().stream_wait_event(device.id(), stream, event) }
    }
}
