//! Reads offload bundles as clang writes them, plain and compressed, and selects the entry for a device.

use code_object::bundle::{self, BundleEntryKind};
use code_object::{CodeObject, Error, TargetId};
use ruzstd::encoding::CompressionLevel;

const V4: &[u8] = include_bytes!("data/v4.co");
const V5: &[u8] = include_bytes!("data/v5.co");
const V6: &[u8] = include_bytes!("data/v6.co");
const GENERIC: &[u8] = include_bytes!("data/generic.co");
const PLAIN: &[u8] = include_bytes!("data/plain.hipfb");
const ZSTD_V2: &[u8] = include_bytes!("data/zstd-v2.hipfb");
const ZSTD_V3: &[u8] = include_bytes!("data/zstd-v3.hipfb");
const ZLIB_V1: &[u8] = include_bytes!("data/zlib-v1.hipfb");

fn target(text: &str) -> TargetId {
    text.parse().unwrap()
}

/// Creates a plain bundle of these entries.
fn bundle(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bytes.extend((entries.len() as u64).to_le_bytes());
    let header: usize = bytes.len() + entries.iter().map(|(id, _)| 24 + id.len()).sum::<usize>();
    let mut offset = header as u64;
    for (id, data) in entries {
        for field in [offset, data.len() as u64, id.len() as u64] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(id.as_bytes());
        offset += data.len() as u64;
    }
    for (_, data) in entries {
        bytes.extend(*data);
    }
    bytes
}

/// Creates a compressed bundle with a header of this version.
fn compressed(version: u16, method: u16, file_size: u64, size: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"CCOB".to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(method.to_le_bytes());
    let width = if version == 3 { 8 } else { 4 };
    if version > 1 {
        bytes.extend(&file_size.to_le_bytes()[..width]);
    }
    bytes.extend(&size.to_le_bytes()[..width]);
    bytes.extend([0; 8]);
    bytes.extend(payload);
    bytes
}

#[test]
fn every_kind_of_bundle_has_the_same_entries() {
    for bytes in [PLAIN, ZSTD_V2, ZSTD_V3, ZLIB_V1] {
        assert!(bundle::is_bundle(bytes));
        let entries = bundle::entries(bytes).unwrap();
        let known: Vec<_> = entries.iter().map(|entry| (entry.id.as_str(), entry.kind)).collect();
        let expected = [
            ("host-x86_64-unknown-linux-gnu-", BundleEntryKind::Host),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a", BundleEntryKind::HipV4),
            ("hipv4-amdgcn-amd-amdhsa--gfx942", BundleEntryKind::HipV4),
        ];
        assert_eq!(known, expected);
        let targets: Vec<_> = entries.iter().map(|entry| entry.target.clone()).collect();
        assert_eq!(targets, [None, Some(target("gfx90a")), Some(target("gfx942"))]);
        assert_eq!(bundle::targets(bytes).unwrap(), [target("gfx90a"), target("gfx942")]);
        let data: Vec<&[u8]> = entries.iter().map(|entry| entry.data.as_ref()).collect();
        assert_eq!(data, [&[], V4, V6]);
        assert_eq!(format!("{:?}", entries[1].data), format!("BundleEntryData({} bytes)", V4.len()));
    }
    assert!(!bundle::is_bundle(V4) && !bundle::is_compressed(PLAIN));
    assert!(ZSTD_V3.len() < PLAIN.len() / 4);
}

#[test]
fn the_entry_for_the_device_is_selected() {
    for bytes in [PLAIN, ZSTD_V2, ZSTD_V3, ZLIB_V1] {
        let object = CodeObject::from_any(bytes, &target("gfx90a:sramecc+:xnack-")).unwrap();
        assert_eq!(object.elf(), V4);
        let object = CodeObject::from_any(bytes, &target("gfx942")).unwrap();
        assert_eq!(object.elf(), V6);
        let error = CodeObject::from_any(bytes, &target("gfx1100")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no code object for amdgcn-amd-amdhsa--gfx1100; the file has host-x86_64-unknown-linux-gnu-, \
             hipv4-amdgcn-amd-amdhsa--gfx90a, hipv4-amdgcn-amd-amdhsa--gfx942; \
             compile it with --offload-arch=gfx1100"
        );
    }
}

