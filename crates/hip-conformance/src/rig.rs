//! Safe wrappers of driver calls, the kernels of `hip/`, and the objects that are destroyed at the end of a case.
//!
//! The wrappers are sound if the cases pass the kernels of `hip/` what these take: handles and memory live until the
//! end of the case, the wrappers check ranges, and pinned memory is accessed through [`Pinned`] only.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use bytemuck::Pod;
use code_object::{CodeObject, KernelSignature, TargetId};
use hiplaunch::driver::validation::{ValidationDriver, Violation};
use hiplaunch::driver::{
    Capability, Comparison, DeviceId, DevicePtr, Driver, DriverResult, ErrorCode, EventOptions, HostFunction,
    KernelLaunch, MemoryAccess, Note, PinnedAllocation, RawEvent, RawFunction, RawGraph, RawGraphExec,
    RawModule, RawStream, StreamOptions, ValueWidth, WaitCondition, Work,
};

use crate::subject::Subject;

pub(crate) const D0: DeviceId = DeviceId(0);
pub(crate) const D1: DeviceId = DeviceId(1);

/// The code objects of a file of `hip/`: for gfx90a, for gfx942, and mostly a bundle for all targets.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) plain: [&'static [u8]; 2],
    bundle: Option<&'static [u8]>,
}

impl Image {
    /// Returns the code object for a device of a target.
    pub(crate) fn of(&self, target: &TargetId) -> Option<CodeObject> {
        let mut images = self.plain.into_iter().chain(self.bundle);
        images.find_map(|image| CodeObject::from_any(image, target).ok())
    }
}

macro_rules! image {
    ($name:literal, $bundle:expr) => {
        Image {
            plain: [
                include_bytes!(concat!("../hip/", $name, ".gfx90a.co")),
                include_bytes!(concat!("../hip/", $name, ".gfx942.co")),
            ],
            bundle: $bundle,
        }
    };
    ($name:literal) => {
        image!($name, Some(include_bytes!(concat!("../hip/", $name, ".hipfb"))))
    };
}

pub(crate) static VECTOR: Image = image!("vector");
pub(crate) static REDUCE: Image = image!("reduce");
pub(crate) static MATMUL: Image = image!("matmul");
pub(crate) static PROBE: Image = image!("probe");
pub(crate) static JIT: Image = image!("jit");
// gfx12 has no way to wait for a whole grid.
pub(crate) static GRID: Image = image!("grid", None);

/// The objects that a case created, which are destroyed at its end.
#[derive(Debug, Default)]
struct Owned {
    streams: Vec<(DeviceId, RawStream)>,
    events: Vec<(DeviceId, RawEvent)>,
    modules: Vec<(DeviceId, RawModule)>,
    memory: Vec<(DeviceId, DevicePtr)>,
    pinned: Vec<(DeviceId, PinnedAllocation)>,
    graphs: Vec<RawGraph>,
    execs: Vec<RawGraphExec>,
}

/// A driver, and the objects that a case made.
pub struct Rig {
    pub(crate) subject: Subject,
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) validation: Option<Arc<ValidationDriver>>,
    owned: Mutex<Owned>,
    /// Whether the case lost a device, which can't be waited for any more.
    lost: AtomicBool,
    /// Why the case did nothing, or not everything.
    skipped: Mutex<Option<String>>,
}

// SAFETY comments below: see the module's text.
impl Rig {
    /// Sends a note to the driver's observer, if it has one.
    pub(crate) fn note(&self, note: &Note) {
        if let Some(observer) = self.driver.observer() {
            observer.note(note);
        }
    }

    pub(crate) fn new(
        subject: Subject,
        driver: Arc<dyn Driver>,
        validation: Option<Arc<ValidationDriver>>,
    ) -> Rig {
        Rig {
            subject,
            driver,
            validation,
            owned: Mutex::default(),
            lost: AtomicBool::new(false),
            skipped: Mutex::default(),
        }
    }

    /// Notes why a case is skipped.
    pub(crate) fn skip(&self, reason: &str) {
        *self.skipped.lock().unwrap() = Some(reason.to_owned());
    }

    /// Returns whether the driver has a capability. Notes that the case is skipped if not.
    pub(crate) fn has(&self, capability: Capability) -> bool {
        let has = self.driver.capabilities().has(capability);
        if !has {
            self.skip(&format!("no {capability:?}"));
        }
        has
    }

