//! The C API's handles: handles of `handle-table` in the shape of pointers, with one table for each kind of object.
//!
//! A launch locks its kernel, stream, buffers and views for reading while it runs ([`Reading`]), because cloning them
//! would cost more than everything else. Other calls may read them at the same time. Two launches never deadlock: a
//! launch waits first for its kernel and then for its stream, and does not wait for buffers and views. If another call
//! writes a buffer or view, or waits to write it, the launch releases all of its locks and clones them.

use handle_table::Error;
pub(super) use handle_table::{Found, Lock, Owner, Reading};

use super::arena::Arena;
use super::status::{Failure, Result};

/// The kind of object that a handle names. A handle has five bits for it.
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
    Pinned = 13,
    Module = 14,
    CompiledGraph = 15,
    CapturedGraph = 16,
}

impl Kind {
    const ALL: [Kind; 16] = [
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
        Kind::Pinned,
        Kind::Module,
        Kind::CompiledGraph,
        Kind::CapturedGraph,
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
            Kind::Pinned => "pinned memory",
            Kind::Module => "module",
            Kind::CompiledGraph => "compiled graph",
            Kind::CapturedGraph => "captured graph",
        }
    }
}

/// Returns an error that names `what` unless both owners are the same launcher.
#[inline]
pub(super) fn same_owner(owner: Owner, other: Owner, what: &str) -> Result<()> {
    if owner == other { Ok(()) } else { Err(of_another(what)) }
}

#[cold]
fn of_another(what: &str) -> Failure {
    Failure::handle(format!("`{what}` is of another launcher"))
}

/// Moves the read lock of an object to `keep`, and returns the object for as long as `keep` lives.
#[inline(always)]
pub(super) fn kept_by<'k, T, const N: usize>(
    held: Reading<'static, T>,
    keep: &'k Arena<'_, Lock, N>,
) -> &'k Found<T> {
    // SAFETY: the arena gets the lock next, and drops it only when it is dropped itself, which can't happen within
    // `'k`.
    let (lock, found) = unsafe { held.split() };
    keep.put(lock);
    found
}

/// The table of all objects of one kind.
pub(super) struct Table<T> {
    kind: Kind,
    objects: handle_table::Table<T>,
}

/// The number of a handle that has the shape of a pointer.
#[inline(always)]
fn number<H>(handle: *const H) -> u64 {
    handle.addr() as u64
}

impl<T> Table<T> {
    pub(super) const fn new(kind: Kind) -> Table<T> {
        Table { kind, objects: handle_table::Table::new(kind as u8) }
    }

    #[cold]
    #[inline(never)]
    fn failure(&self, handle: u64, error: Error) -> Failure {
        let name = self.kind.name();
        match error {
            Error::Null => Failure::handle(format!("the {name}'s handle is null")),
            Error::Closed => Failure::handle(format!("the {name} was closed, or its launcher was")),
            Error::Full => Failure::invalid(format!("too many {name}s are open")),
            Error::Foreign(kind) => {
                let other = Kind::ALL.into_iter().find(|other| *other as u8 == kind && *other != self.kind);
                Failure::handle(match other {
                    Some(other) => {
                        format!("{handle:#x} is the handle of a {}, not of a {name}", other.name())
                    }
                    None => format!("{handle:#x} is no handle of a {name}"),
                })
            }
        }
    }

    #[inline(always)]
    fn checked<R>(&self, handle: u64, result: std::result::Result<R, Error>) -> Result<R> {
        match result {
            Ok(done) => Ok(done),
            Err(error) => Err(self.failure(handle, error)),
        }
    }

    /// Adds an object and returns its handle.
    #[inline(always)]
    pub(super) fn insert<H>(&self, owner: Owner, value: T) -> Result<*mut H> {
        let handle = self.checked(0, self.objects.insert(owner, value))?;
        Ok(std::ptr::without_provenance_mut(handle as usize))
    }

    /// Returns a clone of the object.
    #[inline(always)]
    pub(super) fn get<H>(&self, handle: *const H) -> Result<Found<T>>
    where
        T: Clone,
    {
        let handle = number(handle);
        self.checked(handle, self.objects.get(handle))
    }

