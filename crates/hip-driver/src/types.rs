//! Plain values of driver calls: device ordinals, addresses, raw handles, launch parameters.

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

/// An address in the memory of a device, as kernels see it; 0 is null. It is not a host pointer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The null address.
    pub const NULL: DevicePtr = DevicePtr(0);

    /// Returns whether this is the null address.
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Returns the address `bytes` bytes further on. Wraps around at 2^64.
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
        /// It is a number of the driver that returned it (HIP's pointer, the emulator's id) and means nothing to
        /// another driver.
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
    /// A graph to which nodes are added (`hipGraph_t`).
    RawGraph;
    /// A node of a graph (`hipGraphNode_t`).
    RawGraphNode;
    /// An executable graph: an instantiated graph that can be launched (`hipGraphExec_t`).
    RawGraphExec;
}

/// Streams that every device has, without being made. See the contract of the [crate](super).
impl RawStream {
    /// The null stream of the device: what HIP's calls without a stream use.
    pub const NULL: RawStream = RawStream(0);
    /// Another name of the [null stream](RawStream::NULL) (`hipStreamLegacy`). HIP 5 does not know it.
    pub const LEGACY: RawStream = RawStream(1);
    /// The calling thread's own default stream on the device (`hipStreamPerThread`): another one on each thread.
    pub const PER_THREAD: RawStream = RawStream(2);

    /// Whether the handle names a default stream, which nobody makes or destroys.
    #[inline]
    pub const fn is_default(self) -> bool {
        self.0 <= RawStream::PER_THREAD.0
    }
}

/// Page-locked host memory that the device can address too (`hipHostMalloc` with flags 0: coherent, mapped).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedAllocation {
    /// Its address for the host. Memory of `host_malloc` is aligned to at least 64 bytes.
    pub host: NonNull<u8>,
    /// Its address for kernels.
    pub device: DevicePtr,
    /// Its length in bytes.
    pub bytes: usize,
}

// SAFETY: it describes memory by address and length; it is neither an owner nor a reference. Every access through it is
// an unsafe operation of its own.
unsafe impl Send for PinnedAllocation {}
// SAFETY: a shared `PinnedAllocation` gives its address and length, and permits no change.
unsafe impl Sync for PinnedAllocation {}

/// Names an allocation of a process for other processes (`hipIpcMemHandle_t`).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpcHandle(pub [u8; 64]);

impl fmt::Debug for IpcHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IpcHandle(..)")
    }
}

/// Options of a new stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamOptions {
    /// HIP's priority: a lower number is more urgent. `None` is the default priority. A priority needs
    /// [`Capability::StreamPriority`](super::Capability).
    pub priority: Option<i32>,
    /// Whether the stream and the device's null stream wait for each other (`hipStreamDefault`); `false`:
    /// `hipStreamNonBlocking`, a stream of which the null stream takes no notice.
    pub blocking: bool,
}

/// Options of a new event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventOptions {
    /// Whether the event records the time. `false` is cheaper (`hipEventDisableTiming`).
    pub timing: bool,
}

/// The free and total memory of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemInfo {
    /// Bytes that are free now.
    pub free: u64,
    /// Bytes that the device has.
    pub total: u64,
}

/// Limits of a device, and what identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceProperties {
    /// The marketing name.
    pub name: String,
    /// The target whose code objects the device runs, with its xnack and sramecc setting.
    pub target: TargetId,
    /// The PCI address, such as `0000:03:00.0`; `emulated` for the emulator.
    pub pci_bus_id: String,
    /// Device memory in bytes.
    pub total_memory: u64,
    /// The number of compute units.
    pub compute_units: u32,
    /// The number of work-items in a wavefront.
    pub wavefront_size: u32,
    /// The maximum number of work-items in a workgroup.
    pub max_threads_per_block: u32,
    /// The maximum size of a workgroup in x, y and z, in work-items.
    pub max_block: [u32; 3],
    /// The maximum size of a grid in x, y and z, in workgroups.
    pub max_grid: [u32; 3],
    /// The maximum LDS of a workgroup in bytes, static and dynamic together.
    pub max_lds_per_block: u32,
    /// The core clock in kHz; 0 if it is not known.
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

/// A range of device memory that a launch is known to access. It is a hint for the validation layer; drivers ignore it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// The first byte.
    pub ptr: DevicePtr,
    /// Length in bytes.
    pub bytes: usize,
    /// Whether the kernel may write to the range.
    pub write: bool,
}

/// One kernel launch, on a stream or as a node of a graph.
#[derive(Clone, Copy, Debug)]
pub struct KernelLaunch<'a> {
    /// The kernel.
    pub function: RawFunction,
    /// The number of workgroups in x, y and z; none is 0.
    pub grid: [u32; 3],
    /// The number of work-items of a workgroup in x, y and z; none is 0.
    pub block: [u32; 3],
    /// Dynamic LDS in bytes.
    pub dynamic_lds: u32,
    /// The kernarg segment, as long as the code object's metadata says. It has the explicit arguments at their offsets
    /// and zeros for the hidden ones, which the driver fills in. It is copied before the call returns. It is empty for
    /// a kernel without explicit arguments, even if that has hidden ones: clr from 7.0 on refuses a buffer for such a
    /// kernel.
    pub kernarg: &'a [u8],
    /// The ranges that the kernel is known to access. The list may be incomplete.
    pub accesses: &'a [MemoryAccess],
}

/// Another launch for a node of an executable graph.
#[derive(Clone, Copy, Debug)]
pub struct NodeLaunch<'a> {
    /// A kernel's node of the graph from which the executable graph was instantiated.
    pub node: RawGraphNode,
    /// What the node launches from now on.
    pub launch: KernelLaunch<'a>,
}

/// What identifies a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverInfo {
    /// `hip` or `emulated`. A layer puts its own name before it: `validation over `, `timeline over `.
    pub name: String,
    /// The runtime's version, `major.minor.patch`.
    pub version: String,
    /// The file of the loaded library, or where the driver comes from.
    pub source: String,
    /// What must be opened again after a fault of a kernel.
    pub recovery: Recovery,
}

/// What must be opened again to use a device that was lost by a fault of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// A new driver in the same process: each driver has devices of its own, as the emulator's do.
    NewDriver,
    /// A new process: all drivers of a process share the device's context, as HIP's do.
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
