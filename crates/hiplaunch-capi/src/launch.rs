//! Launches.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use hiplaunch::launcher::{Arg, Destination, Kernel, KernelHandle, LaunchDims, Launcher, Staging, Stream};

use super::arena::{Few, Room};
use super::arguments::{Hold, MOST_COMMON, hiplaunch_arg, hiplaunch_dims, read_common, with_args};
use super::buffers::{BUFFERS, hiplaunch_buffer};
use super::handles::{Found, Lock, Owner, Reading};
use super::input::{bytes, enumeration, enumerator, given, slice};
use super::kernels::{KERNELS, KernelObject, hiplaunch_kernel};
use super::status::{Result, call, hiplaunch_status};
use super::streams::{STREAMS, StreamObject, hiplaunch_stream};
use super::tickets::{hand_out_beside_stream, hiplaunch_ticket};
use super::views::{VIEWS, hiplaunch_view, in_bytes};

/// How host data reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_staging {
    /// Copied to device scratch and back: right for what the kernel touches more than once.
    Copy = 0,
    /// The kernel reads and writes pinned host memory itself: no copies, right for small data touched once.
    Mapped = 1,
}
enumeration!(hiplaunch_staging: Copy, Mapped);

/// A kernel and a stream of one launcher, which stay as they are meanwhile.
struct Target {
    kernel: Reading<'static, KernelObject>,
    stream: Reading<'static, StreamObject>,
}

#[inline(always)]
fn target(kernel: *const hiplaunch_kernel, stream: *const hiplaunch_stream) -> Result<Target> {
    if let Some(kernel) = KERNELS.quick(kernel)
        && let Some(stream) = STREAMS.quick(stream)
    {
        return Ok(Target { kernel, stream });
    }
    waited_target(kernel, stream)
}

/// Every launch waits for these two in this order, and while it has them for no other that is held for long.
#[cold]
#[inline(never)]
fn waited_target(kernel: *const hiplaunch_kernel, stream: *const hiplaunch_stream) -> Result<Target> {
    let kernel = KERNELS.read(kernel)?;
    Ok(Target { kernel, stream: STREAMS.read(stream)? })
}

impl Target {
    #[inline(always)]
    fn get(&self) -> Result<(&Found<KernelObject>, &StreamObject)> {
        self.kernel.owner.same(self.stream.owner, "stream")?;
        Ok((&self.kernel, &self.stream.value))
    }
}

/// Launches a kernel: copies what the arguments stage, the kernel, and copies its outputs back, all in the order of the
/// stream. Never waits for the device, but for staging memory when the ring is full. In steady state it allocates nothing.
///
/// `ticket` may be null: then nobody reads the outputs.
///
/// What the arguments say is trusted: device addresses have to be good for what the kernel does with them until it has
/// finished. Sizes and kinds are checked against the code object.
///
/// Ownership: host data and the arguments are copied at the call; the caller closes the ticket. Threads: any, for any
/// kernel and stream. Errors: HIPLAUNCH_STATUS_LAUNCH, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER and
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT before any device call; HIPLAUNCH_STATUS_OUT_OF_MEMORY, HIPLAUNCH_STATUS_DRIVER;
/// HIPLAUNCH_STATUS_DEVICE_LOST. The launcher stays usable after all but the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_launch(
    kernel: *const hiplaunch_kernel,
    stream: *const hiplaunch_stream,
    dims: Option<&hiplaunch_dims>,
    args: *const hiplaunch_arg,
    arg_count: usize,
    ticket: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> hiplaunch_status {
    call("hiplaunch_launch", || {
        // SAFETY: the caller's promise.
        unsafe { launch(kernel, stream, dims, Staging::Copy, (args, arg_count), ticket) }
    })
}

/// As hiplaunch_launch, with host data staged as a hiplaunch_staging says.
///
/// Ownership, threads: as hiplaunch_launch. Errors: as hiplaunch_launch; HIPLAUNCH_STATUS_INVALID_ARGUMENT where the
/// driver has no mapped memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_launch_staged(
    kernel: *const hiplaunch_kernel,
    stream: *const hiplaunch_stream,
    dims: Option<&hiplaunch_dims>,
    staging: u32,
    args: *const hiplaunch_arg,
    arg_count: usize,
    ticket: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> hiplaunch_status {
    call("hiplaunch_launch_staged", || {
        let staging = match enumerator(staging)? {
            hiplaunch_staging::Copy => Staging::Copy,
            hiplaunch_staging::Mapped => Staging::Mapped,
        };
        // SAFETY: the caller's promise.
        unsafe { launch(kernel, stream, dims, staging, (args, arg_count), ticket) }
    })
}

