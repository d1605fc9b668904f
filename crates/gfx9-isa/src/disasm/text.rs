//! Composes the text of one instruction: mnemonic, operands, modifiers.

use std::fmt::{self, Write as _};

use super::words::NotAnInstruction;

/// Collects the text of an instruction. Collects nothing if the caller only needs to know whether the instruction
/// exists.
pub(super) struct Text<'a> {
    out: Option<&'a mut String>,
    operands: u32,
}

impl<'a> Text<'a> {
    /// Returns a text that is appended to `out`, or that collects nothing.
    pub(super) fn new(out: Option<&'a mut String>) -> Text<'a> {
        Text { out, operands: 0 }
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        if let Some(out) = &mut self.out {
            // Writing to a `String` never fails.
            let _ = out.write_fmt(text);
        }
    }

    /// Appends the mnemonic, and the suffix of its form.
    pub(super) fn mnemonic(&mut self, name: &str, suffix: &str) {
        self.write(format_args!("{name}{suffix}"));
    }

    /// Appends the separator before the next operand.
    fn separator(&mut self) {
        let separator = if self.operands == 0 { " " } else { ", " };
        self.operands += 1;
        self.write(format_args!("{separator}"));
    }

    /// Appends an operand.
    pub(super) fn operand(&mut self, operand: impl fmt::Display) {
        self.separator();
        self.write(format_args!("{operand}"));
    }

    /// Appends an operand, if it is valid.
    pub(super) fn try_operand<T: fmt::Display>(
        &mut self,
        operand: Result<T, NotAnInstruction>,
    ) -> Result<(), NotAnInstruction> {
        self.operand(operand?);
        Ok(())
    }

    /// Appends a modifier, such as `offset:4`, after the operands.
    pub(super) fn modifier(&mut self, modifier: impl fmt::Display) {
        self.write(format_args!(" {modifier}"));
    }

    /// Appends a modifier without a value, if it is set.
    pub(super) fn flag(&mut self, set: bool, name: &str) {
        if set {
            self.modifier(name);
        }
    }
}
