//! Memory pinned by a recorded graph: nobody else gets it as long as the graph may be launched.

use std::sync::{Arc, Weak};

/// Alive as long as a graph may be launched.
#[derive(Debug)]
pub(crate) struct CaptureToken;

/// Names a graph; knows when it is gone.
#[derive(Clone, Debug)]
pub(crate) struct CaptureMark(Weak<CaptureToken>);

impl CaptureMark {
    pub(crate) fn new(token: &Arc<CaptureToken>) -> CaptureMark {
        CaptureMark(Arc::downgrade(token))
    }

    pub(crate) fn is_released(&self) -> bool {
        self.0.strong_count() == 0
    }
}

impl PartialEq for CaptureMark {
    fn eq(&self, other: &CaptureMark) -> bool {
        self.0.ptr_eq(&other.0)
    }
}
