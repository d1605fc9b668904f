//! Random kernels and a model of their execution: every path, access by access.

use std::collections::BTreeSet;

use lds_layout::{LdsBuilder, LdsLayout, LdsUse, Uniformity};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    Update,
}

/// A statement, barrier, loop or branch of a random kernel.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Statement(Vec<(usize, Access)>),
    Barrier,
    Loop(Uniformity, Vec<Node>),
    Branch(Uniformity, Vec<Node>, Option<Vec<Node>>),
}

/// The sizes and alignments of the buffers, and the statements that access them.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub(crate) buffers: Vec<(u64, u64)>,
    pub(crate) body: Vec<Node>,
}

fn statement(buffers: usize) -> impl Strategy<Value = Node> {
    let access = prop_oneof![3 => Just(Access::Write), 3 => Just(Access::Read), 1 => Just(Access::Update)];
    prop::collection::vec((0..buffers, access), 1..=2).prop_map(|mut accesses| {
        accesses.dedup_by_key(|access| access.0);
        Node::Statement(accesses)
    })
}

fn runs() -> impl Strategy<Value = Uniformity> {
    prop_oneof![1 => Just(Uniformity::Divergent), 3 => Just(Uniformity::Uniform), 3 => Just(Uniformity::UniformTaken)]
}

/// Draws buffers with sizes up to `size`.
fn buffers(count: usize, size: u64) -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((1..=size, prop_oneof![3 => Just(1u64), 1 => Just(2), 1 => Just(4)]), count)
}

/// Draws kernels with loops and branches, of about `nodes` nodes.
pub(crate) fn kernels(count: usize, nodes: u32) -> impl Strategy<Value = Kernel> {
    let leaf = prop_oneof![4 => statement(count), 1 => Just(Node::Barrier)];
    let node = leaf.prop_recursive(2, nodes, 3, move |inner| {
        let body = prop::collection::vec(inner, 0..=3);
        prop_oneof![
            (runs(), body.clone()).prop_map(|(runs, body)| Node::Loop(runs, body)),
            (runs(), body.clone(), prop::option::of(body))
                .prop_map(|(runs, first, second)| Node::Branch(runs, first, second)),
        ]
    });
    let body = prop::collection::vec(node, 1..=5);
    (buffers(count, 6), body).prop_map(|(buffers, body)| Kernel { buffers, body })
}

/// Draws kernels without loops and branches, of up to `nodes` nodes.
pub(crate) fn straight(count: usize, nodes: usize, size: u64) -> impl Strategy<Value = Kernel> {
    let node = prop_oneof![6 => statement(count), 1 => Just(Node::Barrier)];
    (buffers(count, size), prop::collection::vec(node, 1..=nodes))
        .prop_map(|(buffers, body)| Kernel { buffers, body })
}

/// What happens on a path.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// The accesses of one statement; `true` if some work-items may skip it.
    Accesses(Vec<(usize, Access)>, bool),
    Barrier,
}

type Path = Vec<Happening>;

/// The number of paths that are checked at most.
const PATHS: usize = 4000;

fn join(heads: &[Path], tails: &[Path]) -> Vec<Path> {
    let all = heads.iter().flat_map(|head| tails.iter().map(move |tail| [&head[..], &tail[..]].concat()));
    all.take(PATHS).collect()
}

impl Kernel {
    pub(crate) fn build(&self) -> LdsUse {
        fn emit(nodes: &[Node], kernel: &mut LdsBuilder, at: &mut u64) {
            for node in nodes {
                *at += 10;
                let position = *at;
                match node {
                    Node::Statement(accesses) => {
                        for &(buffer, access) in accesses {
                            let name = format!("b{buffer}");
                            let id = kernel.alias(format!("{name} at {position}"), name).unwrap();
                            match access {
                                Access::Read => kernel.read(id, position),
                                Access::Write => kernel.write(id, position),
                                Access::Update => kernel.update(id, position),
                            }
                            .unwrap();
                        }
                    }
                    Node::Barrier => kernel.barrier(position).unwrap(),
                    Node::Loop(runs, body) => {
                        kernel.begin_loop(position, *runs).unwrap();
                        let mut inner = position;
                        emit(body, kernel, &mut inner);
                        kernel.end_loop(inner + 10).unwrap();
                        *at = inner + 10;
                    }
                    Node::Branch(runs, first, second) => {
                        kernel.begin_branch(position, *runs).unwrap();
                        let mut inner = position;
                        emit(first, kernel, &mut inner);
                        if let Some(second) = second {
                            inner += 10;
                            kernel.begin_else(inner).unwrap();
                            emit(second, kernel, &mut inner);
                        }
                        kernel.end_branch(inner + 10).unwrap();
                        *at = inner + 10;
                    }
                }
            }
        }
        let mut kernel = LdsBuilder::new(0..=1_000_000).unwrap();
        for (i, &(size, align)) in self.buffers.iter().enumerate() {
            kernel.buffer_aligned(format!("b{i}"), size, align).unwrap();
        }
        emit(&self.body, &mut kernel, &mut 0);
        kernel.build().unwrap()
    }

    /// Returns every path, with loops run up to twice and barriers inserted before the given positions.
    pub(crate) fn paths(&self, inserted: &BTreeSet<u64>) -> Vec<Path> {
        paths(&self.body, inserted, &mut 0, false)
    }

