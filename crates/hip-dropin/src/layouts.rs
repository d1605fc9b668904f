//! The layouts of HIP's structures, for the test that compares them with HIP's headers.

use crate::{abi, properties};

/// Where the fields of a structure are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructLayout {
    /// The name in HIP's headers.
    pub name: &'static str,
    /// The size in bytes.
    pub bytes: usize,
    /// The fields' names and offsets in bytes.
    pub fields: Vec<(&'static str, usize)>,
}

/// Returns the layouts of all structures that this library passes to or takes from programs.
pub fn layouts() -> Vec<StructLayout> {
    let mut all = abi::offsets();
    all.extend(properties::offsets());
    all
}
