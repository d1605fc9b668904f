//! Compares the table in VERIFICATION.md of executed instructions with what each instruction does.

use amdgpu_isa::{Encoding, Row, Target, Ty};

use crate::exec::level::SimdLevel;
use crate::report::fault::FaultCause;
use crate::testing::test_wave::TestWave;

const PAGE: &str = include_str!("../../VERIFICATION.md");

/// Returns whether an instruction is implemented: runs it once, on registers and offsets of zero.
fn is_executed(row: &Row, encoding: Encoding, target: Target) -> bool {
    let op = row.op[target as usize] as u32;
    let vector = 256;
    let (low, high) = match encoding {
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => (vector, 0),
        // The operand with the lane is a scalar.
        Encoding::Vop3 if row.name == "v_readlane_b32" => (0, vector),
        Encoding::Vop3 if row.name == "v_writelane_b32" => (0, 0),
        Encoding::Vop3 | Encoding::Vop3p => {
            let sources = (0..3).filter(|n| row.src[*n] != Ty::None);
            (0, sources.fold(0, |all, n| all | vector << (9 * n)))
        }
        // These exist only with the GDS bit.
        Encoding::Ds if row.name.starts_with("ds_gws_") => (1 << 16, 0),
        // No scalar address.
        Encoding::Global | Encoding::Scratch => (0, 0x7f << 16),
        _ => (0, 0),
    };
    let mut rig = TestWave::new(target, SimdLevel::best());
    rig.budget = 1000;
    let ended = rig.try_run(&[encoding.first_dword(Target::Gfx90a, op, low), high]);
    assert!(std::ptr::eq(rig.cx.code.insts[0].row, row), "{} was not what ran", row.name);
    match ended {
        Err(FaultCause::Unimplemented { .. } | FaultCause::Privileged) => false,
        Err(FaultCause::IllegalInstruction) => panic!("{} is illegal on {target:?}", row.name),
        _ => true,
    }
}

/// Returns the expected row of the table, without the second cell, which describes the instructions.
fn expected(encoding: Encoding) -> [String; 5] {
    let mut named = Vec::new();
    let [gfx90a, gfx942, gfx950] = Target::GFX9.map(|target| {
        let there: Vec<&Row> = encoding.rows().iter().filter(|row| row.op[target as usize] >= 0).collect();
        let faults: Vec<&str> =
            there.iter().filter(|row| !is_executed(row, encoding, target)).map(|row| row.name).collect();
        let executed = there.len() - faults.len();
        for name in faults {
            if !named.contains(&name) {
                named.push(name);
            }
        }
        if there.is_empty() { "none".into() } else { format!("{executed} of {}", there.len()) }
    });
    let is_of_gfx9 = |row: &&Row| Target::GFX9.iter().any(|target| row.opcode(*target).is_some());
    let faults = if named.len() == encoding.rows().iter().filter(is_of_gfx9).count() {
        "all".into()
    } else {
        named.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    [encoding.name().into(), gfx90a, gfx942, gfx950, faults]
}

#[test]
fn the_page_says_what_is_executed() {
    let table = PAGE.split("## Coverage").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or("");
    let listed: Vec<[String; 5]> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [encoding, _, gfx90a, gfx942, gfx950, faults] = cells[..] else {
                panic!("not six cells: {line}")
            };
            [encoding, gfx90a, gfx942, gfx950, faults].map(String::from)
        })
        .skip(1)
        .collect();
    let of_gfx9 =
        |encoding: &Encoding| Target::GFX9.iter().any(|target| encoding.opcodes(*target).count() > 0);
    let expected: Vec<[String; 5]> = Encoding::ALL.into_iter().filter(of_gfx9).map(expected).collect();
    assert_eq!(listed, expected, "the table has to be {expected:#?}");
}
