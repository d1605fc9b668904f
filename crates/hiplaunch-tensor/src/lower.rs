//! Records an expression as a graph: a launch for each operation or cluster, and a temporary for each result but the
//! last.

use crate::error::Result;
use hiplaunch::graph::{Graph, GraphArg, GraphValue};
use hiplaunch::launcher::{KernelHandle, LaunchDims};
use hiplaunch::memory::DeviceBuffer;
use smallvec::SmallVec;

use super::clusters::{Clusters, clusters, structure};
use super::context::Tensors;
use super::dag::VisitedNode;
use super::element::Element;
use super::kept::GraphInputs;
use super::kernels::KernelVariant;
use super::lazy::ROW_SUM_FROM;
use super::node::{Input, Node, Operation};
use super::op::Op;

/// The number of work-items in a workgroup of an elementwise kernel.
const BLOCK: u32 = 256;
/// `LANES` of hip/tensor.hip.
const ROW_BLOCK: u32 = 256;
/// The largest number of workgroups that sum rows, several for each compute unit of the largest device. With more rows,
/// each workgroup sums several.
const MAX_ROW_GROUPS: u32 = 1 << 12;
/// `TILE` of hip/tensor.hip.
const TILE: u32 = 16;

/// Records the graph that computes the last of `entries` into `result`.
pub(super) fn record<T: Element>(
    tensors: &Tensors,
    entries: &[VisitedNode<'_, T>],
    result: &DeviceBuffer<T>,
) -> Result<(Graph, GraphInputs)> {
    let clusters = if tensors.fuses() { clusters(entries) } else { Clusters::none() };
    let mut graph = tensors.launcher().graph(tensors.device())?;
    graph.set_branches(tensors.branches());
    let result = graph.buffer(result)?;
    let (values, immediates) = (vec![None; entries.len()], vec![0; entries.len()]);
    let mut recording = Recording { tensors, entries, result, graph, values, immediates };
    for index in 0..entries.len() {
        if clusters.is_inner(index) {
            continue;
        }
        let members = clusters.ending_at(index);
        if members.is_empty() {
            recording.operation(index)?;
        } else if !recording.fused(index, members)? {
            members.iter().try_for_each(|&m| recording.operation(m as usize))?;
        }
    }
    let Recording { graph, values, immediates, .. } = recording;
    let (mut leaves, mut scalars) = (Vec::new(), Vec::new());
    for ((entry, value), first) in entries.iter().zip(&values).zip(&immediates) {
        if entry.node.memory().is_some() {
            leaves.extend(value.map(|v: GraphValue| v.index()));
        }
        scalars.extend(*first..*first + entry.node.scalars());
    }
    Ok((graph, GraphInputs { leaves, scalars, result: result.index() }))
}

/// The state of recording an expression's graph.
struct Recording<'a, T: Element> {
    tensors: &'a Tensors,
    entries: &'a [VisitedNode<'a, T>],
    result: GraphValue,
    graph: Graph,
    /// For each recorded node, the graph value of its elements.
    values: Vec<Option<GraphValue>>,
    /// The first immediate of each node's scalars.
    immediates: Vec<u32>,
}

