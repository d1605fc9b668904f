//! Formats messages as C's `printf` does. A message is a list of words: the format string, then the arguments, strings
//! inline.

/// A conversion specification without the conversion character.
#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// The number of bits of an integer argument.
    bits: u32,
}

/// The largest width and precision. Larger ones are reduced to it: no line is that long, but a hostile format may
/// request it.
const MAX_WIDTH: usize = 4096;

/// The words of the remaining arguments.
struct Words<'a>(&'a [u64]);

impl Words<'_> {
    fn next(&mut self) -> u64 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// Reads a string: bytes up to a 0, padded to whole words.
    fn string(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        while !self.0.is_empty() {
            for byte in self.next().to_le_bytes() {
                if byte == 0 {
                    return out;
                }
                out.push(byte);
            }
        }
        out
    }
}

/// Formats a message. Conversions that C doesn't have are copied unchanged.
pub(crate) fn printf(message: &[u64]) -> Vec<u8> {
    let mut words = Words(message);
    let format = words.string();
    let mut out = Vec::with_capacity(format.len());
    let mut rest = &format[..];
    while let Some(at) = rest.iter().position(|b| *b == b'%') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let (spec, used) = parse(rest, &mut words);
        let Some(conversion) = rest.get(used) else { break };
        if !convert(&mut out, &spec, *conversion, &mut words) {
            out.extend_from_slice(&rest[..=used]);
        }
        rest = &rest[used + 1..];
    }
    out.extend_from_slice(rest);
    out
}

/// Parses flags, width, precision and length after the `%` at the start. Also returns the number of bytes that were
/// parsed.
fn parse(text: &[u8], words: &mut Words<'_>) -> (Spec, usize) {
    let mut spec = Spec { bits: 32, ..Spec::default() };
    let mut at = 1;
    let peek = |at: usize| text.get(at).copied().unwrap_or(0);
    loop {
        match peek(at) {
            b'-' => spec.left = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            b'#' => spec.alternate = true,
            b'0' => spec.zero = true,
            _ => break,
        }
        at += 1;
    }
    let number = |at: &mut usize, words: &mut Words<'_>| {
        if peek(*at) == b'*' {
            *at += 1;
            return words.next() as i32 as i64;
        }
        let mut n = 0i64;
        while peek(*at).is_ascii_digit() {
            n = (n * 10 + i64::from(peek(*at) - b'0')).min(MAX_WIDTH as i64);
            *at += 1;
        }
        n
    };
    let width = number(&mut at, words);
    spec.left |= width < 0;
    spec.width = (width.unsigned_abs() as usize).min(MAX_WIDTH);
    if peek(at) == b'.' {
        at += 1;
        let precision = number(&mut at, words);
        spec.precision = usize::try_from(precision).ok().map(|p| p.min(MAX_WIDTH));
    }
    loop {
        match peek(at) {
            b'h' => spec.bits = if spec.bits == 16 { 8 } else { 16 },
            b'l' | b'j' | b'z' | b't' | b'L' | b'q' => spec.bits = 64,
            _ => return (spec, at),
        }
        at += 1;
    }
}

/// Writes one conversion. Returns false if C doesn't have it.
fn convert(out: &mut Vec<u8>, spec: &Spec, conversion: u8, words: &mut Words<'_>) -> bool {
    let sign = |negative: bool| match (negative, spec.plus, spec.space) {
        (true, _, _) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    };
    match conversion {
        b'%' => out.push(b'%'),
        b'd' | b'i' => {
            let shift = 64 - spec.bits;
            let value = (words.next() << shift) as i64 >> shift;
            integer(out, spec, sign(value < 0), padded(value.unsigned_abs().to_string(), spec.precision));
        }
        b'u' | b'o' | b'x' | b'X' => {
            let value = words.next() & (u64::MAX >> (64 - spec.bits));
            let (prefix, digits) = match conversion {
                b'u' => ("", value.to_string()),
                b'o' => ("", format!("{value:o}")),
                b'x' => ("0x", format!("{value:x}")),
                _ => ("0X", format!("{value:X}")),
            };
            let prefix = if spec.alternate && value != 0 { prefix } else { "" };
            let mut digits = padded(digits, spec.precision);
            if conversion == b'o' && spec.alternate && !digits.starts_with('0') {
                digits.insert(0, '0');
            }
            integer(out, spec, prefix, digits);
        }
        b'c' => pad(out, spec, b"", &[words.next() as u8], false),
        b's' => {
            let mut text = words.string();
            text.truncate(spec.precision.unwrap_or(usize::MAX));
            pad(out, spec, b"", &text, false);
        }
        b'p' => match words.next() {
            0 => pad(out, spec, b"", b"(nil)", false),
            address => {
                let digits = padded(format!("{address:x}"), spec.precision);
                integer(out, spec, &format!("{}0x", sign(false)), digits);
            }
        },
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
            let value = f64::from_bits(words.next());
            let hexadecimal = conversion.eq_ignore_ascii_case(&b'a') && value.is_finite();
            let mut prefix = sign(value.is_sign_negative()).to_owned() + if hexadecimal { "0x" } else { "" };
            let mut text = float(value.abs(), spec, conversion.to_ascii_lowercase());
            if conversion.is_ascii_uppercase() {
                prefix.make_ascii_uppercase();
                text.make_ascii_uppercase();
            }
            pad(out, spec, prefix.as_bytes(), text.as_bytes(), spec.zero && value.is_finite());
        }
        // `%n` would store to device memory. It consumes its argument and does nothing.
        b'n' => drop(words.next()),
        _ => return false,
    }
    true
}

