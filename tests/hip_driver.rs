//! Tests of the HIP driver with the libamdhip64 of the machine. Where there is none, or no device, a test prints that
//! and passes.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use code_object::{CodeObject, KernelSignature};
use hiplaunch::driver::amd::{HipDriver, LoadError};
use hiplaunch::driver::{
    Capability, DeviceId, DevicePtr, Driver, ErrorCode, EventOptions, HostFunction, KernelLaunch,
    RawFunction, RawModule, RawStream, StreamOptions, Work,
};

const DEVICE: DeviceId = DeviceId(0);

const VECTOR: [&[u8]; 2] =
    [include_bytes!("../hip/vector.gfx90a.co"), include_bytes!("../hip/vector.gfx942.co")];
const PROBE: [&[u8]; 2] =
    [include_bytes!("../hip/probe.gfx90a.co"), include_bytes!("../hip/probe.gfx942.co")];

/// Returns the driver, or prints why there is none.
fn library() -> Option<Arc<HipDriver>> {
    match HipDriver::load() {
        Ok(driver) => Some(driver),
        Err(error @ LoadError::NotFound { .. }) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("the library is there and does not work: {error}"),
    }
}

/// Returns the driver if it has a device, or prints why there is none.
fn device() -> Option<Arc<HipDriver>> {
    let driver = library()?;
    if driver.device_count().unwrap() == 0 {
        println!("skipped: {} sees no device", driver.library_path().display());
        return None;
    }
    Some(driver)
}

/// A loaded module with its metadata.
struct Module {
    driver: Arc<HipDriver>,
    object: CodeObject,
    module: RawModule,
}

impl Module {
    /// Loads the code object that the device runs.
    fn load(driver: &Arc<HipDriver>, variants: [&[u8]; 2]) -> Option<Module> {
        let target = driver.device_properties(DEVICE).unwrap().target;
        let objects = variants.map(|bytes| (bytes, CodeObject::parse(bytes).unwrap()));
        let Some((bytes, object)) = objects.into_iter().find(|(_, o)| o.target().is_compatible_with(&target))
        else {
            println!("skipped: no code object here for {target}");
            return None;
        };
        // HIP must not need the caller's bytes after the call.
        let mut copy = bytes.to_vec();
        // SAFETY: the code objects are those of this repository.
        let module = unsafe { driver.module_load(DEVICE, &copy) }.unwrap();
        copy.fill(0xff);
        drop(copy);
        Some(Module { driver: Arc::clone(driver), object, module })
    }

    fn function(&self, name: &str) -> (RawFunction, &KernelSignature) {
        let c_name = CString::new(name).unwrap();
        // SAFETY: the module is loaded until `self` is dropped.
        let function = unsafe { self.driver.module_get_function(DEVICE, self.module, &c_name) }.unwrap();
        (function, self.object.kernel(name).unwrap())
    }

    /// Launches a kernel with its explicit arguments as bytes.
    fn launch(&self, name: &str, grid: u32, block: u32, dynamic_lds: u32, stream: RawStream, args: &[&[u8]]) {
        let (function, signature) = self.function(name);
        let kernarg = kernarg(signature, args);
        let launch = KernelLaunch {
            function,
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_lds,
            kernarg: &kernarg,
            accesses: &[],
        };
        // SAFETY: the handles are live, and the tests pass live buffers of the sizes that the kernels use.
        unsafe { self.driver.enqueue(DEVICE, stream, &Work::Kernel(&launch)) }.unwrap();
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.driver.device_synchronize(DEVICE).unwrap();
            // SAFETY: nothing is in flight any more.
            unsafe { self.driver.module_unload(DEVICE, self.module) }.unwrap();
        }
    }
}

/// Returns a kernarg segment of the full size, with hidden arguments zero. It is empty for a kernel without explicit
/// arguments.
fn kernarg(signature: &KernelSignature, args: &[&[u8]]) -> Vec<u8> {
    let slots = signature.explicit_args();
    assert_eq!(slots.len(), args.len());
    if slots.is_empty() {
        return Vec::new();
    }
    let mut bytes = vec![0; signature.kernarg_size as usize];
    for (slot, arg) in slots.iter().zip(args) {
        assert_eq!(slot.size as usize, arg.len());
        bytes[slot.offset as usize..][..arg.len()].copy_from_slice(arg);
    }
    bytes
}

