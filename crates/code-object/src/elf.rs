//! Reads the ELF file: header, segments, symbols, relocations and the metadata notes. Each is checked before it is used.

use std::collections::HashSet;

use object::LittleEndian;
use object::elf::{
    ELFMAG, EM_AMDGPU, ET_DYN, FileHeader64, PF_R, PF_W, PF_X, PT_LOAD, PT_NOTE, ProgramHeader64, Rela64,
    SHF_ALLOC, SHF_COMPRESSED, SHN_ABS, SHN_UNDEF, SHT_DYNSYM, SHT_REL, SHT_RELA, SHT_RELR, SHT_SYMTAB,
    STB_WEAK, STT_FUNC, STT_OBJECT, Sym64,
};
use object::read::elf::{FileHeader, ProgramHeader, Rela, SectionHeader, SectionTable, Sym, SymbolTable};

use crate::code_object::CodeObjectVersion;
use crate::descriptor::KernelDescriptor;
use crate::error::{Error, Result};
use crate::limits::{MAX_IMAGE_SIZE, MAX_METADATA_NOTES, MAX_NAMES_RATIO, MAX_PROGRAM_HEADERS};
use crate::target::TargetId;

const LE: LittleEndian = LittleEndian;
type Header = FileHeader64<LittleEndian>;

/// `ELFOSABI_AMDGPU_HSA`.
const OS_ABI_HSA: u8 = 64;
/// `NT_AMDGPU_METADATA`.
const NOTE_METADATA: u32 = 32;
/// First of the reserved section indices; AMD uses it for LDS variables (`SHN_AMDGPU_LDS`).
const SHN_LORESERVE: u16 = 0xff00;
/// Size of a symbol and of a relocation in the file, in bytes.
const ENTRY_SIZE: usize = 24;

/// One PT_LOAD segment: bytes to map at `vaddr`, relative to all others, and zeros after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElfSegment<'a> {
    /// ELF virtual address.
    pub vaddr: u64,
    /// Bytes in memory; those past `data` are zero. At least `data.len()`.
    pub mem_size: u64,
    /// Bytes in the file.
    pub data: &'a [u8],
    /// Whether it may be read.
    pub readable: bool,
    /// Whether it may be written.
    pub writable: bool,
    /// Whether it may be executed.
    pub executable: bool,
}

/// The position of a segment in the file, without its bytes.
#[derive(Debug, Clone)]
pub(crate) struct SegmentRange {
    pub(crate) vaddr: u64,
    pub(crate) mem_size: u64,
    pub(crate) file: std::ops::Range<usize>,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    pub(crate) executable: bool,
}

impl SegmentRange {
    /// Returns the address after the last byte in memory. Reading checked that it does not overflow.
    pub(crate) fn end(&self) -> u64 {
        self.vaddr + self.mem_size
    }

    fn holds(&self, address: u64, size: u64) -> bool {
        address >= self.vaddr && address.checked_add(size).is_some_and(|end| end <= self.end())
    }
}

/// A device variable: an object symbol of the dynamic symbol table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GlobalVariable {
    /// The (mangled) name.
    pub name: String,
    /// The ELF virtual address.
    pub address: u64,
    /// The size in bytes.
    pub size: u64,
}

/// A function, for disassembly and fault reports.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FunctionSymbol {
    /// The (mangled) name.
    pub name: String,
    /// The ELF virtual address of the first instruction.
    pub address: u64,
    /// The size of the code in bytes; 0 if it is not known.
    pub size: u64,
}

/// How a relocation's value is computed. All write 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RelocationKind {
    /// `R_AMDGPU_RELATIVE64`: the load base plus the addend.
    Relative64,
    /// `R_AMDGPU_ABS64`: the load base plus the symbol's value plus the addend.
    Abs64,
    /// `R_AMDGPU_ABS64` against an absolute or an undefined weak symbol: the symbol's value plus the addend,
    /// wherever the code object is loaded.
    Constant64,
}

