//! The arguments of a launch: from C's structs to the launcher's, with the memory that handles name kept alive meanwhile.

use std::ffi::c_void;

use hip_driver::DevicePtr;
use hiplaunch::launcher::{Arg, ArgumentBlock, BufferArg, HostData, LaunchDims, Patch, PatchTarget, Stream};
use hiplaunch::memory::{DeviceBuffer, DeviceView, PoolBlock};

use super::arena::{Arena, Few, Room};
use super::buffers::{BUFFERS, hiplaunch_buffer};
use super::handles::{Lock, Owner, kept_by, same_owner};
use super::input::{Versioned, bytes, enumeration, enumerator, reserved, slice, versioned};
use super::status::{Failure, Result, hiplaunch_status};
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
    /// Where the launch's destination goes (hiplaunch_launch_options).
    Destination = 5,
    /// A host array that the kernel reads. Copied at the call. (data, size)
    HostIn = 6,
    /// A host array that the kernel reads and writes: copied at the call, and an output of the ticket. (data, size)
    HostInout = 7,
    /// Room that the kernel writes: an output of the ticket. (size)
    HostOut = 8,
    /// An argument block for a pointer parameter: `data` is a hiplaunch_argument_block*. (data)
    ArgumentBlock = 9,
    /// Bytes for a parameter of any kind, checked for size alone. (data, size)
    Raw = 10,
}
enumeration!(hiplaunch_arg_kind: Scalar, Value, Address, Buffer, View, Destination, HostIn, HostInout, HostOut, ArgumentBlock, Raw);

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
pub struct hiplaunch_array {
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
    /// That of the array whose index is `value`.
    Array = 1,
    /// The device address `value`.
    Address = 2,
    /// That of the hiplaunch_buffer whose handle, as a number, is `value`; it may be closed as soon as the launch returned.
    Buffer = 3,
}
enumeration!(hiplaunch_patch_target: Result, Array, Address, Buffer);

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
pub struct hiplaunch_argument_block {
    /// sizeof(hiplaunch_argument_block).
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
    pub arrays: *const hiplaunch_array,
    /// How many.
    pub array_count: usize,
    /// Bytes of the result block, which is the last of the block's outputs; 0 for none.
    pub result_bytes: usize,
}

// SAFETY: integers and pointers; the one version.
unsafe impl Versioned for hiplaunch_argument_block {
    const NAME: &'static str = "hiplaunch_argument_block";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_argument_block>()];
}

/// How the memory that handles among the arguments name is kept until the launch was enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// By being at it beside others: cheapest.
    Locks,
    /// By clones: where one of the handles is to be changed meanwhile.
    Clones,
}

/// What the argument blocks have.
struct Parts<'r, 'a> {
    patches: Arena<'r, Patch, 16>,
    arrays: Arena<'r, HostData<'a>, 8>,
}

/// Owners of the memory, where it is kept by clones.
struct Clones<'r> {
    blocks: Arena<'r, PoolBlock, 4>,
    views: Arena<'r, DeviceView<u8>, 2>,
}

/// Why there are no arguments.
enum Stop {
    /// Another call has an object to itself, or waits to, and nothing may be held while that is waited for.
    Busy,
    Failed(Failure),
}

impl From<Failure> for Stop {
    #[inline]
    fn from(failure: Failure) -> Stop {
        Stop::Failed(failure)
    }
}

/// Turns arguments into the launcher's. `'h` is how long what they lead to is kept.
struct Reader<'h, 'a, 'b, 'c, 'r, 'q> {
    stream: &'h Stream,
    owner: Owner,
    locks: &'h Arena<'r, Lock, 12>,
    /// Whether memory is kept by clones.
    clones: Option<&'h Clones<'c>>,
    parts: &'h Parts<'r, 'a>,
    blocks: &'b Arena<'q, ArgumentBlock<'h>, 2>,
}

/// As many arguments as [`read_common`] reads.
pub(super) const MOST_COMMON: usize = 12;

