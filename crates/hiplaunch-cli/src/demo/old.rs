//! The old way: on every launch allocate, copy and wait, launch, synchronize, copy and wait, free.

use std::ffi::CString;
use std::sync::Arc;

use code_object::CodeObject;
use hip_driver::{
    DeviceId, DevicePtr, Driver, KernelLaunch, RawFunction, RawModule, RawStream, StreamOptions, Work,
};
use hiplaunch::{Device, Error, LaunchDims};

use super::cases::{
    Arrays, Case, Host, JIT_ELEMENTS, Jit, REDUCE_GROUPS, Reduce, Results, SAXPY_ELEMENTS, Saxpy, image, same,
};
use super::{Launches, Stop};

/// A kernel behind the raw driver.
struct Raw {
    driver: Arc<dyn Driver>,
    device: DeviceId,
    stream: RawStream,
    module: RawModule,
    function: RawFunction,
    dims: LaunchDims,
    kernarg: Vec<u8>,
    /// Where in the kernarg segment each argument begins.
    offsets: Vec<usize>,
}

/// Device memory of one launch.
struct Memory<'a> {
    raw: &'a Raw,
    ptr: DevicePtr,
}

impl Raw {
    fn new(case: Case, device: &Device) -> Result<Raw, Error> {
        let (source, kernel) = case.kernel();
        let image = image(device, source)?;
        let code = CodeObject::from_any(image, &device.properties().target)?;
        let signature = code.kernel(kernel)?;
        let name = CString::new(kernel).unwrap_or_default();
        let (driver, id) = (device.driver().clone(), device.id());
        let stream = driver.stream_create(id, StreamOptions::default())?;
        // SAFETY: the demo's own kernels. An error below leaves a stream and a module to the process's exit.
        let module = unsafe { driver.module_load(id, code.elf()) }?;
        // SAFETY: the module was just loaded by this driver.
        let function = unsafe { driver.module_get_function(id, module, &name) }?;
        Ok(Raw {
            driver,
            device: id,
            stream,
            module,
            function,
            dims: case.dims(),
            kernarg: vec![0; signature.kernarg_size as usize],
            offsets: signature.explicit_args().iter().map(|arg| arg.offset as usize).collect(),
        })
    }

    fn allocate(&self, bytes: usize) -> Result<Memory<'_>, Error> {
        Ok(Memory { raw: self, ptr: self.driver.malloc(self.device, bytes)? })
    }

    fn upload(&self, bytes: &[u8]) -> Result<Memory<'_>, Error> {
        let memory = self.allocate(bytes.len())?;
        // SAFETY: a live allocation of that size, and host memory that the call has read when it returns.
        unsafe {
            self.driver.copy_blocking(
                self.device,
                &Work::CopyToDevice { dst: memory.ptr, src: bytes.as_ptr(), bytes: bytes.len() },
            )
        }?;
        Ok(memory)
    }

    /// Launches with these arguments, and waits.
    fn launch(&self, args: &[&[u8]]) -> Result<(), Error> {
        let mut kernarg = self.kernarg.clone();
        for (offset, arg) in self.offsets.iter().zip(args) {
            kernarg[*offset..offset + arg.len()].copy_from_slice(arg);
        }
        let launch = KernelLaunch {
            function: self.function,
            grid: self.dims.grid,
            block: self.dims.block,
            dynamic_lds: self.dims.dynamic_lds,
            kernarg: &kernarg,
            accesses: &[],
        };
        // SAFETY: the kernarg segment has the size and the offsets of the metadata; the addresses in it are of live
        // memory as large as the kernel's contract (hip/README.md) asks for.
        unsafe { self.driver.enqueue(self.device, self.stream, &Work::Kernel(&launch)) }?;
        // SAFETY: the stream is live.
        unsafe { self.driver.stream_synchronize(self.device, self.stream) }?;
        Ok(())
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: nothing is in flight: every launch was waited for, or the device is lost.
        let gone = unsafe {
            let module = self.driver.module_unload(self.device, self.module);
            module.and(self.driver.stream_destroy(self.device, self.stream))
        };
        if let Err(e) = gone {
            log::warn!("the demo's module or stream: {e}");
        }
    }
}

impl Memory<'_> {
    fn download(&self, to: &mut [f32]) -> Result<(), Error> {
        let bytes = bytemuck::cast_slice_mut::<f32, u8>(to);
        // SAFETY: the allocation is as large as `to`, which is exclusively borrowed and complete when the call returns.
        unsafe {
            self.raw.driver.copy_blocking(
                self.raw.device,
                &Work::CopyToHost { dst: bytes.as_mut_ptr(), src: self.ptr, bytes: bytes.len() },
            )
        }?;
        Ok(())
    }

    fn address(&self) -> [u8; 8] {
        self.ptr.0.to_le_bytes()
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: the allocation is live, and every launch that used it was waited for.
        if let Err(e) = unsafe { self.raw.driver.free(self.raw.device, self.ptr) } {
            log::warn!("the demo's memory: {e}");
        }
    }
}

