//! The registry: generational handles to kernels.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use dashmap::DashMap;

use crate::error::{Error, Result};

use super::kernel::Kernel;

/// Names a registered kernel: a plain `u64`, slot index in the low half and generation in the high half, so that a
/// handle outlived by its kernel is told from its slot's next owner. 0 is never a handle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct KernelHandle(pub u64);

impl std::fmt::Debug for KernelHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KernelHandle({:#018x})", self.0)
    }
}

/// Handles are few, small and made here, so one multiplication spreads them well enough.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct HandleHasher(u64);

impl Hasher for HandleHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }

    #[inline]
    fn write_u64(&mut self, n: u64) {
        // The golden ratio's bits (Knuth); the rotation brings the well mixed high half down.
        self.0 = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

#[derive(Debug, Default)]
struct Slots {
    /// Generation of each slot; odd while it is taken.
    generations: Vec<u32>,
    free: Vec<u32>,
}

/// Handles to kernels.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    kernels: DashMap<KernelHandle, Arc<Kernel>, BuildHasherDefault<HandleHasher>>,
    slots: Mutex<Slots>,
}

impl Registry {
    pub(crate) fn insert(&self, kernel: Arc<Kernel>) -> Result<KernelHandle> {
        let handle = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            let index = match slots.free.pop() {
                Some(index) => index,
                None => {
                    let index = u32::try_from(slots.generations.len())
                        .map_err(|_| Error::invalid("register", "2^32 kernels are registered"))?;
                    slots.generations.push(0);
                    index
                }
            };
            let generation = &mut slots.generations[index as usize];
            *generation = generation.wrapping_add(1) | 1;
            KernelHandle(u64::from(*generation) << 32 | u64::from(index))
        };
        self.kernels.insert(handle, kernel);
        Ok(handle)
    }

    /// The kernel itself, not a guard: none lives across a driver call.
    #[inline]
    pub(crate) fn get(&self, handle: KernelHandle) -> Result<Arc<Kernel>> {
        match self.kernels.get(&handle) {
            Some(kernel) => Ok(Arc::clone(&kernel)),
            None => Err(Error::StaleHandle(handle.0)),
        }
    }

    /// Puts `kernel` in the place of the handle's and returns that.
    pub(crate) fn replace(&self, handle: KernelHandle, kernel: Arc<Kernel>) -> Result<Arc<Kernel>> {
        match self.kernels.get_mut(&handle) {
            Some(mut slot) => Ok(std::mem::replace(&mut *slot, kernel)),
            None => Err(Error::StaleHandle(handle.0)),
        }
    }

    pub(crate) fn remove(&self, handle: KernelHandle) -> Result<Arc<Kernel>> {
        let (_, kernel) = self.kernels.remove(&handle).ok_or(Error::StaleHandle(handle.0))?;
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let index = handle.0 as u32;
        if let Some(generation) = slots.generations.get_mut(index as usize) {
            *generation = generation.wrapping_add(1);
            // A slot whose generations are used up is never given out again.
            if *generation < u32::MAX - 1 {
                slots.free.push(index);
            }
        }
        Ok(kernel)
    }

    pub(crate) fn len(&self) -> usize {
        self.kernels.len()
    }
}
