//! Graphs: recording nodes and computing them.

use hiplaunch::graph::{
    Access, Branches, Graph, GraphArg, GraphValue, NodeId, Submission, measure_break_even,
};
use std::ffi::c_void;
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
use super::streams::{HostCall, hiplaunch_host_function, hiplaunch_stream};
use super::tickets::{hand_out, hiplaunch_ticket};

/// A graph that is being recorded: kernels, copies and fills over buffers and temporaries, which are submitted
/// together. A graph that is recorded again with other buffers and scalars uses the same plan. To record it only once
/// too, compile it (hiplaunch_graph_compile).
pub struct hiplaunch_graph {
    _opaque: (),
}

/// A graph with its values. The index of a value is its number.
pub(super) struct GraphObject {
    pub(super) graph: Graph,
    pub(super) values: Vec<GraphValue>,
}

pub(super) static GRAPHS: Table<GraphObject> = Table::new(Kind::Graph);

/// The number of a node within its graph, in the order of recording: 0 for the first node, and so on.
pub type hiplaunch_node = u32;

/// Writes the number of a recorded node, unless the program does not want it.
fn number(node: NodeId, out: Option<&mut MaybeUninit<hiplaunch_node>>) {
    if let Some(out) = out {
        out.write(node.0);
    }
}

/// Calls `record` with a graph that is being recorded.
pub(super) fn recording<R>(
    graph: *const hiplaunch_graph,
    record: impl FnOnce(&mut GraphObject, Owner) -> Result<R>,
) -> Result<R> {
    GRAPHS.with(graph, |found| record(&mut found.value, found.owner))?
}

/// The kind of an argument of a recorded launch. In parentheses are the fields of hiplaunch_graph_arg that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_graph_arg_kind {
    /// A number of `size` 1, 2, 4 or 8 bytes, in the low bytes of `bits`. (bits, size)
    Scalar = 0,
    /// A struct by value, in memory order. (data, size)
    Value = 1,
    /// A pointer to bytes that the kernel reads. (value)
    Read = 2,
    /// A pointer to bytes that the kernel writes. It writes all of them and reads none. (value)
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

/// How a graph is submitted to the driver. The results are the same to the last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_submission {
    /// The library chooses the faster one.
    Auto = 0,
    /// One driver call for each node, without other work of the stream between them.
    Stream = 1,
    /// One driver call for the whole graph: hipGraphLaunch.
    DriverGraph = 2,
}
enumeration!(hiplaunch_submission: Auto, Stream, DriverGraph);

/// Returns the method of submission that a number of C's stands for.
#[inline]
pub(super) fn submission_of(submission: u32) -> Result<Submission> {
    Ok(match enumerator(submission)? {
        hiplaunch_submission::Auto => Submission::Auto,
        hiplaunch_submission::Stream => Submission::Stream,
        hiplaunch_submission::DriverGraph => Submission::DriverGraph,
    })
}

/// Begins to record a graph of work for a device. Makes no device call.
///
/// Ownership: the caller computes, compiles or closes the graph, or closes the launcher. Threads: any, one after the
/// other. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
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

/// Records a launch, with the same checks as hiplaunch_launch. The kernel must access only the memory of its arguments,
/// and only as their kinds say. `node`, which may be null, gets the number of the node.
///
/// Ownership: bytes are copied. Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_LAUNCH,
/// HIPLAUNCH_STATUS_GRAPH, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT,
/// HIPLAUNCH_STATUS_NULL_POINTER. After an error, nothing is recorded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_graph_launch(
    graph: *const hiplaunch_graph,
    kernel: *const hiplaunch_kernel,
    dims: Option<&hiplaunch_dims>,
    args: *const hiplaunch_graph_arg,
    arg_count: usize,
    node: Option<&mut MaybeUninit<hiplaunch_node>>,
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
                // SAFETY: the caller's promise for what arguments point to.
                all.push(unsafe { read_arg(arg, &object.values) }.map_err(|f| f.of_argument(index))?);
            }
            // SAFETY: the caller's promise for the kernel.
            number(unsafe { object.graph.launch(handle, dims, &all) }?, node);
            Ok(())
        })
    })
}