/// Reads the arguments where they are but numbers and buffers that can be had, as those of most launches are; false where
/// there is any other, or anything wrong.
///
/// # Safety
/// `locks` lives at least as long as the arguments are used.
#[inline(always)]
pub(super) unsafe fn read_common<'l>(
    args: &[hiplaunch_arg],
    owner: Owner,
    locks: &mut Few<'_, Lock, MOST_COMMON>,
    all: &mut Few<'_, Arg<'l>, MOST_COMMON>,
) -> bool {
    const SCALAR: u64 = hiplaunch_arg_kind::Scalar as u64;
    const BUFFER: u64 = hiplaunch_arg_kind::Buffer as u64;
    for arg in args {
        // The kind, with nothing in what is reserved.
        let kind = u64::from(arg.kind) | u64::from(arg.reserved) << 32;
        let pushed = if kind == SCALAR && (arg.size == 4 || arg.size == 8) {
            all.push(Arg::Scalar { bits: arg.bits, size: arg.size as u8 })
        } else if kind == BUFFER
            && let Some(held) = BUFFERS.quick(arg.data.cast::<hiplaunch_buffer>())
            && held.owner == owner
        {
            // SAFETY: a lock that is not kept goes at once, and then the argument is not used: false is returned. Those
            // that are kept live as long as the arguments are used: the caller's promise.
            let (lock, found) = unsafe { held.split() };
            locks.push(lock) && all.push(Arg::from(&found.value))
        } else {
            false
        };
        if !pushed {
            return false;
        }
    }
    true
}

