//! Where tensors are made: launcher, stream, kernels.

use std::sync::Arc;

use crate::error::Result;
use hiplaunch::device::Device;
use hiplaunch::graph::Branches;
use hiplaunch::launcher::{Launcher, Stream};
use hiplaunch::memory::elements;
use hiplaunch::memory::{DeviceBuffer, DeviceView};

use super::dag::VisitMark;
use super::element::Element;
use super::error::{TensorProblem, problem};
use super::kernels::Kernels;
use super::lazy::LazyTensor;
use super::lowered::Expressions;
use super::node::{Node, Operation, Shape};

/// Most elements of a tensor: the kernels count them in 32 bits, and whole workgroups have to be counted too.
pub const MAX_ELEMENTS: usize = (u32::MAX - 1023) as usize;

/// Makes tensors that are computed on one stream. Cheap to clone.
///
/// The kernels are loaded when the first tensor is computed, and registered one by one as they are needed; whoever comes
/// from one `Tensors`, by [`on_stream`](Tensors::on_stream) too, shares them.
#[derive(Clone, Debug)]
pub struct Tensors(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    // Dropped first: their graphs hold kernels.
    expressions: Arc<Expressions>,
    // Then this: it unregisters its kernels, whose modules the stream then keeps for what still runs.
    kernels: Arc<Kernels>,
    launcher: Launcher,
    stream: Stream,
    fusion: bool,
    branches: Branches,
}

impl Tensors {
    /// Tensors on `stream`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a stream of another launcher.
    pub fn new(launcher: &Launcher, stream: &Stream) -> Result<Tensors> {
        launcher.graph(stream.device())?;
        let kernels = Arc::new(Kernels::new(launcher, stream.device()));
        let (launcher, stream) = (launcher.clone(), stream.clone());
        let expressions = Arc::default();
        let branches = Branches::One;
        Ok(Tensors(Arc::new(Inner { expressions, kernels, launcher, stream, fusion: true, branches })))
    }

    /// Tensors on another stream, with the same kernels where it is on the same device. Tensors of different streams can't
    /// be operands of one operation; a buffer can be used by both, once whoever computes it has been waited for.
    ///
    /// # Errors
    /// As [`new`](Tensors::new).
    pub fn on_stream(&self, stream: &Stream) -> Result<Tensors> {
        if stream.device() != self.device() {
            let new = Tensors::new(self.launcher(), stream)?;
            return Ok(new.with(stream.clone(), self.0.fusion, self.0.branches));
        }
        Ok(self.with(stream.clone(), self.0.fusion, self.0.branches))
    }

    fn with(&self, stream: Stream, fusion: bool, branches: Branches) -> Tensors {
        let (kernels, launcher) = (self.0.kernels.clone(), self.0.launcher.clone());
        let same = stream == self.0.stream;
        let expressions = if same { self.0.expressions.clone() } else { Arc::default() };
        Tensors(Arc::new(Inner { expressions, kernels, launcher, stream, fusion, branches }))
    }

    /// Tensors on the same stream, with the same kernels, with fusion or without; with it unless told otherwise.
    ///
    /// With fusion, elementwise operations that nothing but other such operations of one run reads become one kernel with
    /// them (at most 128). It is compiled by the HIP runtime compiler when it is first needed, which takes a tenth of a
    /// second or so, or found in the [cache on disk](hip_driver::compile::DiskCache), and kept for expressions of the same structure, whatever their shape and scalars. Where there is no
    /// compiler, or it does not know the device, each operation is launched by itself, with the same bits. What decides
    /// is the first operand's tensors.
    #[must_use]
    pub fn with_fusion(&self, on: bool) -> Tensors {
        self.with(self.stream().clone(), on, self.0.branches)
    }

    /// Tensors on the same stream, with the same kernels, whose independent parts run on several streams that go with it;
    /// on one unless told otherwise. What decides is the tensor that is computed.
    #[must_use]
    pub fn with_branches(&self, branches: Branches) -> Tensors {
        self.with(self.stream().clone(), self.0.fusion, branches)
    }

    pub(super) fn branches(&self) -> Branches {
        self.0.branches
    }

    /// Whether operations are fused: that it is wanted, and there is a compiler for the device. Looks for one.
    pub fn fuses(&self) -> bool {
        self.0.fusion && self.0.kernels.fused().available(self.device())
    }

    /// How many fused kernels have been made for these tensors so far: compiled, or found in the cache on disk.
    pub fn compiled(&self) -> u64 {
        self.0.kernels.fused().compiled()
    }