/// # Safety
/// If the kind uses `data`, it must point to `size` bytes.
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

/// Records that the last recorded node accesses a value through an address in an argument block.
///
/// Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH, HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT for a value that does not exist.
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

/// Records a copy of all bytes of one value to another. `node`, which may be null, gets the number of the node.
///
/// Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_copy(
    graph: *const hiplaunch_graph,
    from: hiplaunch_value,
    to: hiplaunch_value,
    node: Option<&mut MaybeUninit<hiplaunch_node>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_copy", || {
        recording(graph, |object, _| {
            let (from, to) = (value_of(&object.values, from)?, value_of(&object.values, to)?);
            number(object.graph.copy(&from, &to)?, node);
            Ok(())
        })
    })
}

/// Records a fill of every byte of a value. `node`, which may be null, gets the number of the node.
///
/// Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_fill(
    graph: *const hiplaunch_graph,
    value: hiplaunch_value,
    byte: u8,
    node: Option<&mut MaybeUninit<hiplaunch_node>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_fill", || {
        recording(graph, |object, _| {
            let value = value_of(&object.values, value)?;
            number(object.graph.fill_bytes(&value, byte)?, node);
            Ok(())
        })
    })
}

/// Records a function of the host with its argument, which is called once at every submission: behind all nodes that were recorded
/// before it, and before all that are recorded after it. The rules of hiplaunch_stream_host_function hold for it. `node`, which may be
/// null, gets the number of the node.
///
/// Ownership: `user` belongs to the caller, and must be valid until the graph and what it was compiled to are closed, and the last
/// submission has finished. Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses; HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_graph_host_function(
    graph: *const hiplaunch_graph,
    function: hiplaunch_host_function,
    user: *mut c_void,
    node: Option<&mut MaybeUninit<hiplaunch_node>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_host_function", || {
        let host = HostCall::new(function, user)?;
        recording(graph, |object, _| {
            number(object.graph.host_function(move |status| host.call(status)), node);
            Ok(())
        })
    })
}

/// Records a fill of a value's 32-bit words. `node`, which may be null, gets the number of the node.
///
/// Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses; HIPLAUNCH_STATUS_GRAPH if its size is not
/// a multiple of 4.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_fill_words(
    graph: *const hiplaunch_graph,
    value: hiplaunch_value,
    word: u32,
    node: Option<&mut MaybeUninit<hiplaunch_node>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_fill_words", || {
        recording(graph, |object, _| {
            let value = value_of(&object.values, value)?;
            number(object.graph.fill_words(&value, word)?, node);
            Ok(())
        })
    })
}

/// Records that the host reads a value's bytes. They are the next output of the ticket. `node`, which may be null, gets
/// the number of the node.
///
/// Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_read(
    graph: *const hiplaunch_graph,
    value: hiplaunch_value,
    node: Option<&mut MaybeUninit<hiplaunch_node>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_read", || {
        recording(graph, |object, _| {
            let value = value_of(&object.values, value)?;
            number(object.graph.read(&value)?, node);
            Ok(())
        })
    })
}

/// Orders node `after` after node `before`, where their values do not. Nodes that access the same bytes run in the
/// order of recording if one of them writes; other nodes may run at the same time, on several streams
/// (hiplaunch_graph_set_branches) or in a driver graph.
///
/// Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH for a node that does not exist, or if `before` was
/// not recorded earlier than `after`; HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_order(
    graph: *const hiplaunch_graph,
    before: hiplaunch_node,
    after: hiplaunch_node,
) -> hiplaunch_status {
    call("hiplaunch_graph_order", || {
        recording(graph, |object, _| Ok(object.graph.order(NodeId(before), NodeId(after))?))
    })
}

