//! The context in which tensors are created: a launcher, a stream and kernels.

use std::sync::Arc;

use crate::error::Result;
use hiplaunch::Stream;
use hiplaunch::device::Device;
use hiplaunch::graph::Branches;
use hiplaunch::launcher::Launcher;
use hiplaunch::memory::elements;

use super::error::problem;
use super::kept::Expressions;
use super::kernels::Kernels;

/// The largest number of elements of a tensor. Kernels count elements in 32 bits, including those of the last
/// workgroup.
pub const MAX_ELEMENTS: usize = (u32::MAX - 1023) as usize;

/// Creates tensors that are computed on one stream. Cheap to clone.
///
/// The kernels are loaded when the first tensor is computed, and each is registered when it is first needed. Clones,
/// and contexts made by [`on_stream`](Tensors::on_stream), share them.
#[derive(Clone, Debug)]
pub struct Tensors(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    // Dropped first, because its graphs hold kernels.
    expressions: Arc<Expressions>,
    // Dropped next: it unregisters its kernels. The stream keeps their modules while work uses them.
    kernels: Arc<Kernels>,
    launcher: Launcher,
    stream: Stream,
    fusion: bool,
    branches: Branches,
}

impl Tensors {
    /// Creates a context for tensors on `stream`.
    ///
    /// # Errors
    /// Returns [`hiplaunch::Error::Invalid`] for a stream of another launcher.
    pub fn new(launcher: &Launcher, stream: &Stream) -> Result<Tensors> {
        launcher.graph(stream.device())?;
        let kernels = Arc::new(Kernels::new(launcher, stream.device()));
        let (launcher, stream) = (launcher.clone(), stream.clone());
        let expressions = Arc::default();
        let branches = Branches::One;
        Ok(Tensors(Arc::new(Inner { expressions, kernels, launcher, stream, fusion: true, branches })))
    }

    /// Creates a context for another stream, which shares the kernels if it is on the same device. Tensors of different
    /// streams can't be operands of one operation. Both streams can use a buffer once its computation has been waited
    /// for.
    ///
    /// # Errors
    /// Returns the same errors as [`new`](Tensors::new).
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

    /// Creates a context on the same stream, with the same kernels, that fuses operations if `on`. The default is to
    /// fuse.
    ///
    /// With fusion, elementwise operations whose results only other operations of their cluster read become one kernel
    /// with them (at most 128 operations). The HIP runtime compiler compiles a kernel when it is first needed, which
    /// takes about a tenth of a second, unless it is in the [cache on disk](hip_compile::DiskCache). The kernel
    /// is kept for expressions of the same structure, whatever their shape and scalars. Without a compiler that
    /// supports the device, each operation is launched separately, with the same bits. The context of the first operand
    /// decides.
    #[must_use]
    pub fn with_fusion(&self, on: bool) -> Tensors {
        self.with(self.stream().clone(), on, self.0.branches)
    }

    /// Creates a context on the same stream, with the same kernels, that runs independent parts of an expression on
    /// several streams. The default is one stream. The context of the tensor that is computed decides.
    #[must_use]
    pub fn with_branches(&self, branches: Branches) -> Tensors {
        self.with(self.stream().clone(), self.0.fusion, branches)
    }

    pub(super) fn branches(&self) -> Branches {
        self.0.branches
    }

    /// Returns whether operations are fused: fusion is on, and there is a compiler for the device. Looks for the
    /// compiler.
    pub fn fuses(&self) -> bool {
        self.0.fusion && self.0.kernels.fused().available(self.device())
    }

    /// Returns the number of fused kernels that were created for these tensors so far, by compiling or from the cache
    /// on disk.
    pub fn compiled(&self) -> u64 {
        self.0.kernels.fused().compiled()
    }

    /// Returns the launcher.
    pub fn launcher(&self) -> &Launcher {
        &self.0.launcher
    }

    /// Returns the stream on which tensors are computed.
    pub fn stream(&self) -> &Stream {
        &self.0.stream
    }

    /// Returns the device of the stream.
    pub fn device(&self) -> &Device {
        self.0.stream.device()
    }

    /// Returns the number of this library's kernels that were registered for these tensors so far.
    pub fn registered(&self) -> usize {
        self.0.kernels.registered()
    }

    /// Returns the number of expressions whose graphs are kept for expressions of the same structure and shape. At most
    /// 64 are kept for a stream; the least recently used one is dropped first.
    pub fn lowered(&self) -> usize {
        self.0.expressions.len()
    }

    pub(super) fn expressions(&self) -> &Expressions {
        &self.0.expressions
    }

    pub(super) fn kernels(&self) -> &Kernels {
        &self.0.kernels
    }

    /// Returns why tensors of `self` and `other` can't be operands of one operation, or `None` if they can.
    pub(super) fn apart(&self, other: &Tensors) -> Option<String> {
        if Arc::ptr_eq(&self.0, &other.0) || self.stream() == other.stream() {
            return None;
        }
        let (this, that) = (self.device(), other.device());
        Some(if this == that {
            "its operands are of different streams; create both with the `Tensors` of one stream".to_owned()
        } else if self.launcher().devices().contains(that) {
            other_device(this, that)
        } else {
            "its operands are of different launchers; no launcher can compute with both".to_owned()
        })
    }
}

pub(super) fn other_device(this: &Device, other: &Device) -> String {
    format!("the operand is on {}, not on {}; copy it first", other.id(), this.id())
}

/// Returns the number of elements of a shape, or an error if kernels can't count them.
pub(super) fn checked_len(operation: &'static str, shape: &[usize]) -> Result<usize> {
    match elements(shape) {
        Ok(len) if len <= MAX_ELEMENTS => Ok(len),
        Ok(_) | Err(hiplaunch::Error::Invalid { .. }) => {
            Err(problem(operation, format!("shape {shape:?} has more than {MAX_ELEMENTS} elements")))
        }
        Err(other) => Err(other.into()),
    }
}