    /// Calls `look` with the object under its read lock. `look` must neither wait nor use another handle.
    #[inline(always)]
    pub(super) fn look<H, R>(&self, handle: *const H, look: impl FnOnce(&Found<T>) -> R) -> Result<R> {
        let handle = number(handle);
        self.checked(handle, self.objects.look(handle, look))
    }

    /// Locks the object for reading, beside other readers. While the lock is held, wait for another object only in the
    /// order that the module's documentation says.
    #[inline(always)]
    pub(super) fn read<H>(&self, handle: *const H) -> Result<Reading<'_, T>> {
        let handle = number(handle);
        self.checked(handle, self.objects.read(handle))
    }

    /// As [`read`](Table::read), but returns `None` if it would have to wait or the handle is invalid.
    #[inline(always)]
    pub(super) fn quick<H>(&self, handle: *const H) -> Option<Reading<'_, T>> {
        self.objects.quick(number(handle))
    }

    /// As [`read`](Table::read), but returns `None` if it would have to wait.
    #[inline(always)]
    pub(super) fn try_read<H>(&self, handle: *const H) -> Result<Option<Reading<'_, T>>> {
        let handle = number(handle);
        self.checked(handle, self.objects.try_read(handle))
    }

    /// Calls `change` with the object, which no other call can access meanwhile.
    #[inline(always)]
    pub(super) fn with<H, R>(&self, handle: *const H, change: impl FnOnce(&mut Found<T>) -> R) -> Result<R> {
        let handle = number(handle);
        self.checked(handle, self.objects.with(handle, change))
    }

    /// As [`with`](Table::with), but returns `None` if another call has locked the object.
    #[inline]
    pub(super) fn try_with<H, R>(
        &self,
        handle: *const H,
        change: impl FnOnce(&mut Found<T>) -> R,
    ) -> Result<Option<R>> {
        let handle = number(handle);
        self.checked(handle, self.objects.try_with(handle, change))
    }

    /// Whether the handle is open.
    #[inline]
    pub(super) fn is_live<H>(&self, handle: *const H) -> bool {
        self.objects.is_live(number(handle))
    }

    /// Closes the handle and returns the object, once no call has it locked.
    #[inline]
    pub(super) fn take<H>(&self, handle: *const H) -> Result<Found<T>> {
        let handle = number(handle);
        self.checked(handle, self.objects.take(handle))
    }

    /// As [`take`](Table::take), but drops the object in place, before calls that wait for it return. Only for objects
    /// whose `Drop` uses no handle.
    #[inline(always)]
    pub(super) fn discard<H>(&self, handle: *const H) -> Result<()> {
        let handle = number(handle);
        self.checked(handle, self.objects.discard(handle))
    }

    /// Closes the handles of all objects of a launcher and returns the objects.
    pub(super) fn take_all(&self, owner: Owner) -> Vec<T> {
        self.objects.take_all(owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The type to which the tests' handles point.
    struct Thing;

    #[test]
    fn errors_distinguish_null_foreign_invented_and_closed_handles() {
        let (streams, events): (Table<u8>, Table<u8>) = (Table::new(Kind::Stream), Table::new(Kind::Event));
        let stream: *mut Thing = streams.insert(Owner::NONE, 1).unwrap();
        let says = |handle: *const Thing| format!("{:?}", events.get(handle).unwrap_err());
        assert!(says(std::ptr::null()).contains("the event's handle is null"));
        assert!(says(stream).contains("the handle of a stream, not of a event"));
        let local = 0u64;
        assert!(says((&raw const local).cast()).contains("is no handle of a event"));
        assert!(says(std::ptr::without_provenance(usize::MAX)).contains("is no handle"));
        assert!(says(std::ptr::without_provenance(0x1fff_ffff_ffff_ffff)).contains("is no handle"));
        let event: *mut Thing = events.insert(Owner::NONE, 1).unwrap();
        events.discard(event).unwrap();
        assert!(says(event).contains("the event was closed"));
    }
}
