//! Tests of what an installed library cannot show: newer functions, failures, and the order of calls. The table has
//! stand-in functions that record the calls on their thread.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_uint};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::*;
use crate::bindings::*;
use crate::process::{CURRENT_DEVICE, NO_DEVICE_SET};
use hip_driver::{
    Capability, CaptureMode, Comparison, HostFunction, HostNode, KernelLaunch, ValueWidth, WaitCondition,
};

thread_local! {
    static CALLS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    static NEXT_END: Cell<u32> = const { Cell::new(0) };
    static REFUSE: Cell<&'static str> = const { Cell::new("") };
    static SEEN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static FILL: Cell<Option<hipMemsetParams>> = const { Cell::new(None) };
    static COUNT: Cell<c_int> = const { Cell::new(0) };
    static CAN_WAIT: Cell<c_int> = const { Cell::new(1) };
    static VALUE: Cell<(u64, u64, c_uint, u64)> = const { Cell::new((0, 0, 0, 0)) };
    static HOST: Cell<Option<hipHostNodeParams>> = const { Cell::new(None) };
    static EDGES: RefCell<Vec<(u64, Vec<u64>)>> = const { RefCell::new(Vec::new()) };
}

/// Records a call and returns its code. The call in `REFUSE` returns a code that this crate does not know.
fn note(call: &'static str) -> hipError_t {
    CALLS.with_borrow_mut(|calls| calls.push(call));
    hipError_t(match call {
        _ if REFUSE.get() == call => 1917,
        "hipStreamQuery" => 600,
        "hipStreamEndCapture" => NEXT_END.take(),
        "hipDeviceEnablePeerAccess" => 704,
        "hipGetDeviceCount" if COUNT.get() == 0 => 100,
        "hipModuleGetFunction" => 1,
        _ => 0,
    })
}

fn calls() -> Vec<&'static str> {
    CALLS.take()
}

/// Creates a node's handle and records the node's dependencies.
///
/// # Safety
/// As for the functions of HIP that add nodes.
unsafe fn add_node(node: *mut hipGraphNode_t, dependencies: *const hipGraphNode_t, count: usize) {
    // Like HIP, this writes the node before it reads the dependencies.
    let handle = 0x100 + EDGES.with_borrow(Vec::len) as u64;
    // SAFETY: a pointer to a live handle.
    unsafe { *node = pointer(handle) };
    // SAFETY: `count` live handles, if any.
    let dependencies = (0..count).map(|i| number(unsafe { *dependencies.add(i) })).collect();
    EDGES.with_borrow_mut(|edges| edges.push((handle, dependencies)));
}

/// Copies the bytes at a pointer to `SEEN`.
///
/// # Safety
/// `bytes` bytes at `at` are readable and none of them is padding.
unsafe fn see(at: *const c_void, bytes: usize) {
    // SAFETY: guaranteed by the caller.
    SEEN.set(unsafe { std::slice::from_raw_parts(at.cast(), bytes) }.to_vec());
}

macro_rules! stand_ins {
    ($($name:ident($($arg:ident: $ty:ty),*) $body:block)*) => {
        $(unsafe extern "C" fn $name($($arg: $ty),*) -> hipError_t {
            let code = note(stringify!($name));
            if code == hipError_t::hipSuccess {
                $body
            }
            code
        })*

        fn find(name: &str) -> Option<NonNull<c_void>> {
            match name {
                $(stringify!($name) => NonNull::new($name as *mut c_void),)*
                _ => NonNull::new(never_called as *mut c_void),
            }
        }
    };
}

unsafe extern "C" fn never_called() -> hipError_t {
    std::process::abort()
}

#[allow(non_snake_case)]
mod functions {
    use super::*;

