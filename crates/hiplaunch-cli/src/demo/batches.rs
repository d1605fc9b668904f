//! The demo's second table: the device calls of a batch of operations, by the memory that receives their results.

use hip_driver_layers::validation::CallCounts;
use hiplaunch::memory::{PoolBackend, PoolOptions};
use hiplaunch::{
    Device, DeviceBuffer, Error, Event, EventOptions, KernelHandle, LaunchDims, Launcher, Stream, args,
};

use crate::CommandError;
use crate::bench::methods::MeasureError;
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

/// The memory that receives the results: its name in the table, and a description.
pub(super) type Destination = (&'static str, &'static str);

const PLAIN: Destination = ("plain", "a new buffer for each result, without a pool");
const FRESH: Destination = ("fresh", "a new buffer for each result, from the pool");
const REUSED: Destination = ("reused", "two buffers in turn, by DeviceBuffer::ensure_len");
const HANDED_ON: Destination =
    ("handed on", "as fresh; a second stream reads each, which Stream::record_use records");

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
    /// Buffers that the next operations use again.
    kept: Vec<DeviceBuffer<f32>>,
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
        Ok(Bench { launcher, device, kernel, first, second, host, x, y, read, ready, kept: Vec::new() })
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

    /// Runs a batch. Without reuse, the buffer before is freed as soon as its reader is enqueued.
    fn batch(
        &mut self,
        number: u64,
        destination: Destination,
        moment: &dyn Fn(),
    ) -> Result<(), MeasureError> {
        let mut last: Option<DeviceBuffer<f32>> = None;
        for k in 0..OPERATIONS {
            let mut to = match self.kept.pop() {
                Some(kept) => kept,
                None => DeviceBuffer::on(&self.first, elements(k))?,
            };
            to.ensure_len(&self.first, elements(k))?;
            self.add(&self.first, last.as_ref().unwrap_or(&self.x), &to, elements(k))?;
            if destination == HANDED_ON
                && let Some(block) = to.block()
            {
                self.ready.record(&self.first)?;
                self.ready.wait_on(&self.second)?;
                self.second.record_use(block);
                self.add(&self.second, &to, &self.read, elements(k))?;
            }
            let before = last.replace(to);
            self.kept.extend(before.filter(|_| destination == REUSED));
        }
        if destination == HANDED_ON {
            for stream in [&self.first, &self.second] {
                DeviceBuffer::<f32>::on(stream, SHARED_ELEMENTS)?.fill_bytes(stream, 0)?;
            }
        }
        moment();
        last.as_ref().map_or(Ok(()), |last| self.check(number, last))?;
        self.kept.extend(last.filter(|_| destination == REUSED));
        Ok(())
    }

    /// Compares a batch's last result with the host's. All streams' work has finished afterwards.
    fn check(&self, number: u64, result: &DeviceBuffer<f32>) -> Result<(), MeasureError> {
        let (got, want) = (result.to_vec(&self.first)?, self.expected());
        if let Some(i) = got.iter().zip(&want).position(|(got, want)| got != want) {
            return Err(MeasureError::Wrong(format!(
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
    ) -> Result<Batches, MeasureError> {
        let pool = self.device.pool();
        let sums = || {
            let calls = session.launcher.validation().map(|layer| layer.counts()).unwrap_or_default();
            let counters = pool.counters();
            (calls, counters.hits + counters.misses)
        };
        for number in 0..WARM_UP {
            self.batch(number, destination, moment)?;
        }
        let before = sums();
        for number in WARM_UP..WARM_UP + COUNTED {
            self.batch(number, destination, moment)?;
        }
        let after = sums();
        Ok(Batches {
            destination,
            counts: after.0.since(&before.0),
            blocks: after.1 - before.1,
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
    let one = |destination: Destination| -> Result<Batches, MeasureError> {
        if destination != PLAIN {
            let mut bench = Bench::new(&session.launcher, &session.device)?;
            return bench.run(session, destination, &|| session.record_moment());
        }
        // Another launcher over the same driver, whose calls are counted, too.
        let options = PoolOptions { backend: PoolBackend::Plain, ..PoolOptions::default() };
        let driver = session.launcher.driver().clone();
        let launcher = Launcher::builder().driver(driver).validate(false).pool(options).build()?;
        let device = launcher.device(session.device.id().0)?;
        Bench::new(&launcher, device)?.run(session, destination, &|| {})
    };
    let all = [PLAIN, FRESH, REUSED, HANDED_ON].into_iter();
    all.map(|destination| one(destination).map_err(|error| error.of(destination.0))).collect()
}
