//! The kernels of hip/bench.hip: the code object of a device, and which of them a job launches.

use hiplaunch::code_object::CodeObject;
use hiplaunch::{Device, Error, LaunchDims};

use super::{Job, LaunchMethod};
use crate::kernels::BENCH;

/// The sizes of arguments in bytes for which there is a kernel that takes them by value.
pub const BY_VALUE: [usize; 4] = [8, 64, 256, 1024];

/// The bytes of arguments and results up to which one wavefront is launched.
const SMALL: usize = 4096;

/// Returns the code object for a device.
///
/// # Errors
/// Returns an error if there is none for its processor, and none can be compiled.
pub fn code(device: &Device) -> Result<CodeObject, Error> {
    BENCH.for_device(device)
}

/// Returns the kernel with which a method does a job, and its dimensions: one workgroup, because the kernel sums over
/// it.
pub(super) fn kernel(method: LaunchMethod, job: &Job) -> (&'static str, LaunchDims) {
    let block = if job.arguments.max(job.results) <= SMALL { 64 } else { 1024 };
    let name = match (method, job.arguments) {
        (_, 0) => "bench_nothing",
        (LaunchMethod::Value | LaunchMethod::RawValue, 8) => "bench_value_8",
        (LaunchMethod::Value | LaunchMethod::RawValue, 64) => "bench_value_64",
        (LaunchMethod::Value | LaunchMethod::RawValue, 256) => "bench_value_256",
        (LaunchMethod::Value | LaunchMethod::RawValue, _) => "bench_value_1024",
        _ => "bench_block",
    };
    (name, LaunchDims::linear(1, block))
}
