//! A code object, which is parsed and checked once and shared cheaply.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::bundle;
use crate::elf::{self, ElfSegment, FunctionSymbol, GlobalVariable, Relocation, SegmentRange};
use crate::error::{Error, Result};
use crate::metadata;
use crate::signature::KernelSignature;
use crate::target::{Processor, TargetId};

/// The version of the code object format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CodeObjectVersion {
    /// The default of ROCm 4.2 to 5.5. Kernels read the grid from the dispatch packet.
    V4,
    /// The default since ROCm 5.6. Kernels read the grid from hidden arguments.
    V5,
    /// V5 with support for generic processors.
    V6,
}

impl CodeObjectVersion {
    /// Returns the version for an ELF header's `EI_ABIVERSION`.
    pub(crate) fn from_abi_version(abi_version: u8) -> Option<CodeObjectVersion> {
        match abi_version {
            2 => Some(CodeObjectVersion::V4),
            3 => Some(CodeObjectVersion::V5),
            4 => Some(CodeObjectVersion::V6),
            _ => None,
        }
    }
}

impl fmt::Display for CodeObjectVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CodeObjectVersion::V4 => "v4",
            CodeObjectVersion::V5 => "v5",
            CodeObjectVersion::V6 => "v6",
        })
    }
}

/// A code object: an ELF file for one target, with the signatures of its kernels. Cloning it copies a pointer.
#[derive(Debug, Clone)]
pub struct CodeObject {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    elf: Arc<[u8]>,
    version: CodeObjectVersion,
    target: TargetId,
    kernels: Vec<KernelSignature>,
    /// The indices of `kernels` in the order of their names.
    by_name: Vec<usize>,
    globals: Vec<GlobalVariable>,
    functions: Vec<FunctionSymbol>,
    segments: Vec<SegmentRange>,
    relocations: Vec<Relocation>,
    printf_formats: Vec<Box<[u8]>>,
}

impl CodeObject {
    /// Parses a raw ELF code object. The bytes are copied once, after they were checked.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not an AMDGPU HSA code object of version 4 to 6, or if a part is missing,
    /// truncated, inconsistent or beyond the [`limits`](crate::limits).
    pub fn parse(bytes: &[u8]) -> Result<CodeObject> {
        let elf = elf::read(bytes)?;
        let (mut kernels, mut printf_formats) = (Vec::new(), Vec::new());
        let mut target = elf.target.clone();
        let mut known_formats = HashSet::new();
        for note in &elf.metadata {
            let metadata = metadata::read(note)?;
            if metadata.version[0] != 1 {
                let reason = format!("amdhsa.version is {:?}; only versions 1 are known", metadata.version);
                return Err(Error::BadMetadata { offset: 0, reason });
            }
            if let Some(text) = &metadata.target {
                target = check_target(text, elf.target.clone())?;
            }
            kernels.extend(metadata.kernels);
            for format in metadata.printf_formats {
                // A format that two of the linked files have has the same number, which is its hash.
                if elf.metadata.len() == 1 || known_formats.insert(format.clone()) {
                    printf_formats.push(format);
                }
            }
        }
        for kernel in &mut kernels {
            kernel.descriptor = elf.descriptor(bytes, &kernel.name, &kernel.symbol)?;
        }
        let mut by_name: Vec<usize> = (0..kernels.len()).collect();
        by_name.sort_by(|&a, &b| kernels[a].name.cmp(&kernels[b].name));
        if let Some(pair) = by_name.windows(2).find(|pair| kernels[pair[0]].name == kernels[pair[1]].name) {
            return Err(Error::DuplicateKernel { kernel: kernels[pair[0]].name.clone() });
        }

        let mut descriptors: Vec<&str> = kernels.iter().map(|kernel| kernel.symbol.as_str()).collect();
        descriptors.sort_unstable();
        let mut globals = elf.objects;
        globals.retain(|object| descriptors.binary_search(&object.name.as_str()).is_err());

        Ok(CodeObject {
            inner: Arc::new(Inner {
                elf: Arc::from(bytes),
                version: elf.version,
                target,
                kernels,
                by_name,
                globals,
                functions: elf.functions,
                segments: elf.segments,
                relocations: elf.relocations,
                printf_formats,
            }),
        })
    }

    /// Parses a raw ELF code object, or the entry of an offload bundle, plain or compressed, that matches the device
    /// best. `hipv4` entries are preferred to `hip` ones, and these to others. Then entries for the exact processor are
    /// preferred to generic ones, and those that specify xnack or sramecc to those that don't.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoMatchingTarget`] if no entry runs on the device, or an error of [`CodeObject::parse`] or
    /// [`bundle::entries`].
    pub fn from_any(bytes: &[u8], device: &TargetId) -> Result<CodeObject> {
        let decompressed;
        let mut bundle = bytes;
        if bundle::is_compressed(bytes) {
            decompressed = bundle::decompress(bytes)?;
            bundle = &decompressed;
        }
        let no_match = |available| Error::NoMatchingTarget { wanted: Box::new(device.clone()), available };
        let mut elf = bundle;
        if bundle::is_bundle(bundle) {
            let entries = bundle::raw_entries(bundle)?;
            let fitting = entries.iter().filter_map(|entry| Some((entry, entry.target()?)));
            let fitting = fitting.filter(|(_, target)| target.is_compatible_with(device));
            let Some((entry, _)) = fitting.max_by_key(|(entry, target)| (entry.kind(), target.specificity()))
            else {
                return Err(no_match(entries.iter().map(|entry| entry.id.to_owned()).collect()));
            };
            elf = &bundle[entry.range.clone()];
        }
        let object = CodeObject::parse(elf)?;
        // The id of an entry is only a label; the ELF header decides.
        if !object.target().is_compatible_with(device) {
            return Err(no_match(vec![object.target().short()]));
        }
        Ok(object)
    }

