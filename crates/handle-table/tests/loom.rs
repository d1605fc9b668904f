//! The slots of a table under the interleavings that loom tries: no thread uses an object while it is changed or after
//! it was removed, no thread sleeps forever, an object that is inserted while its owner closes is removed by one of
//! the two threads, and no free slot is returned twice.

#![cfg(loom)]

use handle_table::free_stack::FreeStack;
use handle_table::slot_lock::{Entry, Gone, Key, SlotLock, WaitQueue};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::thread;

/// A slot with an object, as in the table. loom's cell reports a thread that reads the object while another changes it.
struct Slot {
    lock: SlotLock,
    queue: WaitQueue,
    object: UnsafeCell<Option<u32>>,
}

// SAFETY: the lock decides which threads may use the object; loom checks that it does.
unsafe impl Sync for Slot {}
// SAFETY: as above.
unsafe impl Send for Slot {}

impl Slot {
    fn free() -> Arc<Slot> {
        Arc::new(Slot {
            lock: SlotLock::new(1),
            queue: WaitQueue { lock: loom::sync::Mutex::new(()), left: loom::sync::Condvar::new() },
            object: UnsafeCell::new(None),
        })
    }

    fn with(object: u32) -> (Arc<Slot>, Key) {
        let slot = Slot::free();
        let key = slot.insert(object).unwrap();
        (slot, key)
    }

    fn insert(&self, object: u32) -> Option<Key> {
        let key = self.lock.claim()?;
        // SAFETY: the slot is claimed, so no other thread uses it.
        let before = self.object.with_mut(|at| unsafe { (*at).replace(object) });
        assert_eq!(before, None, "an object is overwritten");
        self.lock.publish(key);
        Some(key)
    }

    fn look(&self) -> Option<u32> {
        // SAFETY: the caller has locked the slot.
        self.object.with(|at| unsafe { *at })
    }

    fn read(&self, key: Key) -> Result<u32, Gone> {
        self.lock.read(key, &self.queue)?;
        let object = self.look().expect("there is an object while it is locked for reading");
        self.lock.leave(&self.queue);
        Ok(object)
    }

    fn change(&self, key: Key) -> Result<(), Gone> {
        self.lock.write(key, &self.queue)?;
        // SAFETY: the slot is locked for writing.
        self.object.with_mut(|at| unsafe { *at = (*at).map(|n| n + 1) });
        self.lock.open(key, &self.queue);
        Ok(())
    }

    fn close(&self, key: Key) -> Result<u32, Gone> {
        self.lock.write(key, &self.queue)?;
        // SAFETY: the slot is locked for writing.
        let object = self.object.with_mut(|at| unsafe { (*at).take() });
        self.lock.end(key, &self.queue);
        Ok(object.expect("there is an object to close"))
    }
}

/// Tries the interleavings with at most three preemptions. With threads that sleep there are too many to try all.
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

#[test]
fn readers_see_the_object_or_that_it_was_removed() {
    model(|| {
        let (slot, key) = Slot::with(7);
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let slot = slot.clone();
                thread::spawn(move || assert!(matches!(slot.read(key), Ok(7) | Err(Gone))))
            })
            .collect();
        assert_eq!(slot.close(key), Ok(7));
        assert_eq!(slot.close(key), Err(Gone));
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert_eq!((slot.read(key), slot.lock.is_live(key)), (Err(Gone), false));
    });
}

#[test]
fn changes_happen_one_at_a_time_and_are_seen() {
    model(|| {
        let (slot, key) = Slot::with(0);
        let changing: Vec<_> = (0..2)
            .map(|_| {
                let slot = slot.clone();
                thread::spawn(move || slot.change(key).unwrap())
            })
            .collect();
        assert!(slot.read(key).unwrap() <= 2);
        changing.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(slot.read(key), Ok(2));
    });
}

