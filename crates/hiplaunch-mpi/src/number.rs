//! Numbers, and how they are combined.

use bytemuck::Pod;

/// A number that [`all_reduce`](crate::Communicator::all_reduce) combines: `f32`, `f64`, `i32`, `i64`, `u32` or `u64`.
pub trait Number: Pod + Send + sealed::Number {}

/// How elements of all ranks are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduce {
    /// The sum. MPI chooses the order, so sums of floats may differ in the last bits between numbers of ranks; where they must
    /// not, [gather](crate::Communicator::all_gather) the parts and add them in a fixed order, or add integers: the example heat
    /// adds f64 exactly.
    Sum,
    /// The least element.
    Min,
    /// The greatest element.
    Max,
}

impl Reduce {
    pub(crate) fn op(self) -> mpi::ffi::MPI_Op {
        // SAFETY: constants of the library.
        unsafe {
            match self {
                Reduce::Sum => mpi::ffi::RSMPI_SUM,
                Reduce::Min => mpi::ffi::RSMPI_MIN,
                Reduce::Max => mpi::ffi::RSMPI_MAX,
            }
        }
    }
}

pub(crate) mod sealed {
    pub trait Number {
        fn datatype() -> mpi::ffi::MPI_Datatype;
    }
}

macro_rules! numbers {
    ($($t:ty => $datatype:ident),*) => {$(
        impl sealed::Number for $t {
            fn datatype() -> mpi::ffi::MPI_Datatype {
                // SAFETY: a constant of the library.
                unsafe { mpi::ffi::$datatype }
            }
        }
        impl Number for $t {}
    )*};
}

numbers!(f32 => RSMPI_FLOAT, f64 => RSMPI_DOUBLE, i32 => RSMPI_INT32_T, i64 => RSMPI_INT64_T, u32 => RSMPI_UINT32_T,
    u64 => RSMPI_UINT64_T);
