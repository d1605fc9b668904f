//! A typed device buffer from the pool.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Pod;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::stream::Stream;
use hip_driver::{DevicePtr, Work};

use super::foreign::Foreign;
use super::layout::{Layout, elements};
use super::view::DeviceView;
use crate::pool::{PoolBlock, RequestContext};

/// `len` elements of `T` in device memory, in row-major order of a [shape](DeviceBuffer::shape).
///
/// The memory comes from the device's [pool](crate::Pool), and is freed when the buffer and its views were
/// dropped.
///
/// * A buffer allocated [on a stream](DeviceBuffer::on) is for the work of that stream. Allocating it makes no driver
///   call while the stream's arena has a free block of that size. Another stream must wait for the allocating stream
///   before it uses the buffer. The methods here, and launches that take the buffer as an argument, record their uses
///   with the pool, so the buffer may be dropped at any time.
/// * A buffer allocated [on no stream](DeviceBuffer::new) may be used by any stream at once.
///
/// The pool doesn't see a launch that gets only the buffer's [address](DeviceBuffer::ptr). For such a launch on another
/// stream, keep the buffer until the launch has finished, or [record the use](Stream::record_use). A buffer of no
/// stream whose address was read is held back for every stream when it's dropped.
#[derive(Debug)]
pub struct DeviceBuffer<T: Pod> {
    device: Device,
    memory: Memory,
    /// The number of elements that the memory holds.
    capacity: usize,
    layout: Layout,
    element: PhantomData<T>,
}

/// A pool block or memory that is not the pool's, and whether its address was passed on to the caller.
#[derive(Debug)]
pub(super) struct Memory {
    block: Option<PoolBlock>,
    foreign: Option<Arc<Foreign>>,
    escaped: AtomicBool,
}

impl Memory {
    pub(super) fn new(block: Option<PoolBlock>) -> Memory {
        Memory { block, foreign: None, escaped: AtomicBool::new(false) }
    }

    pub(super) fn of_foreign(foreign: Arc<Foreign>) -> Memory {
        Memory { block: None, foreign: Some(foreign), escaped: AtomicBool::new(false) }
    }

    pub(super) fn foreign(&self) -> Option<&Arc<Foreign>> {
        self.foreign.as_ref()
    }

    pub(super) fn block(&self) -> Option<&PoolBlock> {
        self.block.as_ref()
    }

    /// Returns the address, and records that the caller may use it where the pool can't see that.
    pub(super) fn escape(&self) -> DevicePtr {
        self.escaped.store(true, Ordering::Relaxed);
        self.address()
    }

    pub(super) fn address(&self) -> DevicePtr {
        match (&self.block, &self.foreign) {
            (Some(block), _) => block.ptr(),
            (None, Some(foreign)) => foreign.ptr(),
            (None, None) => DevicePtr::NULL,
        }
    }

    /// Returns another owner of the same memory.
    pub(super) fn share(&self) -> Memory {
        Memory { foreign: self.foreign.clone(), ..Memory::new(self.block.clone()) }
    }

    /// Records with the pool that `stream` uses the block.
    #[inline]
    pub(super) fn used_on(&self, stream: &Stream) {
        if let Some(block) = &self.block {
            stream.record_use(block);
        }
        if stream.state().driver_stream.is_capturing() {
            self.keep_captured(stream);
        }
    }

    /// Keeps the memory for the graph of a stream that is captured.
    #[cold]
    fn keep_captured(&self, stream: &Stream) {
        let mut kept = stream.0.captured();
        if let Some(block) = &self.block {
            kept.block(block);
        }
        if let Some(foreign) = &self.foreign {
            kept.other(Box::new(foreign.clone()));
        }
    }

    /// To be called before an owner is dropped. If the address of a block of no stream was read, any stream may have
    /// used the block: records a use by every live stream.
    pub(super) fn leave(&self, device: &Device) {
        if let Some(block) = &self.block
            && self.escaped.load(Ordering::Relaxed)
            && block.stream_number() == 0
        {
            device.pool_core().streams().into_iter().for_each(|stream| block.record_use(stream));
        }
    }
}

