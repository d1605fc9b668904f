//! TOML tables that remember their key and line, so that every error can name them.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ScriptError, ScriptProblem, position};

/// The script's text and path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) file: &'a Path,
    pub(super) text: &'a str,
}

/// A value with its key from the root.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    source: Source<'a>,
    pub(super) key: String,
    value: &'a Spanned<DeValue<'a>>,
}

/// A table with its key from the root (empty for the root).
#[derive(Clone, Debug)]
pub(super) struct Table<'a> {
    source: Source<'a>,
    key: String,
    at: usize,
    table: &'a DeTable<'a>,
}

type Result<T> = std::result::Result<T, ScriptError>;

impl Source<'_> {
    fn error(&self, at: usize, key: &str, problem: ScriptProblem) -> ScriptError {
        let (line, _) = position(self.text, at);
        ScriptError::Key { file: self.file.to_owned(), line, key: key.to_owned(), problem }
    }
}

impl<'a> Table<'a> {
    pub(super) fn root(source: Source<'a>, table: &'a DeTable<'a>) -> Table<'a> {
        Table { source, key: String::new(), at: 0, table }
    }

    fn child(&self, key: &str) -> String {
        if self.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.key) }
    }

    /// Refuses keys other than `known`.
    pub(super) fn only(&self, known: &'static [&'static str]) -> Result<()> {
        for key in self.table.keys() {
            if !known.contains(&key.get_ref().as_ref()) {
                let name = self.child(key.get_ref());
                return Err(self.source.error(key.span().start, &name, ScriptProblem::Unknown { known }));
            }
        }
        Ok(())
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.table.keys().map(|key| key.get_ref().as_ref())
    }

    pub(super) fn get(&self, key: &str) -> Option<Node<'a>> {
        let (_, value) = self.table.iter().find(|(name, _)| name.get_ref().as_ref() == key)?;
        Some(Node { source: self.source, key: self.child(key), value })
    }

    pub(super) fn need(&self, key: &str) -> Result<Node<'a>> {
        self.get(key).ok_or_else(|| self.source.error(self.at, &self.child(key), ScriptProblem::Missing))
    }

    /// Returns the tables of `[[key]]`; none if there is no such key.
    pub(super) fn tables(&self, key: &str) -> Result<Vec<Table<'a>>> {
        match self.get(key) {
            Some(node) => node.elements("a list of tables, [[...]]")?.iter().map(Node::table).collect(),
            None => Ok(Vec::new()),
        }
    }

    /// Returns an error about the table itself.
    pub(super) fn error(&self, problem: ScriptProblem) -> ScriptError {
        self.source.error(self.at, &self.key, problem)
    }
}

impl<'a> Node<'a> {
    pub(super) fn error(&self, problem: ScriptProblem) -> ScriptError {
        self.source.error(self.value.span().start, &self.key, problem)
    }

    fn wrong(&self, expected: &'static str) -> ScriptError {
        let got = match self.value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.error(ScriptProblem::Type { expected, got })
    }

    pub(super) fn text(&self) -> Result<&'a str> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text.as_ref()),
            _ => Err(self.wrong("a string")),
        }
    }

    pub(super) fn boolean(&self) -> Result<bool> {
        match self.value.get_ref() {
            DeValue::Boolean(b) => Ok(*b),
            _ => Err(self.wrong("a boolean")),
        }
    }

    pub(super) fn is_integer(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Integer(_))
    }

    /// Returns an integer in `low..=high`, or an error.
    pub(super) fn integer(&self, low: i128, high: i128) -> Result<i128> {
        let DeValue::Integer(integer) = self.value.get_ref() else { return Err(self.wrong("an integer")) };
        match i128::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(value) if (low..=high).contains(&value) => Ok(value),
            _ => Err(self.error(ScriptProblem::Range {
                got: integer.as_str().to_owned(),
                allowed: format!("{low} to {high}"),
            })),
        }
    }

    /// Returns a float, or an integer that a float represents exactly.
    pub(super) fn float(&self) -> Result<f64> {
        match self.value.get_ref() {
            DeValue::Float(float) => float.as_str().parse().map_err(|_| self.wrong("a number")),
            DeValue::Integer(integer) => {
                let value = self.integer(-(1 << 64), 1 << 64)?;
                let float = value as f64;
                if float as i128 == value {
                    Ok(float)
                } else {
                    Err(self.error(ScriptProblem::Inexact { got: integer.as_str().to_owned(), dtype: "f64" }))
                }
            }
            _ => Err(self.wrong("a number")),
        }
    }

    /// Returns the value as it is written in the script.
    pub(super) fn written(&self) -> String {
        self.source.text.get(self.value.span()).unwrap_or_default().to_owned()
    }

    pub(super) fn elements(&self, expected: &'static str) -> Result<Vec<Node<'a>>> {
        let DeValue::Array(array) = self.value.get_ref() else { return Err(self.wrong(expected)) };
        let node = |(i, value)| Node { source: self.source, key: format!("{}[{i}]", self.key), value };
        Ok(array.iter().enumerate().map(node).collect())
    }

    pub(super) fn table(&self) -> Result<Table<'a>> {
        match self.value.get_ref() {
            DeValue::Table(table) => {
                Ok(Table { source: self.source, key: self.key.clone(), at: self.value.span().start, table })
            }
            _ => Err(self.wrong("a table")),
        }
    }
}
