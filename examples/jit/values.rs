//! The values of names: numbers and arrays, from the command line.

use std::collections::BTreeMap;

use super::parse::number_length;
use super::problem::Problem;

/// The greatest number of elements of an array.
const MOST: f64 = (1u32 << 24) as f64;

/// A number, or an array of them.
#[derive(Debug)]
pub(super) enum Value {
    Number(f64),
    Array(Vec<f64>),
}

/// Values by name.
#[derive(Debug, Default)]
pub(super) struct Values(BTreeMap<String, Value>);

/// Returns the position of the `=` in `name=values`; `None` for any other text, which is an expression.
pub(super) fn definition(text: &str) -> Option<usize> {
    let at = text.find('=')?;
    let name = text[..at].trim();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && !text[at..].starts_with("==")).then_some(at)
}

impl Values {
    /// Returns the value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Returns all names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the elements of an array; none for a number or an unknown name.
    pub(super) fn array(&self, name: &str) -> &[f64] {
        match self.get(name) {
            Some(Value::Array(elements)) => elements,
            _ => &[],
        }
    }

    /// Adds `name=values`, whose `=` is at byte `equals`.
    pub(super) fn define(&mut self, text: &str, equals: usize) -> Result<(), Problem> {
        let mut reader = Reader { text, at: equals + 1 };
        let value = reader.value()?;
        if reader.skip_spaces().is_some() {
            return Err(reader.problem("expected `,` or the end"));
        }
        let name = text[..equals].trim();
        if self.0.insert(name.to_owned(), value).is_some() {
            return Err(Problem::new(text, 0, format!("`{name}` is defined twice")));
        }
        Ok(())
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn problem(&self, message: impl Into<String>) -> Problem {
        Problem::new(self.text, self.at, message)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Returns the next character that is no space.
    fn skip_spaces(&mut self) -> Option<char> {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    fn take(&mut self, symbol: &str) -> bool {
        self.skip_spaces();
        let is_there = self.rest().starts_with(symbol);
        self.at += if is_there { symbol.len() } else { 0 };
        is_there
    }

    fn value(&mut self) -> Result<Value, Problem> {
        if self.take("[") {
            let mut elements = Vec::new();
            while !self.take("]") {
                elements.push(self.number()?);
                if !self.take(",") && !self.rest().starts_with(']') {
                    return Err(self.problem("expected `,` or `]`"));
                }
            }
            return Ok(Value::Array(elements));
        }
        let first = self.number()?;
        if self.take("..") {
            return self.range(first).map(Value::Array);
        }
        if self.skip_spaces() != Some(',') {
            return Ok(Value::Number(first));
        }
        let mut elements = vec![first];
        // The last comma may have nothing after it.
        while self.take(",") && self.skip_spaces().is_some() {
            elements.push(self.number()?);
        }
        Ok(Value::Array(elements))
    }

    fn number(&mut self) -> Result<f64, Problem> {
        self.skip_spaces();
        let begin = self.at;
        let sign = usize::from(self.rest().starts_with('-'));
        let length = sign + number_length(&self.rest()[sign..]);
        match self.rest()[..length].parse::<f64>() {
            Ok(number) if number.is_finite() => {
                self.at = begin + length;
                Ok(number)
            }
            Ok(_) => Err(self.problem("this number is too large")),
            Err(_) => Err(self.problem("expected a number")),
        }
    }

    /// Reads the rest of a range from `first` up to its end, which is excluded.
    fn range(&mut self, first: f64) -> Result<Vec<f64>, Problem> {
        let end = self.number()?;
        let step = if self.take(":") { self.number()? } else { 1.0 };
        let count = ((end - first) / step).ceil();
        if step == 0.0 || count.is_nan() || count > MOST {
            let message = format!("a range of {count} elements: at most {MOST}, and the step is not 0");
            return Err(self.problem(message));
        }
        Ok((0..count.max(0.0) as usize).map(|i| first + i as f64 * step).collect())
    }
}
