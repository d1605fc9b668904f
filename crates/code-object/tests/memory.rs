//! Reading takes memory in proportion to the input, whatever sizes the input states; the allocator counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use code_object::limits::MIN_DECOMPRESSED_CAP;
use code_object::{CodeObject, bundle};

/// The system's allocator, with the number of bytes allocated now and at most.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to `System`, which keeps the contract of `GlobalAlloc`; the counts don't
// touch the memory. `realloc` and `alloc_zeroed` are the trait's own, which are built on these two.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller keeps `GlobalAlloc::alloc`'s contract, which is `System`'s.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `alloc` above, that is from `System`, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the most bytes that `work` had allocated at a time, including its result.
fn most<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let result = work();
    (MOST.load(Ordering::Relaxed) - before, result)
}

const V4: &[u8] = include_bytes!("data/v4.co");

/// The bytes that error messages and the like may take.
const FIXED: usize = 4096;
/// The most bytes for each byte of a raw code object, including its copy.
const RATIO: usize = 8;

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn put(bytes: &mut [u8], at: usize, value: usize) {
    bytes[at..at + 8].copy_from_slice(&(value as u64).to_le_bytes());
}

/// Returns `v4.co` with another metadata note, at its end.
fn with_metadata(note: &[u8]) -> Vec<u8> {
    let mut bytes = V4.to_vec();
    let header = (0..9).map(|i| 64 + i * 56).find(|&at| bytes[at..at + 4] == [4, 0, 0, 0]).unwrap();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let start = bytes.len();
    for word in [7, note.len() as u32, 32] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(b"AMDGPU\0\0");
    bytes.extend(note);
    let size = bytes.len() - start;
    put(&mut bytes, header + 8, start);
    put(&mut bytes, header + 32, size);
    bytes
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.push(0xa0 | text.len() as u8);
    out.extend(text.as_bytes());
}

/// Returns a note whose kernel has as many arguments as possible: the most memory for a byte of metadata.
fn many_arguments(count: u32) -> Vec<u8> {
    let mut note = vec![0x81];
    text(&mut note, "amdhsa.kernels");
    note.extend([0x91, 0x81]);
    text(&mut note, ".args");
    note.push(0xdd);
    note.extend(count.to_be_bytes());
    for _ in 0..count {
        note.push(0x83);
        for key in [".offset", ".size"] {
            text(&mut note, key);
            note.push(0);
        }
        text(&mut note, ".value_kind");
        text(&mut note, "pipe");
    }
    note
}

/// Returns `v4.co` with `count` function symbols that share one long name.
fn shared_names(count: usize, length: usize) -> Vec<u8> {
    let mut bytes = V4.to_vec();
    let table = u64_at(&bytes, 40) as usize;
    let kind = |bytes: &[u8], i: usize| bytes[table + i * 64 + 4];
    let symtab = (0..).find(|&i| kind(&bytes, i) == 2).unwrap();
    let strtab = u64_at(&bytes, table + symtab * 64 + 40) as u32 as usize;
    let text = u64_at(&bytes, 64 + 2 * 56 + 16);
    let symbols = bytes.len();
    for _ in 0..count {
        bytes.extend(1u32.to_le_bytes());
        // STT_FUNC, in section 1.
        bytes.extend([2, 0, 1, 0]);
        bytes.extend(text.to_le_bytes());
        bytes.extend([0; 8]);
    }
    let names = bytes.len();
    bytes.push(0);
    bytes.resize(names + 1 + length, b'n');
    bytes.push(0);
    for (section, start, size) in [(symtab, symbols, names - symbols), (strtab, names, length + 2)] {
        put(&mut bytes, table + section * 64 + 24, start);
        put(&mut bytes, table + section * 64 + 32, size);
    }
    bytes
}

// One test, because the count includes all threads.
#[test]
fn memory_is_in_proportion_to_the_input() {
    // An empty text: the file is good.
    let check = |what: &str, bytes: &[u8], expected: &str| {
        let (used, result) = most(|| CodeObject::parse(bytes));
        let message = result.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            message.ends_with(expected) && message.is_empty() == expected.is_empty(),
            "{what}: {message}"
        );
        assert!(used <= bytes.len() * RATIO + FIXED, "{what}: {used} bytes for {}", bytes.len());
    };
    for name in ["v4", "v5", "v6", "generic", "opencl"] {
        let path = format!("{}/tests/data/{name}.co", env!("CARGO_MANIFEST_DIR"));
        check(name, &std::fs::read(path).unwrap(), "");
    }

    // A count without items, of kernels and of arguments.
    let mut note = vec![0x81];
    text(&mut note, "amdhsa.kernels");
    note.extend([0xdd, 255, 255, 255, 255]);
    check("a false count of kernels", &with_metadata(&note), "the note ends in the middle of a value");
    let mut note = many_arguments(1);
    let count = note.windows(5).position(|bytes| bytes == [0xdd, 0, 0, 0, 1]).unwrap();
    note[count + 1..count + 5].fill(255);
    check("a false count of arguments", &with_metadata(&note), "the note ends in the middle of a value");
    // True counts: all arguments are held before the kernel's name is found to be missing.
    check("many arguments", &with_metadata(&many_arguments(100_000)), "the key .name is missing");
    let mut note = vec![0x81];
    text(&mut note, "deep");
    note.extend([0x91; 100_000]);
    check("deep nesting", &with_metadata(&note), "nested deeper than 16 levels");

    check("many functions", &shared_names(20_000, 1), "");
    let long = shared_names(20_000, 100_000);
    check("many functions that share a long name", &long, "the limit for a file of this size");

    // Compressed bundles: memory is reserved for the stated size only up to a limit, and then as data arrive.
    let ccob = |method: u8, size: u32, payload: &[u8]| {
        [b"CCOB\x01\0".as_slice(), &[method, 0], &size.to_le_bytes(), &[0; 8], payload].concat()
    };
    let cap = MIN_DECOMPRESSED_CAP as usize;
    for size in [cap as u32, u32::MAX] {
        // zlib data that end at once; a zstd frame with a window of 16 MiB and no data.
        for (method, payload) in [(0, [0x78, 0xda].as_slice()), (1, &[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x70])] {
            let bytes = ccob(method, size, payload);
            let (used, result) = most(|| bundle::entries(&bytes).map(|entries| entries.len()));
            assert!(result.is_err());
            assert!(used <= cap + (1 << 20), "method {method}: {used} bytes");
        }
    }
}
