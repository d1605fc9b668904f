//! A typed device buffer from the pool.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Pod;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::launcher::Stream;
use hip_driver::{DevicePtr, Work};

use super::foreign::Foreign;
use super::layout::{Layout, elements};
use super::pinned_buffer::is_pinned;
use super::pool::{PoolBlock, RequestContext};
use super::view::DeviceView;

/// `len` elements of `T` in device memory, in row-major order of a [shape](DeviceBuffer::shape).
///
/// The memory comes from the device's [pool](crate::memory::Pool) and goes back on drop, in stream order:
///
/// * made [on a stream](DeviceBuffer::on), it is for that stream's work; allocating and dropping it make no device call
///   where the pool has memory. Before another stream uses it, that one has to wait for this one; that it does is noticed
///   here and by launches that take the buffer as an argument, so that dropping it is safe at any time.
/// * made [on no stream](DeviceBuffer::new), any stream may use it at once.
///
/// A launch through its bare [address](DeviceBuffer::ptr) is not noticed: keep a buffer of a stream until such a launch on
/// another stream has finished, or say so ([`record_use`](Stream::record_use)). One of no stream whose address was
/// asked for is held back for every stream.
#[derive(Debug)]
pub struct DeviceBuffer<T: Pod> {
    device: Device,
    memory: Memory,
    /// Elements that there is room for.
    capacity: usize,
    layout: Layout,
    element: PhantomData<T>,
}

/// A block whose address may have been asked for, or memory that is not the pool's.
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

    /// The address, for whoever may do with it what is not seen here.
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

    /// Another owner of the same memory.
    pub(super) fn share(&self) -> Memory {
        Memory { foreign: self.foreign.clone(), ..Memory::new(self.block.clone()) }
    }

    /// Notes that `stream` uses it.
    #[inline]
    pub(super) fn used_on(&self, stream: &Stream) {
        if let Some(block) = &self.block {
            stream.record_use(block);
        }
    }

    /// Before it goes: whoever had the address may have used it on any stream, where it has none of its own.
    pub(super) fn leave(&self, device: &Device) {
        if let Some(block) = &self.block
            && self.escaped.load(Ordering::Relaxed)
            && block.stream_number() == 0
        {
            device.pool_core().streams().into_iter().for_each(|stream| block.record(stream));
        }
    }
}

/// Bytes of `len` elements.
pub(super) fn bytes_of<T>(len: usize, what: &'static str) -> Result<usize> {
    len.checked_mul(size_of::<T>())
        .ok_or_else(|| Error::invalid(what, format!("{len} elements overflow the address space")))
}

impl<T: Pod> DeviceBuffer<T> {
    /// Allocates `len` elements that any stream may use; what they hold is undefined. 0 elements allocate nothing.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's.
    pub fn new(device: &Device, len: usize) -> Result<DeviceBuffer<T>> {
        DeviceBuffer::allocate(device, None, len)
    }

    /// Allocates `len` elements in the order of `stream`; what they hold is undefined. 0 elements allocate nothing.
    ///
    /// # Errors
    /// As [`new`](DeviceBuffer::new).
    pub fn on(stream: &Stream, len: usize) -> Result<DeviceBuffer<T>> {
        DeviceBuffer::allocate(stream.device(), Some(stream), len)
    }

