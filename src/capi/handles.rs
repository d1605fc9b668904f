//! Handles: numbers in the shape of pointers, which name objects and are looked up, never followed.
//!
//! ```text
//!  63  60 59                     24 23             0
//! +------+-------------------------+----------------+
//! | kind |       generation        |     index      |
//! +------+-------------------------+----------------+
//! ```
//!
//! The kind is never 0, so that neither null nor an address of a process is a handle. A slot's generation goes up by one
//! with each object, so that a handle which outlived its object is told from the slot's next. Slots are never freed, so
//! that finding one takes no lock but the slot's own.
//!
//! A launch holds the locks of its kernel, stream, buffers and views, shared, while it runs ([`Reading`]), as cloning them
//! costs more than all else. No two such calls wait for each other: kernels are waited for first, then streams; a buffer's
//! or view's lock is only tried for, and where another call has it or waits for it, none is held and all are cloned.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use super::status::{Failure, Result, hiplaunch_status};

const INDEX_BITS: u32 = 24;
const GENERATION_BITS: u32 = 36;
const LAST_GENERATION: u64 = (1 << GENERATION_BITS) - 1;

/// Slots of the first chunk; each chunk after it has twice as many as the one before.
const FIRST_CHUNK: usize = 64;
/// As many as 24 bits count.
const CHUNKS: usize = (INDEX_BITS - FIRST_CHUNK.ilog2()) as usize;

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Launcher = 1,
    Stream = 2,
    Event = 3,
    Kernel = 4,
    Buffer = 5,
    View = 6,
    Ticket = 7,
    Graph = 8,
    LdsKernel = 9,
    LdsLayout = 10,
    Text = 11,
    Compiled = 12,
}

impl Kind {
    const ALL: [Kind; 12] = [
        Kind::Launcher,
        Kind::Stream,
        Kind::Event,
        Kind::Kernel,
        Kind::Buffer,
        Kind::View,
        Kind::Ticket,
        Kind::Graph,
        Kind::LdsKernel,
        Kind::LdsLayout,
        Kind::Text,
        Kind::Compiled,
    ];

    fn name(self) -> &'static str {
        match self {
            Kind::Launcher => "launcher",
            Kind::Stream => "stream",
            Kind::Event => "event",
            Kind::Kernel => "kernel",
            Kind::Buffer => "buffer",
            Kind::View => "view",
            Kind::Ticket => "ticket",
            Kind::Graph => "graph",
            Kind::LdsKernel => "LDS kernel",
            Kind::LdsLayout => "LDS layout",
            Kind::Text => "text",
            Kind::Compiled => "compiled code",
        }
    }
}

/// The launcher that an object is of, as its handle's number; 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner(pub(super) u64);

impl Owner {
    pub(super) const NONE: Owner = Owner(0);

    /// That both are of one launcher.
    #[inline]
    pub(super) fn same(self, other: Owner, what: &str) -> Result<()> {
        if self == other {
            return Ok(());
        }
        Err(Failure::handle(format!("`{what}` is of another launcher")))
    }
}

/// An object and its launcher.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<T> {
    pub(super) owner: Owner,
    pub(super) value: T,
}

/// All objects of one kind.
pub(super) struct Table<T> {
    kind: Kind,
    chunks: [OnceLock<Box<[Slot<T>]>>; CHUNKS],
    free: Mutex<Free>,
}

/// A cache line of its own, as threads meet on neighbours otherwise.
#[repr(align(64))]
struct Slot<T> {
    /// The generation while there is an object, else 0.
    live: AtomicU64,
    state: RwLock<State<T>>,
}

struct State<T> {
    generation: u64,
    found: Option<Found<T>>,
}

/// An object that stays as it is, and open, until this is dropped: closing and changing it wait.
pub(super) struct Reading<'t, T>(RwLockReadGuard<'t, State<T>>);

impl<T> Reading<'_, T> {
    /// The object; there is one, as the lock was taken while there was.
    #[inline]
    pub(super) fn found(&self) -> Option<&Found<T>> {
        self.0.found.as_ref()
    }
}

struct Free {
    slots: Vec<u32>,
    /// Slots that were ever used.
    made: u32,
}

#[inline]
fn place(index: u32) -> (usize, usize) {
    let n = index as usize / FIRST_CHUNK + 1;
    if n == 1 {
        return (0, index as usize);
    }
    let chunk = n.ilog2() as usize;
    (chunk, index as usize - FIRST_CHUNK * ((1 << chunk) - 1))
}

impl<T> Table<T> {
    pub(super) const fn new(kind: Kind) -> Table<T> {
        Table {
            kind,
            chunks: [const { OnceLock::new() }; CHUNKS],
            free: Mutex::new(Free { slots: Vec::new(), made: 0 }),
        }
    }

