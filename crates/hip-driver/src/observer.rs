//! What a driver or layer is told about besides its calls.

use std::sync::Weak;

use crate::activity::ActivityObserver;
use crate::{CallKind, DeviceId, DevicePtr, RawEvent, RawStream};

/// Something that happens outside driver calls: an access of the host to pinned memory, a step of a pool, or the use of a
/// stream or event of others.
#[derive(Clone, Copy, Debug)]
pub enum Note {
    /// The host is about to write pinned memory. The validation layer reports copies and kernels in flight that may
    /// still use these bytes.
    HostWrite {
        /// The first byte.
        ptr: *const u8,
        /// Length in bytes.
        bytes: usize,
    },
    /// The host is about to read pinned memory. Reported as for [`HostWrite`](Note::HostWrite).
    HostRead {
        /// The first byte.
        ptr: *const u8,
        /// Length in bytes.
        bytes: usize,
    },
    /// The allocation of [`malloc`](crate::Driver::malloc) at `segment` belongs to a pool from now until it is freed.
    /// Only bytes of its live pool blocks may be accessed.
    PoolSegment {
        /// The pool segment's device.
        device: DeviceId,
        /// The start of the allocation.
        segment: DevicePtr,
        /// How many addresses the pool gives to blocks from there on: as many as the allocation has bytes, or twice as
        /// many where the pool [separates](Observer::separates_blocks) them.
        addresses: usize,
    },
    /// A pool allocates a block in one of its pool segments. Sent after the block has left the pool's lists, so that no
    /// later note about the same bytes can be sent before it.
    PoolAllocate {
        /// The pool block's device.
        device: DeviceId,
        /// The start of the pool block.
        block: DevicePtr,
        /// Length in bytes.
        bytes: usize,
    },
    /// A pool block is freed, or a caller asked for that with any address. Sent before the block enters the pool's
    /// lists. Work in flight may still use the block: the pool must order its next use of the bytes after that work.
    PoolFree {
        /// The pool block's device.
        device: DeviceId,
        /// The start of the pool block.
        block: DevicePtr,
    },
    /// A stream is recorded as a user of a pool block, which must be live.
    PoolRecord {
        /// The pool block's device.
        device: DeviceId,
        /// The start of the pool block.
        block: DevicePtr,
    },
    /// The caller begins to use a stream that somebody else made, perhaps by other means than this driver. Comes once
    /// for each user.
    StreamAdopt {
        /// The stream's device.
        device: DeviceId,
        /// The stream; none of the default streams.
        stream: RawStream,
    },
    /// A user of an adopted stream has done with it.
    StreamRelease {
        /// The stream's device.
        device: DeviceId,
        /// The stream.
        stream: RawStream,
    },
    /// The caller begins to use an event that somebody else made, and may have recorded. Comes once for each user.
    EventAdopt {
        /// The event's device.
        device: DeviceId,
        /// The event.
        event: RawEvent,
    },
    /// A user of an adopted event has done with it.
    EventRelease {
        /// The event's device.
        device: DeviceId,
        /// The event.
        event: RawEvent,
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

kinds! {
    /// A kind of [`Note`].
    pub enum NoteKind {
        HostWrite = "note of a host write";
        HostRead = "note of a host read";
        PoolSegment = "note of a pool segment";
        PoolAllocate = "note of a pool allocation";
        PoolFree = "note of a pool free";
        PoolRecord = "note of a pool block's use";
        StreamAdopt = "note of a stream's adoption";
        StreamRelease = "note of an adopted stream's release";
        EventAdopt = "note of an event's adoption";
        EventRelease = "note of an adopted event's release";
        Borrow = "note of borrowed memory";
        Return = "note of memory given back";
    }
}

impl Note {
    /// Returns the kind under which layers count it.
    pub const fn kind(&self) -> NoteKind {
        match self {
            Note::HostWrite { .. } => NoteKind::HostWrite,
            Note::HostRead { .. } => NoteKind::HostRead,
            Note::PoolSegment { .. } => NoteKind::PoolSegment,
            Note::PoolAllocate { .. } => NoteKind::PoolAllocate,
            Note::PoolFree { .. } => NoteKind::PoolFree,
            Note::PoolRecord { .. } => NoteKind::PoolRecord,
            Note::StreamAdopt { .. } => NoteKind::StreamAdopt,
            Note::StreamRelease { .. } => NoteKind::StreamRelease,
            Note::EventAdopt { .. } => NoteKind::EventAdopt,
            Note::EventRelease { .. } => NoteKind::EventRelease,
            Note::Borrow { .. } => NoteKind::Borrow,
            Note::Return { .. } => NoteKind::Return,
        }
    }
}

/// A kind of what a layer observes: a call or a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObservedKind {
    /// A call.
    Call(CallKind),
    /// A note.
    Note(NoteKind),
}

impl ObservedKind {
    /// Returns the name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            ObservedKind::Call(kind) => kind.name(),
            ObservedKind::Note(kind) => kind.name(),
        }
    }
}

impl From<CallKind> for ObservedKind {
    fn from(kind: CallKind) -> ObservedKind {
        ObservedKind::Call(kind)
    }
}

impl From<NoteKind> for ObservedKind {
    fn from(kind: NoteKind) -> ObservedKind {
        ObservedKind::Note(kind)
    }
}

impl std::fmt::Display for ObservedKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Receives what happens besides the calls of a driver. [`Driver::observer`](crate::Driver::observer) returns it.
pub trait Observer: Send + Sync {
    /// Returns whether this observer, or one in a layer below, uses [`Note`]s about memory. The answer never changes:
    /// launchers and pools ask once, and send them only if it is `true`. Notes about streams and events are always sent.
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

    /// Receives a note.
    fn note(&self, note: &Note) {
        let _ = note;
    }

    /// Asks the driver to tell `observer` about each piece of work that was enqueued under a
    /// [correlation](crate::activity::correlated), once it has run. Returns `false` if the driver cannot, because it
    /// does not run the work itself or because another observer is alive already.
    fn watch_activity(&self, observer: Weak<dyn ActivityObserver>) -> bool {
        let _ = observer;
        false
    }
}
