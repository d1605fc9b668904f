//! The kernels of hip/bench.hip: their code objects, and the choice of a kernel for a job.

use hiplaunch::{Device, Error, LaunchDims};

use super::{Job, LaunchMethod};

/// The sizes of arguments in bytes for which there is a kernel that takes them by value.
pub const BY_VALUE: [usize; 4] = [8, 64, 256, 1024];

/// The bytes of arguments and results up to which one wavefront is launched.
const SMALL: usize = 4096;

const OBJECTS: [(&str, &[u8]); 2] = [
    ("gfx90a", include_bytes!("../../../hip/bench.gfx90a.co")),
    ("gfx942", include_bytes!("../../../hip/bench.gfx942.co")),
];

/// Returns the code object for a device.
///
/// # Errors
/// Returns an error if there is none for the device's processor.
pub fn image(device: &Device) -> Result<&'static [u8], Error> {
    let target = &device.properties().target.processor;
    let help = format!(
        "compile them with `hipcc --genco --offload-arch={target} -O3 -o bench.co hip/bench.hip` and give --code-object \
         bench.co, or use --backend emulator"
    );
    image_of(device, &OBJECTS, "bench", &help)
}

/// Returns the code object, out of some by processor, that a device can run. The error names the command `what` and
/// ends with `help`.
pub(crate) fn image_of(
    device: &Device,
    objects: &[(&str, &'static [u8])],
    what: &'static str,
    help: &str,
) -> Result<&'static [u8], Error> {
    let processor = &device.properties().target.processor;
    let found = objects.iter().find(|(target, _)| *target == processor.name());
    found.map(|(_, image)| *image).ok_or_else(|| Error::Invalid {
        what,
        problem: format!("its kernels are compiled for gfx90a and gfx942, the device is {processor}: {help}")
            .into(),
    })
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
