//! The arguments of a launch: from C's structs to the launcher's, with the memory that handles name kept alive meanwhile.

use std::ffi::c_void;

use smallvec::SmallVec;

use crate::driver::DevicePtr;
use crate::launcher::{Arg, Block, BufferArg, HostData, LaunchDims, Patch, PatchTarget, Stream};
use crate::memory::{DeviceView, PoolBlock};

use super::buffers::{BUFFERS, hiplaunch_buffer};
use super::handles::Owner;
use super::input::{Versioned, bytes, enumeration, enumerator, reserved, slice, versioned};
use super::status::{Failure, Result};
use super::views::{VIEWS, hiplaunch_view};

/// Grid, block and dynamic LDS of a launch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_dims {
    /// Workgroups in x, y and z; 0 in any axis launches nothing.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y and z.
    pub block: [u32; 3],
    /// Dynamic LDS of a workgroup in bytes. With 0, a kernel that has a layout gets what that needs.
    pub dynamic_lds: u32,
}

impl hiplaunch_dims {
    #[inline]
    pub(super) fn get(&self) -> LaunchDims {
        LaunchDims { grid: self.grid, block: self.block, dynamic_lds: self.dynamic_lds }
    }
}

/// What an argument of a launch is. Which fields of hiplaunch_arg count, besides kind, follows in parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_arg_kind {
    /// A number of `size` 1, 2, 4 or 8 bytes, in the low bytes of `bits`. (bits, size)
    Scalar = 0,
    /// A struct or any other value, in memory order. (data, size)
    Value = 1,
    /// A device address for a pointer parameter. What uses it is not noticed. (bits)
    Address = 2,
    /// A hiplaunch_buffer for a pointer parameter: `data` is its handle. It may be closed as soon as the launch returned.
    /// (data)
    Buffer = 3,
    /// A hiplaunch_view for a pointer parameter, the address of its first element: `data` is its handle. (data)
    View = 4,
    /// Where the destination of hiplaunch_launch_into goes.
    Destination = 5,
    /// A host array that the kernel reads. Copied at the call. (data, size)
    HostIn = 6,
    /// A host array that the kernel reads and writes: copied at the call, and an output of the ticket. (data, size)
    HostInout = 7,
    /// Room that the kernel writes: an output of the ticket. (size)
    HostOut = 8,
    /// An argument block for a pointer parameter: `data` is a hiplaunch_block*. (data)
    Block = 9,
    /// Bytes for a parameter of any kind, checked for size alone. (data, size)
    Raw = 10,
}
enumeration!(hiplaunch_arg_kind: Scalar, Value, Address, Buffer, View, Destination, HostIn, HostInout, HostOut, Block, Raw);

/// One argument of a launch, in the order of the kernel's parameters. The functions hiplaunch_arg_f32 and so on make them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_arg {
    /// A hiplaunch_arg_kind.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
    /// See hiplaunch_arg_kind.
    pub bits: u64,
    /// See hiplaunch_arg_kind.
    pub data: *const c_void,
    /// See hiplaunch_arg_kind.
    pub size: usize,
}

/// Host data that patches of a block refer to.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_segment {
    /// HIPLAUNCH_ARG_KIND_HOST_IN, _HOST_INOUT or _HOST_OUT.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
    /// The host's bytes; not looked at for HIPLAUNCH_ARG_KIND_HOST_OUT.
    pub data: *const c_void,
    /// How many.
    pub size: usize,
}

/// Which address a patch writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_patch_target {
    /// The result block's.
    Result = 0,
    /// That of the segment whose index is `value`.
    Segment = 1,
    /// The device address `value`.
    Address = 2,
    /// That of the hiplaunch_buffer whose handle, as a number, is `value`; it may be closed as soon as the launch returned.
    Buffer = 3,
}
enumeration!(hiplaunch_patch_target: Result, Segment, Address, Buffer);

/// Eight bytes of a block in which the runtime writes a device address.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_patch {
    /// Where in the block, in bytes.
    pub offset: usize,
    /// A hiplaunch_patch_target.
    pub target: u32,
    /// 0.
    pub reserved: u32,
    /// See hiplaunch_patch_target.
    pub value: u64,
}

