//! Graph values: bytes that the nodes of a graph read and write.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use hiplaunch::graph::GraphValue;

use super::buffers::{BUFFERS, hiplaunch_buffer};
use super::graph::{GraphObject, hiplaunch_graph, recording};
use super::handles::same_owner;
use super::input::{bytes, slice, wanted};
use super::status::{Failure, Result, call, hiplaunch_status};
use super::views::{VIEWS, hiplaunch_view};

/// The number of a graph value within its graph: 0 for the first value, and so on.
pub type hiplaunch_value = u32;

/// Eight bytes of a graph's argument block into which the library writes the address of a value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_graph_patch {
    /// The offset of the eight bytes in the block.
    pub offset: usize,
    /// The value whose address is written.
    pub value: hiplaunch_value,
    /// 0.
    pub reserved: u32,
}

pub(super) fn value_of(values: &[GraphValue], number: hiplaunch_value) -> Result<GraphValue> {
    values
        .get(number as usize)
        .copied()
        .ok_or_else(|| Failure::invalid(format!("value {number} of a graph of {}", values.len())))
}

fn add(object: &mut GraphObject, value: GraphValue, out: &mut MaybeUninit<hiplaunch_value>) -> Result<()> {
    let number = u32::try_from(object.values.len()).map_err(|_| Failure::invalid("2^32 values"))?;
    object.values.push(value);
    out.write(number);
    Ok(())
}

/// Adds a value that is the memory of a buffer. The buffer keeps what nodes write to it. It may be closed once the
/// graph is computed or compiled.
///
/// Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH for a buffer of another device,
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_buffer(
    graph: *const hiplaunch_graph,
    buffer: *const hiplaunch_buffer,
    value: Option<&mut MaybeUninit<hiplaunch_value>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_buffer", || {
        let out = wanted(value, "value")?;
        recording(graph, |object, owner| {
            let value = BUFFERS.look(buffer, |found| {
                same_owner(owner, found.owner, "buffer")?;
                Ok::<GraphValue, Failure>(object.graph.buffer(&found.value)?)
            })??;
            add(object, value, out)
        })
    })
}

/// Adds a value that is the memory of a view whose elements are contiguous. Values may overlap, as a buffer and a view
/// of it do: which nodes depend on each other is found by their bytes. The view may be closed once the graph is
/// computed or compiled.
///
/// Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH for a view of another device or with gaps between
/// its elements, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_view(
    graph: *const hiplaunch_graph,
    view: *const hiplaunch_view,
    value: Option<&mut MaybeUninit<hiplaunch_value>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_view", || {
        let out = wanted(value, "value")?;
        recording(graph, |object, owner| {
            let value = VIEWS.look(view, |found| {
                same_owner(owner, found.owner, "view")?;
                Ok::<GraphValue, Failure>(object.graph.buffer(&found.value.view)?)
            })??;
            add(object, value, out)
        })
    })
}

/// Adds a temporary of `bytes` bytes: a value that only this graph uses, and which the graph places in its workspace.
///
/// Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH if it is larger than can be addressed,
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_temporary(
    graph: *const hiplaunch_graph,
    bytes: usize,
    value: Option<&mut MaybeUninit<hiplaunch_value>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_temporary", || {
        let out = wanted(value, "value")?;
        recording(graph, |object, _| {
            let value = object.graph.temporary::<u8>(bytes)?;
            add(object, value, out)
        })
    })
}

/// Adds a value that is a part of another value: `size` bytes, from its byte `offset` on.
///
/// Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH for bytes outside of the value;
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_graph_slice(
    graph: *const hiplaunch_graph,
    of: hiplaunch_value,
    offset: usize,
    size: usize,
    value: Option<&mut MaybeUninit<hiplaunch_value>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_slice", || {
        let out = wanted(value, "value")?;
        recording(graph, |object, _| {
            let part = value_of(&object.values, of)?.slice(offset as u64, size as u64)?;
            add(object, part, out)
        })
    })
}

/// Adds an argument block as a value: bytes of the host that kernels read through one pointer. The library writes the
/// addresses of values into them; the patches are in ascending order of their offsets. Computing the graph again with
/// other bytes costs one copy, and no new plan.
///
/// Ownership: everything is copied. Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH for a patch that
/// is outside of the bytes, out of order, or names an argument block; HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_graph_argument_block(
    graph: *const hiplaunch_graph,
    data: *const c_void,
    size: usize,
    patches: *const hiplaunch_graph_patch,
    patch_count: usize,
    value: Option<&mut MaybeUninit<hiplaunch_value>>,
) -> hiplaunch_status {
    call("hiplaunch_graph_argument_block", || {
        let out = wanted(value, "value")?;
        // SAFETY: the caller's promise for arrays.
        let (data, patches) =
            unsafe { (bytes(data, size, "data")?, slice(patches, patch_count, "patches")?) };
        recording(graph, |object, _| {
            let mut all = Vec::with_capacity(patches.len());
            for patch in patches {
                super::input::reserved(patch.reserved, "hiplaunch_graph_patch")?;
                all.push((patch.offset, value_of(&object.values, patch.value)?));
            }
            let value = object.graph.block(data, &all)?;
            add(object, value, out)
        })
    })
}