    /// Returns whether there is code for the device. Notes that the case is skipped if not.
    pub(crate) fn has_code(&self, image: &Image) -> bool {
        let target = self.driver.device_properties(D0).unwrap().target;
        let has = image.of(&target).is_some();
        if !has {
            self.skip(&format!("no code for {target}"));
        }
        has
    }

    pub(crate) fn devices(&self) -> Vec<DeviceId> {
        (0..self.driver.device_count().unwrap()).map(DeviceId).collect()
    }

    /// Returns whether there is a second device. Notes that the case is skipped if not.
    pub(crate) fn has_second_device(&self) -> bool {
        let two = self.devices().len() > 1;
        if !two {
            self.skip("one device only");
        }
        two
    }

    pub(crate) fn malloc(&self, bytes: usize) -> DevicePtr {
        self.malloc_on(D0, bytes)
    }

    pub(crate) fn malloc_on(&self, device: DeviceId, bytes: usize) -> DevicePtr {
        let ptr = self.driver.malloc(device, bytes).unwrap();
        self.owned.lock().unwrap().memory.push((device, ptr));
        ptr
    }

    /// Frees memory before the end of the case.
    pub(crate) fn free(&self, device: DeviceId, ptr: DevicePtr) {
        self.owned.lock().unwrap().memory.retain(|m| *m != (device, ptr));
        // SAFETY: removed from the list, so it is freed once.
        unsafe { self.driver.free(device, ptr) }.unwrap();
    }

