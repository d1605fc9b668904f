//! Plain values that cross the driver boundary: ordinals, addresses, raw handles, launch parameters.

use std::fmt;
use std::ptr::NonNull;
use std::str::FromStr;

use code_object::TargetId;

/// The ordinal of a device, from 0 to `device_count() - 1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub u32);

impl std::fmt::Display for DeviceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "device {}", self.0)
    }
}

/// An address that kernels of a device can use; 0 is null. Not a host pointer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The null address.
    pub const NULL: DevicePtr = DevicePtr(0);

    /// Whether this is the null address.
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The address `bytes` further on; wraps like hardware address arithmetic.
    #[must_use]
    pub const fn offset(self, bytes: u64) -> DevicePtr {
        DevicePtr(self.0.wrapping_add(bytes))
    }
}

impl std::fmt::Debug for DevicePtr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DevicePtr({:#x})", self.0)
    }
}

impl std::fmt::Display for DevicePtr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

macro_rules! raw_handle {
    ($(#[$doc:meta] $name:ident;)*) => {$(
        #[$doc]
        ///
        /// An opaque number of the driver that made it (HIP's pointer, the emulator's id); meaningless to any other.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }
    )*};
}

raw_handle! {
    /// A stream (`hipStream_t`).
    RawStream;
    /// An event (`hipEvent_t`).
    RawEvent;
    /// A loaded module (`hipModule_t`).
    RawModule;
    /// A kernel of a loaded module (`hipFunction_t`).
    RawFunction;
    /// A graph that nodes are added to (`hipGraph_t`).
    RawGraph;
    /// A node of a graph (`hipGraphNode_t`).
    RawGraphNode;
    /// A graph that can be launched (`hipGraphExec_t`).
    RawGraphExec;
}

/// Page-locked host memory that the device can address too (`hipHostMalloc` with flags 0: coherent, mapped).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedAllocation {
    /// Where the host sees it; aligned to at least 64 bytes.
    pub host: NonNull<u8>,
    /// Where kernels see it.
    pub device: DevicePtr,
    /// Its length in bytes.
    pub bytes: usize,
}

// SAFETY: a description of memory (address and length), not an owner or a reference; every access through it is an
// unsafe operation of its own.
unsafe impl Send for PinnedAllocation {}
// SAFETY: as above; nothing can be changed through a shared `PinnedAllocation`.
unsafe impl Sync for PinnedAllocation {}

/// How a stream is made. Streams never synchronize with the null stream (`hipStreamNonBlocking`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamOptions {
    /// HIP's priority, lower is more urgent; `None` for the default. Needs [`Capability::StreamPriority`](super::Capability).
    pub priority: Option<i32>,
}

/// How an event is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventOptions {
    /// Whether it records the time (`false`: `hipEventDisableTiming`, which is cheaper).
    pub timing: bool,
}

/// Device memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemInfo {
    /// Bytes that could be allocated now.
    pub free: u64,
    /// Bytes the device has.
    pub total: u64,
}

/// What a launch must respect, and what a person wants to know of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceProperties {
    /// Marketing name.
    pub name: String,
    /// The target whose code objects it runs, with its xnack and sramecc setting.
    pub target: TargetId,
    /// PCI address such as `0000:03:00.0`, or `emulated`.
    pub pci_bus_id: String,
    /// Bytes of device memory.
    pub total_memory: u64,
    /// Compute units.
    pub compute_units: u32,
    /// Work-items of a wavefront.
    pub wavefront_size: u32,
    /// Most work-items in a workgroup.
    pub max_threads_per_block: u32,
    /// Most work-items of a workgroup in x, y and z.
    pub max_block: [u32; 3],
    /// Most workgroups of a grid in x, y and z.
    pub max_grid: [u32; 3],
    /// Most LDS bytes a workgroup can have, static and dynamic together.
    pub max_lds_per_block: u32,
    /// Core clock in kHz; 0 when not known.
    pub clock_khz: u32,
    /// Memory clock in kHz. Memory of AMD's GPUs transfers twice in a cycle.
    pub memory_clock_khz: Option<u32>,
    /// Width of the memory bus in bits.
    pub memory_bus_bits: Option<u32>,
    /// Bytes of L2 cache; where each of several dies has one, of one die.
    pub l2_bytes: Option<u32>,
    /// The 32-bit registers that the work-items of a workgroup share.
    pub registers_per_block: Option<u32>,
}

