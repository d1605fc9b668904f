//! A kernel's use of LDS in program order, and what can be asked of it.

use std::collections::HashMap;

use super::builder::{Access, Kind, LdsId, Named, Runs, What};
use super::layout::LdsLayout;
use super::lifetime::lifetimes;
use super::{CheckError, LdsError, LdsTarget, check, fewest, layout, promote};

/// What a builder recorded.
pub(super) struct Raw {
    pub(super) positions: (u64, u64),
    pub(super) named: Vec<Named>,
    pub(super) by_name: HashMap<Box<str>, u32>,
    pub(super) records: Vec<(u64, What)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A range of the program's accesses.
    Statement {
        from: u32,
        to: u32,
    },
    Barrier,
    LoopBegin {
        runs: Runs,
        end: usize,
    },
    LoopEnd {
        begin: usize,
    },
    BranchBegin {
        runs: Runs,
        second: Option<usize>,
        end: usize,
    },
    Else {
        begin: usize,
        end: usize,
    },
    BranchEnd,
}

/// One event, and the gap before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) position: u64,
    pub(super) event: Event,
    /// Whether the gap is in something divergent.
    pub(super) divergent: bool,
    /// How many loops the gap is in.
    pub(super) depth: u32,
}

/// A buffer that is accessed. Everything below is in terms of these, by index.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    pub(super) name: Box<str>,
    pub(super) size: u64,
    pub(super) align: u64,
    /// First and last step that accesses it.
    pub(super) accessed: (usize, usize),
    /// First and last step at which its bytes hold something, with the loops that it is carried round.
    pub(super) live: (usize, usize),
}

/// What a kernel does with its LDS, in program order; made by [`LdsBuilder::build`](super::LdsBuilder::build).
#[derive(Clone, Debug)]
pub struct LdsProgram {
    pub(super) positions: (u64, u64),
    pub(super) steps: Vec<Step>,
    pub(super) accesses: Vec<(u32, Access)>,
    pub(super) storages: Vec<Storage>,
    /// Each name, and the index of its storage if that is accessed.
    pub(super) named: Vec<(Box<str>, Option<u32>)>,
    by_name: HashMap<Box<str>, u32>,
    /// Whether a barrier is inserted before each step.
    pub(super) inserted: Vec<bool>,
}

impl LdsProgram {
    pub(super) fn new(raw: Raw) -> Result<LdsProgram, LdsError> {
        let Raw { positions, named, by_name, mut records } = raw;
        let root = resolve(&named, &by_name)?;
        records.sort_by_key(|&(position, _)| position);
        let (mut steps, mut accesses) = (Vec::with_capacity(records.len()), Vec::new());
        let mut open: Vec<usize> = Vec::new();
        let (mut divergent, mut depth) = (0u32, 0u32);
        let mut rest = &records[..];
        while let Some(&(position, what)) = rest.first() {
            let together = rest.iter().take_while(|record| record.0 == position).count();
            let (here, behind) = rest.split_at(together);
            rest = behind;
            let gap = (divergent > 0, depth);
            let index = steps.len();
            if let Some(&(_, other)) = here
                .iter()
                .skip(1)
                .find(|&&(_, other)| !matches!((what, other), (What::Access(..), What::Access(..))))
            {
                let text = |what: What| match what {
                    What::Access(id, _) => {
                        let name = named.get(id.index()).map_or("", |named| &named.name);
                        format!("an access of buffer `{name}`").into_boxed_str()
                    }
                    other => other.name().into(),
                };
                return Err(LdsError::PositionTaken { position, one: text(what), other: text(other) });
            }
            let mut enter = |runs: Runs, open: &mut Vec<usize>| {
                divergent += u32::from(runs == Runs::Divergent);
                open.push(index);
            };
            let event = match what {
                What::Access(..) => {
                    let from = accesses.len();
                    statement(here, &root, &mut accesses);
                    Event::Statement { from: from as u32, to: accesses.len() as u32 }
                }
                What::Barrier => Event::Barrier,
                What::LoopBegin(runs) => {
                    enter(runs, &mut open);
                    depth += 1;
                    Event::LoopBegin { runs, end: 0 }
                }
                What::BranchBegin(runs) => {
                    enter(runs, &mut open);
                    Event::BranchBegin { runs, second: None, end: 0 }
                }
                What::Else => Event::Else { begin: open.last().copied().unwrap_or(0), end: 0 },
                What::LoopEnd | What::BranchEnd => {
                    // The builder saw to it that one is open.
                    let begin = open.pop().unwrap_or(0);
                    let runs = close(&mut steps, begin, index);
                    divergent -= u32::from(runs == Some(Runs::Divergent));
                    match what {
                        What::LoopEnd => {
                            depth -= 1;
                            Event::LoopEnd { begin }
                        }
                        _ => Event::BranchEnd,
                    }
                }
            };
            if let Event::Else { begin, .. } = event
                && let Some(Step { event: Event::BranchBegin { second, .. }, .. }) = steps.get_mut(begin)
            {
                *second = Some(index);
            }
            steps.push(Step { position, event, divergent: gap.0, depth: gap.1 });
        }
        let inserted = vec![false; steps.len()];
        let mut program = LdsProgram {
            positions,
            steps,
            accesses,
            storages: Vec::new(),
            named: Vec::new(),
            by_name,
            inserted,
        };
        program.find_storages(&named, &root);
        Ok(program)
    }