/// # Safety
/// As for [`hiplaunch_launch`].
#[inline]
unsafe fn launch(
    kernel: *const hiplaunch_kernel,
    stream: *const hiplaunch_stream,
    dims: Option<&hiplaunch_dims>,
    staging: Staging,
    (args, count): (*const hiplaunch_arg, usize),
    ticket: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> Result<()> {
    let dims = given(dims, "dims")?.get();
    let target = target(kernel, stream)?;
    let (Found { owner, value: KernelObject { handle, kernel } }, StreamObject { stream, .. }) =
        target.get()?;
    // SAFETY: the caller's promises for arrays, for what arguments lead to, and for the kernel.
    unsafe {
        let args = slice(args, count, "args")?;
        // What is common in place, at its fewest instructions: `with_args` does it as well.
        let (mut locks, mut all) = (Room::new(), Room::new());
        let mut locks: Few<'_, Lock, MOST_COMMON> = Few::new(&mut locks);
        let mut all: Few<'_, Arg<'_>, MOST_COMMON> = Few::new(&mut all);
        if read_common(args, *owner, &mut locks, &mut all) {
            return go((*handle, kernel), stream, (dims, staging), all.all(), *owner, ticket);
        }
        drop(locks);
        with_args(args, stream, *owner, Hold::Locks, |args| {
            go((*handle, kernel), stream, (dims, staging), args, *owner, ticket)
        })
    }
}

/// # Safety
/// As [`Launcher::launch_found`].
#[inline(always)]
unsafe fn go(
    kernel: (KernelHandle, &Kernel),
    stream: &Stream,
    (dims, staging): (LaunchDims, Staging),
    args: &[Arg<'_>],
    owner: Owner,
    ticket: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    match unsafe { Launcher::launch_found(kernel, stream, dims, staging, args) } {
        Ok(new) => hand_out_beside_stream(owner, new, ticket),
        Err(error) => Err(error.into()),
    }
}

/// Launches a kernel with arguments packed by the caller: the kernarg segment from its start to the end of the last
/// explicit argument, at the metadata's offsets.
///
/// A struct with the arguments as its fields will do, `size` being its sizeof: bytes behind the last explicit argument are
/// ignored, up to the kernarg segment's size or the struct's padding, whichever ends later. Hidden arguments are never
/// taken from them. Any other size is HIPLAUNCH_STATUS_LAUNCH.
///
/// Ownership, threads, errors: as hiplaunch_launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_launch_packed(
    kernel: *const hiplaunch_kernel,
    stream: *const hiplaunch_stream,
    dims: Option<&hiplaunch_dims>,
    packed: *const c_void,
    size: usize,
    ticket: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> hiplaunch_status {
    call("hiplaunch_launch_packed", || {
        let dims = given(dims, "dims")?.get();
        let target = target(kernel, stream)?;
        let (Found { owner, value: KernelObject { handle, .. } }, StreamObject { launcher, stream }) =
            target.get()?;
        // SAFETY: the caller's promises for arrays and for the kernel.
        let new = unsafe {
            let packed = bytes(packed, size, "packed")?;
            launcher.launch_packed(*handle, stream, dims, packed)?
        };
        hand_out_beside_stream(*owner, new, ticket)
    })
}

/// Launches a kernel whose result goes to a buffer: one argument is HIPLAUNCH_ARG_KIND_DESTINATION, for which its address
/// stands. The result is `shape`, `rank` extents, of elements of `element` bytes. Where the buffer has room on the stream's
/// device it is used as it is, and only its length changes; otherwise it gets new memory, and the old goes back in stream
/// order. An input in the destination's memory is refused, unless the kernel is declared in place and both begin at the
/// same byte.
///
/// Ownership, threads: as hiplaunch_launch. Errors: as hiplaunch_launch; the buffer is then as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_launch_into(
    kernel: *const hiplaunch_kernel,
    stream: *const hiplaunch_stream,
    dims: Option<&hiplaunch_dims>,
    args: *const hiplaunch_arg,
    arg_count: usize,
    destination: *const hiplaunch_buffer,
    element: usize,
    rank: usize,
    shape: *const usize,
    ticket: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> hiplaunch_status {
    call("hiplaunch_launch_into", || {
        let dims = given(dims, "dims")?.get();
        let target = target(kernel, stream)?;
        let (Found { owner, value: KernelObject { handle, .. } }, StreamObject { launcher, stream }) =
            target.get()?;
        owner.same(BUFFERS.look(destination, |found| found.owner)?, "destination")?;
        // SAFETY: the caller's promises for arrays, for what arguments lead to, and for the kernel.
        let new = unsafe {
            let shape = in_bytes(slice(shape, rank, "shape")?, element);
            let args = slice(args, arg_count, "args")?;
            with_args(args, stream, *owner, Hold::Clones, |args| {
                // The arguments have owners of their own by now: nothing else is looked up under this lock.
                BUFFERS.with(destination, |found| {
                    let to = Destination::Buffer(&mut found.value);
                    Ok(launcher.launch_into(*handle, stream, dims, args, to, &shape)?)
                })?
            })
        }?;
        hand_out_beside_stream(*owner, new, ticket)
    })
}

/// As hiplaunch_launch_into, with a view as the destination: it stays where it is, and is refused unless contiguous, of
/// exactly that shape and size of elements, on the stream's device.
///
/// Ownership, threads, errors: as hiplaunch_launch_into.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_launch_into_view(
    kernel: *const hiplaunch_kernel,
    stream: *const hiplaunch_stream,
    dims: Option<&hiplaunch_dims>,
    args: *const hiplaunch_arg,
    arg_count: usize,
    destination: *const hiplaunch_view,
    element: usize,
    rank: usize,
    shape: *const usize,
    ticket: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> hiplaunch_status {
    call("hiplaunch_launch_into_view", || {
        let dims = given(dims, "dims")?.get();
        let target = target(kernel, stream)?;
        let (Found { owner, value: KernelObject { handle, .. } }, StreamObject { launcher, stream }) =
            target.get()?;
        let to = VIEWS.get(destination)?;
        owner.same(to.owner, "destination")?;
        let view = to.value.view;
        // SAFETY: the caller's promises for arrays, for what arguments lead to, and for the kernel.
        let new = unsafe {
            let shape = in_bytes(slice(shape, rank, "shape")?, element);
            let args = slice(args, arg_count, "args")?;
            with_args(args, stream, *owner, Hold::Clones, |args| {
                let to = Destination::View(&view);
                Ok(launcher.launch_into(*handle, stream, dims, args, to, &shape)?)
            })
        }?;
        hand_out_beside_stream(*owner, new, ticket)
    })
}
