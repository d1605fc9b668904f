//! Invalid kernels are refused, and each error names the buffer or position.

use lds_layout::{LayoutCheckError, LdsBuilder, LdsError, Uniformity};

fn kernel() -> LdsBuilder {
    LdsBuilder::new(10..=100).unwrap()
}

#[test]
fn invalid_buffers_are_refused() {
    assert_eq!(
        LdsBuilder::new(std::ops::RangeInclusive::new(5, 4)).unwrap_err(),
        LdsError::NoPositions { first: 5, last: 4 }
    );
    let mut k = kernel();
    let name = || Box::from("a");
    assert_eq!(k.buffer("a", 0).unwrap_err(), LdsError::ZeroSize { buffer: name() });
    let large = u64::from(u32::MAX) + 1;
    assert_eq!(k.buffer("a", large).unwrap_err(), LdsError::TooLarge { buffer: name(), size: large });
    assert_eq!(k.buffer("a", u64::MAX).unwrap_err(), LdsError::TooLarge { buffer: name(), size: u64::MAX });
    for alignment in [0, 3, 48] {
        let error = k.buffer_aligned("a", 4, alignment).unwrap_err();
        assert_eq!(error, LdsError::Alignment { buffer: name(), alignment });
        assert!(error.to_string().contains("`a`"), "{error}");
    }
    // Each buffer fits alone, but not both.
    k.buffer("a", 3 << 30).unwrap();
    assert!(matches!(k.buffer("b", 2 << 30), Err(LdsError::TooLarge { .. })));
    assert_eq!(k.buffer("a", 4).unwrap_err(), LdsError::DuplicateBuffer { buffer: name() });
    assert_eq!(k.alias("a", "b").unwrap_err(), LdsError::DuplicateBuffer { buffer: name() });
    // A refused buffer does not get a number.
    assert_eq!(k.buffer("b", 4).unwrap().index(), 1);
}

#[test]
fn an_alias_must_name_a_buffer() {
    let mut k = kernel();
    let c = k.alias("c", "b").unwrap();
    k.alias("b", "a").unwrap();
    let a = k.buffer("a", 32).unwrap();
    let d = k.buffer("d", 32).unwrap();
    k.write(a, 20).unwrap();
    k.write(d, 30).unwrap();
    k.read(d, 40).unwrap();
    k.read(c, 50).unwrap();
    let layout = k.clone().build().unwrap().layout_within(64).unwrap();
    // The read through the other name keeps `a` live.
    assert_eq!((layout.total(), layout.buffers().len()), (64, 2));
    assert_eq!(layout.offset(a), layout.offset(c));
    assert_eq!(layout.offset_of("b"), layout.offset_of("a"));
    assert_ne!(layout.offset(a), layout.offset(d));
    assert_eq!(layout.offset_of("nothing"), None);

    k.alias("x", "y").unwrap();
    let of_nothing = k.clone().build().unwrap_err();
    assert_eq!(of_nothing, LdsError::AliasOfNothing { alias: "x".into(), of: "y".into() });
    k.alias("y", "z").unwrap();
    k.alias("z", "y").unwrap();
    let error = k.build().unwrap_err();
    assert_eq!(error, LdsError::AliasCycle { names: vec!["y".into(), "z".into()] });
    let mut k = kernel();
    k.alias("s", "s").unwrap();
    assert_eq!(k.build().unwrap_err(), LdsError::AliasCycle { names: vec!["s".into()] });
}

#[test]
fn invalid_positions_are_refused() {
    let mut k = kernel();
    let a = k.buffer("a", 4).unwrap();
    for position in [9, 101] {
        let error = k.read(a, position).unwrap_err();
        assert!(
            matches!(error, LdsError::OutsideOfKernel { position: p, first: 10, last: 100, .. } if p == position)
        );
        assert!(error.to_string().contains("`a`"), "{error}");
        assert!(k.barrier(position).is_err() && k.begin_loop(position, Uniformity::Uniform).is_err());
    }
    let mut other = kernel();
    other.buffer("b", 4).unwrap();
    let foreign = other.buffer("c", 4).unwrap();
    assert_eq!(k.read(foreign, 20).unwrap_err(), LdsError::UnknownId { index: 1, buffers: 1 });

    k.write(a, 20).unwrap();
    k.read(a, 20).unwrap();
    k.barrier(20).unwrap();
    let error = k.build().unwrap_err();
    assert!(matches!(error, LdsError::PositionTaken { position: 20, .. }), "{error}");
    assert!(error.to_string().contains("`a`") && error.to_string().contains("a barrier"), "{error}");
}

