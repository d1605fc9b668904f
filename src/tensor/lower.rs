//! An expression as a graph: a launch for each operation, a temporary for each result but the last.

use crate::error::Result;
use crate::graph::{Graph, GraphArg, Value};
use crate::launcher::LaunchDims;
use crate::memory::DeviceBuffer;

use super::context::Tensors;
use super::dag::Entry;
use super::element::Element;
use super::kernels::Form;
use super::lazy::ROW_SUM_FROM;
use super::node::{Input, Node, Op, Work};

/// Work-items of an elementwise kernel's workgroup.
const BLOCK: u32 = 256;
/// `LANES` of hip/tensor.hip.
const ROW_BLOCK: u32 = 256;
/// Most workgroups that sum rows; each takes every so manieth.
const MAX_ROW_GROUPS: u32 = 1 << 16;
/// `TILE` of hip/tensor.hip.
const TILE: u32 = 16;

/// Records what computes the last of `entries` into `result`.
pub(super) fn record<T: Element>(
    tensors: &Tensors,
    entries: &[Entry<'_, T>],
    result: &DeviceBuffer<T>,
) -> Result<Graph> {
    let mut graph = tensors.launcher().graph(tensors.device())?;
    let mut values: Vec<Value> = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let last = index + 1 == entries.len();
        let value = match &entry.node.work {
            Work::Data(buffer) => graph.buffer(buffer.as_ref())?,
            _ if last => graph.buffer(result)?,
            _ => graph.temporary::<T>(entry.node.len)?,
        };
        let read = |i: usize| entry.reads.get(i).and_then(|&r| values.get(r as usize)).copied();
        match &entry.node.work {
            Work::Data(_) if last => {
                let to = graph.buffer(result)?;
                graph.copy(&value, &to)?;
            }
            Work::Data(_) | Work::Failed(_) | Work::Gone => {}
            Work::Elementwise(op, inputs) => {
                let mut reads = (0..).map_while(read);
                elementwise(tensors, &mut graph, (*op, inputs), &mut reads, value, entry.node.len)?;
            }
            Work::Sum(x, axis) => {
                // Without results the other extents may be anything.
                if let (Some(from), true) = (read(0), entry.node.len > 0) {
                    sum(tensors, &mut graph, (x, *axis), from, value)?;
                }
            }
            Work::Product(a, b) => {
                if let (Some(left), Some(right)) = (read(0), read(1)) {
                    product(tensors, &mut graph, (a, b), (left, right), value)?;
                }
            }
        }
        values.push(value);
    }
    Ok(graph)
}

fn elementwise<T: Element>(
    tensors: &Tensors,
    graph: &mut Graph,
    (op, inputs): (Op, &[Input<T>]),
    reads: &mut dyn Iterator<Item = Value>,
    result: Value,
    len: usize,
) -> Result<()> {
    let mut args: smallvec::SmallVec<[GraphArg<'_>; 5]> = smallvec::SmallVec::new();
    let mut scalars = 0;
    for (i, input) in inputs.iter().enumerate() {
        match input {
            Input::Scalar(scalar) => {
                scalars |= 1 << i;
                args.push((*scalar).into());
            }
            Input::Tensor(_) => args.extend(reads.next().map(GraphArg::Read)),
        }
    }
    let n = len as u32;
    args.extend([GraphArg::Write(result), n.into()]);
    let kernel = tensors.kernels().handle(T::TYPE, Form::Elementwise(op, scalars))?;
    // SAFETY: every operand has as many elements as the result, which was checked when the node was made.
    unsafe { graph.launch(kernel, LaunchDims::cover(n, BLOCK), &args) }?;
    Ok(())
}

fn sum<T: Element>(
    tensors: &Tensors,
    graph: &mut Graph,
    (x, axis): (&Node<T>, usize),
    from: Value,
    to: Value,
) -> Result<()> {
    let extent = |axes: &[usize]| axes.iter().product::<usize>() as u32;
    let (n, inner, outer) = (x.shape[axis] as u32, extent(&x.shape[axis + 1..]), extent(&x.shape[..axis]));
    let (from, to) = (GraphArg::Read(from), GraphArg::Write(to));
    if inner == 1 && n as usize >= ROW_SUM_FROM {
        let kernel = tensors.kernels().handle(T::TYPE, Form::SumRows)?;
        let dims = LaunchDims::linear(outer.min(MAX_ROW_GROUPS), ROW_BLOCK);
        // SAFETY: `from` is `outer` rows of `n`, `to` has `outer` elements.
        unsafe { graph.launch(kernel, dims, &[from, to, n.into(), outer.into()]) }?;
    } else {
        let kernel = tensors.kernels().handle(T::TYPE, Form::SumSerial)?;
        let count = outer * inner;
        let dims = LaunchDims::cover(count, BLOCK);
        // SAFETY: `from` is (outer, n, inner), `to` has `outer * inner` elements.
        unsafe { graph.launch(kernel, dims, &[from, to, n.into(), inner.into(), count.into()]) }?;
    }
    Ok(())
}

fn product<T: Element>(
    tensors: &Tensors,
    graph: &mut Graph,
    (a, b): (&Node<T>, &Node<T>),
    (left, right): (Value, Value),
    to: Value,
) -> Result<()> {
    let (&[m, k], &[_, n]) = (&a.shape[..], &b.shape[..]) else { return Ok(()) };
    let (m, n, k) = (m as u32, n as u32, k as u32);
    let tiles = m.div_ceil(TILE) as u64 * u64::from(n.div_ceil(TILE));
    let kernel = tensors.kernels().handle(T::TYPE, Form::Product)?;
    // More than that is refused by the launch, which names the limit.
    let grid = u32::try_from(tiles).unwrap_or(u32::MAX);
    let dims = LaunchDims::new([grid, 1, 1], [TILE, TILE, 1]);
    let args = [GraphArg::Read(left), GraphArg::Read(right), GraphArg::Write(to)];
    // SAFETY: the operands are m x k and k x n, the result m x n: checked when the node was made.
    unsafe { graph.launch(kernel, dims, &[args[0], args[1], args[2], m.into(), n.into(), k.into()]) }?;
    Ok(())
}
