//! Malformed and hostile input gives an error or a code object with all documented properties, and never a panic.

mod exercise;

use code_object::limits::MAX_IMAGE_SIZE;
use code_object::{CodeObject, CodeObjectVersion, Error, RelocationKind};
use exercise::exercise;
use proptest::prelude::*;

const V4: &[u8] = include_bytes!("data/v4.co");
const V5: &[u8] = include_bytes!("data/v5.co");
const V6: &[u8] = include_bytes!("data/v6.co");
const OPENCL: &[u8] = include_bytes!("data/opencl.co");
const PLAIN: &[u8] = include_bytes!("data/plain.hipfb");
const ZSTD: &[u8] = include_bytes!("data/zstd-v3.hipfb");
const ZLIB: &[u8] = include_bytes!("data/zlib-v1.hipfb");

/// A copy of `v4.co` to modify.
struct Patch(Vec<u8>);

impl Patch {
    fn new() -> Patch {
        Patch(V4.to_vec())
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap())
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
    }

    /// Writes bytes and returns what reading the file gives.
    fn set(mut self, at: usize, bytes: &[u8]) -> Patch {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    fn read(&self) -> Result<CodeObject, Error> {
        exercise(&self.0)
    }

    fn error(&self) -> Error {
        self.read().expect_err("the file is broken")
    }

    /// Returns the offset of the n-th program header of a type: 1 is PT_LOAD, 4 is PT_NOTE.
    fn program_header(&self, kind: u32, n: usize) -> usize {
        (0..9).map(|i| 64 + i * 56).filter(|&at| self.u32(at) == kind).nth(n).unwrap()
    }

    /// Returns the offset of the section header of a type: 2 is SHT_SYMTAB, 4 is SHT_RELA, 11 is SHT_DYNSYM.
    fn section_header(&self, kind: u32) -> usize {
        let table = self.u64(40) as usize;
        (0..).map(|i| table + i * 64).find(|&at| self.u32(at + 4) == kind).unwrap()
    }

    /// Returns the offset of the contents of the section of a type.
    fn section(&self, kind: u32) -> usize {
        self.u64(self.section_header(kind) + 24) as usize
    }

    /// Returns the offset of a named symbol in the dynamic symbol table, and its index.
    fn symbol(&self, name: &str) -> (usize, usize) {
        let symbols = self.section(11);
        let strings =
            self.u64(self.u64(40) as usize + 64 * self.u32(self.section_header(11) + 40) as usize + 24);
        let named = |at: usize| {
            let start = strings as usize + self.u32(at) as usize;
            self.0[start..].starts_with(&[name.as_bytes(), b"\0"].concat())
        };
        let index = (0..).find(|i| named(symbols + i * 24)).unwrap();
        (symbols + index * 24, index)
    }

    /// Replaces the metadata note with one at the end of the file.
    fn metadata(self, note: &[u8]) -> Patch {
        Patch(exercise::with_metadata(&self.0, note))
    }
}

/// Runs every file of a corpus that cargo-fuzz found. The corpus must not be empty.
fn replay(target: &str, body: impl Fn(&[u8])) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut count = 0;
    for entry in folder.read_dir().unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.unwrap().path();
        // Printed when the test fails.
        println!("{}", path.display());
        body(&std::fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}

#[test]
fn the_corpora_of_the_fuzz_targets_do_not_panic() {
    replay("read", |bytes| drop(exercise(bytes)));
    replay("metadata", exercise::metadata);
    replay("compressed", exercise::compressed);
}

#[test]
fn a_file_truncated_at_any_byte_is_an_error() {
    for bytes in [V4, V6] {
        for len in 0..bytes.len() {
            // The section headers are at the end, so that no part of the file can be missing.
            let error = exercise(&bytes[..len]).expect_err("the file is cut short");
            assert!(matches!(
                error,
                Error::NotElf { .. } | Error::MalformedElf { .. } | Error::BadSegment { .. }
            ));
        }
    }
}

#[test]
fn a_bundle_truncated_at_any_byte_is_an_error() {
    let device = "gfx942".parse().unwrap();
    for bytes in [PLAIN, ZSTD, ZLIB] {
        let step = if bytes.len() > 10_000 { 7 } else { 1 };
        for len in (0..bytes.len()).step_by(step) {
            CodeObject::from_any(&bytes[..len], &device).expect_err("the file is cut short");
        }
        CodeObject::from_any(bytes, &device).unwrap();
    }
}

#[test]
fn a_bit_flipped_in_any_byte_does_not_panic() {
    let mut bytes = V5.to_vec();
    for at in 0..bytes.len() {
        let bit = 1 << (at % 8);
        bytes[at] ^= bit;
        let _ = exercise(&bytes);
        bytes[at] ^= bit;
    }
    assert_eq!(bytes, V5);
}

