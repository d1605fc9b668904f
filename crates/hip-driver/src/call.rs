//! A call of the [`Driver`](crate::Driver) as a value, and the work that can be enqueued: what layers look at.
//!
//! [`for_each_call!`](crate::for_each_call) lists the trait's methods once. [`Call`], [`CallKind`] and the forwarding
//! adaptor of the layers are made from that list.

use std::cell::Cell;
use std::ffi::CStr;
use std::fmt;

use crate::{
    DeviceId, DeviceProperties, DevicePtr, DriverError, ErrorCode, EventOptions, HostFunc, KernelLaunch,
    MemInfo, MemoryAccess, MemoryReply, MemoryRequest, PinnedAllocation, RawEvent, RawFunction, RawGraph,
    RawGraphExec, RawGraphNode, RawModule, RawStream, StreamOptions,
};

/// Passes the list of the driver's methods that act on a device to the macro named `$generate`. A row is the
/// [`CallKind`], HIP's name, the groups it counts in, `(unsafe)` or `()`, and the method's signature.
///
/// Not in the list: `info`, `capabilities`, `device_count` and `observer`, which name no device, and `enqueue`,
/// `copy_blocking` and `graph_add`, whose kind depends on the [`Work`].
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_call {
    ($generate:ident) => {
        $generate! {
            DeviceProperties "hipDeviceGetAttribute" [] () fn device_properties(device) -> DeviceProperties;
            MemInfo "hipMemGetInfo" [] () fn mem_info(device) -> MemInfo;
            DeviceSynchronize "hipDeviceSynchronize" [Synchronize] () fn device_synchronize(device) -> ();
            CanAccessPeer "hipDeviceCanAccessPeer" [] () fn can_access_peer(device, peer: DeviceId) -> bool;
            EnablePeerAccess "hipDeviceEnablePeerAccess" [] () fn enable_peer_access(device, peer: DeviceId) -> ();
            Malloc "hipMalloc" [DeviceAllocation] () fn malloc(device, bytes: usize) -> DevicePtr;
            Free "hipFree" [DeviceFree] (unsafe) fn free(device, ptr: DevicePtr) -> ();
            MallocAsync "hipMallocAsync" [DeviceAllocation] (unsafe) fn malloc_async(device, bytes: usize, stream: RawStream) -> DevicePtr;
            FreeAsync "hipFreeAsync" [DeviceFree] (unsafe) fn free_async(device, ptr: DevicePtr, stream: RawStream) -> ();
            MemPoolTrim "hipMemPoolTrimTo" [] () fn mem_pool_trim(device, keep: usize) -> ();
            HostMalloc "hipHostMalloc" [PinnedAllocation] () fn host_malloc(device, bytes: usize) -> PinnedAllocation;
            HostFree "hipHostFree" [PinnedFree] (unsafe) fn host_free(device, allocation: PinnedAllocation) -> ();
            HostRegister "hipHostRegister" [] (unsafe) fn host_register(device, ptr: *mut u8, bytes: usize) -> PinnedAllocation;
            HostUnregister "hipHostUnregister" [] (unsafe) fn host_unregister(device, allocation: PinnedAllocation) -> ();
            Memory "requests about memory" [] (unsafe) fn memory(device, request: &'a MemoryRequest) -> MemoryReply;
            StreamCreate "hipStreamCreateWithFlags" [] () fn stream_create(device, options: StreamOptions) -> RawStream;
            StreamDestroy "hipStreamDestroy" [] (unsafe) fn stream_destroy(device, stream: RawStream) -> ();
            StreamSynchronize "hipStreamSynchronize" [Synchronize] (unsafe) fn stream_synchronize(device, stream: RawStream) -> ();
            StreamQuery "hipStreamQuery" [] (unsafe) fn stream_query(device, stream: RawStream) -> bool;
            StreamWaitEvent "hipStreamWaitEvent" [] (unsafe) fn stream_wait_event(device, stream: RawStream, event: RawEvent) -> ();
            EventCreate "hipEventCreateWithFlags" [] () fn event_create(device, options: EventOptions) -> RawEvent;
            EventDestroy "hipEventDestroy" [] (unsafe) fn event_destroy(device, event: RawEvent) -> ();
            EventRecord "hipEventRecord" [] (unsafe) fn event_record(device, event: RawEvent, stream: RawStream) -> ();
            EventQuery "hipEventQuery" [] (unsafe) fn event_query(device, event: RawEvent) -> bool;
            EventSynchronize "hipEventSynchronize" [Synchronize] (unsafe) fn event_synchronize(device, event: RawEvent) -> ();
            EventElapsed "hipEventElapsedTime" [] (unsafe) fn event_elapsed_ms(device, start: RawEvent, end: RawEvent) -> f32;
            ModuleLoad "hipModuleLoadData" [] (unsafe) fn module_load(device, image: &'a [u8]) -> RawModule;
            ModuleUnload "hipModuleUnload" [] (unsafe) fn module_unload(device, module: RawModule) -> ();
            ModuleGetFunction "hipModuleGetFunction" [LookUp] (unsafe) fn module_get_function(device, module: RawModule, name: &'a CStr) -> RawFunction;
            ModuleGetGlobal "hipModuleGetGlobal" [LookUp] (unsafe) fn module_get_global(device, module: RawModule, name: &'a CStr) -> (DevicePtr, usize);
            Occupancy "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor" [] (unsafe) fn occupancy(device, function: RawFunction, block_threads: u32, dynamic_lds: u32) -> u32;
            GraphCreate "hipGraphCreate" [] () fn graph_create(device) -> RawGraph;
            GraphDestroy "hipGraphDestroy" [] (unsafe) fn graph_destroy(device, graph: RawGraph) -> ();
            GraphInstantiate "hipGraphInstantiate" [] (unsafe) fn graph_instantiate(device, graph: RawGraph) -> RawGraphExec;
            GraphExecDestroy "hipGraphExecDestroy" [] (unsafe) fn graph_exec_destroy(device, exec: RawGraphExec) -> ();
        }
    };
}

macro_rules! define_calls {
    ($($kind:ident $name:literal [$($in_group:ident)*] ($($unsafe:tt)?) fn $method:ident($device:ident $(, $arg:ident: $ty:ty)*) -> $result:ty;)*) => {
        /// One call of a driver. Its fields are the parameters of the method that it is named after.
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs, reason = "the fields are the parameters of the method")]
        pub enum Call<'a> {
            /// [`Driver::info`](crate::Driver::info).
            Info,
            /// [`Driver::capabilities`](crate::Driver::capabilities).
            Capabilities,
            /// [`Driver::device_count`](crate::Driver::device_count).
            DeviceCount,
            $(
                #[doc = concat!("[`Driver::", stringify!($method), "`](crate::Driver::", stringify!($method), ").")]
                $kind { $device: DeviceId, $($arg: $ty),* },
            )*
            /// [`Driver::enqueue`](crate::Driver::enqueue).
            Enqueue { device: DeviceId, stream: RawStream, work: &'a Work<'a> },
            /// [`Driver::copy_blocking`](crate::Driver::copy_blocking).
            CopyBlocking { device: DeviceId, work: &'a Work<'a> },
            /// [`Driver::graph_add`](crate::Driver::graph_add).
            GraphAdd { device: DeviceId, graph: RawGraph, dependencies: &'a [RawGraphNode], work: &'a Work<'a> },
        }

        impl Call<'_> {
            /// What kind of call it is.
            #[inline]
            pub const fn kind(&self) -> CallKind {
                match self {
                    Call::Info => CallKind::Info,
                    Call::Capabilities => CallKind::Capabilities,
                    Call::DeviceCount => CallKind::DeviceCount,
                    $(Call::$kind { .. } => CallKind::$kind,)*
                    Call::Enqueue { work, .. } => work.kind(),
                    Call::CopyBlocking { work, .. } => work.blocking_kind(),
                    Call::GraphAdd { work, .. } => work.node_kind(),
                }
            }

            /// The device that it names; `None` for a call that names none.
            #[inline]
            pub const fn device(&self) -> Option<DeviceId> {
                match self {
                    Call::Info | Call::Capabilities | Call::DeviceCount => None,
                    $(Call::$kind { $device, .. } => Some(*$device),)*
                    Call::Enqueue { device, .. }
                    | Call::CopyBlocking { device, .. }
                    | Call::GraphAdd { device, .. } => Some(*device),
                }
            }
        }

        call_kinds! {
            calls {
                Info = "info" [];
                Capabilities = "capabilities" [];
                DeviceCount = "hipGetDeviceCount" [];
                $($kind = $name [$($in_group)*];)*
                LaunchKernel = "hipModuleLaunchKernel" [];
                MemcpyHtodAsync = "hipMemcpyHtoDAsync" [];
                MemcpyDtohAsync = "hipMemcpyDtoHAsync" [];
                MemcpyDtodAsync = "hipMemcpyDtoDAsync" [];
                MemcpyPeerAsync = "hipMemcpyPeerAsync" [];
                MemsetD8Async = "hipMemsetD8Async" [];
                MemsetD32Async = "hipMemsetD32Async" [];
                LaunchHostFunc = "hipLaunchHostFunc" [];
                GraphLaunch = "hipGraphLaunch" [];
                MemcpyHtod = "hipMemcpyHtoD" [BlockingCopy];
                MemcpyDtoh = "hipMemcpyDtoH" [BlockingCopy];
                GraphAddKernel = "hipGraphAddKernelNode" [GraphNode];
                GraphAddMemcpyHtod = "hipGraphAddMemcpyNode1D (H2D)" [GraphNode];
                GraphAddMemcpyDtoh = "hipGraphAddMemcpyNode1D (D2H)" [GraphNode];
                GraphAddMemcpyDtod = "hipGraphAddMemcpyNode1D (D2D)" [GraphNode];
                GraphAddMemsetD8 = "hipGraphAddMemsetNode (D8)" [GraphNode];
                GraphAddMemsetD32 = "hipGraphAddMemsetNode (D32)" [GraphNode];
                GraphAddEmpty = "hipGraphAddEmptyNode" [GraphNode];
                UnsupportedWork = "work that cannot be done there" [];
                NoteHostWrite = "note of a host write" [];
                NoteHostRead = "note of a host read" [];
                NotePoolSegment = "note of a pool segment" [];
                NotePoolAllocate = "note of a pool allocation" [];
                NotePoolFree = "note of a pool free" [];
                NotePoolRecord = "note of a pool block's use" [];
                NoteBorrow = "note of borrowed memory" [];
                NoteReturn = "note of memory given back" [];
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
                /// Group: `hipMemcpyHtoD`, `hipMemcpyDtoH`, and `hipMemcpyDtoHAsync` to pageable memory, which waits
                /// too.
                BlockingCopy = "blocking copies";
                /// Group: `hipMemcpyHtoDAsync` and `hipMemcpyDtoHAsync` where the host's side is not pinned.
                PageableCopy = "pageable copies";
                /// Group: `hipDeviceSynchronize`, `hipStreamSynchronize` and `hipEventSynchronize`.
                Synchronize = "synchronizes";
            }
        }
    };
}

macro_rules! call_kinds {
    (
        calls { $($call:ident = $call_name:literal [$($in_group:ident)*];)* }
        groups { $($(#[$doc:meta])* $group:ident = $group_name:literal;)* }
    ) => {
        /// A kind of call, counted for itself: one for each method of [`Driver`](crate::Driver), for each kind of
        /// [`Work`] by what is done with it, and for each [`Note`](crate::Note). And [groups](CallKind::is_group) of
        /// them, in which a call counts too.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum CallKind {
            $(#[doc = concat!("`", $call_name, "`.")] $call,)*
            $($(#[$doc])* $group,)*
        }

        impl CallKind {
            /// Every kind: first the calls, then the groups.
            pub const ALL: &'static [CallKind] = &[$(CallKind::$call,)* $(CallKind::$group,)*];
            const CALLS: usize = [$(CallKind::$call,)*].len();

            /// The call in HIP's name, or the group's.
            pub const fn name(self) -> &'static str {
                match self {
                    $(CallKind::$call => $call_name,)*
                    $(CallKind::$group => $group_name,)*
                }
            }

            /// The groups that a call counts in, whatever its arguments are.
            #[inline]
            pub const fn groups(self) -> &'static [CallKind] {
                match self {
                    $(CallKind::$call => const { &[$(CallKind::$in_group),*] },)*
                    $(CallKind::$group => &[],)*
                }
            }
        }
    };
}

for_each_call!(define_calls);

impl Call<'_> {
    /// The pinned host memory that it releases.
    #[inline]
    pub const fn released_memory(&self) -> Option<PinnedAllocation> {
        match self {
            Call::HostFree { allocation, .. } | Call::HostUnregister { allocation, .. } => Some(*allocation),
            _ => None,
        }
    }
}

impl CallKind {
    /// Whether this is a group of calls.
    pub const fn is_group(self) -> bool {
        self as usize >= Self::CALLS
    }

    /// Whether this is a call that does something with a device: every call but `info`, `capabilities` and the notes.
    pub const fn is_device_call(self) -> bool {
        let note = self as usize >= CallKind::NoteHostWrite as usize;
        !self.is_group() && !note && !matches!(self, CallKind::Info | CallKind::Capabilities)
    }
}

impl fmt::Display for CallKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a call that succeeded returned.
#[derive(Clone, Copy, Debug)]
pub enum Output {
    /// Nothing, or what no layer looks at.
    None,
    /// A number of devices or workgroups.
    Count(u32),
    /// The answer to a question.
    Answer(bool),
    /// A time in milliseconds.
    Milliseconds(f32),
    /// Free and total memory.
    MemInfo(MemInfo),
    /// Device memory.
    Memory(DevicePtr),
    /// A module's global: its address and its length in bytes.
    Global(DevicePtr, usize),
    /// Pinned memory.
    Pinned(PinnedAllocation),
    /// The answer to a request about memory.
    Reply(MemoryReply),
    /// A stream.
    Stream(RawStream),
    /// An event.
    Event(RawEvent),
    /// A module.
    Module(RawModule),
    /// A kernel.
    Function(RawFunction),
    /// A graph.
    Graph(RawGraph),
    /// A graph's node.
    Node(RawGraphNode),
    /// An executable graph.
    Exec(RawGraphExec),
}

macro_rules! outputs {
    ($($ty:ty: $value:ident => $output:expr;)*) => {$(
        impl From<&$ty> for Output {
            #[inline]
            fn from($value: &$ty) -> Output {
                $output
            }
        }
    )*};
}

outputs! {
    (): _nothing => Output::None;
    DeviceProperties: _unused => Output::None;
    u32: count => Output::Count(*count);
    bool: answer => Output::Answer(*answer);
    f32: ms => Output::Milliseconds(*ms);
    MemInfo: info => Output::MemInfo(*info);
    DevicePtr: ptr => Output::Memory(*ptr);
    (DevicePtr, usize): global => Output::Global(global.0, global.1);
    PinnedAllocation: pinned => Output::Pinned(*pinned);
    MemoryReply: reply => Output::Reply(*reply);
    RawStream: stream => Output::Stream(*stream);
    RawEvent: event => Output::Event(*event);
    RawModule: module => Output::Module(*module);
    RawFunction: function => Output::Function(*function);
    RawGraph: graph => Output::Graph(*graph);
    RawGraphNode: node => Output::Node(*node);
    RawGraphExec: exec => Output::Exec(*exec);
}

/// Work that a device does: [enqueued](crate::Driver::enqueue) on a stream, or [added](crate::Driver::graph_add) to a
/// graph.
///
/// # Safety
///
/// Each kind says what must hold from the call until the work has run; for a graph's node, whenever the graph is launched,
/// from then until the node has run. Device ranges are live and lie inside one allocation that the device can access.
#[derive(Clone, Copy, Debug)]
pub enum Work<'a> {
    /// Launches a kernel.
    ///
    /// Safety: `kernarg` is as long as the kernel's metadata says, and the addresses in it are good for what the kernel
    /// does. The kernel's module stays loaded.
    Kernel(&'a KernelLaunch<'a>),
    /// Copies host to device. Memory that is pinned is read when the copy runs, other memory before the call returns. A
    /// graph takes pinned memory only.
    ///
    /// Safety: `src` is readable for `bytes`, and where it is pinned, stays so and unchanged until the copy has run.
    CopyToDevice {
        /// The destination.
        dst: DevicePtr,
        /// The source, in host memory.
        src: *const u8,
        /// Length in bytes.
        bytes: usize,
    },
    /// Copies device to host. To memory that is not pinned, the call waits for the stream. A graph takes pinned memory
    /// only.
    ///
    /// Safety: `dst` is writable for `bytes`, and where it is pinned, stays so and is not touched until the copy has run.
    CopyToHost {
        /// The destination, in host memory.
        dst: *mut u8,
        /// The source.
        src: DevicePtr,
        /// Length in bytes.
        bytes: usize,
    },
    /// Copies within the device. The ranges do not overlap.
    CopyWithin {
        /// The destination.
        dst: DevicePtr,
        /// The source.
        src: DevicePtr,
        /// Length in bytes.
        bytes: usize,
    },
    /// Copies from another device to the stream's own. No graph takes it.
    CopyFromPeer {
        /// The destination, on the stream's device.
        dst: DevicePtr,
        /// The device that has the source.
        src_device: DeviceId,
        /// The source, on `src_device`.
        src: DevicePtr,
        /// Length in bytes.
        bytes: usize,
    },
    /// Fills bytes.
    FillBytes {
        /// The first byte.
        dst: DevicePtr,
        /// What each byte becomes.
        value: u8,
        /// How many bytes.
        bytes: usize,
    },
    /// Fills 32-bit words.
    FillWords {
        /// The first word; aligned to 4 bytes.
        dst: DevicePtr,
        /// What each word becomes.
        value: u32,
        /// How many words.
        count: usize,
    },
    /// Runs a function on a thread of the driver. No graph takes it.
    HostFunction(&'a HostFunction),
    /// Runs all nodes of a graph: after all earlier work on the stream, before all later. No graph takes it.
    ///
    /// Safety: what the nodes ask for. No other launch of the same graph can run meanwhile: they are on the same stream, or
    /// ordered.
    Graph(RawGraphExec),
    /// Does nothing: a node that gathers dependencies. No stream takes it.
    Empty,
}

/// A function to be run once in stream order. The driver that enqueues it takes it out.
pub struct HostFunction(Cell<Option<HostFunc>>);

impl HostFunction {
    /// Wraps a function. It must not call the driver (`hipLaunchHostFunc`'s rule).
    pub fn new(function: impl FnOnce() + Send + 'static) -> HostFunction {
        HostFunction(Cell::new(Some(Box::new(function))))
    }

    /// Takes the function out, for the driver that runs it.
    ///
    /// # Errors
    /// `INVALID_VALUE` if it was taken before.
    pub fn take(&self) -> Result<HostFunc, DriverError> {
        self.0.take().ok_or_else(|| {
            let detail = "the host function was enqueued before";
            DriverError::with_detail(CallKind::LaunchHostFunc.name(), ErrorCode::INVALID_VALUE, detail)
        })
    }
}

impl fmt::Debug for HostFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostFunction(..)")
    }
}

/// A range of memory that a piece of work reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct AccessRange {
    /// Whose address it is.
    pub space: Space,
    /// The first byte.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Whether it may be written.
    pub write: bool,
}

