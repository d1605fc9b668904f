//! The list of returned result buffers under every interleaving: each one that is added is taken once, with what its owner
//! wrote.

/// The atomics that `returned.rs` uses: loom's here, std's in the library.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicPtr, Ordering};
}

#[path = "../src/staging/returned.rs"]
mod returned;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use returned::{Returnable, ReturnedList};

/// A number that its owner changes before it returns it. loom reports an access that no synchronization orders.
struct Number(UnsafeCell<u64>);

fn of(number: u64) -> Box<Returnable<Number>> {
    Returnable::new(Number(UnsafeCell::new(number)))
}

fn add(list: &ReturnedList<Number>, number: u64) {
    let added = of(0);
    added.value.0.with_mut(|place| {
        // SAFETY: this thread's own.
        unsafe { *place = number }
    });
    list.add(added);
}

fn take_all(list: &ReturnedList<Number>) -> Vec<u64> {
    let mut taken = Vec::new();
    list.take_all(|number| {
        // SAFETY: taken, and so this thread's own.
        taken.push(number.value.0.with(|place| unsafe { *place }));
    });
    taken
}

#[test]
fn each_value_is_taken_once_and_those_of_a_thread_in_order() {
    // Without a bound the model takes minutes.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let list = Arc::new(ReturnedList::new());
        let threads: Vec<_> = [vec![1, 2], vec![3]]
            .into_iter()
            .map(|numbers| {
                let list = list.clone();
                thread::spawn(move || numbers.into_iter().for_each(|number| add(&list, number)))
            })
            .collect();
        let mut taken = take_all(&list);
        for thread in threads {
            thread.join().unwrap();
        }
        taken.extend(take_all(&list));
        let at = |number| taken.iter().position(|&n| n == number).unwrap();
        assert!(taken.len() == 3 && at(1) < at(2) && at(3) < 3, "{taken:?}");
        assert!(take_all(&list).is_empty());
    });
}

#[test]
fn a_value_that_is_taken_can_be_added_again_meanwhile() {
    loom::model(|| {
        let list = Arc::new(ReturnedList::new());
        add(&list, 1);
        let adding = {
            let list = list.clone();
            thread::spawn(move || add(&list, 2))
        };
        let mut taken = 0;
        list.take_all(|number| {
            taken += 1;
            list.add(number);
        });
        adding.join().unwrap();
        let mut left = take_all(&list);
        left.sort_unstable();
        assert_eq!(left, [1, 2], "{taken} taken");
    });
}

#[test]
fn a_list_owns_what_is_in_it() {
    loom::model(|| {
        let (list, owner) = (ReturnedList::new(), Arc::new(0));
        list.add(Returnable::new(owner.clone()));
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(list);
        assert_eq!(Arc::strong_count(&owner), 1);
    });
}
