//! Launches whose result goes to memory that the caller owns.

use bytemuck::Pod;

use crate::device::Device;
use crate::error::{LaunchProblem, Result};
use crate::memory::{DeviceBuffer, DeviceView, Layout};

use super::args::{Arg, BufferArg, HostData, PatchTarget};
use super::description::Launch;
use super::kernel::{Kernel, ParameterKind};
use super::launch::{ArgumentSource, Receipt, Request, Target, launch};
use super::stream_state::Stream;

/// Where a launch's result goes: a buffer, a place for one, or a view; made with `From`. See
/// [`Launch::destination`](crate::Launch::destination).
#[derive(Debug)]
pub struct Destination<'d>(Kind<'d>);

enum Kind<'d> {
    /// May be given other memory.
    Buffer(&'d mut (dyn Resizable + 'static)),
    /// Stays where it is.
    View { layout: &'d Layout, device: &'d Device, target: BufferArg<'d> },
}

impl std::fmt::Debug for Kind<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Buffer(_) => f.write_str("Buffer"),
            Kind::View { target, .. } => f.debug_tuple("View").field(&target.ptr()).finish(),
        }
    }
}

/// A destination, what shape the result has, and which parameter takes its address.
#[derive(Debug)]
pub(super) struct Placement<'d> {
    /// `None` where the caller gave a parameter alone.
    pub(super) to: Option<Destination<'d>>,
    pub(super) shape: &'d [usize],
    pub(super) parameter: Option<usize>,
}

impl<'d, T: Pod> From<&'d mut DeviceBuffer<T>> for Destination<'d> {
    fn from(buffer: &'d mut DeviceBuffer<T>) -> Self {
        Destination(Kind::Buffer(buffer))
    }
}

impl<'d, T: Pod> From<&'d mut Option<DeviceBuffer<T>>> for Destination<'d> {
    fn from(buffer: &'d mut Option<DeviceBuffer<T>>) -> Self {
        Destination(Kind::Buffer(buffer))
    }
}

impl<'d, T: Pod> From<&'d DeviceView<T>> for Destination<'d> {
    fn from(view: &'d DeviceView<T>) -> Self {
        Destination(Kind::View {
            layout: view.layout(),
            device: view.device(),
            target: BufferArg::from(view),
        })
    }
}

/// Memory for a result, whether there was room for it or not.
struct Room<'a> {
    target: BufferArg<'a>,
    /// Allocated for this launch, so that no input lies there.
    is_new: bool,
}

