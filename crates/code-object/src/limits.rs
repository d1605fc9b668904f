//! Limits on what a code object may request, so that a small hostile file can't make its reader allocate much memory.
//!
//! Reading a raw code object takes at most 8 bytes for each byte of it, including its own copy. Real ones take about 2
//! (tests/memory.rs counts).

/// The largest range of addresses that the loaded segments may span, in bytes (1 GiB).
pub const MAX_IMAGE_SIZE: u64 = 1 << 30;

/// The largest number of program headers. LLD writes 8 or 9.
pub const MAX_PROGRAM_HEADERS: usize = 128;

/// The largest number of metadata notes. A file that was linked of several has the note of each.
pub const MAX_METADATA_NOTES: usize = 4096;

/// The largest kernarg segment of one kernel, in bytes (64 KiB). HIP allows 4 KiB of explicit arguments; the hidden
/// ones add 256 bytes.
pub const MAX_KERNARG_SIZE: u32 = 64 << 10;

/// The largest alignment of a kernarg segment, in bytes.
pub const MAX_KERNARG_ALIGN: u32 = 4096;

/// The largest number of work-items that a workgroup can have on any AMD GPU.
pub const MAX_WORKGROUP_SIZE: u32 = 1024;

/// The deepest nesting of arrays and maps in the metadata. LLVM writes 5 levels.
pub const MAX_METADATA_DEPTH: usize = 16;

/// The largest ratio of the length of all symbol names to the length of the file. Symbols can share strings, so without
/// a limit the names could grow with the square of the file.
pub const MAX_NAMES_RATIO: usize = 4;

/// The largest size that a compressed bundle may decompress to, in bytes (1 GiB).
pub const MAX_DECOMPRESSED: u64 = 1 << 30;

/// The largest ratio of decompressed to compressed size, though [`MIN_DECOMPRESSED_CAP`] is always allowed. Bundles of
/// real libraries shrink 5 to 30 times.
pub const MAX_DECOMPRESSION_RATIO: u64 = 128;

/// The decompressed size that is allowed for even the smallest compressed bundle, in bytes (16 MiB). Bundles are padded
/// with zeros, so that small ones compress well.
pub const MIN_DECOMPRESSED_CAP: u64 = 16 << 20;
