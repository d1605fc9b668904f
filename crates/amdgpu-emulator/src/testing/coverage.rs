//! Compares the table in VERIFICATION.md of executed instructions with what each instruction does.

use amdgpu_isa::{Encoding, Row, Target, Ty};

use crate::exec::level::SimdLevel;
use crate::report::fault::FaultCause;
use crate::testing::test_wave::{TestWave, null_of};

const PAGE: &str = include_str!("../../VERIFICATION.md");

/// `s_nop 0`, on all targets.
const S_NOP: u32 = 0xbf80_0000;

/// Returns whether an instruction of DS is always one of global data share.
fn has_gds(name: &str) -> bool {
    name.starts_with("ds_gws_") || name == "ds_ordered_count" || name.contains("_gs_reg_")
}

/// Returns the words of an instruction on registers and offsets of zero.
fn words(row: &Row, encoding: Encoding, target: Target) -> Vec<u32> {
    let op = row.op[target as usize] as u32;
    let vector = 256;
    // The register of an address that there isn't: NULL, on gfx9 EXEC_HI.
    let null = if target.is_rdna() { null_of(target) } else { 0x7f };
    let (low, high) = match encoding {
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => (vector, 0),
        // The operands with lanes are scalars.
        Encoding::Vop3 if matches!(row.name, "v_readlane_b32" | "v_permlane16_b32" | "v_permlanex16_b32") => {
            (0, vector)
        }
        Encoding::Vop3 if row.name == "v_writelane_b32" || row.name.starts_with("v_s_") => (0, 0),
        // The barrier of the workgroup.
        Encoding::Sopp if row.name == "s_barrier_wait" => (0xffff, 0),
        Encoding::Vop3 | Encoding::Vop3p => {
            let sources = (0..3).filter(|n| row.src[*n] != Ty::None);
            (0, sources.fold(0, |all, n| all | vector << (9 * n)))
        }
        // These exist only with the GDS bit.
        Encoding::Ds if has_gds(row.name) => (if target.is_rdna() { 1 << 17 } else { 1 << 16 }, 0),
        // No scalar address. On gfx12 it and the register of a buffer's offset are in the first dword.
        Encoding::Flat | Encoding::Global | Encoding::Scratch | Encoding::Mubuf | Encoding::Mtbuf
            if target.is_gfx12() =>
        {
            (null, 0)
        }
        Encoding::Global | Encoding::Scratch => (0, null << 16),
        Encoding::Flat if target.is_rdna() => (0, null << 16),
        // gfx10 has the opcode's highest bit there.
        Encoding::Mtbuf if target.is_gfx10() => (0, op >> 3 << 21),
        // Two components.
        Encoding::Mimg => (if target.is_gfx12() { 3 << 22 } else { 3 << 8 }, 0),
        // v_dual_mov_b32 is the other half. The four high bits of the opcode of Y are in the first dword's opcode.
        Encoding::Vopd => {
            let (x, y) = if op < 16 { (op, 8) } else { (8, op) };
            return vec![0xc800_0000 | x << 22 | y << 17 | vector, vector, S_NOP];
        }
        _ => (0, 0),
    };
    // What follows a short instruction is a literal for some of them.
    let rest = match encoding.dwords(target) {
        1 => [S_NOP, S_NOP],
        2 => [high, S_NOP],
        _ => [high, 0],
    };
    vec![encoding.first_dword(target, op, low), rest[0], rest[1]]
}

/// Returns whether an instruction is implemented: runs it once.
fn is_executed(row: &Row, encoding: Encoding, target: Target) -> bool {
    // Waves of 64 have no VOPD, and what they load transposed isn't known.
    let needs32 = encoding == Encoding::Vopd || row.name.starts_with("global_load_tr_");
    let new = if needs32 { TestWave::wave32 } else { TestWave::new };
    let mut rig = new(target, SimdLevel::best());
    rig.budget = 1000;
    let ended = rig.try_run(&words(row, encoding, target));
    let first = &rig.cx.code.insts[0];
    let halves =
        [Some(first.row), first.ext.as_ref().and_then(|ext| ext.second.as_ref()).map(|half| half.row)];
    let ran = halves.into_iter().flatten().any(|half| std::ptr::eq(half, row));
    match ended {
        // Padding, which no program executes.
        Err(FaultCause::IllegalInstruction) if row.name == "s_code_end" => true,
        Err(FaultCause::IllegalInstruction) => panic!("{} is illegal on {target:?}", row.name),
        _ if !ran => panic!("{} was not what ran on {target:?}", row.name),
        Err(FaultCause::Unimplemented { .. } | FaultCause::Privileged) => false,
        _ => true,
    }
}

/// Returns the expected row of the table, without the second cell, which describes the instructions.
fn expected(encoding: Encoding) -> Vec<String> {
    let mut named = Vec::new();
    let counts = Target::VERIFIED.map(|target| {
        let there: Vec<&Row> = encoding.rows().iter().filter(|row| row.op[target as usize] >= 0).collect();
        let faults: Vec<&str> =
            there.iter().filter(|row| !is_executed(row, encoding, target)).map(|row| row.name).collect();
        let executed = there.len() - faults.len();
        // Where none is executed, the number says it.
        for name in faults.into_iter().filter(|_| executed > 0) {
            if !named.contains(&name) {
                named.push(name);
            }
        }
        if there.is_empty() { "none".into() } else { format!("{executed} of {}", there.len()) }
    });
    let faults = named.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    [encoding.name().to_string()].into_iter().chain(counts).chain([faults]).collect()
}

#[test]
fn the_page_says_what_is_executed() {
    let table = PAGE.split("## Coverage").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or("");
    let listed: Vec<Vec<String>> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'))
        .map(|line| {
            let mut cells: Vec<String> = line.split('|').map(|cell| cell.trim().to_string()).collect();
            cells.remove(1);
            cells
        })
        .skip(1)
        .collect();
    let expected: Vec<Vec<String>> = Encoding::ALL.into_iter().map(expected).collect();
    let lines: Vec<String> = expected.iter().map(|cells| cells.join(" | ")).collect();
    assert_eq!(listed, expected, "the table has to be {lines:#?}");
}
