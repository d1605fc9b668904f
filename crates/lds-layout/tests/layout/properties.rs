//! Random kernels: buffers that share bytes are separated on every path. Where all layouts and sets of barriers can be
//! tried, the layouts are the smallest and the barriers the fewest.

use std::collections::BTreeSet;

use lds_layout::{LdsError, LdsLayout};
use proptest::prelude::*;

use crate::random::{Kernel, kernels, overlap, spans, straight, wrong};

fn inserted(layout: &LdsLayout) -> BTreeSet<u64> {
    layout.inserted().iter().map(|barrier| barrier.before).collect()
}

/// Checks every path through the kernel with this layout.
fn safe(kernel: &Kernel, layout: &LdsLayout) -> Result<(), TestCaseError> {
    let buffers = kernel.buffers.len();
    let spans = spans(layout, buffers);
    let shares = |a: usize, b: usize| overlap(&spans[a], &spans[b]);
    for path in kernel.paths(&inserted(layout)) {
        if let Some(what) = wrong(&path, &shares, buffers) {
            return Err(TestCaseError::fail(format!("{what} on {path:?}\n{}", layout.to_text())));
        }
    }
    for (span, &(size, align)) in spans.iter().zip(&kernel.buffers) {
        prop_assert!(span.is_empty() || u64::from(span.end - span.start) == size);
        prop_assert_eq!(u64::from(span.start) % align, 0);
        prop_assert!(span.end <= layout.total());
    }
    Ok(())
}

/// Returns the pairs that may not share bytes: live at the same time, or wrong on a path.
fn conflicts(kernel: &Kernel, live: &LdsLayout, barriers: &BTreeSet<u64>) -> Vec<Vec<bool>> {
    let n = kernel.buffers.len();
    let life: Vec<Option<(u64, u64)>> =
        (0..n).map(|i| live.buffers().iter().find(|s| *s.name == format!("b{i}")).map(|s| s.live)).collect();
    let paths = kernel.paths(barriers);
    let mut conflict = vec![vec![false; n]; n];
    for a in 0..n {
        for b in 0..a {
            let (Some(x), Some(y)) = (life[a], life[b]) else { continue };
            let together = x.0 <= y.1 && y.0 <= x.1;
            let pair = |i: usize, j: usize| (i, j) == (a, b) || (j, i) == (a, b);
            let apart = together || paths.iter().any(|path| wrong(path, &pair, n).is_some());
            (conflict[a][b], conflict[b][a]) = (apart, apart);
        }
    }
    conflict
}

/// Returns the least total over every order of placing the buffers.
fn least(kernel: &Kernel, live: &LdsLayout, conflict: &[Vec<bool>]) -> u64 {
    fn place(kernel: &Kernel, conflict: &[Vec<bool>], rest: &[usize], placed: &mut Vec<(usize, u64)>) -> u64 {
        if rest.is_empty() {
            return placed.iter().map(|&(i, at)| at + kernel.buffers[i].0).max().unwrap_or(0);
        }
        let mut best = u64::MAX;
        for (k, &i) in rest.iter().enumerate() {
            let below = placed.iter().filter(|&&(j, _)| conflict[i][j]);
            let top = below.map(|&(j, at)| at + kernel.buffers[j].0).max().unwrap_or(0);
            placed.push((i, top.next_multiple_of(kernel.buffers[i].1)));
            let others = [&rest[..k], &rest[k + 1..]].concat();
            best = best.min(place(kernel, conflict, &others, placed));
            placed.pop();
        }
        best
    }
    let there: Vec<usize> = (0..kernel.buffers.len())
        .filter(|i| live.buffers().iter().any(|buffer| *buffer.name == format!("b{i}")))
        .collect();
    place(kernel, conflict, &there, &mut Vec::new())
}

