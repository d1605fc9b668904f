//! The arguments of a launch: scalars, pointers, structs, host arrays and argument blocks.

use bytemuck::Pod;

use crate::buffer::{DeviceBuffer, DeviceView, PinnedBuffer};
use crate::pool::PoolBlock;
use hip_driver::DevicePtr;

/// One explicit argument of a launch. Arguments are given in the order of the kernel's parameters.
///
/// `From`, the functions below and [`args!`](crate::args) create them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Arg<'a> {
    /// A number of 1, 2, 4 or 8 bytes by value.
    Scalar {
        /// The number's bits, in the low `size` bytes.
        bits: u64,
        /// The number's size in bytes.
        size: u8,
    },
    /// The bytes of a struct or of any other value.
    Value(&'a [u8]),
    /// A device address for a pointer parameter.
    Pointer(DevicePtr),
    /// Pool memory for a pointer parameter. The launch records that its stream uses it, so the buffer may be dropped
    /// right after the launch.
    Buffer(BufferArg<'a>),
    /// The address of the launch's [destination](crate::Launch::destination), for a pointer parameter.
    Destination,
    /// Bytes for a parameter of any kind. Only their number is checked.
    Raw(&'a [u8]),
    /// A host array for a pointer parameter.
    Host(HostData<'a>),
    /// An argument block for a pointer parameter.
    ArgumentBlock(&'a ArgumentBlock<'a>),
}

/// Pool memory as an argument: that of a buffer, a view or a pool block.
#[derive(Clone, Copy, Debug)]
pub struct BufferArg<'a> {
    block: Option<&'a PoolBlock>,
    ptr: DevicePtr,
    /// The address of the first byte and the number of bytes that the kernel may access.
    range: (u64, u64),
}

impl<'a> BufferArg<'a> {
    /// Returns the address that the kernel gets.
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

    /// Creates an argument of the first `bytes` bytes of a pool block; a null pointer without one.
    #[inline]
    pub fn first_bytes(block: Option<&'a PoolBlock>, bytes: u64) -> BufferArg<'a> {
        let ptr = block.map_or(DevicePtr::NULL, PoolBlock::ptr);
        BufferArg { block, ptr, range: (ptr.0, bytes) }
    }

    /// The first bytes of a buffer, of the pool or not.
    #[inline]
    pub(super) fn of_buffer<T: Pod>(buffer: &'a DeviceBuffer<T>, bytes: u64) -> BufferArg<'a> {
        let ptr = buffer.address();
        BufferArg { block: buffer.block(), ptr, range: (ptr.0, bytes) }
    }
}

/// A host array that a kernel accesses through a pointer. The launch copies it during the call, so no borrow outlives
/// the call. The host reads outputs through the [`Ticket`](crate::Ticket).
#[derive(Clone, Copy, Debug)]
pub enum HostData<'a> {
    /// Bytes that the kernel reads. It must not write them: later launches use the copy on the device again while the
    /// bytes are unchanged.
    In(&'a [u8]),
    /// Bytes that the kernel reads and writes. The result is an output of the ticket.
    InOut(&'a [u8]),
    /// The number of bytes that the kernel writes. They are an output of the ticket.
    Out(usize),
}

/// Bytes that a kernel reads through one pointer parameter. The launcher copies them to the device and writes addresses
/// into them where patches say so.
///
/// The kernel must not write the block itself: later launches use the copy on the device again while the bytes are
/// unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArgumentBlock<'a> {
    /// The block as the kernel reads it. The eight bytes of each patch are ignored.
    pub bytes: &'a [u8],
    /// The places for addresses, in ascending order of [`Patch::offset`] and not overlapping.
    pub patches: &'a [Patch],
    /// Host arrays that are staged with the block. [`PatchTarget::Array`] refers to them by index.
    pub arrays: &'a [HostData<'a>],
    /// The size of the result block in bytes; 0 for none. Its output comes after those of `arrays`.
    pub result_bytes: usize,
}

/// Eight bytes of an [`ArgumentBlock`] into which the launcher writes a device address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The offset in the block, in bytes.
    pub offset: usize,
    /// The address to write.
    pub target: PatchTarget,
}

/// The address that a [`Patch`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchTarget {
    /// The address of the result block.
    Result,
    /// The device address of the host array with this index in [`ArgumentBlock::arrays`].
    Array(usize),
    /// An address of the caller's device memory.
    Device(DevicePtr),
}

impl<'a> Arg<'a> {
    /// Creates an argument for a struct that is passed by value.
    pub fn value<T: Pod>(value: &'a T) -> Arg<'a> {
        Arg::Value(bytemuck::bytes_of(value))
    }

    /// Creates a null pointer.
    pub const fn null() -> Arg<'static> {
        Arg::Pointer(DevicePtr::NULL)
    }

    /// Creates an argument for a host array that the kernel reads.
    pub fn input<T: Pod>(data: &'a [T]) -> Arg<'a> {
        Arg::Host(HostData::In(bytemuck::cast_slice(data)))
    }

    /// Creates an argument for a host array that the kernel reads and writes. The result is an output of the ticket;
    /// the array itself does not change.
    pub fn inout<T: Pod>(data: &'a [T]) -> Arg<'a> {
        Arg::Host(HostData::InOut(bytemuck::cast_slice(data)))
    }

    /// Creates an argument for `len` elements that the kernel writes. They are an output of the ticket.
    pub fn output<T: Pod>(len: usize) -> Arg<'static> {
        Arg::Host(HostData::Out(len.saturating_mul(size_of::<T>())))
    }

    /// Returns what kind of argument it is, for messages.
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

    /// Returns the argument's size in the kernarg segment, in bytes.
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
        Arg::Buffer(BufferArg::from(buffer))
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

impl<'a, T: Pod> From<&'a DeviceBuffer<T>> for BufferArg<'a> {
    #[inline]
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        BufferArg::of_buffer(buffer, buffer.bytes() as u64)
    }
}

impl<'a, T: Pod> From<&'a DeviceView<T>> for BufferArg<'a> {
    fn from(view: &'a DeviceView<T>) -> Self {
        BufferArg { block: view.block(), ptr: view.address(), range: view.byte_range() }
    }
}

impl<'a, T: Pod> From<&'a DeviceView<T>> for Arg<'a> {
    /// Passes the address of the view's first element. Shape and strides are separate arguments where a kernel needs
    /// them.
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

/// Creates an array of arguments, each converted to an [`Arg`](crate::Arg) with `From`: `args![2.0f32, &x, &y,
/// 4096i32]`.
#[macro_export]
macro_rules! args {
    ($($arg:expr),* $(,)?) => { [$($crate::Arg::from($arg)),*] };
}

/// How host data reaches the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Staging {
    /// The launch copies host data to device scratch and results back. Suits data that the kernel accesses more than
    /// once.
    #[default]
    Copy,
    /// The kernel reads and writes pinned host memory itself, over the bus and uncached. Suits small data that the
    /// kernel accesses once. Needs [`Capability::MappedHostMemory`](hip_driver::Capability::MappedHostMemory).
    Mapped,
}
