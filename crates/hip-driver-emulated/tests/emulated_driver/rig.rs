//! Safe short names for the driver's calls, and gates that block a stream until the test opens them.

use std::ffi::CString;
use std::sync::{Arc, mpsc};

use code_object::CodeObject;
use hip_driver::{
    DeviceId, DevicePtr, Driver, DriverError, ErrorCode, EventOptions, HostFunction, KernelLaunch,
    PinnedAllocation, RawEvent, RawFunction, RawGraph, RawGraphExec, RawGraphNode, RawModule, RawStream,
    StreamOptions, Work,
};
use hip_driver_emulated::{EmulatedDriver, EmulatorOptions};

pub(crate) const PROBE: &[u8] = include_bytes!("../../../../hip/probe.gfx90a.co");
pub(crate) const PROBE_GFX942: &[u8] = include_bytes!("../../../../hip/probe.gfx942.co");
pub(crate) const D0: DeviceId = DeviceId(0);
pub(crate) const D1: DeviceId = DeviceId(1);

// Safe wrappers: the emulated driver checks handles and device ranges itself, and the tests keep host memory alive.
pub(crate) struct Rig {
    pub(crate) driver: Arc<EmulatedDriver>,
}

impl Rig {
    pub(crate) fn new(options: EmulatorOptions) -> Rig {
        Rig { driver: EmulatedDriver::new(options).expect("an emulated driver needs nothing") }
    }

    pub(crate) fn one() -> Rig {
        Rig::new(EmulatorOptions::single_threaded())
    }

    pub(crate) fn two() -> Rig {
        Rig::new(EmulatorOptions { devices: 2, ..EmulatorOptions::single_threaded() })
    }

    pub(crate) fn stream(&self, device: DeviceId) -> RawStream {
        self.driver.stream_create(device, StreamOptions::default()).unwrap()
    }

    pub(crate) fn event(&self, device: DeviceId) -> RawEvent {
        self.driver.event_create(device, EventOptions::default()).unwrap()
    }

    pub(crate) fn words(&self, device: DeviceId, values: &[u32]) -> DevicePtr {
        let ptr = self.driver.malloc(device, values.len() * 4).unwrap();
        self.write(device, ptr, values);
        ptr
    }

    pub(crate) fn write(&self, device: DeviceId, ptr: DevicePtr, values: &[u32]) {
        // SAFETY: the source is a live slice of that length.
        unsafe {
            self.driver.copy_blocking(
                device,
                &Work::CopyToDevice { dst: ptr, src: values.as_ptr().cast(), bytes: values.len() * 4 },
            )
        }
        .unwrap();
    }

    pub(crate) fn read(&self, device: DeviceId, ptr: DevicePtr, count: usize) -> Vec<u32> {
        let mut values = vec![0; count];
        // SAFETY: the target is a live slice of that length.
        unsafe {
            self.driver.copy_blocking(
                device,
                &Work::CopyToHost { dst: values.as_mut_ptr().cast(), src: ptr, bytes: count * 4 },
            )
        }
        .unwrap();
        values
    }

    pub(crate) fn pinned(&self, device: DeviceId, values: &[u32]) -> Pinned {
        let allocation = self.driver.host_malloc(device, values.len() * 4).unwrap();
        let pinned = Pinned { allocation };
        for (index, value) in values.iter().enumerate() {
            pinned.set(index, *value);
        }
        pinned
    }

    pub(crate) fn htod(
        &self,
        d: DeviceId,
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
        s: RawStream,
    ) -> Result<(), DriverError> {
        // SAFETY: the tests keep pinned memory to the end, pageable memory is read at the call.
        unsafe { self.driver.enqueue(d, s, &Work::CopyToDevice { dst, src, bytes }) }
    }

    pub(crate) fn dtoh(
        &self,
        d: DeviceId,
        dst: *mut u8,
        src: DevicePtr,
        bytes: usize,
        s: RawStream,
    ) -> Result<(), DriverError> {
        // SAFETY: the tests keep pinned memory to the end, pageable memory is written before the call returns.
        unsafe { self.driver.enqueue(d, s, &Work::CopyToHost { dst, src, bytes }) }
    }

