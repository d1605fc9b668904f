//! The errors of operations on tensors.

use hip_driver::{DeviceId, ErrorCode};
/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why an expression can't be recorded or computed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation can't be recorded. Nothing was submitted.
    #[error("tensor operation `{operation}`: {problem}")]
    Operation {
        /// The name of the operation.
        operation: &'static str,
        /// The problem.
        problem: Box<TensorProblem>,
    },
    /// The launcher refused the work or failed while running it.
    #[error(transparent)]
    Launcher(#[from] hiplaunch::Error),
}

impl Error {
    /// Returns the driver's code if a driver call failed.
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

/// The reason why an operation can't be recorded. `compute` returns it, and [`error`](super::LazyTensor::error) shows
/// it before that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorProblem {
    /// The operands of an elementwise operation have different shapes.
    #[error("the shapes {left:?} and {right:?} differ")]
    ShapesDiffer {
        /// The shape of the first operand.
        left: Vec<usize>,
        /// The shape of the second operand.
        right: Vec<usize>,
    },
    /// The operands of a matrix product are not matrices, or their shapes do not match.
    #[error("shapes {left:?} and {right:?} have no matrix product; it takes [m, k] and [k, n]")]
    NoProduct {
        /// The shape of the first operand.
        left: Vec<usize>,
        /// The shape of the second operand.
        right: Vec<usize>,
    },
    /// The tensor has no such axis.
    #[error("shape {shape:?} has no axis {axis}")]
    NoAxis {
        /// The axis, from 0 for the outermost.
        axis: usize,
        /// The shape of the tensor.
        shape: Vec<usize>,
    },
    /// The number of elements differs from that of the shape.
    #[error("{len} elements do not fill the shape {shape:?}")]
    Length {
        /// The number of elements that were given.
        len: usize,
        /// The shape.
        shape: Vec<usize>,
    },
    /// The elements of a view are not contiguous.
    #[error("a view of shape {shape:?} and strides {strides:?} is not contiguous; copy it to a buffer first")]
    NotContiguous {
        /// The shape of the view.
        shape: Vec<usize>,
        /// The strides of the view in elements.
        strides: Vec<isize>,
    },
    /// There are more elements than kernels can count.
    #[error("shape {shape:?} has more than {limit} elements")]
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
        /// The largest number of elements of a tensor.
        limit: usize,
    },
    /// Integers are divided by the scalar 0.
    #[error("integers can't be divided by the scalar 0")]
    DivisionByZero,
    /// The other tensor is of another launcher.
    #[error("its operands are of different launchers; no launcher can compute with both")]
    OtherLauncher,
    /// The other tensor, or the buffer, is on another device.
    #[error("the operand is on {other}, not on {this}; copy it first")]
    OtherDevice {
        /// The device of the first operand or of the stream.
        this: DeviceId,
        /// The device of the other operand.
        other: DeviceId,
    },
    /// The other tensor is of another stream.
    #[error("its operands are of different streams; create both with the `Tensors` of one stream")]
    OtherStream,
}

#[cold]
pub(super) fn problem(operation: &'static str, problem: TensorProblem) -> Error {
    Error::Operation { operation, problem: Box::new(problem) }
}