    pub(crate) fn pinned(&self, bytes: usize) -> Pinned<'_> {
        let memory = self.driver.host_malloc(D0, bytes).unwrap();
        assert_eq!(memory.bytes, bytes);
        self.owned.lock().unwrap().pinned.push((D0, memory));
        Pinned { rig: self, memory }
    }

    /// Returns access to host memory that the case has registered and will unregister.
    pub(crate) fn of_registered(&self, memory: PinnedAllocation) -> Pinned<'_> {
        Pinned { rig: self, memory }
    }

    pub(crate) fn stream(&self) -> RawStream {
        self.stream_on(D0)
    }

    pub(crate) fn stream_on(&self, device: DeviceId) -> RawStream {
        self.stream_with(device, StreamOptions::default())
    }

    pub(crate) fn stream_with(&self, device: DeviceId, options: StreamOptions) -> RawStream {
        let stream = self.driver.stream_create(device, options).unwrap();
        self.owned.lock().unwrap().streams.push((device, stream));
        stream
    }

    /// Destroys a stream before the end of the case.
    pub(crate) fn destroy_stream(&self, stream: RawStream) {
        self.owned.lock().unwrap().streams.retain(|s| *s != (D0, stream));
        // SAFETY: removed from the list, and the case does not use it again.
        unsafe { self.driver.stream_destroy(D0, stream) }.unwrap();
    }

    pub(crate) fn event(&self) -> RawEvent {
        self.event_with(EventOptions::default())
    }

    pub(crate) fn event_with(&self, options: EventOptions) -> RawEvent {
        let event = self.driver.event_create(D0, options).unwrap();
        self.owned.lock().unwrap().events.push((D0, event));
        event
    }

    /// Destroys an event before the end of the case.
    pub(crate) fn destroy_event(&self, event: RawEvent) {
        self.owned.lock().unwrap().events.retain(|e| *e != (D0, event));
        // SAFETY: removed from the list, and the case does not use it again.
        unsafe { self.driver.event_destroy(D0, event) }.unwrap();
    }

    pub(crate) fn sync(&self, stream: RawStream) {
        // SAFETY: a live stream.
        unsafe { self.driver.stream_synchronize(D0, stream) }.unwrap();
    }

    pub(crate) fn idle(&self, stream: RawStream) -> bool {
        // SAFETY: a live stream.
        unsafe { self.driver.stream_query(D0, stream) }.unwrap()
    }

    pub(crate) fn record(&self, event: RawEvent, stream: RawStream) {
        // SAFETY: live handles.
        unsafe { self.driver.event_record(D0, event, stream) }.unwrap();
    }

    pub(crate) fn wait(&self, stream: RawStream, event: RawEvent) {
        // SAFETY: live handles.
        unsafe { self.driver.stream_wait_event(D0, stream, event) }.unwrap();
    }

    pub(crate) fn reached(&self, event: RawEvent) -> bool {
        // SAFETY: a live event.
        unsafe { self.driver.event_query(D0, event) }.unwrap()
    }

    pub(crate) fn sync_event(&self, event: RawEvent) {
        // SAFETY: a live event.
        unsafe { self.driver.event_synchronize(D0, event) }.unwrap();
    }

    /// Copies values from pageable memory to device memory, in stream order.
    pub(crate) fn write<T: Pod>(&self, dst: DevicePtr, values: &[T], stream: RawStream) {
        self.write_on(D0, dst, values, stream);
    }

    pub(crate) fn write_on<T: Pod>(&self, device: DeviceId, dst: DevicePtr, values: &[T], stream: RawStream) {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        // SAFETY: the source is pageable, so it has been read when the call returns. The case names live memory.
        unsafe {
            self.driver.enqueue(
                device,
                stream,
                &Work::CopyToDevice { dst, src: bytes.as_ptr(), bytes: bytes.len() },
            )
        }
        .unwrap();
    }

    /// Copies `count` values from device memory, after all work on the stream so far.
    pub(crate) fn read<T: Pod>(&self, src: DevicePtr, count: usize, stream: RawStream) -> Vec<T> {
        self.read_on(D0, src, count, stream)
    }

    pub(crate) fn read_on<T: Pod>(
        &self,
        device: DeviceId,
        src: DevicePtr,
        count: usize,
        stream: RawStream,
    ) -> Vec<T> {
        let mut values = vec![T::zeroed(); count];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        // SAFETY: the target is pageable, so it has been written when the call returns. The case names live memory.
        unsafe {
            self.driver.enqueue(
                device,
                stream,
                &Work::CopyToHost { dst: bytes.as_mut_ptr(), src, bytes: bytes.len() },
            )
        }
        .unwrap();
        values
    }

    /// Allocates device memory that holds these values for work on this stream.
    pub(crate) fn upload<T: Pod>(&self, values: &[T], stream: RawStream) -> DevicePtr {
        let ptr = self.malloc(size_of_val(values));
        self.write(ptr, values, stream);
        ptr
    }

    pub(crate) fn fill_bytes(&self, dst: DevicePtr, value: u8, bytes: usize, stream: RawStream) {
        // SAFETY: the case names live memory.
        unsafe { self.driver.enqueue(D0, stream, &Work::FillBytes { dst, value, bytes }) }.unwrap();
    }

    pub(crate) fn fill_words(&self, dst: DevicePtr, value: u32, count: usize, stream: RawStream) {
        // SAFETY: the case names live memory.
        unsafe { self.driver.enqueue(D0, stream, &Work::FillWords { dst, value, count }) }.unwrap();
    }

    pub(crate) fn write_value(&self, dst: DevicePtr, width: ValueWidth, value: u64, stream: RawStream) {
        // SAFETY: a live stream and a value in live memory.
        unsafe { self.driver.enqueue(D0, stream, &Work::WriteValue { dst, width, value }) }.unwrap();
    }

    /// Has a stream wait for a value that compares so with `value`.
    pub(crate) fn wait_value(
        &self,
        src: DevicePtr,
        width: ValueWidth,
        comparison: Comparison,
        value: u64,
        stream: RawStream,
    ) {
        let condition = WaitCondition::new(comparison, value);
        // SAFETY: as above.
        unsafe { self.driver.enqueue(D0, stream, &Work::WaitValue { src, width, condition }) }.unwrap();
    }

    pub(crate) fn copy(&self, dst: DevicePtr, src: DevicePtr, bytes: usize, stream: RawStream) {
        // SAFETY: the case names live memory that does not overlap.
        unsafe { self.driver.enqueue(D0, stream, &Work::CopyWithin { dst, src, bytes }) }.unwrap();
    }

    /// Loads the code object of `image` that the device runs.
    pub(crate) fn load(&self, image: &Image) -> Kernels<'_> {
        self.load_on(D0, image)
    }

    pub(crate) fn load_on(&self, device: DeviceId, image: &Image) -> Kernels<'_> {
        let target = self.driver.device_properties(device).unwrap().target;
        let object = image
            .of(&target)
            .unwrap_or_else(|| panic!("hip/ has no code object for {target}; see hip/build.sh"));
        // SAFETY: the code object is one of this repository.
        let module = unsafe { self.driver.module_load(device, object.elf()) }.unwrap();
        self.owned.lock().unwrap().modules.push((device, module));
        Kernels { rig: self, device, module, object }
    }

    /// Unloads a module before the end of the case; none of its kernels is in flight.
    pub(crate) fn unload(&self, device: DeviceId, module: RawModule) {
        self.owned.lock().unwrap().modules.retain(|m| *m != (device, module));
        // SAFETY: removed from the list, and nothing is in flight.
        unsafe { self.driver.module_unload(device, module) }.unwrap();
    }

    /// Enqueues a kernel that runs for a while. Returns the address that it writes to, and the words that it writes
    /// there.
    pub(crate) fn busy(&self, probe: &Kernels<'_>, stream: RawStream) -> (DevicePtr, [u32; 64]) {
        const STEPS: u64 = 300_000;
        let out = self.malloc(256);
        probe.launch("spin", 1, 64, stream, &[value(STEPS), output(out, 256)]).unwrap();
        let word = (0..STEPS).fold(0u32, |s, _| s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        (out, [word; 64])
    }

    /// Blocks a stream until the returned hold is released, if the driver has host functions. Otherwise keeps the
    /// stream busy for a while. The case must not wait for the stream before it releases the hold.
    pub(crate) fn hold(&self, probe: &Kernels<'_>, stream: RawStream) -> Hold {
        if !self.driver.capabilities().has(Capability::HostFunc) {
            self.busy(probe, stream);
            return Hold { gate: None };
        }
        let (sender, receiver) = mpsc::channel::<()>();
        let wait = move || {
            // Returns an error once the sender is dropped, which releases the hold.
            let _ = receiver.recv();
        };
        // SAFETY: a live stream; the function makes no driver call.
        unsafe { self.driver.enqueue(D0, stream, &Work::HostFunction(&HostFunction::new(wait))) }.unwrap();
        Hold { gate: Some(sender) }
    }

    pub(crate) fn graph(&self) -> RawGraph {
        self.own_graph(self.driver.graph_create(D0).unwrap())
    }

    /// Has a graph destroyed at the end of the case.
    pub(crate) fn own_graph(&self, graph: RawGraph) -> RawGraph {
        self.owned.lock().unwrap().graphs.push(graph);
        graph
    }

    /// Destroys a graph before the end of the case.
    pub(crate) fn destroy_graph(&self, graph: RawGraph) {
        self.owned.lock().unwrap().graphs.retain(|g| *g != graph);
        // SAFETY: removed from the list, and the case does not use it again.
        unsafe { self.driver.graph_destroy(D0, graph) }.unwrap();
    }

    pub(crate) fn instantiate(&self, graph: RawGraph) -> RawGraphExec {
        // SAFETY: a live graph.
        let exec = unsafe { self.driver.graph_instantiate(D0, graph) }.unwrap();
        self.owned.lock().unwrap().execs.push(exec);
        exec
    }

    pub(crate) fn launch_graph(&self, exec: RawGraphExec, stream: RawStream) {
        // SAFETY: live handles; memory and modules live to the end of the case.
        unsafe { self.driver.enqueue(D0, stream, &Work::Graph(exec)) }.unwrap();
    }

    /// Destroys an instantiated graph before the end of the case.
    pub(crate) fn destroy_exec(&self, exec: RawGraphExec) {
        self.owned.lock().unwrap().execs.retain(|e| *e != exec);
        // SAFETY: removed from the list, and the case does not use it again.
        unsafe { self.driver.graph_exec_destroy(D0, exec) }.unwrap();
    }

    /// Records that the case lost a device.
    pub(crate) fn lose_device(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Returns the violations that the validation layer, if it is on, has found since the last call.
    pub(crate) fn violations(&self) -> Option<Vec<Violation>> {
        self.validation.as_ref().map(|layer| layer.take_violations())
    }

    /// Checks that the validation layer, if it is on, has found exactly one violation since the last call, one for
    /// which `sort` returns true.
    #[track_caller]
    pub(crate) fn expect_violation(&self, sort: impl Fn(&Violation) -> bool) {
        if let Some(found) = self.violations() {
            assert!(found.len() == 1 && sort(&found[0]), "{found:?}");
        }
    }

    /// Destroys what the case created, and checks that there was no violation and that nothing is left.
    pub(crate) fn finish(self) -> Option<String> {
        let d = &self.driver;
        if !self.lost.load(Ordering::Relaxed) {
            self.devices().into_iter().for_each(|device| d.device_synchronize(device).unwrap());
        }
        let owned = self.owned.into_inner().unwrap();
        // SAFETY: each object is destroyed once, and nothing is in flight any more.
        unsafe {
            owned.events.into_iter().for_each(|(device, e)| d.event_destroy(device, e).unwrap());
            owned.execs.into_iter().for_each(|e| d.graph_exec_destroy(D0, e).unwrap());
            owned.graphs.into_iter().for_each(|g| d.graph_destroy(D0, g).unwrap());
            owned.streams.into_iter().for_each(|(device, s)| d.stream_destroy(device, s).unwrap());
            owned.modules.into_iter().for_each(|(device, m)| d.module_unload(device, m).unwrap());
            owned.memory.into_iter().for_each(|(device, m)| d.free(device, m).unwrap());
            owned.pinned.into_iter().for_each(|(device, p)| d.host_free(device, p).unwrap());
        }
        if let Some(layer) = &self.validation {
            layer.assert_clean_and_empty().unwrap();
        }
        self.skipped.into_inner().unwrap()
    }
}

/// Blocks a stream until it is dropped.
pub(crate) struct Hold {
    gate: Option<mpsc::Sender<()>>,
}

impl Hold {
    /// Returns whether later work of the stream certainly does not run before the hold is released.
    pub(crate) fn is_sure(&self) -> bool {
        self.gate.is_some()
    }

    pub(crate) fn let_go(self) {
        drop(self);
    }
}

/// Pinned memory that the host accesses byte by byte, after it has told the driver's observer.
#[derive(Clone, Copy)]
pub(crate) struct Pinned<'r> {
    rig: &'r Rig,
    pub(crate) memory: PinnedAllocation,
}

