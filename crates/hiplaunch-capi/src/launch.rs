//! Launches.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use hiplaunch::launcher::{Arg, Kernel, Launch, Staging, Stream};

use super::arena::{Few, Room};
use super::arguments::{Hold, MOST_COMMON, hiplaunch_arg, hiplaunch_dims, read_common, with_args};
use super::buffers::{BUFFERS, hiplaunch_buffer};
use super::handles::{Found, Lock, Owner, Reading, same_owner};
use super::input::{Versioned, bytes, enumeration, enumerator, given, slice, versioned};
use super::kernels::{KERNELS, KernelObject, hiplaunch_kernel};
use super::status::{Failure, Result, call, hiplaunch_status};
use super::streams::{STREAMS, hiplaunch_stream};
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

/// One launch: its dimensions, its arguments, and how host data and the result travel. Set struct_size to
/// sizeof(hiplaunch_launch_options), the rest to zero, and then what differs from that; all parts combine.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_launch_options {
    /// sizeof(hiplaunch_launch_options).
    pub struct_size: usize,
    /// Grid, block and dynamic LDS.
    pub dims: hiplaunch_dims,
    /// A hiplaunch_staging.
    pub staging: u32,
    /// The arguments, one for each of the kernel's explicit parameters.
    pub args: *const hiplaunch_arg,
    /// How many.
    pub arg_count: usize,
    /// Arguments packed by the caller, instead of `args`: the kernarg segment from its start to the end of the last
    /// explicit argument, at the metadata's offsets. A struct with the arguments as its fields will do, packed_size being
    /// its sizeof: bytes behind the last explicit argument are ignored, up to the kernarg segment's size or the struct's
    /// padding, whichever ends later. Hidden arguments are never taken from them. Null for `args`.
    pub packed: *const c_void,
    /// How many bytes.
    pub packed_size: usize,
    /// A buffer for the result, or null. Where it has room for the result on the stream's device it is used as it is, and
    /// only its length changes; otherwise it gets new memory, and the old goes back in stream order. An input in the
    /// destination's memory is refused, unless the kernel is declared in place and both begin at the same byte. After an
    /// error the buffer is as it was.
    pub destination: *const hiplaunch_buffer,
    /// A view for the result instead, or null: it stays where it is, and is refused unless contiguous, of exactly the
    /// result's shape and size of elements, on the stream's device.
    pub destination_view: *const hiplaunch_view,
    /// With packed arguments, which parameter takes the destination's address, counted from 0; what `packed` has there is
    /// ignored. Among `args`, the one that is HIPLAUNCH_ARG_KIND_DESTINATION takes it.
    pub destination_parameter: usize,
    /// The result's extents, outermost first.
    pub shape: *const usize,
    /// How many.
    pub rank: usize,
    /// Bytes of an element of the result.
    pub element: usize,
    /// 1 for a cooperative launch, else 0: all workgroups are on the device at the same time, so that the kernel can wait
    /// for the whole grid (cooperative groups' grid.sync). A grid that does not fit is HIPLAUNCH_STATUS_LAUNCH, whose message has the most
    /// workgroups that do. HIPLAUNCH_STATUS_DRIVER where the driver has no such launches, as HIP before 5.5.
    pub cooperative: u32,
}

// SAFETY: integers and pointers; a version ends where the next one's fields begin.
unsafe impl Versioned for hiplaunch_launch_options {
    const NAME: &'static str = "hiplaunch_launch_options";
    const SIZES: &'static [usize] =
        &[std::mem::offset_of!(hiplaunch_launch_options, cooperative), size_of::<hiplaunch_launch_options>()];
}

/// A kernel and a stream of one launcher, which stay as they are meanwhile.
struct Target {
    kernel: Reading<'static, KernelObject>,
    stream: Reading<'static, Stream>,
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
    fn get(&self) -> Result<(&Found<KernelObject>, &Stream)> {
        same_owner(self.kernel.owner, self.stream.owner, "stream")?;
        Ok((&self.kernel, &self.stream.value))
    }
}

/// Launches a kernel: copies what the arguments stage, the kernel, and copies its outputs back, all in the order of the
/// stream. Never waits for the device, but for staging memory when the ring is full. In steady state it allocates nothing.
/// hiplaunch_submit takes more than dimensions and arguments.
///
/// `ticket` may be null: then the launch must have no outputs, as nobody could read them, and what goes wrong while the
/// kernel runs comes out of a later call that waits.
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
        let dims = given(dims, "dims")?.get();
        let target = target(kernel, stream)?;
        let (Found { owner, value: KernelObject { kernel } }, stream) = target.get()?;
        // SAFETY: the caller's promises for arrays, for what arguments lead to, and for the kernel.
        unsafe {
            let args = slice(args, arg_count, "args")?;
            // What is common in place, at its fewest instructions: `with_args` does it as well.
            let (mut locks, mut all) = (Room::new(), Room::new());
            let mut locks: Few<'_, Lock, MOST_COMMON> = Few::new(&mut locks);
            let mut all: Few<'_, Arg<'_>, MOST_COMMON> = Few::new(&mut all);
            if read_common(args, *owner, &mut locks, &mut all) {
                return go(kernel, stream, Launch::new(dims).args(all.all()), *owner, ticket);
            }
            drop(locks);
            with_args(args, stream, *owner, Hold::Locks, |args| {
                go(kernel, stream, Launch::new(dims).args(args), *owner, ticket)
            })
        }
    })
}

