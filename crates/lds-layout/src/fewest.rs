//! Finds the fewest barriers with which a layout fits a budget.
//!
//! In a kernel without loops and branches, barriers cut time into intervals, and an interval needs at least the bytes
//! that are live in it. A sweep that inserts each barrier as late as possible gives a lower bound of the number of
//! barriers, and its barriers are usually sufficient. Otherwise sets of candidates are tried by increasing size. More
//! barriers never need more bytes, so a set is abandoned as soon as adding all further candidates would not be
//! sufficient.

use code_object::occupancy::LdsCapacity;

use super::LdsError;
use super::bits::Bits;
use super::candidates::candidates;
use super::layout::{self, LdsLayout};
use super::place::{FitResult, fits, least_bytes, place};
use super::program::{LdsEvent, LdsUse};

/// The number of layouts that [`layout_within`](super::LdsUse::layout_within) tries at most to prove that fewer
/// barriers are not sufficient, for up to 16 buffers. For n buffers, more than 16, it is this number times 256 / n².
pub const TRIED_LAYOUTS: u64 = 20_000;

fn with(base: &[bool], gaps: &[usize]) -> Vec<bool> {
    let mut inserted = base.to_vec();
    for &gap in gaps {
        if let Some(inserted) = inserted.get_mut(gap) {
            *inserted = true;
        }
    }
    inserted
}

impl LdsUse {
    /// Returns the total in bytes with a barrier inserted wherever one helps: the least that barriers can achieve.
    ///
    /// # Errors
    /// Returns the same errors as [`layout`](LdsUse::layout).
    pub fn least_bytes(&self) -> Result<u64, LdsError> {
        Ok(place(self, &with(&self.inserted, &candidates(self)), u64::MAX)?.plan.total())
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
        fewest(self, bytes)
    }

    /// Inserts the fewest barriers with which the LDS of a compute unit holds `workgroups` workgroups, each with
    /// `static_lds` bytes of static LDS in addition. See [`layout_within`](LdsUse::layout_within).
    ///
    /// # Errors
    /// Returns [`LdsError::OverOccupancy`] if no barriers make that possible, with the occupancy that is possible;
    /// [`LdsError::Invalid`] if the static LDS alone is too large; and the errors of [`layout`](LdsUse::layout).
    pub fn layout_for_occupancy(
        &self,
        lds: LdsCapacity,
        workgroups: u32,
        static_lds: u32,
    ) -> Result<LdsLayout, LdsError> {
        let available = dynamic_bytes(lds, workgroups, static_lds)?;
        self.layout_within(available).map_err(|error| match error {
            LdsError::OverBudget { least, .. } => {
                let possible = lds.workgroups(least + u64::from(static_lds));
                LdsError::OverOccupancy { workgroups, available, least, possible }
            }
            other => other,
        })
    }
}

/// Returns the most bytes of dynamic LDS that each of `workgroups` workgroups may have for a compute unit to hold all of
/// them.
fn dynamic_bytes(lds: LdsCapacity, workgroups: u32, static_lds: u32) -> Result<u64, LdsError> {
    let bytes = lds.bytes;
    let each = bytes.checked_div(workgroups).unwrap_or(0);
    let whole = each - each % lds.granule.max(1);
    match whole.checked_sub(static_lds) {
        Some(dynamic) if workgroups > 0 && dynamic > 0 => Ok(u64::from(dynamic)),
        _ => Err(LdsError::invalid(format!(
            "{workgroups} workgroups with {static_lds} bytes of static LDS each do not fit a compute unit's {bytes} bytes"
        ))),
    }
}

fn fewest(program: &LdsUse, budget: u64) -> Result<LdsLayout, LdsError> {
    let base = &program.inserted;
    let as_it_is = fits(program, base, budget)?;
    if matches!(as_it_is, FitResult::Yes) {
        return layout::make(program, base, budget, true);
    }
    let candidates: Vec<usize> = candidates(program).into_iter().filter(|&gap| !base[gap]).collect();
    let everywhere = place(program, &with(base, &candidates), budget)?.plan;
    let mut search = Search::new(program, budget, &candidates);
    search.certain = matches!(as_it_is, FitResult::No);
    if everywhere.total() > budget {
        search.budget = everywhere.total();
        let barriers = search.thinned()?.len();
        return Err(LdsError::OverBudget {
            budget,
            least: everywhere.total(),
            lower_bound: everywhere.lower_bound(),
            barriers,
            proved: everywhere.lower_bound() > budget,
        });
    }
    let swept = if program.has_scopes() { None } else { search.sweep() };
    // Fewer barriers than the sweep's are never sufficient.
    let at_least = swept.as_ref().map_or(1, Vec::len);
    let gaps = match &swept {
        Some(gaps) if search.fits(gaps)? => gaps.clone(),
        _ => search.by_count(at_least)?,
    };
    let fewest = swept.is_some() && gaps.len() <= at_least || search.certain && search.left > 0;
    layout::make(program, &with(base, &gaps), budget, fewest)
}