/// How an address is to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// As kernels of this device see it.
    Device(DeviceId),
    /// As the host sees it; pinned memory or any other.
    Host,
}

impl AccessRange {
    /// Memory as kernels of `device` see it.
    #[inline]
    pub const fn device(device: DeviceId, ptr: DevicePtr, bytes: usize, write: bool) -> AccessRange {
        AccessRange { space: Space::Device(device), address: ptr.0, bytes: bytes as u64, write }
    }

    /// Memory as the host sees it.
    #[inline]
    pub fn host(ptr: *const u8, bytes: usize, write: bool) -> AccessRange {
        AccessRange { space: Space::Host, address: ptr.addr() as u64, bytes: bytes as u64, write }
    }
}

/// Where a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyDirection {
    /// Host to device.
    HostToDevice,
    /// Device to host.
    DeviceToHost,
    /// Within a device.
    DeviceToDevice,
    /// From another device.
    FromPeer(DeviceId),
}

/// What a piece of work is about, without its addresses.
#[derive(Clone, Copy, Debug)]
pub enum WorkSummary {
    /// A kernel.
    Kernel {
        /// The kernel.
        function: RawFunction,
        /// Workgroups in x, y and z.
        grid: [u32; 3],
        /// Work-items of a workgroup in x, y and z.
        block: [u32; 3],
        /// Dynamic LDS in bytes.
        dynamic_lds: u32,
    },
    /// A copy.
    Copy {
        /// Where it goes.
        direction: CopyDirection,
        /// How many bytes.
        bytes: u64,
    },
    /// A fill.
    Fill {
        /// How many bytes.
        bytes: u64,
    },
    /// A function of the host's.
    HostFunction,
    /// A graph.
    Graph(RawGraphExec),
    /// Nothing.
    Empty,
}

