//! The nodes of expressions: immutable, shared, and checked when they are created.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use smallvec::SmallVec;

use crate::error::Error;
use hiplaunch::graph::GraphMemory;
use hiplaunch::memory::{DeviceBuffer, DeviceView};

use super::context::Tensors;
use super::element::Element;
use super::op::Op;

/// The extents of the axes, outermost first.
pub(super) type Shape = SmallVec<[usize; 4]>;

/// An operand of an elementwise operation.
#[derive(Clone)]
pub(super) enum Input<T: Element> {
    Tensor(Arc<Node<T>>),
    Scalar(T),
}

/// How a node's elements are computed.
pub(super) enum Operation<T: Element> {
    /// Elements on the device, in a buffer of the tensor.
    Data(Arc<DeviceBuffer<T>>),
    /// Elements on the device, in memory that others may use.
    View(DeviceView<T>),
    /// Computed from the elements at the same index of the operands.
    Elementwise(Op, SmallVec<[Input<T>; 3]>),
    /// The sum over an axis.
    Sum(Arc<Node<T>>, usize),
    /// The matrix product.
    Product(Arc<Node<T>>, Arc<Node<T>>),
    /// Not computed: recording failed.
    Failed(Error),
    /// A node that is being dropped.
    Gone,
}

/// The last walk that visited the node, and the number that it gave to the node. Guarded by the walk lock of the node's
/// stream.
#[derive(Debug, Default)]
pub(super) struct VisitMark {
    walk: AtomicU64,
    number: AtomicU32,
}

impl VisitMark {
    pub(super) fn is_of(&self, walk: u64) -> bool {
        self.walk.load(Ordering::Relaxed) == walk
    }

    pub(super) fn set(&self, walk: u64, number: u32) {
        self.walk.store(walk, Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
    }

    /// Returns the number of the node in the current walk.
    #[inline]
    pub(super) fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }
}

/// A node of an expression.
pub(super) struct Node<T: Element> {
    pub(super) tensors: Tensors,
    pub(super) shape: Shape,
    /// The number of elements: the product of the shape, which is checked when the node is created.
    pub(super) len: usize,
    pub(super) work: Operation<T>,
    pub(super) mark: VisitMark,
}

impl<T: Element> Node<T> {
    /// Returns the memory of the elements if they are on the device.
    pub(super) fn memory(&self) -> Option<GraphMemory<'_>> {
        match &self.work {
            Operation::Data(buffer) => Some(buffer.as_ref().into()),
            Operation::View(view) => Some(view.into()),
            _ => None,
        }
    }

    /// Returns the number of its operands that are scalars.
    pub(super) fn scalars(&self) -> u32 {
        match &self.work {
            Operation::Elementwise(_, inputs) => {
                inputs.iter().filter(|input| matches!(input, Input::Scalar(_))).count() as u32
            }
            _ => 0,
        }
    }

    /// Returns the first operand from number `from` on that is a tensor, with its number.
    #[inline]
    pub(super) fn tensor_from(&self, from: usize) -> Option<(usize, &Arc<Node<T>>)> {
        match &self.work {
            Operation::Elementwise(_, inputs) => {
                inputs.iter().enumerate().skip(from).find_map(|(at, input)| match input {
                    Input::Tensor(node) => Some((at, node)),
                    Input::Scalar(_) => None,
                })
            }
            Operation::Sum(x, _) => (from == 0).then_some((0, x)),
            Operation::Product(a, b) => [a, b].get(from).map(|node| (from, *node)),
            Operation::Data(_) | Operation::View(_) | Operation::Failed(_) | Operation::Gone => None,
        }
    }

    /// Returns the name of the operation in errors and debug output.
    pub(super) fn operation(&self) -> &'static str {
        match &self.work {
            Operation::Data(_) => "data",
            Operation::View(_) => "view",
            Operation::Elementwise(op, _) => op.name(),
            Operation::Sum(..) => "sum",
            Operation::Product(..) => "matmul",
            Operation::Failed(_) | Operation::Gone => "failed",
        }
    }

    fn leave(&mut self, to: &mut Vec<Arc<Node<T>>>) {
        match std::mem::replace(&mut self.work, Operation::Gone) {
            Operation::Elementwise(_, inputs) => {
                to.extend(inputs.into_iter().filter_map(|input| match input {
                    Input::Tensor(node) => Some(node),
                    Input::Scalar(_) => None,
                }))
            }
            Operation::Sum(x, _) => to.push(x),
            Operation::Product(a, b) => to.extend([a, b]),
            Operation::Data(_) | Operation::View(_) | Operation::Failed(_) | Operation::Gone => {}
        }
    }
}

impl<T: Element> Drop for Node<T> {
    /// Drops operands iteratively, so that a chain of a million operations needs no stack of that depth.
    fn drop(&mut self) {
        if matches!(
            self.work,
            Operation::Data(_) | Operation::View(_) | Operation::Failed(_) | Operation::Gone
        ) {
            return;
        }
        let mut pending = Vec::new();
        self.leave(&mut pending);
        while let Some(node) = pending.pop() {
            if let Some(mut node) = Arc::into_inner(node) {
                node.leave(&mut pending);
            }
        }
    }
}

impl<T: Element> fmt::Debug for Node<T> {
    /// Formats the node alone, because it may be computed from a million nodes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyTensor")
            .field("type", &T::TYPE.name())
            .field("operation", &self.operation())
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}
