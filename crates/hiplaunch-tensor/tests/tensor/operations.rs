//! Checks each operation on every class of numbers, bit for bit.

use code_object::{Processor, TargetId};
use hiplaunch::driver::emulated::{EmulatedDriver, EmulatorOptions};
use hiplaunch::{Backend, DeviceBuffer, Launcher};
use hiplaunch_tensor::FloatElement;
use hiplaunch_tensor::{LazyTensor, Tensors};

use crate::host::{self, Host, assert_same};
use hiplaunch_testing::rig::*;

pub(crate) fn tensors(rig: &Rig) -> Tensors {
    Tensors::new(&rig.launcher, &rig.stream).unwrap()
}

/// Returns a context in which each operation is a launch.
pub(crate) fn one_by_one(rig: &Rig) -> Tensors {
    tensors(rig).with_fusion(false)
}

/// Returns every pair of the values.
fn pairs<T: Host>(values: &[T]) -> (Vec<T>, Vec<T>) {
    values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))).unzip()
}

/// Runs a test on each backend, and on an emulated gfx942, whose code object another compiler made.
fn on_all(test: impl Fn(Rig)) {
    on_each(&test);
    let target = TargetId::new(Processor::Gfx942);
    let driver = EmulatedDriver::new(EmulatorOptions { target, ..EmulatorOptions::default() }).unwrap();
    println!("gfx942");
    test(Rig::open(Launcher::builder().driver(driver), Backend::Emulator));
}

