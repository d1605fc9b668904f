//! A device with a pool and the validation layer, streams on it, and gates that hold a stream until they are opened.

use std::sync::{Arc, Mutex, PoisonError, mpsc};

use hiplaunch::Stream;
use hiplaunch::driver::emulated::{EmulatedDriver, EmulatorOptions};
use hiplaunch::driver::validation::{CallCounts, CallGroup, Counted, ValidationDriver, Violation};
use hiplaunch::driver::{
    Capability, DeviceId, Driver, ErrorCode, HostFunction, MemInfo, Observer, StreamOptions, Work,
};
use hiplaunch::error::OutOfMemory;
use hiplaunch::memory::{Pool, PoolBlock, PoolCounters, PoolOptions, ReclaimStep};
use hiplaunch::{Backend, Device, Error, Event, EventOptions};
use hiplaunch_testing::rig::gpu_backends;

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;

/// The code of a failure that is neither a lack of memory nor a lost device.
pub(crate) const REFUSED: ErrorCode = ErrorCode::INVALID_VALUE;

pub(crate) struct Rig {
    pub(crate) layer: Arc<ValidationDriver>,
    pub(crate) device: Device,
    pub(crate) pool: Pool,
}

impl Rig {
    /// Opens an emulated device, with no limits.
    pub(crate) fn new() -> Rig {
        Rig::with(PoolOptions::default())
    }

    /// Opens an emulated device.
    pub(crate) fn with(options: PoolOptions) -> Rig {
        let emulator = EmulatorOptions::single_threaded();
        Rig::over(EmulatedDriver::new(emulator).expect("an emulated driver needs nothing"), options)
    }

    /// Opens an emulated device with a cap in bytes.
    pub(crate) fn capped(cap: u64) -> Rig {
        Rig::with(PoolOptions { cap: Some(cap), ..PoolOptions::default() })
    }

    /// Whether the driver wants gaps between blocks.
    pub(crate) fn separates_blocks(&self) -> bool {
        self.layer.observer().is_some_and(Observer::separates_blocks)
    }

    pub(crate) fn over(driver: Arc<dyn Driver>, options: PoolOptions) -> Rig {
        let layer = ValidationDriver::new(driver);
        let device = Device::open_with(layer.clone(), DeviceId(0), &options).expect("device 0");
        Rig { layer, pool: device.pool(), device }
    }

    pub(crate) fn stream(&self) -> Stream {
        Stream::new(&self.device, StreamOptions::default()).expect("a stream")
    }

    pub(crate) fn allocate(&self, stream: &Stream, bytes: u64) -> PoolBlock {
        self.pool.allocate(stream, bytes).expect("memory")
    }

    /// Enqueues a fill of all of a block.
    pub(crate) fn fill(&self, stream: &Stream, block: &PoolBlock) {
        self.fill_bytes(stream, block, block.capacity());
    }

    pub(crate) fn fill_bytes(&self, stream: &Stream, block: &PoolBlock, bytes: u64) {
        // SAFETY: a live stream and a live block of at least that many bytes; the layer reports what is wrong with the
        // order.
        unsafe {
            self.layer.enqueue(
                self.device.id(),
                stream.as_raw(),
                &Work::FillBytes { dst: block.ptr(), value: 7, bytes: bytes as usize },
            )
        }
        .expect("a fill");
    }

    /// Enqueues a copy of as much of one block as fits into another.
    pub(crate) fn copy(&self, stream: &Stream, from: &PoolBlock, to: &PoolBlock) {
        let bytes = from.capacity().min(to.capacity()) as usize;
        // SAFETY: as in `fill_bytes`, of two blocks, which do not overlap.
        unsafe {
            self.layer.enqueue(
                self.device.id(),
                stream.as_raw(),
                &Work::CopyWithin { dst: to.ptr(), src: from.ptr(), bytes },
            )
        }
        .expect("a copy");
    }

    /// Uses another stream's block: fills it on `stream`, after `owner`'s work, and records the use.
    pub(crate) fn use_on(&self, stream: &Stream, owner: &Stream, block: &PoolBlock) {
        self.order(owner, stream);
        stream.record_use(block);
        self.fill(stream, block);
    }

    /// Makes `then` wait for the work enqueued on `first`.
    pub(crate) fn order(&self, first: &Stream, then: &Stream) {
        self.try_order(first, then).expect("an order of streams");
    }

    /// As [`order`](Rig::order), for tests in which one of the calls may fail.
    pub(crate) fn try_order(&self, first: &Stream, then: &Stream) -> hiplaunch::Result<()> {
        let event = Event::new(&self.device, EventOptions::default())?;
        event.record(first)?;
        event.wait_on(then)
    }

    /// Holds the stream until the gate is opened or dropped. No memory may be returned to the driver meanwhile, as that
    /// waits for the device.
    pub(crate) fn gate(&self, stream: &Stream) -> Gate {
        let (sender, receiver) = mpsc::channel::<()>();
        let wait = Box::new(move || {
            // An error means that the gate was dropped, which opens it too.
            let _ = receiver.recv();
        });
        // SAFETY: a live stream; the function calls no driver.
        unsafe {
            self.layer.enqueue(
                self.device.id(),
                stream.as_raw(),
                &Work::HostFunction(&HostFunction::new(wait)),
            )
        }
        .expect("a host function");
        Gate(sender)
    }

    pub(crate) fn counters(&self) -> PoolCounters {
        self.pool.counters()
    }

    pub(crate) fn mem_info(&self) -> MemInfo {
        self.layer.mem_info(self.device.id()).expect("the device's memory")
    }

