//! Records what a kernel does with its LDS.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::LdsError;

/// Names a buffer or alias of an [`LdsBuilder`]. Numbers are given in the order in which they are added, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LdsBufferId(pub(super) u32);

impl LdsBufferId {
    /// Returns the number of the buffer or alias, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Says whether all work-items of a workgroup execute a loop or branch together.
///
/// A barrier separates accesses only where every work-item of the workgroup executes it: never in a divergent loop or
/// branch, and in a uniform one only on the paths that go through the barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uniformity {
    /// Work-items of one workgroup may take different paths. Barriers inside do not count, and none is inserted there.
    Divergent,
    /// All work-items take the same path. The loop may run zero times, and either arm of the branch may be taken.
    Uniform,
    /// All work-items take the same path, and the body is executed: the loop runs at least once, or the branch takes
    /// its first arm.
    UniformTaken,
}

/// The alignment in bytes of the widest LDS access (`ds_read_b128`).
pub(super) const DEFAULT_ALIGNMENT: u64 = 16;

/// What a statement does with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    Update,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LdsStatement {
    Access(LdsBufferId, Access),
    Barrier,
    LoopBegin(Uniformity),
    LoopEnd,
    BranchBegin(Uniformity),
    Else,
    BranchEnd,
}

impl LdsStatement {
    pub(super) fn name(self) -> &'static str {
        match self {
            LdsStatement::Access(..) => "an access",
            LdsStatement::Barrier => "a barrier",
            LdsStatement::LoopBegin(_) => "the begin of a loop",
            LdsStatement::LoopEnd => "the end of a loop",
            LdsStatement::BranchBegin(_) => "the begin of a branch",
            LdsStatement::Else => "an `else`",
            LdsStatement::BranchEnd => "the end of a branch",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Buffer { size: u32, alignment: u32 },
    Alias { of: Box<str> },
}

#[derive(Clone, Debug)]
pub(super) struct NamedBuffer {
    pub(super) name: Box<str>,
    pub(super) kind: Kind,
}

/// Records what a kernel does with its LDS: buffers, their accesses, barriers, loops and branches, each at a position.
///
/// Positions number the statements of the kernel in program order. The accesses of one statement share a position;
/// every barrier, begin and end has a position of its own. Loops and branches are recorded in the order of their
/// positions; accesses and barriers in any order. Record a `break` or `return` as a branch around the statements that
/// it skips.
#[derive(Clone, Debug)]
pub struct LdsBuilder {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) named: Vec<NamedBuffer>,
    pub(super) by_name: HashMap<Box<str>, u32>,
    pub(super) records: Vec<(u64, LdsStatement)>,
    /// The open loops and branches, by the position at which they begin.
    pub(super) open: Vec<(u64, LdsStatement)>,
    last_mark: Option<u64>,
    /// An upper bound of the bytes of all buffers end to end, with padding for their alignments.
    sum: u64,
}

