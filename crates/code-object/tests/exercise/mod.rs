//! Uses input bytes with every function: the bodies of the fuzz targets, which tests/hostile.rs runs too.

#![allow(dead_code, reason = "each fuzz target uses one of them")]

use code_object::limits::{MAX_IMAGE_SIZE, MAX_KERNARG_SIZE, MAX_WORKGROUP_SIZE};
use code_object::{CodeObject, Error, TargetId, bundle};

/// Reads the bytes with every function and checks the documented properties of the results. Returns the result of
/// reading them as a raw code object.
pub(crate) fn exercise(bytes: &[u8]) -> Result<CodeObject, Error> {
    if let Ok(entries) = bundle::entries(bytes) {
        for entry in entries {
            assert!(entry.data.len() <= bytes.len() || bundle::is_compressed(bytes));
            if let Ok(object) = CodeObject::parse(&entry.data) {
                check(&object);
            }
        }
    }
    for device in ["gfx90a:sramecc+:xnack-", "gfx942"] {
        let device: TargetId = device.parse().unwrap();
        match CodeObject::from_any(bytes, &device) {
            Ok(object) => assert!(object.target().is_compatible_with(&device)),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    let object = CodeObject::parse(bytes)?;
    assert_eq!(object.elf(), bytes);
    check(&object);
    Ok(object)
}

/// Returns a copy of `file` with this metadata instead of its own, in a note at its end.
pub(crate) fn with_metadata(file: &[u8], metadata: &[u8]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    // The program header of type PT_NOTE.
    let header = (0..9).map(|n| 64 + n * 56).find(|&at| word(at) == 4).expect("a note");
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let start = bytes.len();
    for word in [7, metadata.len() as u32, 32] {
        bytes.extend(u32::to_le_bytes(word));
    }
    bytes.extend(b"AMDGPU\0\0");
    bytes.extend(metadata);
    let size = (bytes.len() - start) as u64;
    bytes[header + 8..header + 16].copy_from_slice(&(start as u64).to_le_bytes());
    bytes[header + 32..header + 40].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// Reads any bytes as metadata.
pub(crate) fn metadata(bytes: &[u8]) {
    let _ = exercise(&with_metadata(include_bytes!("../data/v5.co"), bytes));
}

/// Reads any bytes after the header of a compressed bundle. The first byte selects the header, and the next two are the
/// stated size.
pub(crate) fn compressed(bytes: &[u8]) {
    let Some(([kind, low, high], payload)) = bytes.split_first_chunk() else { return };
    let (version, method) = (u16::from(kind % 3 + 1), u16::from(kind / 3 % 2));
    let size = u64::from(u16::from_le_bytes([*low, *high]));
    let mut file = b"CCOB".to_vec();
    file.extend(version.to_le_bytes().into_iter().chain(method.to_le_bytes()));
    let whole = |header: usize| (file.len() + header + payload.len()) as u64;
    let sizes = match version {
        1 => (size as u32).to_le_bytes().to_vec(),
        2 => [(whole(16) as u32).to_le_bytes(), (size as u32).to_le_bytes()].concat(),
        _ => [whole(24).to_le_bytes(), size.to_le_bytes()].concat(),
    };
    file.extend(sizes.into_iter().chain([0; 8]).chain(payload.iter().copied()));
    if let Ok(plain) = bundle::decompress(&file) {
        assert_eq!(plain.len() as u64, size);
    }
    let _ = exercise(&file);
}

/// Checks the properties that launchers and emulators rely on.
fn check(object: &CodeObject) {
    let image = object.image_range();
    assert!(image.end - image.start <= MAX_IMAGE_SIZE);
    let mut end = image.start;
    for segment in object.segments() {
        assert!(segment.vaddr >= end && segment.data.len() as u64 <= segment.mem_size);
        end = segment.vaddr + segment.mem_size;
    }
    assert_eq!(end, image.end);
    let within = |address: u64, size: u64| {
        object.segments().any(|s| s.vaddr <= address && address + size <= s.vaddr + s.mem_size)
    };
    for relocation in object.relocations() {
        assert!(within(relocation.offset, 8));
        relocation.value(u64::MAX);
    }
    for global in object.globals() {
        assert!(within(global.address, global.size));
        assert_eq!(object.global(&global.name), Some(global));
    }
    for function in object.symbols() {
        assert!(within(function.address, function.size));
        assert!(object.function_at(function.address).is_some());
        object.source_at(function.address);
    }
    for kernel in object.kernels() {
        assert_eq!(object.kernel(&kernel.name), Ok(kernel));
        assert!(!kernel.to_string().is_empty() && !format!("{kernel:?}").is_empty());
        assert!(kernel.kernarg_size <= MAX_KERNARG_SIZE && kernel.kernarg_align.is_power_of_two());
        assert!((1..=MAX_WORKGROUP_SIZE).contains(&kernel.max_flat_workgroup_size));
        assert!(kernel.explicit_size() <= kernel.kernarg_size);
        assert_eq!(kernel.explicit_args().len() + kernel.hidden_args().len(), kernel.args.len());
        let mut taken = vec![false; kernel.kernarg_size as usize];
        for arg in &kernel.args {
            for byte in &mut taken[arg.offset as usize..arg.end() as usize] {
                assert!(!std::mem::replace(byte, true), "two arguments share a byte");
            }
        }
        let kd = &kernel.descriptor;
        assert!(within(kd.address, 64) && within(kd.entry, 4) && kd.entry % 256 == 0);
        assert!(
            (4..=256).contains(&kd.accum_offset())
                && [true, false].iter().all(|of| (4..=512).contains(&kd.vgprs(*of)) && kd.sgprs(*of) <= 128)
        );
        kd.enable_vgpr_workitem_id();
        kd.float_mode();
    }
    assert!(matches!(object.kernel("\0"), Err(Error::UnknownKernel { .. })));
}