fn stream(driver: &HipDriver) -> RawStream {
    driver.stream_create(DEVICE, StreamOptions::default()).unwrap()
}

/// Allocates device memory, copies `words` there from pageable memory, and waits.
fn upload(driver: &HipDriver, stream: RawStream, words: &[u32]) -> DevicePtr {
    let bytes = size_of_val(words);
    let ptr = driver.malloc(DEVICE, bytes).unwrap();
    // SAFETY: both ranges are live and `bytes` long, and the stream is synchronized before they are freed.
    unsafe {
        driver
            .enqueue(DEVICE, stream, &Work::CopyToDevice { dst: ptr, src: words.as_ptr().cast(), bytes })
            .unwrap();
        driver.stream_synchronize(DEVICE, stream).unwrap();
    }
    ptr
}

/// Copies `count` words from the device to pageable memory, and waits.
fn download(driver: &HipDriver, stream: RawStream, ptr: DevicePtr, count: usize) -> Vec<u32> {
    let mut words = vec![0u32; count];
    // SAFETY: as in `upload`.
    unsafe {
        driver
            .enqueue(
                DEVICE,
                stream,
                &Work::CopyToHost { dst: words.as_mut_ptr().cast(), src: ptr, bytes: count * 4 },
            )
            .unwrap();
        driver.stream_synchronize(DEVICE, stream).unwrap();
    }
    words
}

/// Runs `f` on a thread and fails if it takes a minute.
fn within_a_minute(f: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        f();
        let _ = done.send(());
    });
    if wait.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("hangs");
    }
    thread.join().unwrap();
}

#[test]
fn the_library_is_loaded_once_and_has_a_version_and_a_path() {
    let Some(driver) = library() else { return };
    assert!(Arc::ptr_eq(&driver, &HipDriver::load().unwrap()));
    let info = driver.info();
    assert_eq!(info.name, "hip");
    assert!(info.version.split('.').count() == 3 && driver.runtime_version() >= 50_000_000, "{info:?}");
    assert!(driver.library_path().is_file(), "{info:?}");
    println!("{info:?} {:?}", driver.capabilities());
}

#[test]
fn the_symbols_that_are_present_agree_with_the_capabilities() {
    let Some(driver) = library() else { return };
    let symbols: Vec<_> = driver.symbols().collect();
    assert!(symbols.iter().filter(|s| s.required).count() >= 28);
    assert!(symbols.iter().all(|s| s.present || !s.required));
    assert!(!driver.capabilities().has(Capability::GraphUpdates));
    for capability in Capability::ALL.into_iter().filter(|c| *c != Capability::GraphUpdates) {
        let mut parts = symbols.iter().filter(|s| s.capability == Some(capability));
        let whole = parts.all(|s| s.present);
        let has = driver.capabilities().has(capability);
        // Before HIP 5.2 the functions of graphs are there, but graphs do not take kernels of modules. Not every device can
        // wait for values.
        let by_version = matches!(
            capability,
            Capability::Graphs
                | Capability::PerThreadStream
                | Capability::DefaultQueueArg
                | Capability::GenericCodeObjects
                | Capability::StreamCapture
                | Capability::StreamValues
        );
        assert!(has == whole || by_version && !has, "{capability:?}");
    }
    for symbol in symbols.iter().filter(|s| !s.present) {
        println!("absent: {} (since {})", symbol.name, symbol.since.unwrap_or("ever"));
    }
    let mut names: Vec<_> = symbols.iter().map(|s| s.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), symbols.len());
}

#[test]
fn result_codes_have_the_names_that_hip_gives_them() {
    let Some(driver) = library() else { return };
    let mut known = 0;
    for code in (0..1100).map(ErrorCode) {
        let Some(name) = code.name() else { continue };
        let of_hip = driver.error_name(code);
        // A library may be older than a code and not know it, but it must not give it another name.
        assert!(
            of_hip == name || of_hip == "hipErrorUnknown" || of_hip.contains("Tbd"),
            "{code:?} is {of_hip}"
        );
        known += usize::from(of_hip == name);
    }
    assert!(known > 30, "only {known} known");
    assert!(!driver.error_text(ErrorCode::OUT_OF_MEMORY).is_empty());
}

