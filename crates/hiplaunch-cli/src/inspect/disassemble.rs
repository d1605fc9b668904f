//! Disassembles the functions of a code object.

use amdgpu_isa::{Function, Listing};
use code_object::CodeObject;

use crate::demangle::means;

/// A disassembled function.
pub(super) struct Code {
    pub(super) name: String,
    /// The ELF virtual address.
    pub(super) address: u64,
    pub(super) bytes: usize,
    pub(super) lines: Vec<Line>,
}

/// An instruction, or a word that is none.
pub(super) struct Line {
    /// The label, such as `L0`, if a branch of the function leads to this line.
    pub(super) label: Option<String>,
    pub(super) address: u64,
    pub(super) words: Vec<u32>,
    /// The text as LLVM prints it.
    pub(super) text: String,
    pub(super) branch_target: Option<u64>,
    /// The name of the branch target: a label of this function, or another function and an offset in it.
    pub(super) goes_to: Option<String>,
    pub(super) is_legal: bool,
}

/// Disassembles the functions with the given names, or all functions if there are no names. The error says why that is
/// impossible.
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
