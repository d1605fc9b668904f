//! The fused kernels of one device, by structure. The least recently used one is dropped first. (`hip_compile`
//! keeps compiled code on disk too.)

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use code_object::{Processor, TargetId};

use crate::error::Result;
use hip_compile::Compiler;
use hiplaunch::Module;
use hiplaunch::device::Device;
use hiplaunch::launcher::{KernelHandle, Launcher, Registration};

use super::source::{KERNEL, Structure};

/// The number of kernels that are kept.
const KEPT: usize = 256;

#[derive(Debug, Default)]
struct CachedKernels {
    kernels: HashMap<Structure, (KernelHandle, u64)>,
    clock: u64,
    compiled: u64,
    /// A source could not be compiled, or its code could not be loaded. No other is tried then.
    broken: bool,
}

/// Fused kernels, which are compiled when they are first needed.
#[derive(Debug)]
pub(crate) struct FusedKernels {
    kept: Mutex<CachedKernels>,
    limit: usize,
    /// Whether there is a compiler for the device. It is looked for once.
    available: OnceLock<bool>,
}

impl Default for FusedKernels {
    fn default() -> Self {
        FusedKernels::new(KEPT)
    }
}

impl FusedKernels {
    fn new(limit: usize) -> FusedKernels {
        FusedKernels { kept: Mutex::default(), limit, available: OnceLock::new() }
    }

    /// Returns whether there is a compiler for the device.
    pub(crate) fn available(&self, device: &Device) -> bool {
        *self.available.get_or_init(|| {
            let missing = compiler(&device.properties().target.processor).check().err();
            if let Some(missing) = &missing {
                log::info!("elementwise operations are launched one by one: {missing}");
            }
            missing.is_none()
        })
    }

    /// Calls `then` with the kernel of a structure, which is compiled now if necessary; returns `None` if there is no
    /// kernel. Other threads wait meanwhile, so that none is compiled twice or dropped before it is recorded.
    pub(crate) fn with<R>(
        &self,
        launcher: &Launcher,
        device: &Device,
        structure: &Structure,
        then: impl FnOnce(KernelHandle) -> Result<R>,
    ) -> Result<Option<R>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.broken {
            return Ok(None);
        }
        kept.clock += 1;
        let clock = kept.clock;
        if let Some((handle, used)) = kept.kernels.get_mut(structure) {
            *used = clock;
            return then(*handle).map(Some);
        }
        let handle = match make(launcher, device, structure) {
            Ok(handle) => handle,
            Err(e) => {
                device.check()?;
                log::warn!("{}: operations are not fused any more, as one kernel was not: {e}", device.id());
                kept.broken = true;
                return Ok(None);
            }
        };
        kept.compiled += 1;
        if kept.kernels.len() >= self.limit
            && let Some(oldest) =
                kept.kernels.iter().min_by_key(|(_, (_, used))| *used).map(|(s, _)| s.clone())
            && let Some((old, _)) = kept.kernels.remove(&oldest)
        {
            launcher.unregister(old)?;
        }
        kept.kernels.insert(structure.clone(), (handle, clock));
        then(handle).map(Some)
    }

    /// Returns the number of kernels that were compiled so far.
    pub(crate) fn compiled(&self) -> u64 {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).compiled
    }

    /// Removes all kernels and returns them, to be unregistered.
    pub(crate) fn drain(&mut self) -> Vec<KernelHandle> {
        let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
        kept.kernels.drain().map(|(_, (handle, _))| handle).collect()
    }
}

/// Returns the compiler for fused kernels. Contraction is off, so that the bits are those of separate launches. The
/// target is the processor without features, so that every device of its kind shares the cache on disk.
fn compiler(processor: &Processor) -> Compiler {
    Compiler::new(&TargetId::new(processor.clone())).name("fused.hip").options(["-O3", "-ffp-contract=off"])
}

fn make(
    launcher: &Launcher,
    device: &Device,
    structure: &Structure,
) -> std::result::Result<KernelHandle, Box<dyn std::error::Error>> {
    let processor = &device.properties().target.processor;
    let code = compiler(processor).compile(&structure.source())?;
    log::debug!("a kernel of {} operations for {processor}: {} bytes", structure.len(), code.elf().len());
    // SAFETY: the code was compiled from a source that this crate wrote; a work-item accesses only its element of each
    // array.
    let module = unsafe { Module::load(device, code.elf()) }?;
    // SAFETY: each work-item reads its element of every array, and no other, before it writes one.
    let kernel = unsafe { Registration::new(&module, KERNEL).in_place() };
    Ok(launcher.register_kernel(kernel)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LazyTensor;
    use crate::Tensors;
    use crate::clusters::structure;
    use crate::dag::entries;
    use hiplaunch::Backend;

    #[test]
    fn the_least_recently_used_kernel_goes_and_is_unregistered() {
        let launcher = Launcher::builder().backend(Backend::Emulator).build().unwrap();
        let stream = launcher.stream(&launcher.devices()[0]).unwrap();
        let t = Tensors::new(&launcher, &stream).unwrap();
        if !t.fuses() {
            println!("skipped: no hiprtc");
            return;
        }
        let x = t.from_slice(&[1.0f32], &[1]).unwrap();
        let of = |tensor: &LazyTensor<f32>| structure(&entries(&tensor.0), &[1, 2]).0;
        let structures = [of(&x.neg().neg()), of(&x.neg().add(1.0)), of(&x.neg().mul(1.0))];
        let mut kernels = FusedKernels::new(2);
        // The kernel that is requested, and the number compiled until then.
        for (wanted, compiled) in [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (1, 4), (0, 4), (2, 5)] {
            let done = kernels
                .with(&launcher, t.device(), &structures[wanted], |handle| Ok(launcher.signature(handle)?));
            assert_eq!(done.unwrap().unwrap().name, KERNEL);
            assert_eq!((kernels.compiled(), launcher.registered()), (compiled, compiled.min(2) as usize));
        }
        assert_eq!(kernels.drain().len(), 2);
    }
}
