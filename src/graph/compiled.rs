//! Graphs that are compiled once and submitted many times.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use crate::error::Result;
use crate::launcher::Ticket;
use crate::stream::Stream;

use super::cache::ProgramInstance;
use super::key::KeyCheckpoint;
use super::memory::GraphMemory;
use super::record::{Graph, GraphArg, GraphValue, NodeId, NodeKind, Storage, problem};
use super::submit::Submission;
use crate::error::GraphProblem;

/// The recorded graph, kept to be bound again with other buffers and scalars.
#[derive(Debug)]
struct Recorded {
    graph: Graph,
    stream: Stream,
    /// The checkpoint of the key before the words on how the buffers overlap and are aligned, and those words.
    structure: KeyCheckpoint,
    buffers: SmallVec<[u64; 8]>,
    /// Whether a buffer has changed since these words were computed.
    moved: bool,
    /// Whether kernels were replaced since the program was compiled.
    replaced: bool,
    /// Whether an address or a byte differs from `state`.
    changed: bool,
    /// A number for the bound data, unique among the states of all graphs.
    state: u64,
    /// The launcher's count of changed kernels when the kernels were last checked.
    kernels: u64,
}

/// Returns a new number for [`Recorded::state`].
fn next_state() -> u64 {
    static STATE: AtomicU64 = AtomicU64::new(1);
    STATE.fetch_add(1, Ordering::Relaxed)
}

impl Recorded {
    /// Compiles the graph; with `check`, takes the kernels that replaced those of recorded launches.
    fn new(mut graph: Graph, stream: &Stream, check: bool) -> Result<(Recorded, Arc<ProgramInstance>)> {
        graph.check_stream(&stream.0)?;
        // Read before the check, so that a later change is found.
        let kernels = graph.cache.changes();
        if check {
            let replacements = graph.replacements()?;
            if !replacements.is_empty() {
                graph.take_replacements(replacements);
                graph.check_nodes()?;
            }
        }
        let structure = graph.key.mark();
        graph.describe_buffers();
        let buffers = graph.key.since(structure).into();
        let instance = graph.instance(&stream.0, true)?;
        let (stream, state) = (stream.clone(), next_state());
        Ok((
            Recorded {
                graph,
                stream,
                structure,
                buffers,
                moved: false,
                replaced: false,
                changed: false,
                state,
                kernels,
            },
            instance,
        ))
    }

    /// Takes the kernels that replaced those of recorded launches, if the launcher's count of changed kernels says that some did.
    fn take_replacements(&mut self) -> Result<()> {
        // Read before the check, so that a later change is found.
        let changes = self.graph.cache.changes();
        if self.kernels == changes {
            return Ok(());
        }
        let replacements = self.graph.replacements()?;
        if !replacements.is_empty() {
            self.graph.key.roll_back(self.structure);
            self.graph.take_replacements(replacements);
            self.structure = self.graph.key.mark();
            self.graph.describe_buffers();
            (self.replaced, self.changed) = (true, true);
        }
        self.kernels = changes;
        Ok(())
    }

    fn set_place(&mut self, value: u32, place: Storage) {
        if let Some(info) = self.graph.values.get_mut(value as usize) {
            let same = matches!((&info.place, &place), (Storage::External { address: a, .. },
                Storage::External { address: b, .. }) if a == b);
            (self.moved, self.changed) = (self.moved | !same, self.changed | !same);
            info.place = place;
        }
    }

    fn set_bytes(&mut self, at: u32, bytes: &[u8]) {
        let at = at as usize;
        if let Some(place) = self.graph.bytes.get_mut(at..at + bytes.len())
            && place != bytes
        {
            place.copy_from_slice(bytes);
            self.changed = true;
        }
    }

    /// Updates the words on how the buffers overlap and are aligned. Returns whether they are those of the compiled
    /// program.
    fn is_as_described(&mut self) -> bool {
        if !std::mem::take(&mut self.moved) {
            return true;
        }
        self.graph.key.roll_back(self.structure);
        self.graph.describe_buffers();
        self.graph.key.since(self.structure) == &self.buffers[..]
    }

