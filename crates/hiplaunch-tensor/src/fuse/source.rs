//! The structure of a fused kernel, and its source.

use std::fmt::Write;

use crate::element::ElementType;
use crate::op::Op;

/// The functions that the operations call; has no `#include`.
const MATH: &str = include_str!("../../hip/tensor_math.h");

/// The name of the kernel in every source.
pub(super) const KERNEL: &str = "fused";

/// The words of a step: its operation and up to three operands.
pub(crate) const STEP: usize = 4;

// The kind of an operand, in the highest bits of its word; the rest is a number.
/// No operand.
pub(crate) const NONE: u32 = 0;
/// An array, by its number among the kernel's arrays.
pub(crate) const ARRAY: u32 = 1 << 30;
/// A scalar, by its number among the kernel's scalars. Scalars are arguments, so that another value needs no other
/// kernel.
pub(crate) const SCALAR: u32 = 2 << 30;
/// The result of an earlier step.
pub(crate) const EARLIER: u32 = 3 << 30;

/// What a fused kernel computes. Equal structures have the same source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Structure {
    pub(crate) element: ElementType,
    pub(crate) arrays: u32,
    pub(crate) scalars: u32,
    /// [`STEP`] words for each step, in one vector because it is hashed at every compute.
    pub(crate) steps: Vec<u32>,
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