    stand_ins! {
        hipSetDevice(_device: c_int) {}
        hipDeviceSynchronize() {}
        hipDeviceGetDefaultMemPool(_pool: *mut hipMemPool_t, _device: c_int) {}
        hipMemPoolTrimTo(_pool: hipMemPool_t, _keep: usize) {}
        hipFreeAsync(_ptr: *mut c_void, _stream: hipStream_t) {}
        hipStreamDestroy(_stream: hipStream_t) {}
        hipStreamQuery(_stream: hipStream_t) {}
        hipDeviceEnablePeerAccess(_peer: c_int, _flags: c_uint) {}
        hipGetDeviceCount(count: *mut c_int) {
            // SAFETY: the driver gives a live integer.
            unsafe { *count = COUNT.get() };
        }
        hipStreamWriteValue32(_stream: hipStream_t, to: *mut c_void, value: u32, flags: c_uint) {
            VALUE.set((to.addr() as u64, value.into(), flags, 0));
        }
        hipStreamWriteValue64(_stream: hipStream_t, to: *mut c_void, value: u64, flags: c_uint) {
            VALUE.set((to.addr() as u64, value, flags, 0));
        }
        hipStreamWaitValue32(_stream: hipStream_t, at: *mut c_void, value: u32, flags: c_uint, mask: u32) {
            VALUE.set((at.addr() as u64, value.into(), flags, mask.into()));
        }
        hipStreamWaitValue64(_stream: hipStream_t, at: *mut c_void, value: u64, flags: c_uint, mask: u64) {
            VALUE.set((at.addr() as u64, value, flags, mask));
        }
        hipHostMalloc(host: *mut *mut c_void, _bytes: usize, _flags: c_uint) {
            // SAFETY: the driver gives a live pointer.
            unsafe { *host = ptr::without_provenance_mut(0x1000) };
        }
        hipHostGetDevicePointer(device: *mut *mut c_void, _host: *mut c_void, _flags: c_uint) {
            // SAFETY: as above.
            unsafe { *device = ptr::without_provenance_mut(0x7000) };
        }
        hipHostFree(_host: *mut c_void) {}
        hipLaunchHostFunc(_stream: hipStream_t, function: hipHostFn_t, data: *mut c_void) {
            // SAFETY: the function that the driver asks to be called, called once.
            unsafe { function.unwrap()(data) };
        }
        hipGetDevicePropertiesR0600(properties: *mut c_void, _device: c_int) {
            let name = b"gfx942:sramecc+:xnack-\0";
            // SAFETY: the driver's buffer has space for the 1472 bytes of the struct.
            unsafe { properties.cast::<u8>().add(1160).copy_from(name.as_ptr(), name.len()) };
        }
        hipDeviceGetName(name: *mut c_char, len: c_int, _device: c_int) {
            // SAFETY: the driver's buffer has space for `len` bytes. No terminating zero is written.
            unsafe { name.write_bytes(b'x', len as usize) };
        }
        hipDeviceGetPCIBusId(_name: *mut c_char, _len: c_int, _device: c_int) {}
        hipDeviceTotalMem(bytes: *mut usize, _device: c_int) {
            // SAFETY: the driver gives a live integer.
            unsafe { *bytes = 192 << 30 };
        }
        hipDeviceGetAttribute(value: *mut c_int, attribute: hipDeviceAttribute_t, _device: c_int) {
            // SAFETY: as above.
            unsafe { *value = if attribute.0 == 10_013 { CAN_WAIT.get() } else { attribute.0 as c_int } };
        }
        hipGraphCreate(graph: *mut hipGraph_t, _flags: c_uint) {
            // SAFETY: the driver gives a live pointer.
            unsafe { *graph = pointer(0x80) };
        }
        hipGraphDestroy(_graph: hipGraph_t) {}
        hipGraphAddHostNode(
            node: *mut hipGraphNode_t, _graph: hipGraph_t, dependencies: *const hipGraphNode_t, count: usize,
            params: *const hipHostNodeParams
        ) {
            // SAFETY: the driver's arguments.
            unsafe { add_node(node, dependencies, count) };
            // SAFETY: as above.
            HOST.set(Some(unsafe { *params }));
        }
        hipGraphAddEmptyNode(
            node: *mut hipGraphNode_t, _graph: hipGraph_t, dependencies: *const hipGraphNode_t, count: usize
        ) {
            // SAFETY: the driver's arguments.
            unsafe { add_node(node, dependencies, count) };
        }
        hipGraphAddMemcpyNode1D(
            node: *mut hipGraphNode_t, _graph: hipGraph_t, dependencies: *const hipGraphNode_t, count: usize,
            _dst: *mut c_void, src: *const c_void, bytes: usize, kind: hipMemcpyKind
        ) {
            // SAFETY: the driver's arguments; the tests copy from the host only where there is memory.
            unsafe {
                add_node(node, dependencies, count);
                if kind == hipMemcpyKind::hipMemcpyHostToDevice {
                    see(src, bytes);
                }
            }
        }
        hipGraphAddMemsetNode(
            node: *mut hipGraphNode_t, _graph: hipGraph_t, dependencies: *const hipGraphNode_t, count: usize,
            params: *const hipMemsetParams
        ) {
            // SAFETY: the driver's arguments.
            unsafe {
                add_node(node, dependencies, count);
                FILL.set(Some(*params));
            }
        }
        hipGraphAddKernelNode(
            node: *mut hipGraphNode_t, _graph: hipGraph_t, dependencies: *const hipGraphNode_t, count: usize,
            params: *const hipKernelNodeParams
        ) {
            // SAFETY: the driver's arguments.
            unsafe {
                add_node(node, dependencies, count);
                let params = *params;
                assert_eq!((params.func.addr(), params.blockDim.x, params.gridDim.x), (0x60, 1, 1));
                // HIP refuses both and neither.
                assert_ne!(params.extra.is_null(), params.kernelParams.is_null());
                SEEN.take();
                if !params.extra.is_null() {
                    let entries = std::slice::from_raw_parts(params.extra, 5);
                    assert_eq!([entries[0].addr(), entries[2].addr(), entries[4].addr()], [1, 2, 3]);
                    see(entries[1], *entries[3].cast::<usize>());
                }
            }
        }
        hipGraphInstantiate(
            exec: *mut hipGraphExec_t, _graph: hipGraph_t, _node: *mut hipGraphNode_t, _log: *mut c_char, _bytes: usize
        ) {
            // SAFETY: the driver gives a live pointer.
            unsafe { *exec = pointer(0x90) };
        }
        hipStreamBeginCapture(_stream: hipStream_t, _mode: hipStreamCaptureMode) {}
        hipStreamEndCapture(_stream: hipStream_t, graph: *mut hipGraph_t) {
            // SAFETY: the driver gives a live pointer.
            unsafe { *graph = pointer(0x80) };
        }
        hipStreamIsCapturing(_stream: hipStream_t, status: *mut hipStreamCaptureStatus) {
            // SAFETY: as above.
            unsafe { *status = hipStreamCaptureStatus::hipStreamCaptureStatusActive };
        }
        hipGraphLaunch(_exec: hipGraphExec_t, _stream: hipStream_t) {}
        hipGraphExecDestroy(_exec: hipGraphExec_t) {}
        hipModuleGetFunction(_function: *mut hipFunction_t, _module: hipModule_t, _name: *const c_char) {}
        hipModuleLaunchKernel(
            _function: hipFunction_t, _gx: c_uint, _gy: c_uint, _gz: c_uint, _bx: c_uint, _by: c_uint, _bz: c_uint,
            _lds: c_uint, _stream: hipStream_t, params: *mut *mut c_void, extra: *mut *mut c_void
        ) {
            assert!(params.is_null());
            let seen = if extra.is_null() { Vec::new() } else {
                // SAFETY: five entries: three markers, the buffer, the address of its size.
                unsafe {
                    let entries = std::slice::from_raw_parts(extra, 5);
                    assert_eq!([entries[0].addr(), entries[2].addr(), entries[4].addr()], [1, 2, 3]);
                    std::slice::from_raw_parts(entries[1].cast::<u8>(), *entries[3].cast::<usize>()).to_vec()
                }
            };
            SEEN.set(seen);
        }
    }

