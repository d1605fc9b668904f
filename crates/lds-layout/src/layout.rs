//! What a layout says: offsets, the total, and which barriers to insert and why.

use std::fmt;

use offset_planner::{Buffer, Problem, verify, verify_offsets};

use super::LdsError;
use super::bits::Relation;
use super::builder::LdsId;
use super::check::{self, CheckError, Verdict};
use super::place::{Ground, Placed, place};
use super::program::{Event, LdsProgram};
use super::separation::conflicts;

/// A buffer of a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LdsSlot {
    /// Its name.
    pub name: Box<str>,
    /// Where it begins, in bytes from the start of the dynamic LDS.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// First and last position at which it holds something: its first and last access, and all of every loop that it is
    /// carried round.
    pub live: (u64, u64),
}

/// A barrier that the code generator has to insert.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InsertedBarrier {
    /// Right before what is at this position.
    pub before: u64,
    /// What is there.
    pub place: BarrierPlace,
    /// The buffers that have bytes in common and that nothing else separates, the one that begins first in front.
    pub separates: Vec<(Box<str>, Box<str>)>,
    /// Bytes that the layout would need more without it.
    pub saves: u64,
}

/// What an inserted barrier stands before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierPlace {
    /// A statement, or another barrier.
    Statement,
    /// The end of a loop's body: it separates one pass from the next.
    LoopEnd,
    /// The begin of a loop: it runs once.
    LoopBegin,
    /// The begin of a branch.
    BranchBegin,
    /// The end of a branch's arm.
    ArmEnd,
}

impl fmt::Display for InsertedBarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            BarrierPlace::Statement => "",
            BarrierPlace::LoopEnd => " (the end of a loop's body)",
            BarrierPlace::LoopBegin => " (the begin of a loop)",
            BarrierPlace::BranchBegin => " (the begin of a branch)",
            BarrierPlace::ArmEnd => " (the end of a branch's arm)",
        };
        write!(f, "barrier before {}{place}: saves {} bytes", self.before, self.saves)?;
        for (i, (first, second)) in self.separates.iter().enumerate() {
            write!(f, "{} `{first}` and `{second}`", if i == 0 { "; separates" } else { "," })?;
        }
        Ok(())
    }
}

/// Where each buffer of a kernel goes in its dynamic LDS, checked.
#[derive(Clone, Debug)]
pub struct LdsLayout {
    pub(super) slots: Vec<LdsSlot>,
    /// Each name, and its slot.
    named: Vec<(Box<str>, Option<u32>)>,
    /// Positions of the kernel's own barriers, and whether they count.
    pub(super) barriers: Vec<(u64, bool)>,
    pub(super) inserted: Vec<InsertedBarrier>,
    total: u32,
    lower_bound: u32,
    fewest: bool,
    verdict: Verdict,
}

impl LdsLayout {
    /// The buffers that are accessed, in the order of their first access.
    pub fn slots(&self) -> &[LdsSlot] {
        &self.slots
    }

    /// The offset of a buffer or alias in bytes; `None` for one that is never accessed, or of another kernel.
    pub fn offset(&self, buffer: LdsId) -> Option<u32> {
        self.slot_of(self.named.get(buffer.index())?)
    }

    /// The offset of the buffer or alias of a name, in bytes; `None` for one that is never accessed, or not there.
    pub fn offset_of(&self, name: &str) -> Option<u32> {
        self.slot_of(self.named.iter().find(|(its, _)| &**its == name)?)
    }

    fn slot_of(&self, named: &(Box<str>, Option<u32>)) -> Option<u32> {
        Some(self.slots.get(named.1? as usize)?.offset)
    }

    /// Bytes of dynamic LDS that a launch needs.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// No layout with these barriers needs less than this, in bytes.
    pub fn lower_bound(&self) -> u32 {
        self.lower_bound
    }

    /// Whether it is proved that no layout with these barriers needs less.
    pub fn is_least(&self) -> bool {
        self.total == self.lower_bound
    }

    /// The barriers to insert, in program order: those of [`promote_reuse`](LdsProgram::promote_reuse) among them.
    pub fn inserted(&self) -> &[InsertedBarrier] {
        &self.inserted
    }

    /// Whether it is proved that fewer barriers do not do, besides those of
    /// [`promote_reuse`](LdsProgram::promote_reuse).
    pub fn is_fewest(&self) -> bool {
        self.fewest
    }

    /// What was checked; a layout that is not right is never given out.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }
}

