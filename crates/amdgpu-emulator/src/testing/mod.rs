//! Test support: runs encoded instructions on one wave, and records which instructions the tests have executed.

mod coverage;
mod instruction_coverage;
mod ledger;
mod streams;
pub(crate) mod tally;
pub(crate) mod test_wave;
