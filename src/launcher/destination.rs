//! Launches whose result goes to memory that the caller owns.

use std::sync::Arc;

use bytemuck::Pod;
use smallvec::SmallVec;

use crate::error::{LaunchProblem, Result};
use crate::memory::{DeviceBuffer, DeviceView, Layout};

use super::args::{Arg, BufferArg, HostData, LaunchDims, PatchTarget, Staging};
use super::kernel::{Kernel, ParameterKind};
use super::lane::Lane;
use super::launch::{Request, Source, launch};
use super::registry::KernelHandle;
use super::ticket::Ticket;

/// Where a launch's result goes; made with `From`. See [`Launcher::launch_into`](crate::Launcher::launch_into).
#[derive(Debug)]
#[non_exhaustive]
pub enum Destination<'d, T: Pod> {
    /// A buffer, which may be given other memory.
    Buffer(&'d mut DeviceBuffer<T>),
    /// A buffer that is made when there is none.
    Optional(&'d mut Option<DeviceBuffer<T>>),
    /// Elements of a buffer, which stay where they are.
    View(&'d DeviceView<T>),
}

impl<'d, T: Pod> From<&'d mut DeviceBuffer<T>> for Destination<'d, T> {
    fn from(buffer: &'d mut DeviceBuffer<T>) -> Self {
        Destination::Buffer(buffer)
    }
}

impl<'d, T: Pod> From<&'d mut Option<DeviceBuffer<T>>> for Destination<'d, T> {
    fn from(buffer: &'d mut Option<DeviceBuffer<T>>) -> Self {
        Destination::Optional(buffer)
    }
}

impl<'d, T: Pod> From<&'d DeviceView<T>> for Destination<'d, T> {
    fn from(view: &'d DeviceView<T>) -> Self {
        Destination::View(view)
    }
}

pub(super) fn launch_into<T: Pod>(
    kernel: &Kernel,
    lane: &Arc<Lane>,
    (handle, dims): (KernelHandle, LaunchDims),
    args: &[Arg<'_>],
    destination: Destination<'_, T>,
    shape: &[usize],
) -> Result<Ticket> {
    lane.core.device().check()?;
    let layout = Layout::contiguous(0, shape)?;
    let mut places = args.iter().enumerate().filter(|(_, a)| matches!(a, Arg::Destination)).map(|(i, _)| i);
    let (Some(place), None) = (places.next(), places.next()) else {
        return refuse(kernel, "the arguments have to name `Arg::Destination` exactly once");
    };
    // Whatever does not fit the kernel is refused before any memory is taken; a null stands for the destination.
    let mut all: SmallVec<[Arg<'_>; 12]> = args.into();
    all[place] = Arg::null();
    let dims = dims.with_lds(kernel.with_layout(dims.dynamic_lds)?);
    kernel.check_dims(&dims)?;
    kernel.check_args(&all)?;
    let go = |target: BufferArg<'_>| {
        let mut all: SmallVec<[Arg<'_>; 12]> = all.iter().copied().collect();
        all[place] = Arg::Buffer(target);
        let request = Request {
            handle,
            dims,
            staging: Staging::Copy,
            source: Source::Args(&all),
            destination: Some(place),
        };
        launch(kernel, lane, request)
    };
    match destination {
        Destination::View(view) => {
            if view.shape() != shape || !view.layout().is_contiguous() {
                return refuse(
                    kernel,
                    format!(
                        "a view of shape {:?} and strides {:?} can't take a result of shape {shape:?}, which is contiguous",
                        view.shape(),
                        view.strides()
                    ),
                );
            }
            if view.device() != lane.core.device() {
                let (view, stream) = (view.device().id(), lane.core.device().id());
                return refuse(
                    kernel,
                    format!("the view is on {view}, the stream on {stream}; views stay where they are"),
                );
            }
            let Arg::Buffer(target) = Arg::from(view) else {
                return refuse(kernel, "the view has no memory");
            };
            check_aliases(kernel, args, &target)?;
            go(target)
        }
        Destination::Buffer(buffer) => {
            if !buffer.fits(&lane.core, layout.len()) {
                let new = fresh(kernel, lane, layout)?;
                let ticket = go(whole(&new))?;
                // The old memory goes back in stream order, at once.
                *buffer = new;
                return Ok(ticket);
            }
            let target = part(buffer, layout.len());
            check_aliases(kernel, args, &target)?;
            let ticket = go(target)?;
            buffer.set_layout(layout);
            Ok(ticket)
        }
        Destination::Optional(Some(buffer)) => {
            let again = Destination::Buffer(buffer);
            launch_into(kernel, lane, (handle, dims), args, again, shape)
        }
        Destination::Optional(empty) => {
            let new = fresh(kernel, lane, layout)?;
            let ticket = go(whole(&new))?;
            *empty = Some(new);
            Ok(ticket)
        }
    }
}

#[cold]
fn refuse<R>(kernel: &Kernel, problem: impl Into<String>) -> Result<R> {
    Err(kernel.refuse(LaunchProblem::Destination(problem.into().into_boxed_str())))
}

/// New memory on the stream.
fn fresh<T: Pod>(kernel: &Kernel, lane: &Lane, layout: Layout) -> Result<DeviceBuffer<T>> {
    let mut new = DeviceBuffer::on(&lane.core, layout.len()).map_err(|e| e.for_kernel(&kernel.name))?;
    new.set_layout(layout);
    Ok(new)
}

fn whole<T: Pod>(buffer: &DeviceBuffer<T>) -> BufferArg<'_> {
    part(buffer, buffer.len())
}

/// The first `len` elements that a buffer has room for.
fn part<T: Pod>(buffer: &DeviceBuffer<T>, len: usize) -> BufferArg<'_> {
    BufferArg::first_bytes(buffer.block(), (len * size_of::<T>()) as u64)
}

/// Refuses inputs in the destination's memory.
fn check_aliases(kernel: &Kernel, args: &[Arg<'_>], target: &BufferArg<'_>) -> Result<()> {
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
            Arg::Block(block) => {
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
