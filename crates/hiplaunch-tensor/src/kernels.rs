//! The kernels of `hip/tensor.hip` on one device. The code object is loaded when a kernel is first needed, and each
//! kernel is registered when it is first needed.

use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use crate::error::Result;
use hiplaunch::FatBinary;
use hiplaunch::Module;
use hiplaunch::device::Device;
use hiplaunch::launcher::{KernelHandle, Launcher, Registration};

use super::element::ElementType;
use super::fuse::FusedKernels;
use super::op::Op;

const BUNDLE: &[u8] = include_bytes!("../hip/tensor.hipfb");

/// The kernels of hip/tensor.hip for every device.
static TENSOR: LazyLock<FatBinary<'static>> = LazyLock::new(|| {
    FatBinary::new("tensor", BUNDLE)
        .source(include_str!("../hip/tensor.hip"))
        .header("kernel.h", include_str!("../hip/kernel.h"))
        .header("tensor_math.h", include_str!("../hip/tensor_math.h"))
});

/// A kernel of the code object, for one type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelVariant {
    /// An elementwise operation. Bit `i` of the second field says that operand `i` is a scalar.
    Elementwise(Op, u8),
    SumSerial,
    SumRows,
    Product,
}

const VARIANTS: usize = Op::COUNT * 8 + 3;

impl KernelVariant {
    fn index(self) -> usize {
        match self {
            KernelVariant::Elementwise(op, scalars) => op as usize * 8 + usize::from(scalars & 7),
            KernelVariant::SumSerial => Op::COUNT * 8,
            KernelVariant::SumRows => Op::COUNT * 8 + 1,
            KernelVariant::Product => Op::COUNT * 8 + 2,
        }
    }

    fn kernel(self, element: ElementType) -> String {
        let suffix = element.name();
        match self {
            KernelVariant::SumSerial => format!("sum_serial_{suffix}"),
            KernelVariant::SumRows => format!("sum_rows_{suffix}"),
            KernelVariant::Product => format!("product_{suffix}"),
            KernelVariant::Elementwise(op, scalars) => {
                let operands = match op {
                    Op::Neg | Op::Sqrt | Op::Exp => return format!("{}_{suffix}", op.name()),
                    Op::Fma => 3,
                    _ => 2,
                };
                let letter = |i: u8| if scalars >> i & 1 == 1 { 's' } else { 't' };
                format!("{}_{suffix}_{}", op.name(), (0..operands).map(letter).collect::<String>())
            }
        }
    }
}

/// The handles of the kernels on a device. They are unregistered with the last tensor that may use them.
#[derive(Debug)]
pub(super) struct Kernels {
    launcher: Launcher,
    device: Device,
    handles: [[OnceLock<KernelHandle>; VARIANTS]; ElementType::COUNT],
    module: Mutex<Option<Module>>,
    fused: FusedKernels,
}

impl Kernels {
    pub(super) fn new(launcher: &Launcher, device: &Device) -> Kernels {
        Kernels {
            launcher: launcher.clone(),
            device: device.clone(),
            handles: [const { [const { OnceLock::new() }; VARIANTS] }; ElementType::COUNT],
            module: Mutex::new(None),
            fused: FusedKernels::default(),
        }
    }

    /// Returns the handle of a kernel.
    pub(super) fn handle(&self, element: ElementType, variant: KernelVariant) -> Result<KernelHandle> {
        let slot = &self.handles[element as usize][variant.index()];
        match slot.get() {
            Some(handle) => Ok(*handle),
            None => self.register(element, variant, slot),
        }
    }

    #[cold]
    fn register(
        &self,
        element: ElementType,
        variant: KernelVariant,
        slot: &OnceLock<KernelHandle>,
    ) -> Result<KernelHandle> {
        let mut module = self.module.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = slot.get() {
            return Ok(*handle);
        }
        let loaded = match &*module {
            Some(loaded) => loaded.clone(),
            None => {
                let code = TENSOR.for_device(&self.device)?;
                // SAFETY: the code is this library's own; hip/README.md says what its kernels do.
                let loaded = unsafe { Module::load(&self.device, code.elf()) }?;
                module.insert(loaded).clone()
            }
        };
        let name = variant.kernel(element);
        let mut kernel = Registration::new(&loaded, &name);
        if matches!(variant, KernelVariant::Elementwise(..)) {
            // SAFETY: each work-item of an elementwise kernel reads its element of every operand, and no other, before
            // it writes it.
            kernel = unsafe { kernel.in_place() };
        }
        let handle = self.launcher.register_kernel(kernel)?;
        Ok(*slot.get_or_init(|| handle))
    }

    /// Returns the kernels that were compiled for clusters.
    pub(super) fn fused(&self) -> &FusedKernels {
        &self.fused
    }

    /// Returns the number of registered kernels.
    pub(super) fn registered(&self) -> usize {
        self.handles.iter().flatten().filter(|slot| slot.get().is_some()).count()
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        let fused = self.fused.drain();
        for handle in self.handles.iter().flatten().filter_map(OnceLock::get).chain(&fused) {
            if let Err(e) = self.launcher.unregister(*handle) {
                log::warn!("unregistering a kernel of tensors: {e}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every variant that recording can use.
    fn variants(element: ElementType) -> Vec<KernelVariant> {
        let mut all = vec![KernelVariant::SumSerial, KernelVariant::SumRows, KernelVariant::Product];
        for op in Op::ALL {
            let scalars: &[u8] = match op {
                Op::Sqrt | Op::Exp if element == ElementType::I32 => &[],
                Op::Neg | Op::Sqrt | Op::Exp => &[0],
                Op::Sub | Op::Div => &[0, 1, 2],
                Op::Fma => &[0, 2, 4, 6],
                _ => &[0, 2],
            };
            all.extend(scalars.iter().map(|&s| KernelVariant::Elementwise(op, s)));
        }
        all
    }

    #[test]
    fn the_code_objects_have_every_form_and_nothing_else() {
        let entries = code_object::bundle::entries(BUNDLE).unwrap();
        for entry in entries.iter().filter(|entry| entry.target.is_some()) {
            let code = code_object::CodeObject::parse(&entry.data).unwrap();
            let mut names = Vec::new();
            for element in [ElementType::F32, ElementType::F64, ElementType::I32] {
                let forms = variants(element);
                let mut slots: Vec<usize> = forms.iter().map(|f| f.index()).collect();
                slots.sort_unstable();
                slots.dedup();
                assert_eq!(slots.len(), forms.len(), "each has a slot of its own");
                assert!(slots.iter().all(|s| *s < VARIANTS));
                names.extend(forms.iter().map(|f| f.kernel(element)));
            }
            for name in &names {
                assert!(code.kernel(name).is_ok(), "{name}");
            }
            assert_eq!(code.kernels().len(), names.len());
            assert!(
                Op::ALL.iter().enumerate().all(|(i, op)| *op as usize == i),
                "in the order of their numbers"
            );
        }
    }
}
