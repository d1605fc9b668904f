//! The compared pools, as implementations of one trait.

use std::sync::Arc;

use hiplaunch::Stream;
use hiplaunch::driver::{DeviceId, DevicePtr, Driver, StreamOptions};
use hiplaunch::memory::{Pool, PoolBackend, PoolBlock, PoolOptions};
use hiplaunch::{Device, Error};

use super::best_fit::BestFit;
use super::naive::MutexAndMap;

/// The size of every block is a multiple of this number of bytes, in every pool.
pub(crate) const GRANULE: u64 = 256;

/// A pool with a number of streams.
pub(crate) trait Subject: Sync {
    /// An allocated block.
    type Block: Send;

    /// Allocates at least `bytes` bytes in the order of the stream. Returns `None` when there is no memory.
    fn allocate(&self, stream: usize, bytes: u64) -> Option<Self::Block>;

    /// Frees a block in the order of the stream that it was allocated for.
    fn free(&self, stream: usize, block: Self::Block);

    /// The most bytes that the pool held at once, where the driver does not know.
    fn reserved(&self) -> Option<u64> {
        None
    }
}

/// Creates a new pool on a driver.
pub(crate) type Open<'a, S> = &'a dyn Fn(&Arc<dyn Driver>) -> Result<S, Error>;

/// A workload, for any pool.
pub(crate) trait Workload {
    type Output;

    /// Runs on pools that `open` creates.
    fn run<S: Subject>(&self, open: Open<'_, S>) -> Result<Self::Output, Error>;
}

/// The kinds of pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Returns numbers: its time is that of the benchmark itself, which every other row contains.
    Nothing,
    Caching,
    StreamOrdered,
    Plain,
    RawDriver,
    MutexAndMap,
    BestFit,
}

impl Kind {
    pub(crate) const ALL: [Kind; 7] = [
        Kind::Nothing,
        Kind::Caching,
        Kind::StreamOrdered,
        Kind::Plain,
        Kind::RawDriver,
        Kind::MutexAndMap,
        Kind::BestFit,
    ];

    /// The kinds that hold a driver's memory.
    pub(crate) const WITH_DRIVER: [Kind; 5] =
        [Kind::Caching, Kind::StreamOrdered, Kind::Plain, Kind::RawDriver, Kind::MutexAndMap];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Nothing => "(the benchmark alone)",
            Kind::Caching => "hiplaunch, caching",
            Kind::StreamOrdered => "hiplaunch, hipMallocAsync",
            Kind::Plain => "hiplaunch, plain",
            Kind::RawDriver => "driver.malloc and free",
            Kind::MutexAndMap => "mutex and map",
            Kind::BestFit => "best fit, one tree",
        }
    }

    /// Whether the goals are for this pool.
    pub(crate) fn has_bars(self) -> bool {
        self == Kind::Caching
    }

    /// Runs a workload on pools of this kind with `streams` streams. `arena` is the number of bytes of a pool without a
    /// driver.
    pub(crate) fn run<W: Workload>(
        self,
        workload: &W,
        streams: usize,
        arena: u64,
    ) -> Result<W::Output, Error> {
        match self {
            Kind::Nothing => workload.run(&|_| Ok(Numbers)),
            Kind::Caching => workload.run(&|driver| OurPool::open(driver, PoolBackend::Caching, streams)),
            Kind::StreamOrdered => {
                workload.run(&|driver| OurPool::open(driver, PoolBackend::StreamOrdered, streams))
            }
            Kind::Plain => workload.run(&|driver| OurPool::open(driver, PoolBackend::Plain, streams)),
            Kind::RawDriver => workload.run(&|driver| Ok(RawDriver(driver.clone()))),
            Kind::MutexAndMap => workload.run(&|driver| Ok(MutexAndMap::new(driver))),
            Kind::BestFit => workload.run(&|_| Ok(BestFit::new(arena))),
        }
    }
}

/// The pool of [`Kind::Nothing`].
struct Numbers;

impl Subject for Numbers {
    type Block = u64;

    #[inline]
    fn allocate(&self, _: usize, bytes: u64) -> Option<u64> {
        Some(std::hint::black_box(bytes))
    }

    #[inline]
    fn free(&self, _: usize, block: u64) {
        std::hint::black_box(block);
    }
}

/// A pool of this library.
struct OurPool {
    pool: Pool,
    streams: Vec<Stream>,
}

impl OurPool {
    fn open(driver: &Arc<dyn Driver>, backend: PoolBackend, streams: usize) -> Result<OurPool, Error> {
        let options = PoolOptions { backend, ..PoolOptions::default() };
        let device = Device::open_with(driver.clone(), DeviceId(0), &options)?;
        let streams =
            (0..streams).map(|_| Stream::new(&device, StreamOptions::default())).collect::<Result<_, _>>()?;
        Ok(OurPool { pool: device.pool(), streams })
    }
}

impl Subject for OurPool {
    type Block = PoolBlock;

    #[inline]
    fn allocate(&self, stream: usize, bytes: u64) -> Option<PoolBlock> {
        self.pool.allocate(&self.streams[stream], bytes).ok()
    }

    #[inline]
    fn free(&self, _: usize, block: PoolBlock) {
        drop(block);
    }
}

/// An allocation of the driver for each block, without streams.
struct RawDriver(Arc<dyn Driver>);

impl Subject for RawDriver {
    type Block = DevicePtr;

    fn allocate(&self, _: usize, bytes: u64) -> Option<DevicePtr> {
        self.0.malloc(DeviceId(0), bytes as usize).ok()
    }

    fn free(&self, _: usize, ptr: DevicePtr) {
        // SAFETY: from `allocate`, and nothing uses the memory.
        let freed = unsafe { self.0.free(DeviceId(0), ptr) };
        assert!(freed.is_ok(), "{freed:?}");
    }
}
