//! The files by which Linux tells programs of AMD's GPUs, for the emulated devices: the topology of the kernel driver (KFD), and that the
//! driver is loaded.
//!
//! Names and order of the properties are those of `node_show`, `mem_show`, `kfd_cache_show` and `iolink_show` of Linux
//! (drivers/gpu/drm/amd/amdkfd/kfd_topology.c). Readers are libhsakmt (src/topology.c), LLVM's `amdgpu-arch`, `rocm_agent_enumerator` and
//! many scripts.

use std::fmt::{Display, Write};
use std::path::PathBuf;

use hip_driver::{DeviceProperties, DriverError};
use hip_driver_emulated::system::{self, Host};
use hip_driver_emulated::{EmulatorOptions, Hardware};

use super::program_folder::Entry;

/// The folder with the topology. `/sys/class/kfd/kfd` is a link to the folder above it.
const TOPOLOGY: &str = "sys/devices/virtual/kfd/kfd/topology";

/// The folder of the kernel module amdgpu.
const MODULE: &str = "sys/module/amdgpu";

/// Of `kfd_crat.h`: kinds of memory, caches and links.
const HEAP_SYSTEM: u32 = 0;
const HEAP_FRAME_BUFFER_PRIVATE: u32 = 2;
const CACHE_OF_DATA: u32 = 1;
const CACHE_OF_SIMDS: u32 = 8;
const LINK_PCI_EXPRESS: u32 = 2;
const LINK_ENABLED: u32 = 1;

/// Of `kfd_topology.h`: bits of a node's `capability`.
const DOORBELLS_SINCE_GFX9: u32 = 2 << 12;
const MEMORY_HAS_ECC: u32 = 1 << 20;
const REVISION_SHIFT: u32 = 22;

/// The distance of two nodes over PCI Express (`KFD_CRAT_INTRA_SOCKET_WEIGHT` and `kfd_fill_gpu_direct_io_link_to_cpu`).
const WEIGHT: u32 = 20;

/// The bytes of a cache line, as the kernel driver has them of these devices' L2 caches.
const CACHE_LINE: u32 = 128;

/// The waves that may wait for each other on all devices: those of a cooperative launch, which the emulator has.
const GLOBAL_WAVE_SYNCS: u32 = 64;

/// Where the kernel driver begins to count SIMDs (`gpu_processor_id_low`).
const FIRST_SIMD: u32 = 0x8000_1000;

/// Lines of a name and a number.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, name: &str, value: impl Display) -> &mut Lines {
        writeln!(self.0, "{name} {value}").expect("a text grows");
        self
    }

    fn all(&mut self, lines: &[(&str, u64)]) -> &mut Lines {
        lines.iter().for_each(|(name, value)| {
            self.add(name, value);
        });
        self
    }
}

/// Returns the files for the emulated devices that these options make, by their paths below the root of all files.
pub(crate) fn files(options: &EmulatorOptions) -> Result<Vec<(PathBuf, Entry)>, DriverError> {
    let properties = options.device_properties()?;
    let mut files = Files::default();
    files.add(MODULE, "initstate", "live\n");
    files.add(MODULE, "refcnt", "0\n");
    files.add(MODULE, "coresize", "0\n");
    files.0.push((PathBuf::from(MODULE).join("holders"), Entry::Folder));
    // What `lsmod` reads. Of the other modules, it then has none.
    files.add("proc", "modules", "amdgpu 0 0 - Live 0x0000000000000000\n");
    // For rocminfo alone, which opens it.
    files.add("dev", "kfd", "");
    files.0.push(("sys/class/kfd/kfd".into(), Entry::Link("../../devices/virtual/kfd/kfd")));
    files.add(TOPOLOGY, "generation_id", "1\n");
    files.add(TOPOLOGY, "system_properties", "platform_oem 0\nplatform_id 0\nplatform_rev 0\n");
    let host = Host::here();
    files.host(&host, options.devices);
    if let Some(hardware) = Hardware::of(&properties) {
        (0..options.devices).for_each(|device| files.device(device, &properties, &hardware, &host));
    }
    Ok(files.0)
}

/// What stands for files, by their paths.
#[derive(Default)]
struct Files(Vec<(PathBuf, Entry)>);

impl Files {
    fn add(&mut self, folder: &str, name: &str, text: impl Into<String>) {
        self.0.push((PathBuf::from(folder).join(name), Entry::Text(text.into())));
    }

    /// A node with a number, what the driver calls it, a name, the properties behind the counts of its parts, and its parts.
    fn node(&mut self, node: u32, gpu_id: u32, name: &str, lines: &str, parts: [(&str, Vec<String>); 3]) {
        let folder = format!("{TOPOLOGY}/nodes/{node}");
        self.add(&folder, "gpu_id", format!("{gpu_id}\n"));
        self.add(&folder, "name", format!("{name}\n"));
        self.add(&folder, "properties", lines);
        for (part, all) in parts {
            self.0.push((PathBuf::from(&folder).join(part), Entry::Folder));
            for (number, text) in all.into_iter().enumerate() {
                self.add(&format!("{folder}/{part}/{number}"), "properties", text);
            }
        }
    }

