//! Graphs of expressions that were computed before. The graph is found by the structure and shapes of an expression,
//! and is submitted with the data and scalars of the new one.

use std::sync::Arc;

use crate::error::Result;
use hiplaunch::graph::{CachedGraph, GraphMemory};
use hiplaunch::memory::DeviceBuffer;

use super::dag::{entries, walk};
use super::element::Element;
use super::kept::{GraphInputs, KeyWords, Lowered};
use super::lower::record;
use super::node::{Input, Node, Operation};

const DATA: u64 = 1;
const ELEMENTWISE: u64 = 2;
const SUM: u64 = 3;
const PRODUCT: u64 = 4;

/// An expression as a key, without its data and scalars, which are listed beside it.
pub(super) struct ExpressionKey<'a, T: Element> {
    root: &'a Arc<Node<T>>,
    key: KeyWords,
    /// The nodes that are data, in the order of the walk.
    leaves: Vec<&'a Arc<Node<T>>>,
    /// The scalars, in the order of the walk and of the operands.
    scalars: Vec<T>,
}

impl<'a, T: Element> ExpressionKey<'a, T> {
    pub(super) fn of(root: &'a Arc<Node<T>>) -> ExpressionKey<'a, T> {
        let key = KeyWords { hash: 0, words: Vec::with_capacity(256) };
        let mut form =
            ExpressionKey { root, key, leaves: Vec::with_capacity(8), scalars: Vec::with_capacity(128) };
        let (fused, streams) = (root.tensors.fuses(), root.tensors.branches().max_streams() as u64);
        form.key.push(T::TYPE as u64 | u64::from(fused) << 8 | streams << 16);
        walk(root, |node| form.add(node));
        form
    }

    /// Returns whether the expression reads a view of the memory of `destination`.
    pub(super) fn has_view_of(&self, destination: &DeviceBuffer<T>) -> bool {
        let is_view = |node: &&&Arc<Node<T>>| matches!(node.work, Operation::View(_));
        let mut views = self.leaves.iter().filter(is_view).filter_map(|node| node.memory());
        match destination.block() {
            Some(block) => views.any(|m| m.is_of(block)),
            // Borrowed memory has no block.
            None => views.any(|m| m.overlaps(&GraphMemory::from(destination))),
        }
    }

    /// Adds a node after its operands. Its shape follows from them and is not part of the key.
    #[inline]
    fn add(&mut self, node: &'a Arc<Node<T>>) {
        let read = |node: &Arc<Node<T>>| u64::from(node.mark.number()) << 32;
        match &node.work {
            Operation::Elementwise(op, inputs) => {
                // Two bits for each operand: none, a tensor, a scalar.
                let (mut first, mut rest, mut tensors) = (ELEMENTWISE | (*op as u64) << 8, 0u64, 0);
                for (i, input) in inputs.iter().enumerate() {
                    match input {
                        Input::Scalar(scalar) => {
                            first |= 2 << (16 + 2 * i);
                            self.scalars.push(*scalar);
                        }
                        Input::Tensor(operand) => {
                            first |= 1 << (16 + 2 * i);
                            match tensors {
                                0 => first |= read(operand),
                                1 => rest = read(operand),
                                _ => rest |= u64::from(operand.mark.number()),
                            }
                            tensors += 1;
                        }
                    }
                }
                self.key.push(first);
                if tensors > 1 {
                    self.key.push(rest);
                }
            }
            Operation::Data(_) | Operation::View(_) => {
                self.key.push(DATA | (node.shape.len() as u64) << 8);
                node.shape.iter().for_each(|&extent| self.key.push(extent as u64));
                self.leaves.push(node);
            }
            Operation::Sum(x, axis) => self.key.push(SUM | (*axis as u64) << 8 | read(x)),
            Operation::Product(a, b) => {
                self.key.push(PRODUCT | read(a));
                self.key.push(read(b));
            }
            Operation::Failed(_) | Operation::Gone => self.key.push(0),
        }
    }
}

/// Computes an expression into `result`, which has its shape: with the graph of an expression that differs only in data
/// and scalars, if there is one, otherwise with a new graph.
pub(super) fn compute<T: Element>(form: ExpressionKey<'_, T>, result: &DeviceBuffer<T>) -> Result<()> {
    let (root, tensors) = (form.root, &form.root.tensors);
    let expressions = tensors.expressions();
    if let Some(mut lowered) = expressions.take(&form.key) {
        let Lowered { graph, inputs: GraphInputs { leaves, scalars, result: to } } = &mut lowered;
        let submitted = graph.submit(|binding| {
            for (leaf, &value) in form.leaves.iter().zip(leaves.iter()) {
                if let Some(memory) = leaf.memory() {
                    binding.buffer(value, memory);
                }
            }
            for (scalar, &immediate) in form.scalars.iter().zip(scalars.iter()) {
                binding.immediate(immediate, bytemuck::bytes_of(scalar));
            }
            binding.buffer(*to, result);
        })?;
        if submitted {
            expressions.put(form.key, lowered);
            return Ok(());
        }
    }
    let (graph, inputs) = record(tensors, &entries(root), result)?;
    let graph = CachedGraph::compute(graph, tensors.stream())?;
    expressions.put(form.key, Lowered { graph, inputs });
    Ok(())
}
