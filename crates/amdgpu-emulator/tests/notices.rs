//! What a dispatch notes: accesses past the end of allocations, and atomics that gfx90a's hardware does not perform.

mod common;

use amdgpu_emulator::{
    AccessKind, Bounds, DefectKind, Error, FaultCause, FineGrainedAtomics, MachineConfig, MemorySpace,
    NoticeKind,
};
use common::{Rig, U64, threads};

const GROUP: [(&str, &[u8]); 2] = [
    ("gfx90a", include_bytes!("data/assembly/group.gfx90a.co")),
    ("gfx942", include_bytes!("data/assembly/group.gfx942.co")),
];
const SUM: [(&str, &[u8]); 2] = [
    ("gfx90a", include_bytes!("data/assembly/sum.gfx90a.co")),
    ("gfx942", include_bytes!("data/assembly/sum.gfx942.co")),
];

fn pages() -> MachineConfig {
    let mut config = threads(2);
    config.bounds = Bounds::Pages;
    config
}

/// Every access that strict bounds would refuse is in the list, with its instruction, allocation and distance.
#[test]
fn stores_past_an_allocation_are_listed() {
    for (name, bytes) in GROUP {
        let rig = Rig::new(&pages(), name, bytes);
        let out = rig.words(&[0; 100]);
        for workgroups in [1, 5] {
            let stats = rig.run("group", workgroups, 192, &[U64(out)]);
            let [notice] = &stats.notices[..] else { panic!("{name}: {:?}", stats.notices) };
            assert_eq!((notice.kind, notice.space), (NoticeKind::PastEnd, MemorySpace::Global));
            assert_eq!((&*notice.kernel, notice.size), ("group", 4));
            assert_eq!(notice.site.access, AccessKind::Write);
            assert_eq!(notice.site.instruction, "global_store_dword v2, v1, s[4:5]");
            let (function, offset) = notice.site.function.as_ref().unwrap();
            assert_eq!((&**function, *offset), ("group", 0x14), "{name}");
            assert_eq!((notice.base, notice.len, notice.past), (out, 400, 368));
            assert_eq!(notice.count, u64::from(workgroups) * 92, "{name}");
            let text = notice.to_string();
            assert!(
                text.starts_with("write of 4 bytes in global memory, up to 368 bytes past the end of"),
                "{text}"
            );
        }
        let rig = Rig::new(&threads(2), name, bytes);
        let out = rig.words(&[0; 100]);
        match rig.launch("group", [1, 1, 1], [192, 1, 1], 0, &[U64(out)]) {
            Err(Error::Fault(report)) => assert!(matches!(report.cause, FaultCause::OutOfBounds { .. })),
            other => panic!("{name}: {other:?}"),
        }
        let out = rig.words(&[0; 192]);
        assert!(rig.run("group", 1, 192, &[U64(out)]).notices.is_empty());
    }
}

/// An access that leaves the last page is a fault; what was noted before does not hide it.
#[test]
fn the_next_page_faults_with_bounds_of_pages_too() {
    let (name, bytes) = GROUP[0];
    let rig = Rig::new(&pages(), name, bytes);
    let out = rig.words(&[0; 1000]);
    let result = rig.launch("group", [1, 1, 1], [1024, 1, 1], 0, &[U64(out)]);
    assert_eq!(result.unwrap().notices[0].count, 24);
    let out = rig.words(&[0; 500]);
    let end = out + 4096 - 4 * 64;
    match rig.launch("group", [1, 1, 1], [128, 1, 1], 0, &[U64(end)]) {
        Err(Error::Fault(report)) => {
            let FaultCause::OutOfBounds { lanes, .. } = &report.cause else { panic!("{report}") };
            assert_eq!(lanes[0].address, out + 4096);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn sums_in_fine_grained_memory_are_listed_and_dropped_on_demand() {
    for (name, bytes) in SUM {
        let is_gfx90a = name == "gfx90a";
        for policy in [FineGrainedAtomics::Perform, FineGrainedAtomics::Drop] {
            let mut config = threads(2);
            config.fine_grained_atomics = policy;
            let rig = Rig::new(&config, name, bytes);
            let out = rig.words(&[0]);
            assert!(rig.run("sum", 3, 64, &[U64(out)]).notices.is_empty());
            rig.machine.memory().set_fine_grained(out, true).unwrap();
            let stats = rig.run("sum", 3, 64, &[U64(out)]);
            let dropped = is_gfx90a && policy == FineGrainedAtomics::Drop;
            let sum = if dropped { 192f32 } else { 384.0 };
            assert_eq!(rig.read(out, 1), [sum.to_bits()], "{name} {policy:?}");
            if !is_gfx90a {
                assert!(stats.notices.is_empty());
                continue;
            }
            let [notice] = &stats.notices[..] else { panic!("{:?}", stats.notices) };
            assert_eq!((notice.kind, notice.count), (NoticeKind::FineGrainedAtomic, 192));
            let text = notice.to_string();
            assert!(text.contains("not performed on gfx90a hardware"), "{text}");
            assert!(text.contains("global_atomic_add_f32 v2, v1, s[4:5]"), "{text}");
        }
        let mut config = threads(1);
        config.sanitize = true;
        let rig = Rig::new(&config, name, bytes);
        let out = rig.words(&[0]);
        rig.machine.memory().set_fine_grained(out, true).unwrap();
        match rig.launch("sum", [3, 1, 1], [64, 1, 1], 0, &[U64(out)]) {
            Ok(_) => assert!(!is_gfx90a),
            Err(Error::Sanitizer { defects, .. }) => {
                assert!(is_gfx90a);
                let [defect] = &defects[..] else { panic!("{defects:?}") };
                assert_eq!((defect.kind, defect.count), (DefectKind::FineGrainedAtomic, 192));
                assert!(defect.to_string().contains("not performed on gfx90a hardware"), "{defect}");
            }
            Err(other) => panic!("{name}: {other}"),
        }
    }
}
