//! What Triton calls for each launch on a GPU: the arguments are packed by their types, and nothing is looked up again.
//!
//! The first launch of a kernel, and every one that this does not know how to do, goes through Python: `hiplaunch.triton._driver`.

use std::sync::{Mutex, OnceLock, PoisonError};

use hiplaunch::LaunchDims;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use smallvec::SmallVec;

use crate::buffer::{Buffer, Memory, named};
use crate::kernel::Kernel;
use crate::stream::Stream;

/// The arguments of Triton before those of the kernel: the grid, stream, function, two kinds of metadata and two hooks.
const BASE: usize = 9;

/// The most bytes of explicit arguments that are packed here.
const BYTES: usize = 512;

/// How an argument is passed.
#[derive(Clone, Copy)]
enum Kind {
    Pointer,
    Integer,
    Half,
    BFloat16,
    Single,
    Double,
}

/// Where an argument is passed, and how.
#[derive(Clone, Copy)]
struct Slot {
    offset: usize,
    size: usize,
    kind: Kind,
}

/// What does not change between the launches of one kernel.
struct Prepared {
    kernel: Py<Kernel>,
    function: Py<PyAny>,
    /// One for each argument of Triton's; none for a constant, which the kernel does not have.
    slots: Vec<Option<Slot>>,
    bytes: usize,
    block: u32,
    lds: u32,
    cooperative: bool,
    /// Returns the stream of a handle on the current device.
    stream_of: Py<PyAny>,
    /// Whether a handle names a stream on any device: 0 is a stream of each.
    one_device: bool,
    last_stream: Mutex<Option<(u64, Py<Stream>)>>,
}

/// Launches one compiled kernel of Triton. `launch` is the function in Python that launches what is not prepared: it gets this
/// object and the arguments.
#[pyclass(frozen, module = "hiplaunch._native")]
pub(crate) struct TritonLauncher {
    launch: Py<PyAny>,
    prepared: OnceLock<Prepared>,
}

#[pymethods]
impl TritonLauncher {
    #[new]
    fn new(launch: Py<PyAny>) -> TritonLauncher {
        TritonLauncher { launch, prepared: OnceLock::new() }
    }

    /// Says how the kernel of `function` is launched from now on. `slots` has, for each of Triton's arguments, None or the offset
    /// and size in bytes and the type ("*", "int", "fp16", "bf16", "fp32", "fp64"); `nbytes` is the size of all. A kernel whose
    /// arguments are too large is launched through Python as before.
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    #[pyo3(signature = (*, kernel, function, slots, nbytes, block, lds, cooperative, stream_of, one_device))]
    fn prepare(
        &self,
        kernel: Py<Kernel>,
        function: Py<PyAny>,
        slots: Vec<Option<(usize, usize, String)>>,
        nbytes: usize,
        block: u32,
        lds: u32,
        cooperative: bool,
        stream_of: Py<PyAny>,
        one_device: bool,
    ) -> PyResult<()> {
        let slots = slots
            .into_iter()
            .map(|slot| slot.map(|(offset, size, kind)| read_slot(offset, size, &kind, nbytes)).transpose())
            .collect::<PyResult<Vec<_>>>()?;
        if nbytes <= BYTES {
            let last_stream = Mutex::new(None);
            let prepared = Prepared {
                kernel,
                function,
                slots,
                bytes: nbytes,
                block,
                lds,
                cooperative,
                stream_of,
                one_device,
                last_stream,
            };
            // Another thread that was first has prepared the same.
            let _ = self.prepared.set(prepared);
        }
        Ok(())
    }

    #[pyo3(signature = (*args))]
    fn __call__(this: &Bound<'_, Self>, args: &Bound<'_, PyTuple>) -> PyResult<()> {
        if let Some(prepared) = this.get().prepared.get()
            && prepared.launch(args)?
        {
            return Ok(());
        }
        let py = this.py();
        let all = std::iter::once(this.clone().into_any()).chain(args.iter());
        this.get().launch.call1(py, PyTuple::new(py, all.collect::<SmallVec<[_; 24]>>())?)?;
        Ok(())
    }
}

fn read_slot(offset: usize, size: usize, kind: &str, nbytes: usize) -> PyResult<Slot> {
    let (kind, sizes): (_, &[usize]) = match kind {
        "*" => (Kind::Pointer, &[8]),
        "int" => (Kind::Integer, &[1, 2, 4, 8]),
        "fp16" => (Kind::Half, &[2]),
        "bf16" => (Kind::BFloat16, &[2]),
        "fp32" => (Kind::Single, &[4]),
        "fp64" => (Kind::Double, &[8]),
        _ => return Err(PyValueError::new_err(format!("{kind:?} is no type of an argument"))),
    };
    if !sizes.contains(&size) || offset.checked_add(size).is_none_or(|end| end > nbytes) {
        return Err(PyValueError::new_err(format!("an argument of {size} bytes at {offset} of {nbytes}")));
    }
    Ok(Slot { offset, size, kind })
}

