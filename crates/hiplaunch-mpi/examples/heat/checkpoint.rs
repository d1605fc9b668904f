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
//! All numbers are little-endian. Every rank writes its own rows, because no rank then needs memory for the whole field;
//! they need a file system that all of them see. They write to a temporary file beside the checkpoint. Rank 0 writes the
//! header last, and renames the file once it is on the disk, so the previous checkpoint stays whole until the new one is.
//!
//! The checksum adds up, modulo 2^64, a mixed word for each cell that depends on its place and its bits. So ranks make
//! parts of it, and it is also the number by which two fields are compared to the bit.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{ErrorKind, Result as IoResult};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::domain::{Block, Domain, MOST_CELLS};
use crate::error::{FileProblem, Result};
use crate::ranks::Ranks;

const MAGIC: &[u8; 8] = b"HIPLHEAT";
const VERSION: u32 = 1;
const HEADER: usize = 64;

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) step: u64,
    /// alpha dt / dx^2.
    pub(crate) diffusion: f64,
    /// Of all cells.
    pub(crate) checksum: u64,
}

impl Header {
    fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(HEADER as u32).to_le_bytes());
        let words =
            [self.width as u64, self.height as u64, self.step, self.diffusion.to_bits(), self.checksum];
        for (at, word) in words.into_iter().enumerate() {
            bytes[16 + 8 * at..][..8].copy_from_slice(&word.to_le_bytes());
        }
        let sum = header_sum(&bytes);
        bytes[56..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; HEADER]) -> std::result::Result<Header, FileProblem> {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        if &bytes[..8] != MAGIC {
            return Err(FileProblem::Foreign);
        }
        let version = word(8) as u32;
        if version != VERSION {
            return Err(FileProblem::Version(version, VERSION));
        }
        let damaged = FileProblem::Damaged { part: "header" };
        if word(56) != header_sum(bytes) {
            return Err(damaged);
        }
        let (width, height) = (word(16) as usize, word(24) as usize);
        if [width, height].iter().any(|cells| !(1..=MOST_CELLS).contains(cells)) {
            return Err(damaged);
        }
        Ok(Header { width, height, step: word(32), diffusion: f64::from_bits(word(40)), checksum: word(48) })
    }

    /// The bytes of the whole file.
    fn file_bytes(&self) -> u64 {
        HEADER as u64 + 8 * self.width as u64 * self.height as u64
    }
}

/// The finalizer of splitmix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

fn header_sum(bytes: &[u8; HEADER]) -> u64 {
    bytes[..56].iter().fold(1, |sum, byte| mix(sum ^ u64::from(*byte)).wrapping_add(1))
}

/// A rank's part of the checksum of the field.
pub(crate) fn checksum(domain: &Domain, block: &Block, cells: &[f64]) -> u64 {
    let word = |(at, cell): (usize, &f64)| {
        let place = (block.y + at / block.width) * domain.width + block.x + at % block.width;
        mix(cell.to_bits() ^ mix(place as u64 + 1))
    };
    cells.iter().enumerate().map(word).fold(0, u64::wrapping_add)
}

/// The checksum of the field of all ranks. All of them must call it.
///
/// # Errors
/// An exchange fails.
pub(crate) fn checksum_of_all(ranks: &impl Ranks, domain: &Domain, cells: &[f64]) -> Result<u64> {
    let mine = checksum(domain, &domain.block(ranks.rank()), cells);
    Ok(ranks.gather(mine)?.into_iter().fold(0, u64::wrapping_add))
}