    /// Returns every position before which a barrier could be inserted.
    pub(crate) fn gaps(&self) -> Vec<u64> {
        fn find(nodes: &[Node], at: &mut u64, divergent: bool, gaps: &mut Vec<u64>) {
            let mark = |at: &mut u64, divergent: bool, gaps: &mut Vec<u64>| {
                *at += 10;
                if !divergent {
                    gaps.push(*at);
                }
            };
            for node in nodes {
                mark(at, divergent, gaps);
                match node {
                    Node::Statement(_) | Node::Barrier => {}
                    Node::Loop(runs, body) => {
                        let inside = divergent || *runs == Uniformity::Divergent;
                        find(body, at, inside, gaps);
                        mark(at, inside, gaps);
                    }
                    Node::Branch(runs, first, second) => {
                        let inside = divergent || *runs == Uniformity::Divergent;
                        find(first, at, inside, gaps);
                        if let Some(second) = second {
                            mark(at, inside, gaps);
                            find(second, at, inside, gaps);
                        }
                        mark(at, inside, gaps);
                    }
                }
            }
        }
        let mut gaps = Vec::new();
        find(&self.body, &mut 0, false, &mut gaps);
        gaps
    }
}

fn paths(nodes: &[Node], inserted: &BTreeSet<u64>, at: &mut u64, divergent: bool) -> Vec<Path> {
    let mut all: Vec<Path> = vec![Vec::new()];
    let barrier = |at: u64, divergent: bool| -> Vec<Path> {
        let stands = inserted.contains(&at);
        assert!(!(stands && divergent), "a barrier before {at}, where work-items may differ");
        vec![if stands { vec![Happening::Barrier] } else { Vec::new() }]
    };
    for node in nodes {
        *at += 10;
        all = join(&all, &barrier(*at, divergent));
        let through: Vec<Path> = match node {
            Node::Statement(accesses) => vec![vec![Happening::Accesses(accesses.clone(), divergent)]],
            Node::Barrier if divergent => vec![Vec::new()],
            Node::Barrier => vec![vec![Happening::Barrier]],
            Node::Loop(runs, body) => {
                let inside = divergent || *runs == Uniformity::Divergent;
                let once = paths(body, inserted, at, inside);
                *at += 10;
                let once = join(&once, &barrier(*at, inside));
                let mut trips = join(&once, &once);
                trips.truncate(PATHS);
                trips.extend(once);
                if *runs != Uniformity::UniformTaken {
                    trips.push(Vec::new());
                }
                trips
            }
            Node::Branch(runs, first, second) => {
                let inside = divergent || *runs == Uniformity::Divergent;
                let mut first = paths(first, inserted, at, inside);
                let mut other = vec![Vec::new()];
                *at += 10;
                let end = barrier(*at, inside);
                first = join(&first, &end);
                if let Some(second) = second {
                    other = paths(second, inserted, at, inside);
                    *at += 10;
                    other = join(&other, &barrier(*at, inside));
                }
                match runs {
                    Uniformity::UniformTaken => first,
                    Uniformity::Uniform => [first, other].concat(),
                    Uniformity::Divergent => {
                        [join(&first, &other), join(&other, &first), first, other].concat()
                    }
                }
            }
        };
        all = join(&all, &through);
    }
    all
}

/// Returns an error of a path for the pairs that share bytes, if there is one.
pub(crate) fn wrong(path: &Path, shares: &dyn Fn(usize, usize) -> bool, buffers: usize) -> Option<String> {
    let mut touched: BTreeSet<usize> = BTreeSet::new();
    let mut before = vec![false; buffers];
    // For each buffer, the buffer that overwrote its bytes since it was last written.
    let mut taken: Vec<Option<usize>> = vec![None; buffers];
    for happening in path {
        let Happening::Accesses(accesses, divergent) = happening else {
            touched.clear();
            continue;
        };
        for &(a, _) in accesses {
            let together = accesses.iter().map(|access| access.0);
            if let Some(b) = touched.iter().copied().chain(together).find(|&b| b != a && shares(a, b)) {
                return Some(format!("b{b} and b{a} share bytes with no barrier between"));
            }
        }
        for &(a, access) in accesses {
            touched.insert(a);
            if let (Access::Read | Access::Update, Some(b)) = (access, taken[a]) {
                return Some(format!("b{a} is read after b{b} overwrote its bytes"));
            }
            if access == Access::Write && !divergent {
                taken[a] = None;
            }
            for b in (0..buffers).filter(|&b| before[b] && b != a && shares(a, b)) {
                taken[b] = Some(a);
            }
            before[a] = true;
        }
    }
    None
}

/// Returns the first and last byte of each buffer; empty for one that is never accessed.
pub(crate) fn spans(layout: &LdsLayout, buffers: usize) -> Vec<std::ops::Range<u32>> {
    let span = |i: usize| {
        let buffer = layout.buffers().iter().find(|buffer| *buffer.name == format!("b{i}"));
        buffer.map_or(0..0, |buffer| buffer.offset..buffer.offset + buffer.size)
    };
    (0..buffers).map(span).collect()
}

pub(crate) fn overlap(a: &std::ops::Range<u32>, b: &std::ops::Range<u32>) -> bool {
    a.start < b.end && b.start < a.end
}
