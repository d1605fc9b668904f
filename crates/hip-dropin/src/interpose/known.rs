//! What the wrappers know: live memory by address, memory that was freed, and handles with their devices.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hip_driver::{DeviceId, Note, RawEvent, RawStream};

use super::Interposed;
use super::graphs::KnownGraphs;
use super::modules::KnownModules;
use crate::memory::allocations::{Allocation, Allocations, Kind, Place};
use crate::stream::StreamHandle;
use crate::stream::event::EventHandle;

/// How many freed allocations are remembered.
const REMEMBERED: usize = 1024;

#[derive(Default)]
pub(super) struct Known {
    pub(super) allocations: Allocations,
    freed: Mutex<VecDeque<Allocation>>,
    streams: Handles,
    events: Handles,
    pub(super) modules: KnownModules,
    pub(super) graphs: KnownGraphs,
}

/// The devices of handles. That of a destroyed handle is kept, so that its use is shown to the layers.
#[derive(Default)]
struct Handles(Mutex<HashMap<u64, Made>>);

#[derive(Clone, Copy)]
struct Made {
    device: DeviceId,
    /// For streams: whether the null stream and this one wait for each other.
    blocking: bool,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Known {
    /// Adds an allocation.
    pub(super) fn add(&self, allocation: Allocation) {
        let (start, end) = (allocation.base, allocation.base + allocation.bytes as u64);
        lock(&self.freed).retain(|old| old.range().end <= start || old.base >= end);
        self.allocations.insert(allocation);
    }

    /// Removes an allocation that was freed.
    pub(super) fn remove(&self, base: u64) {
        let Some(allocation) = self.allocations.take(base, |_| true) else { return };
        let mut freed = lock(&self.freed);
        if freed.len() == REMEMBERED {
            freed.pop_front();
        }
        freed.push_back(*allocation);
    }

    /// The freed allocation that began at an address.
    pub(super) fn freed_at(&self, base: u64) -> Option<Allocation> {
        lock(&self.freed).iter().rev().find(|freed| freed.base == base).copied()
    }

    /// Memory may be where freed memory was.
    pub(super) fn forget_freed(&self) {
        lock(&self.freed).clear();
    }

    /// Where an address is that may be anybody's; pageable if it is in no memory that is known. Where memory of a device was freed, the host's may be now.
    pub(super) fn place(&self, address: u64) -> Place {
        let Some(found) = self.allocations.find(address) else { return Place::Pageable };
        match found.pinned {
            Some(_) => Place::Pinned(found.device_address(address)),
            None => Place::Device(found.device),
        }
    }

    /// Where an address is that the program says to be a device's: also in freed memory, which the layers know to be freed.
    pub(super) fn device_place(&self, address: u64) -> Place {
        let live = self.place(address);
        if !matches!(live, Place::Pageable) {
            return live;
        }
        let freed = lock(&self.freed);
        let freed = freed.iter().rev().find(|old| old.pinned.is_none() && old.range().contains(&address));
        freed.map_or(Place::Pageable, |old| Place::Device(old.device))
    }

    /// Whether work on a device may be shown as accessing an address.
    pub(super) fn may_access(&self, device: DeviceId, address: u64) -> bool {
        match self.allocations.find(address) {
            // Who may access the memory of a pool or managed memory is not known.
            Some(found) => {
                found.device == device
                    || !matches!(found.kind, Kind::Pool(_) | Kind::Managed | Kind::Variable(_))
            }
            None => !matches!(self.device_place(address), Place::Pageable),
        }
    }
}

impl Interposed {
    /// A stream and its device. A default stream is that of the thread's current device. A stream that nobody is known to
    /// have made is adopted.
    pub(super) fn stream(&self, handle: StreamHandle) -> (DeviceId, RawStream) {
        let raw = RawStream(handle.0);
        if raw.is_default() {
            return (self.device(), raw);
        }
        if let Some(made) = lock(&self.known.streams.0).get(&handle.0) {
            return (made.device, raw);
        }
        let device = self.device();
        self.add_stream(handle.0, device, true);
        self.note(&Note::StreamAdopt { device, stream: raw });
        (device, raw)
    }

    pub(super) fn add_stream(&self, handle: u64, device: DeviceId, blocking: bool) {
        lock(&self.known.streams.0).insert(handle, Made { device, blocking });
    }

    /// Whether the null stream waits for a stream.
    pub(super) fn is_blocking(&self, stream: RawStream) -> bool {
        lock(&self.known.streams.0)
            .get(&stream.0)
            .map_or(stream == RawStream::PER_THREAD, |made| made.blocking)
    }

    /// An event and its device. One that nobody is known to have made is adopted.
    pub(super) fn event(&self, handle: EventHandle) -> (DeviceId, RawEvent) {
        let raw = RawEvent(handle.0);
        if let Some(made) = lock(&self.known.events.0).get(&handle.0) {
            return (made.device, raw);
        }
        let device = self.device();
        self.add_event(handle.0, device);
        self.note(&Note::EventAdopt { device, event: raw });
        (device, raw)
    }

    pub(super) fn add_event(&self, handle: u64, device: DeviceId) {
        lock(&self.known.events.0).insert(handle, Made { device, blocking: false });
    }
}
