//! The caps on what a code object may ask for, so that a small hostile file can't make its reader allocate a lot.
//!
//! Reading a raw code object takes at most 8 bytes for each byte of it, its own copy included; real ones take
//! about 2 (tests/memory.rs counts).

/// Largest span of addresses that the loaded segments may cover, in bytes (1 GiB).
pub const MAX_IMAGE_SIZE: u64 = 1 << 30;

/// Most program headers that are looked at. LLD writes 8 or 9.
pub const MAX_PROGRAM_HEADERS: usize = 128;

/// Largest kernarg segment of one kernel, in bytes (64 KiB). HIP allows 4 KiB of explicit arguments; the hidden
/// ones add 256 bytes.
pub const MAX_KERNARG_SIZE: u32 = 64 << 10;

/// Largest alignment of a kernarg segment, in bytes.
pub const MAX_KERNARG_ALIGN: u32 = 4096;

/// Most work-items that a workgroup can have on any AMD GPU.
pub const MAX_WORKGROUP_SIZE: u32 = 1024;

/// Deepest nesting of arrays and maps in the metadata. What LLVM writes is 5 deep.
pub const MAX_METADATA_DEPTH: usize = 16;

/// The names of all symbols together may be at most this many times as long as the file. String tables can be
/// shared by symbols, so that without a cap the names could grow with the square of the file.
pub const MAX_NAMES_RATIO: usize = 4;

/// Largest bundle that a compressed one may decompress to, in bytes (1 GiB).
pub const MAX_DECOMPRESSED: u64 = 1 << 30;

/// A compressed bundle may decompress to at most this many times its size, though always to
/// [`MIN_DECOMPRESSED_CAP`]. Bundles of real libraries shrink 5 to 30 times.
pub const MAX_DECOMPRESSION_RATIO: u64 = 128;

/// What even the smallest compressed bundle may decompress to, in bytes (16 MiB): bundles are padded with zeros,
/// so that small ones compress well.
pub const MIN_DECOMPRESSED_CAP: u64 = 16 << 20;
