//! Modules: images that load and images that are refused, kernels and globals by name.

use hiplaunch::driver::{Capability, ErrorCode, Work};

use crate::rig::{D0, Image, JIT, MATMUL, PROBE, REDUCE, Rig, VECTOR, code, output, value};

pub(crate) fn every_kernel_is_found(rig: &Rig) {
    for image in [&VECTOR, &REDUCE, &MATMUL, &PROBE, &JIT] {
        let kernels = rig.load(image);
        let names = kernels.names();
        assert!(!names.is_empty());
        let mut functions: Vec<_> = names.iter().map(|name| kernels.function(name)).collect();
        functions.sort();
        functions.dedup();
        assert_eq!(functions.len(), names.len(), "each kernel has its own handle");
    }
}

pub(crate) fn an_unknown_name_is_not_found(rig: &Rig) {
    let kernels = rig.load(&VECTOR);
    for name in ["no_such_kernel", "saxp", "saxpy.kd.kd", ""] {
        assert_eq!(code(kernels.try_function(name)), ErrorCode::NOT_FOUND, "{name:?}");
    }
    code(kernels.try_global("no_such_global"));
    kernels.function("saxpy");
}

fn refused(rig: &Rig, image: &[u8]) -> ErrorCode {
    // SAFETY: the image is refused.
    let code = code(unsafe { rig.driver.module_load(D0, image) });
    assert!(!code.is_sticky() || code == ErrorCode::UNKNOWN, "{code}");
    code
}

pub(crate) fn an_image_that_is_no_code_object_is_an_error(rig: &Rig) {
    let good = VECTOR.plain[0];
    refused(rig, b"");
    refused(rig, b"no code object");
    refused(rig, &[0; 4096]);
    for cut in [4, 63, 64, 1000, good.len() / 2] {
        refused(rig, &good[..cut]);
    }
    // An ELF for another machine: x86-64 is 62, AMDGPU is 224 (e_machine, offset 18).
    let mut other = good.to_vec();
    other[18] = 62;
    refused(rig, &other);
    // The driver works as before.
    let (stream, vector) = (rig.stream(), rig.load(&VECTOR));
    let ptr = rig.malloc(256);
    vector.launch("fill_u32", 1, 64, stream, &[output(ptr, 256), value(8u32), value(64i32)]).unwrap();
    assert_eq!(rig.read::<u32>(ptr, 64, stream), [8; 64]);
}

pub(crate) fn an_image_for_another_target_is_an_error(rig: &Rig) {
    let target = rig.driver.device_properties(D0).unwrap().target;
    let other = |image: &Image| {
        image.plain.into_iter().find(|bytes| {
            !code_object::CodeObject::parse(bytes).unwrap().target().is_compatible_with(&target)
        })
    };
    let Some(image) = other(&VECTOR) else {
        return rig.skip("the device runs every code object here");
    };
    refused(rig, image);
}

pub(crate) fn the_image_is_not_needed_after_loading(rig: &Rig) {
    let target = rig.driver.device_properties(D0).unwrap().target;
    let mut copy = VECTOR.of(&target).expect("a code object for this device").elf().to_vec();
    // SAFETY: the code object is one of this repository.
    let module = unsafe { rig.driver.module_load(D0, &copy) }.unwrap();
    copy.fill(0xff);
    drop(copy);
    // SAFETY: a live module.
    let function = unsafe { rig.driver.module_get_function(D0, module, c"fill_u32") }.unwrap();
    let (stream, ptr) = (rig.stream(), rig.malloc(256));
    let kernarg = rig.load(&VECTOR).kernarg("fill_u32", &[output(ptr, 256), value(6u32), value(64i32)]);
    let launch = hiplaunch::driver::KernelLaunch {
        function,
        grid: [1, 1, 1],
        block: [64, 1, 1],
        dynamic_lds: 0,
        kernarg: &kernarg,
        accesses: &[],
    };
    // SAFETY: a complete kernarg segment, and memory as large as the kernel fills.
    unsafe { rig.driver.enqueue(D0, stream, &Work::Kernel(&launch)) }.unwrap();
    assert_eq!(rig.read::<u32>(ptr, 64, stream), [6; 64]);
    rig.unload(D0, module);
}