    fn allocate(device: &Device, stream: Option<&Stream>, len: usize) -> Result<DeviceBuffer<T>> {
        device.check()?;
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
        let arena = stream.map_or_else(|| pool.common(), |s| s.core().arena());
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

    /// Allocates and uploads in the order of `stream`; `data` may be reused at once.
    ///
    /// # Errors
    /// As [`new`](DeviceBuffer::new) and [`upload`](DeviceBuffer::upload).
    pub fn from_slice(stream: &Stream, data: &[T]) -> Result<DeviceBuffer<T>> {
        let mut buffer = DeviceBuffer::on(stream, data.len())?;
        buffer.upload(stream, data)?;
        Ok(buffer)
    }

    /// Its address; null when it has no memory.
    #[inline]
    pub fn ptr(&self) -> DevicePtr {
        self.memory.escape()
    }

    /// Elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether it has no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements that there is room for without another allocation.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Extents of its axes, outermost first; one axis of [`len`](DeviceBuffer::len) unless told otherwise.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Elements from one index of each axis to the next: row-major without gaps, always.
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

    /// The number of the stream in whose order it was allocated; 0 for none.
    pub fn stream_number(&self) -> u64 {
        self.memory.block().map_or(0, PoolBlock::stream_number)
    }

    /// Its memory; `None` while it has none, or if it is not the pool's.
    #[inline]
    pub fn block(&self) -> Option<&PoolBlock> {
        self.memory.block()
    }

    /// Gives it another shape of as many elements.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the number of elements differs.
    pub fn reshape(&mut self, shape: &[usize]) -> Result<()> {
        let len = elements(shape)?;
        if len != self.len() {
            let problem = format!("shape {shape:?} has {len} elements, the buffer {}", self.len());
            return Err(Error::invalid("DeviceBuffer::reshape", problem));
        }
        self.layout = Layout::contiguous(0, shape)?;
        Ok(())
    }

    /// Makes it `len` elements long, for work enqueued on `stream` from now on; `true` when that took new memory. What the
    /// elements hold is then undefined; else they are as they were.
    ///
    /// Where there is room, only length and shape change. Where there is not, or on another device than the stream's, the
    /// new memory is allocated first, and only when that succeeded does the old go back, in stream order and at once.
    /// Views keep the old memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's; the buffer is then as it was.
    pub fn ensure_len(&mut self, stream: &Stream, len: usize) -> Result<bool> {
        self.ensure_shape(stream, &[len])
    }

    /// As [`ensure_len`](DeviceBuffer::ensure_len), for a shape.
    ///
    /// # Errors
    /// As [`ensure_len`](DeviceBuffer::ensure_len).
    pub fn ensure_shape(&mut self, stream: &Stream, shape: &[usize]) -> Result<bool> {
        stream.device().check()?;
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

    /// Whether `len` elements for `stream` need no new memory.
    pub fn fits(&self, stream: &Stream, len: usize) -> bool {
        len <= self.capacity && (self.device == *stream.device() || len == 0)
    }

    /// Takes a layout that there is room for; nothing else changes.
    pub(crate) fn set_layout(&mut self, layout: Layout) {
        self.layout = layout;
    }

    /// Takes a shape that the buffer's memory has room for. Makes no device call; the memory stays as it is.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the shape has more elements than the memory has room for; the buffer is then as it was.
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

    /// All of it, as a view that keeps the memory alive.
    pub fn view(&self) -> DeviceView<T> {
        DeviceView::new(self.device.clone(), self.memory.share(), self.capacity, self.layout.clone())
    }

    /// Elements of it in any order, as a view that keeps the memory alive.
    ///
    /// # Errors
    /// [`Error::Invalid`] when an element is outside.
    pub fn view_strided(&self, offset: usize, shape: &[usize], strides: &[isize]) -> Result<DeviceView<T>> {
        let layout = Layout::strided(offset, shape, strides, self.len())?;
        Ok(DeviceView::new(self.device.clone(), self.memory.share(), self.capacity, layout))
    }

    /// Copies `data` into the first elements, in stream order. `data` may be reused when this returns.
    ///
    /// # Errors
    /// [`Error::Invalid`] when `data` is longer than the buffer or the stream is another device's; the driver's.
    pub fn upload(&mut self, stream: &Stream, data: &[T]) -> Result<()> {
        self.check(stream, data.len(), "DeviceBuffer::upload")?;
        if size_of_val(data) == 0 {
            return Ok(());
        }
        let device = &self.device;
        self.memory.used_on(stream);
        let (to, from) = (self.memory.address(), data.as_ptr().cast());
        // SAFETY: `data` is live host memory of that many bytes. If it is not pinned, the driver has read it when the call
        // returns; else it is waited for below. The range lies in this buffer's memory.
        unsafe {
            device.raw().enqueue(
                device.id(),
                stream.raw(),
                &Work::CopyToDevice { dst: to, src: from, bytes: size_of_val(data) },
            )
        }
        .map_err(|e| device.error(e))?;
        if is_pinned(data) { stream.synchronize() } else { Ok(()) }
    }

    /// Copies the first elements into `data`, in stream order, and waits for that.
    ///
    /// # Errors
    /// As [`upload`](DeviceBuffer::upload).
    pub fn download(&self, stream: &Stream, data: &mut [T]) -> Result<()> {
        self.check(stream, data.len(), "DeviceBuffer::download")?;
        self.memory.used_on(stream);
        download(&self.device, self.memory.address(), stream, data)
    }

    /// All elements, in stream order; waits.
    ///
    /// # Errors
    /// As [`download`](DeviceBuffer::download).
    pub fn to_vec(&self, stream: &Stream) -> Result<Vec<T>> {
        let mut data = vec![T::zeroed(); self.len()];
        self.download(stream, &mut data)?;
        Ok(data)
    }

    /// Copies all elements of `source` into the first elements here, in stream order.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there are too many, a view is not contiguous, its elements overlap those here, or the
    /// stream is on another device than this buffer or than `source`; the driver's.
    pub fn copy_from(&mut self, stream: &Stream, source: &DeviceView<T>) -> Result<()> {
        let what = "DeviceBuffer::copy_from";
        self.check(stream, source.len(), what)?;
        if source.device() != &self.device {
            let problem = format!("the source is on {}, this on {}", source.device().id(), self.device.id());
            return Err(Error::invalid(what, problem));
        }
        if !source.layout().is_contiguous() {
            return Err(Error::invalid(what, "the source has gaps; copy it with a kernel"));
        }
        let bytes = source.len() * size_of::<T>();
        if bytes == 0 {
            return Ok(());
        }
        let (from, to) = (source.address(), self.memory.address());
        if from.0 < to.0 + bytes as u64 && to.0 < from.0 + bytes as u64 {
            return Err(Error::invalid(what, "the source's elements overlap those that are written"));
        }
        self.memory.used_on(stream);
        source.memory().used_on(stream);
        let device = &self.device;
        // SAFETY: both ranges lie in live blocks of this device and do not overlap.
        unsafe {
            device.raw().enqueue(device.id(), stream.raw(), &Work::CopyWithin { dst: to, src: from, bytes })
        }
        .map_err(|e| device.error(e))
    }

    /// Fills every byte, in stream order.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a stream of another device; the driver's.
    pub fn fill_bytes(&mut self, stream: &Stream, value: u8) -> Result<()> {
        self.check(stream, 0, "DeviceBuffer::fill_bytes")?;
        if self.bytes() == 0 {
            return Ok(());
        }
        self.memory.used_on(stream);
        let (device, to) = (&self.device, self.memory.address());
        // SAFETY: the range lies in this live block.
        unsafe {
            device.raw().enqueue(
                device.id(),
                stream.raw(),
                &Work::FillBytes { dst: to, value, bytes: self.bytes() },
            )
        }
        .map_err(|e| device.error(e))
    }

    /// Sets every element, in stream order: by one fill where the element's bytes, or its 32-bit words, are all the same,
    /// else by an upload of one element and copies that double it.
    ///
    /// # Errors
    /// As [`fill_bytes`](DeviceBuffer::fill_bytes).
    pub fn fill(&mut self, stream: &Stream, value: T) -> Result<()> {
        let pattern = bytemuck::bytes_of(&value);
        let Some(&first) = pattern.first() else { return Ok(()) };
        if pattern.iter().all(|b| *b == first) {
            return self.fill_bytes(stream, first);
        }
        self.check(stream, 0, "DeviceBuffer::fill")?;
        if self.bytes() == 0 {
            return Ok(());
        }
        self.memory.used_on(stream);
        let (device, to, bytes) = (&self.device, self.memory.address(), self.bytes());
        let word =
            [pattern, pattern].concat().first_chunk::<4>().map(|w| u32::from_le_bytes(*w)).unwrap_or(0);
        let words = pattern.len() == 2 || pattern.chunks(4).all(|c| c == word.to_le_bytes());
        if words && bytes.is_multiple_of(4) {
            // SAFETY: the range lies in this live block, which begins at a multiple of 256.
            return unsafe {
                device.raw().enqueue(
                    device.id(),
                    stream.raw(),
                    &Work::FillWords { dst: to, value: word, count: bytes / 4 },
                )
            }
            .map_err(|e| device.error(e));
        }
        // SAFETY: as above; the pattern is no longer than the buffer, and has been read when the call returns.
        unsafe {
            device.raw().enqueue(
                device.id(),
                stream.raw(),
                &Work::CopyToDevice { dst: to, src: pattern.as_ptr(), bytes: pattern.len() },
            )
        }
        .map_err(|e| device.error(e))?;
        let mut done = pattern.len();
        while done < bytes {
            let n = done.min(bytes - done);
            // SAFETY: both ranges lie in this live block; the second begins where the first ends at the earliest.
            unsafe {
                device.raw().enqueue(
                    device.id(),
                    stream.raw(),
                    &Work::CopyWithin { dst: to.offset(done as u64), src: to, bytes: n },
                )
            }
            .map_err(|e| device.error(e))?;
            done += n;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn used_on(&self, stream: &Stream) {
        self.memory.used_on(stream);
    }

    pub(super) fn check(&self, stream: &Stream, len: usize, what: &'static str) -> Result<()> {
        self.device.check()?;
        if *stream.device() != self.device {
            let problem =
                format!("the stream is on {}, the buffer on {}", stream.device().id(), self.device.id());
            return Err(Error::invalid(what, problem));
        }
        if len > self.len() {
            return Err(Error::invalid(what, format!("{len} elements for a buffer of {}", self.len())));
        }
        Ok(())
    }
}

/// Copies from a live block and waits.
pub(super) fn download<T: Pod>(
    device: &Device,
    from: DevicePtr,
    stream: &Stream,
    data: &mut [T],
) -> Result<()> {
    if size_of_val(data) == 0 {
        return Ok(());
    }
    let (bytes, to) = (size_of_val(data), data.as_mut_ptr().cast());
    // SAFETY: `data` is exclusively borrowed host memory of that many bytes; the synchronize below makes sure that the
    // copy is over before the borrow is, on drivers too that would not wait for pageable memory. The callers checked the
    // device range.
    unsafe {
        device.raw().enqueue(device.id(), stream.raw(), &Work::CopyToHost { dst: to, src: from, bytes })
    }
    .map_err(|e| device.error(e))?;
    stream.synchronize()
}

impl<T: Pod> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        self.memory.leave(&self.device);
    }
}
