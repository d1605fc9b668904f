//! The file format of a cache entry: the result of a compile, with a digest that detects damage.
//!
//! Little-endian: magic, key (32 bytes), lengths of the log, of the lowered names and of the code object in bytes (8 bytes
//! each), the log, the lowered names, the code object, and the SHA-256 of all of these. A lowered name is two texts, each
//! with a zero byte at its end: the name expression and the name.

use crate::digest::{Digest, digest};

/// The last byte is the version of the format.
const MAGIC: [u8; 8] = *b"HLCACHE\x02";
const HEADER: usize = MAGIC.len() + 32 + 3 * 8;
const DIGEST: usize = 32;

/// The result of a compile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The compiler's messages.
    pub(crate) log: String,
    /// Each name expression with the symbol that the compiler gave it.
    pub(crate) lowered: Vec<(String, String)>,
    /// The code object, or LLVM bitcode.
    pub(crate) code: Vec<u8>,
}

/// Returns the bytes of an entry's file.
pub(crate) fn encode(key: &Digest, entry: &Entry) -> Vec<u8> {
    let lowered: String =
        entry.lowered.iter().map(|(expression, name)| format!("{expression}\0{name}\0")).collect();
    let parts = [entry.log.as_bytes(), lowered.as_bytes(), &entry.code];
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut bytes = Vec::with_capacity(HEADER + length + DIGEST);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&key.0);
    parts.iter().for_each(|part| bytes.extend_from_slice(&(part.len() as u64).to_le_bytes()));
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    let sum = digest(&bytes);
    bytes.extend_from_slice(&sum.0);
    bytes
}

/// Reads an entry from the bytes of a file. The error says what is wrong with them.
pub(crate) fn decode(key: &Digest, bytes: &[u8]) -> Result<Entry, &'static str> {
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
    let mut rest = data;
    let mut parts = lengths.chunks(8).map(|bytes| {
        let (part, after) = rest.split_at_checked(usize::try_from(length(bytes)).ok()?)?;
        rest = after;
        Some(part)
    });
    let mut part = || parts.next().flatten().ok_or("its lengths are wrong");
    let (log, lowered, code) = (part()?, part()?, part()?);
    if !rest.is_empty() {
        return Err("its lengths are wrong");
    }
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| "its texts are not UTF-8");
    let names = text(lowered)?;
    let mut names = names.split_terminator('\0').map(str::to_owned);
    let lowered = std::iter::from_fn(|| Some((names.next()?, names.next()?))).collect();
    Ok(Entry { log: text(log)?, lowered, code: code.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let key = digest(b"key");
        for (log, code) in [("", &b""[..]), ("a warning\n", b"\x7fELF..."), ("", &[0; 5000])] {
            let lowered =
                vec![("k<int>".to_owned(), "_Z1kIiEvv".to_owned()), ("&v".to_owned(), "v".to_owned())];
            let entry = Entry { log: log.to_owned(), lowered, code: code.to_vec() };
            assert_eq!(decode(&key, &encode(&key, &entry)), Ok(entry));
        }
    }

    #[test]
    fn changed_missing_and_added_bytes_are_detected() {
        let key = digest(b"key");
        let good = encode(
            &key,
            &Entry { log: "log".into(), lowered: vec![("k".into(), "l".into())], code: vec![1, 2] },
        );
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
        for (log_len, code_len) in [(u64::MAX, 0), (0, u64::MAX), (3, 1), (5, 5), (3, 0)] {
            let mut bytes = MAGIC.to_vec();
            bytes.extend_from_slice(&key.0);
            for length in [log_len, 0, code_len] {
                bytes.extend_from_slice(&length.to_le_bytes());
            }
            bytes.extend_from_slice(b"logc");
            let ok = log_len == 3 && code_len == 1;
            bytes.extend_from_slice(&digest(&bytes).0);
            assert_eq!(decode(&key, &bytes).is_ok(), ok, "{log_len} {code_len}");
        }
    }
}
