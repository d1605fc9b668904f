//! Graphs: recording nodes and computing them.

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

/// A graph that is being recorded: kernels, copies and fills over buffers and temporaries, which are submitted
/// together. A graph that is recorded again with other buffers and scalars uses the same plan.
pub struct hiplaunch_graph {
    _opaque: (),
}

/// A graph with its values. The index of a value is its number.
pub(super) struct GraphObject {
    pub(super) graph: Graph,
    pub(super) values: Vec<GraphValue>,
}

pub(super) static GRAPHS: Table<GraphObject> = Table::new(Kind::Graph);

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

/// Begins to record a graph of work for a device. Makes no device call.
///
/// Ownership: the caller computes or closes the graph, or closes the launcher. Threads: any, one after the other.
/// Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
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
/// and only as their kinds say.
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
            unsafe { object.graph.launch(handle, dims, &all) }?;
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
/// Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses; HIPLAUNCH_STATUS_GRAPH if its size is not
/// a multiple of 4.
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

/// Records that the host reads a value's bytes. They are the next output of the ticket.
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

/// Submits a graph on a stream once, in the order of recording, and closes it, also if this fails. Never waits for the
/// device. The ticket, which may be null, has an output for each recorded read. `submission` is a hiplaunch_submission.
///
/// The first graph of a structure is planned, and its memory is allocated from the pool. Later graphs of the same
/// structure use that plan and memory.
///
/// Ownership: the graph is closed; buffers may be closed at once; the caller closes the ticket. Threads: any. Errors:
/// HIPLAUNCH_STATUS_GRAPH and HIPLAUNCH_STATUS_OUT_OF_MEMORY before anything is submitted; HIPLAUNCH_STATUS_DRIVER if
/// the driver refused a node: the nodes before it run, the others do not; HIPLAUNCH_STATUS_DEVICE_LOST. The graph stays
/// open only after HIPLAUNCH_STATUS_INVALID_HANDLE and HIPLAUNCH_STATUS_INVALID_ARGUMENT.
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

/// Closes a graph without computing it.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, also for a graph that was computed.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_close(graph: *mut hiplaunch_graph) -> hiplaunch_status {
    call("hiplaunch_graph_close", || GRAPHS.take(graph).map(drop))
}

/// Drops the graph programs of all computed graphs and returns their memory to the pool. `forgotten`, which may be
/// null, gets the number of graph programs.
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
