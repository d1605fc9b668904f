//! What kernels and copies can access behind an allocation, and pages of the host that are not used.

use hip_driver::{DevicePtr, Driver, ErrorCode, Work};
use hip_driver_emulated::{Bounds, FineGrainedAtomics, MachineConfig, NoticeKind};

use crate::rig::{D0, PROBE, Rig, code};

/// The bytes of each allocation.
const BYTES: usize = 64;

fn rig(bounds: Bounds) -> Rig {
    Rig::new(MachineConfig { bounds, threads: 1, ..MachineConfig::default() }.into())
}

/// Allocates memory of the device, of the host, managed and shared.
fn allocations(rig: &Rig) -> [DevicePtr; 4] {
    let d = &rig.driver;
    let host = d.host_malloc(D0, BYTES).map(|pinned| pinned.device);
    [d.malloc(D0, BYTES), host, d.malloc_managed(D0, BYTES), d.malloc_shared(D0, BYTES)].map(Result::unwrap)
}

/// Stores to the element of an allocation with this number.
fn store(rig: &Rig, ptr: DevicePtr, index: i64) -> Result<(), hip_driver::DriverError> {
    let (kernels, stream) = (rig.load(D0, PROBE), rig.stream(D0));
    rig.launch(&kernels, "oob_store", (1, 1), &[&ptr.0.to_le_bytes(), &index.to_le_bytes()], stream)?;
    rig.sync(D0, stream)
}

#[test]
fn with_bounds_of_pages_kernels_access_the_last_page_of_every_kind_of_memory() {
    let rig = rig(Bounds::Pages);
    for ptr in allocations(&rig) {
        store(&rig, ptr, BYTES as i64 / 4).unwrap();
        store(&rig, ptr, 1023).unwrap();
        // Copies and fills end where the allocation does, as HIP checks them.
        let stream = rig.stream(D0);
        let mut bytes = [0; BYTES + 1];
        let too_long = rig.dtoh(D0, bytes.as_mut_ptr(), ptr, BYTES + 1, stream);
        assert_eq!(code(too_long), ErrorCode::INVALID_VALUE);
        let fill = Work::FillBytes { dst: ptr.offset(BYTES as u64), value: 1, bytes: 1 };
        // SAFETY: checked by the driver.
        assert_eq!(code(unsafe { rig.driver.enqueue(D0, stream, &fill) }), ErrorCode::INVALID_VALUE);
    }
}

#[test]
fn what_strict_bounds_refuse_is_listed_with_bounds_of_pages() {
    let rig = rig(Bounds::Pages);
    for ptr in allocations(&rig) {
        store(&rig, ptr, 15).unwrap();
        assert!(rig.driver.take_notices().is_empty());
        store(&rig, ptr, 16).unwrap();
        store(&rig, ptr, 1023).unwrap();
        let notices = rig.driver.take_notices();
        let [(D0, notice)] = &notices[..] else { panic!("{notices:?}") };
        assert_eq!((notice.kind, &*notice.kernel), (NoticeKind::PastEnd, "oob_store"));
        assert_eq!((notice.base, notice.len, notice.past), (ptr.0, BYTES as u64, 4096 - BYTES as u64));
        assert_eq!(notice.address, ptr.0 + BYTES as u64);
        assert!(notice.count >= 2);
    }
    assert!(rig.driver.take_notices().is_empty());
}

/// Adds 64 times 1.0 to a float, and returns it.
fn sum(rig: &Rig, ptr: DevicePtr) -> Result<f32, hip_driver::DriverError> {
    let code = include_bytes!("../../../amdgpu-emulator/tests/data/assembly/sum.gfx90a.co");
    let (kernels, stream) = (rig.load(D0, code), rig.stream(D0));
    let fill = Work::FillBytes { dst: ptr, value: 0, bytes: 4 };
    // SAFETY: the first bytes of a live allocation.
    unsafe { rig.driver.enqueue(D0, stream, &fill) }?;
    rig.launch(&kernels, "sum", (1, 64), &[&ptr.0.to_le_bytes()], stream)?;
    let mut bytes = [0; 4];
    rig.dtoh(D0, bytes.as_mut_ptr(), ptr, 4, stream)?;
    rig.sync(D0, stream)?;
    Ok(f32::from_le_bytes(bytes))
}

