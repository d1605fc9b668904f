//! Graphs: work that is recorded once and submitted many times.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hiplaunch::graph::{self, Branches, GraphArg, NodeId};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{Converted, Kind, convert};
use crate::array::ArrayBytes;
use crate::buffer::{Buffer, Kept};
use crate::dtype::{ElementType, bytes_of, read_shape};
use crate::errors::{GraphError, raise};
use crate::kernel::{Inner, Kernel, launch_dims};
use crate::live::{Live, Shared};
use crate::stream::Stream;
use crate::ticket::Ticket;

/// Bytes that the nodes of a graph read and write: a buffer, a temporary, or a part of one. Graph.buffer and Graph.temporary make
/// one.
///
/// As an argument of Graph.launch it is read and written; `value.read_only` and `value.write_only` say that a kernel only reads
/// it, or writes all of it and reads none.
#[pyclass(frozen, module = "hiplaunch")]
#[derive(Clone, Copy)]
pub(crate) struct GraphValue {
    value: graph::GraphValue,
    access: Access,
}

#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
    Both,
}

#[pymethods]
impl GraphValue {
    /// Its size in bytes.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.value.bytes()
    }

    /// It, for a kernel that reads it and does not write it.
    #[getter]
    fn read_only(&self) -> GraphValue {
        GraphValue { access: Access::Read, ..*self }
    }

    /// It, for a kernel that writes all of it and does not read it before.
    #[getter]
    fn write_only(&self) -> GraphValue {
        GraphValue { access: Access::Write, ..*self }
    }

    /// Returns the `nbytes` bytes of it from `offset` on. Raises GraphError if they are not in it.
    fn part(&self, offset: u64, nbytes: u64) -> PyResult<GraphValue> {
        let value = self.value.slice(offset, nbytes).map_err(raise)?;
        Ok(GraphValue { value, ..*self })
    }

    fn __repr__(&self) -> String {
        format!("<hiplaunch.GraphValue {}, {} bytes>", self.value.index(), self.value.bytes())
    }
}

/// What a graph keeps as long as it may be submitted.
#[derive(Default)]
struct Keeps {
    /// The kernel of each node that is a launch.
    launches: HashMap<u32, Arc<Inner>>,
    /// The memory of each value that is a buffer, by the value's number.
    memory: HashMap<u32, Live<Kept>>,
    /// Where the ticket writes what each `read` gives.
    outputs: Vec<Option<Py<PyAny>>>,
}

struct Recording {
    graph: graph::Graph,
    keeps: Keeps,
}

/// A graph that is recorded: kernels, copies, fills and reads in an order that follows from what they read and write. Nothing runs
/// before it was compiled and submitted. Launcher.graph makes one.
///
///     graph = launcher.graph()
///     x, y = graph.buffer(x_buffer), graph.buffer(y_buffer)
///     between = graph.temporary(1000, "float32")
///     node = graph.launch(scale, 4, 256, 2.0, x.read_only, between.write_only, 1000)
///     graph.launch(add, 4, 256, between.read_only, y, 1000)
///     graph.read(y)
///     compiled = graph.compile()
///     [result] = compiled.submit().result()
///     compiled.set_scalar(node, 0, 3.0)
///     compiled.set_buffer(x, other_buffer)
///     [result] = compiled.submit().result()
///
/// A method that records returns the node's number.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct Graph {
    recording: Live<Mutex<Option<Recording>>>,
    device: u32,
}

