//! DLPack (version 1.1): arrays that libraries give each other without a copy, as capsules with a C structure.
//!
//! <https://dmlc.github.io/dlpack/latest/python_spec.html>

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dtype::{ElementType, bytes_of};

/// `kDLCPU`.
pub(crate) const CPU: i32 = 1;
/// `kDLROCM`.
pub(crate) const ROCM: i32 = 10;
/// `kDLROCMHost`: pinned memory.
pub(crate) const ROCM_HOST: i32 = 11;

const NAME: &CStr = c"dltensor";
const NAME_VERSIONED: &CStr = c"dltensor_versioned";
const USED: &CStr = c"used_dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

const READ_ONLY: u64 = 1;

#[repr(C)]
#[derive(Clone, Copy)]
struct DlDevice {
    kind: i32,
    ordinal: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DlType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DlTensor {
    data: *mut c_void,
    device: DlDevice,
    ndim: i32,
    dtype: DlType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// Gets the address of the managed tensor that it is a field of.
type Deleter = unsafe extern "C" fn(*mut c_void);

/// `DLManagedTensor`, of before version 1.
#[repr(C)]
struct Unversioned {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<Deleter>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<Deleter>,
    flags: u64,
    tensor: DlTensor,
}

/// An array to be exported.
pub(crate) struct Export {
    pub(crate) data: *mut u8,
    /// The kind of device, and its ordinal.
    pub(crate) device: (i32, i32),
    pub(crate) shape: Vec<usize>,
    pub(crate) element: ElementType,
    /// Keeps the memory. It may be dropped in any thread.
    pub(crate) owner: Box<dyn Send>,
}

/// A capsule's tensor with all that it points to. The tensor is first, so that its address is this one's.
#[repr(C)]
struct Exported<T> {
    tensor: T,
    extents: Vec<i64>,
    _owner: Box<dyn Send>,
}

/// Frees what [`Export::into_capsule`] made.
///
/// # Safety
/// `tensor` is the address of an `Exported<T>` of `Box::into_raw`, which nobody uses any more.
unsafe extern "C" fn delete<T>(tensor: *mut c_void) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(tensor.cast::<Exported<T>>()) });
}

/// Frees a tensor that nobody took out of its capsule.
///
/// # Safety
/// Called by Python, for a capsule of [`Export::into_capsule`].
unsafe extern "C" fn drop_capsule<T>(capsule: *mut ffi::PyObject) {
    for name in [NAME, NAME_VERSIONED] {
        // SAFETY: a live capsule. Whoever took the tensor has renamed it.
        if unsafe { ffi::PyCapsule_IsValid(capsule, name.as_ptr()) } != 0 {
            // SAFETY: the capsule still owns its tensor, which is a `T`.
            unsafe { delete::<T>(ffi::PyCapsule_GetPointer(capsule, name.as_ptr())) };
        }
    }
}

impl Export {
    /// Makes the capsule that `__dlpack__` returns. `max_version` is the newest version that the consumer knows.
    pub(crate) fn into_capsule(self, py: Python<'_>, max_version: Option<(u32, u32)>) -> PyResult<Py<PyAny>> {
        match max_version {
            Some((1.., _)) => self.boxed(py, NAME_VERSIONED, |tensor| Versioned {
                version: [1, 1],
                context: std::ptr::null_mut(),
                deleter: Some(delete::<Versioned>),
                flags: 0,
                tensor,
            }),
            _ => self.boxed(py, NAME, |tensor| Unversioned {
                tensor,
                context: std::ptr::null_mut(),
                deleter: Some(delete::<Unversioned>),
            }),
        }
    }

    fn boxed<T>(
        self,
        py: Python<'_>,
        name: &CStr,
        managed: impl FnOnce(DlTensor) -> T,
    ) -> PyResult<Py<PyAny>> {
        let ndim = self.shape.len();
        let mut extents: Vec<i64> = self.shape.iter().map(|extent| *extent as i64).collect();
        let mut strides = vec![1; ndim];
        for axis in (1..ndim).rev() {
            strides[axis - 1] = strides[axis] * extents[axis].max(1);
        }
        extents.extend(strides);
        let shape = extents.as_mut_ptr();
        let tensor = DlTensor {
            data: self.data.cast(),
            device: DlDevice { kind: self.device.0, ordinal: self.device.1 },
            ndim: ndim as i32,
            dtype: DlType { code: self.element.code, bits: self.element.bits, lanes: 1 },
            shape,
            strides: shape.wrapping_add(ndim),
            byte_offset: 0,
        };
        let boxed = Box::new(Exported { tensor: managed(tensor), extents, _owner: self.owner });
        debug_assert_eq!(
            boxed.extents.as_ptr(),
            shape.cast_const(),
            "a vector's elements stay where they are"
        );
        let raw = Box::into_raw(boxed);
        // SAFETY: the pointer is not null, and the destructor is for what it points to.
        let capsule = unsafe { ffi::PyCapsule_New(raw.cast(), name.as_ptr(), Some(drop_capsule::<T>)) };
        if capsule.is_null() {
            // SAFETY: no capsule owns it.
            drop(unsafe { Box::from_raw(raw) });
        }
        // SAFETY: a new reference, or null with an exception set.
        unsafe { Bound::from_owned_ptr_or_err(py, capsule) }.map(Bound::unbind)
    }
}

