//! Prints the occupancy of a kernel, as a line and as JSON.

use code_object::occupancy::Occupancy;
use serde_json::{Value, json};

use super::output::counted;

pub(super) fn text(o: &Occupancy) -> String {
    format!(
        "{}: {} of {} a compute unit, {} waves a SIMD ({:.0}%), limited by {}",
        o.processor,
        counted(o.blocks_per_cu as usize, "block", "blocks"),
        o.block,
        o.waves_per_simd(),
        o.percent(),
        o.limited_by.name()
    )
}

/// Returns the occupancy as JSON; docs/json.md documents the fields.
pub(super) fn to_json(o: &Occupancy) -> Value {
    json!({
        "processor": o.processor,
        "block_work_items": o.block,
        "waves_per_block": o.waves_per_block,
        "blocks_per_cu": o.blocks_per_cu,
        "waves_per_simd": o.waves_per_simd(),
        "register_waves_per_simd": o.register_waves_per_simd,
        "simds": o.simds,
        "max_waves_per_simd": o.max_waves_per_simd,
        "lds_bytes_per_block": o.lds_bytes,
        "limited_by": o.limited_by.name(),
        "percent": o.percent(),
    })
}