/// ROCm's documentation ("Hardware atomics operation support"): MI200 performs no floating-point atomics in fine-grained
/// memory. Pinned and managed memory is that by default (HIP, "Coherency control").
#[test]
fn floating_point_sums_in_host_memory_are_listed_and_dropped() {
    let set = |rig: &Rig, ptr, is_fine| rig.driver.set_fine_grained(D0, ptr, is_fine);
    for fine_grained_atomics in [FineGrainedAtomics::Perform, FineGrainedAtomics::Drop] {
        let machine = MachineConfig { fine_grained_atomics, threads: 1, ..MachineConfig::default() };
        let rig = Rig::new(machine.into());
        let [device, host, managed, shared] = allocations(&rig);
        for (ptr, is_fine) in [(device, false), (host, true), (managed, true), (shared, false)] {
            for is_fine in [is_fine, !is_fine] {
                let drops = is_fine && fine_grained_atomics == FineGrainedAtomics::Drop;
                assert_eq!(sum(&rig, ptr).unwrap(), if drops { 0.0 } else { 64.0 });
                let notices = rig.driver.take_notices();
                if !is_fine {
                    assert!(notices.is_empty(), "{notices:?}");
                } else {
                    let [(D0, notice)] = &notices[..] else { panic!("{notices:?}") };
                    assert_eq!((notice.kind, notice.count), (NoticeKind::FineGrainedAtomic, 64));
                }
                assert_eq!(set(&rig, ptr, !is_fine), Ok(()));
            }
        }
        let inside = device.offset(8);
        assert_eq!(code(set(&rig, inside, true)), ErrorCode::INVALID_VALUE);
    }
    let rig = Rig::new(MachineConfig { sanitize: true, threads: 1, ..MachineConfig::default() }.into());
    let host = rig.driver.host_malloc(D0, BYTES).unwrap().device;
    let error = sum(&rig, host).unwrap_err();
    assert!(error.to_string().contains("not performed on gfx90a hardware"), "{error}");
}

#[test]
fn a_page_that_no_allocation_has_is_a_fault_with_any_bounds() {
    for n in 0..4 {
        let rig = rig(Bounds::Pages);
        assert_eq!(code(store(&rig, allocations(&rig)[n], 1024)), ErrorCode::ILLEGAL_ADDRESS);
    }
}

#[test]
fn strict_bounds_refuse_the_last_page_and_the_report_names_the_other_bounds() {
    for n in 0..4 {
        let rig = rig(Bounds::Strict);
        let error = store(&rig, allocations(&rig)[n], BYTES as i64 / 4).unwrap_err();
        assert_eq!(error.code, ErrorCode::ILLEGAL_ADDRESS);
        assert!(error.to_string().contains("`--bounds pages`"), "{error}");
    }
}

#[test]
fn registered_memory_ends_where_it_does_with_any_bounds() {
    let mut memory = [0_u32; 64];
    let rig = rig(Bounds::Pages);
    // SAFETY: the memory outlives the driver, and nothing else accesses it.
    let registered = unsafe { rig.driver.host_register(D0, memory.as_mut_ptr().cast(), BYTES) }.unwrap();
    store(&rig, registered.device, 15).unwrap();
    let error = store(&rig, registered.device, 16).unwrap_err();
    assert!(!error.to_string().contains("--bounds"), "{error}");
}

/// The bytes of the process that are in memory.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
#[cfg(target_os = "linux")]
fn host_memory_that_is_not_used_takes_no_pages() {
    let rig = Rig::one();
    let before = resident();
    let large = rig.driver.host_malloc(D0, 2 << 30).unwrap();
    // SAFETY: the last byte of the allocation.
    assert_eq!(unsafe { large.host.add(large.bytes - 1).read() }, 0);
    assert!(resident().saturating_sub(before) < 1 << 30);
    // SAFETY: nothing uses it.
    unsafe { rig.driver.host_free(D0, large) }.unwrap();
}
