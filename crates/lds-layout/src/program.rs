//! A kernel's use of LDS in program order, and the questions that can be asked about it.

use std::collections::HashMap;

use super::builder::{Access, Kind, LdsBufferId, LdsStatement, NamedBuffer, Uniformity};
use super::layout::LdsLayout;
use super::lifetime::lifetimes;
use super::{LayoutCheckError, LdsError, LdsTarget, check, fewest, layout, promote};

/// What a builder recorded, before it is checked.
pub(super) struct RecordedStatements {
    pub(super) positions: (u64, u64),
    pub(super) named: Vec<NamedBuffer>,
    pub(super) by_name: HashMap<Box<str>, u32>,
    pub(super) records: Vec<(u64, LdsStatement)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum LdsEvent {
    /// The accesses of a statement, as a range of [`LdsUse::accesses`].
    Statement {
        from: u32,
        to: u32,
    },
    Barrier,
    LoopBegin {
        runs: Uniformity,
        end: usize,
    },
    LoopEnd {
        begin: usize,
    },
    BranchBegin {
        runs: Uniformity,
        second: Option<usize>,
        end: usize,
    },
    Else {
        begin: usize,
        end: usize,
    },
    BranchEnd,
}

/// One event, with the gap before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LdsStep {
    pub(super) position: u64,
    pub(super) event: LdsEvent,
    /// Whether the gap is inside a divergent loop or branch.
    pub(super) divergent: bool,
    /// The number of loops that the gap is inside.
    pub(super) depth: u32,
}

/// A buffer that is accessed. All steps below refer to it by index.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    pub(super) name: Box<str>,
    pub(super) size: u64,
    pub(super) align: u64,
    /// The first and last step that accesses it.
    pub(super) accessed: (usize, usize),
    /// The first and last step at which its contents are needed, including the loops that carry them.
    pub(super) live: (usize, usize),
}

/// What a kernel does with its LDS, in program order. [`LdsBuilder::build`](super::LdsBuilder::build) creates it.
#[derive(Clone, Debug)]
pub struct LdsUse {
    pub(super) positions: (u64, u64),
    pub(super) steps: Vec<LdsStep>,
    pub(super) accesses: Vec<(u32, Access)>,
    pub(super) storages: Vec<Storage>,
    /// Each name, and the index of its storage if it is accessed.
    pub(super) named: Vec<(Box<str>, Option<u32>)>,
    by_name: HashMap<Box<str>, u32>,
    /// Whether a barrier is inserted before each step.
    pub(super) inserted: Vec<bool>,
}

impl LdsUse {
    pub(super) fn new(raw: RecordedStatements) -> Result<LdsUse, LdsError> {
        let RecordedStatements { positions, named, by_name, mut records } = raw;
        let root = resolve(&named, &by_name)?;
        records.sort_by_key(|&(position, _)| position);
        let (mut steps, mut accesses) = (Vec::with_capacity(records.len()), Vec::new());
        let mut open: Vec<usize> = Vec::new();
        let (mut divergent, mut depth) = (0u32, 0u32);
        let mut rest = &records[..];
        while let Some(&(position, what)) = rest.first() {
            let together = rest.iter().take_while(|record| record.0 == position).count();
            let (here, later) = rest.split_at(together);
            rest = later;
            let gap = (divergent > 0, depth);
            let index = steps.len();
            if let Some(&(_, other)) = here.iter().skip(1).find(|&&(_, other)| {
                !matches!((what, other), (LdsStatement::Access(..), LdsStatement::Access(..)))
            }) {
                let text = |what: LdsStatement| match what {
                    LdsStatement::Access(id, _) => {
                        let name = named.get(id.index()).map_or("", |named| &named.name);
                        format!("an access of buffer `{name}`").into_boxed_str()
                    }
                    other => other.name().into(),
                };
                return Err(LdsError::PositionTaken { position, one: text(what), other: text(other) });
            }
            let mut enter = |runs: Uniformity, open: &mut Vec<usize>| {
                divergent += u32::from(runs == Uniformity::Divergent);
                open.push(index);
            };
            let event = match what {
                LdsStatement::Access(..) => {
                    let from = accesses.len();
                    statement(here, &root, &mut accesses);
                    LdsEvent::Statement { from: from as u32, to: accesses.len() as u32 }
                }
                LdsStatement::Barrier => LdsEvent::Barrier,
                LdsStatement::LoopBegin(runs) => {
                    enter(runs, &mut open);
                    depth += 1;
                    LdsEvent::LoopBegin { runs, end: 0 }
                }
                LdsStatement::BranchBegin(runs) => {
                    enter(runs, &mut open);
                    LdsEvent::BranchBegin { runs, second: None, end: 0 }
                }
                LdsStatement::Else => LdsEvent::Else { begin: open.last().copied().unwrap_or(0), end: 0 },
                LdsStatement::LoopEnd | LdsStatement::BranchEnd => {
                    // The builder checked that a scope is open.
                    let begin = open.pop().unwrap_or(0);
                    let runs = close(&mut steps, begin, index);
                    divergent -= u32::from(runs == Some(Uniformity::Divergent));
                    match what {
                        LdsStatement::LoopEnd => {
                            depth -= 1;
                            LdsEvent::LoopEnd { begin }
                        }
                        _ => LdsEvent::BranchEnd,
                    }
                }
            };
            if let LdsEvent::Else { begin, .. } = event
                && let Some(LdsStep { event: LdsEvent::BranchBegin { second, .. }, .. }) =
                    steps.get_mut(begin)
            {
                *second = Some(index);
            }
            steps.push(LdsStep { position, event, divergent: gap.0, depth: gap.1 });
        }
        let inserted = vec![false; steps.len()];
        let mut program =
            LdsUse { positions, steps, accesses, storages: Vec::new(), named: Vec::new(), by_name, inserted };
        program.find_storages(&named, &root);
        Ok(program)
    }

