//! Runs a trace's operations on the pools of a driver's devices.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hip_driver::{DeviceId, Driver, StreamOptions};
use hiplaunch::Stream;
use hiplaunch::memory::{Pool, PoolBlock, PoolCounters, PoolOptions, PoolSnapshot};
use hiplaunch::{Device, Error};

use super::read::{Kind, Op, Trace};

/// Empty pools and a stream for each of the trace's, on devices of a driver.
pub(super) struct Rig {
    // Blocks go before their streams, so that these leave nothing in use.
    blocks: Vec<Option<PoolBlock>>,
    /// A stream, and its device's index.
    pub(super) streams: Vec<(Stream, usize)>,
    pools: Vec<Pool>,
    pub(super) devices: Vec<Device>,
    /// Allocations that found no memory.
    pub(super) failures: u64,
}

impl Rig {
    /// Each device of the trace has a pool of its own; where the driver has fewer devices, they share one.
    pub(super) fn open(driver: &Arc<dyn Driver>, trace: &Trace, options: &PoolOptions) -> Result<Rig, Error> {
        let count = driver.device_count()?.max(1);
        let open = |i: usize| Device::open_with(driver.clone(), DeviceId(i as u32 % count), options);
        let devices = (0..trace.devices.len()).map(open).collect::<Result<Vec<_>, _>>()?;
        let stream = |device: usize| -> Result<(Stream, usize), Error> {
            let on = devices.get(device).ok_or_else(|| Error::Invalid {
                what: "replay",
                problem: format!("device {device} of {}", devices.len()).into(),
            })?;
            Ok((Stream::new(on, StreamOptions::default())?, device))
        };
        let streams = trace.streams.iter().map(|s| stream(s.device)).collect::<Result<Vec<_>, _>>()?;
        let pools = devices.iter().map(Device::pool).collect();
        let blocks = (0..trace.blocks).map(|_| None).collect();
        Ok(Rig { blocks, streams, pools, devices, failures: 0 })
    }

    /// One operation; `used` sees each use of a block: by the stream that it is allocated for, and by others.
    #[inline]
    pub(super) fn step(&mut self, op: Op, used: &mut impl Used) -> Result<(), Error> {
        let (Some((stream, device)), Some(block)) =
            (self.streams.get(op.stream), self.blocks.get_mut(op.block))
        else {
            return Ok(());
        };
        let at = Place { block: op.block, device: *device };
        match op.kind {
            Kind::Allocate { bytes } => {
                let Some(pool) = self.pools.get(*device) else { return Ok(()) };
                match pool.allocate(stream, bytes) {
                    Ok(new) => {
                        used.allocated(at, &new, stream)?;
                        *block = Some(new);
                    }
                    Err(Error::OutOfMemory(_)) => self.failures += 1,
                    Err(e) => return Err(e),
                }
            }
            Kind::Record => {
                if let Some(block) = block {
                    stream.record_use(block)?;
                    used.recorded(at, block, stream)?;
                }
            }
            Kind::Free => {
                if let Some(block) = block.take() {
                    used.freed(at, &block);
                }
            }
        }
        Ok(())
    }

    /// The counters of each device's pool.
    pub(super) fn counters(&self) -> Vec<PoolCounters> {
        self.pools.iter().map(Pool::counters).collect()
    }

    /// Gives back what the trace never freed, and waits for all work.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.blocks.clear();
        self.streams.iter().try_for_each(|(stream, _)| stream.synchronize())
    }
}

/// Which block of the trace, on which of its devices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) block: usize,
    pub(super) device: usize,
}

/// Sees what becomes of blocks.
pub(super) trait Used {
    /// A block was allocated.
    fn allocated(&mut self, _at: Place, _block: &PoolBlock, _stream: &Stream) -> Result<(), Error> {
        Ok(())
    }
    /// Another stream uses it.
    fn recorded(&mut self, _at: Place, _block: &PoolBlock, _stream: &Stream) -> Result<(), Error> {
        Ok(())
    }
    /// It goes back.
    fn freed(&mut self, _at: Place, _block: &PoolBlock) {}
}

