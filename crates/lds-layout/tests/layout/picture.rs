//! Pictures show every buffer and barrier.

use lds_layout::{LdsBuilder, LdsLayout, Uniformity};

/// Two tiles in a loop, and a sum after it.
fn layout() -> LdsLayout {
    let mut kernel = LdsBuilder::new(0..=100).unwrap();
    let a = kernel.buffer("tile a", 4096).unwrap();
    let b = kernel.buffer("tile b", 2048).unwrap();
    let sum = kernel.buffer("<sum> & \"more\"", 1024).unwrap();
    kernel.begin_loop(10, Uniformity::UniformTaken).unwrap();
    kernel.write(a, 20).unwrap();
    kernel.read(a, 21).unwrap();
    kernel.barrier(25).unwrap();
    kernel.write(b, 30).unwrap();
    kernel.read(b, 31).unwrap();
    kernel.end_loop(40).unwrap();
    kernel.begin_branch(50, Uniformity::Divergent).unwrap();
    kernel.write(sum, 51).unwrap();
    kernel.barrier(52).unwrap();
    kernel.read(sum, 53).unwrap();
    kernel.end_branch(60).unwrap();
    kernel.build().unwrap().layout_within(4096).unwrap()
}

#[test]
fn the_text_picture_shows_loops_and_barriers() {
    let layout = layout();
    let expected = "\
4096 bytes of dynamic LDS (the least with these barriers), 1 barrier inserted
4096 | !     [tile a----]|                       :
3072 | !     [----------]|                 [<sum> & \"more\"--]
2048 | !     [----------]|     [tile b----]      :
   0 +-------------------------------------------------------
       !     20    21    25    30    31    51    52    53
! barrier before 20: saves 2048 bytes; separates `tile a` and `tile b`
";
    assert_eq!(layout.to_text(), expected, "{}", layout.to_text());
}

/// The example of the documentation.
#[test]
fn the_text_picture_of_the_documentation_is_exact() {
    let mut kernel = LdsBuilder::new(0..=9).unwrap();
    for (name, size, first, last) in [("A", 20, 1, 2), ("B", 24, 5, 6)] {
        let id = kernel.buffer(name, size).unwrap();
        kernel.write(id, first).unwrap();
        kernel.read(id, last).unwrap();
    }
    let text = kernel.build().unwrap().layout_within(24).unwrap().to_text();
    let documented = include_str!("../../src/text.rs");
    for line in text.lines() {
        assert!(documented.contains(&format!("    /// {line}\n")), "{text}");
    }
}

/// For any number of buffers, lines are short and every name is shown at least in part.
#[test]
fn pictures_of_wide_kernels_fit_the_page() {
    let mut kernel = LdsBuilder::new(0..=100_000).unwrap();
    for i in 0..200 {
        let id = kernel
            .buffer(format!("{}", i % 10), 64)
            .unwrap_or_else(|_| kernel.buffer(format!("buffer {i}"), 64).unwrap());
        kernel.write(id, 10 * i + 1).unwrap();
        kernel.read(id, 10 * i + 12).unwrap();
    }
    let layout = kernel.build().unwrap().layout_within(128).unwrap();
    let text = layout.to_text();
    let picture = text.lines().skip(1).take_while(|line| !line.starts_with('!'));
    assert!(
        picture.clone().count() >= 4 && picture.clone().all(|line| line.chars().count() <= 110),
        "{text}"
    );
}
