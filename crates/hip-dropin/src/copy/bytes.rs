//! The functions that copy one range of bytes.

use crate::abi::c_caller::Address;
use crate::abi::status::{HipResult, Status};
use crate::copy::{DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, copy};
use crate::process::Process;
use crate::process::call::call;
use crate::stream::StreamHandle;
use crate::stream::target::Target;

#[unsafe(export_name = "emulated_hipMemcpy")]
extern "C" fn hipMemcpy(dst: Address, src: Address, bytes: usize, kind: i32) -> Status {
    call("hipMemcpy", |process| copy(process, dst, src, bytes, kind, Target::blocking()))
}

#[unsafe(export_name = "emulated_hipMemcpyWithStream")]
pub(crate) extern "C" fn hipMemcpyWithStream(
    dst: Address,
    src: Address,
    bytes: usize,
    kind: i32,
    stream: StreamHandle,
) -> Status {
    call("hipMemcpyWithStream", |process| {
        copy(process, dst, src, bytes, kind, Target::blocking_on(process, stream)?)
    })
}

#[unsafe(export_name = "emulated_hipMemcpyAsync")]
pub(crate) extern "C" fn hipMemcpyAsync(
    dst: Address,
    src: Address,
    bytes: usize,
    kind: i32,
    stream: StreamHandle,
) -> Status {
    call("hipMemcpyAsync", |process| copy(process, dst, src, bytes, kind, Target::on(process, stream)?))
}

#[unsafe(export_name = "emulated_hipMemcpyHtoD")]
extern "C" fn hipMemcpyHtoD(dst: Address, src: Address, bytes: usize) -> Status {
    call("hipMemcpyHtoD", |process| copy(process, dst, src, bytes, HOST_TO_DEVICE, Target::blocking()))
}

#[unsafe(export_name = "emulated_hipMemcpyDtoH")]
extern "C" fn hipMemcpyDtoH(dst: Address, src: Address, bytes: usize) -> Status {
    call("hipMemcpyDtoH", |process| copy(process, dst, src, bytes, DEVICE_TO_HOST, Target::blocking()))
}

#[unsafe(export_name = "emulated_hipMemcpyDtoD")]
extern "C" fn hipMemcpyDtoD(dst: Address, src: Address, bytes: usize) -> Status {
    call("hipMemcpyDtoD", |process| copy(process, dst, src, bytes, DEVICE_TO_DEVICE, Target::blocking()))
}

#[unsafe(export_name = "emulated_hipMemcpyHtoDAsync")]
extern "C" fn hipMemcpyHtoDAsync(dst: Address, src: Address, bytes: usize, stream: StreamHandle) -> Status {
    call("hipMemcpyHtoDAsync", |process| {
        copy(process, dst, src, bytes, HOST_TO_DEVICE, Target::on(process, stream)?)
    })
}

#[unsafe(export_name = "emulated_hipMemcpyDtoHAsync")]
extern "C" fn hipMemcpyDtoHAsync(dst: Address, src: Address, bytes: usize, stream: StreamHandle) -> Status {
    call("hipMemcpyDtoHAsync", |process| {
        copy(process, dst, src, bytes, DEVICE_TO_HOST, Target::on(process, stream)?)
    })
}

#[unsafe(export_name = "emulated_hipMemcpyDtoDAsync")]
extern "C" fn hipMemcpyDtoDAsync(dst: Address, src: Address, bytes: usize, stream: StreamHandle) -> Status {
    call("hipMemcpyDtoDAsync", |process| {
        copy(process, dst, src, bytes, DEVICE_TO_DEVICE, Target::on(process, stream)?)
    })
}

/// Checks the devices of a copy between devices.
fn check_peers(process: &Process, dst: i32, src: i32) -> HipResult {
    process.device(dst).and(process.device(src)).map(drop)
}

#[unsafe(export_name = "emulated_hipMemcpyPeer")]
extern "C" fn hipMemcpyPeer(
    dst: Address,
    dst_device: i32,
    src: Address,
    src_device: i32,
    bytes: usize,
) -> Status {
    call("hipMemcpyPeer", |process| {
        check_peers(process, dst_device, src_device)?;
        copy(process, dst, src, bytes, DEFAULT, Target::blocking())
    })
}

#[unsafe(export_name = "emulated_hipMemcpyPeerAsync")]
extern "C" fn hipMemcpyPeerAsync(
    dst: Address,
    dst_device: i32,
    src: Address,
    src_device: i32,
    bytes: usize,
    stream: StreamHandle,
) -> Status {
    call("hipMemcpyPeerAsync", |process| {
        check_peers(process, dst_device, src_device)?;
        copy(process, dst, src, bytes, DEFAULT, Target::on(process, stream)?)
    })
}
