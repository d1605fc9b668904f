//! Fills. Of a fill of rows with gaps, the layers see the first row.

use hip_driver::{DeviceId, DevicePtr, Work};

use super::copies::show;
use super::{Forward, Interposed};
use crate::abi::status::Status;
use crate::copy::fill::Fill;
use crate::memory::allocations::Place;
use crate::stream::target::Target;

/// What a fill is for a driver, and its device; `None` for an empty one, or one of memory that is not known.
pub(super) fn work(over: &Interposed, fill: &Fill) -> Option<(Option<DeviceId>, Work<'static>)> {
    let Fill { start, pitch, value, element, width, height, depth, .. } = *fill;
    let count = match height {
        1 => width,
        _ if pitch == width.saturating_mul(element) => width.saturating_mul(height),
        _ => width,
    };
    if count == 0 || height == 0 || depth == 0 {
        return None;
    }
    let (device, dst) = match over.known.device_place(start.0) {
        Place::Pageable => return None,
        Place::Pinned(ptr) => (None, ptr),
        Place::Device(device) => (Some(device), DevicePtr(start.0)),
    };
    let work = if element == 4 && dst.0.is_multiple_of(4) {
        Work::FillWords { dst, value, count }
    } else {
        Work::FillBytes { dst, value: value as u8, bytes: count.saturating_mul(element) }
    };
    Some((device, work))
}

impl Fill {
    /// Shows the fill.
    pub(crate) fn observe(self, over: &Interposed, forward: Forward<'_>, target: Target) -> Status {
        match work(over, &self) {
            Some((device, work)) => show(over, forward, device, &work, target),
            None => forward(),
        }
    }
}