#[test]
fn a_bit_flipped_in_a_compressed_bundle_does_not_panic() {
    for original in [ZSTD, ZLIB] {
        let mut bytes = original.to_vec();
        for at in 0..bytes.len() {
            let bit = 1 << (at * 5 % 8);
            bytes[at] ^= bit;
            let _ = code_object::bundle::entries(&bytes);
            bytes[at] ^= bit;
        }
    }
}

/// A change of a file at a place that is a fraction of its length.
#[derive(Debug, Clone)]
enum Mutation {
    Set(u8),
    Word(u32),
    Long(u64),
    Remove(usize),
    Copy(usize, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let telling =
        prop_oneof![Just(0u64), Just(1), Just(u64::MAX), Just(i64::MAX as u64), 0u64..0x6000, any::<u64>()];
    prop_oneof![
        any::<u8>().prop_map(Mutation::Set),
        telling.clone().prop_map(|value| Mutation::Word(value as u32)),
        telling.prop_map(Mutation::Long),
        (1usize..64).prop_map(Mutation::Remove),
        (1usize..64, any::<usize>()).prop_map(|(len, from)| Mutation::Copy(len, from)),
    ]
}

fn mutate(bytes: &mut Vec<u8>, at: usize, mutation: &Mutation) {
    let at = at % bytes.len().max(1);
    let put = |bytes: &mut Vec<u8>, new: &[u8]| {
        let end = bytes.len().min(at + new.len());
        bytes[at..end].copy_from_slice(&new[..end - at]);
    };
    match mutation {
        Mutation::Set(value) => put(bytes, &[*value]),
        Mutation::Word(value) => put(bytes, &value.to_le_bytes()),
        Mutation::Long(value) => put(bytes, &value.to_le_bytes()),
        Mutation::Remove(count) => drop(bytes.drain(at..bytes.len().min(at + count))),
        Mutation::Copy(count, from) => {
            let from = from % bytes.len().max(1);
            let piece = bytes[from..bytes.len().min(from + count)].to_vec();
            put(bytes, &piece);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_files(
        which in 0usize..6,
        // Half of all mutations hit the headers, notes and tables at the front.
        changes in prop::collection::vec((prop_oneof![0usize..0x1100, any::<usize>()], mutation()), 1..6),
    ) {
        let mut bytes = [V4, V5, V6, OPENCL, PLAIN, ZSTD][which].to_vec();
        for (at, change) in &changes {
            mutate(&mut bytes, *at, change);
        }
        let _ = exercise(&bytes);
    }

    #[test]
    fn random_metadata(note in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = Patch::new().metadata(&note).read();
    }

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..512), magic in 0usize..3) {
        let start: &[u8] = [b"__CLANG_OFFLOAD_BUNDLE__".as_slice(), b"CCOB\x03\0\x01\0", &V4[..64]][magic];
        let _ = exercise(&bytes);
        let _ = exercise(&[start, &bytes].concat());
    }
}

#[test]
fn a_file_that_is_not_elf_is_an_error() {
    let error = exercise(b"hello").unwrap_err();
    assert_eq!(
        error.to_string(),
        "not an AMDGPU code object: expected an ELF file, found 5 bytes starting with \
         [68, 65, 6c, 6c, 6f, 00, 00, 00]; give it what `hipcc --genco --offload-arch=gfx90a` writes"
    );
    assert!(matches!(exercise(b""), Err(Error::NotElf { len: 0, .. })));
}

#[test]
fn a_wrong_machine_or_version_is_an_error() {
    let error = |at, bytes: &[u8]| Patch::new().set(at, bytes).error().to_string();
    assert!(error(18, &[62, 0]).contains("machine 62 (AMDGPU is 224)"));
    assert!(error(4, &[1]).contains("not a 64-bit little-endian file"));
    assert!(error(5, &[2]).contains("not a 64-bit little-endian file"));
    assert!(error(7, &[0]).contains("OS ABI 0"));
    assert!(error(16, &[1, 0]).contains("not a linked shared object"));
    for abi_version in [0, 1, 5] {
        assert_eq!(Patch::new().set(8, &[abi_version]).error(), Error::UnsupportedVersion { abi_version });
    }
    assert_eq!(Patch::new().read().unwrap().version(), CodeObjectVersion::V4);
}

/// Assembly states its own metadata. AMD's libraries have kernels with version 1.0 and no target in v4, v5 and v6 files.
#[test]
fn metadata_may_be_older_than_the_file() {
    let note = |major: u8, minor: u8| {
        [&b"\x82\xaeamdhsa.version\x92"[..], &[major, minor], b"\xaeamdhsa.kernels\x90"].concat()
    };
    for (abi_version, version) in
        [(2, CodeObjectVersion::V4), (3, CodeObjectVersion::V5), (4, CodeObjectVersion::V6)]
    {
        for minor in 0..3 {
            let object = Patch::new().set(8, &[abi_version]).metadata(&note(1, minor)).read().unwrap();
            assert_eq!(object.version(), version);
            assert_eq!(object.target().to_string(), "amdgcn-amd-amdhsa--gfx90a");
        }
    }
    let error = Patch::new().metadata(&note(2, 0)).error().to_string();
    assert!(error.contains("amdhsa.version is [2, 0]; only versions 1 are known"), "{error}");
}

#[test]
fn different_targets_in_header_and_metadata_are_an_error() {
    // gfx908; gfx90a:xnack+.
    for flags in [0x530u32, 0x73f] {
        let error = Patch::new().set(48, &flags.to_le_bytes()).error();
        assert!(matches!(error, Error::TargetMismatch { .. }), "{error}");
    }
}

#[test]
fn segments_that_cannot_be_loaded_are_errors() {
    let load = Patch::new().program_header(1, 1);
    let error = |at, value: u64| Patch::new().set(at, &value.to_le_bytes()).error();
    let reason = |error| match error {
        Error::BadSegment { index: 2, reason } => reason,
        other => panic!("{other}"),
    };
    assert_eq!(reason(error(load + 8, u64::MAX)), "its file offset overflows");
    assert_eq!(
        reason(error(load + 8, V4.len() as u64)),
        "it ends behind the end of the file; the file was cut short"
    );
    assert_eq!(reason(error(load + 40, 1)), "it is longer in the file than in memory");
    assert_eq!(reason(error(load + 16, u64::MAX)), "its address overflows");
    assert_eq!(reason(error(load + 16, 0x100)), "it overlaps another in memory");
    // The image is too large: the last segment is far away, or long.
    let last = Patch::new().program_header(1, 3);
    for (at, value) in [(last + 16, MAX_IMAGE_SIZE), (last + 40, MAX_IMAGE_SIZE)] {
        assert!(matches!(error(at, value), Error::ImageTooLarge { limit: MAX_IMAGE_SIZE, .. }));
    }
    // There are too many program headers.
    let error = Patch::new().set(56, &200u16.to_le_bytes()).error();
    assert!(error.to_string().contains("program headers"), "{error}");
}

#[test]
fn a_file_without_section_headers_is_an_error() {
    let patch = Patch::new().set(40, &[0; 8]).set(60, &[0; 4]);
    assert!(patch.error().to_string().contains("symbols and relocations can't be found"));
}

#[test]
fn malformed_notes_are_errors() {
    let note = Patch::new().program_header(4, 0);
    // Not a note segment; a note of another owner; a note that is longer than its segment; one that two segments have.
    assert_eq!(Patch::new().set(note, &[0; 4]).error(), Error::NoMetadata);
    let start = Patch::new().u64(note + 8) as usize;
    assert_eq!(Patch::new().set(start + 12, b"amdgpu").error(), Error::NoMetadata);
    let error = Patch::new().set(start + 4, &u32::MAX.to_le_bytes()).error();
    assert!(matches!(error, Error::MalformedElf { part: "note", .. }), "{error}");
    let copy = V4[note..note + 56].to_vec();
    let stack = Patch::new().program_header(0x6474_e551, 0);
    let kernels = |object: CodeObject| object.kernels().len();
    assert_eq!(
        kernels(Patch::new().set(stack, &copy).read().unwrap()),
        kernels(Patch::new().read().unwrap()),
    );
}

#[test]
fn malformed_descriptors_are_errors() {
    let patch = Patch::new();
    let (symbol, _) = patch.symbol("scale.kd");
    let address = patch.u64(symbol + 8);
    let reason = |error| match error {
        Error::BadDescriptor { kernel, symbol, reason } => {
            assert_eq!((kernel.as_str(), symbol.as_str()), ("scale", "scale.kd"));
            reason
        }
        other => panic!("{other}"),
    };
    let missing = "is not an object in the dynamic symbol table";
    assert_eq!(reason(Patch::new().set(symbol + 4, &[0]).error()), missing);
    assert_eq!(reason(Patch::new().set(symbol + 6, &[0, 0]).error()), missing);
    let moved = |address: u64| reason(Patch::new().set(symbol + 8, &address.to_le_bytes()).error());
    assert_eq!(moved(address + 8), "is not aligned to 64 bytes");
    let zeros = patch.symbol("counter").0;
    let end = patch.u64(zeros + 8) & !63;
    // In a segment as the symbol says, but not 64 bytes of the file.
    let short = Patch::new().set(symbol + 8, &end.to_le_bytes()).set(symbol + 16, &[4]);
    assert_eq!(reason(short.error()), "has no 64 bytes in a segment's file data");
    // The first segment is mapped at its file offset.
    let at = address as usize + 16;
    let entry = |offset: i64| reason(Patch::new().set(at, &offset.to_le_bytes()).error());
    assert_eq!(entry(i64::MIN), "has an entry point that overflows");
    assert_eq!(entry(3), "has an entry point that is not aligned to 256 bytes");
    assert_eq!(entry(-(address as i64)), "has an entry point outside the executable segments");
    assert_eq!(entry(0x10_0000 - address as i64), "has an entry point outside the executable segments");
}

#[test]
fn malformed_symbols_are_errors() {
    let patch = Patch::new();
    let (symbol, _) = patch.symbol("table");
    for (at, value) in [(symbol + 8, u64::MAX), (symbol + 16, u64::MAX), (symbol + 16, 0x1000)] {
        let error = Patch::new().set(at, &value.to_le_bytes()).error();
        assert_eq!(error, Error::BadSymbol { name: "table".into(), reason: "it lies outside the segments" });
    }
    let name = patch.u32(symbol);
    let (row, _) = patch.symbol("row");
    let error = Patch::new().set(row, &name.to_le_bytes()).error();
    assert_eq!(error, Error::BadSymbol { name: "table".into(), reason: "it is defined twice" });
    let error = Patch::new().set(symbol, &u32::MAX.to_le_bytes()).error();
    assert!(matches!(error, Error::MalformedElf { part: "symbol name", .. }), "{error}");
    let strings =
        patch.u64(patch.u64(40) as usize + 64 * patch.u32(patch.section_header(11) + 40) as usize + 24);
    let error = Patch::new().set(strings as usize + name as usize, &[0xff]).error();
    let reason = "its name is not valid UTF-8";
    assert_eq!(error, Error::BadSymbol { name: "\u{fffd}able".into(), reason });
}

#[test]
fn malformed_relocations_are_errors() {
    let patch = Patch::new();
    // The third: R_AMDGPU_ABS64 against `absent`.
    let third = patch.section(4) + 2 * 24;
    let info = |kind: u64, symbol: usize| (kind | (symbol as u64) << 32).to_le_bytes();
    let set = |bytes: [u8; 8]| Patch::new().set(third + 8, &bytes);

    let (row, index) = patch.symbol("row");
    let object = set(info(3, index)).read().unwrap();
    let relocation = object.relocations()[2];
    assert_eq!((relocation.kind, relocation.symbol_value), (RelocationKind::Abs64, patch.u64(row + 8)));
    assert_eq!(relocation.value(0x1_0000), 0x1_0000 + patch.u64(row + 8));
    // R_AMDGPU_NONE.
    assert_eq!(set(info(0, index)).read().unwrap().relocations().len(), 2);
    // An absolute symbol is not relocated.
    let absolute = set(info(3, index)).set(row + 6, &0xfff1u16.to_le_bytes());
    assert_eq!(absolute.read().unwrap().relocations()[2].kind, RelocationKind::Constant64);

    let offset = patch.u64(third);
    assert_eq!(set(info(99, index)).error(), Error::UnknownRelocation { kind: 99, offset });
    assert!(set(info(3, 1000)).error().to_string().contains("relocations"));
    let (absent, _) = patch.symbol("absent");
    // STB_GLOBAL instead of STB_WEAK.
    let error = Patch::new().set(absent + 4, &[0x10]).error();
    assert_eq!(error, Error::UndefinedSymbol { name: "absent".into() });
    for offset in [u64::MAX, 0x10_0000] {
        let error = Patch::new().set(third, &offset.to_le_bytes()).error();
        assert_eq!(error, Error::RelocationOutOfBounds { offset });
    }
    // Symbols of another table.
    let header = patch.section_header(4);
    let error = Patch::new().set(header + 40, &[1]).error();
    assert!(error.to_string().contains("not those of .dynsym"), "{error}");
    // SHT_REL, which AMDGPU doesn't use.
    assert!(Patch::new().set(header + 4, &[9]).error().to_string().contains("link with -z rela"));
}

#[test]
fn two_kernels_with_one_name_are_an_error() {
    let at = V4.windows(6).position(|bytes| bytes == b"\xa5empty").unwrap();
    let error = Patch::new().set(at + 1, b"scale").error();
    assert_eq!(error, Error::DuplicateKernel { kernel: "scale".into() });
}

#[test]
fn metadata_of_another_type_is_an_error() {
    for note in
        [b"".as_slice(), b"\xc0", b"\x90", b"\x80", b"\x81\xa1", b"\x81\xc1\xc1", &[0xdf, 255, 255, 255, 255]]
    {
        let error = Patch::new().metadata(note).error();
        assert!(matches!(error, Error::BadMetadata { .. }), "{error}");
    }
}
