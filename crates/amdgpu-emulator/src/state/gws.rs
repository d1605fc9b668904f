//! Global wave sync: 64 resources of a machine, by which waves of different workgroups wait for each other.
//!
//! A resource is a counter that waves wait for, as a barrier or as a semaphore (CDNA3 ISA, "GWS"). Its value is kept
//! from one dispatch to the next. Until a kernel initialises it, resource 0 has at the beginning of each dispatch the
//! value that ROCm's runtime sets before a cooperative launch: a barrier for one wave of each workgroup, which
//! `cooperative_groups::grid_group::sync` of ROCm's device library expects (`__ockl_grid_sync`).

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of resources of a machine.
const RESOURCES: usize = 64;

/// The counters of a machine; `None` for those that no kernel has set.
pub(crate) type CounterTable = Mutex<[Option<u32>; RESOURCES]>;

/// Returns the counters of a machine that has run no kernel.
pub(crate) fn counter_table() -> Arc<CounterTable> {
    Arc::new(Mutex::new([None; RESOURCES]))
}

#[derive(Debug, Clone, Copy, Default)]
struct Resource {
    counter: u32,
    /// The number of barriers that were met.
    met: u64,
    /// The number of times that all waves waiting for the semaphore were released.
    released: u64,
    /// Whether the counter is kept when the dispatch has ended.
    is_kept: bool,
}

/// A resource that a wave waits for, and the condition under which it continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GwsWait {
    pub(crate) resource: u8,
    until: WaitCondition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitCondition {
    /// More barriers than this have been met.
    Met(u64),
    /// The counter is above 0, or all waiting waves were released more often than this.
    Credit(u64),
}

impl GwsWait {
    pub(crate) fn is_barrier(self) -> bool {
        matches!(self.until, WaitCondition::Met(_))
    }
}

/// The resources during a dispatch.
#[derive(Debug)]
pub(crate) struct Gws {
    kept: Arc<CounterTable>,
    /// The number of workgroups of the dispatch.
    workgroups: u64,
    /// Empty until the first use.
    resources: Mutex<Vec<Resource>>,
    /// The number of changes that may let a waiting wave continue.
    changes: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gws {
    pub(crate) fn new(kept: Arc<CounterTable>, workgroups: u64) -> Gws {
        Gws { kept, workgroups, resources: Mutex::default(), changes: AtomicU64::new(0) }
    }

    /// Calls `f` with a resource, which the low six bits of `resource` select.
    fn with<T>(&self, resource: u8, f: impl FnOnce(&mut Resource) -> T) -> T {
        let mut resources = lock(&self.resources);
        if resources.is_empty() {
            resources.extend(lock(&self.kept).map(|kept| Resource {
                counter: kept.unwrap_or(0),
                is_kept: true,
                ..Resource::default()
            }));
            if let (Some(first), None) = (resources.first_mut(), lock(&self.kept)[0]) {
                first.counter = u32::try_from(self.workgroups.saturating_sub(1)).unwrap_or(u32::MAX);
                first.is_kept = false;
            }
        }
        f(&mut resources[usize::from(resource) % RESOURCES])
    }

    fn changed(&self) {
        self.changes.fetch_add(1, SeqCst);
    }

    /// Returns a number that grows whenever a waiting wave may be able to continue.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(SeqCst)
    }

    /// `ds_gws_init`.
    pub(crate) fn init(&self, resource: u8, value: u32) {
        self.with(resource, |r| {
            r.counter = value;
            r.is_kept = true;
        });
        self.changed();
    }

    /// `ds_gws_sema_v`, `ds_gws_sema_br`: adds `count` to the counter, so that as many waves can pass.
    pub(crate) fn add(&self, resource: u8, count: u32) {
        self.with(resource, |r| {
            r.counter = r.counter.wrapping_add(count);
            r.is_kept = true;
        });
        self.changed();
    }

    /// `ds_gws_sema_release_all`: releases all waiting waves.
    pub(crate) fn release_all(&self, resource: u8) {
        self.with(resource, |r| {
            r.counter = 0;
            r.released += 1;
            r.is_kept = true;
        });
        self.changed();
    }

    /// `ds_gws_sema_p`: decrements the counter, or returns what to wait for if it is 0.
    pub(crate) fn acquire(&self, resource: u8) -> Option<GwsWait> {
        self.with(resource, |r| {
            if r.counter > 0 {
                r.counter -= 1;
                return None;
            }
            Some(GwsWait { resource, until: WaitCondition::Credit(r.released) })
        })
    }