pub(crate) fn globals_can_be_read_and_written(rig: &Rig) {
    if !rig.has(Capability::ModuleGlobals) {
        return;
    }
    let (stream, probe) = (rig.stream(), rig.load(&PROBE));
    let global = |name: &str, bytes: usize| {
        let (ptr, size) = probe.try_global(name).unwrap();
        assert_eq!(size, bytes, "{name}");
        ptr
    };
    let (counter, step) = (global("device_counter", 4), global("device_step", 4));
    let target = global("device_target", 8);
    assert_eq!(rig.read::<u32>(counter, 1, stream), [0]);
    assert_eq!(rig.read::<u32>(step, 1, stream), [1]);
    assert_eq!(rig.read::<u64>(target, 1, stream), [counter.0], "the relocation");
    probe.launch("bump_global", 2, 64, stream, &[]).unwrap();
    assert_eq!(rig.read::<u32>(counter, 1, stream), [128]);
    // The kernel reads what the host wrote: another step, and the address of another counter.
    let elsewhere = rig.upload(&[1000u32], stream);
    rig.write(step, &[3u32], stream);
    rig.write(target, &[elsewhere.0], stream);
    probe.launch("bump_global", 2, 64, stream, &[]).unwrap();
    assert_eq!(rig.read::<u32>(elsewhere, 1, stream), [1000 + 3 * 128]);
    assert_eq!(rig.read::<u32>(counter, 1, stream), [128]);
}

pub(crate) fn two_loads_of_one_image_have_their_own_globals(rig: &Rig) {
    if !rig.has(Capability::ModuleGlobals) {
        return;
    }
    let (stream, first, second) = (rig.stream(), rig.load(&PROBE), rig.load(&PROBE));
    assert_ne!(first.module, second.module);
    first.launch("bump_global", 1, 64, stream, &[]).unwrap();
    let counter = |probe: &crate::rig::Kernels<'_>| {
        let (ptr, _) = probe.try_global("device_counter").unwrap();
        rig.read::<u32>(ptr, 1, stream)[0]
    };
    assert_eq!((counter(&first), counter(&second)), (64, 0));
    // One module is unloaded, and the other still works.
    rig.sync(stream);
    rig.unload(D0, first.module);
    second.launch("bump_global", 1, 64, stream, &[]).unwrap();
    assert_eq!(counter(&second), 64);
}

pub(crate) fn a_module_can_be_loaded_and_unloaded_many_times(rig: &Rig) {
    let stream = rig.stream();
    for round in 0..30u32 {
        let vector = rig.load(&VECTOR);
        let ptr = rig.malloc(256);
        let args = [output(ptr, 256), value(round), value(64i32)];
        vector.launch("iota_u32", 1, 64, stream, &args).unwrap();
        assert_eq!(rig.read::<u32>(ptr, 64, stream), (round..round + 64).collect::<Vec<_>>());
        rig.unload(D0, vector.module);
        rig.free(D0, ptr);
    }
}

pub(crate) fn occupancy_is_at_least_one(rig: &Rig) {
    if !rig.has(Capability::Occupancy) {
        return;
    }
    let (vector, reduce) = (rig.load(&VECTOR), rig.load(&REDUCE));
    let blocks = |function, threads, lds| {
        // SAFETY: a live function.
        unsafe { rig.driver.occupancy(D0, function, threads, lds) }.unwrap()
    };
    let saxpy = vector.function("saxpy");
    assert!(blocks(saxpy, 64, 0) >= blocks(saxpy, 1024, 0));
    assert!(blocks(saxpy, 1024, 0) >= 1);
    let reduction = reduce.function("reduce_sum_dyn_f32");
    assert!(blocks(reduction, 256, 1024) >= blocks(reduction, 256, 32 << 10));
}
