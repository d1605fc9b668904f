//! The registry: a launcher's kernels by handle.

use std::sync::Arc;

use dashmap::DashMap;
use rustc_hash::FxBuildHasher;

use crate::code::KernelHandle;
use crate::error::{Error, Result};

use super::kernel::Kernel;

/// The kernels of a launcher by handle.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    kernels: DashMap<KernelHandle, Arc<Kernel>, FxBuildHasher>,
}

impl Registry {
    pub(crate) fn insert(&self, kernel: Arc<Kernel>) -> KernelHandle {
        let handle = kernel.handle();
        self.kernels.insert(handle, kernel);
        handle
    }

    /// Returns a clone of the kernel's `Arc`, not a guard of the map: no lock of the map is held during a driver call.
    #[inline]
    pub(crate) fn get(&self, handle: KernelHandle) -> Result<Arc<Kernel>> {
        match self.kernels.get(&handle) {
            Some(kernel) => Ok(Arc::clone(&kernel)),
            None => Err(Error::StaleHandle(handle.0)),
        }
    }

    /// Replaces the kernel of `kernel`'s handle by `kernel`, and returns the old one.
    pub(crate) fn replace(&self, kernel: Arc<Kernel>) -> Result<Arc<Kernel>> {
        match self.kernels.get_mut(&kernel.handle()) {
            Some(mut slot) => Ok(std::mem::replace(&mut *slot, kernel)),
            None => Err(Error::StaleHandle(kernel.handle().0)),
        }
    }

    pub(crate) fn remove(&self, handle: KernelHandle) -> Result<Arc<Kernel>> {
        self.kernels.remove(&handle).map(|(_, kernel)| kernel).ok_or(Error::StaleHandle(handle.0))
    }

    pub(crate) fn len(&self) -> usize {
        self.kernels.len()
    }
}

impl Drop for Registry {
    /// Takes the kernels off the streams that outlive the launcher.
    fn drop(&mut self) {
        self.kernels.iter().for_each(|kernel| kernel.retire());
    }
}
