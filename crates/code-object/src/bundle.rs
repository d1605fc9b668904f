//! Clang offload bundles: several code objects in one file, which may be compressed.
//!
//! A plain bundle starts with `__CLANG_OFFLOAD_BUNDLE__`; for each entry it has an offset, a size and an id such as
//! `hipv4-amdgcn-amd-amdhsa--gfx90a`. A compressed one is a bundle behind a `CCOB` header, with zlib or zstd. Both
//! are described in clang's "Clang Offload Bundler", in "Bundled Binary File Layout" and "Compression and
//! Decompression".

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::error::{Error, Result};
use crate::limits::{MAX_DECOMPRESSED, MAX_DECOMPRESSION_RATIO, MIN_DECOMPRESSED_CAP};
use crate::target::TargetId;

const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED_MAGIC: &[u8] = b"CCOB";

/// The use of a bundle entry: the first part of its id. When several entries match a device, the greatest kind is
/// preferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BundleEntryKind {
    /// `host`: the host's part, which is empty in HIP.
    Host,
    /// Anything else, such as `openmp`.
    Other,
    /// `hip`: usually a HIP code object of version 2 or 3.
    Hip,
    /// `hipv4`: a HIP code object of version 4 or later.
    HipV4,
}

/// One entry of a bundle.
#[derive(Debug, Clone)]
pub struct BundleEntry {
    /// The id, such as `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-`.
    pub id: String,
    /// The kind, from the first part of the id.
    pub kind: BundleEntryKind,
    /// The GPU target in the id; `None` for the host's entry.
    pub target: Option<TargetId>,
    /// The bytes, usually a raw ELF code object.
    pub data: BundleEntryData,
}

/// The bytes of an entry, which are shared with the other entries. Dereference it to get a slice.
#[derive(Clone)]
pub struct BundleEntryData {
    bundle: Arc<[u8]>,
    range: Range<usize>,
}

impl Deref for BundleEntryData {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bundle[self.range.clone()]
    }
}

impl AsRef<[u8]> for BundleEntryData {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for BundleEntryData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BundleEntryData({} bytes)", self.range.len())
    }
}

/// Returns whether the bytes start like a bundle, plain or compressed.
pub fn is_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || is_compressed(bytes)
}

/// Returns whether the bytes start like a compressed bundle.
pub fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(COMPRESSED_MAGIC)
}

/// Returns the entries of a bundle, plain or compressed, in the order of the file.
///
/// # Errors
///
/// Returns an error if the bytes are not a bundle, are truncated, or decompress to more than the
/// [`limits`](crate::limits) allow.
pub fn entries(bytes: &[u8]) -> Result<Vec<BundleEntry>> {
    let bundle: Arc<[u8]> = if is_compressed(bytes) { decompress(bytes)?.into() } else { bytes.into() };
    let found = raw_entries(&bundle)?;
    let own = |entry: RawEntry<'_>| BundleEntry {
        id: entry.id.to_owned(),
        kind: entry.kind(),
        target: entry.target(),
        data: BundleEntryData { bundle: bundle.clone(), range: entry.range },
    };
    Ok(found.into_iter().map(own).collect())
}

/// Returns the targets of a bundle's entries, plain or compressed, in the order of the file.
///
/// Of a compressed bundle only the beginning is decompressed, if that has the ids. So what follows them may be broken.
///
/// # Errors
///
/// Returns an error if the bytes are not a bundle, are truncated, or decompress to more than the
/// [`limits`](crate::limits) allow, as far as they are read.
pub fn targets(bytes: &[u8]) -> Result<Vec<TargetId>> {
    let of = |bundle: &[u8]| -> Result<Vec<TargetId>> {
        Ok(header(bundle)?.iter().filter_map(|(id, ..)| target_of(id)).collect())
    };
    if !is_compressed(bytes) {
        return of(bytes);
    }
    let found = Compressed::of(bytes)?.beginning().and_then(|beginning| of(&beginning).ok());
    found.map_or_else(|| of(&decompress(bytes)?), Ok)
}

