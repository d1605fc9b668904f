//! The elementwise operations.

macro_rules! operations {
    ($($op:ident $name:literal),*) => {
        /// An elementwise operation. Its name is part of the kernels' names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub(super) enum Op {
            $($op,)*
        }

        impl Op {
            pub(super) const ALL: [Op; Op::COUNT] = [$(Op::$op),*];
            pub(super) const COUNT: usize = [$($name),*].len();

            pub(super) const fn name(self) -> &'static str {
                match self {
                    $(Op::$op => $name,)*
                }
            }
        }
    };
}

operations!(
    Neg "neg", Sqrt "sqrt", Exp "exp", Add "add", Sub "sub", Mul "mul", Div "div", Max "max", Min "min", Fma "fma"
);
