//! The arguments of a launch: scalars, pointers, structs, host arrays and argument blocks.

use bytemuck::Pod;

use crate::memory::{DeviceBuffer, DeviceView, PinnedBuffer, PoolBlock};
use hip_driver::DevicePtr;

/// One explicit argument, in the order of the kernel's parameters. Made with `From`, the functions below or
/// [`args!`](crate::args).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Arg<'a> {
    /// A number of 1, 2, 4 or 8 bytes by value.
    Scalar {
        /// Its bits, little-endian in the low bytes.
        bits: u64,
        /// Its size in bytes.
        size: u8,
    },
    /// A struct or any other value, in memory order.
    Value(&'a [u8]),
    /// A device address for a pointer parameter.
    Pointer(DevicePtr),
    /// Pool memory for a pointer parameter: the launch notes that its stream uses it, so that it may be dropped at once.
    Buffer(BufferArg<'a>),
    /// Where the launch's [destination](crate::Launch::destination) goes.
    Destination,
    /// Bytes for a parameter of any kind, checked for size alone.
    Raw(&'a [u8]),
    /// A host array for a pointer parameter.
    Host(HostData<'a>),
    /// An argument block for a pointer parameter.
    ArgumentBlock(&'a ArgumentBlock<'a>),
}

/// Pool memory as an argument; made with `From` from a buffer, a view or a block.
#[derive(Clone, Copy, Debug)]
pub struct BufferArg<'a> {
    block: Option<&'a PoolBlock>,
    ptr: DevicePtr,
    /// First byte and number of bytes that the kernel may touch.
    range: (u64, u64),
}

impl<'a> BufferArg<'a> {
    /// What the kernel gets.
    #[inline]
    pub fn ptr(&self) -> DevicePtr {
        self.ptr
    }

    #[inline]
    pub(crate) fn block(&self) -> Option<&'a PoolBlock> {
        self.block
    }

    pub(crate) fn range(&self) -> (u64, u64) {
        self.range
    }

    /// The first bytes of a block; null where there is none.
    #[inline]
    pub fn first_bytes(block: Option<&'a PoolBlock>, bytes: u64) -> BufferArg<'a> {
        let ptr = block.map_or(DevicePtr::NULL, PoolBlock::ptr);
        BufferArg { block, ptr, range: (ptr.0, bytes) }
    }

    /// The first bytes of a buffer, of the pool or not.
    #[inline]
    pub(crate) fn of_buffer<T: Pod>(buffer: &'a DeviceBuffer<T>, bytes: u64) -> BufferArg<'a> {
        let ptr = buffer.address();
        BufferArg { block: buffer.block(), ptr, range: (ptr.0, bytes) }
    }
}

/// A host array that a kernel sees through a pointer. Copied at the call, so no borrow outlives it; what comes back is
/// read through the [`Ticket`](crate::Ticket).
#[derive(Clone, Copy, Debug)]
pub enum HostData<'a> {
    /// The kernel reads it. Must not write it: the copy on the device is reused while the bytes are unchanged.
    In(&'a [u8]),
    /// The kernel reads and writes it; the result is an output of the ticket.
    InOut(&'a [u8]),
    /// The kernel writes so many bytes; they are an output of the ticket.
    Out(usize),
}

/// Bytes that a kernel sees through one pointer, with addresses that the runtime fills in.
///
/// The kernel must not write the block itself: its copy on the device is used again while the bytes stay the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArgumentBlock<'a> {
    /// The block as the kernel sees it; bytes under a patch are ignored.
    pub bytes: &'a [u8],
    /// Where addresses are written, in ascending order of [`Patch::offset`] and not overlapping.
    pub patches: &'a [Patch],
    /// Further host data that patches refer to.
    pub arrays: &'a [HostData<'a>],
    /// Size of the result block in bytes; 0 for none. It is the last output of the block's segments.
    pub result_bytes: usize,
}

/// Eight bytes of a [`ArgumentBlock`] in which the runtime writes a device address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where in the block, in bytes.
    pub offset: usize,
    /// Which address.
    pub target: PatchTarget,
}

/// What a [`Patch`] points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchTarget {
    /// The result block.
    Result,
    /// The host array of that index in `arrays`.
    Array(usize),
    /// Memory of the caller.
    Device(DevicePtr),
}

impl<'a> Arg<'a> {
    /// A struct by value.
    pub fn value<T: Pod>(value: &'a T) -> Arg<'a> {
        Arg::Value(bytemuck::bytes_of(value))
    }

    /// A null pointer.
    pub const fn null() -> Arg<'static> {
        Arg::Pointer(DevicePtr::NULL)
    }

    /// A host array that the kernel reads.
    pub fn input<T: Pod>(data: &'a [T]) -> Arg<'a> {
        Arg::Host(HostData::In(bytemuck::cast_slice(data)))
    }

    /// A host array that the kernel reads and writes; comes back as an output.
    pub fn inout<T: Pod>(data: &'a [T]) -> Arg<'a> {
        Arg::Host(HostData::InOut(bytemuck::cast_slice(data)))
    }

    /// Room for `len` elements that the kernel writes; comes back as an output.
    pub fn output<T: Pod>(len: usize) -> Arg<'static> {
        Arg::Host(HostData::Out(len.saturating_mul(size_of::<T>())))
    }

    /// What it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Arg::Scalar { .. } => "scalar",
            Arg::Value(_) => "by-value struct",
            Arg::Pointer(_) => "device pointer",
            Arg::Buffer(_) => "device buffer",
            Arg::Destination => "destination",
            Arg::Raw(_) => "raw value",
            Arg::Host(_) => "host array",
            Arg::ArgumentBlock(_) => "argument block",
        }
    }

    /// Its bytes in the kernarg segment, where its value is known before the launch is laid out.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        match self {
            Arg::Scalar { size, .. } => usize::from(*size),
            Arg::Value(bytes) | Arg::Raw(bytes) => bytes.len(),
            Arg::Pointer(_) | Arg::Buffer(_) | Arg::Destination | Arg::Host(_) | Arg::ArgumentBlock(_) => 8,
        }
    }
}