impl Work<'_> {
    /// The kind of call that enqueues it.
    #[inline]
    pub const fn kind(&self) -> CallKind {
        match self {
            Work::Kernel(_) => CallKind::LaunchKernel,
            Work::CopyToDevice { .. } => CallKind::MemcpyHtodAsync,
            Work::CopyToHost { .. } => CallKind::MemcpyDtohAsync,
            Work::CopyWithin { .. } => CallKind::MemcpyDtodAsync,
            Work::CopyFromPeer { .. } => CallKind::MemcpyPeerAsync,
            Work::FillBytes { .. } => CallKind::MemsetD8Async,
            Work::FillWords { .. } => CallKind::MemsetD32Async,
            Work::HostFunction(_) => CallKind::LaunchHostFunc,
            Work::Graph(_) => CallKind::GraphLaunch,
            Work::Empty => CallKind::UnsupportedWork,
        }
    }

    /// The kind of call that adds it to a graph.
    #[inline]
    pub const fn node_kind(&self) -> CallKind {
        match self {
            Work::Kernel(_) => CallKind::GraphAddKernel,
            Work::CopyToDevice { .. } => CallKind::GraphAddMemcpyHtod,
            Work::CopyToHost { .. } => CallKind::GraphAddMemcpyDtoh,
            Work::CopyWithin { .. } => CallKind::GraphAddMemcpyDtod,
            Work::FillBytes { .. } => CallKind::GraphAddMemsetD8,
            Work::FillWords { .. } => CallKind::GraphAddMemsetD32,
            Work::Empty => CallKind::GraphAddEmpty,
            Work::CopyFromPeer { .. } | Work::HostFunction(_) | Work::Graph(_) => CallKind::UnsupportedWork,
        }
    }

    /// The kind of call that does it and waits.
    #[inline]
    pub const fn blocking_kind(&self) -> CallKind {
        match self {
            Work::CopyToDevice { .. } => CallKind::MemcpyHtod,
            Work::CopyToHost { .. } => CallKind::MemcpyDtoh,
            _ => CallKind::UnsupportedWork,
        }
    }

    /// The error of a driver that is asked for work which it cannot do there.
    #[cold]
    pub fn unsupported(&self, call: &'static str) -> DriverError {
        DriverError::with_detail(
            call,
            ErrorCode::NOT_SUPPORTED,
            format!("{self:?} cannot be done by this call"),
        )
    }

    /// The host memory that it copies from or to.
    #[inline]
    pub const fn host_memory(&self) -> Option<*const u8> {
        match self {
            Work::CopyToDevice { src, .. } => Some(*src),
            Work::CopyToHost { dst, .. } => Some((*dst).cast_const()),
            _ => None,
        }
    }

    /// The memory that it is known to touch, reads first; of a kernel, what its launch names. Nothing of a graph, whose
    /// nodes were told when they were added. `device` is the device that does it.
    #[inline]
    pub fn access_ranges(&self, device: DeviceId) -> impl ExactSizeIterator<Item = AccessRange> + Clone {
        let on = |ptr, bytes, write| Some(AccessRange::device(device, ptr, bytes, write));
        let (read, written, accesses): (_, _, &[MemoryAccess]) = match *self {
            Work::Kernel(launch) => (None, None, launch.accesses),
            Work::CopyToDevice { dst, src, bytes } => {
                (Some(AccessRange::host(src, bytes, false)), on(dst, bytes, true), &[])
            }
            Work::CopyToHost { dst, src, bytes } => {
                (on(src, bytes, false), Some(AccessRange::host(dst, bytes, true)), &[])
            }
            Work::CopyWithin { dst, src, bytes } => (on(src, bytes, false), on(dst, bytes, true), &[]),
            Work::CopyFromPeer { dst, src_device, src, bytes } => {
                (Some(AccessRange::device(src_device, src, bytes, false)), on(dst, bytes, true), &[])
            }
            Work::FillBytes { dst, bytes, .. } => (None, on(dst, bytes, true), &[]),
            Work::FillWords { dst, count, .. } => (None, on(dst, count.saturating_mul(4), true), &[]),
            Work::HostFunction(_) | Work::Graph(_) | Work::Empty => (None, None, &[]),
        };
        Touches { device, fixed: [read, written], accesses: accesses.iter() }
    }

    /// What it is about.
    #[inline]
    pub fn summary(&self) -> WorkSummary {
        let copy = |direction, bytes: usize| WorkSummary::Copy { direction, bytes: bytes as u64 };
        match *self {
            Work::Kernel(&KernelLaunch { function, grid, block, dynamic_lds, .. }) => {
                WorkSummary::Kernel { function, grid, block, dynamic_lds }
            }
            Work::CopyToDevice { bytes, .. } => copy(CopyDirection::HostToDevice, bytes),
            Work::CopyToHost { bytes, .. } => copy(CopyDirection::DeviceToHost, bytes),
            Work::CopyWithin { bytes, .. } => copy(CopyDirection::DeviceToDevice, bytes),
            Work::CopyFromPeer { src_device, bytes, .. } => copy(CopyDirection::FromPeer(src_device), bytes),
            Work::FillBytes { bytes, .. } => WorkSummary::Fill { bytes: bytes as u64 },
            Work::FillWords { count, .. } => WorkSummary::Fill { bytes: (count as u64).saturating_mul(4) },
            Work::HostFunction(_) => WorkSummary::HostFunction,
            Work::Graph(exec) => WorkSummary::Graph(exec),
            Work::Empty => WorkSummary::Empty,
        }
    }
}

