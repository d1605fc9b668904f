//! Elements that RCCL can add.

use std::ffi::c_int;

use bytemuck::Pod;

/// An element type of RCCL.
pub trait Number: Pod + private::Datatype {}

pub(crate) mod private {
    use std::ffi::c_int;

    /// The value of `ncclDataType_t`.
    pub trait Datatype {
        /// The value.
        const DATATYPE: c_int;
    }
}

macro_rules! numbers {
    ($($number:ty = $value:literal),* $(,)?) => {
        $(impl private::Datatype for $number {
            const DATATYPE: c_int = $value;
        }
        impl Number for $number {})*
    };
}

// `ncclDataType_t`.
numbers!(i8 = 0, u8 = 1, i32 = 2, u32 = 3, i64 = 4, u64 = 5, half::f16 = 6, f32 = 7, f64 = 8, half::bf16 = 9,);

/// How elements of ranks are combined: `ncclRedOp_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Reduce {
    /// The sum.
    Sum = 0,
    /// The product.
    Product = 1,
    /// The greatest.
    Max = 2,
    /// The least.
    Min = 3,
}