    #[inline]
    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        let (chunk, offset) = place(index);
        self.chunks.get(chunk)?.get()?.get(offset)
    }

    /// Names an object.
    #[inline]
    pub(super) fn insert<H>(&self, owner: Owner, value: T) -> Result<*mut H> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).slots.pop();
        let index = match free {
            Some(index) => index,
            None => self.grow()?,
        };
        let Some(slot) = self.slot(index) else {
            return Err(Failure::new(hiplaunch_status::Internal, format!("slot {index} is not there")));
        };
        let mut state = slot.state.write().unwrap_or_else(PoisonError::into_inner);
        // In this way what was there, which is nothing, is not dropped once more.
        match &mut state.found {
            empty @ None => *empty = Some(Found { owner, value }),
            Some(_) => {
                return Err(Failure::new(hiplaunch_status::Internal, format!("slot {index} is taken")));
            }
        }
        state.generation += 1;
        slot.live.store(state.generation, Ordering::Release);
        Ok(self.encode(index, state.generation))
    }

    /// A slot that was never used.
    #[cold]
    fn grow(&self) -> Result<u32> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let index = free.made;
        let (chunk, _) = place(index);
        let Some(slots) = self.chunks.get(chunk) else {
            return Err(Failure::invalid(format!("too many {}s are open", self.kind.name())));
        };
        slots.get_or_init(|| {
            let new =
                || Slot { live: AtomicU64::new(0), state: RwLock::new(State { generation: 0, found: None }) };
            (0..FIRST_CHUNK << chunk).map(|_| new()).collect()
        });
        free.made += 1;
        Ok(index)
    }

    fn encode<H>(&self, index: u32, generation: u64) -> *mut H {
        let bits = (self.kind as u64) << (INDEX_BITS + GENERATION_BITS) | generation << INDEX_BITS;
        std::ptr::without_provenance_mut((bits | u64::from(index)) as usize)
    }

    /// The slot and generation that a handle names.
    #[inline]
    fn decode<H>(&self, handle: *const H) -> Result<(&Slot<T>, u64, u32)> {
        let bits = handle.addr() as u64;
        let index = (bits & ((1 << INDEX_BITS) - 1)) as u32;
        let generation = bits >> INDEX_BITS & LAST_GENERATION;
        if bits >> (INDEX_BITS + GENERATION_BITS) == self.kind as u64
            && let Some(slot) = self.slot(index)
        {
            return Ok((slot, generation, index));
        }
        Err(self.not_here(bits))
    }

    #[cold]
    fn not_here(&self, bits: u64) -> Failure {
        let name = self.kind.name();
        if bits == 0 {
            return Failure::handle(format!("the {name}'s handle is null"));
        }
        let kind = bits >> (INDEX_BITS + GENERATION_BITS);
        let other = Kind::ALL.into_iter().find(|other| *other as u64 == kind && *other != self.kind);
        Failure::handle(match other {
            Some(other) => format!("{bits:#x} is the handle of a {}, not of a {name}", other.name()),
            None => format!("{bits:#x} is no handle of a {name}"),
        })
    }

    #[cold]
    fn closed(&self) -> Failure {
        let name = self.kind.name();
        Failure::handle(format!("the {name} was closed, or its launcher was"))
    }

    /// A clone of the object.
    #[inline]
    pub(super) fn get<H>(&self, handle: *const H) -> Result<Found<T>>
    where
        T: Clone,
    {
        self.look(handle, |found| found.clone())
    }

    /// What `look` says of the object, under the slot's lock: it must neither wait nor call back.
    #[inline]
    pub(super) fn look<H, R>(&self, handle: *const H, look: impl FnOnce(&Found<T>) -> R) -> Result<R> {
        let (slot, generation, _) = self.decode(handle)?;
        let state = slot.state.read().unwrap_or_else(PoisonError::into_inner);
        match &state.found {
            Some(found) if state.generation == generation => Ok(look(found)),
            _ => Err(self.closed()),
        }
    }

    /// The object under the slot's lock, shared with other readers. What is done meanwhile must not wait for another
    /// object's lock, but as the file's head says.
    #[inline]
    pub(super) fn read<H>(&self, handle: *const H) -> Result<Reading<'_, T>> {
        let (slot, generation, _) = self.decode(handle)?;
        let state = slot.state.read().unwrap_or_else(PoisonError::into_inner);
        self.reading(state, generation)
    }

    /// As [`read`](Table::read), but `None` where it would have to wait.
    #[inline]
    pub(super) fn try_read<H>(&self, handle: *const H) -> Result<Option<Reading<'_, T>>> {
        let (slot, generation, _) = self.decode(handle)?;
        let state = match slot.state.try_read() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(e)) => e.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        self.reading(state, generation).map(Some)
    }

    #[inline]
    fn reading<'t>(
        &'t self,
        state: RwLockReadGuard<'t, State<T>>,
        generation: u64,
    ) -> Result<Reading<'t, T>> {
        if state.generation == generation && state.found.is_some() {
            return Ok(Reading(state));
        }
        Err(self.closed())
    }

    /// Runs `change` on the object, which no other call sees meanwhile.
    #[inline]
    pub(super) fn with<H, R>(&self, handle: *const H, change: impl FnOnce(&mut Found<T>) -> R) -> Result<R> {
        let (slot, generation, _) = self.decode(handle)?;
        let mut state = slot.state.write().unwrap_or_else(PoisonError::into_inner);
        match &mut *state {
            State { generation: its, found: Some(found) } if *its == generation => Ok(change(found)),
            _ => Err(self.closed()),
        }
    }

    /// As [`with`](Table::with), but `None` while another call has the object to itself.
    pub(super) fn try_with<H, R>(
        &self,
        handle: *const H,
        change: impl FnOnce(&mut Found<T>) -> R,
    ) -> Result<Option<R>> {
        let (slot, generation, _) = self.decode(handle)?;
        let mut state = match slot.state.try_write() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(e)) => e.into_inner(),
            // Whoever has it may have it for long: whether it is this object is seen without the lock.
            Err(TryLockError::WouldBlock) if slot.live.load(Ordering::Acquire) == generation => {
                return Ok(None);
            }
            Err(TryLockError::WouldBlock) => return Err(self.closed()),
        };
        match &mut *state {
            State { generation: its, found: Some(found) } if *its == generation => Ok(Some(change(found))),
            _ => Err(self.closed()),
        }
    }

    /// Whether the object is there.
    #[inline]
    pub(super) fn is_live<H>(&self, handle: *const H) -> bool {
        self.decode(handle).is_ok_and(|(slot, generation, _)| slot.live.load(Ordering::Acquire) == generation)
    }

    /// Closes the handle and gives the object, once the calls that have it to themselves are over.
    pub(super) fn take<H>(&self, handle: *const H) -> Result<Found<T>> {
        let (slot, generation, index) = self.decode(handle)?;
        let state = slot.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.generation != generation {
            return Err(self.closed());
        }
        self.vacate(slot, state, index).ok_or_else(|| self.closed())
    }

    /// As [`take`](Table::take), but drops the object where it lies, under the slot's lock: for what is dropped without
    /// looking for another handle.
    #[inline]
    pub(super) fn discard<H>(&self, handle: *const H) -> Result<()> {
        let (slot, generation, index) = self.decode(handle)?;
        let mut state = slot.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.generation != generation || state.found.is_none() {
            return Err(self.closed());
        }
        slot.live.store(0, Ordering::Release);
        state.found = None;
        self.release(state, index);
        Ok(())
    }

    /// Gives an empty slot to the next object.
    #[inline]
    fn release(&self, state: RwLockWriteGuard<'_, State<T>>, index: u32) {
        // A slot whose generations are used up is never given out again.
        if state.generation < LAST_GENERATION {
            drop(state);
            self.free.lock().unwrap_or_else(PoisonError::into_inner).slots.push(index);
        }
    }

    fn vacate(
        &self,
        slot: &Slot<T>,
        mut state: RwLockWriteGuard<'_, State<T>>,
        index: u32,
    ) -> Option<Found<T>> {
        let found = state.found.take()?;
        slot.live.store(0, Ordering::Release);
        self.release(state, index);
        Some(found)
    }

    /// Closes every handle of a launcher's objects and gives these.
    pub(super) fn take_all(&self, owner: Owner) -> Vec<T> {
        let made = self.free.lock().unwrap_or_else(PoisonError::into_inner).made;
        let mut taken = Vec::new();
        for index in 0..made {
            let Some(slot) = self.slot(index) else { continue };
            // Others' objects may be in long use; only what is looked for is waited for.
            let is_its = |state: &State<T>| state.found.as_ref().is_some_and(|found| found.owner == owner);
            if !is_its(&slot.state.read().unwrap_or_else(PoisonError::into_inner)) {
                continue;
            }
            let state = slot.state.write().unwrap_or_else(PoisonError::into_inner);
            if is_its(&state) {
                taken.extend(self.vacate(slot, state, index).map(|found| found.value));
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What handles of the tests are pointers to.
    struct Thing;

    #[test]
    fn indices_fall_into_chunks_without_gaps() {
        let mut expected = (0, 0);
        for index in 0..10_000 {
            assert_eq!(place(index), expected, "slot {index}");
            expected.1 += 1;
            if expected.1 == FIRST_CHUNK << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert!(place((1 << INDEX_BITS) - FIRST_CHUNK as u32 - 1).0 < CHUNKS);
    }

    #[test]
    fn a_handle_is_good_until_it_is_closed_and_never_again() {
        let table: Table<String> = Table::new(Kind::Stream);
        let first: *mut Thing = table.insert(Owner(7), "first".to_owned()).unwrap();
        assert_eq!(table.get(first).unwrap().value, "first");
        assert!(table.is_live(first));
        assert_eq!(table.take(first).unwrap().value, "first");
        assert!(!table.is_live(first));
        let second: *mut Thing = table.insert(Owner(7), "second".to_owned()).unwrap();
        assert_eq!(first.addr() & 0xff_ffff, second.addr() & 0xff_ffff, "the slot is used again");
        for message in [
            table.get(first).unwrap_err(),
            table.take(first).unwrap_err(),
            table.with(first, |_| ()).unwrap_err(),
            table.try_with(first, |_| ()).unwrap_err(),
        ] {
            assert!(format!("{message:?}").contains("was closed"), "{message:?}");
        }
        assert_eq!(table.get(second).unwrap().value, "second");
    }

    #[test]
    fn what_is_read_stays_open_and_what_is_changed_is_not_read() {
        let table: Table<u32> = Table::new(Kind::Buffer);
        let handle: *mut Thing = table.insert(Owner(7), 1).unwrap();
        let held = [table.read(handle).unwrap(), table.try_read(handle).unwrap().unwrap()];
        std::thread::scope(|scope| {
            let (table, address) = (&table, handle.addr());
            let closing =
                scope.spawn(move || table.take::<Thing>(std::ptr::without_provenance(address)).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!closing.is_finished() && table.is_live(handle));
            assert!(held.iter().all(|held| held.found().is_some_and(|found| found.value == 1)));
            drop(held);
            assert_eq!(closing.join().unwrap().value, 1);
        });
        assert!(table.read(handle).is_err() && table.try_read(handle).is_err());

        let other: *mut Thing = table.insert(Owner(7), 2).unwrap();
        assert!(table.with(other, |_| table.try_read(other).unwrap().is_none()).unwrap());
        table.discard(other).unwrap();
        assert!(table.discard(other).is_err() && !table.is_live(other));
        let next: *mut Thing = table.insert(Owner(7), 3).unwrap();
        assert_eq!(other.addr() & 0xff_ffff, next.addr() & 0xff_ffff, "the slot is used again");
    }

    #[test]
    fn what_is_no_handle_of_the_kind_is_told_apart() {
        let (streams, events): (Table<u8>, Table<u8>) = (Table::new(Kind::Stream), Table::new(Kind::Event));
        let stream: *mut Thing = streams.insert(Owner::NONE, 1).unwrap();
        let says = |handle: *const Thing| format!("{:?}", events.get(handle).unwrap_err());
        assert!(says(std::ptr::null()).contains("the event's handle is null"));
        assert!(says(stream).contains("the handle of a stream, not of a event"));
        let local = 0u64;
        assert!(says((&raw const local).cast()).contains("is no handle of a event"));
        assert!(says(std::ptr::without_provenance(usize::MAX)).contains("is no handle"));
        assert!(says(std::ptr::without_provenance(0x3fff_ffff_ffff_ffff)).contains("is no handle"));
    }

    #[test]
    fn a_launchers_objects_go_together() {
        let table: Table<u32> = Table::new(Kind::Buffer);
        let handles: Vec<*mut Thing> =
            (0..300).map(|i| table.insert(Owner(u64::from(i % 3)), i).unwrap()).collect();
        let mut taken = table.take_all(Owner(1));
        taken.sort_unstable();
        assert_eq!(taken, (0..300).filter(|i| i % 3 == 1).collect::<Vec<_>>());
        assert!(handles.iter().enumerate().all(|(i, &h)| table.is_live(h) == (i % 3 != 1)));
    }

    #[test]
    fn threads_that_open_and_close_never_see_each_others() {
        static TABLE: Table<u64> = Table::new(Kind::Ticket);
        std::thread::scope(|scope| {
            for t in 0..4u64 {
                scope.spawn(move || {
                    for i in 0..500 {
                        let mine: Vec<*mut Thing> =
                            (0..5).map(|k| TABLE.insert(Owner(t), t << 32 | i * 5 + k).unwrap()).collect();
                        for (k, &handle) in mine.iter().enumerate() {
                            assert_eq!(TABLE.take(handle).unwrap().value, t << 32 | i * 5 + k as u64);
                            assert!(TABLE.take(handle).is_err());
                        }
                    }
                });
            }
        });
    }
}