    fn run(&mut self, instance: &Arc<ProgramInstance>, submission: Submission) -> Result<Ticket> {
        if std::mem::take(&mut self.changed) {
            self.state = next_state();
        }
        self.graph.run(&self.stream.0, instance, submission, self.state)
    }
}

/// A graph that is compiled for a stream and submitted many times: with the same buffers and scalars, or with others
/// ([`set_buffer`](CompiledGraph::set_buffer), [`set_scalar`](CompiledGraph::set_scalar),
/// [`set_argument_block`](CompiledGraph::set_argument_block)). A submission records nothing, plans nothing and
/// allocates nothing.
///
/// It shares its workspace with other computes of the same graph on the stream, which run one after the other. It keeps
/// the workspace and its buffers until it is dropped, even after
/// [`Launcher::forget_graphs`](crate::Launcher::forget_graphs). Dropping it doesn't change what was submitted.
#[derive(Debug)]
pub struct CompiledGraph {
    recorded: Recorded,
    instance: Arc<ProgramInstance>,
}

impl Graph {
    /// Plans the graph, allocates its workspace from the pool, and creates streams and events for its
    /// [branches](super::Branches). This is all that [`compute`](Graph::compute) does before the submission, which
    /// [`CompiledGraph::submit`] then repeats alone.
    ///
    /// # Errors
    /// Returns the errors of [`compute`](Graph::compute) that occur before the submission.
    pub fn compile(self, stream: &Stream) -> Result<CompiledGraph> {
        let (recorded, instance) = Recorded::new(self, stream, true)?;
        Ok(CompiledGraph { recorded, instance })
    }
}

impl CompiledGraph {
    /// Submits the graph once, after everything enqueued on its stream, as [`Graph::compute`] does.
    ///
    /// Launches of kernels that were [replaced](crate::Launcher::replace_kernel) run the new ones, with the recorded arguments and
    /// dimensions. The first submission after that compiles the program again.
    ///
    /// # Errors
    /// Returns the errors of [`Graph::compute`]. Returns [`GraphProblem::KernelChanged`] if a kernel was unregistered,
    /// [`Error::Node`](crate::Error::Node) with the difference if one was replaced by a kernel that does not take what was recorded,
    /// and [`GraphProblem::Overlap`] or [`GraphProblem::CopyOverlaps`] if buffers that were set overlap where recording would have
    /// refused that.
    pub fn submit(&mut self) -> Result<Ticket> {
        self.submit_by(Submission::Auto)
    }

    /// Submits as [`submit`](CompiledGraph::submit), by the method `submission`.
    ///
    /// # Errors
    /// Returns the errors of [`submit`](CompiledGraph::submit) and [`Graph::compute_by`].
    pub fn submit_by(&mut self, submission: Submission) -> Result<Ticket> {
        let recorded = &mut self.recorded;
        recorded.stream.state().check()?;
        recorded.stream.state().refuse_if_captured("a graph")?;
        recorded.take_replacements()?;
        if recorded.moved || recorded.replaced {
            // Buffers that overlap as before pass the checks as before.
            if !recorded.is_as_described() || recorded.replaced {
                // Overlaps decide the order of nodes, so another program may be needed.
                recorded.moved = true;
                recorded.graph.check_nodes()?;
                self.instance = recorded.graph.instance(&recorded.stream.0, true)?;
                recorded.buffers = recorded.graph.key.since(recorded.structure).into();
                (recorded.moved, recorded.replaced) = (false, false);
            }
        }
        recorded.run(&self.instance, submission)
    }

