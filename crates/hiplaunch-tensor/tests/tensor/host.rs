//! The same operations on the host, as the documentation of `LazyTensor` and hip/README.md define them.

use std::fmt::Debug;

use hiplaunch_tensor::{Element, ROW_SUM_FROM};

/// The operations on elements, each rounded once.
pub(crate) trait Host: Element + PartialEq + Debug {
    fn of(i: i32) -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn div(self, b: Self) -> Self;
    fn max(self, b: Self) -> Self;
    fn min(self, b: Self) -> Self;
    fn neg(self) -> Self;
    fn fma(self, b: Self, c: Self) -> Self;
    /// Compares bit for bit, except that all NaNs are equal.
    fn same(self, b: Self) -> bool;
    /// Returns values at the ends of the range and of every class.
    fn specials() -> Vec<Self>;
}

macro_rules! float {
    ($t:ty) => {
        impl Host for $t {
            fn of(i: i32) -> Self {
                i as $t
            }
            fn add(self, b: Self) -> Self {
                self + b
            }
            fn sub(self, b: Self) -> Self {
                self - b
            }
            fn mul(self, b: Self) -> Self {
                self * b
            }
            fn div(self, b: Self) -> Self {
                self / b
            }
            fn max(self, b: Self) -> Self {
                if self < b || self.is_nan() { b } else { self }
            }
            fn min(self, b: Self) -> Self {
                if b < self || self.is_nan() { b } else { self }
            }
            fn neg(self) -> Self {
                -self
            }
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            fn same(self, b: Self) -> bool {
                self.to_bits() == b.to_bits() || self.is_nan() && b.is_nan()
            }
            fn specials() -> Vec<Self> {
                let mut all = vec![0.0, 1.0, 1.5, 3.0, 1e-3, 7.25, 1e10, 88.5, 709.5, 720.0];
                all.extend([<$t>::MAX, <$t>::MIN_POSITIVE, <$t>::MIN_POSITIVE / 8.0, <$t>::from_bits(1)]);
                all.extend([<$t>::INFINITY, <$t>::NAN, <$t>::EPSILON, 1.0 + <$t>::EPSILON, 0.1]);
                let negative: Vec<$t> = all.iter().map(|v| -v).collect();
                all.extend(negative);
                all
            }
        }
    };
}

float!(f32);
float!(f64);

impl Host for i32 {
    fn of(i: i32) -> Self {
        i
    }
    fn add(self, b: Self) -> Self {
        self.wrapping_add(b)
    }
    fn sub(self, b: Self) -> Self {
        self.wrapping_sub(b)
    }
    fn mul(self, b: Self) -> Self {
        self.wrapping_mul(b)
    }
    fn div(self, b: Self) -> Self {
        if b == 0 { 0 } else { self.wrapping_div(b) }
    }
    fn max(self, b: Self) -> Self {
        Ord::max(self, b)
    }
    fn min(self, b: Self) -> Self {
        Ord::min(self, b)
    }
    fn neg(self) -> Self {
        self.wrapping_neg()
    }
    fn fma(self, b: Self, c: Self) -> Self {
        self.wrapping_mul(b).wrapping_add(c)
    }
    fn same(self, b: Self) -> bool {
        self == b
    }
    fn specials() -> Vec<Self> {
        vec![
            0,
            1,
            -1,
            2,
            3,
            -7,
            10,
            1000,
            46341,
            -65536,
            1 << 30,
            i32::MAX,
            i32::MIN,
            i32::MIN + 1,
            123456789,
        ]
    }
}

/// `exp` with the same steps as the kernels (hip/tensor_math.h).
pub(crate) fn exp(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > 709.79 {
        return f64::INFINITY;
    }
    if x < -745.14 {
        return 0.0;
    }
    let n = (x * std::f64::consts::LOG2_E).round_ties_even();
    let r = (-n).mul_add(std::f64::consts::LN_2, x);
    // The part of ln 2 beyond the 53 bits of the constant.
    let r = (-n).mul_add(2.319_046_813_846_299_6e-17, r);
    let factorial = |k: u32| (1..=k).map(f64::from).product::<f64>();
    let y = (0..=12).rev().fold(1.0 / factorial(13), |y, k| y.mul_add(r, 1.0 / factorial(k)));
    let (power, two) = (n as i64, |p: i64| f64::from_bits(((p + 1023) as u64) << 52));
    y * two(power >> 1) * two(power - (power >> 1))
}

pub(crate) fn zip<T: Host>(a: &[T], b: &[T], f: impl Fn(T, T) -> T) -> Vec<T> {
    a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
}

/// The sum over an axis, in the order of the kernels.
pub(crate) fn sum<T: Host>(x: &[T], shape: &[usize], axis: usize) -> Vec<T> {
    let n = shape[axis];
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    let one = |o: usize, i: usize| -> T {
        let at = |j: usize| x[(o * n + j) * inner + i];
        if inner != 1 || n < ROW_SUM_FROM {
            return (0..n).fold(T::of(0), |s, j| s.add(at(j)));
        }
        let mut v: Vec<T> =
            (0..256).map(|t| (t..n).step_by(256).fold(T::of(0), |s, j| s.add(at(j)))).collect();
        for s in [128, 64, 32, 16, 8, 4, 2, 1] {
            for t in 0..s {
                v[t] = v[t].add(v[t + s]);
            }
        }
        v[0]
    };
    (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))).map(|(o, i)| one(o, i)).collect()
}

pub(crate) fn product<T: Host>(a: &[T], b: &[T], [m, k, n]: [usize; 3]) -> Vec<T> {
    let one = |r: usize, c: usize| (0..k).fold(T::of(0), |acc, i| a[r * k + i].fma(b[i * n + c], acc));
    (0..m).flat_map(|r| (0..n).map(move |c| (r, c))).map(|(r, c)| one(r, c)).collect()
}

#[track_caller]
pub(crate) fn assert_same<T: Host>(what: &str, got: &[T], expected: &[T]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!(g.same(*e), "{what}, element {i}: {g:?}, expected {e:?}");
    }
}
