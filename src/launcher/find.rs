//! Finds the kernel of a launch among those of its stream.

use std::collections::hash_map::Entry as MapEntry;
use std::sync::Arc;

use crate::stream::{KernelOnStream, KernelsOnStream, StreamState};

use super::launch::{Callee, Later, Stop};

impl KernelsOnStream {
    /// Finds the kernel to launch, as it was launched here before. The first launch on the stream looks its handle up
    /// among all registered kernels; later ones rely on [`DeviceKernel::retire`] to take the kernel out of here.
    ///
    /// What is put into `later` is to be dropped once the stream's lock is released.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        callee: Callee<'_>,
        stream_state: &Arc<StreamState>,
        later: &mut Option<Later>,
    ) -> std::result::Result<&mut KernelOnStream, Box<Stop>> {
        let handle = callee.handle();
        let mut found = match self.0.entry(handle) {
            MapEntry::Occupied(found) => found,
            MapEntry::Vacant(place) => place.insert_entry(KernelOnStream::new(stream_state.device())),
        };
        let is_current = match callee {
            Callee::Kernel(kernel) => found.get().id == kernel.id,
            Callee::Handle(..) => found.get().kernel.as_ref().is_some_and(|kernel| kernel.is_registered()),
        };
        if !is_current && let Err(stop) = found.get_mut().look_up(callee, stream_state, later) {
            if found.get().id == 0 {
                found.remove();
            }
            return Err(stop);
        }
        Ok(found.into_mut())
    }
}

impl KernelOnStream {
    /// Makes this the entry of another kernel: at its first launch here, or when its handle's kernel was replaced.
    #[cold]
    fn look_up(
        &mut self,
        callee: Callee<'_>,
        stream_state: &Arc<StreamState>,
        later: &mut Option<Later>,
    ) -> std::result::Result<(), Box<Stop>> {
        let later = later.get_or_insert_default();
        let device = stream_state.device();
        loop {
            let on_device = match callee {
                Callee::Kernel(kernel) => kernel.loaded_on(device)?,
                Callee::Handle(registry, handle) => {
                    let kernel = registry.get(handle)?;
                    later.push(kernel.clone());
                    kernel.loaded_on(device)?
                }
            };
            let Some(kernel) = on_device else { return Err(Box::new(Stop::NotLoaded)) };
            kernel.runs_on(stream_state);
            if self.id != kernel.id {
                self.id = kernel.id;
                self.checked_dims = None;
                self.memory.kernarg.clear();
                self.memory.kernarg.resize(kernel.kernarg_bytes as usize, 0);
            }
            // Asked after `runs_on`: from then on, whoever unregisters the kernel finds it on this stream.
            let is_it = matches!(callee, Callee::Kernel(_)) || kernel.is_registered();
            if let Some(old) = self.kernel.replace(kernel) {
                later.push(old);
            }
            if is_it {
                return Ok(());
            }
        }
    }
}