/// Launches the kernel with the memory that was found.
type Enqueue<'e> = &'e mut dyn FnMut(Room<'_>) -> Result<()>;

/// A buffer of any element type that a launch may give other memory.
trait Resizable {
    /// Finds memory for `layout` on the stream, has `enqueue` launch the kernel with it, and keeps memory and layout if
    /// that succeeded.
    fn fill_with(&mut self, stream: &Stream, layout: Layout, enqueue: Enqueue<'_>) -> Result<()>;
}

impl<T: Pod> Resizable for DeviceBuffer<T> {
    fn fill_with(&mut self, stream: &Stream, layout: Layout, enqueue: Enqueue<'_>) -> Result<()> {
        if !self.fits(stream, layout.len()) {
            // The old memory goes back in stream order, at once.
            *self = filled(stream, layout, enqueue)?;
            return Ok(());
        }
        let bytes = (layout.len() * size_of::<T>()) as u64;
        enqueue(Room { target: BufferArg::of_buffer(self, bytes), is_new: false })?;
        self.set_layout(layout);
        Ok(())
    }
}

impl<T: Pod> Resizable for Option<DeviceBuffer<T>> {
    fn fill_with(&mut self, stream: &Stream, layout: Layout, enqueue: Enqueue<'_>) -> Result<()> {
        match self {
            Some(buffer) => buffer.fill_with(stream, layout, enqueue),
            None => {
                *self = Some(filled(stream, layout, enqueue)?);
                Ok(())
            }
        }
    }
}

/// A new buffer that the kernel was launched with.
fn filled<T: Pod>(stream: &Stream, layout: Layout, enqueue: Enqueue<'_>) -> Result<DeviceBuffer<T>> {
    let mut new = DeviceBuffer::on(stream, layout.len())?;
    new.set_layout(layout);
    enqueue(Room { target: BufferArg::of_buffer(&new, new.bytes() as u64), is_new: true })?;
    Ok(new)
}

/// Launches a kernel as `description` says, which has a destination. Whatever does not fit the kernel is refused before any
/// memory is taken.
pub(super) fn launch_into<R: Receipt>(
    kernel: &Kernel,
    stream: &Stream,
    description: Launch<'_>,
    placement: Placement<'_>,
) -> Result<R> {
    let Launch { mut dims, source, staging, .. } = description;
    let device = stream.device();
    device.check()?;
    let Placement { to: Some(Destination(to)), shape, parameter } = placement else {
        return refuse(kernel, "a parameter was named for it, but no memory was given");
    };
    let layout = Layout::contiguous(0, shape)?;
    let parameter = parameter_of(kernel, source, parameter)?;
    dims.dynamic_lds = kernel.with_layout(dims.dynamic_lds)?;
    kernel.check_dims(&dims)?;
    match source {
        ArgumentSource::Args(args) => kernel.check_args(args)?,
        ArgumentSource::Packed(bytes) => kernel.check_packed(bytes.len())?,
    }
    let enqueue = |target: BufferArg<'_>| {
        let destination = Some(Target { parameter, buffer: target });
        launch(kernel, &stream.0, Request { dims, staging, source, destination })
    };
    match to {
        Kind::View { layout: view, device: of_view, target } => {
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
            check_aliases(kernel, source, parameter, &target)?;
            enqueue(target)
        }
        Kind::Buffer(buffer) => {
            let mut receipt = None;
            let filled = buffer.fill_with(stream, layout, &mut |room| {
                if !room.is_new {
                    check_aliases(kernel, source, parameter, &room.target)?;
                }
                receipt = Some(enqueue(room.target)?);
                Ok(())
            });
            filled.map_err(|e| e.for_kernel(&kernel.name))?;
            match receipt {
                Some(receipt) => Ok(receipt),
                None => refuse(kernel, "the kernel was not launched"),
            }
        }
    }
}

/// Which parameter takes the destination.
fn parameter_of(kernel: &Kernel, source: ArgumentSource<'_>, said: Option<usize>) -> Result<usize> {
    match source {
        ArgumentSource::Args(args) => {
            let mut marked =
                args.iter().enumerate().filter(|(_, a)| matches!(a, Arg::Destination)).map(|(i, _)| i);
            match (marked.next(), marked.next()) {
                (Some(index), None) if said.is_none_or(|said| said == index) => Ok(index),
                (Some(index), None) => refuse(
                    kernel,
                    format!("argument {index} is `Arg::Destination`, not the one that was named"),
                ),
                _ => refuse(kernel, "the arguments have to name `Arg::Destination` exactly once"),
            }
        }
        ArgumentSource::Packed(_) => {
            let Some(index) = said else {
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
fn refuse<R>(kernel: &Kernel, problem: impl Into<String>) -> Result<R> {
    Err(kernel.refuse(LaunchProblem::Destination(problem.into().into_boxed_str())))
}

/// Refuses inputs in the destination's memory.
fn check_aliases(
    kernel: &Kernel,
    source: ArgumentSource<'_>,
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
    let args = match source {
        ArgumentSource::Args(args) => args,
        ArgumentSource::Packed(bytes) => {
            for (index, p) in kernel.parameters.iter().enumerate() {
                let address = bytes.get(p.offset as usize..).and_then(|b| b.first_chunk::<8>());
                if p.kind == ParameterKind::Pointer
                    && index != parameter
                    && let Some(address) = address
                {
                    // How much the kernel reads there is not known: its first byte at least.
                    check(index, u64::from_le_bytes(*address), 1)?;
                }
            }
            return Ok(());
        }
    };
    for (index, arg) in args.iter().enumerate() {
        match arg {
            Arg::Buffer(buffer) => check(index, buffer.range().0, buffer.range().1)?,
            // How much the kernel reads there is not known: its first byte at least.
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
            // Staged elsewhere, by value, or the destination itself.
            Arg::Host(HostData::In(_) | HostData::InOut(_) | HostData::Out(_))
            | Arg::Scalar { .. }
            | Arg::Value(_)
            | Arg::Raw(_)
            | Arg::Destination => {}
        }
    }
    Ok(())
}

fn is_pointer(kernel: &Kernel, index: usize) -> bool {
    kernel.parameters.get(index).is_some_and(|p| p.kind == ParameterKind::Pointer)
}
