//! Compares the disassembler with LLVM's, by lists that LLVM generated: `tests/data/disassembly.txt` for gfx9, and
//! `disassembly-gfx10.txt`, `disassembly-gfx11.txt` and `disassembly-gfx12.txt` there for the generations of RDNA.
//!
//! `cargo test -p amdgpu-isa --lib golden -- --ignored` generates the lists again with LLVM 15 and LLVM 22 (Debian's
//! llvm-15 and llvm-22; `LLVM15` and `LLVM22` select other `bin` directories). A line has the targets, the dwords, and the
//! text. For dwords that are not an instruction, the text is `-`, and all dwords that it could have are given. Targets are `90a`, `942`,
//! `950` (`all` is these three), `11` and `115` for waves of 32 lanes, `11w64` and `115w64` for those of 64, `11w*` and `115w*` for both, and
//! `11*` for all of these. Those of gfx12 are `12`, `12w64` and `12*`, and those of gfx10.3 are `103`, `103w64` and `103w*`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::enumeration::{self, Random};
use super::gfx11::golden_tests as gfx11;
use super::gfx12::golden_tests as gfx12;
use super::words::WITHOUT_TEXT_ON_GFX12;
use super::{disassemble, disassemble_lenient, disassemble_words, encoded_length};
use crate::encoding::Encoding;
use crate::target::{Generation, Isa, Target, WaveSize};

const GFX9: &str = include_str!("../../tests/data/disassembly.txt");
const GFX10: &str = include_str!("../../tests/data/disassembly-gfx10.txt");
const GFX11: &str = include_str!("../../tests/data/disassembly-gfx11.txt");
const GFX12: &str = include_str!("../../tests/data/disassembly-gfx12.txt");
/// The lists, by the generation of the targets: files in `tests/data/`.
const LISTS: [(Generation, &str); 4] = [
    (Generation::Gfx9, "disassembly.txt"),
    (Generation::Gfx10, "disassembly-gfx10.txt"),
    (Generation::Gfx11, "disassembly-gfx11.txt"),
    (Generation::Gfx12, "disassembly-gfx12.txt"),
];

/// What the lists have texts for, with the names in their lines: targets, and for RDNA also the number of lanes of a wave.
const ISAS: [(&str, Isa); 11] = [
    ("90a", Isa::new(Target::Gfx90a, WaveSize::Wave64)),
    ("942", Isa::new(Target::Gfx942, WaveSize::Wave64)),
    ("950", Isa::new(Target::Gfx950, WaveSize::Wave64)),
    ("11", Isa::new(Target::Gfx11, WaveSize::Wave32)),
    ("11w64", Isa::new(Target::Gfx11, WaveSize::Wave64)),
    ("115", Isa::new(Target::Gfx115, WaveSize::Wave32)),
    ("115w64", Isa::new(Target::Gfx115, WaveSize::Wave64)),
    ("12", Isa::new(Target::Gfx12, WaveSize::Wave32)),
    ("12w64", Isa::new(Target::Gfx12, WaveSize::Wave64)),
    ("103", Isa::new(Target::Gfx103, WaveSize::Wave32)),
    ("103w64", Isa::new(Target::Gfx103, WaveSize::Wave64)),
];
/// Short names for several of them.
const GROUPS: [(&str, &[usize]); 6] = [
    ("all", &[0, 1, 2]),
    ("11*", &[3, 4, 5, 6]),
    ("11w*", &[3, 4]),
    ("115w*", &[5, 6]),
    ("12*", &[7, 8]),
    ("103w*", &[9, 10]),
];

/// Returns the places in [`ISAS`] that a line names.
fn named(names: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for name in names.split(',') {
        match GROUPS.iter().find(|(group, _)| *group == name) {
            Some((_, places)) => all.extend_from_slice(places),
            None => all.push(ISAS.iter().position(|(isa, _)| *isa == name)?),
        }
    }
    Some(all)
}

/// Returns the shortest name that [`named`] reads as these places.
fn name_of(places: &[usize]) -> String {
    if let Some((name, _)) = GROUPS.iter().find(|(_, group)| *group == places) {
        return (*name).into();
    }
    places.iter().map(|place| ISAS[*place].0).collect::<Vec<_>>().join(",")
}

/// What follows the encodings that LLVM disassembles: `s_nop 0`.
const PADDING: u32 = 0xbf80_0000;

/// An encoding of the list and its text.
struct Line<'a> {
    isas: Vec<Isa>,
    words: Vec<u32>,
    text: Option<&'a str>,
}

fn lines() -> impl Iterator<Item = Line<'static>> {
    [GFX9, GFX10, GFX11, GFX12].into_iter().flat_map(str::lines).map(|line| {
        let (names, mut rest) = line.split_once(' ').unwrap_or(("", ""));
        let places = named(names).unwrap_or_else(|| panic!("no target: {line}"));
        let hex = |text: &str| (text.len() == 8).then(|| u32::from_str_radix(text, 16).ok()).flatten();
        let mut words = Vec::new();
        while let Some((word, after)) = rest.split_once(' ')
            && let Some(word) = hex(word)
        {
            words.push(word);
            rest = after;
        }
        assert!(!words.is_empty(), "no dword: {line}");
        let isas = places.into_iter().map(|place| ISAS[place].1).collect();
        Line { isas, words, text: (rest != "-").then_some(rest) }
    })
}

