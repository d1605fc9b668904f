//! Computes expressions: an expression becomes a graph, and the graph one submission.

use std::sync::Arc;

use crate::error::Result;
use hiplaunch::memory::DeviceBuffer;

use super::dag::{entries, operations};
use super::element::Element;
use super::lazy::LazyTensor;
use super::lowered::{self, ExpressionKey};

impl<T: Element> LazyTensor<T> {
    /// Computes the tensor asynchronously, in the order of its stream. All operations that are not computed yet are
    /// submitted at once, shared ones once: each is one launch, or one for each cluster if operations are
    /// [fused](crate::Tensors::with_fusion). The result is data on the device, so computing it again costs nothing. A
    /// tensor of data is its own result; the elements of a view are copied.
    ///
    /// After the first compute of an expression of the same structure and shape, nothing but the result is allocated.
    ///
    /// # Errors
    /// Returns the error of recording ([`Error::Operation`](crate::Error::Operation)), with nothing submitted, or an
    /// error of [`Graph::compute`](hiplaunch::graph::Graph::compute).
    pub fn compute(&self) -> Result<LazyTensor<T>> {
        self.shape()?;
        if self.buffer().is_some() {
            return Ok(self.clone());
        }
        let mut result = DeviceBuffer::on(self.0.tensors.stream(), self.0.len)?;
        result.reshape(&self.0.shape)?;
        lowered::compute(ExpressionKey::of(&self.0), &result)?;
        Ok(self.0.tensors.data(Arc::new(result), self.0.shape.clone()))
    }

    /// Computes the tensor into memory of the caller; see [`compute`](LazyTensor::compute). If the memory is on the
    /// stream's device and large enough, it is used, and only its length and shape change. Otherwise new memory is
    /// allocated on the stream, and the old memory is freed in stream order after the work was submitted. A tensor of
    /// data is copied.
    ///
    /// The destination is never an operand, because a tensor owns its buffer. If an operand is a
    /// [view](crate::Tensors::from_view) of the destination, new memory is allocated. To update in place, swap two
    /// buffers from step to step. Other views of the destination see the new contents.
    ///
    /// # Errors
    /// Returns the same errors as [`compute`](LazyTensor::compute). The destination keeps its shape; it keeps its
    /// elements unless the driver refused a node ([`Error::Node`](hiplaunch::Error::Node)).
    pub fn compute_into(&self, destination: &mut DeviceBuffer<T>) -> Result<()> {
        let shape = self.shape()?;
        let stream = self.0.tensors.stream();
        let form = ExpressionKey::of(&self.0);
        // Any memory is large enough for an empty result.
        if !destination.fits(stream, self.0.len)
            || destination.device() != stream.device()
            || form.has_view_of(destination)
        {
            let mut new = DeviceBuffer::on(stream, self.0.len)?;
            new.reshape(shape)?;
            lowered::compute(form, &new)?;
            *destination = new;
            return Ok(());
        }
        let before = destination.shape().to_vec();
        destination.set_shape(shape)?;
        let outcome = lowered::compute(form, destination);
        if outcome.is_err() {
            destination.set_shape(&before)?;
        }
        outcome
    }

    /// Computes the tensor if necessary, waits, and returns its elements in row-major order.
    ///
    /// # Errors
    /// Returns the same errors as [`compute`](LazyTensor::compute) and [`DeviceBuffer::download`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        match self.compute()?.buffer() {
            Some(buffer) => Ok(buffer.to_vec(self.0.tensors.stream())?),
            // A computed tensor is data.
            None => Ok(Vec::new()),
        }
    }

    /// Returns the number of operations that computing the tensor takes: those that are not computed yet, shared ones
    /// once. It is the number of launches if none are fused.
    ///
    /// # Errors
    /// Returns the error of recording, if there was one.
    pub fn operations(&self) -> Result<usize> {
        self.shape()?;
        Ok(operations(&entries(&self.0)))
    }
}