pub(super) fn prepare(case: Case, device: &Device) -> Result<Box<dyn Launches>, Error> {
    let raw = Raw::new(case, device)?;
    Ok(match case {
        Case::Saxpy => {
            let host = Saxpy::new();
            let x = Resident::new(device, &host.x)?;
            Box::new(OldSaxpy { y: host.y.clone(), x, host, launched: 0, checked: 0, raw })
        }
        Case::Reduce => {
            let host = Reduce::new();
            let x = Resident::new(device, &host.x)?;
            Box::new(OldReduce { results: Results::new(host.len()), x, host, raw })
        }
        Case::JitBlock | Case::JitUnchanged | Case::JitMapped => {
            let host = Jit::new(case != Case::JitUnchanged);
            Box::new(OldJit { results: Results::new(host.len()), host, raw })
        }
        Case::Arrays => {
            let host = Arrays::new();
            Box::new(OldArrays { results: Results::new(host.len()), host, raw })
        }
    })
}

/// An input that stays on the device; both ways have it there.
struct Resident {
    driver: Arc<dyn Driver>,
    device: DeviceId,
    ptr: DevicePtr,
}

impl Resident {
    fn new(device: &Device, data: &[f32]) -> Result<Resident, Error> {
        let (driver, id) = (device.driver().clone(), device.id());
        let ptr = driver.malloc(id, size_of_val(data))?;
        let resident = Resident { driver, device: id, ptr };
        // SAFETY: a live allocation of that size, and host memory that the call has read when it returns.
        unsafe {
            resident.driver.copy_blocking(
                id,
                &Work::CopyToDevice { dst: ptr, src: data.as_ptr().cast(), bytes: size_of_val(data) },
            )
        }?;
        Ok(resident)
    }

    fn address(&self) -> [u8; 8] {
        self.ptr.0.to_le_bytes()
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        // SAFETY: the allocation is live, and every launch that used it was waited for.
        if let Err(e) = unsafe { self.driver.free(self.device, self.ptr) } {
            log::warn!("the demo's memory: {e}");
        }
    }
}

/// `collect` and `finish` have nothing to do: every launch has waited already.
macro_rules! waits_at_once {
    () => {
        fn collect(&mut self) -> Result<(), Error> {
            Ok(())
        }

        fn finish(&mut self) -> Result<(), Error> {
            Ok(())
        }
    };
}

struct OldSaxpy {
    y: Vec<f32>,
    x: Resident,
    host: Saxpy,
    launched: u64,
    checked: u64,
    raw: Raw,
}

impl Launches for OldSaxpy {
    fn launch(&mut self, number: u64) -> Result<(), Error> {
        let y = self.raw.upload(bytemuck::cast_slice(&self.y))?;
        let a = Saxpy::factor(number).to_le_bytes();
        let n = (SAXPY_ELEMENTS as i32).to_le_bytes();
        self.raw.launch(&[&a, &self.x.address(), &y.address(), &n])?;
        y.download(&mut self.y)?;
        self.launched = number + 1;
        Ok(())
    }

    waits_at_once!();

    fn check(&mut self, _last: bool) -> Result<(), Stop> {
        (self.checked..self.launched).for_each(|number| self.host.step(number));
        self.checked = self.launched;
        same(self.launched.saturating_sub(1), &self.y, &self.host.y)
    }
}

struct OldReduce {
    results: Results,
    x: Resident,
    host: Reduce,
    raw: Raw,
}

impl Launches for OldReduce {
    fn launch(&mut self, number: u64) -> Result<(), Error> {
        let partial = self.raw.allocate(4 * REDUCE_GROUPS)?;
        let n = Reduce::elements(number).to_le_bytes();
        self.raw.launch(&[&self.x.address(), &partial.address(), &n])?;
        partial.download(self.results.next())
    }

    waits_at_once!();

    fn check(&mut self, _last: bool) -> Result<(), Stop> {
        self.results.check(&mut self.host)
    }
}

struct OldJit {
    results: Results,
    host: Jit,
    raw: Raw,
}

impl Launches for OldJit {
    fn launch(&mut self, number: u64) -> Result<(), Error> {
        let result = self.raw.allocate(4 * JIT_ELEMENTS)?;
        let bytes = self.host.block(number);
        bytes[..8].copy_from_slice(&result.address());
        let block = self.raw.upload(bytes)?;
        self.raw.launch(&[&block.address()])?;
        result.download(self.results.next())
    }

    waits_at_once!();

    fn check(&mut self, _last: bool) -> Result<(), Stop> {
        self.results.check(&mut self.host)
    }
}

struct OldArrays {
    results: Results,
    host: Arrays,
    raw: Raw,
}

impl Launches for OldArrays {
    fn launch(&mut self, number: u64) -> Result<(), Error> {
        let n = self.host.len();
        self.host.set(number);
        let x = self.raw.upload(bytemuck::cast_slice(&self.host.x))?;
        let y = self.raw.upload(bytemuck::cast_slice(&self.host.y))?;
        let out = self.raw.allocate(4 * n)?;
        self.raw.launch(&[&x.address(), &y.address(), &out.address(), &(n as i32).to_le_bytes()])?;
        out.download(self.results.next())
    }

    waits_at_once!();

    fn check(&mut self, _last: bool) -> Result<(), Stop> {
        self.results.check(&mut self.host)
    }
}