/// Runs `launch` on the arguments, none of which allocates unless there are very many.
///
/// # Safety
/// Pointers in the arguments lead to what hiplaunch_arg_kind says; device addresses are good for what the kernel does.
#[inline(never)]
pub(super) unsafe fn with_args<R>(
    args: &[hiplaunch_arg],
    stream: &Stream,
    owner: Owner,
    hold: Hold,
    launch: impl FnOnce(&[Arg<'_>]) -> Result<R>,
) -> Result<R> {
    let mut launch = Some(launch);
    if hold == Hold::Locks {
        // SAFETY: the caller's promise.
        match unsafe { attempt(args, stream, owner, None, &mut launch) } {
            Ok(done) => return Ok(done),
            Err(Stop::Failed(failure)) => return Err(failure),
            // Clones can be waited for, as nothing is held meanwhile.
            Err(Stop::Busy) => {}
        }
    }
    // SAFETY: the caller's promise.
    unsafe { with_clones(args, stream, owner, &mut launch) }
}

/// # Safety
/// As [`with_args`].
#[cold]
#[inline(never)]
unsafe fn with_clones<R>(
    args: &[hiplaunch_arg],
    stream: &Stream,
    owner: Owner,
    launch: &mut Option<impl FnOnce(&[Arg<'_>]) -> Result<R>>,
) -> Result<R> {
    let (mut blocks, mut views) = (Room::new(), Room::new());
    let clones = Clones { blocks: Arena::new(&mut blocks), views: Arena::new(&mut views) };
    // SAFETY: the caller's promise.
    match unsafe { attempt(args, stream, owner, Some(&clones), launch) } {
        Ok(done) => Ok(done),
        Err(Stop::Failed(failure)) => Err(failure),
        Err(Stop::Busy) => Err(Failure::new(hiplaunch_status::Internal, "an argument's object is busy")),
    }
}

/// Takes `launch` unless it stops before.
///
/// # Safety
/// As [`with_args`].
#[inline(always)]
unsafe fn attempt<R>(
    args: &[hiplaunch_arg],
    stream: &Stream,
    owner: Owner,
    clones: Option<&Clones<'_>>,
    launch: &mut Option<impl FnOnce(&[Arg<'_>]) -> Result<R>>,
) -> std::result::Result<R, Stop> {
    let (mut locks, mut patches, mut arrays) = (Room::new(), Room::new(), Room::new());
    let locks = Arena::new(&mut locks);
    let parts = Parts { patches: Arena::new(&mut patches), arrays: Arena::new(&mut arrays) };
    let mut blocks: Room<ArgumentBlock<'_>, 2> = Room::new();
    let blocks = Arena::new(&mut blocks);
    let mut all: Room<Arg<'_>, 12> = Room::new();
    let all = Arena::new(&mut all);
    let reader = Reader { stream, owner, locks: &locks, clones, parts: &parts, blocks: &blocks };
    let all = all.fill(args.len(), |index| {
        // SAFETY: the caller's promise.
        unsafe { reader.any(&args[index]) }.map_err(|stop| match stop {
            Stop::Busy => Stop::Busy,
            Stop::Failed(failure) => Stop::Failed(failure.of_argument(index)),
        })
    })?;
    match launch.take() {
        Some(launch) => Ok(launch(all)?),
        None => Err(Failure::new(hiplaunch_status::Internal, "a launch was tried twice").into()),
    }
}

impl<'h, 'a, 'b> Reader<'h, 'a, 'b, '_, '_, '_>
where
    'a: 'h,
    'h: 'b,
{
    /// # Safety
    /// As [`with_args`].
    #[inline(always)]
    unsafe fn any(&self, arg: &hiplaunch_arg) -> std::result::Result<Arg<'b>, Stop> {
        reserved(arg.reserved, "hiplaunch_arg")?;
        // SAFETY: the caller's promise.
        let host = || unsafe { bytes(arg.data, arg.size, "data") };
        Ok(match enumerator(arg.kind)? {
            hiplaunch_arg_kind::Scalar => match arg.size {
                1 | 2 | 4 | 8 => Arg::Scalar { bits: arg.bits, size: arg.size as u8 },
                _ => {
                    let wrong = format!("a scalar of {} bytes: 1, 2, 4 or 8", arg.size);
                    return Err(Failure::invalid(wrong).into());
                }
            },
            hiplaunch_arg_kind::Value => Arg::Value(host()?),
            hiplaunch_arg_kind::Address => Arg::Pointer(DevicePtr(arg.bits)),
            hiplaunch_arg_kind::Destination => Arg::Destination,
            hiplaunch_arg_kind::HostIn => Arg::Host(HostData::In(host()?)),
            hiplaunch_arg_kind::HostInout => Arg::Host(HostData::InOut(host()?)),
            hiplaunch_arg_kind::HostOut => Arg::Host(HostData::Out(arg.size)),
            hiplaunch_arg_kind::Raw => Arg::Raw(host()?),
            hiplaunch_arg_kind::Buffer => self.buffer(arg.data.cast())?,
            hiplaunch_arg_kind::View => self.view(arg.data.cast())?,
            hiplaunch_arg_kind::ArgumentBlock => {
                // SAFETY: the caller's promise.
                let block = unsafe { self.block(arg.data.cast()) }?;
                self.blocks.put(block).map_or(Arg::null(), Arg::ArgumentBlock)
            }
        })
    }

    /// The buffer's memory; the launch notes its use.
    fn buffer(&self, handle: *const hiplaunch_buffer) -> std::result::Result<Arg<'h>, Stop> {
        Ok(match self.clones {
            None => Arg::from(self.held_buffer(handle)?),
            Some(clones) => {
                let (block, bytes) = self.cloned_buffer(clones, handle)?;
                match block {
                    Some(block) => Arg::Buffer(BufferArg::first_bytes(Some(block), bytes)),
                    // No memory, or memory that is not the pool's.
                    None => Arg::from(self.cloned_view(clones, handle)?),
                }
            }
        })
    }

    #[inline]
    fn held_buffer(
        &self,
        handle: *const hiplaunch_buffer,
    ) -> std::result::Result<&'h DeviceBuffer<u8>, Stop> {
        let held = BUFFERS.try_read(handle)?.ok_or(Stop::Busy)?;
        same_owner(self.owner, held.owner, "buffer")?;
        Ok(&kept_by(held, self.locks).value)
    }

    /// The buffer's memory, whose use by the stream is noted: on the buffer's own block, so that it is once only.
    fn cloned_buffer(
        &self,
        clones: &'h Clones<'_>,
        handle: *const hiplaunch_buffer,
    ) -> Result<(Option<&'h PoolBlock>, u64)> {
        let (block, bytes) = BUFFERS.look(handle, |found| {
            same_owner(self.owner, found.owner, "buffer")?;
            let block = found.value.block();
            if let Some(block) = block
                && self.stream.device() == found.value.device()
            {
                self.stream.record_use(block);
            }
            Ok::<_, Failure>((block.cloned(), found.value.bytes() as u64))
        })??;
        Ok((block.and_then(|block| clones.blocks.put(block)), bytes))
    }

    /// A view of all of a buffer, which keeps memory that is not the pool's.
    fn cloned_view(
        &self,
        clones: &'h Clones<'_>,
        handle: *const hiplaunch_buffer,
    ) -> Result<&'h DeviceView<u8>> {
        let view = BUFFERS.look(handle, |found| found.value.view())?;
        clones.views.put(view).ok_or_else(|| Failure::new(hiplaunch_status::Internal, "too many views"))
    }

    fn view(&self, handle: *const hiplaunch_view) -> std::result::Result<Arg<'h>, Stop> {
        let view = match self.clones {
            None => {
                let held = VIEWS.try_read(handle)?.ok_or(Stop::Busy)?;
                same_owner(self.owner, held.owner, "view")?;
                Some(&kept_by(held, self.locks).value.view)
            }
            Some(clones) => {
                let found = VIEWS.get(handle)?;
                same_owner(self.owner, found.owner, "view")?;
                clones.views.put(found.value.view)
            }
        };
        Ok(view.map_or(Arg::null(), Arg::from))
    }

    /// The address of a buffer that a patch names, which is kept like an argument's. The launch does not see that it is
    /// one, so its use is noted here.
    fn patched_buffer(&self, handle: *const hiplaunch_buffer) -> std::result::Result<DevicePtr, Stop> {
        let none = || Failure::invalid("a patch names a buffer without memory");
        let block = match self.clones {
            None => {
                let buffer = self.held_buffer(handle)?;
                if buffer.is_foreign() {
                    return Ok(buffer.ptr());
                }
                let block = buffer.block().ok_or_else(none)?;
                if self.stream.device() == buffer.device() {
                    self.stream.record_use(block);
                }
                block
            }
            Some(clones) => match self.cloned_buffer(clones, handle)?.0 {
                Some(block) => block,
                None => match self.cloned_view(clones, handle)?.ptr() {
                    DevicePtr::NULL => return Err(none().into()),
                    ptr => return Ok(ptr),
                },
            },
        };
        Ok(block.ptr())
    }

    /// # Safety
    /// As [`with_args`].
    #[inline(always)]
    unsafe fn block(
        &self,
        from: *const hiplaunch_argument_block,
    ) -> std::result::Result<ArgumentBlock<'h>, Stop> {
        // SAFETY: the caller's promise, for the struct and for what it leads to.
        let (block, block_bytes, patches, arrays) = unsafe {
            let block = versioned(from, "data")?;
            (
                block,
                bytes(block.bytes, block.size, "bytes")?,
                slice(block.patches, block.patch_count, "patches")?,
                slice(block.arrays, block.array_count, "arrays")?,
            )
        };
        let arrays = self.parts.arrays.fill(arrays.len(), |i| {
            let array = &arrays[i];
            reserved(array.reserved, "hiplaunch_array")?;
            // SAFETY: as above.
            let host = || unsafe { bytes(array.data, array.size, "data of an array") };
            Ok::<_, Failure>(match enumerator(array.kind)? {
                hiplaunch_arg_kind::HostIn => HostData::In(host()?),
                hiplaunch_arg_kind::HostInout => HostData::InOut(host()?),
                hiplaunch_arg_kind::HostOut => HostData::Out(array.size),
                _ => return Err(Failure::invalid("an array is host data: HOST_IN, HOST_INOUT or HOST_OUT")),
            })
        })?;
        let patches = self.parts.patches.fill(patches.len(), |i| {
            let patch = &patches[i];
            reserved(patch.reserved, "hiplaunch_patch")?;
            let target = match enumerator(patch.target)? {
                hiplaunch_patch_target::Result => PatchTarget::Result,
                hiplaunch_patch_target::Array => {
                    PatchTarget::Array(usize::try_from(patch.value).unwrap_or(usize::MAX))
                }
                hiplaunch_patch_target::Address => PatchTarget::Device(DevicePtr(patch.value)),
                hiplaunch_patch_target::Buffer => {
                    let handle = std::ptr::without_provenance(patch.value as usize);
                    PatchTarget::Device(self.patched_buffer(handle)?)
                }
            };
            Ok::<_, Stop>(Patch { offset: patch.offset, target })
        })?;
        Ok(ArgumentBlock { bytes: block_bytes, patches, arrays, result_bytes: block.result_bytes })
    }
}
