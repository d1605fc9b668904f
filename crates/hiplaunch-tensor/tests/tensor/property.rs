//! Compares random expressions with shared parts with an interpreter on the host.

use hiplaunch::{Backend, Launcher};
use hiplaunch_tensor::Element;
use hiplaunch_tensor::{LazyTensor, Tensors};
use proptest::prelude::*;

use crate::host::{self, Host, assert_same};
use crate::operations::{one_by_one, tensors};
use hiplaunch_testing::rig::*;

/// The kind of operation, its operands among the earlier results, and a scalar.
type Step = (u8, usize, usize, usize, i8);

/// A tensor with its expected elements.
struct Both<T: Element> {
    tensor: LazyTensor<T>,
    shape: Vec<usize>,
    host: Vec<T>,
}

/// The square root and the exponential, for types that have them.
type Unary<T> = Option<(fn(&LazyTensor<T>) -> LazyTensor<T>, fn(T) -> T)>;

fn run<T: Host>(
    t: &Tensors,
    side: usize,
    steps: &[Step],
    scalar: fn(i8) -> T,
    sqrt: Unary<T>,
    exp: Unary<T>,
) {
    let mut all: Vec<Both<T>> = (0..3)
        .map(|v| {
            let host: Vec<T> = (0..side * side).map(|i| scalar(((i * 5 + v * 3) % 19) as i8 - 7)).collect();
            let tensor = t.from_slice(&host, &[side, side]).unwrap();
            Both { tensor, shape: vec![side, side], host }
        })
        .collect();
    for &(kind, x, y, z, s) in steps {
        let (x, y, z) = (&all[x % all.len()], &all[y % all.len()], &all[z % all.len()]);
        let s = scalar(s);
        let map = |f: &dyn Fn(T) -> T| x.host.iter().map(|a| f(*a)).collect::<Vec<T>>();
        let zip = |f: fn(T, T) -> T| host::zip(&x.host, &y.host, f);
        let alike = x.shape == y.shape;
        let same = x.shape.clone();
        let (tensor, shape, host) = match kind {
            0 if alike => (x.tensor.add(&y.tensor), same, zip(T::add)),
            1 if alike => (x.tensor.sub(&y.tensor), same, zip(T::sub)),
            2 if alike => (x.tensor.mul(&y.tensor), same, zip(T::mul)),
            3 if alike => (x.tensor.div(&y.tensor), same, zip(T::div)),
            4 if alike => (x.tensor.max(&y.tensor), same, zip(T::max)),
            5 if alike => (x.tensor.min(&y.tensor), same, zip(T::min)),
            6 => (x.tensor.add(s), same, map(&|a| a.add(s))),
            7 => (x.tensor.sub_from(s), same, map(&|a| s.sub(a))),
            8 => (x.tensor.mul(s), same, map(&|a| a.mul(s))),
            9 if s != T::of(0) => (x.tensor.div(s), same, map(&|a| a.div(s))),
            10 => (x.tensor.div_into(s), same, map(&|a| s.div(a))),
            11 => (x.tensor.neg(), same, map(&|a| a.neg())),
            12 if alike && x.shape == z.shape => {
                let fused = (0..x.host.len()).map(|i| x.host[i].fma(y.host[i], z.host[i])).collect();
                (x.tensor.mul_add(&y.tensor, &z.tensor), same, fused)
            }
            13 if alike => {
                let fused = zip_with(&x.host, &y.host, |a, b| a.fma(s, b));
                (x.tensor.mul_add(s, &y.tensor), same, fused)
            }
            14 if !x.shape.is_empty() => {
                let axis = x.shape.len() - 1;
                let mut rest = same.clone();
                rest.remove(axis);
                (x.tensor.sum(axis), rest, host::sum(&x.host, &same, axis))
            }
            15 if x.shape.len() == 2 && y.shape.len() == 2 => {
                let product = host::product(&x.host, &y.host, [side, side, side]);
                (x.tensor.matmul(&y.tensor), same, product)
            }
            16 => match sqrt {
                Some((tensor, on_host)) => (tensor(&x.tensor), same, map(&on_host)),
                None => continue,
            },
            17 => match exp {
                Some((tensor, on_host)) => (tensor(&x.tensor), same, map(&on_host)),
                None => continue,
            },
            // A tensor that is computed now is an operand later.
            18 => (x.tensor.compute().unwrap(), same, x.host.clone()),
            _ => continue,
        };
        assert_eq!(tensor.shape().unwrap(), shape);
        all.push(Both { tensor, shape, host });
    }
    // The last ones are the longest expressions.
    for both in all.iter().rev().take(3) {
        assert_same(T::TYPE.name(), &both.tensor.to_vec().unwrap(), &both.host);
    }
}

fn zip_with<T: Host>(a: &[T], b: &[T], f: impl Fn(T, T) -> T) -> Vec<T> {
    host::zip(a, b, f)
}

/// Checks every element type.
fn every_type(of: fn(&Rig) -> Tensors, side: usize, steps: &[Step]) {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let t = of(&rig);
    let exp = |x: f32| host::exp(f64::from(x)) as f32;
    run::<f32>(
        &t,
        side,
        steps,
        |s| f32::from(s) / 3.0,
        Some((|x| x.sqrt(), f32::sqrt)),
        Some((|x| x.exp(), exp)),
    );
    run::<f64>(
        &t,
        side,
        steps,
        |s| f64::from(s) / 3.0,
        Some((|x| x.sqrt(), f64::sqrt)),
        Some((|x| x.exp(), host::exp)),
    );
    run::<i32>(&t, side, steps, i32::from, None, None);
    rig.assert_clean();
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0u8..19, 0usize..40, 0usize..40, 0usize..40, -4i8..5), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn random_expressions_are_what_the_host_computes(side in 1usize..20, steps in steps()) {
        every_type(one_by_one, side, &steps);
    }
}

proptest! {
    // Each case compiles some kernels.
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_expressions_in_fused_kernels_too(side in 1usize..20, steps in steps()) {
        every_type(tensors, side, &steps);
    }
}
