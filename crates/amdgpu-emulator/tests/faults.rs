//! Tests of faults of memory: the report has the access, the address and the lanes, and the machine can be used
//! afterwards.

mod common;

use std::time::{Duration, Instant};

use amdgpu_emulator::{
    AccessKind, Bounds, DefectKind, Error, FaultCause, FaultReport, Interrupt, MemorySpace,
};
use common::{Rig, U32, U64, threads};

fn fault(result: Result<amdgpu_emulator::DispatchStats, Error>) -> FaultReport {
    match result {
        Err(Error::Fault(report)) => *report,
        other => panic!("{other:?}"),
    }
}

/// Checks that the machine still runs kernels.
fn alive(rig: &Rig) {
    let at = rig.words(&[1, 2, 3, 4]);
    rig.launch("reverse", [1, 1, 1], [4, 1, 1], 16, &[U64(at)]).unwrap();
    assert_eq!(rig.read(at, 4), [4, 3, 2, 1]);
}

#[test]
fn out_of_bounds_accesses_name_the_lane_and_the_allocation() {
    for rig in Rig::all(&threads(2)) {
        let base = rig.words(&[0; 16]);
        let report = fault(rig.launch("store_at", [3, 1, 1], [128, 1, 1], 0, &[U64(base), U64(20), U32(70)]));
        let FaultCause::OutOfBounds { access: AccessKind::Write, space: MemorySpace::Global, size: 4, lanes } =
            &report.cause
        else {
            panic!("{}: {report}", rig.name);
        };
        assert_eq!(lanes.len(), 1);
        assert_eq!((lanes[0].lane, lanes[0].address), (Some(6), base + 80));
        assert_eq!((report.kernel.as_str(), report.wave), ("store_at", 1));
        assert_eq!(report.function.as_ref().unwrap().0, "store_at");
        assert!(report.mnemonic.contains("store_dword") || report.mnemonic.contains("store_b32"), "{report}");
        assert!(report.instruction.starts_with(&format!("{} v", report.mnemonic)), "{report}");
        assert!(report.to_string().contains(&format!(", {} [", report.instruction)), "{report}");
        assert!(report.nearest.as_ref().unwrap().contains("16 bytes past the end of"), "{report}");
        assert!(report.nearest.as_ref().unwrap().contains("so does `--bounds pages`"), "{report}");
        assert!(report.to_string().contains("lane 6"), "{report}");
        alive(&rig);

        let out = rig.words(&[0]);
        for address in [0, 8, base - 4, u64::MAX - 3, 1 << 47] {
            let args = [U64(address), U64(0), U32(0), U64(out)];
            let report = fault(rig.launch("load_at", [1, 1, 1], [64, 1, 1], 0, &args));
            assert!(
                matches!(&report.cause, FaultCause::OutOfBounds { access: AccessKind::Read, lanes, .. }
                    if lanes[0].address == address),
                "{}: {report}",
                rig.name
            );
        }
        rig.machine.memory().free(base).unwrap();
        let args = [U64(base), U64(1), U32(0), U64(out)];
        let report = fault(rig.launch("load_at", [1, 1, 1], [64, 1, 1], 0, &args));
        assert!(report.nearest.as_ref().unwrap().contains("was freed"), "{report}");
        alive(&rig);
    }
}

#[test]
fn with_bounds_of_pages_kernels_can_access_the_rest_of_the_last_page() {
    let mut config = threads(2);
    config.bounds = Bounds::Pages;
    for rig in Rig::all(&config) {
        let (base, out) = (rig.words(&[0; 16]), rig.words(&[1]));
        let other = rig.words(&[9; 1024]);
        // Elements of the page: the first that the allocation lacks, and the last.
        for at in [16, 1023] {
            rig.launch("store_at", [1, 1, 1], [64, 1, 1], 0, &[U64(base), U64(at), U32(0)]).unwrap();
            rig.launch("load_at", [1, 1, 1], [64, 1, 1], 0, &[U64(base), U64(at), U32(0), U64(out)]).unwrap();
        }
        let report = fault(rig.launch("store_at", [1, 1, 1], [64, 1, 1], 0, &[U64(base), U64(1024), U32(0)]));
        assert!(
            matches!(&report.cause, FaultCause::OutOfBounds { lanes, .. } if lanes[0].address == base + 4096)
        );
        assert!(!report.to_string().contains("--bounds"), "{report}");
        assert_eq!(rig.read(other, 1024), [9; 1024], "{}", rig.name);
        alive(&rig);
    }
}

#[test]
fn the_sanitizer_takes_the_rest_of_the_last_page_for_unwritten() {
    let mut config = threads(1);
    (config.bounds, config.sanitize) = (Bounds::Pages, true);
    for rig in Rig::all(&config) {
        let (base, out) = (rig.words(&[0; 16]), rig.words(&[1]));
        let load =
            |at| rig.launch("load_at", [1, 1, 1], [64, 1, 1], 0, &[U64(base), U64(at), U32(0), U64(out)]);
        let Err(Error::Sanitizer { defects, .. }) = load(20) else { panic!("nothing wrote these bytes") };
        assert_eq!(defects[0].kind, DefectKind::UninitializedRead, "{}", rig.name);
        let allocation = defects[0].allocation.as_ref().unwrap();
        assert!(allocation.starts_with("16 bytes past the end of "), "{allocation}");
        rig.launch("store_at", [1, 1, 1], [64, 1, 1], 0, &[U64(base), U64(20), U32(0)]).unwrap();
        load(20).unwrap();
    }
}