/// An operation: its name, and the functions for a tensor, for a scalar, and for the host.
type Case<T> = (&'static str, Recorded<T>, Scalar<T>, OnHost<T>);
type Recorded<T> = fn(&LazyTensor<T>, &LazyTensor<T>) -> LazyTensor<T>;
type Scalar<T> = fn(&LazyTensor<T>, T) -> LazyTensor<T>;
type OnHost<T> = fn(T, T) -> T;

/// Computes cases with the special numbers.
fn compare<T: Host>(rig: &Rig, cases: &[Case<T>]) {
    let t = tensors(rig);
    let (a, b) = pairs(&T::specials());
    let (x, y) = (t.from_slice(&a, &[a.len()]).unwrap(), t.from_slice(&b, &[b.len()]).unwrap());
    for &(name, tensor, scalar, on_host) in cases {
        assert_same(name, &tensor(&x, &y).to_vec().unwrap(), &host::zip(&a, &b, on_host));
        for s in [T::of(3), T::specials()[11]] {
            let expected: Vec<T> = a.iter().map(|a| on_host(*a, s)).collect();
            assert_same(&format!("{name} {s:?}"), &scalar(&x, s).to_vec().unwrap(), &expected);
        }
    }
    rig.assert_clean();
}

fn quotients<T: Host>(rig: &Rig) {
    compare::<T>(rig, &[("div", |x, y| x.div(y), |x, s| x.div(s), T::div)]);
    let (s, (a, _)) = (T::of(-5), pairs(&T::specials()));
    let into: Vec<T> = a.iter().map(|a| s.div(*a)).collect();
    let x = tensors(rig).from_slice(&a, &[a.len()]).unwrap();
    assert_same("div_into", &x.div_into(s).to_vec().unwrap(), &into);
}

fn elementwise<T: Host>(rig: &Rig) {
    compare::<T>(
        rig,
        &[
            ("add", |x, y| x.add(y), |x, s| x.add(s), T::add),
            ("sub", |x, y| x.sub(y), |x, s| x.sub(s), T::sub),
            ("mul", |x, y| x.mul(y), |x, s| x.mul(s), T::mul),
            ("max", |x, y| x.max(y), |x, s| x.max(s), T::max),
            ("min", |x, y| x.min(y), |x, s| x.min(s), T::min),
        ],
    );
    let (t, s) = (tensors(rig), T::of(-5));
    let (a, b) = pairs(&T::specials());
    let (x, y) = (t.from_slice(&a, &[a.len()]).unwrap(), t.from_slice(&b, &[b.len()]).unwrap());
    let from: Vec<T> = a.iter().map(|a| s.sub(*a)).collect();
    assert_same("sub_from", &x.sub_from(s).to_vec().unwrap(), &from);
    assert_same("neg", &x.neg().to_vec().unwrap(), &a.iter().map(|a| a.neg()).collect::<Vec<T>>());

    let c: Vec<T> = a.iter().rev().copied().collect();
    let z = t.from_slice(&c, &[c.len()]).unwrap();
    let fma = |f: &dyn Fn(usize) -> T| (0..a.len()).map(f).collect::<Vec<T>>();
    let cases = [
        ("ttt", x.mul_add(&y, &z), fma(&|i| a[i].fma(b[i], c[i]))),
        ("tts", x.mul_add(&y, s), fma(&|i| a[i].fma(b[i], s))),
        ("tst", x.mul_add(s, &z), fma(&|i| a[i].fma(s, c[i]))),
        ("tss", x.mul_add(s, T::of(7)), fma(&|i| a[i].fma(s, T::of(7)))),
    ];
    for (name, tensor, expected) in cases {
        assert_same(&format!("fma {name}"), &tensor.to_vec().unwrap(), &expected);
    }
    rig.assert_clean();
}

#[test]
fn elementwise_operations_equal_the_hosts() {
    on_all(|rig| {
        elementwise::<f32>(&rig);
        elementwise::<f64>(&rig);
        elementwise::<i32>(&rig);
        quotients::<i32>(&rig);
    });
}

#[test]
fn quotients_of_floats_equal_the_hosts() {
    on_all(|rig| {
        quotients::<f32>(&rig);
        quotients::<f64>(&rig);
    });
}

/// Returns the number of steps from one representable number to the next between two, both finite or both the same.
fn ulps(a: i64, b: i64) -> u64 {
    a.abs_diff(b)
}

fn bits32(v: f32) -> i64 {
    let b = i64::from(v.to_bits() & i32::MAX as u32);
    if v.is_sign_negative() { -b } else { b }
}

fn bits64(v: f64) -> i64 {
    let b = (v.to_bits() & i64::MAX as u64) as i64;
    if v.is_sign_negative() { -b } else { b }
}

fn unary<T: Host + FloatElement>(rig: &Rig, x: &[T]) -> (Vec<T>, Vec<T>) {
    let t = tensors(rig).from_slice(x, &[x.len()]).unwrap();
    (t.sqrt().to_vec().unwrap(), t.exp().to_vec().unwrap())
}

#[test]
fn square_roots_are_correctly_rounded_and_exp_is_within_its_bound() {
    on_all(|rig| {
        // A multiplicative generator: all exponents and any mantissa.
        let random = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut x: Vec<f32> = f32::specials();
        x.extend((0..4000).map(|i| f32::from_bits((random(i) >> 33) as u32)));
        x.extend((-2000..2000).map(|i| i as f32 * 0.0525));
        let (roots, powers) = unary(&rig, &x);
        assert_same("sqrt f32", &roots, &x.iter().map(|x| x.sqrt()).collect::<Vec<_>>());
        for (x, got) in x.iter().zip(&powers) {
            let steps = host::exp(f64::from(*x)) as f32;
            assert!(got.same(steps), "exp of {x}: {got}, in the same steps {steps}");
            let far = ulps(bits32(*got), bits32(x.exp()));
            assert!(x.is_nan() || far <= 1, "exp of {x}: {got}, {far} ulp from {}", x.exp());
        }
        let mut x: Vec<f64> = f64::specials();
        x.extend((0..4000).map(|i| f64::from_bits(random(i) >> 1)));
        x.extend((-4000..4000).map(|i| f64::from(i) * 0.18731));
        let (roots, powers) = unary(&rig, &x);
        assert_same("sqrt f64", &roots, &x.iter().map(|x| x.sqrt()).collect::<Vec<_>>());
        for (x, got) in x.iter().zip(&powers) {
            assert!(got.same(host::exp(*x)), "exp of {x}: {got}, in the same steps {}", host::exp(*x));
            let far = ulps(bits64(*got), bits64(x.exp()));
            assert!(x.is_nan() || far <= 2, "exp of {x}: {got}, {far} ulp from {}", x.exp());
        }
        rig.assert_clean();
    });
}

fn sums_and_products<T: Host>(rig: &Rig) {
    let t = tensors(rig);
    let data = |n: usize, seed: usize| -> Vec<T> {
        (0..n).map(|i| T::of(((i * 7 + seed * 13) % 23) as i32 - 11).div(T::of(3))).collect()
    };
    let shapes: [&[usize]; 9] =
        [&[1], &[63], &[64], &[1000], &[5, 7], &[3, 300], &[2, 3, 70], &[4, 0, 3], &[70, 2]];
    for shape in shapes {
        let len = shape.iter().product();
        let x = data(len, shape.len());
        let tensor = t.from_slice(&x, shape).unwrap();
        for axis in 0..shape.len() {
            let sum = tensor.sum(axis);
            let mut rest = shape.to_vec();
            rest.remove(axis);
            assert_eq!(sum.shape().unwrap(), rest);
            assert_same(
                &format!("sum of {shape:?} over {axis}"),
                &sum.to_vec().unwrap(),
                &host::sum(&x, shape, axis),
            );
        }
    }
    for [m, k, n] in [[1, 1, 1], [16, 16, 16], [17, 33, 5], [3, 0, 4], [0, 3, 4], [40, 20, 70], [2, 100, 1]] {
        let (a, b) = (data(m * k, 1), data(k * n, 2));
        let (x, y) = (t.from_slice(&a, &[m, k]).unwrap(), t.from_slice(&b, &[k, n]).unwrap());
        let product = x.matmul(&y);
        assert_eq!(product.shape().unwrap(), [m, n]);
        let expected = host::product(&a, &b, [m, k, n]);
        assert_same(&format!("product {m} {k} {n}"), &product.to_vec().unwrap(), &expected);
    }
    rig.assert_clean();
}

#[test]
fn sums_and_products_equal_the_hosts_in_the_stated_order() {
    on_all(|rig| {
        sums_and_products::<f32>(&rig);
        sums_and_products::<f64>(&rig);
        sums_and_products::<i32>(&rig);
    });
}

#[test]
fn more_rows_than_workgroups_are_summed_in_turn() {
    on_each(|rig| {
        let (rows, n) = (4100, 65);
        let x: Vec<i32> = (0..rows * n).map(|i| (i % 1013) as i32).collect();
        let sums = tensors(&rig).from_slice(&x, &[rows, n]).unwrap().sum(1).to_vec().unwrap();
        assert_same("rows", &sums, &host::sum(&x, &[rows, n], 1));
        rig.assert_clean();
    });
}

#[test]
fn a_chain_may_read_its_first_operand_again() {
    on_each(|rig| {
        let t = tensors(&rig);
        let a: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        let (m1, m2) =
            (t.from_slice(&a, &[10, 100]).unwrap(), t.from_slice(&[2.0; 1000], &[10, 100]).unwrap());
        let result = m1.add(&m2).mul(5.0).sub(&m1).compute().unwrap();
        assert_eq!(result.shape().unwrap(), [10, 100]);
        let expected: Vec<f32> = a.iter().map(|a| (a + 2.0) * 5.0 - a).collect();
        assert_eq!(result.to_vec().unwrap(), expected);
        assert_eq!(m1.to_vec().unwrap(), a, "the operand is as it was");
        // A computed tensor is data: computing it again submits nothing, and it can be an operand.
        let before = rig.validation().counts();
        assert_eq!(result.operations().unwrap(), 0);
        let again = result.compute().unwrap();
        assert_eq!(rig.validation().counts().since(&before).device_calls(), 0);
        assert_eq!(again.sub(&result).to_vec().unwrap(), [0.0; 1000]);
        rig.assert_clean();
    });
}

#[test]
fn destinations_that_are_large_enough_are_reused() {
    on_each(|rig| {
        let t = tensors(&rig);
        let x = t.from_slice(&[1i32, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
        let mut out = DeviceBuffer::<i32>::on(&rig.stream, 1000).unwrap();
        let at = out.ptr();
        x.mul(10).compute_into(&mut out).unwrap();
        assert_eq!((out.ptr(), out.shape()), (at, &[2, 3][..]));
        assert_eq!(out.to_vec(&rig.stream).unwrap(), [10, 20, 30, 40, 50, 60]);
        // Data are copied.
        x.compute_into(&mut out).unwrap();
        assert_eq!(out.to_vec(&rig.stream).unwrap(), [1, 2, 3, 4, 5, 6]);
        // The destination is too small: new memory is allocated.
        let mut small = DeviceBuffer::<i32>::on(&rig.stream, 0).unwrap();
        x.sum(0).compute_into(&mut small).unwrap();
        assert_eq!((small.shape(), small.to_vec(&rig.stream).unwrap()), (&[3][..], vec![5, 7, 9]));
        // A failed compute leaves the shape.
        assert!(x.add(&x.sum(0)).compute_into(&mut small).is_err());
        assert_eq!(small.shape(), [3]);
        // The buffer of a computed tensor can be taken, and be a tensor again.
        let buffer = x.neg().compute().unwrap().into_buffer().unwrap();
        let again = t.from_buffer(std::sync::Arc::into_inner(buffer).unwrap()).unwrap();
        assert_eq!((again.shape().unwrap(), again.sum(1).to_vec().unwrap()), (&[2, 3][..], vec![-6, -15]));
        assert!(again.neg().into_buffer().is_none());
        rig.assert_clean();
    });
}

#[test]
fn empty_tensors_and_zero_axes_have_defined_results() {
    on_each(|rig| {
        let t = tensors(&rig);
        let x = t.from_slice::<f64>(&[], &[0, 3]).unwrap();
        assert_eq!(x.add(1.0).exp().to_vec().unwrap(), [0.0; 0]);
        assert_eq!(x.sum(0).to_vec().unwrap(), [0.0; 3]);
        assert_eq!(x.sum(1).sum(0).to_vec().unwrap(), [0.0]);
        // The result is empty, however large the other axes are.
        let huge = t.from_slice::<f64>(&[], &[0, 2, 1 << 40, 1 << 40]).unwrap();
        assert_eq!(huge.sum(1).shape().unwrap(), [0, 1 << 40, 1 << 40]);
        assert_eq!(huge.sum(1).to_vec().unwrap(), [0.0; 0]);
        assert!(huge.sum(0).compute().is_err());
        rig.assert_clean();
    });
}

#[test]
fn a_deep_expression_does_not_overflow_the_stack() {
    on_each(|rig| {
        let t = tensors(&rig);
        let mut x = t.from_slice(&[1i32], &[1]).unwrap();
        for _ in 0..200_000 {
            x = x.add(1);
        }
        assert_eq!(x.operations().unwrap(), 200_000);
        assert!(format!("{x:?}").len() < 200, "{x:?}");
        drop(x);
        rig.assert_clean();
    });
}
