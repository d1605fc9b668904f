//! What is counted, and what faults are injected into.

use hip_driver::{CallGroup, CallKind, NoteKind};

/// What is counted: calls of a kind, calls of a group, or notes of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counted {
    /// The calls of a kind.
    Call(CallKind),
    /// The calls of a group.
    Group(CallGroup),
    /// The notes of a kind.
    Note(NoteKind),
}

impl Counted {
    pub(crate) const LEN: usize = CallKind::ALL.len() + CallGroup::ALL.len() + NoteKind::ALL.len();

    /// Returns everything that is counted: kinds of calls, kinds of notes, groups of calls.
    pub fn all() -> impl Iterator<Item = Counted> {
        let calls = CallKind::ALL.iter().copied().map(Counted::Call);
        let notes = NoteKind::ALL.iter().copied().map(Counted::Note);
        calls.chain(notes).chain(CallGroup::ALL.iter().copied().map(Counted::Group))
    }

    /// Returns the name of the kind or group.
    pub const fn name(self) -> &'static str {
        match self {
            Counted::Call(kind) => kind.name(),
            Counted::Group(group) => group.name(),
            Counted::Note(kind) => kind.name(),
        }
    }

    /// Returns the place among [`all`](Counted::all).
    #[inline]
    pub(crate) const fn index(self) -> usize {
        match self {
            Counted::Call(kind) => kind as usize,
            Counted::Note(kind) => CallKind::ALL.len() + kind as usize,
            Counted::Group(group) => CallKind::ALL.len() + NoteKind::ALL.len() + group as usize,
        }
    }
}

impl From<CallKind> for Counted {
    #[inline]
    fn from(kind: CallKind) -> Counted {
        Counted::Call(kind)
    }
}

impl From<CallGroup> for Counted {
    #[inline]
    fn from(group: CallGroup) -> Counted {
        Counted::Group(group)
    }
}

impl From<NoteKind> for Counted {
    #[inline]
    fn from(kind: NoteKind) -> Counted {
        Counted::Note(kind)
    }
}
