//! The devices that are emulated: what each processor's has of its own, and what follows from its architecture.

use amdgpu_emulator::max_lds;
use amdgpu_isa::Target;
use code_object::occupancy::VectorFile;
use code_object::{Processor, TargetId};

use hip_driver::DeviceProperties;

/// What one device of each processor has.
struct Figures {
    processor: &'static str,
    name: &'static str,
    /// As HIP counts them: on gfx11 these are workgroup processors of two compute units each.
    compute_units: u32,
    clock_khz: u32,
    memory_clock_khz: u32,
    memory_bus_bits: u32,
    l2_bytes: Option<u32>,
    /// The PCI number of the device.
    device_id: u16,
    /// Shader engines, and the shader arrays of each.
    engines: u32,
    arrays: u32,
}

/// Makes of each row the figures of a processor: a name; compute units; MHz of the core; MHz of the memory, by the width of its
/// bus in bits; KiB of L2 cache; the PCI number, and shader engines by the arrays of each.
macro_rules! figures {
    ($($processor:literal $name:literal: $units:expr, $mhz:literal, $memory:literal x $bits:literal, $l2:expr,
        $id:literal, $engines:literal x $arrays:literal;)*) => {
        &[$(Figures {
            processor: $processor,
            name: concat!($name, " (emulated)"),
            compute_units: $units,
            clock_khz: $mhz * 1000,
            memory_clock_khz: $memory * 1000,
            memory_bus_bits: $bits,
            l2_bytes: { let kib: Option<u32> = $l2; match kib { Some(kib) => Some(kib << 10), None => None } },
            device_id: $id,
            engines: $engines,
            arrays: $arrays,
        },)*]
    };
}

/// One die of an MI250, an MI300X, an MI350X: from the white papers of CDNA 2, 3 and 4 compute units, peak engine clock and L2
/// cache of a die; from the data sheets of MI210 (one die of an MI250), MI300X and MI350X 3.2 Gbps over 4096 bits, 5.2 and 8
/// Gbps over 8192 bits, two transfers in a cycle.
///
/// RDNA: names, compute units and L2 caches are those of ROCm's "AMD GPU specifications" (docs/reference/gpu-specs.rst). clr
/// counts half as many compute units (`rocdevice.cpp`, `enableWgpMode_`), and so does this table. Names are as rocminfo has them. Clocks of the core: rocminfo of these devices
/// in issues of ROCm (gfx1100: ollama 3158, gfx1103: TheRock 1184, gfx1150: ROCm 6191, gfx1151: ds4 475), and the boost clocks that
/// AMD gives (all others of RDNA), which were not compared with a device. Clocks of the memory: hipInfo has a sixteenth of the rate of
/// GDDR6 (1250 MHz for 20 Gbps) and a quarter of that of LPDDR5X; the rates are those of AMD's product pages: 16
/// and 18 Gbps of the cards of gfx10.3, 20, 19.5 and 18 of those of gfx11, 20 of those of gfx12, LPDDR5-5500, LPDDR5-6400, DDR5-5200, DDR5-5600, LPDDR5X-7500 and LPDDR5X-8000 of the processors.
/// gfx1153 is a Radeon 820M for ROCm (TheRock, `therock_amdgpu_targets.cmake`), whose L2 cache no source states. ROCm lists no gfx1033 to
/// gfx1036: their compute units are those of AMD's product pages, which state no L2 cache.
///
/// PCI numbers are those of libdrm's `amdgpu.ids` for the names; those of gfx1035 and gfx1036, which are there under other names, are from
/// `rocm_agent_enumerator` and an issue (rocm-systems 11549). Shader engines and arrays are those that the kernel driver's topology has of
/// gfx942, gfx950, gfx1100, gfx1151 and gfx1201, and rocminfo of gfx90a, gfx1032 and gfx1150. Those of others are what AMD's pages and
/// the compute units of an array of their kin lead to, and were not compared with a device.
const FIGURES: &[Figures] = figures! {
    "gfx90a" "AMD Instinct MI250": 104, 1700, 1600 x 4096, Some(8 << 10), 0x740c, 8 x 1;
    "gfx942" "AMD Instinct MI300X": 304, 2100, 2600 x 8192, Some(4 << 10), 0x74a1, 32 x 1;
    "gfx950" "AMD Instinct MI350X": 256, 2200, 4000 x 8192, Some(4 << 10), 0x75a0, 32 x 1;
    "gfx1030" "AMD Radeon RX 6900 XT": 40, 2250, 1000 x 256, Some(4 << 10), 0x73bf, 4 x 2;
    "gfx1031" "AMD Radeon RX 6700 XT": 20, 2581, 1000 x 192, Some(3 << 10), 0x73df, 2 x 2;
    "gfx1032" "AMD Radeon RX 6600 XT": 16, 2589, 1000 x 128, Some(2 << 10), 0x73ff, 2 x 2;
    "gfx1033" "AMD Custom GPU 0405": 4, 1600, 1375 x 128, None, 0x163f, 1 x 1;
    "gfx1034" "AMD Radeon RX 6500 XT": 8, 2815, 1125 x 64, None, 0x743f, 1 x 2;
    "gfx1035" "AMD Radeon 680M": 6, 2400, 1600 x 128, None, 0x1681, 1 x 2;
    "gfx1036" "AMD Radeon Graphics": 1, 2200, 1300 x 128, None, 0x164e, 1 x 1;
    "gfx1100" "AMD Radeon RX 7900 XTX": 48, 2526, 1250 x 384, Some(6 << 10), 0x744c, 6 x 2;
    "gfx1101" "AMD Radeon RX 7800 XT": 30, 2430, 1219 x 256, Some(4 << 10), 0x747e, 3 x 2;
    "gfx1102" "AMD Radeon RX 7600": 16, 2655, 1125 x 128, Some(2 << 10), 0x7480, 2 x 2;
    "gfx1103" "AMD Radeon 780M Graphics": 6, 2700, 2800 x 128, Some(2 << 10), 0x15bf, 1 x 2;
    "gfx1150" "AMD Radeon 890M Graphics": 8, 2900, 1875 x 128, Some(2 << 10), 0x150e, 1 x 2;
    "gfx1151" "AMD Radeon 8060S Graphics": 20, 2900, 2000 x 256, Some(2 << 10), 0x1586, 2 x 2;
    "gfx1152" "AMD Radeon 860M Graphics": 4, 3000, 2000 x 128, Some(1 << 10), 0x1114, 1 x 1;
    "gfx1153" "AMD Radeon 820M Graphics": 1, 2800, 2000 x 128, None, 0x1902, 1 x 1;
    "gfx1200" "AMD Radeon RX 9060 XT": 16, 3130, 1250 x 128, Some(4 << 10), 0x7590, 2 x 2;
    "gfx1201" "AMD Radeon RX 9070 XT": 32, 2970, 1250 x 256, Some(8 << 10), 0x7550, 4 x 2;
};