    /// Numbers the buffers that are accessed, and finds out when.
    fn find_storages(&mut self, named: &[Named], root: &[u32]) {
        let mut storage_of: Vec<Option<u32>> = vec![None; named.len()];
        for (at, step) in self.steps.iter().enumerate() {
            let Event::Statement { from, to } = step.event else { continue };
            for (buffer, _) in &mut self.accesses[from as usize..to as usize] {
                let named = &named[*buffer as usize];
                let known = &mut storage_of[*buffer as usize];
                let index = *known.get_or_insert_with(|| {
                    let (size, align) = match named.kind {
                        Kind::Buffer { size, alignment } => (u64::from(size), u64::from(alignment)),
                        // Accesses were led to what is aliased.
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

    /// The buffer or alias of a name.
    pub fn id(&self, name: &str) -> Option<LdsId> {
        self.by_name.get(name).map(|&index| LdsId(index))
    }

    /// The accesses of a statement: the buffer, and what it does.
    pub(super) fn accesses_of(&self, event: Event) -> &[(u32, Access)] {
        match event {
            Event::Statement { from, to } => self.accesses.get(from as usize..to as usize).unwrap_or(&[]),
            _ => &[],
        }
    }

    /// Position of a step.
    pub(super) fn position(&self, step: usize) -> u64 {
        self.steps.get(step).map_or(self.positions.1, |step| step.position)
    }

    /// Whether there are loops or branches.
    pub(super) fn has_scopes(&self) -> bool {
        self.steps.iter().any(|s| !matches!(s.event, Event::Statement { .. } | Event::Barrier))
    }

    pub(super) fn storage(&self, id: LdsId) -> Result<Option<usize>, LdsError> {
        match self.named.get(id.index()) {
            Some((_, storage)) => Ok(storage.map(|index| index as usize)),
            None => Err(LdsError::UnknownId { index: id.index(), buffers: self.named.len() }),
        }
    }

    /// Lays the buffers out with the barriers that the kernel has, and those that
    /// [`promote_reuse`](LdsProgram::promote_reuse) inserted.
    ///
    /// # Errors
    /// [`LdsError::Check`] if the planner had a fault.
    pub fn layout(&self) -> Result<LdsLayout, LdsError> {
        layout::make(self, &self.inserted, u64::MAX, true)
    }

    /// Checks a layout from elsewhere, with barriers inserted before the given positions (what is not a position of
    /// something is passed over): offsets in bytes of the buffers that are accessed, in the order of their first access.
    /// Shares no code with what makes layouts.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn check(&self, offsets: &[u64], barriers_before: &[u64]) -> Result<(), CheckError> {
        let inserted: Vec<bool> =
            self.steps.iter().map(|step| barriers_before.contains(&step.position)).collect();
        check::check(self, &inserted, offsets, u64::from(u32::MAX)).map(drop)
    }

    /// Lets what begins next after a buffer's last access have its bytes: where no barrier lies between the two, one is
    /// inserted right before the other's first access, or before the condition that it is under; where both are in a
    /// loop, and nothing separates the one from the other on the way round, one is inserted at the end of its body too.
    /// Gives the positions before which barriers were inserted: none where those there are do, or nothing begins later.
    ///
    /// This is `promoteReuse` of nvFuser; [`layout_within`](LdsProgram::layout_within) finds out by itself where
    /// barriers are worth it.
    ///
    /// # Errors
    /// [`LdsError::NoPlaceForBarrier`], or an id of another builder. Nothing is then inserted.
    pub fn promote_reuse(&mut self, buffer: LdsId) -> Result<Vec<u64>, LdsError> {
        promote::promote_reuse(self, buffer)
    }

    /// The least bytes that barriers can bring the layout to: those that it needs with one wherever one helps.
    ///
    /// # Errors
    /// As [`layout`](LdsProgram::layout).
    pub fn least_bytes(&self) -> Result<u64, LdsError> {
        fewest::least(self)
    }

    /// Inserts the fewest barriers with which the layout fits `bytes`, besides those that
    /// [`promote_reuse`](LdsProgram::promote_reuse) inserted. Of as many, those in fewer loops are preferred.
    ///
    /// In a kernel without loops and branches a sweep gives the fewest at once, except where alignment or
    /// fragmentation costs bytes. Otherwise the sets of places are tried by increasing count, up to
    /// [`TRIED_LAYOUTS`](super::TRIED_LAYOUTS) layouts, and
    /// [`is_fewest`](LdsLayout::is_fewest) says whether that was enough to prove that fewer do not do.
    /// With many buffers the least layout for given barriers is not always found either; then nothing is proved.
    ///
    /// # Errors
    /// [`LdsError::OverBudget`], which says what would do; as [`layout`](LdsProgram::layout).
    pub fn layout_within(&self, bytes: u64) -> Result<LdsLayout, LdsError> {
        fewest::fewest(self, bytes)
    }

    /// Inserts the fewest barriers with which a compute unit's LDS holds `workgroups` workgroups, each with
    /// `static_lds` bytes besides; as [`layout_within`](LdsProgram::layout_within).
    ///
    /// # Errors
    /// [`LdsError::OverOccupancy`], which says what would do and what is possible; [`LdsError::StaticLds`]; as
    /// [`layout`](LdsProgram::layout).
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

/// Adds what the records of one position access, each buffer once.
fn statement(records: &[(u64, What)], root: &[u32], accesses: &mut Vec<(u32, Access)>) {
    let start = accesses.len();
    for &(_, what) in records {
        let What::Access(id, access) = what else { continue };
        let buffer = root.get(id.index()).copied().unwrap_or(0);
        match accesses.iter_mut().skip(start).find(|(other, _)| *other == buffer) {
            Some((_, other)) if *other != access => *other = Access::Update,
            Some(_) => {}
            None => accesses.push((buffer, access)),
        }
    }
}

/// Tells the begin of a loop or branch, and its `else`, where it ends; says who runs it.
fn close(steps: &mut [Step], begin: usize, index: usize) -> Option<Runs> {
    let (runs, second) = match &mut steps.get_mut(begin)?.event {
        Event::LoopBegin { runs, end } => {
            *end = index;
            (*runs, None)
        }
        Event::BranchBegin { runs, second, end } => {
            *end = index;
            (*runs, *second)
        }
        _ => return None,
    };
    if let Some(Step { event: Event::Else { end, .. }, .. }) = second.and_then(|at| steps.get_mut(at)) {
        *end = index;
    }
    Some(runs)
}

/// For each name the index of the buffer whose memory it has.
fn resolve(named: &[Named], by_name: &HashMap<Box<str>, u32>) -> Result<Vec<u32>, LdsError> {
    let mut root = Vec::with_capacity(named.len());
    for start in 0..named.len() as u32 {
        let (mut at, mut trail) = (start, Vec::new());
        while let Some(Named { name, kind: Kind::Alias { of } }) = named.get(at as usize) {
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