impl Graph {
    pub(crate) fn new(shared: &Arc<Shared>, device: u32, streams: u32) -> PyResult<Graph> {
        let launcher = shared.open()?;
        let mut graph = launcher.graph(launcher.device(device).map_err(raise)?).map_err(raise)?;
        if streams > 1 {
            graph.set_branches(Branches::Streams(streams));
        }
        let recording = Recording { graph, keeps: Keeps::default() };
        Ok(Graph { recording: Live::new(shared, Mutex::new(Some(recording))), device })
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, Option<Recording>>> {
        Ok(self.recording.open()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls a function with the graph, if it was not compiled yet.
    fn with<R>(&self, record: impl FnOnce(&mut Recording) -> PyResult<R>) -> PyResult<R> {
        record(self.lock()?.as_mut().ok_or_else(compiled)?)
    }

    /// Records a node, and returns its number.
    fn node(&self, record: impl FnOnce(&mut graph::Graph) -> hiplaunch::Result<NodeId>) -> PyResult<u32> {
        self.with(|recording| Ok(record(&mut recording.graph).map_err(raise)?.0))
    }
}

fn compiled() -> PyErr {
    GraphError::new_err("the graph was compiled; record a new one")
}

impl Recording {
    fn add(&mut self, buffer: &Buffer, shared: &Arc<Shared>) -> PyResult<GraphValue> {
        let kept = buffer.keep()?;
        if !kept.is_of(shared) {
            return Err(GraphError::new_err("the buffer is another launcher's"));
        }
        let value = self.graph.buffer(&kept.open()?.view).map_err(raise)?;
        self.keeps.memory.insert(value.index(), kept);
        Ok(GraphValue { value, access: Access::Both })
    }
}

#[pymethods]
impl Graph {
    /// Adds a Buffer, for nodes to read and write. The graph keeps its memory, even if it is closed.
    fn buffer(&self, buffer: &Bound<'_, Buffer>) -> PyResult<GraphValue> {
        self.with(|recording| recording.add(buffer.get(), self.recording.shared()))
    }

    /// Adds memory that only the graph uses. What it holds before a node writes it is undefined.
    #[pyo3(signature = (shape, dtype=None))]
    fn temporary(&self, shape: &Bound<'_, PyAny>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<GraphValue> {
        let element = dtype.map_or(Ok(ElementType::UINT8), ElementType::read)?;
        let bytes = bytes_of(&read_shape(shape)?, element)?;
        let value = self.with(|recording| recording.graph.temporary::<u8>(bytes).map_err(raise))?;
        Ok(GraphValue { value, access: Access::Both })
    }

    /// Records a launch. Arguments are GraphValues for pointers, and what Kernel takes for values. `lds` is the bytes of dynamic LDS
    /// of each workgroup.
    #[pyo3(signature = (kernel, grid, block, *args, lds=0))]
    fn launch(
        &self,
        py: Python<'_>,
        kernel: &Bound<'_, Kernel>,
        grid: &Bound<'_, PyAny>,
        block: &Bound<'_, PyAny>,
        args: &Bound<'_, PyTuple>,
        lds: u32,
    ) -> PyResult<u32> {
        let inner = kernel.get().inner.clone();
        let shared = self.recording.shared();
        let registered = inner.live.open()?;
        if !inner.live.is_of(shared) {
            return Err(GraphError::new_err("the kernel is another launcher's"));
        }
        let dims = launch_dims(grid, block, lds)?;
        if args.len() != inner.parameters.len() {
            return Err(inner.wrong_count(args.len()));
        }
        let given: Vec<Bound<'_, PyAny>> = args.iter().collect();
        let mut converted = Vec::with_capacity(given.len());
        for (index, (value, parameter)) in given.iter().zip(&inner.parameters).enumerate() {
            let argument = argument(value, parameter.kind == Kind::Pointer, || {
                convert(value.as_borrowed(), parameter, shared, self.device)
            });
            converted.push(argument.map_err(|error| inner.in_argument(py, index, &error))?);
        }
        // SAFETY: the bytes are copied by the launch, as those of a launch on a stream.
        let arguments: Vec<GraphArg<'_>> = converted.iter().map(|c| unsafe { c.as_arg() }).collect();
        self.with(|recording| {
            // SAFETY: whoever registers code in Python vouches for it and for its arguments, as the package's documentation says.
            let node =
                unsafe { recording.graph.launch(registered.handle(), dims, &arguments) }.map_err(raise)?;
            recording.keeps.launches.insert(node.0, inner.clone());
            Ok(node.0)
        })
    }

    /// Records a copy of a value to another of the same size.
    fn copy(&self, source: &GraphValue, target: &GraphValue) -> PyResult<u32> {
        self.node(|graph| graph.copy(&source.value, &target.value))
    }

    /// Records a fill of every byte of a value.
    fn fill(&self, value: &GraphValue, byte: u8) -> PyResult<u32> {
        self.node(|graph| graph.fill_bytes(&value.value, byte))
    }

    /// Records a fill of every 32-bit word of a value.
    fn fill_words(&self, value: &GraphValue, word: u32) -> PyResult<u32> {
        self.node(|graph| graph.fill_words(&value.value, word))
    }

    /// Records a read: the host gets the value as the next output of the ticket, as bytes, or in the array `into`.
    #[pyo3(signature = (value, into=None))]
    fn read(&self, value: &GraphValue, into: Option<Bound<'_, PyAny>>) -> PyResult<u32> {
        if let Some(array) = &into {
            let len = ArrayBytes::of(array, true)?.range().1;
            if len as u64 != value.value.bytes() {
                let problem = format!("the array has {len} bytes, the value {}", value.value.bytes());
                return Err(pyo3::exceptions::PyValueError::new_err(problem));
            }
        }
        self.with(|recording| {
            let node = recording.graph.read(&value.value).map_err(raise)?;
            recording.keeps.outputs.push(into.map(Bound::unbind));
            Ok(node.0)
        })
    }

    /// Orders a node after another, where what they read and write does not.
    fn order(&self, before: u32, after: u32) -> PyResult<()> {
        self.with(|recording| recording.graph.order(NodeId(before), NodeId(after)).map_err(raise))
    }

    /// Plans the graph for a stream, or the default stream of its device, and returns a CompiledGraph. Nothing can be recorded
    /// afterwards. Raises GraphError for a graph that can't be submitted; it is lost then.
    #[pyo3(signature = (stream=None))]
    fn compile(&self, py: Python<'_>, stream: Option<&Bound<'_, Stream>>) -> PyResult<CompiledGraph> {
        let shared = self.recording.shared();
        let stream = shared.stream_or_default(stream.map(Bound::get), self.device)?;
        let Recording { graph, keeps } = self.lock()?.take().ok_or_else(compiled)?;
        let compiled = py.detach(|| graph.compile(&stream)).map_err(raise)?;
        let state = Mutex::new(Submittable { compiled, keeps });
        Ok(CompiledGraph { state: Live::new(shared, state), device: self.device })
    }

    /// The number of nodes that were recorded.
    fn __len__(&self) -> PyResult<usize> {
        self.with(|recording| Ok(recording.graph.len()))
    }
}

/// An argument of a recorded launch.
enum Argument<'a> {
    Value(GraphValue),
    Converted(Converted<'a>),
}

impl Argument<'_> {
    /// # Safety
    /// As for [`Converted::as_arg`].
    unsafe fn as_arg(&self) -> GraphArg<'_> {
        match self {
            Argument::Value(GraphValue { value, access }) => match access {
                Access::Read => GraphArg::Read(*value),
                Access::Write => GraphArg::Write(*value),
                Access::Both => GraphArg::ReadWrite(*value),
            },
            Argument::Converted(Converted::Scalar(bits, size)) => {
                GraphArg::Scalar { bits: *bits, size: *size }
            }
            // SAFETY: the caller's promise.
            Argument::Converted(Converted::Bytes(view)) => GraphArg::Struct(unsafe { view.bytes() }),
            // `argument` refuses the rest.
            Argument::Converted(_) => GraphArg::Struct(&[]),
        }
    }
}

fn argument<'a>(
    value: &Bound<'_, PyAny>,
    is_pointer: bool,
    convert: impl FnOnce() -> PyResult<Converted<'a>>,
) -> PyResult<Argument<'a>> {
    if let Ok(value) = value.cast::<GraphValue>() {
        return Ok(Argument::Value(*value.get()));
    }
    if is_pointer {
        let kind = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "a {kind} for a pointer: a graph takes a GraphValue, which Graph.buffer and Graph.temporary make"
        )));
    }
    match convert()? {
        converted @ (Converted::Scalar(..) | Converted::Bytes(_)) => Ok(Argument::Converted(converted)),
        _ => Err(PyTypeError::new_err("a graph takes a number or a struct for a value")),
    }
}

