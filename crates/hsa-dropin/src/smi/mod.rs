//! The libraries of system management: ROCm SMI, and AMD SMI, which followed it. They describe the devices.
//!
//! What a GPU would measure, such as temperature, power and clocks, and what would set it, is not supported: an emulated device has
//! none of these.

pub(crate) mod amd;
pub(crate) mod rocm;

use std::sync::{Mutex, PoisonError};

use hip_driver_emulated::system;

/// The kind of memory that the devices have (`RSMI_MEM_TYPE_VRAM`, `AMDSMI_MEM_TYPE_VRAM`). The others are what the host sees of it, and
/// memory of the host.
const VRAM: u32 = 0;

/// PCI Express (`RSMI_IOLINK_TYPE_PCIEXPRESS`, `AMDSMI_LINK_TYPE_PCIE`), over which devices reach each other by the host, and the
/// weight of each of the two links (`weight` in the kernel driver's topology).
const PCI_EXPRESS: u32 = 1;
const HOPS: u64 = 2;
const WEIGHT: u64 = 20;

/// How often a library was initialised and not shut down.
#[derive(Default)]
struct References(Mutex<u32>);

impl References {
    const fn new() -> References {
        References(Mutex::new(0))
    }

    /// Changes the number; `false` if there is no number for it.
    fn change(&self, change: impl FnOnce(u32) -> Option<u32>) -> bool {
        let mut references = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(*references).map(|changed| *references = changed).is_some()
    }

    fn add(&self) -> bool {
        self.change(|references| references.checked_add(1))
    }

    fn remove(&self) -> bool {
        self.change(|references| references.checked_sub(1))
    }

    fn is_any(&self) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) > 0
    }
}

/// The place of a device on the PCI bus as one number: domain, bus, device and function.
fn pci_number(device: u32) -> u64 {
    // The domain is 0.
    system::location(device).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_there_until_it_is_shut_down_as_often() {
        let references = References::new();
        assert!(!references.is_any() && !references.remove());
        assert!(references.add() && references.add() && references.remove() && references.is_any());
        assert!(references.remove() && !references.is_any());
    }
}
