//! Copies of code objects for HIP. HIP is not told their length, so what it will read is checked and kept alive here.

use std::alloc::Layout;

/// The alignment of a copy in bytes: a page, as code objects have it in a loaded fat binary.
const ALIGNMENT: usize = 4096;
/// Zero bytes after a copy: HIP compares up to 24 bytes with magic numbers before it reads any size.
const PADDING: usize = 64;

const ELF_MAGIC: &[u8] = b"\x7fELF";
const BUNDLE_MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED_MAGIC: &[u8] = b"CCOB";

/// A copy of a code object, padded and aligned. It lives until the module is unloaded.
///
/// clr loads from the caller's memory without copying it (`addDeviceProgram(..., make_copy = false)` in
/// `hip_fatbin.cpp`), and debuggers find the code object by its address.
#[derive(Debug)]
pub(crate) struct Image {
    bytes: Vec<u8>,
    offset: usize,
}

impl Image {
    /// Copies `image`. The error says what is missing if HIP would read beyond its end, or needs a section that is not there.
    pub(crate) fn new(image: &[u8]) -> Result<Image, String> {
        check_extent(image)?;
        check_names(image)?;
        // The vector is larger than the image and contains it at an aligned offset. Its memory does not move with its
        // owner.
        let layout = Layout::from_size_align(image.len(), ALIGNMENT).map_err(|_| "too large".to_owned())?;
        let mut bytes = vec![0; layout.size() + PADDING + ALIGNMENT];
        let offset = bytes.as_ptr().align_offset(ALIGNMENT);
        bytes[offset..offset + image.len()].copy_from_slice(image);
        Ok(Image { bytes, offset })
    }

    /// Returns the address of the image.
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.bytes[self.offset..].as_ptr()
    }
}