    /// Returns the ELF file, for drivers that load it themselves.
    pub fn elf(&self) -> &[u8] {
        &self.inner.elf
    }

    /// Returns the version of the format.
    pub fn version(&self) -> CodeObjectVersion {
        self.inner.version
    }

    /// Returns the target that the code is compiled for.
    pub fn target(&self) -> &TargetId {
        &self.inner.target
    }

    /// Returns the kernels in the order of the metadata.
    pub fn kernels(&self) -> &[KernelSignature] {
        &self.inner.kernels
    }

    /// Returns the kernel with this name.
    ///
    /// # Errors
    ///
    /// Returns [`Error::UnknownKernel`], which lists the available kernels.
    pub fn kernel(&self, name: &str) -> Result<&KernelSignature> {
        let kernels = &self.inner.kernels;
        match self.inner.by_name.binary_search_by(|&i| kernels[i].name.as_str().cmp(name)) {
            Ok(at) => Ok(&kernels[self.inner.by_name[at]]),
            Err(_) => Err(Error::UnknownKernel {
                name: name.to_owned(),
                available: kernels.iter().map(|kernel| kernel.name.clone()).collect(),
            }),
        }
    }

    /// Returns the device variables in the order of their names.
    pub fn globals(&self) -> &[GlobalVariable] {
        &self.inner.globals
    }

    /// Returns the device variable with this name.
    pub fn global(&self, name: &str) -> Option<&GlobalVariable> {
        let at = self.inner.globals.binary_search_by(|global| global.name.as_str().cmp(name)).ok()?;
        Some(&self.inner.globals[at])
    }

    /// Returns the PT_LOAD segments in the order of their addresses; they don't overlap. Map them at the same distances
    /// from each other, because the code addresses data relative to the program counter.
    pub fn segments(&self) -> impl Iterator<Item = ElfSegment<'_>> {
        self.inner.segments.iter().map(|segment| ElfSegment {
            vaddr: segment.vaddr,
            mem_size: segment.mem_size,
            data: &self.inner.elf[segment.file.clone()],
            readable: segment.readable,
            writable: segment.writable,
            executable: segment.executable,
        })
    }

    /// Returns the address range that the segments span, at most
    /// [`limits::MAX_IMAGE_SIZE`](crate::limits::MAX_IMAGE_SIZE) bytes.
    pub fn image_range(&self) -> Range<u64> {
        match (self.inner.segments.first(), self.inner.segments.last()) {
            (Some(first), Some(last)) => first.vaddr..last.end(),
            _ => 0..0,
        }
    }

    /// Returns the printf formats that a reader of the printf buffer (`hidden_printf_buffer`) needs:
    /// `ID:COUNT:SIZE:...:FORMAT` of OpenCL's `printf`, with the sizes in bytes of the arguments, or `0:0:HASH,FORMAT`
    /// of HIP's with `-mprintf-kind=buffered` (LLVM AMDGPU usage, `amdhsa.printf`).
    pub fn printf_formats(&self) -> impl Iterator<Item = &[u8]> {
        self.inner.printf_formats.iter().map(|format| &**format)
    }

    /// Returns the relocations to apply after mapping the segments.
    pub fn relocations(&self) -> &[Relocation] {
        &self.inner.relocations
    }

    /// Returns the functions in the order of their addresses: kernels and, unless the file is stripped, local
    /// functions.
    pub fn symbols(&self) -> &[FunctionSymbol] {
        &self.inner.functions
    }

    /// Returns the function that contains this ELF virtual address.
    pub fn function_at(&self, address: u64) -> Option<&FunctionSymbol> {
        let after = self.inner.functions.partition_point(|function| function.address <= address);
        let function = &self.inner.functions[after.checked_sub(1)?];
        (address - function.address < function.size.max(4)).then_some(function)
    }
}

/// Checks that the metadata and the header name the same target, and returns it. Settings that are not specified don't
/// appear in the metadata, so the texts are compared.
fn check_target(text: &str, header: TargetId) -> Result<TargetId> {
    let metadata = text.parse::<TargetId>().ok();
    match metadata {
        // For a processor newer than this crate, the header has only a number, and the metadata the name.
        Some(target) if !header.processor.is_known() && !target.processor.is_known() => {
            let processor =
                Processor::Other { name: target.processor.name().into(), mach: header.processor.mach() };
            Ok(TargetId { processor, ..header })
        }
        Some(target) if target.short() == header.short() => Ok(header),
        _ => Err(Error::TargetMismatch {
            metadata: text.chars().take(256).collect(),
            header: Box::new(header),
        }),
    }
}