impl Pinned<'_> {
    /// Returns the host address at an offset in bytes.
    pub(crate) fn host(&self, at: usize) -> *mut u8 {
        assert!(at <= self.memory.bytes);
        self.memory.host.as_ptr().wrapping_add(at)
    }

    pub(crate) fn device(&self, at: usize) -> DevicePtr {
        assert!(at <= self.memory.bytes);
        self.memory.device.offset(at as u64)
    }

    pub(crate) fn write<T: Pod>(&self, at: usize, values: &[T]) {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        assert!(at + bytes.len() <= self.memory.bytes);
        self.rig.note(&Note::HostWrite { ptr: self.host(at), bytes: bytes.len() });
        for (i, byte) in bytes.iter().enumerate() {
            // SAFETY: in bounds. Volatile, because a copy in flight may read the byte: some cases test that race.
            unsafe { self.host(at).add(i).write_volatile(*byte) };
        }
    }

    pub(crate) fn read<T: Pod>(&self, at: usize, count: usize) -> Vec<T> {
        let mut values = vec![T::zeroed(); count];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        assert!(at + bytes.len() <= self.memory.bytes);
        self.rig.note(&Note::HostRead { ptr: self.host(at), bytes: bytes.len() });
        for (i, byte) in bytes.iter_mut().enumerate() {
            // SAFETY: in bounds. Volatile as above.
            *byte = unsafe { self.host(at).add(i).read_volatile() };
        }
        values
    }

    pub(crate) fn to_device(self, at: usize, dst: DevicePtr, bytes: usize, stream: RawStream) {
        assert!(at + bytes <= self.memory.bytes);
        // SAFETY: in bounds, and the memory lives until the end of the case.
        unsafe {
            self.rig.driver.enqueue(D0, stream, &Work::CopyToDevice { dst, src: self.host(at), bytes })
        }
        .unwrap();
    }

    pub(crate) fn to_host(self, at: usize, src: DevicePtr, bytes: usize, stream: RawStream) {
        assert!(at + bytes <= self.memory.bytes);
        // SAFETY: in bounds, and the memory lives until the end of the case.
        unsafe { self.rig.driver.enqueue(D0, stream, &Work::CopyToHost { dst: self.host(at), src, bytes }) }
            .unwrap();
    }
}

