//! Launches.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use hiplaunch::Stream;
use hiplaunch::launcher::{Arg, Kernel, Launch, Staging};

use super::arguments::{Hold, hiplaunch_arg, hiplaunch_dims, with_args};
use super::buffers::{BUFFERS, hiplaunch_buffer};
use super::handles::{Found, Owner, Reading, same_owner};
use super::input::{Versioned, bytes, enumeration, enumerator, given, slice, versioned};
use super::kernels::{KERNELS, KernelObject, hiplaunch_kernel};
use super::packed::Place;
use super::status::{Failure, Result, call, hiplaunch_status};
use super::streams::{STREAMS, hiplaunch_stream};
use super::tickets::{hand_out_beside_stream, hiplaunch_ticket};
use super::views::{VIEWS, hiplaunch_view, in_bytes};

/// How a kernel accesses argument blocks, host arrays and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_staging {
    /// They are copied to device scratch and back. Use it for data that the kernel accesses more than once.
    Copy = 0,
    /// The kernel reads and writes pinned host memory itself, without copies. Use it for small data that the kernel
    /// accesses once.
    Mapped = 1,
}
enumeration!(hiplaunch_staging: Copy, Mapped);

/// The description of one launch: dimensions, arguments, staging and destination. Set struct_size to
/// sizeof(hiplaunch_launch_options) and all other fields to zero, and then the fields that differ. All parts combine.
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
    /// The number of arguments.
    pub arg_count: usize,
    /// Packed arguments, instead of `args`: the kernarg segment from its start to the end of the last explicit
    /// argument, at the metadata's offsets. A struct with the arguments as its fields has this form, and packed_size is
    /// then its sizeof: bytes after the last explicit argument are ignored, up to the kernarg segment's size or the
    /// struct's padding, whichever ends later. Hidden arguments are never read from them. Null to use `args`.
    pub packed: *const c_void,
    /// The number of packed bytes.
    pub packed_size: usize,
    /// A buffer for the result, or null. If its memory is large enough and on the stream's device, only its length
    /// changes. Otherwise it gets new memory, and the old memory returns to the pool in stream order. An input that
    /// overlaps the destination is refused, unless the kernel is declared in place and both begin at the same byte.
    /// After an error, the buffer is as it was.
    pub destination: *const hiplaunch_buffer,
    /// A view for the result, instead of a buffer, or null. The view must be contiguous, on the stream's device, and
    /// have exactly the result's shape and size of elements.
    pub destination_view: *const hiplaunch_view,
    /// With packed arguments, the index of the parameter that gets the destination's address, from 0; its bytes in
    /// `packed` are ignored. With `args`, the argument of kind HIPLAUNCH_ARG_KIND_DESTINATION gets it.
    pub destination_parameter: usize,
    /// The result's extents, outermost first.
    pub shape: *const usize,
    /// The number of extents.
    pub rank: usize,
    /// The number of bytes of an element of the result.
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

/// The kernel and the stream of a launch, locked for reading.
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

/// Waits for the kernel and then for the stream. Every launch waits in this order, and waits for no other object that a
/// call may hold for long while it has the two.
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

/// Launches a kernel: enqueues the copies to the device, the kernel, and the copies of its outputs to the host, in the
/// order of the stream. Waits only if the staging ring is full. In the steady state it allocates nothing.
/// hiplaunch_submit has more options.
///
/// `ticket` may be null if the launch has no outputs. A later call that waits then returns an error of the running
/// kernel.
///
/// The sizes and kinds of the arguments are checked against the code object. Device addresses are trusted: they must be
/// valid for what the kernel does with them until it has finished.
///
/// Ownership: the call copies host data and arguments; the caller closes the ticket. Threads: any, for any kernel and
/// stream. Errors: HIPLAUNCH_STATUS_LAUNCH, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER and
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT before any device call; HIPLAUNCH_STATUS_OUT_OF_MEMORY, HIPLAUNCH_STATUS_DRIVER;
/// HIPLAUNCH_STATUS_DEVICE_LOST. The launcher stays usable after all errors but the last.
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
        let dims = given(dims, "dims")?;
        let target = target(kernel, stream)?;
        let (Found { owner, value: KernelObject { kernel, parameters } }, stream) = target.get()?;
        // SAFETY: the caller's promises for arrays, for what arguments point to, and for the kernel.
        unsafe {
            let args = slice(args, arg_count, "args")?;
            let mut place = Place::new();
            if let Some(parameters) = parameters
                && let Some(packed) = place.pack(args, parameters, *owner)
            {
                let launch = Launch::new(dims.get()).packed_with(packed.bytes(), packed.buffers());
                return go(kernel, stream, launch, *owner, ticket);
            }
            with_args(args, stream, *owner, Hold::Locks, |args| {
                go(kernel, stream, Launch::new(dims.get()).args(args), *owner, ticket)
            })
        }
    })
}

/// Launches a kernel as `options` describe. hiplaunch_launch is the short form for dimensions and arguments alone.
///
/// `ticket` may be null, as for hiplaunch_launch: the results are then in the destination or in the arguments' buffers.
///
/// Ownership, threads: as hiplaunch_launch. Errors: as hiplaunch_launch; HIPLAUNCH_STATUS_STRUCT_SIZE;
/// HIPLAUNCH_STATUS_LAUNCH for packed arguments of another size and for a destination that is refused;
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT for both `args` and `packed`, for two destinations, and for
/// HIPLAUNCH_STAGING_MAPPED if the driver has no mapped memory.
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
        let (Found { owner, value: KernelObject { kernel, .. } }, stream) = target.get()?;
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
        // SAFETY: the caller's promises for what arguments point to, and for the kernel.
        unsafe {
            match (buffer.is_null(), view.is_null()) {
                (true, true) => with_args(args, stream, *owner, Hold::Locks, |args| {
                    go(kernel, stream, description.with(args), *owner, ticket)
                }),
                (false, true) => {
                    same_owner(*owner, BUFFERS.look(buffer, |found| found.owner)?, "destination")?;
                    with_args(args, stream, *owner, Hold::Clones, |args| {
                        // The arguments are clones by now, so no other object is waited for under this lock.
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

/// What C's options say of a launch, without arguments and destination.
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

    /// Returns the launch with the parameter that gets the destination's address.
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
