//! What a communicator has done, in numbers that do not depend on the machine's speed.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// Counts since a communicator was made.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$doc])* pub $field: u64,)*
        }

        #[derive(Debug, Default)]
        pub(crate) struct Counts {
            $(pub(crate) $field: AtomicU64,)*
        }

        impl Counts {
            pub(crate) fn read(&self) -> Counters {
                Counters { $($field: self.$field.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Operations that were enqueued.
    operations,
    /// Messages that were passed to MPI for other ranks.
    messages_sent,
    /// Their bytes.
    bytes_sent,
    /// Messages that arrived.
    messages_received,
    /// Their bytes.
    bytes_received,
    /// Collective calls of MPI.
    collectives,
    /// Bytes that this rank gave to collective calls.
    collective_bytes,
    /// Kernels that packed or unpacked a view with gaps.
    pack_kernels,
    /// Copies of views without gaps to and from staging memory.
    copies,
    /// Times that a stream waited for other ranks: one an operation that receives.
    stream_waits,
    /// Times that the host waited for an operation.
    host_waits,
}

/// Adds to a count.
pub(crate) fn add(count: &AtomicU64, n: usize) {
    count.fetch_add(n as u64, Ordering::Relaxed);
}