/// 8 bytes that depend on where the code object is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Relocation {
    /// ELF virtual address of the 8 bytes, which lie within one segment.
    pub offset: u64,
    /// How the value is computed.
    pub kind: RelocationKind,
    /// The value of the symbol, an ELF virtual address; 0 for [`RelocationKind::Relative64`].
    pub symbol_value: u64,
    /// The addend, in bytes.
    pub addend: i64,
}

impl Relocation {
    /// Returns the value to write when ELF virtual address 0 is loaded at `base`.
    pub fn value(&self, base: u64) -> u64 {
        let base = if self.kind == RelocationKind::Constant64 { 0 } else { base };
        base.wrapping_add(self.symbol_value).wrapping_add_signed(self.addend)
    }
}

/// The contents of an ELF file.
#[derive(Debug)]
pub(crate) struct Elf<'a> {
    pub(crate) version: CodeObjectVersion,
    pub(crate) target: TargetId,
    /// In the order of their addresses.
    pub(crate) segments: Vec<SegmentRange>,
    /// In the order of their addresses.
    pub(crate) functions: Vec<FunctionSymbol>,
    /// In the order of their names, kernel descriptors included.
    pub(crate) objects: Vec<GlobalVariable>,
    pub(crate) relocations: Vec<Relocation>,
    /// The descriptors of the metadata notes, at least one.
    pub(crate) metadata: Vec<&'a [u8]>,
}

/// Reads an ELF file.
pub(crate) fn read(data: &[u8]) -> Result<Elf<'_>> {
    let (header, version) = header(data)?;
    let headers = header.program_headers(LE, data).map_err(|e| Error::elf("program headers", e))?;
    if headers.len() > MAX_PROGRAM_HEADERS {
        let count = headers.len();
        return Err(Error::elf(
            "program headers",
            format!("there are {count}, more than {MAX_PROGRAM_HEADERS}"),
        ));
    }
    let segments = segments(headers, data)?;
    let metadata = metadata(headers, data)?;
    let sections = header.sections(LE, data).map_err(|e| Error::elf("section headers", e))?;
    if sections.is_empty() {
        return Err(Error::elf("section headers", "there are none: symbols and relocations can't be found"));
    }
    let mut names = Names { left: data.len().saturating_mul(MAX_NAMES_RATIO), limit: 0 };
    names.limit = names.left;
    let dynamic = sections.symbols(LE, data, SHT_DYNSYM).map_err(|e| Error::elf(".dynsym", e))?;
    let all = sections.symbols(LE, data, SHT_SYMTAB).map_err(|e| Error::elf(".symtab", e))?;
    // The full table has the local functions too, but it may be stripped.
    let functions = functions(if all.is_empty() { &dynamic } else { &all }, &segments, &mut names)?;
    let objects = objects(&dynamic, &segments, &mut names)?;
    let relocations = relocations(&sections, &dynamic, data, &segments)?;
    let target = TargetId::from_e_flags(header.e_flags(LE).0);
    Ok(Elf { version, target, segments, functions, objects, relocations, metadata })
}

/// Returns the sections of debug information in a file that [`read`] has accepted, by name. Compressed ones are left out.
pub(crate) fn debug_sections(data: &[u8]) -> Vec<(&[u8], &[u8])> {
    let Ok(sections) = Header::parse(data).and_then(|header: &Header| header.sections(LE, data)) else {
        return Vec::new();
    };
    let plain = sections.iter().filter(|section| section.sh_flags(LE).0 & SHF_COMPRESSED.0 == 0);
    let named = plain.filter_map(|section| {
        let name = sections.section_name(LE, section).ok().filter(|name| name.starts_with(b".debug_"))?;
        Some((name, section.data(LE, data).ok()?))
    });
    named.collect()
}