struct Search<'a> {
    program: &'a LdsUse,
    candidates: &'a [usize],
    budget: u64,
    /// The number of layouts that may still be tried.
    left: u64,
    /// Whether each set that did not fit was proved not to fit.
    certain: bool,
}

impl<'a> Search<'a> {
    fn new(program: &'a LdsUse, budget: u64, candidates: &'a [usize]) -> Search<'a> {
        let buffers = program.storages.len() as u64;
        let left = TRIED_LAYOUTS * 256 / (buffers * buffers).max(256);
        Search { program, candidates, budget, left: left.max(1), certain: true }
    }

    fn fits(&mut self, gaps: &[usize]) -> Result<bool, LdsError> {
        let fits = fits(self.program, &with(&self.program.inserted, gaps), self.budget)?;
        self.certain &= !matches!(fits, FitResult::NotFound);
        Ok(matches!(fits, FitResult::Yes))
    }

    /// Returns all candidates but those that can be left out; those inside the most loops are left out first.
    fn thinned(&mut self) -> Result<Vec<usize>, LdsError> {
        let certain = self.certain;
        let mut gaps = self.candidates.to_vec();
        for at in (0..gaps.len()).rev() {
            let gap = gaps.remove(at);
            if !self.fits(&gaps)? {
                gaps.insert(at, gap);
            }
        }
        // Failing to leave one out proves nothing about smaller sets.
        self.certain = certain;
        Ok(gaps)
    }

    /// For a kernel without loops and branches: returns the fewest barriers with which no interval between two barriers
    /// has more live bytes than the budget.
    fn sweep(&self) -> Option<Vec<usize>> {
        let storages = &self.program.storages;
        let align = storages.iter().map(|storage| storage.align).min().unwrap_or(1);
        let mut gaps = Vec::new();
        // The buffers that are live in the interval so far, and those since the last candidate, where it can be cut.
        let empty = Bits::new(storages.len());
        let (mut stretch, mut block, mut cut) = (empty.clone(), empty.clone(), None);
        let is_candidate = with(&vec![false; self.program.steps.len()], self.candidates);
        let mut begins: Vec<usize> = (0..storages.len()).collect();
        begins.sort_by_key(|&i| storages[i].live.0);
        let mut begins = begins.into_iter().peekable();
        let mut live: Vec<usize> = Vec::new();
        let fits = |set: &Bits| {
            let (mut sum, mut padding) = (0, 0);
            for i in set.iter() {
                let size = storages[i].size;
                let rounded = size.next_multiple_of(align);
                (sum, padding) = (sum + rounded, u64::max(padding, rounded - size));
            }
            sum - padding <= self.budget
        };
        for (at, step) in self.program.steps.iter().enumerate() {
            let barrier = matches!(step.event, LdsEvent::Barrier) || self.program.inserted[at];
            if barrier || is_candidate[at] {
                live.retain(|&i| storages[i].live.1 >= at);
                if barrier {
                    stretch = empty.clone();
                    cut = None;
                } else {
                    stretch.add(&block);
                    cut = Some(at);
                }
                block = empty.clone();
                live.iter().for_each(|&i| block.insert(i));
            }
            while let Some(i) = begins.next_if(|&i| storages[i].live.0 == at) {
                live.push(i);
                block.insert(i);
            }
            let mut both = stretch.clone();
            both.add(&block);
            if !fits(&both) {
                gaps.push(cut.take()?);
                stretch = empty.clone();
                if !fits(&block) {
                    return None;
                }
            }
        }
        Some(gaps)
    }

    /// Returns the smallest set of candidates that fits, trying sizes from `least` up. If the number of trials is
    /// exhausted, returns the set of `thinned`.
    fn by_count(&mut self, least: usize) -> Result<Vec<usize>, LdsError> {
        let gaps = self.thinned()?;
        for count in least..gaps.len() {
            match self.of_count(count)? {
                Some(fewer) => return Ok(fewer),
                None if self.left == 0 => break,
                None => {}
            }
        }
        Ok(gaps)
    }

    /// Returns a set of `count` candidates that fits, if there is one.
    fn of_count(&mut self, count: usize) -> Result<Option<Vec<usize>>, LdsError> {
        let mut chosen = Vec::with_capacity(count);
        Ok(self.choose(0, count, &mut chosen)?.then_some(chosen))
    }

    fn choose(&mut self, from: usize, count: usize, chosen: &mut Vec<usize>) -> Result<bool, LdsError> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        if count == 0 {
            return self.fits(chosen);
        }
        let rest = self.candidates.get(from..).unwrap_or(&[]);
        if rest.len() < count {
            return Ok(false);
        }
        if rest.len() > count {
            let most = with(&with(&self.program.inserted, chosen), rest);
            if least_bytes(self.program, &most)? > self.budget {
                return Ok(false);
            }
        }
        for (at, &gap) in rest.iter().enumerate() {
            chosen.push(gap);
            if self.choose(from + at + 1, count - 1, chosen)? {
                return Ok(true);
            }
            chosen.pop();
        }
        Ok(false)
    }
}
