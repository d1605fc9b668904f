//! The runtime itself: its references, the system, extensions.

use std::ffi::{CStr, c_void};
use std::sync::{Mutex, PoisonError};

use code_object::FeatureSetting;

use super::status::Status;
use super::value::{Place, Value};
use crate::abi::{Out, StaticText};
use crate::machine::Machine;

/// How often the runtime was initialised and not shut down.
static REFERENCES: Mutex<u32> = Mutex::new(0);

/// The version of HSA's specification.
const VERSION: [u16; 2] = [1, 1];

/// The version of AMD's extensions, whose later functions are refused.
const EXTENSIONS: [u16; 2] = [1, 0];

/// What HSA calls the build of its runtime.
const BUILD: &CStr = c"hiplaunch";

/// Nanoseconds are what a timestamp counts.
pub(super) const TICKS_PER_SECOND: u64 = 1_000_000_000;

/// `HSA_MACHINE_MODEL_LARGE`: pointers have 64 bits. `HSA_ENDIANNESS_LITTLE`.
pub(super) const LARGE: u32 = 1;
const LITTLE: u32 = 0;

/// The bytes of a bit mask of extensions.
pub(super) const EXTENSION_BYTES: usize = 128;

/// The machine, if the runtime is initialised.
pub(super) fn machine() -> Result<&'static Machine, Status> {
    let references = REFERENCES.lock().unwrap_or_else(PoisonError::into_inner);
    match *references {
        0 => Err(Status::NOT_INITIALIZED),
        _ => Machine::get().ok_or(Status::OUT_OF_RESOURCES),
    }
}

pub(crate) fn hsa_init() -> Result<(), Status> {
    Machine::get().ok_or(Status::OUT_OF_RESOURCES)?;
    let mut references = REFERENCES.lock().unwrap_or_else(PoisonError::into_inner);
    *references = references.checked_add(1).ok_or(Status::REFCOUNT_OVERFLOW)?;
    Ok(())
}

pub(crate) fn hsa_shut_down() -> Result<(), Status> {
    let mut references = REFERENCES.lock().unwrap_or_else(PoisonError::into_inner);
    *references = references.checked_sub(1).ok_or(Status::NOT_INITIALIZED)?;
    Ok(())
}

/// The nanoseconds of a clock that never steps back.
fn now() -> u64 {
    // SAFETY: zero bits are a time.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: room for a time. The clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * TICKS_PER_SECOND + time.tv_nsec as u64
}

pub(crate) fn hsa_system_get_info(attribute: u32, value: Place) -> Result<(), Status> {
    let machine = machine()?;
    let has_xnack = machine.properties.target.xnack == FeatureSetting::On;
    let found: Value = match attribute {
        0 => VERSION[0].into(),
        1 => VERSION[1].into(),
        2 => now().into(),
        3 => TICKS_PER_SECOND.into(),
        // No wait is too long.
        4 => u64::MAX.into(),
        5 => LITTLE.into(),
        6 => LARGE.into(),
        7 => Value::bytes(EXTENSION_BYTES),
        0x200 => Value::pointer(BUILD),
        // Memory that is shared with the host, the processor's instruction to wait, other drivers' memory, and virtual memory: the
        // functions for these are refused.
        0x201 | 0x203..=0x205 => false.into(),
        0x202 | 0x206 => has_xnack.into(),
        0x207 => EXTENSIONS[0].into(),
        0x208 => EXTENSIONS[1].into(),
        _ => return Err(Status::INVALID_ARGUMENT),
    };
    found.write(value)
}

/// No extension is there.
fn no_extension(result: Out<bool>) -> Result<(), Status> {
    machine()?;
    result.set(false)
}

pub(crate) fn hsa_system_extension_supported(
    _extension: u16,
    _major: u16,
    _minor: u16,
    result: Out<bool>,
) -> Result<(), Status> {
    no_extension(result)
}

pub(crate) fn hsa_system_major_extension_supported(
    _extension: u16,
    _major: u16,
    minor: Out<u16>,
    result: Out<bool>,
) -> Result<(), Status> {
    if minor.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    no_extension(result)
}

/// As ROCr answers for an extension that it does not have.
pub(crate) fn hsa_system_get_extension_table(
    _extension: u16,
    _major: u16,
    _minor: u16,
    _table: *mut c_void,
) -> Result<(), Status> {
    machine()?;
    Err(Status::ERROR)
}

pub(crate) fn hsa_system_get_major_extension_table(
    _extension: u16,
    _major: u16,
    _bytes: usize,
    _table: *mut c_void,
) -> Result<(), Status> {
    machine()?;
    Err(Status::ERROR)
}

pub(crate) fn hsa_extension_get_name(extension: u16, name: Out<StaticText>) -> Result<(), Status> {
    let known = match extension {
        0 => c"HSA_EXTENSION_FINALIZER",
        1 => c"HSA_EXTENSION_IMAGES",
        2 => c"HSA_EXTENSION_PERFORMANCE_COUNTERS",
        3 => c"HSA_EXTENSION_PROFILING_EVENTS",
        0x200 => c"HSA_EXTENSION_AMD_PROFILER",
        0x201 => c"HSA_EXTENSION_AMD_LOADER",
        0x202 => c"HSA_EXTENSION_AMD_AQLPROFILE",
        _ => return Err(Status::INVALID_ARGUMENT),
    };
    name.set(StaticText::new(known))
}
