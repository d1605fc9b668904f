//! The disassembler over whole code objects and over any bytes. `src/disasm/golden_tests.rs` compares its texts with
//! LLVM's.

use amdgpu_isa::{Instructions, Isa, Listing, Target, WaveSize, disassemble};
use code_object::CodeObject;
use proptest::prelude::*;

const OBJECTS: [&[u8]; 5] = [
    include_bytes!("data/kernels.gfx90a.co"),
    include_bytes!("data/kernels.gfx90a.O0.co"),
    include_bytes!("data/kernels.gfx942.co"),
    // `clang-22 --offload-arch=gfx1200` and `gfx1030`, with the options of amdgpu-emulator/tests/data/build.sh for gfx942.
    include_bytes!("data/kernels.gfx1200.co"),
    include_bytes!("data/kernels.gfx1030.co"),
];

#[test]
fn functions_of_a_code_object() {
    for bytes in OBJECTS {
        let object = CodeObject::parse(bytes).unwrap();
        let listing = Listing::of(&object).unwrap();
        for kernel in object.kernels().iter().filter(|kernel| kernel.name != "illegal") {
            let function = listing.function(&kernel.name).unwrap();
            let instructions: Vec<_> = function.instructions().collect();
            assert!(instructions.iter().all(|i| i.is_legal), "{}", kernel.name);
            assert_eq!(instructions.iter().map(|i| i.length).sum::<usize>(), function.code().len());
            assert_eq!(instructions[0].address, function.address());
            assert!(instructions.iter().any(|i| i.text == "s_endpgm"), "{}", kernel.name);
            // Branches go to instructions, and those within the function have labels.
            let labels = function.labels();
            for to in labels.keys() {
                assert!(instructions.iter().any(|i| i.address == *to), "{}: {to:#x}", kernel.name);
            }
            let within = function.address()..function.address() + function.code().len() as u64;
            let targets =
                || instructions.iter().filter_map(|i| i.branch_target).filter(|to| within.contains(to));
            assert!(targets().all(|to| labels.contains_key(&to)));
            assert_eq!(targets().count() == 0, labels.is_empty());
        }
    }
}

#[test]
fn a_listing_is_printed_as_llvm_objdump_does() {
    let object = CodeObject::parse(OBJECTS[0]).unwrap();
    let listing = Listing::of(&object).unwrap();
    let function = listing.function("forever").unwrap();
    let text = function.to_string();
    let mut lines = text.lines();
    assert_eq!(lines.next().unwrap(), format!("{:016x} <forever>:", function.address()));
    let branch = lines.find(|line| line.contains("branch")).unwrap();
    // Text, padding to column 60, address, dwords, and where it goes.
    assert_eq!(branch.find("// "), Some(60), "{branch}");
    assert!(branch.contains(" <forever"), "{branch}");
    assert!(listing.to_string().contains(&text));
    assert!(listing.function("no such").is_none());
}

#[test]
fn what_is_no_instruction_is_shown_as_bits() {
    let code = [0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x81, 0xbf, 0x12];
    let shown: Vec<_> = Instructions::new(Target::Gfx942, &code, 0x100).collect();
    assert_eq!(shown.len(), 2);
    assert_eq!((shown[0].text.as_str(), shown[0].is_legal), (".long 0xffffffff", false));
    assert_eq!((shown[1].text.as_str(), shown[1].address), ("s_endpgm", 0x104));
    // Cut off before its literal.
    assert_eq!(disassemble(Target::Gfx90a, &[0xff, 0x02, 0x02, 0x7e], 0), None);
    assert_eq!(disassemble(Target::Gfx90a, &[0xff], 0), None);
}

#[test]
fn objects_of_other_generations_are_listed() {
    for (object, target, load) in
        [(OBJECTS[3], Target::Gfx12, "s_wait_loadcnt "), (OBJECTS[4], Target::Gfx103, "global_load_dword ")]
    {
        let object = CodeObject::parse(object).unwrap();
        assert_eq!(Target::of(&object).unwrap(), target);
        let listing = Listing::of(&object).unwrap();
        let function = listing.function("reverse").unwrap();
        assert_eq!(function.isa(), Isa::new(target, WaveSize::Wave32));
        assert!(function.instructions().any(|i| i.text.starts_with(load)), "{function}");
    }
}

#[test]
fn other_processors_are_refused() {
    let mut bytes = OBJECTS[0].to_vec();
    // gfx906, in the ELF header's flags and in the metadata.
    bytes[48] = 0x2f;
    while let Some(at) = bytes.windows(6).position(|name| name == b"gfx90a") {
        bytes[at + 5] = b'6';
    }
    let object = CodeObject::parse(&bytes).unwrap();
    assert!(Listing::of(&object).unwrap_err().to_string().contains("gfx906"));
}

/// Every byte is shown once, and each instruction alone as among the others.
fn every_byte_is_shown_once(code: &[u8], pc: u64) {
    for target in Target::ALL {
        let mut at = 0;
        for instruction in Instructions::new(target, code, pc) {
            assert_eq!(instruction.address, pc.wrapping_add(at as u64));
            assert!(!instruction.text.is_empty());
            let alone = disassemble(target, &code[at..], instruction.address);
            assert_eq!(alone.is_some(), instruction.is_legal);
            assert!(alone.is_none_or(|alone| alone == instruction));
            at += instruction.length;
        }
        assert_eq!(at, code.len() / 4 * 4);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_disassemble(code in proptest::collection::vec(any::<u8>(), 0..80), pc: u64) {
        every_byte_is_shown_once(&code, pc);
    }
}

#[test]
fn what_fuzzing_found_disassembles() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/disassemble");
    let mut count = 0;
    for entry in corpus.read_dir().unwrap() {
        every_byte_is_shown_once(&std::fs::read(entry.unwrap().path()).unwrap(), u64::MAX - 7);
        count += 1;
    }
    assert!(count > 0, "{} is empty", corpus.display());
}
