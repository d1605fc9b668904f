//! The element types of tensors.

use bytemuck::Pod;

use hiplaunch::graph::GraphArg;

mod sealed {
    /// Seals the traits here, because each type has kernels of its own.
    pub trait Sealed {}
}

macro_rules! elements {
    ($($t:ident = $variant:ident),*) => {
        /// The type of a tensor's elements.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ElementType {
            $(#[doc = concat!("`", stringify!($t), "`")] $variant,)*
        }

        impl ElementType {
            /// The number of element types.
            pub(super) const COUNT: usize = [$(ElementType::$variant),*].len();

            /// Returns the name of the type, in Rust and in the kernels' names.
            pub const fn name(self) -> &'static str {
                match self {
                    $(ElementType::$variant => stringify!($t),)*
                }
            }
        }

        $(impl sealed::Sealed for $t {}
        impl Element for $t {
            const TYPE: ElementType = ElementType::$variant;
        })*
    };
}

elements!(f32 = F32, f64 = F64, i32 = I32);

/// `f32`, `f64` and `i32`.
pub trait Element: sealed::Sealed + Pod + Send + Sync + std::fmt::Debug + Into<GraphArg<'static>> {
    /// The corresponding [`ElementType`].
    const TYPE: ElementType;
}

/// `f32` and `f64`.
pub trait FloatElement: Element {}

impl FloatElement for f32 {}
impl FloatElement for f64 {}
