//! `printf` to a buffer that is read when the kernel has ended: OpenCL's, and HIP's with `-mprintf-kind=buffered`.
//!
//! The buffer begins with two dwords: the number of bytes in use, and the buffer's size. A lane reserves bytes with an
//! atomic operation (`__printf_alloc` of ROCm's device library) and writes a record, which begins with a dword:
//! - OpenCL: the format's number. The arguments follow, each of the size that the code object's metadata gives
//!   (LLVM, AMDGPUPrintfRuntimeBinding.cpp).
//! - HIP: bit 0 selects stderr, bit 1 says that the metadata has the format, the other bits are the record's size. The
//!   format's hash or its text follows, then the arguments in words of 8 bytes, strings inline (LLVM,
//!   AMDGPUEmitPrintf.cpp).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::format;
use crate::memory::SharedMemory;
use crate::printer::{Printer, PrintfStream};

/// The size of the two dwords at the start, in bytes.
const HEADER: usize = 8;
/// The largest text of a kernel in bytes. Otherwise a faulty format could print without limit.
const MAX_TEXT: usize = 64 << 20;
/// The largest number of elements of an OpenCL vector.
const MAX_LANES: usize = 16;

/// A buffer in which a kernel leaves what it prints.
pub struct PrintfBuffer<M> {
    memory: Arc<M>,
    base: u64,
}

/// The formats of a code object, which its metadata lists.
#[derive(Debug)]
pub struct PrintfFormats(Formats);

#[derive(Debug)]
enum Formats {
    /// OpenCL's formats, by number.
    OpenCl(HashMap<u32, OpenCl>),
    /// HIP's formats, by hash.
    Hip(HashMap<u64, Vec<u8>>),
}

#[derive(Debug)]
struct OpenCl {
    /// The size of each argument in bytes.
    sizes: Vec<usize>,
    text: Vec<u8>,
}

impl<M: SharedMemory> PrintfBuffer<M> {
    /// The size of the buffer in bytes: ROCclr's. Text that doesn't fit is not printed; `printf` then returns an error to the kernel.
    pub const SIZE: u64 = 4 << 20;

    /// Creates an empty buffer at `base` in `memory`, which has to contain all [`SIZE`](Self::SIZE) bytes.
    pub fn new(memory: Arc<M>, base: u64) -> PrintfBuffer<M> {
        let buffer = PrintfBuffer { memory, base };
        buffer.empty();
        buffer
    }

    /// The address that kernels are given.
    pub fn address(&self) -> u64 {
        self.base
    }

    /// Prints what a kernel has written, and empties the buffer for the next. Must be called when the kernel has ended.
    pub fn print(&self, formats: &PrintfFormats, printer: &Printer) {
        let mut taken = [0; 4];
        self.memory.read(self.base, &mut taken);
        let mut bytes = vec![0; (u32::from_le_bytes(taken) as usize).min(Self::SIZE as usize - HEADER)];
        self.memory.read(self.base + HEADER as u64, &mut bytes);
        self.empty();
        let mut rest = &bytes[..];
        let mut printed = 0usize;
        while let Some((stream, text, size)) = formats.0.record(rest) {
            printed += text.len();
            if printed > MAX_TEXT {
                break;
            }
            printer.print(stream, &text);
            rest = rest.get(size..).unwrap_or_default();
        }
    }

    fn empty(&self) {
        self.memory.write(self.base, &(Self::SIZE << 32).to_le_bytes());
    }
}

impl PrintfFormats {
    /// Reads the formats of a code object's metadata (`amdhsa.printf`).
    pub fn read<'a>(list: impl Iterator<Item = &'a [u8]>) -> PrintfFormats {
        PrintfFormats(Formats::read(list))
    }
}