#[test]
fn calls_on_a_device_that_does_not_exist_return_an_error() {
    let Some(driver) = library() else { return };
    let count = driver.device_count().unwrap();
    for device in [DeviceId(count), DeviceId(i32::MAX as u32), DeviceId(u32::MAX)] {
        let error = driver.device_properties(device).unwrap_err();
        assert!([ErrorCode::INVALID_DEVICE, ErrorCode::NO_DEVICE].contains(&error.code), "{error}");
        let error = driver.malloc(device, 4096).unwrap_err();
        assert!([ErrorCode::INVALID_DEVICE, ErrorCode::NO_DEVICE].contains(&error.code), "{error}");
    }
}

#[test]
fn devices_have_a_target_and_sane_limits() {
    let Some(driver) = device() else { return };
    for ordinal in 0..driver.device_count().unwrap() {
        let p = driver.device_properties(DeviceId(ordinal)).unwrap();
        println!("{p:?}");
        assert!(p.target.processor.name().starts_with("gfx"));
        assert!(!p.name.is_empty());
        assert!(p.pci_bus_id.contains(':'), "{}", p.pci_bus_id);
        assert!(p.wavefront_size == 32 || p.wavefront_size == 64);
        assert!(p.max_threads_per_block >= 256 && p.max_block.iter().all(|b| *b >= 1));
        assert!(p.max_grid.iter().all(|g| *g >= 65535));
        assert!(p.max_lds_per_block >= 32 << 10 && p.compute_units > 0);
        let memory = driver.mem_info(DeviceId(ordinal)).unwrap();
        assert!(memory.free <= memory.total && memory.total >= 1 << 28);
        assert!(p.total_memory >= memory.total / 2);
    }
}

#[test]
fn memory_is_aligned_copied_and_filled() {
    let Some(driver) = device() else { return };
    let s = stream(&driver);
    let words: Vec<u32> = (0..10_000).collect();
    let a = upload(&driver, s, &words);
    let b = driver.malloc(DEVICE, words.len() * 4).unwrap();
    assert!(a.0.is_multiple_of(256) && b.0.is_multiple_of(256));
    let pinned = driver.host_malloc(DEVICE, 4096).unwrap();
    assert!(pinned.host.as_ptr().align_offset(64) == 0 && !pinned.device.is_null());
    let bytes = words.len() * 4;
    // SAFETY: the ranges are live and have these lengths, and the stream is synchronized before host memory is read.
    unsafe {
        driver.enqueue(DEVICE, s, &Work::CopyWithin { dst: b, src: a, bytes }).unwrap();
        assert_eq!(download(&driver, s, b, words.len()), words);
        driver.enqueue(DEVICE, s, &Work::FillBytes { dst: b, value: 0xab, bytes: 16 }).unwrap();
        driver
            .enqueue(DEVICE, s, &Work::FillWords { dst: b.offset(16), value: 0xdead_beef, count: 4 })
            .unwrap();
        driver
            .enqueue(DEVICE, s, &Work::CopyToHost { dst: pinned.host.as_ptr(), src: b, bytes: 40 })
            .unwrap();
        driver.stream_synchronize(DEVICE, s).unwrap();
        assert!(driver.stream_query(DEVICE, s).unwrap());
        let got = std::slice::from_raw_parts(pinned.host.as_ptr().cast::<u32>(), 10);
        assert_eq!(got, [[0xabab_abab; 4].as_slice(), &[0xdead_beef; 4], &[8, 9]].concat());
        driver
            .enqueue(DEVICE, s, &Work::CopyToDevice { dst: a, src: pinned.host.as_ptr(), bytes: 40 })
            .unwrap();
        driver.stream_synchronize(DEVICE, s).unwrap();
        assert_eq!(download(&driver, s, a, 10), got);
        // Blocking copies.
        driver
            .copy_blocking(DEVICE, &Work::CopyToDevice { dst: a, src: [7u32, 8].as_ptr().cast(), bytes: 8 })
            .unwrap();
        let mut two = [0u32; 2];
        driver
            .copy_blocking(DEVICE, &Work::CopyToHost { dst: two.as_mut_ptr().cast(), src: a, bytes: 8 })
            .unwrap();
        assert_eq!(two, [7, 8]);
        // Copies of 0 bytes and the free of a null pointer are no errors.
        driver
            .enqueue(DEVICE, s, &Work::CopyToDevice { dst: a, src: two.as_ptr().cast(), bytes: 0 })
            .unwrap();
        driver
            .enqueue(DEVICE, s, &Work::CopyToHost { dst: two.as_mut_ptr().cast(), src: a, bytes: 0 })
            .unwrap();
        driver.free(DEVICE, DevicePtr::NULL).unwrap();
        driver.host_free(DEVICE, pinned).unwrap();
        driver.free(DEVICE, a).unwrap();
        driver.free(DEVICE, b).unwrap();
        driver.stream_destroy(DEVICE, s).unwrap();
    }
    assert_eq!(driver.host_malloc(DEVICE, 0).unwrap_err().code, ErrorCode::INVALID_VALUE);
    let error = driver.malloc(DEVICE, 1 << 50).unwrap_err();
    assert_eq!((error.call, error.code), ("hipMalloc", ErrorCode::OUT_OF_MEMORY));
}

