//! Graphs: nodes that are recorded, and their compute.

use hiplaunch::graph::{Access, Graph, GraphArg, GraphValue, Submission};
use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::arguments::hiplaunch_dims;
use super::buffers::stream_of;
use super::graph_values::{hiplaunch_value, value_of};
use super::handles::{Found, Kind, Owner, Table, same_owner};
use super::input::{bytes, enumeration, enumerator, given, slice, wanted};
use super::kernels::{KERNELS, hiplaunch_kernel};
use super::launcher::{hiplaunch_launcher, insert_in, launcher_of};
use super::status::{Failure, Result, call, hiplaunch_status};
use super::streams::hiplaunch_stream;
use super::tickets::{hand_out, hiplaunch_ticket};

/// A graph that is being recorded: kernels, copies and fills over buffers and temporaries, submitted as one. What is
/// recorded again with other buffers and scalars finds its plan.
pub struct hiplaunch_graph {
    _opaque: (),
}

/// A graph, and its values by number.
pub(super) struct GraphObject {
    pub(super) graph: Graph,
    pub(super) values: Vec<GraphValue>,
}

pub(super) static GRAPHS: Table<GraphObject> = Table::new(Kind::Graph);

/// Runs `record` on a graph that is being recorded.
pub(super) fn recording<R>(
    graph: *const hiplaunch_graph,
    record: impl FnOnce(&mut GraphObject, Owner) -> Result<R>,
) -> Result<R> {
    GRAPHS.with(graph, |found| record(&mut found.value, found.owner))?
}

/// What an argument of a recorded launch is. Which fields of hiplaunch_graph_arg count, besides kind, follows in parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_graph_arg_kind {
    /// A number of `size` 1, 2, 4 or 8 bytes, in the low bytes of `bits`. (bits, size)
    Scalar = 0,
    /// A struct by value, in memory order. (data, size)
    Value = 1,
    /// A pointer to bytes that the kernel reads. (value)
    Read = 2,
    /// A pointer to bytes all of which the kernel writes and none of which it reads. (value)
    Write = 3,
    /// A pointer to bytes that the kernel reads and may write. (value)
    ReadWrite = 4,
}
enumeration!(hiplaunch_graph_arg_kind: Scalar, Value, Read, Write, ReadWrite);

/// One argument of a recorded launch, in the order of the kernel's parameters.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_graph_arg {
    /// A hiplaunch_graph_arg_kind.
    pub kind: u32,
    /// A value of the graph; see hiplaunch_graph_arg_kind.
    pub value: hiplaunch_value,
    /// See hiplaunch_graph_arg_kind.
    pub bits: u64,
    /// See hiplaunch_graph_arg_kind.
    pub data: *const std::ffi::c_void,
    /// See hiplaunch_graph_arg_kind.
    pub size: usize,
}

/// How a graph reaches the device. The results are the same to the last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_submission {
    /// Whichever pays.
    Auto = 0,
    /// One driver call a node, with nothing between.
    Stream = 1,
    /// One driver call: hipGraphLaunch.
    DriverGraph = 2,
}
enumeration!(hiplaunch_submission: Auto, Stream, DriverGraph);

/// Begins to record a graph of work for a device. Makes no device call.
///
/// Ownership: the caller computes or closes it, or closes the launcher. Threads: any, one after the other. Errors:
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_open(
    launcher: *const hiplaunch_launcher,
    device: u32,
    graph: Option<&mut MaybeUninit<*mut hiplaunch_graph>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_open", || {
        let out = wanted(graph, "graph")?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        let graph = launcher.graph(launcher.device(device)?)?;
        out.write(insert_in(&GRAPHS, owner, GraphObject { graph, values: Vec::new() })?);
        Ok(())
    })
}

/// Records a launch, checked as hiplaunch_launch checks it. The kernel has to touch no memory but what the arguments say,
/// as they say it.
///
/// Ownership: bytes are copied. Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_LAUNCH,
/// HIPLAUNCH_STATUS_GRAPH, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT,
/// HIPLAUNCH_STATUS_NULL_POINTER; nothing is recorded then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_graph_launch(
    graph: *const hiplaunch_graph,
    kernel: *const hiplaunch_kernel,
    dims: Option<&hiplaunch_dims>,
    args: *const hiplaunch_graph_arg,
    arg_count: usize,
) -> hiplaunch_status {
    call("hiplaunch_graph_launch", || {
        let dims = given(dims, "dims")?.get();
        // SAFETY: the caller's promise for arrays.
        let args = unsafe { slice(args, arg_count, "args") }?;
        let (owner, handle) = KERNELS.look(kernel, |found| (found.owner, found.value.kernel.handle()))?;
        recording(graph, |object, its| {
            same_owner(its, owner, "kernel")?;
            let mut all: SmallVec<[GraphArg<'_>; 12]> = SmallVec::new();
            for (index, arg) in args.iter().enumerate() {
                // SAFETY: the caller's promise for what arguments lead to.
                all.push(unsafe { read_arg(arg, &object.values) }.map_err(|f| f.of_argument(index))?);
            }
            // SAFETY: the caller's promise for the kernel.
            unsafe { object.graph.launch(handle, dims, &all) }?;
            Ok(())
        })
    })
}

/// # Safety
/// `data` leads to `size` bytes where the kind says that it counts.
unsafe fn read_arg<'a>(arg: &hiplaunch_graph_arg, values: &[GraphValue]) -> Result<GraphArg<'a>> {
    let value = || value_of(values, arg.value);
    Ok(match enumerator(arg.kind)? {
        hiplaunch_graph_arg_kind::Scalar => match u8::try_from(arg.size) {
            Ok(size @ (1 | 2 | 4 | 8)) => GraphArg::Scalar { bits: arg.bits, size },
            _ => return Err(Failure::invalid(format!("a scalar of {} bytes: 1, 2, 4 or 8", arg.size))),
        },
        // SAFETY: the caller's promise.
        hiplaunch_graph_arg_kind::Value => GraphArg::Struct(unsafe { bytes(arg.data, arg.size, "data") }?),
        hiplaunch_graph_arg_kind::Read => GraphArg::Read(value()?),
        hiplaunch_graph_arg_kind::Write => GraphArg::Write(value()?),
        hiplaunch_graph_arg_kind::ReadWrite => GraphArg::ReadWrite(value()?),
    })
}

/// Records that the node that was recorded last accesses a value through an address in an argument block.
///
/// Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH, HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT for a value that there is not.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_uses(
    graph: *const hiplaunch_graph,
    value: hiplaunch_value,
    reads: bool,
    writes: bool,
) -> hiplaunch_status {
    call("hiplaunch_graph_uses", || {
        recording(graph, |object, _| {
            let value = value_of(&object.values, value)?;
            let access = match (reads, writes) {
                (false, false) => return Ok(()),
                (true, false) => Access::Read,
                (false, true) => Access::Write,
                (true, true) => Access::ReadWrite,
            };
            Ok(object.graph.uses(&value, access)?)
        })
    })
}