/// Writes the field at `path`. `cells` are those of this rank, row by row. All ranks must call it.
///
/// # Errors
/// A rank can't write: [`HeatError::File`](crate::error::HeatError::File) there and
/// [`HeatError::Elsewhere`](crate::error::HeatError::Elsewhere) on the others. A previous checkpoint at `path` is then as it was.
pub(crate) fn write(
    ranks: &impl Ranks,
    domain: &Domain,
    path: &Path,
    step: u64,
    diffusion: f64,
    cells: &[f64],
) -> Result<()> {
    let during = "writing the checkpoint";
    let temporary = temporary(path);
    let (rank, block) = (ranks.rank(), domain.block(ranks.rank()));
    let failed = |error| FileProblem::io(error).of(rank, during, path);
    let written = (|| {
        // Rank 0 makes the file before the others open it.
        let made = if rank == 0 { File::create(&temporary).map(Some) } else { Ok(None) };
        let made = ranks.agree(during, made.map_err(failed))?;
        let file = match made {
            Some(file) => Ok(file),
            None => File::options().write(true).open(&temporary),
        };
        let part = file.and_then(|file| write_part(&file, domain, &block, cells).map(|()| file));
        let file = ranks.agree(during, part.map_err(failed))?;
        let checksum = checksum_of_all(ranks, domain, cells)?;
        let header = Header { width: domain.width, height: domain.height, step, diffusion, checksum };
        let finished = if rank == 0 { finish(&file, &header, &temporary, path) } else { Ok(()) };
        ranks.agree(during, finished.map_err(failed))
    })();
    if written.is_err() && rank == 0 {
        // It may not exist; the error that is returned is the one that matters.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// The file that is written before it gets its name.
fn temporary(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}

/// Writes the rows of a block to their places, and waits until the disk has them.
fn write_part(file: &File, domain: &Domain, block: &Block, cells: &[f64]) -> IoResult<()> {
    for (y, row) in cells.chunks_exact(block.width).enumerate() {
        let bytes: Vec<u8> = row.iter().flat_map(|cell| cell.to_le_bytes()).collect();
        file.write_all_at(&bytes, row_offset(domain, block, y))?;
    }
    file.sync_all()
}

fn finish(file: &File, header: &Header, temporary: &Path, path: &Path) -> IoResult<()> {
    file.write_all_at(&header.to_bytes(), 0)?;
    file.sync_all()?;
    std::fs::rename(temporary, path)?;
    // The new name is on the disk when the folder is.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn row_offset(domain: &Domain, block: &Block, y: usize) -> u64 {
    (HEADER + 8 * ((block.y + y) * domain.width + block.x)) as u64
}

/// Reads the header, and checks that the file is whole. Every rank calls it for itself.
///
/// # Errors
/// [`HeatError::File`](crate::error::HeatError::File) for a file that can't be read, is none of ours or is not whole.
pub(crate) fn read_header(rank: usize, path: &Path) -> Result<Header> {
    let header = || {
        let file = File::open(path).map_err(FileProblem::io)?;
        let found = file.metadata().map_err(FileProblem::io)?.len();
        let mut bytes = [0; HEADER];
        match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                let mut start = vec![0; found.min(8) as usize];
                file.read_exact_at(&mut start, 0).map_err(FileProblem::io)?;
                return Err(match MAGIC.starts_with(&start) && found > 0 {
                    true => FileProblem::Truncated { expected: HEADER as u64, found },
                    false => FileProblem::Foreign,
                });
            }
            Err(error) => return Err(FileProblem::io(error)),
        }
        let header = Header::from_bytes(&bytes)?;
        let expected = header.file_bytes();
        match found.cmp(&expected) {
            Ordering::Equal => Ok(header),
            Ordering::Less => Err(FileProblem::Truncated { expected, found }),
            Ordering::Greater => Err(FileProblem::Damaged { part: "size" }),
        }
    };
    header().map_err(|problem: FileProblem| problem.of(rank, "restarting from", path))
}

