//! Memory between the device and MPI: pinned host memory, or device memory where MPI takes device addresses.

use std::ffi::{CStr, c_int};
use std::fmt::Debug;

use hiplaunch::driver::DevicePtr;
use hiplaunch::{Device, DeviceBuffer, PinnedBuffer};

/// Which memory MPI reads messages from, and writes them to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Staging {
    /// Device memory if MPI [takes its addresses](mpi_takes_device_memory), else pinned host memory.
    #[default]
    Auto,
    /// Pinned host memory. Every MPI can do that.
    Host,
    /// Device memory. MPI has to take device addresses; on the emulator every MPI does, as its device memory is host
    /// memory.
    Device,
}

/// Whether MPI takes addresses of AMD's device memory: what `MPIX_Query_rocm_support` (Open MPI from 5.0 on) or
/// `MPIX_Query_hip_support` (MPICH from 4.1 on) says. `false` for an MPI with neither.
pub fn mpi_takes_device_memory() -> bool {
    const NAMES: [&CStr; 2] = [c"MPIX_Query_rocm_support", c"MPIX_Query_hip_support"];
    NAMES.iter().any(|name| {
        // SAFETY: looks up a symbol of the libraries that are loaded.
        let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        if symbol.is_null() {
            return false;
        }
        // SAFETY: both are declared as `int name(void)` by their MPI (mpi-ext.h, mpi.h).
        let query: extern "C" fn() -> c_int = unsafe { std::mem::transmute(symbol) };
        query() == 1
    })
}

/// A piece of staging memory.
#[derive(Debug)]
pub(crate) struct Slot {
    /// A pinned or a device buffer, which is used by its address.
    _memory: Box<dyn Debug>,
    /// The address for MPI.
    pub(crate) mpi: *mut u8,
    /// The address for kernels.
    pub(crate) device: DevicePtr,
    /// Whether `mpi` is pinned host memory, which copies use.
    pub(crate) is_host: bool,
    capacity: usize,
}

// SAFETY: the slot owns the memory at its addresses, and never accesses it itself.
unsafe impl Send for Slot {}

/// The slots of a communicator. They grow to what is in flight at one time, and are freed with the communicator.
#[derive(Debug)]
pub(crate) struct Slots {
    device: Device,
    in_device_memory: bool,
    free: Vec<Slot>,
}

impl Slots {
    pub(crate) fn new(device: &Device, in_device_memory: bool) -> Slots {
        Slots { device: device.clone(), in_device_memory, free: Vec::new() }
    }

    /// Takes a slot of at least `bytes` bytes.
    ///
    /// # Errors
    /// The launcher's: memory ran out.
    pub(crate) fn take(&mut self, bytes: usize) -> hiplaunch::Result<Slot> {
        // Powers of two, so that messages of about the same size share slots.
        let capacity = bytes.max(256).checked_next_power_of_two().unwrap_or(bytes);
        if let Some(index) = self.free.iter().position(|slot| slot.capacity == capacity) {
            return Ok(self.free.swap_remove(index));
        }
        if self.in_device_memory {
            let memory = DeviceBuffer::<u8>::new(&self.device, capacity)?;
            let device = memory.ptr();
            // On the emulator the address in the host's memory, on a GPU the device's.
            let host = self.device.host_address(device, capacity)?;
            let mpi = host.map_or(device.0 as *mut u8, std::ptr::NonNull::as_ptr);
            return Ok(Slot { _memory: Box::new(memory), mpi, device, is_host: false, capacity });
        }
        let mut memory = PinnedBuffer::<u8>::new(&self.device, capacity)?;
        let (mpi, device) = (memory.host_mut()?.as_mut_ptr(), memory.ptr());
        Ok(Slot { _memory: Box::new(memory), mpi, device, is_host: true, capacity })
    }

    pub(crate) fn give_back(&mut self, slots: Vec<Slot>) {
        self.free.extend(slots);
    }
}
