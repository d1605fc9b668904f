//! A loaded code object. The code of a kernel is decoded when it is first dispatched: its function or, if that calls others, all
//! code.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use amdgpu_isa::Target;
use code_object::{CodeObject, ElfSegment, KernelSignature};

use crate::exec::inst::Code;
use crate::exec::level::SimdLevel;
use crate::host::images;
use crate::host::launch::{self, Shape, WorkItems};
use crate::memory::AddressSpace;
use crate::memory::image::Image;
use crate::observe::{self, Info};
use crate::report::error::{Error, Result};

/// The largest size of machine code in bytes, including gaps between executable segments.
const MAX_CODE: u64 = 1 << 30;

/// A code object in a machine's memory; [`Machine::load`](crate::Machine::load) returns it.
///
/// Its memory is freed when the last clone is dropped and no dispatch uses it.
#[derive(Clone)]
pub struct LoadedProgram {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    image: Arc<Image>,
    target: Target,
    level: SimdLevel,
    /// All code, as waves of 64 and of 32 lanes execute it.
    whole: [OnceLock<Arc<Decoded>>; 2],
    /// The code of each kernel.
    kernels: Box<[OnceLock<Arc<Decoded>>]>,
    /// The work-items of the last dispatch. The next is often of the same shape.
    items: Mutex<Option<(Shape, Arc<[WorkItems]>)>>,
}

/// Code that was decoded, and what observers know of it.
pub(crate) struct Decoded {
    pub(crate) code: Arc<Code>,
    infos: OnceLock<Arc<[Info]>>,
}

impl Decoded {
    fn new(code: Code) -> Arc<Decoded> {
        Arc::new(Decoded { code: Arc::new(code), infos: OnceLock::new() })
    }

    /// Returns the information for observers about each instruction.
    pub(crate) fn infos(&self) -> Arc<[Info]> {
        Arc::clone(self.infos.get_or_init(|| observe::infos(&self.code)))
    }
}

impl fmt::Debug for LoadedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { target, image, .. } = &*self.inner;
        f.debug_struct("LoadedProgram")
            .field("target", target)
            .field("image", &image.base())
            .finish_non_exhaustive()
    }
}

impl LoadedProgram {
    /// Copies a code object to guest memory, and applies its relocations.
    pub(crate) fn load(
        object: &CodeObject,
        space: &Arc<AddressSpace>,
        level: SimdLevel,
    ) -> Result<LoadedProgram> {
        let target = Target::of(object)?;
        images::refuse(object, target)?;
        let image = Arc::new(Image::load(object, space)?);
        let inner = Inner {
            image,
            target,
            level,
            whole: [const { OnceLock::new() }; 2],
            kernels: object.kernels().iter().map(|_| OnceLock::new()).collect(),
            items: Mutex::new(None),
        };
        Ok(LoadedProgram { inner: Arc::new(inner) })
    }

    /// Returns the code object that was loaded.
    pub fn code_object(&self) -> &CodeObject {
        self.inner.object()
    }

    /// Returns the number of the kernel with a name, for [`Dispatch::kernel`](crate::Dispatch::kernel).
    pub fn kernel_index(&self, name: &str) -> Option<usize> {
        self.inner.object().kernels().iter().position(|kernel| kernel.name == name)
    }

    /// Returns the signatures of the kernels, in the order of their numbers.
    pub fn kernels(&self) -> &[KernelSignature] {
        self.inner.object().kernels()
    }

    /// Returns the guest address of the descriptor of the kernel with a number, which HSA calls the kernel's object.
    pub fn kernel_object(&self, kernel: usize) -> Option<u64> {
        self.kernels().get(kernel).map(|kernel| self.inner.guest(kernel.descriptor.address))
    }

    /// Returns the guest addresses of all that was loaded.
    pub fn addresses(&self) -> Range<u64> {
        let range = self.inner.object().image_range();
        self.inner.guest(range.start)..self.inner.guest(range.end)
    }

    /// Returns the most instructions that a wave of the kernel with a number executes. `None` if that is not known before it
    /// runs, because its code has a loop or a call.
    pub fn longest_wave(&self, kernel: usize) -> Option<u64> {
        let (code, kernel) = (&self.inner.decoded(kernel).ok()?.code, self.kernels().get(kernel)?);
        code.length_without_loops(launch::entry(&self.inner, code, kernel).ok()?)
    }

