//! The last error of a thread, where the last call was refused by a layer and AMD's library did not see it.

use std::cell::Cell;

use super::{Forward, wrappers};
use crate::status::Status;

thread_local! {
    static REFUSED: Cell<Option<Status>> = const { Cell::new(None) };
}

/// Makes a refusal the thread's last error, and returns it.
pub(super) fn refuse(status: Status) -> Status {
    let _ = REFUSED.try_with(|refused| refused.set(Some(status)));
    status
}

/// A later call decides what the last error is.
pub(super) fn forget_refusal() {
    let _ = REFUSED.try_with(|refused| refused.set(None));
}

fn last(forward: Forward<'_>, clears: bool) -> Status {
    let refused = REFUSED.try_with(|refused| if clears { refused.take() } else { refused.get() });
    match refused.ok().flatten() {
        Some(status) => {
            if clears {
                forward();
            }
            status
        }
        None => forward(),
    }
}

wrappers! {
    hipGetLastError() = |_, forward| last(forward, true);
    hipExtGetLastError() = |_, forward| last(forward, true);
    hipPeekAtLastError() = |_, forward| last(forward, false);
}
