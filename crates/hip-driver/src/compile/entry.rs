//! The file format of a cache entry: the result of a compile, with a digest that detects damage.
//!
//! Little-endian: magic, key (32 bytes), lengths of the log and of the code object in bytes (8 bytes each), the log,
//! the code object, and the SHA-256 of all of these.

use super::digest::{Digest, digest};

/// The last byte is the version of the format.
const MAGIC: [u8; 8] = *b"HLCACHE\x01";
const HEADER: usize = MAGIC.len() + 32 + 8 + 8;
const DIGEST: usize = 32;

/// The result of a compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The compiler's messages.
    pub(super) log: String,
    /// The code object.
    pub(super) code: Vec<u8>,
}

/// Returns the bytes of an entry's file.
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

/// Reads an entry from the bytes of a file. The error says what is wrong with them.
pub(super) fn decode(key: &Digest, bytes: &[u8]) -> Result<Entry, &'static str> {
    let (body, sum) = bytes.split_at_checked(bytes.len().saturating_sub(DIGEST)).ok_or("it is cut short")?;
    let (header, data) = body.split_at_checked(HEADER).ok_or("it is cut short")?;
    if !header.starts_with(&MAGIC) {
        return Err("it is not a cache entry of this version");
    }
    if digest(body).0 != sum {
        return Err("its digest does not match");
    }
    let (named, lengths) = header[MAGIC.len()..].split_at(32);
    if named != key.0 {
        return Err("it belongs to another key");
    }
    let length = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |length, byte| length << 8 | u64::from(*byte));
    let (log_len, code_len) = lengths.split_at(8);
    let log_len = usize::try_from(length(log_len)).map_err(|_| "its lengths are wrong")?;
    let (log, code) = data.split_at_checked(log_len).ok_or("its lengths are wrong")?;
    if code.len() as u64 != length(code_len) {
        return Err("its lengths are wrong");
    }
    let log = String::from_utf8(log.to_vec()).map_err(|_| "its log is not UTF-8")?;
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
    fn changed_missing_and_added_bytes_are_detected() {
        let key = digest(b"key");
        let good = encode(&key, &Entry { log: "log".into(), code: vec![1, 2, 3, 4] });
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert!(decode(&key, &bad).is_err(), "byte {at} changed");
            assert!(decode(&key, &good[..at]).is_err(), "cut to {at}");
        }
        assert!(decode(&key, &[&good[..], b"x"].concat()).is_err());
        assert_eq!(decode(&digest(b"other"), &good), Err("it belongs to another key"));
    }

    /// Wrong lengths with a correct digest: a file that other software wrote.
    #[test]
    fn wrong_lengths_are_detected() {
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
