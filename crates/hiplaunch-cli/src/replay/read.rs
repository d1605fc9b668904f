//! Reads a trace of an allocator, ours or RMM's, into the operations that a replay runs.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder, Trim};
use hiplaunch::memory::Action;

use crate::advice;

/// Bytes of the longest line that can be one.
const LONGEST_LINE: u64 = 65536;

/// Streams and devices that a replay makes at most: the emulator has a thread for each stream.
const MOST_STREAMS: usize = 1024;
const MOST_DEVICES: usize = 64;

/// What an operation does to its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Allocate { bytes: u64 },
    Record,
    Free,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Op {
    pub(super) kind: Kind,
    /// The block: the number of its allocation in the trace.
    pub(super) block: usize,
    /// An index of [`Trace::streams`].
    pub(super) stream: usize,
}

/// A stream of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TraceStream {
    /// An index of [`Trace::devices`].
    pub(super) device: usize,
    /// Its number in the trace, or its handle.
    pub(super) number: u64,
}

/// A trace that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    pub(super) ops: Vec<Op>,
    /// Allocations.
    pub(super) blocks: usize,
    pub(super) streams: Vec<TraceStream>,
    /// Ordinals.
    pub(super) devices: Vec<u32>,
    /// Lines, the header not among them.
    pub(super) lines: u64,
    pub(super) threads: usize,
    /// Lines by action, in the order of [`Action::ALL`].
    pub(super) actions: [u64; Action::ALL.len()],
    /// Frees and uses of addresses at which nothing was live.
    pub(super) unknown: u64,
    /// Blocks that were never freed.
    pub(super) leaks: u64,
    pub(super) leaked_bytes: u64,
    /// Frees on another stream than the allocation's, each replayed as a use there and a free.
    pub(super) foreign_frees: u64,
}

/// Gives one line at a time, and knows its number: the CSV reader's own position of a record lies before the empty lines
/// that it skipped.
struct Lines<R> {
    from: BufReader<R>,
    /// The line given last, from 1 on.
    number: u64,
    /// Bytes of it, while its end was not reached.
    length: u64,
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let from = self.from.fill_buf()?;
        let end = from.iter().position(|b| *b == b'\n').map(|i| i + 1);
        let n = end.unwrap_or(from.len()).min(to.len());
        if n > 0 && self.length == 0 {
            self.number += 1;
        }
        to[..n].copy_from_slice(&from[..n]);
        self.from.consume(n);
        self.length = if end == Some(n) { 0 } else { self.length + n as u64 };
        if self.length > LONGEST_LINE {
            let problem = format!("more than {LONGEST_LINE} bytes in a line: expected CSV");
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(n)
    }
}

/// Why a trace can't be read, with file and line.
#[derive(Debug, thiserror::Error)]
#[error("{file}{place}: {problem}")]
pub(super) struct ReadError {
    file: String,
    place: String,
    problem: String,
}

/// Columns that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Thread,
    Time,
    Action,
    Pointer,
    Size,
    Stream,
    Device,
    Event,
}

const COLUMNS: [(Column, &str); 8] = [
    (Column::Thread, "Thread"),
    (Column::Time, "Time"),
    (Column::Action, "Action"),
    (Column::Pointer, "Pointer"),
    (Column::Size, "Size"),
    (Column::Stream, "Stream"),
    (Column::Device, "Device"),
    (Column::Event, "Event"),
];
const REQUIRED: [Column; 4] = [Column::Action, Column::Pointer, Column::Size, Column::Stream];

/// Where each column is.
struct Header {
    at: [Option<usize>; COLUMNS.len()],
    columns: usize,
}

fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    let cut: String = text.chars().take(40).collect();
    let dots = if cut.len() < text.len() { "..." } else { "" };
    format!("`{}{dots}`", cut.escape_debug())
}