    pub(crate) fn find_stand_in(name: &str) -> Option<NonNull<c_void>> {
        find(name)
    }
}

fn driver(version: i32) -> HipDriver {
    // SAFETY: the stand-ins have the types of the table; functions without one abort when they are called.
    let api = unsafe { symbols::Api::resolve(functions::find_stand_in) }.unwrap();
    CURRENT_DEVICE.set(NO_DEVICE_SET);
    let driver = HipDriver::new(load::Loaded { api, library: "stand-in".into(), version });
    calls();
    driver
}

const DEVICE: DeviceId = DeviceId(3);
const STREAM: RawStream = RawStream(0x50);

fn launch(kernarg: &[u8]) -> KernelLaunch<'_> {
    let function = RawFunction(0x60);
    KernelLaunch { function, grid: [1; 3], block: [1; 3], dynamic_lds: 0, kernarg, accesses: &[] }
}

#[test]
fn a_launch_is_one_call_and_the_device_is_set_once() {
    let driver = driver(70_000_000);
    let kernarg: Vec<u8> = (0..=255).collect();
    // SAFETY: the stand-in copies the bytes and nothing else.
    unsafe {
        driver.enqueue(DEVICE, STREAM, &Work::Kernel(&launch(&kernarg))).unwrap();
        assert_eq!(calls(), ["hipSetDevice", "hipModuleLaunchKernel"]);
        assert_eq!(SEEN.take(), kernarg);
        driver.enqueue(DEVICE, STREAM, &Work::Kernel(&launch(&[]))).unwrap();
        assert_eq!(calls(), ["hipModuleLaunchKernel"]);
        assert!(SEEN.take().is_empty());
        driver.enqueue(DeviceId(0), STREAM, &Work::Kernel(&launch(&[]))).unwrap();
        assert_eq!(calls(), ["hipSetDevice", "hipModuleLaunchKernel"]);
        driver.forget_current_device();
        driver.enqueue(DeviceId(0), STREAM, &Work::Kernel(&launch(&[]))).unwrap();
        assert_eq!(calls(), ["hipSetDevice", "hipModuleLaunchKernel"]);
    }
}