#[test]
fn loops_and_branches_must_be_closed_in_order() {
    let mut k = kernel();
    let open = |what: &'static str, position: u64, open: &str| {
        Err::<(), _>(LdsError::NotOpen { what, position, open: open.into() })
    };
    assert_eq!(k.end_loop(20), open("the end of a loop", 20, "nothing"));
    assert_eq!(k.begin_else(20), open("an `else`", 20, "nothing"));
    k.begin_loop(20, Uniformity::Uniform).unwrap();
    assert_eq!(k.end_branch(30), open("the end of a branch", 30, "the begin of a loop at 20"));
    assert_eq!(
        k.end_loop(20),
        Err(LdsError::NotIncreasing { what: "the end of a loop", position: 20, after: 20 })
    );
    k.begin_branch(30, Uniformity::Uniform).unwrap();
    k.begin_else(40).unwrap();
    assert_eq!(k.begin_else(50), open("an `else`", 50, "an `else` at 40"));
    assert_eq!(k.end_loop(50), open("the end of a loop", 50, "an `else` at 40"));
    assert_eq!(k.clone().build().unwrap_err(), LdsError::Unclosed { what: "branch", position: 40 });
    k.end_branch(50).unwrap();
    assert_eq!(k.clone().build().unwrap_err(), LdsError::Unclosed { what: "loop", position: 20 });
    k.end_loop(60).unwrap();
    assert_eq!(k.build().unwrap().layout().unwrap().total(), 0);
}

#[test]
fn an_impossible_budget_reports_the_least_total() {
    let mut k = kernel();
    for (i, name) in ["a", "b", "c"].into_iter().enumerate() {
        let id = k.buffer(name, 100).unwrap();
        k.write(id, 20 + 10 * i as u64).unwrap();
        k.read(id, 31 + 10 * i as u64).unwrap();
    }
    let program = k.build().unwrap();
    let error = program.layout_within(200).unwrap_err();
    let LdsError::OverBudget { budget, least, lower_bound, barriers, proved } = error else {
        panic!("{error}");
    };
    assert_eq!((budget, least, lower_bound, barriers, proved), (200, 212, 212, 1, true));
    let text = program.layout_within(200).unwrap_err().to_string();
    assert_eq!(
        text,
        "the budget of 200 bytes of LDS is 12 bytes too small: 212 bytes would do, with 1 barrier inserted; no layout needs less"
    );
    assert_eq!(program.layout_within(212).unwrap().inserted().len(), 1);
}

#[test]
fn no_barrier_is_inserted_in_divergent_code() {
    let mut k = kernel();
    let (a, b) = (k.buffer("a", 64).unwrap(), k.buffer("b", 64).unwrap());
    k.begin_branch(20, Uniformity::Divergent).unwrap();
    k.write(a, 30).unwrap();
    k.read(a, 31).unwrap();
    k.barrier(35).unwrap();
    k.write(b, 40).unwrap();
    k.read(b, 41).unwrap();
    k.end_branch(50).unwrap();
    let mut program = k.build().unwrap();
    assert_eq!(program.layout().unwrap().total(), 128);
    let error = program.promote_reuse(a).unwrap_err();
    let name = |name: &str| Box::from(name);
    assert_eq!(
        error,
        LdsError::NoPlaceForBarrier { buffer: name("a"), last: 31, other: name("b"), next: 40 }
    );
    assert!(matches!(program.layout_within(64), Err(LdsError::OverBudget { least: 128, proved: true, .. })));
}

/// The check finds the errors of wrong layouts without the planner.
#[test]
fn the_check_finds_wrong_layouts() {
    let mut k = kernel();
    let (a, b) = (k.buffer("a", 64).unwrap(), k.buffer("b", 64).unwrap());
    k.begin_loop(20, Uniformity::UniformTaken).unwrap();
    k.write(a, 30).unwrap();
    k.read(a, 31).unwrap();
    k.barrier(35).unwrap();
    k.write(b, 40).unwrap();
    k.read(b, 41).unwrap();
    k.end_loop(50).unwrap();
    let program = k.build().unwrap();
    program.check(&[0, 64], &[]).unwrap();
    program.check(&[0, 0], &[50]).unwrap();
    program.check(&[0, 32], &[20, 30]).unwrap();
    // Without a barrier before the next iteration, `b` is still read where that iteration writes `a`.
    let name = |name: &str| Box::from(name);
    assert_eq!(
        program.check(&[0, 0], &[]),
        Err(LayoutCheckError::NotSeparated { first: name("b"), second: name("a"), from: 40, to: 30 })
    );
    assert_eq!(program.check(&[0], &[]), Err(LayoutCheckError::Count { offsets: 1, buffers: 2 }));
    assert_eq!(
        program.check(&[0, 8], &[]),
        Err(LayoutCheckError::Misaligned { buffer: name("b"), offset: 8, alignment: 16 })
    );
    let mut k = kernel();
    let (a, b) = (k.buffer("a", 64).unwrap(), k.buffer("b", 64).unwrap());
    k.write(a, 20).unwrap();
    k.barrier(25).unwrap();
    k.write(b, 30).unwrap();
    k.barrier(35).unwrap();
    k.read(a, 40).unwrap();
    let program = k.build().unwrap();
    assert_eq!(
        program.check(&[0, 48], &[]),
        Err(LayoutCheckError::Overwritten { buffer: name("a"), other: name("b"), taken: 30, read: 40 })
    );
}
