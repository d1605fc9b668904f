//! For tests: runs encoded instructions on one wave, and keeps account of which instructions the tests have executed.

mod coverage;
mod floors;
mod ledger;
pub(crate) mod rig;
mod streams;
pub(crate) mod tally;
