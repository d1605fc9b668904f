//! The machine as AMD's kernel driver, HSA and the SMI libraries describe it: where the emulated devices are in it, and the host.

#[cfg(target_os = "linux")]
use std::ffi::c_void;
use std::fs;

/// The PCI number of AMD.
pub const VENDOR: u16 = 0x1002;

/// AMD's name, as its libraries have it.
pub const VENDOR_NAME: &str = "Advanced Micro Devices, Inc. [AMD/ATI]";

/// The revision of the devices.
pub const REVISION: u32 = 1;

/// Returns the number of the PCI bus on which a device of no bus says it is: each has one of its own, on domain 0.
pub fn bus(device: u32) -> u8 {
    // There are at most 64 devices.
    (device + 1) as u8
}

/// Returns the place of a device on the PCI bus as the kernel driver has it (`location_id` of its topology): bus, device and
/// function.
pub fn location(device: u32) -> u32 {
    u32::from(bus(device)) << 8
}

/// Returns the number of a device among the nodes of the kernel driver's topology, whose first is the host.
pub fn node(device: u32) -> u32 {
    device + 1
}

/// Returns what the kernel driver calls a device (`gpu_id` of its topology): any number but 0, other for each.
pub fn gpu_id(device: u32) -> u32 {
    // The kernel driver hashes what is known of a device to 16 bits.
    0x1000 + location(device)
}

/// Returns the minor number of the file below `/dev/dri` by which a device renders. There is no such file.
pub fn render_minor(device: u32) -> u32 {
    128 + device
}

/// The host of the devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The name of its processor.
    pub name: String,
    /// How many processors it has.
    pub processors: u32,
    /// The clock in MHz; 0 if it is not known.
    pub clock_mhz: u32,
    /// The bytes of its memory.
    pub memory_bytes: u64,
}

impl Host {
    /// Returns what Linux says of this host. What it does not say is empty or 0.
    pub fn here() -> Host {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let text = read("/proc/cpuinfo");
        let lines = || text.lines().filter_map(|line| line.split_once(':'));
        let name = lines().find(|(field, _)| field.trim() == "model name");
        let kib =
            |line: &str| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok();
        let khz = read("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").trim().parse::<u32>();
        Host {
            name: name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned()),
            processors: lines().filter(|(field, _)| field.trim() == "processor").count() as u32,
            clock_mhz: khz.unwrap_or(0) / 1000,
            memory_bytes: read("/proc/meminfo").lines().find_map(kib).unwrap_or(0) << 10,
        }
    }
}

/// Whether all pages of a range of the host's addresses are memory of the process. No device can be given what is not.
#[cfg(target_os = "linux")]
pub fn is_mapped(start: *mut c_void, bytes: usize) -> bool {
    const PAGE: usize = 4096;
    const PAGES_AT_ONCE: usize = 1 << 16;
    let Some(end) = start.addr().checked_add(bytes) else { return false };
    let mut page = start.map_addr(|address| address / PAGE * PAGE);
    let mut resident = vec![0; PAGES_AT_ONCE.min(bytes / PAGE + 2)];
    while page.addr() < end {
        let length = (end - page.addr()).min(resident.len() * PAGE);
        // SAFETY: the kernel only looks whether the range is mapped, and `resident` has a byte for each of its pages.
        if unsafe { libc::mincore(page, length, resident.as_mut_ptr()) } != 0 {
            return false;
        }
        page = page.wrapping_byte_add(length);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_devices_have_a_place_or_a_number_in_common() {
        for of in [location, gpu_id, node, render_minor] {
            let numbers: std::collections::BTreeSet<u32> = (0..64).map(of).collect();
            assert_eq!(numbers.len(), 64);
            assert!(!numbers.contains(&0));
        }
        assert_eq!((bus(0), location(1)), (1, 0x200));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_host_has_processors_and_memory() {
        let host = Host::here();
        assert!(!host.name.is_empty() && host.processors > 0 && host.memory_bytes > 1 << 20, "{host:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_process_does_not_have_is_not_mapped() {
        let memory = memmap2::MmapMut::map_anon(3 * 4096).unwrap();
        let start = memory.as_ptr().cast_mut().cast::<c_void>();
        assert!(is_mapped(start.wrapping_byte_add(100), 3 * 4096 - 100));
        assert!(!is_mapped(start, 1 << 46) && !is_mapped(start, usize::MAX));
        assert!(!is_mapped(std::ptr::without_provenance_mut(1 << 50), 1));
    }
}