#[test]
fn hip_is_asked_whether_a_stream_is_captured_only_while_one_is() {
    let driver = driver(70_000_000);
    let graph = Work::Graph(RawGraphExec(0x90));
    // SAFETY: the stand-ins do nothing.
    unsafe {
        driver.enqueue(DEVICE, STREAM, &graph).unwrap();
        assert_eq!(calls(), ["hipSetDevice", "hipGraphLaunch"]);
        assert_eq!(driver.stream_begin_capture(DEVICE, STREAM, CaptureMode::Global), Ok(()));
        let refused = driver.enqueue(DEVICE, STREAM, &graph).unwrap_err();
        assert_eq!(refused.code, ErrorCode::STREAM_CAPTURE_UNSUPPORTED);
        assert_eq!(calls(), ["hipStreamBeginCapture", "hipStreamIsCapturing"]);
        let ended = driver.stream_end_capture(DEVICE, STREAM);
        assert_eq!(ended, Ok(RawGraph(0x80)));
        driver.enqueue(DEVICE, STREAM, &graph).unwrap();
        assert_eq!(calls(), ["hipStreamEndCapture", "hipGraphLaunch"]);
    }
}

#[test]
fn a_stream_whose_capture_failed_is_taken_out_of_it() {
    let driver = driver(70_000_000);
    // SAFETY: the stand-ins do nothing.
    let begin = || unsafe { driver.stream_begin_capture(DEVICE, STREAM, CaptureMode::Global) }.unwrap();
    // SAFETY: the stand-ins do nothing.
    let end = || unsafe { driver.stream_end_capture(DEVICE, STREAM) };
    for code in [ErrorCode::STREAM_CAPTURE_INVALIDATED, ErrorCode::STREAM_CAPTURE_UNJOINED] {
        begin();
        calls();
        NEXT_END.set(code.0 as u32);
        assert_eq!(end().unwrap_err().code, code);
        let emptied = ["hipStreamQuery", "hipStreamBeginCapture", "hipStreamEndCapture", "hipGraphDestroy"];
        assert_eq!(calls(), [&["hipStreamEndCapture"], &emptied[..]].concat());
    }
    begin();
    calls();
    NEXT_END.set(ErrorCode::STREAM_CAPTURE_WRONG_THREAD.0 as u32);
    end().unwrap_err();
    assert_eq!(calls(), ["hipStreamEndCapture"]);
    let old = self::driver(50_221_153);
    // SAFETY: the stand-ins do nothing.
    let refused = unsafe { old.stream_begin_capture(DEVICE, STREAM, CaptureMode::Global) }.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NOT_SUPPORTED);
    assert!(!old.capabilities().has(Capability::StreamCapture));
    assert_eq!(calls(), ["hipSetDevice"]);
}