#[test]
fn try_read_never_sees_half_a_change() {
    loom::model(|| {
        let (slot, key) = Slot::with(1);
        let changing = {
            let slot = slot.clone();
            thread::spawn(move || {
                slot.change(key).unwrap();
                slot.close(key).unwrap();
            })
        };
        match slot.lock.try_read(key) {
            Entry::In => {
                assert!(matches!(slot.look(), Some(1 | 2)));
                slot.lock.leave(&slot.queue);
            }
            Entry::Busy | Entry::Gone => {}
        }
        changing.join().unwrap();
        assert_eq!((slot.lock.try_read(key), slot.lock.try_write(key)), (Entry::Gone, Entry::Gone));
    });
}

#[test]
fn an_old_key_never_reads_the_slots_next_object() {
    loom::model(|| {
        let (slot, old) = Slot::with(1);
        let reader = {
            let slot = slot.clone();
            thread::spawn(move || match slot.lock.try_read(old) {
                Entry::In => {
                    assert_eq!(slot.look(), Some(1));
                    slot.lock.leave(&slot.queue);
                }
                Entry::Busy | Entry::Gone => {}
            })
        };
        slot.close(old).unwrap();
        let new = slot.insert(2).unwrap();
        assert_ne!(old, new);
        assert_eq!(slot.read(new), Ok(2));
        reader.join().unwrap();
    });
}

#[test]
fn an_object_inserted_while_its_owner_closes_is_removed_once() {
    loom::model(|| {
        let slot = Slot::free();
        let owner = Slot::with(0);
        let closing = {
            let (slot, (owner, key)) = (slot.clone(), owner.clone());
            thread::spawn(move || {
                owner.close(key).unwrap();
                slot.lock.look().is_some_and(|key| slot.close(key).is_ok())
            })
        };
        let key = slot.insert(5).unwrap();
        let found_closed = !owner.0.lock.is_live(owner.1) && slot.close(key).is_ok();
        let taken = closing.join().unwrap();
        let left = slot.lock.is_live(key);
        assert!(!left && found_closed != taken, "removed by both threads or by none");
    });
}

#[test]
fn one_thread_alone_claims_a_free_slot() {
    loom::model(|| {
        let slot = Slot::free();
        let other = {
            let slot = slot.clone();
            thread::spawn(move || slot.insert(1).is_some())
        };
        let mine = slot.insert(2).is_some();
        assert!(other.join().unwrap() != mine, "exactly one thread claims the slot");
    });
}

#[test]
fn no_free_slot_is_returned_twice_or_lost() {
    model(|| {
        let list = Arc::new((FreeStack { head: AtomicU64::new(0) }, [0, 1, 2].map(|_| AtomicU32::new(0))));
        // Indices of slots begin with 1.
        (1..=3).for_each(|slot| list.0.push(slot, &list.1[slot as usize - 1]));
        let out = Arc::new([0, 1, 2].map(|_| AtomicU32::new(0)));
        let pop = |list: &(FreeStack, [AtomicU32; 3]), out: &[AtomicU32; 3]| {
            let (slot, ()) = list.0.pop(|slot| Some(((), list.1.get(slot as usize - 1)?)))?;
            assert_eq!(
                out[slot as usize - 1].fetch_add(1, Ordering::Relaxed),
                0,
                "slot {slot} was returned twice"
            );
            Some(slot)
        };
        let push = |list: &(FreeStack, [AtomicU32; 3]), out: &[AtomicU32; 3], slot: u32| {
            out[slot as usize - 1].fetch_sub(1, Ordering::Relaxed);
            list.0.push(slot, &list.1[slot as usize - 1]);
        };
        let other = {
            let (list, out) = (list.clone(), out.clone());
            thread::spawn(move || {
                // The ABA problem: two slots are removed, and the first is put back.
                let (a, b) = (pop(&list, &out), pop(&list, &out));
                a.into_iter().for_each(|slot| push(&list, &out, slot));
                b
            })
        };
        let mine = pop(&list, &out);
        let kept = other.join().unwrap();
        let mut all: Vec<u32> = mine.into_iter().chain(kept).collect();
        while let Some(slot) = pop(&list, &out) {
            all.push(slot);
        }
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3]);
    });
}
