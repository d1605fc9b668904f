//! The description of what a kernel does with its LDS, statement by statement.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use lds_layout::{LdsBufferId, LdsBuilder, Uniformity};

use super::handles::{Kind, Owner, Table};
use super::input::{enumeration, enumerator, text, wanted};
use super::status::{Failure, Result, call, hiplaunch_status};

/// The description of what a kernel does with its LDS: buffers, accesses, barriers, loops and branches, each at a
/// position. A position is the number of a statement of the kernel in program order.
pub struct hiplaunch_lds_kernel {
    _opaque: (),
}

/// A builder with its buffers and aliases. The index of each is its number.
pub(super) struct LdsKernelObject {
    pub(super) builder: LdsBuilder,
    pub(super) ids: Vec<LdsBufferId>,
}

pub(super) static LDS_KERNELS: Table<LdsKernelObject> = Table::new(Kind::LdsKernel);

/// The kind of an access of a statement to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_lds_access {
    /// The statement reads the buffer.
    Read = 0,
    /// The statement writes the whole buffer; its previous contents are not needed any more.
    Write = 1,
    /// The statement reads and writes the buffer, or writes a part of it.
    Update = 2,
}
enumeration!(hiplaunch_lds_access: Read, Write, Update);

/// Whether the work-items of a workgroup run a loop's body, or a branch's arms, together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum hiplaunch_lds_runs {
    /// Work-items of one workgroup may differ. Barriers inside are not counted, and none is inserted there.
    Divergent = 0,
    /// All work-items do the same: the loop may run zero times, and either arm of the branch may be taken.
    Uniform = 1,
    /// All work-items do the same, and the loop runs at least once, or the first arm is always taken.
    Executed = 2,
}
enumeration!(hiplaunch_lds_runs: Divergent, Uniform, Executed);

fn runs(number: u32) -> Result<Uniformity> {
    Ok(match enumerator(number)? {
        hiplaunch_lds_runs::Divergent => Uniformity::Divergent,
        hiplaunch_lds_runs::Uniform => Uniformity::Uniform,
        hiplaunch_lds_runs::Executed => Uniformity::UniformTaken,
    })
}

fn telling<R>(
    kernel: *const hiplaunch_lds_kernel,
    tell: impl FnOnce(&mut LdsKernelObject) -> Result<R>,
) -> Result<R> {
    LDS_KERNELS.with(kernel, |found| tell(&mut found.value))?
}

/// Begins the description of a kernel with positions `first` to `last`, both included. Needs no launcher and no device.
///
/// Ownership: the caller closes it. Threads: any, one after the other. Errors: HIPLAUNCH_STATUS_LDS if there is no
/// position, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_lds_open(
    first: u64,
    last: u64,
    kernel: Option<&mut MaybeUninit<*mut hiplaunch_lds_kernel>>,
) -> hiplaunch_status {
    call("hiplaunch_lds_open", || {
        let out = wanted(kernel, "kernel")?;
        let object = LdsKernelObject { builder: LdsBuilder::new(first..=last)?, ids: Vec::new() };
        out.write(LDS_KERNELS.insert(Owner::NONE, object)?);
        Ok(())
    })
}

/// Adds a buffer of `size` bytes whose offset is a multiple of `alignment`, a power of two; 0 means 16, which suits
/// every LDS access. `buffer` gets its number: 0 for the first, and so on.
///
/// Threads: as hiplaunch_lds_open. Errors: HIPLAUNCH_STATUS_LDS for a size of 0, too many bytes, an alignment that is
/// no power of two, or a name that is used already; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_lds_buffer(
    kernel: *const hiplaunch_lds_kernel,
    name: *const c_char,
    size: u64,
    alignment: u64,
    buffer: Option<&mut MaybeUninit<u32>>,
) -> hiplaunch_status {
    call("hiplaunch_lds_buffer", || {
        let out = wanted(buffer, "buffer")?;
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text(name, "name") }?;
        telling(kernel, |object| {
            let id = match alignment {
                0 => object.builder.buffer(name, size)?,
                _ => object.builder.buffer_aligned(name, size, alignment)?,
            };
            out.write(object.ids.len() as u32);
            object.ids.push(id);
            Ok(())
        })
    })
}