    pub(crate) fn graph(&self, device: DeviceId) -> RawGraph {
        self.driver.graph_create(device).unwrap()
    }

    pub(crate) fn add_htod(
        &self,
        device: DeviceId,
        graph: RawGraph,
        after: &[RawGraphNode],
        dst: DevicePtr,
        src: *const u8,
        bytes: usize,
    ) -> Result<RawGraphNode, DriverError> {
        // SAFETY: checked by the driver; the tests keep pinned memory while the graph runs.
        unsafe { self.driver.graph_add(device, graph, after, &Work::CopyToDevice { dst, src, bytes }) }
    }

    pub(crate) fn add_fill(
        &self,
        device: DeviceId,
        graph: RawGraph,
        after: &[RawGraphNode],
        dst: DevicePtr,
        value: u32,
        count: usize,
    ) -> Result<RawGraphNode, DriverError> {
        // SAFETY: checked by the driver.
        unsafe { self.driver.graph_add(device, graph, after, &Work::FillWords { dst, value, count }) }
    }

    pub(crate) fn add_kernel(
        &self,
        graph: RawGraph,
        after: &[RawGraphNode],
        kernels: &Kernels,
        name: &str,
        (grid, block): (u32, u32),
        args: &[&[u8]],
    ) -> Result<RawGraphNode, DriverError> {
        let function = self.function(kernels, name)?;
        let kernarg = kernels.kernarg(name, args);
        let (grid, block) = ([grid, 1, 1], [block, 1, 1]);
        let launch = KernelLaunch { function, grid, block, dynamic_lds: 0, kernarg: &kernarg, accesses: &[] };
        // SAFETY: the kernarg segment is complete; stray addresses are faults, which the emulator survives.
        unsafe { self.driver.graph_add(kernels.device, graph, after, &Work::Kernel(&launch)) }
    }

    pub(crate) fn instantiate(&self, device: DeviceId, graph: RawGraph) -> RawGraphExec {
        // SAFETY: checked by the driver.
        unsafe { self.driver.graph_instantiate(device, graph) }.unwrap()
    }

    pub(crate) fn launch_graph(
        &self,
        device: DeviceId,
        exec: RawGraphExec,
        stream: RawStream,
    ) -> Result<(), DriverError> {
        // SAFETY: handles are checked by the driver; the tests keep pinned memory while the graph runs.
        unsafe { self.driver.enqueue(device, stream, &Work::Graph(exec)) }
    }

    pub(crate) fn sync(&self, device: DeviceId, stream: RawStream) -> Result<(), DriverError> {
        // SAFETY: checked by the driver.
        unsafe { self.driver.stream_synchronize(device, stream) }
    }

    pub(crate) fn idle(&self, device: DeviceId, stream: RawStream) -> Result<bool, DriverError> {
        // SAFETY: checked by the driver.
        unsafe { self.driver.stream_query(device, stream) }
    }

    pub(crate) fn record(
        &self,
        device: DeviceId,
        event: RawEvent,
        stream: RawStream,
    ) -> Result<(), DriverError> {
        // SAFETY: checked by the driver.
        unsafe { self.driver.event_record(device, event, stream) }
    }

    pub(crate) fn wait(
        &self,
        device: DeviceId,
        stream: RawStream,
        event: RawEvent,
    ) -> Result<(), DriverError> {
        // SAFETY: checked by the driver.
        unsafe { self.driver.stream_wait_event(device, stream, event) }
    }

    pub(crate) fn reached(&self, device: DeviceId, event: RawEvent) -> Result<bool, DriverError> {
        // SAFETY: checked by the driver.
        unsafe { self.driver.event_query(device, event) }
    }

    pub(crate) fn free(&self, device: DeviceId, ptr: DevicePtr) -> Result<(), DriverError> {
        // SAFETY: checked by the driver; what is in flight is waited for.
        unsafe { self.driver.free(device, ptr) }
    }

