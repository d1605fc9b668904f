//! What the runtime adds to CubeCL's own tests: graphs, rows with gaps, and a fault. Needs hiprtc.

use cubecl_core as cubecl;
use cubecl_core::future::block_on;
use cubecl_core::prelude::*;
use cubecl_core::server::{CopyDescriptor, Handle};
use cubecl_hiplaunch::{AmdDevice, HipLaunchRuntime, Runtime, launcher};
use hiplaunch::Compiler;

#[cube(launch)]
fn add(a: f32, x: &Tensor<f32>, y: &mut Tensor<f32>) {
    if ABSOLUTE_POS < x.len() {
        y[ABSOLUTE_POS] = y[ABSOLUTE_POS] + a * x[ABSOLUTE_POS] + f32::cast_from(x.shape(0));
    }
}

#[cube(launch_unchecked)]
fn write_far_away(x: &mut [f32]) {
    x[ABSOLUTE_POS + 268_435_456] = 1.0;
}

/// The client, if kernels can be compiled here.
fn client() -> Option<Client> {
    let launcher = launcher().expect("a launcher");
    if let Err(error) = Compiler::new(&launcher.devices()[0].properties().target).check() {
        println!("skipped: {error}");
        return None;
    }
    Some(HipLaunchRuntime::client(&AmdDevice::default()))
}

fn launch_add(client: &Client, x: &Handle, y: &Handle) {
    let tensor = |handle: &Handle| {
        // SAFETY: both buffers have four elements.
        unsafe { TensorArg::from_raw_parts(handle.clone(), [2, 1].into(), [2, 2].into()) }
    };
    add::launch(client, CubeCount::new_single(), CubeDim::new_1d(4), 2.0, tensor(x), tensor(y));
}

fn read(client: &Client, handle: &Handle) -> Vec<f32> {
    f32::from_bytes(&client.read_one(handle.clone()).expect("what was written")).to_vec()
}

// One test, because a fault ends the device for all that comes after it in this process.
#[test]
fn graphs_replay_gaps_are_left_out_and_a_fault_is_reported() {
    let Some(client) = client() else { return };
    a_captured_launch_runs_at_each_replay(&client);
    rows_with_gaps_are_read_and_written_without_them(&client);
    a_fault_poisons_the_device(&client);
}

fn a_captured_launch_runs_at_each_replay(client: &Client) {
    let x = client.create_from_slice(f32::as_bytes(&[1.0, 2.0, 3.0, 4.0]));
    let y = client.create_from_slice(f32::as_bytes(&[0.0; 4]));
    client.graph_prepare().expect("a stream without a capture");
    launch_add(client, &x, &y);
    assert_eq!(read(client, &y), [4.0, 6.0, 8.0, 10.0]);
    client.start_capture().expect("a prepared stream");
    launch_add(client, &x, &y);
    let graph = client.stop_capture().expect("a graph of one launch");
    for replay in 1..=3 {
        // SAFETY: the buffers live, and nothing else uses them.
        unsafe { graph.replay() }.expect("a replay");
        let expected = [4.0, 6.0, 8.0, 10.0].map(|first| first * (replay + 1) as f32);
        assert_eq!(read(client, &y), expected);
    }
}

fn rows_with_gaps_are_read_and_written_without_them(client: &Client) {
    let rows = client.create_from_slice(f32::as_bytes(&[1.0, 2.0, 0.0, 3.0, 4.0, 0.0]));
    let narrow = CopyDescriptor::new(rows.binding(), [2, 2].into(), [3, 1].into(), size_of::<f32>());
    let bytes = client.read_tensor(vec![narrow]).expect("rows");
    assert_eq!(f32::from_bytes(&bytes[0]), [1.0, 2.0, 3.0, 4.0]);
}

fn a_fault_poisons_the_device(client: &Client) {
    let x = client.empty(size_of::<f32>());
    // SAFETY: there is none: this is the access that the test is about, and it is out of the memory of any device.
    unsafe {
        let x = BufferArg::from_raw_parts(x.clone(), 1);
        write_far_away::launch_unchecked(client, CubeCount::new_single(), CubeDim::new_1d(1), x);
    }
    let error = client.read_one(x).expect_err("the kernel has faulted");
    assert!(error.is_device_poisoned(), "{error}");
    let error = block_on(client.sync()).expect_err("the device is lost");
    assert!(error.is_device_poisoned(), "{error}");
}