/// Records a copy of all bytes of one value to another.
///
/// Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_copy(
    graph: *const hiplaunch_graph,
    from: hiplaunch_value,
    to: hiplaunch_value,
) -> hiplaunch_status {
    call("hiplaunch_graph_copy", || {
        recording(graph, |object, _| {
            let (from, to) = (value_of(&object.values, from)?, value_of(&object.values, to)?);
            object.graph.copy(&from, &to)?;
            Ok(())
        })
    })
}

/// Records a fill of every byte of a value.
///
/// Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_fill(
    graph: *const hiplaunch_graph,
    value: hiplaunch_value,
    byte: u8,
) -> hiplaunch_status {
    call("hiplaunch_graph_fill", || {
        recording(graph, |object, _| {
            let value = value_of(&object.values, value)?;
            object.graph.fill_bytes(&value, byte)?;
            Ok(())
        })
    })
}

/// Records a fill of a value's 32-bit words.
///
/// Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses; HIPLAUNCH_STATUS_GRAPH when its bytes are no
/// multiple of 4.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_fill_words(
    graph: *const hiplaunch_graph,
    value: hiplaunch_value,
    word: u32,
) -> hiplaunch_status {
    call("hiplaunch_graph_fill_words", || {
        recording(graph, |object, _| {
            let value = value_of(&object.values, value)?;
            object.graph.fill_words(&value, word)?;
            Ok(())
        })
    })
}

/// Records that the host wants a value's bytes: the next output of the ticket.
///
/// Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_read(
    graph: *const hiplaunch_graph,
    value: hiplaunch_value,
) -> hiplaunch_status {
    call("hiplaunch_graph_read", || {
        recording(graph, |object, _| {
            let value = value_of(&object.values, value)?;
            object.graph.read(&value)?;
            Ok(())
        })
    })
}

/// Runs a graph on a stream, once, in the order of recording, and closes it whatever comes of that. Never waits for the
/// device. The ticket, which may be null, has an output for each read. `submission` is a hiplaunch_submission.
///
/// The first compute of a structure plans it and takes its memory from the pool; later ones find it.
///
/// Ownership: the graph is gone; buffers may be closed at once; the caller closes the ticket. Threads: any. Errors:
/// HIPLAUNCH_STATUS_GRAPH and HIPLAUNCH_STATUS_OUT_OF_MEMORY before anything was submitted; HIPLAUNCH_STATUS_DRIVER when
/// the driver refused a node: those before it run, none after it does; HIPLAUNCH_STATUS_DEVICE_LOST. Only with
/// HIPLAUNCH_STATUS_INVALID_HANDLE and HIPLAUNCH_STATUS_INVALID_ARGUMENT the graph stays open.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_compute(
    graph: *mut hiplaunch_graph,
    stream: *const hiplaunch_stream,
    submission: u32,
    ticket: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_compute", || {
        let way = match enumerator(submission)? {
            hiplaunch_submission::Auto => Submission::Auto,
            hiplaunch_submission::Stream => Submission::Stream,
            hiplaunch_submission::DriverGraph => Submission::DriverGraph,
        };
        let owner = GRAPHS.look(graph, |found| found.owner)?;
        let stream = stream_of(stream, owner)?;
        let Found { value: GraphObject { graph, .. }, .. } = GRAPHS.take(graph)?;
        hand_out(owner, graph.compute_by(&stream, way)?, ticket)
    })
}

/// Closes a graph that is not to be computed.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, also for one that was computed.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_close(graph: *mut hiplaunch_graph) -> hiplaunch_status {
    call("hiplaunch_graph_close", || GRAPHS.take(graph).map(drop))
}

/// Forgets the programs of every graph that was computed and gives their memory back to the pool; `forgotten`, which may
/// be null, gets how many there were.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_forget_graphs(
    launcher: *const hiplaunch_launcher,
    forgotten: Option<&mut MaybeUninit<usize>>,
) -> hiplaunch_status {
    call("hiplaunch_forget_graphs", || {
        let count = launcher_of(launcher)?.value.forget_graphs();
        if let Some(forgotten) = forgotten {
            forgotten.write(count);
        }
        Ok(())
    })
}
