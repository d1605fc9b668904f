//! What kernels did on the emulator that hardware, or strict bounds, would not have done: as lines and as JSON.

use hip_driver_emulated::Notice;
use serde_json::Value;

use super::CommandError;
use super::output::Output;

/// Prints a line for each.
pub(super) fn show(notices: &[Notice], out: &mut Output) -> Result<(), CommandError> {
    for notice in notices {
        out.line(format!("      noted: {}: {notice}", notice.kernel))?;
    }
    Ok(())
}

/// Returns the list of `scripts[].notices`.
pub(super) fn to_json(notices: &[Notice]) -> Value {
    notices.iter().map(hip_dropin::notice_to_json).collect()
}
