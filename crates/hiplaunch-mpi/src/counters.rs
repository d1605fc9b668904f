//! What a communicator has done, in numbers that do not depend on the machine's speed.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since a communicator was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Operations that were enqueued.
    pub operations: u64,
    /// Messages that were passed to MPI for other ranks.
    pub messages_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Messages that arrived.
    pub messages_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Collective calls of MPI.
    pub collectives: u64,
    /// Bytes that this rank gave to collective calls.
    pub collective_bytes: u64,
    /// Kernels that packed or unpacked a view with gaps.
    pub pack_kernels: u64,
    /// Copies of views without gaps to and from staging memory.
    pub copies: u64,
    /// Times that a stream waited for other ranks: one an operation that receives.
    pub stream_waits: u64,
    /// Times that the host waited for an operation.
    pub host_waits: u64,
}

macro_rules! counts {
    ($($field:ident),* $(,)?) => {
        #[derive(Debug, Default)]
        pub(crate) struct Counts { $(pub(crate) $field: AtomicU64,)* }

        impl Counts {
            pub(crate) fn read(&self) -> Counters {
                Counters { $($field: self.$field.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counts!(
    operations,
    messages_sent,
    bytes_sent,
    messages_received,
    bytes_received,
    collectives,
    collective_bytes,
    pack_kernels,
    copies,
    stream_waits,
    host_waits,
);

/// Adds to a count.
pub(crate) fn add(count: &AtomicU64, n: usize) {
    count.fetch_add(n as u64, Ordering::Relaxed);
}