/// Adds an alias: another name of a buffer or alias, which may be added later. Both have the same memory. `alias` gets
/// its number; buffers and aliases are numbered together.
///
/// Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_lds_alias(
    kernel: *const hiplaunch_lds_kernel,
    name: *const c_char,
    of: *const c_char,
    alias: Option<&mut MaybeUninit<u32>>,
) -> hiplaunch_status {
    call("hiplaunch_lds_alias", || {
        let out = wanted(alias, "alias")?;
        // SAFETY: the caller's promise for texts.
        let (name, of) = unsafe { (text(name, "name")?, text(of, "of")?) };
        telling(kernel, |object| {
            let id = object.builder.alias(name, of)?;
            out.write(object.ids.len() as u32);
            object.ids.push(id);
            Ok(())
        })
    })
}

/// Adds an access of the statement at a position to a buffer. `access` is a hiplaunch_lds_access.
///
/// Threads: as hiplaunch_lds_open. Errors: HIPLAUNCH_STATUS_LDS for a position outside of the kernel;
/// HIPLAUNCH_STATUS_INVALID_ARGUMENT for a buffer or access that does not exist; HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_lds_accesses(
    kernel: *const hiplaunch_lds_kernel,
    buffer: u32,
    access: u32,
    position: u64,
) -> hiplaunch_status {
    call("hiplaunch_lds_accesses", || {
        let access = enumerator(access)?;
        telling(kernel, |object| {
            let id = id_of(&object.ids, buffer)?;
            match access {
                hiplaunch_lds_access::Read => object.builder.read(id, position)?,
                hiplaunch_lds_access::Write => object.builder.write(id, position)?,
                hiplaunch_lds_access::Update => object.builder.update(id, position)?,
            }
            Ok(())
        })
    })
}

pub(super) fn id_of(ids: &[LdsBufferId], buffer: u32) -> Result<LdsBufferId> {
    ids.get(buffer as usize)
        .copied()
        .ok_or_else(|| Failure::invalid(format!("buffer {buffer} of a kernel of {}", ids.len())))
}

/// Adds a workgroup barrier that the kernel has at a position.
///
/// Threads: as hiplaunch_lds_open. Errors: HIPLAUNCH_STATUS_LDS for a position outside of the kernel;
/// HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_lds_barrier(
    kernel: *const hiplaunch_lds_kernel,
    position: u64,
) -> hiplaunch_status {
    call("hiplaunch_lds_barrier", || telling(kernel, |object| Ok(object.builder.barrier(position)?)))
}

/// Begins a loop. `who` is a hiplaunch_lds_runs. Loops and branches are begun and ended in the order of their
/// positions.
///
/// Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_barrier, also for a position that is not after the last
/// begin or end; HIPLAUNCH_STATUS_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_lds_begin_loop(
    kernel: *const hiplaunch_lds_kernel,
    position: u64,
    who: u32,
) -> hiplaunch_status {
    call("hiplaunch_lds_begin_loop", || {
        let who = runs(who)?;
        telling(kernel, |object| Ok(object.builder.begin_loop(position, who)?))
    })
}

/// Ends the innermost loop. Its body runs again from its begin.
///
/// Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_begin_loop, also if the innermost open loop or branch is no
/// loop.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_lds_end_loop(
    kernel: *const hiplaunch_lds_kernel,
    position: u64,
) -> hiplaunch_status {
    call("hiplaunch_lds_end_loop", || telling(kernel, |object| Ok(object.builder.end_loop(position)?)))
}

/// Begins a branch and its first arm. `who` is a hiplaunch_lds_runs.
///
/// Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_begin_loop.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_lds_begin_branch(
    kernel: *const hiplaunch_lds_kernel,
    position: u64,
    who: u32,
) -> hiplaunch_status {
    call("hiplaunch_lds_begin_branch", || {
        let who = runs(who)?;
        telling(kernel, |object| Ok(object.builder.begin_branch(position, who)?))
    })
}

/// Begins the second arm of the innermost branch.
///
/// Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_begin_loop, also if the innermost open loop or branch is no
/// branch in its first arm.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_lds_begin_else(
    kernel: *const hiplaunch_lds_kernel,
    position: u64,
) -> hiplaunch_status {
    call("hiplaunch_lds_begin_else", || telling(kernel, |object| Ok(object.builder.begin_else(position)?)))
}

/// Ends the innermost branch.
///
/// Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_begin_loop, also if the innermost open loop or branch is no
/// branch.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_lds_end_branch(
    kernel: *const hiplaunch_lds_kernel,
    position: u64,
) -> hiplaunch_status {
    call("hiplaunch_lds_end_branch", || telling(kernel, |object| Ok(object.builder.end_branch(position)?)))
}

/// Closes the description of a kernel. Its layouts stay open.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_lds_close(kernel: *mut hiplaunch_lds_kernel) -> hiplaunch_status {
    call("hiplaunch_lds_close", || LDS_KERNELS.take(kernel).map(drop))
}