#[test]
fn a_device_that_could_not_be_set_is_not_taken_as_current() {
    let driver = driver(70_000_000);
    REFUSE.set("hipSetDevice");
    let error = driver.device_synchronize(DEVICE).unwrap_err();
    assert_eq!((error.call, error.code), ("hipSetDevice", ErrorCode(1917)));
    REFUSE.set("");
    driver.device_synchronize(DEVICE).unwrap();
    assert_eq!(calls(), ["hipSetDevice", "hipSetDevice", "hipDeviceSynchronize"]);
    assert_eq!(driver.device_synchronize(DeviceId(u32::MAX)).unwrap_err().code, ErrorCode::INVALID_DEVICE);
    assert!(calls().is_empty());
}

#[test]
fn old_versions_empty_the_pool_before_a_stream_is_destroyed() {
    const EMPTYING: [&str; 4] =
        ["hipDeviceSynchronize", "hipDeviceGetDefaultMemPool", "hipMemPoolTrimTo", "hipStreamDestroy"];
    for (version, used, want) in [
        (50_221_153, false, &EMPTYING[3..]),
        (50_221_153, true, &EMPTYING[..]),
        (60_000_000, true, &EMPTYING[3..]),
    ] {
        let driver = driver(version);
        // SAFETY: the stand-ins do nothing.
        unsafe {
            if used {
                driver.free_async(DEVICE, DevicePtr(0x70), STREAM).unwrap();
            }
            driver.free_async(DEVICE, DevicePtr::NULL, STREAM).unwrap();
            driver.device_synchronize(DEVICE).unwrap();
            calls();
            driver.stream_destroy(DEVICE, STREAM).unwrap();
        }
        assert_eq!(calls(), want, "{version} {used}");
    }
}

#[test]
fn not_ready_already_enabled_and_no_device_are_no_errors() {
    let driver = driver(70_000_000);
    // SAFETY: the stand-ins do nothing.
    assert!(!unsafe { driver.stream_query(DEVICE, STREAM) }.unwrap());
    driver.enable_peer_access(DEVICE, DeviceId(1)).unwrap();
    assert_eq!(driver.device_count().unwrap(), 0);
}

#[test]
fn the_empty_name_is_not_found_where_hip_calls_it_an_invalid_value() {
    let driver = driver(70_000_000);
    for (name, code) in [(c"", ErrorCode::NOT_FOUND), (c"saxpy", ErrorCode::INVALID_VALUE)] {
        // SAFETY: the stand-in reads nothing.
        let error = unsafe { driver.module_get_function(DEVICE, RawModule(0x40), name) }.unwrap_err();
        assert_eq!((error.call, error.code), ("hipModuleGetFunction", code));
    }
}

#[test]
fn pinned_memory_goes_back_when_it_cannot_be_mapped() {
    let driver = driver(70_000_000);
    let pinned = driver.host_malloc(DEVICE, 64).unwrap();
    assert_eq!((pinned.host.addr().get(), pinned.device), (0x1000, DevicePtr(0x7000)));
    calls();
    REFUSE.set("hipHostGetDevicePointer");
    assert_eq!(driver.host_malloc(DEVICE, 64).unwrap_err().call, "hipHostGetDevicePointer");
    REFUSE.set("");
    assert_eq!(calls(), ["hipHostMalloc", "hipHostGetDevicePointer", "hipHostFree"]);
}