/// An argument block: bytes that a kernel sees through one pointer, with addresses that the runtime writes in. The kernel
/// must not write the block itself.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_block {
    /// sizeof(hiplaunch_block).
    pub struct_size: usize,
    /// The block as the kernel sees it; bytes under a patch are ignored.
    pub bytes: *const c_void,
    /// How many.
    pub size: usize,
    /// Patches, in ascending order of their offsets and not overlapping.
    pub patches: *const hiplaunch_patch,
    /// How many.
    pub patch_count: usize,
    /// Further host data.
    pub segments: *const hiplaunch_segment,
    /// How many.
    pub segment_count: usize,
    /// Bytes of the result block, which is the last of the block's outputs; 0 for none.
    pub result_bytes: usize,
}

// SAFETY: integers and pointers; the one version.
unsafe impl Versioned for hiplaunch_block {
    const NAME: &'static str = "hiplaunch_block";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_block>()];
}

/// Memory that a handle among the arguments names.
enum Memory {
    Buffer(Option<PoolBlock>, u64),
    View(DeviceView<u8>),
}

/// A block's parts, as ranges of the lists of all blocks'.
struct Parts<'a> {
    bytes: &'a [u8],
    patches: (usize, usize),
    segments: (usize, usize),
    result_bytes: usize,
}

