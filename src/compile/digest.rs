//! SHA-256 (FIPS 180-4): names the entries of the cache on disk, and tells whether they are whole.

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
#[rustfmt::skip]
const K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// Bytes that are taken in at once.
const BLOCK: usize = 64;

/// 256 bits that stand for what went in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Digest(pub(super) [u8; 32]);

impl Digest {
    /// Lower-case hexadecimal digits.
    pub(super) fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Of all bytes at once.
pub(super) fn digest(bytes: &[u8]) -> Digest {
    let mut sha = Sha256::new();
    sha.update(bytes);
    sha.finish()
}

/// Takes bytes in piece by piece.
#[derive(Clone, Debug)]
pub(super) struct Sha256 {
    state: [u32; 8],
    /// What waits for the rest of its block.
    waiting: Vec<u8>,
    bytes: u64,
}

impl Sha256 {
    pub(super) fn new() -> Sha256 {
        // The first 32 bits of the fractional parts of the square roots of the first 8 primes.
        let state =
            [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
        Sha256 { state, waiting: Vec::with_capacity(BLOCK), bytes: 0 }
    }

    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        self.bytes = self.bytes.wrapping_add(bytes.len() as u64);
        if !self.waiting.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - self.waiting.len()));
            self.waiting.extend_from_slice(now);
            bytes = later;
            if self.waiting.len() < BLOCK {
                return;
            }
            let full = std::mem::take(&mut self.waiting);
            self.blocks(&full);
        }
        let whole = bytes.len() / BLOCK * BLOCK;
        let (now, later) = bytes.split_at(whole);
        self.blocks(now);
        self.waiting.extend_from_slice(later);
    }

    /// A field of its own: its length goes first, so that two fields never read like one.
    pub(super) fn field(&mut self, bytes: &[u8]) {
        self.update(&(bytes.len() as u64).to_le_bytes());
        self.update(bytes);
    }

    pub(super) fn finish(mut self) -> Digest {
        let bits = self.bytes.wrapping_mul(8);
        let mut end = vec![0x80];
        // A one, zeroes, and the length in bits as the last 8 bytes of a block.
        let used = (self.waiting.len() + 1 + 8) % BLOCK;
        end.resize(1 + (BLOCK - used) % BLOCK, 0);
        end.extend_from_slice(&bits.to_be_bytes());
        self.update(&end);
        let mut out = [0; 32];
        for (to, word) in out.chunks_exact_mut(4).zip(self.state) {
            to.copy_from_slice(&word.to_be_bytes());
        }
        Digest(out)
    }

    fn blocks(&mut self, bytes: &[u8]) {
        for block in bytes.chunks_exact(BLOCK) {
            let mut w = [0u32; 64];
            for (word, four) in w.iter_mut().zip(block.chunks_exact(4)) {
                *word = four.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
            }
            for t in 16..64 {
                let s0 = w[t - 15].rotate_right(7) ^ w[t - 15].rotate_right(18) ^ (w[t - 15] >> 3);
                let s1 = w[t - 2].rotate_right(17) ^ w[t - 2].rotate_right(19) ^ (w[t - 2] >> 10);
                w[t] = w[t - 16].wrapping_add(s0).wrapping_add(w[t - 7]).wrapping_add(s1);
            }
            let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = self.state;
            for (k, w) in K.iter().zip(w) {
                let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
                let choose = (e & f) ^ (!e & g);
                let t1 = h.wrapping_add(s1).wrapping_add(choose).wrapping_add(*k).wrapping_add(w);
                let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
                let t2 = s0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
                (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
            }
            for (state, word) in self.state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
                *state = state.wrapping_add(word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of FIPS 180-2's appendix B, and the empty message of NIST's test vectors.
    #[test]
    fn the_standards_examples_come_out() {
        let long = vec![b'a'; 1_000_000];
        let two = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        for (message, hex) in [
            (&b""[..], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (two, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
            (&long, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        ] {
            assert_eq!(digest(message).hex(), hex);
        }
    }

    #[test]
    fn pieces_of_any_size_give_the_same() {
        let bytes: Vec<u8> = (0..300u32).map(|i| (i * 7) as u8).collect();
        for size in 1..=bytes.len() {
            let mut sha = Sha256::new();
            bytes.chunks(size).for_each(|piece| sha.update(piece));
            assert_eq!(sha.finish(), digest(&bytes), "pieces of {size}");
        }
    }

    #[test]
    fn fields_do_not_run_together() {
        let of = |fields: &[&[u8]]| {
            let mut sha = Sha256::new();
            fields.iter().for_each(|field| sha.field(field));
            sha.finish()
        };
        assert_ne!(of(&[b"ab", b"c"]), of(&[b"a", b"bc"]));
        assert_ne!(of(&[b"", b"x"]), of(&[b"x", b""]));
    }
}
