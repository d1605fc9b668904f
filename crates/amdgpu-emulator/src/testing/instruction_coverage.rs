//! The instruction coverage: every instruction of the tables has to be executed by a randomised test, and the table in
//! VERIFICATION.md of how each class was verified has to agree with what the tests executed.

use std::collections::BTreeMap;

use amdgpu_isa::{Encoding, Row, Target};

use super::tally::{Key, RandomisedTest, key};

/// Returns all randomised tests.
pub(super) fn tests() -> impl Iterator<Item = &'static RandomisedTest> {
    use crate::exec::*;
    let all: [&[RandomisedTest]; 29] = [
        &salu_tests::VERIFIED,
        &flow_tests::VERIFIED,
        &fork_tests::VERIFIED,
        &altered_tests::VERIFIED,
        &smem_tests::VERIFIED,
        &scalar_scratch_tests::VERIFIED,
        &valu_tests::VERIFIED,
        &valu_tests::lanes::VERIFIED,
        &valu_tests::accuracy::VERIFIED,
        &valu_tests::controlled::VERIFIED,
        &packed_tests::VERIFIED,
        &matrix_tests::VERIFIED,
        &matrix_value_tests::VERIFIED,
        &scaled_tests::VERIFIED,
        &matrix_scaled_tests::VERIFIED,
        &ds_tests::VERIFIED,
        &atomics_tests::VERIFIED,
        &flat_tests::VERIFIED,
        &buffer_tests::VERIFIED,
        &idle_tests::VERIFIED,
        &valu_tests::gfx11::VERIFIED,
        &wmma_tests::VERIFIED,
        &scalar_op_tests::VERIFIED,
        &gfx11_tests::VERIFIED,
        &gfx11_buffer_tests::VERIFIED,
        &gfx11_control_tests::VERIFIED,
        &image_tests::VERIFIED,
        &sample_tests::VERIFIED,
        &gfx12_matrix_tests::VERIFIED,
    ];
    all.into_iter().flatten()
}

/// Instructions without operands that could be random, and the tests that check them.
pub(super) const APART: &[(&[&str], &str)] = &[
    (&["s_endpgm_saved", "s_endpgm_ordered_ps_done"], "exec::idle_tests::programs_end"),
    (&["s_barrier"], "tests/dispatch.rs"),
    (&["s_setkill", "s_sethalt", "s_sendmsghalt"], "exec::idle_tests::programs_end"),
    (&["s_trap"], "exec::control_tests::unexecutable_instructions_fault_when_reached"),
    (
        &[
            "ds_gws_init",
            "ds_gws_sema_v",
            "ds_gws_sema_br",
            "ds_gws_sema_p",
            "ds_gws_sema_release_all",
            "ds_gws_barrier",
        ],
        "exec::gws_tests, tests/waiting.rs",
    ),
    (&["s_memtime", "s_memrealtime"], "exec::control_tests::scalar_memory"),
    (
        &["s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64"],
        "exec::gfx11_control_tests::messages_that_return_a_value, with each message",
    ),
    (&["s_code_end"], "exec::gfx11_control_tests::padding_is_illegal"),
];

/// The targets, as the page names them.
pub(super) const TITLES: [&str; Target::VERIFIED.len()] =
    ["gfx90a", "gfx942", "gfx950", "gfx11", "gfx11.5", "gfx12", "gfx10.3"];

/// Returns whether a row is not implemented, so that a wave that reaches it faults (VERIFICATION.md lists these rows;
/// `coverage.rs` checks that).
pub(super) fn is_unimplemented(row: &Row, target: Target) -> bool {
    matches!(crate::exec::table::executor(row.mnemonic, target), crate::exec::table::Impl::Unimplemented)
        || row.name.starts_with("s_rfe_")
}

/// A row of the table.
pub(super) struct Class {
    name: &'static str,
    /// The numbers of instructions of each target, and how often each of all these is executed at least.
    numbers: [Option<u64>; Target::VERIFIED.len()],
    least: Option<u64>,
    pub(super) tests: Vec<&'static str>,
    /// What the results were compared with.
    pub(super) reference: &'static str,
}

pub(super) const PAGE: &str = include_str!("../../VERIFICATION.md");

/// Returns the page's section with the table.
fn section() -> &'static str {
    let section =
        PAGE.split("## How instructions were verified").nth(1).and_then(|rest| rest.split("\n## ").next());
    section.unwrap_or("")
}

/// Returns the parts of a text that are in backticks.
pub(super) fn quoted(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split('`').skip(1).step_by(2)
}

pub(super) fn classes() -> Vec<Class> {
    let lines = section().lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'));
    lines
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>())
        .filter(|cells| cells.len() == Target::VERIFIED.len() + 5)
        .skip(1)
        .map(|cells| {
            let rest = &cells[Target::VERIFIED.len() + 1..];
            Class {
                name: cells[0],
                numbers: std::array::from_fn(|n| cells[n + 1].parse().ok()),
                least: rest[0].parse().ok(),
                tests: quoted(rest[3]).collect(),
                reference: rest[1],
            }
        })
        .collect()
}

#[test]
fn the_page_says_how_each_class_was_verified() {
    let mut wrong = Vec::new();
    let classes = classes();
    for class in &classes {
        let mut counts: BTreeMap<Key, u64> = BTreeMap::new();
        for name in &class.tests {
            let test = tests().find(|test| test.name() == *name);
            let test = test.unwrap_or_else(|| panic!("{}: there is no test {name}", class.name));
            for (key, count) in test.ran() {
                *counts.entry(*key).or_default() += count;
            }
        }
        let of = |target: Target| counts.keys().filter(|key| key.2 == target as u8).count() as u64;
        let least = counts.values().min().copied().unwrap_or(0);
        let cases = class.least.unwrap_or(0);
        // On other hosts, random tests may execute different numbers of instructions.
        let fits = cases <= least && least < 2 * cases.max(1);
        if class.numbers.map(|n| n.unwrap_or(0)) != Target::VERIFIED.map(of) || !fits {
            let numbers = Target::VERIFIED.map(|target| of(target).to_string()).join(" | ");
            wrong.push(format!("{}: {numbers} | {least}", class.name));
        }
    }
    assert!(wrong.is_empty(), "the table has to be {wrong:#?}");
    for test in tests() {
        let lines = classes.iter().filter(|class| class.tests.contains(&test.name())).count();
        assert_eq!(lines, 1, "{} has to be in one line of that table", test.name());
    }
    for name in APART.iter().flat_map(|(names, _)| names.iter()) {
        assert!(
            quoted(section()).any(|text| text == *name),
            "VERIFICATION.md doesn't say how {name} was verified"
        );
    }
}

#[test]
fn every_instruction_has_a_randomised_test() {
    let mut missing = Vec::new();
    let mut needless = Vec::new();
    for encoding in Encoding::ALL {
        for row in encoding.rows() {
            for target in Target::VERIFIED {
                if row.op[target as usize] < 0 || is_unimplemented(row, target) {
                    continue;
                }
                let Some(key) = key(row, target) else { continue };
                let ran = tests().any(|test| test.ran().contains_key(&key));
                let apart = APART.iter().any(|(names, _)| names.contains(&row.name));
                match (ran, apart) {
                    (false, false) => missing.push(format!("{} {} {target:?}", encoding.name(), row.name)),
                    (true, true) => needless.push(row.name),
                    _ => {}
                }
            }
        }
    }
    assert!(missing.is_empty(), "{} are verified by no test: {missing:#?}", missing.len());
    assert!(needless.is_empty(), "these have a randomised test: {needless:?}");
}
