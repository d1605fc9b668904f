//! What layers know of captures of streams.

use hip_driver::{DriverError, ErrorCode};

/// Whether a capture is over after its end failed so.
pub(crate) fn ends_capture(error: &DriverError) -> bool {
    [ErrorCode::STREAM_CAPTURE_INVALIDATED, ErrorCode::STREAM_CAPTURE_UNJOINED].contains(&error.code)
}
