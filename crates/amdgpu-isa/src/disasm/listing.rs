//! Disassembles a range of code, a function, or a code object.

use std::collections::BTreeMap;
use std::fmt;

use code_object::{CodeObject, FunctionSymbol};

use super::instruction::{Instruction, disassemble};
use crate::error::Result;
use crate::target::{Isa, Target, WaveSize};

/// An iterator that disassembles a range of code.
///
/// For a dword that does not begin an instruction of the target, it returns an [`Instruction`] of four bytes with
/// `.long` as text and [`Instruction::is_legal`] false, as `llvm-objdump` does. Up to three bytes that remain at the
/// end are ignored.
#[derive(Debug, Clone)]
pub struct Instructions<'a> {
    isa: Isa,
    code: &'a [u8],
    address: u64,
}

impl<'a> Instructions<'a> {
    /// Returns the instructions of `code`, whose first byte is at `address`.
    pub fn new(isa: impl Into<Isa>, code: &'a [u8], address: u64) -> Instructions<'a> {
        Instructions { isa: isa.into(), code, address }
    }
}

impl Iterator for Instructions<'_> {
    type Item = Instruction;

    fn next(&mut self) -> Option<Instruction> {
        let (words, _) = self.code.as_chunks::<4>();
        let first = u32::from_le_bytes(*words.first()?);
        let instruction = disassemble(self.isa, self.code, self.address)
            .unwrap_or_else(|| Instruction::illegal(first, self.address));
        self.code = self.code.get(instruction.length..)?;
        self.address = self.address.wrapping_add(instruction.length as u64);
        Some(instruction)
    }
}

/// A function of a code object.
#[derive(Debug, Clone, Copy)]
pub struct Function<'a> {
    isa: Isa,
    symbols: &'a [FunctionSymbol],
    name: &'a str,
    address: u64,
    code: &'a [u8],
}

impl<'a> Function<'a> {
    /// Returns the function's name in the symbol table (mangled, for C++).
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Returns the ELF virtual address of the first instruction.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns the target and the number of lanes of the kernel's waves. Of a function that is no kernel, the number is that of the
    /// object's kernels: 64 if any of them has 64. `llvm-objdump` reads all functions of RDNA for 32 lanes by default.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Returns the machine code.
    pub fn code(&self) -> &'a [u8] {
        self.code
    }

    /// Returns the disassembled instructions.
    pub fn instructions(&self) -> Instructions<'a> {
        Instructions::new(self.isa, self.code, self.address)
    }

    /// Returns the addresses within the function that its branches jump to, each with a label: `L0`, `L1` and so on, in
    /// the order of the addresses.
    pub fn labels(&self) -> BTreeMap<u64, String> {
        let end = self.address.wrapping_add(self.code.len() as u64);
        let targets = self.instructions().filter_map(|instruction| instruction.branch_target);
        let mut labels: BTreeMap<u64, String> =
            targets.filter(|to| (self.address..end).contains(to)).map(|to| (to, String::new())).collect();
        for (n, label) in labels.values_mut().enumerate() {
            *label = format!("L{n}");
        }
        labels
    }

    /// Returns the function that contains an address, and the offset in it: `name`, `name+0x10`.
    fn place(&self, address: u64) -> Option<String> {
        let after = self.symbols.partition_point(|symbol| symbol.address <= address);
        let symbol = self.symbols.get(after.checked_sub(1)?)?;
        Some(match address - symbol.address {
            0 => symbol.name.clone(),
            offset => format!("{}+{offset:#x}", symbol.name),
        })
    }
}

/// Formats the function as `llvm-objdump -d` does.
impl fmt::Display for Function<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:016x} <{}>:", self.address, self.name)?;
        for instruction in self.instructions() {
            write!(f, "{instruction}")?;
            if let Some(place) = instruction.branch_target.and_then(|to| self.place(to)) {
                write!(f, " <{place}>")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// The functions of a code object, which can be disassembled.
///
/// ```
/// use code_object::CodeObject;
/// use amdgpu_isa::Listing;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let object = CodeObject::parse(&std::fs::read("tests/data/kernels.gfx90a.co")?)?;
/// let listing = Listing::of(&object)?;
/// let reverse = listing.function("reverse").ok_or("no such kernel")?;
/// assert!(reverse.instructions().any(|instruction| instruction.text == "s_barrier"));
/// println!("{reverse}");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Listing<'a> {
    functions: Vec<Function<'a>>,
}

impl<'a> Listing<'a> {
    /// Finds the functions of a code object. Symbols outside of its executable segments are ignored.
    ///
    /// # Errors
    /// [`Error::UnsupportedTarget`](crate::Error::UnsupportedTarget) if the code is for a processor whose instructions this crate doesn't have.
    pub fn of(object: &'a CodeObject) -> Result<Listing<'a>> {
        let target = Target::of(object)?;
        let wave_of = |wave32| if wave32 { WaveSize::Wave32 } else { WaveSize::Wave64 };
        let others = wave_of(object.kernels().iter().all(|kernel| kernel.descriptor.wave32()));
        let symbols = object.symbols();
        let functions = symbols.iter().enumerate().filter_map(|(n, symbol)| {
            let segment = object.segments().find(|segment| {
                let end = segment.vaddr.saturating_add(segment.data.len() as u64);
                segment.executable && (segment.vaddr..end).contains(&symbol.address)
            })?;
            let start = usize::try_from(symbol.address - segment.vaddr).ok()?;
            let rest = segment.data.get(start..)?;
            let next = symbols[n + 1..].iter().find(|next| next.address > symbol.address);
            let size = match (symbol.size, next) {
                (0, Some(next)) => next.address - symbol.address,
                (0, None) => u64::MAX,
                (size, _) => size,
            };
            let code = &rest[..usize::try_from(size).map_or(rest.len(), |size| size.min(rest.len()))];
            let kernel = object.kernels().iter().find(|kernel| kernel.descriptor.entry == symbol.address);
            let wave = kernel.map_or(others, |kernel| wave_of(kernel.descriptor.wave32()));
            let isa = Isa::new(target, wave);
            Some(Function { isa, symbols, name: &symbol.name, address: symbol.address, code })
        });
        Ok(Listing { functions: functions.collect() })
    }

    /// Returns the functions, in the order of their addresses.
    pub fn functions(&self) -> &[Function<'a>] {
        &self.functions
    }

    /// Returns the function with a name; `None` if there is none.
    pub fn function(&self, name: &str) -> Option<&Function<'a>> {
        self.functions.iter().find(|function| function.name == name)
    }
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, function) in self.functions.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            write!(f, "{function}")?;
        }
        Ok(())
    }
}
