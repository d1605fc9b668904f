//! Recording: values, and nodes that read and write them. Makes no driver call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytemuck::Pod;

use crate::buffer::Foreign;
use crate::code::{DeviceKernel, KernelHandle, LaunchDims};
use crate::device::Device;
use crate::error::{Error, LaunchProblem, Result};
use crate::launcher::{Arg, Launcher};
use crate::pool::PoolBlock;
use crate::stream::host_node;
use hip_driver::HostNode;

use super::branches::Branches;
use super::cache::GraphCache;
use super::key::{GraphKey, KeyCheckpoint};
use super::memory::GraphMemory;
use super::program::ALIGN;
use crate::error::GraphProblem;

// The topic of a word of the key, in its highest bits.
const KEY_VALUE: u64 = 1 << 60;
const KEY_USE: u64 = 2 << 60;
const KEY_IMMEDIATE: u64 = 3 << 60;
const KEY_LAUNCH: u64 = 4 << 60;
const KEY_COPY: u64 = 5 << 60;
const KEY_FILL: u64 = 6 << 60;
const KEY_READ: u64 = 7 << 60;
const KEY_OVERLAP: u64 = 8 << 60;
const KEY_PATCH: u64 = 9 << 60;
const KEY_ORDER: u64 = 10 << 60;
const KEY_BRANCHES: u64 = 11 << 60;
const KEY_ALIGNMENT: u64 = 12 << 60;
const KEY_HOST: u64 = 13 << 60;

/// The bytes of a value of a graph, or a part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphValue {
    pub(super) graph: u32,
    pub(super) index: u32,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl GraphValue {
    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of the value among the graph's values.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Returns the `bytes` bytes of it from `offset` on.
    ///
    /// # Errors
    /// Returns [`Error::Graph`] if that range is not inside it.
    pub fn slice(&self, offset: u64, bytes: u64) -> Result<GraphValue> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(GraphValue { offset: self.offset + offset, bytes, ..*self }),
            end => {
                let end = end.unwrap_or(u64::MAX);
                Err(problem(None, GraphProblem::OutOfRange { start: offset, end, bytes: self.bytes }))
            }
        }
    }
}

/// The number of a node of a graph, in the order of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// An argument of a recorded launch, in the order of the kernel's parameters.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum GraphArg<'a> {
    /// A pointer to bytes that the kernel reads.
    Read(GraphValue),
    /// A pointer to bytes all of which the kernel writes and none of which it reads.
    Write(GraphValue),
    /// A pointer to bytes that the kernel reads and may write.
    ReadWrite(GraphValue),
    /// A number of 1, 2, 4 or 8 bytes. Create it with `From`.
    Scalar {
        /// Its bits, little-endian in the low bytes.
        bits: u64,
        /// Its size in bytes.
        size: u8,
    },
    /// A struct by value.
    Struct(&'a [u8]),
}

macro_rules! scalars {
    ($($t:ty),*) => {$(
        impl From<$t> for GraphArg<'_> {
            #[inline]
            fn from(v: $t) -> Self {
                match Arg::from(v) {
                    Arg::Scalar { bits, size } => GraphArg::Scalar { bits, size },
                    // Numbers are scalars.
                    _ => GraphArg::Struct(&[]),
                }
            }
        }
    )*};
}

scalars!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// How a value is stored.
#[derive(Clone, Debug)]
pub(super) enum Storage {
    /// A buffer's memory.
    External { block: Option<PoolBlock>, foreign: Option<Arc<Foreign>>, address: u64 },
    /// In the graph's workspace.
    Temporary,
    /// Bytes of the host that are copied to the workspace before the first node runs, with addresses written in.
    ArgumentBlock { at: u32, patches: Vec<(u32, GraphValue)> },
}

#[derive(Clone, Debug)]
pub(super) struct ValueInfo {
    pub(super) place: Storage,
    pub(super) bytes: u64,
}

/// What a node does.
#[derive(Clone, Debug)]
pub(super) enum NodeKind {
    Launch {
        kernel: Arc<DeviceKernel>,
        handle: KernelHandle,
        dims: LaunchDims,
        /// Where the key names the kernel.
        key: KeyCheckpoint,
    },
    Copy,
    /// Repeats a pattern of `width` bytes.
    Fill {
        pattern: u32,
        width: u8,
    },
    /// Copies the bytes to the host.
    Read,
    /// Calls a function, which no other node has.
    Host(HostNode),
}