#[test]
fn host_functions_run_once_are_dropped_once_and_may_panic() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let driver = driver(70_000_000);
    let (ran, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let function = |fails: bool| {
        let (ran, counted) = (Arc::clone(&ran), Counted(Arc::clone(&dropped)));
        move |status: DriverResult<()>| {
            let _counted = counted;
            ran.fetch_add(1, Ordering::Relaxed);
            assert!(status.is_ok() && !fails, "stays inside");
        }
    };
    let counts = || (ran.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed));
    // SAFETY: the stand-in calls the function at once, as HIP would later, or refuses it.
    unsafe {
        driver
            .enqueue(DEVICE, STREAM, &Work::HostFunction(&HostFunction::with_status(function(false))))
            .unwrap();
        assert_eq!(counts(), (1, 1));
        driver
            .enqueue(DEVICE, STREAM, &Work::HostFunction(&HostFunction::with_status(function(true))))
            .unwrap();
        assert_eq!(counts(), (2, 2));
        REFUSE.set("hipLaunchHostFunc");
        driver
            .enqueue(DEVICE, STREAM, &Work::HostFunction(&HostFunction::with_status(function(false))))
            .unwrap_err();
        REFUSE.set("");
        assert_eq!(counts(), (2, 3), "refused: not run, dropped");
    }
}

#[test]
fn values_are_passed_with_the_flags_of_their_comparison() {
    let driver = driver(70_000_000);
    let at = DevicePtr(0x2000);
    let enqueue = |work: Work<'_>| {
        // SAFETY: the stand-ins keep the arguments and access nothing.
        unsafe { driver.enqueue(DEVICE, STREAM, &work) }.map(|()| VALUE.take())
    };
    let value = 7 << 32 | 5;
    let write = |width| Work::WriteValue { dst: at, width, value };
    assert_eq!(enqueue(write(ValueWidth::Bits32)), Ok((0x2000, 5, 0, 0)));
    assert_eq!(enqueue(write(ValueWidth::Bits64)), Ok((0x2000, value, 0, 0)));
    use Comparison::{AnyBit, AtLeast, Equal, NotAllBits};
    for (flags, comparison) in [(0, AtLeast), (1, Equal), (2, AnyBit), (3, NotAllBits)] {
        let wait = |width| {
            let condition = WaitCondition { comparison, value, mask: 0xff << 28 };
            Work::WaitValue { src: at, width, condition }
        };
        assert_eq!(enqueue(wait(ValueWidth::Bits32)), Ok((0x2000, 5, flags, 0xf << 28)));
        assert_eq!(enqueue(wait(ValueWidth::Bits64)), Ok((0x2000, value, flags, 0xff << 28)));
    }
}

#[test]
fn devices_that_cannot_wait_for_values_are_asked_for_none() {
    COUNT.set(1);
    let able = driver(70_000_000);
    CAN_WAIT.set(0);
    let unable = driver(70_000_000);
    COUNT.set(0);
    CAN_WAIT.set(1);
    assert!(able.capabilities().has(Capability::StreamValues));
    assert!(!unable.capabilities().has(Capability::StreamValues));
    let write = Work::WriteValue { dst: DevicePtr(0x2000), width: ValueWidth::Bits64, value: 1 };
    // SAFETY: refused.
    let error = unsafe { unable.enqueue(DEVICE, STREAM, &write) }.unwrap_err();
    assert_eq!((error.call, error.code), ("hipStreamWriteValue64", ErrorCode::NOT_SUPPORTED));
    assert!(!calls().contains(&"hipStreamWriteValue64"));
}

