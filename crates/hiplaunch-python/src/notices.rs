//! What the emulator notes of kernels.

use hip_driver_emulated::Notice;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dict::dict;

/// Returns a notice as Python sees it.
pub(crate) fn as_dict<'py>(py: Python<'py>, notice: &Notice) -> PyResult<Bound<'py, PyDict>> {
    let dict = dict!(py, notice => kernel, count, address);
    dict.set_item("kind", notice.kind.name())?;
    dict.set_item("text", notice.to_string())?;
    dict.set_item("instruction", &notice.site.instruction)?;
    dict.set_item("pc", notice.site.pc)?;
    let source: Vec<String> = notice.site.source.iter().map(ToString::to_string).collect();
    dict.set_item("source", source)?;
    dict.set_item("allocation", notice.base)?;
    dict.set_item("allocation_bytes", notice.len)?;
    dict.set_item("past_end", notice.past)?;
    Ok(dict)
}
