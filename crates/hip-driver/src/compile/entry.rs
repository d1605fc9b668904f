//! One entry of the cache on disk: what a compile gave, with a digest that tells when it is not whole.
//!
//! Little-endian: magic, key (32 bytes), bytes of the log and of the code object (8 each), the log, the code object, the
//! SHA-256 of all that.

use super::digest::{Digest, digest};

/// With the format's version as its last byte.
const MAGIC: [u8; 8] = *b"HLCACHE\x01";
const HEADER: usize = MAGIC.len() + 32 + 8 + 8;
const DIGEST: usize = 32;

/// What a compile gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// What the compiler said.
    pub(super) log: String,
    /// The code object.
    pub(super) code: Vec<u8>,
}

/// The bytes of its file.
pub(super) fn encode(key: &Digest, entry: &Entry) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + entry.log.len() + entry.code.len() + DIGEST);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&key.0);
    bytes.extend_from_slice(&(entry.log.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(entry.code.len() as u64).to_le_bytes());
    bytes.extend_from_slice(entry.log.as_bytes());
    bytes.extend_from_slice(&entry.code);
    let sum = digest(&bytes);
    bytes.extend_from_slice(&sum.0);
    bytes
}

/// The entry in the bytes of a file; the error says what is wrong with them.
pub(super) fn decode(key: &Digest, bytes: &[u8]) -> Result<Entry, &'static str> {
    let (body, sum) = bytes.split_at_checked(bytes.len().saturating_sub(DIGEST)).ok_or("it is cut short")?;
    let (header, data) = body.split_at_checked(HEADER).ok_or("it is cut short")?;
    if !header.starts_with(&MAGIC) {
        return Err("it is no entry of this version");
    }
    if digest(body).0 != sum {
        return Err("its digest is another");
    }
    let (named, lengths) = header[MAGIC.len()..].split_at(32);
    if named != key.0 {
        return Err("it is another key's");
    }
    let length = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |length, byte| length << 8 | u64::from(*byte));
    let (log_len, code_len) = lengths.split_at(8);
    let log_len = usize::try_from(length(log_len)).map_err(|_| "its lengths are wrong")?;
    let (log, code) = data.split_at_checked(log_len).ok_or("its lengths are wrong")?;
    if code.len() as u64 != length(code_len) {
        return Err("its lengths are wrong");
    }
    let log = String::from_utf8(log.to_vec()).map_err(|_| "its log is no text")?;
    Ok(Entry { log, code: code.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let key = digest(b"key");
        for (log, code) in [("", &b""[..]), ("a warning\n", b"\x7fELF..."), ("", &[0; 5000])] {
            let entry = Entry { log: log.to_owned(), code: code.to_vec() };
            assert_eq!(decode(&key, &encode(&key, &entry)), Ok(entry));
        }
    }

    #[test]
    fn any_changed_cut_or_added_byte_is_found() {
        let key = digest(b"key");
        let good = encode(&key, &Entry { log: "log".into(), code: vec![1, 2, 3, 4] });
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert!(decode(&key, &bad).is_err(), "byte {at} changed");
            assert!(decode(&key, &good[..at]).is_err(), "cut to {at}");
        }
        assert!(decode(&key, &[&good[..], b"x"].concat()).is_err());
        assert_eq!(decode(&digest(b"other"), &good), Err("it is another key's"));
    }

    /// Lengths that do not fit under a digest that does: written by something else than this.
    #[test]
    fn lengths_that_do_not_fit_are_found() {
        let key = digest(b"key");
        for (log_len, code_len) in [(u64::MAX, 0), (0, u64::MAX), (3, 1), (5, 5)] {
            let mut bytes = MAGIC.to_vec();
            bytes.extend_from_slice(&key.0);
            bytes.extend_from_slice(&log_len.to_le_bytes());
            bytes.extend_from_slice(&code_len.to_le_bytes());
            bytes.extend_from_slice(b"logc");
            let ok = log_len == 3 && code_len == 1;
            bytes.extend_from_slice(&digest(&bytes).0);
            assert_eq!(decode(&key, &bytes).is_ok(), ok, "{log_len} {code_len}");
        }
    }
}
