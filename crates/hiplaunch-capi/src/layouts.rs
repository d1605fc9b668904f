//! LDS layouts.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::Arc;

use lds_layout::{LdsBufferId, LdsCapacity, LdsLayout};

use super::handles::{Kind, Owner, Table};
use super::input::{Versioned, enumeration, enumerator, fill, text, versioned, wanted};
use super::lds::{LDS_KERNELS, hiplaunch_lds_kernel, id_of};
use super::status::{Failure, Result, call, hiplaunch_status};
use super::text::{hiplaunch_text, new_text};

/// An LDS layout: the offset of each buffer in a kernel's dynamic LDS, and the barriers that must be inserted in its
/// code.
pub struct hiplaunch_lds_layout {
    _opaque: (),
}

pub(super) struct LayoutObject {
    layout: LdsLayout,
    ids: Vec<LdsBufferId>,
}

impl LayoutObject {
    pub(super) fn layout(&self) -> &LdsLayout {
        &self.layout
    }
}

pub(super) static LAYOUTS: Table<Arc<LayoutObject>> = Table::new(Kind::LdsLayout);

/// The kind of a layout's goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_lds_goal_kind {
    /// The fewest bytes without inserted barriers.
    AsItIs = 0,
    /// At most `bytes` bytes, with the fewest inserted barriers.
    Within = 1,
    /// `workgroups` workgroups on a compute unit of `processor`, each with `static_lds` further bytes of LDS, with the
    /// fewest inserted barriers.
    Occupancy = 2,
}
enumeration!(hiplaunch_lds_goal_kind: AsItIs, Within, Occupancy);

/// The goal of a layout. Set struct_size to sizeof(hiplaunch_lds_goal) and the fields that the kind does not use to
/// zero.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_lds_goal {
    /// sizeof(hiplaunch_lds_goal).
    pub struct_size: usize,
    /// A hiplaunch_lds_goal_kind.
    pub kind: u32,
    /// For HIPLAUNCH_LDS_GOAL_KIND_OCCUPANCY: the number of workgroups on a compute unit.
    pub workgroups: u32,
    /// For HIPLAUNCH_LDS_GOAL_KIND_OCCUPANCY: the bytes of static LDS of each workgroup.
    pub static_lds: u32,
    /// 0.
    pub reserved: u32,
    /// For HIPLAUNCH_LDS_GOAL_KIND_WITHIN: the greatest number of bytes.
    pub bytes: u64,
    /// For HIPLAUNCH_LDS_GOAL_KIND_OCCUPANCY: the processor, "gfx90a", "gfx942" or "gfx950".
    pub processor: *const c_char,
}

// SAFETY: integers and a pointer; the one version.
unsafe impl Versioned for hiplaunch_lds_goal {
    const NAME: &'static str = "hiplaunch_lds_goal";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_lds_goal>()];
}

/// Computes the LDS layout of a kernel from its description so far. A null `goal` means no inserted barriers.
///
/// Ownership: the caller closes the layout; the description may be continued, or closed. Threads: any. Errors:
/// HIPLAUNCH_STATUS_LDS for a loop or branch without an end, an alias without a buffer, or a goal that can't be
/// reached, whose message says what can; HIPLAUNCH_STATUS_STRUCT_SIZE, HIPLAUNCH_STATUS_INVALID_ARGUMENT,
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_lds_lay_out(
    kernel: *const hiplaunch_lds_kernel,
    goal: *const hiplaunch_lds_goal,
    layout: Option<&mut MaybeUninit<*mut hiplaunch_lds_layout>>,
) -> hiplaunch_status {
    call("hiplaunch_lds_lay_out", || {
        let out = wanted(layout, "layout")?;
        let goal = match goal.is_null() {
            true => None,
            // SAFETY: the caller's promise for versioned structs.
            false => Some(unsafe { versioned(goal, "goal") }?),
        };
        let (builder, ids) =
            LDS_KERNELS.look(kernel, |found| (found.value.builder.clone(), found.value.ids.clone()))?;
        let program = builder.build()?;
        let layout = match &goal {
            None => program.layout()?,
            Some(goal) => {
                super::input::reserved(goal.reserved, "hiplaunch_lds_goal")?;
                match enumerator(goal.kind)? {
                    hiplaunch_lds_goal_kind::AsItIs => program.layout()?,
                    hiplaunch_lds_goal_kind::Within => program.layout_within(goal.bytes)?,
                    hiplaunch_lds_goal_kind::Occupancy => {
                        // SAFETY: the caller's promise for texts.
                        let processor = unsafe { text(goal.processor, "processor") }?;
                        let lds = LdsCapacity::of(processor).ok_or_else(|| {
                            Failure::invalid(format!("how much LDS a `{processor}` has is not known here"))
                        })?;
                        program.layout_for_occupancy(lds, goal.workgroups, goal.static_lds)?
                    }
                }
            }
        };
        out.write(LAYOUTS.insert(Owner::NONE, Arc::new(LayoutObject { layout, ids }))?);
        Ok(())
    })
}

