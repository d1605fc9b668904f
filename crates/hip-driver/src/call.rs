//! Driver calls as values ([`Call`]), and the work that can be enqueued ([`Work`]). Layers inspect both.
//!
//! [`for_each_call!`](crate::for_each_call) lists the trait's methods once. [`Call`], [`CallKind`] and the forwarding
//! adaptor of the layers are generated from that list.

use std::ffi::CStr;
use std::ptr::NonNull;

use crate::{
    CaptureInfo, CaptureMode, DeviceId, DeviceProperties, DevicePtr, DriverError, ErrorCode, EventOptions,
    HostFunction, HostNode, IpcHandle, KernelLaunch, MemInfo, MemoryAccess, NodeLaunch, PinnedAllocation,
    RawEvent, RawFunction, RawGraph, RawGraphExec, RawGraphNode, RawModule, RawStream, StreamOptions,
    ValueWidth, WaitCondition,
};

/// Passes the list of the driver's methods that act on a device to the macro named `$generate`. A row is the
/// [`CallKind`], HIP's name, the [groups](CallGroup) in which the call is counted, `(unsafe)` or `()`, and the method's signature.
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
            HostMalloc "hipHostMalloc" [PinnedAllocation] () fn host_malloc(device, bytes: usize) -> PinnedAllocation;
            HostFree "hipHostFree" [PinnedFree] (unsafe) fn host_free(device, allocation: PinnedAllocation) -> ();
            HostRegister "hipHostRegister" [] (unsafe) fn host_register(device, ptr: *mut u8, bytes: usize) -> PinnedAllocation;
            HostUnregister "hipHostUnregister" [] (unsafe) fn host_unregister(device, allocation: PinnedAllocation) -> ();
            MallocManaged "hipMallocManaged" [] () fn malloc_managed(device, bytes: usize) -> DevicePtr;
            MallocShared "hipMalloc (shared)" [] () fn malloc_shared(device, bytes: usize) -> DevicePtr;
            IpcHandle "hipIpcGetMemHandle" [] (unsafe) fn ipc_handle(device, ptr: DevicePtr) -> IpcHandle;
            IpcOpen "hipIpcOpenMemHandle" [] (unsafe) fn ipc_open(device, handle: IpcHandle, bytes: usize) -> DevicePtr;
            IpcClose "hipIpcCloseMemHandle" [] (unsafe) fn ipc_close(device, ptr: DevicePtr) -> ();
            TrimPool "hipMemPoolTrimTo" [] () fn trim_pool(device, keep: usize) -> ();
            DeviceOfPointer "hipPointerGetAttributes" [] () fn device_of_pointer(device, ptr: DevicePtr) -> DeviceId;
            HostAddress "the host's address" [] () fn host_address(device, ptr: DevicePtr, bytes: usize) -> Option<NonNull<u8>>;
            SetFineGrained "hipExtMallocWithFlags" [] () fn set_fine_grained(device, ptr: DevicePtr, is_fine: bool) -> ();
            StreamCreate "hipStreamCreateWithFlags" [] () fn stream_create(device, options: StreamOptions) -> RawStream;
            StreamDestroy "hipStreamDestroy" [] (unsafe) fn stream_destroy(device, stream: RawStream) -> ();
            StreamSynchronize "hipStreamSynchronize" [Synchronize] (unsafe) fn stream_synchronize(device, stream: RawStream) -> ();
            StreamQuery "hipStreamQuery" [] (unsafe) fn stream_query(device, stream: RawStream) -> bool;
            StreamWaitEvent "hipStreamWaitEvent" [] (unsafe) fn stream_wait_event(device, stream: RawStream, event: RawEvent) -> ();
            StreamBeginCapture "hipStreamBeginCapture" [] (unsafe) fn stream_begin_capture(device, stream: RawStream, mode: CaptureMode) -> ();
            StreamEndCapture "hipStreamEndCapture" [] (unsafe) fn stream_end_capture(device, stream: RawStream) -> RawGraph;
            StreamCaptureInfo "hipStreamGetCaptureInfo" [] (unsafe) fn stream_capture_info(device, stream: RawStream) -> CaptureInfo;
            ExchangeCaptureMode "hipThreadExchangeStreamCaptureMode" [] () fn exchange_capture_mode(device, mode: CaptureMode) -> CaptureMode;
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
            GraphUpdate "hipGraphExecKernelNodeSetParams" [] (unsafe) fn graph_update(device, exec: RawGraphExec, launches: &'a [NodeLaunch<'a>]) -> ();
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
            /// Returns the kind of the call.
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

            /// Returns the device that the call names; `None` if it names none.
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
            Info = "info" [];
            Capabilities = "capabilities" [];
            DeviceCount = "hipGetDeviceCount" [];
            $($kind = $name [$($in_group)*];)*
            LaunchKernel = "hipModuleLaunchKernel" [];
            LaunchCooperative = "hipModuleLaunchCooperativeKernel" [];
            MemcpyHtodAsync = "hipMemcpyHtoDAsync" [];
            MemcpyDtohAsync = "hipMemcpyDtoHAsync" [];
            MemcpyDtodAsync = "hipMemcpyDtoDAsync" [];
            MemcpyPeerAsync = "hipMemcpyPeerAsync" [];
            MemsetD8Async = "hipMemsetD8Async" [];
            MemsetD32Async = "hipMemsetD32Async" [];
            LaunchHostFunc = "hipLaunchHostFunc" [];
            WriteValue32 = "hipStreamWriteValue32" [];
            WriteValue64 = "hipStreamWriteValue64" [];
            WaitValue32 = "hipStreamWaitValue32" [];
            WaitValue64 = "hipStreamWaitValue64" [];
            GraphLaunch = "hipGraphLaunch" [];
            MemcpyHtod = "hipMemcpyHtoD" [BlockingCopy];
            MemcpyDtoh = "hipMemcpyDtoH" [BlockingCopy];
            GraphAddKernel = "hipGraphAddKernelNode" [GraphNode];
            GraphAddMemcpyHtod = "hipGraphAddMemcpyNode1D (H2D)" [GraphNode];
            GraphAddMemcpyDtoh = "hipGraphAddMemcpyNode1D (D2H)" [GraphNode];
            GraphAddMemcpyDtod = "hipGraphAddMemcpyNode1D (D2D)" [GraphNode];
            GraphAddMemsetD8 = "hipGraphAddMemsetNode (D8)" [GraphNode];
            GraphAddMemsetD32 = "hipGraphAddMemsetNode (D32)" [GraphNode];
            GraphAddHost = "hipGraphAddHostNode" [GraphNode];
            GraphAddEmpty = "hipGraphAddEmptyNode" [GraphNode];
            UnsupportedWork = "work that cannot be done there" [];
        }
    };
}

