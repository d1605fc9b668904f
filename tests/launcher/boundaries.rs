//! Accesses past the end of a pool's block: faults on the emulator, which name both blocks.

use hiplaunch::driver::{DriverError, ErrorCode, Work};
use hiplaunch::{Arg, ArgumentBlock, Backend, DeviceBuffer, Error, LaunchDims, Launcher};

use hiplaunch_testing::rig::*;

fn open() -> Rig {
    Rig::open(Launcher::builder(), Backend::Emulator)
}

/// Two buffers of 256 bytes that the pool places side by side.
fn neighbours(rig: &Rig) -> [DeviceBuffer<f32>; 2] {
    std::array::from_fn(|_| DeviceBuffer::from_slice(&rig.stream, &[0.0; 64]).unwrap())
}

#[test]
fn a_store_one_element_past_a_buffer_is_a_fault_that_names_both_buffers() {
    let rig = open();
    let store = rig.kernel(&PROBE, "oob_store");
    let [first, second] = neighbours(&rig);
    // The last element is fine.
    rig.launch(store, LaunchDims::linear(1, 1), &[Arg::Pointer(first.ptr()), Arg::from(63i64)]).unwrap();
    rig.stream.synchronize().unwrap();
    rig.launch(store, LaunchDims::linear(1, 1), &[Arg::Pointer(first.ptr()), Arg::from(64i64)]).unwrap();
    let error = rig.stream.synchronize().unwrap_err();
    let Error::DeviceLost(report) = &error else { panic!("{error:?}") };
    assert_eq!(report.code, ErrorCode::ILLEGAL_ADDRESS);
    let text = error.to_string();
    let meant = format!("just past the end of the pool block {}..", first.ptr());
    let hit = format!("on a GPU the pool block {}..", second.ptr());
    assert!(text.contains(&meant) && text.contains(&hit) && text.contains("oob_store"), "{text}");
}

#[test]
fn a_store_past_the_last_buffer_is_a_fault_that_names_free_memory() {
    let rig = open();
    let store = rig.kernel(&PROBE, "oob_store");
    let [_first, second] = neighbours(&rig);
    rig.launch(store, LaunchDims::linear(1, 1), &[Arg::Pointer(second.ptr()), Arg::from(65i64)]).unwrap();
    let text = rig.stream.synchronize().unwrap_err().to_string();
    let meant = format!("4 bytes past the end of the pool block {}..", second.ptr());
    assert!(text.contains(&meant) && text.contains("memory of the pool that is free"), "{text}");
}

#[test]
fn a_store_to_a_buffer_that_was_dropped_before_is_a_fault() {
    let rig = open();
    let store = rig.kernel(&PROBE, "oob_store");
    let [first, second] = neighbours(&rig);
    let gone = second.ptr();
    drop(second);
    rig.launch(store, LaunchDims::linear(1, 1), &[Arg::Pointer(gone), Arg::from(0i64)]).unwrap();
    let text = rig.stream.synchronize().unwrap_err().to_string();
    assert!(text.contains(&format!("past the end of the pool block {}", first.ptr())), "{text}");
}

/// Enqueues work on a driver without validation, which would find it first.
fn refused(make: impl Fn(&DeviceBuffer<f32>, &mut [u8; 8]) -> Work<'static>) -> DriverError {
    let launcher = Launcher::builder().backend(Backend::Emulator).validate(false).build().unwrap();
    let device = launcher.device(0).unwrap();
    let stream = launcher.stream(device).unwrap();
    let buffers: [DeviceBuffer<f32>; 2] = std::array::from_fn(|_| DeviceBuffer::on(&stream, 64).unwrap());
    let mut host = [0; 8];
    let work = make(&buffers[0], &mut host);
    // SAFETY: the driver refuses it; else it would write memory of these buffers and of `host` alone.
    let error = unsafe { device.driver().enqueue(device.id(), stream.as_raw(), &work) }.unwrap_err();
    stream.synchronize().unwrap();
    assert!(error.to_string().contains("past"), "{error}");
    let meant = format!("the pool block {}..", buffers[0].ptr());
    let hit = format!("the pool block {}..", buffers[1].ptr());
    assert!(error.to_string().contains(&meant) && error.to_string().contains(&hit), "{error}");
    error
}

