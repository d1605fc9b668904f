//! What a driver or a layer wants to know beside its calls.

use std::sync::Weak;

use crate::activity::ActivityObserver;
use crate::{CallKind, DeviceId, DevicePtr};

/// What callers do to memory without a call of the driver.
#[derive(Clone, Copy, Debug)]
pub enum Note {
    /// The host is about to write pinned memory. The validation layer reports copies and kernels in flight that may
    /// still use the bytes.
    HostWrite {
        /// The first byte.
        ptr: *const u8,
        /// Length in bytes.
        bytes: usize,
    },
    /// The host is about to read pinned memory; as for [`HostWrite`](Note::HostWrite).
    HostRead {
        /// The first byte.
        ptr: *const u8,
        /// Length in bytes.
        bytes: usize,
    },
    /// The allocation of [`malloc`](crate::Driver::malloc) at `segment` belongs to a pool from now until it is freed: of
    /// its bytes only those of live blocks may be touched.
    PoolSegment {
        /// The segment's device.
        device: DeviceId,
        /// The start of the allocation.
        segment: DevicePtr,
        /// How many addresses the pool gives to blocks from there on: as many as the allocation has bytes, or twice as
        /// many where the pool [separates](Observer::separates_blocks) them.
        addresses: usize,
    },
    /// A pool hands out a block inside one of its segments. Comes after the block left the pool's lists, so that no later
    /// note of the same bytes can overtake it.
    PoolAllocate {
        /// The block's device.
        device: DeviceId,
        /// The start of the block.
        block: DevicePtr,
        /// Length in bytes.
        bytes: usize,
    },
    /// A block is given back to its pool, or somebody asked for that with whatever address. Comes before the block enters
    /// the pool's lists. Work in flight may still use it: the pool's next use of the bytes has to be ordered after that.
    PoolFree {
        /// The block's device.
        device: DeviceId,
        /// The start of the block.
        block: DevicePtr,
    },
    /// Somebody says that a stream uses a block, which therefore has to be live.
    PoolRecord {
        /// The block's device.
        device: DeviceId,
        /// The start of the block.
        block: DevicePtr,
    },
    /// Device memory that somebody else allocated is used from now on.
    Borrow {
        /// The memory's device.
        device: DeviceId,
        /// Its start.
        ptr: DevicePtr,
        /// Length in bytes.
        bytes: usize,
    },
    /// Borrowed memory is not used any more.
    Return {
        /// The memory's device.
        device: DeviceId,
        /// Its start.
        ptr: DevicePtr,
    },
}

impl Note {
    /// The kind under which it is counted.
    pub const fn kind(&self) -> CallKind {
        match self {
            Note::HostWrite { .. } => CallKind::NoteHostWrite,
            Note::HostRead { .. } => CallKind::NoteHostRead,
            Note::PoolSegment { .. } => CallKind::NotePoolSegment,
            Note::PoolAllocate { .. } => CallKind::NotePoolAllocate,
            Note::PoolFree { .. } => CallKind::NotePoolFree,
            Note::PoolRecord { .. } => CallKind::NotePoolRecord,
            Note::Borrow { .. } => CallKind::NoteBorrow,
            Note::Return { .. } => CallKind::NoteReturn,
        }
    }
}

/// Whom a driver wants to be told of what happens beside its calls. Got from
/// [`Driver::observer`](crate::Driver::observer).
pub trait Observer: Send + Sync {
    /// Whether notes are listened to, here or in a layer below. It never changes: launchers and pools ask once, and send
    /// notes only where it is `true`.
    fn takes_notes(&self) -> bool {
        false
    }

    /// Whether a pool is to separate its blocks. It never changes.
    ///
    /// If it is `true`, the driver gives an allocation that a pool calls its segment twice as many addresses as it has
    /// bytes, the pool places a block that begins `offset` bytes into the segment at address `segment + 2 * offset`, and
    /// sends the notes of segments and blocks. The driver can then tell an access past the end of a block.
    fn separates_blocks(&self) -> bool {
        false
    }

    /// Takes a note.
    fn note(&self, note: &Note) {
        let _ = note;
    }

    /// Asks the driver to tell `observer` of each piece of work that is enqueued under a
    /// [correlation](crate::activity::correlated) once it has run. `false`: it can't, as its work is run elsewhere, or
    /// another observer is alive already.
    fn watch_activity(&self, observer: Weak<dyn ActivityObserver>) -> bool {
        let _ = observer;
        false
    }
}
