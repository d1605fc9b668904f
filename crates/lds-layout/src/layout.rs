//! A layout: the offsets, the total, and the barriers to insert with their reasons.

use std::fmt;

use offset_planner::verify;

use super::builder::LdsBufferId;
use super::check::{self, LayoutCheck};
use super::place::{Placed, place};
use super::program::{LdsEvent, LdsUse};
use super::separation::conflicts;
use super::{LayoutCheckError, LdsError};

/// A buffer with its offset in a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlacedBuffer {
    /// The name of the buffer.
    pub name: Box<str>,
    /// The offset of its first byte, in bytes from the start of the dynamic LDS.
    pub offset: u32,
    /// The size in bytes.
    pub size: u32,
    /// The first and last position at which its contents are needed: from the first access to the last, extended to the
    /// whole of every loop that carries the contents from one iteration to the next.
    pub live: (u64, u64),
}

/// A barrier that the code generator has to insert.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InsertedBarrier {
    /// The position before which the barrier goes.
    pub before: u64,
    /// What is at that position.
    pub place: BarrierPosition,
    /// The pairs of buffers that share bytes and that nothing but this barrier separates. Of each pair, the buffer
    /// whose lifetime begins first comes first.
    pub separates: Vec<(Box<str>, Box<str>)>,
    /// The number of bytes that the layout would grow by without this barrier.
    pub saves: u64,
}

/// What an inserted barrier is placed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierPosition {
    /// A statement, or another barrier.
    Statement,
    /// The end of a loop's body: the barrier separates one iteration from the next.
    LoopEnd,
    /// The begin of a loop: the barrier runs once, before the loop.
    LoopBegin,
    /// The begin of a branch.
    BranchBegin,
    /// The end of a branch's arm.
    ArmEnd,
}

impl fmt::Display for InsertedBarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            BarrierPosition::Statement => "",
            BarrierPosition::LoopEnd => " (the end of a loop's body)",
            BarrierPosition::LoopBegin => " (the begin of a loop)",
            BarrierPosition::BranchBegin => " (the begin of a branch)",
            BarrierPosition::ArmEnd => " (the end of a branch's arm)",
        };
        write!(f, "barrier before {}{place}: saves {} bytes", self.before, self.saves)?;
        for (i, (first, second)) in self.separates.iter().enumerate() {
            write!(f, "{} `{first}` and `{second}`", if i == 0 { "; separates" } else { "," })?;
        }
        Ok(())
    }
}

/// A checked layout: an offset in the dynamic LDS for each buffer of a kernel.
#[derive(Clone, Debug)]
pub struct LdsLayout {
    pub(super) buffers: Vec<PlacedBuffer>,
    /// Each name, and the index of its buffer.
    named: Vec<(Box<str>, Option<u32>)>,
    /// The positions of the kernel's own barriers, and whether each one counts.
    pub(super) barriers: Vec<(u64, bool)>,
    pub(super) inserted: Vec<InsertedBarrier>,
    total: u32,
    lower_bound: u32,
    fewest: bool,
    verdict: LayoutCheck,
}

impl LdsLayout {
    /// Returns the buffers that are accessed, in the order of their first access.
    pub fn buffers(&self) -> &[PlacedBuffer] {
        &self.buffers
    }

    /// Returns the offset of a buffer or alias in bytes, or `None` if it is never accessed or its number is unknown.
    pub fn offset(&self, buffer: LdsBufferId) -> Option<u32> {
        self.offset_of_named(self.named.get(buffer.index())?)
    }

    /// Returns the offset of the named buffer or alias in bytes, or `None` if it is never accessed or unknown.
    pub fn offset_of(&self, name: &str) -> Option<u32> {
        self.offset_of_named(self.named.iter().find(|(its, _)| &**its == name)?)
    }

    fn offset_of_named(&self, named: &(Box<str>, Option<u32>)) -> Option<u32> {
        Some(self.buffers.get(named.1? as usize)?.offset)
    }

    /// Returns the bytes of dynamic LDS that a launch needs.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Returns a lower bound in bytes: no layout with these barriers needs less.
    pub fn lower_bound(&self) -> u32 {
        self.lower_bound
    }

