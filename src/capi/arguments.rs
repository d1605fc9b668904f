//! The arguments of a launch: from C's structs to the launcher's, with the memory that handles name kept alive meanwhile.

use std::ffi::c_void;

use smallvec::SmallVec;

use crate::driver::DevicePtr;
use crate::launcher::{Arg, Block, BufferArg, HostData, LaunchDims, Patch, PatchTarget, Stream};
use crate::memory::{DeviceBuffer, DeviceView, PoolBlock};

use super::buffers::{BUFFERS, hiplaunch_buffer};
use super::handles::{Owner, Reading};
use super::input::{Versioned, bytes, enumeration, enumerator, reserved, slice, versioned};
use super::status::{Failure, Result};
use super::views::{VIEWS, ViewObject, hiplaunch_view};

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

/// How the memory that handles among the arguments name is kept until the launch was enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// By the handles' locks, shared: cheapest.
    Locks,
    /// By clones: where one of the handles is to be changed meanwhile.
    Clones,
}

/// Memory that a handle among the arguments names.
enum Memory {
    Buffer(Reading<'static, DeviceBuffer<u8>>),
    View(Reading<'static, ViewObject>),
    ClonedBuffer(Option<PoolBlock>, u64),
    ClonedView(DeviceView<u8>),
}

impl Memory {
    #[inline]
    fn arg(&self) -> Arg<'_> {
        match self {
            Memory::Buffer(held) => held.found().map_or(Arg::null(), |found| Arg::from(&found.value)),
            Memory::View(held) => held.found().map_or(Arg::null(), |found| Arg::from(&found.value.view)),
            Memory::ClonedBuffer(block, size) => Arg::Buffer(BufferArg::first_bytes(block.as_ref(), *size)),
            Memory::ClonedView(view) => Arg::from(view),
        }
    }
}

/// A block's parts, as ranges of the lists of all blocks'.
struct Parts<'a> {
    bytes: &'a [u8],
    patches: (usize, usize),
    segments: (usize, usize),
    result_bytes: usize,
}