/// The SIMDs whose registers a workgroup can have: those of a compute unit of gfx9, and of a workgroup processor of RDNA
/// ("AMD Instinct MI300 Instruction Set Architecture", "RDNA3 Instruction Set Architecture").
const SIMDS: u32 = 4;

/// The waves that a compute unit of the hardware holds, be it four SIMDs with eight each or two with sixteen (AMD's kernel driver and
/// rocminfo of all these devices).
const WAVES: u32 = 32;

fn figures(processor: &str) -> Option<&'static Figures> {
    FIGURES.iter().find(|figures| figures.processor == processor)
}

/// What AMD's kernel driver says of a device, and HIP does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// The PCI number of the device; that of the vendor is [`VENDOR`](crate::system::VENDOR).
    pub device_id: u16,
    /// The compute units of the hardware. On RDNA they are twice those of HIP, which counts workgroup processors.
    pub compute_units: u32,
    /// The SIMDs of a compute unit.
    pub simds: u32,
    /// The waves that a SIMD holds.
    pub waves: u32,
    /// The shader engines of all dies.
    pub shader_engines: u32,
    /// The shader arrays of an engine.
    pub shader_arrays: u32,
    /// The dies of compute units (XCCs).
    pub dies: u32,
    /// The bytes of a compute unit's L1 cache of vectors.
    pub l1_bytes: u32,
    /// Whether the memory has ECC.
    pub has_ecc: bool,
    /// The queues of the command processors.
    pub queues: u32,
    /// The number of the architecture as the kernel driver has it: 90010 for gfx90a.
    pub target_version: u32,
}

impl Hardware {
    /// Returns what is known of a device with these properties; `None` if no emulated device has its processor.
    pub fn of(properties: &DeviceProperties) -> Option<Hardware> {
        let processor = &properties.target.processor;
        let figures = figures(processor.name())?;
        let target = Target::of_processor(processor.name())?;
        let (major, minor, stepping) = processor.version()?;
        let is_rdna = target.is_rdna();
        let simds = if is_rdna { SIMDS / 2 } else { SIMDS };
        Some(Hardware {
            device_id: figures.device_id,
            compute_units: properties.compute_units * if is_rdna { 2 } else { 1 },
            simds,
            waves: WAVES / simds,
            shader_engines: figures.engines,
            shader_arrays: figures.arrays,
            dies: if matches!(processor, Processor::Gfx942 | Processor::Gfx950) { 8 } else { 1 },
            // rocminfo of these devices: 16 KiB on gfx90a and gfx10.3, 32 on the later ones.
            l1_bytes: if matches!((major, minor), (9, 0) | (10, _)) { 16 << 10 } else { 32 << 10 },
            has_ecc: !is_rdna,
            queues: if is_rdna { 8 } else { 24 },
            target_version: major * 10_000 + minor * 100 + stepping,
        })
    }

