//! The machine code of a code object's functions as text.

use code_object::CodeObject;
use gfx9_isa::{Function, Listing};

use crate::demangle::means;

/// A function.
pub(super) struct Code {
    pub(super) name: String,
    /// ELF virtual address.
    pub(super) address: u64,
    pub(super) bytes: usize,
    pub(super) lines: Vec<Line>,
}

/// An instruction, or a word that is none.
pub(super) struct Line {
    /// Where branches of the function go, its name: `L0`.
    pub(super) label: Option<String>,
    pub(super) address: u64,
    pub(super) words: Vec<u32>,
    /// As LLVM prints it.
    pub(super) text: String,
    pub(super) branch_target: Option<u64>,
    /// What the branch target is called: a label here, or a function and an offset in it.
    pub(super) goes_to: Option<String>,
    pub(super) is_legal: bool,
}

/// The functions of those names, all of them where there are none; an error says why it can't be.
pub(super) fn functions(object: &CodeObject, names: &[String]) -> Result<Vec<Code>, String> {
    let listing = Listing::of(object).map_err(|error| error.to_string())?;
    let elsewhere = |address: u64| {
        let function = object.function_at(address)?;
        let offset = address - function.address;
        Some(if offset == 0 { function.name.clone() } else { format!("{}+{offset:#x}", function.name) })
    };
    let code = |function: &Function<'_>| {
        let labels = function.labels();
        let lines = function.instructions().map(|i| Line {
            label: labels.get(&i.address).cloned(),
            address: i.address,
            words: i.words.iter().take(i.length / 4).copied().collect(),
            goes_to: i.branch_target.and_then(|to| labels.get(&to).cloned().or_else(|| elsewhere(to))),
            branch_target: i.branch_target,
            text: i.text,
            is_legal: i.is_legal,
        });
        Code {
            name: function.name().to_owned(),
            address: function.address(),
            bytes: function.code().len(),
            lines: lines.collect(),
        }
    };
    let wanted =
        |function: &&Function<'_>| names.is_empty() || names.iter().any(|n| means(n, function.name()));
    Ok(listing.functions().iter().filter(wanted).map(code).collect())
}
