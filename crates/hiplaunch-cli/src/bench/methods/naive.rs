//! The methods that allocate on every launch: with blocking copies and waits, and in stream order.

use std::sync::Arc;

use hip_driver::{DeviceId, DevicePtr, Driver, Work as DriverWork};
use hiplaunch::{Error, Stream};

use super::raw::{Raw, Slots};
use super::work::{Sink, WORDS_AT, Work};
use super::{Job, LaunchMethod, MethodStream, Setup, Stop};

/// The naive method: allocates, copies and waits, launches and waits, copies and waits, frees.
pub(super) struct Blocking {
    raw: Raw,
    /// The driver of `raw`, for memory that borrows it while `raw` is changed.
    driver: Arc<dyn Driver>,
    work: Work,
    sink: Sink,
    arguments: usize,
    results: usize,
}

impl Blocking {
    pub(super) fn prepare(job: &Job, setup: &Setup<'_>) -> Result<Blocking, Error> {
        let mut raw = Raw::new(LaunchMethod::Naive, job, setup)?;
        let sink = Sink::new(job, &raw.stream)?;
        raw.set_rest(1, job, &sink);
        let work = Work::new(job, true);
        Ok(Blocking {
            driver: raw.driver.clone(),
            raw,
            work,
            sink,
            arguments: job.arguments,
            results: job.results,
        })
    }
}

/// The device memory of one launch.
struct Allocation<'a> {
    driver: &'a dyn Driver,
    device: DeviceId,
    ptr: DevicePtr,
}

impl<'a> Allocation<'a> {
    fn new(driver: &'a dyn Driver, device: DeviceId, bytes: usize) -> Result<Allocation<'a>, Error> {
        Ok(Allocation { driver, device, ptr: driver.malloc(device, bytes)? })
    }
}

impl Drop for Allocation<'_> {
    fn drop(&mut self) {
        // SAFETY: live, and the launch that used it was waited for, or HIP waits for it.
        if let Err(e) = unsafe { self.driver.free(self.device, self.ptr) } {
            log::warn!("the bench's memory: {e}");
        }
    }
}

impl MethodStream for Blocking {
    fn launch(&mut self) -> Result<(), Error> {
        let (slot, block) = self.work.next();
        if self.arguments == 0 {
            self.raw.launch()?;
            return self.raw.wait();
        }
        let (driver, device) = (&*self.driver, self.raw.device);
        let result = match self.results {
            0 => None,
            bytes => Some(Allocation::new(driver, device, bytes)?),
        };
        let address = result.as_ref().map_or(DevicePtr::NULL, |result| result.ptr);
        block[..WORDS_AT].copy_from_slice(&address.0.to_le_bytes());
        let memory = Allocation::new(driver, device, block.len())?;
        // SAFETY: a live allocation of that size, and host memory that the call has read when it returns.
        unsafe {
            driver.copy_blocking(
                device,
                &DriverWork::CopyToDevice { dst: memory.ptr, src: block.as_ptr(), bytes: block.len() },
            )
        }?;
        self.raw.set(0, &memory.ptr.0.to_le_bytes());
        self.raw.launch()?;
        self.raw.wait()?;
        if let Some(result) = &result {
            let to = self.work.result(slot);
            // SAFETY: the allocation is as large as `to`, which is complete when the call returns.
            unsafe {
                driver.copy_blocking(
                    device,
                    &DriverWork::CopyToHost { dst: to.as_mut_ptr(), src: result.ptr, bytes: to.len() },
                )
            }?;
        }
        Ok(())
    }

    fn collect(&mut self) -> Result<(), Error> {
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

/// The method with hipMallocAsync: allocates, copies, launches, copies and frees in stream order, and waits once a
/// batch.
pub(super) struct StreamOrdered {
    // Dropped first: its drop waits for the work that uses the other fields.
    raw: Raw,
    work: Work,
    sink: Sink,
    staged: Slots,
    read: Slots,
    results: usize,
}

impl StreamOrdered {
    pub(super) fn prepare(job: &Job, setup: &Setup<'_>) -> Result<StreamOrdered, Error> {
        let mut raw = Raw::new(LaunchMethod::Async, job, setup)?;
        let sink = Sink::new(job, &raw.stream)?;
        raw.set_rest(1, job, &sink);
        let staged = Slots::new(&raw, job.in_flight(), WORDS_AT + job.arguments)?;
        let read = Slots::new(&raw, job.in_flight(), job.results)?;
        Ok(StreamOrdered { raw, work: Work::new(job, true), sink, staged, read, results: job.results })
    }
}

impl MethodStream for StreamOrdered {
    /// After an error, the memory is freed only when the process exits; the error ends the bench.
    fn launch(&mut self) -> Result<(), Error> {
        let (slot, block) = self.work.next();
        let (device, stream) = (self.raw.device, self.raw.stream.raw());
        let result = match self.results {
            0 => DevicePtr::NULL,
            // SAFETY: a live stream of the device.
            bytes => unsafe { self.raw.driver.malloc_async(device, bytes, stream) }?,
        };
        // SAFETY: as above.
        let memory = unsafe { self.raw.driver.malloc_async(device, block.len(), stream) }?;
        self.staged.write(slot, 0, &result.0.to_le_bytes());
        self.staged.write(slot, WORDS_AT, &block[WORDS_AT..]);
        let from = self.staged.host(slot);
        // SAFETY: live memory of that size; the part is not written before the batch is waited for.
        unsafe {
            self.raw.driver.enqueue(
                device,
                stream,
                &DriverWork::CopyToDevice { dst: memory, src: from, bytes: block.len() },
            )
        }?;
        self.raw.set(0, &memory.0.to_le_bytes());
        self.raw.launch()?;
        let driver = &self.raw.driver;
        if self.results > 0 {
            // SAFETY: live memory of that size, used on this stream alone; the part is read after the batch is waited
            // for.
            unsafe {
                driver.enqueue(
                    device,
                    stream,
                    &DriverWork::CopyToHost { dst: self.read.host(slot), src: result, bytes: self.results },
                )
            }?;
            // SAFETY: allocated by `malloc_async`, and used on this stream alone.
            unsafe { driver.free_async(device, result, stream) }?;
        }
        // SAFETY: as above.
        unsafe { driver.free_async(device, memory, stream) }?;
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
