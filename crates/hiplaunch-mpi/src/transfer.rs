//! Elements of views to and from staging memory, in the order of a stream: a copy where they have no gaps, else a kernel.

use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use hiplaunch::driver::Work;
use hiplaunch::{
    Arg, DeviceView, FatBinary, KernelHandle, Launch, LaunchDims, Launcher, LazyModule, Registration, Stream,
};

use crate::staging::Slot;

const BLOCK: u32 = 256;

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Pack,
    Unpack,
}

/// The elements of a view as words: up to four axes, the last the innermost, and their distances in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Words {
    /// The size of a word in bytes: 1, 2, 4, 8 or 16.
    size: usize,
    extents: [usize; 4],
    strides: [i64; 4],
}

/// Describes elements of `element` bytes with the largest words and the fewest axes. `None` if more than four are left.
fn words(shape: &[usize], strides: &[isize], element: usize, address: u64) -> Option<Words> {
    // In bytes: the bytes of an element are the innermost axis, and axes without a gap between them are one.
    let axes = shape.iter().zip(strides).map(|(&n, &t)| (n, t as i64 * element as i64));
    let mut merged: Vec<(usize, i64)> = Vec::new();
    for (n, t) in axes.chain([(element, 1)]).filter(|&(n, _)| n != 1) {
        match merged.last_mut() {
            Some((outer, stride)) if *stride == t * n as i64 => (*outer, *stride) = (*outer * n, t),
            _ => merged.push((n, t)),
        }
    }
    // The run of bytes without a gap; there is none for elements of one byte with gaps.
    let run = merged.pop_if(|(_, t)| *t == 1).map_or(1, |(n, _)| n);
    let fits = |size: usize| {
        let strides = merged.iter().all(|&(_, t)| t.unsigned_abs().is_multiple_of(size as u64));
        strides && run.is_multiple_of(size) && address.is_multiple_of(size as u64)
    };
    let size = [16, 8, 4, 2].into_iter().find(|&size| fits(size)).unwrap_or(1);
    merged.iter_mut().for_each(|(_, t)| *t /= size as i64);
    if run > size {
        merged.push((run / size, 1));
    }
    let (mut extents, mut distances) = ([1; 4], [0; 4]);
    let first = 4usize.checked_sub(merged.len())?;
    for (axis, (n, t)) in merged.into_iter().enumerate() {
        (extents[first + axis], distances[first + axis]) = (n, t);
    }
    Some(Words { size, extents, strides: distances })
}

/// The kernels of `hip/exchange.hip`, which is loaded when the first is needed.
#[derive(Debug)]
pub(crate) struct Kernels {
    launcher: Launcher,
    module: LazyModule,
    handles: Mutex<[Option<KernelHandle>; 10]>,
}

impl Kernels {
    pub(crate) fn new(launcher: &Launcher) -> Kernels {
        let code = FatBinary::new("exchange", include_bytes!("../hip/exchange.hipfb").as_slice())
            .source(include_str!("../hip/exchange.hip"))
            .header("kernel.h", include_str!("../hip/kernel.h"));
        // SAFETY: the kernels of this crate do what their source says.
        let module = unsafe { LazyModule::new(code) };
        Kernels { launcher: launcher.clone(), module, handles: Mutex::default() }
    }

    fn handle(&self, direction: Direction, size: usize) -> hiplaunch::Result<KernelHandle> {
        let index = size.ilog2() as usize * 2 + usize::from(direction == Direction::Unpack);
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = handles[index] {
            return Ok(handle);
        }
        let name = match direction {
            Direction::Pack => format!("pack_{size}"),
            Direction::Unpack => format!("unpack_{size}"),
        };
        let handle = self.launcher.register_kernel(Registration::new(&self.module, &name))?;
        handles[index] = Some(handle);
        Ok(handle)
    }

