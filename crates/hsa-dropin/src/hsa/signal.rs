//! Signals: values that threads, queues and kernels change and wait for.
//!
//! A signal's handle is the address of its `amd_signal_t`, in memory that all agents access and that stays there. Kernels change the value by
//! atomic operations of their own, and interrupt the host afterwards if the signal has a mailbox, as all have here.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::devices::Devices;
use super::handlers;
use super::runtime::now;
use super::status::Status;
use crate::abi::{Ignored, Out};

/// A `hsa_signal_t`. 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Signal(pub(super) u64);

/// `AMD_SIGNAL_KIND_...`.
const INVALID: i64 = 0;
const USER: i64 = 1;
const DOORBELL: i64 = -1;

/// An `amd_signal_t`, and what the runtime knows of it.
#[repr(C, align(128))]
pub(super) struct Slot {
    kind: AtomicI64,
    pub(super) value: AtomicI64,
    /// Where a kernel writes `event` before it interrupts the host.
    mailbox: AtomicU64,
    event: AtomicU32,
    _reserved: AtomicU32,
    /// Nanoseconds.
    pub(super) start: AtomicU64,
    pub(super) end: AtomicU64,
    _queue: AtomicU64,
    _reserved_too: AtomicU64,
    /// How often a thread that waits was woken.
    changes: AtomicU32,
    /// How many threads sleep until that changes.
    sleepers: AtomicU32,
    /// How many handlers wait for the signal.
    pub(super) handlers: AtomicU32,
    /// What kernels write to the mailbox.
    mail: AtomicU32,
}

const SLOT: usize = 128;
const _: () = assert!(size_of::<Slot>() == SLOT);

/// How many signals there can be at once. Those that are not used need no memory.
const SLOTS: usize = 1 << 20;

/// The address of the first.
static BASE: AtomicU64 = AtomicU64::new(0);

/// The signals that are free.
struct Free {
    /// All from this one on.
    never_used: usize,
    others: Vec<u64>,
}

static FREE: Mutex<Free> = Mutex::new(Free { never_used: 0, others: Vec::new() });

/// The longest sleep, after which a thread looks again: a kernel may change a value without a word.
const SLEEP: Duration = Duration::from_millis(1);

/// How long a thread looks before it sleeps.
pub(super) const SPIN: u64 = 5_000;

impl Signal {
    pub(super) const NONE: Signal = Signal(0);

    fn new(value: i64, kind: i64) -> Result<Signal, Status> {
        let devices = Devices::get()?;
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if BASE.load(SeqCst) == 0 {
            BASE.store(devices.allocate_for_all((SLOTS * SLOT) as u64)?, SeqCst);
        }
        let address = match free.others.pop() {
            Some(address) => address,
            None if free.never_used < SLOTS => {
                free.never_used += 1;
                BASE.load(SeqCst) + ((free.never_used - 1) * SLOT) as u64
            }
            None => return Err(Status::OUT_OF_RESOURCES),
        };
        let slot = at(address);
        slot.value.store(value, SeqCst);
        slot.start.store(0, SeqCst);
        slot.end.store(0, SeqCst);
        slot.mailbox.store(&raw const slot.mail as u64, SeqCst);
        slot.event.store(1, SeqCst);
        slot.kind.store(kind, SeqCst);
        Ok(Signal(address))
    }

    /// The signal of a queue.
    pub(super) fn doorbell() -> Result<Signal, Status> {
        Signal::new(0, DOORBELL)
    }

    /// Its memory. Fails for a number that no signal has.
    pub(super) fn slot(self) -> Result<&'static Slot, Status> {
        let offset = self.0.wrapping_sub(BASE.load(SeqCst));
        if BASE.load(SeqCst) == 0
            || offset >= (SLOTS * SLOT) as u64
            || !offset.is_multiple_of(SLOT as u64)
            || at(self.0).kind.load(SeqCst) == INVALID
        {
            return Err(Status::INVALID_SIGNAL);
        }
        Ok(at(self.0))
    }

    pub(super) fn destroy(self) -> Result<(), Status> {
        let slot = self.slot()?;
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.kind.swap(INVALID, SeqCst) == INVALID {
            return Err(Status::INVALID_SIGNAL);
        }
        free.others.push(self.0);
        Ok(())
    }
}

/// The slot at an address that is one's.
fn at(address: u64) -> &'static Slot {
    // SAFETY: the addresses of slots are in memory that is never freed, aligned as a slot is, and each bit pattern is a slot. Others change
    // it through atomic operations alone.
    unsafe { &*std::ptr::with_exposed_provenance::<Slot>(address as usize) }
}