    /// Numbers the buffers that are accessed and computes their lifetimes.
    fn find_storages(&mut self, named: &[NamedBuffer], root: &[u32]) {
        let mut storage_of: Vec<Option<u32>> = vec![None; named.len()];
        for (at, step) in self.steps.iter().enumerate() {
            let LdsEvent::Statement { from, to } = step.event else { continue };
            for (buffer, _) in &mut self.accesses[from as usize..to as usize] {
                let named = &named[*buffer as usize];
                let known = &mut storage_of[*buffer as usize];
                let index = *known.get_or_insert_with(|| {
                    let (size, align) = match named.kind {
                        Kind::Buffer { size, alignment } => (u64::from(size), u64::from(alignment)),
                        // An access of an alias was recorded as one of its buffer.
                        Kind::Alias { .. } => (1, 1),
                    };
                    let (name, accessed) = (named.name.clone(), (at, at));
                    self.storages.push(Storage { name, size, align, accessed, live: accessed });
                    self.storages.len() as u32 - 1
                });
                self.storages[index as usize].accessed.1 = at;
                *buffer = index;
            }
        }
        let live = lifetimes(self);
        self.storages.iter_mut().zip(live).for_each(|(storage, live)| storage.live = live);
        self.named = named
            .iter()
            .zip(root)
            .map(|(named, &root)| (named.name.clone(), storage_of[root as usize]))
            .collect();
    }

    /// Returns the buffer or alias with this name.
    pub fn id(&self, name: &str) -> Option<LdsBufferId> {
        self.by_name.get(name).map(|&index| LdsBufferId(index))
    }

    /// Returns the accesses of a statement: each buffer with the kind of access.
    pub(super) fn accesses_of(&self, event: LdsEvent) -> &[(u32, Access)] {
        match event {
            LdsEvent::Statement { from, to } => self.accesses.get(from as usize..to as usize).unwrap_or(&[]),
            _ => &[],
        }
    }

    /// Returns the position of a step.
    pub(super) fn position(&self, step: usize) -> u64 {
        self.steps.get(step).map_or(self.positions.1, |step| step.position)
    }

    /// Returns whether the kernel has loops or branches.
    pub(super) fn has_scopes(&self) -> bool {
        self.steps.iter().any(|s| !matches!(s.event, LdsEvent::Statement { .. } | LdsEvent::Barrier))
    }

    pub(super) fn storage(&self, id: LdsBufferId) -> Result<Option<usize>, LdsError> {
        match self.named.get(id.index()) {
            Some((_, storage)) => Ok(storage.map(|index| index as usize)),
            None => Err(LdsError::UnknownId { index: id.index(), buffers: self.named.len() }),
        }
    }

    /// Lays out the buffers with the barriers of the kernel and those that [`promote_reuse`](LdsUse::promote_reuse)
    /// inserted.
    ///
    /// # Errors
    /// Returns [`LdsError::Check`] if the planner has a bug that the checks found.
    pub fn layout(&self) -> Result<LdsLayout, LdsError> {
        layout::make(self, &self.inserted, u64::MAX, true)
    }

    /// Checks a layout that was computed elsewhere. `offsets` are in bytes, for the buffers that are accessed in the
    /// order of their first access. `barriers_before` are the positions before which barriers are inserted; a position
    /// without an event is ignored. The check shares no code with the planner.
    ///
    /// # Errors
    /// Returns the first error found.
    pub fn check(&self, offsets: &[u64], barriers_before: &[u64]) -> Result<(), LayoutCheckError> {
        let inserted: Vec<bool> =
            self.steps.iter().map(|step| barriers_before.contains(&step.position)).collect();
        check::check(self, &inserted, offsets, u64::from(u32::MAX)).map(drop)
    }

    /// Lets the buffer whose lifetime begins next after the last access of `buffer` reuse its bytes. If no barrier
    /// separates the two, one is inserted right before the first access of the other buffer, or before the condition
    /// around that access. If both are in a loop and nothing separates one iteration from the next, another one is
    /// inserted at the end of the loop's body. Returns the positions before which barriers were inserted: none if the
    /// present barriers are sufficient or no lifetime begins later.
    ///
    /// This is nvFuser's `promoteReuse`. [`layout_within`](LdsUse::layout_within) finds without help where barriers are
    /// worth inserting.
    ///
    /// # Errors
    /// Returns [`LdsError::NoPlaceForBarrier`] if no barrier can separate the two, or an error if the id is of another
    /// builder. Nothing is inserted then.
    pub fn promote_reuse(&mut self, buffer: LdsBufferId) -> Result<Vec<u64>, LdsError> {
        promote::promote_reuse(self, buffer)
    }

