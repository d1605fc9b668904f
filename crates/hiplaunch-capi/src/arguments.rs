//! The arguments of a launch: converts C's structs to the launcher's, and keeps the memory of the handles alive
//! meanwhile.

use std::ffi::c_void;

use hip_driver::DevicePtr;
use hiplaunch::Stream;
use hiplaunch::launcher::{Arg, ArgumentBlock, BufferArg, HostData, LaunchDims, Patch, PatchTarget};
use hiplaunch::memory::{DeviceBuffer, DeviceView, PoolBlock};

use super::arena::{Arena, Room};
use super::buffers::{BUFFERS, hiplaunch_buffer};
use super::handles::{Lock, Owner, kept_by, same_owner};
use super::input::{Versioned, bytes, enumeration, enumerator, reserved, slice, versioned};
use super::status::{Failure, Result, hiplaunch_status};
use super::views::{VIEWS, hiplaunch_view};

/// Grid, block and dynamic LDS of a launch.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct hiplaunch_dims {
    /// The number of workgroups in x, y and z. With 0 in any axis, nothing is launched.
    pub grid: [u32; 3],
    /// The number of work-items of a workgroup in x, y and z.
    pub block: [u32; 3],
    /// The bytes of dynamic LDS of a workgroup. With 0, a kernel that has an LDS layout gets the layout's total.
    pub dynamic_lds: u32,
}

impl hiplaunch_dims {
    #[inline]
    pub(super) fn get(&self) -> LaunchDims {
        bytemuck::must_cast(*self)
    }
}

/// The kind of an argument. In parentheses are the fields of hiplaunch_arg that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_arg_kind {
    /// A number of `size` 1, 2, 4 or 8 bytes, in the low bytes of `bits`. (bits, size)
    Scalar = 0,
    /// A struct or any other value, in memory order. (data, size)
    Value = 1,
    /// A device address for a pointer parameter. The pool does not see that the launch uses this memory. (bits)
    Address = 2,
    /// A hiplaunch_buffer for a pointer parameter: `data` is its handle. The buffer may be closed as soon as the launch
    /// has returned. (data)
    Buffer = 3,
    /// A hiplaunch_view for a pointer parameter, the address of its first element: `data` is its handle. (data)
    View = 4,
    /// The address of the launch's destination (hiplaunch_launch_options).
    Destination = 5,
    /// A host array that the kernel reads. The call copies it. (data, size)
    HostIn = 6,
    /// A host array that the kernel reads and writes. The call copies it; the result is an output of the ticket.
    /// (data, size)
    HostInout = 7,
    /// A host array that the kernel writes: an output of the ticket. (size)
    HostOut = 8,
    /// An argument block for a pointer parameter: `data` is a hiplaunch_argument_block*. (data)
    ArgumentBlock = 9,
    /// Bytes for a parameter of any kind. Only their number is checked. (data, size)
    Raw = 10,
}
enumeration!(hiplaunch_arg_kind: Scalar, Value, Address, Buffer, View, Destination, HostIn, HostInout, HostOut, ArgumentBlock, Raw);

/// One argument of a launch, in the order of the kernel's parameters. The functions hiplaunch_arg_f32 and so on return
/// one.
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

/// A host array of an argument block, to which the block's patches refer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_array {
    /// HIPLAUNCH_ARG_KIND_HOST_IN, _HOST_INOUT or _HOST_OUT.
    pub kind: u32,
    /// 0.
    pub reserved: u32,
    /// The bytes on the host. Ignored for HIPLAUNCH_ARG_KIND_HOST_OUT.
    pub data: *const c_void,
    /// The number of bytes.
    pub size: usize,
}

/// The address that a patch writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_patch_target {
    /// The address of the result block.
    Result = 0,
    /// The address of the array whose index is `value`.
    Array = 1,
    /// The device address `value`.
    Address = 2,
    /// The address of the hiplaunch_buffer whose handle, as a number, is `value`. The buffer may be closed as soon as
    /// the launch has returned.
    Buffer = 3,
}
enumeration!(hiplaunch_patch_target: Result, Array, Address, Buffer);