    /// Runs `f`, and counts its driver calls.
    pub(crate) fn calls<R>(&self, f: impl FnOnce() -> R) -> (R, CallCounts) {
        let before = self.layer.counts();
        let result = f();
        (result, self.layer.counts().since(&before))
    }

    /// Runs `f`, which must make no driver call.
    pub(crate) fn without_calls<R>(&self, f: impl FnOnce() -> R) -> R {
        let (result, counts) = self.calls(f);
        assert_eq!(counts.device_calls(), 0, "{counts}");
        result
    }

    /// Runs `f`, which must ask the driver for no memory.
    pub(crate) fn without_malloc<R>(&self, f: impl FnOnce() -> R) -> R {
        let (result, counts) = self.calls(f);
        assert_eq!(counts[CallGroup::DeviceAllocation], 0, "{counts}");
        result
    }

    pub(crate) fn fail(&self, calls: impl Into<Counted>, code: ErrorCode) {
        self.layer.inject(calls, 1, code);
    }

    /// Returns the only violation found since the last look.
    pub(crate) fn violation(&self) -> Violation {
        let mut found = self.layer.take_violations();
        assert_eq!(found.len(), 1, "{found:#?}");
        found.remove(0)
    }

    pub(crate) fn clean(&self) {
        self.layer.assert_clean().unwrap_or_else(|e| panic!("{e}"));
    }

    /// Drops the device. No memory may be left, and no violation found.
    pub(crate) fn finish(self) {
        let Rig { layer, device, pool } = self;
        drop((device, pool));
        layer.assert_clean_and_empty().unwrap_or_else(|e| panic!("{e}"));
    }
}

pub(crate) struct Gate(#[expect(dead_code, reason = "dropping it opens the gate")] mpsc::Sender<()>);

impl Gate {
    pub(crate) fn open(self) {}
}

/// Returns the typed error of a request for which there was no memory.
pub(crate) fn out_of_memory<T: std::fmt::Debug>(result: hiplaunch::Result<T>) -> OutOfMemory {
    match result {
        Err(Error::OutOfMemory(e)) => *e,
        other => panic!("memory must run out, not {other:?}"),
    }
}

/// Checks that bytes held are in use, held back or cached, and that classes and streams add up to the totals.
pub(crate) fn check_sums(c: &PoolCounters) {
    assert_eq!(c.reserved, c.in_use + c.held_back + c.cached, "{c:#?}");
    assert!(c.requested <= c.in_use && c.in_use <= c.peak_in_use, "{c:#?}");
    assert!(c.reserved <= c.peak_reserved && c.requested <= c.peak_requested, "{c:#?}");
    assert!(c.largest_free <= c.cached, "{c:#?}");
    assert!((0.0..=1.0).contains(&c.fragmentation()), "{c:#?}");
    let classes = |f: fn(&hiplaunch::memory::ClassCounters) -> u64| c.classes.iter().map(f).sum::<u64>();
    assert_eq!(
        [classes(|k| k.hits), classes(|k| k.misses), classes(|k| k.steals)],
        [c.hits, c.misses, c.steals]
    );
    let streams = |f: fn(&hiplaunch::memory::StreamCounters) -> u64| c.streams.iter().map(f).sum::<u64>();
    assert_eq!(
        [streams(|s| s.hits), streams(|s| s.misses), streams(|s| s.steals)],
        [c.hits, c.misses, c.steals]
    );
    assert_eq!(
        [streams(|s| s.requested), streams(|s| s.in_use), streams(|s| s.held_back)],
        [c.requested, c.in_use, c.held_back]
    );
    assert_eq!([streams(|s| s.cached), streams(|s| s.reserved)], [c.cached, c.reserved]);
    for (reached, helped) in ReclaimStep::ALL.map(|step| c.reclaim_step(step)) {
        assert!(helped <= reached, "{c:#?}");
    }
}

/// Runs a test on each backend of this machine, and prints which are missing.
pub(crate) fn on_each(test: impl Fn(Rig)) {
    on_each_that_has(&[], test);
}

/// As [`on_each`], for tests with a [`gate`](Rig::gate): host functions are HIP's from 5.3 on.
pub(crate) fn on_each_with_gates(test: impl Fn(Rig)) {
    on_each_that_has(&[Capability::HostFunc], test);
}

/// Locked by each test on a GPU's driver. While one test waits for the device, HIP 7 blocks the calls of another on a busy stream
/// (`tests/hip_quirks/`): a test that holds a stream by a gate would never open it.
static GPU: Mutex<()> = Mutex::new(());

fn on_each_that_has(needed: &[Capability], test: impl Fn(Rig)) {
    for backend in [Backend::Emulator].into_iter().chain(gpu_backends()) {
        let _alone =
            (backend != Backend::Emulator).then(|| GPU.lock().unwrap_or_else(PoisonError::into_inner));
        match hiplaunch::driver::backend::open(backend, Some(false)) {
            Ok(opened) => {
                let capabilities = opened.driver.capabilities();
                match needed.iter().find(|c| !capabilities.has(**c)) {
                    None => test(Rig::over(opened.driver, PoolOptions::default())),
                    Some(c) => {
                        assert_ne!(backend, Backend::Emulator, "the emulator has {c:?}");
                        println!("skipped: backend {backend} has no {c:?}");
                    }
                }
            }
            Err(e) => {
                assert_ne!(backend, Backend::Emulator, "the emulator is always there");
                println!("skipped: backend {backend}: {e}");
            }
        }
    }
}
