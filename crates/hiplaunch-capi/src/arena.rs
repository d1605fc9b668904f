//! Containers whose values are added one by one and never move, so that references to earlier values stay valid. The
//! first values are stored on the caller's stack, so most launches allocate nothing.

use std::cell::{Cell, UnsafeCell};
use std::mem::{MaybeUninit, needs_drop};

/// Storage for `N` values, on the caller's stack. It must not move while an arena borrows it.
pub(super) struct Room<T, const N: usize>([MaybeUninit<T>; N]);

impl<T, const N: usize> Room<T, N> {
    #[inline(always)]
    pub(super) const fn new() -> Room<T, N> {
        Room([const { MaybeUninit::uninit() }; N])
    }
}

/// A vector of at most `N` values.
pub(super) struct Few<'r, T, const N: usize> {
    room: &'r mut [MaybeUninit<T>; N],
    used: usize,
}

impl<'r, T, const N: usize> Few<'r, T, N> {
    #[inline(always)]
    pub(super) fn new(room: &'r mut Room<T, N>) -> Few<'r, T, N> {
        Few { room: &mut room.0, used: 0 }
    }

    /// Adds a value.
    ///
    /// # Safety
    /// There are fewer than `N`.
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, item: T) {
        // SAFETY: `used` is less than `N`: the caller's promise.
        unsafe { self.room.get_unchecked_mut(self.used) }.write(item);
        self.used += 1;
    }

    #[inline(always)]
    pub(super) fn all(&self) -> &[T] {
        // SAFETY: `push` has written the first `used` values, and `used` is at most `N`.
        unsafe { std::slice::from_raw_parts(self.room.as_ptr().cast(), self.used) }
    }
}

impl<T, const N: usize> Drop for Few<'_, T, N> {
    #[inline(always)]
    fn drop(&mut self) {
        if needs_drop::<T>() {
            for at in 0..self.used {
                // SAFETY: `push` has written the first `used` values, and `used` is at most `N`.
                unsafe { self.room.get_unchecked_mut(at).assume_init_drop() };
            }
        }
    }
}

/// Values that are dropped with the arena, and not before.
pub(super) struct Arena<'r, T, const N: usize> {
    room: UnsafeCell<&'r mut [MaybeUninit<T>; N]>,
    /// The number of values in `room`.
    used: Cell<usize>,
    more: UnsafeCell<More<T>>,
}

/// The values for which the room was too small.
type More<T> = Option<Box<Vec<Box<[T]>>>>;

impl<'r, T, const N: usize> Arena<'r, T, N> {
    #[inline(always)]
    pub(super) fn new(room: &'r mut Room<T, N>) -> Arena<'r, T, N> {
        Arena { room: UnsafeCell::new(&mut room.0), used: Cell::new(0), more: UnsafeCell::new(None) }
    }

    /// Reserves `count` more places in the room. Returns `None` if the room has fewer.
    #[inline(always)]
    fn places(&self, count: usize) -> Option<*mut T> {
        let used = self.used.get();
        if count > N - used {
            return None;
        }
        self.used.set(used + count);
        // SAFETY: `used` is at most `N`. Only the pointer is read here, and no reference to the earlier values is
        // created, so references to them stay valid.
        Some(unsafe { (&raw mut **self.room.get()).cast::<T>().add(used) })
    }

    #[cold]
    #[inline(never)]
    fn put_more(&self, items: Box<[T]>) -> &[T] {
        // SAFETY: the arena is not `Sync`, and nothing that runs while this reference lives calls this function again.
        // The values of a box stay where they are when the list of boxes grows.
        let more = unsafe { &mut *self.more.get() }.get_or_insert_default();
        more.push(items);
        match more.last() {
            Some(items) => {
                let items: *const [T] = &raw const **items;
                // SAFETY: a box of the list lives, unchanged, as long as `self`.
                unsafe { &*items }
            }
            None => &[],
        }
    }

    /// Adds a value, and returns a reference to it.
    #[inline(always)]
    pub(super) fn put(&self, item: T) -> Option<&T> {
        match self.places(1) {
            // SAFETY: the place is reserved for this value as long as the arena lives.
            Some(place) => unsafe {
                place.write(item);
                Some(&*place)
            },
            None => self.put_more(Box::new([item])).first(),
        }
    }

    /// Adds `count` values that `make` creates, and returns them.
    ///
    /// # Errors
    /// Returns the first error of `make`.
    #[inline(always)]
    pub(super) fn fill<E>(&self, count: usize, mut make: impl FnMut(usize) -> Result<T, E>) -> Result<&[T], E>
    where
        T: Copy,
    {
        let Some(places) = self.places(count) else { return self.fill_more(count, make) };
        for i in 0..count {
            // SAFETY: there are `count` places. If `make` fails or panics, they stay unused: `Copy` values need no
            // drop.
            unsafe { places.add(i).write(make(i)?) };
        }
        // SAFETY: all of them were just written, and nothing changes them.
        Ok(unsafe { std::slice::from_raw_parts(places, count) })
    }

    #[cold]
    #[inline(never)]
    fn fill_more<E>(&self, count: usize, make: impl FnMut(usize) -> Result<T, E>) -> Result<&[T], E> {
        let items: Result<Box<[T]>, E> = (0..count).map(make).collect();
        Ok(self.put_more(items?))
    }
}

impl<T, const N: usize> Drop for Arena<'_, T, N> {
    #[inline(always)]
    fn drop(&mut self) {
        if needs_drop::<T>() {
            for item in self.room.get_mut().iter_mut().take(self.used.get()) {
                // SAFETY: only `put` adds values that need a drop, and it writes each place that it reserves.
                unsafe { item.assume_init_drop() };
            }
        }
        if self.more.get_mut().is_some() {
            drop_more(self.more.get_mut().take());
        }
    }
}