#[test]
fn kernels_compute_in_device_memory_and_pinned_memory() {
    let Some(driver) = device() else { return };
    let Some(module) = Module::load(&driver, VECTOR) else { return };
    let s = stream(&driver);
    const N: usize = 1000;
    let x: Vec<f32> = (0..N).map(|i| i as f32).collect();
    let y: Vec<f32> = (0..N).map(|i| (i % 7) as f32).collect();
    let bits = |v: &[f32]| v.iter().map(|f| f.to_bits()).collect::<Vec<_>>();
    let (dx, dy) = (upload(&driver, s, &bits(&x)), upload(&driver, s, &bits(&y)));
    let (a, n) = (2.5f32.to_ne_bytes(), (N as i32).to_ne_bytes());
    module.launch("saxpy", 4, 256, 0, s, &[&a, &dx.0.to_ne_bytes(), &dy.0.to_ne_bytes(), &n]);
    let want: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.5f32.mul_add(*x, *y)).collect();
    assert_eq!(download(&driver, s, dy, N), bits(&want));

    // A kernel can write pinned memory.
    let pinned = driver.host_malloc(DEVICE, 256).unwrap();
    let value = 77u32.to_ne_bytes();
    module.launch("fill_u32", 1, 64, 0, s, &[&pinned.device.0.to_ne_bytes(), &value, &64i32.to_ne_bytes()]);
    // SAFETY: the stream is synchronized before the memory is read and freed; all handles are live.
    unsafe {
        driver.stream_synchronize(DEVICE, s).unwrap();
        assert_eq!(std::slice::from_raw_parts(pinned.host.as_ptr().cast::<u32>(), 64), [77; 64]);
        driver.host_free(DEVICE, pinned).unwrap();
        driver.free(DEVICE, dx).unwrap();
        driver.free(DEVICE, dy).unwrap();
        driver.stream_destroy(DEVICE, s).unwrap();
        let (saxpy, _) = module.function("saxpy");
        assert!(driver.occupancy(DEVICE, saxpy, 256, 0).unwrap() >= 1);
    }
}

#[test]
fn kernels_without_arguments_globals_and_dynamic_lds_work() {
    let Some(driver) = device() else { return };
    let Some(module) = Module::load(&driver, PROBE) else { return };
    let s = stream(&driver);
    module.launch("no_args", 3, 64, 0, s, &[]);
    module.launch("bump_global", 4, 64, 0, s, &[]);
    // SAFETY: a live module.
    let (counter, bytes) =
        unsafe { driver.module_get_global(DEVICE, module.module, c"device_counter") }.unwrap();
    assert_eq!(bytes, 4);
    assert_eq!(download(&driver, s, counter, 1), [256]);

    let x: Vec<u32> = (0..200).collect();
    let (from, to) = (upload(&driver, s, &x), upload(&driver, s, &[0; 200]));
    let args: [&[u8]; 3] = [&from.0.to_ne_bytes(), &to.0.to_ne_bytes(), &200i32.to_ne_bytes()];
    module.launch("dynamic_lds_reverse", 1, 64, 800, s, &args);
    assert_eq!(download(&driver, s, to, 200), x.into_iter().rev().collect::<Vec<_>>());
    // SAFETY: nothing is in flight; live handles.
    unsafe {
        driver.free(DEVICE, from).unwrap();
        driver.free(DEVICE, to).unwrap();
        driver.stream_destroy(DEVICE, s).unwrap();
    }
}

