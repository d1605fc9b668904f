//! Compiling HIP C++ while the program runs.

use code_object::TargetId;
use hip_compile::{Compiled, Compiler, DiskCache};
use hip_driver_emulated::EmulatorOptions;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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

/// Compiles HIP C++ by hiprtc, AMD's runtime compiler, and returns a CodeObject; or returns what an earlier compile of the same
/// source, options and target left in the cache on disk.
///
/// options: options of clang, such as '-O3' or '-DN=4'.
/// target: what to compile for, such as 'gfx942', or a Device. The default is the emulator's target.
/// name: the name of the source in messages.
/// headers: a dict from names to texts, for `#include`.
/// name_expressions: templates to instantiate, such as 'scale<float>'; CodeObject.lowered_name says the kernel's name.
/// cache: whether to use the cache, whose folder is HIPLAUNCH_CACHE_DIR.
///
/// Raises CompileError, whose `log` has the compiler's messages.
#[pyfunction]
#[pyo3(signature = (source, options=Vec::new(), *, target=None, name=None, headers=None, name_expressions=Vec::new(), cache=true))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn compile(
    py: Python<'_>,
    source: &str,
    options: Vec<String>,
    target: Option<&Bound<'_, PyAny>>,
    name: Option<String>,
    headers: Option<std::collections::BTreeMap<String, String>>,
    name_expressions: Vec<String>,
    cache: bool,
) -> PyResult<CodeObject> {
    let target: TargetId = match target {
        Some(target) => {
            let text: String = target.extract().or_else(|_| target.getattr("target")?.extract())?;
            text.parse().map_err(|error| PyValueError::new_err(format!("target {text:?}: {error}")))?
        }
        None => EmulatorOptions::from_env().map_err(|error| PyValueError::new_err(error.to_string()))?.target,
    };
    let mut compiler = Compiler::new(&target).options(options);
    if let Some(name) = name {
        compiler = compiler.name(name);
    }
    for (name, text) in headers.into_iter().flatten() {
        compiler = compiler.header(name, text);
    }
    for expression in name_expressions {
        compiler = compiler.name_expression(expression);
    }
    if !cache {
        compiler = compiler.cache(&DiskCache::off());
    }
    let compiled = py.detach(|| compiler.compile(source));
    compiled.map(CodeObject).map_err(|error| raise(error.into()))
}