struct Submittable {
    compiled: graph::CompiledGraph,
    keeps: Keeps,
}

/// A graph that can be submitted any number of times, with other buffers and numbers too. Graph.compile makes one.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct CompiledGraph {
    state: Live<Mutex<Submittable>>,
    device: u32,
}

impl CompiledGraph {
    fn lock(&self) -> PyResult<MutexGuard<'_, Submittable>> {
        Ok(self.state.open()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl CompiledGraph {
    /// Submits the graph once, after everything that was enqueued on its stream, and returns a Ticket, whose result is a list with
    /// what each `read` gave.
    fn submit(&self, py: Python<'_>) -> PyResult<Ticket> {
        let mut state = self.lock()?;
        let ticket = state.compiled.submit().map_err(raise)?;
        let outputs = &state.keeps.outputs;
        let outputs = outputs.iter().map(|array| array.as_ref().map(|a| a.clone_ref(py))).collect();
        Ok(Ticket::new(self.state.shared(), ticket, outputs))
    }

    /// Uses another buffer, of the same size, for a value of Graph.buffer, from the next submission on. The old one stays if
    /// GraphError is raised.
    fn set_buffer(&self, value: &GraphValue, buffer: &Bound<'_, Buffer>) -> PyResult<()> {
        let kept = buffer.get().keep()?;
        if !kept.is_of(self.state.shared()) {
            return Err(GraphError::new_err("the buffer is another launcher's"));
        }
        let mut state = self.lock()?;
        state.compiled.set_buffer(&value.value, &kept.open()?.view).map_err(raise)?;
        let old = state.keeps.memory.insert(value.value.index(), kept);
        drop(state);
        drop(old);
        Ok(())
    }

    /// Uses another number or struct for a parameter of a launch, from the next submission on. `node` is what Graph.launch returned,
    /// `parameter` the parameter's index.
    fn set_scalar(&self, node: u32, parameter: usize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        // Not locked while Python converts the value.
        let launch = self.lock()?.keeps.launches.get(&node).cloned();
        let Some(of) = launch.as_ref().and_then(|inner| inner.parameters.get(parameter)) else {
            let problem = format!("node {node} is no launch with a parameter {parameter}");
            return Err(GraphError::new_err(problem));
        };
        let argument = argument(value, of.kind == Kind::Pointer, || {
            convert(value.as_borrowed(), of, self.state.shared(), self.device)
        })?;
        // SAFETY: as for a launch: the bytes are copied, and whoever registers code vouches for its arguments.
        unsafe { self.lock()?.compiled.set_scalar(NodeId(node), parameter, argument.as_arg()) }.map_err(raise)
    }

    /// The number of nodes that a submission runs.
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.lock()?.compiled.steps())
    }

    /// The bytes of its temporaries.
    #[getter]
    fn workspace_bytes(&self) -> PyResult<u64> {
        Ok(self.lock()?.compiled.workspace_bytes())
    }
}