#[test]
fn events_order_streams_and_are_queried_without_waiting() {
    let Some(driver) = device() else { return };
    let Some(module) = Module::load(&driver, PROBE) else { return };
    let (s, t) = (stream(&driver), stream(&driver));
    let out = upload(&driver, s, &[0; 64]);
    let plain = driver.event_create(DEVICE, EventOptions::default()).unwrap();
    let timed = [(); 2].map(|()| driver.event_create(DEVICE, EventOptions { timing: true }).unwrap());
    // SAFETY: all handles are live until the end of the block, and nothing is in flight when they are destroyed.
    unsafe {
        assert!(driver.event_query(DEVICE, plain).unwrap(), "an event that was never recorded is reached");
        driver.stream_wait_event(DEVICE, t, plain).unwrap();
        driver.event_record(DEVICE, timed[0], s).unwrap();
        let args: [&[u8]; 2] = [&200_000u64.to_ne_bytes(), &out.0.to_ne_bytes()];
        module.launch("spin", 1, 64, 0, s, &args);
        driver.event_record(DEVICE, plain, s).unwrap();
        driver.event_record(DEVICE, timed[1], s).unwrap();
        // The other stream reads what the spinning kernel writes, after it has finished.
        driver.stream_wait_event(DEVICE, t, plain).unwrap();
        let mut polls = 0u64;
        while !driver.event_query(DEVICE, plain).unwrap() {
            polls += 1;
            std::thread::yield_now();
        }
        println!("{polls} polls");
        let spun = download(&driver, t, out, 64);
        let want = (0..200_000).fold(0u32, |v, _| v.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        assert_eq!(spun, [want; 64]);
        driver.event_synchronize(DEVICE, timed[1]).unwrap();
        let ms = driver.event_elapsed_ms(DEVICE, timed[0], timed[1]).unwrap();
        assert!((0.0..60_000.0).contains(&ms), "{ms} ms");
        driver.stream_synchronize(DEVICE, t).unwrap();
        for event in [plain, timed[0], timed[1]] {
            driver.event_destroy(DEVICE, event).unwrap();
        }
        driver.free(DEVICE, out).unwrap();
        driver.stream_destroy(DEVICE, s).unwrap();
        driver.stream_destroy(DEVICE, t).unwrap();
    }
}

#[test]
fn broken_code_objects_and_unknown_names_are_errors() {
    let Some(driver) = device() else { return };
    let cut = &VECTOR[0][..VECTOR[0].len() / 2];
    // SAFETY: none of these is loaded.
    unsafe {
        let error = driver.module_load(DEVICE, cut).unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_IMAGE);
        assert!(error.to_string().contains("cut off"), "{error}");
        for image in [b"".as_slice(), b"no code object", &[0; 4096]] {
            let error = driver.module_load(DEVICE, image).unwrap_err();
            println!("{} bytes: {error}", image.len());
            assert_eq!(error.call, "hipModuleLoadData");
        }
    }
    let Some(module) = Module::load(&driver, VECTOR) else { return };
    // SAFETY: a live module.
    unsafe {
        let error = driver.module_get_function(DEVICE, module.module, c"no_such_kernel").unwrap_err();
        assert_eq!(error.code, ErrorCode::NOT_FOUND, "{error}");
        driver.module_get_global(DEVICE, module.module, c"no_such_global").unwrap_err();
    }
}

#[test]
fn a_module_can_be_loaded_and_unloaded_many_times() {
    let Some(driver) = device() else { return };
    for _ in 0..50 {
        let Some(module) = Module::load(&driver, VECTOR) else { return };
        module.function("iota_u32");
    }
}

#[test]
fn many_threads_launch_on_their_own_streams() {
    let Some(driver) = device() else { return };
    let Some(module) = Module::load(&driver, PROBE) else { return };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let s = stream(&driver);
                let counter = upload(&driver, s, &[0]);
                for _ in 0..50 {
                    module.launch("atomic_count", 1, 64, 0, s, &[&counter.0.to_ne_bytes()]);
                }
                assert_eq!(download(&driver, s, counter, 1), [50 * 64]);
                // SAFETY: nothing is in flight; live handles.
                unsafe {
                    driver.free(DEVICE, counter).unwrap();
                    driver.stream_destroy(DEVICE, s).unwrap();
                }
            });
        }
    });
}

