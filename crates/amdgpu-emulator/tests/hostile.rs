//! Tests of invalid and random input: it gives a result, a fault or an error, the same each time, and never a panic.
//!
//! Runs the bodies of the fuzz targets on seeded random bytes and on the corpora that cargo-fuzz found (fuzz/corpus).

mod common;

use std::path::Path;

use amdgpu_emulator::{Error, Machine, MachineConfig};
use code_object::CodeObject;
use common::OBJECTS;

/// A generator of seeded random bytes (splitmix64).
struct Bytes(u64);

impl Bytes {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        (0..count.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).take(count).collect()
    }
}

/// Runs every file of a corpus, which must not be empty.
fn replay(target: &str, body: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
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

/// The number of cases of a test. Unoptimised builds are slow.
const CASES: usize = if cfg!(debug_assertions) { 300 } else { 3000 };

#[test]
fn random_programs_do_not_panic() {
    let mut bytes = Bytes(1);
    let mut changed = 0;
    for case in 0..CASES {
        println!("case {case}");
        changed += usize::from(amdgpu_exercise::stream(&bytes.take(1200)));
    }
    assert!(changed > CASES / 4, "{changed} of {CASES} programs stored something");
    replay("stream", |bytes| {
        amdgpu_exercise::stream(bytes);
    });
}

#[test]
fn random_words_do_not_panic() {
    let mut bytes = Bytes(2);
    for case in 0..CASES {
        println!("case {case}");
        let code = bytes.take(400);
        amdgpu_exercise::words(&code);
    }
    replay("words", amdgpu_exercise::words);
}

#[test]
fn broken_code_objects_do_not_panic() {
    let mut bytes = Bytes(3);
    for (name, object) in OBJECTS {
        for case in 0..CASES / 6 {
            println!("{name}, case {case}");
            let mut object = object.to_vec();
            for _ in 0..1 + bytes.next() % 8 {
                // Headers, symbols, descriptors and metadata are at the front.
                let end =
                    if bytes.next().is_multiple_of(4) { object.len() } else { object.len().min(0x2000) };
                let at = bytes.next() as usize % end;
                object[at] = bytes.next() as u8;
            }
            amdgpu_exercise::load(&object);
        }
    }
    replay("load", amdgpu_exercise::load);
}

fn refusal(object: &[u8]) -> Error {
    let object = CodeObject::parse(object).expect("a code object");
    let machine = Machine::new(MachineConfig::default()).expect("a machine");
    let free = machine.memory().usage();
    let error = machine.load(&object).expect_err("it must not load");
    assert_eq!(machine.memory().usage(), free, "nothing is left of it");
    error
}

#[test]
fn other_processors_are_refused_by_name() {
    let error = refusal(include_bytes!("data/assembly/empty.gfx908.co"));
    assert!(matches!(&error, Error::UnsupportedTarget(of) if of.to_string().contains("gfx908")), "{error}");
    assert!(error.to_string().contains("compile it for one of these"), "{error}");
}

#[test]
fn image_instructions_are_refused_by_name() {
    let error = refusal(include_bytes!("data/assembly/image.gfx1100.co"));
    let Error::ImageInstruction { target, function, instruction, .. } = &error else { panic!("{error}") };
    assert_eq!((target.as_str(), function.as_str()), ("amdgcn-amd-amdhsa--gfx1100", "empty"));
    assert_eq!(instruction, "image_msaa_load v[0:3], v[0:2], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D_MSAA");
    assert!(error.to_string().contains("gfx1100 has an image instruction"), "{error}");
}
