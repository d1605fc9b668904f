//! Copying bytes that were never written is no defect, and using them is: kernels of unwritten.hip, in three builds.

mod common;

use amdgpu_emulator::{Defect, DefectKind, Error};
use common::{Arg, Rig, U32, U64, threads};

const OBJECTS: [(&str, &[u8]); 3] = [
    ("gfx90a -O2", include_bytes!("data/unwritten.gfx90a.O2.co")),
    ("gfx90a -O0", include_bytes!("data/unwritten.gfx90a.O0.co")),
    ("gfx950 -O2", include_bytes!("data/unwritten.gfx950.co")),
];

fn rigs() -> impl Iterator<Item = Rig> {
    let mut config = threads(1);
    config.sanitize = true;
    OBJECTS.into_iter().map(move |(name, bytes)| Rig::new(&config, name, bytes))
}

/// Allocates `count` times `size` bytes, of which `written` says which are written, and a result.
fn memory(rig: &Rig, size: u64, count: u64, written: impl Fn(u64) -> bool) -> (u64, u64) {
    let memory = rig.machine.memory();
    let (from, to) = (memory.alloc(size * count, 0).unwrap(), memory.alloc(8192, 0).unwrap());
    for at in (0..size * count).filter(|at| written(at % size)) {
        memory.write(from + at, &[at as u8 ^ 0x5a]).unwrap();
    }
    (from, to)
}

fn launch(rig: &Rig, kernel: &str, block: u32, args: &[Arg]) -> Vec<Defect> {
    match rig.launch(kernel, [1, 1, 1], [block, 1, 1], 1024, args) {
        Ok(_) => Vec::new(),
        Err(Error::Sanitizer { defects, .. }) => defects,
        Err(error) => panic!("{}, {kernel}: {error}", rig.name),
    }
}

fn text(defects: &[Defect]) -> String {
    defects.iter().map(|defect| format!("\n{defect}")).collect()
}

/// Whether a byte of `struct Padded { u8 a; u32 b; u16 c; }` is none of its members'.
fn is_padding(byte: u64) -> bool {
    matches!(byte, 1..4 | 10..12)
}

#[test]
fn copies_are_no_defect() {
    for rig in rigs() {
        for kernel in ["copy_struct", "copy_uniform", "copy_lds", "copy_stack"] {
            let (from, to) = memory(&rig, 12, 256, |byte| !is_padding(byte));
            let args = [U64(from), U64(to), U32(2)];
            let args = if kernel == "copy_stack" { &args[..] } else { &args[..2] };
            let found = launch(&rig, kernel, 64, args);
            assert!(found.is_empty(), "{}, {kernel}:{}", rig.name, text(&found));
        }
        for kernel in ["copy_bytes", "copy_half", "copy_exchanged", "copy_selected", "copy_wide"] {
            let (from, to) = memory(&rig, 40, 64, |byte| byte % 3 == 0);
            let found = launch(&rig, kernel, 64, &[U64(from), U64(to)]);
            assert!(found.is_empty(), "{}, {kernel}:{}", rig.name, text(&found));
        }
    }
}

#[test]
fn copied_bytes_stay_unwritten() {
    for rig in rigs() {
        let (from, to) = memory(&rig, 4, 128, |byte| byte == 0);
        assert!(launch(&rig, "copy_selected", 32, &[U64(from), U64(to)]).is_empty());
        let found = launch(&rig, "use_sum", 32, &[U64(to), U64(from)]);
        assert_eq!(found.len(), 1, "{}:{}", rig.name, text(&found));
        assert!(launch(&rig, "first_byte", 32, &[U64(to), U64(to + 512)]).is_empty());
        // What is written over them is.
        rig.machine.memory().fill(to, &[1], 256).unwrap();
        assert!(launch(&rig, "use_sum", 64, &[U64(to), U64(to)]).is_empty());
    }
}

#[test]
fn bits_of_written_bytes_can_be_selected() {
    for rig in rigs() {
        let (from, to) = memory(&rig, 4, 64, |byte| byte == 0);
        let found = launch(&rig, "first_byte", 64, &[U64(from), U64(to)]);
        assert!(found.is_empty(), "{}:{}", rig.name, text(&found));
        let byte = |n: u32| (4 * n) & 0xff ^ 0x5a;
        let expected = (0..64).map(|n| byte(n) + 1).chain((0..64).map(|n| byte(n) * 3));
        assert_eq!(rig.read(to, 128), expected.collect::<Vec<u32>>(), "{}", rig.name);
    }
}

#[test]
fn uses_are_found() {
    let uses = [
        "use_second_byte",
        "use_sum",
        "use_uniform",
        "use_address",
        "use_branch",
        "use_uniform_branch",
        "use_atomic",
        "use_float",
        "use_after_copy",
    ];
    for rig in rigs() {
        for kernel in uses {
            let (from, to) = memory(&rig, 4, 64, |byte| byte == 0);
            rig.machine.memory().fill(to, &[0], 8192).unwrap();
            let found = launch(&rig, kernel, 64, &[U64(from), U64(to)]);
            assert_eq!(found.len(), 1, "{}, {kernel}:{}", rig.name, text(&found));
            let Defect { kind, site, other, lanes, .. } = &found[0];
            assert_eq!(*kind, DefectKind::UninitializedRead, "{}, {kernel}", rig.name);
            assert_eq!(lanes[0].address, if kernel == "use_after_copy" { to } else { from }, "{}", rig.name);
            assert!(site.instruction.contains("_load_") || site.instruction.contains("_atomic_"), "{site}");
            let names_use = found[0].to_string().contains("; used by `");
            assert_eq!(other.is_some(), names_use, "{}", found[0]);
        }
        let (from, to) = memory(&rig, 12, 64, |byte| byte != 5);
        let found = launch(&rig, "use_after_lds", 64, &[U64(from), U64(to)]);
        assert_eq!(found.len(), 1, "{}:{}", rig.name, text(&found));
    }
}

#[test]
fn a_read_whose_wave_writes_nothing_later_is_no_race() {
    for rig in rigs() {
        let (x, y) = (rig.words(&[1; 64]), rig.words(&[0; 256]));
        for (kernel, args) in [("in_place", &[U64(x)][..]), ("store_then_load", &[U64(x), U64(y)])] {
            let found = launch(&rig, kernel, 256, args);
            assert!(found.is_empty(), "{}, {kernel}:{}", rig.name, text(&found));
        }
        let found = launch(&rig, "used_by_all", 256, &[U64(x), U64(y)]);
        assert_eq!(found.len(), 1, "{}:{}", rig.name, text(&found));
        assert_eq!(found[0].kind, DefectKind::DataRace, "{}", rig.name);
    }
}

#[test]
fn a_fault_report_has_the_defects_found_before() {
    let rig = rigs().next().unwrap();
    let (from, _) = memory(&rig, 4, 64, |_| false);
    match rig.launch("use_sum", [1, 1, 1], [64, 1, 1], 0, &[U64(from), U64(16)]) {
        Err(Error::Fault(report)) => {
            assert_eq!(report.defects.len(), 1, "{report}");
            assert!(report.to_string().contains("read of never-written bytes"), "{report}");
        }
        other => panic!("{other:?}"),
    }
}
