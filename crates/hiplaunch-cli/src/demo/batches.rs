//! The demo's second table: the device calls of a batch of operations, by the memory that receives their results.

use hip_driver_layers::validation::CallCounts;
use hiplaunch::memory::{PoolBackend, PoolOptions};
use hiplaunch::{
    Device, DeviceBuffer, Error, Event, EventOptions, KernelHandle, LaunchDims, Launcher, Stream, args,
};

use super::stopped;
use crate::CommandError;
use crate::bench::methods::Stop;
use crate::kernels::VECTOR;
use crate::session::CommandSession;

/// The number of operations of a batch.
pub(super) const OPERATIONS: usize = 20;
/// The number of batches before anything is counted, and the number of counted batches.
const WARM_UP: u64 = 4;
const COUNTED: u64 = 8;
/// The number of elements of the first operation's result. Each later result is shorter.
const ELEMENTS: usize = 1024;
/// The number of elements of a buffer that two streams fill in turn. It is larger than a small pool block.
const SHARED_ELEMENTS: usize = 65536;

/// The memory that receives the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    Plain,
    Fresh,
    Reused,
    HandedOn,
}

impl Destination {
    const ALL: [Destination; 4] =
        [Destination::Plain, Destination::Fresh, Destination::Reused, Destination::HandedOn];

    pub(super) fn name(self) -> &'static str {
        match self {
            Destination::Plain => "plain",
            Destination::Fresh => "fresh",
            Destination::Reused => "reused",
            Destination::HandedOn => "handed on",
        }
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            Destination::Plain => "a new buffer for each result, without a pool",
            Destination::Fresh => "a new buffer for each result, from the pool",
            Destination::Reused => "two buffers in turn, by DeviceBuffer::ensure_len",
            Destination::HandedOn => "as fresh; a second stream reads each, which Stream::record_use records",
        }
    }
}

/// Returns values that differ, and whose sums are exact.
fn values(step: usize) -> Vec<f32> {
    (0..ELEMENTS).map(|i| (i * step % 101) as f32 * 0.125 - 6.0).collect()
}

/// The number of elements of operation `k`'s result.
fn elements(k: usize) -> usize {
    ELEMENTS - 32 * k
}

/// The calls of the counted batches.
#[derive(Debug)]
pub(super) struct Batches {
    pub(super) destination: Destination,
    pub(super) counts: CallCounts,
    /// The number of pool blocks that were allocated.
    pub(super) blocks: u64,
    pub(super) batches: u64,
}

/// The kernel, two streams and the inputs. A batch computes `x + y + y + ...`.
struct Bench {
    launcher: Launcher,
    device: Device,
    kernel: KernelHandle,
    first: Stream,
    second: Stream,
    host: (Vec<f32>, Vec<f32>),
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    /// The result of the second stream.
    read: DeviceBuffer<f32>,
    ready: Event,
}

impl Bench {
    fn new(launcher: &Launcher, device: &Device) -> Result<Bench, Error> {
        let (first, second) = (launcher.stream(device)?, launcher.stream(device)?);
        let host = (values(7), values(11));
        let x = DeviceBuffer::from_slice(&first, &host.0)?;
        let y = DeviceBuffer::from_slice(&first, &host.1)?;
        let read = DeviceBuffer::on(&second, ELEMENTS)?;
        let ready = Event::new(device, EventOptions::default())?;
        // The second stream reads y too.
        first.synchronize()?;
        // SAFETY: the demo's own kernel.
        let kernel = unsafe { launcher.register(device, VECTOR.for_device(device)?.elf(), "vadd_f32") }?;
        let (launcher, device) = (launcher.clone(), device.clone());
        Ok(Bench { launcher, device, kernel, first, second, host, x, y, read, ready })
    }

    fn add(
        &self,
        stream: &Stream,
        from: &DeviceBuffer<f32>,
        to: &DeviceBuffer<f32>,
        n: usize,
    ) -> Result<(), Error> {
        let args = args![from, &self.y, to, n as i32];
        // SAFETY: all three have at least `n` elements. They live until the stream's work that uses them has finished,
        // or are freed in the stream's order.
        unsafe { self.launcher.launch(self.kernel, stream, LaunchDims::cover(n as u32, 256), &args) }?;
        Ok(())
    }

    /// Computes the last operation's result on the host.
    fn expected(&self) -> Vec<f32> {
        let mut sum = self.host.0.clone();
        for k in 0..OPERATIONS {
            sum.truncate(elements(k));
            sum.iter_mut().zip(&self.host.1).for_each(|(sum, y)| *sum += y);
        }
        sum
    }

