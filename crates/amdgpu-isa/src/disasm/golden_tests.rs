//! Compares the disassembler with LLVM's, by a list that LLVM generated: `tests/data/disassembly.txt`.
//!
//! `cargo test -p amdgpu-isa --lib golden -- --ignored` generates the list again with LLVM 15 and LLVM 22 (Debian's
//! llvm-15 and llvm-22; `LLVM15` and `LLVM22` select other `bin` directories). A line has the targets (`all`, or
//! `942,950` and so on), the dwords, and the text. For dwords that are not an instruction, the text is `-`, and the second dword is
//! given too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::enumeration::{self, Random};
use super::{disassemble, disassemble_lenient, disassemble_words, encoded_length};
use crate::encoding::Encoding;
use crate::target::Target;

const GOLDEN: &str = include_str!("../../tests/data/disassembly.txt");
const TARGETS: [Target; 3] = Target::GFX9;

/// An encoding of the list and its text.
struct Line<'a> {
    targets: &'static [Target],
    words: [u32; 2],
    /// The number of dwords in the line.
    count: usize,
    text: Option<&'a str>,
}

fn lines() -> impl Iterator<Item = Line<'static>> {
    GOLDEN.lines().map(|line| {
        let (targets, rest) = line.split_once(' ').unwrap_or(("", ""));
        let targets: &[Target] = match targets {
            "all" => &TARGETS,
            "90a" => &[Target::Gfx90a],
            "942" => &[Target::Gfx942],
            "950" => &[Target::Gfx950],
            "90a,942" => &[Target::Gfx90a, Target::Gfx942],
            "942,950" => &[Target::Gfx942, Target::Gfx950],
            "90a,950" => &[Target::Gfx90a, Target::Gfx950],
            _ => panic!("no target: {line}"),
        };
        let hex = |text: &str| (text.len() == 8).then(|| u32::from_str_radix(text, 16).ok()).flatten();
        let (first, rest) = rest.split_once(' ').unwrap_or(("", ""));
        let first = hex(first).unwrap_or_else(|| panic!("no dword: {line}"));
        let (second, text) = match rest.split_once(' ') {
            Some((word, text)) if hex(word).is_some() => (hex(word), text),
            _ => (None, rest),
        };
        let text = (text != "-").then_some(text);
        Line { targets, words: [first, second.unwrap_or(0)], count: 1 + usize::from(second.is_some()), text }
    })
}

