//! A driver with a device, the kernels of `hip/`, and calls that fail the test.

use std::ffi::CString;
use std::sync::Arc;

use code_object::CodeObject;
use hip_driver::{
    DeviceId, DevicePtr, Driver, DriverResult, KernelLaunch, RawFunction, RawModule, RawStream,
    StreamOptions, Work,
};
use hsa_driver::HsaDriver;

pub(crate) const D0: DeviceId = DeviceId(0);
pub(crate) const D1: DeviceId = DeviceId(1);

static PROBE: [&[u8]; 2] =
    [include_bytes!("../../../../hip/probe.gfx90a.co"), include_bytes!("../../../../hip/probe.hipfb")];

pub(crate) struct Rig {
    pub(crate) driver: Arc<dyn Driver>,
}

/// The kernels of `hip/probe.hip`, loaded on a device.
pub(crate) struct Probe {
    object: CodeObject,
    pub(crate) module: RawModule,
    device: DeviceId,
}

impl Rig {
    /// Opens the driver, or says why it has no device.
    pub(crate) fn open() -> Result<Rig, String> {
        let driver = HsaDriver::load().map_err(|error| error.to_string())?.shared();
        match driver.device_count().map_err(|error| error.to_string())? {
            0 => Err(format!("{} has no GPU", driver.info().source)),
            _ => Ok(Rig { driver }),
        }
    }

    pub(crate) fn has_second_device(&self) -> bool {
        let has = self.driver.device_count().unwrap() > 1;
        if !has {
            println!("skipped: one device only");
        }
        has
    }

    pub(crate) fn stream(&self, device: DeviceId) -> DriverResult<RawStream> {
        self.driver.stream_create(device, StreamOptions::default())
    }

    pub(crate) fn sync(&self, device: DeviceId, stream: RawStream) -> DriverResult<()> {
        // SAFETY: a live stream.
        unsafe { self.driver.stream_synchronize(device, stream) }
    }

    pub(crate) fn enqueue(&self, device: DeviceId, stream: RawStream, work: &Work<'_>) -> DriverResult<()> {
        // SAFETY: the tests name live handles, and memory that stays until the work has run.
        unsafe { self.driver.enqueue(device, stream, work) }
    }

    pub(crate) fn load(&self, device: DeviceId) -> DriverResult<Probe> {
        let target = self.driver.device_properties(device)?.target;
        let object =
            PROBE.into_iter().find_map(|image| CodeObject::from_any(image, &target).ok()).expect("code");
        // SAFETY: a code object of this repository.
        let module = unsafe { self.driver.module_load(device, object.elf()) }?;
        Ok(Probe { object, module, device })
    }

    pub(crate) fn function(&self, probe: &Probe, name: &str) -> DriverResult<RawFunction> {
        let name = CString::new(name).unwrap();
        // SAFETY: the module is loaded.
        unsafe { self.driver.module_get_function(probe.device, probe.module, &name) }
    }

    /// The kernarg segment of a kernel whose arguments have eight bytes.
    pub(crate) fn kernarg(&self, probe: &Probe, name: &str, arguments: &[u64]) -> Vec<u8> {
        let kernel = probe.object.kernel(name).unwrap();
        if arguments.is_empty() {
            return Vec::new();
        }
        let mut bytes = vec![0; kernel.kernarg_size as usize];
        for (argument, value) in kernel.explicit_args().iter().zip(arguments) {
            bytes[argument.offset as usize..][..argument.size as usize]
                .copy_from_slice(&value.to_le_bytes()[..argument.size as usize]);
        }
        bytes
    }

    /// Launches a kernel of one workgroup.
    pub(crate) fn launch(
        &self,
        probe: &Probe,
        name: &str,
        stream: RawStream,
        arguments: &[u64],
    ) -> DriverResult<()> {
        let (function, kernarg) = (self.function(probe, name)?, self.kernarg(probe, name, arguments));
        self.enqueue(probe.device, stream, &Work::Kernel(&launch(function, &kernarg)))
    }

    /// A word of a device's memory, after all work on the stream.
    pub(crate) fn word(&self, device: DeviceId, ptr: DevicePtr, stream: RawStream) -> DriverResult<u32> {
        let mut word = [0u8; 4];
        self.enqueue(device, stream, &Work::CopyToHost { dst: word.as_mut_ptr(), src: ptr, bytes: 4 })?;
        Ok(u32::from_le_bytes(word))
    }
}

/// A launch of one workgroup of 64.
pub(crate) fn launch(function: RawFunction, kernarg: &[u8]) -> KernelLaunch<'_> {
    KernelLaunch { function, grid: [1; 3], block: [64, 1, 1], dynamic_lds: 0, kernarg, accesses: &[] }
}
