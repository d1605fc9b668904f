//! Compares formatting with the host's `snprintf`: that of glibc, with which HIP's runtime prints.

use std::ffi::{CString, c_char, c_int};

use proptest::prelude::*;

use crate::buffered::words;
use crate::format::printf;

/// A conversion specification without length and conversion, and the arguments of its asterisks.
#[derive(Clone, Debug)]
struct Spec {
    text: String,
    stars: Vec<c_int>,
}

/// An argument of a conversion, by its type.
#[derive(Clone, Copy, Debug)]
enum Argument<'a> {
    /// `int`, and types that are promoted to it.
    Int(c_int),
    /// `long` and other 64-bit integers.
    Long(i64),
    /// `double`.
    Real(f64),
    /// `void *`.
    Pointer(u64),
    /// `char *`.
    Text(&'a str),
}

impl Argument<'_> {
    /// Returns the words that the device's `printf` sends: integers are zero-extended.
    fn words(self) -> Vec<u64> {
        match self {
            Argument::Int(value) => vec![u64::from(value.cast_unsigned())],
            Argument::Long(value) => vec![value.cast_unsigned()],
            Argument::Real(value) => vec![value.to_bits()],
            Argument::Pointer(value) => vec![value],
            Argument::Text(text) => words(text.as_bytes()),
        }
    }
}

/// Returns the text of the host's `snprintf` for a format and its arguments.
macro_rules! host {
    ($format:expr $(, $argument:expr)*) => {{
        let format: &str = $format;
        let format = CString::new(format).unwrap();
        let mut text = vec![0u8; 16384];
        // SAFETY: the buffer has as many bytes as the call is told, the format ends with a 0, and the caller gives
        // arguments of the types that it names.
        let length = unsafe {
            libc::snprintf(text.as_mut_ptr().cast::<c_char>(), text.len(), format.as_ptr() $(, $argument)*)
        };
        let length = usize::try_from(length).unwrap();
        assert!(length < text.len(), "{format:?}: {length} bytes");
        text.truncate(length);
        text
    }};
}

/// Formats one conversion with the host's `snprintf`.
fn host(format: &str, stars: &[c_int], argument: Argument<'_>) -> Vec<u8> {
    macro_rules! with {
        ($argument:expr) => {
            match *stars {
                [] => host!(format, $argument),
                [one] => host!(format, one, $argument),
                [one, two] => host!(format, one, two, $argument),
                _ => panic!("a width and a precision are all that an argument can give"),
            }
        };
    }
    match argument {
        Argument::Int(value) => with!(value),
        Argument::Long(value) => with!(value),
        Argument::Real(value) => with!(value),
        Argument::Pointer(value) => with!(value as usize as *const u8),
        Argument::Text(text) => {
            let text = CString::new(text).unwrap();
            with!(text.as_ptr())
        }
    }
}

/// Formats one conversion with ours.
fn ours(format: &str, stars: &[c_int], argument: Argument<'_>) -> Vec<u8> {
    let mut message = words(format.as_bytes());
    message.extend(stars.iter().map(|star| u64::from(star.cast_unsigned())));
    message.extend(argument.words());
    printf(&message)
}

/// Returns whether the host's text may have glibc's mistake: up to 2.36 at least, `%#g` of 999999.5 is `1.e+06`,
/// without the zeros that C keeps there, as rounding makes it a power of ten.
fn may_lack_zeros(format: &str, host: &[u8]) -> bool {
    format.contains('#')
        && format.contains(['g', 'G'])
        && host.windows(3).any(|bytes| bytes.eq_ignore_ascii_case(b"1.e"))
}

/// Returns every combination of flags with some widths and precisions.
fn specs() -> Vec<Spec> {
    let widths = [("", None), ("1", None), ("7", None), ("26", None), ("*", Some(12)), ("*", Some(-12))];
    let precisions = [
        ("", None),
        (".", None),
        (".0", None),
        (".1", None),
        (".2", None),
        (".6", None),
        (".30", None),
        (".*", Some(3)),
        (".*", Some(-3)),
    ];
    let mut specs = Vec::new();
    for flags in 0..32 {
        let flags: String = (0..5).filter(|n| flags >> n & 1 != 0).map(|n| char::from(b"-+ #0"[n])).collect();
        for (width, first) in widths {
            for (precision, second) in precisions {
                let text = format!("%{flags}{width}{precision}");
                specs.push(Spec { text, stars: first.into_iter().chain(second).collect() });
            }
        }
    }
    specs
}

