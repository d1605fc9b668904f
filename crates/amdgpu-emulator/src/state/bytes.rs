//! The value of one lane, as bytes.

/// `u8`, `u16` or dwords.
pub(crate) trait Bytes: Copy {
    /// The size in bytes, at most 16.
    const SIZE: usize;

    /// Returns the value of the first `SIZE` bytes.
    fn from_bytes(bytes: [u8; 16]) -> Self;
    /// Returns the value in the first `SIZE` bytes.
    fn to_bytes(self) -> [u8; 16];
}

impl Bytes for u8 {
    const SIZE: usize = 1;
    #[inline(always)]
    fn from_bytes(bytes: [u8; 16]) -> Self {
        bytes[0]
    }
    #[inline(always)]
    fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[0] = self;
        bytes
    }
}

impl Bytes for u16 {
    const SIZE: usize = 2;
    #[inline(always)]
    fn from_bytes(bytes: [u8; 16]) -> Self {
        u16::from_le_bytes([bytes[0], bytes[1]])
    }
    #[inline(always)]
    fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&self.to_le_bytes());
        bytes
    }
}

impl<const N: usize> Bytes for [u32; N] {
    const SIZE: usize = 4 * N;
    #[inline(always)]
    fn from_bytes(bytes: [u8; 16]) -> Self {
        let (words, _) = bytes.as_chunks::<4>();
        let mut out = [0; N];
        for (o, word) in out.iter_mut().zip(words) {
            *o = u32::from_le_bytes(*word);
        }
        out
    }
    #[inline(always)]
    fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (words, _) = bytes.as_chunks_mut::<4>();
        for (word, value) in words.iter_mut().zip(self) {
            *word = value.to_le_bytes();
        }
        bytes
    }
}