impl Header {
    fn read(record: &ByteRecord) -> Result<Header, String> {
        let mut header = Header { at: [None; COLUMNS.len()], columns: record.len() };
        for (i, field) in record.iter().enumerate() {
            // Some editors put a byte order mark before the first.
            let field = field.strip_prefix(b"\xef\xbb\xbf").unwrap_or(field);
            let Some(known) =
                COLUMNS.iter().position(|(_, name)| field.eq_ignore_ascii_case(name.as_bytes()))
            else {
                continue;
            };
            if header.at[known].replace(i).is_some() {
                return Err(format!("column {}: {} comes twice; name it once", i + 1, shown(field)));
            }
        }
        let missing =
            |column: &&(Column, &str)| REQUIRED.contains(&column.0) && header.get(column.0).is_none();
        match COLUMNS.iter().find(missing) {
            Some((_, name)) => Err(format!(
                "no column `{name}`: expected a header with at least Action,Pointer,Size,Stream, as RMM's and hiplaunch's \
                 traces have"
            )),
            None => Ok(header),
        }
    }

    fn get(&self, column: Column) -> Option<usize> {
        self.at[column as usize]
    }

    fn field<'a>(&self, record: &'a ByteRecord, column: Column) -> Option<&'a [u8]> {
        self.get(column).and_then(|i| record.get(i))
    }

    /// A field, through `parse`; the error says which column, and what was expected.
    fn parse<T>(
        &self,
        record: &ByteRecord,
        column: Column,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, String> {
        let field = self.field(record, column).unwrap_or_default();
        std::str::from_utf8(field).ok().and_then(parse).ok_or_else(|| {
            let (at, name) = (self.get(column).map_or(0, |i| i + 1), COLUMNS[column as usize].1);
            format!("column {at} (`{name}`): {}: expected {expected}", shown(field))
        })
    }
}

/// A number, in hexadecimal after `0x`, else in decimal.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        // `from_str_radix` takes a sign.
        Some(digits) if digits.starts_with(['+', '-']) => None,
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if text.starts_with('+') => None,
        None => text.parse().ok(),
    }
}

/// An address or a handle; C's null prints as `(nil)` too.
fn address(text: &str) -> Option<u64> {
    if text == "(nil)" { Some(0) } else { number(text) }
}

/// Hours, minutes, seconds and a part of one, behind `.` or as in older versions of RMM `:`; or a number. Only looked at,
/// as the lines are in order.
fn is_time(text: &str) -> bool {
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let mut parts = text.split([':', '.']);
    text.len() <= 40 && parts.clone().count() <= 4 && parts.all(digits)
}

/// What is live while reading.
#[derive(Clone, Copy)]
struct Live {
    block: usize,
    stream: usize,
    bytes: u64,
}

#[derive(Default)]
struct Builder {
    trace: Trace,
    live: HashMap<(usize, u64), Live>,
    streams: HashMap<TraceStream, usize>,
    threads: std::collections::HashSet<Vec<u8>>,
}

impl Builder {
    fn device(&mut self, ordinal: u32) -> Result<usize, String> {
        let devices = &mut self.trace.devices;
        if let Some(known) = devices.iter().position(|d| *d == ordinal) {
            return Ok(known);
        }
        if devices.len() == MOST_DEVICES {
            return Err(format!("more than {MOST_DEVICES} devices, each of which a replay makes a pool for"));
        }
        devices.push(ordinal);
        Ok(devices.len() - 1)
    }

    fn stream(&mut self, device: usize, number: u64) -> Result<usize, String> {
        let stream = TraceStream { device, number };
        if let Some(known) = self.streams.get(&stream) {
            return Ok(*known);
        }
        let new = self.trace.streams.len();
        if new == MOST_STREAMS {
            return Err(format!("more than {MOST_STREAMS} streams, each of which a replay makes one for"));
        }
        self.trace.streams.push(stream);
        self.streams.insert(stream, new);
        Ok(new)
    }