/// See [`Work::access_ranges`].
#[derive(Clone, Debug)]
struct Touches<'a> {
    device: DeviceId,
    fixed: [Option<AccessRange>; 2],
    accesses: std::slice::Iter<'a, MemoryAccess>,
}

impl Iterator for Touches<'_> {
    type Item = AccessRange;

    #[inline]
    fn next(&mut self) -> Option<AccessRange> {
        let [read, written] = &mut self.fixed;
        read.take().or_else(|| written.take()).or_else(|| {
            self.accesses.next().map(|a| AccessRange::device(self.device, a.ptr, a.bytes, a.write))
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.fixed.iter().flatten().count() + self.accesses.len();
        (len, Some(len))
    }
}

impl ExactSizeIterator for Touches<'_> {}

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
    fn notes_and_groups_are_no_device_calls() {
        let others: Vec<CallKind> =
            CallKind::ALL.iter().copied().filter(|kind| !kind.is_device_call()).collect();
        assert!(others.iter().all(|kind| {
            kind.is_group()
                || kind.name().starts_with("note")
                || ["info", "capabilities"].contains(&kind.name())
        }));
        assert_eq!(others.iter().filter(|kind| !kind.is_group()).count(), 2 + 8);
    }

    #[test]
    fn a_call_counts_in_the_groups_of_its_row() {
        assert_eq!(CallKind::Malloc.groups(), [CallKind::DeviceAllocation]);
        assert_eq!(CallKind::GraphAddEmpty.groups(), [CallKind::GraphNode]);
        assert_eq!(CallKind::LaunchKernel.groups(), []);
    }

    #[test]
    fn a_copy_reads_before_it_writes() {
        let (dst, src) = (DevicePtr(256), DevicePtr(512));
        let access_ranges: Vec<AccessRange> =
            Work::CopyWithin { dst, src, bytes: 8 }.access_ranges(DeviceId(0)).collect();
        let order: Vec<_> = access_ranges.iter().map(|touch| (touch.address, touch.write)).collect();
        assert_eq!(order, [(512, false), (256, true)]);
        assert_eq!(Work::Empty.access_ranges(DeviceId(0)).len(), 0);
    }
}