    /// The compute units of the largest shader array.
    pub fn units_of_array(&self) -> u32 {
        self.compute_units.div_ceil(self.shader_engines * self.shader_arrays)
    }
}

/// Returns the properties of the device with a target; `None` if it can't be emulated.
pub(crate) fn properties(target: &TargetId, total_memory: u64) -> Option<DeviceProperties> {
    let processor = target.processor.name();
    let figures = figures(processor)?;
    let of = Target::of_processor(processor)?;
    let wavefront_size = if of.is_rdna() { 32 } else { 64 };
    let registers = VectorFile::of(processor, wavefront_size == 32)?.registers;
    Some(DeviceProperties {
        name: figures.name.to_owned(),
        target: target.clone(),
        pci_bus_id: "emulated".to_owned(),
        total_memory,
        compute_units: figures.compute_units,
        wavefront_size,
        max_threads_per_block: 1024,
        max_block: [1024; 3],
        // As HIP 5 has it. The hardware takes 2^32 - 1 work-items in each axis.
        max_grid: [0x7fff_ffff; 3],
        max_lds_per_block: max_lds(of),
        clock_khz: figures.clock_khz,
        memory_clock_khz: Some(figures.memory_clock_khz),
        memory_bus_bits: Some(figures.memory_bus_bits),
        l2_bytes: figures.l2_bytes,
        // As clr computes `availableRegistersPerCU_`.
        registers_per_block: Some(SIMDS * registers * wavefront_size),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_processor_that_can_be_emulated_has_a_device() {
        let figures: Vec<&str> = FIGURES.iter().map(|figures| figures.processor).collect();
        assert_eq!(figures, Target::processors().collect::<Vec<_>>());
        for processor in figures {
            let properties = properties(&processor.parse().unwrap(), 7).unwrap();
            assert!(properties.name.ends_with(" (emulated)"), "{}", properties.name);
            assert_eq!((properties.target.processor.name(), properties.total_memory), (processor, 7));
        }
        for none in ["gfx1010", "gfx10-3-generic", "gfx11-generic", "gfx12-generic", "gfx9-4-generic"] {
            assert_eq!(properties(&none.parse().unwrap(), 7), None, "{none}");
        }
    }

    /// What the kernel driver's topology has of these GPUs: `device_id`, `simd_count`, `simd_per_cu`, `max_waves_per_simd`,
    /// `array_count`, `num_xcc`, `num_cp_queues` and `gfx_target_version`.
    #[test]
    fn hardware_is_what_the_kernel_driver_reports() {
        for (processor, expected) in [
            ("gfx90a", (0x740c, 416, 4, 8, 8, 1, 24, 90_010)),
            ("gfx942", (29_857, 1216, 4, 8, 32, 8, 24, 90_402)),
            ("gfx950", (30_112, 1024, 4, 8, 32, 8, 24, 90_500)),
            ("gfx1100", (29_772, 192, 2, 16, 12, 1, 8, 110_000)),
            ("gfx1151", (0x1586, 80, 2, 16, 4, 1, 8, 110_501)),
            ("gfx1201", (0x7550, 128, 2, 16, 8, 1, 8, 120_001)),
        ] {
            let h = Hardware::of(&properties(&processor.parse().unwrap(), 1 << 30).unwrap()).unwrap();
            let (simds, arrays) = (h.compute_units * h.simds, h.shader_engines * h.shader_arrays);
            let known = (h.device_id, simds, h.simds, h.waves, arrays, h.dies, h.queues, h.target_version);
            assert_eq!(known, expected, "{processor}");
        }
        for processor in Target::processors() {
            let h = Hardware::of(&properties(&processor.parse().unwrap(), 7).unwrap()).unwrap();
            let arrays = h.shader_engines * h.shader_arrays;
            assert!(h.units_of_array() * arrays < h.compute_units + arrays, "{processor}");
        }
    }

    /// What hipInfo prints on these GPUs: `multiProcessorCount`, `warpSize`, `regsPerBlock`, `l2CacheSize`, `memoryBusWidth`.
    #[test]
    fn properties_are_those_that_hip_reports() {
        for (processor, expected) in [
            ("gfx90a", (104, 64, 131_072, 8 << 20, 4096)),
            ("gfx1100", (48, 32, 196_608, 6 << 20, 384)),
            ("gfx1150", (8, 32, 131_072, 2 << 20, 128)),
        ] {
            let p = properties(&processor.parse().unwrap(), 1 << 30).unwrap();
            let known = (p.registers_per_block.unwrap(), p.l2_bytes.unwrap(), p.memory_bus_bits.unwrap());
            let (registers, l2, bits) = known;
            assert_eq!((p.compute_units, p.wavefront_size, registers, l2, bits), expected, "{processor}");
            assert_eq!((p.max_lds_per_block, p.max_threads_per_block), (64 << 10, 1024));
        }
    }
}