#[test]
fn a_function_of_a_graph_is_passed_by_an_address_that_lives_as_long_as_a_clone() {
    let driver = driver(70_000_000);
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    let node = HostNode::new(move |status| {
        assert!(status.is_ok() && counted.fetch_add(1, Ordering::Relaxed) != 1, "stays inside");
    });
    let work = Work::HostNode(&node);
    // SAFETY: the stand-ins call the function at once, or keep it for the two calls below, while the node lives.
    unsafe {
        driver.graph_add(DEVICE, RawGraph(0x80), &[], &work).unwrap();
        assert_eq!(calls(), ["hipSetDevice", "hipGraphAddHostNode"]);
        let hipHostNodeParams { fn_: Some(function), userData: data } = HOST.take().unwrap() else {
            panic!()
        };
        function(data);
        function(data);
        assert_eq!(ran.load(Ordering::Relaxed), 2, "the second panicked");
        driver.stream_begin_capture(DEVICE, STREAM, CaptureMode::Global).unwrap();
        calls();
        driver.enqueue(DEVICE, STREAM, &work).unwrap();
        assert_eq!(calls(), ["hipStreamIsCapturing", "hipLaunchHostFunc"]);
        driver.stream_end_capture(DEVICE, STREAM).unwrap();
        driver.enqueue(DEVICE, STREAM, &work).unwrap();
    }
    assert_eq!(ran.load(Ordering::Relaxed), 4);
}

#[test]
fn the_newer_property_struct_is_preferred() {
    let properties = driver(70_000_000).device_properties(DEVICE).unwrap();
    assert_eq!(properties.target.short(), "gfx942:sramecc+:xnack-");
    assert_eq!(properties.name, "x".repeat(255), "a name without an end is cut");
    assert_eq!(properties.total_memory, 192 << 30);
    // The stand-in returns the attribute's number: those of hipDeviceAttribute_t from 5.0 to 7.
    assert_eq!((properties.compute_units, properties.wavefront_size), (63, 87));
    assert_eq!((properties.max_block, properties.max_grid), ([26, 27, 28], [29, 30, 31]));
    assert_eq!((properties.max_threads_per_block, properties.max_lds_per_block), (56, 74));
    assert_eq!((properties.clock_khz, properties.memory_clock_khz), (5, Some(60)));
    assert_eq!((properties.memory_bus_bits, properties.l2_bytes), (Some(59), Some(19)));
    assert_eq!(properties.registers_per_block, Some(71));
    assert!(!calls().contains(&"hipGetDeviceProperties"));
}

#[test]
fn a_library_with_every_symbol_has_every_capability() {
    // Updates of graphs are for drivers that don't keep what the arguments were.
    let all = Capability::ALL.into_iter().filter(|capability| *capability != Capability::GraphUpdates);
    assert_eq!(driver(70_000_000).capabilities(), all.collect());
}

#[test]
fn nodes_of_a_graph_are_a_chain() {
    let driver = driver(70_000_000);
    EDGES.take();
    let dst = DevicePtr(0x1000);
    // SAFETY: the stand-ins read the arguments and nothing else.
    unsafe {
        let graph = driver.graph_create(DEVICE).unwrap();
        let first = driver.graph_add(DEVICE, graph, &[], &Work::Empty).unwrap();
        let kernarg: Vec<u8> = (0..64).collect();
        driver.graph_add(DEVICE, graph, &[], &Work::Kernel(&launch(&kernarg))).unwrap();
        assert_eq!(SEEN.take(), kernarg);
        driver.graph_add(DEVICE, graph, &[first], &Work::Kernel(&launch(&[]))).unwrap();
        assert!(SEEN.take().is_empty());
        driver
            .graph_add(DEVICE, graph, &[first], &Work::CopyWithin { dst, src: DevicePtr(0x2000), bytes: 64 })
            .unwrap();
        // No later node depends on a node that HIP refused.
        REFUSE.set("hipGraphAddMemcpyNode1D");
        driver
            .graph_add(DEVICE, graph, &[], &Work::CopyWithin { dst, src: DevicePtr(0x2000), bytes: 64 })
            .unwrap_err();
        REFUSE.set("");
        // Work that does nothing becomes an empty node.
        calls();
        driver.graph_add(DEVICE, graph, &[], &Work::CopyWithin { dst, src: dst, bytes: 0 }).unwrap();
        driver.graph_add(DEVICE, graph, &[], &Work::FillWords { dst, value: 1, count: 0 }).unwrap();
        assert_eq!(calls(), ["hipGraphAddEmptyNode"; 2]);
        let edges = EDGES.take();
        assert_eq!(edges[0], (0x100, vec![]));
        assert_eq!(edges.len(), 6);
        assert!(edges.windows(2).all(|pair| pair[1].1 == [pair[0].0]), "{edges:x?}");

        let exec = driver.graph_instantiate(DEVICE, graph).unwrap();
        driver.graph_destroy(DEVICE, graph).unwrap();
        driver.enqueue(DEVICE, STREAM, &Work::Graph(exec)).unwrap();
        driver.graph_exec_destroy(DEVICE, exec).unwrap();
        let names = ["hipGraphInstantiate", "hipGraphDestroy", "hipGraphLaunch", "hipGraphExecDestroy"];
        assert_eq!(calls(), names);
        // The same handle, used again, is another graph.
        let graph = driver.graph_create(DEVICE).unwrap();
        driver.graph_add(DEVICE, graph, &[], &Work::Empty).unwrap();
        assert_eq!(EDGES.take(), [(0x100, vec![])]);
    }
}