/// The number of bytes of `len` elements.
pub(super) fn bytes_of<T>(len: usize, what: &'static str) -> Result<usize> {
    len.checked_mul(size_of::<T>())
        .ok_or_else(|| Error::invalid(what, format!("{len} elements overflow the address space")))
}

impl<T: Pod> DeviceBuffer<T> {
    /// Allocates `len` elements that any stream may use. Their contents are undefined. 0 elements allocate nothing.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if the elements overflow the address space, [`Error::OutOfMemory`], or the driver's
    /// error.
    pub fn new(device: &Device, len: usize) -> Result<DeviceBuffer<T>> {
        DeviceBuffer::allocate(device, None, len)
    }

    /// Allocates `len` elements in the order of `stream`. Their contents are undefined. 0 elements allocate nothing.
    ///
    /// # Errors
    /// Returns the errors of [`new`](DeviceBuffer::new).
    pub fn on(stream: &Stream, len: usize) -> Result<DeviceBuffer<T>> {
        DeviceBuffer::allocate(stream.device(), Some(stream), len)
    }

    fn allocate(device: &Device, stream: Option<&Stream>, len: usize) -> Result<DeviceBuffer<T>> {
        stream.map_or_else(|| device.check(), |stream| stream.state().check())?;
        let bytes = bytes_of::<T>(len, "DeviceBuffer::new")?;
        let layout = Layout::contiguous(0, &[len])?;
        if bytes == 0 {
            return Ok(DeviceBuffer {
                device: device.clone(),
                memory: Memory::new(None),
                capacity: 0,
                layout,
                element: PhantomData,
            });
        }
        let pool = device.pool_core();
        let arena = stream.map_or_else(|| pool.common(), |s| s.state().arena());
        let block = pool
            .allocate(arena, bytes as u64, RequestContext::Free)
            .map_err(|e| device.allocation_error("device", bytes, e))?;
        let capacity = block.capacity() as usize / size_of::<T>();
        let memory = Memory::new(Some(block));
        Ok(DeviceBuffer { device: device.clone(), memory, capacity, layout, element: PhantomData })
    }

    /// A buffer of memory that is not the pool's and has room for `len` elements.
    pub(super) fn of_foreign(device: &Device, foreign: Arc<Foreign>, len: usize) -> Result<DeviceBuffer<T>> {
        Ok(DeviceBuffer {
            device: device.clone(),
            memory: Memory::of_foreign(foreign),
            capacity: len,
            layout: Layout::contiguous(0, &[len])?,
            element: PhantomData,
        })
    }

    pub(crate) fn foreign(&self) -> Option<&Arc<Foreign>> {
        self.memory.foreign()
    }

    /// As [`ptr`](DeviceBuffer::ptr), for those who record the use.
    #[inline]
    pub(crate) fn address(&self) -> DevicePtr {
        self.memory.address()
    }

    /// Allocates a buffer and uploads `data` to it, in the order of `stream`. `data` may be reused when this returns.
    ///
    /// # Errors
    /// Returns the errors of [`new`](DeviceBuffer::new) and [`upload`](DeviceBuffer::upload).
    pub fn from_slice(stream: &Stream, data: &[T]) -> Result<DeviceBuffer<T>> {
        let mut buffer = DeviceBuffer::on(stream, data.len())?;
        buffer.upload(stream, data)?;
        Ok(buffer)
    }

