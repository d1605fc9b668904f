//! Recording what a kernel does with its LDS.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::LdsError;
use super::program::{LdsProgram, Raw};

/// A buffer or alias of an [`LdsBuilder`], in the order in which they were added, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LdsId(pub(super) u32);

impl LdsId {
    /// Its number, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Who runs a loop's body, or a branch's arms.
///
/// A barrier counts where every work-item of the workgroup comes by: not in what is divergent, and on the paths that
/// go through it where it is uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Runs {
    /// Work-items of one workgroup may differ. Barriers inside do not count, and none is inserted there.
    Divergent,
    /// All work-items do the same: the loop may run zero times, and either arm of the branch may be taken.
    Uniform,
    /// All work-items do the same, and the loop runs at least once, or the branch's condition is true: its first arm is
    /// always taken.
    Executed,
}

/// Bytes that the widest LDS access wants a buffer aligned to (`ds_read_b128`).
pub(super) const DEFAULT_ALIGNMENT: u64 = 16;

/// What a buffer does in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    Update,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Access(LdsId, Access),
    Barrier,
    LoopBegin(Runs),
    LoopEnd,
    BranchBegin(Runs),
    Else,
    BranchEnd,
}

impl What {
    pub(super) fn name(self) -> &'static str {
        match self {
            What::Access(..) => "an access",
            What::Barrier => "a barrier",
            What::LoopBegin(_) => "the begin of a loop",
            What::LoopEnd => "the end of a loop",
            What::BranchBegin(_) => "the begin of a branch",
            What::Else => "an `else`",
            What::BranchEnd => "the end of a branch",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Buffer { size: u32, alignment: u32 },
    Alias { of: Box<str> },
}

#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) name: Box<str>,
    pub(super) kind: Kind,
}

/// Records what a kernel does with its LDS: buffers, their accesses, barriers, loops and branches, each at a position.
///
/// Positions number the kernel's statements in program order; the accesses of one statement have one position, and
/// everything else one of its own. Loops and branches are begun and ended in the order of their positions; accesses and
/// barriers may be told in any order. A way out in the middle, such as `break` or `return`, is a branch around what it
/// skips.
#[derive(Clone, Debug)]
pub struct LdsBuilder {
    first: u64,
    last: u64,
    named: Vec<Named>,
    by_name: HashMap<Box<str>, u32>,
    records: Vec<(u64, What)>,
    /// Begins of the open loops and branches.
    open: Vec<(u64, What)>,
    last_mark: Option<u64>,
    /// All buffers end to end, each with its alignment at its worst.
    sum: u64,
}

impl LdsBuilder {
    /// A kernel with these positions, and no LDS yet.
    ///
    /// # Errors
    /// [`LdsError::NoPositions`] for an empty range.
    pub fn new(positions: RangeInclusive<u64>) -> Result<LdsBuilder, LdsError> {
        let (first, last) = positions.into_inner();
        if last < first {
            return Err(LdsError::NoPositions { first, last });
        }
        Ok(LdsBuilder {
            first,
            last,
            named: Vec::new(),
            by_name: HashMap::new(),
            records: Vec::new(),
            open: Vec::new(),
            last_mark: None,
            sum: 0,
        })
    }

    /// Adds a buffer of `size` bytes, aligned to 16, which suits every LDS access.
    ///
    /// # Errors
    /// As [`buffer_aligned`](LdsBuilder::buffer_aligned).
    pub fn buffer(&mut self, name: impl Into<Box<str>>, size: u64) -> Result<LdsId, LdsError> {
        self.buffer_aligned(name, size, DEFAULT_ALIGNMENT)
    }

    /// Adds a buffer of `size` bytes whose offset is a multiple of `alignment`, a power of two.
    ///
    /// # Errors
    /// A size of 0, one that takes all buffers together over `u32::MAX`, an alignment that is no power of two, or a
    /// name that is there already.
    pub fn buffer_aligned(
        &mut self,
        name: impl Into<Box<str>>,
        size: u64,
        alignment: u64,
    ) -> Result<LdsId, LdsError> {
        let name = name.into();
        if size == 0 {
            return Err(LdsError::ZeroSize { buffer: name });
        }
        if !alignment.is_power_of_two() {
            return Err(LdsError::Alignment { buffer: name, alignment });
        }
        let sum = size.checked_add(alignment - 1).and_then(|bytes| bytes.checked_add(self.sum));
        let (Some(sum), Ok(bytes), Ok(align)) =
            (sum.filter(|&sum| sum <= u64::from(u32::MAX)), u32::try_from(size), u32::try_from(alignment))
        else {
            return Err(LdsError::TooLarge { buffer: name, size });
        };
        let id = self.add(name, Kind::Buffer { size: bytes, alignment: align })?;
        self.sum = sum;
        Ok(id)
    }

    /// Adds another name of a buffer, or of another alias, which may be added later. Both have the same memory, and
    /// accesses of one are accesses of the other.
    ///
    /// # Errors
    /// A name that is there already. [`build`](LdsBuilder::build) refuses aliases of nothing and of each other.
    pub fn alias(&mut self, name: impl Into<Box<str>>, of: impl Into<Box<str>>) -> Result<LdsId, LdsError> {
        self.add(name.into(), Kind::Alias { of: of.into() })
    }

    fn add(&mut self, name: Box<str>, kind: Kind) -> Result<LdsId, LdsError> {
        if self.by_name.contains_key(&name) {
            return Err(LdsError::DuplicateBuffer { buffer: name });
        }
        // 2^32 names do not fit into memory together with what refers to them.
        let id = self.named.len() as u32;
        self.by_name.insert(name.clone(), id);
        self.named.push(Named { name, kind });
        Ok(LdsId(id))
    }