#[test]
fn fills_of_a_graph_have_the_headers_layout_and_short_fills_are_copies() {
    let driver = driver(70_000_000);
    EDGES.take();
    // SAFETY: the stand-ins read the arguments and nothing else.
    unsafe {
        let graph = driver.graph_create(DEVICE).unwrap();
        driver
            .graph_add(
                DEVICE,
                graph,
                &[],
                &Work::FillWords { dst: DevicePtr(0x1234_5678_9000), value: 0xaabb_ccdd, count: 3 },
            )
            .unwrap();
        let fill = FILL.take().unwrap();
        assert_eq!((fill.dst.addr(), fill.elementSize, fill.value), (0x1234_5678_9000, 4, 0xaabb_ccdd));
        assert_eq!((fill.width, fill.height, fill.pitch), (3, 1, 12), "elements, rows, bytes of a row");
        calls();
        for (at, bytes, call) in [
            (0x1001, 6, "hipGraphAddMemcpyNode1D"),
            (0x1001, 7, "hipGraphAddMemsetNode"),
            (0x1000, 1, "hipGraphAddMemsetNode"),
        ] {
            driver
                .graph_add(DEVICE, graph, &[], &Work::FillBytes { dst: DevicePtr(at), value: 0xc3, bytes })
                .unwrap();
            assert_eq!(calls(), [call]);
            if call == "hipGraphAddMemcpyNode1D" {
                assert_eq!(SEEN.take(), [0xc3; 6]);
            }
        }
    }
}

#[test]
fn graphs_are_a_capability_from_the_version_that_accepts_kernels_of_modules() {
    assert!(!driver(50_100_000).capabilities().has(Capability::Graphs));
    assert!(driver(50_221_153).capabilities().has(Capability::Graphs));
}

#[test]
fn code_objects_for_generic_processors_are_loaded_from_hip_6_4_on() {
    assert!(!driver(60_342_134).capabilities().has(Capability::GenericCodeObjects));
    assert!(driver(60_443_484).capabilities().has(Capability::GenericCodeObjects));
}

#[test]
fn launches_and_graphs_exclude_each_other_only_below_6_4_3() {
    for (version, locks) in [(50_221_153, true), (60_443_483, true), (60_443_484, false), (70_253_211, false)]
    {
        let driver = driver(version);
        assert_eq!(driver.launching("test", STREAM).unwrap().is_some(), locks, "{version}");
        // There `hipModuleLaunchKernel` would take the stream's number for an address.
        let on_thread = driver.launching("test", RawStream::PER_THREAD).map(drop);
        assert_eq!(on_thread.is_err(), locks, "{version}");
        assert_eq!(driver.handing_over().is_some(), locks, "{version}");
    }
}