    fn line(&mut self, header: &Header, record: &ByteRecord) -> Result<(), String> {
        if record.len() != header.columns {
            return Err(format!("{} columns: expected {}, as in the header", record.len(), header.columns));
        }
        let action = header.parse(
            record,
            Column::Action,
            "allocate, allocate failure, free, record, wait, synchronize, grow or release",
            |text| Action::ALL.into_iter().find(|action| action.name() == text),
        )?;
        let an_address = "an address, in hexadecimal after 0x or in decimal";
        let pointer = header.parse(record, Column::Pointer, an_address, address)?;
        let bytes = header.parse(record, Column::Size, "a number of bytes", number)?;
        let a_stream = "a stream's number or handle, in hexadecimal after 0x or in decimal";
        let number = header.parse(record, Column::Stream, a_stream, address)?;
        if header.get(Column::Time).is_some() {
            let expected = "a time such as 00:00:01.000123";
            header.parse(record, Column::Time, expected, |text| is_time(text).then_some(()))?;
        }
        let device = match header.get(Column::Device) {
            Some(_) => {
                header.parse(record, Column::Device, "a device's ordinal", |text| text.parse().ok())?
            }
            None => 0,
        };
        if let Some(thread) = header.field(record, Column::Thread)
            && !self.threads.contains(thread)
        {
            self.threads.insert(thread.to_vec());
        }
        self.trace.lines += 1;
        self.trace.actions[action as usize] += 1;
        let device = self.device(device)?;
        // A free of ours is in the order of the block's own stream, whatever became of that.
        let ours = header.get(Column::Event).is_some();
        self.operation(action, device, pointer, bytes, number, ours)
    }

    fn operation(
        &mut self,
        action: Action,
        device: usize,
        pointer: u64,
        bytes: u64,
        stream: u64,
        ours: bool,
    ) -> Result<(), String> {
        match action {
            Action::Allocate => {
                let stream = self.stream(device, stream)?;
                let block = self.trace.blocks;
                self.trace.blocks += 1;
                let live = Live { block, stream, bytes };
                if let Some(lost) = self.live.insert((device, pointer), live) {
                    self.leak(lost);
                }
                self.push(Kind::Allocate { bytes }, block, stream);
            }
            Action::Record => match self.live.get(&(device, pointer)).copied() {
                Some(live) => {
                    let stream = self.stream(device, stream)?;
                    self.push(Kind::Record, live.block, stream);
                }
                None => self.trace.unknown += 1,
            },
            Action::Free => match self.live.remove(&(device, pointer)) {
                Some(live) => {
                    let own = self.trace.streams.get(live.stream).is_some_and(|s| s.number == stream);
                    if !own && !ours {
                        self.trace.foreign_frees += 1;
                        let stream = self.stream(device, stream)?;
                        self.push(Kind::Record, live.block, stream);
                    }
                    self.push(Kind::Free, live.block, live.stream);
                }
                None => self.trace.unknown += 1,
            },
            // The pool's own doings, and what did not happen.
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, kind: Kind, block: usize, stream: usize) {
        self.trace.ops.push(Op { kind, block, stream });
    }

    fn leak(&mut self, live: Live) {
        self.trace.leaks += 1;
        self.trace.leaked_bytes = self.trace.leaked_bytes.saturating_add(live.bytes);
    }

    fn finish(mut self) -> Trace {
        for live in std::mem::take(&mut self.live).into_values() {
            self.leak(live);
        }
        self.trace.threads = self.threads.len();
        self.trace
    }
}

impl Trace {
    /// Reads a file; `-` is standard input.
    pub(super) fn open(path: &Path) -> Result<Trace, ReadError> {
        if path.as_os_str() == "-" {
            return Trace::read(io::stdin().lock(), "standard input");
        }
        let file = path.display().to_string();
        match File::open(path) {
            Ok(opened) => Trace::read(opened, &file),
            Err(e) => Err(ReadError { file, place: String::new(), problem: advice::unread(&e) }),
        }
    }

