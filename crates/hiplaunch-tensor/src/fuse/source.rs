//! The structure of a cluster, and the source of its kernel.

use std::fmt::Write;

use crate::dag::VisitedNode;
use crate::element::{Element, ElementType};
use crate::node::{Input, Op, Operation};

/// The functions that the operations call; has no `#include`.
const MATH: &str = include_str!("../../hip/tensor_math.h");

/// The name of the kernel in every source.
pub(super) const KERNEL: &str = "fused";

/// The words of a step: its operation and up to three operands.
const STEP: usize = 4;

// The kind of an operand, in the highest bits of its word; the rest is a number.
/// No operand.
const NONE: u32 = 0;
/// An array, by its number among the kernel's arrays.
const ARRAY: u32 = 1 << 30;
/// A scalar, by its number among the kernel's scalars. Scalars are arguments, so that another value needs no other
/// kernel.
const SCALAR: u32 = 2 << 30;
/// The result of an earlier step.
const EARLIER: u32 = 3 << 30;

/// What a fused kernel computes. Equal structures have the same source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Structure {
    element: ElementType,
    arrays: u32,
    scalars: u32,
    /// [`STEP`] words for each step, in one vector because it is hashed at every compute.
    steps: Vec<u32>,
}

/// Returns the structure of a cluster, the nodes whose arrays it reads, and its scalars.
pub(crate) fn structure<T: Element>(
    entries: &[VisitedNode<'_, T>],
    members: &[u32],
) -> (Structure, Vec<u32>, Vec<T>) {
    let (mut arrays, mut scalars): (Vec<u32>, Vec<T>) = (Vec::new(), Vec::new());
    let mut steps = Vec::with_capacity(members.len() * STEP);
    let places = members.iter().filter_map(|&m| entries.get(m as usize));
    for entry in places {
        let Operation::Elementwise(op, inputs) = &entry.node.work else { continue };
        let mut reads = entry.reads.iter().copied();
        let mut words = [*op as u32, NONE, NONE, NONE];
        for (word, input) in words.iter_mut().skip(1).zip(inputs) {
            *word = match input {
                Input::Scalar(scalar) => {
                    scalars.push(*scalar);
                    SCALAR | (scalars.len() as u32 - 1)
                }
                Input::Tensor(_) => match reads.next().map(|read| (read, members.binary_search(&read))) {
                    Some((_, Ok(step))) => EARLIER | step as u32,
                    Some((read, Err(_))) => ARRAY | number(&mut arrays, read),
                    None => NONE,
                },
            };
        }
        steps.extend(words);
    }
    let (arrays_len, scalars_len) = (arrays.len() as u32, scalars.len() as u32);
    (Structure { element: T::TYPE, arrays: arrays_len, scalars: scalars_len, steps }, arrays, scalars)
}

/// Returns the number of a node's array, which is added if it is new.
fn number(arrays: &mut Vec<u32>, entry: u32) -> u32 {
    match arrays.iter().position(|a| *a == entry) {
        Some(at) => at as u32,
        None => {
            arrays.push(entry);
            arrays.len() as u32 - 1
        }
    }
}

impl Structure {
    /// Returns the number of operations.
    pub(super) fn len(&self) -> usize {
        self.steps.len() / STEP
    }

    /// Returns the HIP source of the kernel. Its arguments are the arrays, the scalars, the result and the number of
    /// elements, in this order. A work-item reads its element of every array before it writes one.
    pub(super) fn source(&self) -> String {
        let c = match self.element {
            ElementType::F32 => "float",
            ElementType::F64 => "double",
            ElementType::I32 => "int",
        };
        let mut text = String::from(MATH);
        // Writing to a string can't fail.
        let mut line = |args: std::fmt::Arguments<'_>| {
            let _ = text.write_fmt(args);
        };
        line(format_args!("extern \"C\" __global__ void __launch_bounds__(256) {KERNEL}("));
        (0..self.arrays).for_each(|i| line(format_args!("const {c}* a{i}, ")));
        (0..self.scalars).for_each(|i| line(format_args!("{c} s{i}, ")));
        line(format_args!("{c}* out, unsigned n) {{\n"));
        line(format_args!("  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"));
        (0..self.arrays).for_each(|i| line(format_args!("  const {c} x{i} = a{i}[i];\n")));
        for (step, words) in self.steps.chunks_exact(STEP).enumerate() {
            let (operation, operands) = words.split_first().unwrap_or((&0, &[]));
            let name = Op::ALL.get(*operation as usize).map_or("", |op| op.name());
            line(format_args!("  const {c} v{step} = tensor_{name}("));
            for (i, operand) in operands.iter().enumerate() {
                let comma = if i == 0 { "" } else { ", " };
                let at = operand & !EARLIER;
                match operand & EARLIER {
                    ARRAY => line(format_args!("{comma}x{at}")),
                    SCALAR => line(format_args!("{comma}s{at}")),
                    EARLIER => line(format_args!("{comma}v{at}")),
                    _ => {}
                }
            }
            line(format_args!(");\n"));
        }
        let last = self.len().saturating_sub(1);
        line(format_args!("  out[i] = v{last};\n}}\n"));
        text
    }
}