    /// Replaces a recorded buffer by another buffer or view, from the next submission on. Two buffers may be exchanged.
    /// Buffers may overlap differently than before: the next submission then uses another program, which it compiles if
    /// the cache has none.
    ///
    /// # Errors
    /// Returns [`Error::Graph`](crate::Error::Graph) for memory of another length or device, a view that is not
    /// contiguous, a value of another graph, and a value that is no buffer. The old buffer then stays.
    pub fn set_buffer<'a>(&mut self, value: &GraphValue, memory: impl Into<GraphMemory<'a>>) -> Result<()> {
        let (graph, memory) = (&self.recorded.graph, memory.into());
        graph.own(value)?;
        let info = &graph.values[value.index as usize];
        if !matches!(info.place, Storage::External { .. }) {
            return Err(problem(None, GraphProblem::NotABuffer { value: value.index }));
        }
        // Before the length, which the gaps of a view change.
        let place = graph.external(value.index, &memory)?;
        if info.bytes != memory.bytes {
            let (recorded, bytes) = (info.bytes, memory.bytes);
            return Err(problem(None, GraphProblem::OtherLength { value: value.index, recorded, bytes }));
        }
        self.recorded.set_place(value.index, place);
        Ok(())
    }

    /// Replaces argument `argument` of a recorded launch by another scalar or struct, from the next submission on.
    ///
    /// # Safety
    /// The caller must guarantee what [`Graph::launch`] requires: the value is valid for what the kernel does with it.
    ///
    /// # Errors
    /// Returns [`Error::Graph`](crate::Error::Graph) for a node that is no launch and an argument that is not passed by
    /// value, and [`Error::Launch`](crate::Error::Launch) for a value of another size. The old value then stays.
    pub unsafe fn set_scalar<'a>(
        &mut self,
        node: NodeId,
        argument: usize,
        scalar: impl Into<GraphArg<'a>>,
    ) -> Result<()> {
        let graph = &self.recorded.graph;
        let nodes = graph.nodes.len() as u32;
        let Some(recorded) = graph.nodes.get(node.0 as usize) else {
            return Err(problem(Some(node.0), GraphProblem::NoNode { nodes }));
        };
        let refuse = || problem(Some(node.0), GraphProblem::NotByValue { argument });
        let NodeKind::Launch { kernel, .. } = &recorded.work else { return Err(refuse()) };
        let all = graph.immediates_of(node.0 as usize);
        let immediate = all.iter().find(|i| i.parameter as usize == argument).ok_or_else(refuse)?;
        let at = immediate.at;
        match scalar.into() {
            GraphArg::Scalar { bits, size } => {
                kernel.check_value(argument, usize::from(size), "scalar")?;
                self.recorded.set_bytes(at, &bits.to_le_bytes()[..usize::from(size).min(8)]);
            }
            GraphArg::Struct(bytes) => {
                kernel.check_value(argument, bytes.len(), "by-value struct")?;
                self.recorded.set_bytes(at, bytes);
            }
            GraphArg::Read(_) | GraphArg::Write(_) | GraphArg::ReadWrite(_) => return Err(refuse()),
        }
        Ok(())
    }

    /// Replaces the bytes of an [argument block](Graph::block), from the next submission on. The addresses written into
    /// it stay the same.
    ///
    /// # Safety
    /// The caller must guarantee what [`Graph::launch`] requires: the bytes are valid for what kernels do with them.
    ///
    /// # Errors
    /// Returns [`Error::Graph`](crate::Error::Graph) for bytes of another length, a value of another graph, and a value
    /// that is no argument block.
    pub unsafe fn set_argument_block(&mut self, value: &GraphValue, bytes: &[u8]) -> Result<()> {
        let graph = &self.recorded.graph;
        graph.own(value)?;
        let info = &graph.values[value.index as usize];
        let Storage::ArgumentBlock { at, .. } = info.place else {
            return Err(problem(None, GraphProblem::NotABuffer { value: value.index }));
        };
        if info.bytes != bytes.len() as u64 {
            let (recorded, bytes) = (info.bytes, bytes.len() as u64);
            return Err(problem(None, GraphProblem::OtherLength { value: value.index, recorded, bytes }));
        }
        self.recorded.set_bytes(at, bytes);
        Ok(())
    }

    /// The stream that the graph is submitted on.
    pub fn stream(&self) -> &Stream {
        &self.recorded.stream
    }

    /// The number of nodes that a submission runs: the recorded ones, without dead nodes and omitted copies.
    pub fn steps(&self) -> usize {
        self.instance.program.steps.len()
    }

    /// The number of streams that it runs on, including its own.
    pub fn streams(&self) -> usize {
        self.instance.program.schedule.as_ref().map_or(1, |s| s.streams)
    }

    /// The number of events between these streams in each submission, without the ticket's event.
    pub fn events(&self) -> usize {
        self.instance.program.schedule.as_ref().map_or(0, |s| s.events as usize)
    }

    /// The number of bytes of its argument blocks and temporaries.
    pub fn workspace_bytes(&self) -> u64 {
        self.instance.program.workspace_bytes
    }

    /// Returns the program instance, for tests that change it.
    #[cfg(all(test, feature = "emulator"))]
    pub(super) fn instance_mut(&mut self) -> &mut ProgramInstance {
        self.recorded.graph.cache.clear();
        Arc::get_mut(&mut self.instance).expect("nobody else has it")
    }
}