#[test]
fn the_text_is_llvms() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines() {
        for isa in line.isas {
            count += 1;
            let ours = disassemble_words(isa, &line.words, 0);
            let length = ours.as_ref().map_or(line.words.len(), |ours| ours.length / 4);
            if ours.as_ref().map(|ours| &*ours.text) != line.text || length != line.words.len() {
                let ours = ours.map_or("-".into(), |ours| ours.text);
                wrong.push(format!("{isa:?} {:08x?}: {:?}, not {ours}", line.words, line.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    assert!(count > 140_000, "only {count} encodings");
}

#[test]
fn the_list_covers_every_row() {
    for target in Target::ALL {
        let mut named = BTreeSet::new();
        for line in lines().filter(|line| line.isas.iter().any(|isa| isa.target == target)) {
            // Two operations in one instruction have two mnemonics.
            for text in line.text.unwrap_or("").split(" :: ") {
                let mnemonic = text.split(' ').next().unwrap_or("");
                named.insert(mnemonic);
                for suffix in ["_e32", "_e64", "_sdwa", "_dpp", "_e64_dpp"] {
                    named.extend(mnemonic.strip_suffix(suffix));
                }
            }
        }
        let missing: Vec<&str> = Encoding::ALL
            .iter()
            .flat_map(|encoding| encoding.opcodes(target))
            .map(|(_, name)| name)
            // LLVM does not know this instruction, which AMD's documents have.
            .filter(|name| !named.contains(name) && *name != "s_set_valu_coexec_mode")
            .filter(|name| !(target.is_gfx12() && WITHOUT_TEXT_ON_GFX12.contains(name)))
            .collect();
        assert!(missing.is_empty(), "{target:?}: {missing:?}");
    }
}

#[test]
fn any_words_disassemble_or_not() {
    let mut random = Random::new(77);
    for (_, isa) in ISAS {
        for _ in 0..500_000 {
            let all = [random.next() as u32, random.next() as u32, random.next() as u32];
            let words = &all[..if random.next().is_multiple_of(16) { 1 } else { 3 }];
            let done = disassemble_words(isa, words, u64::MAX - 3);
            if let Some(done) = done {
                assert!(done.length <= 4 * words.len());
                assert_eq!(encoded_length(isa, words), Some(done.length / 4));
                assert_eq!(disassemble_lenient(isa, words, u64::MAX - 3).text, done.text);
                let spaces = done.text.contains("  ") && !done.text.starts_with("image_");
                assert!(!done.text.is_empty() && !done.text.ends_with(' ') && !spaces);
            }
        }
    }
}

/// Returns why an encoding that LLVM prints as `text` is not an instruction here; `None` if it is one.
fn known_difference(target: Target, words: &[u32; 3], text: &str) -> Option<&'static str> {
    match target.generation() {
        Generation::Gfx9 => {}
        Generation::Gfx10 => return gfx11::common_difference(text),
        Generation::Gfx11 => return gfx11::known_difference(target, words, text),
        Generation::Gfx12 => {
            return gfx12::known_difference(words, text)
                .or_else(|| gfx11::known_difference(target, words, text));
        }
    }
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

/// Returns the numbers of dwords and the texts of encodings that `llvm-objdump` prints; no text if it prints that there is no such
/// instruction.
fn llvm(isa: Isa, encodings: &[[u32; 3]], dir: &Path) -> Vec<(usize, Option<String>)> {
    let (variable, usual, cpu) = match isa.target {
        Target::Gfx90a => ("LLVM15", "/usr/lib/llvm-15/bin", "gfx90a"),
        Target::Gfx942 => ("LLVM22", "/usr/lib/llvm-22/bin", "gfx942"),
        Target::Gfx950 => ("LLVM22", "/usr/lib/llvm-22/bin", "gfx950"),
        Target::Gfx103 => ("LLVM22", "/usr/lib/llvm-22/bin", "gfx1030"),
        Target::Gfx11 => ("LLVM22", "/usr/lib/llvm-22/bin", "gfx1100"),
        Target::Gfx115 => ("LLVM22", "/usr/lib/llvm-22/bin", "gfx1150"),
        Target::Gfx12 => ("LLVM22", "/usr/lib/llvm-22/bin", "gfx1200"),
    };
    let wide = isa.target.is_rdna() && isa.wave == WaveSize::Wave64;
    let features = if wide { "+wavefrontsize64" } else { "" };
    let bin = PathBuf::from(std::env::var(variable).unwrap_or(usual.into()));
    let (source, object) = (dir.join(format!("{cpu}.s")), dir.join(format!("{cpu}.o")));
    // Each encoding is padded to 32 bytes, so that the next one starts at a known address.
    let lines: String =
        encodings.iter().map(|[a, b, c]| format!(".long {a},{b},{c}\n.fill 5,4,{PADDING}\n")).collect();
    std::fs::write(&source, lines).unwrap();
    let assembled = Command::new(bin.join("llvm-mc"))
        .args(["-triple=amdgcn-amd-amdhsa", "-filetype=obj", &format!("-mcpu={cpu}"), "-o"])
        .args([&object, &source])
        .status()
        .unwrap();
    assert!(assembled.success(), "llvm-mc: {assembled}");
    let listed = Command::new(bin.join("llvm-objdump"))
        .args(["-d", "-z", &format!("--mcpu={cpu}"), &format!("--mattr={features}")])
        .arg(&object)
        .output()
        .unwrap();
    assert!(listed.status.success(), "llvm-objdump: {}", listed.status);
    let mut texts = vec![(1, None); encodings.len()];
    for line in String::from_utf8(listed.stdout).unwrap().lines() {
        let Some((text, rest)) = line.rsplit_once("// ") else { continue };
        let Some((address, words)) = rest.split_once(": ") else { continue };
        let address = usize::from_str_radix(address, 16).unwrap();
        if address % 32 != 0 {
            continue;
        }
        let text = text.trim();
        let invalid = text.starts_with(".long") || text.contains("/*") || text.contains("nvalid");
        let count = words.split_whitespace().take_while(|word| word.len() == 8).count();
        texts[address / 32] = (count, (!invalid).then(|| text.to_string()));
    }
    texts
}

#[test]
#[ignore = "makes the list anew; needs llvm-15 and llvm-22"]
fn golden() {
    let dir = std::env::temp_dir().join(format!("amdgpu-isa-golden-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mut lists = LISTS.map(|_| BTreeMap::<(Vec<u32>, String), Vec<usize>>::new());
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unknown = Vec::new();
    for (place, (name, isa)) in ISAS.into_iter().enumerate() {
        let encodings = enumeration::encodings(isa.target);
        let generation = isa.target.generation();
        let list = LISTS.iter().position(|(of, _)| *of == generation).unwrap();
        for (words, (count, text)) in encodings.iter().zip(llvm(isa, &encodings, &dir)) {
            if isa.target.has_gfx11_instructions() && gfx11::is_misread(words) {
                *reasons.entry("a permutation of lanes that LLVM misreads").or_default() += 1;
                continue;
            }
            // With the padding, which the longest ones have as registers.
            let [a, b, c] = *words;
            let padded = [a, b, c, PADDING, PADDING];
            let ours = disassemble_words(isa, &padded, 0);
            let reason = text.as_ref().and_then(|text| known_difference(isa.target, words, text));
            match (&ours, &text, reason) {
                (None, Some(_), Some(reason)) => {
                    *reasons.entry(reason).or_default() += 1;
                    continue;
                }
                (ours, text, _) if ours.as_ref().map(|ours| &ours.text) != text.as_ref() => {
                    let ours = ours.as_ref().map(|ours| &ours.text);
                    unknown.push(format!("{name} {words:08x?}: {text:?}, not {ours:?}"));
                }
                _ => {}
            }
            // What is not an instruction is listed with the dwords that it could have.
            let most = if isa.target.is_rdna() { 3 } else { 2 };
            let words = padded[..if text.is_none() { most } else { count }].to_vec();
            let places = lists[list].entry((words, text.unwrap_or("-".into()))).or_default();
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
    for ((_, name), list) in LISTS.iter().zip(&lists) {
        let lines: String = list
            .iter()
            .map(|((words, text), places)| {
                let words: Vec<String> = words.iter().map(|word| format!("{word:08x}")).collect();
                format!("{} {} {text}\n", name_of(places), words.join(" "))
            })
            .collect();
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name), &lines).unwrap();
        println!("{name}: {} bytes", lines.len());
    }
    println!("left out: {reasons:#?}");
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
        assert_eq!((done.text.as_str(), done.length, &done.words[..4]), (text, 16, words.as_slice()));
        // Alone, its two halves are two instructions, which an emulator executes one after the other.
        let first = disassemble(Target::Gfx950, &bytes[..8], 0).expect("an instruction");
        assert!(first.text.starts_with("v_mfma_ld_scale_b32 v24, v25"), "{}", first.text);
        assert!(disassemble(Target::Gfx950, &bytes[8..], 0).is_none(), "LLVM refuses the second half alone");
        assert!(disassemble_lenient(Target::Gfx950, &words[2..], 0).is_legal);
    }
}

/// LLVM has no such instruction on gfx12 by default. With `--mattr=+real-true16` it prints `v_add_f16_e32 v1.l, v1.h, v2.l`.
#[test]
fn high_halves_of_gfx12_are_read_leniently() {
    let words = [0x6402_0581];
    assert_eq!(disassemble_words(Target::Gfx12, &words, 0), None);
    let done = disassemble_lenient(Target::Gfx12, &words, 0);
    assert_eq!((done.text.as_str(), done.length), ("v_add_f16_e32 v1, v1.h, v2", 4));
}
