//! Parses the expression language: a text becomes a tree, each of whose nodes has its position in the text.
//!
//! ```text
//! comparison = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
//! sum        = product {("+" | "-") product}
//! product    = sign {("*" | "/") sign}
//! sign       = "-" sign | power
//! power      = atom ["^" sign]
//! atom       = number | name | name "(" comparison {"," comparison} ")" | "(" comparison ")"
//! ```

use super::problem::Problem;

/// The greatest depth of nested parentheses and signs, so that a hostile text can't overflow the stack.
const DEEPEST: usize = 100;
/// The greatest number of levels of a tree: `1+1+1+...` has one for each sign.
const TALLEST: usize = 1000;

/// A node of the tree.
#[derive(Debug)]
pub(super) struct Expr {
    pub(super) what: What,
    /// The position of its first character or of its operator, in bytes from the beginning of the text.
    pub(super) at: usize,
    /// The number of levels of the tree below it, with its own.
    height: usize,
}

/// The kind of a node.
#[derive(Debug)]
pub(super) enum What {
    Number(f64),
    Name(String),
    /// An operator or a function, by its name.
    Call(String, Vec<Expr>),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Symbol(&'static str),
    End,
}

/// The symbols, longer ones first.
const SYMBOLS: [&str; 15] = ["<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "^", "(", ")", ",", "="];

/// Parses an expression.
pub(super) fn parse(text: &str) -> Result<Expr, Problem> {
    let mut parser = Parser { text, tokens: tokens(text)?, next: 0, depth: 0 };
    let expr = parser.comparison()?;
    match parser.peek() {
        Token::End => Ok(expr),
        _ => Err(parser.unexpected("expected an operator or the end")),
    }
}

fn tokens(text: &str) -> Result<Vec<(Token, usize)>, Problem> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if c.is_ascii_digit() || c == '.' {
            let length = number_length(rest);
            let number: f64 =
                rest[..length].parse().map_err(|_| Problem::new(text, at, "this is no number"))?;
            if number.is_infinite() {
                return Err(Problem::new(text, at, "this number is too large"));
            }
            tokens.push((Token::Number(number), at));
            length
        } else if c.is_ascii_alphabetic() || c == '_' {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push((Token::Name(rest[..length].to_owned()), at));
            length
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            tokens.push((Token::Symbol(symbol), at));
            symbol.len()
        } else {
            return Err(Problem::new(text, at, format!("`{c}` is nothing that an expression has")));
        };
        at += length;
    }
    tokens.push((Token::End, text.len()));
    Ok(tokens)
}

/// The number of bytes of the number at the beginning of a text: digits, a point, an exponent.
pub(super) fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = digits(0);
    // Two points are a range, and not part of the number.
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, usize)>,
    next: usize,
    depth: usize,
}

impl Parser<'_> {
    /// The last token is the end, and is never skipped.
    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn at(&self) -> usize {
        self.tokens[self.next].1
    }

    /// Consumes the next token if it is one of these symbols.
    fn take(&mut self, symbols: &[&'static str]) -> Option<(&'static str, usize)> {
        let at = self.at();
        match self.peek() {
            Token::Symbol(symbol) if symbols.contains(symbol) => {
                let symbol = *symbol;
                self.next += 1;
                Some((symbol, at))
            }
            _ => None,
        }
    }

    fn unexpected(&self, expected: &str) -> Problem {
        let found = match self.peek() {
            Token::Number(number) => format!("`{number}`"),
            Token::Name(name) => format!("`{name}`"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::End => "the end".to_owned(),
        };
        Problem::new(self.text, self.at(), format!("{expected}, found {found}"))
    }

    fn call(&self, name: &str, args: Vec<Expr>, at: usize) -> Result<Expr, Problem> {
        let height = 1 + args.iter().map(|arg| arg.height).max().unwrap_or(0);
        if height > TALLEST {
            return Err(Problem::new(self.text, at, format!("more than {TALLEST} operations on each other")));
        }
        Ok(Expr { what: What::Call(name.to_owned(), args), at, height })
    }

    fn comparison(&mut self) -> Result<Expr, Problem> {
        let left = self.sum()?;
        let Some((symbol, at)) = self.take(&["<", "<=", ">", ">=", "==", "!="]) else { return Ok(left) };
        let right = self.sum()?;
        self.call(symbol, vec![left, right], at)
    }

    fn sum(&mut self) -> Result<Expr, Problem> {
        let mut left = self.product()?;
        while let Some((symbol, at)) = self.take(&["+", "-"]) {
            let right = self.product()?;
            left = self.call(symbol, vec![left, right], at)?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expr, Problem> {
        let mut left = self.sign()?;
        while let Some((symbol, at)) = self.take(&["*", "/"]) {
            let right = self.sign()?;
            left = self.call(symbol, vec![left, right], at)?;
        }
        Ok(left)
    }

    fn sign(&mut self) -> Result<Expr, Problem> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Problem::new(
                self.text,
                self.at(),
                format!("more than {DEEPEST} levels inside each other"),
            ));
        }
        let expr = match self.take(&["-"]) {
            Some((_, at)) => {
                let value = self.sign()?;
                self.call("negate", vec![value], at)
            }
            None => self.power(),
        };
        self.depth -= 1;
        expr
    }

    fn power(&mut self) -> Result<Expr, Problem> {
        let base = self.atom()?;
        let Some((_, at)) = self.take(&["^"]) else { return Ok(base) };
        let exponent = self.sign()?;
        self.call("pow", vec![base, exponent], at)
    }

    fn atom(&mut self) -> Result<Expr, Problem> {
        let at = self.at();
        match self.peek().clone() {
            Token::Number(number) => {
                self.next += 1;
                Ok(Expr { what: What::Number(number), at, height: 1 })
            }
            Token::Name(name) => {
                self.next += 1;
                if self.take(&["("]).is_none() {
                    return Ok(Expr { what: What::Name(name), at, height: 1 });
                }
                let mut args = vec![self.comparison()?];
                while self.take(&[","]).is_some() {
                    args.push(self.comparison()?);
                }
                self.close()?;
                self.call(&name, args, at)
            }
            Token::Symbol("(") => {
                self.next += 1;
                let inner = self.comparison()?;
                self.close()?;
                Ok(inner)
            }
            _ => Err(self.unexpected("expected a value")),
        }
    }

    fn close(&mut self) -> Result<(), Problem> {
        match self.take(&[")"]) {
            Some(_) => Ok(()),
            None => Err(self.unexpected("expected `)`")),
        }
    }
}