    /// Says that a statement reads a buffer.
    ///
    /// # Errors
    /// A position outside of the kernel's, or an id of another builder.
    pub fn read(&mut self, buffer: LdsId, position: u64) -> Result<(), LdsError> {
        self.record(position, What::Access(buffer, Access::Read))
    }

    /// Says that a statement writes a buffer, and that nothing which was in it before matters any more. One that leaves
    /// some of it in place is an [`update`](LdsBuilder::update).
    ///
    /// # Errors
    /// As [`read`](LdsBuilder::read).
    pub fn write(&mut self, buffer: LdsId, position: u64) -> Result<(), LdsError> {
        self.record(position, What::Access(buffer, Access::Write))
    }

    /// Says that a statement reads and writes a buffer, or writes a part of it.
    ///
    /// # Errors
    /// As [`read`](LdsBuilder::read).
    pub fn update(&mut self, buffer: LdsId, position: u64) -> Result<(), LdsError> {
        self.record(position, What::Access(buffer, Access::Update))
    }

    /// Says that the kernel has a barrier of its workgroup (`__syncthreads`) there.
    ///
    /// # Errors
    /// A position outside of the kernel's.
    pub fn barrier(&mut self, position: u64) -> Result<(), LdsError> {
        self.record(position, What::Barrier)
    }

    /// Begins a loop.
    ///
    /// # Errors
    /// A position outside of the kernel's, or not behind the last begin or end.
    pub fn begin_loop(&mut self, position: u64, runs: Runs) -> Result<(), LdsError> {
        self.begin(position, What::LoopBegin(runs))
    }

    /// Ends the innermost loop: from here the body runs again.
    ///
    /// # Errors
    /// As [`begin_loop`](LdsBuilder::begin_loop), or that the innermost of what is open is no loop.
    pub fn end_loop(&mut self, position: u64) -> Result<(), LdsError> {
        self.mark(position, What::LoopEnd, |open| matches!(open, What::LoopBegin(_)))?;
        self.open.pop();
        Ok(())
    }

    /// Begins a branch, with its first arm.
    ///
    /// # Errors
    /// As [`begin_loop`](LdsBuilder::begin_loop).
    pub fn begin_branch(&mut self, position: u64, runs: Runs) -> Result<(), LdsError> {
        self.begin(position, What::BranchBegin(runs))
    }

    /// Begins the second arm of the innermost branch.
    ///
    /// # Errors
    /// As [`begin_loop`](LdsBuilder::begin_loop), or that the innermost of what is open is no branch in its first arm.
    pub fn begin_else(&mut self, position: u64) -> Result<(), LdsError> {
        self.mark(position, What::Else, |open| matches!(open, What::BranchBegin(_)))?;
        self.open.pop();
        self.open.push((position, What::Else));
        Ok(())
    }

    /// Ends the innermost branch.
    ///
    /// # Errors
    /// As [`begin_loop`](LdsBuilder::begin_loop), or that the innermost of what is open is no branch.
    pub fn end_branch(&mut self, position: u64) -> Result<(), LdsError> {
        self.mark(position, What::BranchEnd, |open| matches!(open, What::BranchBegin(_) | What::Else))?;
        self.open.pop();
        Ok(())
    }

    /// Checks what concerns the kernel as a whole, and gives it.
    ///
    /// # Errors
    /// A loop or branch without an end, two things at one position that are not accesses of one statement, an alias of
    /// nothing, or aliases that name each other.
    pub fn build(self) -> Result<LdsProgram, LdsError> {
        if let Some(&(position, what)) = self.open.last() {
            let what = if matches!(what, What::LoopBegin(_)) { "loop" } else { "branch" };
            return Err(LdsError::Unclosed { what, position });
        }
        LdsProgram::new(Raw {
            positions: (self.first, self.last),
            named: self.named,
            by_name: self.by_name,
            records: self.records,
        })
    }

    fn begin(&mut self, position: u64, what: What) -> Result<(), LdsError> {
        self.mark(position, what, |_| true)?;
        self.open.push((position, what));
        Ok(())
    }

    fn mark(&mut self, position: u64, what: What, fits: impl Fn(What) -> bool) -> Result<(), LdsError> {
        let begins = matches!(what, What::LoopBegin(_) | What::BranchBegin(_));
        let open = self.open.last().map(|&(at, open)| (at, open));
        if !begins && !open.is_some_and(|(_, open)| fits(open)) {
            let open = match open {
                Some((at, open)) => format!("{} at {at}", open.name()).into(),
                None => "nothing".into(),
            };
            return Err(LdsError::NotOpen { what: what.name(), position, open });
        }
        if let Some(after) = self.last_mark.filter(|&after| position <= after) {
            return Err(LdsError::NotIncreasing { what: what.name(), position, after });
        }
        self.record(position, what)?;
        self.last_mark = Some(position);
        Ok(())
    }

    fn record(&mut self, position: u64, what: What) -> Result<(), LdsError> {
        let name = match what {
            What::Access(id, _) => match self.named.get(id.index()) {
                Some(named) => Some(&named.name),
                None => {
                    return Err(LdsError::UnknownId { index: id.index(), buffers: self.named.len() });
                }
            },
            _ => None,
        };
        if position < self.first || position > self.last {
            let what = match name {
                Some(name) => format!("an access of buffer `{name}`").into(),
                None => what.name().into(),
            };
            let (first, last) = (self.first, self.last);
            return Err(LdsError::OutsideOfKernel { what, position, first, last });
        }
        self.records.push((position, what));
        Ok(())
    }
}
