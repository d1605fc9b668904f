//! The methods of driver calls: those that allocate on every launch, and those for which everything else is created
//! before, so that they show what launches cost without a launcher.

use std::ffi::CString;
use std::ptr::copy_nonoverlapping;
use std::sync::Arc;

use hip_driver::{
    DeviceId, DevicePtr, Driver, KernelLaunch, Note, RawFunction, RawGraphExec, RawModule, RawStream,
    Work as DriverWork,
};
use hiplaunch::{DeviceBuffer, Error, LaunchDims, PinnedBuffer};

use super::LaunchMethod::{self, Async, Naive, RawBlock, RawGraph, RawMapped, RawUnchanged, RawValue};
use super::work::{StreamWork, WORDS_AT};
use super::{Launches, Setup};

/// A kernel and a stream that are used by driver calls.
struct RawKernel {
    driver: Arc<dyn Driver>,
    device: DeviceId,
    stream: RawStream,
    module: RawModule,
    function: RawFunction,
    dims: LaunchDims,
    kernarg: Vec<u8>,
    /// The offset of each argument in the kernarg segment.
    offsets: Vec<usize>,
    /// A driver graph of a batch.
    graph: Option<RawGraphExec>,
}

impl RawKernel {
    fn new((name, dims): (&str, LaunchDims), setup: &Setup<'_>, on: &StreamWork) -> Result<RawKernel, Error> {
        let signature = setup.code.kernel(name)?;
        let offsets: Vec<usize> = signature.explicit_args().iter().map(|arg| arg.offset as usize).collect();
        // A kernel without explicit arguments gets no kernarg segment, even if it has hidden ones.
        let kernarg = vec![0; if offsets.is_empty() { 0 } else { signature.kernarg_size as usize }];
        let (driver, device) = (setup.device.driver().clone(), setup.device.id());
        // SAFETY: the bench's own kernels.
        let module = unsafe { driver.module_load(device, setup.code.elf()) }?;
        let (stream, function, graph) = (on.stream.as_raw(), RawFunction(0), None);
        let mut kernel = Self { driver, device, stream, module, function, dims, kernarg, offsets, graph };
        let symbol = CString::new(name).unwrap_or_default();
        // SAFETY: the module was just loaded by this driver; it is unloaded when `kernel` is dropped.
        kernel.function = unsafe { kernel.driver.module_get_function(device, module, &symbol) }?;
        Ok(kernel)
    }

    /// Writes an argument if the kernel has it.
    fn set(&mut self, index: usize, bytes: &[u8]) {
        if let Some(offset) = self.offsets.get(index) {
            self.kernarg[*offset..*offset + bytes.len()].copy_from_slice(bytes);
        }
    }

    fn set_address(&mut self, index: usize, address: DevicePtr) {
        self.set(index, &address.0.to_le_bytes());
    }

    fn as_launch(&self) -> KernelLaunch<'_> {
        let LaunchDims { grid, block, dynamic_lds } = self.dims;
        let (function, kernarg) = (self.function, self.kernarg.as_slice());
        KernelLaunch { function, grid, block, dynamic_lds, kernarg, accesses: &[] }
    }

    /// # Safety
    /// As for [`DriverWork`]; what the work uses lives until the stream is waited for.
    unsafe fn enqueue(&self, work: &DriverWork<'_>) -> Result<(), Error> {
        // SAFETY: the stream is live as long as the kernel; the rest is the caller's promise.
        Ok(unsafe { self.driver.enqueue(self.device, self.stream, work) }?)
    }

    fn launch(&self) -> Result<(), Error> {
        // SAFETY: the kernarg segment has the size and offsets of the metadata. The addresses in it are of live memory
        // that is as large as the kernel's contract (hip/bench.hip) requires.
        unsafe { self.enqueue(&DriverWork::Kernel(&self.as_launch())) }
    }

    fn wait(&self) -> Result<(), Error> {
        // SAFETY: the stream is live as long as the kernel.
        Ok(unsafe { self.driver.stream_synchronize(self.device, self.stream) }?)
    }
}

