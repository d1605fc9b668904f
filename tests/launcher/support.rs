//! Launchers over every backend, kernels of hip/, and small helpers.

use std::sync::Arc;

use hiplaunch::driver::validation::ValidationDriver;
use hiplaunch::{
    Arg, Backend, Block, Device, KernelHandle, LaunchDims, Launcher, LauncherBuilder, Patch, PatchTarget,
    Stream,
};

/// A code object of hip/ for both targets.
pub(crate) struct Object {
    gfx90a: &'static [u8],
    gfx942: &'static [u8],
}

macro_rules! object {
    ($name:literal) => {
        Object {
            gfx90a: include_bytes!(concat!("../../hip/", $name, ".gfx90a.co")),
            gfx942: include_bytes!(concat!("../../hip/", $name, ".gfx942.co")),
        }
    };
}

pub(crate) static VECTOR: Object = object!("vector");
pub(crate) static REDUCE: Object = object!("reduce");
pub(crate) static JIT: Object = object!("jit");
pub(crate) static PROBE: Object = object!("probe");

impl Object {
    pub(crate) fn for_device(&self, device: &Device) -> &'static [u8] {
        if device.properties().target.to_string().contains("gfx942") { self.gfx942 } else { self.gfx90a }
    }

    pub(crate) fn wrong_for(&self, device: &Device) -> &'static [u8] {
        if device.properties().target.to_string().contains("gfx942") { self.gfx90a } else { self.gfx942 }
    }
}

/// A launcher with the validation layer, its first device and a stream on it.
pub(crate) struct Rig {
    pub(crate) launcher: Launcher,
    pub(crate) device: Device,
    pub(crate) stream: Stream,
}

impl Rig {
    pub(crate) fn open(builder: LauncherBuilder, backend: Backend) -> Rig {
        let launcher = builder.backend(backend).validate(true).build().expect("a launcher");
        let device = launcher.device(0).expect("device 0").clone();
        let stream = launcher.stream(&device).expect("a stream");
        Rig { launcher, device, stream }
    }

    pub(crate) fn validation(&self) -> &Arc<ValidationDriver> {
        self.launcher.validation().expect("the validation layer is on")
    }

    pub(crate) fn kernel(&self, object: &Object, name: &str) -> KernelHandle {
        // SAFETY: the kernels of hip/ do what their README says.
        unsafe { self.launcher.register(&self.device, object.for_device(&self.device), name) }.expect(name)
    }

    pub(crate) fn launch(
        &self,
        kernel: KernelHandle,
        dims: LaunchDims,
        args: &[Arg<'_>],
    ) -> hiplaunch::Result<hiplaunch::Ticket> {
        // SAFETY: tests pass what the kernels of hip/ take.
        unsafe { self.launcher.launch(kernel, &self.stream, dims, args) }
    }

    /// Nothing the validation layer would say.
    pub(crate) fn assert_clean(&self) {
        let violations = self.validation().violations();
        assert!(violations.is_empty(), "{violations:#?}");
    }
}

/// The backends of this machine; what is missing is said.
pub(crate) fn backends() -> Vec<Backend> {
    [Backend::Emulator, Backend::Hip]
        .into_iter()
        .filter(|b| match hiplaunch::driver::backend::open(*b, Some(false)) {
            Ok(_) => true,
            Err(e) => {
                println!("skipped: backend {b}: {e}");
                false
            }
        })
        .collect()
}

/// Runs a test on each backend.
pub(crate) fn on_each(test: impl Fn(Rig)) {
    on_each_with(Launcher::builder, test);
}

/// Runs a test on each backend with options.
pub(crate) fn on_each_with(builder: impl Fn() -> LauncherBuilder, test: impl Fn(Rig)) {
    let backends = backends();
    assert!(backends.contains(&Backend::Emulator), "the emulator is always there");
    for backend in backends {
        println!("backend {backend}");
        test(Rig::open(builder(), backend));
    }
}

/// The result address in the blocks of `jit_polynomial` and `jit_echo`.
pub(crate) const RESULT: [Patch; 1] = [Patch { offset: 0, target: PatchTarget::Result }];

/// A block of `jit_echo` with `payload`.
pub(crate) fn echo_bytes(payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    bytes[8..12].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// The argument block of `jit_echo`.
pub(crate) fn echo_block(bytes: &[u8], payload: usize) -> Block<'_> {
    Block { bytes, patches: &RESULT, segments: &[], result_bytes: payload }
}
