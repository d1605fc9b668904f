//! Reads a planning problem: CSV with a header and one buffer in each line, as in minimalloc's instances.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use offset_planner::{Buffer, BufferProperty, OffsetsError, Problem};

use crate::advice;

/// The size in bytes of the largest file that is read.
const MAX_FILE_BYTES: u64 = 256 << 20;

const REQUIRED: [&str; 4] = ["id", "lower", "upper", "size"];
const COLUMNS: [&str; 6] = ["id", "lower", "upper", "size", "alignment", "offset"];

/// Why a file can't be read, with line and column in characters, both from 1.
#[derive(Debug, thiserror::Error)]
#[error("{file}{}: {problem}", place(*.line, *.column))]
pub(super) struct ReadError {
    file: String,
    line: Option<usize>,
    column: Option<usize>,
    problem: String,
}

fn place(line: Option<usize>, column: Option<usize>) -> String {
    [line, column].into_iter().flatten().map(|n| format!(":{n}")).collect()
}

/// One line of the file, with its fields and the columns in which they begin.
struct Line {
    number: usize,
    fields: StringRecord,
    columns: Vec<usize>,
}

impl Line {
    /// Reads the fields of a line; `None` if the line is empty.
    fn read(number: usize, text: &str) -> Result<Option<Line>, String> {
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .buffer_capacity(text.len().max(16))
            .from_reader(text.as_bytes());
        let mut fields = StringRecord::new();
        let any = reader.read_record(&mut fields).map_err(|e| e.to_string())?;
        if !any || fields.iter().all(str::is_empty) && fields.len() < 2 {
            return Ok(None);
        }
        let (mut columns, mut quoted) = (vec![1], false);
        for (i, character) in text.chars().enumerate() {
            quoted ^= character == '"';
            if character == ',' && !quoted {
                columns.push(i + 2);
            }
        }
        Ok(Some(Line { number, fields, columns }))
    }
}

/// A file, and the fields of its header.
struct Table<'a> {
    path: &'a Path,
    header: Line,
    /// The field of each of [`COLUMNS`].
    fields: [Option<usize>; COLUMNS.len()],
}

/// Returns the error of a file, or of a place in it.
fn error(path: &Path, line: Option<usize>, column: Option<usize>, problem: String) -> ReadError {
    ReadError { file: path.display().to_string(), line, column, problem }
}

impl Table<'_> {
    /// Reads the header, which names the columns in any order.
    fn new(path: &Path, header: Line) -> Result<Table<'_>, ReadError> {
        let at = |column, problem| Err(error(path, Some(header.number), column, problem));
        let mut fields = [None; COLUMNS.len()];
        for (field, name) in header.fields.iter().enumerate() {
            let column = header.columns.get(field).copied();
            let Some(index) = COLUMNS.iter().position(|known| known.eq_ignore_ascii_case(name)) else {
                let problem = format!("no column is called `{name}`; those known are {}", COLUMNS.join(", "));
                return at(column, problem);
            };
            if fields[index].replace(field).is_some() {
                return at(column, format!("the column `{name}` is there twice"));
            }
        }
        if let Some((missing, _)) = REQUIRED.iter().zip(fields).find(|(_, field)| field.is_none()) {
            return at(None, format!("the column `{missing}` is missing"));
        }
        Ok(Table { path, header, fields })
    }

    /// Returns an error of a line, in one of [`COLUMNS`] or in all.
    fn error(&self, line: &Line, index: Option<usize>, problem: String) -> ReadError {
        let column = index.and_then(|index| line.columns.get(self.fields[index]?).copied());
        error(self.path, Some(line.number), column, problem)
    }

    fn text<'l>(&self, line: &'l Line, index: usize) -> &'l str {
        self.fields[index].and_then(|field| line.fields.get(field)).unwrap_or_default()
    }

    /// Reads a number; `None` if the column may be empty, and is.
    fn number(&self, line: &Line, index: usize) -> Result<Option<u64>, ReadError> {
        match self.text(line, index) {
            "" if index >= REQUIRED.len() => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                let problem = format!("`{}` is `{text}`; expected a whole number below 2^64", COLUMNS[index]);
                self.error(line, Some(index), problem)
            }),
        }
    }

    fn buffer(&self, line: &Line) -> Result<Buffer, ReadError> {
        if line.fields.len() != self.header.fields.len() {
            let (has, expected) = (line.fields.len(), self.header.fields.len());
            return Err(self.error(line, None, format!("has {has} fields; the header has {expected}")));
        }
        let number = |index| self.number(line, index);
        let lifetime = number(1)?.unwrap_or(0)..number(2)?.unwrap_or(0);
        let mut buffer = Buffer::half_open(self.text(line, 0), number(3)?.unwrap_or(0), lifetime);
        buffer.alignment = number(4)?.unwrap_or(1);
        buffer.fixed = number(5)?;
        Ok(buffer)
    }
}

/// Reads the planning problem in a file.
pub(super) fn problem(path: &Path, capacity: Option<u64>) -> Result<Problem, ReadError> {
    let text = text(path).map_err(|e| error(path, None, None, advice::unread(&e)))?;
    let mut lines = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = Line::read(i + 1, line.trim_end_matches('\r'));
        lines.extend(line.map_err(|e| error(path, Some(i + 1), None, e))?);
    }
    let mut lines = lines.into_iter();
    let Some(header) = lines.next() else {
        let problem = format!("is empty; expected a header: {}", REQUIRED.join(","));
        return Err(error(path, None, None, problem));
    };
    let table = Table::new(path, header)?;
    let mut problem = Problem::builder();
    if let Some(capacity) = capacity {
        problem.capacity(capacity);
    }
    let mut ids = std::collections::HashMap::new();
    for line in lines {
        let (id, buffer) = (table.text(&line, 0).to_owned(), table.buffer(&line)?);
        if id.is_empty() {
            return Err(table.error(&line, Some(0), "the id is empty".to_owned()));
        }
        if let Some(before) = ids.insert(id.clone(), line.number) {
            let problem = format!("buffer `{id}` is in line {before} already");
            return Err(table.error(&line, Some(0), problem));
        }
        problem.add(buffer).map_err(|error| {
            let index = match error {
                OffsetsError::Buffer { property: BufferProperty::Lifetime, .. } => 2,
                OffsetsError::Buffer { property: BufferProperty::Size, .. } => 3,
                OffsetsError::Buffer { property: BufferProperty::Alignment, .. } => 4,
                OffsetsError::Buffer { property: BufferProperty::Fixed, .. } => 5,
                _ => 0,
            };
            table.error(&line, Some(index), error.to_string())
        })?;
    }
    problem.build().map_err(|e| error(path, None, None, e.to_string()))
}

fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("longer than {MAX_FILE_BYTES} bytes"),
        ));
    }
    Ok(text)
}
