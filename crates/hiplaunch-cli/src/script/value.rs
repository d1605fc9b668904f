//! Element types: numbers into bytes, bytes into numbers, and whether two elements match.

use half::{bf16, f16};

/// The type of a buffer's elements, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dtype {
    /// Bytes, compared exactly and shown in hexadecimal.
    Bytes,
    /// Unsigned 8 bits.
    U8,
    /// Signed 8 bits.
    I8,
    /// Unsigned 16 bits.
    U16,
    /// Signed 16 bits.
    I16,
    /// Unsigned 32 bits.
    U32,
    /// Signed 32 bits.
    I32,
    /// Unsigned 64 bits.
    U64,
    /// Signed 64 bits.
    I64,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

impl Dtype {
    /// The names, in the order of the format's documentation.
    pub const NAMES: &'static [&'static str] =
        &["bytes", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "bf16", "f32", "f64"];

    /// All types, in the order of [`NAMES`](Dtype::NAMES).
    pub const ALL: [Dtype; 13] = [
        Dtype::Bytes,
        Dtype::U8,
        Dtype::I8,
        Dtype::U16,
        Dtype::I16,
        Dtype::U32,
        Dtype::I32,
        Dtype::U64,
        Dtype::I64,
        Dtype::F16,
        Dtype::Bf16,
        Dtype::F32,
        Dtype::F64,
    ];

    /// Returns the type with a name.
    pub fn named(name: &str) -> Option<Dtype> {
        Dtype::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// The name of the type in a script.
    pub fn name(self) -> &'static str {
        Dtype::NAMES[self as usize]
    }

    /// The size of an element in bytes.
    pub fn size(self) -> usize {
        match self {
            Dtype::Bytes | Dtype::U8 | Dtype::I8 => 1,
            Dtype::U16 | Dtype::I16 | Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::U32 | Dtype::I32 | Dtype::F32 => 4,
            Dtype::U64 | Dtype::I64 | Dtype::F64 => 8,
        }
    }

    /// The least and the largest integer; `None` for floats.
    pub(super) fn integers(self) -> Option<(i128, i128)> {
        let bits = 8 * self.size() as u32;
        match self {
            Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => {
                Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
            }
            Dtype::Bytes | Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => Some((0, (1 << bits) - 1)),
            Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64 => None,
        }
    }

    /// Rounds a float to nearest even. Returns the bits, and their value.
    pub(super) fn float_bits(self, value: f64) -> (u64, f64) {
        match self {
            Dtype::F16 => (u64::from(f16::from_f64(value).to_bits()), f16::from_f64(value).to_f64()),
            Dtype::Bf16 => (u64::from(bf16::from_f64(value).to_bits()), bf16::from_f64(value).to_f64()),
            Dtype::F32 => (u64::from((value as f32).to_bits()), f64::from(value as f32)),
            _ => (value.to_bits(), value),
        }
    }

    /// Returns the first element of `bytes`, which must have at least the size of an element.
    pub(super) fn element(self, bytes: &[u8]) -> Element {
        let mut word = [0; 8];
        let size = self.size();
        word[..size].copy_from_slice(&bytes[..size]);
        let bits = u64::from_le_bytes(word);
        match self {
            Dtype::Bytes | Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => {
                Element::Integer(i128::from(bits))
            }
            Dtype::I8 => Element::Integer(i128::from(bits as i8)),
            Dtype::I16 => Element::Integer(i128::from(bits as i16)),
            Dtype::I32 => Element::Integer(i128::from(bits as i32)),
            Dtype::I64 => Element::Integer(i128::from(bits as i64)),
            Dtype::F16 => Element::Float(f16::from_bits(bits as u16).to_f64()),
            Dtype::Bf16 => Element::Float(bf16::from_bits(bits as u16).to_f64()),
            Dtype::F32 => Element::Float(f64::from(f32::from_bits(bits as u32))),
            Dtype::F64 => Element::Float(f64::from_bits(bits)),
        }
    }

    /// Returns an element as text: the shortest digits that distinguish it from its neighbours.
    pub(super) fn show(self, bytes: &[u8]) -> String {
        match (self, self.element(bytes)) {
            (Dtype::Bytes, Element::Integer(n)) => format!("0x{n:02x}"),
            (_, Element::Integer(n)) => n.to_string(),
            (Dtype::F32, Element::Float(x)) => format!("{:?}", x as f32),
            (Dtype::F16 | Dtype::Bf16, Element::Float(x)) => format!("{:?}", x as f32),
            (_, Element::Float(x)) => format!("{x:?}"),
        }
    }
}