impl<M> fmt::Debug for PrintfBuffer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrintfBuffer").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Formats {
    fn read<'a>(list: impl Iterator<Item = &'a [u8]>) -> Formats {
        let (mut opencl, mut hip) = (HashMap::new(), HashMap::new());
        for line in list {
            if let Some(line) = line.strip_prefix(b"0:0:") {
                let mut parts = line.splitn(2, |b| *b == b',');
                let hash = parts.next().and_then(|hash| std::str::from_utf8(hash).ok());
                let hash = hash.and_then(|hash| u64::from_str_radix(hash, 16).ok());
                if let (Some(hash), Some(text)) = (hash, parts.next()) {
                    hip.insert(hash, text.to_vec());
                }
            } else if let Some((id, format)) = OpenCl::read(line) {
                opencl.insert(id, format);
            }
        }
        if opencl.is_empty() { Formats::Hip(hip) } else { Formats::OpenCl(opencl) }
    }

    /// Reads the first record: its stream, text and size in bytes. `None` if there are no more records, or the record
    /// is invalid.
    fn record(&self, bytes: &[u8]) -> Option<(PrintfStream, Vec<u8>, usize)> {
        let (control, rest) = bytes.split_first_chunk()?;
        let control = u32::from_le_bytes(*control);
        match self {
            Formats::OpenCl(list) => {
                let format = list.get(&control)?;
                let size = format.sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size))?;
                let message = format.message(rest.get(..size)?);
                Some((PrintfStream::Stdout, format::printf(&message), 4 + size))
            }
            Formats::Hip(list) => {
                let size = (control >> 2) as usize;
                let mut frame = rest.get(..size.checked_sub(4)?)?;
                let mut message = Vec::new();
                if control & 2 != 0 {
                    let (hash, arguments) = frame.split_first_chunk()?;
                    let hash = u64::from_le_bytes(*hash);
                    message.extend(words(list.get(&hash)?));
                    frame = arguments;
                }
                message.extend(frame.chunks(8).map(word));
                let stream = if control & 1 != 0 { PrintfStream::Stderr } else { PrintfStream::Stdout };
                Some((stream, format::printf(&message), size))
            }
        }
    }
}

impl OpenCl {
    /// Reads `ID:COUNT:SIZE:...:FORMAT`. Also returns `ID`.
    fn read(line: &[u8]) -> Option<(u32, OpenCl)> {
        let mut rest = line;
        let mut number = || -> Option<u32> {
            let colon = rest.iter().position(|b| *b == b':')?;
            let value = std::str::from_utf8(&rest[..colon]).ok()?.parse().ok()?;
            rest = &rest[colon + 1..];
            Some(value)
        };
        let (id, count) = (number()?, number()?);
        let sizes = (0..count).map(|_| number().map(|size| size as usize)).collect::<Option<_>>()?;
        Some((id, OpenCl { sizes, text: unescape(rest) }))
    }

    /// Returns the words of a message as hostcalls have them, with the elements of vectors as separate arguments.
    fn message(&self, arguments: &[u8]) -> Vec<u64> {
        let mut text = Vec::with_capacity(self.text.len());
        let mut values = Vec::new();
        let mut arguments = arguments;
        let mut sizes = self.sizes.iter();
        let mut argument = || {
            let (argument, rest) = arguments.split_at_checked(*sizes.next()?)?;
            arguments = rest;
            Some(argument)
        };
        let mut rest = &self.text[..];
        while let Some(at) = rest.iter().position(|b| *b == b'%') {
            text.extend_from_slice(&rest[..at]);
            rest = &rest[at + 1..];
            let spec = rest.iter().take_while(|b| b"-+ #.*0123456789".contains(b)).count();
            let (spec, after) = rest.split_at(spec);
            let (lanes, after) = lanes(after);
            let letters = after.iter().take_while(|b| b"hl".contains(b)).count();
            let (letters, after) = after.split_at(letters);
            let Some((conversion, after)) = after.split_first() else { break };
            rest = after;
            // `hl` is the length of 32-bit elements of a vector.
            let letters = if letters == b"hl" { b"" } else { letters };
            for _ in spec.iter().filter(|b| **b == b'*') {
                values.push(argument().map_or(0, word));
            }
            let bytes = if *conversion == b'%' { &[] } else { argument().unwrap_or_default() };
            let size = element(bytes.len(), lanes);
            for lane in 0..lanes {
                if lane > 0 {
                    text.push(b',');
                }
                text.push(b'%');
                text.extend_from_slice(spec);
                text.extend_from_slice(letters);
                text.push(*conversion);
                let value = bytes.get(lane * size..(lane + 1) * size).unwrap_or_default();
                match conversion {
                    b'%' => {}
                    b's' => values.extend(words(value.split(|b| *b == 0).next().unwrap_or_default())),
                    b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => values.push(float(value)),
                    _ => values.push(word(value)),
                }
            }
        }
        text.extend_from_slice(rest);
        words(&text).into_iter().chain(values).collect()
    }
}

/// Returns the number of elements of the vector specifier at the start, 1 without one, and the text after it.
fn lanes(text: &[u8]) -> (usize, &[u8]) {
    let Some(digits) = text.strip_prefix(b"v") else { return (1, text) };
    let count = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let lanes = std::str::from_utf8(&digits[..count]).ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    (lanes.clamp(1, MAX_LANES), &digits[count..])
}

