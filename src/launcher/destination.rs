//! Launches that write their result to a destination of the caller.

use bytemuck::Pod;

use crate::buffer::{DeviceBuffer, DeviceView, Layout, elements};
use crate::code::{DeviceKernel, ParameterKind};
use crate::device::Device;
use crate::error::{LaunchProblem, Result};
use crate::stream::Stream;

use super::args::{Arg, BufferArg, HostData, PatchTarget};
use super::description::Launch;
use super::kernel::Kernel;
use super::launch::{Arguments, DestinationArg, KernelRef, LaunchResult, launch_on};

/// Device memory of the caller into which a launch writes its result. See
/// [`Launch::destination`](crate::Launch::destination).
///
/// `From` creates one from a buffer, an `Option` of a buffer, or a view.
#[derive(Debug)]
pub struct Destination<'d>(DestinationKind<'d>);

enum DestinationKind<'d> {
    /// A buffer whose memory a launch may replace.
    Buffer(&'d mut (dyn Resizable + 'static)),
    /// A view, whose memory stays the same.
    View { layout: &'d Layout, device: &'d Device, target: BufferArg<'d> },
}

impl std::fmt::Debug for DestinationKind<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DestinationKind::Buffer(_) => f.write_str("Buffer"),
            DestinationKind::View { target, .. } => f.debug_tuple("View").field(&target.ptr()).finish(),
        }
    }
}

/// A destination, the shape of the result, and the parameter that takes its address.
#[derive(Debug)]
pub(super) struct Placement<'d> {
    /// `None` where the caller gave only a parameter.
    pub(super) to: Option<Destination<'d>>,
    pub(super) shape: &'d [usize],
    pub(super) parameter: Option<usize>,
}

impl<'d, T: Pod> From<&'d mut DeviceBuffer<T>> for Destination<'d> {
    fn from(buffer: &'d mut DeviceBuffer<T>) -> Self {
        Destination(DestinationKind::Buffer(buffer))
    }
}

impl<'d, T: Pod> From<&'d mut Option<DeviceBuffer<T>>> for Destination<'d> {
    fn from(buffer: &'d mut Option<DeviceBuffer<T>>) -> Self {
        Destination(DestinationKind::Buffer(buffer))
    }
}

impl<'d, T: Pod> From<&'d DeviceView<T>> for Destination<'d> {
    fn from(view: &'d DeviceView<T>) -> Self {
        Destination(DestinationKind::View {
            layout: view.layout(),
            device: view.device(),
            target: BufferArg::from(view),
        })
    }
}

/// Memory for a result: the destination's own, or new.
struct Room<'a> {
    target: BufferArg<'a>,
    /// Whether it was allocated for this launch, so that no input overlaps it.
    is_new: bool,
}

