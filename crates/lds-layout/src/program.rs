//! A kernel's use of LDS in program order.

use std::collections::HashMap;

use super::LdsError;
use super::builder::{Access, LdsBufferId, Uniformity};

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
    pub(super) by_name: HashMap<Box<str>, u32>,
    /// Whether a barrier is inserted before each step.
    pub(super) inserted: Vec<bool>,
}

impl LdsUse {
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
            None => Err(LdsError::unknown_id(id.index(), self.named.len())),
        }
    }
}