/// A compiled graph in a cache of its owner. It keeps neither workspace nor buffers alive.
#[derive(Debug)]
pub struct CachedGraph {
    recorded: Recorded,
    instance: Weak<ProgramInstance>,
}

impl CachedGraph {
    /// Compiles a graph and submits it once.
    ///
    /// # Errors
    /// Returns the errors of [`Graph::compute`].
    pub fn compute(graph: Graph, stream: &Stream) -> Result<CachedGraph> {
        let (mut recorded, instance) = Recorded::new(graph, stream, false)?;
        drop(recorded.run(&instance, Submission::Auto)?);
        recorded.release_buffers();
        Ok(CachedGraph { recorded, instance: Arc::downgrade(&instance) })
    }

    /// Submits the graph again. `bind` must bind all buffers, each as long as before, and all immediates that changed.
    /// Returns `false`, with nothing submitted, if the graph has to be recorded again.
    ///
    /// # Errors
    /// Returns the errors of [`Graph::compute`].
    pub fn submit(&mut self, bind: impl FnOnce(&mut Binding<'_>)) -> Result<bool> {
        let Some(instance) = self.instance.upgrade() else { return Ok(false) };
        let recorded = &mut self.recorded;
        recorded.stream.state().check()?;
        let graphs = &recorded.graph.cache;
        if recorded.kernels != graphs.changes() {
            return Ok(false);
        }
        graphs.touch(&instance);
        bind(&mut Binding(recorded));
        let outcome = match recorded.is_as_described() {
            true => recorded.run(&instance, Submission::Auto).map(|_| true),
            false => Ok(false),
        };
        recorded.release_buffers();
        outcome
    }
}

impl Recorded {
    /// Drops the buffers, but keeps their addresses.
    fn release_buffers(&mut self) {
        for &value in &self.graph.external {
            if let Storage::External { block, foreign, .. } = &mut self.graph.values[value as usize].place {
                (*block, *foreign) = (None, None);
            }
        }
    }
}

/// Binds the data of one [`CachedGraph::submit`].
pub struct Binding<'a>(&'a mut Recorded);

impl Binding<'_> {
    /// Binds a buffer's memory to a value.
    #[inline]
    pub fn buffer<'a>(&mut self, value: u32, memory: impl Into<GraphMemory<'a>>) {
        let memory = memory.into();
        self.0.set_place(value, memory.storage());
    }

    /// Binds immediate number `index`, in the order of recording. `bytes` must be as long as before.
    #[inline]
    pub fn immediate(&mut self, index: u32, bytes: &[u8]) {
        if let Some(immediate) = self.0.graph.immediates.get(index as usize) {
            let at = immediate.at;
            self.0.set_bytes(at, bytes);
        }
    }
}
