//! LDS: the memory that the waves of one workgroup share, run by one host thread, so plain memory.

/// Most LDS that a workgroup can have, in bytes.
pub const MAX_LDS: u32 = 64 << 10;

/// LDS of one workgroup. Accesses give `None` outside of what it has; multi-byte values are little-endian.
pub(crate) struct Lds {
    bytes: Box<[u8]>,
    size: u32,
}

impl Lds {
    pub(crate) fn new() -> Lds {
        Lds { bytes: vec![0; MAX_LDS as usize].into_boxed_slice(), size: 0 }
    }

    /// Makes it `size` bytes (at most [`MAX_LDS`]), zeroed. Hardware leaves them as they are; zeros make results
    /// independent of what ran before.
    pub(crate) fn reset(&mut self, size: u32) {
        self.size = size.min(MAX_LDS);
        self.bytes[..self.size as usize].fill(0);
    }

    /// In bytes.
    #[inline(always)]
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// All of it.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.size as usize]
    }

    /// All of it.
    #[inline(always)]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.size as usize]
    }

    #[inline(always)]
    pub(crate) fn load<const N: usize>(&self, address: u32) -> Option<[u8; N]> {
        let at = address as usize;
        self.bytes().get(at..at.checked_add(N)?)?.try_into().ok()
    }

    #[inline(always)]
    pub(crate) fn store<const N: usize>(&mut self, address: u32, value: [u8; N]) -> Option<()> {
        let at = address as usize;
        self.bytes_mut().get_mut(at..at.checked_add(N)?)?.copy_from_slice(&value);
        Some(())
    }

    #[inline(always)]
    pub(crate) fn load_u32(&self, address: u32) -> Option<u32> {
        self.load(address).map(u32::from_le_bytes)
    }

    #[inline(always)]
    pub(crate) fn store_u32(&mut self, address: u32, value: u32) -> Option<()> {
        self.store(address, value.to_le_bytes())
    }
}