#[test]
fn a_raw_code_object_must_fit_the_device_too() {
    assert_eq!(CodeObject::from_any(V4, &target("gfx90a:xnack+")).unwrap().elf(), V4);
    assert_eq!(CodeObject::from_any(V5, &target("gfx90a:sramecc+:xnack-")).unwrap().elf(), V5);
    assert_eq!(CodeObject::from_any(GENERIC, &target("gfx942:xnack+")).unwrap().elf(), GENERIC);
    for (bytes, device, has) in [
        (V4, "gfx942", "gfx90a"),
        (V5, "gfx90a:sramecc+:xnack+", "gfx90a:sramecc+:xnack-"),
        (V5, "gfx90a", "gfx90a:sramecc+:xnack-"),
        (GENERIC, "gfx90a", "gfx9-4-generic"),
    ] {
        let error = CodeObject::from_any(bytes, &target(device)).unwrap_err();
        let expected =
            Error::NoMatchingTarget { wanted: Box::new(target(device)), available: vec![has.to_owned()] };
        assert_eq!(error, expected);
    }
}

#[test]
fn the_most_specific_entry_is_preferred() {
    let any = "hipv4-amdgcn-amd-amdhsa--gfx90a";
    let off = "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";
    for entries in [[(any, V4), (off, V5)], [(off, V5), (any, V4)]] {
        let bytes = bundle(&entries);
        let pick = |device| CodeObject::from_any(&bytes, &target(device)).map(|object| object.elf().len());
        assert_eq!(pick("gfx90a:sramecc+:xnack-"), Ok(V5.len()));
        assert_eq!(pick("gfx90a:sramecc+:xnack+"), Ok(V4.len()));
        assert_eq!(pick("gfx90a:sramecc-:xnack-"), Ok(V4.len()));
    }

    let generic = "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic:xnack-";
    let exact = "hipv4-amdgcn-amd-amdhsa-unknown-gfx942";
    for entries in [[(generic, GENERIC), (exact, V6)], [(exact, V6), (generic, GENERIC)]] {
        let object = CodeObject::from_any(&bundle(&entries), &target("gfx942:xnack-")).unwrap();
        assert_eq!(object.elf(), V6);
    }

    // An older id, without the second dash, and one that only OpenMP's runtime would look for.
    let (old, other) = ("hip-amdgcn-amd-amdhsa-gfx90a", "openmp-amdgcn-amd-amdhsa--gfx90a");
    let bytes = bundle(&[(other, V6), (old, V4)]);
    assert_eq!(bundle::entries(&bytes).unwrap()[1].kind, BundleEntryKind::Hip);
    assert_eq!(CodeObject::from_any(&bytes, &target("gfx90a")).unwrap().elf(), V4);
}

#[test]
fn the_elf_header_decides_the_target_not_the_id() {
    let bytes = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx942", V4)]);
    let error = CodeObject::from_any(&bytes, &target("gfx942")).unwrap_err();
    assert!(
        matches!(&error, Error::NoMatchingTarget { available, .. } if available == &["gfx90a"]),
        "{error}"
    );
}

#[test]
fn entries_may_overlap_without_costing_memory() {
    let mut bytes = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx90a", V4); 1000]);
    let header = 32 + 1000 * (24 + 31);
    for i in 0..1000 {
        bytes[32 + i * 55..][..8].copy_from_slice(&(header as u64).to_le_bytes());
    }
    bytes.truncate(header + V4.len());
    let entries = bundle::entries(&bytes).unwrap();
    assert!(
        entries.iter().all(|entry| &*entry.data == V4 && entry.data.as_ptr() == entries[0].data.as_ptr())
    );
}

#[test]
fn targets_take_the_first_block_of_a_compressed_bundle_alone_if_it_has_the_ids() {
    let zstd = |plain: &[u8]| {
        let payload = ruzstd::encoding::compress_to_vec(plain, CompressionLevel::Fastest);
        compressed(3, 1, 32 + payload.len() as u64, plain.len() as u64, &payload)
    };
    let mut noise = 1u32;
    let data: Vec<u8> = (0..1 << 20)
        .map(|_| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 24) as u8
        })
        .collect();
    let mut bytes =
        zstd(&bundle(&[("host-x86_64-unknown-linux-gnu-", b""), ("hipv4-amdgcn-amd-amdhsa--gfx942", &data)]));
    assert_eq!(bundle::targets(&bytes).unwrap(), [target("gfx942")]);
    // A later block has a type that is reserved.
    let second = bytes.len() / 2;
    bytes[second..].fill(0xff);
    assert!(bundle::entries(&bytes).is_err());
    assert_eq!(bundle::targets(&bytes).unwrap(), [target("gfx942")]);
    bytes[60..].fill(0xff);
    assert!(bundle::targets(&bytes).is_err());

    let many = zstd(&bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx90a", b"data".as_slice()); 10_000]));
    assert_eq!(bundle::targets(&many).unwrap(), vec![target("gfx90a"); 10_000]);
    assert!(bundle::targets(&many[..many.len() - 1]).is_err() && bundle::targets(V4).is_err());
}