impl Drop for RawKernel {
    fn drop(&mut self) {
        // After an error, work may still run.
        // SAFETY: stream, graph and module are live, and nothing of them runs after the wait, or the device is lost.
        let unloaded = unsafe {
            let waited = self.driver.stream_synchronize(self.device, self.stream);
            let destroyed = self.graph.map(|graph| self.driver.graph_exec_destroy(self.device, graph));
            waited.and(destroyed.unwrap_or(Ok(()))).and(self.driver.module_unload(self.device, self.module))
        };
        if let Err(e) = unloaded {
            log::warn!("the bench's module: {e}");
        }
    }
}

/// Pinned memory, divided into parts of one size. Its owner must first drop the [`RawKernel`] that uses it.
struct Slots {
    memory: PinnedBuffer<u8>,
    host: *mut u8,
    stride: usize,
}

// SAFETY: `host` is the address of `memory`, which may be sent.
unsafe impl Send for Slots {}

impl Slots {
    fn new(setup: &Setup<'_>, slots: usize, stride: usize) -> Result<Slots, Error> {
        let mut memory = PinnedBuffer::new(setup.device, slots * stride)?;
        let host = memory.host_mut()?.as_mut_ptr();
        Ok(Slots { memory, host, stride })
    }

    /// The host address of a part.
    fn host(&self, slot: usize) -> *mut u8 {
        self.host.wrapping_add(slot * self.stride)
    }

    /// The device address of a part.
    fn device(&self, slot: usize) -> DevicePtr {
        self.memory.ptr().offset((slot * self.stride) as u64)
    }

    /// Returns the address of `len` bytes in a part, from `at` on.
    fn range(&self, slot: usize, at: usize, len: usize) -> *mut u8 {
        assert!(slot * self.stride + at + len <= self.memory.len(), "the bench's pinned memory");
        self.host(slot).wrapping_add(at)
    }

    /// Tells an observer of the driver, which does not see what the host does with pinned memory.
    fn note(&self, note: &Note) {
        if let Some(observer) = self.memory.device().driver().observer() {
            observer.note(note);
        }
    }