/// Whether a value meets a condition (`HSA_SIGNAL_CONDITION_...`).
pub(super) fn meets(condition: u32, value: i64, compare: i64) -> Result<bool, Status> {
    Ok(match condition {
        0 => value == compare,
        1 => value != compare,
        2 => value < compare,
        3 => value >= compare,
        _ => return Err(Status::INVALID_ARGUMENT),
    })
}

/// The slots for whose changes threads sleep.
static ASLEEP: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());

/// Wakes all who wait for a signal: a kernel has changed one, and interrupts the host.
pub(super) fn interrupted() {
    let asleep: Vec<_> = ASLEEP.lock().unwrap_or_else(PoisonError::into_inner).clone();
    asleep.into_iter().for_each(Slot::wake);
    handlers::wake();
}

impl Slot {
    /// Wakes who waits for it. To be called after each change.
    pub(super) fn changed(&self) {
        if self.sleepers.load(SeqCst) > 0 {
            self.wake();
        }
        if self.handlers.load(SeqCst) > 0 {
            handlers::wake();
        }
    }

    /// Wakes the threads that sleep.
    pub(super) fn wake(&self) {
        self.changes.fetch_add(1, SeqCst);
        futex::wake(&self.changes);
    }

    /// Waits until the value is such, or as many nanoseconds have passed, or `stops` says so. Returns the last value that it saw.
    pub(super) fn wait(
        &'static self,
        is_such: impl Fn(i64) -> bool,
        timeout: u64,
        spin: u64,
        stops: impl Fn() -> bool,
    ) -> i64 {
        let look = || self.value.load(SeqCst);
        let first = look();
        if is_such(first) || timeout == 0 {
            return first;
        }
        let began = now();
        let passed = || now().saturating_sub(began);
        while passed() < spin.min(timeout) {
            for _ in 0..32 {
                std::hint::spin_loop();
                let value = look();
                if is_such(value) {
                    return value;
                }
            }
        }
        self.sleepers.fetch_add(1, SeqCst);
        ASLEEP.lock().unwrap_or_else(PoisonError::into_inner).push(self);
        let value = loop {
            let seen = self.changes.load(SeqCst);
            let value = look();
            let left = timeout.saturating_sub(passed());
            if is_such(value) || left == 0 || stops() {
                break value;
            }
            futex::sleep(&self.changes, seen, SLEEP.min(Duration::from_nanos(left)));
        };
        let mut asleep = ASLEEP.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = asleep.iter().position(|slot| std::ptr::eq(*slot, self)) {
            asleep.swap_remove(index);
        }
        self.sleepers.fetch_sub(1, SeqCst);
        value
    }
}

/// Waits until a signal's value is 0 or below, which ends the wait of a packet or of a copy. No signal, and one that is gone, is no wait.
pub(super) fn wait_for_zero(signal: Signal, stops: impl Fn() -> bool) {
    if let Ok(slot) = signal.slot() {
        slot.wait(|value| value < 1, u64::MAX, SPIN, stops);
    }
}

/// Counts a signal down, for work that ran between these times.
pub(super) fn complete(signal: Signal, start: u64, end: u64) {
    if let Ok(slot) = signal.slot() {
        slot.start.store(start, SeqCst);
        slot.end.store(end, SeqCst);
        slot.value.fetch_sub(1, SeqCst);
        slot.changed();
    }
}

/// Linux's wait for a change of a word.
mod futex {
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    /// Sleeps until a thread wakes those that sleep for the word, at most so long; not at all if the word is not `seen` any more.
    pub(super) fn sleep(word: &AtomicU32, seen: u32, longest: Duration) {
        let time = libc::timespec {
            tv_sec: longest.as_secs() as libc::time_t,
            tv_nsec: longest.subsec_nanos() as libc::c_long,
        };
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word and the time live until the call returns.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, seen, &time) };
    }

    pub(super) fn wake(word: &AtomicU32) {
        // SAFETY: the word lives until the call returns.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                i32::MAX,
            )
        };
    }
}

pub(crate) fn hsa_signal_create(
    initial: i64,
    _count: u32,
    _consumers: Ignored,
    signal: Out<Signal>,
) -> Result<(), Status> {
    if signal.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    signal.set(Signal::new(initial, USER)?)
}

pub(crate) fn hsa_amd_signal_create(
    initial: i64,
    count: u32,
    consumers: Ignored,
    _attributes: u64,
    signal: Out<Signal>,
) -> Result<(), Status> {
    hsa_signal_create(initial, count, consumers, signal)
}

pub(crate) fn hsa_signal_destroy(signal: Signal) -> Result<(), Status> {
    signal.destroy()
}

pub(crate) fn hsa_amd_signal_value_pointer(signal: Signal, pointer: Out<u64>) -> Result<(), Status> {
    pointer.set(signal.slot()?.value.as_ptr() as u64)
}