    /// Returns the guest address and the size in bytes of the device variable with a name.
    pub fn global(&self, name: &str) -> Option<(u64, u64)> {
        let global = self.inner.object().global(name)?;
        Some((self.inner.image.guest(global.address), global.size))
    }
}

impl Inner {
    /// Returns the code object in guest memory.
    pub(crate) fn image(&self) -> &Arc<Image> {
        &self.image
    }

    pub(crate) fn target(&self) -> Target {
        self.target
    }

    /// Returns the guest address of an ELF virtual address.
    pub(crate) fn guest(&self, vaddr: u64) -> u64 {
        self.image.guest(vaddr)
    }

    /// Returns the ELF virtual address of a guest address.
    pub(crate) fn vaddr(&self, guest: u64) -> u64 {
        self.image.vaddr(guest)
    }

    pub(crate) fn object(&self) -> &CodeObject {
        self.image.object()
    }

    /// Returns the work-items of a dispatch's workgroups.
    pub(super) fn items(&self, shape: Shape) -> Arc<[WorkItems]> {
        let mut last = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, items)) if *known == shape => Arc::clone(items),
            _ => Arc::clone(&last.insert((shape, launch::kinds_of_workgroups(shape))).1),
        }
    }

    /// Returns the code that the waves of a kernel execute. The first call decodes it.
    pub(crate) fn decoded(&self, kernel: usize) -> Result<&Arc<Decoded>> {
        let Some(slot) = self.kernels.get(kernel) else { return self.whole(false) };
        if let Some(decoded) = slot.get() {
            return Ok(decoded);
        }
        let wave32 = self.object().kernels().get(kernel).is_some_and(|k| k.descriptor.wave32());
        let decoded = match self.function_of(kernel, wave32) {
            Some(own) => own,
            None => Arc::clone(self.whole(wave32)?),
        };
        Ok(slot.get_or_init(|| decoded))
    }

    /// Decodes the function of a kernel. `None` if its waves may leave it.
    fn function_of(&self, kernel: usize, wave32: bool) -> Option<Arc<Decoded>> {
        let entry = self.object().kernels().get(kernel)?.descriptor.entry;
        let function = self.object().function_at(entry).filter(|function| function.address == entry)?;
        let inside = |s: &ElfSegment<'_>| s.executable && s.vaddr <= entry && entry.is_multiple_of(4);
        let bytes = self.object().segments().filter(inside).find_map(|s| {
            let start = usize::try_from(entry - s.vaddr).ok()?;
            s.data.get(start..start.checked_add(usize::try_from(function.size).ok()?)?)
        })?;
        let code = Code::decode(&dwords(bytes), self.guest(entry), &[], self.target, wave32, self.level);
        code.is_closed().then(|| Decoded::new(code))
    }

    /// Returns all code, for waves of 32 lanes or of 64. The first call decodes it.
    fn whole(&self, wave32: bool) -> Result<&Arc<Decoded>> {
        let slot = &self.whole[usize::from(wave32)];
        if let Some(decoded) = slot.get() {
            return Ok(decoded);
        }
        let segments = || self.object().segments().filter(|s| s.executable && !s.data.is_empty());
        let start = segments().map(|s| s.vaddr).min().unwrap_or(0) & !3;
        let end = segments().map(|s| s.vaddr + s.data.len() as u64).max().unwrap_or(0);
        if start >= end || end - start > MAX_CODE {
            return Err(Error::BadCodeObject(format!("its code spans {start:#x}..{end:#x}")));
        }
        let mut bytes = vec![0; ((end - start) as usize).next_multiple_of(4)];
        for s in segments() {
            let at = (s.vaddr - start) as usize;
            bytes[at..at + s.data.len()].copy_from_slice(s.data);
        }
        let functions = self.object().symbols().iter().map(|f| f.address);
        let entries = self.object().kernels().iter().map(|k| k.descriptor.entry);
        let starts: Vec<usize> = functions
            .chain(entries)
            .filter(|a| *a >= start && *a < end)
            .map(|a| (a - start) as usize / 4)
            .collect();
        let code = Code::decode(&dwords(&bytes), self.guest(start), &starts, self.target, wave32, self.level);
        Ok(slot.get_or_init(|| Decoded::new(code)))
    }
}

/// Returns the whole dwords of some bytes.
fn dwords(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
}