    pub(super) fn read(from: impl Read, file: &str) -> Result<Trace, ReadError> {
        let at = |line: u64, problem: String| ReadError {
            file: file.to_owned(),
            place: if line == 0 { String::new() } else { format!(":{line}") },
            problem,
        };
        let lines = Lines { from: BufReader::new(from), number: 0, length: 0 };
        // No allocator's log has quotes; one that is never closed would take the rest of the file for a field.
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quoting(false)
            .trim(Trim::All)
            .from_reader(lines);
        let (mut builder, mut header, mut record) = (Builder::default(), None, ByteRecord::new());
        loop {
            let more = reader.read_byte_record(&mut record);
            let number = reader.get_ref().number;
            match more {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) => {
                    let problem = match e.kind() {
                        // That is said of a line that is too long.
                        csv::ErrorKind::Io(e) if e.kind() != io::ErrorKind::InvalidData => advice::unread(e),
                        _ => e.to_string(),
                    };
                    return Err(at(number, problem));
                }
            }
            match &header {
                None => header = Some(Header::read(&record).map_err(|problem| at(number, problem))?),
                Some(header) => builder.line(header, &record).map_err(|problem| at(number, problem))?,
            }
        }
        match header {
            Some(_) => Ok(builder.finish()),
            None => Err(at(
                0,
                "empty: expected a header such as Thread,Time,Action,Pointer,Size,Stream".to_owned(),
            )),
        }
    }

