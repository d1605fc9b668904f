//! The methods of driver calls alone. Everything else is created before, so they show what launches cost without a
//! launcher.

use std::ffi::CString;
use std::ptr::copy_nonoverlapping;
use std::sync::Arc;

use hip_driver::{
    DeviceId, DevicePtr, Driver, KernelLaunch, Note, PinnedAllocation, RawFunction, RawModule,
    Work as DriverWork,
};
use hiplaunch::{Error, LaunchDims, Stream};

use super::kernels::kernel;
use super::work::{Sink, WORDS_AT, Work};
use super::{Job, LaunchMethod, MethodStream, Setup, Stop};

/// A kernel that is launched by driver calls, and a stream.
pub(super) struct Raw {
    pub(super) driver: Arc<dyn Driver>,
    pub(super) device: DeviceId,
    pub(super) stream: Stream,
    module: RawModule,
    function: RawFunction,
    dims: LaunchDims,
    kernarg: Vec<u8>,
    /// The offset of each argument in the kernarg segment.
    offsets: Vec<usize>,
}

impl Raw {
    pub(super) fn new(method: LaunchMethod, job: &Job, setup: &Setup<'_>) -> Result<Raw, Error> {
        let (name, dims) = kernel(method, job);
        let code = &setup.code;
        let signature = code.kernel(name)?;
        let offsets: Vec<usize> = signature.explicit_args().iter().map(|arg| arg.offset as usize).collect();
        // A kernel without explicit arguments gets no kernarg segment, even if it has hidden ones.
        let kernarg = if offsets.is_empty() { 0 } else { signature.kernarg_size as usize };
        let symbol = CString::new(name).unwrap_or_default();
        let (driver, device) = (setup.device.driver().clone(), setup.device.id());
        let stream = setup.launcher.stream(setup.device)?;
        // SAFETY: the bench's own kernels.
        let module = unsafe { driver.module_load(device, code.elf()) }?;
        // SAFETY: the module was just loaded by this driver.
        let function = unsafe { driver.module_get_function(device, module, &symbol) };
        // From here on, the module is unloaded when `Raw` is dropped.
        let raw = |function| Raw {
            driver: driver.clone(),
            device,
            stream,
            module,
            function,
            dims,
            kernarg: vec![0; kernarg],
            offsets,
        };
        match function {
            Ok(function) => Ok(raw(function)),
            Err(error) => {
                drop(raw(RawFunction(0)));
                Err(error.into())
            }
        }
    }

