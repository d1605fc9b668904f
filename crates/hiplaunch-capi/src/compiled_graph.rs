//! Compiled graphs: recorded once, and submitted many times with other buffers, scalars and argument blocks.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use hiplaunch::graph::{CompiledGraph, GraphArg, GraphValue, NodeId};

use super::buffers::{BUFFERS, hiplaunch_buffer, stream_of};
use super::graph::{GRAPHS, GraphObject, hiplaunch_graph, hiplaunch_node, submission_of};
use super::graph_values::{hiplaunch_value, value_of};
use super::handles::{Found, Kind, Owner, Table, same_owner};
use super::input::{Versioned, bytes, fill, wanted};
use super::launcher::insert_in;
use super::status::{Result, call, hiplaunch_status};
use super::streams::hiplaunch_stream;
use super::tickets::{hand_out, hiplaunch_ticket};
use super::views::{VIEWS, hiplaunch_view};

/// A graph that is compiled for one stream, and submitted there many times: with the recorded buffers, scalars and
/// argument blocks, or with others.
pub struct hiplaunch_compiled_graph {
    _opaque: (),
}

/// A compiled graph with its values. The index of a value is its number.
pub(super) struct CompiledGraphObject {
    graph: CompiledGraph,
    values: Vec<GraphValue>,
}

pub(super) static COMPILED_GRAPHS: Table<CompiledGraphObject> = Table::new(Kind::CompiledGraph);

/// Calls `change` with a compiled graph.
fn changing<R>(
    compiled: *const hiplaunch_compiled_graph,
    change: impl FnOnce(&mut CompiledGraphObject, Owner) -> Result<R>,
) -> Result<R> {
    COMPILED_GRAPHS.with(compiled, |found| change(&mut found.value, found.owner))?
}

/// Compiles a recorded graph for a stream: plans it, and allocates its workspace from the pool. Submits nothing.
///
/// Values and nodes keep their numbers. The compiled graph keeps its buffers' memory, and after hiplaunch_forget_graphs
/// its workspace, too, until it is closed.
///
/// Ownership: every status closes the graph, so it is never closed afterwards; only a handle that is no open graph
/// stays as it is. The caller closes the compiled graph, or the launcher; buffers, views and the stream may be closed
/// before. Threads: any. Errors: HIPLAUNCH_STATUS_GRAPH, also for a kernel that was unregistered since its launch was
/// recorded; HIPLAUNCH_STATUS_LAUNCH for one that was replaced by a kernel which does not take what was recorded; HIPLAUNCH_STATUS_OUT_OF_MEMORY, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST,
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_compile(
    graph: *mut hiplaunch_graph,
    stream: *const hiplaunch_stream,
    compiled: Option<&mut MaybeUninit<*mut hiplaunch_compiled_graph>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_compile", || {
        // First, so that every error closes it.
        let Found { owner, value: GraphObject { graph, values } } = GRAPHS.take(graph)?;
        let out = wanted(compiled, "compiled")?;
        let graph = graph.compile(&stream_of(stream, owner)?)?;
        out.write(insert_in(&COMPILED_GRAPHS, owner, CompiledGraphObject { graph, values })?);
        Ok(())
    })
}

/// Replaces the buffer of a value by another buffer with as many bytes, from the next submission on. Two buffers may be
/// exchanged. Parts of the value (hiplaunch_graph_slice) are then parts of the new buffer.
///
/// Buffers may overlap differently than before: the next submission then uses another plan, and makes it if there is
/// none.
///
/// Ownership: the buffer may be closed at once. Threads: any, one after the other. Errors: HIPLAUNCH_STATUS_GRAPH for
/// another number of bytes, a buffer of another device, or a value that is no buffer or view;
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT for a value that does not exist; HIPLAUNCH_STATUS_INVALID_HANDLE. After an error,
/// the value keeps its buffer.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_compiled_graph_set_buffer(
    compiled: *const hiplaunch_compiled_graph,
    value: hiplaunch_value,
    buffer: *const hiplaunch_buffer,
) -> hiplaunch_status {
    call("hiplaunch_compiled_graph_set_buffer", || {
        changing(compiled, |object, owner| {
            let value = value_of(&object.values, value)?;
            BUFFERS.look(buffer, |found| {
                same_owner(owner, found.owner, "buffer")?;
                Ok(object.graph.set_buffer(&value, &found.value)?)
            })?
        })
    })
}

/// Replaces the buffer or view of a value by a view, as hiplaunch_compiled_graph_set_buffer does by a buffer.
///
/// Ownership: the view may be closed at once. Threads, errors: as hiplaunch_compiled_graph_set_buffer;
/// HIPLAUNCH_STATUS_GRAPH for a view with gaps between its elements.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_compiled_graph_set_view(
    compiled: *const hiplaunch_compiled_graph,
    value: hiplaunch_value,
    view: *const hiplaunch_view,
) -> hiplaunch_status {
    call("hiplaunch_compiled_graph_set_view", || {
        changing(compiled, |object, owner| {
            let value = value_of(&object.values, value)?;
            VIEWS.look(view, |found| {
                same_owner(owner, found.owner, "view")?;
                Ok(object.graph.set_buffer(&value, &found.value.view)?)
            })?
        })
    })
}

