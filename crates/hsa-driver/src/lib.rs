//! The driver over AMD's HSA runtime (ROCr, `libhsa-runtime64`): [`Driver`] with no HIP between.
//!
//! A launch is a packet of 64 bytes in a queue, a kernarg segment and a doorbell. No GPU has confirmed this driver yet: it is tested over
//! hiplaunch's emulator and over another software device, with ROCr's interface of ROCm 5.2 to 7.2. So no program gets it that does not ask for it.
//!
//! # Streams
//!
//! Streams share a few queues of the device. Each packet waits for those before it in its queue, so that a stream's work runs in order; streams of one
//! queue wait for each other, as they do with HIP. A stream that may stand still, for a function of the host or a value in memory, gets a queue of its
//! own. Putting packets into a queue takes no lock. An event is a *marker*: a barrier packet that decrements a signal. A stream that has
//! enqueued nothing since its last marker needs no new one.
//!
//! # Kernel arguments
//!
//! Each stream has 1 MiB of memory for them, in which it goes round; a marker behind each quarter says when it is free again. The hidden arguments are
//! filled as HIP fills them, of code objects from version 4 to 6. A call waits if a stream has 4,096 packets in flight, or all of this memory: also on a
//! stream that stands still, so that who lets it go on must be another thread then, as with HIP.
//!
//! # Copies
//!
//! Up to 1 MiB, kernels copy, in the stream's queue; more is copied by the device's engines, between two barriers. Host memory that is not pinned is
//! copied to staging memory first.
//!
//! # Memory
//!
//! Which fences packets have, and why:
//!
//! | packet | acquires | releases | why |
//! |---|---|---|---|
//! | kernel | agent | agent | A kernel sees what kernels before it on the device wrote: their release writes L1 back to L2, which the device shares, and its acquire invalidates L1 and the scalar cache (LLVM, "User Guide for AMDGPU Backend", Memory Model gfx90a and gfx942). Kernel arguments and pinned memory are in fine-grained pools of the host, which no L2 keeps (the same, "MTYPE"), so that the host's writes before the doorbell are seen. |
//! | barrier | system | system | What comes next may be of others: the host, which waits for the marker; another device's stream; an engine that copies. The release writes L2 back, the acquire invalidates what L2 has of other memory (HSA Runtime Programmer's Reference Manual 1.2, 2.9.1 and 3.3). |
//!
//! The head of a packet is stored with release order, after its body and its arguments (the same, 2.9.3), and the doorbell after that. A signal that
//! is seen as 0 was loaded with acquire order: what its packet released is seen. A kernel that writes a value for which others wait releases it to
//! the system itself.
//!
//! # What differs from HIP
//!
//! * **Faults** of a kernel or of a queue lose the device: each later call fails with a [sticky](hip_driver::ErrorCode::is_sticky) code, and the detail
//!   names the address and the kernels in flight. Other devices go on. A new process is needed.
//! * **Forked children** get [`NOT_INITIALIZED`](hip_driver::ErrorCode::NOT_INITIALIZED) from every call.
//! * **Not there**: memory that other processes open, allocation in stream order, images. Each is a named error.

mod abi;
mod blit;
mod capture;
mod device;
mod driver;
mod event;
mod functions;
mod gpu;
mod graph;
mod host;
mod load;
mod marker;
mod memory;
mod module;
mod packet;
mod properties;
mod queue;
mod ring;
mod services;
mod signals;
mod stream;
mod work;

use std::ffi::c_void;
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use handle_table::Table;
use once_cell::sync::OnceCell;

use abi::Status;
use capture::Captures;
use device::Device;
use gpu::{Gpu, System};
use graph::{Graph, GraphExec};
use hip_driver::{DeviceId, Driver, DriverError, DriverResult, ErrorCode, NodeNumbers};
use load::Hsa;
pub use load::LoadError;
use memory::Memory;

/// The driver of this process.
static DRIVER: OnceCell<HsaDriver> = OnceCell::new();

/// The driver over libhsa-runtime64. See the [crate](self).
pub struct HsaDriver {
    hsa: &'static Hsa,
    devices: Vec<&'static Device>,
    memory: Memory,
    graphs: Table<Arc<Graph>>,
    execs: Table<Arc<GraphExec>>,
    captures: Captures,
    nodes: NodeNumbers,
}

/// The driver of this process as something that several may own.
#[derive(Debug)]
struct Shared(&'static HsaDriver);

impl HsaDriver {
    /// Returns the driver of this process. The first call loads it; after a failure, the next call tries again.
    ///
    /// # Errors
    /// [`LoadError::NotFound`], with what was tried, if there is no usable library; other [`LoadError`]s if HSA fails to start, as without
    /// `/dev/kfd`.
    pub fn load() -> Result<&'static HsaDriver, LoadError> {
        if load::is_forked_child() {
            return DRIVER.get().ok_or(LoadError::Forked);
        }
        DRIVER.get_or_try_init(|| HsaDriver::new(Hsa::load()?))
    }

    /// Returns the file of the loaded library.
    pub fn library_path(&self) -> &Path {
        &self.hsa.library
    }

    /// The driver, for those who own one.
    pub fn shared(&'static self) -> Arc<dyn Driver> {
        Arc::new(Shared(self))
    }

    fn new(hsa: Hsa) -> Result<HsaDriver, LoadError> {
        let hsa: &'static Hsa = Box::leak(Box::new(hsa));
        let library: PathBuf = hsa.library.clone();
        let failed = |call, status: String| LoadError::Init { library: library.clone(), call, status };
        let system = System::new(hsa).map_err(|problem| failed("hsa_iterate_agents", problem))?;
        let system: &'static System = Box::leak(Box::new(system));
        let device = |(number, agent): (usize, &abi::Agent)| {
            let gpu = Gpu::new(system, DeviceId(number as u32), *agent);
            gpu.map(|gpu| &*Box::leak(Box::new(Device::new(gpu))))
        };
        let devices = system.gpus.iter().enumerate().map(device).collect::<DriverResult<Vec<_>>>();
        let devices = devices.map_err(|error| failed("hsa_agent_get_info", error.to_string()))?;
        if let Some(register) = hsa.functions.register_event_handler {
            let list: &'static Vec<&'static Device> = Box::leak(Box::new(devices.clone()));
            // SAFETY: the handler gets the list of devices, which lives forever.
            let status =
                unsafe { register(device::system_event, ptr::from_ref(list).cast_mut().cast::<c_void>()) };
            if status != Status::SUCCESS {
                log::warn!(
                    "faults of memory end the process: another handler is registered ({})",
                    hsa.describe(status)
                );
            }
        }
        Ok(HsaDriver {
            hsa,
            devices,
            memory: Memory::default(),
            graphs: Table::new(5),
            execs: Table::new(6),
            captures: Captures::default(),
            nodes: NodeNumbers::default(),
        })
    }

    /// Returns a device, even if it is lost.
    fn any_device(&self, call: &'static str, device: DeviceId) -> DriverResult<&'static Device> {
        self.devices.get(device.0 as usize).copied().ok_or_else(|| {
            let detail = format!("{device}: HSA has {} GPUs", self.devices.len());
            DriverError::with_detail(call, ErrorCode::INVALID_DEVICE, detail)
        })
    }

    /// Returns a device that is not lost.
    #[inline]
    fn device(&self, call: &'static str, device: DeviceId) -> DriverResult<&'static Device> {
        let device = self.any_device(call, device)?;
        device.check(call)?;
        Ok(device)
    }
}

impl fmt::Debug for HsaDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HsaDriver").field("library", &self.hsa.library).finish_non_exhaustive()
    }
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
