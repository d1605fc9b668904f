//! What goes wrong on an agent, and who is told: stderr, the program's handler of system events, and the callback of the queue.

use std::sync::{Mutex, PoisonError};

use amdgpu_emulator::{Error, FaultCause, FaultReport, MemorySpace};

use super::Data;
use super::queue::Queue;
use super::runtime::machine;
use super::status::Status;

/// A `hsa_amd_event_t` of a memory fault.
#[repr(C)]
pub(crate) struct Event {
    kind: u32,
    agent: u64,
    address: u64,
    reasons: u32,
}

/// `HSA_AMD_GPU_MEMORY_FAULT_EVENT`, and the bits of reasons: a page that is not there, one that may only be read.
const MEMORY_FAULT: u32 = 0;
const NOT_PRESENT: u32 = 1;
const READ_ONLY: u32 = 2;

/// A `hsa_amd_system_event_callback_t`.
pub(crate) type EventHandler = Option<unsafe extern "C" fn(*const Event, Data) -> Status>;

static HANDLER: Mutex<Option<(EventHandler, Data)>> = Mutex::new(None);

/// The program can have one.
pub(crate) fn hsa_amd_register_system_event_handler(handler: EventHandler, data: Data) -> Result<(), Status> {
    machine()?;
    let mut registered = HANDLER.lock().unwrap_or_else(PoisonError::into_inner);
    if registered.is_some() {
        return Err(Status::ERROR);
    }
    *registered = Some((handler, data));
    Ok(())
}

/// What stderr says of a queue that ends.
fn say(queue: &Queue, status: Status, reason: impl std::fmt::Display) {
    let node = queue.device.agent.0 - 1;
    hip_driver::stderr_line(format_args!(
        "hiplaunch: HSA agent of node {node}: a queue failed with {:#x}: {reason}",
        status.0
    ));
}

/// Tells the program that a packet of a queue failed, which ends the queue.
pub(super) fn report(queue: &Queue, status: Status, text: &str) {
    say(queue, status, text);
    queue.fail(status);
}

/// The same for a kernel. Of a memory fault, the handler of system events is told first. If nobody is told of that, the process ends, as
/// with ROCr: what waits for the kernel would wait forever.
pub(super) fn kernel_failed(queue: &Queue, error: &Error) {
    let status = status(error);
    say(queue, status, error);
    let fault = match error {
        Error::Fault(report) if status == Status::MEMORY_FAULT => Some(event(queue, report)),
        _ => None,
    };
    let handler =
        HANDLER.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(f, data)| (*f, *data));
    let handled = match (&fault, handler) {
        (Some(event), Some((Some(handler), data))) => {
            // SAFETY: the program's function, with an event that lives until it returns and the data that it passed for it.
            (unsafe { handler(event, data) }) == Status::NONE
        }
        _ => false,
    };
    let told = queue.fail(status);
    if fault.is_some() && !handled && !told {
        std::process::abort();
    }
}

fn event(queue: &Queue, report: &FaultReport) -> Event {
    let (address, reasons) = match &report.cause {
        FaultCause::OutOfBounds { lanes, .. } => (lanes.first().map_or(0, |lane| lane.address), NOT_PRESENT),
        FaultCause::Refused { address, .. } => (*address, NOT_PRESENT),
        FaultCause::ReadOnly { address } => (*address, READ_ONLY),
        _ => (0, 0),
    };
    Event { kind: MEMORY_FAULT, agent: queue.device.agent.0, address, reasons }
}

/// The status of a queue whose kernel failed so: as ROCr tells them from the packet processor's codes.
fn status(error: &Error) -> Status {
    match error {
        Error::Fault(report) => match &report.cause {
            FaultCause::OutOfBounds { space: MemorySpace::Global, .. }
            | FaultCause::Refused { .. }
            | FaultCause::ReadOnly { .. } => Status::MEMORY_FAULT,
            FaultCause::OutOfBounds { .. }
            | FaultCause::StackOverflow { .. }
            | FaultCause::OtherLanesScratch { .. } => Status::MEMORY_APERTURE_VIOLATION,
            FaultCause::IllegalInstruction
            | FaultCause::Unimplemented { .. }
            | FaultCause::NoGlobalDataShare
            | FaultCause::Privileged
            | FaultCause::BadJump { .. } => Status::ILLEGAL_INSTRUCTION,
            _ => Status::EXCEPTION,
        },
        Error::InvalidLaunch { .. } => Status::INVALID_ARGUMENT,
        Error::OutOfMemory { .. } => Status::OUT_OF_RESOURCES,
        Error::BadCodeObject(_) | Error::UnsupportedTarget(_) => Status::INVALID_CODE_OBJECT,
        _ => Status::EXCEPTION,
    }
}