    /// The launcher.
    pub fn launcher(&self) -> &Launcher {
        &self.0.launcher
    }

    /// The stream that computes.
    pub fn stream(&self) -> &Stream {
        &self.0.stream
    }

    /// The stream's device.
    pub fn device(&self) -> &Device {
        self.0.stream.device()
    }

    /// How many of the library's kernels have been registered for these tensors so far.
    pub fn registered(&self) -> usize {
        self.0.kernels.registered()
    }

    /// Expressions whose graph is kept for the next one of the same structure and shape, whatever its data and scalars; at
    /// most 64 for a stream, of which the least recently used goes first.
    pub fn lowered(&self) -> usize {
        self.0.expressions.len()
    }

    pub(super) fn expressions(&self) -> &Expressions {
        &self.0.expressions
    }

    pub(super) fn kernels(&self) -> &Kernels {
        &self.0.kernels
    }

    /// A tensor of host data in row-major order: allocates and uploads at once, in the order of the stream; `data` may be
    /// reused when this returns.
    ///
    /// # Errors
    /// [`Error::Operation`] when `data` has another length than the shape, or too many elements; as
    /// [`DeviceBuffer::from_slice`].
    pub fn from_slice<T: Element>(&self, data: &[T], shape: &[usize]) -> Result<LazyTensor<T>> {
        if checked_len("from_slice", shape)? != data.len() {
            let wrong = TensorProblem::Length { len: data.len(), shape: shape.to_vec() };
            return Err(problem("from_slice", wrong));
        }
        let mut buffer = DeviceBuffer::from_slice(self.stream(), data)?;
        buffer.reshape(shape)?;
        Ok(self.data(Arc::new(buffer), shape.into()))
    }

    /// A tensor of what a buffer holds, in the buffer's shape; takes the buffer, or a share of it, so that nobody writes it
    /// while expressions read it. No device call. What another stream still does with it has to be waited for first.
    ///
    /// # Errors
    /// [`Error::Operation`] for a buffer of another device, or too large.
    pub fn from_buffer<T: Element>(&self, buffer: impl Into<Arc<DeviceBuffer<T>>>) -> Result<LazyTensor<T>> {
        let buffer: Arc<DeviceBuffer<T>> = buffer.into();
        if buffer.device() != self.device() {
            let (this, other) = (self.device().id(), buffer.device().id());
            return Err(problem("from_buffer", TensorProblem::OtherDevice { this, other }));
        }
        let shape = Shape::from_slice(buffer.shape());
        checked_len("from_buffer", &shape)?;
        Ok(self.data(buffer, shape))
    }

    /// A tensor of a view's elements, which have to be contiguous, in the view's shape. No device call. The memory stays
    /// alive, but is others' too: what is written there before the tensor's readers are computed, they see, in the order
    /// of the stream; what another stream does with it has to be waited for.
    ///
    /// # Errors
    /// [`Error::Operation`] for a view of another device, one that is not contiguous, or too large.
    pub fn from_view<T: Element>(&self, view: &DeviceView<T>) -> Result<LazyTensor<T>> {
        if view.device() != self.device() {
            let (this, other) = (self.device().id(), view.device().id());
            return Err(problem("from_view", TensorProblem::OtherDevice { this, other }));
        }
        if !view.layout().is_contiguous() {
            let (shape, strides) = (view.shape().to_vec(), view.strides().to_vec());
            return Err(problem("from_view", TensorProblem::NotContiguous { shape, strides }));
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

    /// What keeps tensors of `self` and `other` from being operands of one operation.
    pub(super) fn apart(&self, other: &Tensors) -> Option<TensorProblem> {
        if Arc::ptr_eq(&self.0, &other.0) || self.stream() == other.stream() {
            return None;
        }
        let (this, that) = (self.device(), other.device());
        Some(if this == that {
            TensorProblem::OtherStream
        } else if self.launcher().devices().contains(that) {
            TensorProblem::OtherDevice { this: this.id(), other: that.id() }
        } else {
            TensorProblem::OtherLauncher
        })
    }
}

/// A shape's number of elements, where the kernels can count them.
pub(super) fn checked_len(operation: &'static str, shape: &[usize]) -> Result<usize> {
    match elements(shape) {
        Ok(len) if len <= MAX_ELEMENTS => Ok(len),
        Ok(_) | Err(hiplaunch::Error::Invalid { .. }) => {
            Err(problem(operation, TensorProblem::TooLarge { shape: shape.to_vec(), limit: MAX_ELEMENTS }))
        }
        Err(other) => Err(other.into()),
    }
}