impl<T: Element> Recording<'_, T> {
    /// Returns the graph value that a node's elements are written to.
    fn place(&mut self, index: usize) -> Result<GraphValue> {
        if index + 1 == self.entries.len() {
            return Ok(self.result);
        }
        Ok(self.graph.temporary::<T>(self.entries[index].node.len)?)
    }

    /// Records one node.
    fn operation(&mut self, index: usize) -> Result<()> {
        let entries = self.entries;
        let entry = &entries[index];
        if let Some(memory) = entry.node.memory() {
            let from = self.graph.buffer(memory)?;
            self.values[index] = Some(from);
            if index + 1 == self.entries.len() {
                let to = self.place(index)?;
                self.graph.copy(&from, &to)?;
            }
            return Ok(());
        }
        let value = self.place(index)?;
        self.immediates[index] = self.graph.immediates();
        let operand =
            |i: usize| entry.reads.get(i).and_then(|&r| self.values[r as usize]).map(GraphArg::Read);
        match (&entry.node.work, [operand(0), operand(1), operand(2)]) {
            (Operation::Elementwise(op, inputs), reads) => {
                self.elementwise(*op, inputs, reads, value, entry.node.len as u32)?;
            }
            // If the result is empty, the other extents may be anything.
            (Operation::Sum(x, axis), [Some(from), ..]) if entry.node.len > 0 => {
                self.sum(x, *axis, from, value)?;
            }
            (Operation::Product(a, b), [Some(left), Some(right), _]) => {
                self.product(a, b, [left, right, GraphArg::Write(value)])?;
            }
            _ => {}
        }
        self.values[index] = Some(value);
        Ok(())
    }

    /// Records a cluster as one kernel. Returns `false`, with nothing recorded, if there is no kernel.
    fn fused(&mut self, index: usize, members: &[u32]) -> Result<bool> {
        let (structure, arrays, scalars) = structure(self.entries, members);
        let value = self.place(index)?;
        let n = self.entries[index].node.len as u32;
        let mut args: Vec<GraphArg<'_>> = Vec::with_capacity(arrays.len() + scalars.len() + 2);
        args.extend(arrays.iter().filter_map(|&a| self.values[a as usize]).map(GraphArg::Read));
        args.extend(scalars.into_iter().map(Into::into));
        args.extend([GraphArg::Write(value), n.into()]);
        let (launcher, device) = (self.tensors.launcher(), self.tensors.device());
        let mut next = self.graph.immediates();
        for &member in members {
            let entry = member as usize;
            self.immediates[entry] = next;
            next += self.entries[entry].node.scalars();
        }
        let graph = &mut self.graph;
        let done = self.tensors.kernels().fused().with(launcher, device, &structure, |kernel| {
            // SAFETY: every array of a cluster has as many elements as its result, because those of its operations do.
            Ok(unsafe { graph.launch(kernel, LaunchDims::cover(n, BLOCK), &args) }?)
        })?;
        if done.is_some() {
            self.values[index] = Some(value);
        }
        Ok(done.is_some())
    }

    fn kernel(&self, variant: KernelVariant) -> Result<KernelHandle> {
        self.tensors.kernels().handle(T::TYPE, variant)
    }

    fn elementwise(
        &mut self,
        op: Op,
        inputs: &[Input<T>],
        reads: [Option<GraphArg<'_>>; 3],
        result: GraphValue,
        n: u32,
    ) -> Result<()> {
        let mut reads = reads.into_iter().flatten();
        let mut args: SmallVec<[GraphArg<'_>; 5]> = SmallVec::new();
        let mut scalars = 0;
        for (i, input) in inputs.iter().enumerate() {
            match input {
                Input::Scalar(scalar) => {
                    scalars |= 1 << i;
                    args.push((*scalar).into());
                }
                Input::Tensor(_) => args.extend(reads.next()),
            }
        }
        args.extend([GraphArg::Write(result), n.into()]);
        let kernel = self.kernel(KernelVariant::Elementwise(op, scalars))?;
        // SAFETY: every operand has as many elements as the result, which was checked when the node was created.
        unsafe { self.graph.launch(kernel, LaunchDims::cover(n, BLOCK), &args) }?;
        Ok(())
    }

    fn sum(&mut self, x: &Node<T>, axis: usize, from: GraphArg<'_>, to: GraphValue) -> Result<()> {
        let extent = |axes: &[usize]| axes.iter().product::<usize>() as u32;
        let (n, inner, outer) =
            (x.shape[axis] as u32, extent(&x.shape[axis + 1..]), extent(&x.shape[..axis]));
        let to = GraphArg::Write(to);
        if inner == 1 && n as usize >= ROW_SUM_FROM {
            let kernel = self.kernel(KernelVariant::SumRows)?;
            let dims = LaunchDims::linear(outer.min(MAX_ROW_GROUPS), ROW_BLOCK);
            // SAFETY: `from` is `outer` rows of `n`, `to` has `outer` elements.
            unsafe { self.graph.launch(kernel, dims, &[from, to, n.into(), outer.into()]) }?;
        } else {
            let kernel = self.kernel(KernelVariant::SumSerial)?;
            let count = outer * inner;
            let dims = LaunchDims::cover(count, BLOCK);
            // SAFETY: `from` is (outer, n, inner), `to` has `outer * inner` elements.
            unsafe { self.graph.launch(kernel, dims, &[from, to, n.into(), inner.into(), count.into()]) }?;
        }
        Ok(())
    }

    fn product(&mut self, a: &Node<T>, b: &Node<T>, [left, right, to]: [GraphArg<'_>; 3]) -> Result<()> {
        let (&[m, k], &[_, n]) = (&a.shape[..], &b.shape[..]) else { return Ok(()) };
        let (m, n, k) = (m as u32, n as u32, k as u32);
        let tiles = u64::from(m.div_ceil(TILE)) * u64::from(n.div_ceil(TILE));
        let kernel = self.kernel(KernelVariant::Product)?;
        // A larger grid is refused by the launch, which names the limit.
        let grid = u32::try_from(tiles).unwrap_or(u32::MAX);
        let dims = LaunchDims::new([grid, 1, 1], [TILE, TILE, 1]);
        // SAFETY: the operands are m x k and k x n, the result m x n: checked when the node was created.
        unsafe { self.graph.launch(kernel, dims, &[left, right, to, m.into(), n.into(), k.into()]) }?;
        Ok(())
    }
}
