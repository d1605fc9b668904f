//! The last launches on a stream, for a fault report.

use crate::code::LaunchDims;

/// The number of recent launches that each stream keeps for a fault report.
pub(crate) const RECENT_LAUNCHES: usize = 32;
/// The number of bytes of the kernarg segment that are kept of each recent launch.
pub(super) const RECENT_ARGUMENT_BYTES: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct RecentLaunch {
    pub(super) position: u64,
    /// [`DeviceKernel::id`](crate::code::DeviceKernel::id).
    pub(super) kernel: u64,
    pub(super) dims: LaunchDims,
    /// The number of bytes of the explicit arguments.
    pub(super) bytes: u32,
    /// The first bytes of the kernarg segment.
    pub(super) start: [u8; RECENT_ARGUMENT_BYTES],
}

/// The last launches on a stream, for a fault report.
#[derive(Debug)]
pub(crate) struct RecentLaunches {
    /// Those at position 0 have not been launched yet.
    ring: Box<[RecentLaunch; RECENT_LAUNCHES]>,
    /// The index of the oldest launch, modulo their number; the next launch overwrites it.
    next: usize,
}

impl RecentLaunches {
    pub(super) fn new() -> RecentLaunches {
        let none = RecentLaunch {
            position: 0,
            kernel: 0,
            dims: LaunchDims::linear(0, 0),
            bytes: 0,
            start: [0; RECENT_ARGUMENT_BYTES],
        };
        RecentLaunches { ring: Box::new([none; RECENT_LAUNCHES]), next: 0 }
    }

    #[inline]
    pub(crate) fn push(
        &mut self,
        position: u64,
        kernel: u64,
        dims: &LaunchDims,
        explicit_bytes: u32,
        kernarg: &[u8],
    ) {
        let recent = &mut self.ring[self.next % RECENT_LAUNCHES];
        self.next = self.next.wrapping_add(1);
        (recent.position, recent.kernel, recent.dims) = (position, kernel, *dims);
        recent.bytes = explicit_bytes;
        match kernarg.first_chunk::<RECENT_ARGUMENT_BYTES>() {
            Some(first) => recent.start = *first,
            None => recent.start[..kernarg.len()].copy_from_slice(kernarg),
        }
    }

    /// Iterates over the launches, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &RecentLaunch> {
        let oldest = self.next % RECENT_LAUNCHES;
        self.ring[oldest..].iter().chain(&self.ring[..oldest])
    }
}
