//! The runtime itself: its references, the system, extensions.

use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

use code_object::FeatureSetting;

use super::loader;
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
const BUILD: &CStr = c"1.18.0-hiplaunch";

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
pub(super) fn now() -> u64 {
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
        7 => extension_mask(&[]),
        0x200 => Value::pointer(BUILD),
        // Memory that is shared with the host, the processor's instruction to wait, and other drivers' memory: the functions for these are
        // refused. Virtual memory is there.
        0x201 | 0x203 | 0x204 => false.into(),
        0x205 => true.into(),
        0x202 | 0x206 => has_xnack.into(),
        0x207 => EXTENSIONS[0].into(),
        0x208 => EXTENSIONS[1].into(),
        _ => return Err(Status::INVALID_ARGUMENT),
    };
    found.write(value)
}

/// Whether an extension is there: AMD's loader is, in versions up to its newest.
pub(super) fn has_extension(extension: u16, [major, minor]: [u16; 2]) -> bool {
    extension == loader::EXTENSION && major == loader::VERSION[0] && minor <= loader::VERSION[1]
}

/// A mask of the extensions that are there, and of others.
pub(super) fn extension_mask(others: &[u16]) -> Value {
    let mut mask = [0_u8; EXTENSION_BYTES];
    for extension in others.iter().chain([&loader::EXTENSION]) {
        mask[usize::from(extension / 8)] |= 1 << (extension % 8);
    }
    Value::characters_of(mask)
}

pub(crate) fn hsa_system_extension_supported(
    extension: u16,
    major: u16,
    minor: u16,
    result: Out<bool>,
) -> Result<(), Status> {
    machine()?;
    result.set(has_extension(extension, [major, minor]))
}

/// `minor` becomes the newest minor version, if there is one.
pub(crate) fn hsa_system_major_extension_supported(
    extension: u16,
    major: u16,
    minor: Out<u16>,
    result: Out<bool>,
) -> Result<(), Status> {
    machine()?;
    let is_there = has_extension(extension, [major, 0]);
    minor.set::<Status>(if is_there { loader::VERSION[1] } else { 0 })?;
    result.set(is_there)
}

pub(crate) fn hsa_system_get_extension_table(
    extension: u16,
    major: u16,
    minor: u16,
    table: Out<u64>,
) -> Result<(), Status> {
    let bytes = loader::functions_of(minor) * size_of::<u64>();
    if !has_extension(extension, [major, minor]) {
        // As ROCr answers.
        return machine().and(Err(Status::ERROR));
    }
    hsa_system_get_major_extension_table(extension, major, bytes, table)
}

pub(crate) fn hsa_system_get_major_extension_table(
    extension: u16,
    major: u16,
    bytes: usize,
    table: Out<u64>,
) -> Result<(), Status> {
    machine()?;
    if !has_extension(extension, [major, 0]) {
        return Err(Status::ERROR);
    }
    loader::write_table(table, bytes)
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
