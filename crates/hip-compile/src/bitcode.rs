//! Reads what an LLVM bitcode file says of its target, and its assembly: LLVM's "Bitcode File Format".
//!
//! A file is a stream of bits: blocks in blocks, and records, whose layout abbreviations in the same block may define. Blocks
//! that don't matter here are skipped by their length.

// Block ids and record codes: llvm/Bitcode/LLVMBitCodes.h.
const MODULE_BLOCK: u64 = 8;
const ATTRIBUTE_GROUPS_BLOCK: u64 = 10;
const TRIPLE: u64 = 2;
const ASSEMBLY: u64 = 4;

// Abbreviation ids that every block has.
const END_BLOCK: u64 = 0;
const ENTER_BLOCK: u64 = 1;
const DEFINE_ABBREVIATION: u64 = 2;
const UNABBREVIATED: u64 = 3;

/// The first bytes of a file.
const MAGIC: [u8; 4] = *b"BC\xc0\xde";
/// The first bytes of the wrapper that Apple's tools put around a file.
const WRAPPER: [u8; 4] = [0xde, 0xc0, 0x17, 0x0b];

/// What a module says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Module {
    /// `target triple`; empty if there is none.
    pub(crate) triple: String,
    /// The processors that functions are for (`"target-cpu"`).
    pub(crate) processors: Vec<String>,
    /// Its assembly (`module asm`).
    pub(crate) assembly: String,
}

/// Returns whether the bytes start as a bitcode file does.
pub(crate) fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC) || bytes.starts_with(&WRAPPER)
}

/// Reads a file. Returns `None` if it is damaged or unknown.
pub(crate) fn read(bytes: &[u8]) -> Option<Module> {
    let word = |at: usize| {
        let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes) as usize)
    };
    let bytes = if bytes.starts_with(&WRAPPER) { bytes.get(word(8)?..)?.get(..word(12)?)? } else { bytes };
    let mut bits = Bits { bytes: bytes.strip_prefix(&MAGIC)?, at: 0 };
    let mut module = Module::default();
    // The names of symbols follow the module, in blocks of their own.
    while bits.left() >= 32 {
        if bits.fixed(2)? != ENTER_BLOCK {
            return None;
        }
        let block = Block::enter(&mut bits)?;
        match block.id {
            MODULE_BLOCK => block.records(&mut bits, &mut module)?,
            _ => bits.at = block.end,
        }
    }
    Some(module)
}

/// Bits of little-endian words.
#[derive(Clone, Copy)]
struct Bits<'a> {
    bytes: &'a [u8],
    /// The position in bits.
    at: usize,
}

impl Bits<'_> {
    fn left(&self) -> usize {
        (self.bytes.len() * 8).saturating_sub(self.at)
    }

    /// Reads a number of `width` bits.
    fn fixed(&mut self, width: usize) -> Option<u64> {
        if width > 64 || width > self.left() {
            return None;
        }
        let bit = |i: usize| u64::from(self.bytes[(self.at + i) / 8] >> ((self.at + i) % 8) & 1);
        let value = (0..width).fold(0, |value, i| value | bit(i) << i);
        self.at += width;
        Some(value)
    }

    /// Reads a number in pieces of `width` bits, whose last bit says whether another one follows.
    fn variable(&mut self, width: usize) -> Option<u64> {
        if !(2..=32).contains(&width) {
            return None;
        }
        let (mut value, mut shift) = (0, 0);
        loop {
            let piece = self.fixed(width)?;
            let more = 1 << (width - 1);
            value |= (piece & (more - 1)).checked_shl(shift)?;
            if piece & more == 0 {
                return Some(value);
            }
            shift += width as u32 - 1;
        }
    }

    /// Goes to the next word.
    fn align(&mut self) {
        self.at = self.at.next_multiple_of(32);
    }

    /// Reads a length: no more elements than there are bits.
    fn length(&mut self) -> Option<usize> {
        let length = usize::try_from(self.variable(6)?).ok()?;
        (length <= self.left()).then_some(length)
    }
}

/// One operand of an abbreviation.
#[derive(Clone, Copy)]
enum Operand {
    Literal(u64),
    Fixed(usize),
    Variable(usize),
    Array,
    Char6,
    Blob,
}

impl Operand {
    fn define(bits: &mut Bits<'_>) -> Option<Operand> {
        if bits.fixed(1)? == 1 {
            return Some(Operand::Literal(bits.variable(8)?));
        }
        let width = |bits: &mut Bits<'_>| usize::try_from(bits.variable(5)?).ok();
        Some(match bits.fixed(3)? {
            1 => Operand::Fixed(width(bits)?),
            2 => Operand::Variable(width(bits)?),
            3 => Operand::Array,
            4 => Operand::Char6,
            5 => Operand::Blob,
            _ => return None,
        })
    }