#[test]
fn misaligned_atomics_fault() {
    for rig in Rig::all(&threads(1)) {
        let base = rig.words(&[0; 4]);
        let report = fault(rig.launch("atomic_at", [1, 1, 1], [64, 1, 1], 0, &[U64(base), U64(2)]));
        assert!(matches!(&report.cause, FaultCause::Misaligned { size: 4, .. }), "{}: {report}", rig.name);
        assert!(report.to_string().contains(&format!("(2 bytes into {base:#x}..")), "{report}");
        rig.run("atomic_at", 1, 64, &[U64(base), U64(4)]);
        assert_eq!(rig.read(base, 4), [0, 64, 0, 0], "{}", rig.name);
    }
}

#[test]
fn accesses_beyond_the_lds_fault() {
    for rig in Rig::all(&threads(1)) {
        let out = rig.words(&[0; 64]);
        let launch = |offset| rig.launch("lds_at", [1, 1, 1], [64, 1, 1], 256, &[U64(out), U32(offset)]);
        launch(0).unwrap();
        let report = fault(launch(10));
        match &report.cause {
            FaultCause::OutOfBounds { access: AccessKind::Read, space: MemorySpace::Lds, size: 4, lanes } => {
                assert_eq!(lanes.len(), 10, "{report}");
                assert_eq!((lanes[0].lane, lanes[0].address), (Some(54), 256));
            }
            _ => panic!("{}: {report}", rig.name),
        }
        let text = report.to_string();
        assert!(text.contains("(the workgroup has 256 bytes of LDS, 256 of them dynamic; "), "{text}");
        alive(&rig);
    }
}

#[test]
fn traps_and_illegal_instructions_fault() {
    for rig in Rig::all(&threads(2)) {
        let out = rig.words(&[0; 64]);
        rig.run("trap_if", 1, 64, &[U64(out), U32(9)]);
        rig.machine.memory().write(out + 40, &9u32.to_le_bytes()).unwrap();
        let report = fault(rig.launch("trap_if", [1, 1, 1], [64, 1, 1], 0, &[U64(out), U32(9)]));
        assert_eq!(report.cause, FaultCause::Trap { id: 2 }, "{}", rig.name);
        assert_eq!((report.mnemonic, report.instruction.as_str()), ("s_trap", "s_trap 2"));

        let report = fault(rig.launch("illegal", [1, 1, 1], [64, 1, 1], 0, &[U64(out)]));
        assert_eq!(report.cause, FaultCause::IllegalInstruction, "{}", rig.name);
        assert_eq!(report.raw[0], 0xbe80_ff00);
        assert_eq!(report.instruction, ".long 0xbe80ff00");
        assert_eq!(rig.read(out, 64), [1; 64], "what came before was executed");
        alive(&rig);
    }
}

#[test]
fn budgets_end_endless_loops() {
    let mut config = threads(2);
    config.instruction_budget = Some(1_000_000);
    for rig in Rig::all(&config) {
        let out = rig.words(&[0]);
        let report = fault(rig.launch("forever", [4, 1, 1], [256, 1, 1], 0, &[U64(out)]));
        assert!(
            matches!(report.cause, FaultCause::OverBudget { instructions, at_barrier: 0 } if instructions > 1_000_000),
            "{report}"
        );
        alive(&rig);
    }
    let mut config = threads(1);
    config.time_budget = Some(Duration::from_millis(50));
    for rig in Rig::all(&config) {
        let out = rig.words(&[0]);
        let start = Instant::now();
        let report = fault(rig.launch("forever", [4, 1, 1], [256, 1, 1], 0, &[U64(out)]));
        assert!(matches!(report.cause, FaultCause::OverBudget { .. }), "{report}");
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn another_thread_ends_an_endless_loop() {
    let mut config = threads(2);
    config.interrupt = Interrupt::new();
    let rigs = Rig::all(&config);
    let interrupt = config.interrupt.clone();
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        interrupt.end_dispatches();
    });
    // The first is ended while it runs, and the others at their beginning.
    for rig in rigs {
        let out = rig.words(&[0]);
        let report = fault(rig.launch("forever", [4, 1, 1], [256, 1, 1], 0, &[U64(out)]));
        assert!(matches!(report.cause, FaultCause::Interrupted { .. }), "{report}");
        assert!(report.to_string().contains("interrupted by the program"), "{report}");
    }
    other.join().unwrap();
}

#[test]
fn endless_recursion_overflows_the_stack() {
    for rig in Rig::all(&threads(1)) {
        let out = rig.words(&[100; 64]);
        let report = fault(rig.launch("recurse", [1, 1, 1], [64, 1, 1], 0, &[U64(out), U32(1_000_000)]));
        assert!(
            matches!(report.cause, FaultCause::StackOverflow { dynamic: 0x4000, .. }),
            "{}: {report}",
            rig.name
        );
        assert!(report.function.as_ref().unwrap().0.contains("depth"), "{report}");
        alive(&rig);
    }
}