/// Eight bytes of an argument block into which the library writes a device address.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_patch {
    /// The offset of the eight bytes in the block.
    pub offset: usize,
    /// A hiplaunch_patch_target.
    pub target: u32,
    /// 0.
    pub reserved: u32,
    /// See hiplaunch_patch_target.
    pub value: u64,
}

/// An argument block: bytes that a kernel reads through one pointer, with addresses that the library writes into them.
/// The kernel must not write the block.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_argument_block {
    /// sizeof(hiplaunch_argument_block).
    pub struct_size: usize,
    /// The bytes of the block. The bytes that a patch writes are ignored.
    pub bytes: *const c_void,
    /// The number of bytes.
    pub size: usize,
    /// The patches, in ascending order of their offsets. They must not overlap.
    pub patches: *const hiplaunch_patch,
    /// The number of patches.
    pub patch_count: usize,
    /// Host arrays to which patches refer.
    pub arrays: *const hiplaunch_array,
    /// The number of arrays.
    pub array_count: usize,
    /// The number of bytes of the result block, which is the last of the argument block's outputs; 0 for none.
    pub result_bytes: usize,
}

// SAFETY: integers and pointers; the one version.
unsafe impl Versioned for hiplaunch_argument_block {
    const NAME: &'static str = "hiplaunch_argument_block";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_argument_block>()];
}

/// How the memory of the buffers and views among the arguments is kept alive until the launch is enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// By read locks on the handles, which other readers may share. This is the cheapest.
    Locks,
    /// By clones of the objects, because the launch changes one of the handles' objects meanwhile.
    Clones,
}

/// The patches and host arrays of all argument blocks.
struct Parts<'r, 'a> {
    patches: Arena<'r, Patch, 16>,
    arrays: Arena<'r, HostData<'a>, 8>,
}

/// The clones that keep memory alive with [`Hold::Clones`].
struct Clones<'r> {
    blocks: Arena<'r, PoolBlock, 4>,
    views: Arena<'r, DeviceView<u8>, 2>,
}

/// Why the arguments could not be read.
enum Stop {
    /// Another call writes an object, or waits to write it. This call must release its locks before it waits for it.
    Busy,
    Failed(Failure),
}

impl From<Failure> for Stop {
    #[inline]
    fn from(failure: Failure) -> Stop {
        Stop::Failed(failure)
    }
}

/// Converts arguments to the launcher's. The objects of their handles are kept alive for `'h`.
struct Reader<'h, 'a, 'b, 'c, 'r, 'q> {
    stream: &'h Stream,
    owner: Owner,
    locks: &'h Arena<'r, Lock, 12>,
    /// With [`Hold::Clones`], the storage of the clones.
    clones: Option<&'h Clones<'c>>,
    parts: &'h Parts<'r, 'a>,
    blocks: &'b Arena<'q, ArgumentBlock<'h>, 2>,
}

/// Runs `launch` on the converted arguments. Converting them allocates only if there are very many.
///
/// # Safety
/// Pointers in the arguments must point to what hiplaunch_arg_kind says, and device addresses must be valid for what
/// the kernel does with them.
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
            // With clones, nothing is locked while this call waits.
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

/// Converts the arguments and runs `launch`. Leaves `launch` in place if converting them fails.
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

    /// The buffer as an argument. The launch records its use.
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

    /// The buffer's pool block and its length in bytes. Records the stream's use on the buffer's own block, so that it
    /// is recorded only once.
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

    /// The address of a buffer that a patch names. The buffer is kept alive as an argument is. The launch sees only its
    /// address, so this function records its use.
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
        // SAFETY: the caller's promise, for the struct and for what it points to.
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
            // SAFETY: the caller's promise for what the struct points to.
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