    /// Returns whether it is proved that no layout with these barriers needs fewer bytes.
    pub fn is_least(&self) -> bool {
        self.total == self.lower_bound
    }

    /// Returns the barriers to insert in program order, including those of [`promote_reuse`](LdsUse::promote_reuse).
    pub fn inserted(&self) -> &[InsertedBarrier] {
        &self.inserted
    }

    /// Returns whether it is proved that no smaller number of barriers is sufficient, not counting those of
    /// [`promote_reuse`](LdsUse::promote_reuse).
    pub fn is_fewest(&self) -> bool {
        self.fewest
    }

    /// Returns counts of what was checked. A layout that fails a check is never returned.
    pub fn verdict(&self) -> LayoutCheck {
        self.verdict
    }
}

impl LdsUse {
    /// Lays out the buffers with the barriers of the kernel and those that [`promote_reuse`](LdsUse::promote_reuse)
    /// inserted.
    ///
    /// # Errors
    /// Returns [`LdsError::Check`] if the planner has a bug that the checks found.
    pub fn layout(&self) -> Result<LdsLayout, LdsError> {
        make(self, &self.inserted, u64::MAX, true)
    }
}

/// Plans a layout, within the budget if that was found to be possible; then checks it and explains its barriers.
pub(super) fn make(
    program: &LdsUse,
    inserted: &[bool],
    budget: u64,
    fewest: bool,
) -> Result<LdsLayout, LdsError> {
    let placed = place(program, inserted, budget)?;
    let verdict = checked(program, inserted, &placed)?;
    let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let buffers = program
        .storages
        .iter()
        .zip(placed.plan.offsets())
        .map(|(storage, &offset)| PlacedBuffer {
            name: storage.name.clone(),
            offset: narrow(offset),
            size: narrow(storage.size),
            live: (program.position(storage.live.0), program.position(storage.live.1)),
        })
        .collect();
    let barriers = program.steps.iter().filter(|step| matches!(step.event, LdsEvent::Barrier));
    Ok(LdsLayout {
        buffers,
        named: program.named.clone(),
        barriers: barriers.map(|step| (step.position, !step.divergent)).collect(),
        inserted: explained(program, inserted, &placed)?,
        // The builder keeps the sum of all buffers below `u32::MAX`.
        total: narrow(placed.plan.total()),
        lower_bound: narrow(placed.plan.lower_bound()),
        fewest,
        verdict,
    })
}

fn checked(program: &LdsUse, inserted: &[bool], placed: &Placed) -> Result<LayoutCheck, LdsError> {
    let Placed { problem, plan } = placed;
    verify(problem, plan).map_err(LayoutCheckError::from)?;
    let buffers = program.storages.len();
    let verified = match problem.has_intervals() {
        true => buffers * buffers.saturating_sub(1) / 2,
        false => problem.conflicts().len(),
    };
    let (sharing, walked) = check::check(program, inserted, plan.offsets(), plan.total())?;
    Ok(LayoutCheck { sharing, verified, walked })
}

/// Says what each inserted barrier separates and saves.
fn explained(program: &LdsUse, inserted: &[bool], placed: &Placed) -> Result<Vec<InsertedBarrier>, LdsError> {
    let mut explained = Vec::new();
    let (offsets, total) = (placed.plan.offsets(), placed.plan.total());
    let shares = |a: usize, b: usize| {
        let span = |i: usize| (offsets[i], offsets[i] + program.storages[i].size);
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
                LdsEvent::Statement { .. } | LdsEvent::Barrier => BarrierPosition::Statement,
                LdsEvent::LoopEnd { .. } => BarrierPosition::LoopEnd,
                LdsEvent::LoopBegin { .. } => BarrierPosition::LoopBegin,
                LdsEvent::BranchBegin { .. } => BarrierPosition::BranchBegin,
                LdsEvent::Else { .. } | LdsEvent::BranchEnd => BarrierPosition::ArmEnd,
            },
            separates: separates.into_iter().map(|(a, b)| (name(a), name(b))).collect(),
            saves: place(program, &without, u64::MAX)?.plan.total().saturating_sub(total),
        });
    }
    Ok(explained)
}
