//! The image of a launch's host data: how long its parts are, what is written to them, and where the kernel finds them.

use crate::code::DeviceKernel;
use crate::staging::Spans;
use hip_driver::DevicePtr;

use super::args::{Arg, ArgumentBlock, HostData, PatchTarget};
use super::launch::Arguments;

/// The alignment of the image's pieces in bytes: a cache line, and enough for any vector type.
const ALIGN: u64 = 64;

/// The sizes in bytes of the image's three parts, with each piece padded to [`ALIGN`].
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct ImageSizes {
    /// The bytes of argument blocks and in arrays.
    pub(super) input: u64,
    /// The bytes of inout arrays.
    pub(super) inout: u64,
    /// The bytes of out arrays and result blocks.
    pub(super) output: u64,
}

impl ImageSizes {
    pub(super) fn add(&mut self, data: &HostData<'_>) {
        let (part, bytes) = match data {
            HostData::In(d) => (&mut self.input, d.len()),
            HostData::InOut(d) => (&mut self.inout, d.len()),
            HostData::Out(n) => (&mut self.output, *n),
        };
        *part = part.saturating_add(padded(bytes));
    }

    pub(super) fn add_block(&mut self, block: &ArgumentBlock<'_>) {
        self.add(&HostData::In(block.bytes));
        block.arrays.iter().for_each(|s| self.add(s));
        if block.result_bytes > 0 {
            self.add(&HostData::Out(block.result_bytes));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        (self.input | self.inout | self.output) == 0
    }

    pub(super) fn total(&self) -> u64 {
        self.input.saturating_add(self.inout).saturating_add(self.output)
    }

    /// Where the kernel finds the pieces of an image whose first part begins at `input` and whose others at `to_host`.
    #[inline(always)]
    pub(super) fn begin_at(&self, input: u64, to_host: u64) -> Cursor {
        Cursor { input, inout: to_host, output: to_host + self.inout }
    }

    pub(super) fn to_device(self) -> usize {
        (self.input + self.inout) as usize
    }

    pub(super) fn to_host(self) -> usize {
        (self.inout + self.output) as usize
    }
}

/// Returns the length of a piece with its padding. An empty piece has padding too, so that it has an address of its
/// own. A piece that is too long for an image stays so.
#[inline(always)]
fn padded(bytes: usize) -> u64 {
    (bytes.max(1) as u64).saturating_add(ALIGN - 1) & !(ALIGN - 1)
}

/// The addresses at which the kernel finds the next piece of each part of the image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    pub(super) input: u64,
    pub(super) inout: u64,
    pub(super) output: u64,
}

impl Cursor {
    #[inline]
    pub(super) fn next(&mut self, data: &HostData<'_>) -> DevicePtr {
        let (at, bytes) = match data {
            HostData::In(d) => (&mut self.input, d.len()),
            HostData::InOut(d) => (&mut self.inout, d.len()),
            HostData::Out(n) => (&mut self.output, *n),
        };
        let ptr = DevicePtr(*at);
        *at += padded(bytes);
        ptr
    }

    /// The addresses of the pieces after those of `arrays`.
    #[inline(never)]
    fn behind(mut self, arrays: &[HostData<'_>]) -> Cursor {
        arrays.iter().for_each(|array| {
            self.next(array);
        });
        self
    }
}

/// One part of the image, filled from its start.
struct ImagePart<'a> {
    bytes: &'a mut [u8],
    used: usize,
}

impl ImagePart<'_> {
    /// Begins the next piece, of `bytes` bytes, and returns its place.
    #[inline]
    fn piece(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.used;
        self.used += padded(bytes) as usize;
        &mut self.bytes[start..][..bytes]
    }
}

/// Writes `bytes` to a place of the same length. Returns whether this changed it.
#[inline(always)]
fn update(place: &mut [u8], bytes: &[u8]) -> bool {
    let changed = place != bytes;
    if changed {
        place.copy_from_slice(bytes);
    }
    changed
}