#[cold]
#[inline(never)]
fn drop_more<T>(more: More<T>) {
    drop(more);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn values_stay_where_they_are_on_the_stack_and_beyond() {
        let mut room: Room<u64, 4> = Room::new();
        let arena = Arena::new(&mut room);
        let first = arena.fill(3, |i| Ok::<_, ()>(i as u64)).unwrap();
        let beyond = arena.fill(2, |i| Ok::<_, ()>(10 + i as u64)).unwrap();
        let fourth = arena.put(7).unwrap();
        let more: Vec<&u64> = (100..120).filter_map(|i| arena.put(i)).collect();
        assert_eq!((first, beyond, *fourth), (&[0, 1, 2][..], &[10, 11][..], 7));
        assert!(more.iter().map(|n| **n).eq(100..120));
        assert!(arena.fill(0, |_| Err(())).unwrap().is_empty());
    }

    #[test]
    fn few_drops_each_value_once() {
        let counted = Rc::new(());
        let mut room: Room<Rc<()>, 2> = Room::new();
        let mut few = Few::new(&mut room);
        for _ in 0..2 {
            // SAFETY: these are the first two.
            unsafe { few.push(counted.clone()) };
        }
        assert_eq!((few.all().len(), Rc::strong_count(&counted)), (2, 3));
        drop(few);
        assert_eq!(Rc::strong_count(&counted), 1);
    }

    #[test]
    fn an_arena_drops_each_value_once() {
        let counted = Rc::new(());
        let mut room: Room<Rc<()>, 2> = Room::new();
        let arena = Arena::new(&mut room);
        let kept: Vec<&Rc<()>> = (0..5).filter_map(|_| arena.put(counted.clone())).collect();
        assert_eq!((kept.len(), Rc::strong_count(&counted)), (5, 6));
        drop(arena);
        assert_eq!(Rc::strong_count(&counted), 1);
    }

    #[test]
    fn an_error_of_make_leaves_the_earlier_values() {
        let mut room: Room<u32, 8> = Room::new();
        let arena = Arena::new(&mut room);
        let before = arena.fill(2, |i| Ok::<_, ()>(i as u32)).unwrap();
        assert_eq!(arena.fill(3, |i| if i < 2 { Ok(9) } else { Err(i) }), Err(2));
        assert_eq!(arena.fill(20, |i| if i < 12 { Ok(9) } else { Err(i) }), Err(12));
        assert_eq!((before, arena.put(5)), (&[0, 1][..], Some(&5)));
    }

    #[test]
    fn make_may_add_values_to_the_same_arena() {
        let mut room: Room<usize, 8> = Room::new();
        let arena = Arena::new(&mut room);
        let outer = arena.fill(2, |i| Ok::<_, ()>(arena.put(40 + i).map_or(0, |n| n + 1))).unwrap();
        assert_eq!(outer, [41, 42]);
    }
}