/// Sets the greatest number of streams on which independent branches of a graph run at the same time: 1, the default,
/// to 32. The results are the same to the last bit; the workspace may be larger.
///
/// Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for 0 streams and for more than 32;
/// HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_set_branches(
    graph: *const hiplaunch_graph,
    streams: u32,
) -> hiplaunch_status {
    call("hiplaunch_graph_set_branches", || {
        let branches = match streams {
            1 => Branches::One,
            2..=32 => Branches::Streams(streams),
            _ => return Err(Failure::invalid(format!("{streams} streams for branches: 1 to 32"))),
        };
        recording(graph, |object, _| {
            object.graph.set_branches(branches);
            Ok(())
        })
    })
}

/// Submits a graph on a stream once, in the order of recording. Never waits for the device. The ticket, which may be
/// null, has an output for each recorded read. `submission` is a hiplaunch_submission.
///
/// The first graph of a structure is planned, and its memory is allocated from the pool. Later graphs of the same
/// structure use that plan and memory. A kernel that was replaced or unregistered since its launch was recorded runs as
/// it was recorded.
///
/// Ownership: every status closes the graph, so it is never closed afterwards; only a handle that is no open graph
/// stays as it is. Buffers may be closed at once; the caller closes the ticket. Threads: any. Errors:
/// HIPLAUNCH_STATUS_GRAPH and HIPLAUNCH_STATUS_OUT_OF_MEMORY before anything is submitted; HIPLAUNCH_STATUS_DRIVER if
/// the driver refused a node: the nodes before it run, the others do not; HIPLAUNCH_STATUS_DEVICE_LOST,
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_compute(
    graph: *mut hiplaunch_graph,
    stream: *const hiplaunch_stream,
    submission: u32,
    ticket: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_compute", || {
        // First, so that every error closes it.
        let Found { owner, value: GraphObject { graph, .. } } = GRAPHS.take(graph)?;
        let submission = submission_of(submission)?;
        let stream = stream_of(stream, owner)?;
        hand_out(owner, graph.compute_by(&stream, submission)?, ticket)
    })
}

/// Closes a graph without computing it.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, also for a graph that was computed or compiled.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_close(graph: *mut hiplaunch_graph) -> hiplaunch_status {
    call("hiplaunch_graph_close", || GRAPHS.take(graph).map(drop))
}

/// Drops the graph programs of all computed graphs and returns their memory to the pool. `forgotten`, which may be
/// null, gets the number of graph programs. A compiled graph keeps its own.
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

/// Sets the number of nodes from which on HIPLAUNCH_SUBMISSION_AUTO submits a graph as a driver graph. Until this is
/// called, it never does, because a driver graph takes longer on several versions of ROCm.
/// hiplaunch_measure_break_even measures the number.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_set_break_even(
    launcher: *const hiplaunch_launcher,
    nodes: u32,
) -> hiplaunch_status {
    call("hiplaunch_set_break_even", || {
        launcher_of(launcher)?.value.set_graph_break_even(nodes);
        Ok(())
    })
}

/// Measures on a stream from how many nodes on a driver graph is faster than one call for each node, for
/// hiplaunch_set_break_even. `nodes` gets UINT32_MAX if it never is, or if the driver has no graphs. Waits for the
/// stream. Takes milliseconds on a GPU.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER,
/// HIPLAUNCH_STATUS_OUT_OF_MEMORY, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_measure_break_even(
    launcher: *const hiplaunch_launcher,
    stream: *const hiplaunch_stream,
    nodes: Option<&mut MaybeUninit<u32>>,
) -> hiplaunch_status {
    call("hiplaunch_measure_break_even", || {
        let nodes = wanted(nodes, "nodes")?;
        let Found { owner, value: launcher } = launcher_of(launcher)?;
        let stream = stream_of(stream, owner)?;
        nodes.write(measure_break_even(&launcher, &stream)?);
        Ok(())
    })
}