    /// Writes an argument if the kernel has it.
    #[inline]
    pub(super) fn set(&mut self, index: usize, bytes: &[u8]) {
        if let Some(offset) = self.offsets.get(index) {
            self.kernarg[*offset..*offset + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Sets the arguments after the first `at`, which do not change: the sink, the number of words if the kernel has
    /// that parameter, and the number of result words.
    pub(super) fn set_rest(&mut self, at: usize, job: &Job, sink: &Sink) {
        self.set(at, &sink.address());
        let (words, results) = ((job.arguments / 4) as u32, (job.results / 4) as u32);
        if at == 1 {
            self.set(2, &words.to_le_bytes());
        }
        self.set(3, &results.to_le_bytes());
    }

    /// Returns the launch as a value of the driver.
    #[inline]
    pub(super) fn as_launch(&self) -> KernelLaunch<'_> {
        KernelLaunch {
            function: self.function,
            grid: self.dims.grid,
            block: self.dims.block,
            dynamic_lds: self.dims.dynamic_lds,
            kernarg: &self.kernarg,
            accesses: &[],
        }
    }

    #[inline]
    pub(super) fn launch(&self) -> Result<(), Error> {
        // SAFETY: the kernarg segment has the size and offsets of the metadata. The addresses in it are of live memory
        // that is as large as the kernel's contract (hip/bench.hip) requires.
        unsafe {
            self.driver.enqueue(self.device, self.stream.raw(), &DriverWork::Kernel(&self.as_launch()))
        }?;
        Ok(())
    }

    #[inline]
    pub(super) fn wait(&self) -> Result<(), Error> {
        // SAFETY: the stream is live.
        unsafe { self.driver.stream_synchronize(self.device, self.stream.raw()) }?;
        Ok(())
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // After an error, work may still run.
        // SAFETY: stream and module are live, and nothing of the module runs after the wait, or the device is lost.
        let gone = unsafe {
            let waited = self.driver.stream_synchronize(self.device, self.stream.raw());
            waited.and(self.driver.module_unload(self.device, self.module))
        };
        if let Err(e) = gone {
            log::warn!("the bench's module: {e}");
        }
    }
}

/// Device memory. Its owner must first drop the [`Raw`] that uses it.
pub(super) struct Memory {
    driver: Arc<dyn Driver>,
    device: DeviceId,
    pub(super) ptr: DevicePtr,
}

impl Memory {
    /// Allocates memory of at least one byte.
    pub(super) fn new(raw: &Raw, bytes: usize) -> Result<Memory, Error> {
        let ptr = raw.driver.malloc(raw.device, bytes.max(1))?;
        Ok(Memory { driver: raw.driver.clone(), device: raw.device, ptr })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: live, and its owner has waited for every launch that used it.
        if let Err(e) = unsafe { self.driver.free(self.device, self.ptr) } {
            log::warn!("the bench's memory: {e}");
        }
    }
}

/// Pinned memory, divided into parts of one size. Its owner must first drop the [`Raw`] that uses it.
pub(super) struct Slots {
    driver: Arc<dyn Driver>,
    device: DeviceId,
    memory: PinnedAllocation,
    slots: usize,
    each: usize,
}

impl Slots {
    pub(super) fn new(raw: &Raw, slots: usize, each: usize) -> Result<Slots, Error> {
        let each = each.max(1).next_multiple_of(64);
        let memory = raw.driver.host_malloc(raw.device, slots.max(1) * each)?;
        Ok(Slots { driver: raw.driver.clone(), device: raw.device, memory, slots: slots.max(1), each })
    }

    /// The host address of part `slot`. Numbers beyond the last part begin again with the first.
    #[inline]
    pub(super) fn host(&self, slot: usize) -> *mut u8 {
        self.memory.host.as_ptr().wrapping_add(slot % self.slots * self.each)
    }

    /// The device address of part `slot`.
    #[inline]
    pub(super) fn device(&self, slot: usize) -> DevicePtr {
        self.memory.device.offset((slot % self.slots * self.each) as u64)
    }

    #[inline]
    fn note(&self, note: &Note) {
        if let Some(observer) = self.driver.observer() {
            observer.note(note);
        }
    }

    /// Writes bytes to a part, as many as fit.
    #[inline]
    pub(super) fn write(&self, slot: usize, at: usize, bytes: &[u8]) {
        let len = bytes.len().min(self.each.saturating_sub(at));
        let to = self.host(slot).wrapping_add(at);
        self.note(&Note::HostWrite { ptr: to, bytes: len });
        // SAFETY: inside the part; the work that used it before was waited for when its batch was collected.
        unsafe { copy_nonoverlapping(bytes.as_ptr(), to, len) };
    }

    /// Reads bytes from the start of a part.
    #[inline]
    pub(super) fn read(&self, slot: usize, to: &mut [u8]) {
        let len = to.len().min(self.each);
        let from = self.host(slot);
        self.note(&Note::HostRead { ptr: from, bytes: len });
        // SAFETY: inside the part; the work that wrote it was waited for.
        unsafe { copy_nonoverlapping(from, to.as_mut_ptr(), len) };
    }

    /// Reads `each` bytes from the start of every part, one after the other; none if a launch has no results.
    pub(super) fn read_all(&self, each: usize, to: &mut [u8]) {
        if each > 0 {
            to.chunks_exact_mut(each).enumerate().for_each(|(slot, to)| self.read(slot, to));
        }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: live, and its owner has waited for everything that used it.
        if let Err(e) = unsafe { self.driver.host_free(self.device, self.memory) } {
            log::warn!("the bench's pinned memory: {e}");
        }
    }
}

/// A stream that launches by driver calls alone.
pub(super) struct Calls {
    // Dropped first: its drop waits for the work that uses the other fields.
    raw: Raw,
    method: LaunchMethod,
    work: Work,
    sink: Sink,
    block: Memory,
    result: Memory,
    staged: Slots,
    read: Slots,
    results: usize,
}

impl Calls {
    pub(super) fn prepare(method: LaunchMethod, job: &Job, setup: &Setup<'_>) -> Result<Calls, Error> {
        let raw = Raw::new(method, job, setup)?;
        let sink = Sink::new(job, &raw.stream)?;
        let work = Work::new(job, method != LaunchMethod::RawResident);
        let bytes = WORDS_AT + job.arguments;
        // The other methods need one part, or none.
        let staged = match method {
            LaunchMethod::RawBlock | LaunchMethod::RawMapped => job.in_flight(),
            _ => 1,
        };
        let mut calls = Calls {
            block: Memory::new(&raw, bytes)?,
            result: Memory::new(&raw, job.results)?,
            staged: Slots::new(&raw, staged, bytes)?,
            read: Slots::new(&raw, job.in_flight(), job.results)?,
            results: job.results,
            method,
            work,
            sink,
            raw,
        };
        let result = calls.result.ptr.0.to_le_bytes();
        if method == LaunchMethod::RawValue {
            calls.raw.set(1, &result);
            calls.raw.set_rest(2, job, &calls.sink);
        } else {
            calls.raw.set(0, &calls.block.ptr.0.to_le_bytes());
            calls.raw.set_rest(1, job, &calls.sink);
        }
        if method == LaunchMethod::RawResident {
            calls.upload_once(job)?;
        }
        Ok(calls)
    }

    /// Copies the argument block that does not change to the device.
    fn upload_once(&mut self, job: &Job) -> Result<(), Error> {
        let mut same = Work::new(job, false);
        let (_, block) = same.next();
        block[..WORDS_AT].copy_from_slice(&self.result.ptr.0.to_le_bytes());
        self.staged.write(0, 0, block);
        self.copy_in(0, block.len())?;
        self.raw.wait()
    }

    #[inline]
    fn copy_in(&self, slot: usize, bytes: usize) -> Result<(), Error> {
        let Raw { driver, device, stream, .. } = &self.raw;
        // SAFETY: live memory of at least that size on both sides; the part is not written before the batch is waited
        // for.
        unsafe {
            driver.enqueue(
                *device,
                stream.raw(),
                &DriverWork::CopyToDevice { dst: self.block.ptr, src: self.staged.host(slot), bytes },
            )
        }?;
        Ok(())
    }
}

impl MethodStream for Calls {
    fn launch(&mut self) -> Result<(), Error> {
        let (slot, block) = self.work.next();
        match self.method {
            LaunchMethod::RawBlock => {
                let bytes = block.len();
                self.staged.write(slot, 0, &self.result.ptr.0.to_le_bytes());
                self.staged.write(slot, WORDS_AT, &block[WORDS_AT..]);
                self.copy_in(slot, bytes)?;
            }
            LaunchMethod::RawMapped => {
                self.staged.write(slot, 0, &self.read.device(slot).0.to_le_bytes());
                self.staged.write(slot, WORDS_AT, &block[WORDS_AT..]);
                self.raw.set(0, &self.staged.device(slot).0.to_le_bytes());
            }
            LaunchMethod::RawValue => self.raw.set(0, &block[WORDS_AT..]),
            _ => {}
        }
        self.raw.launch()?;
        if self.results > 0 && self.method != LaunchMethod::RawMapped {
            let Raw { driver, device, stream, .. } = &self.raw;
            let to = self.read.host(slot);
            // SAFETY: live memory of at least that size on both sides; the part is read after the batch is waited for.
            unsafe {
                driver.enqueue(
                    *device,
                    stream.raw(),
                    &DriverWork::CopyToHost { dst: to, src: self.result.ptr, bytes: self.results },
                )
            }?;
        }
        Ok(())
    }

    fn collect(&mut self) -> Result<(), Error> {
        self.raw.wait()?;
        self.read.read_all(self.results, self.work.results());
        self.work.collected();
        Ok(())
    }

    fn check_results(&self) -> Result<(), Stop> {
        self.work.check_results()
    }

    fn check_sum(&self) -> Result<(), Stop> {
        self.work.check_sum(self.sink.read(&self.raw.stream)?)
    }

    fn stream(&self) -> &Stream {
        &self.raw.stream
    }
}
