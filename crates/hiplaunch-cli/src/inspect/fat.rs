//! The offload bundles in a host's program or library: section `.hip_fatbin` of a 64-bit little-endian ELF file.
//!
//! A translation unit has one bundle in the section, aligned to 4096 bytes (clang, `CGCUDANV.cpp`: the section's name
//! and alignment). The linker puts the bundles one after the other. Offsets of the header are those of the ELF
//! specification.

use code_object::bundle;

/// The alignment of a bundle in bytes.
const ALIGNMENT: usize = 4096;
const SECTION: &[u8] = b".hip_fatbin";

/// Reads little-endian integers at offsets that may be outside of the bytes.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn uint(&self, at: usize, width: usize) -> Option<usize> {
        let bytes = self.0.get(at..at.checked_add(width)?)?;
        let value = bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        usize::try_from(value).ok()
    }

    fn slice(&self, at: usize, length: usize) -> Option<&'a [u8]> {
        self.0.get(at..at.checked_add(length)?)
    }
}

/// Returns the bundles of an ELF file; `None` if it is no such file or has no bundles.
pub(super) fn bundles(elf: &[u8]) -> Option<Vec<&[u8]>> {
    let section = section(&Bytes(elf))?;
    let starts: Vec<usize> = (0..section.len())
        .step_by(ALIGNMENT)
        .filter(|at| section.get(*at..).is_some_and(bundle::is_bundle))
        .collect();
    let ends = starts.iter().skip(1).copied().chain([section.len()]);
    let found: Option<Vec<&[u8]>> = starts.iter().zip(ends).map(|(at, end)| section.get(*at..end)).collect();
    found.filter(|found| !found.is_empty())
}

fn section<'a>(elf: &Bytes<'a>) -> Option<&'a [u8]> {
    // The magic number, 64 bits, little-endian.
    if elf.slice(0, 6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (table, size) = (elf.uint(0x28, 8)?, elf.uint(0x3a, 2)?);
    let header = |index: usize| table.checked_add(index.checked_mul(size)?);
    let (count, names) = (elf.uint(0x3c, 2)?, header(elf.uint(0x3e, 2)?)?);
    let names = elf.slice(elf.uint(names.checked_add(0x18)?, 8)?, elf.uint(names.checked_add(0x20)?, 8)?)?;
    (0..count).find_map(|index| {
        let header = header(index)?;
        let name = names.get(elf.uint(header, 4)?..)?;
        if name.strip_prefix(SECTION)?.first() != Some(&0) {
            return None;
        }
        elf.slice(elf.uint(header.checked_add(0x18)?, 8)?, elf.uint(header.checked_add(0x20)?, 8)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file with two bundles in its section.
    fn host() -> Vec<u8> {
        let names = b"\0.shstrtab\0.hip_fatbin\0";
        let mut fatbin = vec![0; 2 * ALIGNMENT + 30];
        fatbin[..24].copy_from_slice(b"__CLANG_OFFLOAD_BUNDLE__");
        fatbin[ALIGNMENT..][..4].copy_from_slice(b"CCOB");
        let (names_at, fatbin_at) = (64, 64 + names.len());
        let table = fatbin_at + fatbin.len();
        let mut elf = vec![0; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[0x28..0x30].copy_from_slice(&(table as u64).to_le_bytes());
        elf[0x3a..0x40].copy_from_slice(&[64, 0, 3, 0, 1, 0]);
        elf.extend_from_slice(names);
        elf.extend_from_slice(&fatbin);
        for (name, at, length) in [(0, 0, 0), (1, names_at, names.len()), (11, fatbin_at, fatbin.len())] {
            let mut header = [0; 64];
            header[0] = name;
            header[0x18..0x20].copy_from_slice(&(at as u64).to_le_bytes());
            header[0x20..0x28].copy_from_slice(&(length as u64).to_le_bytes());
            elf.extend_from_slice(&header);
        }
        elf
    }

    #[test]
    fn the_bundles_of_a_host_file() {
        let elf = host();
        let found = bundles(&elf).unwrap();
        assert_eq!(found.iter().map(|b| b.len()).collect::<Vec<_>>(), [ALIGNMENT, ALIGNMENT + 30]);
        assert!(found[0].starts_with(b"__CLANG") && found[1].starts_with(b"CCOB"));
    }

    /// A file that is cut anywhere before its last header, or has any byte of its headers changed, causes no panic.
    #[test]
    fn broken_host_files() {
        let elf = host();
        for length in (0..elf.len() - 64).step_by(7) {
            assert!(bundles(&elf[..length]).is_none(), "{length}");
        }
        let table = elf.len() - 3 * 64;
        for at in (0..64).chain(table..elf.len()) {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = elf.clone();
                changed[at] = value;
                let _ = bundles(&changed);
            }
        }
    }
}
