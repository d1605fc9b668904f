//! Random notes of a pool and accesses of its segment, compared with a model that keeps a state for each unit of bytes.

use std::collections::BTreeSet;

use hip_driver::{Note, Observer};
use hip_driver_layers::validation::Violation;
use proptest::prelude::*;

use crate::rig::{D0, Rig};

/// The number of units of 8 bytes in the pool segment.
const UNITS: u64 = 12;
const UNIT: u64 = 8;

#[derive(Clone, Copy, Debug)]
enum Op {
    HandOut { at: u64, units: u64 },
    GiveBack { at: u64 },
    Record { at: u64 },
    Touch { at: u64, units: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    let (at, units) = (0..UNITS, 1..=5u64);
    prop_oneof![
        3 => (at.clone(), units.clone()).prop_map(|(at, units)| Op::HandOut { at, units }),
        3 => at.clone().prop_map(|at| Op::GiveBack { at }),
        1 => at.clone().prop_map(|at| Op::Record { at }),
        3 => (at, units).prop_map(|(at, units)| Op::Touch { at, units }),
    ]
}

/// What the layer must report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    Overlap,
    OutOfRange,
    UseAfterFree,
    DoubleFree,
    WrongFree,
    WrongNote,
    Unknown,
}

/// The state of each unit: the start of the live block that contains it, and whether a freed block ever contained it.
#[derive(Default)]
struct Model {
    live: [Option<u64>; UNITS as usize],
    freed: [bool; UNITS as usize],
    /// The starts of freed blocks.
    starts: BTreeSet<u64>,
}

impl Model {
    fn step(&mut self, op: Op) -> Said {
        let dead = |model: &Model, at: u64| {
            if model.freed[at as usize] { Said::UseAfterFree } else { Said::Unknown }
        };
        match op {
            Op::HandOut { at, units } => {
                let Some(bytes) = self.live.get_mut(at as usize..(at + units) as usize) else {
                    return Said::OutOfRange;
                };
                if bytes.iter().any(Option::is_some) {
                    return Said::Overlap;
                }
                bytes.fill(Some(at));
                Said::Nothing
            }
            Op::GiveBack { at } => match self.live[at as usize] {
                Some(start) if start == at => {
                    for (live, freed) in self.live.iter_mut().zip(&mut self.freed) {
                        if *live == Some(at) {
                            (*live, *freed) = (None, true);
                        }
                    }
                    self.starts.insert(at);
                    Said::Nothing
                }
                Some(_) => Said::WrongFree,
                None if self.starts.contains(&at) => Said::DoubleFree,
                None => dead(self, at),
            },
            Op::Record { at } => match self.live[at as usize] {
                Some(start) if start == at => Said::Nothing,
                Some(_) => Said::WrongNote,
                None => dead(self, at),
            },
            Op::Touch { at, units } => match self.live[at as usize] {
                None => dead(self, at),
                block => match self.live.get(at as usize..(at + units) as usize) {
                    Some(all) if all.iter().all(|live| *live == block) => Said::Nothing,
                    _ => Said::OutOfRange,
                },
            },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// After each note and each access, the layer reports what the model says.
    #[test]
    fn the_layer_agrees_with_a_model_of_units(ops in prop::collection::vec(op(), 1..80)) {
        let rig = Rig::new();
        let (stream, segment) = (rig.stream(), rig.segment((UNITS * UNIT) as usize));
        let mut model = Model::default();
        for (i, op) in ops.into_iter().enumerate() {
            let ptr = |at: u64| segment.offset(at * UNIT);
            let result = match op {
                Op::HandOut { at, units } => {
                    rig.hand_out(ptr(at), (units * UNIT) as usize);
                    Ok(())
                }
                Op::GiveBack { at } => {
                    rig.give_back(ptr(at));
                    Ok(())
                }
                Op::Record { at } => {
                    rig.layer.note(&Note::PoolRecord { device: D0, block: ptr(at) });
                    Ok(())
                }
                Op::Touch { at, units } => rig.memset(ptr(at), (units * UNIT) as usize, stream),
            };
            let found = rig.layer.take_violations();
            let said = match &found[..] {
                [] => Said::Nothing,
                [Violation::LiveOverlap { .. }] => Said::Overlap,
                [Violation::OutOfRange { .. }] => Said::OutOfRange,
                [Violation::UseAfterFree { .. }] => Said::UseAfterFree,
                [Violation::DoubleFree { .. }] => Said::DoubleFree,
                [Violation::WrongFree { .. }] => Said::WrongFree,
                [Violation::WrongPoolNote { .. }] => Said::WrongNote,
                [Violation::UnknownAddress { .. }] => Said::Unknown,
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            };
            prop_assert_eq!(said, model.step(op), "step {}: {:?}", i, op);
            prop_assert_eq!(result.is_err(), matches!(op, Op::Touch { .. }) && said != Said::Nothing);
        }
        let live = (0..UNITS).filter(|at| model.live[*at as usize] == Some(*at));
        prop_assert_eq!(rig.live_blocks(), live.map(|at| segment.0 + at * UNIT).collect::<Vec<_>>());
    }
}
