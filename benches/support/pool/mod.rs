//! Workloads for memory pools, and the pools that they are run on.

pub(crate) mod best_fit;
pub(crate) mod destinations;
pub(crate) mod hits;
pub(crate) mod launcher;
pub(crate) mod ledger;
pub(crate) mod machine;
pub(crate) mod measure;
pub(crate) mod naive;
pub(crate) mod options;
pub(crate) mod random;
pub(crate) mod subject;
pub(crate) mod threads;
