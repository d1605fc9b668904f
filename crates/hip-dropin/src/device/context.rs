//! Contexts. Each device has one, its primary context; making another one gives the same.

use std::sync::atomic::Ordering;

use crate::abi::{HipResult, Out, Status};
use crate::device::check_flags;
use crate::process::{ContextHandle, Process, thread};

pub(crate) fn hipCtxCreate(
    process: &Process,
    context: Out<ContextHandle>,
    flags: u32,
    device: i32,
) -> HipResult {
    context.check()?;
    check_flags(flags)?;
    let (device, _) = process.device(device)?;
    thread::push_context(device);
    context.set(process.context_handle(device))
}

pub(crate) fn hipCtxDestroy(process: &Process, context: ContextHandle) -> HipResult {
    let device = process.device_of_context(context).map_err(|_| Status::INVALID_VALUE)?;
    if thread::device() == device {
        thread::pop_context();
    }
    Ok(())
}

pub(crate) fn hipCtxPushCurrent(process: &Process, context: ContextHandle) -> HipResult {
    thread::push_context(process.device_of_context(context)?);
    Ok(())
}

pub(crate) fn hipCtxPopCurrent(process: &Process, context: Out<ContextHandle>) -> HipResult {
    let popped = thread::pop_context().ok_or(Status::INVALID_CONTEXT)?;
    context.set_if_wanted(process.context_handle(popped));
    Ok(())
}

pub(crate) fn hipCtxSetCurrent(process: &Process, context: ContextHandle) -> HipResult {
    if context.is_null() {
        thread::pop_context();
        return Ok(());
    }
    thread::set_device(process.device_of_context(context)?);
    Ok(())
}

pub(crate) fn hipCtxGetApiVersion(process: &Process, context: ContextHandle, version: Out<i32>) -> HipResult {
    version.check()?;
    process.device_of_context(context)?;
    version.set(4)
}

pub(crate) fn hipDevicePrimaryCtxRetain(
    process: &Process,
    context: Out<ContextHandle>,
    device: i32,
) -> HipResult {
    let (id, device) = process.device(device)?;
    context.set(process.context_handle(id))?;
    device.retained.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

pub(crate) fn hipDevicePrimaryCtxRelease(process: &Process, device: i32) -> HipResult {
    let (_, device) = process.device(device)?;
    let fewer = |retained: u32| retained.checked_sub(1);
    // HIP does not count releases that are one too many.
    let _ = device.retained.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
    Ok(())
}

/// The primary context is there from the first call on, so that its flags are set already.
pub(crate) fn hipDevicePrimaryCtxSetFlags(process: &Process, device: i32, _flags: u32) -> HipResult {
    process.device(device).and(Err(Status::CONTEXT_ALREADY_IN_USE))
}

pub(crate) fn hipDevicePrimaryCtxGetState(
    process: &Process,
    device: i32,
    flags: Out<u32>,
    active: Out<i32>,
) -> HipResult {
    let (id, device) = process.device(device)?;
    flags.check()?;
    active.check()?;
    flags.set(device.flags.load(Ordering::Relaxed))?;
    active.set(i32::from(id == thread::device()))
}
