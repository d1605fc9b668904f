//! The layouts of HIP's structures, for the test that compares them with HIP's headers.

use crate::abi::structs::{self, StructLayout};
use crate::device::properties;

/// Returns the layouts of all structures that this library passes to or takes from programs.
pub fn layouts() -> Vec<StructLayout> {
    let mut all = structs::offsets();
    all.extend(properties::offsets());
    all
}