    /// `ds_gws_barrier`: returns what to wait for, or `None` for the last wave of the barrier, which sets the counter
    /// for the next barrier to `next`.
    pub(crate) fn arrive(&self, resource: u8, next: u32) -> Option<GwsWait> {
        let wait = self.with(resource, |r| {
            if r.counter > 0 {
                r.counter -= 1;
                return Some(GwsWait { resource, until: WaitCondition::Met(r.met) });
            }
            r.met += 1;
            r.counter = next;
            None
        });
        if wait.is_none() {
            self.changed();
        }
        wait
    }

    /// Returns whether a waiting wave can continue. If it waits for a semaphore's counter, this decrements the counter.
    pub(crate) fn can_continue(&self, wait: GwsWait) -> bool {
        self.with(wait.resource, |r| match wait.until {
            WaitCondition::Met(met) => r.met > met,
            WaitCondition::Credit(released) if r.released > released => true,
            WaitCondition::Credit(_) => {
                let pass = r.counter > 0;
                r.counter -= u32::from(pass);
                pass
            }
        })
    }

    /// Returns the number of waves that have not arrived at a barrier yet.
    pub(crate) fn missing(&self, resource: u8) -> u64 {
        self.with(resource, |r| u64::from(r.counter) + 1)
    }

    /// Keeps the counters that kernels have set for the next dispatch. Called when the dispatch has ended.
    pub(crate) fn keep(&self) {
        let resources = lock(&self.resources);
        if resources.is_empty() {
            return;
        }
        for (kept, r) in lock(&self.kept).iter_mut().zip(resources.iter()) {
            if r.is_kept {
                *kept = Some(r.counter);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_count_waves_and_the_last_wave_sets_the_next_count() {
        let gws = Gws::new(counter_table(), 3);
        // The first barrier is for three waves, as there are three workgroups; the next for the number that the last
        // wave set.
        for (next, waiting) in [(1, 2), (2, 1)] {
            let waits: Vec<GwsWait> = (0..).map_while(|_| gws.arrive(0, next)).collect();
            assert_eq!(waits.len(), waiting);
            assert!(waits.iter().all(|wait| wait.is_barrier() && gws.can_continue(*wait)));
            assert_eq!(gws.missing(0), u64::from(next) + 1);
        }
        let first = gws.arrive(0, 0).unwrap();
        let before = gws.changes();
        assert!(!gws.can_continue(first) && gws.missing(0) == 2);
        assert!(gws.arrive(0, 0).is_some());
        assert_eq!(gws.changes(), before);
        assert!(gws.arrive(0, 0).is_none() && gws.can_continue(first) && gws.changes() > before);
    }

    #[test]
    fn semaphores_let_as_many_waves_pass_as_were_released() {
        let gws = Gws::new(counter_table(), 1);
        gws.init(9, 1);
        assert!(gws.acquire(9).is_none());
        let waits: Vec<GwsWait> = (0..4).map_while(|_| gws.acquire(9)).collect();
        assert_eq!(waits.len(), 4);
        let passed = |gws: &Gws| waits.iter().filter(|wait| gws.can_continue(**wait)).count();
        assert_eq!(passed(&gws), 0);
        gws.add(9, 1);
        assert_eq!((passed(&gws), passed(&gws)), (1, 0));
        gws.add(9, 2);
        assert_eq!((passed(&gws), passed(&gws)), (2, 0));
        gws.release_all(9);
        assert_eq!(passed(&gws), 4);
        // A wave that comes later waits.
        assert!(gws.acquire(9).is_some_and(|wait| !gws.can_continue(wait)));
    }

    #[test]
    fn counters_that_kernels_set_are_kept_between_dispatches() {
        let machine = counter_table();
        let gws = Gws::new(Arc::clone(&machine), 8);
        gws.init(3, 41);
        gws.add(3, 1);
        assert!(gws.arrive(4, 2).is_none(), "it was 0");
        assert!(gws.arrive(0, 2).is_some());
        gws.keep();
        let later = Gws::new(Arc::clone(&machine), 5);
        assert_eq!((later.missing(3), later.missing(4), later.missing(0)), (43, 3, 5));
        // Only the low six bits of the number count.
        assert_eq!(later.missing(64 + 3), 43);
        later.init(0, 6);
        later.keep();
        assert_eq!(Gws::new(machine, 5).missing(0), 7);
    }
}