macro_rules! scalars {
    ($($t:ty => $bits:ty),*) => {$(
        impl From<$t> for Arg<'_> {
            #[inline]
            fn from(v: $t) -> Self {
                Arg::Scalar { bits: u64::from(<$bits>::from_le_bytes(v.to_le_bytes())), size: size_of::<$t>() as u8 }
            }
        }
    )*};
}

scalars!(u8 => u8, i8 => u8, u16 => u16, i16 => u16, u32 => u32, i32 => u32, u64 => u64, i64 => u64, f32 => u32,
    f64 => u64, half::f16 => u16, half::bf16 => u16);

impl From<DevicePtr> for Arg<'_> {
    #[inline]
    fn from(ptr: DevicePtr) -> Self {
        Arg::Pointer(ptr)
    }
}

impl<'a, T: Pod> From<&'a DeviceBuffer<T>> for Arg<'a> {
    #[inline]
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        Arg::Buffer(BufferArg::of_buffer(buffer, buffer.bytes() as u64))
    }
}

impl<'a, T: Pod> From<&'a mut DeviceBuffer<T>> for Arg<'a> {
    #[inline]
    fn from(buffer: &'a mut DeviceBuffer<T>) -> Self {
        Arg::from(&*buffer)
    }
}

impl<'a, T: Pod> From<&'a PinnedBuffer<T>> for Arg<'a> {
    /// Its address. Record the use ([`PinnedBuffer::record_use`]).
    #[inline]
    fn from(buffer: &'a PinnedBuffer<T>) -> Self {
        Arg::Pointer(buffer.ptr())
    }
}

impl<'a, T: Pod> From<&'a DeviceView<T>> for BufferArg<'a> {
    fn from(view: &'a DeviceView<T>) -> Self {
        BufferArg { block: view.block(), ptr: view.address(), range: view.byte_range() }
    }
}

impl<'a, T: Pod> From<&'a DeviceView<T>> for Arg<'a> {
    /// The address of the view's first element; the kernel is told of shape and strides by arguments of their own.
    fn from(view: &'a DeviceView<T>) -> Self {
        Arg::Buffer(BufferArg::from(view))
    }
}

impl<'a> From<&'a PoolBlock> for Arg<'a> {
    #[inline]
    fn from(block: &'a PoolBlock) -> Self {
        Arg::Buffer(BufferArg::first_bytes(Some(block), block.bytes()))
    }
}

impl<'a> From<&'a ArgumentBlock<'a>> for Arg<'a> {
    #[inline]
    fn from(block: &'a ArgumentBlock<'a>) -> Self {
        Arg::ArgumentBlock(block)
    }
}

impl<'a> From<HostData<'a>> for Arg<'a> {
    #[inline]
    fn from(data: HostData<'a>) -> Self {
        Arg::Host(data)
    }
}

/// The arguments of a launch, each turned into an [`Arg`](crate::Arg) with `From`: `args![2.0f32, &x, &y, 4096i32]`.
#[macro_export]
macro_rules! args {
    ($($arg:expr),* $(,)?) => { [$($crate::Arg::from($arg)),*] };
}

/// Grid, block and dynamic LDS of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchDims {
    /// Workgroups in x, y and z; 0 in any axis launches nothing.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y and z.
    pub block: [u32; 3],
    /// Dynamic LDS of a workgroup in bytes. With 0, a kernel that has a
    /// [layout](crate::Launcher::set_lds_layout) gets what that needs.
    pub dynamic_lds: u32,
}

impl LaunchDims {
    /// A one-dimensional launch of `grid` workgroups of `block` work-items.
    pub const fn linear(grid: u32, block: u32) -> LaunchDims {
        LaunchDims::new([grid, 1, 1], [block, 1, 1])
    }

    /// A launch without dynamic LDS.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> LaunchDims {
        LaunchDims { grid, block, dynamic_lds: 0 }
    }

    /// Enough workgroups of `block` work-items for `items` work-items in all.
    pub const fn cover(items: u32, block: u32) -> LaunchDims {
        LaunchDims::linear(if block == 0 { 0 } else { items.div_ceil(block) }, block)
    }

    /// The same with `bytes` of dynamic LDS.
    #[must_use]
    pub const fn with_lds(mut self, bytes: u32) -> LaunchDims {
        self.dynamic_lds = bytes;
        self
    }

    /// Whether there is nothing to launch.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}

/// How host data reach the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Staging {
    /// Copied to device scratch and back: right for what the kernel touches more than once.
    #[default]
    Copy,
    /// The kernel reads and writes pinned host memory itself, over the bus and uncached: no copies at all, right for
    /// small data touched once. Needs [`Capability::MappedHostMemory`](hip_driver::Capability::MappedHostMemory).
    Mapped,
}
