//! The fewest barriers with which a layout fits a budget.
//!
//! In a kernel without loops and branches, barriers cut time into stretches, and what is live in one stretch is the
//! least that it needs: a sweep that puts each barrier as late as that lets it is no more than any set needs, and mostly
//! is enough. Else the sets of candidates are tried by increasing count. More barriers never need more bytes, so a set
//! is given up as soon as not even all further candidates with it are enough.

use super::LdsError;
use super::bits::Bits;
use super::candidates::candidates;
use super::layout::{self, LdsLayout};
use super::pack::{self, Item};
use super::place::{Fits, fits, items, place};
use super::program::{Event, LdsProgram};
use super::separation::conflicts;

/// Layouts that [`layout_within`](super::LdsProgram::layout_within) tries at most to prove that fewer barriers do not
/// do, of up to 16 buffers each; of n buffers, 256 / n^2 as many.
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

/// What every candidate together brings the total to.
pub(super) fn least(program: &LdsProgram) -> Result<u64, LdsError> {
    Ok(place(program, &with(&program.inserted, &candidates(program)), u64::MAX)?.total)
}

pub(super) fn fewest(program: &LdsProgram, budget: u64) -> Result<LdsLayout, LdsError> {
    let base = &program.inserted;
    let as_it_is = fits(program, base, budget)?;
    if matches!(as_it_is, Fits::Yes) {
        return layout::make(program, base, budget, true);
    }
    let candidates: Vec<usize> = candidates(program).into_iter().filter(|&gap| !base[gap]).collect();
    let everywhere = place(program, &with(base, &candidates), budget)?;
    let mut search = Search::new(program, budget, &candidates);
    search.certain = matches!(as_it_is, Fits::No);
    if everywhere.total > budget {
        search.budget = everywhere.total;
        let barriers = search.thinned()?.len();
        return Err(LdsError::OverBudget {
            budget,
            least: everywhere.total,
            lower_bound: everywhere.lower_bound,
            barriers,
            proved: everywhere.lower_bound > budget,
        });
    }
    let swept = if program.has_scopes() { None } else { search.sweep() };
    // Fewer than the sweep's can't do, whatever the planner finds.
    let at_least = swept.as_ref().map_or(1, Vec::len);
    let gaps = match &swept {
        Some(gaps) if search.fits(gaps)? => gaps.clone(),
        _ => search.by_count(at_least)?,
    };
    let fewest = swept.is_some() && gaps.len() <= at_least || search.certain && search.left > 0;
    layout::make(program, &with(base, &gaps), budget, fewest)
}

struct Search<'a> {
    program: &'a LdsProgram,
    candidates: &'a [usize],
    items: Vec<Item>,
    budget: u64,
    /// Layouts that may still be tried.
    left: u64,
    /// Whether for every set that did not fit it was proved.
    certain: bool,
}

impl<'a> Search<'a> {
    fn new(program: &'a LdsProgram, budget: u64, candidates: &'a [usize]) -> Search<'a> {
        let buffers = program.storages.len() as u64;
        let left = TRIED_LAYOUTS * 256 / (buffers * buffers).max(256);
        Search { program, candidates, items: items(program), budget, left: left.max(1), certain: true }
    }

    fn fits(&mut self, gaps: &[usize]) -> Result<bool, LdsError> {
        let fits = fits(self.program, &with(&self.program.inserted, gaps), self.budget)?;
        self.certain &= !matches!(fits, Fits::NotFound);
        Ok(matches!(fits, Fits::Yes))
    }

    /// All candidates, less those that can go, the deepest in loops first.
    fn thinned(&mut self) -> Result<Vec<usize>, LdsError> {
        let certain = self.certain;
        let mut gaps = self.candidates.to_vec();
        for at in (0..gaps.len()).rev() {
            let gap = gaps.remove(at);
            if !self.fits(&gaps)? {
                gaps.insert(at, gap);
            }
        }
        // Which of them can go says nothing about fewer.
        self.certain = certain;
        Ok(gaps)
    }

    /// For a kernel without loops and branches: the fewest barriers with which no stretch between two has more bytes
    /// live than the budget.
    fn sweep(&self) -> Option<Vec<usize>> {
        let align = self.items.iter().map(|item| item.1).min().unwrap_or(1);
        let mut gaps = Vec::new();
        // What is live in the stretch so far, and since the last candidate, which is where it could be cut.
        let empty = Bits::new(self.items.len());
        let (mut stretch, mut block, mut cut) = (empty.clone(), empty.clone(), None);
        let storages = &self.program.storages;
        let is_candidate = with(&vec![false; self.program.steps.len()], self.candidates);
        let mut begins: Vec<usize> = (0..storages.len()).collect();
        begins.sort_by_key(|&i| storages[i].live.0);
        let mut begins = begins.into_iter().peekable();
        let mut live: Vec<usize> = Vec::new();
        let fits = |set: &Bits| {
            let (mut sum, mut padding) = (0, 0);
            for i in set.iter() {
                let size = self.items[i].0;
                let rounded = pack::align_up(size, align);
                (sum, padding) = (sum + rounded, u64::max(padding, rounded - size));
            }
            sum - padding <= self.budget
        };
        for (at, step) in self.program.steps.iter().enumerate() {
            let barrier = matches!(step.event, Event::Barrier) || self.program.inserted[at];
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

    /// The fewest candidates that fit, tried from `least` on; all less what can go, where the trials run out.
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

    /// A set of `count` candidates that fits, if there is one.
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
            if pack::lower_bound(&self.items, &conflicts(self.program, &most)) > self.budget {
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
