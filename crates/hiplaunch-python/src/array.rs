//! Foreign arrays, by Python's buffer protocol: bytes, bytearray, memoryview, array.array, ctypes, numpy arrays and scalars.
//!
//! The functions of the protocol belong to the stable interface of Python only since 3.11, but every Python since 3.0 has them
//! in this form (PEP 3118). So they are declared here.

use std::ffi::{c_char, c_int, c_void};

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi::{self, Py_ssize_t, PyObject};
use pyo3::prelude::*;

/// `Py_buffer` of Python's C interface.
#[repr(C)]
struct RawBuffer {
    buf: *mut c_void,
    obj: *mut PyObject,
    len: Py_ssize_t,
    itemsize: Py_ssize_t,
    readonly: c_int,
    ndim: c_int,
    format: *mut c_char,
    shape: *mut Py_ssize_t,
    strides: *mut Py_ssize_t,
    suboffsets: *mut Py_ssize_t,
    internal: *mut c_void,
}

const WRITABLE: c_int = 0x1;
/// Row-major order without gaps.
const C_CONTIGUOUS: c_int = 0x20 | 0x10 | 0x8;

unsafe extern "C" {
    fn PyObject_GetBuffer(object: *mut PyObject, view: *mut RawBuffer, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut RawBuffer);
}

/// The bytes of an array, in row-major order without gaps. The array can't be resized as long as this lives.
/// It is boxed, because others only see its address: a copy of it would cost more.
pub(crate) struct ArrayBytes(Box<RawBuffer>);

// SAFETY: released with the interpreter attached (see `Drop`); the bytes are accessed through the methods below alone.
unsafe impl Send for ArrayBytes {}
// SAFETY: `&self` changes nothing; the bytes are accessed through the methods below alone.
unsafe impl Sync for ArrayBytes {}

impl ArrayBytes {
    /// Reads the bytes of an array; with `writable`, to write them too.
    ///
    /// # Errors
    /// `TypeError` for an object that has no bytes, `ValueError` for one with gaps or that can't be written.
    pub(crate) fn of(array: &Bound<'_, PyAny>, writable: bool) -> PyResult<ArrayBytes> {
        let mut view = Box::<RawBuffer>::new_uninit();
        let flags = C_CONTIGUOUS | if writable { WRITABLE } else { 0 };
        // SAFETY: the object is live, and the function fills in the view if it returns 0.
        let got = unsafe { PyObject_GetBuffer(array.as_ptr(), view.as_mut_ptr(), flags) };
        if got == 0 {
            // SAFETY: filled in.
            return Ok(ArrayBytes(unsafe { view.assume_init() }));
        }
        let error = PyErr::fetch(array.py());
        Err(refusal(array, writable, error))
    }

    /// The address of the first byte, and the number of bytes.
    #[inline]
    pub(crate) fn range(&self) -> (*mut u8, usize) {
        (self.0.buf.cast(), usize::try_from(self.0.len).unwrap_or(0))
    }

    /// The bytes.
    ///
    /// # Safety
    /// Nothing writes them while the slice is used: the interpreter is attached and no other thread has the array, or the
    /// caller of Python promised it.
    #[inline]
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        let (start, len) = self.range();
        if len == 0 {
            return &[];
        }
        // SAFETY: the protocol keeps that many bytes until the view is released, which is when `self` is dropped.
        unsafe { std::slice::from_raw_parts(start, len) }
    }

    /// Copies `data`, which is at most as long, to the first bytes.
    ///
    /// # Safety
    /// The view is writable, and nothing else uses the bytes meanwhile.
    pub(crate) unsafe fn write(&self, data: &[u8]) {
        let (start, len) = self.range();
        // SAFETY: in bounds; the caller says that the bytes may be written.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), start, data.len().min(len)) };
    }
}

impl Drop for ArrayBytes {
    fn drop(&mut self) {
        // After the interpreter has ended nothing is released any more.
        Python::try_attach(|_| {
            // SAFETY: a view that `PyObject_GetBuffer` filled in, released once, with the interpreter attached.
            unsafe { PyBuffer_Release(&mut *self.0) };
        });
    }
}

/// Whether an object has bytes.
pub(crate) fn has_bytes(object: &Bound<'_, PyAny>) -> bool {
    ArrayBytes::of(object, false).is_ok()
}

#[cold]
fn refusal(array: &Bound<'_, PyAny>, writable: bool, error: PyErr) -> PyErr {
    let py = array.py();
    let kind = array.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    if error.is_instance_of::<PyTypeError>(py) {
        return PyTypeError::new_err(format!("{kind} is no array: it does not have the buffer protocol"));
    }
    if error.is_instance_of::<PyBufferError>(py) || error.is_instance_of::<PyValueError>(py) {
        let mut view = Box::<RawBuffer>::new_uninit();
        // SAFETY: as in `ArrayBytes::of`.
        let readable = unsafe { PyObject_GetBuffer(array.as_ptr(), view.as_mut_ptr(), C_CONTIGUOUS) } == 0;
        if readable {
            // SAFETY: filled in.
            drop(ArrayBytes(unsafe { view.assume_init() }));
        } else {
            // SAFETY: clears the error of the call above.
            unsafe { ffi::PyErr_Clear() };
        }
        return PyValueError::new_err(match writable && readable {
            true => format!("the {kind} can't be written: it is read-only"),
            false => format!(
                "the {kind} is not contiguous in row-major order; copy it, as numpy.ascontiguousarray does"
            ),
        });
    }
    error
}