/// An entry that borrows from the bundle.
#[derive(Debug)]
pub(crate) struct RawEntry<'a> {
    pub(crate) id: &'a str,
    pub(crate) range: Range<usize>,
}

impl RawEntry<'_> {
    /// Returns the kind of the entry.
    pub(crate) fn kind(&self) -> BundleEntryKind {
        kind_of(self.id)
    }

    /// Returns the GPU target in the id, after the kind.
    pub(crate) fn target(&self) -> Option<TargetId> {
        target_of(self.id)
    }
}

fn kind_of(id: &str) -> BundleEntryKind {
    match id.split('-').next() {
        Some("host") => BundleEntryKind::Host,
        Some("hip") => BundleEntryKind::Hip,
        Some("hipv4") => BundleEntryKind::HipV4,
        _ => BundleEntryKind::Other,
    }
}

fn target_of(id: &str) -> Option<TargetId> {
    if kind_of(id) == BundleEntryKind::Host {
        return None;
    }
    id.split_once('-')?.1.parse().ok()
}

/// Reads consecutive little-endian integers.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8]> {
        let end = usize::try_from(count).ok().and_then(|count| self.at.checked_add(count));
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken =
            taken.ok_or_else(|| Error::bundle(format!("it ends in its header, at byte {}", self.at)))?;
        self.at += taken.len();
        Ok(taken)
    }

    fn uint(&mut self, width: u64) -> Result<u64> {
        Ok(self.take(width)?.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }
}

/// Returns the entries of a plain bundle.
pub(crate) fn raw_entries(bundle: &[u8]) -> Result<Vec<RawEntry<'_>>> {
    let entry = |(index, (id, offset, size)): (usize, (_, u64, u64))| {
        let range =
            usize::try_from(offset).ok().zip(offset.checked_add(size).and_then(|end| end.try_into().ok()));
        let range =
            range.map(|(start, end): (usize, usize)| start..end).filter(|range| range.end <= bundle.len());
        let range = range.ok_or_else(|| {
            Error::bundle(format!("entry {index} ends behind the end of the file; the file was cut short"))
        })?;
        Ok(RawEntry { id, range })
    };
    header(bundle)?.into_iter().enumerate().map(entry).collect()
}

/// Reads a plain bundle's header: of each entry the id, the offset and the size.
fn header(bundle: &[u8]) -> Result<Vec<(&str, u64, u64)>> {
    if !bundle.starts_with(MAGIC) {
        return Err(Error::bundle("it doesn't start with __CLANG_OFFLOAD_BUNDLE__"));
    }
    let mut header = Cursor { bytes: bundle, at: MAGIC.len() };
    let count = header.uint(8)?;
    let mut found = Vec::new();
    // Each iteration takes bytes from the header or fails, so a false count ends with the file.
    for index in 0..count {
        let (offset, size, id_len) = (header.uint(8)?, header.uint(8)?, header.uint(8)?);
        let id = std::str::from_utf8(header.take(id_len)?)
            .map_err(|_| Error::bundle(format!("the id of entry {index} is not valid UTF-8")))?;
        found.push((id, offset, size));
    }
    Ok(found)
}

/// Decompresses a compressed bundle to a plain one.
///
/// # Errors
///
/// Returns an error if the header or the compressed data are malformed or truncated, or if they would decompress to
/// more than the [`limits`](crate::limits) allow. Like clang, this does not check the header's hash.
pub fn decompress(bytes: &[u8]) -> Result<Vec<u8>> {
    let compressed = Compressed::of(bytes)?;
    let (payload, size) = (compressed.payload, compressed.size);
    let plain = match compressed.method {
        // llvm::compression::Format
        0 => zlib(payload, size as usize)?,
        ZSTD => zstd(payload, size as usize, compressed.limit)?,
        method => {
            return Err(Error::bundle(format!(
                "its compression method is {method}, neither zlib (0) nor zstd (1)"
            )));
        }
    };
    if plain.len() as u64 != size {
        let length = plain.len();
        return Err(Error::bundle(format!(
            "it decompresses to {length} bytes, not to the {size} of its header"
        )));
    }
    Ok(plain)
}