/// Looks at nothing.
pub(super) struct Nobody;

impl Used for Nobody {}

/// Nanoseconds of an operation, over a whole trace on empty pools.
pub(super) fn timed(driver: &Arc<dyn Driver>, trace: &Trace, options: &PoolOptions) -> Result<f64, Error> {
    let mut rig = Rig::open(driver, trace, options)?;
    let start = Instant::now();
    for op in &trace.ops {
        rig.step(*op, &mut Nobody)?;
    }
    let spent: Duration = start.elapsed();
    rig.finish()?;
    Ok(spent.as_secs_f64() * 1e9 / trace.ops.len().max(1) as f64)
}

/// What one replay did.
#[derive(Debug)]
pub(super) struct Measured {
    /// Of each device's pool, at the end.
    pub(super) counters: Vec<PoolCounters>,
    pub(super) failures: u64,
    /// Bytes that owners of live blocks had asked for, at the most, of each device.
    pub(super) peak_requested: Vec<u64>,
    /// The device with most, and after which operation.
    pub(super) peak_at: (usize, usize),
}

/// Bytes asked for by live blocks, of each device.
struct Requested {
    now: Vec<u64>,
    peak: Vec<(u64, usize)>,
    /// The operation.
    at: usize,
}

impl Used for Requested {
    fn allocated(&mut self, at: Place, block: &PoolBlock, _: &Stream) -> Result<(), Error> {
        if let (Some(now), Some(peak)) = (self.now.get_mut(at.device), self.peak.get_mut(at.device)) {
            *now += block.bytes();
            if *now > peak.0 {
                *peak = (*now, self.at);
            }
        }
        Ok(())
    }

    fn freed(&mut self, at: Place, block: &PoolBlock) {
        if let Some(now) = self.now.get_mut(at.device) {
            *now -= block.bytes();
        }
    }
}

/// Replays once and counts.
pub(super) fn measure(
    driver: &Arc<dyn Driver>,
    trace: &Trace,
    options: &PoolOptions,
) -> Result<Measured, Error> {
    let mut rig = Rig::open(driver, trace, options)?;
    let devices = rig.devices.len();
    let mut requested = Requested { now: vec![0; devices], peak: vec![(0, 0); devices], at: 0 };
    for (at, op) in trace.ops.iter().enumerate() {
        requested.at = at;
        rig.step(*op, &mut requested)?;
    }
    let peaks = requested.peak.iter().enumerate();
    let peak_at = peaks.max_by_key(|(_, peak)| peak.0).map_or((0, 0), |(device, peak)| (device, peak.1));
    let measured = Measured {
        counters: rig.counters(),
        failures: rig.failures,
        peak_requested: requested.peak.iter().map(|(bytes, _)| *bytes).collect(),
        peak_at,
    };
    rig.finish()?;
    Ok(measured)
}

/// A device's pool when most was asked for, its streams by their numbers in the trace.
pub(super) fn at_peak(
    driver: &Arc<dyn Driver>,
    trace: &Trace,
    options: &PoolOptions,
    (device, at): (usize, usize),
) -> Result<Option<PoolSnapshot>, Error> {
    let mut rig = Rig::open(driver, trace, options)?;
    for op in trace.ops.iter().take(at + 1) {
        rig.step(*op, &mut Nobody)?;
    }
    let snapshot = rig.pools.get(device).map(|pool| {
        let mut snapshot = pool.snapshot();
        let numbers = rig.streams.iter().zip(&trace.streams);
        let numbers: std::collections::HashMap<u64, u64> =
            numbers.map(|((own, _), traced)| (own.number(), traced.number)).collect();
        let traced = |number: &mut u64| *number = numbers.get(number).copied().unwrap_or(*number);
        snapshot.segments.iter_mut().for_each(|segment| traced(&mut segment.stream));
        snapshot.counters.streams.iter_mut().for_each(|stream| traced(&mut stream.stream));
        snapshot
    });
    rig.finish()?;
    Ok(snapshot)
}