#[test]
fn copies_and_fills_past_a_buffer_are_refused() {
    let errors = [
        refused(|b, host| Work::CopyToDevice { dst: b.ptr().offset(252), src: host.as_ptr(), bytes: 8 }),
        refused(|b, host| Work::CopyToHost { dst: host.as_mut_ptr(), src: b.ptr().offset(252), bytes: 8 }),
        refused(|b, _| Work::CopyWithin { dst: b.ptr(), src: b.ptr().offset(252), bytes: 8 }),
        refused(|b, _| Work::CopyWithin { dst: b.ptr().offset(256), src: b.ptr(), bytes: 4 }),
        refused(|b, _| Work::FillBytes { dst: b.ptr().offset(256), value: 1, bytes: 1 }),
        refused(|b, _| Work::FillWords { dst: b.ptr(), value: 1, count: 65 }),
    ];
    assert!(errors.iter().all(|error| error.code == ErrorCode::INVALID_VALUE), "{errors:?}");
}

#[test]
fn kernels_may_read_buffers_whose_addresses_are_in_an_argument_block() {
    on_each(|rig| {
        let dot = rig.kernel(&JIT, "jit_dot");
        let x = DeviceBuffer::from_slice(&rig.stream, &[2.0f32; 64]).unwrap();
        let y = DeviceBuffer::from_slice(&rig.stream, &[3.0f32; 64]).unwrap();
        let mut bytes = vec![0; 32];
        bytes[8..16].copy_from_slice(&x.ptr().0.to_le_bytes());
        bytes[16..24].copy_from_slice(&y.ptr().0.to_le_bytes());
        bytes[24..28].copy_from_slice(&64u32.to_le_bytes());
        let block = ArgumentBlock { bytes: &bytes, patches: &RESULT, arrays: &[], result_bytes: 8 };
        let ticket = rig.launch(dot, LaunchDims::linear(1, 256), &[Arg::ArgumentBlock(&block)]).unwrap();
        assert_eq!(ticket.read().unwrap().slice::<f64>(0).unwrap(), [384.0]);
        rig.assert_clean();
    });
}

#[test]
fn views_and_buffers_that_are_dropped_or_cut_otherwise_in_flight_are_fine() {
    on_each(|rig| {
        let (iota, spin) = (rig.kernel(&VECTOR, "iota_u32"), rig.kernel(&PROBE, "spin"));
        for round in 0..50usize {
            // Sizes that make the pool cut and join its blocks while work is under way.
            let len = 64 * (1 + round % 7);
            let slow = DeviceBuffer::<u32>::on(&rig.stream, 1).unwrap();
            let args = [Arg::from(200u64), Arg::Pointer(slow.ptr())];
            rig.launch(spin, LaunchDims::linear(1, 1), &args).unwrap();
            let buffer = DeviceBuffer::<u32>::on(&rig.stream, len).unwrap();
            let args = [Arg::Pointer(buffer.ptr()), Arg::from(7u32), Arg::from(len as i32)];
            rig.launch(iota, LaunchDims::linear(len as u32 / 64, 64), &args).unwrap();
            let view = buffer.view_strided(len - 1, &[1], &[1]).unwrap();
            let mut copy = DeviceBuffer::<u32>::on(&rig.stream, 1).unwrap();
            copy.copy_from(&rig.stream, &view).unwrap();
            drop((slow, buffer));
            let other = DeviceBuffer::<u32>::on(&rig.stream, 3 * len).unwrap();
            drop((view, other));
            assert_eq!(copy.to_vec(&rig.stream).unwrap(), [6 + len as u32]);
        }
        rig.assert_clean();
    });
}

#[test]
fn the_pool_counts_the_same_with_and_without_boundaries() {
    use hiplaunch::driver::emulated::EmulatorOptions;
    let count = |pool_boundaries: bool| {
        let options = EmulatorOptions { pool_boundaries, ..EmulatorOptions::default() };
        let launcher = Launcher::builder().backend(Backend::Emulator).emulator(options).build().unwrap();
        let device = launcher.device(0).unwrap();
        let stream = launcher.stream(device).unwrap();
        let mut live = Vec::new();
        for n in 1..200usize {
            live.push(DeviceBuffer::<u8>::on(&stream, n * n).unwrap());
            if n % 3 == 0 {
                live.remove(n / 5);
            }
        }
        let pool = device.pool();
        let mut counters = pool.counters();
        // Streams of all launchers have one numbering.
        counters.streams.iter_mut().for_each(|stream| stream.stream = 0);
        (counters, pool.snapshot().segments.iter().map(|s| s.bytes).collect::<Vec<_>>())
    };
    assert_eq!(count(true), count(false));
}