    /// Returns its address, or null if it has no memory.
    #[inline]
    pub fn ptr(&self) -> DevicePtr {
        self.memory.escape()
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether it has no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements that fit without another allocation.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The extents of its axes, outermost first. A new buffer has one axis of [`len`](DeviceBuffer::len) elements.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The distance in elements from one index of each axis to the next: always row-major order without gaps.
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// Its size in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The number of the stream in whose order it was allocated, or 0 for none.
    pub fn stream_number(&self) -> u64 {
        self.memory.block().map_or(0, PoolBlock::stream_number)
    }

    /// Its pool block, or `None` if it has no memory or memory that is not the pool's.
    #[inline]
    pub fn block(&self) -> Option<&PoolBlock> {
        self.memory.block()
    }

    /// Changes the shape to one with the same number of elements.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if the number of elements differs.
    pub fn reshape(&mut self, shape: &[usize]) -> Result<()> {
        let len = elements(shape)?;
        if len != self.len() {
            let problem = format!("shape {shape:?} has {len} elements, the buffer {}", self.len());
            return Err(Error::invalid("DeviceBuffer::reshape", problem));
        }
        self.layout = Layout::contiguous(0, shape)?;
        Ok(())
    }

    /// Changes the length to `len` elements, for work enqueued on `stream` from now on. Returns `true` if that
    /// allocated new memory, whose contents are undefined. Otherwise the contents don't change.
    ///
    /// If the memory is large enough and on the stream's device, only length and shape change. Otherwise new memory is
    /// allocated, and then the old memory is freed in stream order. Views keep the old memory.
    ///
    /// # Errors
    /// Returns [`Error::OutOfMemory`], or the driver's error. The buffer is then unchanged.
    pub fn ensure_len(&mut self, stream: &Stream, len: usize) -> Result<bool> {
        self.ensure_shape(stream, &[len])
    }

    /// Changes the shape as [`ensure_len`](DeviceBuffer::ensure_len) changes the length.
    ///
    /// # Errors
    /// Returns the errors of [`ensure_len`](DeviceBuffer::ensure_len).
    pub fn ensure_shape(&mut self, stream: &Stream, shape: &[usize]) -> Result<bool> {
        stream.state().check()?;
        let (len, layout) = (elements(shape)?, Layout::contiguous(0, shape)?);
        if self.fits(stream, len) {
            self.layout = layout;
            return Ok(false);
        }
        let mut new = DeviceBuffer::on(stream, len)?;
        new.layout = layout;
        *self = new;
        Ok(true)
    }

    /// Returns whether `len` elements for `stream` fit without new memory.
    pub fn fits(&self, stream: &Stream, len: usize) -> bool {
        len <= self.capacity && (self.device == *stream.device() || len == 0)
    }

    /// Replaces the layout with one that fits in the memory.
    pub(crate) fn set_layout(&mut self, layout: Layout) {
        self.layout = layout;
    }

    /// Changes the shape to one that fits in the memory. Makes no driver call, and the contents don't change.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if the shape has more elements than the memory holds. The buffer is then unchanged.
    pub fn set_shape(&mut self, shape: &[usize]) -> Result<()> {
        let len = elements(shape)?;
        if len > self.capacity {
            let problem =
                format!("shape {shape:?} has {len} elements, the memory has room for {}", self.capacity);
            return Err(Error::invalid("DeviceBuffer::set_shape", problem));
        }
        self.layout = Layout::contiguous(0, shape)?;
        Ok(())
    }

    /// Returns a view of all elements, which keeps the memory alive.
    pub fn view(&self) -> DeviceView<T> {
        DeviceView::new(self.device.clone(), self.memory.share(), self.capacity, self.layout.clone())
    }

    /// Returns a view of elements in any order, which keeps the memory alive.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if an element is outside the buffer.
    pub fn view_strided(&self, offset: usize, shape: &[usize], strides: &[isize]) -> Result<DeviceView<T>> {
        let layout = Layout::strided(offset, shape, strides, self.len())?;
        Ok(DeviceView::new(self.device.clone(), self.memory.share(), self.capacity, layout))
    }

    /// Copies `data` into the first elements, in stream order. `data` may be reused when this returns.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if `data` is longer than the buffer or the stream is on another device. Otherwise
    /// returns the driver's error.
    pub fn upload(&mut self, stream: &Stream, data: &[T]) -> Result<()> {
        self.check(stream, data.len(), "DeviceBuffer::upload")?;
        // SAFETY: the first elements lie in the memory.
        unsafe { self.memory.upload(stream, self.address(), data) }
    }

    /// Copies the first elements into `data`, in stream order, and waits for the copy.
    ///
    /// # Errors
    /// Returns the errors of [`upload`](DeviceBuffer::upload).
    pub fn download(&self, stream: &Stream, data: &mut [T]) -> Result<()> {
        self.check(stream, data.len(), "DeviceBuffer::download")?;
        // SAFETY: the first elements lie in the memory.
        unsafe { self.memory.download(stream, self.address(), data) }
    }

    /// Copies all elements to the host, in stream order, and waits for the copy.
    ///
    /// # Errors
    /// Returns the errors of [`download`](DeviceBuffer::download).
    pub fn to_vec(&self, stream: &Stream) -> Result<Vec<T>> {
        let mut data = vec![T::zeroed(); self.len()];
        self.download(stream, &mut data)?;
        Ok(data)
    }

    /// Copies all elements of `source` to the first elements of this buffer, in stream order.
    ///
    /// `source` may be on another device of the driver; the stream is on the device of this buffer (`hipMemcpyPeerAsync`).
    /// The copy is ordered on the stream alone: if a stream of the other device writes the source, let this stream
    /// [wait](crate::Event::wait_on) for it.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if `source` has more elements than this buffer, is not contiguous, of another driver, or
    /// overlaps the elements that are written, or if the stream is not on this buffer's device. Otherwise returns the
    /// driver's error, which is `NOT_SUPPORTED` between devices if the driver lacks
    /// [`Capability::CopyPeer`](crate::driver::Capability::CopyPeer).
    pub fn copy_from(&mut self, stream: &Stream, source: &DeviceView<T>) -> Result<()> {
        let what = "DeviceBuffer::copy_from";
        self.check(stream, source.len(), what)?;
        // SAFETY: the first elements, as many as the source has, lie in the memory.
        unsafe { self.memory.copy_from(what, stream, self.address(), source) }
    }

    /// Sets every byte to `value`, in stream order.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] for a stream of another device. Otherwise returns the driver's error.
    pub fn fill_bytes(&mut self, stream: &Stream, value: u8) -> Result<()> {
        self.check(stream, 0, "DeviceBuffer::fill_bytes")?;
        // SAFETY: all elements lie in the memory.
        unsafe { self.memory.fill_bytes(stream, self.address(), value, self.bytes()) }
    }

    /// Sets every element to `value`, in stream order. That takes one fill if all bytes of the element, or all its
    /// 32-bit words, are equal. Otherwise it takes an upload of one element, and copies that each double the part that
    /// is set.
    ///
    /// # Errors
    /// Returns the errors of [`fill_bytes`](DeviceBuffer::fill_bytes).
    pub fn fill(&mut self, stream: &Stream, value: T) -> Result<()> {
        let pattern = bytemuck::bytes_of(&value);
        let Some(&first) = pattern.first() else { return Ok(()) };
        if pattern.iter().all(|b| *b == first) {
            return self.fill_bytes(stream, first);
        }
        self.check(stream, 0, "DeviceBuffer::fill")?;
        let (to, bytes) = (self.address(), self.bytes());
        let word =
            [pattern, pattern].concat().first_chunk::<4>().map(|w| u32::from_le_bytes(*w)).unwrap_or(0);
        let words = pattern.len() == 2 || pattern.chunks(4).all(|c| c == word.to_le_bytes());
        if words && bytes.is_multiple_of(4) {
            // SAFETY: all elements lie in the memory, which begins at a multiple of 256.
            return unsafe { self.memory.fill_words(stream, to, word, bytes) };
        }
        let mut done = pattern.len();
        if bytes > 0 {
            // SAFETY: the first element lies in the memory.
            unsafe { self.memory.upload(stream, to, pattern) }?;
        }
        while done < bytes {
            let n = done.min(bytes - done);
            // SAFETY: both ranges lie in this live block; the destination begins at or after the end of the source.
            unsafe {
                stream.enqueue_work(&Work::CopyWithin { dst: to.offset(done as u64), src: to, bytes: n })
            }?;
            done += n;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn used_on(&self, stream: &Stream) {
        self.memory.used_on(stream);
    }

    pub(super) fn check(&self, stream: &Stream, len: usize, what: &'static str) -> Result<()> {
        stream.state().check_capturable()?;
        stream.state().check_device(&self.device, what, "buffer")?;
        if len > self.len() {
            return Err(Error::invalid(what, format!("{len} elements for a buffer of {}", self.len())));
        }
        Ok(())
    }
}

impl<T: Pod> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        self.memory.leave(&self.device);
    }
}
