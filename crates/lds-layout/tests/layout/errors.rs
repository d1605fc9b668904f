//! Invalid kernels are refused, and each error names the buffer or position.

use lds_layout::{LdsBuilder, LdsError, Uniformity};

fn kernel() -> LdsBuilder {
    LdsBuilder::new(10..=100).unwrap()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, LdsError>, text: &str) {
    match result {
        Err(LdsError::Invalid(problem)) => assert_eq!(&*problem, text),
        other => panic!("{other:?}"),
    }
}

#[test]
fn invalid_buffers_are_refused() {
    let no_positions = "the kernel has no positions: its last, 4, is before its first, 5";
    refused(LdsBuilder::new(std::ops::RangeInclusive::new(5, 4)), no_positions);
    let mut k = kernel();
    refused(k.buffer("a", 0), "buffer `a`: its size is 0 bytes; do not add an empty buffer");
    let too_large = |size: u64| {
        format!(
            "buffer `a`: with {size} bytes for it, the buffers are over 4294967295 bytes, which LDS addresses end at"
        )
    };
    for size in [u64::from(u32::MAX) + 1, u64::MAX] {
        refused(k.buffer("a", size), &too_large(size));
    }
    for alignment in [0, 3, 48] {
        let text = format!("buffer `a`: alignment {alignment} is not a power of two");
        refused(k.buffer_aligned("a", 4, alignment), &text);
    }
    // Each buffer fits alone, but not both.
    k.buffer("b", 3 << 30).unwrap();
    refused(k.buffer("a", 2 << 30), &too_large(2 << 30));
    refused(k.buffer("b", 4), "buffer `b` already exists");
    refused(k.alias("b", "a"), "buffer `b` already exists");
    // A refused buffer does not get a number.
    assert_eq!(k.buffer("a", 4).unwrap().index(), 1);
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
    refused(k.clone().build(), "alias `x`: no buffer has the name `y`");
    k.alias("y", "z").unwrap();
    k.alias("z", "y").unwrap();
    refused(k.build(), "the aliases `y`, `z` name each other, and no buffer");
    let mut k = kernel();
    k.alias("s", "s").unwrap();
    refused(k.build(), "the aliases `s` name each other, and no buffer");
}

#[test]
fn invalid_positions_are_refused() {
    let mut k = kernel();
    let a = k.buffer("a", 4).unwrap();
    for position in [9, 101] {
        let outside = "is outside the kernel, whose positions are 10 to 100";
        refused(k.read(a, position), &format!("an access of buffer `a` at position {position} {outside}"));
        assert!(k.barrier(position).is_err() && k.begin_loop(position, Uniformity::Uniform).is_err());
    }
    let mut other = kernel();
    other.buffer("b", 4).unwrap();
    let foreign = other.buffer("c", 4).unwrap();
    refused(k.read(foreign, 20), "no buffer of this kernel has the number 1; it has 1");

    k.write(a, 20).unwrap();
    k.read(a, 20).unwrap();
    k.barrier(20).unwrap();
    refused(
        k.build(),
        "position 20 has an access of buffer `a` and a barrier: their order is not known; give each a position of its own",
    );
}

#[test]
fn loops_and_branches_must_be_closed_in_order() {
    let mut k = kernel();
    let open = |what: &str, position: u64, open: &str| {
        format!("{what} at position {position}, but the innermost open scope there is {open}")
    };
    refused(k.end_loop(20), &open("the end of a loop", 20, "nothing"));
    refused(k.begin_else(20), &open("an `else`", 20, "nothing"));
    k.begin_loop(20, Uniformity::Uniform).unwrap();
    refused(k.end_branch(30), &open("the end of a branch", 30, "the begin of a loop at 20"));
    refused(
        k.end_loop(20),
        "the end of a loop at position 20: it must be after the previous begin or end, at 20",
    );
    k.begin_branch(30, Uniformity::Uniform).unwrap();
    k.begin_else(40).unwrap();
    refused(k.begin_else(50), &open("an `else`", 50, "an `else` at 40"));
    refused(k.end_loop(50), &open("the end of a loop", 50, "an `else` at 40"));
    refused(k.clone().build(), "the branch that begins at position 40 has no end");
    k.end_branch(50).unwrap();
    refused(k.clone().build(), "the loop that begins at position 20 has no end");
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
    let wrong = |offsets: &[u64]| program.check(offsets, &[]).unwrap_err().to_string();
    assert_eq!(
        wrong(&[0, 0]),
        "buffers `b` and `a` share bytes, and a path from position 40 to 30 has no barrier"
    );
    assert_eq!(wrong(&[0]), "1 offsets for 2 buffers");
    assert_eq!(wrong(&[0, 8]), "buffer `b` at 8: not a multiple of its alignment 16");
    let mut k = kernel();
    let (a, b) = (k.buffer("a", 64).unwrap(), k.buffer("b", 64).unwrap());
    k.write(a, 20).unwrap();
    k.barrier(25).unwrap();
    k.write(b, 30).unwrap();
    k.barrier(35).unwrap();
    k.read(a, 40).unwrap();
    let program = k.build().unwrap();
    assert_eq!(
        program.check(&[0, 48], &[]).unwrap_err().to_string(),
        "buffer `a` is read at position 40 after `b` overwrote its bytes at 30"
    );
}