/// Reads a little-endian integer of `N` bytes at offset `at`.
fn number<const N: usize>(image: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let bytes = image.get(at..at.checked_add(N)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// Checks that everything that the headers point to lies inside the image. HIP detects all other errors itself.
fn check_extent(image: &[u8]) -> Result<(), String> {
    let end = if image.starts_with(ELF_MAGIC) {
        elf_end(image)
    } else if image.starts_with(BUNDLE_MAGIC) {
        bundle_end(image)
    } else if image.starts_with(COMPRESSED_MAGIC) {
        compressed_end(image)
    } else {
        return Ok(());
    };
    match end {
        Some(end) if end <= image.len() as u64 => Ok(()),
        Some(end) => Err(format!("the code object is cut off: {} bytes of {end}", image.len())),
        None => Err(format!("the code object's headers are cut off at {} bytes", image.len())),
    }
}

/// Checks that an ELF file has a section `.strtab`. clr looks for it by its name (`Elf::InitElf` in `elf.cpp`): without it, HIP 5.2.3 and 6.4.3
/// crash when they load the code object, and 7.2.4 refuses it.
fn check_names(image: &[u8]) -> Result<(), String> {
    if !image.starts_with(ELF_MAGIC) || has_section(image, b".strtab\0") != Some(false) {
        return Ok(());
    }
    let reason = "the code object was stripped of its section .strtab, without which HIP does not load it; link it without `-s` and do not \
                  strip it";
    Err(reason.to_owned())
}

/// Whether an ELF file has a section with a name, which ends with a zero byte. `None` if its headers are cut off.
fn has_section(image: &[u8], name: &[u8]) -> Option<bool> {
    let shoff = number::<8>(image, 0x28)?;
    let (size, count) = (number::<2>(image, 0x3a)?, number::<2>(image, 0x3c)?);
    let header = |index: u64| shoff.checked_add(index * size);
    let names = number::<8>(image, header(number::<2>(image, 0x3e)?)?.checked_add(0x18)?)?;
    for index in 0..count {
        let at = usize::try_from(names.checked_add(number::<4>(image, header(index)?)?)?).ok()?;
        if image.get(at..)?.starts_with(name) {
            return Some(true);
        }
    }
    Some(false)
}

/// Returns the end of an ELF file: of its tables, sections and segments (System V ABI, 64-bit objects).
fn elf_end(image: &[u8]) -> Option<u64> {
    const NOBITS: u64 = 8;
    let (phoff, shoff) = (number::<8>(image, 0x20)?, number::<8>(image, 0x28)?);
    let (phentsize, phnum) = (number::<2>(image, 0x36)?, number::<2>(image, 0x38)?);
    let (shentsize, shnum) = (number::<2>(image, 0x3a)?, number::<2>(image, 0x3c)?);
    let mut end = phoff.saturating_add(phentsize * phnum).max(shoff.saturating_add(shentsize * shnum));
    for header in (0..phnum).map(|i| phoff.saturating_add(i * phentsize)) {
        let at = |field: u64| number::<8>(image, header.saturating_add(field));
        end = end.max(at(0x08)?.saturating_add(at(0x20)?));
    }
    for header in (0..shnum).map(|i| shoff.saturating_add(i * shentsize)) {
        let at = |field: u64| number::<8>(image, header.saturating_add(field));
        if number::<4>(image, header.saturating_add(4))? != NOBITS {
            end = end.max(at(0x18)?.saturating_add(at(0x20)?));
        }
    }
    Some(end)
}

/// Returns the end of an offload bundle's last entry (Clang Offload Bundler, "Bundled Binary File Layout").
fn bundle_end(image: &[u8]) -> Option<u64> {
    let entries = number::<8>(image, 24)?;
    let (mut at, mut end) = (32u64, 32u64);
    for _ in 0..entries {
        let (offset, size, id) =
            (number::<8>(image, at)?, number::<8>(image, at + 8)?, number::<8>(image, at + 16)?);
        at = at.checked_add(24)?.checked_add(id)?;
        end = end.max(at).max(offset.saturating_add(size));
        // Each entry has at least 24 bytes, so the loop ends soon even if the number of entries is wrong.
        if at > image.len() as u64 {
            break;
        }
    }
    Some(end)
}

/// Returns the end of a compressed bundle (Clang Offload Bundler, "Compression"). The header states it from version 2
/// on; for version 1, the result is the end of the header.
fn compressed_end(image: &[u8]) -> Option<u64> {
    match number::<2>(image, 4)? {
        2 => number::<4>(image, 8),
        3 => number::<8>(image, 8),
        _ => Some(20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELF: &[u8] = include_bytes!("../../../hip/vector.gfx90a.co");

    #[test]
    fn a_copy_is_aligned_equal_and_padded() {
        let image = Image::new(ELF).unwrap();
        assert_eq!(image.as_ptr().align_offset(ALIGNMENT), 0);
        assert_eq!(&image.bytes[image.offset..image.offset + ELF.len()], ELF);
        assert!(image.bytes.len() >= image.offset + ELF.len() + PADDING);
        assert!(image.bytes[image.offset + ELF.len()..].iter().all(|b| *b == 0));
    }

    #[test]
    fn every_cut_of_an_elf_file_is_detected() {
        for length in (4..ELF.len()).step_by(7).chain([ELF.len() - 1]) {
            let error = Image::new(&ELF[..length]).unwrap_err();
            assert!(error.contains("cut off"), "{length}: {error}");
        }
    }

    #[test]
    fn a_code_object_without_names_is_refused() {
        assert_eq!(has_section(ELF, b".strtab\0"), Some(true));
        let mut stripped = ELF.to_vec();
        let name = stripped.windows(9).position(|bytes| bytes == b"\0.strtab\0").unwrap();
        stripped[name + 1..name + 8].copy_from_slice(b".nothing".split_at(7).0);
        let error = Image::new(&stripped).unwrap_err();
        assert!(error.contains("stripped of its section .strtab"), "{error}");
    }

    #[test]
    fn bundles_are_checked_to_the_end_of_their_last_entry() {
        let id = b"hipv4-amdgcn-amd-amdhsa--gfx90a";
        let mut bundle = BUNDLE_MAGIC.to_vec();
        for value in [1u64, 4096, 100, id.len() as u64] {
            bundle.extend(value.to_le_bytes());
        }
        bundle.extend(id);
        bundle.resize(4196, 0);
        Image::new(&bundle).unwrap();
        Image::new(&bundle[..4195]).unwrap_err();
        Image::new(&bundle[..40]).unwrap_err();
        // A wrong count and a wrong size give an error, and soon.
        bundle[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
        Image::new(&bundle).unwrap_err();
        bundle[24..32].copy_from_slice(&1u64.to_le_bytes());
        bundle[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        Image::new(&bundle).unwrap_err();
    }

    #[test]
    fn compressed_bundles_are_checked_against_their_stated_size() {
        let mut bundle = b"CCOB\x02\x00\x01\x00".to_vec();
        bundle.extend(100u32.to_le_bytes());
        bundle.resize(100, 0);
        Image::new(&bundle).unwrap();
        Image::new(&bundle[..99]).unwrap_err();
        Image::new(&bundle[..10]).unwrap_err();
    }

    #[test]
    fn what_is_no_code_object_is_left_to_hip() {
        Image::new(b"hello").unwrap();
        Image::new(b"").unwrap();
    }
}