impl DeviceProperties {
    /// Returns the PCI address in [`pci_bus_id`](DeviceProperties::pci_bus_id); `None` for a device that is on no bus.
    pub fn pci_address(&self) -> Option<PciAddress> {
        self.pci_bus_id.parse().ok()
    }
}

/// Where a device is on the PCI bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    /// The domain.
    pub domain: u32,
    /// The bus.
    pub bus: u8,
    /// The device on the bus.
    pub device: u8,
    /// The function of the device.
    pub function: u8,
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

/// A text that is no PCI address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no PCI address such as 0000:03:00.0")]
pub struct PciAddressError(pub String);

impl FromStr for PciAddress {
    type Err = PciAddressError;

    /// Reads `DOMAIN:BUS:DEVICE.FUNCTION`, in hexadecimal. HIP leaves the function out on some versions; it is 0 then.
    fn from_str(text: &str) -> Result<PciAddress, PciAddressError> {
        let parse = || {
            let hex = |digits: &str| match digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                true => u32::from_str_radix(digits, 16).ok(),
                false => None,
            };
            let byte = |digits: &str| u8::try_from(hex(digits)?).ok();
            let (domain, rest) = text.split_once(':')?;
            let (bus, rest) = rest.split_once(':')?;
            let (device, function) = rest.split_once('.').unwrap_or((rest, "0"));
            Some(PciAddress {
                domain: hex(domain)?,
                bus: byte(bus)?,
                device: byte(device)?,
                function: byte(function)?,
            })
        };
        parse().ok_or_else(|| PciAddressError(text.to_owned()))
    }
}

/// One range of device memory that a launch is known to touch. A hint for the validation layer; drivers ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// First byte.
    pub ptr: DevicePtr,
    /// Length in bytes.
    pub bytes: usize,
    /// Whether the kernel may write there.
    pub write: bool,
}

/// One kernel launch, wherever it is enqueued.
#[derive(Clone, Copy, Debug)]
pub struct KernelLaunch<'a> {
    /// The kernel.
    pub function: RawFunction,
    /// Workgroups in x, y and z; none is 0.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y and z; none is 0.
    pub block: [u32; 3],
    /// Dynamic LDS in bytes.
    pub dynamic_lds: u32,
    /// The kernarg segment: as long as the code object's metadata says, explicit arguments in place and the hidden
    /// ones zero (the driver fills them). Copied before the call returns. Empty for a kernel without explicit
    /// arguments, whatever its hidden ones: clr from 7.0 refuses a buffer there.
    pub kernarg: &'a [u8],
    /// What the caller knows that the kernel touches; may be incomplete.
    pub accesses: &'a [MemoryAccess],
}

/// Which driver this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverInfo {
    /// `hip` or `emulated`, with `validation over ` or `timeline over ` before it where a layer is on.
    pub name: String,
    /// Version of the runtime, `major.minor.patch`.
    pub version: String,
    /// The library that was loaded, or where the driver comes from.
    pub source: String,
    /// What it takes to use a device again that a fault of a kernel has lost.
    pub recovery: Recovery,
}

/// What it takes to use a device again that a fault of a kernel has lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// Another driver, opened in the same process: each has devices of its own, as the emulator's do.
    NewDriver,
    /// Another process: all drivers of one share the device's context, as HIP's do.
    NewProcess,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_addresses_are_read_as_hip_writes_them() {
        let address = PciAddress { domain: 0x10, bus: 0xc3, device: 0x1f, function: 0 };
        for text in ["0010:c3:1f.0", "0010:C3:1f", "10:c3:1f.0"] {
            assert_eq!(text.parse(), Ok(address), "{text}");
        }
        assert_eq!(address.to_string(), "0010:c3:1f.0");
        for text in ["emulated", "", "0:0", "0:+1:0.0", "0:100:0.0", "0000:03:00.0.0"] {
            assert_eq!(text.parse::<PciAddress>(), Err(PciAddressError(text.to_owned())));
        }
    }
}
