//! The arguments of a launch: what Python's values become for each of the kernel's parameters.

use std::sync::Arc;

use hip_driver::DevicePtr;
use hiplaunch::{Arg, HostData};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

use crate::array::{ArrayBytes, has_bytes};
use crate::buffer::{Buffer, Memory};
use crate::host_memory::HostMemory;
use crate::live::Shared;

/// An array of the host that a kernel reads. The launch copies it, so it may be changed right after.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct In(Py<PyAny>);

#[pymethods]
impl In {
    #[new]
    fn new(array: Bound<'_, PyAny>) -> PyResult<In> {
        ArrayBytes::of(&array, false)?;
        Ok(In(array.unbind()))
    }
}

/// An array of the host that a kernel reads and writes. The launch copies it, and Ticket.result writes the new contents to it.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct InOut(Py<PyAny>);

#[pymethods]
impl InOut {
    #[new]
    fn new(array: Bound<'_, PyAny>) -> PyResult<InOut> {
        ArrayBytes::of(&array, true)?;
        Ok(InOut(array.unbind()))
    }
}

/// Memory that a kernel writes: an array of the host, to which Ticket.result writes the contents, or a number of bytes, which it
/// returns.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct Out(OutKind);

enum OutKind {
    Array(Py<PyAny>),
    Bytes(usize),
}

#[pymethods]
impl Out {
    #[new]
    fn new(array_or_nbytes: Bound<'_, PyAny>) -> PyResult<Out> {
        if let Ok(bytes) = array_or_nbytes.extract::<usize>() {
            return Ok(Out(OutKind::Bytes(bytes)));
        }
        ArrayBytes::of(&array_or_nbytes, true)?;
        Ok(Out(OutKind::Array(array_or_nbytes.unbind())))
    }
}

/// Stands among the arguments for the address of `into=`.
#[pyclass(frozen, module = "hiplaunch", name = "_Destination")]
pub(crate) struct DestinationMarker;

#[pymethods]
impl DestinationMarker {
    fn __repr__(&self) -> &'static str {
        "hiplaunch.DESTINATION"
    }
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Pointer,
    /// By value. The code object does not say of which type.
    Value,
    Signed,
    Unsigned,
    Float,
    BFloat16,
}

/// A parameter of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Option<String>,
    pub(crate) offset: u32,
    pub(crate) size: u32,
    pub(crate) kind: Kind,
}

impl Parameter {
    /// The argument of these bits.
    fn holding(&self, bits: u64) -> Converted<'static> {
        match self.kind {
            Kind::Pointer => Converted::Pointer(bits),
            _ => Converted::Scalar(bits, self.size as u8),
        }
    }
}

/// Returns the parameters of a kernel, with the types of a signature if one is given.
pub(crate) fn parameters(
    kernel: &code_object::KernelSignature,
    signature: Option<&str>,
) -> PyResult<Vec<Parameter>> {
    let mut parameters: Vec<Parameter> = kernel
        .explicit_args()
        .iter()
        .map(|a| Parameter {
            name: a.name.clone(),
            offset: a.offset,
            size: a.size,
            kind: if a.is_pointer() { Kind::Pointer } else { Kind::Value },
        })
        .collect();
    let Some(signature) = signature else { return Ok(parameters) };
    let wrong = |problem: String| PyValueError::new_err(format!("signature of `{}`: {problem}", kernel.name));
    let types: Vec<&str> = signature.split(',').map(str::trim).filter(|text| !text.is_empty()).collect();
    if types.len() != parameters.len() {
        return Err(wrong(format!("{} types for {} parameters", types.len(), parameters.len())));
    }
    for (index, (text, parameter)) in types.into_iter().zip(&mut parameters).enumerate() {
        let (kind, size) = match text {
            "ptr" => (Kind::Pointer, 8),
            "bf16" => (Kind::BFloat16, 2),
            "struct" => (Kind::Value, parameter.size),
            _ => {
                let (kind, bits) = text.split_at(text.len().min(1));
                let kind = match kind {
                    "i" => Kind::Signed,
                    "u" => Kind::Unsigned,
                    "f" => Kind::Float,
                    _ => return Err(wrong(unknown_type(text))),
                };
                match (kind, bits) {
                    (Kind::Float, "8") => return Err(wrong(unknown_type(text))),
                    (_, "8" | "16" | "32" | "64") => (kind, bits.parse::<u32>().unwrap_or(0) / 8),
                    _ => return Err(wrong(unknown_type(text))),
                }
            }
        };
        if size != parameter.size || (kind == Kind::Pointer) != (parameter.kind == Kind::Pointer) {
            let is = if parameter.kind == Kind::Pointer { "a pointer" } else { "a value" };
            let problem = format!(
                "parameter {index} is {is} of {} bytes in the code object, not {text}",
                parameter.size
            );
            return Err(wrong(problem));
        }
        parameter.kind = kind;
    }
    Ok(parameters)
}

fn unknown_type(text: &str) -> String {
    format!("{text:?} is no type; use ptr, struct, bf16, f16 to f64, i8 to i64 and u8 to u64")
}

