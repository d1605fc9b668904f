//! Reads a pool trace, in the columns of RMM's logs, into the operations of a replay.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use hiplaunch::memory::PoolTraceAction;

use crate::advice;

/// The greatest numbers of streams and devices of a replay. The emulator has a thread for each stream.
const MOST_STREAMS: usize = 1024;
const MOST_DEVICES: usize = 64;

/// What an operation does to its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Allocate { bytes: u64 },
    Record,
    Free,
}

/// One operation of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Op {
    pub(super) kind: Kind,
    /// The block, as the number of its allocation in the trace.
    pub(super) block: usize,
    /// An index into [`Trace::streams`].
    pub(super) stream: usize,
}

/// A stream of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceStream {
    /// An index into [`Trace::devices`].
    pub(super) device: usize,
    /// The stream's number or handle in the trace.
    pub(super) number: u64,
}

/// A trace that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    pub(super) ops: Vec<Op>,
    /// The number of blocks, which is the number of allocations.
    pub(super) blocks: usize,
    pub(super) streams: Vec<TraceStream>,
    /// The ordinals of the devices.
    pub(super) devices: Vec<u32>,
    /// The number of lines by action, in the order of [`PoolTraceAction::ALL`].
    pub(super) actions: [u64; PoolTraceAction::ALL.len()],
    /// The number of frees and uses of addresses without a live block.
    pub(super) unknown: u64,
    /// The number of blocks that were never freed.
    pub(super) leaks: u64,
}

/// Why a trace can't be read, with file and line.
#[derive(Debug, thiserror::Error)]
#[error("{file}{place}: {problem}")]
pub(super) struct ReadError {
    file: String,
    place: String,
    problem: String,
}

/// The indices of the columns that are read.
struct Columns {
    action: usize,
    pointer: usize,
    size: usize,
    stream: usize,
    device: Option<usize>,
}

impl Columns {
    fn read(header: &StringRecord) -> Result<Columns, String> {
        let find = |name: &str| header.iter().position(|field| field.eq_ignore_ascii_case(name));
        let need = |name: &str| {
            find(name).ok_or_else(|| {
                format!("no column `{name}`: expected a header with Action,Pointer,Size,Stream")
            })
        };
        Ok(Columns {
            action: need("Action")?,
            pointer: need("Pointer")?,
            size: need("Size")?,
            stream: need("Stream")?,
            device: find("Device"),
        })
    }
}

/// Reads a number, in hexadecimal after `0x`, else in decimal.
fn number(text: &str) -> Option<u64> {
    let digits = |digits: &str, radix| match digits.starts_with(['+', '-']) {
        true => None,
        false => u64::from_str_radix(digits, radix).ok(),
    };
    match text.strip_prefix("0x") {
        Some(text) => digits(text, 16),
        None => digits(text, 10),
    }
}

