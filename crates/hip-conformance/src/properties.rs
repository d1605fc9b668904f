//! The properties of a driver and of its devices.

use hiplaunch::driver::{Capability, DeviceId, ErrorCode, HostFunction, ValueWidth, Work};

use crate::rig::{D0, D1, Rig, code};

pub(crate) fn the_driver_has_a_name_a_version_and_a_source(rig: &Rig) {
    let info = rig.driver.info();
    assert_eq!(info.name.contains("validation over "), rig.validation.is_some());
    assert_eq!(info.version.split('.').count(), 3, "{}", info.version);
    assert!(info.version.split('.').all(|part| part.parse::<u32>().is_ok()), "{}", info.version);
    assert!(!info.source.is_empty());
    // A call that the driver can't do is an error.
    let capabilities = rig.driver.capabilities();
    if !capabilities.has(Capability::StreamOrderedAllocator) {
        // SAFETY: a live stream.
        let error = unsafe { rig.driver.malloc_async(D0, 256, rig.stream()) };
        assert_eq!(code(error), ErrorCode::NOT_SUPPORTED);
    }
    if !capabilities.has(Capability::HostFunc) {
        // SAFETY: a live stream.
        let error =
            unsafe { rig.driver.enqueue(D0, rig.stream(), &Work::HostFunction(&HostFunction::new(|| ()))) };
        assert_eq!(code(error), ErrorCode::NOT_SUPPORTED);
    }
    if !capabilities.has(Capability::StreamValues) {
        let write = Work::WriteValue { dst: rig.malloc(8), width: ValueWidth::Bits64, value: 1 };
        // SAFETY: a live stream, and live memory.
        let error = unsafe { rig.driver.enqueue(D0, rig.stream(), &write) };
        assert_eq!(code(error), ErrorCode::NOT_SUPPORTED);
    }
}

pub(crate) fn devices_have_a_target_and_sane_limits(rig: &Rig) {
    for device in rig.devices() {
        let p = rig.driver.device_properties(device).unwrap();
        assert!(!p.name.is_empty() && !p.pci_bus_id.is_empty(), "{p:?}");
        assert!(p.target.processor.name().starts_with("gfx"), "{p:?}");
        assert!(p.wavefront_size == 32 || p.wavefront_size == 64, "{p:?}");
        assert!(p.max_threads_per_block >= 256 && p.compute_units > 0, "{p:?}");
        assert!(p.max_block.iter().all(|&b| b >= 64 && b <= p.max_threads_per_block), "{p:?}");
        assert!(p.max_grid.iter().all(|&g| g >= 65_535), "{p:?}");
        let known = [p.memory_clock_khz, p.memory_bus_bits, p.l2_bytes, p.registers_per_block];
        assert!(known.iter().flatten().all(|&value| value > 0), "{p:?}");
        assert_eq!(p.pci_address().is_some(), p.pci_bus_id.contains(':'), "{p:?}");
        assert!(p.max_lds_per_block >= 32 << 10 && p.total_memory >= 64 << 20, "{p:?}");
    }
}

pub(crate) fn a_device_that_does_not_exist_is_an_error(rig: &Rig) {
    for device in [DeviceId(rig.devices().len() as u32), DeviceId(i32::MAX as u32), DeviceId(u32::MAX)] {
        assert_eq!(code(rig.driver.device_properties(device)), ErrorCode::INVALID_DEVICE);
        assert_eq!(code(rig.driver.malloc(device, 256)), ErrorCode::INVALID_DEVICE);
        assert_eq!(code(rig.driver.stream_create(device, Default::default())), ErrorCode::INVALID_DEVICE);
    }
    rig.malloc(256);
}

pub(crate) fn an_allocation_reduces_the_free_memory(rig: &Rig) {
    if !rig.has(Capability::MemInfo) {
        return;
    }
    let before = rig.driver.mem_info(D0).unwrap();
    assert!(before.free <= before.total && before.total > 0);
    rig.malloc(32 << 20);
    let after = rig.driver.mem_info(D0).unwrap();
    assert_eq!(after.total, before.total);
    // HIP's device is shared with the tests that run at the same time.
    if matches!(rig.subject, crate::subject::Subject::Emulated { .. }) {
        assert!(before.free - after.free >= 32 << 20);
    }
}

pub(crate) fn peer_access_can_be_enabled_twice(rig: &Rig) {
    if !rig.has(Capability::PeerAccess) || !rig.has_second_device() {
        return;
    }
    if !rig.driver.can_access_peer(D0, D1).unwrap() {
        return rig.skip("device 0 cannot reach device 1");
    }
    rig.driver.enable_peer_access(D0, D1).unwrap();
    rig.driver.enable_peer_access(D0, D1).unwrap();
}