/// What a node does with a value ([`Graph::uses`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads it.
    Read,
    /// Writes it, without reading what it held.
    Write,
    /// Reads and writes it.
    ReadWrite,
}

/// An access of a node to bytes of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueAccess {
    pub(super) value: u32,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) read: bool,
    pub(super) write: bool,
    /// For launches, the parameter that holds the address.
    pub(super) parameter: u32,
}

/// The parameter of a use through an address in an argument block.
pub(super) const THROUGH_ARGUMENT_BLOCK: u32 = u32::MAX >> 10;

/// A scalar or struct argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct Immediate {
    pub(super) parameter: u32,
    /// The offset of its bytes among the graph's immediates.
    pub(super) at: u32,
    pub(super) len: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) work: NodeKind,
    /// The index of its first use. Its uses end where those of the next node begin.
    pub(super) uses: u32,
    pub(super) immediates: u32,
}

/// The word by which a key names a kernel.
fn key_of(kernel: &DeviceKernel) -> u64 {
    KEY_LAUNCH | kernel.id << 1 | u64::from(kernel.is_in_place())
}

/// A graph that is being recorded. Dropping it does nothing; [`compute`](Graph::compute) runs it once.
#[derive(Debug)]
pub struct Graph {
    /// The cache of the launcher's graphs.
    pub(super) cache: Arc<GraphCache>,
    pub(super) launcher: Launcher,
    pub(super) device: Device,
    id: u32,
    pub(super) values: Vec<ValueInfo>,
    /// The values that are buffers.
    pub(super) external: Vec<u32>,
    pub(super) branches: Branches,
    /// Pairs of nodes whose order was set explicitly, the earlier node first.
    pub(super) order: Vec<(u32, u32)>,
    pub(super) nodes: Vec<Node>,
    pub(super) uses: Vec<ValueAccess>,
    pub(super) immediates: Vec<Immediate>,
    pub(super) bytes: Vec<u8>,
    pub(super) key: GraphKey,
}

#[cold]
pub(super) fn problem(node: Option<u32>, problem: GraphProblem) -> Error {
    Error::Graph { node, problem: Box::new(problem) }
}

impl Graph {
    pub(crate) fn new(launcher: &Launcher, device: &Device) -> Graph {
        static ID: AtomicU32 = AtomicU32::new(1);
        Graph {
            cache: GraphCache::of(launcher),
            launcher: launcher.clone(),
            device: device.clone(),
            id: ID.fetch_add(1, Ordering::Relaxed),
            values: Vec::new(),
            external: Vec::new(),
            branches: Branches::One,
            order: Vec::new(),
            nodes: Vec::new(),
            uses: Vec::new(),
            immediates: Vec::new(),
            bytes: Vec::new(),
            key: GraphKey::default(),
        }
    }

    /// The number of nodes recorded so far.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The number of scalars and structs recorded so far.
    pub fn immediates(&self) -> u32 {
        self.immediates.len() as u32
    }