/// Checks the file header: an AMDGPU HSA shared object of a known version.
fn header(data: &[u8]) -> Result<(&Header, CodeObjectVersion)> {
    if data.len() < 16 || data[..4] != ELFMAG {
        let mut start = [0; 8];
        let count = data.len().min(8);
        start[..count].copy_from_slice(&data[..count]);
        return Err(Error::NotElf { len: data.len(), start });
    }
    let wrong = |reason: String| Error::WrongMachine { reason };
    if data[4] != 2 || data[5] != 1 {
        return Err(wrong("not a 64-bit little-endian file".into()));
    }
    let header = Header::parse(data).map_err(|e| Error::elf("file header", e))?;
    let machine = header.e_machine(LE);
    if machine != EM_AMDGPU {
        return Err(wrong(format!("machine {} (AMDGPU is {})", machine.0, EM_AMDGPU.0)));
    }
    if data[7] != OS_ABI_HSA {
        return Err(wrong(format!("OS ABI {} (AMDGPU HSA is {OS_ABI_HSA})", data[7])));
    }
    let version = CodeObjectVersion::from_abi_version(data[8])
        .ok_or(Error::UnsupportedVersion { abi_version: data[8] })?;
    if header.e_type(LE) != ET_DYN {
        return Err(Error::elf("file header", "not a linked shared object; link it with ld.lld -shared"));
    }
    Ok((header, version))
}

/// Returns the PT_LOAD segments. None is outside the file, and none overlaps another in memory.
fn segments(headers: &[ProgramHeader64<LittleEndian>], data: &[u8]) -> Result<Vec<SegmentRange>> {
    let mut segments: Vec<(usize, SegmentRange)> = Vec::new();
    for (index, header) in headers.iter().enumerate() {
        if header.p_type(LE) != PT_LOAD || header.p_memsz(LE) == 0 {
            continue;
        }
        let bad = |reason| Error::BadSegment { index, reason };
        let (offset, size) = header.file_range(LE);
        let file = usize::try_from(offset)
            .ok()
            .zip(offset.checked_add(size).and_then(|end| usize::try_from(end).ok()));
        let (start, end) = file.ok_or_else(|| bad("its file offset overflows"))?;
        if end > data.len() {
            return Err(bad("it ends behind the end of the file; the file was cut short"));
        }
        let (vaddr, mem_size) = (header.p_vaddr(LE), header.p_memsz(LE));
        if size > mem_size {
            return Err(bad("it is longer in the file than in memory"));
        }
        vaddr.checked_add(mem_size).ok_or_else(|| bad("its address overflows"))?;
        let flags = header.p_flags(LE).0;
        let has = |flag: u32| flags & flag != 0;
        segments.push((
            index,
            SegmentRange {
                vaddr,
                mem_size,
                file: start..end,
                readable: has(PF_R.0),
                writable: has(PF_W.0),
                executable: has(PF_X.0),
            },
        ));
    }
    segments.sort_by_key(|(_, segment)| segment.vaddr);
    for pair in segments.windows(2) {
        if pair[0].1.end() > pair[1].1.vaddr {
            return Err(Error::BadSegment { index: pair[1].0, reason: "it overlaps another in memory" });
        }
    }
    if let (Some((_, first)), Some((_, last))) = (segments.first(), segments.last()) {
        let size = last.end() - first.vaddr;
        if size > MAX_IMAGE_SIZE {
            return Err(Error::ImageTooLarge { size, limit: MAX_IMAGE_SIZE });
        }
    }
    Ok(segments.into_iter().map(|(_, segment)| segment).collect())
}

/// Returns the descriptors of the metadata notes. A file that was linked of several has one of each, as Tensile's kernels
/// have. A note that several program headers cover, or that was linked twice, counts once.
fn metadata<'a>(headers: &[ProgramHeader64<LittleEndian>], data: &'a [u8]) -> Result<Vec<&'a [u8]>> {
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    let mut bytes = 0;
    for header in headers.iter().filter(|header| header.p_type(LE) == PT_NOTE) {
        let notes = header.notes(LE, data).map_err(|e| Error::elf("note", e))?;
        for note in notes.into_iter().flatten() {
            let note = note.map_err(|e| Error::elf("note", e))?;
            if note.name() == b"AMDGPU" && note.n_type(LE).0 == NOTE_METADATA && known.insert(note.desc()) {
                // Headers that overlap could make much of a small file.
                bytes += note.desc().len();
                if bytes > data.len() || found.len() == MAX_METADATA_NOTES {
                    return Err(Error::elf("note", "there are too many metadata notes"));
                }
                found.push(note.desc());
            }
        }
    }
    if found.is_empty() { Err(Error::NoMetadata) } else { Ok(found) }
}

