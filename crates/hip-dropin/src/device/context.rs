//! Contexts. Each device has one, its primary context; making another one gives the same.

use std::sync::atomic::Ordering;

use crate::abi::c_caller::Out;
use crate::abi::status::Status;
use crate::device::{check_flags, synchronize};
use crate::process::ContextHandle;
use crate::process::call::call;
use crate::process::thread;

#[unsafe(export_name = "emulated_hipCtxCreate")]
extern "C" fn hipCtxCreate(context: Out<ContextHandle>, flags: u32, device: i32) -> Status {
    call("hipCtxCreate", |process| {
        context.check()?;
        check_flags(flags)?;
        let (device, _) = process.device(device)?;
        thread::push_context(device);
        context.set(process.context_handle(device))
    })
}

#[unsafe(export_name = "emulated_hipCtxDestroy")]
extern "C" fn hipCtxDestroy(context: ContextHandle) -> Status {
    call("hipCtxDestroy", |process| {
        let device = process.device_of_context(context).map_err(|_| Status::INVALID_VALUE)?;
        if thread::device() == device {
            thread::pop_context();
        }
        Ok(())
    })
}

#[unsafe(export_name = "emulated_hipCtxPushCurrent")]
extern "C" fn hipCtxPushCurrent(context: ContextHandle) -> Status {
    call("hipCtxPushCurrent", |process| {
        thread::push_context(process.device_of_context(context)?);
        Ok(())
    })
}

#[unsafe(export_name = "emulated_hipCtxPopCurrent")]
extern "C" fn hipCtxPopCurrent(context: Out<ContextHandle>) -> Status {
    call("hipCtxPopCurrent", |process| {
        let popped = thread::pop_context().ok_or(Status::INVALID_CONTEXT)?;
        context.set_if_wanted(process.context_handle(popped));
        Ok(())
    })
}

#[unsafe(export_name = "emulated_hipCtxSetCurrent")]
extern "C" fn hipCtxSetCurrent(context: ContextHandle) -> Status {
    call("hipCtxSetCurrent", |process| {
        if context.is_null() {
            thread::pop_context();
            return Ok(());
        }
        thread::set_device(process.device_of_context(context)?);
        Ok(())
    })
}

#[unsafe(export_name = "emulated_hipCtxGetCurrent")]
extern "C" fn hipCtxGetCurrent(context: Out<ContextHandle>) -> Status {
    call("hipCtxGetCurrent", |process| context.set(process.context_handle(thread::device())))
}

#[unsafe(export_name = "emulated_hipCtxGetDevice")]
extern "C" fn hipCtxGetDevice(device: Out<i32>) -> Status {
    call("hipCtxGetDevice", |_| device.set(thread::device().0 as i32))
}

#[unsafe(export_name = "emulated_hipCtxGetApiVersion")]
extern "C" fn hipCtxGetApiVersion(context: ContextHandle, version: Out<i32>) -> Status {
    call("hipCtxGetApiVersion", |process| {
        version.check()?;
        process.device_of_context(context)?;
        version.set(4)
    })
}

#[unsafe(export_name = "emulated_hipCtxGetFlags")]
extern "C" fn hipCtxGetFlags(flags: Out<u32>) -> Status {
    call("hipCtxGetFlags", |process| flags.set(process.current().flags.load(Ordering::Relaxed)))
}

#[unsafe(export_name = "emulated_hipCtxSynchronize")]
extern "C" fn hipCtxSynchronize() -> Status {
    call("hipCtxSynchronize", synchronize)
}

#[unsafe(export_name = "emulated_hipDevicePrimaryCtxRetain")]
extern "C" fn hipDevicePrimaryCtxRetain(context: Out<ContextHandle>, device: i32) -> Status {
    call("hipDevicePrimaryCtxRetain", |process| {
        let (id, device) = process.device(device)?;
        context.set(process.context_handle(id))?;
        device.retained.fetch_add(1, Ordering::Relaxed);
        Ok(())
    })
}

#[unsafe(export_name = "emulated_hipDevicePrimaryCtxRelease")]
extern "C" fn hipDevicePrimaryCtxRelease(device: i32) -> Status {
    call("hipDevicePrimaryCtxRelease", |process| {
        let (_, device) = process.device(device)?;
        let fewer = |retained: u32| retained.checked_sub(1);
        // HIP does not count releases that are one too many.
        let _ = device.retained.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        Ok(())
    })
}

#[unsafe(export_name = "emulated_hipDevicePrimaryCtxReset")]
extern "C" fn hipDevicePrimaryCtxReset(device: i32) -> Status {
    call("hipDevicePrimaryCtxReset", |process| process.device(device).map(drop))
}

#[unsafe(export_name = "emulated_hipDevicePrimaryCtxSetFlags")]
extern "C" fn hipDevicePrimaryCtxSetFlags(device: i32, flags: u32) -> Status {
    call("hipDevicePrimaryCtxSetFlags", |process| {
        let (_, device) = process.device(device)?;
        check_flags(flags)?;
        if device.retained.load(Ordering::Relaxed) > 0 {
            return Err(Status::CONTEXT_ALREADY_IN_USE);
        }
        device.flags.store(flags, Ordering::Relaxed);
        Ok(())
    })
}

#[unsafe(export_name = "emulated_hipDevicePrimaryCtxGetState")]
extern "C" fn hipDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) -> Status {
    call("hipDevicePrimaryCtxGetState", |process| {
        let (id, device) = process.device(device)?;
        flags.check()?;
        active.check()?;
        flags.set(device.flags.load(Ordering::Relaxed))?;
        active.set(i32::from(id == thread::device()))
    })
}