#[derive(Default)]
struct Builder {
    trace: Trace,
    /// The live block at an address of a device, with its stream.
    live: HashMap<(usize, u64), (usize, usize)>,
    streams: HashMap<(usize, u64), usize>,
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
        if let Some(known) = self.streams.get(&(device, number)) {
            return Ok(*known);
        }
        let new = self.trace.streams.len();
        if new == MOST_STREAMS {
            return Err(format!("more than {MOST_STREAMS} streams, each of which a replay makes one for"));
        }
        self.trace.streams.push(TraceStream { device, number });
        self.streams.insert((device, number), new);
        Ok(new)
    }

    fn line(&mut self, columns: &Columns, record: &StringRecord) -> Result<(), String> {
        let field = |at: usize| record.get(at).unwrap_or_default();
        let wrong = |name: &str, at: usize, expected: &str| {
            let shown: String = field(at).chars().take(40).collect();
            format!("column {} (`{name}`): `{}`: expected {expected}", at + 1, shown.escape_debug())
        };
        let action = PoolTraceAction::ALL.into_iter().find(|action| action.name() == field(columns.action));
        let action = action.ok_or_else(|| {
            let names = "allocate, allocate failure, free, record, wait, synchronize, grow or release";
            wrong("Action", columns.action, names)
        })?;
        let parse = |name: &str, at: usize, what: &str| {
            number(field(at)).ok_or_else(|| wrong(name, at, &format!("{what}, in decimal or after 0x")))
        };
        let pointer = parse("Pointer", columns.pointer, "an address")?;
        let bytes = parse("Size", columns.size, "a number of bytes")?;
        let stream = parse("Stream", columns.stream, "a stream's number or handle")?;
        let ordinal = match columns.device {
            Some(at) => field(at).parse().map_err(|_| wrong("Device", at, "a device's ordinal"))?,
            None => 0,
        };
        self.trace.actions[action as usize] += 1;
        let device = self.device(ordinal)?;
        self.operation(action, (device, pointer), bytes, stream)
    }

    fn operation(
        &mut self,
        action: PoolTraceAction,
        at: (usize, u64),
        bytes: u64,
        number: u64,
    ) -> Result<(), String> {
        match action {
            PoolTraceAction::Allocate => {
                let stream = self.stream(at.0, number)?;
                let block = self.trace.blocks;
                self.trace.blocks += 1;
                if self.live.insert(at, (block, stream)).is_some() {
                    self.trace.leaks += 1;
                }
                self.trace.ops.push(Op { kind: Kind::Allocate { bytes }, block, stream });
            }
            PoolTraceAction::Record => match self.live.get(&at).copied() {
                Some((block, _)) => {
                    let stream = self.stream(at.0, number)?;
                    self.trace.ops.push(Op { kind: Kind::Record, block, stream });
                }
                None => self.trace.unknown += 1,
            },
            // A block is freed in the order of its own stream, as the pool does.
            PoolTraceAction::Free => match self.live.remove(&at) {
                Some((block, stream)) => self.trace.ops.push(Op { kind: Kind::Free, block, stream }),
                None => self.trace.unknown += 1,
            },
            // Actions of the pool itself, and failed allocations.
            _ => {}
        }
        Ok(())
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
        let unread = |e: csv::Error| {
            let line = e.position().map_or(0, csv::Position::line);
            let problem = match e.kind() {
                csv::ErrorKind::Io(e) => advice::unread(e),
                csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                    format!("{len} columns: expected {expected_len}, as in the header")
                }
                csv::ErrorKind::Utf8 { .. } => "no text: expected CSV in UTF-8".to_owned(),
                _ => e.to_string(),
            };
            at(line, problem)
        };
        // Allocators' logs have no quotes. A quote without an end would make the rest of the file one field.
        let mut reader = ReaderBuilder::new().quoting(false).trim(Trim::All).from_reader(from);
        let header = reader.headers().map_err(unread)?;
        if header.is_empty() {
            let problem = "empty: expected a header such as Thread,Time,Action,Pointer,Size,Stream";
            return Err(at(0, problem.to_owned()));
        }
        let columns = Columns::read(header).map_err(|problem| at(1, problem))?;
        let (mut builder, mut record) = (Builder::default(), StringRecord::new());
        while reader.read_record(&mut record).map_err(unread)? {
            let line = record.position().map_or(0, csv::Position::line);
            builder.line(&columns, &record).map_err(|problem| at(line, problem))?;
        }
        builder.trace.leaks += builder.live.len() as u64;
        Ok(builder.trace)
    }

    /// The number of lines with an action.
    pub(super) fn count(&self, action: PoolTraceAction) -> u64 {
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
    fn columns_may_come_in_any_order() {
        let trace = read(
            "Thread,Time,Action,Pointer,Size,Stream\n7,10:00:00.1,allocate,0x7f0000,1000,0x0\n\
             7,10:00:00.2,allocate failure,0x0,99999,0\n8,10:00:00.5,free,0x7f0000,1000,0x2\n",
        );
        let kinds: Vec<Kind> = trace.ops.iter().map(|op| op.kind).collect();
        assert_eq!(kinds, [Kind::Allocate { bytes: 1000 }, Kind::Free]);
        assert_eq!((trace.blocks, trace.leaks, trace.count(PoolTraceAction::AllocateFailure)), (1, 0, 1));
        let other = read("Stream,Size,Pointer,Action\n0,1000,8323072,allocate\n2,1000,0x7F0000,free\n");
        assert_eq!(other.ops, trace.ops);
    }

    #[test]
    fn devices_and_streams_are_kept_apart() {
        let head = "Thread,Time,Action,Pointer,Size,Stream,Device,Event";
        let trace = read(&format!(
            "{head}\r\n1,0,grow,0x100,512,0x1,0,\r\n1,0,allocate,0x100,256,0x1,0,\r\n\r\n\
             1,0,allocate,0x100,256,0x2,3,\r\n1,0,record,0x100,0,0x5,0,\r\n1,0,free,0x100,256,0x0,0,\r\n\
             1,0,free,0x100,256,0x1,0,"
        ));
        let ops: Vec<(usize, usize)> = trace.ops.iter().map(|op| (op.block, op.stream)).collect();
        assert_eq!(ops, [(0, 0), (1, 1), (0, 2), (0, 0)]);
        assert_eq!((trace.unknown, trace.leaks, trace.devices), (1, 1, vec![0, 3]));
    }

    #[test]
    fn an_address_handed_out_twice_leaks_its_first_block() {
        let trace =
            read("Action,Pointer,Size,Stream\nallocate,1,5,0\nallocate,1,7,0\nfree,1,7,0\nfree,1,7,0\n");
        assert_eq!((trace.leaks, trace.unknown), (1, 1));
        assert_eq!(trace.ops.last(), Some(&Op { kind: Kind::Free, block: 1, stream: 0 }));
    }

    #[test]
    fn errors_name_line_and_column() {
        let head = "Thread,Time,Action,Pointer,Size,Stream\n";
        let good = "1,0,allocate,0x1,1,0x0\n";
        for (line, words) in [
            ("1,0,alocate,0x1,1,0x0", "t.csv:3: column 3 (`Action`): `alocate`: expected allocate,"),
            ("1,0,free,xyz,1,0x0", "t.csv:3: column 4 (`Pointer`): `xyz`: expected an address"),
            ("1,0,free,,1,0x0", "t.csv:3: column 4 (`Pointer`): ``"),
            ("1,0,free,0x1,-1,0x0", "t.csv:3: column 5 (`Size`): `-1`: expected a number of bytes"),
            ("1,0,free,0x1,18446744073709551616,0x0", "column 5"),
            ("1,0,free,0x1,1,0x+1", "t.csv:3: column 6 (`Stream`)"),
            ("1,0,free,0x1,1", "t.csv:3: 5 columns: expected 6"),
            ("1,0,free,0x1,1,0,0", "t.csv:3: 7 columns: expected 6"),
            ("1,0,fr\u{7}ee,0x1,1,0", "`fr\\u{7}ee`"),
        ] {
            let got = error(&format!("{head}{good}{line}\n{good}"));
            assert!(got.contains(words), "{line}: {got}");
        }
        assert!(error("").starts_with("t.csv: empty: expected a header"));
        assert!(error("\n\r\n").starts_with("t.csv: empty"));
        assert!(error(good).contains("t.csv:1: no column `Action`"));
        assert!(error(&format!("{head}1,0,{},1,1,1\n", "x".repeat(1000))).len() < 200);
        let bytes = [head.as_bytes(), b"1,0,\xff\xfe,0x1,1,0\n"].concat();
        let got = Trace::read(&bytes[..], "t.csv").unwrap_err().to_string();
        assert!(got.starts_with("t.csv:2: no text"), "{got}");
        assert_eq!(read(head).ops, []);
        let many = |fields: &dyn Fn(usize) -> String| {
            let lines: String = (0..2000).map(|i| format!("allocate,{i},1,{}\n", fields(i))).collect();
            error(&format!("Action,Pointer,Size,Stream,Device\n{lines}"))
        };
        assert!(many(&|i| format!("{i},0")).starts_with("t.csv:1026: more than 1024 streams"));
        assert!(many(&|i| format!("0,{i}")).starts_with("t.csv:66: more than 64 devices"));
    }
}
