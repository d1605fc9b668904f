//! The element types of tensors.

use bytemuck::Pod;

use hiplaunch::graph::GraphArg;

mod sealed {
    /// Seals the traits here, because each type has kernels of its own.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for i32 {}
}

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// `i32`
    I32,
}

impl ElementType {
    /// The number of element types.
    pub(super) const COUNT: usize = 3;

    /// Returns the name of the type, in Rust and in the kernels' names.
    pub const fn name(self) -> &'static str {
        match self {
            ElementType::F32 => "f32",
            ElementType::F64 => "f64",
            ElementType::I32 => "i32",
        }
    }
}

/// `f32`, `f64` and `i32`.
pub trait Element: sealed::Sealed + Pod + Send + Sync + std::fmt::Debug + Into<GraphArg<'static>> {
    /// The corresponding [`ElementType`].
    const TYPE: ElementType;

    /// Returns whether division by this value is undefined.
    #[doc(hidden)]
    fn is_no_divisor(self) -> bool {
        false
    }
}

impl Element for f32 {
    const TYPE: ElementType = ElementType::F32;
}

impl Element for f64 {
    const TYPE: ElementType = ElementType::F64;
}

impl Element for i32 {
    const TYPE: ElementType = ElementType::I32;

    fn is_no_divisor(self) -> bool {
        self == 0
    }
}

/// `f32` and `f64`.
pub trait FloatElement: Element {}

impl FloatElement for f32 {}
impl FloatElement for f64 {}