/// Reads symbol names until they add up to more than a multiple of the file's length: symbols can share strings, so a
/// small file could otherwise contain many long names.
struct Names {
    left: usize,
    limit: usize,
}

impl Names {
    fn read<'a>(&mut self, table: &SymbolTable<'a, Header>, symbol: &Sym64<LittleEndian>) -> Result<&'a str> {
        let bytes = table.symbol_name(LE, symbol).map_err(|e| Error::elf("symbol name", e))?;
        self.left = self.left.checked_sub(bytes.len()).ok_or(Error::NamesTooLong { limit: self.limit })?;
        std::str::from_utf8(bytes).map_err(|_| Error::BadSymbol {
            name: String::from_utf8_lossy(bytes).chars().take(256).collect(),
            reason: "its name is not valid UTF-8",
        })
    }
}

/// A defined symbol, by the order of names.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Definition<'a> {
    name: &'a str,
    address: u64,
    size: u64,
}

/// Returns the defined symbols of a type that are inside a segment, with checked addresses and sizes.
fn defined<'a>(
    table: &SymbolTable<'a, Header>,
    kind: object::elf::SymbolType,
    segments: &[SegmentRange],
    names: &mut Names,
) -> Result<Vec<Definition<'a>>> {
    let mut found = Vec::new();
    for symbol in table.iter() {
        let section = symbol.st_shndx(LE);
        if symbol.st_type() != kind || section == SHN_UNDEF || section.0 >= SHN_LORESERVE {
            continue;
        }
        let name = names.read(table, symbol)?;
        let (address, size) = (symbol.st_value(LE), symbol.st_size(LE));
        if !segments.iter().any(|segment| segment.holds(address, size)) {
            let name = name.chars().take(256).collect();
            return Err(Error::BadSymbol { name, reason: "it lies outside the segments" });
        }
        found.push(Definition { name, address, size });
    }
    Ok(found)
}

fn functions(
    table: &SymbolTable<'_, Header>,
    segments: &[SegmentRange],
    names: &mut Names,
) -> Result<Vec<FunctionSymbol>> {
    let mut found = defined(table, STT_FUNC, segments, names)?;
    found.sort_by_key(|symbol| (symbol.address, symbol.size));
    Ok(found
        .into_iter()
        .map(|Definition { name, address, size }| FunctionSymbol { name: name.into(), address, size })
        .collect())
}

fn objects(
    table: &SymbolTable<'_, Header>,
    segments: &[SegmentRange],
    names: &mut Names,
) -> Result<Vec<GlobalVariable>> {
    let mut found = defined(table, STT_OBJECT, segments, names)?;
    found.sort_unstable();
    if let Some(pair) = found.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(Error::BadSymbol { name: pair[0].name.into(), reason: "it is defined twice" });
    }
    Ok(found
        .into_iter()
        .map(|Definition { name, address, size }| GlobalVariable { name: name.into(), address, size })
        .collect())
}

/// Returns the relocations that a loader applies: those of allocated sections (`.rela.dyn`).
fn relocations(
    sections: &SectionTable<'_, Header>,
    symbols: &SymbolTable<'_, Header>,
    data: &[u8],
    segments: &[SegmentRange],
) -> Result<Vec<Relocation>> {
    let mut found = Vec::new();
    for section in sections.iter().filter(|section| section.sh_flags(LE).0 & SHF_ALLOC.0 != 0) {
        if matches!(section.sh_type(LE), SHT_REL | SHT_RELR) {
            return Err(Error::elf("relocations", "REL and RELR are not used for AMDGPU; link with -z rela"));
        }
        if section.sh_type(LE) != SHT_RELA || section.sh_size(LE) == 0 {
            continue;
        }
        let entries = section.rela(LE, data).map_err(|e| Error::elf("relocations", e))?;
        let Some((entries, link)) = entries else { continue };
        // Several sections with the same bytes could otherwise multiply them.
        if found.len() + entries.len() > data.len() / ENTRY_SIZE {
            return Err(Error::elf("relocations", "relocation sections overlap"));
        }
        // 0 if no relocation has a symbol.
        if link.0 != 0 && link != symbols.section() {
            return Err(Error::elf("relocations", "their symbols are not those of .dynsym"));
        }
        for entry in entries {
            found.extend(relocation(entry, symbols, segments)?);
        }
    }
    Ok(found)
}