macro_rules! call_kinds {
    ($($call:ident = $name:literal [$($in_group:ident)*];)*) => {
        kinds! {
            /// A kind of call. There is one for each method of [`Driver`](crate::Driver), and for each use of a kind of
            /// [`Work`]. A call is counted under its kind and under each of its [groups](CallKind::groups).
            pub enum CallKind { $($call = $name;)* }
        }

        impl CallKind {
            /// Returns the groups in which a call of this kind is counted whatever its arguments are.
            #[inline]
            pub const fn groups(self) -> &'static [CallGroup] {
                match self {
                    $(CallKind::$call => const { &[$(CallGroup::$in_group),*] },)*
                }
            }
        }
    };
}

kinds! {
    /// A group of kinds of calls, which are counted together.
    pub enum CallGroup {
        /// The calls that add a node to a graph.
        GraphNode = "graph nodes";
        /// `hipMalloc` and `hipMallocAsync`.
        DeviceAllocation = "device allocations";
        /// `hipFree` and `hipFreeAsync`.
        DeviceFree = "device frees";
        /// `hipHostMalloc`.
        PinnedAllocation = "pinned allocations";
        /// `hipHostFree`.
        PinnedFree = "pinned frees";
        /// `hipModuleGetFunction` and `hipModuleGetGlobal`.
        LookUp = "look-ups";
        /// `hipMemcpyHtoD`, `hipMemcpyDtoH`, and `hipMemcpyDtoHAsync` to pageable memory, which waits too.
        BlockingCopy = "blocking copies";
        /// `hipMemcpyHtoDAsync` and `hipMemcpyDtoHAsync` from or to memory that is not pinned.
        PageableCopy = "pageable copies";
        /// `hipDeviceSynchronize`, `hipStreamSynchronize` and `hipEventSynchronize`.
        Synchronize = "synchronizes";
    }
}

