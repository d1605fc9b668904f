//! Trains a small network with Burn, once on the device that Burn calls ROCm and once on the CPU, from the same weights.
//!
//! Nothing here names hiplaunch: `[patch.crates-io]` in the workspace's Cargo.toml puts it in the place of CubeCL's own
//! runtime for HIP.

use burn::nn::{Linear, LinearConfig};
use burn::optim::{GradientsParams, SgdConfig};
use burn::prelude::*;

const STEPS: usize = 100;
const SAMPLES: usize = 64;
const RATE: f64 = 0.1;

/// One hidden layer.
#[derive(Module, Debug)]
struct Network {
    hidden: Linear,
    output: Linear,
}

impl Network {
    fn new(device: &Device) -> Network {
        Network {
            hidden: LinearConfig::new(2, 16).init(device),
            output: LinearConfig::new(16, 1).init(device),
        }
    }

    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.output.forward(self.hidden.forward(x).tanh())
    }
}

/// Points of a square, and the product of their coordinates.
fn samples(device: &Device) -> (Tensor<2>, Tensor<2>) {
    let side = SAMPLES.isqrt();
    let coordinate = |i: usize| 2.0 * i as f32 / (side - 1) as f32 - 1.0;
    let points = (0..SAMPLES).map(|i| [coordinate(i / side), coordinate(i % side)]);
    let (x, y): (Vec<_>, Vec<_>) = points.map(|[a, b]| ([a, b], a * b)).unzip();
    let x = TensorData::new(x.concat(), [SAMPLES, 2]);
    (Tensor::from_data(x, device), Tensor::from_data(TensorData::new(y, [SAMPLES, 1]), device))
}

/// Trains a network on a device, and returns the loss before each step.
fn train(network: &Network, device: &Device) -> Vec<f32> {
    let device = device.clone().autodiff();
    let mut network = network.clone().fork(&device);
    let mut optimizer = SgdConfig::new().init();
    let (x, y) = samples(&device);
    let mut losses = Vec::new();
    for _ in 0..STEPS {
        let error = network.forward(x.clone()) - y.clone();
        let loss = (error.clone() * error).mean();
        losses.push(loss.clone().into_scalar());
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        network = optimizer.step(RATE, network, gradients);
    }
    losses
}

/// Trains from the same weights on both devices.
fn both() -> (Vec<f32>, Vec<f32>) {
    #[expect(deprecated, reason = "its successor takes longer to build")]
    let cpu = Device::ndarray();
    let network = Network::new(&cpu.clone().autodiff());
    (train(&network, &Device::rocm(0)), train(&network, &cpu))
}

fn main() {
    let (rocm, cpu) = both();
    println!("step      ROCm       CPU");
    for step in (0..STEPS).step_by(10).chain([STEPS - 1]) {
        println!("{step:4} {:9.6} {:9.6}", rocm[step], cpu[step]);
    }
}

#[test]
fn losses_fall_and_are_those_of_the_cpu() {
    let (rocm, cpu) = both();
    assert!(rocm[STEPS - 1] < rocm[0] / 2.0, "{rocm:?}");
    for (step, (rocm, cpu)) in rocm.iter().zip(&cpu).enumerate() {
        assert!((rocm - cpu).abs() < 1e-4, "step {step}: {rocm} and {cpu}");
    }
}