/// The method of a bundle that is compressed with zstd.
const ZSTD: u64 = 1;

/// A compressed bundle behind its header.
struct Compressed<'a> {
    method: u64,
    payload: &'a [u8],
    /// The bytes that it decompresses to, as the header says.
    size: u64,
    /// The most bytes that it may decompress to.
    limit: u64,
}

impl<'a> Compressed<'a> {
    fn of(bytes: &'a [u8]) -> Result<Compressed<'a>> {
        if !is_compressed(bytes) {
            return Err(Error::bundle("it doesn't start with CCOB"));
        }
        let mut header = Cursor { bytes, at: COMPRESSED_MAGIC.len() };
        let (version, method) = (header.uint(2)?, header.uint(2)?);
        // Versions 2 and 3 contain the size of the file, so that the bytes after it are not read.
        let (file_size, size) = match version {
            1 => (bytes.len() as u64, header.uint(4)?),
            2 => (header.uint(4)?, header.uint(4)?),
            3 => (header.uint(8)?, header.uint(8)?),
            _ => {
                return Err(Error::bundle(format!(
                    "its compression header has version {version}, not 1, 2 or 3"
                )));
            }
        };
        header.uint(8)?;
        let payload =
            usize::try_from(file_size).ok().and_then(|end| bytes.get(header.at..end)).ok_or_else(|| {
                Error::bundle(format!(
                    "its header says {file_size} bytes, but there are {}; it was cut short",
                    bytes.len()
                ))
            })?;
        let limit = (payload.len() as u64)
            .saturating_mul(MAX_DECOMPRESSION_RATIO)
            .clamp(MIN_DECOMPRESSED_CAP, MAX_DECOMPRESSED);
        if size > limit {
            return Err(Error::DecompressedTooLarge { size, limit });
        }
        Ok(Compressed { method, payload, size, limit })
    }

    /// Decompresses the first block, of 128 KiB at most, if that is possible without the others.
    fn beginning(&self) -> Option<Vec<u8>> {
        if self.method != ZSTD {
            return None;
        }
        let mut blocks = self.payload;
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(self.limit);
        decoder.reset(&mut blocks).ok()?;
        let start = self.payload.len() - blocks.len();
        // The header of a block: whether it is the last, its type, of which 1 is a byte and how often it is there, and its size
        // (RFC 8878, 3.1.1.2).
        let header = blocks.get(..3)?.iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte));
        let size = if header >> 1 & 3 == 1 { 1 } else { header >> 3 };
        // The decoder keeps what a later block may refer to, unless there is none. A checksum is read, but not compared.
        let mut frame = self.payload.get(..start + 3 + size)?.to_vec();
        frame[start] |= 1;
        frame.extend([0; 4]);
        zstd(&frame, self.size as usize, self.limit).ok()
    }
}

fn zlib(payload: &[u8], size: usize) -> Result<Vec<u8>> {
    miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(payload, size)
        .map_err(|error| Error::bundle(format!("its zlib data are broken or cut short: {:?}", error.status)))
}

fn zstd(mut payload: &[u8], size: usize, max_window: u64) -> Result<Vec<u8>> {
    let broken =
        |error: &dyn fmt::Display| Error::bundle(format!("its zstd data are broken or cut short: {error}"));
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(max_window);
    decoder.reset(&mut payload).map_err(|error| broken(&error))?;
    let mut plain = Vec::new();
    while !decoder.is_finished() {
        decoder
            .decode_blocks(&mut payload, BlockDecodingStrategy::UptoBlocks(1))
            .map_err(|error| broken(&error))?;
        decoder.collect_to_writer(&mut plain).map_err(|error| broken(&error))?;
        if plain.len() > size {
            return Err(broken(&"they are longer than the header says"));
        }
    }
    Ok(plain)
}