/// Runs `launch` on the arguments, none of which allocates unless there are very many.
///
/// # Safety
/// Pointers in the arguments lead to what hiplaunch_arg_kind says; device addresses are good for what the kernel does.
#[inline]
pub(super) unsafe fn with_args<R>(
    args: &[hiplaunch_arg],
    stream: &Stream,
    owner: Owner,
    launch: impl FnOnce(&[Arg<'_>]) -> Result<R>,
) -> Result<R> {
    // First whatever borrows nothing but the caller's memory, then what borrows that.
    let mut memory: SmallVec<[Memory; 12]> = SmallVec::new();
    let mut patches: SmallVec<[Patch; 16]> = SmallVec::new();
    let mut segments: SmallVec<[HostData<'_>; 16]> = SmallVec::new();
    let mut parts: SmallVec<[Parts<'_>; 4]> = SmallVec::new();
    for (index, arg) in args.iter().enumerate() {
        reserved(arg.reserved, "hiplaunch_arg")?;
        let named = |failure: Failure| failure.of_argument(index);
        match enumerator(arg.kind).map_err(named)? {
            hiplaunch_arg_kind::Buffer => memory.push(buffer(arg.data.cast(), stream, owner).map_err(named)?),
            hiplaunch_arg_kind::View => memory.push(view(arg.data.cast(), owner).map_err(named)?),
            hiplaunch_arg_kind::Block => {
                // SAFETY: the caller's promise.
                let part = unsafe { read_block(arg.data.cast(), stream, owner, &mut patches, &mut segments) };
                parts.push(part.map_err(named)?);
            }
            _ => {}
        }
    }
    let blocks: SmallVec<[Block<'_>; 4]> = parts
        .iter()
        .map(|part| Block {
            bytes: part.bytes,
            patches: &patches[part.patches.0..part.patches.1],
            segments: &segments[part.segments.0..part.segments.1],
            result_bytes: part.result_bytes,
        })
        .collect();
    let (mut memory, mut blocks) = (memory.iter(), blocks.iter());
    let mut all: SmallVec<[Arg<'_>; 12]> = SmallVec::new();
    for (index, arg) in args.iter().enumerate() {
        // SAFETY: the caller's promise.
        let host = || unsafe { bytes(arg.data, arg.size, "data") }.map_err(|f| f.of_argument(index));
        all.push(match enumerator(arg.kind)? {
            hiplaunch_arg_kind::Scalar => match u8::try_from(arg.size) {
                Ok(size @ (1 | 2 | 4 | 8)) => Arg::Scalar { bits: arg.bits, size },
                _ => {
                    let wrong = format!("a scalar of {} bytes: 1, 2, 4 or 8", arg.size);
                    return Err(Failure::invalid(wrong).of_argument(index));
                }
            },
            hiplaunch_arg_kind::Value => Arg::Value(host()?),
            hiplaunch_arg_kind::Address => Arg::Pointer(DevicePtr(arg.bits)),
            hiplaunch_arg_kind::Destination => Arg::Destination,
            hiplaunch_arg_kind::HostIn => Arg::Host(HostData::In(host()?)),
            hiplaunch_arg_kind::HostInout => Arg::Host(HostData::InOut(host()?)),
            hiplaunch_arg_kind::HostOut => Arg::Host(HostData::Out(arg.size)),
            hiplaunch_arg_kind::Raw => Arg::Raw(host()?),
            hiplaunch_arg_kind::Buffer | hiplaunch_arg_kind::View => match memory.next() {
                Some(Memory::Buffer(block, size)) => {
                    Arg::Buffer(BufferArg::first_bytes(block.as_ref(), *size))
                }
                Some(Memory::View(view)) => Arg::from(view),
                None => Arg::null(),
            },
            hiplaunch_arg_kind::Block => match blocks.next() {
                Some(block) => Arg::Block(block),
                None => Arg::null(),
            },
        });
    }
    launch(&all)
}

/// The buffer's memory, whose use by the stream is noted: on the buffer's own block, so that it is once only.
fn buffer(handle: *const hiplaunch_buffer, stream: &Stream, owner: Owner) -> Result<Memory> {
    BUFFERS.look(handle, |found| {
        owner.same(found.owner, "buffer")?;
        let block = found.value.block();
        if let Some(block) = block
            && stream.device() == found.value.device()
        {
            stream.note_use(block);
        }
        Ok(Memory::Buffer(block.cloned(), found.value.bytes() as u64))
    })?
}

fn view(handle: *const hiplaunch_view, owner: Owner) -> Result<Memory> {
    let found = VIEWS.get(handle)?;
    owner.same(found.owner, "view")?;
    Ok(Memory::View(found.value.view))
}

/// # Safety
/// As [`with_args`].
unsafe fn read_block<'a>(
    from: *const hiplaunch_block,
    stream: &Stream,
    owner: Owner,
    patches: &mut SmallVec<[Patch; 16]>,
    segments: &mut SmallVec<[HostData<'a>; 16]>,
) -> Result<Parts<'a>> {
    // SAFETY: the caller's promise, for the struct and for what it leads to.
    let (block, block_bytes, its_patches, its_segments) = unsafe {
        let block = versioned(from, "data")?;
        (
            block,
            bytes(block.bytes, block.size, "bytes")?,
            slice(block.patches, block.patch_count, "patches")?,
            slice(block.segments, block.segment_count, "segments")?,
        )
    };
    let starts = (patches.len(), segments.len());
    for segment in its_segments {
        reserved(segment.reserved, "hiplaunch_segment")?;
        // SAFETY: as above.
        let host = || unsafe { bytes(segment.data, segment.size, "data of a segment") };
        segments.push(match enumerator(segment.kind)? {
            hiplaunch_arg_kind::HostIn => HostData::In(host()?),
            hiplaunch_arg_kind::HostInout => HostData::InOut(host()?),
            hiplaunch_arg_kind::HostOut => HostData::Out(segment.size),
            _ => return Err(Failure::invalid("a segment is host data: HOST_IN, HOST_INOUT or HOST_OUT")),
        });
    }
    for patch in its_patches {
        reserved(patch.reserved, "hiplaunch_patch")?;
        let target = match enumerator(patch.target)? {
            hiplaunch_patch_target::Result => PatchTarget::Result,
            hiplaunch_patch_target::Segment => {
                PatchTarget::Segment(usize::try_from(patch.value).unwrap_or(usize::MAX))
            }
            hiplaunch_patch_target::Address => PatchTarget::Device(DevicePtr(patch.value)),
            hiplaunch_patch_target::Buffer => {
                let handle = std::ptr::without_provenance(patch.value as usize);
                let Memory::Buffer(Some(block), _) = buffer(handle, stream, owner)? else {
                    return Err(Failure::invalid("a patch names a buffer without memory"));
                };
                PatchTarget::Device(block.ptr())
            }
        };
        patches.push(Patch { offset: patch.offset, target });
    }
    Ok(Parts {
        bytes: block_bytes,
        patches: (starts.0, patches.len()),
        segments: (starts.1, segments.len()),
        result_bytes: block.result_bytes,
    })
}
