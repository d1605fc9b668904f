//! A MessagePack reader that neither recurses nor allocates. It walks the note and borrows from it.

use crate::error::{Error, Result};
use crate::limits::MAX_METADATA_DEPTH;

/// A position in a MessagePack document.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

/// One item: a scalar, or the start of a container whose items follow.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Item<'a> {
    Bool(bool),
    Unsigned(u64),
    Text(&'a [u8]),
    Array(u32),
    Map(u32),
    /// An item of a type that the metadata does not use.
    Other,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Reader<'a> {
        Reader { data, at: 0 }
    }

    /// Creates an error at the current position.
    pub(crate) fn error(&self, reason: impl Into<String>) -> Error {
        Error::BadMetadata { offset: self.at, reason: reason.into() }
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.data.len());
        let Some(end) = end else { return Err(self.error("the note ends in the middle of a value")) };
        let bytes = &self.data[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    /// Reads a big-endian unsigned integer of `width` bytes.
    fn uint(&mut self, width: usize) -> Result<u64> {
        Ok(self.bytes(width)?.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    /// Reads a length field of `width` bytes (at most 4).
    fn length(&mut self, width: usize) -> Result<u32> {
        Ok(self.uint(width)? as u32)
    }

    /// Reads a two's complement integer of `width` bytes; a negative one is `Item::Other`.
    fn int(&mut self, width: usize) -> Result<Item<'a>> {
        let value = self.uint(width)?;
        let negative = value >> (width * 8 - 1) & 1 == 1;
        Ok(if negative { Item::Other } else { Item::Unsigned(value) })
    }

    /// Skips the `count` bytes after a type byte.
    fn opaque(&mut self, count: usize) -> Result<Item<'a>> {
        self.bytes(count)?;
        Ok(Item::Other)
    }

    fn item(&mut self) -> Result<Item<'a>> {
        // The MessagePack specification, "Formats".
        let byte = self.bytes(1)?[0];
        Ok(match byte {
            0x00..=0x7f => Item::Unsigned(byte.into()),
            0x80..=0x8f => Item::Map((byte & 0xf).into()),
            0x90..=0x9f => Item::Array((byte & 0xf).into()),
            0xa0..=0xbf => Item::Text(self.bytes((byte & 0x1f).into())?),
            0xc1 => return Err(self.error("reserved MessagePack type")),
            0xc2 => Item::Bool(false),
            0xc3 => Item::Bool(true),
            // bin 8, 16, 32
            0xc4..=0xc6 => self.sized(1 << (byte - 0xc4), 0)?,
            // ext 8, 16, 32: a type byte more
            0xc7..=0xc9 => self.sized(1 << (byte - 0xc7), 1)?,
            // float 32, 64
            0xca => self.opaque(4)?,
            0xcb => self.opaque(8)?,
            // uint, int 8, 16, 32, 64
            0xcc..=0xcf => Item::Unsigned(self.uint(1 << (byte - 0xcc))?),
            0xd0..=0xd3 => self.int(1 << (byte - 0xd0))?,
            // fixext 1, 2, 4, 8, 16
            0xd4..=0xd8 => self.opaque((1 << (byte - 0xd4)) + 1)?,
            // str 8, 16, 32
            0xd9..=0xdb => {
                let len = self.length(1 << (byte - 0xd9))?;
                Item::Text(self.bytes(len as usize)?)
            }
            0xdc => Item::Array(self.length(2)?),
            0xdd => Item::Array(self.length(4)?),
            0xde => Item::Map(self.length(2)?),
            0xdf => Item::Map(self.length(4)?),
            // nil, negative fixint
            0xc0 | 0xe0..=0xff => Item::Other,
        })
    }

    /// Skips a length field of `width` bytes, `more` bytes, and the number of bytes in the length field.
    fn sized(&mut self, width: usize, more: usize) -> Result<Item<'a>> {
        let len = self.length(width)?;
        self.opaque(more)?;
        self.opaque(len as usize)
    }

    /// Reads the start of a map and returns the number of its entries.
    pub(crate) fn map(&mut self, what: &str) -> Result<u32> {
        match self.item()? {
            Item::Map(len) => Ok(len),
            _ => Err(self.error(format!("{what} is not a map"))),
        }
    }

    /// Reads the start of an array and returns the number of its items.
    pub(crate) fn array(&mut self, what: &str) -> Result<u32> {
        match self.item()? {
            Item::Array(len) => Ok(len),
            _ => Err(self.error(format!("{what} is not an array"))),
        }
    }

    /// Reads a string.
    pub(crate) fn string(&mut self, what: &str) -> Result<&'a str> {
        match self.item()? {
            Item::Text(text) => {
                std::str::from_utf8(text).map_err(|_| self.error(format!("{what} is not valid UTF-8")))
            }
            _ => Err(self.error(format!("{what} is not a string"))),
        }
    }

    /// Reads the bytes of a string that need not be UTF-8.
    pub(crate) fn text(&mut self, what: &str) -> Result<&'a [u8]> {
        match self.item()? {
            Item::Text(text) => Ok(text),
            _ => Err(self.error(format!("{what} is not a string"))),
        }
    }

    /// Reads an unsigned integer that fits into 32 bits.
    pub(crate) fn u32(&mut self, what: &str) -> Result<u32> {
        match self.item()? {
            Item::Unsigned(value) => {
                u32::try_from(value).map_err(|_| self.error(format!("{what} is {value}, more than 32 bits")))
            }
            _ => Err(self.error(format!("{what} is not an unsigned integer"))),
        }
    }

    /// Reads a boolean, which may be written as an integer: `.uniform_work_group_size` is.
    pub(crate) fn boolean(&mut self, what: &str) -> Result<bool> {
        match self.item()? {
            Item::Bool(value) => Ok(value),
            Item::Unsigned(value) => Ok(value != 0),
            _ => Err(self.error(format!("{what} is not a boolean"))),
        }
    }

    /// Skips one value of any size.
    pub(crate) fn skip(&mut self) -> Result<()> {
        // The remaining items of each open container. Without recursion, depth costs no stack.
        let mut open = [0u64; MAX_METADATA_DEPTH];
        let mut depth = 0;
        loop {
            let inside = match self.item()? {
                Item::Array(len) => u64::from(len),
                Item::Map(len) => 2 * u64::from(len),
                _ => 0,
            };
            if inside > 0 {
                if depth == MAX_METADATA_DEPTH {
                    return Err(self.error(format!("nested deeper than {MAX_METADATA_DEPTH} levels")));
                }
                open[depth] = inside;
                depth += 1;
                continue;
            }
            loop {
                if depth == 0 {
                    return Ok(());
                }
                open[depth - 1] -= 1;
                if open[depth - 1] > 0 {
                    break;
                }
                depth -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(error: Error) -> (usize, String) {
        match error {
            Error::BadMetadata { offset, reason } => (offset, reason),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn every_width_of_integer() {
        let cases: [(&[u8], u32); 9] = [
            (&[0x7f], 127),
            (&[0xcc, 255], 255),
            (&[0xcd, 1, 2], 0x102),
            (&[0xce, 1, 2, 3, 4], 0x0102_0304),
            (&[0xcf, 0, 0, 0, 0, 255, 255, 255, 255], u32::MAX),
            (&[0xd0, 127], 127),
            (&[0xd1, 1, 2], 0x102),
            (&[0xd2, 1, 2, 3, 4], 0x0102_0304),
            (&[0xd3, 0, 0, 0, 0, 1, 2, 3, 4], 0x0102_0304),
        ];
        for (bytes, value) in cases {
            assert_eq!(Reader::new(bytes).u32("it"), Ok(value));
        }
        for negative in
            [[0xe0, 0].as_slice(), &[0xd0, 128], &[0xd1, 255, 255], &[0xd3, 255, 0, 0, 0, 0, 0, 0, 0]]
        {
            let error = Reader::new(negative).u32("it").unwrap_err();
            assert_eq!(reason(error).1, "it is not an unsigned integer");
        }
        let error = Reader::new(&[0xcf, 0, 0, 0, 1, 0, 0, 0, 0]).u32("it").unwrap_err();
        assert_eq!(reason(error), (9, "it is 4294967296, more than 32 bits".into()));
    }

    #[test]
    fn strings_and_containers() {
        for bytes in [b"\xa2hi".as_slice(), b"\xd9\x02hi", b"\xda\0\x02hi", b"\xdb\0\0\0\x02hi"] {
            assert_eq!(Reader::new(bytes).string("it"), Ok("hi"));
        }
        for bytes in [[0x93].as_slice(), &[0xdc, 0, 3], &[0xdd, 0, 0, 0, 3]] {
            assert_eq!(Reader::new(bytes).array("it"), Ok(3));
        }
        for bytes in [[0x83].as_slice(), &[0xde, 0, 3], &[0xdf, 0, 0, 0, 3]] {
            assert_eq!(Reader::new(bytes).map("it"), Ok(3));
        }
        for (byte, value) in [(0xc2, false), (0xc3, true), (0, false), (1, true)] {
            assert_eq!(Reader::new(&[byte]).boolean("it"), Ok(value));
        }
        let nil = [0xc0];
        assert_eq!(reason(Reader::new(&nil).string("it").unwrap_err()).1, "it is not a string");
        assert_eq!(reason(Reader::new(&nil).array("it").unwrap_err()).1, "it is not an array");
        assert_eq!(reason(Reader::new(&nil).map("it").unwrap_err()).1, "it is not a map");
        assert_eq!(reason(Reader::new(&nil).boolean("it").unwrap_err()).1, "it is not a boolean");
        assert_eq!(reason(Reader::new(b"\xa1\xff").string("it").unwrap_err()).1, "it is not valid UTF-8");
    }

    /// One value of every type, each followed by a marker that is read next.
    #[test]
    fn stepping_over_every_type() {
        let values: [&[u8]; 25] = [
            &[0xc0],
            &[0xc2],
            &[0xc3],
            &[5],
            &[0xff],
            &[0xca, 0, 0, 0, 0],
            &[0xcb, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0xc4, 2, 9, 9],
            &[0xc5, 0, 2, 9, 9],
            &[0xc6, 0, 0, 0, 2, 9, 9],
            &[0xc7, 2, 1, 9, 9],
            &[0xc8, 0, 2, 1, 9, 9],
            &[0xc9, 0, 0, 0, 2, 1, 9, 9],
            &[0xd4, 1, 9],
            &[0xd5, 1, 9, 9],
            &[0xd6, 1, 9, 9, 9, 9],
            &[0xd7, 1, 9, 9, 9, 9, 9, 9, 9, 9],
            &[0xd8, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9],
            b"\xa2hi",
            &[0x90],
            &[0x80],
            &[0x92, 1, 0x91, 0xc0],
            &[0x82, 1, 0x91, 0x81, 2, 3, 4, 5],
            &[0x91, 0x91, 0x91, 0x80],
            &[0xd2, 0, 0, 0, 0],
        ];
        for value in values {
            let bytes = [value, &[0x2a]].concat();
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.skip().and_then(|()| reader.u32("the mark")), Ok(0x2a), "{value:?}");
            // Each truncated value is an error.
            for len in 0..value.len() {
                let (_, reason) = reason(Reader::new(&value[..len]).skip().unwrap_err());
                assert_eq!(reason, "the note ends in the middle of a value", "{value:?}");
            }
        }
        assert_eq!(reason(Reader::new(&[0xc1]).skip().unwrap_err()).1, "reserved MessagePack type");
    }

    #[test]
    fn depth_is_capped() {
        let nested = |depth: usize| [vec![0x91; depth], vec![1]].concat();
        assert_eq!(Reader::new(&nested(MAX_METADATA_DEPTH)).skip(), Ok(()));
        let deep = nested(MAX_METADATA_DEPTH + 1);
        assert_eq!(
            reason(Reader::new(&deep).skip().unwrap_err()),
            (MAX_METADATA_DEPTH + 1, "nested deeper than 16 levels".into())
        );
    }
}
