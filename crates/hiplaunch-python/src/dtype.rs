//! Element types of arrays, by the names of numpy, of Python's array interface and of DLPack.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElementType {
    pub(crate) name: &'static str,
    /// As the array interface has it. Numpy has no bfloat16, which is an opaque pair of bytes there.
    pub(crate) typestr: &'static str,
    /// DLPack's number of the kind: 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool.
    pub(crate) code: u8,
    pub(crate) bits: u8,
}

const fn of(name: &'static str, typestr: &'static str, code: u8, bits: u8) -> ElementType {
    ElementType { name, typestr, code, bits }
}

const TYPES: [ElementType; 15] = [
    of("uint8", "|u1", 1, 8),
    of("int8", "|i1", 0, 8),
    of("bool", "|b1", 6, 8),
    of("int16", "<i2", 0, 16),
    of("uint16", "<u2", 1, 16),
    of("float16", "<f2", 2, 16),
    of("bfloat16", "<V2", 4, 16),
    of("int32", "<i4", 0, 32),
    of("uint32", "<u4", 1, 32),
    of("float32", "<f4", 2, 32),
    of("int64", "<i8", 0, 64),
    of("uint64", "<u8", 1, 64),
    of("float64", "<f8", 2, 64),
    of("complex64", "<c8", 5, 64),
    of("complex128", "<c16", 5, 128),
];

impl ElementType {
    pub(crate) const UINT8: ElementType = TYPES[0];

    /// The size of an element in bytes.
    pub(crate) fn size(self) -> usize {
        usize::from(self.bits / 8)
    }

    /// The type that DLPack describes so.
    ///
    /// # Errors
    /// `TypeError` for a type that is not known here.
    pub(crate) fn of_dlpack(code: u8, bits: u8, lanes: u16) -> PyResult<ElementType> {
        TYPES.into_iter().find(|t| (t.code, t.bits, 1) == (code, bits, lanes)).ok_or_else(|| {
            PyTypeError::new_err(format!(
                "elements of DLPack's kind {code} with {bits} bits and {lanes} lanes are not known"
            ))
        })
    }

    /// Reads a type: a name (`"float32"`), a type string (`"f4"`, `"<f4"`), or a dtype of numpy or torch.
    ///
    /// # Errors
    /// `ValueError` for an unknown name, `TypeError` for what is no name and has none.
    pub(crate) fn read(given: &Bound<'_, PyAny>) -> PyResult<ElementType> {
        // numpy.float32 and the like are classes, numpy.dtype has a type string, torch.float32 is written so.
        let text: String = (given.extract())
            .or_else(|_| given.getattr("str")?.extract())
            .or_else(|_: PyErr| given.getattr("__name__")?.extract())
            .or_else(|_: PyErr| given.str()?.extract())?;
        let bare = text.rsplit('.').next().unwrap_or_default();
        let plain = bare.trim_start_matches(['<', '|', '=']);
        TYPES
            .into_iter()
            .find(|t| t.name == bare || t.typestr.trim_start_matches(['<', '|']) == plain)
            .ok_or_else(|| match given.is_instance_of::<pyo3::types::PyString>() {
                true => PyValueError::new_err(format!("{text:?} is no element type; known are {}", names())),
                false => PyTypeError::new_err(format!("{text} is no element type; known are {}", names())),
            })
    }
}

fn names() -> String {
    TYPES.map(|t| t.name).join(", ")
}

/// Reads a shape: one extent, or a sequence of extents.
///
/// # Errors
/// `TypeError` or `OverflowError` for what is none.
pub(crate) fn read_shape(given: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    given.extract::<usize>().map(|extent| vec![extent]).or_else(|_| given.extract())
}

/// The number of bytes of an array.
///
/// # Errors
/// `ValueError` if it is larger than the address space.
pub(crate) fn bytes_of(shape: &[usize], element: ElementType) -> PyResult<usize> {
    shape
        .iter()
        .try_fold(element.size(), |bytes, extent| bytes.checked_mul(*extent))
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .ok_or_else(|| {
            PyValueError::new_err(format!("an array of shape {shape:?} is larger than the address space"))
        })
}
