//! Compiling HIP C++, LLVM IR and assembly while the program runs.

use code_object::TargetId;
use std::path::PathBuf;

use hip_compile::{Compiled, Compiler, DiskCache, Input, InputKind};
use hip_driver_emulated::EmulatorOptions;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::errors::raise;

/// A code object that was compiled. Launcher.register takes it.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct CodeObject(Compiled);

impl CodeObject {
    pub(crate) fn elf(&self) -> &[u8] {
        self.0.elf()
    }
}

#[pymethods]
impl CodeObject {
    /// The names of its kernels.
    #[getter]
    fn kernels(&self) -> Vec<String> {
        self.0.code_object().kernels().iter().map(|kernel| kernel.name.clone()).collect()
    }

    /// The target that it is for, such as 'gfx942'.
    #[getter]
    fn target(&self) -> String {
        self.0.code_object().target().short()
    }

    /// What the compiler said, such as warnings; empty if nothing.
    #[getter]
    fn log(&self) -> &str {
        self.0.log()
    }

    /// Whether it was in the cache, so that nothing was compiled.
    #[getter(from_cache)]
    fn is_from_cache(&self) -> bool {
        self.0.from_cache()
    }

    /// Returns the kernel's name for one of the `name_expressions` that were compiled. Raises KeyError for another.
    fn lowered_name(&self, expression: &str) -> PyResult<&str> {
        self.0
            .lowered_name(expression)
            .ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(expression.to_owned()))
    }

    /// The bytes of the code object.
    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.elf())
    }

    fn __len__(&self) -> usize {
        self.elf().len()
    }

    fn __repr__(&self) -> String {
        format!("<hiplaunch.CodeObject for {}: {}>", self.target(), self.kernels().join(", "))
    }
}

/// Compiles to a code object, and returns a CodeObject; or returns what an earlier compile of the same inputs, options and
/// target left in the cache on disk.
///
/// source: HIP C++ as str, which hiprtc compiles, AMD's runtime compiler; or LLVM IR, assembly or an object file, as `kind` says, which
/// comgr compiles, else clang and lld. bytes that are LLVM bitcode or an object file need no kind, nor does a pathlib.Path, whose
/// extension says it. A list of these, or of tuples (kind, source), is linked into one code object.
/// options: options of clang, such as '-O3' or '-DN=4'.
/// kind: 'hip', 'llvm-ir', 'bitcode', 'assembly' or 'relocatable'.
/// target: what to compile for, such as 'gfx942', or a Device. The default is the emulator's target.
/// name: the name of the source in messages.
/// headers: a dict from names to texts, for `#include`.
/// name_expressions: templates to instantiate, such as 'scale<float>'; CodeObject.lowered_name says the kernel's name.
/// device_libraries: whether LLVM IR is linked with ROCm's device libraries, such as for __ocml_sin_f32.
/// clang: a clang that compiles LLVM IR and assembly in place of comgr: a path, or a name in PATH.
/// cache: whether to use the cache, whose folder is HIPLAUNCH_CACHE_DIR.
///
/// Raises CompileError, whose `log` has the compiler's messages.
#[pyfunction]
#[pyo3(signature = (source, options=Vec::new(), *, kind=None, target=None, name=None, headers=None, name_expressions=Vec::new(), device_libraries=false, clang=None, cache=true))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn compile(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    options: Vec<String>,
    kind: Option<&str>,
    target: Option<&Bound<'_, PyAny>>,
    name: Option<String>,
    headers: Option<std::collections::BTreeMap<String, String>>,
    name_expressions: Vec<String>,
    device_libraries: bool,
    clang: Option<PathBuf>,
    cache: bool,
) -> PyResult<CodeObject> {
    let target: TargetId = match target {
        Some(target) => {
            let text: String = target.extract().or_else(|_| target.getattr("target")?.extract())?;
            text.parse().map_err(|error| PyValueError::new_err(format!("target {text:?}: {error}")))?
        }
        None => EmulatorOptions::from_env().map_err(|error| PyValueError::new_err(error.to_string()))?.target,
    };
    let inputs = inputs(source, kind.map(kind_of).transpose()?, name)?;
    let mut compiler = Compiler::new(&target).options(options);
    for (name, text) in headers.into_iter().flatten() {
        compiler = compiler.header(name, text);
    }
    for expression in name_expressions {
        compiler = compiler.name_expression(expression);
    }
    if device_libraries {
        compiler = compiler.device_libraries();
    }
    if let Some(clang) = clang {
        compiler = compiler.clang(clang);
    }
    if !cache {
        compiler = compiler.cache(&DiskCache::off());
    }
    let compiled = py.detach(|| compiler.compile_inputs(&inputs));
    compiled.map(CodeObject).map_err(|error| raise(error.into()))
}

fn kind_of(name: &str) -> PyResult<InputKind> {
    let known = InputKind::NAMES.contains(&name).then(|| name.parse().ok()).flatten();
    known.ok_or_else(|| {
        PyValueError::new_err(format!("kind {name:?} is none of {}", InputKind::NAMES.join(", ")))
    })
}

/// Returns the inputs that a source stands for: one, or those of a list.
fn inputs(
    source: &Bound<'_, PyAny>,
    kind: Option<InputKind>,
    name: Option<String>,
) -> PyResult<Vec<Input<'static>>> {
    let Ok(list) = source.cast::<PyList>() else {
        let input = input(source, kind)?;
        return Ok(vec![match name {
            Some(name) => input.named(name),
            None => input,
        }]);
    };
    if name.is_some() {
        return Err(PyValueError::new_err("name is that of one source, not of a list"));
    }
    let each = list.iter().map(|item| match item.cast::<PyTuple>() {
        Ok(pair) => {
            let (kind, source): (String, Bound<'_, PyAny>) = pair.extract()?;
            input(&source, Some(kind_of(&kind)?))
        }
        Err(_) => input(&item, kind),
    });
    each.collect()
}

fn input(source: &Bound<'_, PyAny>, kind: Option<InputKind>) -> PyResult<Input<'static>> {
    if let Ok(text) = source.cast::<PyString>() {
        return Ok(Input::new(kind.unwrap_or(InputKind::Hip), text.to_cow()?.into_owned().into_bytes()));
    }
    if let Ok(bytes) = source.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        let found = match bytes {
            [b'B', b'C', 0xc0, 0xde, ..] => Some(InputKind::Bitcode),
            [0x7f, b'E', b'L', b'F', ..] => Some(InputKind::Relocatable),
            _ => None,
        };
        let kind = kind.or(found).ok_or_else(|| {
            PyValueError::new_err("these bytes are neither LLVM bitcode nor an object file; say their kind")
        })?;
        return Ok(Input::new(kind, bytes.to_vec()));
    }
    let Ok(path) = source.extract::<PathBuf>() else {
        let what = source.get_type();
        return Err(PyTypeError::new_err(format!("a source is str, bytes or a path, not {what}")));
    };
    let kind = kind.or_else(|| InputKind::of_path(&path)).ok_or_else(|| {
        PyValueError::new_err(format!("{}: its extension does not say its kind", path.display()))
    })?;
    // An OSError of Python, with its number.
    Ok(Input::new(kind, std::fs::read(&path)?).named(path.display().to_string()))
}