/// Returns all sets of `count` gaps.
fn sets(gaps: &[u64], count: usize) -> Vec<BTreeSet<u64>> {
    if count == 0 {
        return vec![BTreeSet::new()];
    }
    let mut all = Vec::new();
    for (i, &gap) in gaps.iter().enumerate() {
        for mut set in sets(&gaps[i + 1..], count - 1) {
            set.insert(gap);
            all.push(set);
        }
    }
    all
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(600))]

    /// Checks layouts without inserted barriers, and with one wherever one helps.
    #[test]
    fn what_shares_bytes_is_separated_on_every_path(kernel in kernels(5, 14)) {
        let program = kernel.build();
        let layout = program.layout().unwrap();
        safe(&kernel, &layout)?;
        prop_assert!(layout.inserted().is_empty());
        let least = program.least_bytes().unwrap();
        prop_assert!(least <= u64::from(layout.total()));
        let layout = program.layout_within(least).unwrap();
        prop_assert_eq!(u64::from(layout.total()), least);
        safe(&kernel, &layout)?;
    }

    /// Promoting any buffers keeps the layout right, does not make it larger, and uses no fewer barriers than are
    /// needed.
    #[test]
    fn promoting_is_safe(kernel in kernels(4, 14), buffers in prop::collection::vec(0usize..4, 1..4)) {
        let mut program = kernel.build();
        let plain = program.clone();
        let (mut total, mut count) = (program.layout().unwrap().total(), 0);
        for buffer in buffers {
            let id = program.id(&format!("b{buffer}")).unwrap();
            match program.promote_reuse(id) {
                Ok(positions) => {
                    let layout = program.layout().unwrap();
                    prop_assert!(positions.iter().all(|p| inserted(&layout).contains(p)));
                    prop_assert!(layout.total() <= total);
                    (total, count) = (layout.total(), count + positions.len());
                    prop_assert_eq!(layout.inserted().len(), count);
                    safe(&kernel, &layout)?;
                }
                Err(LdsError::NoPlaceForBarrier { .. }) => {}
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            }
        }
        let fewest = plain.layout_within(u64::from(total)).unwrap();
        prop_assert!(fewest.is_fewest() && fewest.inserted().len() <= count);
    }
}

proptest! {
    #![proptest_config(config(150))]

    /// Compares with every set of barriers, every path, and every order of placing.
    #[test]
    fn barriers_are_the_fewest_and_layouts_the_least(kernel in kernels(4, 8), share in 0u64..=4) {
        let program = kernel.build();
        let plain = program.layout().unwrap();
        let none = BTreeSet::new();
        prop_assert!(plain.is_least());
        prop_assert_eq!(u64::from(plain.total()), least(&kernel, &plain, &conflicts(&kernel, &plain, &none)));
        let gaps = kernel.gaps();
        let bottom = program.least_bytes().unwrap();
        let everywhere = conflicts(&kernel, &plain, &gaps.iter().copied().collect());
        prop_assert_eq!(bottom, least(&kernel, &plain, &everywhere));
        let top = u64::from(plain.total());
        let budget = bottom + (top - bottom) * share / 4;
        let layout = program.layout_within(budget).unwrap();
        safe(&kernel, &layout)?;
        prop_assert!(u64::from(layout.total()) <= budget);
        prop_assert!(layout.is_fewest());
        let count = layout.inserted().len();
        prop_assume!(count <= 3);
        for fewer in 0..count {
            for set in sets(&gaps, fewer) {
                let total = least(&kernel, &plain, &conflicts(&kernel, &plain, &set));
                prop_assert!(total > budget, "{fewer} barriers do, before {set:?}\n{}", layout.to_text());
            }
        }
        for barrier in layout.inserted() {
            prop_assert!(!barrier.separates.is_empty() && barrier.saves > 0, "{barrier}");
        }
        if budget > 0 && bottom > 0 {
            let error = program.layout_within(bottom - 1).unwrap_err();
            let named = matches!(error, LdsError::OverBudget { least, proved: true, .. } if least == bottom);
            prop_assert!(named, "{error}");
        }
    }

    /// For the total that promoting some buffers reaches, `layout_within` inserts no more barriers than promoting.
    #[test]
    fn never_more_barriers_than_promoting(
        kernel in straight(6, 30, 64),
        buffers in prop::collection::btree_set(0usize..6, 1..6),
    ) {
        let program = kernel.build();
        let mut promoted = program.clone();
        let mut count = 0;
        for buffer in buffers {
            count += promoted.promote_reuse(program.id(&format!("b{buffer}")).unwrap()).unwrap().len();
        }
        let layout = promoted.layout().unwrap();
        prop_assert_eq!(layout.inserted().len(), count);
        safe(&kernel, &layout)?;
        let fewest = program.layout_within(u64::from(layout.total())).unwrap();
        prop_assert!(fewest.inserted().len() <= count);
        prop_assert!(fewest.is_fewest());
        safe(&kernel, &fewest)?;
    }
}