    fn write(&self, slot: usize, at: usize, bytes: &[u8]) {
        let to = self.range(slot, at, bytes.len());
        self.note(&Note::HostWrite { ptr: to, bytes: bytes.len() });
        // SAFETY: inside the memory; the work that used this part before was waited for when its batch was collected.
        unsafe { copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    /// Reads the results of a batch: `bytes` from the start of each part, one after the other.
    fn read_all(&self, bytes: usize, to: &mut [u8]) {
        if bytes == 0 {
            return;
        }
        for (slot, to) in to.chunks_exact_mut(bytes).enumerate() {
            let from = self.range(slot, 0, bytes);
            self.note(&Note::HostRead { ptr: from, bytes });
            // SAFETY: inside the memory; the work that wrote it was waited for.
            unsafe { copy_nonoverlapping(from, to.as_mut_ptr(), bytes) };
        }
    }
}

/// A stream that launches by driver calls alone.
pub(super) struct DriverCalls {
    // Dropped first: its drop waits for the work that uses the other fields.
    kernel: RawKernel,
    method: LaunchMethod,
    /// Argument blocks on the device, and results: one, for a graph one for each launch.
    blocks: DeviceBuffer<u8>,
    results: DeviceBuffer<u8>,
    staged: Slots,
    read: Slots,
}

impl DriverCalls {
    pub(super) fn new(
        method: LaunchMethod,
        kernel: (&str, LaunchDims),
        setup: &Setup<'_>,
        on: &StreamWork,
    ) -> Result<DriverCalls, Error> {
        let (block, result, count) = (WORDS_AT + on.job.arguments, on.job.results, on.job.in_flight());
        // A graph copies all blocks at once, and all results. Pinned parts of the others do not share cache lines.
        let (stride, read_stride) = match method {
            RawGraph => (block.next_multiple_of(256), result),
            _ => (block.next_multiple_of(64), result.next_multiple_of(64)),
        };
        let [blocks, results, staged, read] = match method {
            Naive => [0, 0, 0, 0],
            Async => [0, 0, count, count],
            RawGraph => [count, count, count, count],
            RawBlock | RawMapped => [1, 1, count, count],
            _ => [1, 1, 1, count],
        };
        let mut calls = DriverCalls {
            kernel: RawKernel::new(kernel, setup, on)?,
            method,
            blocks: DeviceBuffer::new(setup.device, blocks * stride)?,
            results: DeviceBuffer::new(setup.device, results * read_stride)?,
            staged: Slots::new(setup, staged, stride)?,
            read: Slots::new(setup, read, read_stride)?,
        };
        let sink = on.sink.as_ref().map_or(DevicePtr::NULL, DeviceBuffer::ptr);
        if method == RawValue {
            calls.kernel.set_address(1, calls.results.ptr());
            calls.kernel.set_address(2, sink);
        } else {
            calls.kernel.set_address(0, calls.blocks.ptr());
            calls.kernel.set_address(1, sink);
            calls.kernel.set(2, &on.job.argument_words().to_le_bytes());
        }
        calls.kernel.set(3, &on.job.result_words().to_le_bytes());
        match method {
            RawUnchanged => {
                calls.stage(0, calls.results.ptr(), on.work.words());
                calls.copy_in(0, block)?;
                calls.kernel.wait()?;
            }
            RawGraph => calls.instantiate(on)?,
            _ => {}
        }
        Ok(calls)
    }

    /// Writes the argument block of a launch to pinned memory.
    fn stage(&self, slot: usize, result: DevicePtr, words: &[u8]) {
        self.staged.write(slot, 0, &result.0.to_le_bytes());
        self.staged.write(slot, WORDS_AT, words);
    }

    fn copy_in(&self, slot: usize, bytes: usize) -> Result<(), Error> {
        let (dst, src) = (self.blocks.ptr(), self.staged.host(slot));
        // SAFETY: live memory of at least that size on both sides; the part is not written before the batch is waited
        // for.
        unsafe { self.kernel.enqueue(&DriverWork::CopyToDevice { dst, src, bytes }) }
    }

    fn copy_out(&self, slot: usize, bytes: usize) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        let (dst, src) = (self.read.host(slot), self.results.ptr());
        // SAFETY: live memory of at least that size on both sides; the part is read after the batch is waited for.
        unsafe { self.kernel.enqueue(&DriverWork::CopyToHost { dst, src, bytes }) }
    }

    /// Allocates, copies in, launches, copies out and frees: with a wait after each step, or all in the stream's order.
    /// After an error, the memory is freed only when the process exits; the error ends the bench.
    fn launch_allocating(&mut self, slot: usize, on: &mut StreamWork) -> Result<(), Error> {
        let in_order = self.method == Async;
        let (device, stream, driver) = (self.kernel.device, self.kernel.stream, self.kernel.driver.clone());
        let allocate = |bytes| match in_order {
            // SAFETY: the stream is live.
            true => unsafe { driver.malloc_async(device, bytes, stream) },
            false => driver.malloc(device, bytes),
        };
        // SAFETY: the closure is called with memory that `allocate` returned; the work before on this stream was waited
        // for, or is before the free in the stream's order.
        let free = |ptr| unsafe {
            match in_order {
                true => driver.free_async(device, ptr, stream),
                false => driver.free(device, ptr),
            }
        };
        // SAFETY: the closure is called with live memory of the right size on both sides. Pinned memory is not used
        // before the batch is waited for; the other call has copied when it returns.
        let copy = |work: DriverWork<'_>| unsafe {
            match in_order {
                true => driver.enqueue(device, stream, &work),
                false => driver.copy_blocking(device, &work),
            }
        };
        let bytes = on.job.results;
        let result = (bytes > 0).then(|| allocate(bytes)).transpose()?;
        let address = result.unwrap_or(DevicePtr::NULL);
        let block = &mut on.work.block;
        block[..WORDS_AT].copy_from_slice(&address.0.to_le_bytes());
        let memory = allocate(block.len())?;
        let src = match in_order {
            true => {
                self.staged.write(slot, 0, block);
                self.staged.host(slot).cast_const()
            }
            false => block.as_ptr(),
        };
        copy(DriverWork::CopyToDevice { dst: memory, src, bytes: block.len() })?;
        self.kernel.set_address(0, memory);
        self.kernel.launch()?;
        if !in_order {
            self.kernel.wait()?;
        }
        if let Some(src) = result {
            let dst = if in_order { self.read.host(slot) } else { on.work.result(slot).as_mut_ptr() };
            copy(DriverWork::CopyToHost { dst, src, bytes })?;
            free(src)?;
        }
        Ok(free(memory)?)
    }