/// What the arguments lead to, with nothing that borrows from it.
#[derive(Default)]
struct Gathered<'a> {
    memory: SmallVec<[Memory; 12]>,
    /// What the blocks' patches name.
    patched: SmallVec<[Memory; 4]>,
    patches: SmallVec<[Patch; 16]>,
    segments: SmallVec<[HostData<'a>; 16]>,
    parts: SmallVec<[Parts<'a>; 4]>,
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
    hold: Hold,
    launch: impl FnOnce(&[Arg<'_>]) -> Result<R>,
) -> Result<R> {
    if hold == Hold::Clones {
        // SAFETY: the caller's promise.
        return unsafe { with_all(args, stream, owner, hold, launch) };
    }
    const SCALAR: u32 = hiplaunch_arg_kind::Scalar as u32;
    const BUFFER: u32 = hiplaunch_arg_kind::Buffer as u32;
    const VIEW: u32 = hiplaunch_arg_kind::View as u32;
    const BLOCK: u32 = hiplaunch_arg_kind::Block as u32;
    let mut held: SmallVec<[Reading<'static, DeviceBuffer<u8>>; 12]> = SmallVec::new();
    for (index, arg) in args.iter().enumerate() {
        let retry = match arg.kind {
            BUFFER => match held_buffer(arg.data.cast(), owner) {
                Ok(Some(buffer)) => {
                    held.push(buffer);
                    continue;
                }
                // Nothing is held while another call is waited for.
                Ok(None) => Hold::Clones,
                Err(failure) => return Err(failure.of_argument(index)),
            },
            // Most launches have neither, and less is prepared for them.
            VIEW | BLOCK => Hold::Locks,
            _ => continue,
        };
        drop(held);
        // SAFETY: the caller's promise.
        return unsafe { with_all(args, stream, owner, retry, launch) };
    }
    let mut buffers = held.iter();
    let mut all: SmallVec<[Arg<'_>; 12]> = SmallVec::new();
    for (index, arg) in args.iter().enumerate() {
        let mut memory = || match buffers.next().and_then(Reading::found) {
            Some(found) => Arg::from(&found.value),
            None => Arg::null(),
        };
        // What is common first; `convert` does it as well.
        all.push(match (arg.kind, arg.reserved, arg.size) {
            (SCALAR, 0, 4 | 8) => Arg::Scalar { bits: arg.bits, size: arg.size as u8 },
            (BUFFER, 0, _) => memory(),
            // SAFETY: the caller's promise.
            _ => unsafe { convert(index, arg, memory, || Arg::Pointer(DevicePtr::NULL)) }?,
        });
    }
    launch(&all)
}

/// [`with_args`] for any arguments.
///
/// # Safety
/// As [`with_args`].
unsafe fn with_all<R>(
    args: &[hiplaunch_arg],
    stream: &Stream,
    owner: Owner,
    hold: Hold,
    launch: impl FnOnce(&[Arg<'_>]) -> Result<R>,
) -> Result<R> {
    // First whatever borrows nothing but the caller's memory, then what borrows that.
    let mut gathered = Gathered::default();
    // SAFETY: the caller's promise.
    if !unsafe { gather(args, stream, owner, hold, &mut gathered) }? {
        // Another call has one of the objects to itself, or waits for it: nothing is held while that is waited for.
        gathered = Gathered::default();
        // SAFETY: as above.
        unsafe { gather(args, stream, owner, Hold::Clones, &mut gathered) }?;
    }
    let mut blocks: SmallVec<[Block<'_>; 4]> = SmallVec::new();
    for part in &gathered.parts {
        blocks.push(Block {
            bytes: part.bytes,
            patches: &gathered.patches[part.patches.0..part.patches.1],
            segments: &gathered.segments[part.segments.0..part.segments.1],
            result_bytes: part.result_bytes,
        });
    }
    let (mut memory, mut blocks) = (gathered.memory.iter(), blocks.iter());
    let mut all: SmallVec<[Arg<'_>; 12]> = SmallVec::new();
    for (index, arg) in args.iter().enumerate() {
        let memory = || memory.next().map_or(Arg::null(), Memory::arg);
        let block = || blocks.next().map_or(Arg::null(), Arg::Block);
        // SAFETY: the caller's promise.
        all.push(unsafe { convert(index, arg, memory, block) }?);
    }
    launch(&all)
}

/// One argument; `memory` and `block` give the next of what was looked up.
///
/// # Safety
/// As [`with_args`].
#[inline]
unsafe fn convert<'a>(
    index: usize,
    arg: &'a hiplaunch_arg,
    memory: impl FnOnce() -> Arg<'a>,
    block: impl FnOnce() -> Arg<'a>,
) -> Result<Arg<'a>> {
    reserved(arg.reserved, "hiplaunch_arg")?;
    // SAFETY: the caller's promise.
    let host = || unsafe { bytes(arg.data, arg.size, "data") }.map_err(|f| f.of_argument(index));
    Ok(match enumerator(arg.kind).map_err(|f| f.of_argument(index))? {
        hiplaunch_arg_kind::Scalar => match arg.size {
            1 | 2 | 4 | 8 => Arg::Scalar { bits: arg.bits, size: arg.size as u8 },
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
        hiplaunch_arg_kind::Buffer | hiplaunch_arg_kind::View => memory(),
        hiplaunch_arg_kind::Block => block(),
    })
}

/// Looks up the memory, and reads the blocks; false where that would have to wait while it holds locks.
///
/// # Safety
/// As [`with_args`].
#[inline]
unsafe fn gather<'a>(
    args: &'a [hiplaunch_arg],
    stream: &Stream,
    owner: Owner,
    hold: Hold,
    into: &mut Gathered<'a>,
) -> Result<bool> {
    for (index, arg) in args.iter().enumerate() {
        let named = |failure: Failure| failure.of_argument(index);
        match enumerator(arg.kind).map_err(named)? {
            hiplaunch_arg_kind::Buffer => match hold {
                Hold::Locks => match held_buffer(arg.data.cast(), owner).map_err(named)? {
                    Some(held) => into.memory.push(Memory::Buffer(held)),
                    None => return Ok(false),
                },
                Hold::Clones => {
                    let (block, bytes) = cloned_buffer(arg.data.cast(), stream, owner).map_err(named)?;
                    into.memory.push(Memory::ClonedBuffer(block, bytes));
                }
            },
            hiplaunch_arg_kind::View => match hold {
                Hold::Locks => match held_view(arg.data.cast(), owner).map_err(named)? {
                    Some(held) => into.memory.push(Memory::View(held)),
                    None => return Ok(false),
                },
                Hold::Clones => {
                    let view = cloned_view(arg.data.cast(), owner).map_err(named)?;
                    into.memory.push(Memory::ClonedView(view));
                }
            },
            hiplaunch_arg_kind::Block => {
                // SAFETY: the caller's promise.
                let part = unsafe { read_block(arg.data.cast(), stream, owner, hold, into) };
                match part.map_err(named)? {
                    Some(part) => into.parts.push(part),
                    None => return Ok(false),
                }
            }
            _ => {}
        }
    }
    Ok(true)
}

/// The buffer as it is, unless another call is changing it. The launch notes its use.
#[inline]
fn held_buffer(
    handle: *const hiplaunch_buffer,
    owner: Owner,
) -> Result<Option<Reading<'static, DeviceBuffer<u8>>>> {
    let held = BUFFERS.try_read(handle)?;
    if let Some(found) = held.as_ref().and_then(Reading::found) {
        owner.same(found.owner, "buffer")?;
    }
    Ok(held)
}

#[inline]
fn held_view(handle: *const hiplaunch_view, owner: Owner) -> Result<Option<Reading<'static, ViewObject>>> {
    let held = VIEWS.try_read(handle)?;
    if let Some(found) = held.as_ref().and_then(Reading::found) {
        owner.same(found.owner, "view")?;
    }
    Ok(held)
}

/// The buffer's memory, whose use by the stream is noted: on the buffer's own block, so that it is once only.
fn cloned_buffer(
    handle: *const hiplaunch_buffer,
    stream: &Stream,
    owner: Owner,
) -> Result<(Option<PoolBlock>, u64)> {
    BUFFERS.look(handle, |found| {
        owner.same(found.owner, "buffer")?;
        let block = found.value.block();
        if let Some(block) = block
            && stream.device() == found.value.device()
        {
            stream.note_use(block);
        }
        Ok((block.cloned(), found.value.bytes() as u64))
    })?
}

/// The address of a buffer that a patch names, which is kept like an argument's. The launch does not see that it is one,
/// so its use is noted here.
fn patched_buffer(
    handle: *const hiplaunch_buffer,
    stream: &Stream,
    owner: Owner,
    hold: Hold,
    patched: &mut SmallVec<[Memory; 4]>,
) -> Result<Option<DevicePtr>> {
    let none = || Failure::invalid("a patch names a buffer without memory");
    match hold {
        Hold::Locks => {
            let Some(held) = held_buffer(handle, owner)? else { return Ok(None) };
            let buffer = held.found().map(|found| &found.value);
            let (device, block) = buffer.and_then(|b| Some((b.device(), b.block()?))).ok_or_else(none)?;
            if stream.device() == device {
                stream.note_use(block);
            }
            let address = block.ptr();
            patched.push(Memory::Buffer(held));
            Ok(Some(address))
        }
        Hold::Clones => {
            let (block, bytes) = cloned_buffer(handle, stream, owner)?;
            let address = block.as_ref().ok_or_else(none)?.ptr();
            patched.push(Memory::ClonedBuffer(block, bytes));
            Ok(Some(address))
        }
    }
}

fn cloned_view(handle: *const hiplaunch_view, owner: Owner) -> Result<DeviceView<u8>> {
    let found = VIEWS.get(handle)?;
    owner.same(found.owner, "view")?;
    Ok(found.value.view)
}

/// A block; `None` where that would have to wait while locks are held.
///
/// # Safety
/// As [`with_args`].
unsafe fn read_block<'a>(
    from: *const hiplaunch_block,
    stream: &Stream,
    owner: Owner,
    hold: Hold,
    into: &mut Gathered<'a>,
) -> Result<Option<Parts<'a>>> {
    let Gathered { patches, segments, patched, .. } = into;
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
                let Some(address) = patched_buffer(handle, stream, owner, hold, patched)? else {
                    return Ok(None);
                };
                PatchTarget::Device(address)
            }
        };
        patches.push(Patch { offset: patch.offset, target });
    }
    Ok(Some(Parts {
        bytes: block_bytes,
        patches: (starts.0, patches.len()),
        segments: (starts.1, segments.len()),
        result_bytes: block.result_bytes,
    }))
}