    /// Whether no node was recorded.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn add_value(&mut self, place: Storage, bytes: u64) -> GraphValue {
        let index = self.values.len() as u32;
        let kind = match &place {
            Storage::External { .. } => 0,
            Storage::Temporary => 1,
            Storage::ArgumentBlock { .. } => 2,
        };
        self.key.push(KEY_VALUE | kind);
        self.key.push(bytes);
        if let Storage::ArgumentBlock { patches, .. } = &place {
            for (at, value) in patches {
                self.key.push(KEY_PATCH | u64::from(*at) << 28 | u64::from(value.index));
                self.key.push(value.offset);
            }
        }
        if kind == 0 {
            self.external.push(index);
        }
        self.values.push(ValueInfo { place, bytes });
        GraphValue { graph: self.id, index, offset: 0, bytes }
    }

    /// Sets the number of streams on which independent branches run. The default is one.
    pub fn set_branches(&mut self, branches: Branches) {
        self.branches = branches;
    }

    /// Orders node `after` after node `before`, where their values don't. Nodes that access the same bytes run in the
    /// order of recording, if one of them writes. Other nodes may run at the same time, on [several
    /// streams](Graph::set_branches) or in a driver graph.
    ///
    /// # Errors
    /// Returns [`Error::Graph`] for a node that doesn't exist, and if `before` was not recorded earlier than `after`.
    pub fn order(&mut self, before: NodeId, after: NodeId) -> Result<()> {
        let nodes = self.nodes.len() as u32;
        if let Some(missing) = [before, after].into_iter().find(|n| n.0 >= nodes) {
            return Err(problem(Some(missing.0), GraphProblem::NoNode { nodes }));
        }
        if before >= after {
            return Err(problem(Some(after.0), GraphProblem::Cycle { before: before.0, after: after.0 }));
        }
        self.key.push(KEY_ORDER | u64::from(before.0) << 30 | u64::from(after.0));
        self.order.push((before.0, after.0));
        Ok(())
    }

    /// Adds the memory of a buffer or view, for nodes to read and write. What nodes write there is an output of the
    /// graph, even if no node reads it. Values may overlap, as a buffer and a view of it do: dependencies are found by
    /// bytes. The buffer may be dropped after the graph was computed.
    ///
    /// # Errors
    /// Returns [`Error::Graph`] for a buffer of another device, and for a view whose elements are not contiguous.
    pub fn buffer<'a>(&mut self, memory: impl Into<GraphMemory<'a>>) -> Result<GraphValue> {
        let memory = memory.into();
        let place = self.external(self.values.len() as u32, &memory)?;
        Ok(self.add_value(place, memory.bytes))
    }

    /// Returns the storage of value `value` if it may be this memory.
    pub(super) fn external(&self, value: u32, memory: &GraphMemory<'_>) -> Result<Storage> {
        if *memory.device != self.device {
            let (buffer, graph) = (memory.device.id(), self.device.id());
            return Err(problem(None, GraphProblem::ForeignBuffer { value, buffer, graph }));
        }
        if !memory.contiguous {
            return Err(problem(None, GraphProblem::NotContiguous { value }));
        }
        Ok(memory.storage())
    }

    /// Adds a temporary of `len` elements, which the graph places in its workspace.
    ///
    /// # Errors
    /// Returns [`Error::Graph`] if it is larger than can be addressed.
    pub fn temporary<T: Pod>(&mut self, len: usize) -> Result<GraphValue> {
        let bytes = (len as u64).checked_mul(size_of::<T>() as u64).filter(|&b| b < 1 << 47);
        match bytes {
            Some(bytes) => Ok(self.add_value(Storage::Temporary, bytes)),
            None => {
                Err(problem(None, GraphProblem::TooLarge((len as u64).saturating_mul(size_of::<T>() as u64))))
            }
        }
    }

    /// Adds an argument block: bytes that kernels read through one pointer. `patches` says at which offsets the
    /// addresses of values are written in, 8 bytes each; the offsets must ascend and not overlap. The contents of the
    /// block are not part of the graph key. The next compute of the same graph with other bytes or buffers costs one
    /// copy for all argument blocks together, or none if nothing changed, and never another plan or driver graph.
    ///
    /// Kernels that read the block also access the memory at these addresses. Record that with [`uses`](Graph::uses),
    /// after each such launch.
    ///
    /// # Errors
    /// Returns [`Error::Graph`] for a patch that is not inside the bytes or is out of order, for a value that is of
    /// another graph or an argument block, and for more bytes than an argument block can have.
    pub fn block(&mut self, bytes: &[u8], patches: &[(usize, GraphValue)]) -> Result<GraphValue> {
        let mut end = 0;
        let mut all = Vec::with_capacity(patches.len());
        for (at, value) in patches {
            self.own(value)?;
            let is_block = matches!(self.values[value.index as usize].place, Storage::ArgumentBlock { .. });
            if *at < end || at.checked_add(8).is_none_or(|e| e > bytes.len()) || is_block {
                let (start, bytes) = (*at as u64, bytes.len() as u64);
                let wrong = GraphProblem::OutOfRange { start, end: start.saturating_add(8), bytes };
                return Err(problem(None, wrong));
            }
            end = at + 8;
            all.push((*at as u32, *value));
        }
        if bytes.len() >= 1 << 27 {
            return Err(problem(None, GraphProblem::TooLarge(bytes.len() as u64)));
        }
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        Ok(self.add_value(Storage::ArgumentBlock { at, patches: all }, bytes.len() as u64))
    }

    /// Records that the node that was recorded last accesses a value through an address in an argument block. Without
    /// it, the graph knows only the values that a node's arguments name.
    ///
    /// # Errors
    /// Returns [`Error::Graph`] for a value of another graph, for a write to an argument block, and if no node was
    /// recorded yet.
    pub fn uses(&mut self, value: &GraphValue, access: Access) -> Result<()> {
        let (read, write) = (access != Access::Write, access != Access::Read);
        self.own(value)?;
        let is_block = matches!(self.values[value.index as usize].place, Storage::ArgumentBlock { .. });
        if self.nodes.is_empty() || (is_block && write) {
            return Err(problem(None, GraphProblem::BlockWritten { value: value.index }));
        }
        self.push_use(value, read, write, THROUGH_ARGUMENT_BLOCK);
        Ok(())
    }

    pub(super) fn own(&self, value: &GraphValue) -> Result<()> {
        if value.graph == self.id {
            Ok(())
        } else {
            Err(problem(Some(self.nodes.len() as u32), GraphProblem::ForeignValue { value: value.index }))
        }
    }

    fn writable(&self, value: &GraphValue) -> Result<()> {
        if matches!(self.values[value.index as usize].place, Storage::ArgumentBlock { .. }) {
            let wrong = GraphProblem::BlockWritten { value: value.index };
            return Err(problem(Some(self.nodes.len() as u32), wrong));
        }
        Ok(())
    }

    fn push_use(&mut self, value: &GraphValue, read: bool, write: bool, parameter: u32) {
        let GraphValue { index, offset, bytes, .. } = *value;
        let modes = u64::from(read) | u64::from(write) << 1;
        self.key.push(KEY_USE | modes | u64::from(parameter) << 2 | u64::from(index) << 24);
        self.key.push(offset);
        self.key.push(bytes);
        self.uses.push(ValueAccess { value: index, offset, bytes, read, write, parameter });
    }

    fn push_node(&mut self, work: NodeKind, uses: usize, immediates: usize) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        match &work {
            NodeKind::Launch { kernel, handle, dims, .. } => {
                self.key.push(key_of(kernel));
                // Fault reports name the handle, so it is part of the key.
                self.key.push(handle.0);
                let pair = |a: u32, b: u32| u64::from(a) | u64::from(b) << 32;
                self.key.push(pair(dims.grid[0], dims.grid[1]));
                self.key.push(pair(dims.grid[2], dims.block[0]));
                self.key.push(pair(dims.block[1], dims.block[2]));
                self.key.push(u64::from(dims.dynamic_lds));
            }
            NodeKind::Copy => self.key.push(KEY_COPY),
            NodeKind::Fill { pattern, width } => {
                self.key.push(KEY_FILL | u64::from(*pattern) | u64::from(*width) << 32)
            }
            NodeKind::Read => self.key.push(KEY_READ),
            NodeKind::Host(node) => self.key.push(KEY_HOST | node.number()),
        }
        self.nodes.push(Node { work, uses: uses as u32, immediates: immediates as u32 });
        id
    }

    /// Removes what a node recorded before it was refused.
    fn roll_back(&mut self, uses: usize, immediates: usize, bytes: usize) {
        self.uses.truncate(uses);
        self.immediates.truncate(immediates);
        self.bytes.truncate(bytes);
    }

    /// Records a launch, after the checks of [`Launcher::launch`].
    ///
    /// # Safety
    /// The kernel must access no memory but what the arguments name, and only as they say. The scalars and structs must
    /// be valid for what it does with them. The same holds for a kernel that [replaces](Launcher::replace_kernel) it before the
    /// graph is compiled, or while it is.
    ///
    /// # Errors
    /// Returns [`Error::StaleHandle`] for a kernel that is not registered, [`Error::Launch`] for dimensions or
    /// arguments that the kernel doesn't take, and [`Error::Graph`] for values of another graph or that overlap.
    /// Nothing is recorded then.
    #[inline]
    pub unsafe fn launch(
        &mut self,
        handle: KernelHandle,
        dims: LaunchDims,
        args: &[GraphArg<'_>],
    ) -> Result<NodeId> {
        let kernel = match self.launcher.kernel(handle)?.load(&self.device) {
            Ok(kernel) => kernel,
            Err(Error::Launch { kernel, problem: wrong })
                if matches!(*wrong, LaunchProblem::WrongDevice { .. }) =>
            {
                return Err(problem(Some(self.nodes.len() as u32), GraphProblem::ForeignKernel { kernel }));
            }
            Err(error) => return Err(error),
        };
        let dims = dims.with_lds(kernel.with_layout(dims.dynamic_lds)?);
        kernel.check_dims(&dims)?;
        let marks = (self.uses.len(), self.immediates.len(), self.bytes.len());
        let key = self.key.mark();
        match self.record_args(&kernel, args) {
            Ok(()) => {
                let key = self.key.mark();
                Ok(self.push_node(NodeKind::Launch { kernel, handle, dims, key }, marks.0, marks.1))
            }
            Err(e) => {
                self.roll_back(marks.0, marks.1, marks.2);
                self.key.roll_back(key);
                Err(e)
            }
        }
    }

    #[inline]
    fn record_args(&mut self, kernel: &DeviceKernel, args: &[GraphArg<'_>]) -> Result<()> {
        if args.len() != kernel.parameters.len() {
            return Err(kernel.refuse_count(args.len()));
        }
        let first = self.uses.len();
        for (index, arg) in args.iter().enumerate() {
            let parameter = index as u32;
            let (value, read, write) = match arg {
                GraphArg::Read(v) => (v, true, false),
                GraphArg::Write(v) => (v, false, true),
                GraphArg::ReadWrite(v) => (v, true, true),
                GraphArg::Scalar { bits, size } => {
                    kernel.check_value(index, usize::from(*size), "scalar")?;
                    self.immediate(parameter, &bits.to_le_bytes()[..usize::from(*size).min(8)]);
                    continue;
                }
                GraphArg::Struct(bytes) => {
                    kernel.check_value(index, bytes.len(), "by-value struct")?;
                    self.immediate(parameter, bytes);
                    continue;
                }
            };
            kernel.check_pointer(index)?;
            self.own(value)?;
            if write {
                self.writable(value)?;
            }
            self.push_use(value, read, write, parameter);
        }
        self.check_overlaps(kernel, self.nodes.len() as u32, &self.uses[first..])
    }

    fn immediate(&mut self, parameter: u32, bytes: &[u8]) {
        let at = self.bytes.len() as u32;
        self.key.push(KEY_IMMEDIATE | u64::from(parameter) << 32 | bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self.immediates.push(Immediate { parameter, at, len: bytes.len() as u32 });
    }

    /// Returns the space and the offset at which a use begins. Bytes of different spaces are never the same.
    fn start_of(&self, u: &ValueAccess) -> (u32, u64) {
        match self.values[u.value as usize].place {
            Storage::External { address, .. } => (u32::MAX, address + u.offset),
            Storage::Temporary | Storage::ArgumentBlock { .. } => (u.value, u.offset),
        }
    }

    /// Returns `None` if two uses share no byte, otherwise whether they begin at the same byte.
    fn overlap(&self, a: &ValueAccess, b: &ValueAccess) -> Option<bool> {
        let ((space, start), (other, from)) = (self.start_of(a), self.start_of(b));
        let overlap = space == other && start < from + b.bytes && from < start + a.bytes;
        overlap.then_some(start == from)
    }

    /// Checks that an argument that is written overlaps no other one, unless the kernel is declared in place.
    fn check_overlaps(&self, kernel: &DeviceKernel, node: u32, uses: &[ValueAccess]) -> Result<()> {
        for (i, w) in uses.iter().enumerate().filter(|(_, u)| u.write) {
            for (_, r) in uses.iter().enumerate().filter(|&(j, _)| j != i) {
                if let Some(same_start) = self.overlap(w, r)
                    && !(kernel.is_in_place() && same_start)
                {
                    let (reads, writes) = (r.parameter as usize, w.parameter as usize);
                    return Err(problem(Some(node), GraphProblem::Overlap { reads, writes }));
                }
            }
        }
        Ok(())
    }

    /// Returns whether a node calls a function of the host. No other graph has the key of such a graph.
    pub(super) fn calls_the_host(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node.work, NodeKind::Host(_)))
    }

    /// Returns whether every kernel is still registered as it was when it was recorded.
    pub(super) fn has_current_kernels(&self) -> bool {
        self.nodes.iter().all(|node| match &node.work {
            NodeKind::Launch { kernel, handle, .. } => {
                self.launcher.kernel(*handle).is_ok_and(|now| now.id == kernel.id)
            }
            _ => true,
        })
    }

    /// Returns the nodes whose kernel was replaced since they were recorded, each with the kernel that replaced it.
    ///
    /// # Errors
    /// [`GraphProblem::KernelChanged`] for a kernel that was unregistered; [`Error::Node`] with the first difference if a new kernel
    /// does not take what was recorded; the errors of loading it.
    pub(super) fn replacements(&self) -> Result<Vec<(usize, Arc<DeviceKernel>)>> {
        let mut replacements = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let NodeKind::Launch { kernel, handle, dims, .. } = &node.work else { continue };
            let number = index as u32;
            let Ok(now) = self.launcher.kernel(*handle) else {
                let kernel = kernel.name.clone();
                return Err(problem(Some(number), GraphProblem::KernelChanged { kernel }));
            };
            if now.id != kernel.id {
                let new = now.load(&self.device)?;
                if let Err(difference) = self.check_fits(index, &new, dims) {
                    let (kernel, source) = (Some(kernel.name.clone()), Box::new(difference));
                    return Err(Error::Node { node: number, kernel, source });
                }
                replacements.push((index, new));
            }
        }
        Ok(replacements)
    }

    /// Checks that a kernel takes the arguments and dimensions of a recorded launch.
    fn check_fits(&self, node: usize, kernel: &DeviceKernel, dims: &LaunchDims) -> Result<()> {
        kernel.check_dims(dims)?;
        let arguments = || self.uses_of(node).iter().filter(|u| u.parameter != THROUGH_ARGUMENT_BLOCK);
        let immediates = self.immediates_of(node);
        let count = arguments().count() + immediates.len();
        if count != kernel.parameters.len() {
            return Err(kernel.refuse_count(count));
        }
        immediates.iter().try_for_each(|i| {
            kernel.check_value(i.parameter as usize, i.len as usize, "value of the recorded launch")
        })?;
        arguments().try_for_each(|u| kernel.check_pointer(u.parameter as usize))
    }

    /// Takes the kernels that replaced those of recorded launches. The key must end with the last node.
    pub(super) fn take_replacements(&mut self, replacements: Vec<(usize, Arc<DeviceKernel>)>) {
        let mut words = Vec::with_capacity(replacements.len());
        for (node, new) in replacements {
            if let Some(Node { work: NodeKind::Launch { kernel, key, .. }, .. }) = self.nodes.get_mut(node) {
                words.push((*key, key_of(&new)));
                *kernel = new;
            }
        }
        self.key.replace(words);
    }

    /// Repeats the checks of recording for nodes whose buffers have changed.
    pub(super) fn check_nodes(&self) -> Result<()> {
        for (index, node) in self.nodes.iter().enumerate() {
            let uses = self.uses_of(index);
            match (&node.work, uses) {
                (NodeKind::Launch { kernel, .. }, _) => {
                    let own =
                        uses.iter().position(|u| u.parameter == THROUGH_ARGUMENT_BLOCK).unwrap_or(uses.len());
                    self.check_overlaps(kernel, index as u32, &uses[..own])?;
                }
                (NodeKind::Copy, [from, to]) if self.overlap(from, to).is_some() => {
                    return Err(problem(Some(index as u32), GraphProblem::CopyOverlaps));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Records a copy of all bytes of `from` to `to`.
    ///
    /// # Errors
    /// Returns [`Error::Graph`] if the lengths differ or the bytes overlap.
    pub fn copy(&mut self, from: &GraphValue, to: &GraphValue) -> Result<NodeId> {
        self.own(from)?;
        self.own(to)?;
        let node = Some(self.nodes.len() as u32);
        if from.bytes != to.bytes {
            return Err(problem(node, GraphProblem::LengthsDiffer { from: from.bytes, to: to.bytes }));
        }
        let plain = |v: &GraphValue| ValueAccess {
            value: v.index,
            offset: v.offset,
            bytes: v.bytes,
            read: false,
            write: false,
            parameter: 0,
        };
        if self.overlap(&plain(from), &plain(to)).is_some() {
            return Err(problem(node, GraphProblem::CopyOverlaps));
        }
        self.writable(to)?;
        let uses = self.uses.len();
        self.push_use(from, true, false, 0);
        self.push_use(to, false, true, 1);
        Ok(self.push_node(NodeKind::Copy, uses, self.immediates.len()))
    }

    /// Records a fill of every byte of `value` with `byte`.
    ///
    /// # Errors
    /// Returns [`Error::Graph`] for a value of another graph, or an argument block.
    pub fn fill_bytes(&mut self, value: &GraphValue, byte: u8) -> Result<NodeId> {
        self.fill(value, u32::from(byte), 1)
    }

    /// Records a fill of every 32-bit word of `value` with `word`.
    ///
    /// # Errors
    /// Returns [`Error::Graph`] if offset or length is not a multiple of 4 bytes, and for a value of another graph or
    /// an argument block.
    pub fn fill_words(&mut self, value: &GraphValue, word: u32) -> Result<NodeId> {
        if !value.bytes.is_multiple_of(4) || !value.offset.is_multiple_of(4) {
            let (start, bytes) = (value.offset, value.bytes);
            let wrong = GraphProblem::OutOfRange { start, end: start + bytes, bytes: bytes / 4 * 4 };
            return Err(problem(Some(self.nodes.len() as u32), wrong));
        }
        self.fill(value, word, 4)
    }

    fn fill(&mut self, value: &GraphValue, pattern: u32, width: u8) -> Result<NodeId> {
        self.own(value)?;
        self.writable(value)?;
        let uses = self.uses.len();
        self.push_use(value, false, true, 0);
        Ok(self.push_node(NodeKind::Fill { pattern, width }, uses, self.immediates.len()))
    }

    /// Records a read: the host gets the bytes as the next output of the ticket.
    ///
    /// # Errors
    /// Returns [`Error::Graph`] for a value of another graph.
    pub fn read(&mut self, value: &GraphValue) -> Result<NodeId> {
        self.own(value)?;
        let uses = self.uses.len();
        self.push_use(value, true, false, 0);
        Ok(self.push_node(NodeKind::Read, uses, self.immediates.len()))
    }

    /// Records a function of the host, which runs once at every submission: behind all nodes that were recorded before it, and before
    /// all that are recorded after it, whatever they access and on how many streams they run. The rules of
    /// [`Stream::host_function`](crate::Stream::host_function) hold for it. It is dropped with the graph, and after the last submission
    /// has finished.
    ///
    /// The driver refuses a submission with `NOT_SUPPORTED` where it lacks
    /// [`Capability::HostFunc`](hip_driver::Capability::HostFunc).
    pub fn host_function(&mut self, function: impl Fn(Result<()>) + Send + Sync + 'static) -> NodeId {
        let node = host_node(&self.device, function);
        self.push_node(NodeKind::Host(node), self.uses.len(), self.immediates.len())
    }

    /// Adds to the key the number of streams and how buffers overlap and are aligned. The overlaps determine the order
    /// of nodes, and the alignment which temporaries are written directly to buffers.
    pub(super) fn describe_buffers(&mut self) {
        if self.branches.max_streams() > 1 {
            self.key.push(KEY_BRANCHES | self.branches.max_streams() as u64);
        }
        let range = |v: u32| match &self.values[v as usize] {
            ValueInfo { place: Storage::External { address, .. }, bytes } => (*address, address + bytes),
            _ => (0, 0),
        };
        for (i, &a) in self.external.iter().enumerate() {
            let (start, end) = range(a);
            if !start.is_multiple_of(ALIGN) {
                self.key.push(KEY_ALIGNMENT | u64::from(a) << 16 | start % ALIGN);
            }
            for &b in &self.external[i + 1..] {
                let (other, other_end) = range(b);
                if start < other_end && other < end {
                    self.key.push(KEY_OVERLAP | u64::from(a) << 28 | u64::from(b));
                    self.key.push(other.wrapping_sub(start));
                }
            }
        }
    }

    /// Returns the name of the kernel of a recorded launch.
    pub(super) fn kernel_name(&self, node: u32) -> Option<Arc<str>> {
        match self.nodes.get(node as usize).map(|n| &n.work) {
            Some(NodeKind::Launch { kernel, .. }) => Some(kernel.name.clone()),
            _ => None,
        }
    }

    pub(super) fn uses_of(&self, node: usize) -> &[ValueAccess] {
        let end = self.nodes.get(node + 1).map_or(self.uses.len(), |n| n.uses as usize);
        &self.uses[self.nodes[node].uses as usize..end]
    }

    pub(super) fn immediates_of(&self, node: usize) -> &[Immediate] {
        let end = self.nodes.get(node + 1).map_or(self.immediates.len(), |n| n.immediates as usize);
        &self.immediates[self.nodes[node].immediates as usize..end]
    }
}