/// One argument of a kernel: its bytes, and the memory that the kernel accesses through it.
#[derive(Clone, Debug)]
pub(crate) struct Arg {
    bytes: Vec<u8>,
    access: Option<MemoryAccess>,
}

pub(crate) fn value<T: Pod>(value: T) -> Arg {
    Arg { bytes: bytemuck::bytes_of(&value).to_vec(), access: None }
}

/// Returns an argument for memory that the kernel only reads.
pub(crate) fn input(ptr: DevicePtr, bytes: usize) -> Arg {
    Arg { access: Some(MemoryAccess { ptr, bytes, write: false }), ..value(ptr) }
}

/// Returns an argument for memory that the kernel writes.
pub(crate) fn output(ptr: DevicePtr, bytes: usize) -> Arg {
    Arg { access: Some(MemoryAccess { ptr, bytes, write: true }), ..value(ptr) }
}

/// Returns the accesses of a launch with these arguments.
pub(crate) fn accesses(args: &[Arg]) -> Vec<MemoryAccess> {
    args.iter().filter_map(|a| a.access).collect()
}

/// A loaded module with its metadata.
pub(crate) struct Kernels<'r> {
    rig: &'r Rig,
    device: DeviceId,
    pub(crate) module: RawModule,
    object: CodeObject,
}

