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

    #[inline]
    fn write(&mut self, before: &str, text: impl fmt::Display) {
        if let Some(out) = &mut self.out {
            // Writing to a `String` never fails.
            let _ = write!(out, "{before}{text}");
        }
    }

    /// Appends the mnemonic, and the suffix of its form.
    #[inline]
    pub(super) fn mnemonic(&mut self, name: &str, suffix: &str) {
        self.write(name, suffix);
    }

    /// Ends the first of two operations. The mnemonic of the second follows.
    pub(super) fn joint(&mut self) {
        self.operands = 0;
        self.write("", " :: ");
    }

    /// Appends an operand, after a separator.
    #[inline]
    pub(super) fn operand(&mut self, operand: impl fmt::Display) {
        let separator = if self.operands == 0 { " " } else { ", " };
        self.operands += 1;
        self.write(separator, operand);
    }

    /// Appends an operand, if it is valid.
    #[inline]
    pub(super) fn try_operand<T: fmt::Display>(
        &mut self,
        operand: Result<T, NotAnInstruction>,
    ) -> Result<(), NotAnInstruction> {
        self.operand(operand?);
        Ok(())
    }

    /// Appends a modifier, such as `offset:4`, after the operands.
    #[inline]
    pub(super) fn modifier(&mut self, modifier: impl fmt::Display) {
        self.write(" ", modifier);
    }

    /// Appends a modifier without a value, if it is set.
    #[inline]
    pub(super) fn flag(&mut self, set: bool, name: &str) {
        if set {
            self.modifier(name);
        }
    }
}
