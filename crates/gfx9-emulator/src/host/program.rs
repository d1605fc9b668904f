//! A loaded code object. Its code is decoded when one of its kernels is first dispatched.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use code_object::{CodeObject, KernelSignature};
use gfx9_isa::Target;

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
    code: OnceLock<Arc<Code>>,
    infos: OnceLock<Arc<[Info]>>,
    /// The work-items of the last dispatch. The next is often of the same shape.
    items: Mutex<Option<(Shape, Arc<[WorkItems]>)>>,
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
            code: OnceLock::new(),
            infos: OnceLock::new(),
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

    /// Returns the most instructions that a wave of the kernel with a number executes. `None` if that is not known before it
    /// runs, because its code has a loop or a call.
    pub fn longest_wave(&self, kernel: usize) -> Option<u64> {
        let (code, kernel) = (self.inner.code().ok()?, self.kernels().get(kernel)?);
        code.length_without_loops(launch::entry(&self.inner, &code, kernel).ok()?)
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

    /// Returns the information for observers about each instruction of `code`, which is this program's code.
    pub(crate) fn infos(&self, code: &Code) -> Arc<[Info]> {
        Arc::clone(self.infos.get_or_init(|| observe::infos(code)))
    }

    /// Returns the work-items of a dispatch's workgroups.
    pub(super) fn items(&self, shape: Shape) -> Arc<[WorkItems]> {
        let mut last = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, items)) if *known == shape => Arc::clone(items),
            _ => Arc::clone(&last.insert((shape, launch::kinds_of_workgroups(shape))).1),
        }
    }

    /// Returns the decoded code. The first call decodes it.
    pub(crate) fn code(&self) -> Result<Arc<Code>> {
        if let Some(code) = self.code.get() {
            return Ok(Arc::clone(code));
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
        let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        let functions = self.object().symbols().iter().map(|f| f.address);
        let entries = self.object().kernels().iter().map(|k| k.descriptor.entry);
        let starts: Vec<usize> = functions
            .chain(entries)
            .filter(|a| *a >= start && *a < end)
            .map(|a| (a - start) as usize / 4)
            .collect();
        let code = Code::decode(&words, self.guest(start), &starts, self.target, self.level);
        Ok(Arc::clone(self.code.get_or_init(|| Arc::new(code))))
    }
}
