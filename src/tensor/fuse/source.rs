//! A cluster's structure, and the source of its kernel.

use std::fmt::Write;

use crate::tensor::dag::Entry;
use crate::tensor::element::{Element, ElementType};
use crate::tensor::node::{Input, Op, Work};

/// What the operations are made of; has no `#include`.
const MATH: &str = include_str!("../../../hip/tensor_math.h");

/// The kernel's name in every source.
pub(super) const KERNEL: &str = "fused";

/// Where an operand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum From {
    /// An array, by its number among the kernel's.
    Array(u16),
    /// A scalar, likewise. Scalars are arguments, so that another value is no other kernel.
    Scalar(u16),
    /// An earlier operation.
    Step(u16),
}

/// What a fused kernel computes: equal ones have the same source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::tensor) struct Structure {
    element: ElementType,
    arrays: u16,
    scalars: u16,
    steps: Vec<(Op, [Option<From>; 3])>,
}

/// The structure of a cluster, the entries whose arrays it reads, and its scalars.
pub(in crate::tensor) fn structure<T: Element>(
    entries: &[Entry<'_, T>],
    members: &[u32],
) -> (Structure, Vec<u32>, Vec<T>) {
    let (mut arrays, mut scalars): (Vec<u32>, Vec<T>) = (Vec::new(), Vec::new());
    let mut steps = Vec::with_capacity(members.len());
    let places = members.iter().filter_map(|&m| entries.get(m as usize));
    for entry in places {
        let Work::Elementwise(op, inputs) = &entry.node.work else { continue };
        let mut reads = entry.reads.iter().copied();
        let mut operands = [None; 3];
        for (operand, input) in operands.iter_mut().zip(inputs) {
            *operand = match input {
                Input::Scalar(scalar) => {
                    scalars.push(*scalar);
                    Some(From::Scalar(scalars.len() as u16 - 1))
                }
                Input::Tensor(_) => reads.next().map(|read| match members.binary_search(&read) {
                    Ok(step) => From::Step(step as u16),
                    Err(_) => From::Array(number(&mut arrays, read)),
                }),
            };
        }
        steps.push((*op, operands));
    }
    let (arrays_len, scalars_len) = (arrays.len() as u16, scalars.len() as u16);
    (Structure { element: T::TYPE, arrays: arrays_len, scalars: scalars_len, steps }, arrays, scalars)
}

/// Its number among those that are there; a new one if it is not.
fn number(arrays: &mut Vec<u32>, entry: u32) -> u16 {
    match arrays.iter().position(|a| *a == entry) {
        Some(at) => at as u16,
        None => {
            arrays.push(entry);
            arrays.len() as u16 - 1
        }
    }
}

impl Structure {
    /// How many operations it has.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// HIP source of the kernel: arrays, scalars, the result and the number of elements are its arguments, in that order.
    /// A work-item reads its element of every array before it writes one.
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
        for (step, (op, operands)) in self.steps.iter().enumerate() {
            line(format_args!("  const {c} v{step} = tensor_{}(", op.name()));
            for (i, operand) in operands.iter().flatten().enumerate() {
                let comma = if i == 0 { "" } else { ", " };
                match operand {
                    From::Array(at) => line(format_args!("{comma}x{at}")),
                    From::Scalar(at) => line(format_args!("{comma}s{at}")),
                    From::Step(at) => line(format_args!("{comma}v{at}")),
                }
            }
            line(format_args!(");\n"));
        }
        let last = self.steps.len().saturating_sub(1);
        line(format_args!("  out[i] = v{last};\n}}\n"));
        text
    }
}
