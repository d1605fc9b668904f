//! Fused kernels: fewer launches, the same bits. Without a compiler on this machine, the fallback is tested.

use code_object::{Processor, TargetId};
use hiplaunch::driver::ErrorCode;
use hiplaunch::driver::emulated::{EmulatedDriver, EmulatorOptions};
use hiplaunch::driver::validation::CallKind;
use hiplaunch::{DeviceBuffer, Launcher};
use hiplaunch_tensor::FloatElement;
use hiplaunch_tensor::{LazyTensor, Tensors};

use crate::host::{Host, assert_same};
use crate::operations::{one_by_one, tensors};
use hiplaunch_testing::rig::*;

/// Runs a test with fusion if there is a compiler; otherwise says that there is none.
fn where_it_fuses(test: impl Fn(Rig, Tensors)) {
    on_each(|rig| {
        let t = tensors(&rig);
        if t.fuses() {
            test(rig, t);
        } else {
            println!("skipped: no hiprtc");
        }
    });
}

fn launches(rig: &Rig, compute: impl FnOnce()) -> u64 {
    let before = rig.validation().counts();
    compute();
    rig.validation().counts().since(&before).get(CallKind::LaunchKernel)
}

/// Returns every operation on every pair of special values, one expression each.
fn all_operations<T: Host>(t: &Tensors) -> Vec<LazyTensor<T>> {
    let specials = T::specials();
    let pairs = || specials.iter().flat_map(|a| specials.iter().map(move |b| (*a, *b)));
    let (a, b): (Vec<T>, Vec<T>) = pairs().unzip();
    let c: Vec<T> = a.iter().rev().copied().collect();
    let new = |v: &[T]| t.from_slice(v, &[v.len()]).unwrap();
    let (x, y, z) = (new(&a), new(&b), new(&c));
    let (s, one) = (T::of(-5), T::of(1));
    vec![
        x.add(&y).neg(),
        x.sub(&y).sub_from(s),
        x.mul(&y).add(&z),
        x.mul(s).add(one),
        x.div(&y).sub(&x),
        x.add(one).div(s),
        x.sub(one).div_into(s),
        x.max(&y).min(&z),
        x.min(s).max(one),
        x.neg().mul_add(&y, &z).mul_add(s, &x),
        x.neg().mul_add(s, one).mul_add(&y, s),
    ]
}

fn of_floats<T: Host + FloatElement>(t: &Tensors) -> Vec<LazyTensor<T>> {
    let specials = T::specials();
    let x = t.from_slice(&specials, &[specials.len()]).unwrap();
    vec![x.sqrt().exp(), x.exp().sqrt(), x.mul(&x.exp().div(&x.sqrt().add(&x))).sqrt()]
}

fn same_bits<T: Host>(rig: &Rig, of: impl Fn(&Tensors) -> Vec<LazyTensor<T>>) {
    let (fused, alone) = (of(&tensors(rig)), of(&one_by_one(rig)));
    for (i, (fused, alone)) in fused.iter().zip(&alone).enumerate() {
        let operations = alone.operations().unwrap() as u64;
        assert!(operations > 1);
        let mut results = [Vec::new(), Vec::new()];
        assert_eq!(launches(rig, || results[0] = fused.to_vec().unwrap()), 1);
        assert_eq!(launches(rig, || results[1] = alone.to_vec().unwrap()), operations);
        assert_same(&format!("expression {i} of {}", T::TYPE.name()), &results[0], &results[1]);
    }
}

#[test]
fn fused_kernels_give_the_bits_of_separate_launches() {
    where_it_fuses(|rig, _| {
        same_bits::<f32>(&rig, all_operations);
        same_bits::<f64>(&rig, all_operations);
        same_bits::<i32>(&rig, all_operations);
        same_bits::<f32>(&rig, of_floats);
        same_bits::<f64>(&rig, of_floats);
        rig.assert_clean();
    });
}

#[test]
fn a_hundred_operations_are_one_launch_and_two_buffers() {
    where_it_fuses(|rig, t| {
        const N: usize = 1 << 16;
        let x = t.from_slice(&vec![1.0f32; N], &[N]).unwrap();
        let chain = (0..50).fold(x.clone(), |chain, _| chain.mul(2.0).sub(&x));
        let mut out = DeviceBuffer::<f32>::on(&rig.stream, N).unwrap();
        assert_eq!(launches(&rig, || chain.compute_into(&mut out).unwrap()), 1);
        assert_eq!(rig.device.pool().counters().peak_requested, 2 * 4 * N as u64, "input and result");
        assert_eq!(out.to_vec(&rig.stream).unwrap(), [1.0; N]);
        let (before, pool) = (rig.validation().counts(), rig.device.pool().counters());
        chain.compute_into(&mut out).unwrap();
        let (counts, after) = (rig.validation().counts().since(&before), rig.device.pool().counters());
        assert_eq!(
            (counts.device_calls(), after.hits + after.misses),
            (1, pool.hits + pool.misses),
            "{counts}"
        );
        // A longer chain is several kernels.
        let chain = (0..500).fold(x.clone(), |chain, _| chain.add(1.0));
        assert_eq!(launches(&rig, || chain.compute_into(&mut out).unwrap()), 4);
        assert_eq!(out.to_vec(&rig.stream).unwrap()[N - 1], 501.0);
        rig.assert_clean();
    });
}

