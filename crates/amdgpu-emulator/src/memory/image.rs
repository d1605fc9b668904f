//! A code object in guest memory: its ELF segments copied, its relocations applied.

use std::sync::Arc;

use code_object::{CodeObject, RelocationKind};

use super::address_space::AddressSpace;
use crate::report::error::{Error, Result};

/// The page size of code objects, in bytes. Distances between ELF segments are preserved modulo it.
const PAGE: u64 = 4096;

/// A code object in guest memory. Dropping it frees the memory.
pub(crate) struct Image {
    object: CodeObject,
    space: Arc<AddressSpace>,
    /// The guest address of the image.
    base: u64,
    /// The difference of guest addresses and ELF virtual addresses.
    bias: u64,
}

impl Drop for Image {
    fn drop(&mut self) {
        // Nothing else frees this allocation, so it is live.
        let _ = self.space.free(self.base);
    }
}

impl Image {
    /// Copies a code object to guest memory and applies its relocations.
    pub(crate) fn load(object: &CodeObject, space: &Arc<AddressSpace>) -> Result<Image> {
        let range = object.image_range();
        let start = range.start / PAGE * PAGE;
        if range.is_empty() {
            return Err(Error::BadCodeObject("it has nothing to load".into()));
        }
        let base = space.alloc(range.end - start, PAGE)?;
        // Variables without a value are zero.
        space.count_as_written(base, range.end - start);
        let bias = base.wrapping_sub(start);
        // From here on, dropping the image frees the memory.
        let image = Image { object: object.clone(), space: Arc::clone(space), base, bias };
        for segment in image.object.segments() {
            space.write(segment.vaddr.wrapping_add(bias), segment.data)?;
        }
        for relocation in image.object.relocations() {
            let value = match relocation.kind {
                RelocationKind::Relative64 => bias.wrapping_add_signed(relocation.addend),
                RelocationKind::Abs64 => {
                    bias.wrapping_add(relocation.symbol_value).wrapping_add_signed(relocation.addend)
                }
                RelocationKind::Constant64 => relocation.symbol_value.wrapping_add_signed(relocation.addend),
            };
            space.write(relocation.offset.wrapping_add(bias), &value.to_le_bytes())?;
        }
        Ok(image)
    }

    /// Returns the guest address of the first byte.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Returns the guest address of an ELF virtual address.
    pub(crate) fn guest(&self, vaddr: u64) -> u64 {
        vaddr.wrapping_add(self.bias)
    }

    /// Returns the ELF virtual address of a guest address.
    pub(crate) fn vaddr(&self, guest: u64) -> u64 {
        guest.wrapping_sub(self.bias)
    }

    pub(crate) fn object(&self) -> &CodeObject {
        &self.object
    }
}
