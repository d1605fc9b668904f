//! Values of attributes: bytes for memory of the caller, who knows how many they are.

use std::ffi::CStr;

use super::status::Status;

/// Memory of the caller for the value of an attribute: null, or writable for as many bytes as the attribute has.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Place(*mut u8);

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value(Vec<u8>);

impl Value {
    /// The characters of a name (`HSA_PUBLIC_NAME_SIZE`), of which the last is a zero byte.
    const NAME: usize = 64;

    /// A name, which has a fixed number of bytes.
    pub(crate) fn name(text: &str) -> Value {
        Value(crate::abi::field::<{ Value::NAME }>(text).to_vec())
    }

    /// Text with a zero byte, in as many bytes as it has.
    pub(crate) fn text(text: &str) -> Value {
        Value(text.bytes().chain([0]).collect())
    }

    /// Text without a zero byte.
    pub(crate) fn characters(text: &str) -> Value {
        Value(text.as_bytes().to_vec())
    }

    /// A text of this library's.
    pub(crate) fn pointer(text: &'static CStr) -> Value {
        Value(text.as_ptr().expose_provenance().to_ne_bytes().to_vec())
    }

    pub(crate) fn flags(flags: &[bool]) -> Value {
        Value(flags.iter().map(|flag| u8::from(*flag)).collect())
    }

    pub(crate) fn characters_of<const N: usize>(bytes: [u8; N]) -> Value {
        Value(bytes.to_vec())
    }

    pub(crate) fn bytes(count: usize) -> Value {
        Value(vec![0; count])
    }

    pub(crate) fn halves(numbers: &[u16]) -> Value {
        Value(numbers.iter().flat_map(|number| number.to_ne_bytes()).collect())
    }

    pub(crate) fn words(numbers: &[u32]) -> Value {
        Value(numbers.iter().flat_map(|number| number.to_ne_bytes()).collect())
    }

    /// Writes it. Fails for a null pointer.
    pub(crate) fn write(self, to: Place) -> Result<(), Status> {
        if to.0.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the caller's memory has room for the attribute's bytes, as HSA documents, and is not this vector's.
        unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr(), to.0, self.0.len()) };
        Ok(())
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::flags(&[flag])
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl From<$number> for Value {
            fn from(number: $number) -> Value {
                Value(number.to_ne_bytes().to_vec())
            }
        }
    )*};
}

numbers! { u8 u16 u32 u64 }
