//! The devices that are emulated: what each processor's has of its own, and what follows from its architecture.

use amdgpu_emulator::max_lds;
use amdgpu_isa::Target;
use code_object::TargetId;
use code_object::occupancy::VectorFile;

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
}

/// Makes of each row the figures of a processor: a name; compute units; MHz of the core; MHz of the memory, by the width of its
/// bus in bits; and KiB of L2 cache.
macro_rules! figures {
    ($($processor:literal $name:literal: $units:expr, $mhz:literal, $memory:literal x $bits:literal, $l2:expr;)*) => {
        &[$(Figures {
            processor: $processor,
            name: concat!($name, " (emulated)"),
            compute_units: $units,
            clock_khz: $mhz * 1000,
            memory_clock_khz: $memory * 1000,
            memory_bus_bits: $bits,
            l2_bytes: { let kib: Option<u32> = $l2; match kib { Some(kib) => Some(kib << 10), None => None } },
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
const FIGURES: &[Figures] = figures! {
    "gfx90a" "AMD Instinct MI250": 104, 1700, 1600 x 4096, Some(8 << 10);
    "gfx942" "AMD Instinct MI300X": 304, 2100, 2600 x 8192, Some(4 << 10);
    "gfx950" "AMD Instinct MI350X": 256, 2200, 4000 x 8192, Some(4 << 10);
    "gfx1030" "AMD Radeon RX 6900 XT": 40, 2250, 1000 x 256, Some(4 << 10);
    "gfx1031" "AMD Radeon RX 6700 XT": 20, 2581, 1000 x 192, Some(3 << 10);
    "gfx1032" "AMD Radeon RX 6600 XT": 16, 2589, 1000 x 128, Some(2 << 10);
    "gfx1033" "AMD Custom GPU 0405": 4, 1600, 1375 x 128, None;
    "gfx1034" "AMD Radeon RX 6500 XT": 8, 2815, 1125 x 64, None;
    "gfx1035" "AMD Radeon 680M": 6, 2400, 1600 x 128, None;
    "gfx1036" "AMD Radeon Graphics": 1, 2200, 1300 x 128, None;
    "gfx1100" "AMD Radeon RX 7900 XTX": 48, 2526, 1250 x 384, Some(6 << 10);
    "gfx1101" "AMD Radeon RX 7800 XT": 30, 2430, 1219 x 256, Some(4 << 10);
    "gfx1102" "AMD Radeon RX 7600": 16, 2655, 1125 x 128, Some(2 << 10);
    "gfx1103" "AMD Radeon 780M Graphics": 6, 2700, 2800 x 128, Some(2 << 10);
    "gfx1150" "AMD Radeon 890M Graphics": 8, 2900, 1875 x 128, Some(2 << 10);
    "gfx1151" "AMD Radeon 8060S Graphics": 20, 2900, 2000 x 256, Some(2 << 10);
    "gfx1152" "AMD Radeon 860M Graphics": 4, 3000, 2000 x 128, Some(1 << 10);
    "gfx1153" "AMD Radeon 820M Graphics": 1, 2800, 2000 x 128, None;
    "gfx1200" "AMD Radeon RX 9060 XT": 16, 3130, 1250 x 128, Some(4 << 10);
    "gfx1201" "AMD Radeon RX 9070 XT": 32, 2970, 1250 x 256, Some(8 << 10);
};

/// The SIMDs whose registers a workgroup can have: those of a compute unit of gfx9, and of a workgroup processor of RDNA
/// ("AMD Instinct MI300 Instruction Set Architecture", "RDNA3 Instruction Set Architecture").
const SIMDS: u32 = 4;

/// Returns the properties of the device with a target; `None` if it can't be emulated.
pub(crate) fn properties(target: &TargetId, total_memory: u64) -> Option<DeviceProperties> {
    let processor = target.processor.name();
    let figures = FIGURES.iter().find(|figures| figures.processor == processor)?;
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
