//! SHA-256 (FIPS 180-4): names the entries of the cache on disk and detects damaged ones. What of a file is part of a key.

use std::path::Path;
use std::time::UNIX_EPOCH;

/// The SHA-256 of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Digest(pub(crate) [u8; 32]);

impl Digest {
    /// Returns it as lower-case hexadecimal digits.
    pub(crate) fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Returns the digest of `bytes`.
pub(crate) fn digest(bytes: &[u8]) -> Digest {
    Digest(hmac_sha256::Hash::hash(bytes))
}

/// Computes the digest of several fields.
#[derive(Clone, Default)]
pub(crate) struct Fields(hmac_sha256::Hash);

impl Fields {
    /// Adds a field. Its length is hashed before its bytes, so that two fields differ from one that joins them.
    pub(crate) fn field(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Returns the digest of all fields.
    pub(crate) fn finish(self) -> Digest {
        Digest(self.0.finalize())
    }
}

/// Returns a text that changes when a file does.
pub(crate) fn state(file: Option<&Path>) -> String {
    let path = file.and_then(|path| path.canonicalize().ok());
    let data = path.as_ref().and_then(|path| path.metadata().ok());
    let modified = data.as_ref().and_then(|data| data.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    format!("{path:?} {:?} {modified:?}", data.map(|data| data.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first example of FIPS 180-2's appendix B.
    #[test]
    fn the_digest_is_that_of_the_standards_example() {
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