/// The exact value of an element of any type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Element {
    Integer(i128),
    Float(f64),
}

impl Element {
    /// Whether `got` (self) is `want` within `atol + rtol * |want|`. NaN matches NaN. An infinity matches only itself:
    /// no distance to it is small.
    pub(super) fn matches(self, want: Element, rtol: f64, atol: f64) -> bool {
        match (self, want) {
            (Element::Integer(got), Element::Integer(want)) => {
                got == want || (got - want).abs() as f64 <= atol + rtol * want.abs() as f64
            }
            (Element::Float(got), Element::Float(want)) => {
                got == want
                    || (got.is_nan() && want.is_nan())
                    || (got.is_finite() && want.is_finite() && (got - want).abs() <= atol + rtol * want.abs())
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_types_agree() {
        assert_eq!(Dtype::ALL.len(), Dtype::NAMES.len());
        for (i, dtype) in Dtype::ALL.into_iter().enumerate() {
            assert_eq!(dtype as usize, i);
            assert_eq!(Dtype::named(Dtype::NAMES[i]), Some(dtype));
        }
        assert_eq!(Dtype::named("f8"), None);
    }

    #[test]
    fn integer_ranges() {
        assert_eq!(Dtype::I8.integers(), Some((-128, 127)));
        assert_eq!(Dtype::U64.integers(), Some((0, u64::MAX.into())));
        assert_eq!(Dtype::I64.integers(), Some((i64::MIN.into(), i64::MAX.into())));
        assert_eq!(Dtype::F32.integers(), None);
    }

    #[test]
    fn floats_round_to_nearest_even() {
        assert_eq!(Dtype::F16.float_bits(65504.0), (0x7bff, 65504.0));
        assert_eq!(Dtype::F16.float_bits(1.0 + 2f64.powi(-11)), (0x3c00, 1.0));
        assert_eq!(Dtype::Bf16.float_bits(1.0 + 3.0 * 2f64.powi(-8)), (0x3f82, 1.015625));
        assert_eq!(Dtype::F32.float_bits(0.1).0, u64::from(0.1f32.to_bits()));
        assert!(Dtype::F32.float_bits(1e300).1.is_infinite());
    }

    #[test]
    fn elements_of_every_type() {
        let bytes = [0xff; 8];
        assert_eq!(Dtype::I32.element(&bytes), Element::Integer(-1));
        assert_eq!(Dtype::U32.element(&bytes), Element::Integer(u32::MAX.into()));
        assert_eq!(Dtype::I64.element(&bytes), Element::Integer(-1));
        assert_eq!(Dtype::Bf16.element(&[0x80, 0x3f]), Element::Float(1.0));
        assert_eq!(Dtype::F16.element(&[0x00, 0x3c]), Element::Float(1.0));
        assert_eq!(Dtype::F32.show(&0.1f32.to_le_bytes()), "0.1");
        assert_eq!(Dtype::Bytes.show(&[7]), "0x07");
    }

    #[test]
    fn what_matches() {
        let (f, i) = (Element::Float, Element::Integer);
        assert!(f(f64::NAN).matches(f(f64::NAN), 0.0, 0.0));
        assert!(!f(1.0).matches(f(f64::NAN), 1.0, 1e9));
        assert!(!f(f64::NAN).matches(f(1.0), 1.0, 1e9));
        assert!(f(0.0).matches(f(-0.0), 0.0, 0.0));
        assert!(f(f64::INFINITY).matches(f(f64::INFINITY), 0.0, 0.0));
        // A naive comparison would find inf <= 1e-6 * inf.
        assert!(!f(3.0).matches(f(f64::INFINITY), 1e-6, 0.0));
        assert!(f(1.0 + 1e-7).matches(f(1.0), 1e-6, 0.0));
        assert!(!f(1.0 + 1e-5).matches(f(1.0), 1e-6, 0.0));
        assert!(f(1e-7).matches(f(0.0), 0.0, 1e-6));
        assert!(i(5).matches(i(6), 0.0, 1.0) && !i(4).matches(i(6), 0.0, 1.0));
        assert!(i(u64::MAX.into()).matches(i(u64::MAX.into()), 0.0, 0.0));
        assert!(!i(u64::MAX.into()).matches(i(i128::from(u64::MAX) - 1), 0.0, 0.0));
    }
}
