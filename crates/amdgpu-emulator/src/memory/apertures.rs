//! Guest addresses that stand for LDS or private memory. Nothing is mapped at them.

/// The high dword of addresses in the LDS aperture, as in Linux's amdkfd for gfx9 (`MAKE_LDS_APP_BASE_V9`).
pub const SHARED_BASE_HI: u32 = 0x0001_0000;
/// The high dword of addresses in the aperture of private memory (`MAKE_SCRATCH_APP_BASE_V9`).
pub const PRIVATE_BASE_HI: u32 = 0x0002_0000;

/// The guest address at which kernels find private memory. Nothing is mapped there: buffer and `s_scratch` instructions
/// recognise the address.
pub(crate) const SCRATCH_BASE: u64 = 0x0e00_0000_0000;
/// The number of bytes from there on at which there is no other memory: the largest private memory of a wave, and a
/// margin for wrong offsets.
pub(crate) const SCRATCH_SPAN: u64 = 1 << 32;
