//! Copies. Of a copy of rows with gaps, the layers see the first row: they know ranges, and the gaps may be others'.

use hip_driver::{Call, DeviceId, Output, RawStream, Work};

use super::{Forward, Interposed};
use crate::abi::{Address, In, Status, hip_Memcpy2D};
use crate::copy::arrays::ArrayCopy;
use crate::copy::boxes::{BoxCopy, Parms2D, Parms3D, of_memory, rectangle};
use crate::copy::bytes::{ByteCopy, SymbolCopy};
use crate::copy::{
    CopyRoute, DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_DEVICE_NO_CU, DEVICE_TO_HOST, HOST_TO_DEVICE,
};
use crate::memory::array::memory_type;
use crate::stream::Target;

/// What a copy is for a driver, and its device; `None` for a copy of no bytes, to itself, or between addresses that are in no
/// known memory.
pub(super) fn work(over: &Interposed, copy: ByteCopy) -> Option<(Option<DeviceId>, Work<'static>)> {
    let ByteCopy { dst, src, bytes, kind } = copy;
    if bytes == 0 || dst == src {
        return None;
    }
    let place = |address: Address, on_device: bool| match on_device {
        true => over.known.device_place(address.0),
        false => over.known.place(address.0),
    };
    let from_device = matches!(kind, DEVICE_TO_HOST | DEVICE_TO_DEVICE | DEVICE_TO_DEVICE_NO_CU);
    let to_device = matches!(kind, HOST_TO_DEVICE | DEVICE_TO_DEVICE | DEVICE_TO_DEVICE_NO_CU);
    let route = CopyRoute::new(dst, src, (place(dst, to_device), place(src, from_device)));
    Some((route.device(), route.work(bytes)?))
}

/// Shows work of a device on a stream. Work that another device does on it is not shown.
pub(super) fn show(
    over: &Interposed,
    forward: Forward<'_>,
    device: Option<DeviceId>,
    work: &Work<'_>,
    target: Target,
) -> Status {
    let (stream_device, stream) = over.stream(target.stream);
    let device = device.unwrap_or(stream_device);
    if device != stream_device || over.hides_work() {
        return forward();
    }
    let blocking = target.waits && stream == RawStream::NULL;
    let call = match work {
        Work::CopyToDevice { .. } | Work::CopyToHost { .. } if blocking => {
            Call::CopyBlocking { device, work }
        }
        _ => Call::Enqueue { device, stream, work },
    };
    let status = over.observe(&call, forward, || Output::None);
    if target.waits && status == Status::SUCCESS {
        over.tell(&Call::StreamSynchronize { device, stream }, Output::None);
    }
    status
}

impl ByteCopy {
    /// Shows the copy.
    pub(crate) fn observe(self, over: &Interposed, forward: Forward<'_>, target: Target) -> Status {
        match work(over, self) {
            Some((device, work)) => show(over, forward, device, &work, target),
            None => forward(),
        }
    }
}

/// The range of a copy of rows that the layers see; of several slices, the first.
pub(super) fn first_range(copy: &BoxCopy) -> ByteCopy {
    let BoxCopy { dst, src, width, height, depth, kind } = *copy;
    let gapless = height == 1 || (dst.pitch == width && src.pitch == width);
    let bytes = match (height, depth) {
        (0, _) | (_, 0) => 0,
        _ if gapless => width.saturating_mul(height),
        _ => width,
    };
    ByteCopy { dst: dst.start, src: src.start, bytes, kind }
}

impl BoxCopy {
    /// Shows the copy.
    pub(crate) fn observe(self, over: &Interposed, forward: Forward<'_>, target: Target) -> Status {
        first_range(&self).observe(over, forward, target)
    }
}

impl Parms3D {
    /// Shows the copy, unless it is one of arrays.
    pub(crate) fn observe(self, over: &Interposed, forward: Forward<'_>, target: Target) -> Status {
        match self.parms.get() {
            Ok(parms) if parms.srcArray == 0 && parms.dstArray == 0 => {
                of_memory(&parms).observe(over, forward, target)
            }
            _ => forward(),
        }
    }
}

impl ArrayCopy {
    /// Passes the copy on: the memory of arrays is not known.
    pub(crate) fn observe(self, _over: &Interposed, forward: Forward<'_>, _target: Target) -> Status {
        forward()
    }
}

impl Parms2D {
    /// Shows the copy, unless it is one of arrays.
    pub(crate) fn observe(self, over: &Interposed, forward: Forward<'_>, target: Target) -> Status {
        match box_of(self.parms) {
            Some(copy) => copy.observe(over, forward, target),
            None => forward(),
        }
    }
}

fn box_of(parms: In<hip_Memcpy2D>) -> Option<BoxCopy> {
    let copy = parms.get().ok()?;
    if copy.srcMemoryType == memory_type()
        || copy.dstMemoryType == memory_type()
        || copy.srcArray != 0
        || copy.dstArray != 0
    {
        return None;
    }
    // One of the two is set: that of the host, or that of the device.
    let start = |host: Address, device: Address| if device.is_null() { host } else { device };
    let dst = start(copy.dstHost, copy.dstDevice).offset(copy.dstY * copy.dstPitch + copy.dstXInBytes);
    let src = start(copy.srcHost, copy.srcDevice).offset(copy.srcY * copy.srcPitch + copy.srcXInBytes);
    Some(rectangle(dst, copy.dstPitch, src, copy.srcPitch, copy.WidthInBytes, copy.Height, DEFAULT))
}

impl SymbolCopy {
    /// Shows the copy.
    pub(crate) fn observe(self, over: &Interposed, forward: Forward<'_>, target: Target) -> Status {
        // What goes past the end of a variable, AMD's library refuses.
        let inside = |size: usize| self.offset.checked_add(self.bytes).is_some_and(|end| end <= size);
        match over.variable(self.symbol).filter(|(_, size)| inside(*size)) {
            Some((start, _)) => self.between(start.offset(self.offset)).observe(over, forward, target),
            None => forward(),
        }
    }
}
