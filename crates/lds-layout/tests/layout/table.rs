//! The cases that nvFuser's tests of its stack allocator assert, as upper bounds, and cases for which that allocator
//! needs much more.

use lds_layout::{LdsBufferId, LdsBuilder, LdsCapacity, LdsLayout};

/// Name, bytes, first and last access.
type Row = (&'static str, u64, u64, u64);

struct Case {
    rows: &'static [Row],
    barriers: &'static [u64],
    promote: &'static [&'static str],
    inserted: &'static [u64],
    /// The largest totals in bytes, for alignments of 128 and 16.
    most: [u32; 2],
}

const SIMPLE: &[Row] = &[("A", 20, 1, 2), ("B", 24, 5, 6)];
const REORDERED: &[Row] = &[("A", 20, 1, 3), ("B", 24, 2, 7), ("C", 24, 6, 8)];
const DOWNSTREAM: &[Row] = &[("A", 28, 6, 12), ("B", 32, 13, 19), ("C", 36, 20, 25)];
const TWO: &[Row] = &[("A", 28, 7, 13), ("B", 32, 18, 24), ("C", 36, 29, 35), ("D", 40, 40, 45)];

const CASES: &[Case] = &[
    Case { rows: SIMPLE, barriers: &[], promote: &[], inserted: &[], most: [148, 52] },
    Case { rows: SIMPLE, barriers: &[3], promote: &[], inserted: &[], most: [24, 24] },
    Case { rows: REORDERED, barriers: &[], promote: &[], inserted: &[], most: [276, 84] },
    Case { rows: REORDERED, barriers: &[4], promote: &[], inserted: &[], most: [152, 56] },
    Case { rows: REORDERED, barriers: &[], promote: &["A"], inserted: &[6], most: [152, 56] },
    Case { rows: DOWNSTREAM, barriers: &[], promote: &[], inserted: &[], most: [284, 108] },
    Case { rows: DOWNSTREAM, barriers: &[], promote: &["A"], inserted: &[13], most: [160, 80] },
    Case { rows: TWO, barriers: &[], promote: &[], inserted: &[], most: [412, 156] },
    Case { rows: TWO, barriers: &[], promote: &["A", "C"], inserted: &[18, 40], most: [160, 80] },
];

fn builder(rows: &[Row], barriers: &[u64], alignment: u64) -> (LdsBuilder, Vec<LdsBufferId>) {
    let mut kernel = LdsBuilder::new(0..=100_000).unwrap();
    let mut ids = Vec::new();
    for &(name, size, first, last) in rows {
        let id = kernel.buffer_aligned(name, size, alignment).unwrap();
        kernel.write(id, first).unwrap();
        kernel.read(id, last).unwrap();
        ids.push(id);
    }
    barriers.iter().for_each(|&at| kernel.barrier(at).unwrap());
    (kernel, ids)
}

fn positions(layout: &LdsLayout) -> Vec<u64> {
    layout.inserted().iter().map(|barrier| barrier.before).collect()
}

#[test]
fn never_more_bytes_than_the_stack_allocator() {
    for case in CASES {
        for (alignment, most) in [128, 16].into_iter().zip(case.most) {
            let (kernel, _) = builder(case.rows, case.barriers, alignment);
            let mut program = kernel.build().unwrap();
            for name in case.promote {
                program.promote_reuse(program.id(name).unwrap()).unwrap();
            }
            let layout = program.layout().unwrap();
            let text = layout.to_text();
            assert!(layout.total() <= most && layout.is_least(), "{most}: {text}");
            assert_eq!(positions(&layout), case.inserted, "{text}");
        }
    }
}

/// The exact totals. With an alignment of 16, the largest buffers have less padding, so four totals are below the
/// stack's 108, 80, 156 and 80.
#[test]
fn the_totals_are_the_least() {
    let totals: Vec<[u32; 2]> = CASES
        .iter()
        .map(|case| {
            [128, 16].map(|alignment| {
                let (kernel, _) = builder(case.rows, case.barriers, alignment);
                let mut program = kernel.build().unwrap();
                for name in case.promote {
                    program.promote_reuse(program.id(name).unwrap()).unwrap();
                }
                program.layout().unwrap().total()
            })
        })
        .collect();
    let least =
        [[148, 52], [24, 24], [276, 84], [152, 56], [152, 56], [284, 100], [160, 68], [412, 148], [160, 68]];
    assert_eq!(totals, least);
}

