//! Computing: an expression becomes a graph, the graph one submission.

use std::sync::Arc;

use crate::error::Result;
use hiplaunch::memory::DeviceBuffer;

use super::dag::{entries, operations};
use super::element::Element;
use super::lazy::LazyTensor;
use super::lowered::{self, ExpressionKey};

impl<T: Element> LazyTensor<T> {
    /// Computes it, in the order of its stream and without waiting: everything that it needs and that is no data yet, each
    /// shared part once, in one submission of one launch an operation, or of one a run where operations are
    /// [fused](crate::Tensors::with_fusion). The result is data on the device: computing it again costs nothing. Data are their
    /// own result; a view's elements are copied.
    ///
    /// After the first compute of an expression of the same structure and shape, the result is all that is allocated.
    ///
    /// # Errors
    /// What went wrong while recording ([`Error::Operation`](crate::Error::Operation)), with nothing submitted; else as
    /// [`Graph::compute`](hiplaunch::graph::Graph::compute).
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

    /// Computes it into memory that the caller owns; as [`compute`](LazyTensor::compute). Memory with room for it on the
    /// stream's device is used as it is, and only length and shape change: nothing is allocated. Otherwise new memory is
    /// allocated on the stream first, and the old goes back in stream order once the work was submitted. Data are copied.
    ///
    /// The destination is no operand: a tensor owns its buffer, so nobody has it to write to, and where an operand is a
    /// [view](crate::Tensors::from_view) of it, new memory is allocated. To update in place, swap two buffers from step to
    /// step. Other views of the destination see the new contents.
    ///
    /// # Errors
    /// As [`compute`](LazyTensor::compute). The destination's shape is then as it was; its elements too, unless the driver
    /// refused a node ([`Error::Node`](hiplaunch::Error::Node)).
    pub fn compute_into(&self, destination: &mut DeviceBuffer<T>) -> Result<()> {
        let shape = self.shape()?;
        let stream = self.0.tensors.stream();
        let form = ExpressionKey::of(&self.0);
        // An empty result fits everywhere, as far as memory goes.
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

    /// Computes it if need be, and gives its elements in row-major order; waits.
    ///
    /// # Errors
    /// As [`compute`](LazyTensor::compute) and [`DeviceBuffer::download`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        match self.compute()?.buffer() {
            Some(buffer) => Ok(buffer.to_vec(self.0.tensors.stream())?),
            // What was computed is data.
            None => Ok(Vec::new()),
        }
    }

    /// How many operations computing it takes: those that it is made of and that are no data yet, shared ones once. As many
    /// launches, where none are fused.
    ///
    /// # Errors
    /// What went wrong while it was recorded.
    pub fn operations(&self) -> Result<usize> {
        self.shape()?;
        Ok(operations(&entries(&self.0)))
    }
}