#[test]
fn kernels_are_compiled_once_for_a_structure() {
    where_it_fuses(|rig, t| {
        let x = t.from_slice(&[1.0f32; 6], &[2, 3]).unwrap();
        let y = t.from_slice(&[2.0f32; 10], &[10]).unwrap();
        assert_eq!(x.mul(2.0).add(3.0).to_vec().unwrap(), [5.0; 6]);
        assert_eq!(t.compiled(), 1);
        // Another shape and other scalars use the same kernel, also on another stream.
        assert_eq!(y.mul(5.0).add(-1.0).to_vec().unwrap(), [9.0; 10]);
        let other = t.on_stream(&rig.launcher.stream(&rig.device).unwrap()).unwrap();
        let z = other.from_slice(&[4.0f32], &[1]).unwrap();
        assert_eq!(z.mul(1.0).add(1.0).to_vec().unwrap(), [5.0]);
        assert_eq!(t.compiled(), 1);
        // Another structure or another type needs another kernel.
        assert_eq!(x.mul(2.0).add(&x).to_vec().unwrap(), [3.0; 6]);
        let i = t.from_slice(&[1i32; 6], &[6]).unwrap();
        assert_eq!(i.mul(2).add(3).to_vec().unwrap(), [5; 6]);
        assert_eq!(t.compiled(), 3);
        // An operation that is alone needs no fused kernel.
        assert_eq!(i.mul(2).sum(0).add(3).to_vec().unwrap(), [15]);
        assert_eq!(t.compiled(), 3);
        rig.assert_clean();
        let (validation, registered) = (rig.validation().clone(), rig.launcher.registered());
        assert!(registered > 0);
        drop((t, x, y, other, z, i));
        assert_eq!(rig.launcher.registered(), 0);
        drop(rig);
        assert_eq!(validation.report_leaks(), []);
    });
}

#[test]
fn only_results_that_other_kernels_read_are_stored() {
    where_it_fuses(|rig, t| {
        let x = t.from_slice(&[1i32, 2, 3, 4], &[2, 2]).unwrap();
        // Both branches of one cluster read `shared`: still one kernel.
        let shared = x.mul(3);
        let diamond = shared.add(1).mul(&shared.sub(1));
        let mut result = Vec::new();
        assert_eq!(launches(&rig, || result = diamond.to_vec().unwrap()), 1);
        assert_eq!(result, [8, 35, 80, 143]);
        // A product reads it too, so it needs memory, and the operations after the product are another kernel.
        let product = shared.matmul(&shared.add(1).neg());
        let root = product.add(&shared).mul(2);
        assert_eq!(launches(&rig, || result = root.to_vec().unwrap()), 4);
        // shared = [3 6; 9 12], its second operand [-4 -7; -10 -13].
        assert_eq!(result, [2 * (-72 + 3), 2 * (-99 + 6), 2 * (-156 + 9), 2 * (-219 + 12)]);
        rig.assert_clean();
    });
}

#[test]
fn operations_are_launched_one_by_one_if_the_compiler_does_not_support_the_device() {
    let target = TargetId::new(Processor::Gfx942);
    let driver = EmulatedDriver::new(EmulatorOptions { target, ..EmulatorOptions::default() }).unwrap();
    let rig = Rig::open(Launcher::builder().driver(driver), hiplaunch::Backend::Emulator);
    let t = tensors(&rig);
    let x = t.from_slice(&[1.5f64; 100], &[100]).unwrap();
    let mut result = Vec::new();
    let launched = launches(&rig, || result = x.mul(2.0).add(1.0).sub(&x).to_vec().unwrap());
    assert_eq!(result, [2.5; 100]);
    // HIP 5.2 does not know gfx942 and crashes if asked for it; newer ones know it.
    assert_eq!((launched, t.compiled()), if t.fuses() { (1, 1) } else { (3, 0) });
    rig.assert_clean();
}

#[test]
fn operations_are_launched_one_by_one_if_a_fused_kernel_can_not_be_loaded() {
    where_it_fuses(|rig, t| {
        let x = t.from_slice(&[1.5f32; 100], &[100]).unwrap();
        rig.validation().inject(CallKind::ModuleLoad, 1, ErrorCode::INVALID_VALUE);
        for _ in 0..2 {
            let mut result = Vec::new();
            let launched = launches(&rig, || result = x.mul(2.0).add(1.0).sub(&x).to_vec().unwrap());
            assert_eq!((launched, result, t.compiled()), (3, vec![2.5; 100], 0));
        }
        rig.assert_clean();
    });
}
