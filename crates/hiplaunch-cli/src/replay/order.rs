//! Replays once more under the validation layer, with work that writes each block on every stream that uses it: memory
//! that is handed out too early shows as a race.

use std::sync::Arc;

use hip_driver::{DeviceId, Driver, Work};
use hip_driver_layers::validation::{ValidationDriver, Violation};
use hiplaunch::Stream;
use hiplaunch::memory::{PoolBlock, PoolOptions};
use hiplaunch::{Error, Event};

use super::play::{Place, Rig, Used};
use super::read::Trace;

/// What the validation layer found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Work that touches the same bytes without an order.
    pub(super) order: u64,
    /// Everything else.
    pub(super) others: u64,
    /// The first of them.
    pub(super) first: Vec<String>,
}

impl Found {
    pub(super) fn add(&mut self, violations: &[Violation]) {
        for violation in violations {
            match violation.is_order() {
                true => self.order += 1,
                false => self.others += 1,
            }
            if self.first.len() < 10 {
                self.first.push(violation.to_string());
            }
        }
    }

    pub(super) fn leaks(&mut self, layer: &ValidationDriver) {
        let leaks = layer.report_leaks();
        self.others += leaks.len() as u64;
        let room = 10 - self.first.len().min(10);
        self.first.extend(leaks.iter().take(room).map(|leak| leak.to_string()));
    }

    pub(super) fn total(&self) -> u64 {
        self.order + self.others
    }
}

/// Writes blocks.
struct Writer {
    driver: Arc<dyn Driver>,
    /// The event that the last writer of each block recorded behind its write.
    written: Vec<Option<Event>>,
    events: Vec<Event>,
}

impl Writer {
    /// Fills all of a block in the order of `stream`, and records an event behind it.
    fn write(&mut self, index: usize, block: &PoolBlock, stream: &Stream) -> Result<(), Error> {
        let (device, bytes): (DeviceId, usize) = (block.device_id(), block.bytes().max(1) as usize);
        // SAFETY: the bytes are a live block's, and the stream one of its device. Whoever gets them next is what is being
        // looked for: the fill does no harm then, as nobody reads them.
        unsafe {
            self.driver.enqueue(
                device,
                stream.raw(),
                &Work::FillBytes { dst: block.ptr(), value: 0xa5, bytes },
            )
        }?;
        let event = match self.events.pop() {
            Some(event) => event,
            None => Event::new(stream.device(), false)?,
        };
        event.record(stream)?;
        match self.written.get_mut(index) {
            Some(slot) => self.events.extend(slot.replace(event)),
            None => self.events.push(event),
        }
        Ok(())
    }
}

impl Used for Writer {
    fn allocated(&mut self, at: Place, block: &PoolBlock, stream: &Stream) -> Result<(), Error> {
        self.write(at.block, block, stream)
    }

    /// Behind the last write, as a program would order it.
    fn recorded(&mut self, at: Place, block: &PoolBlock, stream: &Stream) -> Result<(), Error> {
        if let Some(Some(event)) = self.written.get(at.block) {
            event.wait_on(stream)?;
        }
        self.write(at.block, block, stream)
    }

    fn freed(&mut self, at: Place, _: &PoolBlock) {
        self.events.extend(self.written.get_mut(at.block).and_then(Option::take));
    }
}

/// Operations between two looks at the layer, which keeps a thousand violations.
const BETWEEN: usize = 256;

/// Replays a trace and counts what is not ordered.
pub(super) fn check(driver: &Arc<dyn Driver>, trace: &Trace, options: &PoolOptions) -> Result<Found, Error> {
    let layer = ValidationDriver::new(driver.clone());
    let over: Arc<dyn Driver> = layer.clone();
    let mut found = Found::default();
    {
        let mut rig = Rig::open(&over, trace, options)?;
        let written = (0..trace.blocks).map(|_| None).collect();
        let mut writer = Writer { driver: over, written, events: Vec::new() };
        for ops in trace.ops.chunks(BETWEEN) {
            for op in ops {
                rig.step(*op, &mut writer)?;
            }
            found.add(&layer.take_violations());
        }
        rig.finish()?;
    }
    found.add(&layer.take_violations());
    found.leaks(&layer);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::none::NoneDriver;
    use super::*;
    use hip_driver::StreamOptions;
    use hiplaunch::Device;

    /// A use that nobody told the pool of is found when the memory has another owner.
    #[test]
    fn a_use_that_was_not_recorded_is_a_race() {
        for record in [true, false] {
            let layer = ValidationDriver::new(NoneDriver::open(1));
            let over: Arc<dyn Driver> = layer.clone();
            let device = Device::open(over.clone(), DeviceId(0)).unwrap();
            let streams = [0, 1].map(|_| Stream::new(&device, StreamOptions::default()).unwrap());
            let mut writer = Writer { driver: over, written: vec![None, None], events: Vec::new() };
            let block = device.pool().allocate(&streams[0], 1000).unwrap();
            let address = block.ptr();
            let [first, second] = [0, 1].map(|block| Place { block, device: 0 });
            writer.allocated(first, &block, &streams[0]).unwrap();
            if record {
                streams[1].record_use(&block).unwrap();
            }
            writer.recorded(first, &block, &streams[1]).unwrap();
            writer.freed(first, &block);
            drop(block);
            let next = device.pool().allocate(&streams[0], 1000).unwrap();
            writer.allocated(second, &next, &streams[0]).unwrap();
            let mut found = Found::default();
            found.add(&layer.take_violations());
            assert_eq!(
                (found.order > 0, found.others, next.ptr() == address),
                (!record, 0, !record),
                "{found:?}"
            );
        }
    }
}