    /// Runs a batch with a new buffer for each result. The buffer before is freed as soon as its reader is enqueued.
    fn fresh(&mut self, number: u64, hand_on: bool, at_end: &dyn Fn()) -> Result<(), Stop> {
        let mut last: Option<DeviceBuffer<f32>> = None;
        for k in 0..OPERATIONS {
            let to = DeviceBuffer::on(&self.first, elements(k))?;
            self.add(&self.first, last.as_ref().unwrap_or(&self.x), &to, elements(k))?;
            if hand_on && let Some(block) = to.block() {
                self.ready.record(&self.first)?;
                self.ready.wait_on(&self.second)?;
                self.second.record_use(block);
                self.add(&self.second, &to, &self.read, elements(k))?;
            }
            last = Some(to);
        }
        if hand_on {
            for stream in [&self.first, &self.second] {
                DeviceBuffer::<f32>::on(stream, SHARED_ELEMENTS)?.fill_bytes(stream, 0)?;
            }
        }
        at_end();
        match last {
            Some(last) => self.check(number, &last),
            None => Ok(()),
        }
    }

    /// Runs a batch with two buffers in turn.
    fn reused(&mut self, number: u64, to: &mut [DeviceBuffer<f32>; 2]) -> Result<(), Stop> {
        for k in 0..OPERATIONS {
            let [to, from] = to;
            to.ensure_len(&self.first, elements(k))?;
            self.add(&self.first, if k == 0 { &self.x } else { from }, to, elements(k))?;
            std::mem::swap(to, from);
        }
        self.check(number, &to[1])
    }

    /// Compares a batch's last result with the host's. All streams' work has finished afterwards.
    fn check(&self, number: u64, result: &DeviceBuffer<f32>) -> Result<(), Stop> {
        let (got, want) = (result.to_vec(&self.first)?, self.expected());
        if let Some(i) = got.iter().zip(&want).position(|(got, want)| got != want) {
            return Err(Stop::Wrong(format!(
                "batch {number}, element {i}: got {}, want {}",
                got[i], want[i]
            )));
        }
        Ok(self.second.synchronize()?)
    }

    fn run(
        &mut self,
        session: &CommandSession,
        destination: Destination,
        moment: &dyn Fn(),
    ) -> Result<Batches, Stop> {
        let pool = self.device.pool();
        let counts = || session.launcher.validation().map(|layer| layer.counts()).unwrap_or_default();
        let blocks = || {
            let counters = pool.counters();
            counters.hits + counters.misses
        };
        let mut to = match destination {
            Destination::Reused => {
                [DeviceBuffer::on(&self.first, ELEMENTS)?, DeviceBuffer::on(&self.first, ELEMENTS)?]
            }
            _ => [DeviceBuffer::on(&self.first, 0)?, DeviceBuffer::on(&self.first, 0)?],
        };
        let mut before = (CallCounts::default(), 0);
        for number in 0..WARM_UP + COUNTED {
            if number == WARM_UP {
                before = (counts(), blocks());
            }
            match destination {
                Destination::Reused => self.reused(number, &mut to)?,
                _ => self.fresh(number, destination == Destination::HandedOn, moment)?,
            }
        }
        Ok(Batches {
            destination,
            counts: counts().since(&before.0),
            blocks: blocks() - before.1,
            batches: COUNTED,
        })
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Err(e) = self.launcher.unregister(self.kernel) {
            log::warn!("unregistering a kernel of the demo: {e}");
        }
    }
}

/// Runs the batches of every destination, on a session with the validation layer.
pub(super) fn run(session: &CommandSession) -> Result<Vec<Batches>, CommandError> {
    let mut all = Vec::new();
    for destination in Destination::ALL {
        let one = || -> Result<Batches, Stop> {
            if destination != Destination::Plain {
                let mut bench = Bench::new(&session.launcher, &session.device)?;
                return bench.run(session, destination, &|| session.note_moment());
            }
            // Another launcher over the same driver, whose calls are counted, too.
            let options = PoolOptions { backend: PoolBackend::Plain, ..PoolOptions::default() };
            let driver = session.launcher.driver().clone();
            let launcher = Launcher::builder().driver(driver).validate(false).pool(options).build()?;
            let device = launcher.device(session.device.id().0)?;
            Bench::new(&launcher, device)?.run(session, destination, &|| {})
        };
        all.push(one().map_err(|stop| stopped(destination.name(), stop))?);
    }
    Ok(all)
}
