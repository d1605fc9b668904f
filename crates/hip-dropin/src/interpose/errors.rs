//! The last error of a thread, where AMD's library does not have it: a layer refused the call, or made calls of its own
//! after it.

use std::cell::Cell;

use super::Forward;
use crate::abi::status::Status;

thread_local! {
    static KEPT: Cell<Option<Status>> = const { Cell::new(None) };
}

/// Makes a status the thread's last error until the next call, and returns it.
pub(super) fn keep(status: Status) -> Status {
    let _ = KEPT.try_with(|kept| kept.set(Some(status)));
    status
}

/// A later call decides what the last error is.
pub(super) fn forget() {
    let _ = KEPT.try_with(|kept| kept.set(None));
}

pub(crate) fn last(forward: Forward<'_>, clears: bool) -> Status {
    let kept = KEPT.try_with(|kept| if clears { kept.take() } else { kept.get() });
    match kept.ok().flatten() {
        Some(status) => {
            if clears {
                forward();
            }
            status
        }
        None => forward(),
    }
}