/// `layout_within` reaches the totals of the promoted buffers without being told which to promote, with no more
/// barriers.
#[test]
fn layout_within_reaches_the_totals_of_promoting() {
    for case in CASES.iter().filter(|case| !case.promote.is_empty()) {
        for (alignment, most) in [128, 16].into_iter().zip(case.most) {
            let (kernel, _) = builder(case.rows, &[], alignment);
            let layout = kernel.build().unwrap().layout_within(u64::from(most)).unwrap();
            assert!(
                layout.is_fewest() && layout.inserted().len() <= case.inserted.len(),
                "{}",
                layout.to_text()
            );
        }
    }
}

/// A chain of overlapping lifetimes: the stack needs 3 KiB at 4 buffers, 9 at 16, 33 at 64.
#[test]
fn a_chain_always_fits_2_kib() {
    for n in [4u64, 16, 64, 300] {
        let mut kernel = LdsBuilder::new(0..=10 * n + 12).unwrap();
        let mut chain = LdsBuilder::new(0..=10 * n + 12).unwrap();
        for i in 0..n {
            for kernel in [&mut kernel, &mut chain] {
                let id = kernel.buffer(format!("B{i}"), 1024).unwrap();
                kernel.write(id, 10 * i + 1).unwrap();
                kernel.read(id, 10 * i + 12).unwrap();
            }
            kernel.barrier(10 * i + 5).unwrap();
        }
        let layout = kernel.build().unwrap().layout().unwrap();
        assert_eq!((layout.total(), layout.is_least()), (2048, true), "{n}");
        // Each barrier ends the lifetime of one buffer: the first is needed before the third buffer begins, the last
        // before the last buffer.
        let layout = chain.build().unwrap().layout_within(2048).unwrap();
        assert_eq!((layout.inserted().len() as u64, layout.is_fewest()), (n - 2, true), "{n}");
        let before: Vec<u64> = (2..n).map(|i| 10 * i + 1).collect();
        assert_eq!(positions(&layout), before);
    }
}

/// A write after the last read counts as an access. The stack allocator lets `b` reuse bytes that `a` still writes.
#[test]
fn a_last_access_may_be_a_write() {
    let mut kernel = LdsBuilder::new(0..=9).unwrap();
    let (a, b) = (kernel.buffer("a", 64).unwrap(), kernel.buffer("b", 64).unwrap());
    kernel.write(a, 1).unwrap();
    kernel.read(a, 2).unwrap();
    kernel.barrier(3).unwrap();
    kernel.write(a, 4).unwrap();
    kernel.write(b, 5).unwrap();
    kernel.read(b, 6).unwrap();
    assert_eq!(kernel.clone().build().unwrap().layout().unwrap().total(), 128);
    let layout = kernel.build().unwrap().layout_within(64).unwrap();
    assert_eq!(positions(&layout), [5]);
}

/// Buffers of 20 KiB: a compute unit holds two workgroups with both side by side, three with one barrier.
#[test]
fn occupancy_is_computed_in_granules() {
    let rows: &[Row] = &[("A", 20 << 10, 1, 2), ("B", 21 << 10, 5, 6), ("C", 300, 1, 6)];
    let (kernel, _) = builder(rows, &[], 16);
    let program = kernel.build().unwrap();
    let lds = LdsCapacity::of("gfx90a").unwrap();
    assert_eq!(lds.workgroups(u64::from(program.layout().unwrap().total())), 1);
    // 65536 / 3 is 21845, of which whole granules are 21504: 21 KiB.
    let error = program.layout_for_occupancy(lds, 3, 0).unwrap_err().to_string();
    assert!(error.contains("21504") && error.contains("21804") && error.contains("allows 2"), "{error}");
    let layout = program.layout_for_occupancy(lds, 2, 0).unwrap();
    assert_eq!((layout.inserted().len(), lds.workgroups(u64::from(layout.total()))), (1, 2));
    let error = program.layout_for_occupancy(lds, 2, 13 << 10).unwrap_err().to_string();
    assert!(error.contains("2 workgroups on a compute unit leave 19456 bytes"), "{error}");
    for (workgroups, static_lds) in [(2, 32768), (0, 0)] {
        let error = program.layout_for_occupancy(lds, workgroups, static_lds).unwrap_err().to_string();
        assert!(error.ends_with("do not fit a compute unit's 65536 bytes"), "{error}");
    }
    assert_eq!(LdsCapacity::GFX950.workgroups(65_537), 2);
}