    fn host(&mut self, host: &Host, devices: u32) {
        let links = (0..devices).map(|device| link(0, system::node(device))).collect();
        let lines = NodeLines {
            processors: host.processors,
            banks: 1,
            links: devices,
            host_mhz: host.clock_mhz,
            ..NodeLines::default()
        };
        let bank = memory(HEAP_SYSTEM, host.memory_bytes, 0, 0);
        let parts = [("mem_banks", vec![bank]), ("caches", Vec::new()), ("io_links", links)];
        self.node(0, 0, "", &lines.text(None), parts);
    }

    fn device(&mut self, device: u32, properties: &DeviceProperties, hardware: &Hardware, host: &Host) {
        let bits = properties.memory_bus_bits.unwrap_or(0);
        let mhz = properties.memory_clock_khz.unwrap_or(0) / 1000;
        let bank = memory(HEAP_FRAME_BUFFER_PRIVATE, properties.total_memory, bits, mhz);
        let first = FIRST_SIMD + device * hardware.compute_units * hardware.simds;
        let mut caches = vec![cache(1, hardware.l1_bytes, first, hardware.simds)];
        caches.extend(
            properties.l2_bytes.map(|bytes| cache(2, bytes, first, hardware.compute_units * hardware.simds)),
        );
        let lines = NodeLines {
            processors: 0,
            banks: 1,
            caches: caches.len() as u32,
            links: 1,
            first_simd: first,
            host_mhz: host.clock_mhz,
        };
        let text = lines.text(Some((device, properties, hardware)));
        let parts = [
            ("mem_banks", vec![bank]),
            ("caches", caches),
            ("io_links", vec![link(system::node(device), 0)]),
        ];
        // The driver's name of the chips that say themselves what they are.
        self.node(system::node(device), system::gpu_id(device), "ip discovery", &text, parts);
    }
}

/// What the properties of nodes differ in.
#[derive(Default)]
struct NodeLines {
    processors: u32,
    banks: u32,
    caches: u32,
    links: u32,
    first_simd: u32,
    host_mhz: u32,
}

impl NodeLines {
    /// The properties of the host, or of a device.
    fn text(&self, device: Option<(u32, &DeviceProperties, &Hardware)>) -> String {
        let of = |number: fn(u32, &DeviceProperties, &Hardware) -> u32| {
            device.map_or(0, |(ordinal, properties, hardware)| number(ordinal, properties, hardware).into())
        };
        let mut lines = Lines::default();
        lines.all(&[
            ("cpu_cores_count", self.processors.into()),
            ("simd_count", of(|_, _, hardware| hardware.compute_units * hardware.simds)),
            ("mem_banks_count", self.banks.into()),
            ("caches_count", self.caches.into()),
            ("io_links_count", self.links.into()),
            ("p2p_links_count", 0),
            ("cpu_core_id_base", 0),
            ("simd_id_base", self.first_simd.into()),
            ("max_waves_per_simd", of(|_, _, hardware| hardware.waves)),
            ("lds_size_in_kb", of(|_, properties, _| properties.max_lds_per_block >> 10)),
            ("gds_size_in_kb", 0),
            ("num_gws", of(|_, _, _| GLOBAL_WAVE_SYNCS)),
            ("wave_front_size", of(|_, properties, _| properties.wavefront_size)),
            ("array_count", of(|_, _, hardware| hardware.shader_engines * hardware.shader_arrays)),
            ("simd_arrays_per_engine", of(|_, _, hardware| hardware.shader_arrays)),
            ("cu_per_simd_array", of(|_, _, hardware| hardware.units_of_array())),
            ("simd_per_cu", of(|_, _, hardware| hardware.simds)),
            ("max_slots_scratch_cu", of(|_, _, hardware| hardware.simds * hardware.waves)),
            ("gfx_target_version", of(|_, _, hardware| hardware.target_version)),
            ("vendor_id", of(|_, _, _| system::VENDOR.into())),
            ("device_id", of(|_, _, hardware| hardware.device_id.into())),
            ("location_id", of(|ordinal, _, _| system::location(ordinal))),
            ("domain", 0),
            ("drm_render_minor", of(|ordinal, _, _| system::render_minor(ordinal))),
            ("hive_id", 0),
            // The emulator copies without engines for it.
            ("num_sdma_engines", 0),
            ("num_sdma_xgmi_engines", 0),
            ("num_sdma_queues_per_engine", 0),
            ("num_cp_queues", of(|_, _, hardware| hardware.queues)),
        ]);
        if device.is_some() {
            lines.all(&[
                ("max_engine_clk_fcompute", of(|_, properties, _| properties.clock_khz / 1000)),
                // Linux has 0 here; the size is that of the memory bank.
                ("local_mem_size", 0),
                ("fw_version", 0),
                ("capability", of(|_, _, hardware| capability(hardware))),
                ("debug_prop", 0),
                ("sdma_fw_version", 0),
                // None, as of devices without a serial number.
                ("unique_id", 0),
                ("num_xcc", of(|_, _, hardware| hardware.dies)),
            ]);
        }
        lines.add("max_engine_clk_ccompute", self.host_mhz);
        lines.0
    }
}