    pub(crate) fn free_async(
        &self,
        device: DeviceId,
        ptr: DevicePtr,
        stream: RawStream,
    ) -> Result<(), DriverError> {
        // SAFETY: checked by the driver.
        unsafe { self.driver.free_async(device, ptr, stream) }
    }

    pub(crate) fn host_func(
        &self,
        device: DeviceId,
        stream: RawStream,
        function: impl FnOnce() + Send + 'static,
    ) {
        // SAFETY: checked by the driver.
        unsafe { self.driver.enqueue(device, stream, &Work::HostFunction(&HostFunction::new(function))) }
            .unwrap();
    }

    /// Blocks the stream until the gate is opened or dropped.
    pub(crate) fn gate(&self, device: DeviceId, stream: RawStream) -> Gate {
        let (sender, receiver) = mpsc::channel::<()>();
        self.host_func(device, stream, move || {
            // An error means that the gate was dropped, which opens it too.
            let _ = receiver.recv();
        });
        Gate(sender)
    }

    pub(crate) fn load(&self, device: DeviceId, image: &'static [u8]) -> Kernels {
        // SAFETY: the kernels are this repository's own.
        let module = unsafe { self.driver.module_load(device, image) }.unwrap();
        let target = self.driver.device_properties(device).unwrap().target;
        Kernels { device, module, object: CodeObject::from_any(image, &target).unwrap() }
    }

    pub(crate) fn function(&self, kernels: &Kernels, name: &str) -> Result<RawFunction, DriverError> {
        let name = CString::new(name).unwrap();
        // SAFETY: checked by the driver.
        unsafe { self.driver.module_get_function(kernels.device, kernels.module, &name) }
    }

    pub(crate) fn launch(
        &self,
        kernels: &Kernels,
        name: &str,
        (grid, block): (u32, u32),
        args: &[&[u8]],
        stream: RawStream,
    ) -> Result<(), DriverError> {
        let function = self.function(kernels, name)?;
        let kernarg = kernels.kernarg(name, args);
        let (grid, block) = ([grid, 1, 1], [block, 1, 1]);
        let launch = KernelLaunch { function, grid, block, dynamic_lds: 0, kernarg: &kernarg, accesses: &[] };
        // SAFETY: the kernarg segment is complete; stray addresses are faults, which the emulator survives.
        unsafe { self.driver.enqueue(kernels.device, stream, &Work::Kernel(&launch)) }
    }
}

pub(crate) struct Gate(#[expect(dead_code, reason = "dropping it opens the gate")] mpsc::Sender<()>);

impl Gate {
    pub(crate) fn open(self) {}
}

pub(crate) struct Kernels {
    pub(crate) device: DeviceId,
    pub(crate) module: RawModule,
    pub(crate) object: CodeObject,
}

impl Kernels {
    pub(crate) fn kernarg(&self, name: &str, args: &[&[u8]]) -> Vec<u8> {
        let kernel = self.object.kernel(name).unwrap();
        let mut kernarg = vec![0; kernel.kernarg_size as usize];
        assert_eq!(args.len(), kernel.explicit_args().len());
        for (arg, bytes) in kernel.explicit_args().iter().zip(args) {
            kernarg[arg.offset as usize..arg.end() as usize].copy_from_slice(bytes);
        }
        kernarg
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Pinned {
    pub(crate) allocation: PinnedAllocation,
}

impl Pinned {
    pub(crate) fn ptr(&self) -> *mut u8 {
        self.allocation.host.as_ptr()
    }

    pub(crate) fn set(&self, index: usize, value: u32) {
        assert!(index * 4 + 4 <= self.allocation.bytes);
        // SAFETY: in bounds and aligned; the tests access it only while no copy runs.
        unsafe { self.ptr().cast::<u32>().add(index).write(value) }
    }

    pub(crate) fn get(&self, index: usize) -> u32 {
        assert!(index * 4 + 4 <= self.allocation.bytes);
        // SAFETY: as in `set`.
        unsafe { self.ptr().cast::<u32>().add(index).read() }
    }
}

pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, DriverError>) -> ErrorCode {
    result.expect_err("this call must fail").code
}