/// Adds zeros before the digits of an integer, up to the precision. With precision 0, a 0 has no digits.
fn padded(mut digits: String, precision: Option<usize>) -> String {
    match precision {
        Some(0) if digits == "0" => digits.clear(),
        Some(p) if digits.len() < p => digits.insert_str(0, &"0".repeat(p - digits.len())),
        _ => {}
    }
    digits
}

fn integer(out: &mut Vec<u8>, spec: &Spec, prefix: &str, digits: String) {
    pad(out, spec, prefix.as_bytes(), digits.as_bytes(), spec.zero && spec.precision.is_none());
}

fn pad(out: &mut Vec<u8>, spec: &Spec, prefix: &[u8], body: &[u8], zeros: bool) {
    let missing = spec.width.saturating_sub(prefix.len() + body.len());
    if !spec.left && !zeros {
        out.resize(out.len() + missing, b' ');
    }
    out.extend_from_slice(prefix);
    if !spec.left && zeros {
        out.resize(out.len() + missing, b'0');
    }
    out.extend_from_slice(body);
    if spec.left {
        out.resize(out.len() + missing, b' ');
    }
}

/// Formats a value that isn't negative, as C's `%f`, `%e`, `%g` and `%a` do, without the `0x` of `%a`.
fn float(value: f64, spec: &Spec, conversion: u8) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return "inf".into();
    }
    let precision = spec.precision.unwrap_or(6);
    let text = match conversion {
        b'f' => format!("{value:.precision$}"),
        b'e' => exponential(value, precision).0,
        b'g' => {
            let significant = precision.max(1);
            let (text, exponent) = exponential(value, significant - 1);
            let fixed = exponent >= -4 && exponent < significant as i32;
            let text = if fixed {
                format!("{value:.*}", (significant as i32 - 1 - exponent) as usize)
            } else {
                text
            };
            if spec.alternate { text } else { without_zeros(&text) }
        }
        _ => hexadecimal(value, spec.precision),
    };
    if spec.alternate { with_point(text) } else { text }
}

/// Removes the zeros at the end of a fraction, and a point without a digit after it.
fn without_zeros(text: &str) -> String {
    let (mantissa, exponent) = text.split_at(text.find('e').unwrap_or(text.len()));
    let mantissa = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    format!("{mantissa}{exponent}")
}

/// Inserts a point after the digits of a number that has none, as the flag `#` requires.
fn with_point(mut text: String) -> String {
    if !text.contains('.') {
        text.insert(text.find(['e', 'p']).unwrap_or(text.len()), '.');
    }
    text
}

/// Formats a value as `d.ddde+dd`. Also returns the exponent.
fn exponential(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    (format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs()), exponent)
}