/// A function that launches the kernel with the result in the given memory.
type Enqueue<'e> = &'e mut dyn FnMut(Room<'_>) -> Result<()>;

/// A function that checks the launch before memory is allocated for its result.
type Check<'e> = &'e dyn Fn() -> Result<()>;

/// A buffer of any element type, or none, whose memory a launch may replace.
trait Resizable {
    /// Finds memory for a result of `shape` on the stream's device, calls `enqueue` to launch the kernel with it, and keeps
    /// memory and shape if `enqueue` succeeds. Calls `check` before it allocates.
    fn fill_with(
        &mut self,
        stream: &Stream,
        shape: &[usize],
        check: Check<'_>,
        enqueue: Enqueue<'_>,
    ) -> Result<()>;
}

impl<T: Pod> Resizable for DeviceBuffer<T> {
    fn fill_with(
        &mut self,
        stream: &Stream,
        shape: &[usize],
        check: Check<'_>,
        enqueue: Enqueue<'_>,
    ) -> Result<()> {
        let same = self.shape() == shape;
        let len = if same { self.len() } else { elements(shape)? };
        if !self.fits(stream, len) {
            let layout = Layout::contiguous(0, shape)?;
            check()?;
            let mut new = DeviceBuffer::on(stream, layout.len())?;
            new.set_layout(layout);
            enqueue(Room { target: BufferArg::of_buffer(&new, new.bytes() as u64), is_new: true })?;
            // This frees the old memory in stream order.
            *self = new;
            return Ok(());
        }
        let layout = if same { None } else { Some(Layout::contiguous(0, shape)?) };
        let bytes = (len * size_of::<T>()) as u64;
        enqueue(Room { target: BufferArg::of_buffer(self, bytes), is_new: false })?;
        if let Some(layout) = layout {
            self.set_layout(layout);
        }
        Ok(())
    }
}

impl<T: Pod> Resizable for Option<DeviceBuffer<T>> {
    fn fill_with(
        &mut self,
        stream: &Stream,
        shape: &[usize],
        check: Check<'_>,
        enqueue: Enqueue<'_>,
    ) -> Result<()> {
        match self {
            Some(buffer) => buffer.fill_with(stream, shape, check, enqueue),
            None => {
                // Without elements, it allocates nothing.
                let mut new = DeviceBuffer::on(stream, 0)?;
                new.fill_with(stream, shape, check, enqueue)?;
                *self = Some(new);
                Ok(())
            }
        }
    }
}

/// Launches a kernel whose launch has a destination; `kernel` is `registered` on the stream's device. Dimensions and
/// arguments are checked before any memory is allocated, and otherwise by the launch alone.
pub(super) fn launch_into<R: LaunchResult>(
    registered: &Kernel,
    kernel: &DeviceKernel,
    stream: &Stream,
    launch: &Launch<'_>,
    placement: Placement<'_>,
) -> Result<R> {
    let (arguments, device) = (launch.arguments, stream.device());
    let Placement { to: Some(Destination(to)), shape, parameter } = placement else {
        return refuse(kernel, "`destination_parameter` is set, but no memory is given");
    };
    let parameter = parameter_of(kernel, arguments, parameter)?;
    let check = || {
        let dims = kernel.with_checked_dims(launch.dims)?;
        if launch.cooperative {
            kernel.check_cooperative(&dims).map_err(|e| device.error(e))??;
        }
        match arguments {
            Arguments::Args(args) => kernel.check_args(args),
            Arguments::Packed(bytes, _) => kernel.check_packed(bytes.len()),
        }
    };
    let enqueue = |buffer: BufferArg<'_>| {
        let destination = DestinationArg { parameter, buffer };
        launch_on(KernelRef::Kernel(registered), &stream.0, &launch.again(Some(&destination), false))
    };
    match to {
        DestinationKind::View { layout: view, device: of_view, target } => {
            if view.shape() != shape || !view.is_contiguous() {
                return refuse(
                    kernel,
                    format!(
                        "a view of shape {:?} and strides {:?} can't take a result of shape {shape:?}, which is contiguous",
                        view.shape(),
                        view.strides()
                    ),
                );
            }
            if of_view != device {
                let (view, stream) = (of_view.id(), device.id());
                return refuse(
                    kernel,
                    format!("the view is on {view}, the stream on {stream}; views stay where they are"),
                );
            }
            check_aliases(kernel, arguments, parameter, &target)?;
            enqueue(target)
        }
        DestinationKind::Buffer(buffer) => {
            let mut result = None;
            let outcome = buffer.fill_with(stream, shape, &check, &mut |room| {
                if !room.is_new {
                    check_aliases(kernel, arguments, parameter, &room.target)?;
                }
                result = Some(enqueue(room.target)?);
                Ok(())
            });
            outcome.map_err(|e| e.for_kernel(&kernel.name))?;
            match result {
                Some(result) => Ok(result),
                None => refuse(kernel, "the kernel was not launched"),
            }
        }
    }
}

