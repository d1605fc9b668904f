//! Records which instructions the randomised tests have executed, and how often.
//!
//! `verified!(a, b)` lists the functions of a test module that compare instructions with a reference on random
//! operands. Each becomes a test, and records every instruction that its [`TestWave`](super::test_wave::TestWave) runs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use amdgpu_isa::{Row, Target};

use crate::exec::level::SimdLevel;

/// An instruction of a target.
pub(crate) type Key = (u8, &'static str, u8);

pub(super) fn key(row: &Row, target: Target) -> Option<Key> {
    Some((row.encoding()? as u8, row.name, target as u8))
}

thread_local! {
    /// For each instruction, the number of waves that have executed it at each level.
    static RAN: RefCell<BTreeMap<Key, [u64; 3]>> = const { RefCell::new(BTreeMap::new()) };
}

/// Records that a wave has executed an instruction.
pub(crate) fn record(row: &'static Row, target: Target, level: SimdLevel) {
    if let Some(key) = key(row, target) {
        RAN.with_borrow_mut(|ran| ran.entry(key).or_default()[level as usize] += 1);
    }
}

/// A randomised test.
pub(crate) struct RandomisedTest {
    /// The name with its module: `exec::ds_tests::swizzles`.
    path: &'static str,
    body: fn(),
    ran: OnceLock<BTreeMap<Key, u64>>,
}

impl RandomisedTest {
    pub(crate) const fn new(path: &'static str, body: fn()) -> RandomisedTest {
        RandomisedTest { path, body, ran: OnceLock::new() }
    }

    /// Returns how often each instruction was executed, at the SIMD level where it was executed most. The first call
    /// runs the test.
    pub(crate) fn ran(&self) -> &BTreeMap<Key, u64> {
        self.ran.get_or_init(|| {
            RAN.take();
            (self.body)();
            RAN.take().into_iter().map(|(key, counts)| (key, counts.into_iter().max().unwrap_or(0))).collect()
        })
    }

    /// Returns the name without `amdgpu_emulator::exec::`.
    pub(super) fn name(&self) -> &'static str {
        self.path.rsplit_once("exec::").map_or(self.path, |(_, name)| name)
    }
}

/// Declares functions as tests, and lists them in `VERIFIED` for the instruction coverage.
macro_rules! verified {
    ($($test:ident),* $(,)?) => {
        const COUNT_OF_VERIFIED: usize = [$(stringify!($test)),*].len();
        pub(crate) static VERIFIED: [$crate::testing::tally::RandomisedTest; COUNT_OF_VERIFIED] = [
            $($crate::testing::tally::RandomisedTest::new(concat!(module_path!(), "::", stringify!($test)), $test)),*
        ];

        /// The tests.
        mod verified {
            $(#[test]
            fn $test() {
                let name = concat!("::", stringify!($test));
                let ran = super::VERIFIED.iter().filter(|test| test.ends_with(name)).map(|test| test.ran());
                assert!(ran.map(|ran| ran.len()).sum::<usize>() > 0, "no instruction was run");
            })*
        }
    };
}
pub(crate) use verified;

impl RandomisedTest {
    pub(crate) fn ends_with(&self, name: &str) -> bool {
        self.path.ends_with(name)
    }
}