    /// Enqueues the transfer of all elements of a view. Returns whether a kernel does it.
    ///
    /// # Errors
    /// The launcher's; [`hiplaunch::Error::Invalid`] for a view that no kernel takes.
    ///
    /// # Safety
    /// The slot has room for the elements. It is kept, and used by nobody else, until the transfer has run.
    pub(crate) unsafe fn transfer<T: Pod>(
        &self,
        direction: Direction,
        stream: &Stream,
        view: &DeviceView<T>,
        slot: &Slot,
    ) -> hiplaunch::Result<bool> {
        let bytes = view.len() * size_of::<T>();
        if bytes == 0 {
            return Ok(false);
        }
        if let Some(block) = view.block() {
            stream.record_use(block);
        }
        let address = view.ptr();
        if view.layout().is_contiguous() {
            let work = match (direction, slot.is_host) {
                (Direction::Pack, true) => Work::CopyToHost { dst: slot.mpi, src: address, bytes },
                (Direction::Pack, false) => Work::CopyWithin { dst: slot.device, src: address, bytes },
                (Direction::Unpack, true) => Work::CopyToDevice { dst: address, src: slot.mpi, bytes },
                (Direction::Unpack, false) => Work::CopyWithin { dst: address, src: slot.device, bytes },
            };
            // SAFETY: the view's elements are live, and the caller keeps the slot, which is pinned where it is host memory.
            unsafe { enqueue(stream, &work) }?;
            return Ok(false);
        }
        let invalid = |problem: String| hiplaunch::Error::Invalid {
            what: "exchange of a view",
            problem: problem.into_boxed_str(),
        };
        let Some(words) = words(view.shape(), view.strides(), size_of::<T>(), address.0) else {
            return Err(invalid(format!(
                "shape {:?} with strides {:?} has more than four axes with gaps; exchange parts of it",
                view.shape(),
                view.strides()
            )));
        };
        let n = u32::try_from(bytes / words.size).ok().filter(|&n| n <= u32::MAX - BLOCK);
        let Some(n) = n else {
            return Err(invalid(format!(
                "{bytes} bytes with gaps are too many for one kernel; exchange parts"
            )));
        };
        let handle = self.handle(direction, words.size)?;
        // Each is at most n.
        let [_, s1, s2, s3] = words.extents.map(|extent| extent as u32);
        let [t0, t1, t2, t3] = words.strides;
        let args = [
            Arg::from(view),
            Arg::from(slot.device),
            n.into(),
            s1.into(),
            s2.into(),
            s3.into(),
            t0.into(),
            t1.into(),
            t2.into(),
            t3.into(),
        ];
        let launch = Launch::new(LaunchDims::linear(n.div_ceil(BLOCK), BLOCK)).args(&args);
        // SAFETY: the places are those of the view's elements, and the caller keeps the slot.
        unsafe { self.launcher.enqueue(handle, stream, launch) }?;
        Ok(true)
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        let handles = std::mem::take(self.handles.get_mut().unwrap_or_else(PoisonError::into_inner));
        for handle in handles.into_iter().flatten() {
            if let Err(error) = self.launcher.unregister(handle) {
                log::warn!("unregistering a kernel of an exchange: {error}");
            }
        }
    }
}

/// Enqueues work on a stream.
///
/// # Errors
/// The driver's; the report of the fault if the device is lost.
///
/// # Safety
/// As [`Driver::enqueue`](hiplaunch::driver::Driver::enqueue), for the stream's device.
pub(crate) unsafe fn enqueue(stream: &Stream, work: &Work<'_>) -> hiplaunch::Result<()> {
    let device = stream.device();
    device.check()?;
    // SAFETY: the caller's promise; the stream is live, and of this device.
    let enqueued = unsafe { device.driver().enqueue(device.id(), stream.as_raw(), work) };
    enqueued.map_err(|error| match error.code.is_sticky() {
        // The report of a lost device says more.
        true => device.synchronize().err().unwrap_or_else(|| error.into()),
        false => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_a_matrix_is_one_axis() {
        let column = words(&[5, 1], &[7, 1], 8, 0x100).unwrap();
        assert_eq!(column, Words { size: 8, extents: [1, 1, 1, 5], strides: [0, 0, 0, 7] });
    }

    #[test]
    fn axes_without_gaps_between_them_are_one_of_large_words() {
        let inner = words(&[3, 4, 5], &[100, 5, 1], 4, 0x100).unwrap();
        assert_eq!(inner, Words { size: 16, extents: [1, 1, 3, 5], strides: [0, 0, 25, 1] });
        let odd_rows = words(&[3, 20], &[101, 1], 4, 0x100).unwrap();
        assert_eq!(odd_rows, Words { size: 4, extents: [1, 1, 3, 20], strides: [0, 0, 101, 1] });
        let backwards = words(&[3, 4], &[-10, 1], 4, 0x100).unwrap();
        assert_eq!(backwards, Words { size: 8, extents: [1, 1, 3, 2], strides: [0, 0, -5, 1] });
    }

    #[test]
    fn elements_of_other_sizes_are_several_words() {
        let of_12_bytes = words(&[5], &[2], 12, 0x100).unwrap();
        assert_eq!(of_12_bytes, Words { size: 4, extents: [1, 1, 5, 3], strides: [0, 0, 6, 1] });
        let at_an_odd_address = words(&[5], &[2], 4, 0x102).unwrap();
        assert_eq!(at_an_odd_address, Words { size: 2, extents: [1, 1, 5, 2], strides: [0, 0, 4, 1] });
        let bytes = words(&[5], &[3], 1, 0x100).unwrap();
        assert_eq!(bytes, Words { size: 1, extents: [1, 1, 1, 5], strides: [0, 0, 0, 3] });
    }

    #[test]
    fn five_axes_with_gaps_are_too_many() {
        assert_eq!(words(&[2; 5], &[1000, 300, 90, 20, 2], 4, 0), None);
        assert!(words(&[2; 4], &[300, 90, 20, 2], 4, 0).is_some());
    }
}
