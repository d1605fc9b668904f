//! The source lines of instructions, from the debug information that `-g` or `-gline-tables-only` leaves in the ELF file.

use std::fmt;

use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, Error, LittleEndian};

use crate::code_object::CodeObject;
use crate::elf;

/// A place in the source from which an instruction was compiled.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceLocation {
    /// The file, as the compiler knew it: its path is that of the machine that compiled it.
    pub file: String,
    /// The line, from 1; 0 if the compiler says that the instruction is of no line.
    pub line: u32,
    /// The column, from 1; 0 for the whole line.
    pub column: u32,
    /// The (mangled) name of the function; `None` if debug information doesn't say.
    pub function: Option<String>,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match self.column {
            0 => Ok(()),
            column => write!(f, ":{column}"),
        }
    }
}

impl CodeObject {
    /// Returns where in the source the instruction at this ELF virtual address is from. If its function was inlined, the
    /// places of the calls follow, the outermost one last. Empty if the file has no debug information about the address,
    /// or if it is broken or compressed.
    ///
    /// Each call reads the debug information anew: it is for reports.
    pub fn source_at(&self, address: u64) -> Vec<SourceLocation> {
        locations(self.elf(), address).unwrap_or_default()
    }
}

fn locations(file: &[u8], address: u64) -> Result<Vec<SourceLocation>, Error> {
    let sections = elf::debug_sections(file);
    let dwarf = Dwarf::load(|id| {
        let section = sections.iter().find(|(name, _)| *name == id.name().as_bytes());
        Ok(EndianSlice::new(section.map_or(&[], |(_, data)| data), LittleEndian))
    })?;
    let context = Context::from_dwarf(dwarf)?;
    let mut frames = context.find_frames(address).skip_all_loads()?;
    let mut found = Vec::new();
    while let Some(frame) = frames.next()? {
        let Some(location) = frame.location else { continue };
        let Some(file) = location.file else { continue };
        found.push(SourceLocation {
            file: file.to_owned(),
            line: location.line.unwrap_or(0),
            column: location.column.unwrap_or(0),
            function: frame.function.and_then(|f| Some(f.raw_name().ok()?.into_owned())),
        });
        // A chain of calls that no compiler makes.
        if found.len() == MAX_FRAMES {
            break;
        }
    }
    Ok(found)
}

/// How many places of one instruction are returned at most.
const MAX_FRAMES: usize = 64;