/// Somebody else's array. Dropping it tells its owner that it is not used any more.
pub(crate) struct Tensor {
    /// Live until the deleter is called. Nobody changes it.
    tensor: NonNull<DlTensor>,
    read_only: bool,
    managed: NonNull<c_void>,
    deleter: Option<Deleter>,
}

// SAFETY: DLPack lets any thread use and delete a tensor, one at a time.
unsafe impl Send for Tensor {}
// SAFETY: `&self` only reads.
unsafe impl Sync for Tensor {}

impl Drop for Tensor {
    fn drop(&mut self) {
        // Some owners' deleters need the interpreter. After it has ended they are not called.
        Python::try_attach(|_| {
            if let Some(deleter) = self.deleter {
                // SAFETY: taken out of its capsule, and deleted here alone.
                unsafe { deleter(self.managed.as_ptr()) };
            }
        });
    }
}

impl Tensor {
    /// Takes the tensor of an object that has `__dlpack__`. Its owner makes the stream wait for the work on it; `stream` is
    /// `None` for memory of the host.
    ///
    /// # Errors
    /// The owner's; `TypeError` for an object that gives no capsule.
    pub(crate) fn of(object: &Bound<'_, PyAny>, stream: Option<u64>) -> PyResult<Tensor> {
        let py = object.py();
        let keywords = PyDict::new(py);
        if let Some(stream) = stream {
            keywords.set_item("stream", stream)?;
        }
        let old = keywords.copy()?;
        keywords.set_item("max_version", (1, 1))?;
        let capsule = match object.call_method("__dlpack__", (), Some(&keywords)) {
            // Owners of before version 1 don't know the keyword.
            Err(error) if error.is_instance_of::<PyTypeError>(py) => {
                object.call_method("__dlpack__", (), Some(&old))?
            }
            other => other?,
        };
        let take = |name: &CStr, used: &'static CStr| -> PyResult<Option<NonNull<c_void>>> {
            // SAFETY: a live object; what is no capsule of that name is not valid.
            if unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) } == 0 {
                return Ok(None);
            }
            // SAFETY: valid, as was checked.
            let tensor = NonNull::new(unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) });
            // SAFETY: a valid capsule and a name that lives as long as the process. From here on the tensor is ours.
            if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
                return Err(PyErr::fetch(py));
            }
            Ok(tensor)
        };
        if let Some(managed) = take(NAME_VERSIONED, USED_VERSIONED)? {
            let raw = managed.cast::<Versioned>().as_ptr();
            // SAFETY: live until it is deleted. The version and the deleter are where every version has them.
            let (version, deleter) = unsafe { ((*raw).version[0], (*raw).deleter) };
            // SAFETY: an address in the same structure.
            let tensor = unsafe { NonNull::new_unchecked(&raw mut (*raw).tensor) };
            let mut tensor = Tensor { tensor, read_only: true, managed, deleter };
            if version != 1 {
                return Err(PyBufferError::new_err("the array is of a version of DLPack other than 1"));
            }
            // SAFETY: a live tensor of version 1, which has flags.
            tensor.read_only = unsafe { (*raw).flags } & READ_ONLY != 0;
            return Ok(tensor);
        }
        let managed = take(NAME, USED)?
            .ok_or_else(|| PyTypeError::new_err("__dlpack__ returned no unused DLPack capsule"))?;
        // SAFETY: live until it is deleted. The tensor is its first field.
        let deleter = unsafe { managed.cast::<Unversioned>().as_ref() }.deleter;
        Ok(Tensor { tensor: managed.cast(), read_only: false, managed, deleter })
    }

    fn tensor(&self) -> &DlTensor {
        // SAFETY: live until `self` is dropped, and nobody changes it.
        unsafe { self.tensor.as_ref() }
    }

    /// The kind of device and its ordinal.
    pub(crate) fn device(&self) -> (i32, i32) {
        (self.tensor().device.kind, self.tensor().device.ordinal)
    }

    /// Where the elements begin.
    pub(crate) fn address(&self) -> usize {
        self.tensor().data.expose_provenance().wrapping_add(self.tensor().byte_offset as usize)
    }

    /// The shape and the element type, of an array that can be written and has no gaps.
    ///
    /// # Errors
    /// `ValueError` for another array.
    pub(crate) fn layout(&self) -> PyResult<(Vec<usize>, ElementType)> {
        if self.read_only {
            return Err(PyValueError::new_err("the array can't be written: it is read-only"));
        }
        let tensor = self.tensor();
        let extents = |start: *mut i64| -> Vec<i64> {
            match (start.is_null(), usize::try_from(tensor.ndim)) {
                // SAFETY: the owner says that there are as many.
                (false, Ok(ndim)) => unsafe { std::slice::from_raw_parts(start, ndim) }.to_vec(),
                _ => Vec::new(),
            }
        };
        let shape: Vec<usize> =
            extents(tensor.shape).into_iter().map(|extent| usize::try_from(extent).unwrap_or(0)).collect();
        let (mut dense, strides) = (1, extents(tensor.strides));
        for (extent, stride) in shape.iter().zip(strides).rev() {
            // The stride of an axis with one element says nothing.
            if *extent != 1 && stride != dense && !shape.contains(&0) {
                return Err(PyValueError::new_err(
                    "the array is not contiguous in row-major order; copy it, as numpy.ascontiguousarray does",
                ));
            }
            dense = dense.saturating_mul(*extent as i64);
        }
        let DlType { code, bits, lanes } = tensor.dtype;
        let element = ElementType::of_dlpack(code, bits, lanes)?;
        bytes_of(&shape, element)?;
        Ok((shape, element))
    }
}