/// Lays out, within the budget if that was found to be possible, checks and explains.
pub(super) fn make(
    program: &LdsProgram,
    inserted: &[bool],
    budget: u64,
    fewest: bool,
) -> Result<LdsLayout, LdsError> {
    let placed = place(program, inserted, budget)?;
    let verdict = checked(program, inserted, &placed)?;
    let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let slots = program
        .storages
        .iter()
        .zip(&placed.offsets)
        .map(|(storage, &offset)| LdsSlot {
            name: storage.name.clone(),
            offset: narrow(offset),
            size: narrow(storage.size),
            live: (program.position(storage.live.0), program.position(storage.live.1)),
        })
        .collect();
    let barriers = program.steps.iter().filter(|step| matches!(step.event, Event::Barrier));
    Ok(LdsLayout {
        slots,
        named: program.named.clone(),
        barriers: barriers.map(|step| (step.position, !step.divergent)).collect(),
        inserted: explained(program, inserted, &placed)?,
        // The builder keeps the sum of all buffers below this.
        total: narrow(placed.total),
        lower_bound: narrow(placed.lower_bound),
        fewest,
        verdict,
    })
}

fn checked(program: &LdsProgram, inserted: &[bool], placed: &Placed) -> Result<Verdict, LdsError> {
    let verified = match &placed.ground {
        Ground::Epochs(ground) => {
            let (problem, plan) = &**ground;
            verify(problem, plan).map_err(CheckError::from)?;
            let buffers = program.storages.len();
            buffers * buffers.saturating_sub(1) / 2
        }
        Ground::Conflicts(conflicts) => by_pairs(program, conflicts, &placed.offsets)?,
    };
    let (sharing, walked) = check::check(program, inserted, &placed.offsets, placed.total)?;
    Ok(Verdict { sharing, verified, walked })
}

/// Has the verifier of `offsets` check a relation that is not one of intervals: one instant for each pair that may not
/// share, in which both are live.
fn by_pairs(program: &LdsProgram, conflicts: &Relation, offsets: &[u64]) -> Result<usize, LdsError> {
    let mut problem = Problem::builder();
    let mut at = Vec::new();
    let mut pairs = 0;
    for (instant, (a, b)) in conflicts.pairs().enumerate() {
        for (index, side) in [(a, "first"), (b, "second")] {
            let (Some(storage), Some(&offset)) = (program.storages.get(index), offsets.get(index)) else {
                let buffers = program.storages.len();
                return Err(CheckError::Count { offsets: offsets.len(), buffers }.into());
            };
            let name = format!("{} ({side} of pair {instant})", storage.name);
            let instant = instant as u64;
            let buffer = Buffer::closed(name, storage.size, instant..=instant).aligned(storage.align);
            problem.add(buffer)?;
            at.push(offset);
        }
        pairs += 1;
    }
    verify_offsets(&problem.build()?, &at).map_err(CheckError::from)?;
    Ok(pairs)
}

/// What each inserted barrier is good for.
fn explained(
    program: &LdsProgram,
    inserted: &[bool],
    placed: &Placed,
) -> Result<Vec<InsertedBarrier>, LdsError> {
    let mut explained = Vec::new();
    let shares = |a: usize, b: usize| {
        let span = |i: usize| (placed.offsets[i], placed.offsets[i] + program.storages[i].size);
        let ((a_start, a_end), (b_start, b_end)) = (span(a), span(b));
        a_start < b_end && b_start < a_end
    };
    for (gap, step) in program.steps.iter().enumerate().filter(|&(gap, _)| inserted[gap]) {
        let mut without = inserted.to_vec();
        without[gap] = false;
        let separates =
            conflicts(program, &without).pairs().filter(|&(a, b)| shares(a, b)).collect::<Vec<_>>();
        let name = |i: usize| program.storages[i].name.clone();
        explained.push(InsertedBarrier {
            before: step.position,
            place: match step.event {
                Event::Statement { .. } | Event::Barrier => BarrierPlace::Statement,
                Event::LoopEnd { .. } => BarrierPlace::LoopEnd,
                Event::LoopBegin { .. } => BarrierPlace::LoopBegin,
                Event::BranchBegin { .. } => BarrierPlace::BranchBegin,
                Event::Else { .. } | Event::BranchEnd => BarrierPlace::ArmEnd,
            },
            separates: separates.into_iter().map(|(a, b)| (name(a), name(b))).collect(),
            saves: place(program, &without, u64::MAX)?.total.saturating_sub(placed.total),
        });
    }
    Ok(explained)
}
