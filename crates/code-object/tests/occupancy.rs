//! Occupancy against what LLVM says, over generations of processors, wave sizes and modes.

use code_object::occupancy::{self, LdsCapacity, OccupancyError, OccupancyLimit, VectorFile};
use code_object::{CodeObject, KernelSignature};

/// What tests/data/occupancy.sh wrote.
const OBSERVED: &str = include_str!("data/occupancy.txt");

/// A kernel, to be changed.
fn kernel() -> KernelSignature {
    CodeObject::parse(include_bytes!("data/v5.co")).unwrap().kernels()[0].clone()
}

/// A kernel as a compiler makes one that needs so many VGPRs and so much LDS.
fn needing(wave: u32, is_wgp: bool, is_unified: bool, vgprs: u32, lds: u32) -> KernelSignature {
    let mut kernel = kernel();
    kernel.wavefront_size = wave;
    kernel.descriptor.kernel_code_properties &= !(1 << 10);
    kernel.descriptor.kernel_code_properties |= u16::from(wave == 32) << 10;
    kernel.workgroup_processor_mode = is_wgp;
    kernel.max_flat_workgroup_size = 1024;
    kernel.group_segment_fixed_size = lds;
    kernel.vgpr_count = vgprs;
    kernel.sgpr_count = 16;
    let unit = if wave == 32 || is_unified { 8 } else { 4 };
    kernel.descriptor.compute_pgm_rsrc1 &= !0x3f;
    kernel.descriptor.compute_pgm_rsrc1 |= vgprs.div_ceil(unit) - 1;
    kernel
}

#[test]
fn occupancy_is_what_llvm_says() {
    let mut compared = 0;
    for line in OBSERVED.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(' ').collect();
        let [processor, wave, mode, block, vgprs, lds, waves] = fields[..] else { panic!("{line}") };
        let number = |text: &str| text.parse::<u32>().unwrap();
        let is_unified = occupancy::is_unified(processor);
        // LLVM does not round LDS up to what the hardware allocates.
        if number(lds) % LdsCapacity::of(processor).unwrap().granule != 0 {
            continue;
        }
        let kernel = needing(number(wave), mode == "wgp", is_unified, number(vgprs), number(lds));
        let got = occupancy::on(processor, &kernel, number(block), 0).unwrap();
        // LLVM's is that of the fullest SIMD.
        assert_eq!(got.waves_per_simd().ceil() as u32, number(waves), "{line}: {got:?}");
        compared += 1;
    }
    assert!(compared > 600, "{compared}");
}

#[test]
fn what_limits_the_occupancy() {
    let limit = |processor, kernel: &KernelSignature, block| {
        let o = occupancy::on(processor, kernel, block, 0).unwrap();
        (o.limited_by, o.blocks_per_cu)
    };
    let small = |lds| needing(32, false, false, 8, lds);
    assert_eq!(limit("gfx1030", &small(0), 32), (OccupancyLimit::Waves, 32));
    // LDS in units of 1024 bytes: 21 workgroups of 3072 bytes fit, not 25.
    assert_eq!(limit("gfx1030", &small(2561), 32), (OccupancyLimit::Lds, 21));
    assert_eq!(limit("gfx1010", &small(2561), 32), (OccupancyLimit::Lds, 21));
    assert_eq!(limit("gfx1010", &small(2560), 32), (OccupancyLimit::Lds, 25));
    assert_eq!(limit("gfx1030", &needing(32, false, false, 256, 0), 32), (OccupancyLimit::Vgprs, 8));
    assert_eq!(limit("gfx1100", &needing(32, false, false, 256, 0), 32), (OccupancyLimit::Vgprs, 10));
    // 40 wave slots, but 16 barriers.
    assert_eq!(limit("gfx1010", &small(0), 64), (OccupancyLimit::Barriers, 16));
    let mut many = needing(64, false, false, 8, 0);
    many.sgpr_count = 102;
    assert_eq!(limit("gfx900", &many, 64), (OccupancyLimit::Sgprs, 28));
    // From GFX10 on there are enough SGPRs for every wave.
    many.sgpr_count = 108;
    assert_eq!(limit("gfx1030", &many, 64), (OccupancyLimit::Waves, 32));
}

#[test]
fn a_workgroup_processor_has_twice_the_lds_but_a_workgroup_has_not() {
    let kernel = needing(32, true, false, 8, 40 << 10);
    let o = occupancy::on("gfx1100", &kernel, 256, 0).unwrap();
    assert_eq!((o.blocks_per_cu, o.simds, o.limited_by), (3, 4, OccupancyLimit::Lds));
    let error = occupancy::on("gfx1100", &kernel, 256, 32 << 10).unwrap_err();
    assert!(matches!(error, OccupancyError::TooMuchLds { bytes: 73728, most: 65536, .. }), "{error}");
}

#[test]
fn code_for_a_generic_processor_has_the_occupancy_of_each_that_runs_it() {
    let kernel = needing(32, true, false, 192, 0);
    let all = occupancy::of("gfx11-generic", &kernel, 64, 0).unwrap();
    let found = |name| all.iter().find(|o| o.processor == name).unwrap().register_waves_per_simd;
    assert_eq!((all.len(), found("gfx1100"), found("gfx1102")), (8, 8, 5));
    assert_eq!(LdsCapacity::of("gfx1201"), Some(LdsCapacity::GFX1030));
    assert!(occupancy::is_unified("gfx9-4-generic") && !occupancy::is_unified("gfx11-generic"));
    let unknown = occupancy::of("gfx9999", &kernel, 64, 0);
    assert!(matches!(unknown, Err(OccupancyError::UnknownProcessor { .. })));
}

#[test]
fn hostile_register_counts_do_not_overflow() {
    let mut kernel = needing(64, false, false, 256, 0);
    (kernel.sgpr_count, kernel.vgpr_count) = (u32::MAX, u32::MAX);
    assert_eq!(occupancy::on("gfx900", &kernel, 64, 0).unwrap().blocks_per_cu, 0);
}

/// As comgr of ROCm 7 has them in the metadata of each processor: `TotalNumVGPRs` and `VGPRAllocGranule`, which are those for
/// waves of 32 from GFX10 on.
#[test]
fn the_vector_registers_of_a_simd_are_those_of_the_processor() {
    for (processor, of_32, of_64) in [
        ("gfx90a", None, (512, 8)),
        ("gfx942", None, (512, 8)),
        ("gfx1100", Some((1536, 24)), (768, 12)),
        ("gfx1101", Some((1536, 24)), (768, 12)),
        ("gfx1102", Some((1024, 16)), (512, 8)),
        ("gfx1103", Some((1024, 16)), (512, 8)),
        ("gfx1150", Some((1024, 16)), (512, 8)),
        ("gfx1151", Some((1536, 24)), (768, 12)),
        ("gfx1152", Some((1024, 16)), (512, 8)),
        ("gfx1153", Some((1024, 16)), (512, 8)),
    ] {
        for (is_wave32, expected) in [(true, of_32.unwrap_or(of_64)), (false, of_64)] {
            let file = VectorFile::of(processor, is_wave32).unwrap();
            assert_eq!((file.registers, file.granule), expected, "{processor} {is_wave32}");
        }
    }
    assert_eq!(VectorFile::of("gfx803", false), None);
}
