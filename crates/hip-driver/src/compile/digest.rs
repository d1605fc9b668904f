//! SHA-256 (FIPS 180-4): names the entries of the cache on disk, and tells whether they are whole.

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
    Digest(hmac_sha256::Hash::hash(bytes))
}

/// Takes in fields one after the other.
#[derive(Clone, Default)]
pub(super) struct Fields(hmac_sha256::Hash);

impl Fields {
    /// Takes in bytes with their number before them, so that fields that follow each other can't run together.
    pub(super) fn field(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// What they come to.
    pub(super) fn finish(self) -> Digest {
        Digest(self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first example of FIPS 180-2's appendix B.
    #[test]
    fn the_standards_example_comes_out() {
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(b"abc").hex(), hex);
    }

    #[test]
    fn fields_do_not_run_together() {
        let of = |fields: &[&[u8]]| {
            let mut all = Fields::default();
            fields.iter().for_each(|field| all.field(field));
            all.finish()
        };
        assert_ne!(of(&[b"ab", b"c"]), of(&[b"a", b"bc"]));
        assert_ne!(of(&[b"", b"x"]), of(&[b"x", b""]));
    }
}
