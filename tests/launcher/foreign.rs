//! Foreign memory: borrowed addresses, pinned and registered host memory, managed memory, memory of other processes.

use std::process::Command;

use hiplaunch::driver::validation::CallGroup;
use hiplaunch::driver::{Capability, DevicePtr};
use hiplaunch::graph::GraphArg;
use hiplaunch::memory::SharedHandle;
use hiplaunch::{
    Arg, Backend, DeviceBuffer, Error, Launch, LaunchDims, Launcher, Module, PinnedBuffer, Registration, args,
};

use hiplaunch_testing::rig::*;

/// Memory that somebody else allocated.
struct Theirs<'r> {
    rig: &'r Rig,
    ptr: DevicePtr,
}

impl Theirs<'_> {
    fn new(rig: &Rig, bytes: usize) -> Theirs<'_> {
        Theirs { rig, ptr: rig.device.driver().malloc(rig.device.id(), bytes).unwrap() }
    }

    fn borrow(&self, offset: u64, len: usize) -> DeviceBuffer<u32> {
        // SAFETY: live memory, which outlives the buffers of the tests.
        unsafe { DeviceBuffer::borrow_raw(&self.rig.device, self.ptr.offset(offset), len) }.unwrap()
    }
}

impl Drop for Theirs<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`; the tests have waited for their work.
        unsafe { self.rig.device.driver().free(self.rig.device.id(), self.ptr) }.unwrap();
    }
}

#[test]
fn a_modules_global_variable_is_set_and_read_as_borrowed_memory() {
    on_each(|rig| {
        // SAFETY: kernels of hip/.
        let module = unsafe { Module::load(&rig.device, PROBE.for_device(&rig.device)) }.unwrap();
        let bump = rig.launcher.register_kernel(Registration::new(&module, "bump_global")).unwrap();
        let variable = |name: &str| {
            let (ptr, bytes) = module.global(name).unwrap();
            // SAFETY: the module keeps its variables for as long as the buffer is used.
            unsafe { DeviceBuffer::<u32>::borrow_raw(&rig.device, ptr, bytes / 4) }.unwrap()
        };
        let (counter, mut step) = (variable("device_counter"), variable("device_step"));
        step.upload(&rig.stream, &[5]).unwrap();
        rig.launch(bump, LaunchDims::linear(2, 64), &[]).unwrap();
        assert_eq!(counter.to_vec(&rig.stream).unwrap(), [5 * 128]);
        assert!(matches!(module.global("nothing"), Err(Error::Driver { .. })));
        drop((counter, step));
        rig.assert_clean();
    });
}

#[test]
fn borrowed_memory_is_used_as_a_buffer_is_and_never_freed() {
    on_each(|rig| {
        let iota = rig.kernel(&VECTOR, "iota_u32");
        let theirs = Theirs::new(&rig, 1024);
        let frees = rig.validation().counts().get(CallGroup::DeviceFree);
        let mut borrowed = theirs.borrow(256, 64);
        assert!(borrowed.is_foreign() && borrowed.block().is_none());
        assert_eq!(borrowed.ptr(), theirs.ptr.offset(256));

        // An argument of a launch, and a source of a copy.
        rig.launch(iota, LaunchDims::linear(1, 64), &args![&borrowed, 100u32, 64i32]).unwrap();
        assert_eq!(borrowed.to_vec(&rig.stream).unwrap()[63], 163);
        let mut own = DeviceBuffer::<u32>::on(&rig.stream, 64).unwrap();
        own.copy_from(&rig.stream, &borrowed.view()).unwrap();
        assert_eq!(own.to_vec(&rig.stream).unwrap()[1], 101);

        // A target of copies and fills, whole and in part.
        borrowed.upload(&rig.stream, &[5; 64]).unwrap();
        borrowed
            .view_strided(8, &[4], &[1])
            .unwrap()
            .copy_from(&rig.stream, &own.view_strided(0, &[4], &[1]).unwrap())
            .unwrap();
        assert_eq!(borrowed.to_vec(&rig.stream).unwrap()[7..13], [5, 100, 101, 102, 103, 5]);
        borrowed.fill(&rig.stream, 9).unwrap();
        assert_eq!(borrowed.to_vec(&rig.stream).unwrap(), [9; 64]);

        // A destination.
        let to = args![Arg::Destination, 7u32, 64i32];
        let launch = Launch::new(LaunchDims::linear(1, 64)).args(&to).destination(&mut borrowed, &[64]);
        rig.submit(iota, launch).unwrap().read().unwrap();
        assert_eq!(borrowed.ptr(), theirs.ptr.offset(256));
        assert_eq!(borrowed.to_vec(&rig.stream).unwrap()[63], 70);

        // A buffer of a graph, which keeps it.
        let mut graph = rig.launcher.graph(&rig.device).unwrap();
        let value = graph.buffer(&borrowed).unwrap();
        let graph_args = [GraphArg::Write(value), 30u32.into(), 64i32.into()];
        // SAFETY: as the kernel takes it.
        unsafe { graph.launch(iota, LaunchDims::linear(1, 64), &graph_args) }.unwrap();
        graph.compute(&rig.stream).unwrap().read().unwrap();
        assert_eq!(borrowed.to_vec(&rig.stream).unwrap()[0], 30);

        // A request for more replaces it.
        assert!(borrowed.ensure_len(&rig.stream, 65).unwrap() && !borrowed.is_foreign());
        drop(borrowed);
        assert_eq!(rig.validation().counts().get(CallGroup::DeviceFree), frees);
        rig.assert_clean();
    });
}

#[test]
fn two_borrows_of_the_same_memory_are_independent() {
    on_each(|rig| {
        let theirs = Theirs::new(&rig, 1024);
        let (first, mut second) = (theirs.borrow(0, 64), theirs.borrow(128, 64));
        second.fill(&rig.stream, 3).unwrap();
        assert_eq!(first.to_vec(&rig.stream).unwrap()[32..], [3; 32]);
        drop(first);
        assert_eq!(second.to_vec(&rig.stream).unwrap(), [3; 64]);
        rig.assert_clean();
    });
}

#[test]
fn what_cannot_be_borrowed_is_a_typed_error() {
    on_each(|rig| {
        let theirs = Theirs::new(&rig, 1024);
        let borrow = |ptr: DevicePtr, len: usize| {
            // SAFETY: refused.
            let refused = unsafe { DeviceBuffer::<u32>::borrow_raw(&rig.device, ptr, len) };
            let error = refused.unwrap_err();
            assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
            error.to_string()
        };
        assert!(borrow(DevicePtr::NULL, 1).contains("null"));
        assert!(borrow(theirs.ptr.offset(2), 1).contains("aligned"));
        assert!(borrow(DevicePtr(u64::MAX - 3), 2).contains("overflow"));
        assert!(borrow(theirs.ptr, usize::MAX / 2).contains("overflow"));
        if rig.device.driver().capabilities().has(Capability::PointerAttributes) {
            assert!(borrow(DevicePtr(0x1000), 1).contains("no memory"));
            assert_eq!(rig.device.device_of_pointer(theirs.ptr).unwrap(), Some(rig.device.id()));
        }
    });
}

#[test]
fn the_host_accesses_memory_of_the_emulator_in_place() {
    let launcher = Launcher::builder().backend(Backend::Emulator).build().unwrap();
    let device = launcher.device(0).unwrap();
    let stream = launcher.stream(device).unwrap();
    let mut buffer = DeviceBuffer::<u8>::from_slice(&stream, &[1, 2, 3, 4]).unwrap();
    stream.synchronize().unwrap();
    let host = device.host_address(buffer.ptr().offset(1), 3).unwrap().unwrap();
    // SAFETY: three live bytes, and no work uses them.
    let seen = unsafe { host.cast::<[u8; 3]>().read() };
    assert_eq!(seen, [2, 3, 4]);
    // SAFETY: as above.
    unsafe { host.write(9) };
    assert_eq!(buffer.to_vec(&stream).unwrap(), [1, 9, 3, 4]);
    buffer.upload(&stream, &[5; 4]).unwrap();
    stream.synchronize().unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { host.read() }, 5);
    assert_eq!(device.host_address(buffer.ptr(), 0).unwrap(), None);
    assert!(matches!(device.host_address(DevicePtr(0x1000), 1), Err(Error::Driver { .. })));
    let pinned = PinnedBuffer::<u8>::new(device, 16).unwrap();
    let host = device.host_address(pinned.ptr(), 16).unwrap().unwrap();
    assert_eq!(host.as_ptr().cast_const(), pinned.host().unwrap().as_ptr());
}

#[test]
fn memory_of_another_device_is_not_borrowed() {
    use hiplaunch::driver::emulated::EmulatorOptions;
    let options = EmulatorOptions { devices: 2, ..EmulatorOptions::default() };
    let launcher = Launcher::builder().backend(Backend::Emulator).emulator(options).build().unwrap();
    let (here, there) = (launcher.device(0).unwrap(), launcher.device(1).unwrap());
    let theirs = DeviceBuffer::<u8>::new(there, 64).unwrap();
    // SAFETY: refused.
    let refused = unsafe { DeviceBuffer::<u8>::borrow_raw(here, theirs.ptr(), 64) };
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("device 1") && text.contains("device 0"), "{text}");
}

#[test]
fn pinned_memory_is_copied_in_stream_order_and_read_after_that() {
    on_each(|rig| {
        let spin = rig.kernel(&PROBE, "spin");
        let slow = DeviceBuffer::<u32>::on(&rig.stream, 1).unwrap();
        let mut pinned = PinnedBuffer::<u32>::new(&rig.device, 1000).unwrap();
        assert_eq!((pinned.host().unwrap(), pinned.bytes()), (&[0; 1000][..], 4000));
        let mut buffer = DeviceBuffer::<u32>::on(&rig.stream, 1000).unwrap();
        for round in 0..10 {
            pinned.host_mut().unwrap().fill(round);
            rig.launch(spin, LaunchDims::linear(1, 1), &args![2000u64, &slow]).unwrap();
            buffer.upload_pinned(&rig.stream, &pinned).unwrap();
            // Waits, so that the copy above has read what was there.
            pinned.host_mut().unwrap().fill(77);
            buffer.download_pinned(&rig.stream, &mut pinned).unwrap();
            assert_eq!(pinned.host().unwrap(), [round; 1000]);
        }
        let short = PinnedBuffer::<u32>::new(&rig.device, 1001).unwrap();
        assert!(matches!(buffer.upload_pinned(&rig.stream, &short), Err(Error::Invalid { .. })));
        // Dropped while a copy reads it.
        rig.launch(spin, LaunchDims::linear(1, 1), &args![2000u64, &slow]).unwrap();
        pinned.host_mut().unwrap().fill(5);
        buffer.upload_pinned(&rig.stream, &pinned).unwrap();
        drop(pinned);
        assert_eq!(buffer.to_vec(&rig.stream).unwrap(), [5; 1000]);
        rig.assert_clean();
    });
}

#[test]
fn an_upload_of_pinned_elements_has_read_them_when_it_returns() {
    on_each(|rig| {
        let spin = rig.kernel(&PROBE, "spin");
        let slow = DeviceBuffer::<u32>::on(&rig.stream, 1).unwrap();
        let mut buffer = DeviceBuffer::<u32>::on(&rig.stream, 64).unwrap();
        let mut pinned = PinnedBuffer::register(&rig.device, vec![1u32; 64]).unwrap();
        for (round, through_view) in [(1, false), (2, true)] {
            pinned.host_mut().unwrap().fill(round);
            rig.launch(spin, LaunchDims::linear(1, 1), &args![5000u64, &slow]).unwrap();
            match through_view {
                true => buffer.view().upload(&rig.stream, pinned.host().unwrap()).unwrap(),
                false => buffer.upload(&rig.stream, pinned.host().unwrap()).unwrap(),
            }
            pinned.host_mut().unwrap().fill(99);
            assert_eq!(buffer.to_vec(&rig.stream).unwrap(), [round; 64]);
        }
        rig.assert_clean();
    });
}

#[test]
fn kernels_access_pinned_memory_of_a_vector_that_comes_back() {
    on_each(|rig| {
        if !rig.device.driver().capabilities().has(Capability::HostRegister) {
            return;
        }
        let iota = rig.kernel(&VECTOR, "iota_u32");
        let mut data = Vec::with_capacity(100);
        data.extend([0u32; 64]);
        let start = data.as_ptr();
        let pinned = PinnedBuffer::register(&rig.device, data).unwrap();
        pinned.record_use(&rig.stream);
        rig.launch(iota, LaunchDims::linear(1, 64), &args![&pinned, 10u32, 64i32]).unwrap();
        assert_eq!(pinned.host().unwrap()[63], 73);
        pinned.record_use(&rig.stream);
        rig.launch(iota, LaunchDims::linear(1, 64), &args![&pinned, 20u32, 64i32]).unwrap();
        let back = pinned.into_vec().unwrap();
        assert_eq!((back[63], back.as_ptr(), back.capacity() >= 100), (83, start, true));
        let empty = PinnedBuffer::register(&rig.device, Vec::<u32>::new()).unwrap();
        assert!(
            empty.ptr().is_null() && empty.host().unwrap().is_empty() && empty.into_vec().unwrap().is_empty()
        );
        rig.assert_clean();
    });
}

#[test]
fn host_and_kernels_share_managed_memory() {
    on_each(|rig| {
        if !rig.device.driver().capabilities().has(Capability::ManagedMemory) {
            return;
        }
        // HIP 7 reserves addresses and leaves the memory to the kernel driver, which software agents don't have.
        let info = rig.launcher.driver().info();
        if info.name.contains("hip") && !info.version.starts_with(['5', '6']) {
            return println!("skipped: managed memory of HIP {}", info.version);
        }
        let bump = rig.kernel(&PROBE, "bump");
        let buffer = match DeviceBuffer::<u32>::managed(&rig.device, 64) {
            Ok(buffer) => buffer,
            Err(error) => return println!("skipped: {error}"),
        };
        let host = buffer.host_ptr().unwrap();
        // SAFETY: managed memory of 64 elements that no work uses now, here and below.
        unsafe { host.as_ptr().write_bytes(0, 64) };
        rig.launch(bump, LaunchDims::linear(1, 64), &args![&buffer, 64i32]).unwrap();
        rig.stream.synchronize().unwrap();
        // SAFETY: as above.
        let first = unsafe { host.read() };
        assert_eq!([first; 64], *buffer.to_vec(&rig.stream).unwrap());
        assert_ne!(first, 0);
        drop(buffer);
        rig.assert_clean();
    });
}

/// The variable that tells the other process of the test below what to open.
const HANDLE: &str = "HIPLAUNCH_TEST_SHARED_HANDLE";

#[test]
fn two_processes_share_a_buffer() {
    let rig = Rig::open(Launcher::builder(), Backend::Emulator);
    let iota = rig.kernel(&VECTOR, "iota_u32");
    if let Some(text) = std::env::var_os(HANDLE) {
        // The other process: adds to what it finds.
        let text = text.into_string().unwrap();
        let bytes: Vec<u8> =
            (0..text.len() / 2).map(|n| u8::from_str_radix(&text[2 * n..2 * n + 2], 16).unwrap()).collect();
        let handle = SharedHandle::from_bytes(bytes.as_slice().try_into().unwrap());
        // SAFETY: the first process waits for this one.
        let buffer = unsafe { DeviceBuffer::<u32>::open_shared(&rig.device, &handle) }.unwrap();
        let found = buffer.to_vec(&rig.stream).unwrap();
        assert_eq!(found, (100..164).collect::<Vec<u32>>());
        rig.launch(iota, LaunchDims::linear(1, 64), &args![&buffer, 500u32, 64i32]).unwrap();
        rig.stream.synchronize().unwrap();
        drop(buffer);
        return rig.assert_clean();
    }
    let buffer = DeviceBuffer::<u32>::shared(&rig.device, 64).unwrap();
    rig.launch(iota, LaunchDims::linear(1, 64), &args![&buffer, 100u32, 64i32]).unwrap();
    rig.stream.synchronize().unwrap();
    let handle = buffer.share().unwrap();
    let text: String = handle.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "foreign::two_processes_share_a_buffer", "--nocapture"])
        .env(HANDLE, text)
        .output()
        .unwrap();
    assert!(other.status.success(), "{other:?}");
    assert_eq!(buffer.to_vec(&rig.stream).unwrap(), (500..564).collect::<Vec<u32>>());
    drop(buffer);
    rig.assert_clean();
    // A handle whose memory is gone, and one that is none.
    for handle in [handle, SharedHandle::from_bytes(&[7; SharedHandle::BYTES])] {
        // SAFETY: refused.
        let refused = unsafe { DeviceBuffer::<u32>::open_shared(&rig.device, &handle) };
        assert!(refused.is_err());
    }
    let plain = DeviceBuffer::<u32>::new(&rig.device, 64).unwrap();
    assert!(matches!(plain.share(), Err(Error::Invalid { .. })));
}
