//! Addresses that stand for a memory that is not mapped there.

/// High dword of the addresses of the LDS aperture, as Linux's amdkfd has it on gfx9 (`MAKE_LDS_APP_BASE_V9`).
pub(crate) const SHARED_BASE_HI: u32 = 0x0001_0000;
/// High dword of the addresses of the scratch aperture (`MAKE_SCRATCH_APP_BASE_V9`).
pub(crate) const PRIVATE_BASE_HI: u32 = 0x0002_0000;

/// Guest address that scratch seems to be at. Nothing is mapped there: buffer instructions recognise it.
pub(crate) const SCRATCH_BASE: u64 = 0x0e00_0000_0000;
/// Bytes from there on that no other memory is at: the most scratch of a wave, and what an offset may be off by.
pub(crate) const SCRATCH_SPAN: u64 = 1 << 32;