/// Launches a kernel as `options` say; hiplaunch_launch is the short form for dimensions and arguments alone.
///
/// `ticket` may be null, as there: the result is then in the destination or in the arguments' buffers.
///
/// Ownership, threads: as hiplaunch_launch. Errors: as hiplaunch_launch; HIPLAUNCH_STATUS_STRUCT_SIZE;
/// HIPLAUNCH_STATUS_LAUNCH for packed arguments of another size and for a destination that is refused;
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT for both `args` and `packed` or two destinations, and for HIPLAUNCH_STAGING_MAPPED
/// where the driver has no mapped memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_submit(
    kernel: *const hiplaunch_kernel,
    stream: *const hiplaunch_stream,
    options: *const hiplaunch_launch_options,
    ticket: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> hiplaunch_status {
    call("hiplaunch_submit", || {
        // SAFETY: the caller's promise for versioned structs.
        let options = unsafe { versioned(options, "options") }?;
        let staging = match enumerator(options.staging)? {
            hiplaunch_staging::Copy => Staging::Copy,
            hiplaunch_staging::Mapped => Staging::Mapped,
        };
        let cooperative = match options.cooperative {
            0 => false,
            1 => true,
            n => return Err(Failure::invalid(format!("`cooperative` is {n}; it is 0 or 1"))),
        };
        let target = target(kernel, stream)?;
        let (Found { owner, value: KernelObject { kernel } }, stream) = target.get()?;
        // SAFETY: the caller's promises for arrays.
        let (args, shape, packed) = unsafe {
            let packed = bytes(options.packed, options.packed_size, "packed")?;
            (
                slice(options.args, options.arg_count, "args")?,
                slice(options.shape, options.rank, "shape")?,
                (!options.packed.is_null()).then_some(packed),
            )
        };
        if packed.is_some() && !args.is_empty() {
            return Err(Failure::invalid("`args` and `packed` are both given; give one of them"));
        }
        let description = Description { options: &options, staging, cooperative, packed };
        let shape = in_bytes(shape, options.element);
        let (buffer, view) = (options.destination, options.destination_view);
        // SAFETY: the caller's promises for what arguments lead to, and for the kernel.
        unsafe {
            match (buffer.is_null(), view.is_null()) {
                (true, true) => with_args(args, stream, *owner, Hold::Locks, |args| {
                    go(kernel, stream, description.with(args), *owner, ticket)
                }),
                (false, true) => {
                    same_owner(*owner, BUFFERS.look(buffer, |found| found.owner)?, "destination")?;
                    with_args(args, stream, *owner, Hold::Clones, |args| {
                        // The arguments have owners of their own by now: no other object is waited for under this lock.
                        BUFFERS.with(buffer, |found| {
                            let launch = description.with(args).destination(&mut found.value, &shape);
                            go(kernel, stream, description.at(launch), *owner, ticket)
                        })?
                    })
                }
                (true, false) => {
                    let to = VIEWS.get(view)?;
                    same_owner(*owner, to.owner, "destination_view")?;
                    with_args(args, stream, *owner, Hold::Clones, |args| {
                        let launch = description.with(args).destination(&to.value.view, &shape);
                        go(kernel, stream, description.at(launch), *owner, ticket)
                    })
                }
                (false, false) => {
                    let both = "`destination` and `destination_view` are both given; give one of them";
                    Err(Failure::invalid(both))
                }
            }
        }
    })
}

/// What C said of a launch, but for its arguments' objects and its destination.
#[derive(Clone, Copy)]
struct Description<'a> {
    options: &'a hiplaunch_launch_options,
    staging: Staging,
    cooperative: bool,
    packed: Option<&'a [u8]>,
}

impl<'a> Description<'a> {
    fn with<'b>(&self, args: &'b [Arg<'b>]) -> Launch<'b>
    where
        'a: 'b,
    {
        let mut launch = Launch::new(self.options.dims.get()).staging(self.staging);
        if self.cooperative {
            launch = launch.cooperative();
        }
        match self.packed {
            Some(packed) => launch.packed(packed),
            None => launch.args(args),
        }
    }

    /// The launch with the parameter of its destination.
    fn at<'b>(&self, launch: Launch<'b>) -> Launch<'b> {
        match self.packed {
            Some(_) => launch.destination_parameter(self.options.destination_parameter),
            None => launch,
        }
    }
}

/// # Safety
/// As [`hiplaunch::Launcher::submit`].
#[inline(always)]
unsafe fn go(
    kernel: &Kernel,
    stream: &Stream,
    launch: Launch<'_>,
    owner: Owner,
    ticket: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match ticket {
            None => match kernel.enqueue(stream, launch) {
                Ok(()) => Ok(()),
                Err(error) => Err(error.into()),
            },
            Some(out) => match kernel.submit(stream, launch) {
                Ok(new) => hand_out_beside_stream(owner, new, out),
                Err(error) => Err(error.into()),
            },
        }
    }
}