/// An argument that is converted, and what it keeps alive until the launch is enqueued.
pub(crate) enum Converted<'a> {
    Scalar(u64, u8),
    Pointer(u64),
    Buffer(Memory<'a>),
    Destination,
    Bytes(ArrayBytes),
    In(ArrayBytes),
    InOut(ArrayBytes, Py<PyAny>),
    Out(usize, Option<Py<PyAny>>),
}

impl Converted<'_> {
    /// The argument as the launcher takes it.
    ///
    /// # Safety
    /// As for [`ArrayBytes::bytes`].
    #[inline]
    pub(crate) unsafe fn as_arg(&self) -> Arg<'_> {
        match self {
            Converted::Scalar(bits, size) => Arg::Scalar { bits: *bits, size: *size },
            Converted::Pointer(address) => Arg::Pointer(DevicePtr(*address)),
            Converted::Buffer(memory) => match &**memory {
                Some(memory) => Arg::from(memory),
                None => Arg::null(),
            },
            Converted::Destination => Arg::Destination,
            // SAFETY: the caller's promise, here and below.
            Converted::Bytes(view) => Arg::Value(unsafe { view.bytes() }),
            // SAFETY: the caller's promise.
            Converted::In(view) => Arg::Host(HostData::In(unsafe { view.bytes() })),
            // SAFETY: the caller's promise.
            Converted::InOut(view, _) => Arg::Host(HostData::InOut(unsafe { view.bytes() })),
            Converted::Out(bytes, _) => Arg::Host(HostData::Out(*bytes)),
        }
    }

    /// Whether the launch has an output for it, and the array to which that goes, if there is one.
    #[inline]
    pub(crate) fn output(&self, py: Python<'_>) -> Option<Option<Py<PyAny>>> {
        match self {
            Converted::InOut(_, array) => Some(Some(array.clone_ref(py))),
            Converted::Out(_, array) => Some(array.as_ref().map(|array| array.clone_ref(py))),
            _ => None,
        }
    }

    /// How many bytes the launch copies for it.
    #[inline]
    pub(crate) fn host_bytes(&self) -> usize {
        match self {
            Converted::In(view) | Converted::InOut(view, _) => view.range().1,
            Converted::Out(bytes, _) => *bytes,
            _ => 0,
        }
    }
}

/// Converts one argument for its parameter. `device` is the ordinal of the stream's device.
pub(crate) fn convert<'a>(
    value: Borrowed<'a, '_, PyAny>,
    parameter: &Parameter,
    shared: &Arc<Shared>,
    device: u32,
) -> PyResult<Converted<'a>> {
    if let Ok(buffer) = value.cast_exact::<Buffer>() {
        let buffer = buffer.get();
        if !buffer.is_of(shared) || buffer.ordinal() != device {
            return Err(foreign_buffer(buffer, shared, device));
        }
        return Ok(Converted::Buffer(buffer.open()?));
    }
    match number(&value, parameter) {
        Some(bits) => bits.map(|bits| parameter.holding(bits)),
        None => convert_other(&value, parameter, shared),
    }
}

/// The bits of an `int` or a `float` in a parameter; `None` for other values.
#[inline]
pub(crate) fn number(value: &Bound<'_, PyAny>, parameter: &Parameter) -> Option<PyResult<u64>> {
    if value.is_exact_instance_of::<PyInt>() {
        return Some(integer(value, parameter));
    }
    if value.is_exact_instance_of::<PyFloat>() {
        // SAFETY: a float.
        return Some(float(unsafe { ffi::PyFloat_AsDouble(value.as_ptr()) }, parameter));
    }
    None
}

#[cold]
fn foreign_buffer(buffer: &Buffer, shared: &Arc<Shared>, device: u32) -> PyErr {
    if let Err(closed) = buffer.open() {
        return closed;
    }
    PyValueError::new_err(match buffer.is_of(shared) {
        false => "the buffer is another launcher's".to_owned(),
        true => format!(
            "the buffer is on device {}, the stream on device {device}; copy it, or pass `buffer.address` if the devices can access each \
             other's memory",
            buffer.ordinal()
        ),
    })
}

#[inline]
fn integer(value: &Bound<'_, PyAny>, parameter: &Parameter) -> PyResult<u64> {
    // SAFETY: an integer.
    let signed = unsafe { ffi::PyLong_AsLongLong(value.as_ptr()) };
    let mut bits = signed as u64;
    let mut negative = signed < 0;
    if signed == -1 && PyErr::occurred(value.py()) {
        // It may be 2^63 or more.
        drop(PyErr::fetch(value.py()));
        bits = value.extract().map_err(|_| too_large(value, parameter))?;
        negative = false;
    }
    match parameter.kind {
        Kind::Pointer => return Ok(bits),
        Kind::Float | Kind::BFloat16 => return float(value.extract()?, parameter),
        Kind::Unsigned if negative => return Err(too_large(value, parameter)),
        _ => {}
    }
    if !matches!(parameter.size, 1 | 2 | 4 | 8) {
        return Err(PyTypeError::new_err(format!("an int for a value of {} bytes", parameter.size)));
    }
    let width = parameter.size * 8;
    let fits = match (width, negative) {
        (64.., _) => !(parameter.kind == Kind::Signed && !negative && bits >> 63 != 0),
        (width, true) => (bits as i64) >> (width - 1) == -1,
        (width, false) => bits >> (if parameter.kind == Kind::Signed { width - 1 } else { width }) == 0,
    };
    match fits {
        true => Ok(bits),
        false => Err(too_large(value, parameter)),
    }
}

