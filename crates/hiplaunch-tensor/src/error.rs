//! What is wrong with an operation on tensors.

use hip_driver::{DeviceId, ErrorCode};
/// What every fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an expression can't be recorded or computed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation can't be recorded; nothing was submitted.
    #[error("tensor operation `{operation}`: {problem}")]
    Operation {
        /// The operation.
        operation: &'static str,
        /// What is wrong.
        problem: Box<TensorProblem>,
    },
    /// The launcher refused the work or failed while running it.
    #[error(transparent)]
    Launcher(#[from] hiplaunch::Error),
}

impl Error {
    /// The driver's code, where a driver call failed.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Error::Operation { .. } => None,
            Error::Launcher(error) => error.code(),
        }
    }
}

impl From<hip_driver::DriverError> for Error {
    fn from(error: hip_driver::DriverError) -> Error {
        Error::Launcher(error.into())
    }
}

/// Why an operation can't be recorded. It comes out of `compute`, and of [`error`](super::LazyTensor::error) before that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorProblem {
    /// An elementwise operation on tensors of different shapes.
    #[error("the shapes {left:?} and {right:?} differ")]
    ShapesDiffer {
        /// The first operand's shape.
        left: Vec<usize>,
        /// The other one's.
        right: Vec<usize>,
    },
    /// A matrix product of what are no matrices, or do not fit.
    #[error("shapes {left:?} and {right:?} have no matrix product; it takes [m, k] and [k, n]")]
    NoProduct {
        /// The first operand's shape.
        left: Vec<usize>,
        /// The other one's.
        right: Vec<usize>,
    },
    /// There is no such axis.
    #[error("shape {shape:?} has no axis {axis}")]
    NoAxis {
        /// The axis, from 0 for the outermost.
        axis: usize,
        /// The tensor's shape.
        shape: Vec<usize>,
    },
    /// The data are not as many as the shape says.
    #[error("{len} elements for the shape {shape:?}")]
    Length {
        /// Elements given.
        len: usize,
        /// The shape.
        shape: Vec<usize>,
    },
    /// A view's elements have others between them.
    #[error("a view of shape {shape:?} and strides {strides:?} is not contiguous; copy it to a buffer first")]
    NotContiguous {
        /// The view's shape.
        shape: Vec<usize>,
        /// Its strides in elements.
        strides: Vec<isize>,
    },
    /// More elements than the kernels count.
    #[error("shape {shape:?} has more than {limit} elements")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
        /// Most elements of a tensor.
        limit: usize,
    },
    /// Integers divided by the scalar 0.
    #[error("integers divided by the scalar 0")]
    DivisionByZero,
    /// The other tensor was made with another launcher.
    #[error("its operands were made with different launchers; nothing can compute both")]
    OtherLauncher,
    /// The other tensor, or the buffer, is on another device.
    #[error("it is on {other}, this is on {this}; copy it first")]
    OtherDevice {
        /// The device of the first operand or of the tensors' stream.
        this: DeviceId,
        /// The other one.
        other: DeviceId,
    },
    /// The other tensor is for another stream.
    #[error("its operands are for different streams; make both with the tensors of one stream")]
    OtherStream,
}

#[cold]
pub(super) fn problem(operation: &'static str, problem: TensorProblem) -> Error {
    Error::Operation { operation, problem: Box::new(problem) }
}
