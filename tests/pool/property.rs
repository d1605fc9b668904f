//! Random traffic over three streams against a plain model: blocks never overlap, no memory is reused before its last
//! use on any stream has finished, every counter is the model's, and everything is freed at the end.
//!
//! The validation layer checks that reuse is in order. The traffic itself orders its uses of a block, so each race
//! found is the pool's. Each of these changes to the pool was tried, and failed the test:
//!
//! | Change | Found |
//! |---|---|
//! | `steal_segment` does not order the two streams | race |
//! | `borrow` does not order the two streams | race |
//! | `lend` records no use | race |
//! | `Arena::free` ignores the recorded uses | race |
//! | `hold` omits the last recorded use | race |
//! | `poll` takes fences for reached that are not | race |
//! | a stream is destroyed without waiting for its work | race |
//! | `put_free` does not remove a joined neighbour from its bin | panic |
//! | `steal_segment` drops the segment where the order fails | counters |
//! | `Arena::allocate` counts no hit | counters |

use std::collections::{BTreeMap, BTreeSet};

use hiplaunch::Stream;
use hiplaunch::driver::ErrorCode;
use hiplaunch::driver::validation::{CallGroup, CallKind, Counted};
use hiplaunch::memory::{PoolBackend, PoolBlock, PoolBlockState, PoolOptions};
use proptest::prelude::*;

use crate::rig::{KIB, MIB, REFUSED, Rig, check_sums};

const STREAMS: usize = 3;

/// A driver call of the pool that fails: the n-th of its kind in one operation.
#[derive(Clone, Copy, Debug)]
struct Fault {
    calls: Counted,
    nth: u64,
    code: ErrorCode,
}

#[derive(Clone, Debug)]
enum Op {
    /// Allocates on a stream, or for any stream, and uses the block there at once.
    Allocate {
        on: Option<usize>,
        bytes: u64,
        fault: Option<Fault>,
    },
    /// Drops one owner of a block.
    Free {
        block: usize,
        fault: Option<Fault>,
    },
    /// Adds an owner.
    Share {
        block: usize,
    },
    /// Fills a block on any stream, after the block's earlier uses, and records the use.
    Fill {
        block: usize,
        on: usize,
    },
    /// Copies the first bytes of one block to another, with the order and record of a fill.
    Copy {
        from: usize,
        to: usize,
        on: usize,
    },
    /// Records a use without using the block.
    Record {
        block: usize,
        on: usize,
    },
    /// Makes one stream wait for another.
    Order {
        first: usize,
        then: usize,
    },
    Synchronize {
        stream: usize,
    },
    Trim {
        keep: u64,
        fault: Option<Fault>,
    },
    /// Drops a stream and creates another one.
    Remake {
        stream: usize,
    },
    SetLimits {
        cap: Option<u64>,
        soft_target: Option<u64>,
    },
    /// Compares all counters. Not after each operation, because reading them joins cached blocks.
    Check,
}

fn fault() -> impl Strategy<Value = Option<Fault>> {
    let calls = prop::sample::select(vec![
        Counted::Group(CallGroup::DeviceAllocation),
        Counted::Group(CallGroup::DeviceFree),
        Counted::Call(CallKind::EventCreate),
        Counted::Call(CallKind::EventRecord),
        Counted::Call(CallKind::StreamWaitEvent),
        Counted::Call(CallKind::EventQuery),
        Counted::Call(CallKind::EventSynchronize),
    ]);
    let code = prop::sample::select(vec![REFUSED, ErrorCode::OUT_OF_MEMORY]);
    let fault = (calls, 1..4u64, code).prop_map(|(calls, nth, code)| Fault { calls, nth, code });
    prop::option::weighted(0.2, fault)
}

fn op() -> impl Strategy<Value = Op> {
    let stream = 0..STREAMS;
    let block = 0..1000usize;
    let bytes = prop_oneof![
        2 => 0..2 * KIB,
        2 => prop::sample::select(vec![256, 4 * KIB, 32 * KIB, 64 * KIB, 256 * KIB]),
        2 => 33 * KIB..500 * KIB,
    ];
    let on = prop::option::weighted(0.9, stream.clone());
    prop_oneof![
        10 => (on, bytes, fault()).prop_map(|(on, bytes, fault)| Op::Allocate { on, bytes, fault }),
        9 => (block.clone(), fault()).prop_map(|(block, fault)| Op::Free { block, fault }),
        1 => block.clone().prop_map(|block| Op::Share { block }),
        6 => (block.clone(), stream.clone()).prop_map(|(block, on)| Op::Fill { block, on }),
        2 => (block.clone(), block.clone(), stream.clone())
            .prop_map(|(from, to, on)| Op::Copy { from, to, on }),
        1 => (block, stream.clone()).prop_map(|(block, on)| Op::Record { block, on }),
        1 => (stream.clone(), stream.clone()).prop_map(|(first, then)| Op::Order { first, then }),
        1 => stream.clone().prop_map(|stream| Op::Synchronize { stream }),
        1 => (0..MIB, fault()).prop_map(|(keep, fault)| Op::Trim { keep, fault }),
        1 => stream.prop_map(|stream| Op::Remake { stream }),
        1 => (cap(), cap()).prop_map(|(cap, soft_target)| Op::SetLimits { cap, soft_target }),
        2 => Just(Op::Check),
    ]
}

