//! Creates tensors and records operations: each makes a node that is checked at once and computed later.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::{Error, Result};
use hiplaunch::memory::{DeviceBuffer, DeviceView};

use super::context::{Tensors, checked_len, other_device};
use super::element::{Element, ElementType, FloatElement};
use super::error::problem;
use super::node::{Input, Node, Operation, Shape, VisitMark};
use super::op::Op;

/// An array that is data on the device, or an expression of other tensors that is not computed yet.
///
/// Tensors are immutable and cheap to clone. An operation returns a new tensor that shares its operands, which other
/// operations can read too. Recording makes no device call. An error of an operation (shapes that differ, a tensor of
/// another device) is found at once and returned by [`compute`](LazyTensor::compute), so that a chain needs one `?` at
/// its end. The first error in the order of recording is returned; [`error`](LazyTensor::error) shows it earlier.
///
/// For `f32` and `f64`, every operation is that of IEEE 754, rounded to nearest, except `exp` (within 1 ulp) and `max`
/// and `min` (a number is preferred to a NaN; of equal operands the first is the result). `i32` wraps around, and
/// division rounds toward 0.
#[derive(Debug)]
pub struct LazyTensor<T: Element>(pub(super) Arc<Node<T>>);

impl<T: Element> Clone for LazyTensor<T> {
    fn clone(&self) -> Self {
        LazyTensor(self.0.clone())
    }
}

/// The second operand of an elementwise operation, created with `From`.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a, T: Element> {
    /// A tensor of the same shape.
    Tensor(&'a LazyTensor<T>),
    /// A number that is the operand for every element.
    Scalar(T),
}

impl<'a, T: Element> From<&'a LazyTensor<T>> for Operand<'a, T> {
    fn from(tensor: &'a LazyTensor<T>) -> Self {
        Operand::Tensor(tensor)
    }
}

impl<T: Element> From<T> for Operand<'_, T> {
    fn from(scalar: T) -> Self {
        Operand::Scalar(scalar)
    }
}

impl Tensors {
    /// Creates a tensor from host data in row-major order. The memory is allocated and the upload enqueued at once;
    /// `data` may be reused when this returns.
    ///
    /// # Errors
    /// Returns [`Error::Operation`](crate::Error::Operation) if the length of `data` differs from the shape's or is too large, or an error of
    /// [`DeviceBuffer::from_slice`].
    pub fn from_slice<T: Element>(&self, data: &[T], shape: &[usize]) -> Result<LazyTensor<T>> {
        if checked_len("from_slice", shape)? != data.len() {
            let wrong = format!("{} elements do not fill the shape {shape:?}", data.len());
            return Err(problem("from_slice", wrong));
        }
        let mut buffer = DeviceBuffer::from_slice(self.stream(), data)?;
        buffer.reshape(shape)?;
        Ok(self.data(Arc::new(buffer), shape.into()))
    }

    /// Creates a tensor from a buffer, with its shape and without a device call. It takes the buffer, or a share of it,
    /// so that nothing writes it while expressions read it. Wait for work of other streams on the buffer first.
    ///
    /// # Errors
    /// Returns [`Error::Operation`](crate::Error::Operation) for a buffer of another device, or one that is too large.
    pub fn from_buffer<T: Element>(&self, buffer: impl Into<Arc<DeviceBuffer<T>>>) -> Result<LazyTensor<T>> {
        let buffer: Arc<DeviceBuffer<T>> = buffer.into();
        if buffer.device() != self.device() {
            return Err(problem("from_buffer", other_device(self.device(), buffer.device())));
        }
        let shape = Shape::from_slice(buffer.shape());
        checked_len("from_buffer", &shape)?;
        Ok(self.data(buffer, shape))
    }

    /// Creates a tensor from a view of contiguous elements, with its shape and without a device call. The tensor keeps
    /// the memory alive, but others may write it: if they do before the tensor's readers are computed, those see the
    /// new elements, in the order of the stream. Wait for work of other streams on the memory.
    ///
    /// # Errors
    /// Returns [`Error::Operation`](crate::Error::Operation) for a view of another device, one that is not contiguous, or one that is too large.
    pub fn from_view<T: Element>(&self, view: &DeviceView<T>) -> Result<LazyTensor<T>> {
        if view.device() != self.device() {
            return Err(problem("from_view", other_device(self.device(), view.device())));
        }
        if !view.layout().is_contiguous() {
            let (shape, strides) = (view.shape(), view.strides());
            let wrong = format!(
                "a view of shape {shape:?} and strides {strides:?} is not contiguous; copy it to a buffer first"
            );
            return Err(problem("from_view", wrong));
        }
        let (shape, tensors, mark) = (Shape::from_slice(view.shape()), self.clone(), VisitMark::default());
        let len = checked_len("from_view", &shape)?;
        Ok(LazyTensor(Arc::new(Node { tensors, shape, len, work: Operation::View(view.clone()), mark })))
    }

