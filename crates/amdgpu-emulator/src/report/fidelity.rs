//! How far each instruction's results can be believed, and how that was verified.
//!
//! `ledger.txt` says it for each instruction. A test generates it from what the randomised tests have executed and from
//! the tables in VERIFICATION.md (`testing/ledger.rs`), and fails if it is not up to date.

use std::collections::HashMap;
use std::sync::OnceLock;

use amdgpu_isa::{Encoding, Row, Target};

/// How far the result of an instruction can be believed. The first is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fidelity {
    /// Every bit is what the documents say, and a reference that computes differently gives the same.
    Exact,
    /// Each operation is exact, but the sum of several depends on their order: floating-point atomics.
    OrderDependent,
    /// The result is within a stated distance of the exact one.
    WithinError,
    /// It is executed, but no source settles all of what it does.
    Unverified,
    /// It is not executed: a wave that reaches it faults with its name.
    NotModelled,
}

impl Fidelity {
    /// All of them, the best first.
    pub const ALL: [Fidelity; 5] = [
        Fidelity::Exact,
        Fidelity::OrderDependent,
        Fidelity::WithinError,
        Fidelity::Unverified,
        Fidelity::NotModelled,
    ];

    /// Returns a short name, which JSON documents use too: `exact`, `order-dependent`, `within-error`, `unverified`,
    /// `not-modelled`.
    pub fn name(self) -> &'static str {
        match self {
            Fidelity::Exact => "exact",
            Fidelity::OrderDependent => "order-dependent",
            Fidelity::WithinError => "within-error",
            Fidelity::Unverified => "unverified",
            Fidelity::NotModelled => "not-modelled",
        }
    }

    /// Returns what it means, as a phrase.
    pub fn meaning(self) -> &'static str {
        match self {
            Fidelity::Exact => "exact by the documents and an independent reference",
            Fidelity::OrderDependent => "each operation exact, sums of several depend on their order",
            Fidelity::WithinError => "within a stated error",
            Fidelity::Unverified => "executed, but not settled by any source",
            Fidelity::NotModelled => "not executed: the kernel faults",
        }
    }

    fn of_name(name: &str) -> Option<Fidelity> {
        Fidelity::ALL.into_iter().find(|fidelity| fidelity.name() == name)
    }
}

/// How far the results of one instruction on one target can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionFidelity {
    /// The mnemonic, as in [`Row::name`].
    pub name: &'static str,
    /// The encoding.
    pub encoding: Encoding,
    /// How far the results can be believed.
    pub fidelity: Fidelity,
    /// The error or what is not settled; otherwise how it was verified.
    pub because: &'static str,
}

const LEDGER: &str = include_str!("ledger.txt");

type Table = HashMap<(u8, &'static str), InstructionFidelity>;

/// Returns the table of a target.
fn table(target: Target) -> &'static Table {
    static TABLES: OnceLock<[Table; Target::ALL.len()]> = OnceLock::new();
    &TABLES.get_or_init(|| Target::ALL.map(parse))[target as usize]
}

/// Returns the name of a target in the ledger.
pub(crate) const fn number(target: Target) -> &'static str {
    match target {
        Target::Gfx90a => "90a",
        Target::Gfx942 => "942",
        Target::Gfx950 => "950",
        Target::Gfx11 => "11",
        Target::Gfx115 => "115",
        Target::Gfx12 => "12",
        Target::Gfx103 => "103",
    }
}

/// Reads the lines about a target. A line that begins with `=` has the fidelity and the reason of the lines after it;
/// these have targets, an encoding and mnemonics.
fn parse(target: Target) -> Table {
    let number = number(target);
    let mut table = Table::new();
    let (mut fidelity, mut because) = (Fidelity::Unverified, "");
    for line in LEDGER.lines() {
        if let Some((name, reason)) = line.strip_prefix("= ").and_then(|head| head.split_once(": ")) {
            (fidelity, because) = (Fidelity::of_name(name).unwrap_or(Fidelity::Unverified), reason);
            continue;
        }
        let mut words = line.split(' ');
        let targets = words.next().unwrap_or("");
        let encoding = words.next().and_then(|name| Encoding::ALL.into_iter().find(|of| of.name() == name));
        let Some(encoding) = encoding.filter(|_| targets.split(',').any(|of| of == number)) else { continue };
        for name in words {
            table.insert((encoding as u8, name), InstructionFidelity { name, encoding, fidelity, because });
        }
    }
    table
}

/// Returns how far the results of an instruction can be believed; `None` if the target doesn't have it.
///
/// ```
/// use amdgpu_emulator::{Fidelity, fidelity};
/// use amdgpu_isa::{Encoding, Target};
///
/// let add = Encoding::Vop2.row(Target::Gfx942, 1).expect("v_add_f32");
/// assert_eq!(fidelity(Target::Gfx942, add).expect("an instruction").fidelity, Fidelity::Exact);
/// ```
pub fn fidelity(target: Target, row: &Row) -> Option<InstructionFidelity> {
    row.opcode(target)?;
    table(target).get(&(row.encoding()? as u8, row.name)).copied()
}

/// Returns all instructions of a target, in the order of their encodings and names.
pub fn fidelities(target: Target) -> Vec<InstructionFidelity> {
    let mut all: Vec<InstructionFidelity> = table(target).values().copied().collect();
    all.sort_by_key(|one| (one.encoding as u8, one.name));
    all
}