/// The totals of a layout.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_lds_summary {
    /// sizeof(hiplaunch_lds_summary), set by the caller.
    pub struct_size: usize,
    /// The number of bytes of dynamic LDS that a launch needs.
    pub total: u32,
    /// The number of bytes below which no layout with these barriers can exist.
    pub lower_bound: u32,
    /// The number of barriers to insert.
    pub barriers: u32,
    /// Whether it is proved that fewer barriers do not suffice: 0 or 1.
    pub is_fewest: u32,
}

// SAFETY: integers; the one version.
unsafe impl Versioned for hiplaunch_lds_summary {
    const NAME: &'static str = "hiplaunch_lds_summary";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_lds_summary>()];
}

fn layout_of(layout: *const hiplaunch_lds_layout) -> Result<Arc<LayoutObject>> {
    Ok(LAYOUTS.get(layout)?.value)
}

/// Fills `summary`, whose struct_size the caller has set, with the totals of a layout.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_STRUCT_SIZE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_lds_summarize(
    layout: *const hiplaunch_lds_layout,
    summary: *mut hiplaunch_lds_summary,
) -> hiplaunch_status {
    call("hiplaunch_lds_summarize", || {
        let object = layout_of(layout)?;
        let layout = object.layout();
        // SAFETY: the caller's promise for versioned structs.
        unsafe {
            fill(summary, "summary", |struct_size| {
                Ok(hiplaunch_lds_summary {
                    struct_size,
                    total: layout.total(),
                    lower_bound: layout.lower_bound(),
                    barriers: layout.inserted().len() as u32,
                    is_fewest: u32::from(layout.is_fewest()),
                })
            })
        }
    })
}

/// The offset in bytes of the buffer or alias with a number.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a buffer that does not exist or is never accessed;
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_lds_offset(
    layout: *const hiplaunch_lds_layout,
    buffer: u32,
    offset: Option<&mut MaybeUninit<u32>>,
) -> hiplaunch_status {
    call("hiplaunch_lds_offset", || {
        let out = wanted(offset, "offset")?;
        let object = layout_of(layout)?;
        let id = id_of(&object.ids, buffer)?;
        let offset = object.layout.offset(id);
        out.write(offset.ok_or_else(|| Failure::invalid(format!("buffer {buffer} is never accessed")))?);
        Ok(())
    })
}

/// The position directly before which barrier `index` must be inserted. Barriers are in program order.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a barrier that does not exist;
/// HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_lds_inserted_barrier(
    layout: *const hiplaunch_lds_layout,
    index: u32,
    before: Option<&mut MaybeUninit<u64>>,
) -> hiplaunch_status {
    call("hiplaunch_lds_inserted_barrier", || {
        let out = wanted(before, "before")?;
        let object = layout_of(layout)?;
        let inserted = object.layout.inserted();
        match inserted.get(index as usize) {
            Some(barrier) => out.write(barrier.before),
            None => return Err(Failure::invalid(format!("barrier {index} of {}", inserted.len()))),
        };
        Ok(())
    })
}

/// A layout as a picture of characters, for people.
///
/// Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
/// HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_lds_picture(
    layout: *const hiplaunch_lds_layout,
    picture: Option<&mut MaybeUninit<*mut hiplaunch_text>>,
) -> hiplaunch_status {
    call("hiplaunch_lds_picture", || {
        let out = wanted(picture, "picture")?;
        out.write(new_text(layout_of(layout)?.layout.to_text())?);
        Ok(())
    })
}

/// Closes a layout. Kernels that have it keep it.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_lds_layout_close(layout: *mut hiplaunch_lds_layout) -> hiplaunch_status {
    call("hiplaunch_lds_layout_close", || LAYOUTS.take(layout).map(drop))
}
