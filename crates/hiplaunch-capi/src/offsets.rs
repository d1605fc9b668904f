//! Planning offsets for buffers with known lifetimes.

use offset_planner::{Budget, Buffer, BufferId, PlanOptions, Problem, plan};

use super::input::{Versioned, fill, reserved, slice, versioned};
use super::status::{Failure, call, hiplaunch_status};

/// A buffer to place.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_offsets_buffer {
    /// The number of bytes; not 0.
    pub size: u64,
    /// The alignment of the offset in bytes, a power of two; 0 means 1.
    pub alignment: u64,
    /// The first position of its lifetime.
    pub first: u64,
    /// The last position of its lifetime, included.
    pub last: u64,
    /// The offset that the buffer must have, if has_fixed is 1.
    pub fixed: u64,
    /// Whether the offset is fixed: 0 or 1.
    pub has_fixed: u32,
    /// 0.
    pub reserved: u32,
}

/// Two buffers that may share bytes although both are live at one position, which reads the earlier one and writes the
/// later one. The later one may then begin at the first byte of the earlier one.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_offsets_pair {
    /// The index of the buffer whose lifetime ends at the position.
    pub earlier: usize,
    /// The index of the buffer whose lifetime begins at the position.
    pub later: usize,
}

/// A planning problem. Set struct_size to sizeof(hiplaunch_offsets_problem) and fields that are not needed to zero.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_offsets_problem {
    /// sizeof(hiplaunch_offsets_problem).
    pub struct_size: usize,
    /// The buffers.
    pub buffers: *const hiplaunch_offsets_buffer,
    /// The number of buffers.
    pub buffer_count: usize,
    /// Pairs of buffers that may share bytes.
    pub pairs: *const hiplaunch_offsets_pair,
    /// The number of pairs.
    pub pair_count: usize,
    /// The greatest total in bytes; 0 for no limit.
    pub capacity: u64,
    /// The greatest number of nodes that the exact search visits; 0 for 20,000, which take less than a second.
    pub search_nodes: u64,
}

// SAFETY: integers and pointers; the one version.
unsafe impl Versioned for hiplaunch_offsets_problem {
    const NAME: &'static str = "hiplaunch_offsets_problem";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_offsets_problem>()];
}

/// The result of a plan.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_offsets_result {
    /// sizeof(hiplaunch_offsets_result), set by the caller.
    pub struct_size: usize,
    /// The bytes that the plan needs: the highest end of a buffer.
    pub total: u64,
    /// The number of bytes below which no plan can exist.
    pub lower_bound: u64,
}

// SAFETY: integers; the one version.
unsafe impl Versioned for hiplaunch_offsets_result {
    const NAME: &'static str = "hiplaunch_offsets_result";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_offsets_result>()];
}

/// Plans offsets so that no two buffers that are live together overlap, in as few bytes as possible. `offsets` must
/// have room for buffer_count numbers; `result` may be null. The same problem has the same plan on every machine. Needs
/// no launcher and no device.
///
/// Ownership: nothing is kept. Threads: any. Errors: HIPLAUNCH_STATUS_OFFSETS for an invalid problem, whose message
/// names buffers as "buffer 3", or for a problem that does not fit its capacity; HIPLAUNCH_STATUS_STRUCT_SIZE,
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER. After an error, nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_plan_offsets(
    problem: *const hiplaunch_offsets_problem,
    offsets: *mut u64,
    result: *mut hiplaunch_offsets_result,
) -> hiplaunch_status {
    call("hiplaunch_plan_offsets", || {
        // SAFETY: the caller's promises for versioned structs and arrays.
        let (given, buffers, pairs) = unsafe {
            let given = versioned(problem, "problem")?;
            let buffers = slice(given.buffers, given.buffer_count, "buffers")?;
            (given, buffers, slice(given.pairs, given.pair_count, "pairs")?)
        };
        if offsets.is_null() && !buffers.is_empty() {
            return Err(Failure::null("offsets"));
        }
        let mut problem = Problem::builder();
        let mut ids: Vec<BufferId> = Vec::with_capacity(buffers.len());
        for (index, b) in buffers.iter().enumerate() {
            reserved(b.reserved, "hiplaunch_offsets_buffer")?;
            let buffer = Buffer::closed(format!("buffer {index}"), b.size, b.first..=b.last);
            let buffer = buffer.aligned(if b.alignment == 0 { 1 } else { b.alignment });
            ids.push(problem.add(match b.has_fixed {
                0 => buffer,
                1 => buffer.fixed_at(b.fixed),
                other => return Err(Failure::invalid(format!("has_fixed of buffer {index} is {other}"))),
            })?);
        }
        for (index, pair) in pairs.iter().enumerate() {
            let (Some(&earlier), Some(&later)) = (ids.get(pair.earlier), ids.get(pair.later)) else {
                let wrong = format!(
                    "pair {index} names buffers {} and {} of {}",
                    pair.earlier,
                    pair.later,
                    ids.len()
                );
                return Err(Failure::invalid(wrong));
            };
            problem.in_place(earlier, later)?;
        }
        if given.capacity > 0 {
            problem.capacity(given.capacity);
        }
        let mut options = PlanOptions::default();
        if given.search_nodes > 0 {
            options.budget = Budget::Nodes(given.search_nodes);
        }
        let found = plan(&problem.build()?, &options)?;
        if !result.is_null() {
            // SAFETY: not null; the caller's promise for versioned structs.
            unsafe {
                fill(result, "result", |struct_size| {
                    Ok(hiplaunch_offsets_result {
                        struct_size,
                        total: found.total(),
                        lower_bound: found.lower_bound(),
                    })
                })
            }?;
        }
        for (index, &offset) in found.offsets().iter().enumerate() {
            // SAFETY: not null, with room for `buffer_count` numbers by the caller's promise.
            unsafe { offsets.add(index).write_unaligned(offset) };
        }
        Ok(())
    })
}