#[cold]
fn too_large(value: &Bound<'_, PyAny>, parameter: &Parameter) -> PyErr {
    let unsigned = if parameter.kind == Kind::Unsigned { " without a sign" } else { "" };
    PyOverflowError::new_err(format!("{value} does not fit an integer of {} bytes{unsigned}", parameter.size))
}

fn float(value: f64, parameter: &Parameter) -> PyResult<u64> {
    match (parameter.kind, parameter.size) {
        (Kind::Value | Kind::Float, 8) => Ok(value.to_bits()),
        (Kind::Value | Kind::Float, 4) => Ok(u64::from((value as f32).to_bits())),
        (Kind::Value | Kind::Float, 2) => Ok(u64::from(half::f16::from_f64(value).to_bits())),
        (Kind::BFloat16, _) => Ok(u64::from(half::bf16::from_f64(value).to_bits())),
        (kind, size) => {
            let wants = match kind {
                Kind::Pointer => "a pointer".to_owned(),
                Kind::Value => format!("a value of {size} bytes"),
                _ => format!("an integer of {size} bytes"),
            };
            Err(PyTypeError::new_err(format!("a float for {wants}")))
        }
    }
}

fn convert_other<'a>(
    value: &Bound<'_, PyAny>,
    parameter: &Parameter,
    shared: &Arc<Shared>,
) -> PyResult<Converted<'a>> {
    let scalar = |bits: PyResult<u64>| bits.map(|bits| parameter.holding(bits));
    let py = value.py();
    if let Ok(array) = value.cast_exact::<In>() {
        return Ok(Converted::In(ArrayBytes::of(array.get().0.bind(py), false)?));
    }
    if let Ok(array) = value.cast_exact::<InOut>() {
        let array = &array.get().0;
        return Ok(Converted::InOut(ArrayBytes::of(array.bind(py), true)?, array.clone_ref(py)));
    }
    if let Ok(out) = value.cast_exact::<Out>() {
        return match &out.get().0 {
            OutKind::Bytes(bytes) => Ok(Converted::Out(*bytes, None)),
            OutKind::Array(array) => {
                let bytes = ArrayBytes::of(array.bind(py), true)?.range().1;
                Ok(Converted::Out(bytes, Some(array.clone_ref(py))))
            }
        };
    }
    if value.is_none() {
        return match parameter.kind {
            Kind::Pointer => Ok(Converted::Pointer(0)),
            _ => Err(PyTypeError::new_err("None is a null pointer, and the parameter is a value")),
        };
    }
    if let Ok(memory) = value.cast_exact::<HostMemory>() {
        return Ok(Converted::Pointer(memory.get().for_kernel(shared)?));
    }
    if value.is_instance_of::<DestinationMarker>() {
        return Ok(Converted::Destination);
    }
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyInt>() {
        return scalar(integer(value, parameter));
    }
    if value.is_instance_of::<PyFloat>() && !has_bytes(value) {
        return scalar(float(value.extract()?, parameter));
    }
    if parameter.kind == Kind::Pointer {
        return pointer(value);
    }
    // Numbers of numpy and ctypes, structs of ctypes and of numpy, bytes of `struct`.
    let view = ArrayBytes::of(value, false)?;
    let bytes = view.range().1;
    if bytes == parameter.size as usize {
        return Ok(Converted::Bytes(view));
    }
    if let Ok(number) = value.call_method0("__index__") {
        return scalar(integer(&number, parameter));
    }
    if let Ok(number) = value.call_method0("__float__") {
        return scalar(float(number.extract()?, parameter));
    }
    Err(PyTypeError::new_err(format!("{bytes} bytes for a value of {} bytes", parameter.size)))
}

/// The address of foreign device memory: of an object with CuPy's array interface, or a tensor on a GPU.
fn pointer<'a>(value: &Bound<'_, PyAny>) -> PyResult<Converted<'a>> {
    for interface in ["__hip_array_interface__", "__cuda_array_interface__"] {
        let Ok(interface) = value.getattr(interface) else { continue };
        if interface.get_item("strides").is_ok_and(|strides| !strides.is_none()) {
            return Err(PyValueError::new_err(
                "the array may have gaps: it says its strides; pass a contiguous copy",
            ));
        }
        let (address, _): (u64, bool) = interface.get_item("data")?.extract()?;
        return Ok(Converted::Pointer(address));
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(match has_bytes(value) {
        true => format!(
            "a {kind} of the host for a pointer: wrap it in hiplaunch.In, Out or InOut, copy it by Launcher.buffer, or pin it by \
             Launcher.register_host"
        ),
        false => {
            format!("a {kind} for a pointer: pass a Buffer, HostMemory, In, Out, InOut, an address or None")
        }
    }))
}