/// A live block.
struct Live {
    owners: Vec<PoolBlock>,
    bytes: u64,
    /// The streams that used it, by index. Their work may not have finished.
    used: BTreeSet<usize>,
}

impl Live {
    fn block(&self) -> &PoolBlock {
        &self.owners[0]
    }
}

struct Run {
    rig: Rig,
    streams: Vec<Stream>,
    live: Vec<Live>,
    /// The size in bytes of each live block, by address.
    ranges: BTreeMap<u64, u64>,
    requests: u64,
    frees: u64,
    capped: bool,
    caching: bool,
}

impl Run {
    fn new(backend: PoolBackend, cap: Option<u64>) -> Run {
        let rig = Rig::with(PoolOptions { backend, cap, soft_target: None });
        Run {
            streams: (0..STREAMS).map(|_| rig.stream()).collect(),
            rig,
            live: Vec::new(),
            ranges: BTreeMap::new(),
            requests: 0,
            frees: 0,
            capped: cap.is_some(),
            caching: backend == PoolBackend::Caching,
        }
    }

    /// Runs a call of the pool in which a driver call may fail.
    fn with<R>(&self, fault: Option<Fault>, f: impl FnOnce(&Rig) -> R) -> R {
        // A backend that caches nothing can't keep a block that the driver failed to free, and logs it.
        if let Some(Fault { calls, nth, code }) = fault
            && (self.caching || calls != CallGroup::DeviceFree.into())
        {
            self.rig.layer.inject(calls, nth, code);
        }
        let result = f(&self.rig);
        self.rig.layer.clear_injections();
        result
    }

    fn index(&self, block: usize) -> Option<usize> {
        block.checked_rem(self.live.len())
    }

    /// Makes the next work on a stream come after all work that used a block, and records the use.
    fn prepare(&mut self, index: usize, on: usize) {
        let (live, stream) = (&mut self.live[index], &self.streams[on]);
        let home = live.block().stream_number();
        for (i, other) in self.streams.iter().enumerate() {
            if i != on && (live.used.contains(&i) || other.number() == home) {
                self.rig.order(other, stream);
            }
        }
        if home != stream.number() {
            // By any of its owners.
            let owner = live.owners.len() - 1;
            stream.record_use(&live.owners[owner]);
        }
        live.used.insert(on);
    }

    fn step(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match *op {
            Op::Allocate { on, bytes, fault } => {
                self.requests += 1;
                let result = self.with(fault, |rig| match on {
                    Some(i) => rig.pool.allocate(&self.streams[i], bytes),
                    None => rig.pool.allocate_for_any(bytes),
                });
                match result {
                    Ok(block) => return self.allocated(block, on, bytes),
                    Err(e) => {
                        let expected = e.code() == Some(ErrorCode::OUT_OF_MEMORY) && self.capped;
                        let injected = fault.is_some_and(|f| e.code() == Some(f.code));
                        prop_assert!(expected || injected, "{}", e);
                    }
                }
            }
            Op::Free { block, fault } => {
                let Some(i) = self.index(block) else { return Ok(()) };
                let owner = self.live[i].owners.pop();
                if self.live[i].owners.is_empty() {
                    self.live.swap_remove(i);
                    self.frees += 1;
                    self.ranges.remove(&owner.as_ref().map_or(0, |block| block.ptr().0));
                }
                self.with(fault, |_| drop(owner));
            }
            Op::Share { block } => {
                if let Some(i) = self.index(block) {
                    let clone = self.live[i].block().clone();
                    self.live[i].owners.push(clone);
                }
            }
            Op::Fill { block, on } => {
                if let Some(i) = self.index(block) {
                    self.prepare(i, on);
                    self.rig.fill(&self.streams[on], self.live[i].block());
                }
            }
            Op::Copy { from, to, on } => {
                let (Some(from), Some(to)) = (self.index(from), self.index(to)) else { return Ok(()) };
                if from != to {
                    self.prepare(from, on);
                    self.prepare(to, on);
                    self.rig.copy(&self.streams[on], self.live[from].block(), self.live[to].block());
                }
            }
            Op::Record { block, on } => {
                if let Some(i) = self.index(block) {
                    self.streams[on].record_use(self.live[i].block());
                }
            }
            Op::Order { first, then } => self.rig.order(&self.streams[first], &self.streams[then]),
            Op::Synchronize { stream } => self.streams[stream].synchronize().expect("no faults"),
            Op::Trim { keep, fault } => {
                if let Err(e) = self.with(fault, |rig| rig.pool.trim(keep)) {
                    prop_assert!(fault.is_some_and(|f| e.code() == Some(f.code)), "{}", e);
                }
            }
            Op::Remake { stream } => {
                let fresh = self.rig.stream();
                drop(std::mem::replace(&mut self.streams[stream], fresh));
                // Dropping the stream waited for its work.
                self.live.iter_mut().for_each(|live| _ = live.used.remove(&stream));
            }
            Op::SetLimits { cap, soft_target } => {
                self.rig.pool.set_cap(cap);
                self.rig.pool.set_soft_target(soft_target);
                self.capped = cap.is_some();
            }
            Op::Check => self.check()?,
        }
        Ok(())
    }

