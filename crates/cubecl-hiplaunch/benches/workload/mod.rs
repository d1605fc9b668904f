//! The launches that are counted and measured.

use cubecl_core as cubecl;
use cubecl_core::future::block_on;
use cubecl_core::prelude::*;
use cubecl_core::server::Handle;

/// What differs from launch to launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// Two arrays and a scalar; nothing differs.
    Arrays,
    /// The scalar.
    NewScalars,
    /// Two tensors and a scalar; nothing differs.
    Tensors,
    /// The scalar, with two tensors.
    TensorsWithNewScalars,
    /// The shapes of the tensors.
    NewShapes,
}

/// Two buffers and the kernels that use them.
pub(crate) struct Workload {
    client: Client,
    x: Handle,
    y: Handle,
}

const LEN: usize = 1000;

#[cube(launch)]
fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    if ABSOLUTE_POS < y.len() {
        y[ABSOLUTE_POS] += a * x[ABSOLUTE_POS];
    }
}

#[cube(launch)]
fn scale_rows(a: f32, x: &Tensor<f32>, y: &mut Tensor<f32>) {
    let row = ABSOLUTE_POS / x.shape(1);
    let column = ABSOLUTE_POS % x.shape(1);
    if row < x.shape(0) {
        let to = row * y.stride(0) + column;
        y[to] = a * x[row * x.stride(0) + column];
    }
}

impl Workload {
    pub(crate) fn new(client: Client) -> Workload {
        let x = client.create_from_slice(f32::as_bytes(&[1.0; LEN]));
        let y = client.create_from_slice(f32::as_bytes(&[2.0; LEN]));
        Workload { client, x, y }
    }

    /// Launches a kernel `times` times.
    pub(crate) fn launch(&self, case: Case, times: usize) {
        for i in 0..times {
            self.launch_once(case, i);
        }
    }

    fn launch_once(&self, case: Case, i: usize) {
        let new_scalar = matches!(case, Case::NewScalars | Case::TensorsWithNewScalars);
        let a = if new_scalar { i as f32 } else { 2.0 };
        let (count, dim) = (CubeCount::Static(4, 1, 1), CubeDim::new_1d(256));
        let (x, y) = (self.x.clone(), self.y.clone());
        if matches!(case, Case::Arrays | Case::NewScalars) {
            // SAFETY: the buffers have so many elements.
            let (x, y) = unsafe { (BufferArg::from_raw_parts(x, LEN), BufferArg::from_raw_parts(y, LEN)) };
            return saxpy::launch(&self.client, count, dim, a, x, y);
        }
        let rows = if case == Case::NewShapes { 10 + i % 2 } else { 10 };
        let tensor = |handle| {
            // SAFETY: the buffers have at least so many elements.
            unsafe { TensorArg::from_raw_parts(handle, [50, 1].into(), [rows, 50].into()) }
        };
        scale_rows::launch(&self.client, count, dim, a, tensor(x), tensor(y));
    }

    /// Waits for the launches.
    pub(crate) fn wait(&self) {
        block_on(self.client.sync()).expect("the launches succeed");
    }
}
