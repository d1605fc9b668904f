//! Kinds of driver calls, and exact counts of each.

use std::fmt;
use std::ops::Index;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! call_kinds {
    (
        calls { $($call:ident = $call_name:literal;)* }
        groups { $($(#[$doc:meta])* $group:ident = $group_name:literal;)* }
    ) => {
        /// A kind of call: one for each method of [`Driver`](hip_driver::Driver) but
        /// [`watches_pools`](hip_driver::Driver::watches_pools) and
        /// [`watch_activity`](hip_driver::Driver::watch_activity), and [groups](CallKind::is_group) of them, in which a
        /// call counts too.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum CallKind {
            $(#[doc = concat!("`", $call_name, "`.")] $call,)*
            $($(#[$doc])* $group,)*
        }

        impl CallKind {
            /// Every kind: first the methods in the trait's order, then the groups.
            pub const ALL: &'static [CallKind] = &[$(CallKind::$call,)* $(CallKind::$group,)*];
            const METHODS: usize = [$(CallKind::$call,)*].len();
            const KINDS: usize = Self::ALL.len();

            /// The call in HIP's name, or the group's.
            pub const fn name(self) -> &'static str {
                match self {
                    $(CallKind::$call => $call_name,)*
                    $(CallKind::$group => $group_name,)*
                }
            }
        }
    };
}

call_kinds! {
    calls {
        Info = "info";
        Capabilities = "capabilities";
        DeviceCount = "hipGetDeviceCount";
        DeviceProperties = "hipDeviceGetAttribute";
        MemInfo = "hipMemGetInfo";
        DeviceSynchronize = "hipDeviceSynchronize";
        CanAccessPeer = "hipDeviceCanAccessPeer";
        EnablePeerAccess = "hipDeviceEnablePeerAccess";
        Malloc = "hipMalloc";
        Free = "hipFree";
        MallocAsync = "hipMallocAsync";
        FreeAsync = "hipFreeAsync";
        MemPoolTrim = "hipMemPoolTrimTo";
        HostMalloc = "hipHostMalloc";
        HostFree = "hipHostFree";
        MemcpyHtod = "hipMemcpyHtoD";
        MemcpyDtoh = "hipMemcpyDtoH";
        MemcpyHtodAsync = "hipMemcpyHtoDAsync";
        MemcpyDtohAsync = "hipMemcpyDtoHAsync";
        MemcpyDtodAsync = "hipMemcpyDtoDAsync";
        MemcpyPeerAsync = "hipMemcpyPeerAsync";
        MemsetD8Async = "hipMemsetD8Async";
        MemsetD32Async = "hipMemsetD32Async";
        StreamCreate = "hipStreamCreateWithFlags";
        StreamDestroy = "hipStreamDestroy";
        StreamSynchronize = "hipStreamSynchronize";
        StreamQuery = "hipStreamQuery";
        StreamWaitEvent = "hipStreamWaitEvent";
        LaunchHostFunc = "hipLaunchHostFunc";
        EventCreate = "hipEventCreateWithFlags";
        EventDestroy = "hipEventDestroy";
        EventRecord = "hipEventRecord";
        EventQuery = "hipEventQuery";
        EventSynchronize = "hipEventSynchronize";
        EventElapsed = "hipEventElapsedTime";
        ModuleLoad = "hipModuleLoadData";
        ModuleUnload = "hipModuleUnload";
        ModuleGetFunction = "hipModuleGetFunction";
        ModuleGetGlobal = "hipModuleGetGlobal";
        Occupancy = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor";
        LaunchKernel = "hipModuleLaunchKernel";
        GraphCreate = "hipGraphCreate";
        GraphDestroy = "hipGraphDestroy";
        GraphAddKernel = "hipGraphAddKernelNode";
        GraphAddMemcpyHtod = "hipGraphAddMemcpyNode1D (H2D)";
        GraphAddMemcpyDtoh = "hipGraphAddMemcpyNode1D (D2H)";
        GraphAddMemcpyDtod = "hipGraphAddMemcpyNode1D (D2D)";
        GraphAddMemsetD8 = "hipGraphAddMemsetNode (D8)";
        GraphAddMemsetD32 = "hipGraphAddMemsetNode (D32)";
        GraphAddEmpty = "hipGraphAddEmptyNode";
        GraphInstantiate = "hipGraphInstantiate";
        GraphLaunch = "hipGraphLaunch";
        GraphExecDestroy = "hipGraphExecDestroy";
        NoteHostWrite = "note of a host write";
        NoteHostRead = "note of a host read";
        NotePoolSegment = "note of a pool segment";
        NotePoolAllocate = "note of a pool allocation";
        NotePoolFree = "note of a pool free";
        NotePoolRecord = "note of a pool block's use";
    }
    groups {
        /// Group: whatever adds a node to a graph.
        GraphNode = "graph nodes";
        /// Group: `hipMalloc` and `hipMallocAsync`.
        DeviceAllocation = "device allocations";
        /// Group: `hipFree` and `hipFreeAsync`.
        DeviceFree = "device frees";
        /// Group: `hipHostMalloc`.
        PinnedAllocation = "pinned allocations";
        /// Group: `hipHostFree`.
        PinnedFree = "pinned frees";
        /// Group: `hipModuleGetFunction` and `hipModuleGetGlobal`.
        LookUp = "look-ups";
        /// Group: `hipMemcpyHtoD`, `hipMemcpyDtoH`, and `hipMemcpyDtoHAsync` to pageable memory, which waits too.
        BlockingCopy = "blocking copies";
        /// Group: `hipMemcpyHtoDAsync` and `hipMemcpyDtoHAsync` where the host's side is not pinned.
        PageableCopy = "pageable copies";
        /// Group: `hipDeviceSynchronize`, `hipStreamSynchronize` and `hipEventSynchronize`.
        Synchronize = "synchronizes";
    }
}

impl CallKind {
    /// Whether this is a group of calls, not a method.
    pub const fn is_group(self) -> bool {
        self as usize >= Self::METHODS
    }

    /// Whether this is a call that does something with a device: every method but `info`, `capabilities` and the notes.
    pub const fn is_device_call(self) -> bool {
        !self.is_group()
            && !matches!(
                self,
                CallKind::Info
                    | CallKind::Capabilities
                    | CallKind::NoteHostWrite
                    | CallKind::NoteHostRead
                    | CallKind::NotePoolSegment
                    | CallKind::NotePoolAllocate
                    | CallKind::NotePoolFree
                    | CallKind::NotePoolRecord
            )
    }

    /// The groups that a call counts in whatever its arguments are.
    pub(super) const fn groups(self) -> &'static [CallKind] {
        match self {
            CallKind::Malloc | CallKind::MallocAsync => &[CallKind::DeviceAllocation],
            CallKind::Free | CallKind::FreeAsync => &[CallKind::DeviceFree],
            CallKind::HostMalloc => &[CallKind::PinnedAllocation],
            CallKind::HostFree => &[CallKind::PinnedFree],
            CallKind::ModuleGetFunction | CallKind::ModuleGetGlobal => &[CallKind::LookUp],
            CallKind::MemcpyHtod | CallKind::MemcpyDtoh => &[CallKind::BlockingCopy],
            CallKind::GraphAddKernel
            | CallKind::GraphAddMemcpyHtod
            | CallKind::GraphAddMemcpyDtoh
            | CallKind::GraphAddMemcpyDtod
            | CallKind::GraphAddMemsetD8
            | CallKind::GraphAddMemsetD32
            | CallKind::GraphAddEmpty => &[CallKind::GraphNode],
            CallKind::DeviceSynchronize | CallKind::StreamSynchronize | CallKind::EventSynchronize => {
                &[CallKind::Synchronize]
            }
            _ => &[],
        }
    }
}

impl fmt::Display for CallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Counters that any thread may add to.
pub(super) struct Counters([AtomicU64; CallKind::KINDS]);

impl Counters {
    pub(super) const fn new() -> Counters {
        Counters([const { AtomicU64::new(0) }; CallKind::KINDS])
    }

    #[inline]
    pub(super) fn add(&self, kind: CallKind) {
        self.0[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn snapshot(&self) -> CallCounts {
        CallCounts(std::array::from_fn(|i| self.0[i].load(Ordering::Relaxed)))
    }
}

/// How often each kind of call was made, refused and injected ones included.
///
/// Printed as a table of what is not 0.
#[derive(Clone, PartialEq, Eq)]
pub struct CallCounts([u64; CallKind::KINDS]);

impl CallCounts {
    /// Calls of one kind.
    pub fn get(&self, kind: CallKind) -> u64 {
        self.0[kind as usize]
    }

    /// What was counted since an earlier snapshot of the same layer.
    #[must_use]
    pub fn since(&self, earlier: &CallCounts) -> CallCounts {
        CallCounts(std::array::from_fn(|i| self.0[i].saturating_sub(earlier.0[i])))
    }

    /// All [calls that do something with a device](CallKind::is_device_call), each counted once.
    pub fn device_calls(&self) -> u64 {
        self.iter().filter(|(kind, _)| kind.is_device_call()).map(|(_, n)| n).sum()
    }

    /// Every kind and its count, groups last.
    pub fn iter(&self) -> impl Iterator<Item = (CallKind, u64)> + '_ {
        CallKind::ALL.iter().map(|&kind| (kind, self.get(kind)))
    }
}

impl Default for CallCounts {
    fn default() -> Self {
        CallCounts([0; CallKind::KINDS])
    }
}

impl Index<CallKind> for CallCounts {
    type Output = u64;

    fn index(&self, kind: CallKind) -> &u64 {
        &self.0[kind as usize]
    }
}

impl fmt::Debug for CallCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().filter(|(_, n)| *n > 0)).finish()
    }
}

impl fmt::Display for CallCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.iter().filter(|(_, n)| *n > 0).map(|(kind, _)| kind.name().len()).max().unwrap_or(0);
        let width = width.max("device calls".len());
        for (kind, n) in self.iter().filter(|(kind, n)| *n > 0 && !kind.is_group()) {
            writeln!(f, "{kind:width$}  {n:>10}")?;
        }
        writeln!(f, "{:width$}  {:>10}", "device calls", self.device_calls())?;
        for (kind, n) in self.iter().filter(|(kind, n)| *n > 0 && kind.is_group()) {
            writeln!(f, "  of which {:1$}  {n:>10}", kind.name(), width.saturating_sub(11))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_numbered_as_listed() {
        for (i, kind) in CallKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, i, "{kind:?}");
        }
        assert!(!CallKind::NotePoolRecord.is_group() && CallKind::GraphNode.is_group());
    }

    #[test]
    fn differences_and_totals() {
        let counters = Counters::new();
        counters.add(CallKind::Malloc);
        let before = counters.snapshot();
        counters.add(CallKind::Malloc);
        counters.add(CallKind::DeviceAllocation);
        counters.add(CallKind::NoteHostWrite);
        counters.add(CallKind::NotePoolAllocate);
        let counts = counters.snapshot().since(&before);
        assert_eq!(counts[CallKind::Malloc], 1);
        // A group is no call of its own, a note is no device call.
        assert_eq!(counts.device_calls(), 1);
        let table = counts.to_string();
        assert!(table.contains("hipMalloc ") && table.contains("of which device allocations"), "{table}");
        assert!(!table.contains("hipFree"), "{table}");
    }
}