#[test]
fn the_text_is_llvms() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines() {
        for target in line.targets {
            count += 1;
            let [first, second] = line.words;
            let ours = disassemble_words(*target, first, Some(second), 0);
            let length = ours.as_ref().map_or(line.count, |ours| ours.length / 4);
            if ours.as_ref().map(|ours| &*ours.text) != line.text || length != line.count {
                let ours = ours.map_or("-".into(), |ours| ours.text);
                wrong.push(format!("{target:?} {first:08x} {second:08x}: {:?}, not {ours}", line.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    assert!(count > 10_000, "only {count} encodings");
}

#[test]
fn the_list_covers_every_row() {
    for target in TARGETS {
        let mut named = BTreeSet::new();
        for line in lines().filter(|line| line.targets.contains(&target)) {
            if let Some(text) = line.text {
                let mnemonic = text.split(' ').next().unwrap_or("");
                named.insert(mnemonic);
                for suffix in ["_e32", "_e64", "_sdwa", "_dpp"] {
                    named.extend(mnemonic.strip_suffix(suffix));
                }
            }
        }
        for encoding in Encoding::ALL {
            for row in encoding.rows().iter().filter(|row| row.opcode(target).is_some()) {
                // LLVM does not know this instruction, which AMD's documents have.
                if row.name == "s_set_valu_coexec_mode" {
                    continue;
                }
                assert!(named.contains(row.name), "{target:?} {encoding:?}: no {}", row.name);
            }
        }
    }
}

#[test]
fn any_words_disassemble_or_not() {
    let mut random = Random::new(77);
    for target in TARGETS {
        for _ in 0..500_000 {
            let (first, second) = (random.next() as u32, random.next());
            let second = (second % 16 != 0).then_some((second >> 32) as u32);
            let done = disassemble_words(target, first, second, u64::MAX - 3);
            if let Some(done) = done {
                assert!(done.length == 4 || done.length == 8 && second.is_some());
                assert_eq!(encoded_length(target, first, second), Some(done.length / 4));
                let words = [first, second.unwrap_or(0)];
                assert_eq!(disassemble_lenient(target, words, u64::MAX - 3).text, done.text);
                assert!(!done.text.is_empty() && !done.text.ends_with(' ') && !done.text.contains("  "));
            }
        }
    }
}

/// Returns why an encoding that LLVM prints as `text` is not an instruction here; `None` if it is one.
fn known_difference(target: Target, text: &str) -> Option<&'static str> {
    if (target, text) == (Target::Gfx90a, "buffer_wbinvl1") {
        return Some("an opcode that other processors have");
    }
    let (mnemonic, operands) = text.split_once(' ')?;
    let operands: Vec<&str> = operands.split(", ").collect();
    let destination = *operands.first()?;
    let last = operands.last()?.split(' ').next()?;
    let writes_scalar = mnemonic.starts_with("v_cmp") || mnemonic.starts_with("v_read");
    let is_matrix = mnemonic.starts_with("v_mfma") || mnemonic.starts_with("v_smfmac");
    let vgprs = |text: &str| {
        text.starts_with(['v', 'a']) && text[1..].starts_with(|c: char| c == '[' || c.is_ascii_digit())
    };
    let beyond = operands.iter().any(|text| {
        let end = text.split(']').next().and_then(|text| text.rsplit(':').next());
        vgprs(text) && end.and_then(|end| end.parse::<u32>().ok()).is_some_and(|end| end > 255)
    });
    if beyond {
        return Some("vector registers past the last");
    }
    if text.contains("src_flat_scratch_base") {
        return Some("a source that gfx1250 has");
    }
    if mnemonic == "s_getpc_b64" {
        return Some("a source where the instruction has none");
    }
    if writes_scalar && destination.starts_with("src_") {
        return Some("a scalar destination that is no register");
    }
    if is_matrix && operands.iter().any(|operand| !vgprs(operand.trim_start_matches('-'))) {
        return Some("a matrix in scalar registers");
    }
    if matches!(
        mnemonic,
        "v_cndmask_b32_e64" | "v_addc_co_u32_e64" | "v_subb_co_u32_e64" | "v_subbrev_co_u32_e64"
    ) && vgprs(last)
    {
        return Some("a mask in vector registers");
    }
    if mnemonic == "v_readlane_b32" || mnemonic == "v_writelane_b32" {
        return Some("a lane's number in a vector register, or lanes of a scalar one");
    }
    let wants_vector =
        ["v_readfirstlane_b32", "v_swap_b32", "v_accvgpr_mov_b32", "v_accvgpr_read_b32", "v_mqsad_u32_u8"];
    if wants_vector.contains(&mnemonic) && !vgprs(last) {
        return Some("a scalar source where there are vector registers only");
    }
    match (target, mnemonic) {
        // LLVM then omits the number of registers.
        (Target::Gfx90a, "image_load" | "image_store") => Some("vector registers past the last"),
        (Target::Gfx942, "v_nop") => Some("DPP of nothing"),
        _ => None,
    }
}

/// Returns the texts of encodings that `llvm-objdump` prints; `None` if it prints that there is no such instruction.
fn llvm(target: Target, encodings: &[[u32; 2]], dir: &Path) -> Vec<(usize, Option<String>)> {
    let (variable, usual, cpu) = match target {
        Target::Gfx90a => ("LLVM15", "/usr/lib/llvm-15/bin", "gfx90a"),
        Target::Gfx942 => ("LLVM22", "/usr/lib/llvm-22/bin", "gfx942"),
        Target::Gfx950 => ("LLVM22", "/usr/lib/llvm-22/bin", "gfx950"),
        Target::Gfx11 => ("LLVM22", "/usr/lib/llvm-22/bin", "gfx1100"),
        Target::Gfx115 => ("LLVM22", "/usr/lib/llvm-22/bin", "gfx1150"),
    };
    let bin = PathBuf::from(std::env::var(variable).unwrap_or(usual.into()));
    let (source, object) = (dir.join(format!("{cpu}.s")), dir.join(format!("{cpu}.o")));
    // Each encoding is padded with `s_nop` to 16 bytes, so that the next one starts at a known address.
    let lines: String =
        encodings.iter().map(|[a, b]| format!(".long {a},{b},0xbf800000,0xbf800000\n")).collect();
    std::fs::write(&source, lines).unwrap();
    let assembled = Command::new(bin.join("llvm-mc"))
        .args(["-triple=amdgcn-amd-amdhsa", "-filetype=obj", &format!("-mcpu={cpu}"), "-o"])
        .args([&object, &source])
        .status()
        .unwrap();
    assert!(assembled.success(), "llvm-mc: {assembled}");
    let listed = Command::new(bin.join("llvm-objdump"))
        .args(["-d", "-z", &format!("--mcpu={cpu}")])
        .arg(&object)
        .output()
        .unwrap();
    assert!(listed.status.success(), "llvm-objdump: {}", listed.status);
    let mut texts = vec![(1, None); encodings.len()];
    for line in String::from_utf8(listed.stdout).unwrap().lines() {
        let Some((text, rest)) = line.rsplit_once("// ") else { continue };
        let Some((address, words)) = rest.split_once(": ") else { continue };
        let address = usize::from_str_radix(address, 16).unwrap();
        if address % 16 != 0 {
            continue;
        }
        let text = text.trim();
        let invalid = text.starts_with(".long") || text.contains("/*") || text.contains("nvalid");
        let count = words.split_whitespace().take_while(|word| word.len() == 8).count();
        texts[address / 16] = (count, (!invalid).then(|| text.to_string()));
    }
    texts
}

#[test]
#[ignore = "makes the list anew; needs llvm-15 and llvm-22"]
fn golden() {
    let dir = std::env::temp_dir().join(format!("amdgpu-isa-golden-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mut list: BTreeMap<(u32, Option<u32>, String), Vec<Target>> = BTreeMap::new();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unknown = Vec::new();
    for target in TARGETS {
        let encodings = enumeration::encodings(target);
        for ([first, second], (count, text)) in encodings.iter().zip(llvm(target, &encodings, &dir)) {
            let ours = disassemble_words(target, *first, Some(*second), 0);
            let reason = text.as_ref().and_then(|text| known_difference(target, text));
            match (&ours, &text, reason) {
                (None, Some(_), Some(reason)) => {
                    *reasons.entry(reason).or_default() += 1;
                    continue;
                }
                (ours, text, _) if ours.as_ref().map(|ours| &ours.text) != text.as_ref() => {
                    unknown.push(format!("{target:?} {first:08x} {second:08x}: {text:?}, not {ours:?}"));
                }
                _ => {}
            }
            let second = (count > 1 || text.is_none()).then_some(*second);
            let targets = list.entry((*first, second, text.unwrap_or("-".into()))).or_default();
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
    let lines: String = list
        .iter()
        .map(|((first, second, text), targets)| {
            let targets = match targets[..] {
                [Target::Gfx90a] => "90a",
                [Target::Gfx942] => "942",
                [Target::Gfx950] => "950",
                [Target::Gfx90a, Target::Gfx942] => "90a,942",
                [Target::Gfx942, Target::Gfx950] => "942,950",
                [Target::Gfx90a, Target::Gfx950] => "90a,950",
                _ => "all",
            };
            let second = second.map_or(String::new(), |second| format!("{second:08x} "));
            format!("{targets} {first:08x} {second}{text}\n")
        })
        .collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/disassembly.txt");
    std::fs::write(file, &lines).unwrap();
    println!("{} lines, {} bytes; left out: {reasons:#?}", list.len(), lines.len());
    assert!(unknown.is_empty(), "{} differ:\n{}", unknown.len(), unknown.join("\n"));
}

/// Encodings of four dwords, with the text of `llvm-mc --disassemble -triple=amdgcn-amd-amdhsa -mcpu=gfx950` (LLVM 22).
#[test]
fn scaled_matrices_are_one_instruction_of_four_dwords() {
    let scaled = [
        (
            [0xd3ac_4000, 0x1802_3318, 0xd3ad_0800, 0x0452_1904],
            "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[20:23], v24, v25 op_sel_hi:[1,1,0]",
        ),
        (
            [0xd3ac_5800, 0x0002_3318, 0xd3ae_0a00, 0x8452_1904],
            "v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[4:9], v[12:15], v[20:35], v24, v25 op_sel:[1,1,0] \
             op_sel_hi:[0,0,0] cbsz:2 blgp:4",
        ),
    ];
    for (words, text) in scaled {
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        let done = disassemble(Target::Gfx950, &bytes, 0).expect("an instruction");
        assert_eq!((done.text.as_str(), done.length, done.words), (text, 16, words));
        // Alone, its two halves are two instructions, which an emulator executes one after the other.
        let first = disassemble(Target::Gfx950, &bytes[..8], 0).expect("an instruction");
        assert!(first.text.starts_with("v_mfma_ld_scale_b32 v24, v25"), "{}", first.text);
        assert!(disassemble(Target::Gfx950, &bytes[8..], 0).is_none(), "LLVM refuses the second half alone");
        assert!(disassemble_lenient(Target::Gfx950, [words[2], words[3]], 0).is_legal);
    }
}
