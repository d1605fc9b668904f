//! The runtime: its devices, and what it says of them.

use std::sync::Arc;

use cubecl_common::device::{Device as _, DeviceId, DeviceService, ServiceId};
use cubecl_common::profile::TimingMethod;
use cubecl_core::MemoryConfiguration;
use cubecl_core::cmma::MatrixLayout;
use cubecl_core::device::ServerUtilitiesHandle;
use cubecl_core::ir::features::Plane;
use cubecl_core::ir::{
    ContiguousElements, DeviceIdentity, DeviceProperties, HardwareProperties, MemoryDeviceProperties,
    MmaProperties, PciVendor, PhysicalDevice, TargetProperties, VectorSize,
};
use cubecl_core::server::{Server, ServerUtilities};
use cubecl_core::zspace::striding::has_pitched_row_major_strides;
use cubecl_core::zspace::{Shape, Strides};
use cubecl_cpp::hip::mma::manual::contiguous_elements_rdna3;
use cubecl_cpp::shared::register_supported_types;
use cubecl_server::allocator::ContiguousMemoryLayoutPolicy;
use cubecl_server::device::AmdDevice;
use cubecl_server::logging::ServerLogger;
use cubecl_server::runtime::Runtime;
use hiplaunch::Device;

use crate::kernels::Kernels;
use crate::server::LauncherServer;
use crate::storage::DEVICE_ALIGNMENT;

/// CubeCL's kernels on the devices of a [`Launcher`](hiplaunch::Launcher).
#[derive(Clone, Debug)]
pub struct HipLaunchRuntime;

impl Runtime for HipLaunchRuntime {
    type Server = LauncherServer;
    type Device = AmdDevice;

    fn can_read_tensor(shape: &Shape, strides: &Strides) -> bool {
        shape.is_empty() || has_pitched_row_major_strides(shape, strides)
    }

    fn target_properties() -> TargetProperties {
        // Only kernels with matrix instructions ask, and the devices offer CubeCL none.
        TargetProperties {
            mma: MmaProperties {
                register_size_bits: 32,
                const_plane_size: 64,
                register_layout_a: MatrixLayout::RowMajor,
                register_layout_b: MatrixLayout::ColMajor,
                register_layout_acc: MatrixLayout::ColMajor,
                register_duplication_a: 1,
                register_duplication_b: 1,
                register_duplication_acc: 1,
                contiguous_elements: ContiguousElements::new(contiguous_elements_rdna3),
            },
        }
    }

    fn enumerate_devices(_type_id: u16) -> Vec<DeviceId> {
        match crate::launcher() {
            Ok(launcher) => (0..launcher.devices().len() as u16).map(|i| DeviceId::new(0, i)).collect(),
            Err(error) => {
                log::warn!("no launcher, and so no device: {error}");
                Vec::new()
            }
        }
    }
}

impl DeviceService for LauncherServer {
    /// Opens a device for CubeCL.
    ///
    /// # Panics
    /// CubeCL has no error for this, so it panics if the launcher can't be opened or has no such device.
    fn init(id: DeviceId) -> Self {
        let opened = crate::launcher().and_then(|launcher| {
            let index = AmdDevice::from_id(id).index as u32;
            Ok((launcher, launcher.device(index)?))
        });
        let (launcher, device) = opened.unwrap_or_else(|error| panic!("device {id:?}: {error}"));
        let properties = properties_of(device);
        let memory = properties.memory.clone();
        let (utilities, captures) = ServerUtilities::init(
            ServiceId::of::<Self>(id),
            "hiplaunch",
            properties.clone(),
            HipLaunchRuntime::target_properties(),
            Arc::new(ServerLogger::default()),
            ContiguousMemoryLayoutPolicy::new(DEVICE_ALIGNMENT),
        );
        let kernels = Kernels::new(launcher, device, properties);
        LauncherServer::new(kernels, memory, MemoryConfiguration::default(), utilities, captures)
    }

    fn utilities(&self) -> ServerUtilitiesHandle {
        Server::utilities(self) as ServerUtilitiesHandle
    }
}

/// What CubeCL is told about a device.
fn properties_of(device: &Device) -> DeviceProperties {
    let hip = device.properties();
    let three = |[x, y, z]: [u32; 3]| (x, y, z);
    let hardware = HardwareProperties {
        load_width: 128,
        vector_register_count: None,
        plane_size_min: hip.wavefront_size,
        plane_size_max: hip.wavefront_size,
        // HIP has no limit but that of the kernarg segment, 4 KiB: room for so many addresses, and for sizes and scalars.
        max_bindings: 256,
        max_shared_memory_size: hip.max_lds_per_block as usize,
        max_cube_count: three(hip.max_grid),
        max_units_per_cube: hip.max_threads_per_block,
        max_cube_dim: three(hip.max_block),
        num_streaming_multiprocessors: Some(hip.compute_units),
        num_cpu_cores: None,
        last_level_cache_size: hip.l2_bytes.map(|bytes| bytes as usize),
        num_tensor_cores: None,
        min_tensor_cores_dim: None,
        max_vector_size: VectorSize::MAX,
        cube_mma_reserved_shared_memory: 0,
    };
    // A page is at most a quarter of the device's memory.
    let memory = MemoryDeviceProperties::new(hip.total_memory / 4, DEVICE_ALIGNMENT as u64)
        .with_max_memory(hip.total_memory);
    let mut physical = PhysicalDevice::default();
    physical.pci_address = hip.pci_bus_id.parse().ok();
    physical.vendor = Some(PciVendor::Amd);
    let identity = DeviceIdentity {
        name: hip.name.clone(),
        fingerprint: format!("hiplaunch_{}", hip.target),
        physical: Some(physical),
    };
    let mut properties =
        DeviceProperties::new(Default::default(), memory, hardware, TimingMethod::Device, identity);
    register_supported_types(&mut properties);
    let features = &mut properties.features;
    features.memory_reinterpret = true;
    features.alignment = true;
    features.device_memory_scope = true;
    features.plane.insert(Plane::Ops);
    features.plane.insert(Plane::NonUniformControlFlow);
    properties
}