    /// Makes a driver graph of a batch: one copy in, the launches, one copy out.
    fn instantiate(&mut self, on: &StreamWork) -> Result<(), Error> {
        let (driver, device) = (self.kernel.driver.clone(), self.kernel.device);
        for slot in 0..on.job.in_flight() {
            self.stage(slot, self.results.ptr().offset((slot * on.job.results) as u64), on.work.words());
        }
        let graph = driver.graph_create(device)?;
        let exec = self.fill(graph, on).and_then(|()| {
            // SAFETY: only this function has the graph, whose nodes use memory and a module that outlive what is
            // instantiated.
            Ok(unsafe { driver.graph_instantiate(device, graph) }?)
        });
        // SAFETY: only this function has the graph; what was instantiated from it stays valid.
        let destroyed = unsafe { driver.graph_destroy(device, graph) };
        self.kernel.graph = Some(exec?);
        Ok(destroyed?)
    }

    fn fill(&mut self, graph: hip_driver::RawGraph, on: &StreamWork) -> Result<(), Error> {
        let (driver, device, count) = (self.kernel.driver.clone(), self.kernel.device, on.job.in_flight());
        let mut last = None;
        let mut add = |work: &DriverWork<'_>| -> Result<(), Error> {
            // SAFETY: nodes of this graph; the works are those of `copy_in`, `launch` and `copy_out`, for the memory of
            // all launches.
            last = Some(unsafe { driver.graph_add(device, graph, last.as_slice(), work) }?);
            Ok(())
        };
        let blocks = self.blocks.ptr();
        if on.job.arguments > 0 {
            let (src, bytes) = (self.staged.host(0), count * self.staged.stride);
            add(&DriverWork::CopyToDevice { dst: blocks, src, bytes })?;
        }
        for slot in 0..count {
            self.kernel.set_address(0, blocks.offset((slot * self.staged.stride) as u64));
            add(&DriverWork::Kernel(&self.kernel.as_launch()))?;
        }
        match count * on.job.results {
            0 => Ok(()),
            bytes => add(&DriverWork::CopyToHost { dst: self.read.host(0), src: self.results.ptr(), bytes }),
        }
    }
}

impl Launches for DriverCalls {
    fn launch(&mut self, on: &mut StreamWork) -> Result<(), Error> {
        let slot = on.work.next();
        let words = on.work.words();
        match self.method {
            Naive if words.is_empty() => {
                self.kernel.launch()?;
                return self.kernel.wait();
            }
            Naive | Async => return self.launch_allocating(slot, on),
            RawGraph => {
                self.staged.write(slot, WORDS_AT, words);
                return Ok(());
            }
            RawMapped => {
                self.stage(slot, self.read.device(slot), words);
                self.kernel.set_address(0, self.staged.device(slot));
                return self.kernel.launch();
            }
            RawBlock => {
                self.stage(slot, self.results.ptr(), words);
                self.copy_in(slot, WORDS_AT + words.len())?;
            }
            RawValue => self.kernel.set(0, words),
            _ => {}
        }
        self.kernel.launch()?;
        self.copy_out(slot, on.job.results)
    }

    fn submit(&mut self, _: &mut StreamWork) -> Result<(), Error> {
        match self.kernel.graph {
            // SAFETY: the nodes' memory is this stream's; the launch before it was waited for.
            Some(graph) => unsafe { self.kernel.enqueue(&DriverWork::Graph(graph)) },
            None => Ok(()),
        }
    }

    fn collect(&mut self, on: &mut StreamWork) -> Result<(), Error> {
        if self.method == Naive {
            return Ok(());
        }
        self.kernel.wait()?;
        self.read.read_all(on.job.results, on.work.results());
        Ok(())
    }
}
