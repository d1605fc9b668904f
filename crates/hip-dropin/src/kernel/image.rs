//! Code objects in the program's memory, of which HIP's functions pass only the address.

use code_object::bundle;

use crate::abi::{HipResult, In, Status};
use crate::report::say_once;

const BUNDLE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED: &[u8] = b"CCOB";
const ELF: &[u8] = b"\x7fELF";

/// The most bytes that an image is believed to have.
const MOST_BYTES: u64 = 8 << 30;

/// Returns the bytes of the code object or the bundle at an address: as many as its own header says.
///
/// Fails with `INVALID_IMAGE` if it is neither.
pub(crate) fn at<'a>(image: In<u8>) -> HipResult<&'a [u8]> {
    if image.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let length =
        length(image.pointer()).filter(|length| *length <= MOST_BYTES).ok_or(Status::INVALID_IMAGE)?;
    // SAFETY: the caller passes a whole image, and its header says how long it is. An image that was cut in memory can't
    // be told from a whole one, by AMD's library neither.
    Ok(unsafe { std::slice::from_raw_parts(image.pointer(), length as usize) })
}

/// Returns the bytes of an image that is to be loaded, as [`at`] does, and says why it is refused.
pub(crate) fn to_load<'a>(image: In<u8>) -> HipResult<&'a [u8]> {
    at(image).inspect_err(say_refused)
}

/// Says that an image is refused.
pub(crate) fn say_refused(status: &Status) {
    if *status == Status::INVALID_IMAGE {
        say_once("an image is refused: it is neither a code object nor an offload bundle of a known version");
    }
}

/// The length that the header says; `None` for what is no image.
fn length(image: *const u8) -> Option<u64> {
    // SAFETY: the caller passes an image, whose header is longer than what is read: 24 bytes of magic and a count, or 64
    // bytes of an ELF header. The reads stop where the bytes differ from the magic.
    let starts_with =
        |magic: &[u8]| magic.iter().enumerate().all(|(at, byte)| unsafe { image.add(at).read() } == *byte);
    let number = |at: u64, width: usize| {
        let mut bytes = [0; 8];
        for (index, byte) in bytes[..width].iter_mut().enumerate() {
            // SAFETY: within the header, whose magic was read before: the image is as long as that.
            *byte = unsafe { image.add(at as usize + index).read() };
        }
        u64::from_le_bytes(bytes)
    };
    if starts_with(ELF) {
        // The section headers are the last part of what linkers write; without them, the last segment is.
        let (segments, sections) = (number(32, 8), number(40, 8));
        let (segment_bytes, segment_count) = (number(54, 2), number(56, 2));
        let (section_bytes, section_count) = (number(58, 2), number(60, 2));
        if segments.max(sections) > MOST_BYTES {
            return None;
        }
        let mut end = sections.checked_add(section_bytes * section_count)?;
        for segment in 0..segment_count {
            let header = segments.checked_add(segment * segment_bytes)?;
            end = end.max(number(header + 8, 8).checked_add(number(header + 32, 8))?);
        }
        return Some(end);
    }
    if starts_with(BUNDLE) {
        let count = number(24, 8);
        let (mut at, mut end) = (32, 32);
        for _ in 0..count.min(1 << 16) {
            let (offset, size, name) = (number(at, 8), number(at + 8, 8), number(at + 16, 8));
            at = at.checked_add(24)?.checked_add(name).filter(|at| *at <= MOST_BYTES)?;
            end = at.max(end).max(offset.checked_add(size)?);
        }
        return Some(end);
    }
    if starts_with(COMPRESSED) {
        // Version 1 does not have its own length: the compressed bytes end by themselves.
        return match number(4, 2) {
            2 => Some(number(8, 4)),
            3 => Some(number(8, 8)),
            _ => None,
        };
    }
    None
}

/// The targets that an image has code for; none if it is broken.
pub(crate) fn targets(image: &[u8]) -> Vec<code_object::TargetId> {
    if image.starts_with(ELF) {
        return code_object::CodeObject::parse(image)
            .map(|object| vec![object.target().clone()])
            .unwrap_or_default();
    }
    bundle::targets(image).unwrap_or_default()
}