impl LdsBuilder {
    /// Creates a builder for a kernel with these positions and no LDS.
    ///
    /// # Errors
    /// Returns an error for an empty range.
    pub fn new(positions: RangeInclusive<u64>) -> Result<LdsBuilder, LdsError> {
        let (first, last) = positions.into_inner();
        if last < first {
            let problem =
                format!("the kernel has no positions: its last, {last}, is before its first, {first}");
            return Err(LdsError::invalid(problem));
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
    /// Returns the same errors as [`buffer_aligned`](LdsBuilder::buffer_aligned).
    pub fn buffer(&mut self, name: impl Into<Box<str>>, size: u64) -> Result<LdsBufferId, LdsError> {
        self.buffer_aligned(name, size, DEFAULT_ALIGNMENT)
    }

    /// Adds a buffer of `size` bytes whose offset is a multiple of `alignment`, a power of two.
    ///
    /// # Errors
    /// Returns an error if `size` is 0, if all buffers together exceed `u32::MAX` bytes, if `alignment` is not a power
    /// of two, or if the name is already used.
    pub fn buffer_aligned(
        &mut self,
        name: impl Into<Box<str>>,
        size: u64,
        alignment: u64,
    ) -> Result<LdsBufferId, LdsError> {
        let name = name.into();
        let invalid = |problem: String| Err(LdsError::invalid(format!("buffer `{name}`: {problem}")));
        if size == 0 {
            return invalid("its size is 0 bytes; do not add an empty buffer".to_owned());
        }
        if !alignment.is_power_of_two() {
            return invalid(format!("alignment {alignment} is not a power of two"));
        }
        let sum = size.checked_add(alignment - 1).and_then(|bytes| bytes.checked_add(self.sum));
        let (Some(sum), Ok(bytes), Ok(align)) =
            (sum.filter(|&sum| sum <= u64::from(u32::MAX)), u32::try_from(size), u32::try_from(alignment))
        else {
            return invalid(format!(
                "with {size} bytes for it, the buffers are over 4294967295 bytes, which LDS addresses end at"
            ));
        };
        let id = self.add(name, Kind::Buffer { size: bytes, alignment: align })?;
        self.sum = sum;
        Ok(id)
    }

    /// Adds another name for a buffer or alias, which may be added later. Both names mean the same memory.
    ///
    /// # Errors
    /// Returns an error if the name is already used. [`build`](LdsBuilder::build) returns an error for an alias of an
    /// unknown name and for aliases that name each other.
    pub fn alias(
        &mut self,
        name: impl Into<Box<str>>,
        of: impl Into<Box<str>>,
    ) -> Result<LdsBufferId, LdsError> {
        self.add(name.into(), Kind::Alias { of: of.into() })
    }

    fn add(&mut self, name: Box<str>, kind: Kind) -> Result<LdsBufferId, LdsError> {
        if self.by_name.contains_key(&name) {
            return Err(LdsError::invalid(format!("buffer `{name}` already exists")));
        }
        // 2^32 names and what refers to them do not fit into memory.
        let id = self.named.len() as u32;
        self.by_name.insert(name.clone(), id);
        self.named.push(NamedBuffer { name, kind });
        Ok(LdsBufferId(id))
    }

    /// Records that the statement at `position` reads a buffer.
    ///
    /// # Errors
    /// Returns an error if the position is outside the kernel, or if the id is of another builder.
    pub fn read(&mut self, buffer: LdsBufferId, position: u64) -> Result<(), LdsError> {
        self.record(position, LdsStatement::Access(buffer, Access::Read))
    }

    /// Records that the statement at `position` overwrites a whole buffer, so that its earlier contents are not needed.
    /// Use [`update`](LdsBuilder::update) for a statement that leaves a part of the contents in place.
    ///
    /// # Errors
    /// Returns the same errors as [`read`](LdsBuilder::read).
    pub fn write(&mut self, buffer: LdsBufferId, position: u64) -> Result<(), LdsError> {
        self.record(position, LdsStatement::Access(buffer, Access::Write))
    }

    /// Records that the statement at `position` reads and writes a buffer, or writes a part of it.
    ///
    /// # Errors
    /// Returns the same errors as [`read`](LdsBuilder::read).
    pub fn update(&mut self, buffer: LdsBufferId, position: u64) -> Result<(), LdsError> {
        self.record(position, LdsStatement::Access(buffer, Access::Update))
    }

    /// Records a barrier of the workgroup (`__syncthreads`) at `position`.
    ///
    /// # Errors
    /// Returns an error if the position is outside the kernel.
    pub fn barrier(&mut self, position: u64) -> Result<(), LdsError> {
        self.record(position, LdsStatement::Barrier)
    }

    /// Begins a loop at `position`.
    ///
    /// # Errors
    /// Returns an error if the position is outside the kernel, or not after the last recorded begin or end.
    pub fn begin_loop(&mut self, position: u64, runs: Uniformity) -> Result<(), LdsError> {
        self.mark(position, LdsStatement::LoopBegin(runs))
    }

    /// Ends the innermost loop at `position`, from where the body repeats.
    ///
    /// # Errors
    /// Returns the same errors as [`begin_loop`](LdsBuilder::begin_loop), and an error if the innermost open scope is
    /// not a loop.
    pub fn end_loop(&mut self, position: u64) -> Result<(), LdsError> {
        self.mark(position, LdsStatement::LoopEnd)
    }

    /// Begins a branch, and its first arm, at `position`.
    ///
    /// # Errors
    /// Returns the same errors as [`begin_loop`](LdsBuilder::begin_loop).
    pub fn begin_branch(&mut self, position: u64, runs: Uniformity) -> Result<(), LdsError> {
        self.mark(position, LdsStatement::BranchBegin(runs))
    }

    /// Begins the second arm of the innermost branch at `position`.
    ///
    /// # Errors
    /// Returns the same errors as [`begin_loop`](LdsBuilder::begin_loop), and an error if the innermost open scope is
    /// not a branch in its first arm.
    pub fn begin_else(&mut self, position: u64) -> Result<(), LdsError> {
        self.mark(position, LdsStatement::Else)
    }

    /// Ends the innermost branch at `position`.
    ///
    /// # Errors
    /// Returns the same errors as [`begin_loop`](LdsBuilder::begin_loop), and an error if the innermost open scope is
    /// not a branch.
    pub fn end_branch(&mut self, position: u64) -> Result<(), LdsError> {
        self.mark(position, LdsStatement::BranchEnd)
    }

    /// Records the begin, the `else` or the end of a scope.
    fn mark(&mut self, position: u64, what: LdsStatement) -> Result<(), LdsError> {
        use LdsStatement::{BranchBegin, BranchEnd, Else, LoopBegin, LoopEnd};
        let open = self.open.last().copied();
        let fits = match what {
            LoopEnd => matches!(open, Some((_, LoopBegin(_)))),
            Else => matches!(open, Some((_, BranchBegin(_)))),
            BranchEnd => matches!(open, Some((_, BranchBegin(_) | Else))),
            _ => true,
        };
        if !fits {
            let open = open.map_or("nothing".to_owned(), |(at, open)| format!("{} at {at}", open.name()));
            return Err(LdsError::invalid(format!(
                "{} at position {position}, but the innermost open scope there is {open}",
                what.name()
            )));
        }
        if let Some(after) = self.last_mark.filter(|&after| position <= after) {
            return Err(LdsError::invalid(format!(
                "{} at position {position}: it must be after the previous begin or end, at {after}",
                what.name()
            )));
        }
        self.record(position, what)?;
        self.last_mark = Some(position);
        if !matches!(what, LoopBegin(_) | BranchBegin(_)) {
            self.open.pop();
        }
        if !matches!(what, LoopEnd | BranchEnd) {
            self.open.push((position, what));
        }
        Ok(())
    }

    fn record(&mut self, position: u64, what: LdsStatement) -> Result<(), LdsError> {
        if let LdsStatement::Access(id, _) = what
            && id.index() >= self.named.len()
        {
            return Err(LdsError::unknown_id(id.index(), self.named.len()));
        }
        let (first, last) = (self.first, self.last);
        if position < first || position > last {
            let what = self.text(what);
            return Err(LdsError::invalid(format!(
                "{what} at position {position} is outside the kernel, whose positions are {first} to {last}"
            )));
        }
        self.records.push((position, what));
        Ok(())
    }

    /// Returns the name of a statement in errors; for an access, with the name of its buffer.
    pub(super) fn text(&self, what: LdsStatement) -> String {
        match what {
            LdsStatement::Access(id, _) => format!("an access of buffer `{}`", self.named[id.index()].name),
            other => other.name().to_owned(),
        }
    }
}