/// Reads this rank's cells, row by row, and checks the checksum of all. All ranks must call it.
///
/// # Errors
/// A rank can't read, or the cells are damaged.
pub(crate) fn read(ranks: &impl Ranks, domain: &Domain, header: &Header, path: &Path) -> Result<Vec<f64>> {
    let (rank, block) = (ranks.rank(), domain.block(ranks.rank()));
    let cells = || {
        let file = File::open(path)?;
        let mut cells = Vec::with_capacity(block.width * block.height);
        let mut bytes = vec![0; 8 * block.width];
        for y in 0..block.height {
            file.read_exact_at(&mut bytes, row_offset(domain, &block, y))?;
            cells.extend(bytes.as_chunks().0.iter().map(|cell| f64::from_le_bytes(*cell)));
        }
        Ok(cells)
    };
    let during = "restarting from";
    let cells = cells().map_err(|error| FileProblem::io(error).of(rank, during, path));
    let cells = ranks.agree("restarting from the checkpoint", cells)?;
    if checksum_of_all(ranks, domain, &cells)? != header.checksum {
        return Err(FileProblem::Damaged { part: "cells" }.of(rank, during, path));
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::HeatError;
    use crate::ranks::threads;

    const WIDTH: usize = 100;
    const HEIGHT: usize = 37;

    fn cell(x: usize, y: usize) -> f64 {
        (x * 1000 + y) as f64 / 7.0
    }

    fn cells_of(block: &Block) -> Vec<f64> {
        let rows = block.y..block.y + block.height;
        rows.flat_map(|y| (block.x..block.x + block.width).map(move |x| cell(x, y))).collect()
    }

    /// Writes with some ranks, each of them with its cells.
    fn write_with(ranks: usize, path: &Path, step: u64) -> Vec<Result<()>> {
        let domain = Domain::new(WIDTH, HEIGHT, ranks).unwrap();
        threads::run(ranks, |me| {
            let cells = cells_of(&domain.block(me.rank()));
            write(&me, &domain, path, step, 0.2, &cells)
        })
    }

    /// Reads with some ranks.
    fn read_with(ranks: usize, path: &Path) -> Result<(Header, Vec<f64>)> {
        let domain = Domain::new(WIDTH, HEIGHT, ranks).unwrap();
        let header = read_header(0, path)?;
        let blocks: Result<Vec<_>> =
            threads::run(ranks, |me| read(&me, &domain, &header, path)).into_iter().collect();
        Ok((header, domain.assemble(&blocks?)))
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("heat-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn the_file_does_not_depend_on_the_ranks_that_wrote_it_and_any_number_reads_it() {
        let folder = folder("ranks");
        let whole = cells_of(&Block { x: 0, y: 0, width: WIDTH, height: HEIGHT });
        let mut files = Vec::new();
        for ranks in [1, 2, 4, 8] {
            let path = folder.join(format!("{ranks}"));
            assert!(write_with(ranks, &path, 17).iter().all(Result::is_ok));
            files.push(std::fs::read(&path).unwrap());
            let (header, cells) = read_with(9 - ranks, &path).unwrap();
            assert_eq!((header.step, header.width, header.height), (17, WIDTH, HEIGHT));
            assert_eq!(cells, whole);
        }
        assert!(files.iter().all(|file| *file == files[0]));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_truncated_damaged_or_foreign_file_is_named() {
        let folder = folder("bad");
        let path = folder.join("checkpoint");
        assert!(write_with(1, &path, 5)[0].is_ok());
        let good = std::fs::read(&path).unwrap();
        let message = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read_with(2, &path).unwrap_err().to_string()
        };
        for length in [1, 63, 64, good.len() - 1] {
            assert!(message(&good[..length]).contains("truncated"), "{length}");
        }
        for (at, part) in [(20, "header"), (57, "header"), (64, "cells"), (good.len() - 1, "cells")] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            let message = message(&bad);
            assert!(message.contains("damaged") && message.contains(part), "{at}: {message}");
        }
        let mut longer = good.clone();
        longer.push(0);
        assert!(message(&longer).contains("damaged"));
        let mut newer = good.clone();
        newer[8] = 2;
        assert!(message(&newer).contains("version 2"));
        for foreign in [&b""[..], b"hello", &[7; 1000]] {
            assert!(message(foreign).contains("no checkpoint"));
        }
        assert!(message(&good[..64]).contains(&path.display().to_string()));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_full_disk_is_named() {
        let domain = Domain::new(WIDTH, HEIGHT, 1).unwrap();
        let block = domain.block(0);
        let full = File::options().write(true).open("/dev/full").unwrap();
        let error = write_part(&full, &domain, &block, &cells_of(&block)).unwrap_err();
        let error = FileProblem::io(error).of(3, "writing", Path::new("a/b")).to_string();
        assert!(error.starts_with("rank 3: writing a/b:") && error.contains("free some space"), "{error}");
    }

    #[test]
    fn a_rank_that_cannot_write_stops_all_and_the_previous_checkpoint_stays() {
        let folder = folder("stop");
        let path = folder.join("checkpoint");
        assert!(write_with(4, &path, 5).iter().all(Result::is_ok));
        let before = std::fs::read(&path).unwrap();
        let domain = Domain::new(WIDTH, HEIGHT, 4).unwrap();
        let failed = threads::run(4, |me| {
            let cells = cells_of(&domain.block(me.rank()));
            // Rank 2 is told of a folder that is not there.
            let path = if me.rank() == 2 { folder.join("gone/checkpoint") } else { path.clone() };
            write(&me, &domain, &path, 6, 0.2, &cells).unwrap_err()
        });
        for (rank, error) in failed.iter().enumerate() {
            match error {
                HeatError::File { rank: 2, .. } => assert_eq!(rank, 2),
                HeatError::Elsewhere { failed: 2, .. } => assert_ne!(rank, 2),
                other => panic!("{rank}: {other}"),
            }
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert!(!temporary(&path).exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