#[test]
fn malformed_bundles_are_errors() {
    let message = |bytes: &[u8]| bundle::entries(bytes).unwrap_err().to_string();
    assert_eq!(message(V4), "malformed offload bundle: it doesn't start with __CLANG_OFFLOAD_BUNDLE__");
    let mut endless = bundle(&[]);
    endless[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(message(&endless), "malformed offload bundle: it ends in its header, at byte 32");
    // An id that isn't UTF-8, an id and an entry that are too long, an entry whose end overflows.
    let good = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx90a", b"data")]);
    let patched = |at: usize, value: u64| {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        message(&bytes)
    };
    assert!(bundle::entries(&good).is_ok());
    assert!(patched(56, u64::MAX).ends_with("the id of entry 0 is not valid UTF-8"));
    assert!(patched(48, u64::MAX).ends_with("it ends in its header, at byte 56"));
    assert!(patched(40, 5).ends_with("entry 0 ends behind the end of the file; the file was cut short"));
    assert!(patched(32, u64::MAX).contains("entry 0 ends behind"));
}

#[test]
fn malformed_compressed_bundles_are_errors() {
    let message = |bytes: &[u8]| bundle::decompress(bytes).unwrap_err().to_string();
    let payload = &ZSTD_V3[32..];
    let (file_size, size) = (ZSTD_V3.len() as u64, PLAIN.len() as u64);
    assert_eq!(bundle::decompress(&compressed(3, 1, file_size, size, payload)).unwrap(), PLAIN);
    assert_eq!(bundle::decompress(&compressed(1, 1, 0, size, payload)).unwrap(), PLAIN);
    // Bytes after the file's size are not part of it.
    assert_eq!(bundle::decompress(&[ZSTD_V3, b"more"].concat()).unwrap(), PLAIN);

    assert!(message(PLAIN).ends_with("it doesn't start with CCOB"));
    assert!(message(b"CCOB\x03\0\x01").ends_with("it ends in its header, at byte 6"));
    assert!(message(&compressed(4, 1, file_size, size, payload)).contains("version 4, not 1, 2 or 3"));
    assert!(message(&compressed(3, 2, file_size, size, payload)).contains("method is 2, neither zlib"));
    assert!(message(&compressed(3, 1, file_size + 1, size, payload)).contains("it was cut short"));
    assert!(message(&compressed(3, 1, 20, size, payload)).contains("it was cut short"));
    assert!(message(&compressed(3, 1, file_size, size + 1, payload)).contains("it decompresses to"));
    assert!(message(&compressed(3, 1, file_size, size - 1, payload)).contains("longer than the header says"));
    assert!(message(&compressed(3, 0, file_size, size, payload)).contains("its zlib data are broken"));
    let zlib = &ZLIB_V1[20..];
    assert!(message(&compressed(1, 0, 0, size - 1, zlib)).contains("its zlib data are broken"));
    assert!(message(&compressed(1, 0, 0, size + 1, zlib)).contains("it decompresses to"));
}

#[test]
fn a_huge_stated_size_is_refused_at_once() {
    let bytes = compressed(3, 1, 32 + 4, 1 << 40, b"abcd");
    let expected =
        Error::DecompressedTooLarge { size: 1 << 40, limit: code_object::limits::MIN_DECOMPRESSED_CAP };
    assert_eq!(bundle::decompress(&bytes).unwrap_err(), expected);
}

#[test]
fn a_decompression_bomb_ends_at_its_stated_size() {
    // 64 MiB of zeros in zstd: a frame of run-length blocks, 4 bytes for 128 KiB each.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    let block = |last: u32| ((128 << 10) << 3 | 1 << 1 | last).to_le_bytes();
    for _ in 0..511 {
        frame.extend(&block(0)[..3]);
        frame.push(0);
    }
    frame.extend(&block(1)[..3]);
    frame.push(0);
    let decompress = |size: u64| bundle::decompress(&compressed(3, 1, 32 + frame.len() as u64, size, &frame));
    assert!(decompress(1 << 20).unwrap_err().to_string().contains("longer than the header says"));
    assert!(matches!(decompress(64 << 20), Err(Error::DecompressedTooLarge { .. })));
}