/// Compares a conversion, including its length, for every argument and every specification.
fn compare(conversion: &str, arguments: &[Argument<'_>]) {
    let (mut compared, mut wrong) = (0, Vec::new());
    for Spec { text, stars } in specs() {
        let format = format!("{text}{conversion}|");
        for argument in arguments {
            compared += 1;
            let (ours, host) = (ours(&format, &stars, *argument), host(&format, &stars, *argument));
            if ours != host && !may_lack_zeros(&format, &host) {
                let [ours, host] = [ours, host].map(|text| String::from_utf8_lossy(&text).into_owned());
                wrong.push(format!("{format} {stars:?} {argument:?}: {ours:?}, the host {host:?}"));
            }
        }
    }
    let shown = wrong.iter().step_by(wrong.len().div_ceil(20).max(1)).cloned().collect::<Vec<_>>();
    assert!(wrong.is_empty(), "{} of {compared} differ, such as\n{}", wrong.len(), shown.join("\n"));
}

/// Returns integers at the limits of every length.
fn integers() -> Vec<i64> {
    let mut values = vec![0, 1, 7, 8, 9, 10, 64, 100, 1_234_567, 1_234_567_890_123];
    for bits in [8, 16, 32, 63] {
        let border = (1i128 << bits) as i64;
        values.extend([border / 2 - 1, border / 2, border.wrapping_sub(1), border]);
    }
    values.push(i64::MAX);
    let negative: Vec<i64> = values.iter().map(|value| value.wrapping_neg()).collect();
    values.extend(negative);
    values
}

/// Returns floats at the limits of rounding, of the two forms of `%g`, and of the format.
fn reals() -> Vec<f64> {
    let mut values = vec![
        0.0,
        5e-324,
        1.5e-323,
        f64::from_bits((1 << 52) - 1),
        f64::MIN_POSITIVE,
        1e-100,
        9.999_995e-5,
        1e-4,
        0.000_123_456_789,
        0.05,
        0.1,
        0.25,
        0.5,
        0.95,
        1.0,
        f64::from_bits(1f64.to_bits() + 1),
        f64::from_bits(2f64.to_bits() - 1),
        1.0 + 1.0 / 32.0,
        1.0 + 3.0 / 32.0,
        1.5,
        2.5,
        3.5,
        9.5,
        9.999_999_5,
        std::f64::consts::PI,
        12_345.678,
        99_999.95,
        999_999.5,
        1e6,
        123_456_789.0,
        1e15,
        9_007_199_254_740_993.0,
        1e22,
        1e23,
        1e100,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
    ];
    let negative: Vec<f64> = values.iter().map(|value| value.copysign(-1.0)).collect();
    values.extend(negative);
    values
}

#[test]
fn integers_are_formatted_as_by_the_host() {
    for conversion in ["d", "i", "u", "o", "x", "X"] {
        for length in ["hh", "h", "", "l", "ll", "j", "z", "t", "q"] {
            let argument = |value: i64| match length {
                "hh" | "h" | "" => Argument::Int(value as c_int),
                _ => Argument::Long(value),
            };
            compare(
                &format!("{length}{conversion}"),
                &integers().into_iter().map(argument).collect::<Vec<_>>(),
            );
        }
    }
}

#[test]
fn reals_are_formatted_as_by_the_host() {
    let arguments: Vec<_> = reals().into_iter().map(Argument::Real).collect();
    for conversion in ["f", "F", "e", "E", "g", "G", "a", "A", "lf", "la"] {
        compare(conversion, &arguments);
    }
}

#[test]
fn pointers_are_formatted_as_by_the_host() {
    compare("p", &[0, 1, 0x1000, 0x7f12_3456_7890, u64::MAX].map(Argument::Pointer));
}

#[test]
fn characters_and_strings_are_formatted_as_by_the_host() {
    compare("c", &[b'x', 0, b' ', 0xff].map(|byte| Argument::Int(byte.into())));
    compare("s", &["", "a", "string", "a string of some words", "ünïcödé"].map(Argument::Text));
    compare("%", &[Argument::Int(0)]);
}

/// Generates flags, a width and a precision of any size, in any order that C allows.
fn spec() -> impl Strategy<Value = String> {
    let size = || prop_oneof![2 => Just(String::new()), 3 => (0..60u32).prop_map(|n| n.to_string())];
    let precision = prop_oneof![Just(String::new()), size().prop_map(|n| format!(".{n}"))];
    ("[-+ #0]{0,6}", size(), precision).prop_map(|(flags, width, precision)| {
        // A 0 at the start of the width is another flag.
        format!("%{flags}{width}{precision}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn any_real_is_formatted_as_by_the_host(
        spec in spec(),
        conversion in "[fFeEgGaA]",
        bits: u64,
        value in -1e9..1e9,
    ) {
        let format = spec + &conversion;
        for value in [f64::from_bits(bits), value, f64::from(value as f32), value.round() / 64.0] {
            let argument = Argument::Real(value);
            let (ours, host) = (ours(&format, &[], argument), host(&format, &[], argument));
            prop_assume!(!may_lack_zeros(&format, &host));
            prop_assert_eq!(
                String::from_utf8(ours).unwrap(),
                String::from_utf8(host).unwrap(),
                "{} of {:?} ({:#x})", format, value, value.to_bits(),
            );
        }
    }

    #[test]
    fn any_integer_is_formatted_as_by_the_host(spec in spec(), conversion in "[diuoxX]", value: i64, shift in 0..64u32) {
        let value = value >> shift;
        for (length, argument) in [
            ("hh", Argument::Int(value as c_int)),
            ("h", Argument::Int(value as c_int)),
            ("", Argument::Int(value as c_int)),
            ("l", Argument::Long(value)),
        ] {
            let format = format!("{spec}{length}{conversion}");
            prop_assert_eq!(
                String::from_utf8(ours(&format, &[], argument)).unwrap(),
                String::from_utf8(host(&format, &[], argument)).unwrap(),
                "{} of {}", format, value,
            );
        }
    }

    /// Each conversion consumes its own arguments, and the text between them is unchanged.
    #[test]
    fn a_line_of_conversions_is_formatted_as_by_the_host(
        specs in prop::array::uniform5(spec()),
        between in prop::array::uniform6("[a-z %\n]{0,4}"),
        int: c_int,
        text in "[ -~]{0,20}",
        bits: u64,
        long: u64,
        pointer in prop_oneof![Just(0u64), any::<u64>()],
    ) {
        let mut format = String::new();
        for (n, conversion) in ["d", "s", "g", "lx", "p"].into_iter().enumerate() {
            format += &between[n].replace('%', "%%");
            format += &specs[n];
            format += conversion;
        }
        format += &between[5].replace('%', "%%");
        let real = f64::from_bits(bits);
        let mut message = words(format.as_bytes());
        for argument in [
            Argument::Int(int),
            Argument::Text(&text),
            Argument::Real(real),
            Argument::Long(long.cast_signed()),
            Argument::Pointer(pointer),
        ] {
            message.extend(argument.words());
        }
        let text = CString::new(text).unwrap();
        let host = host!(&format, int, text.as_ptr(), real, long, pointer as usize as *const u8);
        prop_assume!(!may_lack_zeros(&format, &host));
        prop_assert_eq!(
            String::from_utf8(printf(&message)).unwrap(),
            String::from_utf8(host).unwrap(),
            "{}", format,
        );
    }

    /// No message causes a panic or an unlimited text.
    #[test]
    fn any_message_ends(format in "([-+ #0*.1-9hlLqjztdiuoxXcspfFeEgGaAn]|%){0,40}", arguments: Vec<u64>) {
        let mut message = words(format.as_bytes());
        message.extend(&arguments);
        let text = printf(&message);
        prop_assert!(text.len() <= 40 * 8192 + 8 * arguments.len());
    }
}