#[test]
fn the_current_device_is_set_for_each_thread() {
    let Some(driver) = device() else { return };
    let last = DeviceId(driver.device_count().unwrap() - 1);
    for device in [DEVICE, last, DEVICE] {
        driver.device_synchronize(device).unwrap();
        assert_eq!(driver.current_device().unwrap(), device);
    }
    driver.device_synchronize(last).unwrap();
    driver.forget_current_device();
    driver.device_synchronize(DEVICE).unwrap();
    assert_eq!(driver.current_device().unwrap(), DEVICE);
}

#[test]
fn two_devices_copy_from_one_to_the_other() {
    let Some(driver) = device() else { return };
    if driver.device_count().unwrap() < 2 {
        println!("skipped: one device");
        return;
    }
    let (near, far) = (DeviceId(1), DEVICE);
    let words: Vec<u32> = (0..1000).collect();
    let s = stream(&driver);
    let from = upload(&driver, s, &words);
    if driver.can_access_peer(near, far).unwrap() {
        driver.enable_peer_access(near, far).unwrap();
        driver.enable_peer_access(near, far).unwrap();
    }
    let t = driver.stream_create(near, StreamOptions::default()).unwrap();
    let to = driver.malloc(near, 4000).unwrap();
    let mut got = vec![0u32; 1000];
    // SAFETY: the ranges are live, 4000 bytes long and on the devices named. Nothing is in flight when they are freed.
    unsafe {
        driver
            .enqueue(near, t, &Work::CopyFromPeer { dst: to, src_device: far, src: from, bytes: 4000 })
            .unwrap();
        driver
            .enqueue(near, t, &Work::CopyToHost { dst: got.as_mut_ptr().cast(), src: to, bytes: 4000 })
            .unwrap();
        driver.stream_synchronize(near, t).unwrap();
        driver.free(near, to).unwrap();
        driver.free(far, from).unwrap();
        driver.stream_destroy(near, t).unwrap();
        driver.stream_destroy(far, s).unwrap();
    }
    assert_eq!(got, words);
}

#[test]
fn a_stream_can_be_destroyed_after_memory_was_freed_in_its_order() {
    let Some(driver) = device() else { return };
    if !driver.capabilities().has(Capability::StreamOrderedAllocator) {
        println!("skipped: no stream-ordered allocator");
        return;
    }
    within_a_minute(move || {
        let (s, t) = (stream(&driver), stream(&driver));
        // SAFETY: the handles are live. The memory is used on the stream before it is freed there.
        unsafe {
            for stream in [s, t] {
                let ptr = match driver.malloc_async(DEVICE, 1 << 20, stream) {
                    Err(error) if error.code == ErrorCode::NOT_SUPPORTED => {
                        println!("skipped: {error}");
                        return;
                    }
                    result => result.unwrap(),
                };
                driver
                    .enqueue(DEVICE, stream, &Work::FillBytes { dst: ptr, value: 1, bytes: 1 << 20 })
                    .unwrap();
                driver.free_async(DEVICE, ptr, stream).unwrap();
                driver.free_async(DEVICE, DevicePtr::NULL, stream).unwrap();
            }
            driver.stream_destroy(DEVICE, s).unwrap();
            driver.stream_destroy(DEVICE, t).unwrap();
        }
        driver.trim_pool(DEVICE, 0).unwrap();
    });
}

#[test]
fn host_functions_run_in_stream_order_or_are_not_supported() {
    let Some(driver) = device() else { return };
    let s = stream(&driver);
    let ran = Arc::new(Mutex::new(Vec::new()));
    for i in 0..3 {
        let log = Arc::clone(&ran);
        let function = Box::new(move || {
            log.lock().unwrap().push(i);
            assert_ne!(i, 1, "the driver catches a panic");
        });
        // SAFETY: a live stream; the function does not call the driver.
        let result = unsafe { driver.enqueue(DEVICE, s, &Work::HostFunction(&HostFunction::new(function))) };
        if !driver.capabilities().has(Capability::HostFunc) {
            let error = result.unwrap_err();
            assert_eq!((error.call, error.code), ("hipLaunchHostFunc", ErrorCode::NOT_SUPPORTED));
            assert_eq!(Arc::strong_count(&ran), 1, "the function is dropped");
            continue;
        }
        result.unwrap();
    }
    // SAFETY: a live stream.
    unsafe {
        driver.stream_synchronize(DEVICE, s).unwrap();
        driver.stream_destroy(DEVICE, s).unwrap();
    }
    if driver.capabilities().has(Capability::HostFunc) {
        assert_eq!(*ran.lock().unwrap(), [0, 1, 2]);
    }
}