for_each_call!(define_calls);

impl Call<'_> {
    /// Returns the pinned host memory that the call frees or unpins.
    #[inline]
    pub const fn released_memory(&self) -> Option<PinnedAllocation> {
        match self {
            Call::HostFree { allocation, .. } | Call::HostUnregister { allocation, .. } => Some(*allocation),
            _ => None,
        }
    }
}

impl CallKind {
    /// Returns whether the call concerns devices: every call does except `info` and `capabilities`.
    pub const fn is_device_call(self) -> bool {
        !matches!(self, CallKind::Info | CallKind::Capabilities)
    }
}

/// What a call that succeeded returned.
#[derive(Clone, Copy, Debug)]
pub enum Output {
    /// Nothing, or a result that no layer uses.
    None,
    /// A number of devices or workgroups.
    Count(u32),
    /// The answer to a query.
    Answer(bool),
    /// A time in milliseconds.
    Milliseconds(f32),
    /// Free and total memory.
    MemInfo(MemInfo),
    /// Device memory.
    Memory(DevicePtr),
    /// A global variable of a module: its address and its length in bytes.
    Global(DevicePtr, usize),
    /// Pinned memory.
    Pinned(PinnedAllocation),
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
    /// A node of a graph.
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
    DeviceId: _owner => Output::None;
    IpcHandle: _handle => Output::None;
    Option<NonNull<u8>>: _host => Output::None;
    CaptureInfo: _info => Output::None;
    CaptureMode: _mode => Output::None;
    RawStream: stream => Output::Stream(*stream);
    RawEvent: event => Output::Event(*event);
    RawModule: module => Output::Module(*module);
    RawFunction: function => Output::Function(*function);
    RawGraph: graph => Output::Graph(*graph);
    RawGraphNode: node => Output::Node(*node);
    RawGraphExec: exec => Output::Exec(*exec);
}