    pub(super) fn data<T: Element>(&self, buffer: Arc<DeviceBuffer<T>>, shape: Shape) -> LazyTensor<T> {
        let len = buffer.len();
        let (tensors, mark) = (self.clone(), VisitMark::default());
        LazyTensor(Arc::new(Node { tensors, shape, len, work: Operation::Data(buffer), mark }))
    }
}

impl<T: Element> LazyTensor<T> {
    /// Returns the context that the tensor was created with.
    pub fn tensors(&self) -> &Tensors {
        &self.0.tensors
    }

    /// Returns the extents of the axes, outermost first.
    ///
    /// # Errors
    /// Returns the error of recording, if there was one.
    pub fn shape(&self) -> Result<&[usize]> {
        match self.error() {
            Some(e) => Err(e.clone()),
            None => Ok(&self.0.shape),
        }
    }

    /// Returns the error of recording this tensor or one that it is computed from, if there was one.
    pub fn error(&self) -> Option<&Error> {
        match &self.0.work {
            Operation::Failed(e) => Some(e),
            _ => None,
        }
    }

    /// Returns the buffer of the elements if the tensor is data: created from a slice or a buffer, or computed. Returns
    /// `None` for a view.
    pub fn buffer(&self) -> Option<&DeviceBuffer<T>> {
        match &self.0.work {
            Operation::Data(buffer) => Some(buffer),
            _ => None,
        }
    }

    /// Returns a share of the buffer if the tensor is data. If it is the last share, it can be unwrapped to write the
    /// buffer again.
    pub fn into_buffer(self) -> Option<Arc<DeviceBuffer<T>>> {
        match &self.0.work {
            Operation::Data(buffer) => Some(buffer.clone()),
            _ => None,
        }
    }

    fn with(&self, shape: Shape, len: usize, work: Operation<T>) -> LazyTensor<T> {
        let (tensors, mark) = (self.0.tensors.clone(), VisitMark::default());
        LazyTensor(Arc::new(Node { tensors, shape, len, work, mark }))
    }

    fn failed(&self, error: Error) -> LazyTensor<T> {
        self.with(Shape::new(), 0, Operation::Failed(error))
    }

    /// Returns why `self` and `other` can't be operands of one operation, or `None` if they can.
    fn refuses(&self, operation: &'static str, other: &LazyTensor<T>) -> Option<LazyTensor<T>> {
        if self.error().is_some() {
            return Some(self.clone());
        }
        if other.error().is_some() {
            return Some(other.clone());
        }
        let apart = self.0.tensors.apart(&other.0.tensors)?;
        Some(self.failed(problem(operation, apart)))
    }

    fn elementwise(&self, op: Op, operands: [Option<Operand<'_, T>>; 3]) -> LazyTensor<T> {
        if self.error().is_some() {
            return self.clone();
        }
        let mut inputs: SmallVec<[Input<T>; 3]> = SmallVec::new();
        for operand in operands.into_iter().flatten() {
            let other = match operand {
                Operand::Scalar(scalar) => {
                    inputs.push(Input::Scalar(scalar));
                    continue;
                }
                Operand::Tensor(other) => other,
            };
            if let Some(refused) = self.refuses(op.name(), other) {
                return refused;
            }
            if self.0.shape != other.0.shape {
                let differ = format!("the shapes {:?} and {:?} differ", self.0.shape, other.0.shape);
                return self.failed(problem(op.name(), differ));
            }
            inputs.push(Input::Tensor(other.0.clone()));
        }
        self.with(self.0.shape.clone(), self.0.len, Operation::Elementwise(op, inputs))
    }

    fn unary(&self, op: Op) -> LazyTensor<T> {
        self.elementwise(op, [Some(self.into()), None, None])
    }

    fn binary<'a>(&self, op: Op, other: Operand<'a, T>) -> LazyTensor<T> {
        self.elementwise(op, [Some(self.into()), Some(other), None])
    }