fn capability(hardware: &Hardware) -> u32 {
    let memory = if hardware.has_ecc { MEMORY_HAS_ECC } else { 0 };
    DOORBELLS_SINCE_GFX9 | memory | system::REVISION << REVISION_SHIFT
}

fn memory(heap: u32, bytes: u64, bits: u32, mhz: u32) -> String {
    let mut lines = Lines::default();
    lines.add("heap_type", heap).add("size_in_bytes", bytes).add("flags", 0);
    lines.add("width", bits).add("mem_clk_max", mhz);
    lines.0
}

/// A cache of the SIMDs from `first` on.
fn cache(level: u32, bytes: u32, first: u32, simds: u32) -> String {
    /// The bits of a cache's `sibling_map` (`CRAT_SIBLINGMAP_SIZE`).
    const SIBLINGS: u32 = 256;
    let mut lines = Lines::default();
    lines.add("processor_id_low", first).add("level", level).add("size", bytes >> 10);
    lines.add("cache_line_size", CACHE_LINE).add("cache_lines_per_tag", 1);
    lines.add("association", 0).add("latency", 0).add("type", CACHE_OF_DATA | CACHE_OF_SIMDS);
    let siblings: Vec<&str> = (0..SIBLINGS).map(|simd| if simd < simds { "1" } else { "0" }).collect();
    lines.add("sibling_map", siblings.join(","));
    lines.0
}

fn link(from: u32, to: u32) -> String {
    let mut lines = Lines::default();
    lines.add("type", LINK_PCI_EXPRESS).add("version_major", 0).add("version_minor", 0);
    lines.add("node_from", from).add("node_to", to).add("weight", WEIGHT);
    for name in ["min_latency", "max_latency", "min_bandwidth", "max_bandwidth", "recommended_transfer_size"]
    {
        lines.add(name, 0);
    }
    lines.add("flags", LINK_ENABLED);
    lines.0
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    type Written = Vec<(PathBuf, Entry)>;

    fn files_of(target: &str, devices: u32) -> Written {
        let target = target.parse().unwrap();
        files(&EmulatorOptions { devices, target, ..EmulatorOptions::default() }).unwrap()
    }

    fn text<'a>(files: &'a Written, path: &str) -> Option<&'a str> {
        match &files.iter().find(|(known, _)| known == Path::new(path))?.1 {
            Entry::Text(text) => Some(text),
            _ => None,
        }
    }

    fn property(files: &Written, node: u32, name: &str) -> Option<u64> {
        let text = text(files, &format!("{TOPOLOGY}/nodes/{node}/properties"))?;
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    }

    /// Those of a Radeon RX 7900 XTX, in the order of Linux.
    #[test]
    fn a_device_has_the_properties_of_its_processor() {
        let files = files_of("gfx1100", 1);
        for (name, value) in [
            ("simd_count", 192),
            ("lds_size_in_kb", 64),
            ("wave_front_size", 32),
            ("array_count", 12),
            ("cu_per_simd_array", 8),
            ("gfx_target_version", 110_000),
            ("vendor_id", 4098),
            ("device_id", 29_772),
            ("drm_render_minor", 128),
            ("num_xcc", 1),
        ] {
            assert_eq!(property(&files, 1, name), Some(value), "{name}");
        }
        assert_eq!(property(&files, 0, "gfx_target_version"), Some(0));
        assert_eq!(property(&files, 0, "num_xcc"), None);
        let bank = text(&files, &format!("{TOPOLOGY}/nodes/1/mem_banks/0/properties")).unwrap();
        assert!(bank.contains("\nwidth 384\nmem_clk_max 1250\n"), "{bank}");
    }

    #[test]
    fn counts_are_those_of_the_parts() {
        let files = files_of("gfx942", 3);
        for node in 0..4 {
            for (part, count) in
                [("mem_banks", "mem_banks_count"), ("caches", "caches_count"), ("io_links", "io_links_count")]
            {
                let folder = PathBuf::from(format!("{TOPOLOGY}/nodes/{node}/{part}"));
                let parts = files.iter().filter(|(path, _)| path.starts_with(&folder)).count() - 1;
                assert_eq!(property(&files, node, count), Some(parts as u64), "{node} {part}");
            }
        }
        assert!(text(&files, &format!("{TOPOLOGY}/nodes/4/gpu_id")).is_none());
    }
}