/// Work of a device: a kernel, copy, fill, host function or graph. It is [enqueued](crate::Driver::enqueue) on a stream
/// or [added](crate::Driver::graph_add) to a graph.
///
/// # Safety
///
/// Each kind says what must hold from the call until the work has run. For a node, it must hold whenever the graph is
/// launched, from then until the node has run. Device ranges are live and lie inside one allocation that the device can
/// access.
#[derive(Clone, Copy, Debug)]
pub enum Work<'a> {
    /// Launches a kernel.
    ///
    /// Safety: `kernarg` is as long as the kernel's metadata says, and the addresses in it are valid for what the
    /// kernel does with them. The kernel's module stays loaded.
    Kernel(&'a KernelLaunch<'a>),
    /// Copies from the host to the device. Pinned memory is read when the copy runs, other memory before the call
    /// returns. A node can only copy pinned memory.
    ///
    /// Safety: `src` is readable for `bytes`. If it is pinned, it stays pinned and unchanged until the copy has run.
    CopyToDevice {
        /// The destination.
        dst: DevicePtr,
        /// The source, in host memory.
        src: *const u8,
        /// Length in bytes.
        bytes: usize,
    },
    /// Copies from the device to the host. If the destination is not pinned, the call waits for the stream. A node can
    /// only copy to pinned memory.
    ///
    /// Safety: `dst` is writable for `bytes`. If it is pinned, it stays pinned and is not accessed until the copy has
    /// run.
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
    /// Copies from another device to the stream's device. It cannot be a node.
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
    /// Fills memory with a byte.
    FillBytes {
        /// The first byte.
        dst: DevicePtr,
        /// The value of each byte.
        value: u8,
        /// The number of bytes.
        bytes: usize,
    },
    /// Fills memory with a 32-bit word.
    FillWords {
        /// The first word; aligned to 4 bytes.
        dst: DevicePtr,
        /// The value of each word.
        value: u32,
        /// The number of words.
        count: usize,
    },
    /// Runs a kernel whose workgroups are all on the device at the same time, so that they can wait for each other. Fails
    /// with `COOPERATIVE_LAUNCH_TOO_LARGE` when they do not fit. Needs
    /// [`Capability::CooperativeLaunch`](crate::Capability::CooperativeLaunch). No graph takes it.
    CooperativeKernel {
        /// The launch.
        launch: &'a KernelLaunch<'a>,
        /// Where each explicit argument begins in the kernarg segment, in their order. In bytes.
        offsets: &'a [u32],
    },
    /// Runs a kernel whose last workgroups may have fewer work-items than the others. Only the emulator does; no graph takes it.
    PartialKernel {
        /// The launch. Its grid counts the partial workgroups, too.
        launch: &'a KernelLaunch<'a>,
        /// The number of work-items of the last workgroup in x, y and z, less than that of the others; 0 for as many.
        remainder: [u32; 3],
    },
    /// Runs a function on a thread of the driver. It cannot be a node.
    HostFunction(&'a HostFunction),
    /// Runs a function on a thread of the driver: at every launch of the graph of which it is a node, or once on a stream that is
    /// not captured.
    ///
    /// Safety: of a node, a clone of the [`HostNode`] lives until the graph and everything that was instantiated from it are
    /// destroyed.
    HostNode(&'a HostNode),
    /// Writes a value, as one access. Needs [`Capability::StreamValues`](crate::Capability::StreamValues), and can't be a node.
    WriteValue {
        /// Where; aligned to the width.
        dst: DevicePtr,
        /// The width.
        width: ValueWidth,
        /// The value; of 32 bits, the lower ones are written.
        value: u64,
    },
    /// Waits until a value in memory is as required: the stream stands still meanwhile, and other streams do not. Work that is
    /// enqueued later sees what happened before the value was written with [`WriteValue`](Work::WriteValue), by the host, or by a
    /// kernel that released it to the system. Ends when the device is lost. Needs
    /// [`Capability::StreamValues`](crate::Capability::StreamValues), and can't be a node.
    WaitValue {
        /// Where the value is; aligned to the width.
        src: DevicePtr,
        /// The width.
        width: ValueWidth,
        /// What is waited for.
        condition: WaitCondition,
    },
    /// Runs all nodes of a graph, after all earlier work on the stream and before all later work. It cannot be a node.
    ///
    /// Safety: what the nodes require. No other launch of the same executable graph can run at the same time: the
    /// launches are on the same stream or ordered.
    Graph(RawGraphExec),
    /// Does nothing: a node that only joins dependencies. It cannot be enqueued on a stream.
    Empty,
}

/// A range of memory that a piece of work reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct AccessRange {
    /// The address space of `address`.
    pub space: Space,
    /// The first byte.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Whether the work may write to the range. If not, it only reads.
    pub write: bool,
}

/// The address space to which an address belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Addresses as kernels of this device see them.
    Device(DeviceId),
    /// Addresses as the host sees them, of pinned or other memory.
    Host,
}

impl AccessRange {
    /// Creates a range of memory as kernels of `device` see it.
    #[inline]
    pub const fn device(device: DeviceId, ptr: DevicePtr, bytes: usize, write: bool) -> AccessRange {
        AccessRange { space: Space::Device(device), address: ptr.0, bytes: bytes as u64, write }
    }

