//! Checkpoints: the whole field in one file, whatever the number of ranks.
//!
//! | offset | type | what |
//! |---|---|---|
//! | 0 | 8 bytes | `HIPLHEAT` |
//! | 8 | u32 | version of the format, 1 |
//! | 12 | u32 | bytes of the header, 64 |
//! | 16 | u64, u64 | width and height in cells |
//! | 32 | u64 | steps that were made |
//! | 40 | f64 | alpha dt / dx^2 |
//! | 48 | u64 | checksum of the cells |
//! | 56 | u64 | checksum of the header up to here |
//! | 64 | f64, ... | the cells, row by row |
//!
//! All numbers are little-endian. One rank writes a temporary file beside the checkpoint, and renames it once it is on the
//! disk, so the previous checkpoint stays whole until the new one is. Every rank reads the file for itself.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::error::{Result, advice, of_file};
use crate::field::{Field, MAX_CELLS};

const MAGIC: u64 = u64::from_le_bytes(*b"HIPLHEAT");
const VERSION: u32 = 1;
const HEADER: usize = 64;

/// A field after some steps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Checkpoint {
    pub(crate) field: Field,
    pub(crate) step: u64,
    /// alpha dt / dx^2.
    pub(crate) diffusion: f64,
}

impl Checkpoint {
    fn to_bytes(&self) -> Vec<u8> {
        let Field { width, height, cells } = &self.field;
        let version = u64::from(VERSION) | (HEADER as u64) << 32;
        let (diffusion, checksum) = (self.diffusion.to_bits(), self.field.checksum());
        let mut words = [MAGIC, version, *width as u64, *height as u64, self.step, diffusion, checksum, 0];
        words[7] = header_sum(&words);
        let cells = cells.iter().map(|cell| cell.to_bits());
        words.into_iter().chain(cells).flat_map(u64::to_le_bytes).collect()
    }

    fn from_bytes(bytes: &[u8]) -> std::result::Result<Checkpoint, String> {
        let mut words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
        let header: [u64; 8] = std::array::from_fn(|_| words.next().unwrap_or(0));
        let [magic, version, width, height, step, diffusion, checksum, sum] = header;
        let unusable = |how| Err(format!("the checkpoint is {how}; restart from an older copy"));
        let truncated = |expected| unusable(format!("truncated: {} bytes of {expected}", bytes.len()));
        let damaged = |part| unusable(format!("damaged: its {part} is not what was written"));
        if magic != MAGIC {
            return Err("this is no checkpoint of heat: name the file that --checkpoint wrote".to_owned());
        }
        if bytes.len() < HEADER {
            return truncated(HEADER);
        }
        if version as u32 != VERSION {
            let version = version as u32;
            return Err(format!(
                "the checkpoint's format is version {version}, this program reads version {VERSION}: restart with the \
                 program that wrote it"
            ));
        }
        let is_size = |cells: u64| (1..=MAX_CELLS as u64).contains(&cells);
        if sum != header_sum(&header) || !is_size(width) || !is_size(height) {
            return damaged("header");
        }
        let (width, height) = (width as usize, height as usize);
        let expected = HEADER + 8 * width * height;
        if bytes.len() < expected {
            return truncated(expected);
        }
        let field = Field { width, height, cells: words.map(f64::from_bits).collect() };
        match () {
            () if bytes.len() > expected => damaged("size"),
            () if field.checksum() != checksum => damaged("cells"),
            () => Ok(Checkpoint { field, step, diffusion: f64::from_bits(diffusion) }),
        }
    }

    /// Reads a checkpoint.
    pub(crate) fn read(path: &Path) -> Result<Checkpoint> {
        let bytes = std::fs::read(path).map_err(advice);
        bytes.and_then(|bytes| Checkpoint::from_bytes(&bytes)).map_err(of_file("restarting from", path))
    }

    /// Writes the checkpoint. After an error, a previous one at `path` is as it was.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        let temporary = path.with_file_name(name);
        let write = || {
            let mut file = File::create(&temporary)?;
            file.write_all(&self.to_bytes())?;
            file.sync_all()?;
            std::fs::rename(&temporary, path)?;
            // The new name is on the disk when the folder is.
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        };
        write().map_err(|error| {
            // It may not exist; the error that is returned is the one that matters.
            let _ = std::fs::remove_file(&temporary);
            of_file("writing the checkpoint", path)(advice(error))
        })
    }
}

fn header_sum(words: &[u64; 8]) -> u64 {
    let bytes = words[..7].iter().flat_map(|word| word.to_le_bytes());
    bytes.fold(1, |sum, byte| crate::field::mix(sum ^ u64::from(byte)).wrapping_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_damaged_or_foreign_file_is_named() {
        let checkpoint = Checkpoint { field: Field::initial(20, 7), step: 17, diffusion: 0.2 };
        let good = checkpoint.to_bytes();
        assert_eq!(Checkpoint::from_bytes(&good), Ok(checkpoint));
        let problem = |bytes: &[u8]| Checkpoint::from_bytes(bytes).unwrap_err();
        for length in [8, 63, 64, good.len() - 1] {
            assert!(problem(&good[..length]).contains("truncated"), "{length}");
        }
        for (at, part) in [(0, "no checkpoint"), (8, "version 0"), (57, "its header"), (64, "its cells")] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(problem(&bad).contains(part), "{at}");
        }
        assert!(problem(&[&good[..], &[0]].concat()).contains("its size"));
        assert!(problem(b"").contains("no checkpoint"));
    }
}
