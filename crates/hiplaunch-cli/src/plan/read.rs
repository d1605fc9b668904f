//! Reads a planning problem: CSV with a header and one buffer in each line, as in minimalloc's instances.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use offset_planner::{Buffer, BufferProperty, OffsetsError, Problem};

use crate::advice;

/// The size in bytes of the longest file that is read.
const LONGEST_FILE: u64 = 256 << 20;

const REQUIRED: [&str; 4] = ["id", "lower", "upper", "size"];
const KNOWN: [&str; 6] = ["id", "lower", "upper", "size", "alignment", "offset"];

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

/// Reads the planning problem in a file.
pub(super) fn problem(path: &Path, capacity: Option<u64>) -> Result<Problem, ReadError> {
    let at = |line: Option<usize>, column: Option<usize>, problem: String| ReadError {
        file: path.display().to_string(),
        line,
        column,
        problem,
    };
    let text = text(path).map_err(|e| at(None, None, advice::unread(&e)))?;
    let mut lines = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = Line::read(i + 1, line.trim_end_matches('\r')).map_err(|e| at(Some(i + 1), None, e))?;
        lines.extend(line);
    }
    let mut lines = lines.into_iter();
    let Some(header) = lines.next() else {
        return Err(at(None, None, format!("is empty; expected a header: {}", REQUIRED.join(","))));
    };
    let header_at = |field: usize| (Some(header.number), header.columns.get(field).copied());
    let mut column_of = [None; KNOWN.len()];
    for (field, name) in header.fields.iter().enumerate() {
        let (line, column) = header_at(field);
        let Some(known) = KNOWN.iter().position(|known| known.eq_ignore_ascii_case(name)) else {
            let problem = format!("no column is called `{name}`; those known are {}", KNOWN.join(", "));
            return Err(at(line, column, problem));
        };
        if column_of[known].replace(field).is_some() {
            return Err(at(line, column, format!("the column `{name}` is there twice")));
        }
    }
    if let Some(missing) = REQUIRED.iter().zip(column_of).find(|(_, field)| field.is_none()) {
        return Err(at(Some(header.number), None, format!("the column `{}` is missing", missing.0)));
    }

    let mut problem = Problem::builder();
    if let Some(capacity) = capacity {
        problem.capacity(capacity);
    }
    let mut ids = std::collections::HashMap::new();
    for line in lines {
        let here = |known: usize| {
            let field = column_of.get(known).copied().flatten()?;
            Some((field, line.columns.get(field).copied()))
        };
        if line.fields.len() != header.fields.len() {
            let (has, expected) = (line.fields.len(), header.fields.len());
            return Err(at(Some(line.number), None, format!("has {has} fields; the header has {expected}")));
        }
        let text =
            |known: usize| here(known).and_then(|(field, _)| line.fields.get(field)).unwrap_or_default();
        let column = |known: usize| here(known).and_then(|(_, column)| column);
        let number = |known: usize| -> Result<Option<u64>, ReadError> {
            match text(known) {
                "" if known >= REQUIRED.len() => Ok(None),
                field => field.parse().map(Some).map_err(|_| {
                    let name = KNOWN.get(known).copied().unwrap_or_default();
                    let problem = format!("`{name}` is `{field}`; expected a whole number below 2^64");
                    at(Some(line.number), column(known), problem)
                }),
            }
        };
        let (lower, upper) = (number(1)?.unwrap_or(0), number(2)?.unwrap_or(0));
        let mut buffer = Buffer::half_open(text(0), number(3)?.unwrap_or(0), lower..upper);
        buffer.alignment = number(4)?.unwrap_or(1);
        buffer.fixed = number(5)?;
        if text(0).is_empty() {
            return Err(at(Some(line.number), column(0), "the id is empty".to_owned()));
        }
        if let Some(before) = ids.insert(text(0).to_owned(), line.number) {
            let problem = format!("buffer `{}` is in line {before} already", text(0));
            return Err(at(Some(line.number), column(0), problem));
        }
        problem.add(buffer).map_err(|error| {
            let known = match error {
                OffsetsError::Buffer { property: BufferProperty::Lifetime, .. } => 2,
                OffsetsError::Buffer { property: BufferProperty::Size, .. } => 3,
                OffsetsError::Buffer { property: BufferProperty::Alignment, .. } => 4,
                OffsetsError::Buffer { property: BufferProperty::Fixed, .. } => 5,
                _ => 0,
            };
            at(Some(line.number), column(known), error.to_string())
        })?;
    }
    problem.build().map_err(|error| at(None, None, error.to_string()))
}

fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(LONGEST_FILE + 1).read_to_string(&mut text)?;
    if read as u64 > LONGEST_FILE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than {LONGEST_FILE} bytes")));
    }
    Ok(text)
}