    /// Reads one value.
    fn scalar(self, bits: &mut Bits<'_>) -> Option<u64> {
        match self {
            Operand::Literal(value) => Some(value),
            // A width of zero is a zero.
            Operand::Fixed(width) => bits.fixed(width),
            Operand::Variable(0) => Some(0),
            Operand::Variable(width) => bits.variable(width),
            Operand::Char6 => {
                let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
                letters.get(bits.fixed(6)? as usize).map(|letter| u64::from(*letter))
            }
            Operand::Array | Operand::Blob => None,
        }
    }
}

struct Block {
    id: u64,
    /// The bits of an abbreviation id.
    width: usize,
    /// Where it ends.
    end: usize,
}

impl Block {
    /// Reads a block's header, after its abbreviation id.
    fn enter(bits: &mut Bits<'_>) -> Option<Block> {
        let id = bits.variable(8)?;
        let width = usize::try_from(bits.variable(4)?).ok()?;
        bits.align();
        let words = bits.fixed(32)? as usize;
        let end = bits.at + words * 32;
        (end <= bits.bytes.len() * 8).then_some(Block { id, width, end })
    }

    /// Reads the records of a module, or of its groups of attributes.
    fn records(&self, bits: &mut Bits<'_>, module: &mut Module) -> Option<()> {
        let mut abbreviations: Vec<Vec<Operand>> = Vec::new();
        loop {
            match bits.fixed(self.width)? {
                END_BLOCK => {
                    bits.align();
                    return Some(());
                }
                ENTER_BLOCK => {
                    let inner = Block::enter(bits)?;
                    match inner.id {
                        ATTRIBUTE_GROUPS_BLOCK if self.id == MODULE_BLOCK => inner.records(bits, module)?,
                        _ => bits.at = inner.end,
                    }
                }
                DEFINE_ABBREVIATION => {
                    let count = usize::try_from(bits.variable(5)?).ok()?;
                    if count > bits.left() {
                        return None;
                    }
                    abbreviations.push((0..count).map(|_| Operand::define(bits)).collect::<Option<_>>()?);
                }
                UNABBREVIATED => {
                    let code = bits.variable(6)?;
                    let count = bits.length()?;
                    let values = (0..count).map(|_| bits.variable(6)).collect::<Option<Vec<_>>>()?;
                    self.record(code, &values, module);
                }
                id => {
                    let operands = abbreviations.get(usize::try_from(id).ok()?.checked_sub(4)?)?;
                    let values = abbreviated(operands, bits)?;
                    let (code, values) = values.split_first()?;
                    self.record(*code, values, module);
                }
            }
        }
    }

    fn record(&self, code: u64, values: &[u64], module: &mut Module) {
        match (self.id, code) {
            (MODULE_BLOCK, TRIPLE) => module.triple = text(values),
            (MODULE_BLOCK, ASSEMBLY) => module.assembly = text(values),
            (ATTRIBUTE_GROUPS_BLOCK, _) => {
                // An attribute with a value: its name and its value, each with a zero at the end.
                let name = b"target-cpu\0".map(u64::from);
                for at in (0..values.len()).filter(|at| values[*at..].starts_with(&name)) {
                    let rest = &values[at + name.len()..];
                    module.processors.push(text(rest.split(|value| *value == 0).next().unwrap_or_default()));
                }
            }
            _ => {}
        }
    }
}

/// Reads a record whose layout an abbreviation defines.
fn abbreviated(operands: &[Operand], bits: &mut Bits<'_>) -> Option<Vec<u64>> {
    let mut values = Vec::new();
    let mut operands = operands.iter();
    while let Some(operand) = operands.next() {
        match operand {
            Operand::Array => {
                // The next operand is that of its elements.
                let (element, count) = (operands.next()?, bits.length()?);
                for _ in 0..count {
                    values.push(element.scalar(bits)?);
                }
            }
            Operand::Blob => {
                let count = bits.length()?;
                bits.align();
                for _ in 0..count {
                    values.push(bits.fixed(8)?);
                }
                bits.align();
            }
            scalar => values.push(scalar.scalar(bits)?),
        }
    }
    Some(values)
}

fn text(values: &[u64]) -> String {
    let bytes: Vec<u8> = values.iter().map(|value| *value as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