/// Returns the index of the parameter that takes the destination's address. `named` is the one that the caller named.
fn parameter_of(kernel: &DeviceKernel, arguments: Arguments<'_>, named: Option<usize>) -> Result<usize> {
    match arguments {
        Arguments::Args(args) => {
            let mut marked =
                args.iter().enumerate().filter(|(_, a)| matches!(a, Arg::Destination)).map(|(i, _)| i);
            match (marked.next(), marked.next()) {
                (Some(index), None) if named.is_none_or(|named| named == index) => Ok(index),
                (Some(index), None) => refuse(
                    kernel,
                    format!(
                        "argument {index} is `Arg::Destination`, but `destination_parameter` names another"
                    ),
                ),
                _ => refuse(kernel, "the arguments have to name `Arg::Destination` exactly once"),
            }
        }
        Arguments::Packed(..) => {
            let Some(index) = named else {
                return refuse(kernel, "packed arguments need `destination_parameter`");
            };
            if index >= kernel.parameters.len() {
                return refuse(kernel, format!("parameter {index} of {}", kernel.parameters.len()));
            }
            kernel.check_pointer(index)?;
            Ok(index)
        }
    }
}

#[cold]
fn refuse<R>(kernel: &DeviceKernel, problem: impl Into<String>) -> Result<R> {
    Err(kernel.refuse(LaunchProblem::Destination(problem.into().into_boxed_str())))
}

/// Refuses a launch with an input that overlaps the destination. Allows it for a kernel that is declared in place if
/// both begin at the same byte.
fn check_aliases(
    kernel: &DeviceKernel,
    arguments: Arguments<'_>,
    parameter: usize,
    target: &BufferArg<'_>,
) -> Result<()> {
    let (start, bytes) = target.range();
    let (end, in_place) = (start.saturating_add(bytes), kernel.is_in_place());
    if bytes == 0 {
        return Ok(());
    }
    let check = |index: usize, first: u64, bytes: u64| {
        let overlaps = first < end && start < first.saturating_add(bytes);
        if !overlaps || (in_place && first == start) {
            return Ok(());
        }
        refuse(
            kernel,
            format!(
                "argument {index} at {first:#x} lies in the memory of the result at {start:#x}..{end:#x}; {}",
                if in_place {
                    "in place, both have to begin at the same byte"
                } else {
                    "use another destination, or declare the kernel in place if it may overwrite its input"
                }
            ),
        )
    };
    let args = match arguments {
        Arguments::Args(args) => args,
        Arguments::Packed(bytes, buffers) => {
            for (index, p) in kernel.parameters.iter().enumerate() {
                let address = bytes.get(p.offset as usize..).and_then(|b| b.first_chunk::<8>());
                if p.kind == ParameterKind::Pointer
                    && index != parameter
                    && let Some(address) = address
                {
                    let address = u64::from_le_bytes(*address);
                    // Of an address that is no named buffer's, it is not known how many bytes the kernel reads there, so only
                    // the first is checked.
                    let named = buffers.iter().find(|buffer| buffer.ptr().0 == address);
                    let (first, bytes) = named.map_or((address, 1), BufferArg::range);
                    check(index, first, bytes)?;
                }
            }
            return Ok(());
        }
    };
    for (index, arg) in args.iter().enumerate() {
        match arg {
            Arg::Buffer(buffer) => check(index, buffer.range().0, buffer.range().1)?,
            // As for packed arguments, only the first byte is checked.
            Arg::Pointer(ptr) => check(index, ptr.0, 1)?,
            Arg::Raw(bytes) if is_pointer(kernel, index) => {
                if let Some(address) = bytes.first_chunk::<8>() {
                    check(index, u64::from_le_bytes(*address), 1)?;
                }
            }
            Arg::ArgumentBlock(block) => {
                for patch in block.patches {
                    if let PatchTarget::Device(ptr) = patch.target {
                        check(index, ptr.0, 1)?;
                    }
                }
            }
            // In staging memory, by value, or the destination itself.
            Arg::Host(HostData::In(_) | HostData::InOut(_) | HostData::Out(_))
            | Arg::Scalar { .. }
            | Arg::Value(_)
            | Arg::Raw(_)
            | Arg::Destination => {}
        }
    }
    Ok(())
}

fn is_pointer(kernel: &DeviceKernel, index: usize) -> bool {
    kernel.parameters.get(index).is_some_and(|p| p.kind == ParameterKind::Pointer)
}
