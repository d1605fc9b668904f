//! Pictures show every buffer and barrier.
