//! Runs the operations of a pool trace on empty pools of a device.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hip_driver::{DeviceId, Driver, StreamOptions};
use hiplaunch::Stream;
use hiplaunch::memory::{Pool, PoolBlock, PoolCounters, PoolOptions, PoolSnapshot};
use hiplaunch::{Device, Error};

use super::read::{Kind, Op, Trace};

/// The driver, device and pool options of a replay. All pools are of the one device, one for each of the trace's
/// devices.
pub(super) struct ReplayTarget<'a> {
    pub(super) driver: &'a Arc<dyn Driver>,
    pub(super) device: DeviceId,
    pub(super) options: PoolOptions,
}

/// The result of a replay.
#[derive(Debug)]
pub(super) struct Replayed {
    /// The counters of each pool at the end.
    pub(super) counters: Vec<PoolCounters>,
    /// The number of allocations that failed for want of memory.
    pub(super) failures: u64,
    /// The time of all operations together.
    pub(super) time: Duration,
    /// The index of the pool for which most bytes were requested at once, and the number of operations until then.
    peak: (usize, usize),
}

/// The pools, streams and blocks of a replay.
struct Player {
    // Dropped before the streams, so that no stream has blocks in use.
    blocks: Vec<Option<PoolBlock>>,
    /// Each stream of the trace, with the index of its pool.
    streams: Vec<(Stream, usize)>,
    pools: Vec<Pool>,
    failures: u64,
}

impl Player {
    fn open(target: &ReplayTarget<'_>, trace: &Trace) -> Result<Player, Error> {
        let open = |_: &u32| Device::open_with(target.driver.clone(), target.device, &target.options);
        let devices = trace.devices.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let stream = |device: usize| Ok((Stream::new(&devices[device], StreamOptions::default())?, device));
        let streams = trace.streams.iter().map(|s| stream(s.device)).collect::<Result<Vec<_>, Error>>()?;
        let blocks = (0..trace.blocks).map(|_| None).collect();
        Ok(Player { blocks, streams, pools: devices.iter().map(Device::pool).collect(), failures: 0 })
    }

    fn step(&mut self, op: Op) -> Result<(), Error> {
        let (stream, pool) = &self.streams[op.stream];
        let block = &mut self.blocks[op.block];
        match op.kind {
            Kind::Allocate { bytes } => match self.pools[*pool].allocate(stream, bytes) {
                Ok(new) => *block = Some(new),
                Err(Error::OutOfMemory(_)) => self.failures += 1,
                Err(e) => return Err(e),
            },
            Kind::Record => {
                if let Some(block) = block {
                    stream.record_use(block);
                }
            }
            Kind::Free => *block = None,
        }
        Ok(())
    }

    /// Frees the blocks that the trace never freed, and waits for all work.
    fn finish(mut self) -> Result<(), Error> {
        self.blocks.clear();
        self.streams.iter().try_for_each(|(stream, _)| stream.synchronize())
    }
}

/// Replays a trace on empty pools.
///
/// # Errors
/// Returns the driver's error. An allocation that fails for want of memory is only counted.
pub(super) fn replay(target: &ReplayTarget<'_>, trace: &Trace) -> Result<Replayed, Error> {
    let mut player = Player::open(target, trace)?;
    let start = Instant::now();
    trace.ops.iter().try_for_each(|op| player.step(*op))?;
    let time = start.elapsed();
    let counters = player.pools.iter().map(Pool::counters).collect();
    let failures = player.failures;
    player.finish()?;
    Ok(Replayed { counters, failures, time, peak: peak(trace) })
}

/// Returns the index of the device for which most bytes are requested at once, and the number of operations until then.
fn peak(trace: &Trace) -> (usize, usize) {
    let (mut sizes, mut now) = (vec![0u64; trace.blocks], vec![0u64; trace.devices.len()]);
    let mut most = (0, (0, 0));
    for (i, op) in trace.ops.iter().enumerate() {
        let device = trace.streams[op.stream].device;
        match op.kind {
            Kind::Allocate { bytes } => {
                sizes[op.block] = bytes;
                now[device] = now[device].saturating_add(bytes);
                if now[device] > most.0 {
                    most = (now[device], (device, i + 1));
                }
            }
            Kind::Record => {}
            Kind::Free => now[device] = now[device].saturating_sub(sizes[op.block]),
        }
    }
    most.1
}

impl Replayed {
    /// Replays the trace again up to the moment when most bytes are requested, and returns a snapshot of that pool,
    /// with the trace's numbers of streams.
    ///
    /// # Errors
    /// Returns the driver's error, as [`replay`].
    pub(super) fn snapshot(
        &self,
        target: &ReplayTarget<'_>,
        trace: &Trace,
    ) -> Result<Option<PoolSnapshot>, Error> {
        let mut player = Player::open(target, trace)?;
        let (pool, operations) = self.peak;
        trace.ops.iter().take(operations).try_for_each(|op| player.step(*op))?;
        let numbers: HashMap<u64, u64> = player
            .streams
            .iter()
            .zip(&trace.streams)
            .map(|((own, _), traced)| (own.number(), traced.number))
            .collect();
        let snapshot = player.pools.get(pool).map(|pool| {
            let mut snapshot = pool.snapshot();
            let traced = |number: &mut u64| *number = numbers.get(number).copied().unwrap_or(*number);
            snapshot.segments.iter_mut().for_each(|segment| traced(&mut segment.stream));
            snapshot.counters.streams.iter_mut().for_each(|stream| traced(&mut stream.stream));
            snapshot
        });
        player.finish()?;
        Ok(snapshot)
    }
}
