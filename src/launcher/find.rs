//! Finds the kernel of a launch among those of its stream.

use std::collections::hash_map::Entry as MapEntry;
use std::sync::Arc;

use crate::stream::{KernelOnStream, KernelsOnStream, StreamState};

use super::launch::{DeferredDrops, KernelRef, LaunchFailure};

impl KernelsOnStream {
    /// Finds the kernel to launch, as it was launched here before. The first launch on the stream looks its handle up
    /// among all registered kernels; later ones rely on [`DeviceKernel::retire`] to take the kernel out of here.
    ///
    /// What is put into `drops` is to be dropped once the stream's lock is released.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        kernel_ref: KernelRef<'_>,
        stream_state: &Arc<StreamState>,
        drops: &mut Option<DeferredDrops>,
    ) -> std::result::Result<&mut KernelOnStream, Box<LaunchFailure>> {
        let handle = kernel_ref.handle();
        let mut entry = match self.0.entry(handle) {
            MapEntry::Occupied(entry) => entry,
            MapEntry::Vacant(entry) => entry.insert_entry(KernelOnStream::new(stream_state.device())),
        };
        let is_current = match kernel_ref {
            KernelRef::Kernel(kernel) => entry.get().id == kernel.id,
            KernelRef::Handle(..) => entry.get().kernel.as_ref().is_some_and(|kernel| kernel.is_registered()),
        };
        if !is_current && let Err(failure) = entry.get_mut().look_up(kernel_ref, stream_state, drops) {
            if entry.get().id == 0 {
                entry.remove();
            }
            return Err(failure);
        }
        Ok(entry.into_mut())
    }
}

impl KernelOnStream {
    /// Makes this the entry of another kernel: at its first launch here, or when its handle's kernel was replaced.
    #[cold]
    fn look_up(
        &mut self,
        kernel_ref: KernelRef<'_>,
        stream_state: &Arc<StreamState>,
        drops: &mut Option<DeferredDrops>,
    ) -> std::result::Result<(), Box<LaunchFailure>> {
        let drops = drops.get_or_insert_default();
        let device = stream_state.device();
        loop {
            let on_device = match kernel_ref {
                KernelRef::Kernel(kernel) => kernel.loaded_on(device)?,
                KernelRef::Handle(registry, handle) => {
                    let kernel = registry.get(handle)?;
                    drops.push(kernel.clone());
                    kernel.loaded_on(device)?
                }
            };
            let Some(kernel) = on_device else { return Err(Box::new(LaunchFailure::NotLoaded)) };
            kernel.runs_on(stream_state);
            if self.id != kernel.id {
                self.id = kernel.id;
                self.checked_dims = None;
                self.memory.kernarg.clear();
                self.memory.kernarg.resize(kernel.kernarg_bytes as usize, 0);
            }
            // Asked after `runs_on`: from then on, whoever unregisters the kernel finds it on this stream.
            let is_current = matches!(kernel_ref, KernelRef::Kernel(_)) || kernel.is_registered();
            if let Some(old) = self.kernel.replace(kernel) {
                drops.push(old);
            }
            if is_current {
                return Ok(());
            }
        }
    }
}