    /// Creates a range of memory as the host sees it.
    #[inline]
    pub fn host(ptr: *const u8, bytes: usize, write: bool) -> AccessRange {
        AccessRange { space: Space::Host, address: ptr.addr() as u64, bytes: bytes as u64, write }
    }
}

/// The direction of a copy.
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

/// A description of a piece of work without its addresses.
#[derive(Clone, Copy, Debug)]
pub enum WorkSummary {
    /// A kernel.
    Kernel {
        /// The kernel.
        function: RawFunction,
        /// The number of workgroups in x, y and z.
        grid: [u32; 3],
        /// The number of work-items of a workgroup in x, y and z.
        block: [u32; 3],
        /// Dynamic LDS in bytes.
        dynamic_lds: u32,
    },
    /// A copy.
    Copy {
        /// The direction.
        direction: CopyDirection,
        /// The number of bytes.
        bytes: u64,
    },
    /// A fill.
    Fill {
        /// The number of bytes.
        bytes: u64,
    },
    /// A function of the host.
    HostFunction,
    /// A value that is written.
    WriteValue,
    /// A wait for a value.
    WaitValue,
    /// A graph.
    Graph(RawGraphExec),
    /// Nothing.
    Empty,
}

impl Work<'_> {
    /// Returns the kind of the call that enqueues the work.
    #[inline]
    pub const fn kind(&self) -> CallKind {
        match self {
            Work::Kernel(_) | Work::PartialKernel { .. } => CallKind::LaunchKernel,
            Work::CooperativeKernel { .. } => CallKind::LaunchCooperative,
            Work::CopyToDevice { .. } => CallKind::MemcpyHtodAsync,
            Work::CopyToHost { .. } => CallKind::MemcpyDtohAsync,
            Work::CopyWithin { .. } => CallKind::MemcpyDtodAsync,
            Work::CopyFromPeer { .. } => CallKind::MemcpyPeerAsync,
            Work::FillBytes { .. } => CallKind::MemsetD8Async,
            Work::FillWords { .. } => CallKind::MemsetD32Async,
            Work::HostFunction(_) | Work::HostNode(_) => CallKind::LaunchHostFunc,
            Work::WriteValue { width: ValueWidth::Bits32, .. } => CallKind::WriteValue32,
            Work::WriteValue { width: ValueWidth::Bits64, .. } => CallKind::WriteValue64,
            Work::WaitValue { width: ValueWidth::Bits32, .. } => CallKind::WaitValue32,
            Work::WaitValue { width: ValueWidth::Bits64, .. } => CallKind::WaitValue64,
            Work::Graph(_) => CallKind::GraphLaunch,
            Work::Empty => CallKind::UnsupportedWork,
        }
    }

    /// Returns the kind of the call that adds the work to a graph.
    #[inline]
    pub const fn node_kind(&self) -> CallKind {
        match self {
            Work::Kernel(_) => CallKind::GraphAddKernel,
            Work::CopyToDevice { .. } => CallKind::GraphAddMemcpyHtod,
            Work::CopyToHost { .. } => CallKind::GraphAddMemcpyDtoh,
            Work::CopyWithin { .. } => CallKind::GraphAddMemcpyDtod,
            Work::FillBytes { .. } => CallKind::GraphAddMemsetD8,
            Work::FillWords { .. } => CallKind::GraphAddMemsetD32,
            Work::HostNode(_) => CallKind::GraphAddHost,
            Work::Empty => CallKind::GraphAddEmpty,
            Work::CooperativeKernel { .. }
            | Work::PartialKernel { .. }
            | Work::CopyFromPeer { .. }
            | Work::HostFunction(_)
            | Work::WriteValue { .. }
            | Work::WaitValue { .. }
            | Work::Graph(_) => CallKind::UnsupportedWork,
        }
    }

    /// Returns the kind of the blocking call that executes the work.
    #[inline]
    pub const fn blocking_kind(&self) -> CallKind {
        match self {
            Work::CopyToDevice { .. } => CallKind::MemcpyHtod,
            Work::CopyToHost { .. } => CallKind::MemcpyDtoh,
            _ => CallKind::UnsupportedWork,
        }
    }

    /// Creates the error of a call that cannot execute this work.
    #[cold]
    pub fn unsupported(&self, call: &'static str) -> DriverError {
        DriverError::with_detail(
            call,
            ErrorCode::NOT_SUPPORTED,
            format!("{self:?} cannot be done by this call"),
        )
    }

    /// Returns the host address that the work copies from or to.
    #[inline]
    pub const fn host_memory(&self) -> Option<*const u8> {
        match self {
            Work::CopyToDevice { src, .. } => Some(*src),
            Work::CopyToHost { dst, .. } => Some((*dst).cast_const()),
            _ => None,
        }
    }

    /// Returns the ranges that the work is known to access, reads first. For a kernel, these are the ranges that its
    /// launch lists. For a graph there are none, as its nodes were reported when they were added. `device` is the
    /// device that executes the work.
    #[inline]
    pub fn access_ranges(&self, device: DeviceId) -> impl ExactSizeIterator<Item = AccessRange> + Clone {
        let on = |ptr, bytes, write| Some(AccessRange::device(device, ptr, bytes, write));
        let (read, written, accesses): (_, _, &[MemoryAccess]) = match *self {
            Work::Kernel(launch)
            | Work::CooperativeKernel { launch, .. }
            | Work::PartialKernel { launch, .. } => (None, None, launch.accesses),
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
            Work::WriteValue { dst, width, .. } => (None, on(dst, width.bytes(), true), &[]),
            Work::WaitValue { src, width, .. } => (on(src, width.bytes(), false), None, &[]),
            Work::HostFunction(_) | Work::HostNode(_) | Work::Graph(_) | Work::Empty => (None, None, &[]),
        };
        Touches { device, fixed: [read, written], accesses: accesses.iter() }
    }

    /// Returns a description of the work without its addresses.
    #[inline]
    pub fn summary(&self) -> WorkSummary {
        let copy = |direction, bytes: usize| WorkSummary::Copy { direction, bytes: bytes as u64 };
        match *self {
            Work::Kernel(launch)
            | Work::CooperativeKernel { launch, .. }
            | Work::PartialKernel { launch, .. } => {
                let &KernelLaunch { function, grid, block, dynamic_lds, .. } = launch;
                WorkSummary::Kernel { function, grid, block, dynamic_lds }
            }
            Work::CopyToDevice { bytes, .. } => copy(CopyDirection::HostToDevice, bytes),
            Work::CopyToHost { bytes, .. } => copy(CopyDirection::DeviceToHost, bytes),
            Work::CopyWithin { bytes, .. } => copy(CopyDirection::DeviceToDevice, bytes),
            Work::CopyFromPeer { src_device, bytes, .. } => copy(CopyDirection::FromPeer(src_device), bytes),
            Work::FillBytes { bytes, .. } => WorkSummary::Fill { bytes: bytes as u64 },
            Work::FillWords { count, .. } => WorkSummary::Fill { bytes: (count as u64).saturating_mul(4) },
            Work::HostFunction(_) | Work::HostNode(_) => WorkSummary::HostFunction,
            Work::WriteValue { .. } => WorkSummary::WriteValue,
            Work::WaitValue { .. } => WorkSummary::WaitValue,
            Work::Graph(exec) => WorkSummary::Graph(exec),
            Work::Empty => WorkSummary::Empty,
        }
    }
}

/// The iterator of [`Work::access_ranges`].
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
    }

    #[test]
    fn a_call_counts_in_the_groups_of_its_row() {
        assert_eq!(CallKind::Malloc.groups(), [CallGroup::DeviceAllocation]);
        assert_eq!(CallKind::GraphAddEmpty.groups(), [CallGroup::GraphNode]);
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