/// By how many microseconds a thread's first call comes after another's, in a process of its own.
const FIRST_CALLS: &str = "HIPLAUNCH_TEST_FIRST_CALLS";

/// Runs a test in a process of its own: only the first calls of a process do what later ones find done, such as to set up
/// LLVM and the null stream.
fn in_a_process(test: &str, delay: u32) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(FIRST_CALLS, delay.to_string())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{test} after {delay} us: {}\n{printed}", output.status);
}

/// Ends this process if it takes a minute: a thread that hangs in HIP can hang the end of the process, too.
fn abort_after_a_minute() {
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(60));
        eprintln!("hangs");
        std::process::abort();
    });
}

/// Waits as long as [`FIRST_CALLS`] says.
fn delay() {
    let micros = std::env::var(FIRST_CALLS).unwrap().parse().unwrap();
    let (began, delay) = (Instant::now(), Duration::from_micros(micros));
    while began.elapsed() < delay {
        std::hint::spin_loop();
    }
}

#[test]
fn the_first_stream_is_created_while_the_first_module_is_loaded() {
    if std::env::var_os(FIRST_CALLS).is_none() {
        if library().is_some() {
            let this = "the_first_stream_is_created_while_the_first_module_is_loaded";
            (0..400).step_by(25).for_each(|delay| in_a_process(this, delay));
        }
        return;
    }
    let Some(driver) = device() else { return };
    abort_after_a_minute();
    let begin = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            begin.wait();
            Module::load(&driver, VECTOR)
        });
        begin.wait();
        delay();
        let s = stream(&driver);
        // SAFETY: created above, and idle.
        unsafe { driver.stream_destroy(DEVICE, s) }.unwrap();
    });
}

#[test]
fn memory_is_first_allocated_in_stream_order_while_a_thread_waits_for_the_device() {
    if std::env::var_os(FIRST_CALLS).is_none() {
        if library().is_some_and(|driver| driver.capabilities().has(Capability::StreamOrderedAllocator)) {
            in_a_process(
                "memory_is_first_allocated_in_stream_order_while_a_thread_waits_for_the_device",
                10_000,
            );
        }
        return;
    }
    let Some(driver) = device() else { return };
    abort_after_a_minute();
    let s = stream(&driver);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                driver.device_synchronize(DEVICE).unwrap();
            }
        });
        delay();
        // SAFETY: a live stream.
        let allocated = unsafe { driver.malloc_async(DEVICE, 4096, s) };
        done.store(true, Ordering::Relaxed);
        match allocated {
            Err(error) if error.code == ErrorCode::NOT_SUPPORTED => println!("skipped: {error}"),
            // SAFETY: allocated above, and not used.
            allocated => unsafe { driver.free_async(DEVICE, allocated.unwrap(), s) }.unwrap(),
        }
    });
}

#[cfg(unix)]
#[test]
fn a_forked_child_gets_an_error_from_every_call() {
    let Some(driver) = library() else { return };
    // SAFETY: the child only calls the driver, which must not enter HIP, and leaves by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let is_forked = |error: hiplaunch::driver::DriverError| {
            error.code == ErrorCode::NOT_INITIALIZED
                && error.detail.is_some_and(|d| d.starts_with("forked child"))
        };
        let right = driver.device_count().is_err_and(is_forked)
            && driver.malloc(DEVICE, 64).is_err_and(is_forked)
            // SAFETY: the call returns before it enters HIP.
            && unsafe { driver.stream_synchronize(DEVICE, RawStream(0)) }.is_err_and(is_forked)
            && HipDriver::load().is_ok_and(|d| d.device_count().is_err_and(is_forked));
        // SAFETY: ends the child without running exit handlers.
        unsafe { libc::_exit(if right { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child that was forked above.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "status {status:#x}");
    // The driver still works in the parent.
    driver.device_count().unwrap();
}