impl Kernels<'_> {
    pub(crate) fn names(&self) -> Vec<String> {
        self.object.kernels().iter().map(|k| k.name.clone()).collect()
    }

    pub(crate) fn signature(&self, name: &str) -> &KernelSignature {
        self.object.kernel(name).unwrap()
    }

    pub(crate) fn try_function(&self, name: &str) -> DriverResult<RawFunction> {
        let name = CString::new(name).unwrap();
        // SAFETY: the module is loaded.
        unsafe { self.rig.driver.module_get_function(self.device, self.module, &name) }
    }

    pub(crate) fn function(&self, name: &str) -> RawFunction {
        self.try_function(name).unwrap()
    }

    pub(crate) fn try_global(&self, name: &str) -> DriverResult<(DevicePtr, usize)> {
        let name = CString::new(name).unwrap();
        // SAFETY: the module is loaded.
        unsafe { self.rig.driver.module_get_global(self.device, self.module, &name) }
    }

    /// Returns the kernarg segment: the arguments at their offsets, hidden arguments zero.
    pub(crate) fn kernarg(&self, name: &str, args: &[Arg]) -> Vec<u8> {
        let signature = self.signature(name);
        let slots = signature.explicit_args();
        assert_eq!(slots.len(), args.len(), "{name}");
        if slots.is_empty() {
            return Vec::new();
        }
        let mut bytes = vec![0; signature.kernarg_size as usize];
        for (slot, arg) in slots.iter().zip(args) {
            assert_eq!(slot.size as usize, arg.bytes.len(), "{name}: {slot}");
            bytes[slot.offset as usize..][..arg.bytes.len()].copy_from_slice(&arg.bytes);
        }
        bytes
    }

    /// Launches a kernel on a grid of one dimension.
    pub(crate) fn launch(
        &self,
        name: &str,
        grid: u32,
        block: u32,
        stream: RawStream,
        args: &[Arg],
    ) -> DriverResult<()> {
        self.launch_with(name, [grid, 1, 1], [block, 1, 1], 0, stream, args)
    }

    pub(crate) fn launch_with(
        &self,
        name: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_lds: u32,
        stream: RawStream,
        args: &[Arg],
    ) -> DriverResult<()> {
        let function = self.function(name);
        let kernarg = self.kernarg(name, args);
        let accesses = accesses(args);
        let launch =
            KernelLaunch { function, grid, block, dynamic_lds, kernarg: &kernarg, accesses: &accesses };
        // SAFETY: the kernarg segment is complete, and the case passes the kernel what it takes.
        unsafe { self.rig.driver.enqueue(self.device, stream, &Work::Kernel(&launch)) }
    }

    /// Launches workgroups that can wait for each other.
    pub(crate) fn launch_cooperative(
        &self,
        name: &str,
        grid: u32,
        block: u32,
        stream: RawStream,
        args: &[Arg],
    ) -> DriverResult<()> {
        let (function, kernarg, accesses) = (self.function(name), self.kernarg(name, args), accesses(args));
        let offsets: Vec<u32> = self.signature(name).explicit_args().iter().map(|a| a.offset).collect();
        let (grid, block) = ([grid, 1, 1], [block, 1, 1]);
        let launch =
            KernelLaunch { function, grid, block, dynamic_lds: 0, kernarg: &kernarg, accesses: &accesses };
        let work = Work::CooperativeKernel { launch: &launch, offsets: &offsets };
        // SAFETY: as in `launch_with`.
        unsafe { self.rig.driver.enqueue(self.device, stream, &work) }
    }
}

/// Returns the error code of a call that must fail.
#[track_caller]
pub(crate) fn code<T: std::fmt::Debug>(result: DriverResult<T>) -> ErrorCode {
    let error = result.expect_err("this call must fail");
    assert_ne!(error.code, ErrorCode::SUCCESS);
    assert_ne!(error.code, ErrorCode::NOT_READY, "not an error");
    error.code
}
