//! The public interface of a device's memory pool.

use std::sync::Arc;

use crate::device::Device;
use crate::error::Result;
use crate::stream::Stream;
use hip_driver::DevicePtr;

use crate::pool::{
    PoolBlock, PoolBlockInfo, PoolCounters, PoolSnapshot, PoolTraceEntry, RequestContext, StreamArena,
};

/// The memory pool of a [`Device`], as [`Device::pool`] returns it. Its methods may be called from any thread.
#[derive(Clone, Debug)]
pub struct Pool(Device);

impl Device {
    /// Returns the device's memory pool.
    pub fn pool(&self) -> Pool {
        Pool(self.clone())
    }
}

impl Pool {
    /// Allocates a block of at least `bytes` bytes (0 counts as 1) in the order of `stream`. Makes no driver call while
    /// the stream's arena has a free block of that size.
    ///
    /// # Errors
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory) if every [reclaim step](crate::memory::ReclaimStep) failed, and [`Error::Invalid`](crate::Error::Invalid) for a
    /// stream of another device. Otherwise returns the driver's error.
    #[inline]
    pub fn allocate(&self, stream: &Stream, bytes: u64) -> Result<PoolBlock> {
        stream.state().check_device(&self.0, "Pool::allocate", "pool")?;
        self.allocate_in(stream.state().arena(), bytes)
    }

    /// Allocates a block of at least `bytes` bytes that any stream may use at once. The block belongs to no stream:
    /// [record the uses](Stream::record_use) of streams, or keep it until their work has finished.
    ///
    /// # Errors
    /// Returns the errors of [`allocate`](Pool::allocate).
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

    /// Allocates as [`allocate`](Pool::allocate), but returns only the address. [`free_raw`](Pool::free_raw) frees the
    /// block.
    ///
    /// # Errors
    /// Returns the errors of [`allocate`](Pool::allocate).
    pub fn allocate_raw(&self, stream: &Stream, bytes: u64) -> Result<DevicePtr> {
        Ok(self.0.pool_core().keep_raw(self.allocate(stream, bytes)?))
    }

    /// Frees a block of [`allocate_raw`](Pool::allocate_raw), in the order of its stream.
    ///
    /// # Errors
    /// Returns [`Error::Pool`](crate::Error::Pool) if the block was already freed, or the address is not the start of a block of
    /// `allocate_raw`. Nothing changes then.
    pub fn free_raw(&self, ptr: DevicePtr) -> Result<()> {
        Ok(self.0.pool_core().raw_free("Pool::free_raw", ptr)?)
    }

    /// Records that work on `stream` uses a block of [`allocate_raw`](Pool::allocate_raw) that belongs to another
    /// stream, as [`record_use`](Stream::record_use) does for a [`PoolBlock`].
    ///
    /// # Errors
    /// Returns [`Error::Pool`](crate::Error::Pool) if the address is not the start of a live block of `allocate_raw`.
    pub fn record_raw(&self, ptr: DevicePtr, stream: &Stream) -> Result<()> {
        stream.record_use(&self.0.pool_core().raw_block("Pool::record_raw", ptr)?);
        Ok(())
    }

    /// Returns the live block that contains an address.
    ///
    /// # Errors
    /// Returns [`Error::Pool`](crate::Error::Pool) if no live block contains it.
    pub fn locate(&self, ptr: DevicePtr) -> Result<PoolBlockInfo> {
        Ok(self.0.pool_core().locate("Pool::locate", ptr)?)
    }

    /// Returns what the pool holds and counts of what it did.
    pub fn counters(&self) -> PoolCounters {
        self.0.pool_core().counters()
    }

    /// Resets the peaks to the present values.
    pub fn reset_peaks(&self) {
        self.0.pool_core().reset_peaks();
    }

    /// Returns the pool segments and pool blocks of this moment.
    pub fn snapshot(&self) -> PoolSnapshot {
        self.0.pool_core().snapshot()
    }

    /// Sets the cap: the number of bytes beyond which the pool takes nothing from the driver. `None` removes it. If the
    /// pool already holds more, it keeps that until it is [trimmed](Pool::trim).
    pub fn set_cap(&self, bytes: Option<u64>) {
        self.0.pool_core().shared.set_cap(bytes);
    }

    /// Sets the soft target. While the pool holds more bytes than that, it returns cached segments to the driver before
    /// it takes new ones, and after a stream was synchronized. `None` keeps all cached segments.
    pub fn set_soft_target(&self, bytes: Option<u64>) {
        self.0.pool_core().shared.set_soft_target(bytes);
    }

    /// Returns cached segments to the driver until the pool holds at most `keep` bytes or no whole segment is free.
    /// Returns the number of bytes released. Waits for the streams whose segments are released.
    ///
    /// # Errors
    /// Returns the driver's error. A segment that the driver failed to free stays in the pool.
    pub fn trim(&self, keep: u64) -> Result<u64> {
        self.0.pool_core().trim(keep).map_err(|e| self.0.error(e))
    }

    /// Returns every cached segment of this device to the driver, and those of no other device. Returns the number of
    /// bytes released.
    ///
    /// # Errors
    /// Returns the errors of [`trim`](Pool::trim).
    pub fn empty_cache(&self) -> Result<u64> {
        self.trim(0)
    }

    /// Registers a callback that is called when memory runs out, before the other reclaim steps. `reclaim` gets the
    /// number of missing bytes and returns the number of bytes that it freed. It is called with no lock held. It may
    /// drop buffers and trim streams, but must not allocate. Launches whose device scratch grows don't call it.
    #[must_use = "dropping it unregisters the callback"]
    pub fn on_low_memory(&self, reclaim: impl Fn(u64) -> u64 + Send + Sync + 'static) -> ReclaimCallback {
        ReclaimCallback { device: self.0.clone(), id: self.0.pool_core().add_callback(Arc::new(reclaim)) }
    }

    /// Starts or stops collecting the pool trace.
    pub fn set_tracing(&self, on: bool) {
        self.0.pool_core().shared.set_tracing(on);
    }

    /// Takes the operations collected since the last call, and the number of operations that were dropped because the
    /// pool trace was full.
    pub fn take_trace(&self) -> (Vec<PoolTraceEntry>, u64) {
        self.0.pool_core().shared.tracer.take()
    }
}

/// A callback that [`Pool::on_low_memory`] registered. Dropping it unregisters the callback.
#[derive(Debug)]
pub struct ReclaimCallback {
    device: Device,
    id: u64,
}

impl Drop for ReclaimCallback {
    fn drop(&mut self) {
        self.device.pool_core().reclaim_steps.remove(self.id);
    }
}