/// Writes the parts of the image that are copied to the device, and records whether they change.
pub(super) struct Writer<'a> {
    input: ImagePart<'a>,
    inout: ImagePart<'a>,
    changed: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(input: &'a mut [u8], inout: &'a mut [u8], changed: bool) -> Writer<'a> {
        Writer {
            input: ImagePart { bytes: input, used: 0 },
            inout: ImagePart { bytes: inout, used: 0 },
            changed,
        }
    }

    #[inline]
    pub(super) fn data(&mut self, data: &HostData<'_>) {
        match data {
            HostData::In(d) => self.changed |= update(self.input.piece(d.len()), d),
            HostData::InOut(d) => {
                self.inout.piece(d.len()).copy_from_slice(d);
                // The kernel overwrites it on the device, so it is always copied.
                self.changed = true;
            }
            HostData::Out(_) => {}
        }
    }

    /// Writes an argument block with its addresses, and then its arrays. `after` has the addresses of the pieces after the
    /// block.
    #[inline]
    pub(super) fn block(&mut self, block: &ArgumentBlock<'_>, after: Cursor) {
        let (bytes, place) = (block.bytes, self.input.piece(block.bytes.len()));
        let (mut from, mut changed) = (0, false);
        for patch in block.patches {
            let (at, next) = (patch.offset, patch.offset + 8);
            if from < at {
                changed |= update(&mut place[from..at], &bytes[from..at]);
            }
            let address = match patch.target {
                PatchTarget::Device(ptr) => ptr.0,
                PatchTarget::Result if block.arrays.is_empty() => after.output,
                PatchTarget::Result => after.behind(block.arrays).output,
                PatchTarget::Array(s) => after.behind(&block.arrays[..s]).next(&block.arrays[s]).0,
            };
            changed |= update(&mut place[at..next], &address.to_le_bytes());
            from = next;
        }
        changed |= update(&mut place[from..], &bytes[from..]);
        self.changed |= changed;
        block.arrays.iter().for_each(|s| self.data(s));
    }
}

/// Writes a value into the kernarg segment; offset and size were checked against it when the kernel was registered.
#[inline(always)]
pub(super) fn put(kernarg: &mut [u8], offset: u32, bytes: &[u8]) {
    let at = offset as usize;
    if let Some(place) = kernarg.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// The second walk over the arguments: writes the image's host-to-device part, packs the addresses of host data, and
/// finds where the outputs lie in the result buffer.
pub(super) struct ImageWalk<'a, 's> {
    pub(super) writer: Writer<'a>,
    pub(super) cursor: Cursor,
    /// Where the part that comes back to the host begins, as the kernel sees it.
    pub(super) to_host: u64,
    /// The outputs; none if nothing comes back.
    pub(super) spans: Option<&'s mut Spans>,
}

impl ImageWalk<'_, '_> {
    /// Returns whether the image has changed.
    #[inline(always)]
    pub(super) fn run(mut self, kernel: &DeviceKernel, kernarg: &mut [u8], arguments: Arguments<'_>) -> bool {
        let Arguments::Args(args) = arguments else { return self.writer.changed };
        for (arg, parameter) in args.iter().zip(&kernel.parameters) {
            let address = match arg {
                Arg::Host(data) => {
                    self.writer.data(data);
                    self.place(data)
                }
                Arg::ArgumentBlock(block) => {
                    let address = self.cursor.next(&HostData::In(block.bytes));
                    self.writer.block(block, self.cursor);
                    for array in block.arrays {
                        self.place(array);
                    }
                    if block.result_bytes > 0 {
                        self.place(&HostData::Out(block.result_bytes));
                    }
                    address
                }
                _ => continue,
            };
            put(kernarg, parameter.offset, &address.0.to_le_bytes());
        }
        self.writer.changed
    }

    /// Returns the address of a piece, and remembers where it lies if it is an output.
    #[inline]
    fn place(&mut self, data: &HostData<'_>) -> DevicePtr {
        let address = self.cursor.next(data);
        let bytes = match data {
            HostData::In(_) => return address,
            HostData::InOut(d) => d.len(),
            HostData::Out(n) => *n,
        };
        if let Some(spans) = &mut self.spans {
            spans.push(((address.0 - self.to_host) as u32, bytes as u32));
        }
        address
    }
}