/// Replaces a scalar or a struct by value among the arguments of a recorded launch, from the next submission on: `size`
/// bytes in memory order, as in `hiplaunch_compiled_graph_set_scalar(compiled, node, 0, &a, sizeof a)`. `argument` is
/// the argument's index, from 0.
///
/// Ownership: the bytes are copied. Threads: as hiplaunch_compiled_graph_set_buffer. Errors: HIPLAUNCH_STATUS_GRAPH for
/// a node that is no launch or does not exist, and for an argument that is not passed by value; HIPLAUNCH_STATUS_LAUNCH
/// for another size; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER,
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT. After an error, the argument keeps its value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_compiled_graph_set_scalar(
    compiled: *const hiplaunch_compiled_graph,
    node: hiplaunch_node,
    argument: usize,
    data: *const c_void,
    size: usize,
) -> hiplaunch_status {
    call("hiplaunch_compiled_graph_set_scalar", || {
        // SAFETY: the caller's promise for arrays.
        let data = unsafe { bytes(data, size, "data") }?;
        changing(compiled, |object, _| {
            // SAFETY: the caller's promise for the kernel.
            Ok(unsafe { object.graph.set_scalar(NodeId(node), argument, GraphArg::Struct(data)) }?)
        })
    })
}

/// Replaces all bytes of an argument block (hiplaunch_graph_argument_block), from the next submission on. The library
/// writes the addresses of the recorded patches into them as before.
///
/// Ownership: the bytes are copied. Threads: as hiplaunch_compiled_graph_set_buffer. Errors: HIPLAUNCH_STATUS_GRAPH for
/// another number of bytes, and for a value that is no argument block; HIPLAUNCH_STATUS_INVALID_ARGUMENT for a value
/// that does not exist; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER. After an error, the block keeps
/// its bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_compiled_graph_set_argument_block(
    compiled: *const hiplaunch_compiled_graph,
    value: hiplaunch_value,
    data: *const c_void,
    size: usize,
) -> hiplaunch_status {
    call("hiplaunch_compiled_graph_set_argument_block", || {
        // SAFETY: the caller's promise for arrays.
        let data = unsafe { bytes(data, size, "data") }?;
        changing(compiled, |object, _| {
            let value = value_of(&object.values, value)?;
            // SAFETY: the caller's promise for the kernels.
            Ok(unsafe { object.graph.set_argument_block(&value, data) }?)
        })
    })
}

/// Submits a compiled graph once, on its stream, after everything that was enqueued there. Never waits for the device.
/// In the steady state it allocates nothing. The ticket, which may be null, has an output for each recorded read.
/// `submission` is a hiplaunch_submission.
///
/// Ownership: the compiled graph stays open, also after an error; the caller closes the ticket. Threads: any; each
/// submission has what was set before it. Errors: HIPLAUNCH_STATUS_GRAPH before anything is submitted: for a kernel
/// that was unregistered since its launch was recorded, and for buffers that overlap where recording would have refused that;
/// HIPLAUNCH_STATUS_LAUNCH, also before, for one that was replaced by a kernel which does not take what was recorded; HIPLAUNCH_STATUS_OUT_OF_MEMORY before anything is submitted; HIPLAUNCH_STATUS_DRIVER if the
/// driver refused a node: the nodes before it run, the others do not; HIPLAUNCH_STATUS_DEVICE_LOST,
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_compiled_graph_submit(
    compiled: *const hiplaunch_compiled_graph,
    submission: u32,
    ticket: Option<&mut MaybeUninit<*mut hiplaunch_ticket>>,
) -> hiplaunch_status {
    call("hiplaunch_compiled_graph_submit", || {
        let submission = submission_of(submission)?;
        let (owner, new) =
            changing(compiled, |object, owner| Ok((owner, object.graph.submit_by(submission)?)))?;
        hand_out(owner, new, ticket)
    })
}

/// What a submission of a compiled graph takes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_compiled_graph_summary {
    /// sizeof(hiplaunch_compiled_graph_summary), set by the caller.
    pub struct_size: usize,
    /// The number of nodes that run: the recorded ones, without those whose results nothing uses and copies that are
    /// not needed.
    pub steps: u64,
    /// The number of streams, its own included.
    pub streams: u64,
    /// The number of events between these streams in a submission.
    pub events: u64,
    /// The number of bytes of its temporaries and argument blocks.
    pub workspace_bytes: u64,
}

// SAFETY: integers; the one version.
unsafe impl Versioned for hiplaunch_compiled_graph_summary {
    const NAME: &'static str = "hiplaunch_compiled_graph_summary";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_compiled_graph_summary>()];
}

/// Fills `summary`, whose struct_size the caller has set, with what a submission of a compiled graph takes.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_STRUCT_SIZE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_compiled_graph_summarize(
    compiled: *const hiplaunch_compiled_graph,
    summary: *mut hiplaunch_compiled_graph_summary,
) -> hiplaunch_status {
    call("hiplaunch_compiled_graph_summarize", || {
        changing(compiled, |object, _| {
            let graph = &object.graph;
            // SAFETY: the caller's promise for versioned structs.
            unsafe {
                fill(summary, "summary", |struct_size| {
                    Ok(hiplaunch_compiled_graph_summary {
                        struct_size,
                        steps: graph.steps() as u64,
                        streams: graph.streams() as u64,
                        events: graph.events() as u64,
                        workspace_bytes: graph.workspace_bytes(),
                    })
                })
            }
        })
    })
}

/// Closes a compiled graph. What was submitted runs to its end; its tickets stay open.
///
/// Threads: any; waits for calls on other threads that use it. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_compiled_graph_close(
    compiled: *mut hiplaunch_compiled_graph,
) -> hiplaunch_status {
    call("hiplaunch_compiled_graph_close", || COMPILED_GRAPHS.take(compiled).map(drop))
}