    /// How often an action is in it.
    pub(super) fn count(&self, action: Action) -> u64 {
        self.actions[action as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Trace {
        Trace::read(text.as_bytes(), "t.csv").unwrap()
    }

    fn error(text: &str) -> String {
        Trace::read(text.as_bytes(), "t.csv").unwrap_err().to_string()
    }

    #[test]
    fn rmms_columns_in_any_order() {
        let trace = read(
            "Thread,Time,Action,Pointer,Size,Stream\n7,10:00:00:000001,allocate,0x7f0000,1000,0x0\n\
             7,10:00:00.000002,allocate failure,0x0,99999,0\n8,10:00:00.5,free,0x7f0000,1000,0x2\n",
        );
        let kinds: Vec<Kind> = trace.ops.iter().map(|op| op.kind).collect();
        assert_eq!(kinds, [Kind::Allocate { bytes: 1000 }, Kind::Record, Kind::Free]);
        assert_eq!((trace.lines, trace.threads, trace.blocks, trace.leaks), (3, 2, 1, 0));
        assert_eq!((trace.foreign_frees, trace.count(Action::AllocateFailure)), (1, 1));
        let other = read("Stream,Size,Pointer,Action\n0,1000,8323072,allocate\n2,1000,0x7F0000,free\n");
        assert_eq!(other.ops, trace.ops);
        assert_eq!(other.streams.iter().map(|s| s.number).collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn ours_with_devices_and_blank_ends() {
        let head = "Thread,Time,Action,Pointer,Size,Stream,Device,Event";
        let trace = read(&format!(
            "\u{feff}{head}\r\n1,00:00:00.1,grow,0x100,512,0x1,0,\r\n1,00:00:00.1,allocate,0x100,256,0x1,0,\r\n\r\n\
             1,00:00:00.1,allocate,0x100,256,0x2,3,\r\n1,00:00:00.1,record,0x100,0,0x5,0,\r\n\
             1,00:00:00.1,free,0x100,256,0x0,0,\r\n1,00:00:00.1,free,0x100,256,0x1,0,"
        ));
        let ops: Vec<(usize, usize)> = trace.ops.iter().map(|op| (op.block, op.stream)).collect();
        assert_eq!(ops, [(0, 0), (1, 1), (0, 2), (0, 0)]);
        assert_eq!((trace.unknown, trace.leaks, trace.leaked_bytes, trace.foreign_frees), (1, 1, 256, 0));
        assert_eq!((trace.devices, trace.lines), (vec![0, 3], 6));
    }

    #[test]
    fn an_address_handed_out_twice_leaks_its_first_block() {
        let trace =
            read("Action,Pointer,Size,Stream\nallocate,1,5,0\nallocate,1,7,0\nfree,1,7,0\nfree,1,7,0\n");
        assert_eq!((trace.leaks, trace.leaked_bytes, trace.unknown), (1, 5, 1));
        assert_eq!(trace.ops.last(), Some(&Op { kind: Kind::Free, block: 1, stream: 0 }));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let head = "Thread,Time,Action,Pointer,Size,Stream\n";
        let good = "1,00:00:00.1,allocate,0x1,1,0x0\n";
        for (line, words) in [
            ("1,00:00:00.1,alocate,0x1,1,0x0", "t.csv:3: column 3 (`Action`): `alocate`: expected allocate,"),
            ("1,00:00:00.1,free,xyz,1,0x0", "t.csv:3: column 4 (`Pointer`): `xyz`: expected an address"),
            ("1,00:00:00.1,free,,1,0x0", "t.csv:3: column 4 (`Pointer`): ``"),
            ("1,00:00:00.1,free,0x1,-1,0x0", "t.csv:3: column 5 (`Size`): `-1`: expected a number of bytes"),
            ("1,00:00:00.1,free,0x1,18446744073709551616,0x0", "column 5"),
            ("1,00:00:00.1,free,0x1,1,0x+1", "t.csv:3: column 6 (`Stream`)"),
            ("1,noon,free,0x1,1,0x0", "t.csv:3: column 2 (`Time`): `noon`: expected a time such as"),
            ("1,00:00:00.1,free,0x1,1", "t.csv:3: 5 columns: expected 6"),
            ("1,00:00:00.1,free,0x1,1,0,0", "t.csv:3: 7 columns: expected 6"),
            ("1,00:00:00.1,fr\u{7}ee,0x1,1,0", "`fr\\u{7}ee`"),
        ] {
            let got = error(&format!("{head}{good}{line}\n{good}"));
            assert!(got.contains(words), "{line}: {got}");
        }
        let quoted = error(&format!("{head}1,0,free,\"0x1,1,0\n{good}"));
        assert!(quoted.starts_with("t.csv:2: column 4 (`Pointer`)"), "{quoted}");
        assert!(error(&format!("{head}{}", "1".repeat(1 << 20))).starts_with("t.csv:2: more than"));
        assert!(error("").starts_with("t.csv: empty: expected a header"));
        assert!(error("\n\r\n").starts_with("t.csv: empty"));
        assert!(error(good).contains("t.csv:1: no column `Action`"));
        assert!(error("Action,Pointer,Size,Stream,size\n").contains("column 5: `size` comes twice"));
        assert!(error(&format!("{head}{}\n", "x".repeat(1000))).len() < 200);
        let bytes = [head.as_bytes(), b"1,00:00:00.1,\xff\xfe,0x1,1,0\n"].concat();
        let got = Trace::read(&bytes[..], "t.csv").unwrap_err().to_string();
        assert!(got.starts_with("t.csv:2: column 3 (`Action`)"), "{got}");
        assert_eq!(read(head).ops, []);
        let many = |fields: &dyn Fn(usize) -> String| {
            let lines: String = (0..2000).map(|i| format!("allocate,{i},1,{}\n", fields(i))).collect();
            error(&format!("Action,Pointer,Size,Stream,Device\n{lines}"))
        };
        assert!(many(&|i| format!("{i},0")).starts_with("t.csv:1026: more than 1024 streams"));
        assert!(many(&|i| format!("0,{i}")).starts_with("t.csv:66: more than 64 devices"));
        // Blank lines count.
        let got = error(&format!("{head}\n\n{good}\n\nbad\n"));
        assert!(got.starts_with("t.csv:7:"), "{got}");
    }
}