    /// Returns the total in bytes with a barrier inserted wherever one helps: the least that barriers can achieve.
    ///
    /// # Errors
    /// Returns the same errors as [`layout`](LdsUse::layout).
    pub fn least_bytes(&self) -> Result<u64, LdsError> {
        fewest::least(self)
    }

    /// Inserts the fewest barriers with which the layout fits into `bytes`, in addition to those of
    /// [`promote_reuse`](LdsUse::promote_reuse). Of equally many barriers, those inside fewer loops are preferred.
    ///
    /// In a kernel without loops and branches, a sweep finds the fewest directly, unless alignment or fragmentation
    /// costs bytes. Otherwise sets of barriers are tried by increasing size, up to
    /// [`TRIED_LAYOUTS`](super::TRIED_LAYOUTS) layouts, and [`is_fewest`](LdsLayout::is_fewest) says whether that
    /// proved that a smaller number is not sufficient. With many buffers the least layout for given barriers is not
    /// always found; then nothing is proved.
    ///
    /// # Errors
    /// Returns [`LdsError::OverBudget`] if no barriers make the layout fit, and the errors of
    /// [`layout`](LdsUse::layout).
    pub fn layout_within(&self, bytes: u64) -> Result<LdsLayout, LdsError> {
        fewest::fewest(self, bytes)
    }

    /// Inserts the fewest barriers with which a compute unit's LDS holds `workgroups` workgroups, each with
    /// `static_lds` bytes of static LDS in addition. See [`layout_within`](LdsUse::layout_within).
    ///
    /// # Errors
    /// Returns [`LdsError::OverOccupancy`] if no barriers make that possible, with the occupancy that is possible;
    /// [`LdsError::StaticLds`] if the static LDS alone is too large; and the errors of [`layout`](LdsUse::layout).
    pub fn layout_for_occupancy(
        &self,
        target: &LdsTarget,
        workgroups: u32,
        static_lds: u32,
    ) -> Result<LdsLayout, LdsError> {
        let available = target.dynamic_bytes(workgroups, static_lds)?;
        self.layout_within(available).map_err(|error| match error {
            LdsError::OverBudget { least, .. } => {
                let possible = target.workgroups(least + u64::from(static_lds));
                LdsError::OverOccupancy { workgroups, available, least, possible }
            }
            other => other,
        })
    }
}

/// Adds the accesses of the statement at one position, one for each buffer.
fn statement(records: &[(u64, LdsStatement)], root: &[u32], accesses: &mut Vec<(u32, Access)>) {
    let start = accesses.len();
    for &(_, what) in records {
        let LdsStatement::Access(id, access) = what else { continue };
        let buffer = root.get(id.index()).copied().unwrap_or(0);
        match accesses.iter_mut().skip(start).find(|(other, _)| *other == buffer) {
            Some((_, other)) if *other != access => *other = Access::Update,
            Some(_) => {}
            None => accesses.push((buffer, access)),
        }
    }
}

/// Stores the end of a loop or branch in the step of its begin and of its `else`; returns its uniformity.
fn close(steps: &mut [LdsStep], begin: usize, index: usize) -> Option<Uniformity> {
    let (runs, second) = match &mut steps.get_mut(begin)?.event {
        LdsEvent::LoopBegin { runs, end } => {
            *end = index;
            (*runs, None)
        }
        LdsEvent::BranchBegin { runs, second, end } => {
            *end = index;
            (*runs, *second)
        }
        _ => return None,
    };
    if let Some(LdsStep { event: LdsEvent::Else { end, .. }, .. }) = second.and_then(|at| steps.get_mut(at)) {
        *end = index;
    }
    Some(runs)
}

/// Returns for each name the index of the buffer that it means.
fn resolve(named: &[NamedBuffer], by_name: &HashMap<Box<str>, u32>) -> Result<Vec<u32>, LdsError> {
    let mut root = Vec::with_capacity(named.len());
    for start in 0..named.len() as u32 {
        let (mut at, mut trail) = (start, Vec::new());
        while let Some(NamedBuffer { name, kind: Kind::Alias { of } }) = named.get(at as usize) {
            if let Some(from) = trail.iter().position(|&seen| seen == at) {
                let names = trail.iter().skip(from).filter_map(|&i| named.get(i as usize));
                return Err(LdsError::AliasCycle { names: names.map(|n| n.name.clone()).collect() });
            }
            trail.push(at);
            match by_name.get(of) {
                Some(&next) => at = next,
                None => return Err(LdsError::AliasOfNothing { alias: name.clone(), of: of.clone() }),
            }
        }
        root.push(at);
    }
    Ok(root)
}