    /// `self + other`
    #[must_use]
    pub fn add<'a>(&self, other: impl Into<Operand<'a, T>>) -> LazyTensor<T> {
        self.binary(Op::Add, other.into())
    }

    /// `self - other`
    #[must_use]
    pub fn sub<'a>(&self, other: impl Into<Operand<'a, T>>) -> LazyTensor<T> {
        self.binary(Op::Sub, other.into())
    }

    /// `scalar - self`
    #[must_use]
    pub fn sub_from(&self, scalar: T) -> LazyTensor<T> {
        self.elementwise(Op::Sub, [Some(Operand::Scalar(scalar)), Some(self.into()), None])
    }

    /// `self * other`
    #[must_use]
    pub fn mul<'a>(&self, other: impl Into<Operand<'a, T>>) -> LazyTensor<T> {
        self.binary(Op::Mul, other.into())
    }

    /// `self / other`. An integer divided by an element 0 is 0, because a kernel can't fail; division of integers by
    /// the scalar 0 is an error. The least integer divided by -1 is itself.
    #[must_use]
    pub fn div<'a>(&self, other: impl Into<Operand<'a, T>>) -> LazyTensor<T> {
        let other = other.into();
        if let Operand::Scalar(scalar) = other
            && T::TYPE == ElementType::I32
            && bytemuck::bytes_of(&scalar).iter().all(|byte| *byte == 0)
            && self.error().is_none()
        {
            return self.failed(problem("div", "integers can't be divided by the scalar 0"));
        }
        self.binary(Op::Div, other)
    }

    /// `scalar / self`; integers as [`div`](LazyTensor::div).
    #[must_use]
    pub fn div_into(&self, scalar: T) -> LazyTensor<T> {
        self.elementwise(Op::Div, [Some(Operand::Scalar(scalar)), Some(self.into()), None])
    }

    /// The larger of each two elements. A number is preferred to a NaN; of equal elements (also 0 and -0) the result is
    /// that of `self`.
    #[must_use]
    pub fn max<'a>(&self, other: impl Into<Operand<'a, T>>) -> LazyTensor<T> {
        self.binary(Op::Max, other.into())
    }

    /// The smaller of each two elements; as [`max`](LazyTensor::max).
    #[must_use]
    pub fn min<'a>(&self, other: impl Into<Operand<'a, T>>) -> LazyTensor<T> {
        self.binary(Op::Min, other.into())
    }

    /// `self * factor + summand`, rounded once.
    #[must_use]
    pub fn mul_add<'a>(
        &self,
        factor: impl Into<Operand<'a, T>>,
        summand: impl Into<Operand<'a, T>>,
    ) -> LazyTensor<T> {
        self.elementwise(Op::Fma, [Some(self.into()), Some(factor.into()), Some(summand.into())])
    }

    /// `-self`
    #[must_use]
    pub fn neg(&self) -> LazyTensor<T> {
        self.unary(Op::Neg)
    }

    /// The sum over `axis`, counted from 0 for the outermost. The axis is removed from the shape. A sum of no elements
    /// is 0.
    ///
    /// The order of the additions is fixed, so the result has the same bits every time. Elements are added in the order
    /// of their index. If the axis is the innermost and has [`ROW_SUM_FROM`] elements or more, 256 sums of every 256th
    /// element are added pairwise.
    #[must_use]
    pub fn sum(&self, axis: usize) -> LazyTensor<T> {
        if self.error().is_some() {
            return self.clone();
        }
        let mut shape = self.0.shape.clone();
        if axis >= shape.len() {
            return self.failed(problem("sum", format!("shape {shape:?} has no axis {axis}")));
        }
        shape.remove(axis);
        // The result has more elements than the operand if the axis has 0 elements.
        match checked_len("sum", &shape) {
            Ok(len) => self.with(shape, len, Operation::Sum(self.0.clone(), axis)),
            Err(e) => self.failed(e),
        }
    }

    /// The matrix product of `self`, [m, k], and `other`, [k, n]. Each element is computed as `acc = fma(a, b, acc)`,
    /// starting from 0, for the k terms in order.
    #[must_use]
    pub fn matmul(&self, other: &LazyTensor<T>) -> LazyTensor<T> {
        if let Some(refused) = self.refuses("matmul", other) {
            return refused;
        }
        match (&self.0.shape[..], &other.0.shape[..]) {
            (&[m, k], &[rows, n]) if k == rows => match checked_len("matmul", &[m, n]) {
                Ok(len) => {
                    let shape = Shape::from_slice(&[m, n]);
                    self.with(shape, len, Operation::Product(self.0.clone(), other.0.clone()))
                }
                Err(e) => self.failed(e),
            },
            (left, right) => {
                let wrong = format!(
                    "shapes {left:?} and {right:?} have no matrix product; it takes [m, k] and [k, n]"
                );
                self.failed(problem("matmul", wrong))
            }
        }
    }
}

impl<T: FloatElement> LazyTensor<T> {
    /// The square root of each element, correctly rounded.
    #[must_use]
    pub fn sqrt(&self) -> LazyTensor<T> {
        self.unary(Op::Sqrt)
    }

    /// e to the power of each element: within 1 ulp of the exact value, and within 2 ulp of the host's result.
    #[must_use]
    pub fn exp(&self) -> LazyTensor<T> {
        self.unary(Op::Exp)
    }
}

/// The length of the innermost axis, in elements, from which on a workgroup sums each row.
pub const ROW_SUM_FROM: usize = 64;
