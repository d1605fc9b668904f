//! Memory beyond plain allocations: managed, shared between processes, somebody else's, or kept by the device's pool.

use std::fmt;
use std::ptr::NonNull;

use crate::{DeviceId, DevicePtr};

/// How memory was obtained by [`Driver::memory`](crate::Driver::memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Memory that host and devices access at one address (`hipMallocManaged`). Needs
    /// [`Capability::ManagedMemory`](crate::Capability::ManagedMemory).
    Managed,
    /// Device memory that other processes may open. Needs [`Capability::SharedMemory`](crate::Capability::SharedMemory).
    Shared,
    /// Another process's memory, which was opened here.
    Opened,
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MemoryKind::Managed => "managed",
            MemoryKind::Shared => "shared",
            MemoryKind::Opened => "opened",
        })
    }
}

/// Names an allocation of a process for other processes (`hipIpcMemHandle_t`).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpcHandle(pub [u8; 64]);

impl fmt::Debug for IpcHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IpcHandle(..)")
    }
}

/// What [`Driver::memory`](crate::Driver::memory) is to do.
#[derive(Clone, Copy, Debug)]
pub enum MemoryRequest {
    /// Allocates `bytes` bytes of managed or shared memory, aligned to 256 bytes. Replies
    /// [`Memory`](MemoryReply::Memory).
    Allocate {
        /// Managed or shared.
        kind: MemoryKind,
        /// The size in bytes; not 0.
        bytes: usize,
    },
    /// Releases memory that a request gave. Nothing in flight uses it, and nothing enqueued later. Replies
    /// [`Done`](MemoryReply::Done).
    Release {
        /// How it was obtained.
        kind: MemoryKind,
        /// Its start.
        ptr: DevicePtr,
    },
    /// Makes a handle of shared memory, or of memory of [`malloc`](crate::Driver::malloc), which other processes may
    /// [open](MemoryRequest::Open) until it is released. Nothing accesses the memory meanwhile. Replies
    /// [`Handle`](MemoryReply::Handle).
    Share {
        /// The start of the memory.
        ptr: DevicePtr,
    },
    /// Opens another process's shared memory. Replies [`Memory`](MemoryReply::Memory).
    Open {
        /// What the other process made.
        handle: IpcHandle,
        /// How many bytes it has.
        bytes: usize,
    },
    /// Returns unused memory of the device's default pool to the device until `keep` bytes are left in it. Replies
    /// [`Done`](MemoryReply::Done). Needs
    /// [`Capability::StreamOrderedAllocator`](crate::Capability::StreamOrderedAllocator).
    TrimPool {
        /// How many bytes may stay.
        keep: usize,
    },
    /// Says whose memory is at an address. Replies [`Owner`](MemoryReply::Owner). Needs
    /// [`Capability::PointerAttributes`](crate::Capability::PointerAttributes).
    Describe {
        /// The address.
        ptr: DevicePtr,
    },
    /// Says where the host accesses memory of the device, which it may do until the memory is released or shared. The host
    /// orders its accesses with the device's work, by waiting. Checks that look for reads of memory that was never written
    /// take these bytes for written. Replies [`Memory`](MemoryReply::Memory).
    HostAddress {
        /// The first byte.
        ptr: DevicePtr,
        /// The number of bytes; not 0.
        bytes: usize,
    },
    /// Says whether memory is fine-grained: pinned and managed memory is by default, device memory is not. HIP decides that
    /// when it allocates, so that only the emulator can do this. Replies [`Done`](MemoryReply::Done).
    SetFineGrained {
        /// The start of the memory.
        ptr: DevicePtr,
        /// Whether it is.
        is_fine: bool,
    },
}

impl MemoryRequest {
    /// HIP's name of what it does.
    pub const fn name(&self) -> &'static str {
        match self {
            MemoryRequest::Allocate { kind: MemoryKind::Managed, .. } => "hipMallocManaged",
            MemoryRequest::Allocate { .. } => "hipMalloc",
            MemoryRequest::Release { kind: MemoryKind::Opened, .. } => "hipIpcCloseMemHandle",
            MemoryRequest::Release { .. } => "hipFree",
            MemoryRequest::Share { .. } => "hipIpcGetMemHandle",
            MemoryRequest::Open { .. } => "hipIpcOpenMemHandle",
            MemoryRequest::TrimPool { .. } => "hipMemPoolTrimTo",
            MemoryRequest::SetFineGrained { .. } => "hipExtMallocWithFlags",
            MemoryRequest::Describe { .. } | MemoryRequest::HostAddress { .. } => "hipPointerGetAttributes",
        }
    }
}

/// The answer to a [`MemoryRequest`].
#[derive(Clone, Copy, Debug)]
pub enum MemoryReply {
    /// It was done.
    Done,
    /// Memory.
    Memory {
        /// Where kernels see it.
        ptr: DevicePtr,
        /// Where the host sees it; `None` for memory that it can't access.
        host: Option<NonNull<u8>>,
    },
    /// A handle for other processes.
    Handle(IpcHandle),
    /// The device whose memory it is.
    Owner(DeviceId),
}

// SAFETY: a description of memory; every access through it is an unsafe operation of its own.
unsafe impl Send for MemoryReply {}
// SAFETY: as above.
unsafe impl Sync for MemoryReply {}
