//! Launchers on every backend of the machine, and the kernels of `hip/`.

use std::sync::Arc;

use hip_driver_layers::validation::ValidationDriver;
use hiplaunch::{
    Arg, ArgumentBlock, Backend, Device, KernelHandle, Launch, LaunchDims, Launcher, LauncherBuilder, Patch,
    PatchTarget, Stream,
};

/// A code object of `hip/` for both targets.
#[derive(Debug)]
pub struct Object {
    gfx90a: &'static [u8],
    gfx942: &'static [u8],
}

macro_rules! object {
    ($name:literal) => {
        Object {
            gfx90a: include_bytes!(concat!("../../../hip/", $name, ".gfx90a.co")),
            gfx942: include_bytes!(concat!("../../../hip/", $name, ".gfx942.co")),
        }
    };
}

/// The kernels of `hip/vector.hip`.
pub static VECTOR: Object = object!("vector");
/// The kernels of `hip/reduce.hip`.
pub static REDUCE: Object = object!("reduce");
/// The kernels of `hip/jit.hip`.
pub static JIT: Object = object!("jit");
/// The kernels of `hip/probe.hip`.
pub static PROBE: Object = object!("probe");
/// Kernels whose workgroups wait for each other.
pub static GRID: Object = object!("grid");

impl Object {
    /// Returns the code object for the device's target.
    pub fn for_device(&self, device: &Device) -> &'static [u8] {
        if device.properties().target.to_string().contains("gfx942") { self.gfx942 } else { self.gfx90a }
    }

    /// Returns the code object for the other target, which the device does not run.
    pub fn wrong_for(&self, device: &Device) -> &'static [u8] {
        if device.properties().target.to_string().contains("gfx942") { self.gfx90a } else { self.gfx942 }
    }
}

/// A launcher with the validation layer, its first device and a stream on it.
#[derive(Debug)]
pub struct Rig {
    /// The launcher.
    pub launcher: Launcher,
    /// The launcher's first device.
    pub device: Device,
    /// A stream on that device.
    pub stream: Stream,
}

impl Rig {
    /// Opens a launcher on a backend, with the validation layer.
    pub fn open(builder: LauncherBuilder, backend: Backend) -> Rig {
        let launcher = builder.backend(backend).validate(true).build().expect("a launcher");
        let device = launcher.device(0).expect("device 0").clone();
        let stream = launcher.stream(&device).expect("a stream");
        Rig { launcher, device, stream }
    }

    /// Returns the validation layer.
    pub fn validation(&self) -> &Arc<ValidationDriver> {
        self.launcher.validation().expect("the validation layer is on")
    }

    /// Registers a kernel of `hip/`.
    pub fn kernel(&self, object: &Object, name: &str) -> KernelHandle {
        // SAFETY: the kernels of hip/ do what their README says.
        unsafe { self.launcher.register(&self.device, object.for_device(&self.device), name) }.expect(name)
    }

    /// Launches a kernel on the stream.
    ///
    /// # Errors
    /// Returns the launcher's error.
    pub fn launch(
        &self,
        kernel: KernelHandle,
        dims: LaunchDims,
        args: &[Arg<'_>],
    ) -> hiplaunch::Result<hiplaunch::Ticket> {
        // SAFETY: tests pass what the kernels of hip/ take.
        unsafe { self.launcher.launch(kernel, &self.stream, dims, args) }
    }

    /// Launches a kernel on the stream, as the description says.
    ///
    /// # Errors
    /// Returns the launcher's error.
    pub fn submit(&self, kernel: KernelHandle, launch: Launch<'_>) -> hiplaunch::Result<hiplaunch::Ticket> {
        // SAFETY: tests pass what the kernels of hip/ take.
        unsafe { self.launcher.submit(kernel, &self.stream, launch) }
    }

    /// Asserts that the validation layer has found nothing.
    pub fn assert_clean(&self) {
        let violations = self.validation().violations();
        assert!(violations.is_empty(), "{violations:#?}");
    }
}

/// The variable that says on which GPU backend tests run, where there are several.
const GPU_BACKEND: &str = "HIPLAUNCH_TEST_GPU";

/// Returns the backends of GPUs on which tests run: all, or the one that `HIPLAUNCH_TEST_GPU` names.
pub fn gpu_backends() -> Vec<Backend> {
    match std::env::var(GPU_BACKEND).ok().filter(|name| !name.is_empty()) {
        Some(name) => vec![name.parse().expect("HIPLAUNCH_TEST_GPU is hip or hsa")],
        None => Backend::OF_GPUS.to_vec(),
    }
}

/// Returns the backends that open on this machine, and prints why the others do not.
pub fn backends() -> Vec<Backend> {
    [Backend::Emulator]
        .into_iter()
        .chain(gpu_backends())
        .filter(|b| match hiplaunch::driver::backend::open(*b, Some(false)) {
            Ok(_) => true,
            Err(e) => {
                println!("skipped: backend {b}: {e}");
                false
            }
        })
        .collect()
}

/// Runs a test on each backend of the machine.
pub fn on_each(test: impl Fn(Rig)) {
    on_each_with(Launcher::builder, test);
}

/// Runs a test on each backend of the machine, with a launcher of these options.
pub fn on_each_with(builder: impl Fn() -> LauncherBuilder, test: impl Fn(Rig)) {
    let backends = backends();
    assert!(backends.contains(&Backend::Emulator), "the emulator opens on every machine");
    for backend in backends {
        println!("backend {backend}");
        test(Rig::open(builder(), backend));
    }
}

/// The patch for the address of the result in the argument blocks of `jit_polynomial` and `jit_echo`.
pub const RESULT: [Patch; 1] = [Patch { offset: 0, target: PatchTarget::Result }];

/// Returns the bytes of an argument block of `jit_echo` with `payload`.
pub fn echo_bytes(payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    bytes[8..12].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// Returns the argument block of `jit_echo` with these bytes; `payload` is the length of the payload and of the result.
pub fn echo_block(bytes: &[u8], payload: usize) -> ArgumentBlock<'_> {
    ArgumentBlock { bytes, patches: &RESULT, arrays: &[], result_bytes: payload }
}