/// Reads one relocation; returns `None` for `R_AMDGPU_NONE`.
fn relocation(
    entry: &Rela64<LittleEndian>,
    symbols: &SymbolTable<'_, Header>,
    segments: &[SegmentRange],
) -> Result<Option<Relocation>> {
    // LLVM AMDGPU usage, "AMDGPU ELF Relocation Records".
    const NONE: u32 = 0;
    const ABS64: u32 = 3;
    const RELATIVE64: u32 = 13;
    let offset = entry.r_offset(LE);
    let addend = entry.r_addend(LE);
    let (kind, symbol_value) = match entry.r_type(LE, false).0 {
        NONE => return Ok(None),
        RELATIVE64 => (RelocationKind::Relative64, 0),
        ABS64 => {
            let index = entry.symbol(LE, false).unwrap_or(object::SymbolIndex(0));
            let symbol = symbols.symbol(index).map_err(|e| Error::elf("relocations", e))?;
            let section = symbol.st_shndx(LE);
            if section == SHN_UNDEF && symbol.st_bind() != STB_WEAK && index.0 != 0 {
                let name = symbols.symbol_name(LE, symbol).map_err(|e| Error::elf("symbol name", e))?;
                let name = String::from_utf8_lossy(&name[..name.len().min(1024)]).into_owned();
                return Err(Error::UndefinedSymbol { name });
            }
            let constant = section == SHN_UNDEF || section == SHN_ABS;
            (if constant { RelocationKind::Constant64 } else { RelocationKind::Abs64 }, symbol.st_value(LE))
        }
        kind => return Err(Error::UnknownRelocation { kind, offset }),
    };
    if !segments.iter().any(|segment| segment.holds(offset, 8)) {
        return Err(Error::RelocationOutOfBounds { offset });
    }
    Ok(Some(Relocation { offset, kind, symbol_value, addend }))
}

impl Elf<'_> {
    /// Reads the descriptor of a kernel and checks that it and the code are inside usable segments.
    pub(crate) fn descriptor(&self, data: &[u8], kernel: &str, symbol: &str) -> Result<KernelDescriptor> {
        let bad = |reason| Error::BadDescriptor { kernel: kernel.into(), symbol: symbol.into(), reason };
        let index = self
            .objects
            .binary_search_by(|object| object.name.as_str().cmp(symbol))
            .map_err(|_| bad("is not an object in the dynamic symbol table"))?;
        let address = self.objects[index].address;
        if !address.is_multiple_of(64) {
            return Err(bad("is not aligned to 64 bytes"));
        }
        let bytes = self.segments.iter().find_map(|segment| {
            let start = usize::try_from(address.checked_sub(segment.vaddr)?).ok()?;
            data[segment.file.clone()].get(start..start.checked_add(KernelDescriptor::SIZE)?)
        });
        let bytes = bytes.and_then(|bytes| <&[u8; KernelDescriptor::SIZE]>::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| bad("has no 64 bytes in a segment's file data"))?;
        let descriptor =
            KernelDescriptor::read(bytes, address).ok_or_else(|| bad("has an entry point that overflows"))?;
        let entry = descriptor.entry;
        if !entry.is_multiple_of(256) {
            return Err(bad("has an entry point that is not aligned to 256 bytes"));
        }
        // The entry may be the end of a segment: LLVM generates no code for a kernel whose body is unreachable. rocPRIM
        // has such kernels for the processors that it is not being compiled for.
        if !self.segments.iter().any(|segment| segment.executable && segment.holds(entry, 0)) {
            return Err(bad("has an entry point outside the executable segments"));
        }
        Ok(descriptor)
    }
}