impl Prepared {
    /// Launches, and returns whether it could: what it returns `false` for is launched through Python, which also says what is
    /// wrong with an argument.
    fn launch(&self, args: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let py = args.py();
        let count = args.len();
        if count != BASE + self.slots.len() || !args.get_borrowed_item(4)?.is(&self.function) {
            return Ok(false);
        }
        let item = |index: usize| args.get_borrowed_item(index);
        let mut grid = [0_u32; 3];
        for (axis, place) in grid.iter_mut().enumerate() {
            *place = item(axis)?.extract()?;
        }
        let stream = self.stream(&*item(3)?)?;
        let stream = stream.bind(py).get();
        let kernel = self.kernel.bind(py).get();
        let (enter, leave, metadata) = (item(7)?, item(8)?, item(6)?);
        let values: SmallVec<[Bound<'_, PyAny>; 16]> =
            (BASE..count).map(|at| args.get_item(at)).collect::<PyResult<_>>()?;
        let mut bytes = [0; BYTES];
        let mut memory: SmallVec<[Memory<'_>; 8]> = SmallVec::new();
        let on = kernel.stream(stream)?;
        for (value, slot) in values.iter().zip(&self.slots) {
            let Some(slot) = slot else { continue };
            let place = &mut bytes[slot.offset..slot.offset + slot.size];
            if let Kind::Pointer = slot.kind
                && let Ok(buffer) = value.cast_exact::<Buffer>()
            {
                let Some(guard) = buffer.get().pack(kernel.shared(), on, place) else { return Ok(false) };
                memory.push(guard);
            } else if !write(place, slot.kind, value)? {
                return Ok(false);
            }
        }
        if !enter.is_none() {
            enter.call1((&*metadata,))?;
        }
        if grid.iter().all(|extent| *extent != 0) {
            let dims = LaunchDims { grid, block: [self.block, 1, 1], dynamic_lds: self.lds };
            kernel.enqueue_packed(on, dims, self.cooperative, &bytes[..self.bytes], &named(&memory))?;
        }
        drop(memory);
        if !leave.is_none() {
            leave.call1((&*metadata,))?;
        }
        Ok(true)
    }

    fn stream(&self, handle: &Bound<'_, PyAny>) -> PyResult<Py<Stream>> {
        let py = handle.py();
        let number: u64 = handle.extract()?;
        let cached = self.one_device || number != 0;
        let mut last = self.last_stream.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, stream)) = &*last
            && *of == number
            && cached
        {
            return Ok(stream.clone_ref(py));
        }
        drop(last.take());
        drop(last);
        let stream = self.stream_of.bind(py).call1((handle,))?.cast_into::<Stream>()?.unbind();
        let mut last = self.last_stream.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((number, stream.clone_ref(py)));
        Ok(stream)
    }
}

/// Writes an argument. Returns `false` for one that is not taken here.
fn write(place: &mut [u8], kind: Kind, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = value.py();
    match kind {
        Kind::Pointer if value.is_exact_instance_of::<PyInt>() => integer(place, value)?,
        Kind::Pointer if value.is_none() => place.fill(0),
        Kind::Pointer => {
            // A tensor of torch. Others, and one of the CPU, are for Python to judge.
            match value.getattr_opt(intern!(py, "is_cpu"))? {
                Some(on_cpu) if !on_cpu.is_truthy()? => {}
                _ => return Ok(false),
            }
            integer(place, &value.call_method0(intern!(py, "data_ptr"))?)?;
        }
        Kind::Integer => integer(place, value)?,
        Kind::Half => place.copy_from_slice(&half::f16::from_f64(value.extract()?).to_le_bytes()),
        // Triton's own launchers cut the lower half off.
        Kind::BFloat16 => place.copy_from_slice(&(value.extract::<f64>()? as f32).to_le_bytes()[2..]),
        Kind::Single => place.copy_from_slice(&(value.extract::<f64>()? as f32).to_le_bytes()),
        Kind::Double => place.copy_from_slice(&value.extract::<f64>()?.to_le_bytes()),
    }
    Ok(true)
}

/// Writes the low bytes of an integer.
fn integer(place: &mut [u8], value: &Bound<'_, PyAny>) -> PyResult<()> {
    // SAFETY: `value` is an object, and the interpreter is attached. What is no integer is an error, which is taken.
    let bits = unsafe { ffi::PyLong_AsUnsignedLongLongMask(value.as_ptr()) };
    if bits == u64::MAX
        && let Some(error) = PyErr::take(value.py())
    {
        return Err(error);
    }
    place.copy_from_slice(&bits.to_le_bytes()[..place.len()]);
    Ok(())
}
