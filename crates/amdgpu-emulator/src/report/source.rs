//! The source lines of an instruction, as text.

use std::fmt;

use code_object::SourceLocation;

/// Writes where an instruction is from, such as `, at add.h:3:5 in add, inlined at sum.hip:10:9`; nothing if that is not
/// known.
pub(super) fn write(f: &mut fmt::Formatter<'_>, source: &[SourceLocation]) -> fmt::Result {
    let last = source.len().saturating_sub(1);
    for (n, location) in source.iter().enumerate() {
        write!(f, "{} at {location}", if n == 0 { "," } else { ", inlined" })?;
        // The last one is the function that the symbol names, too.
        if let (true, Some(function)) = (n < last, &location.function) {
            write!(f, " in {function}")?;
        }
    }
    Ok(())
}
