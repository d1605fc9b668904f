//! The errors of reading code objects, each with what to do about it.

use crate::target::TargetId;

/// A `Result` whose error is this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a code object or bundle was refused. Each message names the faulty part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not an ELF file.
    #[error(
        "not an AMDGPU code object: expected an ELF file, found {len} bytes starting with {start:02x?}; give it what `hipcc --genco --offload-arch=gfx90a` writes"
    )]
    NotElf {
        /// The length of the input in bytes.
        len: usize,
        /// The first 8 bytes, padded with zeros.
        start: [u8; 8],
    },
    /// The ELF file is malformed, most often because it was truncated.
    #[error("malformed or truncated code object: {part}: {reason}")]
    MalformedElf {
        /// The part of the file.
        part: &'static str,
        /// What is wrong with that part.
        reason: String,
    },
    /// The ELF file is for another machine, such as the host's part of a program.
    #[error(
        "ELF file for another machine: {reason}; give the device's code object, as `hipcc --genco` writes it, not the host's executable"
    )]
    WrongMachine {
        /// The header field that differs, and how.
        reason: String,
    },
    /// The version of the code object format is not supported.
    #[error(
        "unsupported code object version (ELF ABI version {abi_version}); recompile with -mcode-object-version=4, 5 or 6"
    )]
    UnsupportedVersion {
        /// The ELF header's `EI_ABIVERSION`: 0 is code object v2, 1 is v3, 2 is v4, 3 is v5, 4 is v6.
        abi_version: u8,
    },
    /// A PT_LOAD segment can't be mapped.
    #[error("segment {index} of the code object can't be loaded: {reason}")]
    BadSegment {
        /// Index of the program header.
        index: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The segments span more memory than [`limits::MAX_IMAGE_SIZE`](crate::limits::MAX_IMAGE_SIZE).
    #[error("the code object needs {size} bytes of device memory, more than the limit of {limit}")]
    ImageTooLarge {
        /// Bytes from the lowest to the highest address.
        size: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// A symbol is outside the segments, or its name can't be read.
    #[error("symbol `{name}` of the code object is not usable: {reason}")]
    BadSymbol {
        /// The name of the symbol, as far as it can be read.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The names of all symbols are longer than the file could reasonably contain.
    #[error("the symbols' names add up to more than {limit} bytes, the limit for a file of this size")]
    NamesTooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// AMD's loader does not apply relocations of this kind to a linked code object.
    #[error("relocation of unknown kind {kind} at {offset:#x}; link the code object with ld.lld -shared")]
    UnknownRelocation {
        /// The ELF relocation type.
        kind: u32,
        /// The ELF virtual address that it applies to.
        offset: u64,
    },
    /// A relocation writes outside the segments.
    #[error("relocation at {offset:#x} lies outside the code object's segments")]
    RelocationOutOfBounds {
        /// The ELF virtual address that it applies to.
        offset: u64,
    },
    /// A relocation refers to a symbol that the code object does not define.
    #[error("undefined symbol `{name}`: link the code object that defines it into this one (-fgpu-rdc)")]
    UndefinedSymbol {
        /// The symbol's name.
        name: String,
    },
    /// The file has no `NT_AMDGPU_METADATA` note.
    #[error("the code object has no AMDGPU metadata note; only code objects for amdhsa have one")]
    NoMetadata,
    /// The metadata note does not have the format that LLVM documents.
    #[error("malformed code object metadata at byte {offset} of the note: {reason}")]
    BadMetadata {
        /// The byte offset in the descriptor of the note.
        offset: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The metadata names another target than the ELF header.
    #[error(
        "the metadata is for `{metadata}`, the ELF header for `{header}`: the code object was edited or damaged"
    )]
    TargetMismatch {
        /// `amdhsa.target`.
        metadata: String,
        /// The target in `e_flags`.
        header: Box<TargetId>,
    },
    /// A kernel's metadata is inconsistent.
    #[error("kernel `{kernel}`: {reason}")]
    BadKernel {
        /// The kernel's name.
        kernel: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Two kernels have the same name.
    #[error("the code object has two kernels named `{kernel}`")]
    DuplicateKernel {
        /// The name.
        kernel: String,
    },
    /// An argument is outside the kernarg segment.
    #[error(
        "kernel `{kernel}`: argument {index} covers bytes {offset}..{} of a kernarg segment of {kernarg_size} bytes",
        u64::from(*offset) + u64::from(*size)
    )]
    ArgumentOutOfBounds {
        /// The kernel's name.
        kernel: String,
        /// The index of the argument among all arguments.
        index: usize,
        /// Its offset, in bytes.
        offset: u32,
        /// Its size, in bytes.
        size: u32,
        /// The size of the kernel's kernarg segment, in bytes.
        kernarg_size: u32,
    },
    /// Two arguments share bytes of the kernarg segment.
    #[error("kernel `{kernel}`: arguments {first} and {second} overlap in the kernarg segment")]
    ArgumentsOverlap {
        /// The kernel's name.
        kernel: String,
        /// Index of the argument that starts first.
        first: usize,
        /// Index of the other.
        second: usize,
    },
    /// The kernel's descriptor is missing or unusable.
    #[error("kernel `{kernel}`: its descriptor `{symbol}` {reason}")]
    BadDescriptor {
        /// The kernel's name.
        kernel: String,
        /// The descriptor's symbol.
        symbol: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The code object has no kernel with this name.
    #[error(
        "no kernel `{name}` in the code object; {}{}",
        list("it has", available),
        as_cpp(name, available)
    )]
    UnknownKernel {
        /// The requested name.
        name: String,
        /// The available kernels.
        available: Vec<String>,
    },
    /// An offload bundle is malformed.
    #[error("malformed offload bundle: {reason}")]
    BadBundle {
        /// What is wrong with it.
        reason: String,
    },
    /// A compressed bundle would decompress to more than the limit.
    #[error(
        "the compressed bundle would decompress to {size} bytes, more than the limit of {limit} for its size"
    )]
    DecompressedTooLarge {
        /// The decompressed size in its header, in bytes.
        size: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// No code object in the file runs on the device.
    #[error(
        "no code object for {wanted}; {}; compile it with --offload-arch={}",
        list("the file has", available),
        wanted.processor
    )]
    NoMatchingTarget {
        /// The target of the device.
        wanted: Box<TargetId>,
        /// The available targets or bundle entry ids.
        available: Vec<String>,
    },
    /// A target id can't be parsed.
    #[error(
        "`{text}` is not a target id such as gfx90a, gfx90a:sramecc+:xnack- or amdgcn-amd-amdhsa--gfx942"
    )]
    BadTargetId {
        /// The text of the target id.
        text: String,
    },
}

impl Error {
    /// Creates an [`Error::MalformedElf`].
    pub(crate) fn elf(part: &'static str, reason: impl ToString) -> Error {
        Error::MalformedElf { part, reason: reason.to_string() }
    }

    /// Creates an [`Error::BadBundle`].
    pub(crate) fn bundle(reason: impl Into<String>) -> Error {
        Error::BadBundle { reason: reason.into() }
    }
}

/// Returns what to do if a kernel exists under its mangled C++ name: `_Z`, the length of the name, the name, its
/// parameters.
fn as_cpp(name: &str, available: &[String]) -> String {
    let start = format!("_Z{}{name}", name.len());
    match available.iter().find(|kernel| kernel.starts_with(&start)) {
        Some(kernel) => format!("; write extern \"C\" before its __global__, or ask for `{kernel}`"),
        None => String::new(),
    }
}

/// Formats a list for a message. A long list is shortened, because a code object can have thousands of kernels.
fn list(intro: &str, names: &[String]) -> String {
    const SHOWN: usize = 20;
    if names.is_empty() {
        return format!("{intro} none");
    }
    let mut text = format!("{intro} {}", names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", "));
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}