/// Returns the size of an element, in bytes, of a vector of `size` bytes. A vector of three elements has the size of
/// four.
fn element(size: usize, lanes: usize) -> usize {
    if size.is_power_of_two() { size / lanes.next_power_of_two() } else { size / lanes }
}

/// Converts a float of 2, 4 or 8 bytes to the bits of an `f64`.
fn float(bytes: &[u8]) -> u64 {
    let value = word(bytes);
    match bytes.len() {
        2 => half::f16::from_bits(value as u16).to_f64().to_bits(),
        4 => f64::from(f32::from_bits(value as u32)).to_bits(),
        _ => value,
    }
}

/// Returns the value of up to 8 bytes, little-endian.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Returns the words of a string with a 0 after it, padded to whole words.
pub(crate) fn words(text: &[u8]) -> Vec<u64> {
    let mut text = text.to_vec();
    text.push(0);
    text.chunks(8).map(word).collect()
}

/// Replaces the escape sequences that the compiler writes for characters that a line of the metadata can't have.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let escapes: [(&[u8], u8); 8] = [
            (b"\\a", 7),
            (b"\\b", 8),
            (b"\\f", 12),
            (b"\\n", b'\n'),
            (b"\\r", b'\r'),
            (b"\\t", b'\t'),
            (b"\\v", 11),
            (b"\\72", b':'),
        ];
        match escapes.iter().find_map(|(escape, byte)| Some((*byte, rest.strip_prefix(*escape)?))) {
            Some((byte, after)) => {
                out.push(byte);
                rest = after;
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &[&str], records: &[u8]) -> Vec<(PrintfStream, String)> {
        let formats = Formats::read(lines.iter().map(|line| line.as_bytes()));
        let (mut rest, mut out) = (records, Vec::new());
        while let Some((stream, text, size)) = formats.record(rest) {
            out.push((stream, String::from_utf8(text).unwrap()));
            rest = &rest[size..];
        }
        out
    }

    #[test]
    fn opencl_arguments_have_the_sizes_of_the_metadata() {
        let mut record = 2u32.to_le_bytes().to_vec();
        record.extend((-5i32).to_le_bytes());
        record.extend(b"word\0\0\0\0");
        record.extend(1.5f32.to_le_bytes());
        record.extend(0.25f64.to_le_bytes());
        record.extend([1i32, -2, 3, 0].iter().flat_map(|n| n.to_le_bytes()));
        record.extend([7, 0xff, 0xff, 0xff]);
        record.extend(1u32.to_le_bytes());
        let lines = ["1:0:100%%\\n", "2:6:4:8:4:8:16:4:%d\\72 %s|%6.2f|%g|%v3d|%v2hhd \\72\\n"];
        let got = text(&lines, &record);
        let out = |text: &str| (PrintfStream::Stdout, text.to_owned());
        // The elements of the last vector have two bytes each; `hh` prints one of them.
        assert_eq!(got, [out("-5: word|  1.50|0.25|1,-2,3|7,-1 :\n"), out("100%\n")]);
    }

    #[test]
    fn hip_records_hold_a_hash_or_the_format() {
        let record = |control: u32, head: &[u8], words: &[u64]| {
            let size = 4 + head.len() + 8 * words.len();
            let mut record = (control | (size as u32) << 2).to_le_bytes().to_vec();
            record.extend(head);
            record.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            record
        };
        let mut records = record(2, &0xabcu64.to_le_bytes(), &[7, u64::from_le_bytes(*b"string\0\0")]);
        records.extend(record(1, b"bad %ld\0", &[u64::MAX]));
        let got = text(&["0:0:abc,%d is a %s\n"], &records);
        assert_eq!(
            got,
            [
                (PrintfStream::Stdout, "7 is a string\n".to_owned()),
                (PrintfStream::Stderr, "bad -1".to_owned())
            ]
        );
    }

    #[test]
    fn an_invalid_record_ends_the_text() {
        for lines in
            [&["1:1:4:%d"][..], &["0:0:5,%d"], &["x", "1:", "1:9999999999:4:%d", "0:0:zz,%d", "::::"], &[]]
        {
            for word in [0u32, 1, 2, 3, 8, 50, u32::MAX] {
                for len in [0, 3, 4, 12, 40] {
                    let mut record = word.to_le_bytes().to_vec();
                    record.resize(len, 0xff);
                    text(lines, &record);
                }
            }
        }
    }
}