    fn allocated(&mut self, block: PoolBlock, on: Option<usize>, bytes: u64) -> Result<(), TestCaseError> {
        let bytes = bytes.max(1);
        let (start, capacity) = (block.ptr().0, block.capacity());
        prop_assert_eq!((start % 256, block.bytes(), block.owners()), (0, bytes, 1));
        let least = bytes.next_multiple_of(256);
        prop_assert!(capacity >= least && capacity <= least + least / 64, "{} for {}", capacity, bytes);
        let before = self.ranges.range(..start + capacity).next_back();
        if let Some((&other, &other_bytes)) = before {
            prop_assert!(other + other_bytes <= start, "{:#x}+{} overlaps {:#x}", start, capacity, other);
        }
        self.ranges.insert(start, capacity);
        // Used at once, without a wait or record: the block is this stream's, or the pool ordered and recorded the use.
        if let Some(on) = on {
            self.rig.fill(&self.streams[on], &block);
        }
        self.live.push(Live { owners: vec![block], bytes, used: on.into_iter().collect() });
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let c = self.rig.counters();
        check_sums(&c);
        let requested: u64 = self.live.iter().map(|live| live.bytes).sum();
        let in_use: u64 = self.live.iter().map(|live| live.block().capacity()).sum();
        prop_assert_eq!((c.requested, c.in_use), (requested, in_use));
        prop_assert_eq!((c.live_blocks, c.frees), (self.live.len() as u64, self.frees));
        prop_assert_eq!(c.hits + c.misses, self.requests);
        // A backend that caches nothing holds only what is in use.
        prop_assert!(self.caching || (c.hits, c.reserved) == (0, in_use), "{:?}", c);
        prop_assert_eq!(c.reserved, self.rig.device.held_bytes());
        let info = self.rig.mem_info();
        // Memory freed in stream order is free once the stream has reached the free.
        prop_assert!(info.total - info.free == c.reserved || !self.caching);
        let snapshot = self.rig.pool.snapshot();
        let blocks = snapshot.segments.iter().flat_map(|s| &s.blocks);
        let in_use = blocks.filter(|block| block.state == PoolBlockState::InUse);
        let found: BTreeMap<u64, u64> = in_use.map(|block| (block.address, block.bytes)).collect();
        prop_assert_eq!(&found, &self.ranges);
        Ok(())
    }

    /// Frees everything.
    fn end(mut self) -> Result<(), TestCaseError> {
        self.check()?;
        self.frees += self.live.len() as u64;
        self.live.clear();
        self.ranges.clear();
        for stream in &self.streams {
            stream.synchronize().expect("no faults");
        }
        self.check()?;
        self.rig.pool.empty_cache().expect("no faults");
        let c = self.rig.counters();
        prop_assert_eq!((c.reserved, c.held_back, c.segments), (0, 0, 0));
        let Run { rig, streams, .. } = self;
        drop(streams);
        rig.finish();
        Ok(())
    }
}

/// Runs the operations, and returns an error if anything differs from the model.
fn run(backend: PoolBackend, cap: Option<u64>, ops: &[Op]) -> Result<(), TestCaseError> {
    let mut run = Run::new(backend, cap);
    for (i, op) in ops.iter().enumerate() {
        run.step(op).map_err(|e| TestCaseError::fail(format!("step {i}: {op:?}: {e}")))?;
        let found = run.rig.layer.take_violations();
        prop_assert!(found.is_empty(), "step {}: {:?}: {}", i, op, found[0]);
    }
    run.end()
}

fn cap() -> impl Strategy<Value = Option<u64>> {
    prop::sample::select(vec![None, None, Some(MIB), Some(3 * MIB)])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_traffic_agrees_with_the_model(cap in cap(), ops in prop::collection::vec(op(), 1..80)) {
        run(PoolBackend::Caching, cap, &ops)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_traffic_agrees_with_the_model_on_other_backends(cap in cap(), ops in prop::collection::vec(op(), 1..80)) {
        for backend in [PoolBackend::StreamOrdered, PoolBackend::Plain] {
            run(backend, cap, &ops)?;
        }
    }
}
