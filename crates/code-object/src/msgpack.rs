//! A MessagePack reader that never recurses and never allocates: it walks the note and borrows from it.

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
    /// Anything that the metadata has no use for.
    Other,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Reader<'a> {
        Reader { data, at: 0 }
    }

    /// An error at the current position.
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

    /// A big-endian unsigned integer of `width` bytes, as MessagePack has them.
    fn uint(&mut self, width: usize) -> Result<u64> {
        Ok(self.bytes(width)?.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    /// A length field of `width` bytes (at most 4).
    fn length(&mut self, width: usize) -> Result<u32> {
        Ok(self.uint(width)? as u32)
    }

    /// A two's complement integer of `width` bytes: a value if it is not negative.
    fn int(&mut self, width: usize) -> Result<Item<'a>> {
        let value = self.uint(width)?;
        let negative = value >> (width * 8 - 1) & 1 == 1;
        Ok(if negative { Item::Other } else { Item::Unsigned(value) })
    }

    /// Something of no use: `count` bytes after a type byte.
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

    /// Something of no use: a length of `width` bytes, `more` bytes and as many as the length says.
    fn sized(&mut self, width: usize, more: usize) -> Result<Item<'a>> {
        let len = self.length(width)?;
        self.opaque(more)?;
        self.opaque(len as usize)
    }

    /// The number of entries of the map that starts here.
    pub(crate) fn map(&mut self, what: &str) -> Result<u32> {
        match self.item()? {
            Item::Map(len) => Ok(len),
            _ => Err(self.error(format!("{what} is not a map"))),
        }
    }

    /// The number of items of the array that starts here.
    pub(crate) fn array(&mut self, what: &str) -> Result<u32> {
        match self.item()? {
            Item::Array(len) => Ok(len),
            _ => Err(self.error(format!("{what} is not an array"))),
        }
    }

    /// A string.
    pub(crate) fn string(&mut self, what: &str) -> Result<&'a str> {
        match self.item()? {
            Item::Text(text) => {
                std::str::from_utf8(text).map_err(|_| self.error(format!("{what} is not valid UTF-8")))
            }
            _ => Err(self.error(format!("{what} is not a string"))),
        }
    }

    /// An unsigned integer that fits 32 bits.
    pub(crate) fn u32(&mut self, what: &str) -> Result<u32> {
        match self.item()? {
            Item::Unsigned(value) => {
                u32::try_from(value).map_err(|_| self.error(format!("{what} is {value}, more than 32 bits")))
            }
            _ => Err(self.error(format!("{what} is not an unsigned integer"))),
        }
    }

    /// A boolean, which may be written as an integer: `.uniform_work_group_size` is.
    pub(crate) fn boolean(&mut self, what: &str) -> Result<bool> {
        match self.item()? {
            Item::Bool(value) => Ok(value),
            Item::Unsigned(value) => Ok(value != 0),
            _ => Err(self.error(format!("{what} is not a boolean"))),
        }
    }

    /// Steps over one value, however large.
    pub(crate) fn skip(&mut self) -> Result<()> {
        // How many items each open container still has; no recursion, so that depth costs no stack.
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