/// Formats a value as `1.hhhp+d`, which follows `0x`.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (mut exponent, mut fraction) = ((bits >> 52) as i32 - 1023, bits & ((1 << 52) - 1));
    let mut lead = 1;
    if exponent == -1023 {
        (lead, exponent) = if fraction == 0 { (0, 0) } else { (0, -1022) };
    }
    let mut digits = 13;
    if let Some(p) = precision.filter(|p| *p < 13) {
        // Rounds to nearest, ties to even.
        let drop = 4 * (13 - p as u32);
        let all = lead << 52 | fraction;
        let half = 1u64 << (drop - 1);
        let odd = all >> drop & 1;
        let rounded = (all + half - 1 + odd) >> drop << drop;
        (lead, fraction) = (rounded >> 52, rounded & ((1 << 52) - 1));
        digits = p;
    }
    let text = format!("{fraction:013x}");
    let mut text = text[..digits].to_owned();
    match precision {
        None => text.truncate(text.trim_end_matches('0').len()),
        Some(p) => text.extend(std::iter::repeat_n('0', p.saturating_sub(13))),
    }
    let point = if text.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{lead}{point}{text}p{sign}{}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::printf;
    use crate::buffered::words;

    #[derive(Clone)]
    enum Arg {
        Word(u64),
        Text(&'static str),
    }
    use Arg::{Text, Word};

    fn show(format: &str, args: &[Arg]) -> String {
        let mut message = words(format.as_bytes());
        for arg in args {
            match arg {
                Word(word) => message.push(*word),
                Text(text) => message.extend(words(text.as_bytes())),
            }
        }
        String::from_utf8(printf(&message)).unwrap()
    }

    fn f(value: f64) -> Arg {
        Word(value.to_bits())
    }

    #[test]
    fn printf_formats_as_c_does() {
        // Expected texts are glibc's.
        for (format, args, expected) in [
            ("plain", vec![], "plain"),
            (
                "%d|%5d|%-5d|%05d|%+d",
                vec![Word(7), Word(7), Word(7), Word(7), Word(7)],
                "7|    7|7    |00007|+7",
            ),
            ("%d %i", vec![Word(-3i32 as u32 as u64), Word(-3i64 as u64)], "-3 -3"),
            ("%ld %lu", vec![Word(u64::MAX), Word(u64::MAX)], "-1 18446744073709551615"),
            ("%hhd %hu", vec![Word(0x1ff), Word(0x1_0001)], "-1 1"),
            ("%x %#X %o %#o", vec![Word(255), Word(255), Word(8), Word(8)], "ff 0XFF 10 010"),
            ("%.3d %.0d| %8.3x", vec![Word(5), Word(0), Word(10)], "005 |      00a"),
            (
                "%s|%8s|%-8s|%.2s",
                vec![Text("abc"), Text("abc"), Text("abcdefgh"), Text("abc")],
                "abc|     abc|abcdefgh|ab",
            ),
            ("%c%c", vec![Word(104), Word(105)], "hi"),
            ("%*d|%-*d|%.*f", vec![Word(4), Word(1), Word(4), Word(1), Word(2), f(1.0)], "   1|1   |1.00"),
            (
                "%f %.2f %8.3f %-8.1f|",
                vec![f(1.5), f(2.345), f(-1.0), f(9.96)],
                "1.500000 2.35   -1.000 10.0    |",
            ),
            ("%e %.0e %E", vec![f(12345.678), f(9.9), f(1e-10)], "1.234568e+04 1e+01 1.000000E-10"),
            (
                "%g %g %g %g %g",
                vec![f(100000.0), f(1e6), f(0.0001), f(0.00001), f(0.0)],
                "100000 1e+06 0.0001 1e-05 0",
            ),
            ("%g %.3g %#g", vec![f(3.0), f(1234.5), f(3.0)], "3 1.23e+03 3.00000"),
            (
                "%f %F %g %5.1f|%05f",
                vec![f(f64::NAN), f(f64::INFINITY), f(-f64::INFINITY), f(f64::NAN), f(f64::INFINITY)],
                "nan INF -inf   nan|  inf",
            ),
            (
                "%a %a %.2a %a",
                vec![f(1.0), f(0.1), f(1.999), f(0.0)],
                "0x1p+0 0x1.999999999999ap-4 0x2.00p+0 0x0p+0",
            ),
            // Not as glibc 2.36, which removes the zeros here: in C, `#` keeps them.
            ("%#g %#.2g", vec![f(999_999.5), f(99.7)], "1.00000e+06 1.0e+02"),
            ("%p %%", vec![Word(0x1000)], "0x1000 %"),
            (
                "%p|%8.2p|%+p|% p|%012p|%.6p",
                vec![Word(0), Word(0), Word(16), Word(16), Word(16), Word(16)],
                "(nil)|   (nil)|+0x10| 0x10|0x0000000010|0x000010",
            ),
            ("%#o %#.0o %#.3o %#05o", vec![Word(0), Word(0), Word(8), Word(8)], "0 0 010 00010"),
            ("%#.0e %#.0f %#.1g %#a %012a", vec![f(1.0); 5], "1.e+00 1. 1. 0x1.p+0 0x0000001p+0"),
            ("%y %d", vec![Word(1)], "%y 1"),
            ("end %", vec![], "end %"),
        ] {
            assert_eq!(show(format, &args), expected, "{format}");
        }
    }

    #[test]
    fn hostile_formats_end() {
        assert_eq!(show("%999999999999d", &[Word(1)]).len(), super::MAX_WIDTH);
        assert_eq!(show("%s %s %f", &[]), "  0.000000");
        assert_eq!(printf(&[]), b"");
        assert_eq!(printf(&[u64::MAX]), [0xff; 8]);
    }
}
