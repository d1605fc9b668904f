//! Virtual memory: what is mapped side by side is one range, rights are those of a device, and memory lives as long as it is mapped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hip_driver::{DeviceId, DevicePtr, Driver, DriverResult, ErrorCode, RawStream, Work};
use hip_driver_emulated::{VIRTUAL_GRANULARITY, VirtualAccess};

use crate::rig::{D0, D1, PROBE, Rig, code};

const PAGE: u64 = VIRTUAL_GRANULARITY;

fn used(rig: &Rig, device: DeviceId) -> u64 {
    let info = rig.driver.mem_info(device).unwrap();
    info.total - info.free
}

fn allow(rig: &Rig, ptr: DevicePtr, bytes: u64, device: DeviceId, access: VirtualAccess) {
    rig.driver.set_virtual_access("set", ptr, bytes, device, access).unwrap();
}

fn fill(rig: &Rig, device: DeviceId, stream: RawStream, dst: DevicePtr, bytes: usize) -> DriverResult<()> {
    // SAFETY: checked by the driver.
    unsafe { rig.driver.enqueue(device, stream, &Work::FillBytes { dst, value: 7, bytes }) }
}

#[test]
fn mappings_side_by_side_are_one_range_with_rights_of_each_device() {
    let rig = Rig::two();
    let driver = &rig.driver;
    let base = driver.reserve_addresses("reserve", 1 << 36, 0, DevicePtr(0)).unwrap();
    let first = driver.create_physical("create", D0, PAGE, false).unwrap();
    let second = driver.create_physical("create", D1, 2 * PAGE, false).unwrap();
    assert_eq!((used(&rig, D0), used(&rig, D1)), (PAGE, 2 * PAGE));
    driver.map_physical("map", base, PAGE, &first).unwrap();
    driver.map_physical("map", base.offset(PAGE), 2 * PAGE, &second).unwrap();
    drop((first, second));
    assert_eq!(driver.virtual_access(D0, base), Some(VirtualAccess::None));
    allow(&rig, base, 3 * PAGE, D0, VirtualAccess::ReadWrite);
    allow(&rig, base.offset(PAGE), 2 * PAGE, D1, VirtualAccess::Read);
    let seam = base.offset(PAGE - 4);
    rig.write(D0, seam, &[1, 2]);
    assert_eq!(rig.read(D0, seam, 2), [1, 2]);
    assert_eq!(rig.read(D1, base.offset(PAGE), 1), [2]);
    assert!(!driver.can_access(D1, seam, 4) && driver.can_access(D0, base, 3 * PAGE));
    assert!(!driver.can_access(D0, base, 3 * PAGE + 1));
    let stream = rig.stream(D1);
    for at in [0, PAGE] {
        let filled = fill(&rig, D1, stream, base.offset(at), 4);
        assert_eq!(code(filled), ErrorCode::INVALID_VALUE);
    }
    // A kernel of the second device writes what it may only read.
    let kernels = rig.load(D1, PROBE);
    let arguments: [&[u8]; 2] = [&base.offset(PAGE).0.to_le_bytes(), &0_i64.to_le_bytes()];
    rig.launch(&kernels, "oob_store", (1, 64), &arguments, stream).unwrap();
    assert_eq!(code(rig.sync(D1, stream)), ErrorCode::ILLEGAL_ADDRESS);
    assert_eq!(code(driver.free_addresses("free", base)), ErrorCode::NOT_READY);
    assert_eq!(code(driver.unmap_physical("unmap", base, 2 * PAGE)), ErrorCode::INVALID_VALUE);
    driver.unmap_physical("unmap", base, 3 * PAGE).unwrap();
    assert_eq!(used(&rig, D0), 0);
    assert_eq!(driver.virtual_access(D0, base), None);
    driver.free_addresses("free", base).unwrap();
}

/// What another thread enqueues while memory is unmapped, or made read-only, harms no more than its own device.
#[test]
fn rights_change_while_other_threads_use_the_memory() {
    let end = Instant::now() + Duration::from_secs(1);
    while Instant::now() < end {
        let rig = Rig::one();
        let base = rig.driver.reserve_addresses("reserve", PAGE, 0, DevicePtr(0)).unwrap();
        let memory = rig.driver.create_physical("create", D0, PAGE, false).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let stream = rig.stream(D0);
                while !stop.load(Ordering::Relaxed) {
                    let _ = fill(&rig, D0, stream, base, PAGE as usize);
                }
                let _ = rig.driver.device_synchronize(D0);
            });
            for _ in 0..50 {
                rig.driver.map_physical("map", base, PAGE, &memory).unwrap();
                for access in [VirtualAccess::ReadWrite, VirtualAccess::Read, VirtualAccess::ReadWrite] {
                    allow(&rig, base, PAGE, D0, access);
                }
                rig.driver.unmap_physical("unmap", base, PAGE).unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
