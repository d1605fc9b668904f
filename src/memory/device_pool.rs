//! The memory pool of a device, as its users see it.

use std::sync::Arc;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::launcher::Stream;
use hip_driver::DevicePtr;

use super::pool::{
    PoolBlock, PoolBlockInfo, PoolCounters, PoolSnapshot, PoolTraceEntry, RequestContext, StreamArena,
};

/// The memory pool of a [`Device`]; [`Device::pool`] gives it. Every method may be called from any thread.
#[derive(Clone, Debug)]
pub struct Pool(Device);

impl Device {
    /// Its memory pool.
    pub fn pool(&self) -> Pool {
        Pool(self.clone())
    }
}

impl Pool {
    /// A block of at least `bytes` (0 counts as 1) in the order of `stream`. Makes no device call where the stream has
    /// memory of that size.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] once every step of the [ladder](super::ReclaimStep) failed; [`Error::Invalid`] for a stream of
    /// another device; the driver's.
    #[inline]
    pub fn allocate(&self, stream: &Stream, bytes: u64) -> Result<PoolBlock> {
        if *stream.device() != self.0 {
            return Err(other_device("Pool::allocate", stream, &self.0));
        }
        self.allocate_in(stream.core().arena(), bytes)
    }

    /// A block of at least `bytes` that any stream may use at once. It is nobody's: say which streams use it
    /// ([`record_use`](Stream::record_use)), or keep it until they have done with it.
    ///
    /// # Errors
    /// As [`allocate`](Pool::allocate).
    pub fn allocate_for_any(&self, bytes: u64) -> Result<PoolBlock> {
        self.allocate_in(self.0.pool_core().common(), bytes)
    }

    fn allocate_in(&self, arena: &Arc<StreamArena>, bytes: u64) -> Result<PoolBlock> {
        self.0.check()?;
        self.0
            .pool_core()
            .allocate(arena, bytes.max(1), RequestContext::Free)
            .map_err(|e| self.0.allocation_error("device", usize::try_from(bytes).unwrap_or(usize::MAX), e))
    }

    /// As [`allocate`](Pool::allocate), with nobody to give the block back but [`free_raw`](Pool::free_raw).
    ///
    /// # Errors
    /// As [`allocate`](Pool::allocate).
    pub fn allocate_raw(&self, stream: &Stream, bytes: u64) -> Result<DevicePtr> {
        Ok(self.0.pool_core().keep_raw(self.allocate(stream, bytes)?))
    }

    /// Gives back a block of [`allocate_raw`](Pool::allocate_raw), in the order of its stream.
    ///
    /// # Errors
    /// [`Error::Pool`]: freed already, of no memory here, or not an address that this gives back. Nothing is changed then.
    pub fn free_raw(&self, ptr: DevicePtr) -> Result<()> {
        Ok(self.0.pool_core().raw_free("Pool::free_raw", ptr)?)
    }

    /// Says that work on `stream` uses a block of [`allocate_raw`](Pool::allocate_raw) that is another stream's; as
    /// [`record_use`](Stream::record_use).
    ///
    /// # Errors
    /// [`Error::Pool`] when it was freed or is not from here.
    pub fn record_raw(&self, ptr: DevicePtr, stream: &Stream) -> Result<()> {
        stream.record_use(&self.0.pool_core().raw_block("Pool::record_raw", ptr)?);
        Ok(())
    }

    /// The live block that an address is in.
    ///
    /// # Errors
    /// [`Error::Pool`] when there is none.
    pub fn locate(&self, ptr: DevicePtr) -> Result<PoolBlockInfo> {
        Ok(self.0.pool_core().locate("Pool::locate", ptr)?)
    }

    /// What it holds and what it did.
    pub fn counters(&self) -> PoolCounters {
        self.0.pool_core().counters()
    }

    /// Begins the peaks anew, at what there is now.
    pub fn reset_peaks(&self) {
        self.0.pool_core().reset_peaks();
    }

    /// Its segments and blocks.
    pub fn snapshot(&self) -> PoolSnapshot {
        self.0.pool_core().snapshot()
    }

    /// Most bytes to hold from the driver, from now on; `None` for as many as the device has. What is held beyond that is
    /// kept until it is [trimmed](Pool::trim).
    pub fn set_cap(&self, bytes: Option<u64>) {
        self.0.pool_core().shared.set_cap(bytes);
    }

    /// Bytes held above which cached segments go back to the driver when a stream was waited for, and before more is
    /// taken; `None` keeps them.
    pub fn set_soft_target(&self, bytes: Option<u64>) {
        self.0.pool_core().shared.set_soft_target(bytes);
    }

    /// Gives cached segments to the driver until at most `keep` bytes are held, or nothing is cached in whole segments;
    /// how many bytes went. Waits for the streams whose segments go.
    ///
    /// # Errors
    /// The driver's; what it did not take stays.
    pub fn trim(&self, keep: u64) -> Result<u64> {
        self.0.pool_core().trim(keep).map_err(|e| self.0.error(e))
    }

    /// Gives every cached segment of this device to the driver, and of no other; how many bytes went.
    ///
    /// # Errors
    /// As [`trim`](Pool::trim).
    pub fn empty_cache(&self) -> Result<u64> {
        self.trim(0)
    }

    /// Calls `reclaim` when memory runs out, before anything else is tried, with the bytes that are missing; it says how
    /// many it freed. It is called with no lock held, and may drop buffers and trim streams; not allocate.
    #[must_use = "dropping it takes the callback back"]
    pub fn on_low_memory(&self, reclaim: impl Fn(u64) -> u64 + Send + Sync + 'static) -> ReclaimCallback {
        ReclaimCallback { device: self.0.clone(), id: self.0.pool_core().add_callback(Arc::new(reclaim)) }
    }

    /// Begins to collect every operation, or ends that.
    pub fn set_tracing(&self, on: bool) {
        self.0.pool_core().shared.set_tracing(on);
    }

    /// The operations collected since the last call, and how many were too many to be kept.
    pub fn take_trace(&self) -> (Vec<PoolTraceEntry>, u64) {
        self.0.pool_core().shared.tracer.take()
    }
}

fn other_device(what: &'static str, stream: &Stream, device: &Device) -> Error {
    Error::invalid(what, format!("the stream is on {}, the pool on {}", stream.device().id(), device.id()))
}

/// A callback of [`Pool::on_low_memory`]; dropping it takes it back.
#[derive(Debug)]
pub struct ReclaimCallback {
    device: Device,
    id: u64,
}

impl Drop for ReclaimCallback {
    fn drop(&mut self) {
        self.device.pool_core().ladder.remove(self.id);
    }
}
